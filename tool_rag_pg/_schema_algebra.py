"""Reasoning about schemas in canonical form: types, conjunction, alternatives, one flat object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "ANNOTATIONS",
    "COUNTS",
    "NUMBERS",
    "TYPES",
    "Schema",
    "flatten",
    "is_opaque",
    "join",
    "keep_fitting",
    "merge",
    "merge_all",
    "split_types",
    "types_of",
]

Schema = dict[str, Any]

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
ANNOTATIONS = ("title", "description", "default", "examples")
NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")

_MAX_ALTERNATIVES = 300
_LOWER_BOUNDS = {"minimum", "exclusiveMinimum", *(key for key in COUNTS if key.startswith("min"))}
_UPPER_BOUNDS = {"maximum", "exclusiveMaximum", *(key for key in COUNTS if key.startswith("max"))}
# What constrains a schema to one kind of value even where it names no type.
_HINTS = {
    "object": {"properties", "patternProperties", "required", "additionalProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
    "string": {"pattern", "minLength", "maxLength", "format"},
    "number": {*NUMBERS, "multipleOf"},
}


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types that a canonical schema names or lets infer; none where any value fits."""
    named = schema.get("type")
    if named is not None:
        return (named,) if isinstance(named, str) else tuple(named)
    if "const" in schema:
        return (_type_of(schema["const"]),)
    if "enum" in schema:
        return tuple(dict.fromkeys(map(_type_of, schema["enum"])))
    return tuple(kind for kind, keys in _HINTS.items() if keys & schema.keys())


def is_opaque(schema: Mapping[str, Any]) -> bool:
    """Whether a canonical schema declares nothing inside: any value, or an object of any keys."""
    if "anyOf" in schema or "allOf" in schema:
        return False
    types = types_of(schema)
    return not types or ("object" in types and not schema.get("properties"))


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def merge(first: Schema, second: Schema) -> Schema:
    """Return a schema that demands what both do; texts and defaults are those of the second."""
    merged = dict(first)
    for key, value in second.items():
        if key not in first:
            merged[key] = value
            continue
        other = first[key]
        if key == "properties":
            merged[key] = dict(other)
            for name, member in value.items():
                merged[key][name] = merge(other[name], member) if name in other else member
        elif key == "required":
            merged[key] = list(dict.fromkeys([*other, *value]))
        elif key == "type":
            merged[key] = _common_types(first, second)
        elif key == "enum":
            merged[key] = [item for item in other if item in value] or other
        elif key in _LOWER_BOUNDS:
            merged[key] = max(other, value)
        elif key in _UPPER_BOUNDS:
            merged[key] = min(other, value)
        elif key == "additionalProperties":
            merged[key] = False if other is False or value is False else other
        elif key == "anyOf" and other != value:
            merged["allOf"] = [*merged.get("allOf", []), {key: value}]
        elif key == "allOf":
            merged[key] = [*other, *value]
        elif key == "items" and isinstance(other, dict) and isinstance(value, dict):
            merged[key] = merge(other, value)
        else:
            merged[key] = value
    tuples = [one["prefixItems"] for one in (first, second) if "prefixItems" in one]
    if len(tuples) == 2 and tuples[0] != tuples[1]:
        merged.pop("prefixItems")
        merged.pop("items", None)
    return merged


def _common_types(first: Schema, second: Schema) -> str | list[str]:
    ours, theirs = set(types_of(first)), set(types_of(second))
    for one, other in ((ours, theirs), (theirs, ours)):
        if "number" in one and "integer" in other:
            one.add("integer")
    common = [kind for kind in TYPES if kind in ours & theirs]
    if "integer" in common and "number" in common:
        common.remove("integer")
    kept = common or list(types_of(second))
    return kept[0] if len(kept) == 1 else kept


def merge_all(schema: Schema) -> tuple[Schema, bool]:
    """Return a schema without `allOf`, and whether one of two `anyOf` was lost on the way."""
    lost = False
    while "allOf" in schema:
        branches = schema["allOf"]
        schema = {key: value for key, value in schema.items() if key != "allOf"}
        for branch in branches:
            if "anyOf" in branch and "anyOf" in schema:
                branch = {key: value for key, value in branch.items() if key != "anyOf"}
                lost = True
            schema = merge(branch, schema)
    return schema, lost


