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
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.catalogue import read_jsonl, tools_of
from benchmarks.harness import (
    Answer,
    half_of,
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
ROLE = "everyone"
EMBEDDER = "a further arm: sentence-transformers:NAME_OR_FOLDER, or python:MODULE:CLASS of your own"
Pair = tuple[list[str], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A set's requests and their answers.

    Attributes:
        rows: the requests as the set has them.
        pairs: for each its expected tools ("SERVER/TOOL") and what the search returned.
        tools: how many tools there are.
        tokens: of all of them.
        timings: seconds that ingestion, and the embedder if any, took.
        statement: latency of the bare statement, without embedder.
    """

    rows: list[dict[str, Any]]
    pairs: list[Pair]
    tools: int
    tokens: int
    timings: dict[str, Any]
    statement: dict[str, float]

    def pairs_where(self, wanted: Callable[[dict[str, Any]], bool]) -> list[Pair]:
        """Return the pairs of some requests."""
        return [pair for row, pair in zip(self.rows, self.pairs, strict=True) if wanted(row)]


def ask(
    folder: Path, name: str, *, limit: int | None = None, embedder: Embedder | None = None
) -> Asked:
    """Ingest a set into a temporary database and ask its requests."""
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
        timings: dict[str, Any] = {"ingest_seconds": round(time.perf_counter() - start, 2)}
        if embedder is not None:
            start = time.perf_counter()
            embed_catalogue(retriever, embedder)
            timings["embedder"] = embedder.name
            timings["embed_seconds"] = round(time.perf_counter() - start, 2)
        retriever.add_role(ROLE)
        retriever.grant_tools(ROLE, "*", "*")
        search(retriever, "warm up", roles=[ROLE], k=CUTS[-1])
        pairs: list[Pair] = [
            (
                [f"{server}/{tool}" for tool in row["expected"]],
                search(retriever, row["query"], roles=[ROLE], k=CUTS[-1]),
            )
            for row in rows
        ]
        return Asked(
            rows=rows,
            pairs=pairs,
            tools=len(tools),
            tokens=retriever.count_tools(roles=[ROLE]).tokens,
            timings=timings,
            statement=statement_latency(
                connection, [row["query"] for row in rows], roles=[ROLE], k=CUTS[-1]
            ),
        )


def is_sgd_style(row: dict[str, Any]) -> bool:
    """Return whether a request is to tools in the style of the SGD corpus."""
    return bool(row.get("sgd_style"))


def is_of_half_b(row: dict[str, Any]) -> bool:
    """Return whether all tools that a request expects are of the half that nothing is tuned on."""
    return all(half_of(tool) == "B" for tool in row["expected"])


def measure(
    folder: Path, name: str, *, limit: int | None = None, embedder: Embedder | None = None
) -> dict[str, Any]:
    """Ingest a set into a temporary database, ask its requests, and return the figures."""
    asked = ask(folder, name, limit=limit, embedder=embedder)
    pairs = asked.pairs
    report: dict[str, Any] = {
        "set": name,
        "tools": asked.tools,
        "requests": len(pairs),
        **asked.timings,
        "complete_recall": _cuts(pairs),
        "recall_per_tool": {f"@{k}": recall_per_tool(k, pairs) for k in CUTS},
        "statement_latency": asked.statement,
        "retriever_latency": latency([answer for _, answer in pairs]),
        "empty_answers": percent(sum(not answer.hits for _, answer in pairs), pairs),
    }
    if any("sgd_style" in row for row in asked.rows):
        for label, part in (
            ("sgd_style", asked.pairs_where(is_sgd_style)),
            ("not_sgd_style", asked.pairs_where(lambda row: not is_sgd_style(row))),
            ("half_b", asked.pairs_where(is_of_half_b)),
        ):
            report[label] = {"requests": len(part), **_cuts(part)}
    return report


def embedder_of(text: str) -> Embedder:
    """Return the embedder that `--embedder` names."""
    provider, _, model = text.partition(":")
    if provider == "python" and ":" in model:
        module, _, name = model.partition(":")
        made: Embedder = getattr(importlib.import_module(module), name)()
        return made
    if provider != "sentence-transformers" or not model:
        raise argparse.ArgumentTypeError(EMBEDDER)
    # A folder's place is nobody's business who reads the figures.
    return SentenceTransformerEmbedder(
        model, name=Path(model).name if Path(model).is_dir() else None
    )


def _cuts(pairs: Sequence[Pair]) -> dict[str, float]:
    return {f"@{k}": recall_at(k, pairs) for k in CUTS}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Recall and latency on a public set.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets")
    parser.add_argument("--set", default="bfcl", help="which of them (default: bfcl)")
    parser.add_argument("--limit", type=int, help="only the first so many requests")
    parser.add_argument("--embedder", type=embedder_of, help=EMBEDDER)
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
