from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tool_rag_pg.retriever import ToolRetriever

CREATE = "github/create_pull_request"
SEND = "mail/send_message"


def write(path: Path, document: Any) -> str:
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def write_lines(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("tools")
def test_synonyms_are_added_listed_and_removed(cli: Cli) -> None:
    added = cli("synonyms", "add", SEND, "telegram wire")
    assert (added.code, added.out) == (0, "")
    assert "mail/send_message: 'telegram wire' added." in added.err
    assert "was there already" in cli("synonyms", "add", SEND, "telegram wire").err
    assert cli("synonyms", "add", "--term", "ticket", "issue").code == 0
    assert cli("synonyms", "list").rows() == [
        {"tool": "", "term": "ticket", "words": "issue"},
        {"tool": SEND, "term": "", "words": "telegram wire"},
    ]
    assert cli("synonyms", "list", SEND, "--json").json() == [
        {"server": "mail", "tool": "send_message", "term": None, "words": "telegram wire"}
    ]
    for wrong in (
        ("add", SEND),
        ("add", "--term", "x", SEND, "words"),
        ("add", "words without a tool", "words"),
        ("remove", SEND),
        ("remove", SEND, "words", "--all"),
        ("remove",),
    ):
        outcome = cli("synonyms", *wrong)
        assert (outcome.code, outcome.out) == (2, ""), wrong
    absent = cli("synonyms", "remove", SEND, "telegraph")
    assert absent.code == 1
    assert "has no 'telegraph' to remove" in absent.err
    assert cli("synonyms", "remove", SEND, "telegram wire").code == 0
    assert cli("synonyms", "remove", "--term", "ticket", "--all").code == 0
    empty = cli("synonyms", "list")
    assert (empty.code, empty.out) == (0, "")
    assert "There is no synonym" in empty.err


@pytest.mark.usefixtures("tools")
def test_an_unknown_tool_is_told_with_the_nearest(cli: Cli) -> None:
    for arguments in (
        ("synonyms", "add", "mail/send_mesage", "x"),
        ("synonyms", "list", "mail/send_mesage"),
        ("synonyms", "remove", "mail/send_mesage", "x"),
        ("examples", "add", "mail/send_mesage", "x"),
        ("examples", "list", "mail/send_mesage"),
        ("deps", "add", "mail/send_mesage", SEND, "x"),
        ("deps", "remove", SEND, "mail/send_mesage"),
    ):
        outcome = cli(*arguments)
        assert outcome.code == 2
        assert SEND in outcome.err


def test_words_find_what_the_tool_calls_otherwise(cli: Cli, developer: str) -> None:
    request = ("search", "file a telegram", "--role", developer, "-k", "1", "--jsonl")
    cli("synonyms", "add", "github/list_issues", "telegram")
    assert cli(*request).json()["name"] == "list_issues"
    cli("synonyms", "remove", "github/list_issues", "telegram")
    cli("examples", "add", CREATE, "file a telegram")
    assert cli(*request).json()["name"] == "create_pull_request"


@pytest.mark.usefixtures("tools")
def test_synonyms_go_to_a_file_and_back(cli: Cli, tmp_path: Path) -> None:
    document = {
        "words": {"ticket": "issue", "PR": ["pull request", "merge request"]},
        "github/list_issues": "tickets",
        "mail/send_message": ["telegram", "wire"],
    }
    file = write(tmp_path / "synonyms.json", document | {"list_folders": "boxes"})
    outcome = cli("synonyms", "import", file, "--json")
    assert outcome.json() == {"path": file, "read": 7, "added": 7, "unchanged": 0}
    assert cli("synonyms", "import", file, "--json").json()["unchanged"] == 7
    exported = cli("synonyms", "export")
    assert exported.json().pop("words") == {
        "PR": ["merge request", "pull request"],
        "ticket": "issue",
    }
    assert exported.json()["mail/list_folders"] == "boxes"
    again = cli("synonyms", "import", "-", stdin=exported.out)
    assert "-: 7 synonyms, 0 of them new, 7 there already." in again.err
    assert cli("synonyms", "export").out == exported.out


@pytest.mark.parametrize(
    ("text", "where", "remedy"),
    [
        ("{", ": line 1, column 2: it is not valid JSON", "correct it"),
        ("[]", ": it is no JSON object", "SERVER/TOOL"),
        ('{"send_message": 5}', ': "send_message": the words are missing', "SERVER/TOOL"),
        ('{"send_message": ["x", " "]}', ': "send_message"[1]: the words are', "SERVER/TOOL"),
        ('{"words": {"x": {}}}', ': words["x"]: the words are missing', "SERVER/TOOL"),
        ('{"a/b": "x", "a/b": "y"}', ": the key 'a/b' stands twice", "a list"),
        ('{"mail/send_mesage": "x"}', ': "mail/send_mesage": tool "mail/send_mes', SEND),
        ('{"send_mesage": "x"}', ': "send_mesage": tool "', SEND),
        ('{"list_issues": "x"}', ': "list_issues": 2 servers have', "forge/list_issues"),
        ('{"words": {"the": "x"}}', ': words["the"]: the term "the" has no word', "Stop words"),
    ],
)
@pytest.mark.usefixtures("tools")
def test_a_broken_file_of_synonyms_changes_nothing(
    cli: Cli, database: str, text: str, where: str, remedy: str
) -> None:
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools(
            {"server": "forge", "tools": [{"name": "list_issues", "description": "Issues"}]}
        )
    good = '{"mail/list_folders": "boxes", '
    outcome = cli(
        "synonyms", "import", "-", stdin=text.replace("{", good, 1) if ":" in text else text
    )
    assert (outcome.code, outcome.out) == (1, "")
    assert f"Error: -{where}" in outcome.err
    assert remedy in outcome.err
    assert cli("synonyms", "export").json() == {}


@pytest.mark.usefixtures("tools")
def test_examples_go_to_a_file_and_back(cli: Cli, tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "examples.jsonl",
        {"tool": SEND, "request": "write to Ann", "origin": "generated"},
        {"tool": "send_message", "request": "tell Bob that I am late"},
    )
    assert "2 examples, 2 of them new" in cli("examples", "import", file).err
    assert "0 of them new, 2 there already" in cli("examples", "import", file).err
    assert cli("examples", "list", "--origin", "human").rows() == [
        {"tool": SEND, "request": "tell Bob that I am late", "origin": "human"}
    ]
    assert len(cli("examples", "list", SEND, "--json").json()) == 2
    exported = cli("examples", "export")
    assert len(exported.out.splitlines()) == 2
    assert len(cli("examples", "export", "--origin", "generated").out.splitlines()) == 1
    cli("examples", "remove", SEND, "write to Ann")
    assert cli("examples", "remove", SEND, "write to Ann").code == 1
    cli("examples", "remove", SEND, "--all")
    assert cli("examples", "list").out == ""
    cli("examples", "import", "-", stdin=exported.out)
    assert cli("examples", "export").out == exported.out


@pytest.mark.usefixtures("tools")
def test_examples_are_removed_by_origin(cli: Cli) -> None:
    def requests() -> list[str]:
        return [row["request"] for row in cli("examples", "list", "--json").json()]

    for tool, request, origin in (
        (SEND, "a", "human"),
        (SEND, "b", "generated"),
        (SEND, "c", "feedback"),
        (CREATE, "d", "generated"),
    ):
        cli("examples", "add", tool, request, "--origin", origin)
    assert cli("examples", "remove", SEND, "a", "--origin", "generated").code == 1
    assert cli("examples", "remove", CREATE, "--all", "--origin", "human").code == 1
    for wrong in (
        ("--all",),
        ("--origin", "generated"),
        (SEND, "--origin", "generated"),
        (SEND, "--all", "--origin", "robot"),
    ):
        assert cli("examples", "remove", *wrong).code == 2, wrong
    assert requests() == ["d", "a", "b", "c"]
    assert cli("examples", "remove", SEND, "--all", "--origin", "feedback").code == 0
    assert requests() == ["d", "a", "b"]
    removed = cli("examples", "remove", "--all", "--origin", "generated")
    assert (removed.code, removed.out) == (0, "")
    assert "2 generated examples removed." in removed.err
    assert requests() == ["a"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"tool": SEND}, "request is missing"),
        ({"request": "x"}, "tool is missing"),
        ({"tool": SEND, "request": "x", "origin": "robot"}, 'origin is "robot"'),
        ({"tool": SEND, "request": "x", "origin": []}, "origin is []"),
        ({"tool": "mail/nope", "request": "x"}, 'tool "mail/nope" does not exist'),
        ({"tool": SEND, "request": "x" * 2001}, "the request has 2001 characters"),
    ],
)
@pytest.mark.usefixtures("tools")
def test_a_broken_file_of_examples_changes_nothing(
    cli: Cli, tmp_path: Path, line: dict[str, Any], said: str
) -> None:
    file = write_lines(tmp_path / "e.jsonl", {"tool": SEND, "request": "fine"}, line)
    outcome = cli("examples", "import", file)
    assert (outcome.code, outcome.out) == (1, "")
    assert f"{file}: line 2: {said}" in outcome.err
    assert cli("examples", "list").out == ""


