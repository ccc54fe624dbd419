"""sql/functions/050_access.sql: after any edits, who sees what is what the rules say.

The rules are read from their tables and applied by a model in Python, which shares nothing with the
SQL but what the documentation promises.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.conftest import (
    HOURS,
    OFFSETS,
    Connection,
    add_role,
    add_server,
    add_tool,
    allow,
    column,
    deny,
    export,
    fetch,
    found,
    hours_of,
    refused,
    search,
    undone,
    upsert,
)
from tool_rag_pg import _verify

NOW = datetime.now(UTC)
PAST, SOON, LATE = NOW - timedelta(days=1), NOW + timedelta(days=1), NOW + timedelta(days=9)

Tool = tuple[str, str]


def fits(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, "*" being any run of characters."""
    if "*" not in pattern:
        return pattern == name
    parts = re.split(r"\*+", pattern)
    return re.fullmatch(".*".join(map(re.escape, parts)), name, re.DOTALL) is not None


def minutes(clock: str) -> float:
    hours, minute, second = map(int, clock.split(":"))
    return 60 * hours + minute + second / 60


def in_hours(days: list[int], start: str, end: str, zone: str, now: datetime) -> bool:
    """Whether hours hold, by the clock of a zone that never changes it."""
    local = now + timedelta(minutes=OFFSETS[zone])
    length = (minutes(end) - minutes(start)) % 1440 or 1440
    # They begin today or have begun yesterday.
    for begun in (local, local - timedelta(days=1)):
        opened = begun.replace(hour=0, minute=0, second=0, microsecond=0)
        since = (local - opened).total_seconds() / 60 - minutes(start)
        if begun.isoweekday() in days and 0 <= since < length:
            return True
    return False


class Model:
    """Who may see what, from the tables that people edit."""

    def __init__(self, connection: Connection) -> None:
        parents = connection.execute("""
            select r.name, p.name from tool_rag.role_parent e
            join tool_rag.role r on r.role_id = e.role_id
            join tool_rag.role p on p.role_id = e.parent_id
        """).fetchall()
        self.roles = column(connection, "select name from tool_rag.role order by role_id")
        self.parents = {
            role: {parent for child, parent in parents if child == role} for role in self.roles
        }
        now = datetime.now(UTC)
        self.rules = [
            (*rule, valid and (zone is None or in_hours(days, start, end, zone, now)), number)
            for *rule, valid, number, days, start, end, zone in connection.execute("""
                select r.name, g.server_pattern, g.tool_pattern, g.effect,
                    g.valid_until > statement_timestamp()
                    and g.valid_from <= statement_timestamp(),
                    g.grant_id, g.weekdays, g.hours_from::text, g.hours_until::text, g.time_zone
                from tool_rag.grant_rule g join tool_rag.role r using (role_id)
            """)
        ]
        self.tools = {
            (server, tool): enabled
            for server, tool, enabled in connection.execute("""
                select s.name, t.name, s.enabled and t.enabled
                from tool_rag.tool t join tool_rag.server s using (server_id)
            """)
        }

    def held(self, roles: Any) -> set[str]:
        """The roles, those of them that exist, and all that they inherit from."""
        found: set[str] = set()
        waiting = [role for role in roles or () if role in self.parents]
        while waiting:
            role = waiting.pop()
            if role not in found:
                found.add(role)
                waiting += self.parents[role]
        return found

    def permitted(self, roles: Any) -> set[Tool]:
        held = self.held(roles)
        seen = set()
        for tool, enabled in self.tools.items():
            effects = {
                effect
                for role, server, name, effect, valid, _ in self.rules
                if role in held and valid and fits(server, tool[0]) and fits(name, tool[1])
            }
            if enabled and effects == {"allow"}:
                seen.add(tool)
        return seen

    def grants(self, roles: Any, tool: Tool) -> set[str]:
        """The valid allows that could be named as the reason, as "role: server/tool"."""
        return {
            f"{role}: {server}/{name}"
            for role, server, name, effect, valid, _ in self.rules
            if role in self.held(roles)
            and effect == "allow"
            and valid
            and fits(server, tool[0])
            and fits(name, tool[1])
        }

    def inherits(self, role: str, parent: str) -> bool:
        return parent in self.held([role])


def permitted(connection: Connection, roles: list[str] | None) -> set[Tool]:
    return {
        (server, name)
        for server, name in connection.execute(
            "select server, name from tool_rag.permitted_tools(%s)", [roles]
        )
    }


