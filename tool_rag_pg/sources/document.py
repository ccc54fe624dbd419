"""A file's text as JSON values that know where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tool_rag_pg.errors import SourceError

from .context import Origin
from .json_text import parse_json, parse_json_lines
from .text import clean, may_need_cleaning
from .yaml_text import parse_yaml

__all__ = ["LINE_SUFFIXES", "SUFFIXES", "Document", "parse"]

LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})
YAML_SUFFIXES = frozenset({".yaml", ".yml"})
SUFFIXES = LINE_SUFFIXES | YAML_SUFFIXES | {".json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The values of a file.

    Attributes:
        values: pairs of a value and its position: "" for all of the file, or "line 7".
        lines: whether the file is JSON Lines.
    """

    values: tuple[tuple[Any, str], ...]
    lines: bool


def parse(text: str, suffix: str, origin: Origin) -> Document:
    """Return the values of `text`; `suffix` (such as ".json", "" if unknown) says what to expect.

    Raises:
        SourceError: with the line and column of the first fault.
    """
    if suffix in YAML_SUFFIXES or (suffix not in SUFFIXES and text.lstrip()[0] not in '{["'):
        values = [(parse_yaml(text, origin), 1)]
        lines = False
    elif suffix in LINE_SUFFIXES:
        values, lines = _parse_lines(text, origin)
    else:
        values = parse_json(text, origin)
        lines = len(values) > 1
    located = [(value, f"line {line}" if lines else "") for value, line in values]
    if may_need_cleaning(text):
        located = [(clean(value, origin, position), position) for value, position in located]
    return Document(values=tuple(located), lines=lines)


def _parse_lines(text: str, origin: Origin) -> tuple[list[tuple[Any, int]], bool]:
    try:
        return parse_json_lines(text, origin), True
    except SourceError as error:
        # One value over several lines is plain JSON under a wrong name.
        if text.lstrip().partition("\n")[0].strip() not in ("{", "["):
            raise
        try:
            return parse_json(text, origin), False
        except SourceError:
            raise error from None
