"""What all statements share: the call itself, and arguments as Postgres can take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, LiteralString, TypeVar

from psycopg.types.numeric import Int4

from tool_rag_pg.errors import InvalidArgument

__all__ = ["Call", "Row", "as_list", "clean", "int4", "scalar", "vector", "zoned"]

Row = Mapping[str, Any]
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
    return None if values is None else list(values)


def int4(value: int, argument: str) -> Int4:
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
    return None if values is None else f"[{','.join(repr(float(value)) for value in values)}]"
