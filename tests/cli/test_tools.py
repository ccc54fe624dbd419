from __future__ import annotations

import json

from tests.cli.conftest import Cli


def test_lists_the_catalogue(cli: Cli, tools: None) -> None:
    outcome = cli("tools", "list")
    assert outcome.code == 0
    assert [row["tool"] for row in outcome.rows()] == [
        "github/create_pull_request",
        "github/delete_repo",
        "github/list_issues",
        "mail/list_folders",
        "mail/send_message",
    ]
    assert [row["action"] for row in outcome.rows()] == ["yes", "yes", "no", "yes", "yes"]
    assert outcome.err.startswith("5 tools of 2 servers, ")


def test_lists_what_a_role_may_use(cli: Cli, developer: str) -> None:
    outcome = cli("tools", "list", "--role", developer, "--json")
    assert [f"{tool['server']}/{tool['name']}" for tool in outcome.json()] == [
        "github/create_pull_request",
        "github/list_issues",
    ]
    assert list(outcome.json()[0]) == [
        "server",
        "name",
        "title",
        "description",
        "is_action",
        "tokens",
    ]


def test_lists_servers_by_pattern(cli: Cli, tools: None) -> None:
    outcome = cli("tools", "list", "--server", "m*l", "--jsonl")
    assert {json.loads(line)["server"] for line in outcome.out.splitlines()} == {"mail"}
    none = cli("tools", "list", "--server", "m?il")
    assert (none.code, none.out) == (0, "")
    assert "No server fits 'm?il'" in none.err


def test_says_why_a_list_is_empty(cli: Cli) -> None:
    assert "tool-rag ingest PATH" in cli("tools", "list").err
    unknown = cli("tools", "list", "--role", "nobody")
    assert (unknown.code, unknown.out) == (0, "")
    assert "'nobody' does not exist" in unknown.err
    cli("roles", "add", "guest")
    assert "guest may see no tool" in cli("tools", "list", "--role", "guest").err


def test_shows_a_definition_and_who_may_use_it(cli: Cli, developer: str) -> None:
    outcome = cli("tools", "show", "github/create_pull_request")
    assert outcome.code == 0
    assert outcome.out.startswith("github/create_pull_request  (action, about ")
    assert '"description": "Branch with changes"' in outcome.out
    assert "developer\tyes\tallowed to developer by github/*" in outcome.out
    document = cli("tools", "show", "github/delete_repo", "--json").json()
    assert document["roles"] == [
        {
            "role": "developer",
            "permitted": False,
            "reason": "denied to developer by */delete_*",
        }
    ]
    assert document["input_schema"] == {"type": "object", "properties": {}}


def test_an_unknown_tool_is_an_error_with_close_names(cli: Cli, tools: None) -> None:
    outcome = cli("tools", "show", "github/list_isues")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean github/list_issues" in outcome.err
    assert cli("tools", "show", "list_issues").code == 2


def test_a_server_is_removed(cli: Cli, developer: str) -> None:
    outcome = cli("tools", "remove", "mail")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "Server mail removed, with 2 tools.\n"
    assert {row["tool"].split("/")[0] for row in cli("tools", "list").rows()} == {"github"}
    again = cli("tools", "remove", "mail")
    assert (again.code, again.out) == (2, "")
    assert 'server "mail" does not exist' in again.err
    assert "tool-rag tools list" in again.err


def test_a_misspelt_name_is_resolved(cli: Cli, developer: str) -> None:
    outcome = cli("tools", "resolve", "createPullReqest", "--role", developer)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.rows() == [
        {"outcome": "corrected", "tool": "github/create_pull_request", "similarity": "0.97"}
    ]
    document = cli("tools", "resolve", "list_issues", "--role", developer, "--json").json()
    assert document == [
        {"outcome": "exact", "server": "github", "name": "list_issues", "similarity": 1.0}
    ]
    other = cli("tools", "resolve", "list_issues", "--role", developer, "--server", "m*")
    assert (other.code, other.out) == (0, "")


def test_a_name_that_resolves_to_nothing_says_so(cli: Cli, developer: str) -> None:
    outcome = cli("tools", "resolve", "delete_repo", "--role", developer)
    assert (outcome.code, outcome.out) == (0, "")
    assert "No tool that developer may use is called anything like 'delete_repo'" in outcome.err
    nobody = cli("tools", "resolve", "list_issues", "--role", "nobody", "--json")
    assert (nobody.code, nobody.json()) == (0, [])
    assert "'nobody' does not exist" in nobody.err
    assert "a caller without a role" in cli("tools", "resolve", "list_issues").err
    empty = cli("tools", "resolve", " ", "--role", developer)
    assert (empty.code, empty.out) == (2, "")
    assert "TOOL or SERVER/TOOL" in empty.err
