from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.evaluation.conftest import HOSTILE, answer, case, document, failure, hit
from tool_rag_pg.evaluation.page import as_page
from tool_rag_pg.evaluation.report import status_of
from tool_rag_pg.evaluation.run import Unaware
from tool_rag_pg.evaluation.sections import as_markdown, make_sections


def metric(made: dict[str, Any], name: str, at: int | None = None) -> float:
    (found,) = [m for m in made["metrics"] if (m["name"], m["at"]) == (name, at)]
    return float(found["value"])


def test_figures_by_hand() -> None:
    made = document(
        [
            (case("all", "s/a"), answer("all", hit("s/a", 0.9), hit("s/b", 0.2))),
            (
                case("half", "s/a", "s/c"),
                # What comes on top of the first k is no part of them.
                answer(
                    "half",
                    hit("s/b", 0.4),
                    hit("s/a", 0.3),
                    hit("s/c", None, on_top=True),
                    failures=[failure("s/c")],
                ),
            ),
            (
                case("wrong", "s/c"),
                answer("wrong", hit("s/b", 0.1), failures=[failure("s/c", "vocabulary gap")]),
            ),
            (case("skipped", "s/c"), answer("skipped", failures=[failure("s/c")])),
            (case("nothing"), answer("nothing", hit("s/b", 0.15), leaks=["s/b"])),
            (case("rightly nothing"), answer("rightly nothing")),
        ],
        k=3,
        unaware=Unaware(leaking=3, answers=6, leaks=(True, False) * 3),
    )
    assert metric(made, "complete_recall", 1) == 1 / 4
    assert metric(made, "complete_recall", 3) == 1 / 4
    assert metric(made, "complete_recall_of_the_list") == 2 / 4
    assert metric(made, "recall", 3) == 1.5 / 4
    assert metric(made, "mrr") == (1 + 1 / 2) / 4
    # a: 2 of 2; c: 0 of 3; at 1 a is found once.
    assert metric(made, "recall_per_tool", 1) == 0.25
    assert {m["at"] for m in made["metrics"]} == {1, 3, None}
    assert {key: made["outcomes"][key] for key in ("correct", "partly", "wrong", "skipped")} == {
        "correct": 1,
        "partly": 1,
        "wrong": 1,
        "skipped": 1,
    }
    assert made["outcomes"]["accuracy"]["value"] == (1 + 0.5) / 4
    assert made["leaks"]["answers"] == 1
    assert made["leaks"]["rate"]["value"] == pytest.approx(1 / 6)
    assert made["leaks"]["permission_unaware"]["rate"]["value"] == 0.5
    assert made["no_tool"]["empty_answers"] == 1
    # Best relevances 0.9, 0.4, 0.1, 0 against 0.15 and 0.
    assert made["no_tool"]["auroc"] == (2 + 2 + 1 + 0.5) / 8
    assert made["tokens"]["sent_mean"] == (2 + 3 + 1 + 0 + 1 + 0) * 100 / 6
    assert made["tokens"]["saved"] == 1 - 700 / 12_000
    assert [(row["reason"], row["cases"]) for row in made["reasons"]] == [
        ("vocabulary gap", 1),
        ("crowded out", 2),
    ]
    assert sum(part["hits"] for part in made["reliability"]["bins"]) == 6
    assert made["counts"] == {
        "cases": 6,
        "with_tools": 4,
        "no_tool": 2,
        "left_out": 0,
        "already_known": 0,
    }


def test_statuses() -> None:
    assert status_of(case("x", "s/a"), answer("x", hit("s/b"), hit("s/a")), 1) == "wrong"
    assert status_of(case("x"), answer("x"), 1) == "correct"
    assert status_of(case("x"), answer("x", hit("s/a")), 1) == "wrong"