@pytest.mark.parametrize(
    ("request_", "refused"),
    [
        ("Write to Ann, that I am late!", True),
        ("write to ann that i am late", True),
        # Six of the seven words that there are.
        ("write to ann that i am", True),
        ("write to ann that i", False),
        ("\uff57rite to Ann that I am late", True),
        ("?!", True),
        ("!?", False),
        ("something else", False),
    ],
)
@pytest.mark.usefixtures("tools")
def test_requests_of_an_evaluation_are_refused(
    cli: Cli, tmp_path: Path, request_: str, refused: bool
) -> None:
    cases = write_lines(
        tmp_path / "cases.jsonl",
        {"query": "anything at all"},
        {"query": "?!"},
        {"request": "write to Ann that I am late"},
    )
    file = write_lines(
        tmp_path / "examples.jsonl",
        {"tool": SEND, "request": "wholly new"},
        {"tool": SEND, "request": request_},
    )
    outcome = cli("examples", "import", file, "--not-in", cases)
    assert outcome.code == (1 if refused else 0)
    assert len(cli("examples", "list", "--json").json()) == (0 if refused else 2)
    if refused:
        assert f"{file}: line 2: " in outcome.err
        assert f"nearly the request of {cases}, line {2 if request_ == '?!' else 3}" in outcome.err


