from __future__ import annotations

import argparse
import dataclasses
import json
import random
import re
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.bfcl import embedder_of, is_of_half_b
from benchmarks.evaluation import Asked, recall_rows, saving_row
from benchmarks.harness import Answer, half_of, print_tables
from benchmarks.multilingual import LANGUAGES, REQUESTS, TRANSLATIONS, by_lot, chosen, texts_of
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
from tool_rag_pg.demo import DEMO_FOLDER, read_folder
from tool_rag_pg.models import ToolHit

HALF_A, HALF_B = "todo", "get_weather"


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


def test_the_halves_of_a_set_are_fixed() -> None:
    # SHA-256 of these begins with 60, e3, 09 and 7e.
    names = [HALF_A, HALF_B, "sum", "add"]
    assert [half_of(name) for name in names] == ["A", "B", "B", "A"]
    assert is_of_half_b({"expected": [HALF_B]})
    assert not is_of_half_b({"expected": [HALF_B, HALF_A]})
    names = [f"tool_{number}" for number in range(1000)]
    assert 400 < sum(half_of(name) == "B" for name in names) < 600


def asked(*rows: tuple[list[str], list[str], bool]) -> Asked:
    return Asked(
        rows=[{"expected": wanted, "sgd_style": sgd} for wanted, _, sgd in rows],
        pairs=[
            (
                [f"bfcl/{tool}" for tool in wanted],
                Answer(hits=tuple(hit("bfcl", tool) for tool in found), milliseconds=1.0),
            )
            for wanted, found, _ in rows
        ],
        tools=4,
        tokens=400,
        timings={},
        statement={},
    )


def hit(server: str, name: str) -> ToolHit:
    values = {field.name: None for field in dataclasses.fields(ToolHit)}
    return ToolHit(**{**values, "server": server, "name": name, "tokens": 10})  # type: ignore[arg-type]


def test_the_figures_of_a_set() -> None:
    made = asked(
        ([HALF_A], [HALF_A, "x"], True),
        ([HALF_B], ["x", HALF_B], False),
        ([HALF_A, HALF_B], [HALF_A], False),
        ([HALF_A], [], False),
    )
    rows = {row["requests"]: row for row in recall_rows("bfcl", "built-in", made)}
    figures_at = {
        label: (row["how many"], row["@1"].split()[0], row["@5"].split()[0])
        for label, row in rows.items()
    }
    assert figures_at == {
        "all": (4, "25.0", "50.0"),
        "tools in SGD's style": (1, "100.0", "100.0"),
        "other tools": (3, "0.0", "33.3"),
        "all tools of half B": (1, "0.0", "100.0"),
        # Of A two of three requests found it, of B one of two, none of them first.
        "recall, each tool counting the same": (4, "33.3", "58.3"),
    }
    assert rows["all"]["@5"] == "50.0 (0.0 to 100.0)"
    assert list(recall_rows("clinc150", "built-in", made)[0].values())[2] == "all"
    saved = saving_row("bfcl", "built-in", made)
    assert (saved["tokens of all tools"], saved["saved"]) == (400, "96.9%")


def test_translations_are_of_the_requests_that_the_rule_chooses() -> None:
    folder = read_folder(DEMO_FOLDER)
    requests = chosen(list(folder.requests))
    rows = [json.loads(line) for line in TRANSLATIONS.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [request.id for request in requests]
    assert len(rows) == REQUESTS
    texts = texts_of(requests)
    assert list(texts) == list(LANGUAGES)
    # No two are the same text; numbers and names of things survive a translation.
    assert len({text for each in texts.values() for text in each}) == len(LANGUAGES) * REQUESTS
    for number, english in enumerate(texts["en"]):
        for code in re.findall(r"[A-Z]{2,}-\d+|pay_\d+|\b\d{3,}\b", english):
            assert all(code in each[number] for each in texts.values()), code
    scripts = {"ja": r"[\u3040-\u30ff]", "zh": r"[\u4e00-\u9fff]", "hi": r"[\u0900-\u097f]"}
    for language, letters in scripts.items():
        assert all(re.search(letters, text) for text in texts[language])


def test_shortlists_by_lot() -> None:
    folder = read_folder(DEMO_FOLDER)
    one = next(request for request in folder.requests if len(request.expected) == 1)
    two = next(request for request in folder.requests if len(request.expected) == 2)
    permitted = {one.role: 20, two.role: 20}
    assert by_lot([one], permitted, 5) == "25.0"
    assert by_lot([two], permitted, 5) == format(100 * 5 / 20 * 4 / 19, ".1f")


def test_tables_take_their_places_in_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- one -->\n| old |\n| --- |\n\nbetween\n\n<!-- two -->\n")
    given = [("one", [{"a": 1, "b": None}]), ("two", [{"c": "x"}])]
    for _ in range(2):
        print_tables(given, as_json=False, into=page)
        assert page.read_text() == (
            "before\n\n<!-- one -->\n| a | b |\n| --- | --- |\n| 1 |  |\n\nbetween\n\n"
            "<!-- two -->\n| c |\n| --- |\n| x |\n"
        )
    with pytest.raises(ValueError, match="has no line <!-- three -->"):
        print_tables([("three", [{"a": 1}])], as_json=False, into=page)


def test_the_embedder_of_a_benchmark() -> None:
    assert embedder_of(f"python:{__name__}:Toy").name == "toy"
    for wrong in ("all-MiniLM-L6-v2", "sentence-transformers:", "python:benchmarks"):
        with pytest.raises(argparse.ArgumentTypeError, match="NAME_OR_FOLDER"):
            embedder_of(wrong)


class Toy:
    name, dimensions, query_prompt, document_prompt = "toy", 1, "", ""


@pytest.mark.parametrize(
    ("page", "marks"),
    [
        ("evaluation.md", ["used-for", "recall", "saving"]),
        ("embedders.md", ["languages"]),
    ],
)
def test_pages_have_the_tables_of_their_commands(page: str, marks: list[str]) -> None:
    text = (Path(__file__).parents[1] / "docs" / page).read_text(encoding="utf-8")
    for mark in marks:
        assert re.search(rf"<!-- {mark} -->\n\|.*\n\| ---", text), mark
