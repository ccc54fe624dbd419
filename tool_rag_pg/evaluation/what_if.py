"""A shortlist before and after an edit that is taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import psycopg

from tool_rag_pg.models import ToolHit
from tool_rag_pg.retriever import ToolRetriever

__all__ = ["Move", "try_edit"]

Change = Literal["same", "moved", "gained", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A tool of the shortlist before or after an edit.

    Attributes:
        tool: "SERVER/TOOL".
        change: "gained" or "lost" where only one of the lists holds it, "moved" where its rank
            differs, else "same".
        rank_before: its rank before the edit, or None.
        rank: its rank after it, or None.
        relevance_before: its relevance before the edit, or None.
        relevance: its relevance after it, or None.
    """

    tool: str
    change: Change
    rank_before: int | None
    rank: int | None
    relevance_before: float | None
    relevance: float | None


def try_edit(
    connection: psycopg.Connection[Any],
    edit: Callable[[ToolRetriever], object],
    search: Callable[[ToolRetriever], list[ToolHit]],
) -> list[Move]:
    """Search, edit, search again, and take the edit back; return what changed.

    Other edits wait meanwhile, and other searches see nothing of it.

    Args:
        connection: outside of a transaction.
        edit: what to do.
        search: how to search.
    """
    retriever = ToolRetriever(connection)
    level = connection.isolation_level
    connection.rollback()
    # Both searches see the same edits of others: those of before.
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    try:
        with connection.transaction(force_rollback=True):
            before = search(retriever)
            edit(retriever)
            after = search(retriever)
    finally:
        connection.rollback()
        connection.isolation_level = level
    return _moves(before, after)


def _moves(before: list[ToolHit], after: list[ToolHit]) -> list[Move]:
    """Return the tools of the new list in its order, then those that are lost."""
    old = {(hit.server, hit.name): hit for hit in before}
    new = {(hit.server, hit.name): hit for hit in after}
    moves = []
    for key in [*new, *(key for key in old if key not in new)]:
        was, is_ = old.get(key), new.get(key)
        change: Change = "same"
        if was is None:
            change = "gained"
        elif is_ is None:
            change = "lost"
        elif was.rank != is_.rank:
            change = "moved"
        moves.append(
            Move(
                tool="/".join(key),
                change=change,
                rank_before=None if was is None else was.rank,
                rank=None if is_ is None else is_.rank,
                relevance_before=None if was is None else was.relevance,
                relevance=None if is_ is None else is_.relevance,
            )
        )
    return moves