@pytest.mark.usefixtures("tools")
def test_dependencies_go_to_a_file_and_back(cli: Cli, tmp_path: Path) -> None:
    document = [{"tool": SEND, "needs": "mail/list_folders", "reason": "where to keep it"}]
    file = write(tmp_path / "dependencies.json", document)
    assert "1 dependency, 1 of them new" in cli("deps", "import", file).err
    assert cli("deps", "import", file, "--json").json()["unchanged"] == 1
    assert cli("deps", "export").json() == document
    assert cli("deps", "list").rows() == document
    assert cli("deps", "list", "--json").json() == [
        {
            "server": "mail",
            "tool": "send_message",
            "needs_server": "mail",
            "needs_tool": "list_folders",
            "reason": "where to keep it",
        }
    ]
    circle = write(
        tmp_path / "circle.json",
        [
            {"tool": CREATE, "needs": SEND, "reason": "to tell"},
            {"tool": "list_folders", "needs": CREATE, "reason": "why not"},
        ],
    )
    refused = cli("deps", "import", circle)
    assert refused.code == 1
    assert f"{circle}: [1]: " in refused.err
    assert cli("deps", "export").json() == document
    for broken in ({}, [5], [{"tool": SEND, "needs": CREATE}]):
        assert cli("deps", "import", write(tmp_path / "broken.json", broken)).code == 1
    assert cli("deps", "remove", SEND, "mail/list_folders").code == 0
    assert cli("deps", "remove", SEND, "mail/list_folders").code == 1
    assert cli("deps", "list").out == ""


def test_a_search_adds_what_is_needed_and_in_use_within_a_budget(
    cli: Cli, developer: str, database: str
) -> None:
    request = ("search", "pull request", "--role", developer, "-k", "1")
    cli("deps", "add", CREATE, "github/list_issues", "names the issue")
    cli("deps", "add", CREATE, SEND, "nobody may see it")
    first, second = cli(*request).rows()
    assert (first["tool"], second["tool"]) == (CREATE, "github/list_issues")
    assert second["reason"].startswith(f"needed by {CREATE}: names the issue")
    tokens = int(first["tokens"]) + int(second["tokens"])
    assert len(cli(*request, "--budget", str(tokens)).rows()) == 2
    over = cli(*request, "--budget", str(tokens - 1))
    assert (over.code, over.out) == (2, "")
    cli("deps", "remove", CREATE, "github/list_issues")
    with ToolRetriever(database) as retriever:
        retriever.record_use("c", 3, "github", "list_issues", roles=[developer])
    assert len(cli(*request).rows()) == 1
    used = cli(*request, "--conversation", "c").rows()
    assert used[1]["reason"].startswith("used in turn 3")
    assert cli(*request, "--conversation", "c", "--json").json()[1]["score"] is None


def test_a_file_that_is_not_there(cli: Cli) -> None:
    for group in ("synonyms", "examples", "deps"):
        outcome = cli(group, "import", "nowhere.json")
        assert outcome.code == 1
        assert "nowhere.json: it can't be read" in outcome.err


@pytest.mark.parametrize("kind", ["synonyms", "examples", "deps"])
@pytest.mark.parametrize("text", ["", "\ufeff", " \n\n"])
def test_an_empty_file_holds_nothing(cli: Cli, tmp_path: Path, kind: str, text: str) -> None:
    path = tmp_path / "empty"
    path.write_text(text, encoding="utf-8")
    stored = cli(kind, "import", str(path), "--json")
    assert (stored.code, stored.json()["read"], stored.json()["added"]) == (0, 0, 0)
