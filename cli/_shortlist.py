"""A shortlist as a table, for `search` and `demo`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tool_rag_pg.cli._output import print_table

if TYPE_CHECKING:
    from rich.console import Console

    from tool_rag_pg.models import ToolHit

__all__ = ["draw_shortlist", "print_shortlist"]

# Below this width of the terminal, a tool's name takes two lines rather than the reason's room.
_WIDE = 96


def print_shortlist(hits: Sequence[ToolHit], *, explain: bool) -> None:
    """Print a shortlist: drawn on a terminal, tab-separated elsewhere.

    Args:
        hits: at least one.
        explain: whether to add a column with rank and score in each arm.
    """
    if not sys.stdout.isatty():
        print_table(_columns(hits, explain=explain), _rows(hits, explain=explain))
        return
    from rich.console import Console

    draw_shortlist(Console(), hits, explain=explain)


def draw_shortlist(console: Console, hits: Sequence[ToolHit], *, explain: bool = False) -> None:
    """Draw a shortlist; names of tools are never cut off."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in _columns(hits, explain=False):
        if column == "reason":
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="left" if column == "tool" else "right", no_wrap=True)
    for hit, (rank, tool, rating, tokens, reason) in zip(
        hits, _rows(hits, explain=False), strict=True
    ):
        name = Text(str(tool), style="green")
        if console.width < _WIDE:
            name = Text(f"{hit.server}/\n{hit.name}", style="green")
        # As Text, so that brackets are not taken for markup.
        why = Text(str(reason))
        if explain:
            why.append(f"\n{_flatten(hit.explain or {})}", style="dim")
        table.add_row(str(rank), name, str(rating), str(tokens), why)
    console.print(table)


def _is_rated(hits: Sequence[ToolHit]) -> bool:
    return any(hit.relevance is not None for hit in hits)


def _columns(hits: Sequence[ToolHit], *, explain: bool) -> list[str]:
    rating = "relevance" if _is_rated(hits) else "score"
    return ["rank", "tool", rating, "tokens", "reason", *(["explain"] if explain else [])]


def _rows(hits: Sequence[ToolHit], *, explain: bool) -> list[tuple[object, ...]]:
    rated = _is_rated(hits)
    return [
        (
            hit.rank,
            f"{hit.server}/{hit.name}",
            _number(hit.relevance, 2) if rated else _number(hit.score, 3),
            hit.tokens,
            hit.reason or "",
            *([_flatten(hit.explain or {})] if explain else []),
        )
        for hit in hits
    ]


def _number(value: float | None, digits: int) -> str:
    # Tools that came on top of the best k have none.
    return "" if value is None else f"{value:.{digits}f}"


def _flatten(explain: Mapping[str, Any]) -> str:
    """Return nested facts on one line: `words: rank 2, score 2.6; meaning: rank 8`."""
    return "; ".join(
        f"{key}: {', '.join(f'{name} {_brief(fact)}' for name, fact in value.items())}"
        if isinstance(value, dict)
        else f"{key}: {_brief(value)}"
        for key, value in explain.items()
    )


def _brief(fact: object) -> str:
    return " ".join(map(str, fact)) if isinstance(fact, list) else str(fact)
