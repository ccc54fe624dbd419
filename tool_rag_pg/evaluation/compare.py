"""Two results of the same cases: what changed, and whether that is more than chance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tool_rag_pg.errors import InvalidArgument, SourceError

from .metrics import bootstrap, complete_recall
from .report import FORMAT

__all__ = ["compare", "find_regressions", "read_result"]

_CUTS = (5, 10)
Document = Mapping[str, Any]


def read_result(path: str) -> dict[str, Any]:
    """Return a result that `--output` wrote.

    Raises:
        SourceError: it can't be read, or is something else.
    """
    hint = "make it with: tool-rag eval CASES --output FILE"
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"it can't be read: {error}", path=path, hint=hint) from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise SourceError("it is not valid JSON", path=path, hint=hint) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SourceError("it is no result of this version's evaluation", path=path, hint=hint)
    try:
        for case in document["cases"]:
            _first(case, int(document["settings"]["k"]))
            set(case["expected"]).isdisjoint((case["id"],))
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError("its cases can't be read", path=path, hint=hint) from error
    return document


def _first(case: Mapping[str, Any], k: int) -> list[str]:
    return [hit["tool"] for hit in case["hits"][:k] if not hit["on_top"]]


def _pairs(
    new: Document, old: Document
) -> tuple[list[tuple[Mapping[str, Any], Mapping[str, Any]]], dict[str, int]]:
    """Return the cases that both have, with equal labels; and how many others there are."""
    before = {case["id"]: case for case in old["cases"]}
    common = [(case, before[case["id"]]) for case in new["cases"] if case["id"] in before]
    equal = [
        (case, other)
        for case, other in common
        if set(case["expected"]) == set(other["expected"]) and case["query"] == other["query"]
    ]
    return equal, {
        "relabelled": len(common) - len(equal),
        "only_new": len(new["cases"]) - len(common),
        "only_old": len(old["cases"]) - len(common),
    }


def compare(new: Document, old: Document, *, path: str) -> dict[str, Any]:
    """Return the difference of complete recall at 5 and 10, case by case.

    The interval is that of the mean difference, whose cases are resampled in pairs.

    Args:
        new: this run.
        old: an earlier one.
        path: where the earlier one is kept.

    Raises:
        InvalidArgument: the two have no case in common.
    """
    pairs, others = _pairs(new, old)
    pairs = [(case, before) for case, before in pairs if case["expected"]]
    if not pairs:
        raise InvalidArgument(
            f"no case of this run is in {path}", hint="compare runs of the same cases"
        )
    least = min(new["settings"]["k"], old["settings"]["k"])
    cuts = [cut for cut in _CUTS if cut <= least] or [least]
    differences = []
    for cut in cuts:
        now = [complete_recall(case["expected"], _first(case, cut), cut) for case, _ in pairs]
        then = [complete_recall(case["expected"], _first(case, cut), cut) for _, case in pairs]
        changes = [after - before for after, before in zip(now, then, strict=True)]
        differences.append(
            {
                "name": "complete_recall",
                "at": cut,
                "now": sum(now) / len(now),
                "before": sum(then) / len(then),
                "difference": asdict(bootstrap({"difference": changes})["difference"])
                if any(changes)
                else {"value": 0.0, "low": 0.0, "high": 0.0, "cases": len(pairs)},
                "gained": _changed(pairs, changes, 1, cut),
                "lost": _changed(pairs, changes, -1, cut),
            }
        )
    return {"path": path, "cases": len(pairs), **others, "differences": differences}


def _changed(
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    changes: Sequence[float],
    wanted: int,
    cut: int,
) -> list[dict[str, Any]]:
    return [
        {
            "id": case["id"],
            "query": case["query"],
            "missing": [
                tool
                for tool in case["expected"]
                if tool not in _first(before if wanted > 0 else case, cut)
            ],
        }
        for (case, before), change in zip(pairs, changes, strict=True)
        if change == wanted
    ]


def find_regressions(new: Document, old: Document, *, path: str) -> dict[str, Any]:
    """Return the cases that had all their tools in the first k and lack one now.

    Raises:
        InvalidArgument: the two were made with another k, or have no case in common.
    """
    k = new["settings"]["k"]
    if old["settings"]["k"] != k:
        raise InvalidArgument(
            f"{path} was made with k = {old['settings']['k']}, this run with {k}",
            hint=f"pass -k {old['settings']['k']}, or make the baseline anew",
        )
    pairs, others = _pairs(new, old)
    if not pairs:
        raise InvalidArgument(
            f"no case of this run is in {path}", hint="make the baseline of the same cases"
        )
    lost = []
    for case, before in pairs:
        missing = [tool for tool in case["expected"] if tool not in _first(case, k)]
        if missing and set(before["expected"]) <= set(_first(before, k)):
            known = _first(before, k)
            lost.append(
                {
                    "id": case["id"],
                    "query": case["query"],
                    "missing": missing,
                    "instead": [tool for tool in _first(case, k) if tool not in known],
                }
            )
    return {"path": path, "cases": len(pairs), **others, "lost": lost}
