"""OpenAPI's schemas as self-contained JSON Schema: references resolved, size bounded.

A schema is expanded breadth first, so that when it must be cut, it is cut evenly at its deepest
levels and never loses a whole parameter. References into other files are never followed: a
description must not make the reader open files or addresses of its choice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from referencing import Registry, Specification
from referencing.exceptions import NoSuchResource, PointerToNowhere, Unresolvable

from .context import Origin

__all__ = ["MAX_SCHEMA_DEPTH", "Direction", "Expanded", "References", "expand", "merged_view"]

#: Levels of nested sub-schemas that are kept. Deeper ones keep their type and description.
MAX_SCHEMA_DEPTH = 12
# References and `allOf` members followed one after the other without a level in between.
_MAX_HOPS = 50

#: Which of `readOnly` and `writeOnly` leaves a property out.
Direction = str

_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset(
    {
        "additionalProperties",
        "contains",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_DROPPED = frozenset(
    {
        "definitions",
        "discriminator",
        "externalDocs",
        "nullable",
        "readOnly",
        "writeOnly",
        "xml",
    }
)
_STUB_KEYS = ("type", "title", "description", "format", "enum", "deprecated")
_MERGEABLE = frozenset({"additionalProperties", "description", "title"})


class References:
    """Resolves the local references of one document, through `referencing`."""

    def __init__(self, document: Any, origin: Origin) -> None:
        self.origin = origin
        resource = Specification.OPAQUE.create_resource(document)
        registry: Registry[Any] = Registry().with_resource("", resource)
        self._resolver = registry.resolver()
        self._known: dict[str, Any] = {}

    def get(self, reference: Any, position: str) -> Any:
        """Return what a reference points at, or None, with a warning, when it can't be had."""
        if not isinstance(reference, str):
            self.origin.warn(position, "a $ref that is no text was left out")
            return None
        if not reference.startswith("#"):
            self.origin.warn(position, "a reference that leaves the file was not followed")
            return None
        if reference not in self._known:
            try:
                self._known[reference] = self._resolver.lookup(reference).contents
            except (Unresolvable, NoSuchResource, PointerToNowhere, ValueError, TypeError):
                self._known[reference] = None
        if self._known[reference] is None:
            self.origin.warn(position, "a reference that points at nothing was left out")
        return self._known[reference]

    def follow(self, value: Any, position: str) -> Any:
        """Return `value`, or what it refers to, if it is `{"$ref": ...}`, over several hops."""
        for _ in range(_MAX_HOPS):
            if not isinstance(value, dict) or "$ref" not in value:
                return value
            value = self.get(value["$ref"], position)
        self.origin.warn(position, "a reference that leads back to itself was left out")
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """A self-contained schema, and whether parts of it were cut for their size."""

    schema: dict[str, Any]
    cut: bool


@dataclass(frozen=True, slots=True)
class _Task:
    source: Mapping[str, Any]
    target: dict[str, Any]
    seen: frozenset[str]
    depth: int


def merged_view(
    references: References,
    schema: Mapping[str, Any],
    position: str,
    seen: frozenset[str] = frozenset(),
    *,
    nesting: int = 0,
) -> tuple[dict[str, Any], frozenset[str], bool]:
    """Return a schema with its own reference followed and plain `allOf` members merged into it.

    Returns:
        The view; the references followed on the way; whether one of them is a repetition, in
        which case the view describes the schema but must not be expanded further.
    """
    view = dict(schema)
    repeated = False
    for _ in range(_MAX_HOPS):
        if "$ref" in view:
            reference = view.pop("$ref")
            target = references.get(reference, position)
            if isinstance(target, dict):
                view = {**target, **view}
                repeated = reference in seen
                seen = seen | {reference}
        elif "allOf" in view and (
            merged := _merge_members(references, view, position, seen, nesting)
        ):
            view, seen, repeated = merged
        else:
            break
        if repeated:
            break
    return view, seen, repeated


def _merge_members(
    references: References,
    view: dict[str, Any],
    position: str,
    seen: frozenset[str],
    nesting: int,
) -> tuple[dict[str, Any], frozenset[str], bool] | None:
    """Return `view` with its `allOf` merged into it, or None where that changes the meaning."""
    members = view["allOf"]
    if not isinstance(members, list) or not all(isinstance(item, dict) for item in members):
        return None
    own = {key: value for key, value in view.items() if key != "allOf"}
    if len(members) == 1 and not {"properties", "required", "enum"} & own.keys():
        return {**members[0], **own}, seen, False
    if nesting >= MAX_SCHEMA_DEPTH:
        return None
    merged: dict[str, Any] = {}
    for member in [*members, own]:
        plain, seen, repeated = merged_view(references, member, position, seen, nesting=nesting + 1)
        if repeated or not _merge_into(merged, plain):
            return None
    return {"type": "object", **merged}, seen, False