def check(connection: Connection, *role_sets: list[str]) -> None:
    """Compare role_tool with the rules, and every function with the model."""
    columns = "role_id, tool_id, server_id, grant_id, allow_until, deny_until"
    differing = connection.execute(
        f"""
        (select 'missing', {columns} from tool_rag._expand_access(null, null)
        except select 'missing', {columns} from tool_rag.role_tool)
        union all
        (select 'surplus', {columns} from tool_rag.role_tool
        except select 'surplus', {columns} from tool_rag._expand_access(null, null))
    """.encode()
    ).fetchall()
    assert differing == []
    for what, query in _verify.DERIVED:
        assert fetch(connection, query) == 0, what
    model = Model(connection)
    assert connection.execute("select name, tools from tool_rag.list_roles()").fetchall() == [
        (name, len(model.permitted([name]))) for name in sorted(model.roles)
    ]
    for roles in ([], ["nobody"], *([role] for role in model.roles), model.roles, *role_sets):
        expected = model.permitted(roles)
        assert permitted(connection, roles) == expected, roles
        hits = search(connection, "zebra", roles, k=1000)
        # Every tool is about zebras, so that a search returns all that may be seen.
        assert {(hit["server"], hit["name"]) for hit in hits} == expected, roles
        for hit in hits:
            grant = hit["explain"]["grant"]
            assert f"{grant['role']}: {grant['rule']}" in model.grants(
                roles, (hit["server"], hit["name"])
            )
        # What comes on top, because a tool needs it or a conversation uses it, asks the same.
        for more in ({}, {"servers": ["*"]}, {"token_budget": 100_000}):
            hits = search(connection, "zebra", roles, k=1, conversation="c", **more)
            assert {(hit["server"], hit["name"]) for hit in hits} <= expected, roles
    for role in model.roles:
        expected = model.permitted([role])
        for server, tool in model.tools:
            rows = connection.execute(
                "select permitted, rule_role, effect, server_pattern || '/' || tool_pattern, valid"
                " from tool_rag.explain_access(%s, %s, %s)",
                [role, server, tool],
            ).fetchall()
            assert {row[0] for row in rows} == {(server, tool) in expected}
            assert {row[1:] for row in rows if row[1] is not None} == {
                (rule_role, effect, f"{server_pattern}/{tool_pattern}", valid)
                for rule_role, server_pattern, tool_pattern, effect, valid, _ in model.rules
                if rule_role in model.held([role])
                and fits(server_pattern, server)
                and fits(tool_pattern, tool)
            }


ROLES = ("reader", "writer", "boss", "guest")
SERVERS = ("git", "git2", "g_t", "Éa")
TOOLS = ("get", "get_user", "getXuser", "put%", "put\\x", "*", "a/b")
SERVER_PATTERNS = ("*", "git", "git*", "*t*", "g_t", "É*", "x")
TOOL_PATTERNS = ("*", "get", "get*", "get_user", "*_*", "put%", "*\\*", "a/b", "*/*", "**", "zz")

role = st.sampled_from(ROLES)
until = st.sampled_from([PAST, SOON, LATE, "infinity", "-infinity"])
effect = st.sampled_from(["allow", "allow", "deny"])
number = st.integers(0, 9)
kind = st.sampled_from([None, *HOURS])
zone = st.sampled_from(list(OFFSETS))

STEPS = st.one_of(
    st.tuples(st.just("rule"), role, st.sampled_from(SERVER_PATTERNS),
              st.sampled_from(TOOL_PATTERNS), effect, until),
    st.tuples(st.just("grant"), role, st.sampled_from(SERVER_PATTERNS),
              st.sampled_from(TOOL_PATTERNS), effect, until),
    st.tuples(st.just("grant"), role, st.sampled_from(SERVER_PATTERNS),
              st.sampled_from(TOOL_PATTERNS), effect, until,
              st.sampled_from([None, PAST, LATE, "-infinity", "infinity"]), kind, zone),
    st.tuples(st.just("set_hours"), number, kind, zone),
    st.tuples(st.just("change_rule"), number, st.just("valid_from"), until),
    st.tuples(st.just("revoke"), role, st.sampled_from(SERVER_PATTERNS),
              st.sampled_from(TOOL_PATTERNS)),
    st.tuples(st.just("change_rule"), number, st.sampled_from(["server_pattern", "tool_pattern"]),
              st.sampled_from(["*", "get*", "git", "nothing"])),
    st.tuples(st.just("change_rule"), number, st.just("effect"), effect),
    st.tuples(st.just("change_rule"), number, st.just("valid_until"), until),
    st.tuples(st.just("move_rule"), number, role),
    st.tuples(st.just("renumber_rules")),
    st.tuples(st.just("delete_rules"), number),
    st.tuples(st.just("inherit"), role, role),
    st.tuples(st.just("inherit_many"), st.permutations(ROLES)),
    st.tuples(st.just("change_parent"), role, role, role),
    st.tuples(st.just("change_child"), role, role, role),
    st.tuples(st.just("disinherit"), role, role),
    st.tuples(st.just("remove_role"), role),
    st.tuples(st.just("rename_role"), role),
    st.tuples(st.just("tool"), st.sampled_from(SERVERS), st.sampled_from(TOOLS)),
    st.tuples(st.just("rename"), number, st.sampled_from(TOOLS)),
    st.tuples(st.just("move"), number, st.sampled_from(SERVERS)),
    st.tuples(st.just("disable"), number),
    st.tuples(st.just("delete"), number),
    st.tuples(st.just("need"), number, number),
    st.tuples(st.just("use"), number, number),
    st.tuples(st.just("upsert"), st.sampled_from(SERVERS),
              st.lists(st.sampled_from(TOOLS), unique=True)),
    st.tuples(st.just("rename_server"), st.sampled_from(SERVERS)),
    st.tuples(st.just("disable_server"), st.sampled_from(SERVERS)),
    st.tuples(st.just("delete_server"), st.sampled_from(SERVERS)),
    st.tuples(st.just("truncate"), st.sampled_from(
        ["grant_rule", "role_parent", "role cascade", "tool cascade", "server cascade"])),
)  # fmt: skip


