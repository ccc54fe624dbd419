"""Which format the entries of a file are in, told from their keys."""

from __future__ import annotations

import re
from typing import Any

from .context import NotAnExport, Origin
from .envelope import Group

__all__ = ["FORMATS", "choose_format", "is_openapi", "is_tool"]

#: Names of the formats, as `read_exports(format=...)` takes them.
FORMATS = ("mcp", "openai", "anthropic", "openapi", "langchain", "jsonl")

_OWN_KEYS = ("server", "is_action", "identity_parameters")
_DATED_TYPE = re.compile(r".*_20\d{6}|mcp_toolset")


def is_openapi(value: Any) -> bool:
    """Return whether a document is an OpenAPI or Swagger description."""
    return (
        isinstance(value, dict)
        and any(isinstance(value.get(key), str | float | int) for key in ("openapi", "swagger"))
        and bool({"info", "paths", "components", "webhooks"} & value.keys())
    )


def shape_of(value: Any, *, lines: bool) -> str | None:
    """Return the format that a value is evidently a tool of, or None.

    Args:
        value: any JSON value.
        lines: whether it is a row of JSON Lines, where `parameters` is our own shape.
    """
    if not isinstance(value, dict):
        return None
    named = "name" in value
    function = value.get("function", value)
    if value.get("type") == "function" and isinstance(function, dict):
        # With arguments it is the record of a call.
        return "openai" if "name" in function and "arguments" not in function else None
    schemas = [key for key in ("inputSchema", "input_schema", "parameters") if key in value]
    if named and schemas and any(key in value for key in _OWN_KEYS):
        return "jsonl"
    if "inputSchema" in value:
        return "mcp"
    # `args` without a description is the record of a call.
    described = "description" in value
    if named and ("args_schema" in value or (described and isinstance(value.get("args"), dict))):
        return "langchain"
    if "input_schema" in value:
        return "jsonl" if lines else "anthropic"
    if "parameters" in value and (named or described):
        return "jsonl" if lines else "openai"
    if named and ("outputSchema" in value or isinstance(value.get("annotations"), dict)):
        return "mcp"
    return None


def is_tool(value: Any) -> bool:
    """Return whether a value is evidently a tool, in whatever format."""
    return shape_of(value, lines=False) is not None


def choose_format(
    group: Group, origin: Origin, *, lines: bool, format: str | None, named: bool
) -> str:
    """Return the format of a group of entries.

    Args:
        group: the entries.
        origin: the file.
        lines: whether the file is JSON Lines.
        format: the format that the caller asks for, or None.
        named: whether the caller named this very file, rather than a folder around it.

    Raises:
        SourceError: entries of different formats.
        NotAnExport: no entry looks like a tool.
    """
    positions: dict[str, str] = {}
    for entry in group.entries:
        shape = shape_of(entry.value, lines=lines)
        if shape:
            positions.setdefault(shape, entry.position)
    if format is not None and (positions or named or _looks_like_tools(group)):
        return format
    if "jsonl" in positions:
        return "jsonl"
    if len(positions) > 1:
        (first, first_at), (second, second_at) = list(positions.items())[:2]
        raise origin.error(
            second_at,
            f"it is in the format {second!r} while {first_at} is in the format {first!r}",
            hint="split the file by format, or name one with --format",
        )
    if positions:
        return next(iter(positions))
    return _guess(group)


def _guess(group: Group) -> str:
    """Return the format of entries that have no schema, as far as what is around them tells."""
    types = [
        entry.value["type"]
        for entry in group.entries
        if isinstance(entry.value, dict) and isinstance(entry.value.get("type"), str)
    ]
    if group.wrapper and not group.entries:
        return "mcp" if group.wrapper == "tools" else "openai"
    if group.wrapper and _looks_like_tools(group):
        return "mcp" if group.wrapper == "tools" else "openai"
    if types and len(types) == len(group.entries):
        dated = all(_DATED_TYPE.fullmatch(kind) for kind in types)
        if dated or group.wrapper:
            return "anthropic" if dated else "openai"
    first = group.entries[0]
    raise NotAnExport(f"{first.position or 'it'} has no schema of arguments, so it is no tool")


def _looks_like_tools(group: Group) -> bool:
    return bool(group.entries) and all(
        isinstance(entry.value, dict)
        and isinstance(entry.value.get("name"), str)
        and isinstance(entry.value.get("description"), str)
        for entry in group.entries
    )
