"""What the benchmarks share: a temporary database, timing, and the arithmetic of recall."""

from __future__ import annotations

import hashlib
import json
import os
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psycopg

from tool_rag_pg import _database, _migrate, embedded
from tool_rag_pg.models import ToolHit
from tool_rag_pg.retriever import ToolRetriever

__all__ = [
    "Answer",
    "half_of",
    "latency",
    "machine",
    "percentiles",
    "print_report",
    "print_tables",
    "recall_at",
    "recall_per_tool",
    "search",
    "statement_latency",
    "temporary_database",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search returned: the hits, and how long it took on a warm connection."""

    hits: tuple[ToolHit, ...]
    milliseconds: float

    def names(self, k: int) -> list[str]:
        """Return the first k as `SERVER/TOOL`."""
        return [f"{hit.server}/{hit.name}" for hit in self.hits[:k]]


@contextmanager
def temporary_database(name: str) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection (autocommit) to a fresh migrated database of the embedded server."""
    embedded.ensure_database()
    server = embedded.default_server()
    server.drop_database(name)
    server.create_database(name)
    try:
        _migrate.upgrade(server.url(name))
        with _database.connect(server.url(name), autocommit=True) as connection:
            yield connection
    finally:
        server.drop_database(name)


def half_of(tool: str) -> Literal["A", "B"]:
    """Return the half of a set in which a tool of this name is.

    BFCL's tools are split by it: half A may be looked at to choose parameters, half B may not, so
    that requests whose expected tools are all of half B say what a change is worth.
    """
    return "A" if hashlib.sha256(tool.encode()).digest()[0] % 2 == 0 else "B"


def search(retriever: ToolRetriever, query: str, *, roles: Sequence[str], k: int) -> Answer:
    """Search and take the time from call to rows."""
    start = time.perf_counter()
    hits = retriever.search_tools(query, roles=roles, k=k)
    return Answer(hits=tuple(hits), milliseconds=(time.perf_counter() - start) * 1000)


def statement_latency(
    connection: psycopg.Connection[Any], queries: Sequence[str], *, roles: Sequence[str], k: int
) -> dict[str, float]:
    """Time the bare statement, from psycopg's call to its rows: what any other client would see."""
    times = []
    for query in queries:
        start = time.perf_counter()
        connection.execute(
            "select * from tool_rag.search_tools(query => %s, roles => %s, k => %s)",
            (query, list(roles), k),
        ).fetchall()
        times.append((time.perf_counter() - start) * 1000)
    return percentiles(times)


def recall_at(k: int, pairs: Sequence[tuple[Sequence[str], Answer]]) -> float:
    """Return the share of requests, in percent, whose expected tools are all in the first k."""
    return percent(sum(set(expected) <= set(answer.names(k)) for expected, answer in pairs), pairs)


def recall_per_tool(k: int, pairs: Sequence[tuple[Sequence[str], Answer]]) -> float:
    """Return, in percent, the mean over expected tools of the share of requests that found them."""
    found: dict[str, list[bool]] = {}
    for expected, answer in pairs:
        names = answer.names(k)
        for tool in expected:
            found.setdefault(tool, []).append(tool in names)
    return round(100 * statistics.fmean(map(statistics.fmean, found.values())), 1) if found else 0.0


def percent(part: float, whole: Sequence[object]) -> float:
    """Return a part of a sequence in percent, to one decimal."""
    return round(100 * part / len(whole), 1) if whole else 0.0


def latency(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the median and the 95th percentile in milliseconds."""
    return percentiles([answer.milliseconds for answer in answers])


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times in milliseconds."""
    times = sorted(times)
    return {
        "p50_ms": round(statistics.median(times), 2),
        "p95_ms": round(times[int(0.95 * (len(times) - 1))], 2),
    }


def machine(connection: psycopg.Connection[Any]) -> str:
    """Return what the figures were measured on: cores, server, pgvector."""
    row = connection.execute(
        "select current_setting('server_version'), extversion from pg_extension"
        " where extname = 'vector'"
    ).fetchone()
    assert row is not None
    return f"{os.cpu_count()} cores, Postgres {row[0]}, pgvector {row[1]}"


def print_report(report: Mapping[str, Any], *, as_json: bool) -> None:
    """Print figures as JSON, or one a line."""
    if as_json:
        print(json.dumps(report, indent=2))
        return
    for key, value in report.items():
        if isinstance(value, Mapping):
            value = "  ".join(f"{name} {figure}" for name, figure in value.items())
        print(f"{key:28} {value}")


def print_tables(
    tables: Iterable[tuple[str, Sequence[Mapping[str, Any]]]],
    *,
    as_json: bool,
    into: Path | None = None,
) -> None:
    """Print named tables as one JSON document, or as Markdown, each as soon as it is there.

    Args:
        tables: name and rows of each.
        as_json: print JSON.
        into: a Markdown file in which the table behind the comment `<!-- NAME -->` is replaced.
    """
    if as_json:
        print(json.dumps({name: list(rows) for name, rows in tables}, indent=2))
        return
    for name, rows in tables:
        columns = list(rows[0])
        lines = [columns, ["---"] * len(columns)]
        lines += [["" if row[key] is None else str(row[key]) for key in columns] for row in rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        mark = f"<!-- {name} -->\n"
        print(f"\n{mark}{table}", end="", flush=True)
        if into is not None:
            text = into.read_text(encoding="utf-8")
            before, found, after = text.partition(mark)
            if not found:
                raise ValueError(f"{into} has no line {mark.strip()}")
            into.write_text(before + mark + table + re.sub(r"\A(?:\|.*\n)*", "", after), "utf-8")
