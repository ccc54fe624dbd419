from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Cli
from tool_rag_pg.retriever import ToolRetriever

CREATE = "github/create_pull_request"


def moves(cli: Cli, *arguments: str) -> dict[str, dict[str, Any]]:
    outcome = cli("what-if", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    assert "Nothing was kept." in outcome.err
    return {move["tool"]: move for move in outcome.json()}


@pytest.fixture
def state(database: str, developer: str) -> Any:
    def read() -> list[Any]:
        with ToolRetriever(database) as retriever:
            return [
                retriever.list_tools(),
                retriever.list_rules(),
                retriever.list_synonyms(),
                retriever.list_examples(),
            ]

    before = read()
    yield
    assert read() == before


@pytest.mark.usefixtures("state")
def test_rules(cli: Cli) -> None:
    ask = ("--query", "send an e-mail about a pull request", "-k", "2")
    gained = moves(cli, "grant", "developer", "mail/*", *ask)
    assert gained["mail/send_message"]["change"] == "gained"
    assert gained["mail/send_message"]["rank_before"] is None
    assert gained["github/list_issues"]["change"] == "lost"
    lost = moves(cli, "revoke", "developer", "github/*", *ask)
    assert {move["change"] for move in lost.values()} == {"lost"}
    denied = moves(cli, "grant", "developer", CREATE, "--deny", *ask)
    assert denied[CREATE]["change"] == "lost"
    assert denied["github/list_issues"]["change"] == "moved"
    back = moves(cli, "revoke", "developer", "*/delete_*", "--deny", "--query", "delete repository")
    assert back["github/delete_repo"]["change"] == "gained"


@pytest.mark.usefixtures("state")
def test_wording(cli: Cli) -> None:
    ask = ("--query", "file a telegram", "--role", "developer", "-k", "1")
    issue = "github/list_issues"
    for edit in (
        ("synonym", issue, "telegram"),
        ("example", issue, "file a telegram"),
        ("description", issue, "File a telegram about a repository."),
    ):
        assert moves(cli, *edit, *ask)[issue]["rank"] == 1, edit
    outcome = cli("what-if", "synonym", issue, "telegram", *ask)
    assert outcome.rows()[0]["tool"] == issue


@pytest.mark.usefixtures("state")
def test_what_can_t_be(cli: Cli) -> None:
    ask = ("--query", "x", "--role", "developer")
    for wrong in (
        ("revoke", "developer", "mail/*", "--query", "x"),
        ("grant", "nobody", "mail/*", "--query", "x"),
        ("grant", "developer", "mail", "--query", "x"),
        ("synonym", "github/list_isues", "x", *ask),
        ("description", "github/list_isues", "x", *ask),
        ("description", "github/list_issues", "List the issues of a repository.", *ask),
        ("synonym", "github/list_issues", "x", "--query", "x"),
        ("example", "github/list_issues", "x", "--query", " ", "--role", "developer"),
    ):
        outcome = cli("what-if", *wrong)
        assert (outcome.code, outcome.out) == (2, ""), wrong
