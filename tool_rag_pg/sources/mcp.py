"""Tools as a Model Context Protocol server lists them (`tools/list`, revisions 2024-11 to 2025-11).

Sessions, answers and pages around them are taken off in `envelope`.
"""

from __future__ import annotations

from .context import Origin, at
from .envelope import Entry
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

__all__ = ["IDENTITY", "read_tool"]

#: The protocol has no word for parameters that stand for the calling user; `_meta` is for that.
IDENTITY = "tool-rag/identity_parameters"


def read_tool(origin: Origin, entry: Entry) -> Tool:
    """Return the tool of an entry; `SourceError` says what is wrong with it."""
    value, position = read_entry(origin, entry), entry.position
    annotations = read_annotations(origin, value, position)
    schema = read_schema(origin, value, ("inputSchema",), position)
    meta = value.get("_meta")
    identity = meta.get(IDENTITY) if isinstance(meta, dict) else None
    return Tool(
        name=read_name(origin, value, position),
        title=read_title(origin, value, annotations, position),
        description=optional_text(origin, value, "description", position) or "",
        input_schema=schema,
        output_schema=optional_object(origin, value, "outputSchema", position),
        annotations=annotations,
        identity_parameters=read_identity(
            origin, identity, schema, at(at(position, "_meta"), IDENTITY)
        ),
    )
