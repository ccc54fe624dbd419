"""Dumps of LangChain tools: name, description and `args_schema`, or the older `args`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .context import Origin, at, describe
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
    """Return the tool of an entry; `SourceError` says what is wrong with it.

    `metadata` is where LangChain's MCP adapter keeps the server's annotations, so its hints count.
    """
    value, position = read_entry(origin, entry), entry.position
    metadata = read_annotations(origin, value, position, key="metadata")
    return Tool(
        name=read_name(origin, value, position),
        title=read_title(origin, {}, metadata, position),
        description=optional_text(origin, value, "description", position) or "",
        input_schema=_schema(origin, value, position),
        annotations={key: item for key, item in metadata.items() if key.endswith("Hint")},
    )


def _schema(origin: Origin, value: Mapping[str, Any], position: str) -> dict[str, Any]:
    if value.get("args_schema") is None and value.get("args") is not None:
        args = optional_object(origin, value, "args", position) or {}
        for name, schema in args.items():
            if not isinstance(schema, dict):
                raise origin.error(
                    at(at(position, "args"), name),
                    f"{describe(schema)} stands where a schema belongs",
                    hint="dump tool.args, or tool.args_schema.model_json_schema()",
                )
        # `args` drops the list of required parameters; those without a default are.
        required = [name for name, schema in args.items() if "default" not in schema]
        schema = {"type": "object", "properties": args}
        return {**schema, "required": required} if required else schema
    if isinstance(value.get("args_schema"), str):
        raise origin.error(
            at(position, "args_schema"),
            "it is the name of a class, not a schema",
            hint="dump tool.args_schema.model_json_schema()",
        )
    return read_schema(origin, value, ("args_schema",), position)
