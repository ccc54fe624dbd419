"""How far `relevance` can be trusted: on three public sets, by what `search_tools` returns.

    python -m benchmarks.relevance --data DATA [--json] [--plot FILE.svg]

A request's figure is the best relevance of its eight tools. Some requests are served by a tool of
the catalogue, others by none:

- bfcl: requests.jsonl, and the 41 of irrelevance_vetted_200.jsonl that no tool serves;
- metatool: 2,000 of requests.jsonl, evenly by tool, and the 520 of awareness.jsonl that need none;
  its second row is the part with tools that the built-in model never saw;
- clinc150: requests.jsonl, and the out-of-scope irrelevance.jsonl.

Intervals are 95% of 500 bootstrap draws. Where classes are balanced, all served requests together
weigh as much as all others.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.catalogue import read_jsonl, tools_of
from benchmarks.harness import print_tables, temporary_database
from tool_rag_pg.embedding.train import is_held_out
from tool_rag_pg.retriever import ToolRetriever

K = 8
SEED = 1
SETS = ("bfcl", "metatool", "clinc150")
ROLE = "everyone"
CUTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
KEPT = 0.95
HELD_OUT_SHARE = 0.2
"""What the built-in model was trained with; see docs/built-in-model.md."""

Request = tuple[str, tuple[str, ...]]
"""A text, and the names of the tools that serve it."""


def auroc(served: Sequence[float], others: Sequence[float]) -> float:
    """Return how often a served request scores above another one; a tie counts half.

    The area under the ROC curve as the Mann-Whitney statistic, by ranks.
    """
    merged = sorted([(score, True) for score in served] + [(score, False) for score in others])
    total, start = 0.0, 0
    while start < len(merged):
        end = start
        while end < len(merged) and merged[end][0] == merged[start][0]:
            end += 1
        # The mean rank of a tie, from 1.
        total += (start + end + 1) / 2 * sum(is_served for _, is_served in merged[start:end])
        start = end
    wins = total - len(served) * (len(served) + 1) / 2
    return wins / (len(served) * len(others))


def interval(served: Sequence[float], others: Sequence[float], *, draws: int = 500) -> list[float]:
    """Return the middle 95% of the AUROC when both classes are drawn anew, with replacement."""
    random_ = random.Random(SEED)
    areas = sorted(
        auroc(random_.choices(served, k=len(served)), random_.choices(others, k=len(others)))
        for _ in range(draws)
    )
    return [areas[math.floor(0.025 * draws)], areas[math.ceil(0.975 * draws) - 1]]


def threshold(served: Sequence[float], *, kept: float = KEPT) -> float:
    """Return the highest threshold that at least a share of the served requests reaches."""
    return sorted(served)[math.floor((1 - kept) * len(served) + 1e-9)]


def share_from(scores: Sequence[float], limit: float) -> float:
    """Return the share of scores that reach a limit."""
    return sum(score >= limit for score in scores) / len(scores)


def bins(served: Sequence[float], others: Sequence[float]) -> list[dict[str, Any]]:
    """Return ten bins of relevance: requests, mean relevance, share served; classes balanced."""
    members: list[list[tuple[float, bool]]] = [[] for _ in range(10)]
    for scores, is_served in ((served, True), (others, False)):
        for score in scores:
            members[min(int(score * 10), 9)].append((score, is_served))
    rows = []
    for place, inside in enumerate(members):
        weights = [0.5 / len(served if is_served else others) for _, is_served in inside]
        weight = sum(weights)
        rows.append(
            {
                "from": place / 10,
                "requests": len(inside),
                "weight": weight,
                "relevance": _mean([score for score, _ in inside], weights),
                "served": _mean([float(is_served) for _, is_served in inside], weights),
            }
        )
    return rows


def _mean(values: Sequence[float], weights: Sequence[float]) -> float | None:
    if not values:
        return None
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def calibration_error(rows: Sequence[dict[str, Any]]) -> float:
    """Return the expected calibration error of bins: their mean gap between promise and truth."""
    gaps = [
        row["weight"] * abs(row["relevance"] - row["served"]) for row in rows if row["requests"]
    ]
    return math.fsum(gaps)


def read_requests(data: Path, name: str, *, limit: int = 2000) -> tuple[list[Request], list[str]]:
    """Return a set's served requests (of metatool the first `limit`, evenly by tool), and others.

    Raises:
        FileNotFoundError: the folder does not hold the set.
    """
    served = [
        (row["query"], tuple(row["expected"]))
        for row in read_jsonl(data / name / "requests.jsonl")
        if row["expected"] and not row.get("label_problem")
    ]
    if name == "bfcl":
        wanted = ("no_tool", "smalltalk_or_noise")
        vetted = read_jsonl(data / name / "irrelevance_vetted_200.jsonl")
        return served, [row["query"] for row in vetted if row["pooled_verdict"] in wanted]
    if name == "metatool":
        rows = read_jsonl(data / name / "awareness.jsonl")
        return by_tool(served)[:limit], [row["query"] for row in rows if not row["needs_tool"]]
    return served, [row["query"] for row in read_jsonl(data / name / "irrelevance.jsonl")]


def by_tool(requests: Sequence[Request]) -> list[Request]:
    """Return requests in turns by their first tool, those of each in a fixed random order."""
    groups: dict[str, list[Request]] = {}
    for request in random.Random(SEED).sample(requests, len(requests)):
        groups.setdefault(request[1][0], []).append(request)
    turns = zip_longest(*(groups[tool] for tool in sorted(groups)))
    return [request for request in chain.from_iterable(turns) if request is not None]


def is_unseen(request: Request) -> bool:
    """Say whether the built-in model was trained without all tools of a labelled set's request."""
    return all(is_held_out(tool, HELD_OUT_SHARE) for tool in request[1])