def nth(connection: Connection, table: str, number: int) -> int:
    key = {"tool": "tool_id", "grant_rule": "grant_id"}[table]
    ids = column(connection, f"select {key} from tool_rag.{table} order by {key}")
    return int(ids[number % len(ids)]) if ids else 0


def take(connection: Connection, step: tuple[Any, ...]) -> None:
    kind, *values = step
    execute = connection.execute
    role_id = "(select role_id from tool_rag.role where name = %s)"
    match kind:
        case "rule":
            execute(
                "insert into tool_rag.grant_rule"
                " (role_id, server_pattern, tool_pattern, effect, valid_until)"
                f" values ({role_id}, %s, %s, %s, %s)".encode(),
                values,
            )
        case "grant":
            *values, start, kind, zone = values if len(values) > 5 else [*values, None, None, ""]
            execute(
                "select tool_rag.grant_tools(%s, %s, %s, %s, %s, %s, %s)",
                [*values, start, None if kind is None else hours_of(kind, zone)],
            )
        case "set_hours":
            execute(
                "update tool_rag.grant_rule"
                " set (weekdays, hours_from, hours_until, time_zone) ="
                " (select h.* from tool_rag._read_hours(%s) h) where grant_id = %s",
                [
                    None if values[1] is None else hours_of(values[1], values[2]),
                    nth(connection, "grant_rule", values[0]),
                ],
            )
        case "revoke":
            execute("select tool_rag.revoke_tools(%s, %s, %s)", values)
        case "change_rule":
            execute(
                f"update tool_rag.grant_rule set {values[1]} = %s where grant_id = %s".encode(),
                [values[2], nth(connection, "grant_rule", values[0])],
            )
        case "move_rule":
            execute(
                f"update tool_rag.grant_rule set role_id = {role_id} where grant_id = %s".encode(),
                [values[1], nth(connection, "grant_rule", values[0])],
            )
        case "renumber_rules":
            execute("update tool_rag.grant_rule set grant_id = default")
        case "delete_rules":
            execute("delete from tool_rag.grant_rule where grant_id % 3 = " + str(values[0] % 3))
        case "inherit":
            add_role(connection, values[0], values[1])
        case "inherit_many":
            first, second, third, fourth = values[0]
            execute(
                "insert into tool_rag.role_parent (role_id, parent_id)"
                f" values ({role_id}, {role_id}), ({role_id}, {role_id})".encode(),
                [first, second, third, fourth],
            )
        case "change_parent":
            execute(
                f"update tool_rag.role_parent set parent_id = {role_id}"
                f" where role_id = {role_id} and parent_id = {role_id}".encode(),
                values,
            )
        case "change_child":
            execute(
                f"update tool_rag.role_parent set role_id = {role_id}"
                f" where role_id = {role_id} and parent_id = {role_id}".encode(),
                values,
            )
        case "disinherit":
            execute(
                "delete from tool_rag.role_parent"
                f" where role_id = {role_id} or parent_id = {role_id}".encode(),
                values,
            )
        case "remove_role":
            execute("select tool_rag.remove_role(%s)", values)
        case "rename_role":
            execute("update tool_rag.role set name = name || '2' where name = %s", values)
        case "tool":
            add_tool(connection, values[0], values[1], "zebra")
        case "rename":
            execute(
                "update tool_rag.tool set name = %s where tool_id = %s",
                [values[1], nth(connection, "tool", values[0])],
            )
        case "move":
            execute(
                "update tool_rag.tool set server_id = %s where tool_id = %s",
                [add_server(connection, values[1]), nth(connection, "tool", values[0])],
            )
        case "disable":
            execute(
                "update tool_rag.tool set enabled = not enabled where tool_id = %s",
                [nth(connection, "tool", values[0])],
            )
        case "delete":
            execute(
                "delete from tool_rag.tool where tool_id = %s",
                [nth(connection, "tool", values[0])],
            )
        case "need":
            execute(
                "insert into tool_rag.dependency (tool_id, needs_id, reason)"
                " values (%s, %s, 'because')",
                [nth(connection, "tool", value) for value in values],
            )
        case "use":
            execute(
                "insert into tool_rag.tool_use (conversation, turn, tool_id) values ('c', %s, %s)",
                [values[0], nth(connection, "tool", values[1])],
            )
        case "upsert":
            tools = [{"name": name, "description": "zebra"} for name in values[1]]
            upsert(connection, export(values[0], *tools))
        case "rename_server":
            execute("update tool_rag.server set name = name || 'x' where name = %s", values)
        case "disable_server":
            execute("update tool_rag.server set enabled = not enabled where name = %s", values)
        case "delete_server":
            execute("delete from tool_rag.server where name = %s", values)
        case "truncate":
            execute(f"truncate tool_rag.{values[0]}".encode())
        case _:
            raise AssertionError(kind)


