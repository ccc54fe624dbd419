"""What admins list, against what callers are told one by one."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import GITHUB, MAIL
from tests.test_retriever import fill, retriever_savepoint
from tool_rag_pg.errors import InvalidArgument
from tool_rag_pg.models import (
    AccessRule,
    ListedRole,
    ListedTool,
    RoleAccess,
    ToolCount,
    ToolDefinition,
)
from tool_rag_pg.retriever import AsyncToolRetriever, ToolRetriever

Connection = psycopg.Connection[Any]

PAST = datetime(2020, 1, 1, tzinfo=UTC)
FUTURE = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
def retriever(connection: Connection) -> ToolRetriever:
    """Five tools of two servers, in the test's transaction."""
    made = ToolRetriever(connection)
    made.upsert_tools([GITHUB, MAIL])
    return made


def switch_off(connection: Connection, table: str, name: str) -> None:
    connection.execute(
        f"update tool_rag.{table} set enabled = false where name = %s".encode(), [name]
    )


def holders(rules: list[AccessRule]) -> list[str]:
    """The roles that hold rules, in their order."""
    return list(dict.fromkeys(rule.rule_role for rule in rules))


def test_all_tools_are_listed_in_order(connection: Connection, retriever: ToolRetriever) -> None:
    assert [(tool.server, tool.name, tool.enabled) for tool in retriever.list_tools()] == [
        ("github", "create_pull_request", True),
        ("github", "delete_repo", True),
        ("github", "list_issues", True),
        ("mail", "list_folders", True),
        ("mail", "send_message", True),
    ]
    switch_off(connection, "tool", "delete_repo")
    switch_off(connection, "server", "mail")
    listed = retriever.list_tools()
    assert [tool.name for tool in listed if not tool.enabled] == [
        "delete_repo",
        "list_folders",
        "send_message",
    ]
    assert listed[2] == ListedTool(
        server="github",
        name="list_issues",
        title=None,
        description="List the issues of a repository.",
        is_action=False,
        tokens=listed[2].tokens,
        enabled=True,
    )


def test_names_are_ordered_by_their_bytes(retriever: ToolRetriever) -> None:
    names = ["Z", "a", "ä", "_", "1", "天"]
    retriever.upsert_tools({"server": "S", "tools": [{"name": name} for name in names]})
    for name in names:
        retriever.add_role(name)
    assert [tool.name for tool in retriever.list_tools()][:6] == sorted(names)
    assert [role.name for role in retriever.list_roles()] == sorted(names)
    assert [access.role for access in retriever.list_tool_access("S", "Z")] == sorted(names)
    assert retriever.unknown_roles(["x天", "xä", "xZ"]) == ["xZ", "xä", "x天"]


def test_a_tool_is_described(connection: Connection, retriever: ToolRetriever) -> None:
    tool = {
        "name": "pay",
        "title": "Pay",
        "description": "Pay a bill",
        "input_schema": {"type": "object", "properties": {"user": {"type": "string"}}},
        "output_schema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "is_action": True,
        "identity_parameters": ["user"],
    }
    retriever.upsert_tools({"server": "bank", "tools": [tool]})
    found = retriever.describe_tool("bank", "pay")
    assert isinstance(found, ToolDefinition)
    assert {key: getattr(found, key) for key in tool} == tool
    assert (found.server, found.enabled) == ("bank", True)
    assert found.tokens > 0
    assert found.updated_at.tzinfo is not None
    switch_off(connection, "server", "bank")
    assert not retriever.describe_tool("bank", "pay").enabled


@pytest.mark.parametrize(
    ("server", "tool", "hint"),
    [
        ("github", "nope", "tool-rag tools list"),
        ("mail", "delete_repo", "Nearest: github/delete_repo."),
    ],
)
def test_tools_that_do_not_exist_are_errors(
    retriever: ToolRetriever, server: str, tool: str, hint: str
) -> None:
    for ask in (retriever.describe_tool, retriever.list_tool_access):
        with (
            pytest.raises(InvalidArgument, match=f'tool "{server}/{tool}" does not') as raised,
            retriever_savepoint(retriever),
        ):
            ask(server, tool)
        assert hint in (raised.value.hint or "")


def test_access_to_a_tool_is_listed_by_role(
    connection: Connection, retriever: ToolRetriever
) -> None:
    for name in ("ended", "guest", "reader"):
        retriever.add_role(name)
    retriever.add_role("lead", parents=["reader"])
    retriever.add_role("trainee", parents=["reader"])
    retriever.grant_tools("reader", "git*", "list_*")
    retriever.grant_tools("ended", "github", valid_until=PAST)
    retriever.grant_tools("trainee", "*", effect="deny")
    assert retriever.list_tool_access("github", "list_issues") == [
        RoleAccess(
            role="ended",
            permitted=False,
            reason="the grant github/* to ended ended "
            f"{connection.execute('select %s::text', [PAST]).fetchone()[0]}",  # type: ignore[index]
        ),
        RoleAccess(
            role="guest", permitted=False, reason="no rule of this role or its parents allows it"
        ),
        RoleAccess(role="lead", permitted=True, reason="allowed to reader by git*/list_*"),
        RoleAccess(role="reader", permitted=True, reason="allowed to reader by git*/list_*"),
        RoleAccess(role="trainee", permitted=False, reason="denied to trainee by */*"),
    ]
    for table, name, reason in (
        ("tool", "list_issues", "the tool is disabled"),
        ("server", "github", "the server is disabled"),
    ):
        switch_off(connection, table, name)
        listed = retriever.list_tool_access("github", "list_issues")
        assert {(access.permitted, access.reason) for access in listed} == {(False, reason)}


