"""One form of JSON Schema for all providers: no references, no old keywords, an object at the root.

What servers publish follows drafts 4 to 2020-12 and OpenAPI, refers to itself, and misspells
keywords. `canonical` returns draft 2020-12 that any provider's rules can be applied to: simple
enough to show a model what to write. Where it demands less than the original, the original is
still what arguments are checked against (`tool_rag_pg.guards`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeGuard
from urllib.parse import unquote

from ._schema_algebra import COUNTS, NUMBERS, TYPES, Schema, flatten, keep_fitting, merge

__all__ = ["canonical"]

# Bounds of what is inlined: a few nested references can describe more nodes than memory holds.
_MAX_NODES = 5000
_MAX_DEPTH = 32
_MAX_RECURSION = 2

_TEXTS = ("title", "description", "format", "pattern")
_SUBSCHEMAS = ("additionalProperties", "items", "propertyNames")
_SUBSCHEMA_MAPS = ("properties", "patternProperties")


def canonical(schema: Mapping[str, Any]) -> Schema:
    """Return a schema of arguments as draft 2020-12 with an object at the root.

    Local references are inlined; recursion ends after two rounds, and remote references at once,
    in a schema that allows anything. Unknown keywords, values that their keyword does not allow,
    and `not`, `contains` and conditions are left out; properties that only a condition names
    become optional ones, and `oneOf` becomes `anyOf`. At the root `allOf` and `anyOf` are merged
    into one list of properties, each as the branches declare it that do; where branches require
    different ones a sentence of the description says so.
    """
    cleaned = _Cleaner(schema).clean(schema, 0, ())
    return flatten(cleaned or {})


class _Cleaner:
    """Cleans one schema; `clean` returns None for one that nothing satisfies."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def clean(self, node: Any, depth: int, references: tuple[str, ...]) -> Schema | None:
        self._nodes += 1
        if node is False:
            return None
        if not isinstance(node, Mapping) or depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            return {}
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(reference := node.get(keyword), str):
                rest = {key: value for key, value in node.items() if key != keyword}
                target = self._follow(reference, depth, references)
                siblings = self.clean(rest, depth, references)
                if target is None or siblings is None:
                    return None
                return merge(target, siblings)
        cleaned = _clean_values(node)
        self._clean_object(node, cleaned, depth, references)
        self._clean_array(node, cleaned, depth, references)
        for key in _SUBSCHEMAS:
            if key in node and key not in cleaned:
                self._clean_subschema(key, node[key], cleaned, depth, references)
        self._add_conditional(node, cleaned, depth, references)
        return self._clean_branches(node, cleaned, depth, references)

    def _follow(self, reference: str, depth: int, references: tuple[str, ...]) -> Schema | None:
        target = _resolve(self._root, reference)
        if references.count(reference) >= _MAX_RECURSION or self._nodes > _MAX_NODES:
            known = _clean_values(target) if isinstance(target, Mapping) else {}
            return {key: known[key] for key in ("type", "title", "description") if key in known}
        return self.clean(target, depth + 1, (*references, reference))

    def _clean_object(
        self, node: Mapping[str, Any], cleaned: Schema, depth: int, references: tuple[str, ...]
    ) -> None:
        required = [name for name in _texts(node.get("required"))]
        for key in _SUBSCHEMA_MAPS:
            if isinstance(members := node.get(key), Mapping):
                cleaned[key] = {}
                for name, member in members.items():
                    if (kept := self.clean(member, depth + 1, references)) is not None:
                        cleaned[key][str(name)] = kept
                    # Drafts 3 and older, and OpenAPI's parameters, say it of the property.
                    if key == "properties" and isinstance(member, Mapping):
                        required += [name] if member.get("required") is True else []
        if required:
            cleaned["required"] = list(dict.fromkeys(required))
        dependencies: dict[str, list[str]] = {}
        for key in ("dependencies", "dependentRequired"):
            if isinstance(named := node.get(key), Mapping):
                dependencies |= {str(name): _texts(names) for name, names in named.items()}
        if dependencies := {name: names for name, names in dependencies.items() if names}:
            cleaned["dependentRequired"] = dependencies

    def _clean_array(
        self, node: Mapping[str, Any], cleaned: Schema, depth: int, references: tuple[str, ...]
    ) -> None:
        tuple_form = isinstance(node.get("items"), list)
        members = node.get("items") if tuple_form else node.get("prefixItems")
        if isinstance(members, list) and members:
            cleaned["prefixItems"] = [
                self.clean(member, depth + 1, references) or {} for member in members
            ]
        if tuple_form:
            rest = self.clean(node.get("additionalItems", True), depth + 1, references)
            cleaned["items"] = False if rest is None else rest

    def _clean_subschema(
        self, key: str, value: Any, cleaned: Schema, depth: int, references: tuple[str, ...]
    ) -> None:
        if not isinstance(value, bool | Mapping):
            return
        kept = self.clean(value, depth + 1, references)
        if key == "additionalProperties":
            cleaned[key] = False if kept is None else True if value is True else kept
        elif kept is not None:
            cleaned[key] = kept

    def _add_conditional(
        self, node: Mapping[str, Any], cleaned: Schema, depth: int, references: tuple[str, ...]
    ) -> None:
        branches = [node.get("then"), node.get("else")]
        for key in ("dependentSchemas", "dependencies"):
            branches += node[key].values() if isinstance(node.get(key), Mapping) else []
        for branch in branches:
            found = self.clean(branch, depth + 1, references) if isinstance(branch, Mapping) else {}
            if found and "properties" in found:
                cleaned["properties"] = {**found["properties"], **cleaned.get("properties", {})}

    def _clean_branches(
        self, node: Mapping[str, Any], cleaned: Schema, depth: int, references: tuple[str, ...]
    ) -> Schema | None:
        for key in ("allOf", "anyOf", "oneOf"):
            if not isinstance(branches := node.get(key), list) or not branches:
                continue
            found = [self.clean(branch, depth + 1, references) for branch in branches]
            kept = [branch for branch in found if branch is not None]
            if not kept or (key == "allOf" and len(kept) < len(found)):
                return None
            if len(kept) == 1:
                cleaned = merge(kept[0], cleaned)
            else:
                cleaned = merge(cleaned, {"anyOf" if key == "oneOf" else key: kept})
        return cleaned


