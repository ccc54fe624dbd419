"""Tools as OpenAI's interfaces take them: chat completions, responses, and the old functions."""

from __future__ import annotations

from .context import Origin, at
from .envelope import Entry
from .fields import optional_object, optional_text, read_entry, read_name, read_schema
from .model import Tool

__all__ = ["read_tool"]


def read_tool(origin: Origin, entry: Entry) -> Tool | None:
    """Return the tool of an entry, or None, with a warning, for one that the provider runs.

    Raises:
        SourceError: says what is wrong with the entry.
    """
    value, position = read_entry(origin, entry), entry.position
    kind = value.get("type")
    if isinstance(kind, str) and kind != "function" and "parameters" not in value:
        origin.warn(position, f"tools of the type {kind!r} have no schema and were left out")
        return None
    if "function" in value:
        function = optional_object(origin, value, "function", position)
        value, position = function or {}, at(position, "function")
    return Tool(
        name=read_name(origin, value, position),
        description=optional_text(origin, value, "description", position) or "",
        input_schema=read_schema(origin, value, ("parameters",), position),
    )