# What an edit by chance may run into; anything else is a failure.
REFUSALS = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.NotNullViolation,
    psycopg.errors.CheckViolation,
    psycopg.errors.ForeignKeyViolation,
    psycopg.errors.UndefinedObject,
    psycopg.errors.InvalidParameterValue,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(STEPS, min_size=2, max_size=14),
    role_sets=st.lists(st.lists(role, max_size=3), max_size=3),
)
def test_any_edits_leave_access_as_the_rules_say(
    connection: Connection, steps: list[tuple[Any, ...]], role_sets: list[list[str]]
) -> None:
    with undone(connection):
        for name in ROLES:
            add_role(connection, name)
        for server, tool in zip(SERVERS * 2, TOOLS, strict=False):
            add_tool(connection, server, tool, "zebra")
        add_role(connection, "writer", "reader")
        allow(connection, "reader", "git*", "get*")
        deny(connection, "writer", "*", "get_user")
        allow(connection, "reader", "g*", "*", hours=hours_of("around", "Asia/Tokyo"))
        deny(connection, "boss", "git", hours=hours_of("later"))
        # Each tool needs the next, and a conversation has used them all.
        connection.execute("""
            insert into tool_rag.dependency (tool_id, needs_id, reason)
            select tool_id, lead(tool_id) over (order by tool_id), 'because' from tool_rag.tool
            order by tool_id limit 6;
            insert into tool_rag.tool_use (conversation, turn, tool_id)
            select 'c', 1, tool_id from tool_rag.tool
        """)
        for step in steps:
            with suppress(*REFUSALS), connection.transaction():
                take(connection, step)
        check(connection, *role_sets)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=st.lists(st.tuples(role, role), min_size=1, max_size=12))
def test_cycles_and_only_cycles_are_refused(
    connection: Connection, edges: list[tuple[str, str]]
) -> None:
    with undone(connection):
        for name in ROLES:
            add_role(connection, name)
        for child, parent in edges:
            if Model(connection).inherits(parent, child):
                with refused(connection, "22023", "inherit"):
                    add_role(connection, child, parent)
            else:
                add_role(connection, child, parent)
        assert not any(
            Model(connection).inherits(parent, child)
            for child, parents in Model(connection).parents.items()
            for parent in parents
        )


def edge(connection: Connection, *pairs: tuple[str, str]) -> None:
    """Insert inheritance by plain SQL, all of it in one statement."""
    connection.execute(
        "insert into tool_rag.role_parent (role_id, parent_id)"
        " select c.role_id, p.role_id"
        " from unnest(%s::text[], %s::text[]) with ordinality e (child, parent, n)"
        " join tool_rag.role c on c.name = e.child join tool_rag.role p on p.name = e.parent"
        " order by e.n",
        [[child for child, _ in pairs], [parent for _, parent in pairs]],
    )


@pytest.fixture
def roles(connection: Connection) -> Connection:
    for name in "abcd":
        add_role(connection, name)
    return connection


def test_a_cycle_within_one_statement_is_refused(roles: Connection) -> None:
    for pairs in (
        [("a", "a")],
        [("a", "b"), ("b", "a")],
        [("a", "b"), ("b", "c"), ("c", "a")],
        [("b", "c"), ("c", "d"), ("a", "b"), ("d", "a")],
    ):
        with (
            undone(roles),
            pytest.raises((psycopg.errors.InvalidParameterValue, psycopg.errors.CheckViolation)),
        ):
            edge(roles, *pairs)
    edge(roles, ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    assert Model(roles).held(["a"]) == {"a", "b", "c", "d"}


def test_a_cycle_by_update_is_refused(roles: Connection) -> None:
    edge(roles, ("a", "b"), ("b", "c"))
    set_parent = """
        update tool_rag.role_parent e set parent_id = p.role_id
        from tool_rag.role r, tool_rag.role p
        where r.role_id = e.role_id and r.name = %s and p.name = %s
    """
    for child, parent in (("b", "a"), ("b", "b"), ("a", "a")):
        with (
            undone(roles),
            pytest.raises((psycopg.errors.InvalidParameterValue, psycopg.errors.CheckViolation)),
        ):
            roles.execute(set_parent, [child, parent])
    roles.execute(set_parent, ["b", "d"])
    assert Model(roles).held(["a"]) == {"a", "b", "d"}
    with undone(roles):
        # Each of the two is harmless without the other.
        edge(roles, ("c", "a"))
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            roles.execute(set_parent, ["a", "c"])


def test_inheritance_can_be_turned_around(roles: Connection) -> None:
    edge(roles, ("a", "b"))
    roles.execute("update tool_rag.role_parent set role_id = parent_id, parent_id = role_id")
    assert Model(roles).parents == {"a": set(), "b": {"a"}, "c": set(), "d": set()}


def test_inheritance_given_to_another_role(roles: Connection) -> None:
    add_tool(roles, "s", "a", "zebra")
    allow(roles, "c")
    edge(roles, ("a", "c"), ("d", "a"))
    assert permitted(roles, ["a"]) == permitted(roles, ["d"]) == {("s", "a")}
    roles.execute(
        "update tool_rag.role_parent set role_id = (select role_id from tool_rag.role"
        " where name = 'b') where role_id = (select role_id from tool_rag.role where name = 'a')"
    )
    check(roles)
    assert permitted(roles, ["b"]) == {("s", "a")}
    assert permitted(roles, ["a"]) == permitted(roles, ["d"]) == set()


def test_a_deny_of_any_held_role_wins(connection: Connection) -> None:
    add_tool(connection, "s", "get", "zebra")
    add_tool(connection, "s", "put", "zebra")
    for name in ("base", "other", "left", "right"):
        add_role(connection, name)
    add_role(connection, "left", "base")
    allow(connection, "left")
    deny(connection, "base", "*", "put")
    allow(connection, "other")
    # Inherited, and of another role beside.
    assert permitted(connection, ["left"]) == {("s", "get")}
    assert permitted(connection, ["other"]) == {("s", "get"), ("s", "put")}
    assert permitted(connection, ["other", "base"]) == {("s", "get")}
    assert permitted(connection, ["base"]) == set()
    # Narrower allows do not help, nor do more of them.
    allow(connection, "left", "s", "put")
    allow(connection, "other", "s", "put")
    assert permitted(connection, ["left", "other"]) == {("s", "get")}
    # An allow and a deny of the same patterns.
    deny(connection, "other", "s", "put")
    assert permitted(connection, ["other"]) == {("s", "get")}
    check(connection, ["left", "other"], ["base", "other"])


def test_rights_follow_long_inheritance(connection: Connection) -> None:
    add_tool(connection, "s", "get", "zebra")
    add_role(connection, "r0")
    for number in range(1, 30):
        add_role(connection, f"r{number}", f"r{number - 1}")
    allow(connection, "r0")
    assert permitted(connection, ["r29"]) == {("s", "get")}
    deny(connection, "r15", "s", "get")
    assert permitted(connection, ["r14"]) == {("s", "get")}
    assert permitted(connection, ["r15"]) == permitted(connection, ["r29"]) == set()
    connection.execute("select tool_rag.remove_role('r10')")
    check(connection)


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*", "", True),
        ("*", "any/thing\nat all", True),
        ("get_*", "get_user", True),
        ("get_*", "getXuser", False),
        ("get_", "get_", True),
        ("get_", "getx", False),
        ("%", "%", True),
        ("%", "anything", False),
        ("50%*", "50% off", True),
        ("\\", "\\", True),
        ("a\\*", "a\\b", True),
        ("a\\*", "a*", False),
        ("\\%", "\\%", True),
        ("\\%", "%", False),
        ("a*c", "abbbc", True),
        ("a*c", "abbbd", False),
        ("*b*", "b", True),
        ("**", "x", True),
        ("a.c", "abc", False),
        ("[a]", "a", False),
        ("Get", "get", False),
        ("é", "e\u0301", False),
        ("天*", "天気", True),
        ("*" * 50 + "x", "a" * 200, False),
        ("", "", True),
        ("", "x", False),
    ],
)
def test_all_but_the_star_is_itself(
    connection: Connection, pattern: str, name: str, expected: bool
) -> None:
    assert fetch(connection, "select tool_rag._matches(%s, %s)", pattern, name) is expected
    assert fits(pattern, name) is expected


