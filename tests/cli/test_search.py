from __future__ import annotations

import json
from dataclasses import fields

import psycopg

from tests.cli.conftest import Cli
from tool_rag_pg.models import ToolHit

QUERY = "open a pull request from my branch"


def test_prints_a_shortlist_and_what_it_saves(cli: Cli, developer: str) -> None:
    outcome = cli("search", QUERY, "--role", developer)
    assert outcome.code == 0
    first = outcome.rows()[0]
    assert list(first)[:2] == ["rank", "tool"]
    assert list(first)[3:] == ["tokens", "reason"]
    assert (first["rank"], first["tool"]) == ("1", "github/create_pull_request")
    assert {row["tool"] for row in outcome.rows()} <= {
        "github/create_pull_request",
        "github/list_issues",
    }
    assert "tokens of" in outcome.err
    assert "that role developer may see" in outcome.err


def test_k_limits_the_list(cli: Cli, developer: str) -> None:
    outcome = cli("search", QUERY, "--role", developer, "-k", "1")
    assert len(outcome.rows()) == 1
    assert outcome.err.startswith("1 tool, ")


def test_the_request_may_come_from_stdin(cli: Cli, developer: str) -> None:
    outcome = cli("search", "-", "--role", developer, "-k", "1", stdin=f"{QUERY}\n")
    assert outcome.rows()[0]["tool"] == "github/create_pull_request"


def test_explain_adds_the_arms(cli: Cli, developer: str) -> None:
    (row,) = cli("search", QUERY, "--role", developer, "-k", "1", "--explain").rows()
    assert row["words"].startswith("#1, ")
    assert row["words"].endswith(": branch, open, pull, request")
    assert row["meaning"].startswith("#1, 0.")
    assert row["allowed by"] == "developer: github/*"


def test_json_has_the_columns_of_the_sql_function(cli: Cli, developer: str, database: str) -> None:
    with psycopg.connect(database) as connection:
        cursor = connection.execute("select * from tool_rag.search_tools(query => 'x')")
        columns = [column.name for column in cursor.description or ()]
    assert [field.name for field in fields(ToolHit)] == columns
    document = cli("search", QUERY, "--role", developer, "--json").json()
    assert [list(row) for row in document] == [columns] * len(document)
    assert document[0]["input_schema"]["properties"]["head"]["type"] == "string"


def test_jsonl_has_one_object_a_line(cli: Cli, developer: str) -> None:
    outcome = cli("search", QUERY, "--role", developer, "--jsonl")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))


def test_servers_narrow_the_search(cli: Cli, developer: str) -> None:
    cli("grant", developer, "mail/*")
    outcome = cli("search", "list", "--role", developer, "--server", "ma*")
    assert {row["tool"].split("/")[0] for row in outcome.rows()} == {"mail"}
    outcome = cli("search", "list", "--role", developer, "--server", "nope")
    assert (outcome.code, outcome.out) == (0, "")
    assert "No tool of nope" in outcome.err


def test_without_a_role_nothing_is_visible_and_it_says_how_to_make_one(
    cli: Cli, developer: str
) -> None:
    outcome = cli("search", QUERY)
    assert (outcome.code, outcome.out) == (0, "")
    assert "Without a role no tool is visible" in outcome.err
    assert "tool-rag roles add" in outcome.err
    assert "tool-rag grant" in outcome.err
    assert cli("search", QUERY, "--json").json() == []


def test_an_unknown_role_is_named(cli: Cli, developer: str) -> None:
    outcome = cli("search", QUERY, "--role", "develper")
    assert (outcome.code, outcome.out) == (0, "")
    assert "'develper' does not exist" in outcome.err
    both = cli("search", QUERY, "--role", "develper", "--role", developer)
    assert both.rows()
    assert "'develper' does not exist" in both.err