def test_groups() -> None:
    made = document(
        [
            (case("a", "s/a", groups=("x", "y")), answer("a", hit("s/a"))),
            (case("b", "s/a", groups=("x",)), answer("b", hit("s/b"), failures=[failure("s/a")])),
            (case("c", groups=("z",)), answer("c", hit("s/b"))),
        ]
    )
    assert [(g["by"], g["group"], g["cases"], g["with_tools"]) for g in made["groups"]] == [
        ("category", "x", 2, 2),
        ("category", "y", 1, 1),
        ("category", "z", 1, 0),
    ]
    x, y, z = made["groups"]
    assert metric(x, "complete_recall", 5) == 0.5
    assert (metric(y, "complete_recall", 5), z["metrics"]) == (1, [])
    (of_x,) = [m for m in x["metrics"] if (m["name"], m["at"]) == ("complete_recall", 5)]
    assert (of_x["low"], of_x["high"], of_x["cases"]) == (0, 1, 2)
    assert x["outcomes"]["accuracy"]["value"] == 0.5
    assert z["outcomes"]["accuracy"] is None
    (section,) = [part for part in make_sections(made) if part.title == "By category"]
    assert section.rows[0][:3] == ("x", "2", "50.0% (0.0 to 100.0)")
    # One case that is right says little: Clopper and Pearson's bound.
    assert section.rows[1][2] == "100.0% (2.5 to 100.0)"
    assert set(section.rows[2][2:-1]) == {""}


def test_figures_by_who_asks() -> None:
    made = document(
        [
            (case("a", "s/a", roles=("one",)), answer("a", hit("s/a"))),
            (case("b", "s/a", roles=("two", "one")), answer("b", hit("s/b"), leaks=["s/b"])),
            (case("c", "s/a", roles=("one",)), answer("c", hit("s/b"))),
            (case("d", roles=()), answer("d")),
        ]
    )
    assert [(g["by"], g["group"], g["cases"], g["leaks"]) for g in made["groups"]] == [
        ("roles", "one", 2, 0),
        ("roles", "two and one", 1, 1),
        ("roles", "nobody", 1, 0),
    ]


def test_a_result_without_any_tool_has_a_report() -> None:
    made = document([(case("a"), answer("a"))])
    assert made["metrics"] == []
    assert "1 case, 0 of them" in as_markdown(made)
    assert "<svg" in as_page(made)


class Tags(HTMLParser):
    """Collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_escapes_all_that_tools_say(hostile: dict[str, Any]) -> None:
    page = as_page(hostile)
    parsed = Tags()
    parsed.feed(page)
    assert not {tag for tag, _ in parsed.tags} & {"script", "img", "link", "iframe", "a", "object"}
    for _, attributes in parsed.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert not {"src", "href"} & set(attributes)
    assert parsed.text.count("<script>alert('x')</script>") >= 10
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)
    assert "url(" not in page
    assert "@import" not in page


def test_a_page_is_well_formed_and_told_in_words(hostile: dict[str, Any]) -> None:
    page = as_page(hostile)
    body = page.partition("<body>")[2].partition("</body>")[0]
    root = ElementTree.fromstring(f"<body>{body}</body>")
    figures = root.findall(".//svg")
    assert len(figures) == 3
    names = {element.get("id") for element in root.iter()}
    for figure in figures:
        assert figure.get("role") == "img"
        assert set((figure.get("aria-labelledby") or "").split()) <= names
        title, told = figure.find("title"), figure.find("desc")
        assert title is not None
        assert told is not None
        assert title.text
        assert told.text
    assert "prefers-color-scheme: dark" in page
    tiles = ["".join(each.itertext()) for each in root.findall(".//dl/div")]
    assert any("with forbidden tools1of 2 answers" in tile for tile in tiles)
    # Each cell says its column, for where the columns do not fit side by side.
    for table in root.findall(".//table"):
        columns = ["".join(head.itertext()).replace("\xa0", " ") for head in table.iter("th")]
        for row in table.findall("tbody/tr"):
            assert [cell.get("data-column") for cell in row] == columns
    assert len(root.findall(".//section")) == len(make_sections(hostile))


def test_markdown_shows_texts_as_they_are(hostile: dict[str, Any]) -> None:
    text = as_markdown(hostile)
    assert "<script" not in text
    assert "<img" not in text
    assert not re.search(r"(?<!\\)\[a", text)
    tables = re.findall(r"((?:^\|.*\n)+)", text, re.MULTILINE)
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert HOSTILE not in text