NAMES = st.text(st.sampled_from("ab_%\\*/.é天 '"), max_size=5)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=40))
def test_matching_is_the_models(connection: Connection, pairs: list[tuple[str, str]]) -> None:
    ours = column(
        connection,
        "select tool_rag._matches(p, n) from unnest(%s::text[], %s::text[])"
        " with ordinality u (p, n, o) order by o",
        [pattern for pattern, _ in pairs],
        [name for _, name in pairs],
    )
    assert ours == [fits(pattern, name) for pattern, name in pairs]


def test_who_holds_no_role_sees_nothing(shop: Connection) -> None:
    upsert(shop, export("s", "a"))
    odd: list[list[Any]] = [
        [],
        ["nobody"],
        ["ALL"],
        [""],
        [None],
        ["all "],
        ["*"],
        ["%"],
        ["all,nobody"],
    ]
    for roles in odd:
        assert permitted(shop, roles) == set()
        assert search(shop, "refund", roles) == []
    # Nor is anything seen without any argument, nor by a role without rules.
    assert permitted(shop, None) == set()
    assert search(shop, "refund", None) == []
    add_role(shop, "empty")
    assert search(shop, "refund", ["empty"]) == []
    # One that exists beside those that do not.
    assert len(permitted(shop, ["nobody", "all", "", "all"])) == 9


def test_a_session_holds_the_roles_of_the_setting(shop: Connection) -> None:
    add_role(shop, "guest")
    allow(shop, "guest", "desk")
    everything, desk = permitted(shop, ["all"]), permitted(shop, ["guest"])
    assert 0 < len(desk) < len(everything)
    for said, expected in (
        ("all", everything),
        ("guest", desk),
        ("guest,nobody", desk),
        ("nobody, guest", desk),
        ("  guest  ,  nobody ", desk),
        (" guest", desk),
        ("guest ", desk),
        ("", set()),
        (" ", set()),
        (",", set()),
        ("nobody", set()),
        ("{guest}", set()),
        ("guest;nobody", set()),
    ):
        with undone(shop):
            shop.execute("select set_config('tool_rag.roles', %s, true)", [said])
            assert permitted(shop, None) == expected, said
            hits = search(shop, "a", None, k=100)
            assert {(hit["server"], hit["name"]) for hit in hits} == expected, said
            # What is passed counts, also where it is nothing.
            assert permitted(shop, []) == set()
            assert search(shop, "refund", []) == []
            assert permitted(shop, ["guest"]) == desk


def test_the_setting_ends_with_its_transaction(database: str) -> None:
    with psycopg.connect(database) as connection:
        add_tool(connection, "s", "a", "zebra")
        add_role(connection, "all")
        allow(connection, "all")
        connection.commit()
        connection.execute("set local tool_rag.roles = 'all'")
        assert permitted(connection, None) == {("s", "a")}
        connection.commit()
        # Postgres leaves an empty setting behind, which is no role.
        assert fetch(connection, "select current_setting('tool_rag.roles', true)") == ""
        assert permitted(connection, None) == set()


