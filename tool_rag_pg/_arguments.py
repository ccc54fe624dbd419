"""Checking a call's arguments against a tool's JSON Schema, in words that a model can act on."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend, validator_for
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from ._schemas import canonical

__all__ = ["Problem", "find_problems"]

_MAX_PROBLEMS = 10
_MAX_ERRORS = 200
_MAX_LISTED = 20
_MAX_SHOWN = 80
# Formats that say something on every machine, whatever else is installed.
_FORMATS = FormatChecker(("date", "email", "ipv4", "ipv6", "uuid"))
_NO_FORMATS = FormatChecker(())
# A repeated group that itself repeats or branches may take time exponential in the text.
_EXPONENTIAL = re.compile(r"\((?:[^()\\]|\\.)*[+*{|](?:[^()\\]|\\.)*\)[+*{]")
# What may take up more or less of the text: as many such, so many ways to try.
_REPEAT = re.compile(r"(?<!\\)(?:[*+]|\{\d*,\d*\})")
_MAX_STEPS = 10_000_000
# Keywords that lead to further schemas, and how many such steps a check may take.
_NESTING = {
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentSchemas",
    "dependencies",
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
}
_MAX_NESTED = 20_000
_spent: ContextVar[list[int]] = ContextVar("steps of the check that is going on")
_DATA = ("enum", "const", "default", "examples", "example")


class _Exhausted(Exception):
    """A check took more steps than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with the arguments of a call.

    Attributes:
        path: where, as in "lines[2].sku"; empty for the arguments as a whole.
        message: what, as a clause.
        expected: what belongs there, or None.
        allowed: the values that are allowed there, at most 20; empty where any number is.
    """

    path: str
    message: str
    expected: str | None = None
    allowed: tuple[Any, ...] = ()

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        values = ", ".join(map(_show, self.allowed))
        wanted = f"one of {values}" if values else self.expected
        return f"{where}{self.message}{f' (expected: {wanted})' if wanted else ''}"


def find_problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[Problem]:
    """Return what is wrong with arguments, at most ten things; nothing where they fit.

    The draft is the one that the schema names, or 2020-12. References to other documents are not
    followed. A schema that is none, or can't be followed, is read as `canonical` reads it.
    """
    try:
        own = _remembered_checker(json.dumps(schema))
    except (TypeError, ValueError, RecursionError):
        own = _own_checker(schema)
    if own is not None:
        with suppress(Unresolvable, RecursionError):
            return _find(own, arguments)
    try:
        lenient = canonical(_without_bad_patterns(schema))
        return _find(_checker(Draft202012Validator, lenient), arguments)
    except RecursionError:
        return [Problem(path="", message="they are nested too deeply")]


@lru_cache(maxsize=512)
def _remembered_checker(text: str) -> Any:
    """Return the checker of a schema that is called again and again: making one takes longest."""
    return _own_checker(json.loads(text))


def _own_checker(schema: Mapping[str, Any]) -> Any:
    """Return what checks by the schema's own draft; None where the schema is none."""
    try:
        usable = _without_bad_patterns(schema)
        validator = validator_for(usable, default=Draft202012Validator)
        validator.check_schema(usable, format_checker=_NO_FORMATS)
    except (SchemaError, Unresolvable, RecursionError):
        return None
    return _checker(validator, usable)


def _checker(validator: Any, schema: Any) -> Any:
    return _bounded(validator)(schema, format_checker=_FORMATS, registry=EMPTY_REGISTRY)


@cache
def _bounded(validator: Any) -> Any:
    own = {"multipleOf": _check_multiple, "uniqueItems": _check_unique, "pattern": _check_pattern}
    counted = {
        keyword: _counted(check)
        for keyword, check in validator.VALIDATORS.items()
        if keyword in _NESTING
    }
    return extend(validator, {**counted, **own})


