"""Schemas as function declarations of Gemini take them: a subset of OpenAPI 3.0.

Sources (as read in 2026): Google, "Gemini API reference: Schema", and Vertex AI's reference of
`FunctionDeclaration`; and what the API refuses: "enum: only allowed for STRING type", "items:
missing field", "property is not defined", "any_of must be the only field set", "should be
non-empty for OBJECT type".
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ._schema_algebra import Schema, is_opaque, join, merge, merge_all, split_types, types_of

__all__ = ["gemini"]

_JSON_TEXT = "As JSON text."
_KEPT = {
    "string": ("pattern", "minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
    "boolean": (),
}
_FORMATS = {
    "string": {"date-time"},
    "number": {"float", "double"},
    "integer": {"int32", "int64"},
}


def gemini(schema: Schema) -> Schema | None:
    """Return a schema as a Gemini function declaration takes it; None for one without parameters.

    A value of any type, or an object of any keys, is declared as JSON text, which `restore` reads:
    declared as an object without properties it comes back empty.
    """
    if not schema.get("properties"):
        return None
    return _convert(schema)


def _convert(node: Schema) -> Schema:
    node, _ = merge_all(node)
    if "anyOf" in node:
        return _convert_union(node)
    types = [kind for kind in types_of(node) if kind != "null"]
    nullable = len(types) < len(types_of(node))
    if is_opaque(node):
        return _described({"type": "STRING"}, node, _JSON_TEXT, nullable=nullable)
    if len(types) > 1:
        return _convert_union(split_types(node))
    kind = types[0] if types else "string"
    made: Schema = {"type": kind.upper()}
    for key in _KEPT[kind]:
        if key in node:
            made[key] = node[key]
    notes = [*_convert_values(node, kind, made), *_convert_bounds(node, kind, made)]
    if kind == "object":
        made["properties"] = {name: _convert(each) for name, each in node["properties"].items()}
        required = [name for name in node.get("required", []) if name in made["properties"]]
        made |= {"required": required} if required else {}
    if kind == "array":
        items = node.get("items")
        inner = items if isinstance(items, dict) else join(node.get("prefixItems") or [{}])
        made["items"] = _convert(inner)
    return _described(made, node, *notes, nullable=nullable)


def _convert_union(node: Schema) -> Schema:
    base = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    nullable = False
    branches: list[Schema] = []
    for branch in node["anyOf"]:
        if types_of(branch) == ("null",):
            nullable = True
            continue
        made = _convert(merge(base, branch))
        for each in made.get("anyOf", [made]):
            if each not in branches:
                branches.append(each)
    if not branches:
        return _described({"type": "STRING"}, node, nullable=True)
    if nullable:
        branches = [{**branch, "nullable": True} for branch in branches]
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def _convert_values(node: Schema, kind: str, made: Schema) -> Iterator[str]:
    """Set the enumeration of texts; yield sentences about other values and formats."""
    values = [node["const"]] if "const" in node else node.get("enum", [])
    values = [value for value in values if value is not None]
    texts = [value for value in values if isinstance(value, str) and value]
    if kind == "string" and texts:
        made["enum"] = texts
        made["format"] = "enum"
    elif values:
        yield f"One of {', '.join(json.dumps(value, ensure_ascii=False) for value in values)}."
    named = node.get("format")
    if named in _FORMATS.get(kind, ()) and "enum" not in made:
        made["format"] = named
    elif named and "enum" not in made:
        yield f"Format: {named}."
    default = node.get("default")
    if isinstance(default, str | int | float):
        yield f"Default: {json.dumps(default, ensure_ascii=False)}."


def _convert_bounds(node: Schema, kind: str, made: Schema) -> Iterator[str]:
    if kind in ("number", "integer"):
        for key, bound, word in (
            ("exclusiveMinimum", "minimum", "More"),
            ("exclusiveMaximum", "maximum", "Less"),
        ):
            if key in node:
                made.setdefault(bound, node[key])
                yield f"{word} than {node[key]}."
        if "multipleOf" in node:
            yield f"A multiple of {node['multipleOf']}."


def _described(made: Schema, node: Schema, *notes: str, nullable: bool) -> Schema:
    if text := " ".join(filter(None, (node.get("description") or node.get("title"), *notes))):
        made["description"] = text
    if nullable:
        made["nullable"] = True
    return made