@contextmanager
def public_set(data: Path, name: str) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to a temporary database that holds a set's tools, open to `everyone`."""
    with temporary_database("tool_rag_bench_relevance") as connection:
        retriever = ToolRetriever(connection)
        retriever.upsert_tools({"server": name, "tools": tools_of(data / name)})
        retriever.add_role(ROLE)
        retriever.grant_tools(ROLE, "*", "*")
        connection.execute("vacuum analyze")
        yield connection


def measure(data: Path) -> Iterator[dict[str, Any]]:
    """Search every request of the sets and yield the figures, set by set."""
    for name in SETS:
        requests, texts = read_requests(data, name)
        with public_set(data, name) as connection:
            retriever = ToolRetriever(connection)
            served = [_best(retriever, text) for text, _ in requests]
            others = [_best(retriever, text) for text in texts]
            tools = len(retriever.permitted_tools(roles=[ROLE]))
        yield {"set": name, "tools": tools, **figures(served, others)}
        if name == "metatool":
            unseen = [
                score for request, score in zip(requests, served, strict=True) if is_unseen(request)
            ]
            yield {"set": f"{name}, unseen tools", "tools": tools, **figures(unseen, others)}


def _best(retriever: ToolRetriever, text: str) -> float:
    hits = retriever.search_tools(text.replace("\0", ""), roles=[ROLE], k=K)
    return max((hit.relevance or 0.0 for hit in hits), default=0.0)


def figures(served: Sequence[float], others: Sequence[float]) -> dict[str, Any]:
    """Return all figures of one set from the relevance of its served and other requests."""
    limit = threshold(served)
    rows = bins(served, others)
    return {
        "served": len(served),
        "others": len(others),
        "auroc": auroc(served, others),
        "interval": interval(served, others),
        "threshold": limit,
        "refused": 1 - share_from(others, limit),
        "calibration_error": calibration_error(rows),
        "cuts": [
            {
                "min_relevance": cut,
                "kept": share_from(served, cut),
                "refused": 1 - share_from(others, cut),
            }
            for cut in CUTS
        ],
        "bins": rows,
    }


