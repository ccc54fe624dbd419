"""Schemas as OpenAI's strict mode takes them, where it can.

Source: OpenAI, "Structured model outputs", section "Supported schemas" (as read in 2026).
"""

from __future__ import annotations

import json
from typing import Any

from ._schema_algebra import (
    ANNOTATIONS,
    Schema,
    keep_fitting,
    merge,
    merge_all,
    split_types,
    types_of,
)

__all__ = ["NotStrict", "strict"]

_FORMATS = {
    *("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
}
_KEPT = (
    *("type", "description", "enum", "const", "pattern", "format", "multipleOf"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
)
_PROPERTIES = 5000
_NESTING = 10
_ENUM_VALUES = 1000
_CHARACTERS = 120_000
_LONG_ENUM = (250, 15_000)


class NotStrict(Exception):
    """Strict mode can't represent a schema; the text is a clause that says what of it."""


def strict(schema: Schema) -> Schema:
    """Return a schema as OpenAI's strict mode takes it: closed objects that require all they name.

    What was optional may be null instead; `restore` takes such nulls out. Bounds that strict mode
    does not know are left out.

    Raises:
        NotStrict: the mode can't represent it without taking arguments away.
    """
    return _Strict().convert(schema, 0, root=True)


class _Strict:
    """Converts one schema, and counts what has a limit."""

    def __init__(self) -> None:
        self._properties = 0
        self._enum_values = 0
        self._characters = 0

    def convert(self, node: Schema, depth: int, *, root: bool = False) -> Schema:
        node, lost = merge_all(node)
        if lost:
            raise NotStrict("it demands two alternatives at once")
        if "anyOf" not in node and len(set(types_of(node)) - {"null"}) > 1:
            node = split_types(node)
        if "anyOf" in node:
            return self._convert_union(node, depth)
        types = types_of(node)
        if not types:
            raise NotStrict("it allows any value somewhere")
        made = {key: node[key] for key in _KEPT if key in node}
        made["type"] = types[0] if len(types) == 1 else list(types)
        keep_fitting(made)
        if made.get("format", "date") not in _FORMATS:
            made.pop("format")
        if "(?" in made.get("pattern", ""):
            made.pop("pattern")
        if "object" in types:
            made |= self._convert_object(node, depth, root=root)
        if "array" in types:
            if not isinstance(node.get("items"), dict) or "prefixItems" in node:
                raise NotStrict("it has an array that does not say what it holds")
            made["items"] = self.convert(node["items"], depth)
        self._count(made)
        return made

    def _convert_union(self, node: Schema, depth: int) -> Schema:
        base = {key: value for key, value in node.items() if key not in ("anyOf", *ANNOTATIONS)}
        branches = [self.convert(merge(base, branch), depth) for branch in node["anyOf"]]
        first_keys: dict[str, list[Any]] = {}
        for branch in branches:
            for name, member in list(branch.get("properties", {}).items())[:1]:
                first_keys.setdefault(name, []).append(member.get("const", member.get("enum")))
        for values in first_keys.values():
            if len(values) > 1 and (None in values or len({json.dumps(v) for v in values}) < 2):
                raise NotStrict("it has alternatives that begin with the same property")
        return {**{key: node[key] for key in ("description",) if key in node}, "anyOf": branches}

    def _convert_object(self, node: Schema, depth: int, *, root: bool) -> Schema:
        declared = node.get("properties", {})
        extra = node.get("additionalProperties", bool(not declared and not root))
        if extra is not False or "patternProperties" in node:
            raise NotStrict("it has an object of any keys")
        if depth >= _NESTING:
            raise NotStrict(f"it nests objects more than {_NESTING} deep")
        if missing := set(node.get("required", [])) - declared.keys():
            raise NotStrict(f"it requires {min(missing)!r}, which it does not declare")
        self._properties += len(declared)
        self._characters += sum(map(len, declared))
        if self._properties > _PROPERTIES:
            raise NotStrict(f"it has more than {_PROPERTIES} properties")
        properties = {}
        for name, member in declared.items():
            made = self.convert(member, depth + 1)
            properties[name] = made if name in node.get("required", []) else _nullable(made)
        return {
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _count(self, made: Schema) -> None:
        values = made.get("enum", [made["const"]] if "const" in made else [])
        length = sum(len(value) for value in values if isinstance(value, str))
        self._enum_values += len(values)
        self._characters += length
        many, characters = _LONG_ENUM
        if self._enum_values > _ENUM_VALUES or (len(values) > many and length > characters):
            raise NotStrict("it enumerates too many values")
        if self._characters > _CHARACTERS:
            raise NotStrict(f"its names and values exceed {_CHARACTERS} characters")


def _nullable(schema: Schema) -> Schema:
    if "anyOf" in schema:
        if any("null" in types_of(branch) for branch in schema["anyOf"]):
            return schema
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    types = types_of(schema)
    made = {**schema, "type": list(dict.fromkeys([*types, "null"]))}
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if "enum" in made and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    return made
