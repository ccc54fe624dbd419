"""Tools as Anthropic's messages interface takes them."""

from __future__ import annotations

from .context import Origin
from .envelope import Entry
from .fields import optional_text, read_entry, read_name, read_schema
from .model import Tool

__all__ = ["read_tool"]


def read_tool(origin: Origin, entry: Entry) -> Tool | None:
    """Return the tool of an entry, or None, with a warning, for one that the provider defines.

    Raises:
        SourceError: says what is wrong with the entry.
    """
    value, position = read_entry(origin, entry), entry.position
    kind = value.get("type")
    if isinstance(kind, str) and kind != "custom" and "input_schema" not in value:
        origin.warn(position, f"tools of the type {kind!r} have no schema and were left out")
        return None
    return Tool(
        name=read_name(origin, value, position),
        description=optional_text(origin, value, "description", position) or "",
        input_schema=read_schema(origin, value, ("input_schema",), position),
    )
