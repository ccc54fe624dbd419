"""Reading one tool's fields, the same way in every format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .context import Origin, at, describe
from .envelope import Entry

__all__ = [
    "MAX_NAME",
    "optional_object",
    "optional_text",
    "read_annotations",
    "read_entry",
    "read_identity",
    "read_name",
    "read_schema",
    "read_title",
]

#: Longest name of a tool or server, in characters.
MAX_NAME = 256

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_SCHEMA_KEYS = ("inputSchema", "input_schema", "parameters", "args_schema", "args")


def read_entry(origin: Origin, entry: Entry) -> dict[str, Any]:
    """Return the entry's object, or raise a `SourceError` if it is something else."""
    if isinstance(entry.value, dict):
        return entry.value
    raise origin.error(
        entry.position,
        f"{describe(entry.value)} stands where a tool belongs",
        hint="remove it, or write the tool as an object",
    )


def read_name(origin: Origin, value: Mapping[str, Any], position: str) -> str:
    """Return the tool's name: a text of 1 to `MAX_NAME` characters, else `SourceError`."""
    name, where = value.get("name"), at(position, "name")
    if name is None:
        raise origin.error(where, "the tool has no name", hint='give it a "name"')
    if not isinstance(name, str):
        raise origin.error(
            where,
            f"the name is {describe(name)} where a text belongs",
            hint="write the name in quotes",
        )
    check_name(origin, name, where)
    return name


def check_name(origin: Origin, name: str, position: str) -> None:
    """Raise a `SourceError` unless `name` can be a tool's name."""
    if not name.strip():
        raise origin.error(position, "the name is empty", hint="give the tool a name")
    if len(name) > MAX_NAME:
        raise origin.error(
            position,
            f"the name has {len(name):,} characters, and {MAX_NAME} is the most",
            hint="shorten the name",
        )


def optional_text(origin: Origin, value: Mapping[str, Any], key: str, position: str) -> str | None:
    """Return a text as it stands, None if it is missing, null or blank, else `SourceError`."""
    text = value.get(key)
    if text is None:
        return None
    if not isinstance(text, str):
        raise origin.error(
            at(position, key),
            f"the {key} is {describe(text)} where a text belongs",
            hint=f"write the {key} in quotes, or remove it",
        )
    return text if text.strip() else None


def read_title(
    origin: Origin, value: Mapping[str, Any], annotations: Mapping[str, Any], position: str
) -> str | None:
    """Return the title, which older servers keep among the annotations."""
    title = optional_text(origin, value, "title", position)
    if title is None and isinstance(annotations.get("title"), str):
        title = annotations["title"]
    return title.strip() or None if title else None


def optional_object(
    origin: Origin, value: Mapping[str, Any], key: str, position: str
) -> dict[str, Any] | None:
    """Return an object as it stands, None if it is missing or null, else `SourceError`."""
    found = value.get(key)
    if found is None or isinstance(found, dict):
        return found
    raise origin.error(
        at(position, key),
        f"the {key} is {describe(found)} where an object belongs",
        hint=f"write {key} as an object, or remove it",
    )


def read_schema(
    origin: Origin, value: Mapping[str, Any], keys: tuple[str, ...], position: str
) -> dict[str, Any]:
    """Return the schema of the arguments, from the first of `keys` that is there.

    A missing, null or empty schema is that of a tool without arguments.

    Raises:
        SourceError: the schema is no object, or stands under another format's key.
    """
    key = next((key for key in keys if value.get(key) is not None), None)
    if key is None:
        foreign = (key for key in _SCHEMA_KEYS if key not in keys)
        if key := next((key for key in foreign if isinstance(value.get(key), dict)), None):
            raise origin.error(
                at(position, key),
                f"{key!r} is where this format has {keys[0]!r}",
                hint="name the right format with --format, or rename the key",
            )
        return {"type": "object", "properties": {}}
    schema = optional_object(origin, value, key, position)
    if not schema:
        return {"type": "object", "properties": {}}
    where = at(position, key)
    kind = schema.get("type")
    if kind not in (None, "object") and not (isinstance(kind, list) and "object" in kind):
        origin.warn(at(where, "type"), "a tool's arguments are an object, yet the type is another")
    properties = schema.get("properties")
    # PHP writes an empty object as an empty list.
    if "properties" in schema and properties in (None, []):
        return {**schema, "properties": {}}
    optional_object(origin, schema, "properties", where)
    return schema


def read_annotations(
    origin: Origin, value: Mapping[str, Any], position: str, *, key: str = "annotations"
) -> dict[str, Any]:
    """Return the annotations without hints that are neither true nor false."""
    annotations = optional_object(origin, value, key, position) or {}
    where = at(position, key)
    for hint in _HINTS:
        if hint in annotations and not isinstance(annotations[hint], bool):
            if annotations[hint] is not None:
                message = "the hint is neither true nor false and was left out"
                origin.warn(at(where, hint), message)
            annotations = {name: item for name, item in annotations.items() if name != hint}
    return annotations


def read_identity(
    origin: Origin, names: Any, schema: Mapping[str, Any], where: str
) -> tuple[str, ...]:
    """Return the parameters that stand for the calling user; none where `names` is None.

    Raises:
        SourceError: it is no list of names of the schema's properties.
    """
    if names is None:
        return ()
    if not isinstance(names, list):
        raise origin.error(
            where,
            f"it is {describe(names)} where a list of parameter names belongs",
            hint='write a list, such as ["customer_id"]',
        )
    for index, name in enumerate(names):
        # A name that matches nothing would leave the real parameter to the model.
        if not isinstance(name, str) or name not in (schema.get("properties") or {}):
            raise origin.error(
                at(where, index),
                f"{describe(name)} names no parameter of this tool",
                hint="write the name as in the schema's properties",
            )
    return tuple(dict.fromkeys(names))
