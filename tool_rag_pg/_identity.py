"""Hiding from a model which arguments say on whose behalf a call is made."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["hide_identity"]

# Keywords whose schemas hold for the same value as the schema that they stand in.
_BRANCHES = ("allOf", "anyOf", "oneOf")
_DEFINITIONS = ("$defs", "definitions")
_MAX_NODES = 20_000
_CONDITIONS = ("if", "then", "else", "not")


def hide_identity(schema: Mapping[str, Any], identity_parameters: Iterable[str]) -> dict[str, Any]:
    """Return a schema of arguments without some of them, for the model to see.

    They go from properties and requirements, also in alternatives and behind a reference at the
    root, and from examples and defaults. Parameters deeper inside stay. The schema itself is not
    changed.
    """
    names = frozenset(identity_parameters)
    if not names:
        return copy.deepcopy(dict(schema))
    left = [_MAX_NODES]
    hidden: dict[str, Any] = _hide(schema, names, schema, 0, left)
    # Alternatives that double with each level have no end; rather nothing than what to hide.
    return _without_unused(hidden) if left[0] > 0 else {"type": "object"}


def _without_unused(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out definitions that nothing refers to: one of them may declare what was hidden."""
    while True:
        references = set(re.findall(r'"#/([^"]*)"', json.dumps(schema)))
        unused = [
            (key, name)
            for key in _DEFINITIONS
            for name in (schema[key] if isinstance(schema.get(key), dict) else ())
            if not any(each.startswith(f"{key}/{_escape(name)}") for each in references)
        ]
        if not unused:
            return {key: each for key, each in schema.items() if each or key not in _DEFINITIONS}
        for key, name in unused:
            del schema[key][name]


def _escape(name: str) -> str:
    return json.dumps(name.replace("~", "~0").replace("/", "~1"))[1:-1]


def _hide(
    node: Any, names: frozenset[str], root: Mapping[str, Any], depth: int, left: list[int]
) -> Any:
    left[0] -= 1
    if not isinstance(node, Mapping) or depth > 20 or left[0] <= 0:
        return node
    made: dict[str, Any] = {**node}
    reference = made.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = root
        for step in reference[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, Mapping) else None
        if isinstance(target, Mapping):
            del made["$ref"]
            made["allOf"] = [*made.get("allOf", []), target]
    for key in ("properties", "dependentSchemas", "dependencies", "dependentRequired"):
        if isinstance(made.get(key), Mapping):
            made[key] = {name: each for name, each in made[key].items() if name not in names}
    for key in ("dependentRequired", "dependencies"):
        for name, each in made.get(key, {}).items():
            if isinstance(each, list):
                made[key][name] = [needed for needed in each if needed not in names]
    if isinstance(made.get("required"), list):
        made["required"] = [name for name in made["required"] if name not in names]
    if isinstance(made.get("default"), Mapping):
        made["default"] = {k: v for k, v in made["default"].items() if k not in names}
    if isinstance(made.get("examples"), list):
        made["examples"] = [
            {k: v for k, v in each.items() if k not in names} if isinstance(each, Mapping) else each
            for each in made["examples"]
        ]
    for key in _BRANCHES:
        if isinstance(made.get(key), list):
            made[key] = [_hide(each, names, root, depth + 1, left) for each in made[key]]
    for key in _CONDITIONS:
        if key in made:
            made[key] = _hide(made[key], names, root, depth + 1, left)
    if isinstance(made.get("dependentSchemas"), Mapping):
        made["dependentSchemas"] = {
            name: _hide(each, names, root, depth + 1, left)
            for name, each in made["dependentSchemas"].items()
        }
    return copy.deepcopy(made)