def test_rules_end_by_themselves(connection: Connection) -> None:
    for name in ("first", "second", "third"):
        add_tool(connection, "s", name, "zebra")
    add_role(connection, "all")
    moments = "select clock_timestamp() + make_interval(secs => %s)"
    soon = fetch(connection, moments, 0.5)
    allow(connection, "all", "s", "first", until=soon)
    allow(connection, "all", "s", "second")
    deny(connection, "all", "s", "second", until=soon)
    allow(connection, "all", "s", "third", until=soon)
    allow(connection, "all", "s", "third*", until=fetch(connection, moments, 3600))
    rows = column(connection, "select to_jsonb(r) from tool_rag.role_tool r order by tool_id")
    before = permitted(connection, ["all"])
    seen = set(found(connection, "zebra"))
    explained = column(
        connection, "select distinct permitted from tool_rag.explain_access('all', 's', 'first')"
    )
    while fetch(connection, "select clock_timestamp() <= %s", soon):
        connection.execute("select pg_sleep(0.05)")
    # In the same transaction, and nothing was written: a later statement is enough.
    assert permitted(connection, ["all"]) == {("s", "second"), ("s", "third")}
    assert set(found(connection, "zebra")) == {"second", "third"}
    assert column(
        connection, "select distinct permitted from tool_rag.explain_access('all', 's', 'first')"
    ) == [False]
    assert "ended" in fetch(
        connection, "select min(reason) from tool_rag.explain_access('all', 's', 'first')"
    )
    assert column(connection, "select to_jsonb(r) from tool_rag.role_tool r order by tool_id") == (
        rows
    )
    assert before == {("s", "first"), ("s", "third")}
    assert seen == {"first", "third"}
    assert explained == [True]
    check(connection)


def test_a_grant_is_extended_shortened_and_revoked(connection: Connection) -> None:
    add_tool(connection, "s", "a", "zebra")
    add_role(connection, "all")

    def grant(until: Any, effect: str = "allow") -> int:
        return int(
            fetch(connection, "select tool_rag.grant_tools('all', 's', 'a', %s, %s)", effect, until)
        )

    assert grant(SOON) == 1
    number = fetch(connection, "select grant_id from tool_rag.grant_rule")
    assert permitted(connection, ["all"]) == {("s", "a")}
    grant(PAST)
    assert permitted(connection, ["all"]) == set()
    grant(None)
    assert permitted(connection, ["all"]) == {("s", "a")}
    assert connection.execute(
        "select grant_id, valid_until = 'infinity' from tool_rag.grant_rule"
    ).fetchall() == [(number, True)]
    grant(None, "deny")
    assert permitted(connection, ["all"]) == set()
    revoke = "select tool_rag.revoke_tools('all', 's', 'a', %s)"
    assert fetch(connection, revoke, "deny") == 1
    assert permitted(connection, ["all"]) == {("s", "a")}
    assert fetch(connection, revoke, "deny") == 0
    grant(None, "deny")
    assert fetch(connection, revoke, None) == 2
    assert permitted(connection, ["all"]) == set()
    # Only exactly these patterns.
    allow(connection, "all", "s", "*")
    assert fetch(connection, revoke, None) == 0
    assert permitted(connection, ["all"]) == {("s", "a")}


def test_a_grant_says_how_many_tools_it_fits(shop: Connection) -> None:
    add_role(shop, "r")
    count = "select tool_rag.grant_tools('r', %s, %s)"
    assert fetch(shop, count, "*", "*") == 8
    assert fetch(shop, count, "desk", "*") == 3
    assert fetch(shop, count, "*", "get*") == 2
    assert fetch(shop, count, "nowhere", "*") == 0


ROLE_ERRORS = [
    ("select tool_rag.grant_tools('nobody', '*')", "42704", 'role "nobody" does not exist'),
    ("select tool_rag.revoke_tools('nobody', '*')", "42704", 'role "nobody" does not exist'),
    ("select tool_rag.remove_role('nobody')", "42704", 'role "nobody" does not exist'),
    ("select tool_rag.add_role('r', '{nobody}')", "42704", 'role "nobody" does not exist'),
    ("select * from tool_rag.explain_access('nobody', 's', 'a')", "42704", "role"),
    ("select * from tool_rag.explain_access('all', 's', 'nothing')", "42704", "s/nothing"),
    ("select * from tool_rag.explain_access('all', 'nowhere', 'a')", "42704", "nowhere/a"),
    ("select tool_rag.grant_tools('all', '')", "22023", "pattern"),
    ("select tool_rag.grant_tools('all', null)", "22023", "pattern"),
    ("select tool_rag.grant_tools('all', 'a/b')", "22023", "pattern"),
    ("select tool_rag.grant_tools('all', 's', '')", "22023", "pattern"),
    ("select tool_rag.grant_tools('all', 's', null)", "22023", "pattern"),
    ("select tool_rag.grant_tools('all', 's', 'a', 'forbid')", "22023", "'forbid'"),
    ("select tool_rag.grant_tools('all', 's', 'a', null)", "22023", "null"),
    ("select tool_rag.add_role('')", "22023", "name"),
    ("select tool_rag.add_role(null)", "22023", "name"),
    ("select tool_rag.add_role('all', '{all}')", "22023", "inherit"),
]


