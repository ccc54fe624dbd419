"""The figures of docs/evaluation.md: quality, and tokens saved, on public sets; as Markdown.

    python -m benchmarks.evaluation --data DATA [--into docs/evaluation.md]
    python -m benchmarks.evaluation --data DATA --embedder sentence-transformers:NAME_OR_FOLDER

Each set is asked as a whole with the built-in embedding, and with `--embedder` once more with that
model as a further arm. Intervals are 95%, by the percentile bootstrap over requests, as those of
`tool-rag eval`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bfcl import (
    CUTS,
    EMBEDDER,
    Asked,
    Pair,
    ask,
    embedder_of,
    is_of_half_b,
    is_sgd_style,
)
from benchmarks.harness import print_tables
from tool_rag_pg.embedding import Embedder
from tool_rag_pg.evaluation.metrics import (
    Estimate,
    bootstrap,
    bootstrap_per_tool,
    complete_recall,
)

# What the sets were used for before they were asked here; see docs/built-in-model.md.
USED_FOR: Mapping[str, tuple[str, str]] = {
    "bfcl": (
        "nothing",
        "in view when BM25's field weights and the mix were rounded; since there are halves, half A"
        " only",
    ),
    "azure_mcp_2026": ("nothing", "when a request is split, and relevance; not the order"),
    "clinc150": ("nothing", "nothing"),
}
BUILT_IN = "built-in"
#: Sets whose tools have definitions long enough to be worth saving.
SAVING = ("bfcl", "azure_mcp_2026")
K = CUTS[-1]

Row = dict[str, Any]


def parts_of(name: str, asked: Asked) -> dict[str, list[Pair]]:
    """Return the groups of requests that are reported of a set."""
    parts = {"all": asked.pairs}
    if name == "bfcl":
        parts["tools in SGD's style"] = asked.pairs_where(is_sgd_style)
        parts["other tools"] = asked.pairs_where(lambda row: not is_sgd_style(row))
        parts["all tools of half B"] = asked.pairs_where(is_of_half_b)
    return {label: pairs for label, pairs in parts.items() if pairs}


def recall_rows(name: str, arms: str, asked: Asked) -> list[Row]:
    """Return complete recall of a set and its parts, and recall, each tool counting the same."""
    rows = []
    for label, pairs in parts_of(name, asked).items():
        columns = {
            f"@{cut}": [complete_recall(wanted, answer.names(cut), cut) for wanted, answer in pairs]
            for cut in CUTS
        }
        rows.append(_row(name, asked, label, arms, len(pairs), bootstrap(columns)))
    per_tool = {
        f"@{cut}": bootstrap_per_tool(
            [{tool: tool in answer.names(cut) for tool in wanted} for wanted, answer in asked.pairs]
        )
        for cut in CUTS
    }
    rows.append(
        _row(name, asked, "recall, each tool counting the same", arms, len(asked.pairs), per_tool)
    )
    return rows


def _row(
    name: str,
    asked: Asked,
    label: str,
    arms: str,
    requests: int,
    estimates: Mapping[str, Estimate | None],
) -> Row:
    return {
        "set": name,
        "tools": asked.tools,
        "requests": label,
        "how many": requests,
        "models": arms,
        **{cut: shown(estimate) for cut, estimate in estimates.items()},
    }


def shown(estimate: Estimate | None) -> str | None:
    """Return an estimate in percent, with its interval."""
    if estimate is None:
        return None
    return f"{100 * estimate.value:.1f} ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def saving_row(name: str, arms: str, asked: Asked) -> Row:
    """Return what a list of ten costs against all tools, and what it lacks."""
    sent = statistics.fmean(sum(hit.tokens for hit in answer.hits) for _, answer in asked.pairs)
    found = [complete_recall(wanted, answer.names(K), K) for wanted, answer in asked.pairs]
    return {
        "set": name,
        "models": arms,
        "tokens of all tools": asked.tokens,
        f"tokens of {K}, mean": round(sent),
        "saved": f"{100 * (1 - sent / asked.tokens):.1f}%",
        f"complete recall at {K}": shown(bootstrap({"found": found})["found"]),
    }


def tables(
    data: Path, *, names: Sequence[str], limit: int | None, embedder: Embedder | None
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables of the page."""
    recall: list[Row] = []
    saving: list[Row] = []
    for name in names:
        for model in [None] if embedder is None else [None, embedder]:
            asked = ask(data / name, name, limit=limit, embedder=model)
            arms = BUILT_IN if model is None else f"{BUILT_IN} and {model.name}"
            recall += recall_rows(name, arms, asked)
            if name in SAVING:
                saving.append(saving_row(name, arms, asked))
    yield (
        "used-for",
        [
            {"set": name, "trained on it": USED_FOR[name][0], "tuned on it": USED_FOR[name][1]}
            for name in names
        ],
    )
    yield "recall", recall
    if saving:
        yield "saving", saving


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="The figures of docs/evaluation.md.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets")
    parser.add_argument("--sets", default=",".join(USED_FOR), help=f"some of {', '.join(USED_FOR)}")
    parser.add_argument("--limit", type=int, help="only the first so many requests of each")
    parser.add_argument("--embedder", type=embedder_of, help=EMBEDDER)
    parser.add_argument("--into", type=Path, help="a Markdown file whose tables are replaced")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    names = arguments.sets.split(",")
    if unknown := sorted(set(names) - USED_FOR.keys()):
        parser.error(f"no such set: {', '.join(unknown)}; there are {', '.join(USED_FOR)}")
    if arguments.into is not None and (arguments.limit or len(names) < len(USED_FOR)):
        parser.error("--into is for all requests of all sets")
    print_tables(
        tables(arguments.data, names=names, limit=arguments.limit, embedder=arguments.embedder),
        as_json=arguments.json,
        into=arguments.into,
    )


if __name__ == "__main__":
    main()