def _merge_into(merged: dict[str, Any], member: Mapping[str, Any]) -> bool:
    for key, value in member.items():
        if key == "properties" and isinstance(value, dict):
            known = merged.setdefault(key, {})
            if any(known.get(name, item) != item for name, item in value.items()):
                return False
            merged[key] = {**known, **value}
        elif key == "required":
            merged[key] = [*merged.get(key, []), *(value if isinstance(value, list) else [])]
        elif key == "type":
            if value != "object":
                return False
        elif key in _MERGEABLE or key in _DROPPED or key.startswith(("x-", "$", "example")):
            merged[key] = value
        else:
            return False
    return True


def expand(
    references: References,
    schema: Any,
    *,
    position: str,
    direction: Direction,
    max_schemas: int,
) -> Expanded:
    """Return `schema` with every local reference written out.

    Args:
        references: of the document.
        schema: a schema of OpenAPI 2.0 to 3.1.
        position: for warnings.
        direction: "readOnly" leaves out what a request must not send, "writeOnly" what an answer
            does not hold.
        max_schemas: how many sub-schemas are written out; the rest keep type and description.
    """
    root: dict[str, Any] = {}
    if not isinstance(schema, dict):
        return Expanded(schema=root, cut=False)
    queue = deque([_Task(schema, root, frozenset(), 0)])
    cut, count = False, 0
    while queue:
        task = queue.popleft()
        view, seen, repeated = merged_view(references, task.source, position, task.seen)
        count += 1
        too_much = count > max_schemas or task.depth > MAX_SCHEMA_DEPTH
        if repeated or too_much:
            cut = cut or too_much
            task.target.update(_stub(view))
        else:
            _write(view, task, seen, direction, queue)
    return Expanded(schema=root, cut=cut)


def _stub(view: Mapping[str, Any]) -> dict[str, Any]:
    stub = {key: view[key] for key in _STUB_KEYS if key in view}
    if "type" not in stub and isinstance(view.get("properties"), dict):
        stub["type"] = "object"
    return stub


def _write(
    view: dict[str, Any],
    task: _Task,
    seen: frozenset[str],
    direction: Direction,
    queue: deque[_Task],
) -> None:
    target = task.target

    def child(value: Any) -> Any:
        if not isinstance(value, dict):
            return value if isinstance(value, bool) else {}
        slot: dict[str, Any] = {}
        queue.append(_Task(value, slot, seen, task.depth + 1))
        return slot

    hidden: set[str] = set()
    for key, value in view.items():
        if key in _DROPPED or key.startswith(("x-", "$")):
            continue
        if key in _MAPS:
            if isinstance(value, dict):
                members = value.items()
                hidden = {
                    name
                    for name, item in members
                    if isinstance(item, dict) and item.get(direction) is True
                }
                target[key] = {name: child(item) for name, item in members if name not in hidden}
        elif key in _LISTS:
            # An empty list is not allowed there, and says nothing.
            if isinstance(value, list) and value:
                target[key] = [child(item) for item in value]
        elif key in _SINGLE:
            if isinstance(value, list):
                # Before 2020 a list of `items` said what `prefixItems` says now.
                target["prefixItems"] = [child(item) for item in value]
            else:
                target[key] = child(value)
        elif key in ("example", "examples"):
            # A structured example costs the model more tokens than it tells.
            examples = value if isinstance(value, list) and key == "examples" else [value]
            if examples := [item for item in examples if isinstance(item, str | int | float)]:
                target["examples"] = examples
        else:
            target[key] = value
    required = target.pop("required", None)
    if isinstance(required, list):
        names = [name for name in required if isinstance(name, str) and name not in hidden]
        if names:
            target["required"] = list(dict.fromkeys(names))
    _modernise(view, target)


def _modernise(view: Mapping[str, Any], target: dict[str, Any]) -> None:
    """Turn the keywords that OpenAPI 2.0 and 3.0 have of their own into JSON Schema."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        strict = target.get(exclusive)
        if isinstance(strict, bool):
            del target[exclusive]
            if strict and limit in target:
                target[exclusive] = target.pop(limit)
    kind = target.get("type")
    if kind == "file":
        target.update(type="string", format="binary")
    elif view.get("nullable") is True and isinstance(kind, str):
        target["type"] = [kind, "null"]