@pytest.mark.parametrize(("statement", "sqlstate", "message"), ROLE_ERRORS, ids=str)
def test_what_can_not_be_is_refused(
    connection: Connection, statement: str, sqlstate: str, message: str
) -> None:
    add_tool(connection, "s", "a")
    add_role(connection, "all")
    with refused(connection, sqlstate, message):
        connection.execute(statement.encode())


@pytest.mark.parametrize("name", ["a,b", ",", "a{", "}", 'a"b', "", "x" * 257])
def test_role_names_that_a_list_of_roles_could_not_hold(connection: Connection, name: str) -> None:
    with refused(connection, "22023", "name"):
        add_role(connection, name)
    with undone(connection), pytest.raises(psycopg.errors.CheckViolation):
        connection.execute("insert into tool_rag.role (name) values (%s)", [name])


@pytest.mark.parametrize("name", ["a b", "élan", "天気", "o'neil", "a/b", "*", "%", "x" * 256])
def test_odd_role_names(connection: Connection, name: str) -> None:
    add_tool(connection, "s", "a", "zebra")
    add_role(connection, name)
    allow(connection, name)
    assert permitted(connection, [name]) == {("s", "a")}
    connection.execute("select set_config('tool_rag.roles', %s, true)", [f"x,{name}"])
    assert permitted(connection, None) == {("s", "a")}


def test_add_role_says_whether_it_is_new(connection: Connection) -> None:
    assert fetch(connection, "select tool_rag.add_role('r', '{}', 'One')") is True
    assert fetch(connection, "select tool_rag.add_role('r')") is False
    assert fetch(connection, "select description from tool_rag.role") == "One"
    assert fetch(connection, "select tool_rag.add_role('r', null, 'Two')") is False
    assert fetch(connection, "select description from tool_rag.role") == "Two"
    assert fetch(connection, "select tool_rag.add_role('q', '{r}')") is True
    assert fetch(connection, "select tool_rag.add_role('q', '{r,r}')") is False
    assert Model(connection).parents == {"r": set(), "q": {"r"}}


def test_permitted_tools_are_ordered_by_code_point(connection: Connection) -> None:
    upsert(connection, [export("b", "Z", "a", "é", "_"), export("B", "z")])
    add_role(connection, "all")
    allow(connection, "all")
    rows = connection.execute("select server, name from tool_rag.permitted_tools('{all}')")
    assert rows.fetchall() == [("B", "z"), ("b", "Z"), ("b", "_"), ("b", "a"), ("b", "é")]


def test_explain_access_says_why(connection: Connection) -> None:
    add_tool(connection, "s", "a")
    add_role(connection, "parent")
    add_role(connection, "all", "parent")

    def explained() -> tuple[bool, str]:
        rows = connection.execute(
            "select distinct permitted, reason from tool_rag.explain_access('all', 's', 'a')"
        ).fetchall()
        assert len(rows) == 1
        return rows[0][0], rows[0][1]

    assert explained() == (False, "no rule of this role or its parents allows it")
    allow(connection, "all", "s", "a", until=PAST)
    permitted, reason = explained()
    assert not permitted
    assert reason.startswith("the grant s/a to all ended ")
    allow(connection, "parent", "s*")
    assert explained() == (True, "allowed to parent by s*/*")
    deny(connection, "parent", "*", "a", until=PAST)
    assert explained() == (True, "allowed to parent by s*/*")
    deny(connection, "all", "*", "a*")
    assert explained() == (False, "denied to all by */a*")
    rules = connection.execute(
        "select effect, rule_role, server_pattern, tool_pattern, valid"
        " from tool_rag.explain_access('all', 's', 'a')"
    ).fetchall()
    assert rules == [
        ("deny", "all", "*", "a*", True),
        ("deny", "parent", "*", "a", False),
        ("allow", "parent", "s*", "*", True),
        ("allow", "all", "s", "a", False),
    ]
    connection.execute("update tool_rag.tool set enabled = false")
    assert explained() == (False, "the tool is disabled")
    connection.execute("update tool_rag.server set enabled = false")
    assert explained() == (False, "the server is disabled")


def test_a_rule_touches_only_what_it_fits(shop: Connection) -> None:
    add_role(shop, "other")
    allow(shop, "other")
    rows = "select role_id, tool_id, ctid::text, xmin::text from tool_rag.role_tool"
    before = set(shop.execute(rows).fetchall())
    deny(shop, "other", "weather", "getForecast")
    gone = before - set(shop.execute(rows).fetchall())
    assert len(gone) == 1
    # The same rule once more is no change at all.
    before = set(shop.execute(rows).fetchall())
    deny(shop, "other", "weather", "getForecast")
    assert set(shop.execute(rows).fetchall()) == before


def test_thousands_of_rules_of_one_role(connection: Connection) -> None:
    upsert(connection, export("s", *(f"t{number}" for number in range(300))))
    add_role(connection, "r")
    connection.execute(
        "insert into tool_rag.grant_rule (role_id, server_pattern, tool_pattern, effect)"
        " select role_id, 's', 't' || n, case when n % 3 = 0 then 'deny' else 'allow' end"
        " from tool_rag.role, generate_series(0, 2999) n"
    )
    assert permitted(connection, ["r"]) == {("s", f"t{n}") for n in range(300) if n % 3}
    connection.execute("delete from tool_rag.grant_rule where effect = 'deny'")
    allow(connection, "r", "s", "*")
    assert len(permitted(connection, ["r"])) == 300
    check(connection)


# Two connections at once.

