"""Recall and latency of `search_tools` on a public set: BFCL live, or any of the same shape.

    python -m benchmarks.bfcl --data DATA              # DATA/bfcl
    python -m benchmarks.bfcl --data DATA --set azure_mcp_2026 --json
    python -m benchmarks.bfcl --data DATA --embedder sentence-transformers:NAME_OR_FOLDER

A set is a folder with catalog.jsonl ({name, description, parameters}) and requests.jsonl ({query,
expected: [names]}). Rows with `label_problem` and rows that expect nothing are left out. Each
request is asked of the whole catalogue, with the built-in embedding only, or with a model of
sentence-transformers as a further arm; the latency of the bare statement is then without it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.catalogue import read_jsonl, tools_of
from benchmarks.harness import (
    Answer,
    latency,
    percent,
    print_report,
    recall_at,
    recall_per_tool,
    search,
    statement_latency,
    temporary_database,
)
from tool_rag_pg.embedding import Embedder, SentenceTransformerEmbedder, embed_catalogue
from tool_rag_pg.retriever import ToolRetriever

CUTS = (1, 5, 10)
Pair = tuple[list[str], Answer]


def measure(
    folder: Path, name: str, *, limit: int | None = None, embedder: Embedder | None = None
) -> dict[str, Any]:
    """Ingest a set into a temporary database, ask its requests, and return the figures."""
    server = name.replace("/", "-")
    tools = tools_of(folder)
    rows = [
        row
        for row in read_jsonl(folder / "requests.jsonl")
        if row["expected"] and not row.get("label_problem")
    ][:limit]
    with temporary_database("tool_rag_bench_set") as connection:
        retriever = ToolRetriever(connection, embedder=embedder)
        start = time.perf_counter()
        retriever.upsert_tools({"server": server, "tools": tools})
        seconds = time.perf_counter() - start
        model = {}
        if embedder is not None:
            start = time.perf_counter()
            embed_catalogue(retriever, embedder)
            model = {
                "embedder": embedder.name,
                "embed_seconds": round(time.perf_counter() - start, 2),
            }
        retriever.add_role("everyone")
        retriever.grant_tools("everyone", "*", "*")
        search(retriever, "warm up", roles=["everyone"], k=CUTS[-1])
        pairs: list[Pair] = [
            (
                [f"{server}/{tool}" for tool in row["expected"]],
                search(retriever, row["query"], roles=["everyone"], k=CUTS[-1]),
            )
            for row in rows
        ]
        statement = statement_latency(
            connection, [row["query"] for row in rows], roles=["everyone"], k=CUTS[-1]
        )
    report: dict[str, Any] = {
        "set": name,
        "tools": len(tools),
        "requests": len(rows),
        "ingest_seconds": round(seconds, 2),
        **model,
        "complete_recall": _cuts(pairs),
        "recall_per_tool": {f"@{k}": recall_per_tool(k, pairs) for k in CUTS},
        "statement_latency": statement,
        "retriever_latency": latency([answer for _, answer in pairs]),
        "empty_answers": percent(sum(not answer.hits for _, answer in pairs), pairs),
    }
    if any("sgd_style" in row for row in rows):
        for label, wanted in (("sgd_style", True), ("not_sgd_style", False)):
            half = [
                pair
                for row, pair in zip(rows, pairs, strict=True)
                if bool(row.get("sgd_style")) is wanted
            ]
            report[label] = {"requests": len(half), **_cuts(half)}
    return report


def _embedder(text: str) -> Embedder:
    provider, _, model = text.partition(":")
    if provider != "sentence-transformers" or not model:
        raise argparse.ArgumentTypeError("write it as sentence-transformers:NAME_OR_FOLDER")
    return SentenceTransformerEmbedder(model)


def _cuts(pairs: Sequence[Pair]) -> dict[str, float]:
    return {f"@{k}": recall_at(k, pairs) for k in CUTS}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Recall and latency on a public set.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets")
    parser.add_argument("--set", default="bfcl", help="which of them (default: bfcl)")
    parser.add_argument("--limit", type=int, help="only the first so many requests")
    parser.add_argument(
        "--embedder", type=_embedder, help="a further arm: sentence-transformers:NAME_OR_FOLDER"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    report = measure(
        arguments.data / arguments.set,
        arguments.set,
        limit=arguments.limit,
        embedder=arguments.embedder,
    )
    print_report(report, as_json=arguments.json)


if __name__ == "__main__":
    main()
