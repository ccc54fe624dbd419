"""Speed and exactness of `search_tools` with 44,453 tools, for roles that see 1%, 50% and 100%.

    python -m benchmarks.large --data DATA [--tools 44453] [--requests 300] [--json]

The catalogue holds every tool of the public sets and variations of them without repeats
(benchmarks/catalogue.py); the requests are real ones, drawn evenly from six sets. A search is exact
with the option {"exact": true}; the overlap is the mean share of its top 10 that the default finds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.catalogue import large_catalogue, requests
from benchmarks.harness import latency, machine, print_report, search, temporary_database
from tool_rag_pg.retriever import ToolRetriever

SHARES = (1, 50, 100)


def measure(data: Path, *, size: int, queries: int, edits: int = 20) -> dict[str, Any]:
    """Ingest, grant, search and edit; return the figures."""
    servers: dict[str, list[dict[str, Any]]] = {}
    for tool in large_catalogue(data, size):
        servers.setdefault(tool.pop("server"), []).append(_storable(tool))
    asked = requests(data, queries)
    with temporary_database("tool_rag_bench_large") as connection:
        retriever = ToolRetriever(connection)
        start = time.perf_counter()
        with connection.transaction():
            for server, tools in servers.items():
                retriever.upsert_tools({"server": server, "tools": tools})
        report: dict[str, Any] = {
            "machine": machine(connection),
            "tools": size,
            "requests": len(asked),
            "ingest_seconds": round(time.perf_counter() - start, 1),
        }
        for share in SHARES:
            _grant_share(retriever, connection, share)
        connection.execute("vacuum analyze")
        for share in SHARES:
            report[f"sees_{share}_percent"] = _search_as(retriever, f"sees-{share}", asked)
        report["edit_visible_ms"] = _edit(connection, edits)
    return report


def _storable(tool: dict[str, Any]) -> dict[str, Any]:
    return tool | {"description": tool["description"].replace("\0", "")}


def _grant_share(retriever: ToolRetriever, connection: psycopg.Connection[Any], share: int) -> None:
    """Give a role about `share` percent of the tools: all by a wildcard, else a random choice."""
    role = f"sees-{share}"
    retriever.add_role(role)
    if share == 100:
        retriever.grant_tools(role, "*", "*")
        return
    names = connection.execute(
        "select s.name, t.name from tool_rag.tool t join tool_rag.server s using (server_id)"
        " where t.name !~ '[*]' order by 1, 2"
    ).fetchall()
    chosen = random.Random(share).sample(names, k=len(names) * share // 100)
    with connection.cursor() as cursor, connection.transaction():
        cursor.execute(
            "insert into tool_rag.grant_rule (role_id, server_pattern, tool_pattern)"
            " select r.role_id, c.server, c.tool"
            " from tool_rag.role r, unnest(%s::text[], %s::text[]) c (server, tool)"
            " where r.name = %s",
            ([server for server, _ in chosen], [tool for _, tool in chosen], role),
        )


def _search_as(retriever: ToolRetriever, role: str, asked: list[str]) -> dict[str, float]:
    for query in asked[:10]:
        search(retriever, query, roles=[role], k=10)
    answers = [search(retriever, query, roles=[role], k=10) for query in asked]
    overlaps = []
    for query, answer in zip(asked, answers, strict=True):
        exact = retriever.search_tools(query, roles=[role], k=10, options={"exact": True})
        wanted = {(hit.server, hit.name) for hit in exact}
        found = {(hit.server, hit.name) for hit in answer.hits}
        overlaps.append(len(wanted & found) / len(wanted) if wanted else 1.0)
    return {
        "tools": len(retriever.permitted_tools(roles=[role])),
        **latency(answers),
        "overlap_percent": round(100 * statistics.fmean(overlaps), 2),
    }


def _edit(connection: psycopg.Connection[Any], edits: int) -> dict[str, float]:
    """Change one tool at a time by plain SQL and find it by its new words; time until visible."""
    tool_ids = [
        row[0]
        for row in connection.execute(
            "select tool_id from tool_rag.tool order by md5(tool_id::text) limit %s", (edits,)
        )
    ]
    times = []
    for number, tool_id in enumerate(tool_ids):
        word = f"zyxomat{number}"
        start = time.perf_counter()
        connection.execute(
            "update tool_rag.tool set description = description || ' ' || %s where tool_id = %s",
            (word, tool_id),
        )
        times.append((time.perf_counter() - start) * 1000)
        found = connection.execute(
            "select count(*) from tool_rag.search_tools(query => %s, roles => '{sees-100}') s"
            " join tool_rag.tool t using (name) where t.tool_id = %s",
            (word, tool_id),
        ).fetchone()
        assert found is not None
        assert found[0] >= 1, f"{word} was not found"
    times.sort()
    return {"p50": round(statistics.median(times), 1), "max": round(times[-1], 1)}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Search with a very large catalogue.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets")
    parser.add_argument("--tools", type=int, default=44453)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    report = measure(arguments.data, size=arguments.tools, queries=arguments.requests)
    print_report(report, as_json=arguments.json)


if __name__ == "__main__":
    main()
