"""Tools as a Model Context Protocol server lists them (`tools/list`, revisions 2024-11 to 2025-11).

Sessions, answers and pages around them are taken off in `envelope`.
"""

from __future__ import annotations

from .context import Origin
from .envelope import Entry
from .fields import (
    optional_object,
    optional_text,
    read_annotations,
    read_entry,
    read_name,
    read_schema,
    read_title,
)
from .model import Tool

__all__ = ["read_tool"]


def read_tool(origin: Origin, entry: Entry) -> Tool:
    """Return the tool of an entry; `SourceError` says what is wrong with it."""
    value, position = read_entry(origin, entry), entry.position
    annotations = read_annotations(origin, value, position)
    return Tool(
        name=read_name(origin, value, position),
        title=read_title(origin, value, annotations, position),
        description=optional_text(origin, value, "description", position) or "",
        input_schema=read_schema(origin, value, ("inputSchema",), position),
        output_schema=optional_object(origin, value, "outputSchema", position),
        annotations=annotations,
    )
