"""Our own shape: one object per tool, as JSON Lines or a JSON list, of one server or several.

It takes the keys that `Tool.as_row` writes, and `parameters` or `inputSchema` for the schema.
"""

from __future__ import annotations

from .context import Origin, at, describe
from .envelope import Entry, Group
from .fields import (
    optional_object,
    optional_text,
    read_annotations,
    read_entry,
    read_identity,
    read_name,
    read_schema,
    read_title,
)
from .model import Tool

__all__ = ["read_tool", "split_by_server"]


def split_by_server(origin: Origin, group: Group) -> list[Group]:
    """Return one group per `server` that the rows name; null and missing mean the group's own.

    Raises:
        SourceError: a row that is no object, or whose server is no text.
    """
    groups: dict[str | None, Group] = {}
    for entry in group.entries:
        row = read_entry(origin, entry)
        name = optional_text(origin, row, "server", entry.position) or group.server
        part = groups.get(name)
        if part is None:
            part = groups[name] = Group(
                server=name, title=group.title, description=group.description
            )
        part.title = part.title or optional_text(origin, row, "server_title", entry.position)
        part.description = part.description or optional_text(
            origin, row, "server_description", entry.position
        )
        part.entries.append(entry)
    return list(groups.values())


def read_tool(origin: Origin, entry: Entry) -> Tool:
    """Return the tool of a row; `SourceError` says what is wrong with it."""
    value, position = read_entry(origin, entry), entry.position
    is_action = value.get("is_action")
    if is_action is not None and not isinstance(is_action, bool):
        raise origin.error(
            at(position, "is_action"),
            f"it is {describe(is_action)} where true, false or null belongs",
            hint="write true for tools that may change something",
        )
    annotations = read_annotations(origin, value, position)
    schema = read_schema(origin, value, ("input_schema", "parameters", "inputSchema"), position)
    output_key = "output_schema" if "output_schema" in value else "outputSchema"
    return Tool(
        name=read_name(origin, value, position),
        title=read_title(origin, value, annotations, position),
        description=optional_text(origin, value, "description", position) or "",
        input_schema=schema,
        output_schema=optional_object(origin, value, output_key, position),
        annotations=annotations,
        is_action=is_action,
        identity_parameters=read_identity(
            origin, value.get("identity_parameters"), schema, at(position, "identity_parameters")
        ),
    )