def populate(retriever: ToolRetriever, chance: random.Random) -> None:
    """Add nine roles with inheritance, and forty rules of all kinds, to the five tools."""
    for number in range(9):
        parents = [f"r{parent}" for parent in range(number) if chance.random() < 0.3]
        retriever.add_role(f"r{number}", parents=parents)
    for _ in range(40):
        retriever.grant_tools(
            f"r{chance.randrange(9)}",
            chance.choice(["*", "github", "mail", "*i*", "other"]),
            chance.choice(["*", "list_*", "*_*s*", "delete_repo", "send_message", "none"]),
            effect="allow" if chance.random() < 0.8 else "deny",
            valid_until=chance.choice([None, PAST, FUTURE, datetime.now(UTC) + timedelta(days=1)]),
        )


@pytest.mark.parametrize("round_", range(5))
def test_lists_say_what_callers_are_told(
    connection: Connection, retriever: ToolRetriever, seed: int, round_: int
) -> None:
    chance = random.Random(seed + round_)
    populate(retriever, chance)
    if chance.random() < 0.5:
        switch_off(connection, "tool", "list_issues")
    roles = retriever.list_roles()
    permitted = {role.name: retriever.permitted_tools(roles=[role.name]) for role in roles}
    for tool in retriever.list_tools():
        for access in retriever.list_tool_access(tool.server, tool.name):
            told = retriever.explain_access(access.role, tool.server, tool.name)
            assert (access.permitted, access.reason) == (told.permitted, told.reason)
            seen = {(other.server, other.name) for other in permitted[access.role]}
            assert access.permitted == ((tool.server, tool.name) in seen)
    rules = retriever.list_rules()
    for role in roles:
        assert role.tools == len(permitted[role.name])
        assert role.rules == sum(rule.rule_role == role.name for rule in rules)
        own = retriever.list_rules(role.name)
        for server, name in (("github", "list_issues"), ("mail", "send_message")):
            fitting = retriever.explain_access(role.name, server, name).rules
            assert set(fitting) <= set(own)
    for size in (0, 1, 2, 9):
        some = chance.sample([role.name for role in roles], k=size)
        counted = retriever.count_tools(roles=some)
        together = retriever.permitted_tools(roles=some)
        assert (counted.tools, counted.tokens) == (
            len(together),
            sum(tool.tokens for tool in together),
        )


def test_tools_are_counted(connection: Connection, retriever: ToolRetriever) -> None:
    retriever.add_role("developer")
    retriever.grant_tools("developer", "github", "list_issues")
    all_tokens = sum(tool.tokens for tool in retriever.list_tools())
    (seen,) = retriever.permitted_tools(roles=["developer"])
    counted = ToolCount(tools=1, tokens=seen.tokens, all_tools=5, all_tokens=all_tokens)
    nothing = ToolCount(tools=0, tokens=0, all_tools=5, all_tokens=all_tokens)
    assert retriever.count_tools(roles=["developer", "nobody"]) == counted
    for roles in (None, [], ["nobody"]):
        assert retriever.count_tools(roles=roles) == nothing
    connection.execute("set local tool_rag.roles = 'developer'")
    assert retriever.count_tools() == counted
    with pytest.raises(InvalidArgument, match="roles is one text"):
        retriever.count_tools(roles="developer")


def test_an_empty_database_lists_nothing(connection: Connection) -> None:
    retriever = ToolRetriever(connection)
    assert retriever.list_tools() == []
    assert retriever.list_roles() == []
    assert retriever.list_rules() == []
    assert retriever.unknown_roles([]) == []
    assert retriever.count_tools(roles=["x"]) == ToolCount(
        tools=0, tokens=0, all_tools=0, all_tokens=0
    )


def test_unknown_roles_are_told_once(connection: Connection, retriever: ToolRetriever) -> None:
    retriever.add_role("developer")
    assert retriever.unknown_roles(["z", "developer", "Developer", "z", ""]) == [
        "",
        "Developer",
        "z",
    ]
    with pytest.raises(InvalidArgument, match="names is one text"):
        retriever.unknown_roles("developer")
    rows = connection.execute("select * from tool_rag.unknown_roles(array[null, 'x', null])")
    assert rows.fetchall() == [("x",)]
    assert connection.execute("select * from tool_rag.unknown_roles(null)").fetchall() == []