LEVELS = ("read committed", "repeatable read", "serializable")


@contextmanager
def another(url: str, level: str = "read committed") -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url) as connection:
        connection.isolation_level = {
            "read committed": psycopg.IsolationLevel.READ_COMMITTED,
            "repeatable read": psycopg.IsolationLevel.REPEATABLE_READ,
            "serializable": psycopg.IsolationLevel.SERIALIZABLE,
        }[level]
        yield connection


def in_background(
    watcher: Connection, connection: psycopg.Connection[Any], act: Callable[[Any], None]
) -> Callable[[], Exception | None]:
    """Start an edit in a thread, wait until it waits for a lock; return how to get its outcome."""
    outcome: list[Exception | None] = []

    def run() -> None:
        try:
            act(connection)
            connection.commit()
            outcome.append(None)
        except psycopg.Error as error:
            connection.rollback()
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    pid = connection.info.backend_pid
    waits = "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s"
    while thread.is_alive() and not fetch(watcher, waits, pid):
        time.sleep(0.01)
    assert thread.is_alive(), f"it did not wait: {outcome}"

    def join() -> Exception | None:
        thread.join()
        return outcome[0]

    return join


EDITS: dict[str, Callable[[Any], Any]] = {
    "insert a tool": lambda c: upsert(c, export("s", {"name": "new", "description": "zebra"}, "a")),
    "insert a tool by plain SQL": lambda c: c.execute(
        "insert into tool_rag.tool (server_id, name, description)"
        " select server_id, 'new', 'zebra' from tool_rag.server"
    ),
    "rename a tool": lambda c: c.execute("update tool_rag.tool set name = 'new'"),
    "deny": lambda c: deny(c, "all", "s", "new"),
    "deny by plain SQL": lambda c: c.execute(
        "insert into tool_rag.grant_rule (role_id, server_pattern, tool_pattern, effect)"
        " select role_id, 's', 'new', 'deny' from tool_rag.role"
    ),
    "revoke": lambda c: c.execute("delete from tool_rag.grant_rule"),
    "rename the server": lambda c: c.execute("update tool_rag.server set name = 't'"),
}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("deny", "insert a tool"),
        ("insert a tool", "deny"),
        ("deny by plain SQL", "insert a tool by plain SQL"),
        ("insert a tool by plain SQL", "deny by plain SQL"),
        ("rename a tool", "deny"),
        ("deny", "rename a tool"),
        ("revoke", "insert a tool by plain SQL"),
        ("rename the server", "deny by plain SQL"),
        ("insert a tool by plain SQL", "rename the server"),
    ],
)
def test_no_gap_between_two_edits_at_once(database: str, first: str, second: str) -> None:
    with (
        another(database) as one,
        another(database) as two,
        psycopg.connect(database, autocommit=True) as watcher,
    ):
        add_tool(one, "s", "a", "zebra")
        add_role(one, "all")
        allow(one, "all")
        one.commit()
        EDITS[first](one)
        outcome = in_background(watcher, two, EDITS[second])
        # Searches wait for neither.
        watcher.execute("set lock_timeout = '100ms'")
        assert found(watcher, "zebra") == ["a"]
        one.commit()
        assert outcome() is None
        check(watcher)
        assert "new" not in found(watcher, "zebra") or "rename the server" in (first, second)


@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize(
    ("first", "second"), [("deny", "insert a tool"), ("insert a tool by plain SQL", "deny")]
)
def test_who_can_not_see_the_others_edit_has_to_try_again(
    database: str, level: str, first: str, second: str
) -> None:
    with (
        another(database) as one,
        another(database, level) as two,
        psycopg.connect(database, autocommit=True) as watcher,
    ):
        add_tool(one, "s", "a", "zebra")
        add_role(one, "all")
        allow(one, "all")
        one.commit()
        # Its snapshot is older than the other's edit, whether it has to wait or not.
        two.execute("select 1 from tool_rag.tool")
        EDITS[first](one)
        outcome = in_background(watcher, two, EDITS[second])
        one.commit()
        error = outcome()
        assert isinstance(error, psycopg.errors.SerializationFailure)
        check(watcher)
        two.execute("select 1 from tool_rag.tool")
        upsert(one, export("other", "b"))
        one.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            EDITS[second](two)
        two.rollback()
        EDITS[second](two)
        two.commit()
        check(watcher)
        assert "new" not in found(watcher, "zebra")


def test_two_halves_of_a_cycle_at_once(database: str) -> None:
    with (
        another(database) as one,
        another(database) as two,
        psycopg.connect(database, autocommit=True) as watcher,
    ):
        add_role(one, "a")
        add_role(one, "b")
        one.commit()
        edge(one, ("a", "b"))
        outcome = in_background(watcher, two, lambda c: edge(c, ("b", "a")))
        one.commit()
        assert isinstance(outcome(), psycopg.errors.InvalidParameterValue)
        assert Model(watcher).parents == {"a": {"b"}, "b": set()}


def test_an_edit_that_is_rolled_back_leaves_nothing(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as watcher, another(database) as one:
        add_tool(watcher, "s", "a", "zebra")
        add_role(watcher, "all")
        allow(watcher, "all")
        deny(one, "all", "s", "a")
        assert found(one, "zebra") == []
        assert found(watcher, "zebra") == ["a"]
        one.rollback()
        assert found(one, "zebra") == ["a"]
        check(watcher)
