"""From answers to figures: the document that `--json` prints and `--output` keeps."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .cases import Case, CaseFile, KnownCase
from .metrics import (
    Estimate,
    auroc,
    bootstrap,
    bootstrap_per_tool,
    calibration_error,
    complete_recall,
    cuts_up_to,
    ndcg,
    percentile,
    recall,
    reciprocal_rank,
    reliability,
)
from .reasons import ALIKE, REASONS
from .run import Answer, Asked, Unaware

__all__ = ["FORMAT", "build_document", "status_of"]

#: Written into every result; another one can't be compared with.
FORMAT = "tool-rag eval 1"

# Per-tool averages are taken here, since each costs a pass over all resamples.
_PER_TOOL_CUTS = (1, 5, 10)
_STATUSES = ("correct", "partly", "wrong", "skipped")


def status_of(case: Case, answer: Answer, k: int) -> str:
    """Return correct, partly or wrong: whether all, some or none of the expected tools came.

    It is skipped where nothing came at all. A case that expects nothing is correct where nothing
    came, and wrong otherwise.
    """
    if not case.expected:
        return "wrong" if answer.hits else "correct"
    if not answer.hits:
        return "skipped"
    share = recall(case.expected, answer.first(k), k)
    return "correct" if share == 1 else "partly" if share else "wrong"


def build_document(
    file: CaseFile,
    cases: Sequence[Case],
    asked: Asked,
    unaware: Unaware,
    leakage: Sequence[KnownCase],
    *,
    settings: Mapping[str, Any],
    fingerprint: str,
) -> dict[str, Any]:
    """Return all figures of a run as one JSON document; shares are 0 to 1.

    Args:
        file: what was read.
        cases: those of it that were asked.
        asked: their answers, in the same order.
        unaware: what a search without permissions leaks.
        leakage: cases that the database knows already.
        settings: how it was asked: at least `k`.
        fingerprint: of the run.
    """
    k: int = settings["k"]
    pairs = list(zip(cases, asked.answers, strict=True))
    served = [(case, answer) for case, answer in pairs if case.expected]
    unserved = [answer for case, answer in pairs if not case.expected]
    return {
        "format": FORMAT,
        "settings": dict(settings),
        "fingerprint": fingerprint,
        "machine": asked.machine,
        "catalogue": {"tools": asked.tools, "tokens": asked.tokens},
        "counts": {
            "cases": len(cases),
            "with_tools": len(served),
            "no_tool": len(unserved),
            "left_out": file.left_out,
            "already_known": len(leakage),
        },
        "metrics": _metrics(served, k),
        "outcomes": _outcomes(served, k),
        "no_tool": _no_tool(served, unserved),
        "leaks": _leaks(pairs, unaware),
        "tokens": _tokens([answer for _, answer in pairs]),
        "latency": _latency([answer for _, answer in pairs]),
        "reliability": _reliability(pairs, k),
        "groups": _groups(pairs, k),
        "reasons": _reasons(pairs),
        "alike_from": ALIKE,
        "already_known": [asdict(known) for known in leakage],
        "cases": [_case(case, answer, k) for case, answer in pairs],
    }


def _metrics(served: Sequence[tuple[Case, Answer]], k: int) -> list[dict[str, Any]]:
    lists = [(case.expected, answer.first(k)) for case, answer in served]
    columns: dict[tuple[str, int | None], list[float]] = {}
    for cut in cuts_up_to(k):
        columns["complete_recall", cut] = [complete_recall(*pair, cut) for pair in lists]
    for cut in cuts_up_to(k):
        columns["recall", cut] = [recall(*pair, cut) for pair in lists]
    columns["complete_recall_of_the_list", None] = [
        complete_recall(case.expected, answer.names(), len(answer.hits)) for case, answer in served
    ]
    cut = min(10, k)
    columns["ndcg", cut] = [ndcg(*pair, cut) for pair in lists]
    columns["mrr", None] = [reciprocal_rank(*pair) for pair in lists]
    names = {repr(key): key for key in columns}
    estimates = bootstrap({name: columns[key] for name, key in names.items()})
    found = [_metric(*names[name], estimate) for name, estimate in estimates.items()]
    for cut in _PER_TOOL_CUTS:
        if cut <= k:
            estimate = bootstrap_per_tool(
                [{tool: tool in first[:cut] for tool in expected} for expected, first in lists]
            )
            if estimate is not None:
                found.append(_metric("recall_per_tool", cut, estimate))
    return found


def _metric(name: str, at: int | None, estimate: Estimate) -> dict[str, Any]:
    return {"name": name, "at": at, **asdict(estimate)}


def _outcomes(served: Sequence[tuple[Case, Answer]], k: int) -> dict[str, Any]:
    statuses = [status_of(case, answer, k) for case, answer in served]
    counts = Counter(statuses)
    scores = [{"correct": 1.0, "partly": 0.5}.get(status, 0.0) for status in statuses]
    estimate = bootstrap({"accuracy": scores}).get("accuracy")
    return {
        "at": k,
        **{status: counts[status] for status in _STATUSES},
        "accuracy": None if estimate is None else asdict(estimate),
    }


def _no_tool(
    served: Sequence[tuple[Case, Answer]], unserved: Sequence[Answer]
) -> dict[str, Any] | None:
    if not unserved:
        return None
    estimate = bootstrap({"empty": [float(not answer.hits) for answer in unserved]})["empty"]
    return {
        "empty_answers": sum(not answer.hits for answer in unserved),
        "share_empty": asdict(estimate),
        # Of the best tool's relevance, 0 where the list is empty.
        "auroc": auroc(
            [_best(answer) for _, answer in served], [_best(answer) for answer in unserved]
        ),
    }


def _best(answer: Answer) -> float:
    return max((hit["relevance"] or 0.0 for hit in answer.hits), default=0.0)


def _leaks(pairs: Sequence[tuple[Case, Answer]], unaware: Unaware) -> dict[str, Any]:
    leaking = [float(bool(answer.leaks)) for _, answer in pairs]
    estimate = bootstrap({"rate": leaking}).get("rate")
    other = bootstrap({"rate": [float(leak) for leak in unaware.leaks]}).get("rate")
    return {
        "answers": int(sum(leaking)),
        "rate": None if estimate is None else asdict(estimate),
        "permission_unaware": {
            "answers": unaware.leaking,
            "rate": None if other is None else asdict(other),
            "not_measured": unaware.reason,
        },
    }


def _tokens(answers: Sequence[Answer]) -> dict[str, Any] | None:
    if not answers:
        return None
    sent = [sum(hit["tokens"] for hit in answer.hits) for answer in answers]
    permitted = [answer.permitted_tokens for answer in answers]
    return {
        "sent_mean": statistics.fmean(sent),
        "sent_p95": percentile(sent, 0.95),
        "permitted_mean": statistics.fmean(permitted),
        "saved": 1 - sum(sent) / sum(permitted) if sum(permitted) else None,
        "tools_sent_mean": statistics.fmean(len(answer.hits) for answer in answers),
        "tools_permitted_mean": statistics.fmean(answer.permitted_tools for answer in answers),
    }


def _latency(answers: Sequence[Answer]) -> dict[str, Any] | None:
    if not answers:
        return None
    times = [answer.milliseconds for answer in answers]
    return {
        "p50_ms": round(percentile(times, 0.5), 2),
        "p95_ms": round(percentile(times, 0.95), 2),
    }


def _reliability(pairs: Sequence[tuple[Case, Answer]], k: int) -> dict[str, Any]:
    bins = reliability(
        [
            (hit["relevance"], hit["tool"] in case.expected)
            for case, answer in pairs
            for hit in answer.hits[:k]
            if hit["relevance"] is not None
        ]
    )
    return {"bins": [asdict(part) for part in bins], "error": calibration_error(bins)}


def _groups(pairs: Sequence[tuple[Case, Answer]], k: int) -> list[dict[str, Any]]:
    """Return the figures of the cases that have something in common, the largest groups first.

    These are a category or another mark of the cases, and who asks, where that is not always the
    same.
    """
    members: dict[tuple[str, str], list[tuple[Case, Answer]]] = {}
    by_roles = len({case.roles for case, _ in pairs}) > 1
    for case, answer in pairs:
        keys = [("category", group) for group in case.groups]
        if by_roles:
            keys.append(("roles", " and ".join(case.roles) or "nobody"))
        for key in keys:
            members.setdefault(key, []).append((case, answer))
    rows = []
    for (by, group), own in sorted(members.items(), key=lambda item: -len(item[1])):
        served = [(case, answer) for case, answer in own if case.expected]
        rows.append(
            {
                "by": by,
                "group": group,
                "cases": len(own),
                "with_tools": len(served),
                "metrics": _metrics(served, k),
                "outcomes": _outcomes(served, k),
                "tokens": _tokens([answer for _, answer in own]),
                "leaks": sum(bool(answer.leaks) for _, answer in own),
            }
        )
    return rows


def _reasons(pairs: Sequence[tuple[Case, Answer]]) -> list[dict[str, Any]]:
    """Count failing cases by their first missing tool's reason, and all missing tools by theirs."""
    first = Counter(answer.failures[0]["reason"] for _, answer in pairs if answer.failures)
    every = Counter(failure["reason"] for _, answer in pairs for failure in answer.failures)
    return [
        {"reason": reason, "cases": first[reason], "tools": every[reason], "remedy": remedy}
        for reason, remedy in REASONS.items()
        if every[reason]
    ]


def _case(case: Case, answer: Answer, k: int) -> dict[str, Any]:
    return {
        "id": case.id,
        "line": case.line,
        "query": case.query,
        "roles": list(case.roles),
        "expected": list(case.expected),
        "forbidden": list(case.forbidden),
        "status": status_of(case, answer, k),
        "hits": answer.hits,
        "leaks": answer.leaks,
        "failures": answer.failures,
        "milliseconds": answer.milliseconds,
    }