def test_roles_are_listed(retriever: ToolRetriever) -> None:
    retriever.add_role("b", description="Base")
    retriever.add_role("a")
    retriever.add_role("c", parents=["b", "a"])
    retriever.grant_tools("a", "github")
    retriever.grant_tools("b", "mail", "send_*")
    retriever.grant_tools("c", "*", "delete_*", effect="deny")
    assert retriever.list_roles() == [
        ListedRole(name="a", description=None, parents=[], rules=1, tools=3),
        ListedRole(name="b", description="Base", parents=[], rules=1, tools=1),
        ListedRole(name="c", description=None, parents=["a", "b"], rules=1, tools=3),
    ]


def test_rules_are_listed_from_the_nearest_role_on(retriever: ToolRetriever) -> None:
    for name, parents in (
        ("base", ()),
        ("right", ("base",)),
        ("left", ("right",)),
        # Reaches `right` both directly and by `left`: the shorter way counts.
        ("top", ("left", "right")),
        ("aside", ()),
    ):
        retriever.add_role(name, parents=parents)
        retriever.grant_tools(name, "github")
    retriever.grant_tools("top", "mail", "b")
    retriever.grant_tools("top", "mail", "a", valid_until=PAST)
    retriever.grant_tools("top", "zoo", effect="deny")
    rules = retriever.list_rules("top")
    assert holders(rules) == ["top", "left", "right", "base"]
    assert [
        (rule.effect, rule.server_pattern, rule.tool_pattern, rule.valid) for rule in rules[:4]
    ] == [
        ("deny", "zoo", "*", True),
        ("allow", "github", "*", True),
        ("allow", "mail", "a", False),
        ("allow", "mail", "b", True),
    ]
    assert rules[0] == AccessRule(
        rule_role="top",
        server_pattern="zoo",
        tool_pattern="*",
        effect="deny",
        valid_until=None,
        valid=True,
    )
    assert rules[2].valid_until == PAST
    assert len(rules) == 7
    assert holders(retriever.list_rules()) == ["aside", "base", "left", "right", "top"]
    assert len(retriever.list_rules()) == 8
    with pytest.raises(InvalidArgument, match='role "nobody" does not exist') as raised:
        retriever.list_rules("nobody")
    assert "tool-rag roles add" in (raised.value.hint or "")


def test_a_role_without_rules_has_none(retriever: ToolRetriever) -> None:
    retriever.add_role("guest")
    retriever.add_role("other")
    retriever.grant_tools("other", "github")
    assert retriever.list_rules("guest") == []


def test_a_server_is_removed_with_its_tools(
    connection: Connection, retriever: ToolRetriever
) -> None:
    retriever.add_role("developer")
    retriever.grant_tools("developer", "github")
    assert retriever.remove_server("github") == 3
    assert {tool.server for tool in retriever.list_tools()} == {"mail"}
    assert retriever.permitted_tools(roles=["developer"]) == []
    assert retriever.search_tools("pull request", roles=["developer"]) == []
    names = connection.execute("select name from tool_rag.server").fetchall()
    assert names == [("mail",)]
    left = connection.execute(
        "select document_count, (select count(*) from tool_rag.document),"
        " (select count(distinct tool_id) from tool_rag.posting) from tool_rag.catalogue_state"
    )
    assert left.fetchone() == (2, 2, 2)
    # The rule waits for the server to come back.
    assert len(retriever.list_rules("developer")) == 1
    retriever.upsert_tools(GITHUB)
    assert len(retriever.permitted_tools(roles=["developer"])) == 3


def test_an_empty_server_is_removed_and_an_unknown_one_is_an_error(
    connection: Connection, retriever: ToolRetriever
) -> None:
    retriever.upsert_tools({"server": "mail", "tools": []})
    assert retriever.remove_server("mail") == 0
    for name in ("mail", "git*", ""):
        with (
            pytest.raises(InvalidArgument, match="does not exist") as raised,
            retriever_savepoint(retriever),
        ):
            retriever.remove_server(name)
        assert "tool-rag tools list" in (raised.value.hint or "")
    assert len(retriever.list_tools()) == 3


def test_an_editor_lists_and_removes_nothing(
    connection: Connection, retriever: ToolRetriever
) -> None:
    connection.execute(
        "create role tool_rag_listing in role tool_rag_editor; set local role tool_rag_listing"
    )
    assert len(retriever.list_tools()) == 5
    assert retriever.describe_tool("mail", "send_message").name == "send_message"
    assert retriever.list_roles() == retriever.list_tool_access("mail", "send_message") == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("select tool_rag.remove_server('mail')")


def test_the_asynchronous_retriever_lists_too(database: str) -> None:
    fill(database)

    async def check() -> None:
        async with AsyncToolRetriever(database) as retriever:
            assert len(await retriever.list_tools()) == 3
            assert (await retriever.describe_tool("github", "list_issues")).is_action is False
            (access,) = await retriever.list_tool_access("github", "list_issues")
            assert access.permitted
            assert (await retriever.count_tools(roles=["developer"])).tools == 3
            assert await retriever.unknown_roles(["developer", "x"]) == ["x"]
            assert [role.tools for role in await retriever.list_roles()] == [3]
            (rule,) = await retriever.list_rules("developer")
            assert rule.valid_until is None
            assert await retriever.remove_server("github") == 3
            assert await retriever.list_tools() == []

    asyncio.run(check())
