"""The arithmetic of an evaluation: plain functions of lists, and intervals by resampling."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "CUTS",
    "RESAMPLES",
    "SEED",
    "Bin",
    "Estimate",
    "auroc",
    "bootstrap",
    "bootstrap_per_tool",
    "calibration_error",
    "complete_recall",
    "cuts_up_to",
    "ndcg",
    "percentile",
    "recall",
    "reciprocal_rank",
    "reliability",
]

CUTS = (1, 3, 5, 8, 10)
RESAMPLES = 1_000
SEED = 20_261_130
_LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over cases with its 95% confidence interval.

    Attributes:
        value: the mean.
        low: lower end of the interval.
        high: upper end.
        cases: over how many.
    """

    value: float
    low: float
    high: float
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Hits whose relevance lies between `low` and `high`.

    Attributes:
        low: from this relevance on.
        high: up to this one; the last bin includes it.
        hits: how many.
        relevance: their mean relevance.
        expected: the share of them that their case expects.
    """

    low: float
    high: float
    hits: int
    relevance: float
    expected: float


def cuts_up_to(k: int) -> tuple[int, ...]:
    """Return the places at which recall is taken in shortlists of k tools."""
    return tuple(cut for cut in CUTS if cut <= k)


def recall(expected: Sequence[str], found: Sequence[str], k: int) -> float:
    """Return the share of the expected tools that are among the first k."""
    return len(set(expected) & set(found[:k])) / len(set(expected))


def complete_recall(expected: Sequence[str], found: Sequence[str], k: int) -> float:
    """Return 1 where all expected tools are among the first k, else 0."""
    return float(set(expected) <= set(found[:k]))


def reciprocal_rank(expected: Sequence[str], found: Sequence[str]) -> float:
    """Return 1 / rank of the first expected tool; 0 where there is none."""
    wanted = set(expected)
    return next((1 / rank for rank, tool in enumerate(found, 1) if tool in wanted), 0.0)


def ndcg(expected: Sequence[str], found: Sequence[str], k: int) -> float:
    """Return the normalised discounted cumulative gain at k, gains being 0 or 1.

    Järvelin and Kekäläinen 2002, with 1 / log2(rank + 1) as the discount.
    """
    wanted = set(expected)
    gained = sum(
        1 / math.log2(rank + 1) for rank, tool in enumerate(found[:k], 1) if tool in wanted
    )
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(wanted), k) + 1))
    return gained / ideal


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies, between neighbours linearly."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def bootstrap(
    columns: Mapping[str, Sequence[float]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, Estimate]:
    """Return the mean of each column with its interval by the percentile bootstrap.

    The rows of all columns are the same cases and are drawn together (Efron and Tibshirani 1993).
    Where all cases agree on 0 or on 1 a resample can't differ: there the exact bound of Clopper and
    Pearson 1934 stands instead.

    Args:
        columns: one value for each case, all of one length.
        resamples: how many.
        seed: of the draws, so that the same cases give the same interval.
    """
    size = len(next(iter(columns.values()), ()))
    if not size:
        return {}
    varying = {name: values for name, values in columns.items() if len(set(values)) > 1}
    means: dict[str, list[float]] = {name: [] for name in varying}
    chance = random.Random(seed)
    places = range(size)
    for _ in range(resamples if varying else 0):
        drawn = chance.choices(places, k=size)
        for name, values in varying.items():
            means[name].append(sum(map(values.__getitem__, drawn)) / size)
    estimates = {}
    for name, values in columns.items():
        if name in varying:
            low, high = _interval(means[name])
            estimates[name] = Estimate(
                value=statistics.fmean(values), low=low, high=high, cases=size
            )
        else:
            estimates[name] = _agreed(values[0], size)
    return estimates


def bootstrap_per_tool(
    found: Sequence[Mapping[str, bool]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> Estimate | None:
    """Return the mean over tools of the share of their cases that found them.

    Each tool counts the same, however many cases expect it. Cases are resampled; a tool that a
    resample lacks does not count in it. None without a case.

    Args:
        found: for each case, each expected tool and whether it was found.
        resamples: how many.
        seed: of the draws.
    """
    if not found:
        return None
    names = sorted({tool for case in found for tool in case})
    number = {tool: place for place, tool in enumerate(names)}
    rows = [[(number[tool], hit) for tool, hit in case.items()] for case in found]
    value = _mean_of_tools(rows, len(names))
    if value in (0.0, 1.0):
        return _agreed(value, len(rows))
    chance = random.Random(seed)
    means = [
        _mean_of_tools(chance.choices(rows, k=len(rows)), len(names)) for _ in range(resamples)
    ]
    low, high = _interval(means)
    return Estimate(value=value, low=low, high=high, cases=len(rows))


def _mean_of_tools(rows: Sequence[Sequence[tuple[int, bool]]], tools: int) -> float:
    asked = [0] * tools
    hits = [0] * tools
    for row in rows:
        for tool, hit in row:
            asked[tool] += 1
            hits[tool] += hit
    return statistics.fmean(hit / count for hit, count in zip(hits, asked, strict=True) if count)


def _interval(means: Sequence[float]) -> tuple[float, float]:
    return percentile(means, (1 - _LEVEL) / 2), percentile(means, (1 + _LEVEL) / 2)


def _agreed(value: float, size: int) -> Estimate:
    margin = 1 - ((1 - _LEVEL) / 2) ** (1 / size)
    if value == 0:
        return Estimate(value=0.0, low=0.0, high=margin, cases=size)
    if value == 1:
        return Estimate(value=1.0, low=1 - margin, high=1.0, cases=size)
    return Estimate(value=value, low=value, high=value, cases=size)


def reliability(hits: Sequence[tuple[float, bool]], *, bins: int = 10) -> list[Bin]:
    """Return, for each tenth of relevance that occurs, how many of its hits were expected.

    Args:
        hits: relevance, and whether the case expects the tool.
        bins: into how many parts 0 to 1 is cut.
    """
    parts: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for relevance, expected in hits:
        parts[min(int(relevance * bins), bins - 1)].append((relevance, expected))
    return [
        Bin(
            low=place / bins,
            high=(place + 1) / bins,
            hits=len(part),
            relevance=statistics.fmean(relevance for relevance, _ in part),
            expected=statistics.fmean(expected for _, expected in part),
        )
        for place, part in enumerate(parts)
        if part
    ]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Return the mean distance of relevance and share, weighted by hits; None without any."""
    hits = sum(part.hits for part in bins)
    if not hits:
        return None
    return sum(part.hits * abs(part.relevance - part.expected) for part in bins) / hits


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """Return how often a value of the first list exceeds one of the second, ties half.

    The area under the ROC curve, by ranks (Hanley and McNeil 1982); None where a list is empty.
    """
    if not (higher and lower):
        return None
    values = sorted([(value, 1) for value in higher] + [(value, 0) for value in lower])
    ranks = 0.0
    start = 0
    while start < len(values):
        end = start
        while end < len(values) and values[end][0] == values[start][0]:
            end += 1
        ranks += (start + end + 1) / 2 * sum(mark for _, mark in values[start:end])
        start = end
    return (ranks - len(higher) * (len(higher) + 1) / 2) / (len(higher) * len(lower))
