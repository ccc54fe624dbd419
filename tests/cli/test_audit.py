"""`tool-rag audit` and `tool-rag access`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli
from tool_rag_pg.retriever import ToolRetriever


@pytest.fixture
def shop(database: str) -> None:
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools(
            [
                {
                    "server": "shop",
                    "tools": [{"name": f"get_{n:02}", "description": "Get it"} for n in range(25)],
                },
                {"server": "crm", "tools": [{"name": "refund", "description": "Give back"}]},
            ]
        )
        retriever.add_role("support")


@pytest.mark.usefixtures("shop")
def test_changes_are_listed_with_who_and_what(cli: Cli) -> None:
    assert cli("grant", "support", "crm/*").code == 0
    assert cli("grant", "support", "crm/*", "--until", "2099-01-01").code == 0
    changed, added = cli("audit", "changes", "--object", "grant_rule").rows()
    assert (added["what"], added["row"], added["values"]) == (
        "insert",
        "support: allow crm/*",
        "",
    )
    assert changed["what"] == "update"
    assert changed["values"].startswith("valid_until: infinity -> 2099-01-01")
    assert added["who"]
    (row,) = cli("audit", "changes", "--label", "crm/*", "--json").json()
    assert (row["object"], row["after"]["description"]) == ("tool", "Give back")
    short = cli("audit", "changes", "--limit", "1")
    assert len(short.rows()) == 1
    assert "raise --limit" in short.err
    assert "No change fits" in cli("audit", "changes", "--login", "nobody").err


@pytest.mark.usefixtures("shop")
def test_the_level_decides_what_is_recorded(cli: Cli, database: str) -> None:
    assert "not recorded" in cli("audit", "events").err
    assert "counts, kept for 90 days" in cli("audit", "set", "counts").err
    assert "No search and no call fits" in cli("audit", "events").err
    with ToolRetriever(database) as retriever:
        assert retriever.record_call("crm", "refund", "refused", roles=["guest"])
    (row,) = cli("audit", "events", "--kind", "call").rows()
    assert (row["roles"], row["outcome"], row["detail"]) == ("guest", "refused", "")
    held = cli("audit", "set", "full", "--keep-events", "30d", "--keep-changes", "6w", "--json")
    assert held.json() == {"level": "full", "keep_events": 2592000.0, "keep_changes": 3628800.0}
    with ToolRetriever(database) as retriever:
        retriever.record_call("crm", "refund", "allowed", detail={"token": "abc", "n": 1})
    assert cli("audit", "events", "--outcome", "allowed").rows()[0]["detail"] == "crm/refund"
    assert "Removed 0 changes and 0 searches and calls." in cli("audit", "purge").err


@pytest.mark.usefixtures("shop")
def test_access_is_compared_with_a_time(cli: Cli) -> None:
    assert "No role gained or lost a tool" in cli("access", "diff", "--since", "1d").err
    cli("grant", "support", "*/*")
    told = cli("access", "diff", "--since", "1d")
    assert [row["tools"] for row in told.rows()] == [
        "crm/refund",
        "shop: 25 tools (--all names them)",
    ]
    assert "26 gained, 0 lost" in told.err
    assert len(cli("access", "diff", "--since", "1d", "--all").rows()) == 26
    assert len(cli("access", "diff", "--since", "1d", "--json").json()) == 26


def test_strict_statistics_are_switched_and_told(cli: Cli) -> None:
    command = ("access", "strict-statistics")
    asked = cli(*command)
    assert (asked.code, asked.out) == (0, "off\n")
    assert "count words in the whole catalogue" in asked.err
    on = cli(*command, "on")
    assert (on.code, on.out) == (0, "on\n")
    assert "and in no other" in on.err
    assert cli(*command, "--json").json() == {"strict_statistics": True}
    assert cli(*command, "maybe").code == 2
    assert cli(*command).out == "on\n"
    (row,) = cli("audit", "changes", "--object", "access_setting").rows()
    assert row["values"] == "strict_statistics: false -> true"
    assert cli(*command, "off", "--json").json() == {"strict_statistics": False}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("access", "diff", "--since", "soon"), "'soon' is no time that can be used"),
        (("access", "diff", "--since", "2999-01-01"), "does not lie in the past"),
        (("audit", "changes", "--since", "99x"), "no time that can be used"),
        (("audit", "set", "--keep-events", "long"), "no length of time"),
    ],
)
def test_times_that_are_none(cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    failed = cli(*arguments)
    assert failed.code == 2
    assert says in failed.err
