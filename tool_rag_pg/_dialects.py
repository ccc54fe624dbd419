"""What differs between the providers in small ways, and the way back for arguments.

Sources (as read in 2026):

- OpenAI, "Function calling", and what the API refuses: "array schema missing items".
- Anthropic, "Define tools" and "Self-hosted sandboxes" (no reference keywords, no union at the top
  level), and what the API refuses: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
- Google, Vertex AI's reference of `FunctionDeclaration`: names of parameters.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from ._schema_algebra import Schema, is_opaque, join, types_of

__all__ = [
    "ANTHROPIC_KEY",
    "GEMINI_KEY",
    "openai",
    "rename",
    "renamings",
    "restore",
]

ANTHROPIC_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
GEMINI_KEY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")

_KEY_LENGTH = 64


def map_schemas(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a schema with every schema in it, innermost first, replaced by what `change` says."""
    changed = dict(schema)
    for key in ("properties", "patternProperties"):
        if key in changed:
            members = changed[key].items()
            changed[key] = {name: map_schemas(member, change) for name, member in members}
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(changed.get(key), dict):
            changed[key] = map_schemas(changed[key], change)
    for key in ("anyOf", "allOf", "prefixItems"):
        if key in changed:
            changed[key] = [map_schemas(member, change) for member in changed[key]]
    return change(changed)


def renamings(schema: Schema, legal: re.Pattern[str]) -> dict[str, str]:
    """Return a legal name for each property anywhere in a schema whose own is not; all distinct."""
    names: set[str] = set()

    def collect(node: Schema) -> Schema:
        names.update(node.get("properties", {}))
        return node

    map_schemas(schema, collect)
    taken = {name for name in names if legal.fullmatch(name)}
    chosen: dict[str, str] = {}
    for name in sorted(names - taken):
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        plain = re.sub(r"[^a-zA-Z0-9]+", "_", plain).strip("_")
        plain = plain if plain[:1].isalpha() else f"p_{plain}".rstrip("_")
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        candidates = [plain] if len(plain) <= _KEY_LENGTH and plain != "p" else []
        candidates += [f"{plain[: _KEY_LENGTH - n - 1]}_{digest[:n]}" for n in range(6, 50)]
        chosen[name] = next(each for each in candidates if each not in taken)
        taken.add(chosen[name])
    return chosen


def rename(schema: Schema, names: Mapping[str, str]) -> Schema:
    """Return a schema with its properties renamed."""

    def change(node: Schema) -> Schema:
        if "properties" in node:
            members = node["properties"].items()
            node["properties"] = {names.get(name, name): member for name, member in members}
        if "required" in node:
            node["required"] = [names.get(name, name) for name in node["required"]]
        if "dependentRequired" in node:
            node["dependentRequired"] = {
                names.get(name, name): [names.get(each, each) for each in needed]
                for name, needed in node["dependentRequired"].items()
            }
        return node

    return map_schemas(schema, change) if names else schema


def openai(schema: Schema) -> Schema:
    """Return a schema as OpenAI takes it without strict mode: an array says what it holds."""

    def change(node: Schema) -> Schema:
        if "array" in types_of(node) and not isinstance(node.get("items"), dict):
            node["items"] = join(node.pop("prefixItems", None) or [{}])
        return node

    return map_schemas(schema, change)


def restore(
    value: Any,
    schemas: Iterable[Schema],
    *,
    names: Mapping[str, str],
    drop_nulls: bool = False,
    read_json: bool = False,
) -> Any:
    """Return a value that a model wrote for a provider's schema as the canonical one has it.

    Args:
        value: what it wrote.
        schemas: the canonical schemas that hold for it.
        names: how properties were renamed.
        drop_nulls: leave out properties that are null only because strict mode requires them.
        read_json: read what was declared as JSON text.
    """
    found = list(_applied(schemas))

    def inner(value: Any, schemas: Iterable[Schema]) -> Any:
        return restore(value, schemas, names=names, drop_nulls=drop_nulls, read_json=read_json)

    if isinstance(value, str) and read_json and any(map(is_opaque, found)):
        return _read_json(value, found)
    if isinstance(value, list):
        return [inner(each, _of_item(found, place)) for place, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    declared: dict[str, tuple[str, list[Schema]]] = {}
    optional: set[str] = set()
    for schema in found:
        optional |= schema.get("properties", {}).keys() - set(schema.get("required", []))
        for name, member in schema.get("properties", {}).items():
            declared.setdefault(names.get(name, name), (name, []))[1].append(member)
    others = [schema.get("additionalProperties") for schema in found]
    rest = [schema for schema in others if isinstance(schema, dict)]
    restored = {}
    for key, each in value.items():
        name, members = declared.get(key, (key, rest))
        takes_null = any("null" in types_of(one) for one in _applied(members))
        if not (drop_nulls and each is None and name in optional and not takes_null):
            restored[name] = inner(each, members)
    return restored


def _applied(schemas: Iterable[Schema]) -> Iterator[Schema]:
    for schema in schemas:
        yield schema
        for key in ("anyOf", "allOf"):
            yield from _applied(schema.get(key, ()))


def _of_item(schemas: Iterable[Schema], place: int) -> Iterator[Schema]:
    for schema in schemas:
        first = schema.get("prefixItems", [])
        if place < len(first):
            yield first[place]
        elif isinstance(schema.get("items"), dict):
            yield schema["items"]


def _read_json(text: str, schemas: Iterable[Schema]) -> Any:
    """Return what a text holds as JSON, where one of the schemas allows its type."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    allowed = {kind for schema in schemas for kind in types_of(schema) or ("object", "array")}
    return value if isinstance(value, dict | list) or "string" not in allowed else text