def test_roles_in_one_word_are_to_be_repeated(cli: Cli, developer: str) -> None:
    advice = "--role developer --role guest"
    for arguments in (
        ("search", QUERY, "--role", "developer, guest"),
        ("tools", "list", "--role", "developer,guest"),
        ("tools", "resolve", "listIsues", "--role", "developer,guest"),
        ("what-if", "grant", developer, "mail/*", "--query", QUERY, "--role", "developer,guest"),
        ("demo", QUERY, "--role", "developer,guest"),
        ("eval", "cases.jsonl", "--role", "developer,guest"),
    ):
        outcome = cli(*arguments)
        assert "Repeat the option for several roles: " + advice in outcome.err, arguments
    assert "Repeat" not in cli("search", QUERY, "--role", ",").err


def test_a_role_without_grants_is_told_apart_from_no_match(cli: Cli, developer: str) -> None:
    cli("roles", "add", "guest")
    outcome = cli("search", QUERY, "--role", "guest")
    assert (outcome.code, outcome.out) == (0, "")
    assert "guest may see no tool yet" in outcome.err
    assert "tool-rag grant guest" in outcome.err


def test_an_empty_catalogue_is_said(cli: Cli) -> None:
    outcome = cli("search", QUERY, "--role", "developer")
    assert outcome.code == 0
    assert "tool-rag ingest PATH" in outcome.err


def test_bad_arguments_are_usage_errors(cli: Cli, developer: str) -> None:
    for arguments, message in ((("",), "the query is empty"), (("x", "-k", "0"), "k is 0")):
        outcome = cli("search", *arguments, "--role", developer)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("Error: ")
        assert message in outcome.err


def test_earlier_messages_help_where_the_request_says_little(cli: Cli, developer: str) -> None:
    outcome = cli("search", "yes, that one", "--role", developer, "--context", QUERY, "-k", "1")
    (row,) = outcome.rows()
    assert row["tool"] == "github/create_pull_request"
    assert f"earlier: {QUERY}" in row["reason"]


def test_a_request_that_nothing_serves_is_said(cli: Cli, developer: str) -> None:
    outcome = cli("search", "qwrtz jklm", "--role", developer, "--min-relevance", "0.9")
    assert (outcome.code, outcome.out) == (0, "")
    assert "serves the request with a relevance of 0.9 or more" in outcome.err
    assert cli("search", QUERY, "--role", developer, "--min-relevance", "2").code == 2


def test_why_a_tool_is_not_in_the_list(cli: Cli, developer: str) -> None:
    asked = ("search", QUERY, "--role", developer, "-k", "1", "--why-not")
    (row,) = cli(*asked, "github/list_issues").rows()
    assert row["outcome"] == "crowded_out"
    assert "github/create_pull_request" in row["reason"]
    document = cli(*asked, "github/nothing", "--json").json()
    assert document["outcome"] == "not_permitted"
    assert cli(*asked, "github/create_pull_request", "--json").json()["rank"] == 1
    wrong = cli(*asked, "nothing")
    assert wrong.code == 2
    assert "SERVER/TOOL" in wrong.err


def test_explain_names_the_words_that_stand_in_no_tool(cli: Cli, developer: str) -> None:
    outcome = cli("search", f"{QUERY} xylograph", "--role", developer, "--explain")
    assert "In no tool: xylograph." in outcome.err
    assert "In no tool" not in cli("search", f"{QUERY} xylograph", "--role", developer).err


def test_few_tools_need_no_shortlist(cli: Cli, developer: str, database: str) -> None:
    assert "sending all of them is simpler" in cli("search", QUERY, "--role", developer).err
    with psycopg.connect(database) as connection:
        connection.execute(
            """
            select tool_rag.upsert_tools(jsonb_build_object('server', 'many', 'tools', (
                select jsonb_agg(jsonb_build_object('name', 'tool_' || n))
                from generate_series(1, 20) n
            ))), tool_rag.grant_tools(%s, 'many', '*')
            """,
            (developer,),
        )
    assert "sending all" not in cli("search", QUERY, "--role", developer).err
