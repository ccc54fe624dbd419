"""Arguments of the wrong type, told by a sentence before anything is sent to the database."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from tool_rag_pg.errors import InvalidArgument

from ._call import Call, said

__all__ = ["checked"]

P = ParamSpec("P")
T = TypeVar("T")

# What an annotation means, how it is called, and who fits. A single text is a sequence, too; it has
# a message of its own in `as_list`.
_KINDS: tuple[tuple[Any, str, Callable[[Any], bool]], ...] = (
    (str, "a text", lambda value: isinstance(value, str)),
    (
        int,
        "a whole number",
        lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    ),
    (
        float,
        "a number",
        lambda value: isinstance(value, Real | Decimal) and not isinstance(value, bool),
    ),
    (datetime, "a datetime", lambda value: isinstance(value, datetime)),
    (timedelta, "a timedelta", lambda value: isinstance(value, timedelta)),
    (bytes, "bytes", lambda value: isinstance(value, bytes)),
    (Mapping, "a mapping", lambda value: isinstance(value, Mapping)),
    (
        Sequence,
        "a list",
        lambda value: isinstance(value, Iterable) and not isinstance(value, bytes | Mapping),
    ),
)


def checked(build: Callable[P, Call[T]]) -> Callable[P, Call[T]]:
    """Return a builder that refuses what does not fit the annotations of its parameters.

    What lists hold is checked where they are read: `as_list`, `int4`, `vector`.
    """
    signature = inspect.signature(build)

    @cache
    def wanted() -> dict[str, list[tuple[str, Callable[[Any], bool]]]]:
        hints = get_type_hints(build)
        return {name: _kinds(hints[name]) for name in signature.parameters}

    @wraps(build)
    def make(*args: P.args, **kwargs: P.kwargs) -> Call[T]:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            kinds = wanted()[name]
            if kinds and not any(fits(value) for _, fits in kinds):
                raise InvalidArgument(
                    f"{name} is {said(value)} instead of {' or '.join(kind for kind, _ in kinds)}",
                    hint=f"see help(ToolRetriever.{build.__name__})",
                )
        return build(*args, **kwargs)

    return make


def _kinds(hint: Any) -> list[tuple[str, Callable[[Any], bool]]]:
    """Return what an annotation takes; nothing where it takes anything."""
    if get_origin(hint) in (Union, UnionType):
        parts = [_kinds(part) for part in get_args(hint)]
        return [kind for part in parts for kind in part] if all(parts) else []
    if hint is NoneType:
        return [("None", lambda value: value is None)]
    if get_origin(hint) is Literal:
        hint = str
    origin = get_origin(hint) or hint
    return [(name, fits) for kind, name, fits in _KINDS if kind is origin]
