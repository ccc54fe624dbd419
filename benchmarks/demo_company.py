"""The demo company's 200 requests, each asked as its role: leaks, and recall of allowed requests.

    python -m benchmarks.demo_company

Ends with status 1 when any answer holds a tool that is forbidden to its asker.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import (
    Answer,
    latency,
    percent,
    print_report,
    recall_at,
    recall_per_tool,
    search,
    temporary_database,
)
from tool_rag_pg._load_folder import load_folder
from tool_rag_pg.demo import DEMO_FOLDER, DemoRequest, read_folder
from tool_rag_pg.retriever import ToolRetriever

K = 8


def measure(folder_path: Path) -> dict[str, Any]:
    """Return the figures, with the ids of leaking and of missed requests."""
    folder = read_folder(folder_path)
    with temporary_database("tool_rag_bench_demo") as connection:
        load_folder(connection, folder)
        retriever = ToolRetriever(connection)
        permitted = {
            role.name: {
                f"{tool.server}/{tool.name}"
                for tool in retriever.permitted_tools(roles=[role.name])
            }
            for role in folder.access.roles
        }
        search(retriever, "warm up", roles=[folder.access.roles[0].name], k=K)
        answers = [
            (request, search(retriever, request.query, roles=[request.role], k=K))
            for request in folder.requests
        ]
    leaks = [
        request.id
        for request, answer in answers
        if set(answer.names(K)) & set(request.forbidden)
        or not set(answer.names(K)) <= permitted[request.role]
    ]
    allowed = [(request.expected, answer) for request, answer in answers if request.expected]
    return {
        "requests": len(answers),
        "answers_with_forbidden_tools": len(leaks),
        "allowed_requests": len(allowed),
        f"recall_at_{K}": _recall(allowed),
        f"complete_recall_at_{K}": recall_at(K, allowed),
        "complete_recall_at_1": recall_at(1, allowed),
        f"recall_per_tool_at_{K}": recall_per_tool(K, allowed),
        "latency": latency([answer for _, answer in answers]),
        "leaks": leaks,
        "missed": [request.id for request, answer in answers if _is_missed(request, answer)],
    }


def _recall(pairs: list[tuple[tuple[str, ...], Answer]]) -> float:
    shares = [
        len(set(expected) & set(answer.names(K))) / len(expected) for expected, answer in pairs
    ]
    return percent(sum(shares), shares)


def _is_missed(request: DemoRequest, answer: Answer) -> bool:
    return not set(request.expected) <= set(answer.names(K))


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Leaks and recall on the demo company.")
    parser.add_argument("--path", type=Path, default=DEMO_FOLDER, help="another folder")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    report = measure(arguments.path)
    print_report(report, as_json=arguments.json)
    if report["leaks"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