def _counted(check: Any) -> Any:
    """Return the check of a keyword that leads to further schemas, as one step of a budget."""

    def step(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        spent = _spent.get()
        spent[0] += 1
        if spent[0] > _MAX_NESTED:
            raise _Exhausted
        yield from check(validator, value, instance, schema) or ()

    return step


def _find(checker: Any, arguments: Mapping[str, Any]) -> list[Problem]:
    token = _spent.set([0])
    try:
        errors = list(islice(checker.iter_errors(arguments), _MAX_ERRORS))
    except _Exhausted:
        # Alternatives that double with each level take forever, and a schema of some kB has
        # twenty. The tool checks what is not checked here.
        return []
    finally:
        _spent.reset(token)
    found = {str(problem): problem for error in errors for problem in _explain(error)}
    return sorted(found.values(), key=lambda problem: problem.path)[:_MAX_PROBLEMS]


def _check_multiple(_: Any, factor: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    """Check in decimals: as floats, 19.99 is no multiple of 0.01."""
    if not isinstance(instance, int | float) or isinstance(instance, bool) or not factor:
        return
    try:
        fits = Decimal(repr(instance)) % Decimal(repr(factor)) == 0
    except InvalidOperation:
        return
    if not fits:
        yield ValidationError(f"{_show(instance)} is not a multiple of {_show(factor)}")


def _check_unique(_: Any, wanted: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    """Compare canonical texts, not each item with every other one."""
    if wanted is not True or not isinstance(instance, list):
        return
    texts = {json.dumps(_comparable(item), sort_keys=True, default=str) for item in instance}
    if len(texts) < len(instance):
        yield ValidationError("it holds an item twice")


def _comparable(value: Any) -> Any:
    """Return a value whose text is another's where JSON Schema takes both for equal: 1 and 1.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return value


def _check_pattern(_: Any, pattern: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    """Check a text only where that takes a bounded time: the tool will check all of it."""
    if not isinstance(instance, str) or not isinstance(pattern, str):
        return
    repeats = len(_REPEAT.findall(pattern))
    if len(instance) ** repeats <= _MAX_STEPS and not re.search(pattern, instance):
        yield ValidationError(f"it does not match {pattern}")


def _without_bad_patterns(node: Any) -> Any:
    """Return a schema without patterns that Python can't read, or that may take forever."""
    if isinstance(node, list):
        return [_without_bad_patterns(each) for each in node]
    if not isinstance(node, Mapping):
        return node
    made = {
        key: value if key in _DATA else _without_bad_patterns(value) for key, value in node.items()
    }
    if isinstance(made.get("pattern"), str) and not _is_usable(made["pattern"]):
        del made["pattern"]
    by_pattern = made.get("patternProperties")
    if isinstance(by_pattern, dict) and not all(map(_is_usable, by_pattern)):
        del made["patternProperties"]
        made.pop("additionalProperties", None)
    return made


def _is_usable(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return not _EXPONENTIAL.search(pattern)


def _explain(error: ValidationError) -> Iterator[Problem]:
    path = _path(error.absolute_path)
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    match error.validator:
        case "required":
            yield from _explain_required(error, path, schema)
        case "additionalProperties" | "unevaluatedProperties":
            yield from _explain_unknown(error, path, schema)
        case "enum" | "const":
            allowed = (
                [error.validator_value]
                if error.validator == "const"
                else list(error.validator_value)
            )
            near = _nearest(error.instance, allowed)
            yield Problem(
                path=path,
                message=f"{_show(error.instance)} is not allowed{near}",
                allowed=tuple(allowed[:_MAX_LISTED]),
            )
        case "anyOf" | "oneOf":
            yield from _explain_alternatives(error, path, schema)
        case "format":
            message = f"{_show(error.instance)} is no {error.validator_value}"
            yield Problem(path=path, message=message, expected=_describe(schema))
        case "type" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            message = f"{_show(error.instance)} does not fit"
            yield Problem(path=path, message=message, expected=_describe(schema))
        case "pattern":
            message = f"{_show(error.instance)} does not match {error.validator_value}"
            yield Problem(path=path, message=message, expected=_describe(schema))
        case _:
            message = error.message if len(error.message) <= 200 else f"{error.message[:200]}..."
            yield Problem(path=path, message=message, expected=_describe(schema))


def _explain_required(
    error: ValidationError, path: str, schema: Mapping[str, Any]
) -> Iterator[Problem]:
    if not isinstance(error.instance, Mapping):
        return
    for name in error.validator_value:
        if name not in error.instance:
            member = schema.get("properties", {}).get(name, {})
            yield Problem(path=_path([*error.absolute_path, name]), message="it is missing",
                          expected=_describe(member))  # fmt: skip


def _explain_unknown(
    error: ValidationError, path: str, schema: Mapping[str, Any]
) -> Iterator[Problem]:
    known = list(schema.get("properties", {}))
    unknown = [name for name in error.instance if name not in known]
    if isinstance(error.validator_value, Mapping) or not unknown:
        yield Problem(path=path, message=error.message[:200])
        return
    listed = f"the known ones are {', '.join(known[:_MAX_LISTED])}" if known else "there are none"
    for name in unknown:
        near = get_close_matches(str(name), known, n=1)
        message = "there is no such argument" + (f"; did you mean {near[0]}?" if near else "")
        yield Problem(
            path=_path([*error.absolute_path, name]),
            message=message,
            expected=None if near else listed,
        )


def _explain_alternatives(
    error: ValidationError, path: str, schema: Mapping[str, Any]
) -> Iterator[Problem]:
    """Explain the alternative that the value comes nearest to, or list them all."""
    branches: dict[Any, list[ValidationError]] = defaultdict(list)
    for inner in error.context or ():
        branches[inner.relative_schema_path[0]].append(inner)
    # An alternative of another type, or with another constant, is not the one that was meant.
    meant = [errors for errors in branches.values() if not any(map(_is_of_another, errors))]
    if len(meant) == 1:
        for each in meant[0]:
            yield from _explain(each)
        return
    options = [_describe(each) for each in error.validator_value if isinstance(each, Mapping)]
    message = f"{_show(error.instance)} fits none of the alternatives"
    if not branches:
        message = f"{_show(error.instance)} fits more than one of the alternatives"
    listed = " or ".join(dict.fromkeys(filter(None, options)))
    yield Problem(path=path, message=message, expected=listed or None)


def _is_of_another(error: ValidationError) -> bool:
    depth = len(error.relative_path)
    return (error.validator == "type" and depth == 0) or (
        error.validator in ("const", "enum") and depth <= 1
    )


def _path(steps: Sequence[Any]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def _nearest(value: Any, allowed: Sequence[Any]) -> str:
    texts = [each for each in allowed if isinstance(each, str)]
    near = get_close_matches(value, texts, n=1) if isinstance(value, str) else []
    return f"; did you mean {_show(near[0])}?" if near else ""


def _describe(schema: Any) -> str | None:
    """Return in a few words what a schema asks for."""
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return _show(schema["const"])
    if isinstance(schema.get("enum"), list):
        return f"one of {', '.join(map(_show, schema['enum'][:_MAX_LISTED]))}"
    named = schema.get("type")
    types = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    words = " or ".join(map(str, types))
    if "array" in types and (items := _describe(schema.get("items"))):
        words += f" of {items}"
    elif "object" in types and isinstance(schema.get("properties"), Mapping):
        words += f" with {', '.join(list(schema['properties'])[:_MAX_LISTED])}"
    bounds = {
        "minimum": "at least {}",
        "maximum": "at most {}",
        "exclusiveMinimum": "more than {}",
        "exclusiveMaximum": "less than {}",
        "format": "as {}",
        "pattern": "matching {}",
    }
    limits = [text.format(schema[key]) for key, text in bounds.items() if key in schema]
    return ", ".join(filter(None, [words, *limits])) or None
