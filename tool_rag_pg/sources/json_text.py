"""JSON and JSON Lines, read strictly: what two readers could understand differently is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from .context import Origin, shorten

__all__ = ["MAX_DEPTH", "parse_json", "parse_json_lines"]

# Real schemas nest some forty levels; Postgres and every recursive reader stay far from harm.
MAX_DEPTH = 200
# A double ends at 1.8e308, so what is longer is no number that a schema can mean.
MAX_DIGITS = 309

_SPACE = re.compile(r"[ \t\r\n]*")
# Constants and numbers end where the decoder ends them, whatever follows.
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|NaN|-?Infinity'
    r'|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|[^\s{}\[\]:,"]+',
    re.DOTALL,
)
_CORRECT = "correct it there, or export the tools again"


class _Refused(ValueError):
    """Raised by the decoder's hooks, which know what is wrong but not where."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Refused
    return value


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Refused
    return int(digits)


def _decimal(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _Refused
    return value


def _constant(name: str) -> NoReturn:
    raise _Refused(name)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_decimal,
    parse_constant=_constant,
)


def parse_json(text: str, origin: Origin) -> list[tuple[Any, int]]:
    """Return the values that follow each other in `text`, each with the line it starts on.

    Raises:
        SourceError: with line and column of the first fault.
    """
    values: list[tuple[Any, int]] = []
    lines, counted = 1, 0
    offset = _skip_space(text, 0)
    while offset < len(text):
        lines += text.count("\n", counted, offset)
        counted = offset
        value, offset = _decode(text, offset, origin, first_line=1)
        values.append((value, lines))
        offset = _skip_space(text, offset)
    return values


def parse_json_lines(text: str, origin: Origin) -> list[tuple[Any, int]]:
    """Return one value for each line that is not blank, with its line number.

    Raises:
        SourceError: with line and column of the first fault.
    """
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        offset = _skip_space(line, 0)
        if offset == len(line):
            continue
        value, end = _decode(line, offset, origin, first_line=number)
        if _skip_space(line, end) != len(line):
            raise _syntax_error(origin, line, end, number, "there is more after the line's value")
        values.append((value, number))
    return values


def _skip_space(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _decode(text: str, offset: int, origin: Origin, *, first_line: int) -> tuple[Any, int]:
    try:
        value, end = _DECODER.raw_decode(text, offset)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise _syntax_error(origin, text, error.pos, first_line, reason) from error
    except (_Refused, RecursionError) as error:
        found, reason, hint = next(_problems(text, offset))
        position = _line_and_column(text, found, first_line)
        raise origin.error(position, reason, hint=hint) from error
    if _too_deep(value):
        found, reason, hint = next(_problems(text, offset))
        raise origin.error(_line_and_column(text, found, first_line), reason, hint=hint)
    return value, end


def _syntax_error(
    origin: Origin, text: str, offset: int, first_line: int, reason: str
) -> Exception:
    position = _line_and_column(text, offset, first_line)
    return origin.error(position, f"it is not valid JSON: {reason}", hint=_CORRECT)


def _line_and_column(text: str, offset: int, first_line: int) -> str:
    line = first_line + text.count("\n", 0, offset)
    return f"line {line}, column {offset - text.rfind(chr(10), 0, offset)}"


def _too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _problems(text: str, start: int) -> Iterator[tuple[int, str, str]]:
    """Yield offset, reason and hint of what the decoder's hooks refuse, in order of the text.

    Slow, hence only used once something is known to be wrong.
    """
    keys: list[set[str] | None] = []
    last_string: tuple[str, int] = ("", start)
    for match in _TOKEN.finditer(text, start):
        token, offset = match.group(), match.start()
        if token in "{[":
            keys.append(set() if token == "{" else None)
            if len(keys) > MAX_DEPTH:
                yield offset, f"values nest more than {MAX_DEPTH} levels deep", "flatten the schema"
        elif token in "}]":
            if keys:
                keys.pop()
        elif token.startswith('"'):
            last_string = (token, offset)
        elif token == ":" and keys and (known := keys[-1]) is not None:
            key = json.loads(last_string[0], strict=False)
            if key in known:
                reason = f"the key {shorten(key)!r} stands twice in one object"
                yield last_string[1], reason, "remove or rename one of the two"
            known.add(key)
        elif token in ("NaN", "Infinity", "-Infinity"):
            yield offset, f"{token} is no JSON value", "write a number, or null"
        elif token[0] in "-0123456789" and not _storable(token):
            yield offset, "the number is too large to be stored", "write it as a text"


def _storable(token: str) -> bool:
    try:
        value = float(token)
    except ValueError:
        return True
    return len(token) <= MAX_DIGITS and abs(value) != float("inf")
