"""What all statements share: the call itself, and arguments as Postgres can take them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from numbers import Integral
from typing import Any, Generic, LiteralString, TypeVar

from psycopg.types.json import Jsonb
from psycopg.types.numeric import Int4

from tool_rag_pg.errors import InvalidArgument

__all__ = [
    "Allowed",
    "Call",
    "Row",
    "as_allowed",
    "as_json",
    "as_list",
    "clean",
    "int4",
    "said",
    "scalar",
    "vector",
    "zoned",
]

Row = Mapping[str, Any]
# {"server": {"tools": ["name", ...]}}
Allowed = Mapping[str, Mapping[str, Sequence[str]]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A statement, its parameters, and what makes a result of its rows."""

    statement: LiteralString
    parameters: Mapping[str, Any]
    read: Callable[[Sequence[Row]], T]


def scalar(rows: Sequence[Row]) -> Any:
    return rows[0]["result"]


def clean(text: str) -> str:
    """Return a text as Postgres can take it: without NUL, and without halves of surrogate pairs."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def as_list(values: Sequence[str] | None, argument: str) -> list[str] | None:
    if isinstance(values, str):
        raise InvalidArgument(
            f"{argument} is one text instead of a list", hint=f"pass {argument}=[{values!r}]"
        )
    if values is None:
        return None
    found = list(values)
    for place, value in enumerate(found):
        if not isinstance(value, str):
            raise InvalidArgument(
                f"{argument}[{place}] is {said(value)} instead of a text",
                hint=f"{argument} is a list of texts",
            )
    return found


def as_allowed(allowed: Allowed | None) -> Jsonb | None:
    """Return what a backend allows for one call; its shape is checked where it counts, in SQL."""
    if allowed is None:
        return None
    try:
        text = json.dumps(allowed, default=list)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"allowed has no JSON form: {error}",
            hint='pass allowed={"SERVER": {"tools": ["NAME", ...]}}',
        ) from None
    return Jsonb(json.loads(text))


def int4(value: int, argument: str) -> Int4:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InvalidArgument(
            f"{argument} is {said(value)} instead of a whole number", hint="pass an int"
        )
    if not -(2**31) <= value < 2**31:
        raise InvalidArgument(f"{argument} is out of range: {value}")
    return Int4(value)


def zoned(value: datetime | None, argument: str) -> datetime | None:
    if value is not None and value.tzinfo is None:
        raise InvalidArgument(
            f"{argument} has no time zone", hint="use datetime.now(timezone.utc) + timedelta(...)"
        )
    return value


def vector(values: Sequence[float] | None) -> str | None:
    if values is None:
        return None
    try:
        return f"[{','.join(repr(float(value)) for value in values)}]"
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"a vector holds something other than numbers: {error}", hint="pass a list of floats"
        ) from error


def as_json(value: Any, argument: str) -> Jsonb:
    """Return a document whose faults are told as those of an argument, when it is sent."""

    def dumps(document: Any) -> str:
        try:
            return json.dumps(document)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgument(
                f"{argument} can't be written as JSON: {error}",
                hint="it takes texts, numbers, lists and mappings with texts as keys",
            ) from error

    return Jsonb(value, dumps=dumps)


def said(value: Any) -> str:
    """Return what a value is, for a sentence that says what it should be."""
    return "None" if value is None else f"of type {type(value).__name__}"
