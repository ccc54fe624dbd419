from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tool_rag_pg.evaluation.metrics import (
    Bin,
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

TOOLS = "abcdefgh"
FOUND = list("xaybz")


def test_recall_by_hand() -> None:
    assert [recall("ab", FOUND, k) for k in (1, 2, 3, 4, 9)] == [0, 0.5, 0.5, 1, 1]
    assert [complete_recall("ab", FOUND, k) for k in (1, 3, 4)] == [0, 0, 1]
    assert [complete_recall("a", FOUND, k) for k in (1, 2)] == [0, 1]
    assert recall("ac", [], 5) == 0
    assert cuts_up_to(10) == (1, 3, 5, 8, 10)
    assert cuts_up_to(7) == (1, 3, 5)


def test_ranks_by_hand() -> None:
    assert reciprocal_rank("b", FOUND) == 1 / 4
    assert reciprocal_rank("ab", FOUND) == 1 / 2
    assert reciprocal_rank("c", FOUND) == 0
    # Gains at ranks 2 and 4 of an ideal at 1 and 2.
    ideal = 1 + 1 / math.log2(3)
    assert ndcg("ab", FOUND, 10) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert ndcg("ab", FOUND, 3) == pytest.approx((1 / math.log2(3)) / ideal)
    # Three are expected where the list ends at two.
    assert ndcg("xay", FOUND, 2) == 1


@given(
    st.sets(st.sampled_from(TOOLS), min_size=1),
    st.permutations(TOOLS).flatmap(
        lambda order: st.integers(0, len(TOOLS)).map(lambda size: order[:size])
    ),
    st.integers(1, 10),
)
def test_metrics_agree_with_brute_force(expected: set[str], found: list[str], k: int) -> None:
    wanted = sorted(expected)
    marks = [tool in expected for tool in found[:k]]
    assert recall(wanted, found, k) == sum(marks) / len(expected)
    assert complete_recall(wanted, found, k) == (recall(wanted, found, k) == 1)
    best = max(
        sum(mark / math.log2(place + 2) for place, mark in enumerate(order))
        for order in itertools.combinations_with_replacement((1, 0), k)
        if sum(order) <= len(expected)
    )
    gained = sum(mark / math.log2(place + 2) for place, mark in enumerate(marks))
    assert ndcg(wanted, found, k) == pytest.approx(gained / best)
    assert 0 <= ndcg(wanted, found, k) <= 1
    firsts = [1 / (found.index(tool) + 1) for tool in expected if tool in found]
    assert reciprocal_rank(wanted, found) == max(firsts, default=0)
    assert recall(wanted, found, k) <= recall(wanted, found, k + 1)


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_auroc_is_the_share_of_pairs_in_order(higher: list[int], lower: list[int]) -> None:
    pairs = list(itertools.product(higher, lower))
    if not pairs:
        assert auroc(higher, lower) is None
        return
    share = statistics.fmean((a > b) + (a == b) / 2 for a, b in pairs)
    assert auroc(higher, lower) == pytest.approx(share)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 1))
def test_percentiles_lie_between_the_ends(values: list[float], share: float) -> None:
    assert min(values) <= percentile(values, share) + 1e-6
    assert percentile(values, share) - 1e-6 <= max(values)
    assert percentile(values, 0) == min(values)
    assert percentile(values, 1) == max(values)
    assert percentile(values, 0.5) == pytest.approx(statistics.median(values), abs=1e-6)


def test_an_interval_is_near_the_normal_one() -> None:
    chance = random.Random(7)
    values = [float(chance.random() < 0.8) for _ in range(400)]
    estimate = bootstrap({"share": values})["share"]
    assert estimate.value == statistics.fmean(values)
    error = 1.96 * math.sqrt(estimate.value * (1 - estimate.value) / 400)
    assert estimate.low == pytest.approx(estimate.value - error, abs=0.012)
    assert estimate.high == pytest.approx(estimate.value + error, abs=0.012)
    assert bootstrap({"share": values})["share"] == estimate, "it is seeded"
    assert bootstrap({"other": values[::-1], "share": values})["share"] == estimate


def test_where_all_agree_the_interval_is_exact() -> None:
    estimate = bootstrap({"leaks": [0.0] * 200})["leaks"]
    # What p would give no leak in 200 with a probability of 2.5%.
    assert (estimate.value, estimate.low) == (0, 0)
    assert (1 - estimate.high) ** 200 == pytest.approx(0.025)
    estimate = bootstrap({"found": [1.0] * 20})["found"]
    assert (estimate.value, estimate.high) == (1, 1)
    assert estimate.low**20 == pytest.approx(0.025)
    assert bootstrap({}) == {}
    assert bootstrap({"empty": []}) == {}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_intervals_hold_the_mean_s_range(values: list[float]) -> None:
    estimate = bootstrap({"x": values}, resamples=50)["x"]
    assert estimate.cases == len(values)
    assert estimate.value == pytest.approx(statistics.fmean(values))
    assert -1e-9 <= estimate.low <= estimate.high <= 1 + 1e-9


def test_each_tool_counts_the_same() -> None:
    found = [{"often": True}] * 9 + [{"often": False, "rare": True}, {"never": False}]
    estimate = bootstrap_per_tool(found)
    assert estimate is not None
    assert estimate.value == pytest.approx((0.9 + 1 + 0) / 3)
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.cases == 11
    assert bootstrap_per_tool([]) is None
    agreed = bootstrap_per_tool([{"a": True}] * 3)
    assert agreed is not None
    assert (agreed.value, agreed.high) == (1, 1)


def test_reliability_by_hand() -> None:
    bins = reliability([(0.0, False), (0.05, True), (0.31, True), (1.0, True)])
    assert bins == [
        Bin(low=0.0, high=0.1, hits=2, relevance=0.025, expected=0.5),
        Bin(low=0.3, high=0.4, hits=1, relevance=0.31, expected=1),
        Bin(low=0.9, high=1.0, hits=1, relevance=1.0, expected=1),
    ]
    assert calibration_error(bins) == pytest.approx((2 * 0.475 + 0.69 + 0) / 4)
    assert calibration_error([]) is None
