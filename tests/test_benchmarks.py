from __future__ import annotations

import random
from itertools import product
from xml.etree import ElementTree

import pytest

from benchmarks.relevance import (
    auroc,
    bins,
    by_tool,
    calibration_error,
    figures,
    interval,
    plot,
    share_from,
    tables,
    threshold,
)
from benchmarks.visibility import Commit, Reply, judge, watch


def test_auroc_is_the_share_of_pairs_in_the_right_order_and_half_of_the_ties(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(50):
        served = [random_.randrange(6) / 5 for _ in range(random_.randint(1, 12))]
        others = [random_.randrange(6) / 5 for _ in range(random_.randint(1, 12))]
        pairs = list(product(served, others))
        wins = sum((s > o) + (s == o) / 2 for s, o in pairs)
        assert auroc(served, others) == pytest.approx(wins / len(pairs))
        low, high = interval(served, others, draws=40)
        assert 0 <= low <= high <= 1


def test_the_threshold_keeps_its_share_of_the_served() -> None:
    served = [place / 100 for place in range(1, 101)]
    assert threshold(served) == 0.06
    assert share_from(served, threshold(served)) == 0.95
    assert threshold([0.3]) == 0.3
    # One higher would lose too many.
    assert share_from(served, 0.07) < 0.95


def test_calibration_error_is_nothing_where_relevance_is_the_share_served() -> None:
    # Both classes weigh the same, so one request of four weighs as much as one of one.
    served, others = [0.5] * 4, [0.5]
    assert calibration_error(bins(served, others)) == pytest.approx(0)
    assert calibration_error(bins([1.0] * 3, [0.0])) == pytest.approx(0)
    assert calibration_error(bins([0.0], [1.0] * 3)) == pytest.approx(1)
    # Half of the weight is off by 0.25, the other by 0.05.
    assert calibration_error(bins([0.75], [0.05])) == pytest.approx(0.15)


def test_requests_are_drawn_evenly_by_tool() -> None:
    requests = [(f"{tool} {number}", (tool,)) for tool in "aab" for number in range(5)]
    drawn = by_tool(requests)
    assert sorted(drawn) == sorted(requests)
    assert [tools for _, tools in drawn[:4]] == [("a",), ("b",), ("a",), ("b",)]
    assert by_tool(requests) == drawn


def test_the_diagram_and_the_tables_hold_every_set() -> None:
    served, others = [place / 40 for place in range(20, 40)], [place / 40 for place in range(20)]
    reports = [{"set": name, "tools": 7, **figures(served, others)} for name in ("first", "second")]
    texts = [node.text for node in ElementTree.fromstring(plot(reports)).iter() if node.text]
    assert {"first", "second"} <= set(texts)
    for _, rows in tables(reports):
        assert "first" in {*rows[0], *(value for row in rows for value in row.values())}
    assert reports[0]["auroc"] == 1
    assert reports[0]["refused"] == 1


def test_an_answer_from_before_a_commit_it_came_after_is_stale() -> None:
    commits = [Commit(0, 0, True), Commit(10, 11, False), Commit(20, 21, True)]

    def stale(*reply: float, found: bool) -> int:
        counted = judge(commits, [Reply(*reply, found)])
        assert counted["answers"] == 1
        return counted["stale_answers"]

    # Between two commits only one answer is right.
    assert stale(12, 13, found=True) == 1
    assert stale(12, 13, found=False) == 0
    assert stale(1, 2, found=False) == 1
    assert stale(22, 30, found=False) == 1
    # While a commit is under way, and where the search spans one, both are.
    for found in (True, False):
        assert stale(10.5, 10.7, found=found) == 0
        assert stale(5, 12, found=found) == 0
        assert stale(19, 22, found=found) == 0
    # A search that spans two may see all three states, but not one that came after the first only.
    assert stale(12, 19, found=True) == 1
    assert judge(commits, [Reply(12, 13, True)])["answers_between_commits"] == 1


def test_no_answer_is_stale_while_access_is_edited(database: str) -> None:
    report = watch(database, clients=4, edits=20)
    assert report["commits"] == 20
    assert report["answers_between_commits"] > 0
    assert report["stale_answers"] == 0
