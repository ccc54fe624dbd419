"""A shortlist as a table, for `search` and `demo`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tool_rag_pg.cli._output import cell, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from tool_rag_pg.models import ToolHit

__all__ = ["draw_shortlist", "print_shortlist"]

# Below this width of the terminal, a tool's name takes two lines rather than the reason's room.
_WIDE = 96
# So many columns, up to the tokens, hold no text to fold.
_FIXED = 4


# What `explain` may hold besides the two arms and the grant, each with how a person would say it.
_CAUSES = {
    "example": "as in: {}",
    "synonym": "synonym: {}",
    "expansion": "term also means: {}",
    "part": "for: {}",
    "context": "earlier: {}",
    "needed": "needed by {by}: {reason}",
    "used": "used in turn {turn}",
    "sent": "sent before, at place {}",
}


def print_shortlist(hits: Sequence[ToolHit], *, explain: bool) -> None:
    """Print a shortlist: drawn on a terminal, tab-separated elsewhere.

    Args:
        hits: at least one.
        explain: whether to show, instead of the reason, what each arm said, what else led to the
            tool, and the rule that allows it.
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
    for place, column in enumerate(_columns(hits, explain=explain)):
        if place >= _FIXED:
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="left" if column == "tool" else "right", no_wrap=True)
    for hit, (rank, tool, *figures) in zip(hits, _rows(hits, explain=explain), strict=True):
        name = Text(cell(tool), style="green")
        if console.width < _WIDE:
            name = Text(f"{cell(hit.server)}/\n{cell(hit.name)}", style="green")
        # As Text, so that brackets are not taken for markup.
        table.add_row(str(rank), name, *(Text(cell(figure)) for figure in figures))
    console.print(table)


def _is_rated(hits: Sequence[ToolHit]) -> bool:
    return any(hit.relevance is not None for hit in hits)


def _columns(hits: Sequence[ToolHit], *, explain: bool) -> list[str]:
    rating = "relevance" if _is_rated(hits) else "score"
    more = [*_arms(hits), "because", "allowed by"] if explain else ["reason"]
    return ["rank", "tool", rating, "tokens", *more]


def _arms(hits: Sequence[ToolHit]) -> list[str]:
    """Return which arms there are: that of a caller's model only where one was asked."""
    asked = any("model" in (hit.explain or {}) for hit in hits)
    return ["words", "meaning", "model"] if asked else ["words", "meaning"]


def _rows(hits: Sequence[ToolHit], *, explain: bool) -> list[tuple[object, ...]]:
    rated = _is_rated(hits)
    arms = _arms(hits)
    return [
        (
            hit.rank,
            f"{hit.server}/{hit.name}",
            _number(hit.relevance, 2) if rated else _number(hit.score, 3),
            hit.tokens,
            *(_facts(hit.explain or {}, arms) if explain else (hit.reason or "",)),
        )
        for hit in hits
    ]


def _number(value: float | None, digits: int) -> str:
    # Tools that came on top of the best k have none.
    return "" if value is None else f"{value:.{digits}f}"


def _facts(explain: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Return what each arm said, what else led to the tool, and the rule that allows it."""
    arms = []
    for arm in names:
        said = explain.get(arm, {})
        place = f"#{said['rank']}, " if said.get("rank") else ""
        matched = f": {', '.join(said['matched'])}" if said.get("matched") else ""
        arms.append(f"{place}{said['score']:.2f}{matched}" if said else "")
    causes = [
        form.format(**explain[cause])
        if isinstance(explain[cause], Mapping)
        else form.format(explain[cause])
        for cause, form in _CAUSES.items()
        if cause in explain
    ]
    grant = explain.get("grant", {})
    until = f" until {grant['valid_until']}" if grant.get("valid_until") else ""
    hours = f", {grant['hours']}" if grant.get("hours") else ""
    allowed = f"{grant['role']}: {grant['rule']}{until}{hours}" if grant else ""
    return (*arms, "; ".join(causes), allowed)
