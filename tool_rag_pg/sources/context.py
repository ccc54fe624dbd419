"""Where errors and warnings say they come from, while one file is read."""

from __future__ import annotations

from typing import Any

from tool_rag_pg.errors import SourceError

__all__ = ["NotAnExport", "Origin", "at", "describe", "shorten"]

SHOWN_CHARACTERS = 60


class NotAnExport(Exception):
    """The file is well formed, yet nothing in it looks like a tool; the text says why."""


class Origin:
    """One file, or one server in it: makes its errors and collects its warnings."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._warnings: dict[str, tuple[str, int]] = {}

    def fork(self) -> Origin:
        """Return an origin for a part of the same file, with warnings of its own."""
        return Origin(self.path)

    def error(self, position: str | None, message: str, *, hint: str) -> SourceError:
        """Return, for the caller to raise, an error at `position` of this file."""
        return SourceError(message, path=self.path, position=position or None, hint=hint)

    def warn(self, position: str, message: str) -> None:
        """Note a warning; the same message at many positions becomes one sentence."""
        first, count = self._warnings.get(message, (position, 0))
        self._warnings[message] = (first, count + 1)

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings so far, one sentence each, in order of first appearance."""
        return tuple(
            f"{self.path}: {first}: {message}"
            + (f" (and at {count - 1} more)" if count > 1 else "")
            for message, (first, count) in self._warnings.items()
        )


def at(where: str, step: str | int) -> str:
    """Return the position of a key or an index inside `where` ("" is the whole file).

    Positions read like `result.tools[4].name`, or `line 7: name` in JSON Lines.
    """
    if isinstance(step, int):
        text = f"[{step}]"
    else:
        text = step if step.replace("_", "a").replace("-", "a").isalnum() else repr(shorten(step))
    if not where:
        return text
    if where.startswith("line ") and where[5:].isdigit():
        return f"{where}: {text}"
    return f"{where}{text}" if isinstance(step, int) else f"{where}.{text}"


def shorten(text: str) -> str:
    """Return at most `SHOWN_CHARACTERS` characters of a text that is quoted in a message."""
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def describe(value: Any) -> str:
    """Return what a JSON value is, for a message: `the number 5`, `a list`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {shorten(repr(value))}"
    if isinstance(value, str):
        return f"the text {shorten(value)!r}" if value else "an empty text"
    return "a list" if isinstance(value, list) else "an object"
