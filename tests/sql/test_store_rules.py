"""tool_rag.store_rules in sql/functions/050_access.sql: many rules at once, all or none."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import (
    Connection,
    add_role,
    add_server,
    add_tool,
    allow,
    column,
    deny,
    fetch,
    refused,
)

END = datetime(2131, 1, 31, tzinfo=UTC)


def rule(role: str, tool: str = "*", effect: str = "allow", **more: Any) -> dict[str, Any]:
    return {"role": role, "server_pattern": "s", "tool_pattern": tool, "effect": effect, **more}


def store(connection: Connection, rules: Any, *replaced: str) -> list[tuple[Any, ...]]:
    return connection.execute(
        "select change, role, tool_pattern, effect, former_until, valid_until"
        " from tool_rag.store_rules(%s, %s)",
        [json.dumps(rules), list(replaced)],
    ).fetchall()


@pytest.fixture
def shop(connection: Connection) -> Connection:
    add_server(connection, "s")
    for name in ("a", "b"):
        add_tool(connection, "s", name)
    for name in ("r", "q"):
        add_role(connection, name)
    return connection


def may(connection: Connection, role: str) -> list[str]:
    return column(connection, "select name from tool_rag.permitted_tools(%s)", [role])


def test_rules_are_added_changed_and_removed(shop: Connection) -> None:
    allow(shop, "r", "s", "a")
    deny(shop, "r", "s", "b")
    allow(shop, "q", "s", "a")
    ends = "2131-01-31T01:00+01:00"
    assert store(shop, [rule("r", "a"), rule("r", valid_until=ends), rule("q", "b")]) == [
        ("added", "q", "b", "allow", None, None),
        ("added", "r", "*", "allow", None, END),
    ]
    assert may(shop, "r") == ["a"]
    assert may(shop, "q") == ["a", "b"]
    # Of the replaced role the rest goes, also where it has no rule here; other roles keep theirs.
    assert store(shop, [rule("r", valid_until=None)], "r", "q") == [
        ("removed", "q", "a", "allow", None, None),
        ("removed", "q", "b", "allow", None, None),
        ("changed", "r", "*", "allow", END, None),
        ("removed", "r", "a", "allow", None, None),
        ("removed", "r", "b", "deny", None, None),
    ]
    assert may(shop, "r") == ["a", "b"]
    assert may(shop, "q") == []
    assert store(shop, [rule("r")], "r", "q") == []
    # A time without a zone is one of UTC, whatever the session's is.
    shop.execute("set timezone = 'Asia/Tokyo'")
    assert store(shop, [rule("r", valid_until="2131-01-31 00:00")])[0][5] == END


def test_an_allow_that_becomes_a_deny_is_both_removed_and_added(shop: Connection) -> None:
    allow(shop, "r", "s", "*")
    assert [row[:4] for row in store(shop, [rule("r", effect="deny")], "r")] == [
        ("removed", "r", "*", "allow"),
        ("added", "r", "*", "deny"),
    ]
    assert may(shop, "r") == []


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, "rules is not a JSON array"),
        (None, "rules is not a JSON array"),
        ([rule("r"), 5], "rules[1] is not an object"),
        ([5, 5], "rules[0] is not an object"),
        ([rule("r", rate=5)], "rules[0] has a key other than"),
        ([rule("r") | {"role": 5}], "rules[0].role is not a text"),
        ([rule("r") | {"server_pattern": "a/b"}], "rules[0].server_pattern is not"),
        ([rule("r") | {"server_pattern": None}], "rules[0].server_pattern is not"),
        ([rule("r", "")], "rules[0].tool_pattern is not"),
        ([rule("r", "x" * 257)], "rules[0].tool_pattern is not"),
        ([rule("r", effect="maybe")], "rules[0].effect is neither"),
        ([rule("r", valid_until="soon")], "rules[0].valid_until is neither"),
        ([rule("r", valid_until=5)], "rules[0].valid_until is neither"),
        (
            [rule("r"), rule("q"), rule("r", valid_until="2131-01-31")],
            "rules[2] stands above already",
        ),
        ([rule("q"), rule("nobody")], 'role "nobody" does not exist'),
    ],
)
def test_a_fault_is_named_and_nothing_changes(shop: Connection, rules: Any, said: str) -> None:
    allow(shop, "r", "s", "a")
    held = "select array_agg(g order by grant_id)::text from tool_rag.grant_rule g"
    before = fetch(shop, held)
    missing = "does not exist" in said
    with refused(shop, "42704" if missing else "22023", said):
        store(shop, rules, "r")
    assert fetch(shop, held) == before


def test_roles_to_replace_have_to_exist(shop: Connection) -> None:
    with refused(shop, "42704", 'role "nobody" does not exist'):
        store(shop, [], "nobody")
    with refused(shop, "22023", "replaced_roles holds a null"):
        shop.execute("select * from tool_rag.store_rules('[]', array[null])")


def test_heirs_and_the_audit_follow(shop: Connection) -> None:
    shop.execute("select tool_rag.add_role('heir', '{r}')")
    store(shop, [rule("r", "a")])
    assert may(shop, "heir") == ["a"]
    store(shop, [rule("r", "b")], "r")
    assert may(shop, "heir") == ["b"]
    assert column(
        shop,
        "select action || ' ' || label from tool_rag.change where object = 'grant_rule'"
        " order by change_id",
    ) == ["insert r: allow s/a", "delete r: allow s/a", "insert r: allow s/b"]


def test_two_files_at_once_come_one_after_the_other(database: str) -> None:
    found: list[tuple[Any, ...]] = []
    with psycopg.connect(database) as first, psycopg.connect(database) as second:
        add_server(first, "s")
        add_role(first, "r")
        first.commit()
        store(first, [rule("r", "a")], "r")
        thread = threading.Thread(target=lambda: found.extend(store(second, [rule("r", "b")], "r")))
        thread.start()
        waits = "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s"
        with psycopg.connect(database, autocommit=True) as watcher:
            while thread.is_alive() and not fetch(watcher, waits, second.info.backend_pid):
                time.sleep(0.01)
        assert thread.is_alive()
        first.commit()
        thread.join()
        # What the second replaces is what the first has left, not what it saw at its start.
        assert [row[:3] for row in found] == [("removed", "r", "a"), ("added", "r", "b")]