def split_types(schema: Schema) -> Schema:
    """Return a schema of several types as alternatives of one each; its texts stay outside."""
    bare = {key: value for key, value in schema.items() if key not in ("enum", "const", "type")}
    texts = {key: bare.pop(key) for key in ANNOTATIONS if key in bare}
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    of_other = {key: kind for kind, keys in _HINTS.items() for key in keys}
    branches = []
    for kind in types_of(schema):
        group = "number" if kind == "integer" else kind
        branch = {key: value for key, value in bare.items() if of_other.get(key, group) == group}
        fitting = [value for value in values if _fits(value, kind)]
        branches.append({**branch, "type": kind, **({"enum": fitting} if fitting else {})})
    return {**texts, "anyOf": branches}


def keep_fitting(schema: Schema) -> None:
    """Take enumerated values out of a schema that are of none of its types."""
    types = types_of(schema)
    if "enum" in schema:
        schema["enum"] = [v for v in schema["enum"] if any(_fits(v, kind) for kind in types)]
        if not schema["enum"]:
            del schema["enum"]
    if "const" in schema and not any(_fits(schema["const"], kind) for kind in types):
        del schema["const"]


def _fits(value: Any, kind: str) -> bool:
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return _type_of(value) in ((kind, "integer") if kind == "number" else (kind,))


def join(schemas: Iterable[Schema]) -> Schema:
    """Return a schema that any of several satisfies, as simple as may be."""
    distinct: list[Schema] = []
    for schema in schemas:
        if schema not in distinct:
            distinct.append(schema)
    if len(distinct) == 1:
        return distinct[0]
    texts = {"title", "description", "default", "examples", "type"}
    kinds = {types_of(schema) for schema in distinct}
    if all({"const", "enum"} & schema.keys() and schema.keys() - {"const", "enum"} <= texts
           for schema in distinct) and len(kinds) == 1:  # fmt: skip
        values = [v for s in distinct for v in ([s["const"]] if "const" in s else s["enum"])]
        kept: Schema = {
            key: distinct[0][key] for key in ("type", "description") if key in distinct[0]
        }
        unique = {json.dumps(value, sort_keys=True): value for value in values}
        return {**kept, "enum": list(unique.values())}
    return {"anyOf": distinct}


def flatten(schema: Schema) -> Schema:
    """Return an object schema that has its properties at the root and nothing beside them."""
    flat = {key: value for key, value in schema.items() if key not in _NOT_AT_ROOT}
    flat["type"] = "object"
    flat.setdefault("properties", {})
    for branch in schema.get("allOf", []):
        flat = merge(flatten(branch), flat)
    if "anyOf" in schema:
        flat = _merge_alternatives(flat, [flatten(branch) for branch in schema["anyOf"]])
    if not flat.get("required"):
        flat.pop("required", None)
    return flat


_NOT_AT_ROOT = {"allOf", "anyOf", "enum", "const"}


def _merge_alternatives(flat: Schema, branches: Sequence[Schema]) -> Schema:
    offered: dict[str, list[Schema]] = {}
    for branch in branches:
        for name, member in branch["properties"].items():
            offered.setdefault(name, []).append(member)
    own = dict(flat["properties"])
    for name, members in offered.items():
        own[name] = merge(join(members), own[name]) if name in own else join(members)
    needed = [set(branch.get("required", [])) for branch in branches]
    required = [*flat.get("required", []), *sorted(set.intersection(*needed))]
    merged = {**flat, "properties": own, "required": list(dict.fromkeys(required))}
    if all(branch.get("additionalProperties") is False for branch in branches):
        merged["additionalProperties"] = False
    alternatives = sorted({", ".join(sorted(names - set(required))) for names in needed} - {""})
    sentence = f"Required is one of these: {'; or '.join(alternatives)}."
    if len(alternatives) > 1 and len(sentence) <= _MAX_ALTERNATIVES:
        merged["description"] = " ".join(filter(None, (flat.get("description"), sentence)))
    return merged