def _resolve(root: Mapping[str, Any], reference: str) -> Any:
    """Return what a local JSON Pointer names, or True (anything) for whatever can't be found."""
    if reference == "#":
        return root
    node: Any = root
    if not reference.startswith("#/"):
        return True
    for step in unquote(reference[2:]).split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return True
    return node


def _clean_values(node: Mapping[str, Any]) -> Schema:
    """Return the keywords that hold no schemas, where their values are valid."""
    cleaned: Schema = {}
    if types := _read_types(node):
        cleaned["type"] = types[0] if len(types) == 1 else list(types)
    for key in _TEXTS:
        if isinstance(node.get(key), str) and node[key]:
            cleaned[key] = node[key]
    for key in COUNTS:
        if _is_number(node.get(key)) and node[key] >= 0 and node[key] == int(node[key]):
            cleaned[key] = int(node[key])
    for key in NUMBERS:
        if _is_number(node.get(key)):
            cleaned[key] = node[key]
    for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if node.get(key) is True and bound in cleaned:
            cleaned[key] = cleaned.pop(bound)
    if _is_number(step := node.get("multipleOf")) and step > 0:
        cleaned["multipleOf"] = step
    if node.get("uniqueItems") is True:
        cleaned["uniqueItems"] = True
    if isinstance(values := node.get("enum"), list) and values:
        values = [*values, None] if node.get("nullable") is True else values
        cleaned["enum"] = list(
            {json.dumps(value, sort_keys=True): value for value in values}.values()
        )
    if "const" in node:
        cleaned["const"] = node["const"]
    if "type" in cleaned:
        keep_fitting(cleaned)
    if "default" in node:
        cleaned["default"] = node["default"]
    if isinstance(node.get("examples"), list):
        cleaned["examples"] = node["examples"]
    elif "example" in node:
        cleaned["examples"] = [node["example"]]
    return cleaned


def _read_types(node: Mapping[str, Any]) -> tuple[str, ...]:
    named = node.get("type")
    wanted = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    types = [kind for kind in TYPES if kind in wanted]
    # One type that is none, like "any", allows values that no type of the list does.
    if len(types) < len({kind for kind in wanted if isinstance(kind, str)}):
        return ()
    nullable = types and node.get("nullable") is True and "null" not in types
    return (*types, "null") if nullable else tuple(types)


def _is_number(value: Any) -> TypeGuard[int | float]:
    finite = isinstance(value, int | float) and abs(value) < float("inf")
    return finite and not isinstance(value, bool)


def _texts(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