def tables(reports: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the figures as three tables."""
    yield (
        "how well relevance tells served requests from others",
        [
            {
                "set": report["set"],
                "tools": f"{report['tools']:,}",
                "served + others": f"{report['served']:,} + {report['others']:,}",
                "AUROC (95% interval)": "{:.3f} ({:.3f} to {:.3f})".format(
                    report["auroc"], *report["interval"]
                ),
                "others refused where 95% of the served are kept": f"{report['refused']:.0%}"
                f" (from {report['threshold']:.2f})",
                "calibration error": f"{report['calibration_error']:.3f}",
            }
            for report in reports
        ],
    )
    yield (
        "served kept / others refused by min_relevance, in percent",
        [
            {"min_relevance": f"{cut:g}"}
            | {
                report["set"]: "{kept:.0f} / {refused:.0f}".format(
                    **{key: 100 * report["cuts"][place][key] for key in ("kept", "refused")}
                )
                for report in reports
            }
            for place, cut in enumerate(CUTS)
        ],
    )
    yield (
        "requests: mean relevance, share served with classes balanced",
        [
            {"relevance": f"{place / 10:.1f} to {(place + 1) / 10:.1f}"}
            | {report["set"]: _bin(report["bins"][place]) for report in reports}
            for place in range(10)
        ],
    )


def _bin(row: dict[str, Any]) -> str:
    if not row["requests"]:
        return "0"
    return f"{row['requests']:,}: {row['relevance']:.2f}, {row['served']:.2f}"


def plot(reports: Sequence[dict[str, Any]]) -> str:
    """Return a reliability diagram of the sets as SVG, for light and dark pages."""
    left, top, side = 50, 14, 300

    def at(row: dict[str, Any]) -> tuple[float, float]:
        return left + side * row["relevance"], top + side * (1 - row["served"])

    parts = []
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        x, y = left + side * tick, top + side * (1 - tick)
        parts.append(
            f'<path class="grid" d="M{x:.0f} {top}v{side}M{left} {y:.0f}h{side}"/>'
            f'<text x="{x:.0f}" y="{top + side + 16}" text-anchor="middle">{tick:g}</text>'
            f'<text x="{left - 7}" y="{y + 4:.0f}" text-anchor="end">{tick:g}</text>'
        )
    parts.append(f'<path class="ideal" d="M{left} {top + side}L{left + side} {top}"/>')
    for number, report in enumerate(reports):
        # What a handful of requests says is noise.
        points = [at(row) for row in report["bins"] if row["requests"] >= 10]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points)
        y = top + 12 + 22 * number
        x = left + side + 18
        parts.append(
            f'<g class="set{number}"><path d="M{line}"/>{dots}'
            f'<path d="M{x} {y}h20"/><circle cx="{x + 10}" cy="{y}" r="3"/></g>'
            f'<text x="{x + 27}" y="{y + 4}">{report["set"]}</text>'
        )
    middle = top + side // 2
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 356" role="img">
<title>Share of requests served by relevance</title>
<style>
text {{ font: 12px sans-serif; fill: #333 }}
path {{ fill: none; stroke-width: 2 }}
.grid {{ stroke: #8884; stroke-width: 1 }}
.ideal {{ stroke: #888; stroke-width: 1; stroke-dasharray: 4 4 }}
.set0 {{ stroke: #0969da; fill: #0969da }}
.set1 {{ stroke: #bc4c00; fill: #bc4c00 }}
.set2 {{ stroke: #d4a017; fill: #d4a017 }}
.set3 {{ stroke: #1a7f37; fill: #1a7f37 }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #ccc }}
.set0 {{ stroke: #58a6ff; fill: #58a6ff }}
.set1 {{ stroke: #f0883e; fill: #f0883e }}
.set2 {{ stroke: #e3b341; fill: #e3b341 }}
.set3 {{ stroke: #3fb950; fill: #3fb950 }}
}}
</style>
{chr(10).join(parts)}
<text x="{left + side // 2}" y="{top + side + 36}" text-anchor="middle">relevance</text>
<text transform="rotate(-90 14 {middle})" x="14" y="{middle}" text-anchor="middle">served</text>
</svg>
"""


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="AUROC and calibration of relevance.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw a reliability diagram")
    arguments = parser.parse_args()
    reports = list(measure(arguments.data))
    if arguments.plot is not None:
        arguments.plot.write_text(plot(reports), encoding="utf-8")
    print_tables(
        [("relevance", reports)] if arguments.json else tables(reports), as_json=arguments.json
    )


if __name__ == "__main__":
    main()
