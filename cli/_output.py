"""Printing: results to stdout, everything else to stderr, tables for people, JSON for programs.

Names and texts of tools, roles and requests are by others. Whatever is printed goes through here,
and through `visible` or, as JSON, `escaped`: nothing in it steers the terminal or is hidden.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tool_rag_pg._visible import escaped, visible
from tool_rag_pg.errors import ToolRagError

__all__ = [
    "cell",
    "note",
    "print_error",
    "print_json",
    "print_json_lines",
    "print_table",
    "print_text",
    "progress",
]


def note(text: str) -> None:
    """Print a line about what is going on to stderr."""
    print(visible(text), file=sys.stderr, flush=True)


def progress(text: str) -> None:
    """Print a line about progress to stderr, where a person looks at it."""
    if sys.stderr.isatty():
        note(text)


def print_text(text: str = "", *, end: str = "\n") -> None:
    """Print a text, of one line or more."""
    print(visible(text), end=end)


def _json_value(value: object) -> object:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def print_json(document: object) -> None:
    """Print one JSON document."""
    print(escaped(json.dumps(document, ensure_ascii=False, indent=2, default=_json_value)))


def print_json_lines(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print one JSON object a line."""
    for row in rows:
        print(escaped(json.dumps(row, ensure_ascii=False, default=_json_value)))


def cell(value: object) -> str:
    """Return a value as a table shows it: in one line, with nothing hidden."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    # Before line breaks become spaces: some control characters would pass for such.
    return " ".join(visible(str(value).replace("\r\n", "\n")).split())


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None
) -> None:
    """Print rows as a table: drawn on a terminal, plain and tab-separated elsewhere.

    Args:
        columns: headings.
        rows: one value for each column; None is left empty.
        title: a line above the table, on a terminal only.

    """
    if not sys.stdout.isatty():
        print("\t".join(map(cell, columns)))
        for row in rows:
            print("\t".join(cell(value) for value in row))
        return
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    # Escaped, or as Text, so that brackets in names and texts are not taken for markup.
    heading = None if title is None else escape(cell(title))
    table = Table(box=box.SIMPLE_HEAD, title=heading, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(escape(cell(column)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(value)) for value in row))
    Console().print(table)


def print_error(error: ToolRagError) -> None:
    """Print an error to stderr: its message, its hint, and what caused it."""
    note(f"Error: {error}")
    if error.hint:
        note(f"  {error.hint}")
    cause = error.__cause__
    said = str(error)
    while cause is not None:
        # An error of Postgres in its own words, without the functions that it came through.
        primary = getattr(getattr(cause, "diag", None), "message_primary", None)
        text = (primary or str(cause)).partition("\n")[0].removeprefix("connection failed: ")
        if text and text not in said:
            note(f"  because: {text}")
            said += text
        cause = cause.__cause__
