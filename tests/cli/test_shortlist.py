from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from tool_rag_pg.cli._shortlist import draw_shortlist, print_shortlist
from tool_rag_pg.models import ToolHit


def hit(**changes: Any) -> ToolHit:
    values: dict[str, Any] = {
        "rank": 1,
        "server": "a-server-with-a-rather-long-name",
        "name": "update_pull_request_branch_protection",
        "title": None,
        "description": "",
        "input_schema": {},
        "is_action": True,
        "relevance": None,
        "score": 0.0909,
        "tokens": 1234,
        "reason": "matched [bold]words[/bold] of the request",
        "explain": {"words": {"rank": 1, "matched": ["a", "b"]}, "cut": 0.2},
    }
    return ToolHit(**values | changes)


def drawn(width: int, *hits: ToolHit, explain: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width)
    draw_shortlist(console, hits, explain=explain)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_names_are_never_cut_and_text_is_no_markup() -> None:
    wide = drawn(120, hit())
    assert "a-server-with-a-rather-long-name/update_pull_request_branch_protection" in wide
    assert "[bold]words[/bold]" in " ".join(wide.split())
    narrow = drawn(80, hit())
    assert "a-server-with-a-rather-long-name/ " in narrow
    assert "update_pull_request_branch_protection" in narrow
    assert max(map(len, narrow.splitlines())) <= 80


def test_nothing_steers_a_narrow_terminal() -> None:
    text = "a\x1b[2J\u202e\nb"
    narrow = drawn(70, hit(server=text, name=text, reason=text))
    assert not set("\x1b\u202e") & set(narrow)
    assert "a<U+001B>[2J<U+202E> b/ " in narrow


def test_the_rating_is_the_relevance_where_there_is_one() -> None:
    assert "score" in drawn(120, hit())
    assert "0.091" in drawn(120, hit())
    rated = drawn(120, hit(relevance=0.5), hit(rank=2, relevance=None))
    assert "relevance" in rated
    assert "0.50" in rated


EXPLAINED = {
    "words": {"rank": 2, "score": 6.534, "matched": ["book", "[hotel]"]},
    "meaning": {"rank": 1, "score": 0.64},
    "part": "a hotel in Rome",
    "needed": {"by": "a/b", "reason": "its id"},
    "sent": 3,
    "grant": {"role": "clerk", "rule": "*/*", "valid_until": "2031-01-01"},
}
FACTS = [
    "#2, 6.53: book, [hotel]",
    "#1, 0.64",
    "for: a hotel in Rome; needed by a/b: its id; sent before, at place 3",
    "clerk: */* until 2031-01-01",
]


def test_explain_shows_what_led_to_a_tool() -> None:
    text = " ".join(drawn(300, hit(explain=EXPLAINED), explain=True).split())
    for fact in FACTS:
        assert fact in text
    assert "#2, 6.53" not in drawn(300, hit(explain=EXPLAINED))
    bare = drawn(300, hit(explain=None), explain=True)
    assert "update_pull_request_branch_protection" in bare


def test_elsewhere_it_is_tab_separated(capsys: pytest.CaptureFixture[str]) -> None:
    print_shortlist([hit(explain=EXPLAINED)], explain=True)
    head, row = capsys.readouterr().out.splitlines()
    columns = ["rank", "tool", "score", "tokens", "words", "meaning", "because", "allowed by"]
    assert head.split("\t") == columns
    assert row.split("\t")[4:] == FACTS
