"""sql/functions/060_triggers.sql: there is no way of editing that passes them by."""

from __future__ import annotations

from contextlib import suppress

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql import test_access, test_index
from tests.sql.conftest import (
    Connection,
    add_role,
    add_server,
    add_tool,
    allow,
    deny,
    export,
    fetch,
    found,
    search,
    undone,
    upsert,
)


@pytest.fixture
def zoo(connection: Connection) -> Connection:
    """Two servers with a tool each, and a role that sees those named `get...`."""
    for server in ("one", "two"):
        add_tool(connection, server, "get_zebra", "zebra")
    add_role(connection, "all")
    allow(connection, "all", "*", "get*")
    return connection


def check(connection: Connection) -> None:
    """Everything derived is what computing it anew would give."""
    test_index.check(connection)
    test_access.check(connection)


def test_copy(zoo: Connection) -> None:
    server = add_server(zoo, "one")
    into = "copy tool_rag.tool (server_id, name, description) from stdin"
    with zoo.cursor() as cursor, cursor.copy(into) as copy:
        for number in range(20):
            copy.write_row((server, f"get_{number}", "zebra"))
    check(zoo)
    assert len(found(zoo, "zebra", k=100)) == 22


def test_merge(zoo: Connection) -> None:
    zoo.execute(
        "merge into tool_rag.tool t"
        " using (values (%(s)s, 'get_zebra', 'zebra okapi'), (%(s)s, 'get_new', 'zebra'),"
        " (%(s)s, 'put_new', 'zebra')) v (server_id, name, description)"
        " on t.server_id = v.server_id and t.name = v.name"
        " when matched then update set description = v.description"
        " when not matched and v.name like 'get%%' then insert (server_id, name, description)"
        " values (v.server_id, v.name, v.description)"
        " when not matched then do nothing",
        {"s": add_server(zoo, "one")},
    )
    check(zoo)
    assert found(zoo, "okapi", k=1) == ["get_zebra"]
    zoo.execute(
        "merge into tool_rag.tool t using tool_rag.server s on s.server_id = t.server_id"
        " when matched and s.name = 'one' then delete"
        " when matched then update set name = 'get_' || s.name"
    )
    check(zoo)
    assert found(zoo, "zebra", k=9) == ["get_two"]


def test_a_server_and_its_tools_in_one_statement(zoo: Connection) -> None:
    zoo.execute("""
        with s as (insert into tool_rag.server (name) values ('three') returning server_id),
        r as (insert into tool_rag.role (name) values ('fresh') returning role_id),
        g as (
            insert into tool_rag.grant_rule (role_id, server_pattern, tool_pattern)
            select role_id, 'three', '*' from r
        )
        insert into tool_rag.tool (server_id, name, description)
        select server_id, 'get_' || n, 'zebra' from s, generate_series(1, 3) n
    """)
    check(zoo)
    assert sorted(found(zoo, "zebra", roles=["fresh"])) == ["get_1", "get_2", "get_3"]


def test_two_edits_of_one_table_in_one_statement(zoo: Connection) -> None:
    zoo.execute(
        "with a as (insert into tool_rag.tool (server_id, name, description)"
        "   values (%s, 'get_a', 'zebra') returning 1),"
        " u as (update tool_rag.tool set description = 'zebra okapi' where server_id = %s"
        "   returning 1),"
        " d as (delete from tool_rag.tool where server_id = %s returning 1)"
        " select count(*) from a, u, d",
        [add_server(zoo, "one"), add_server(zoo, "one"), add_server(zoo, "two")],
    )
    check(zoo)
    assert sorted(found(zoo, "zebra", k=9)) == ["get_a", "get_zebra"]


def test_rules_and_roles_in_one_statement(zoo: Connection) -> None:
    add_role(zoo, "base")
    zoo.execute("""
        with p as (
            insert into tool_rag.role_parent (role_id, parent_id)
            select a.role_id, b.role_id from tool_rag.role a, tool_rag.role b
            where a.name = 'base' and b.name = 'all'
        ),
        d as (delete from tool_rag.grant_rule returning *)
        insert into tool_rag.grant_rule (role_id, server_pattern, tool_pattern, effect)
        select role_id, 'one', '*', 'allow' from d
    """)
    check(zoo)
    assert test_access.permitted(zoo, ["base"]) == {("one", "get_zebra")}


def test_a_statement_without_rows(zoo: Connection) -> None:
    for statement in (
        "update tool_rag.tool set name = 'x' where false",
        "delete from tool_rag.tool where false",
        "insert into tool_rag.tool (server_id, name) select 1, 'x' where false",
        "update tool_rag.server set name = 'x' where false",
        "delete from tool_rag.grant_rule where false",
        "update tool_rag.grant_rule set effect = 'deny' where false",
        "delete from tool_rag.role_parent where false",
        "update tool_rag.ranking_setting set name_weight = 9 where false",
    ):
        zoo.execute(statement.encode())
    check(zoo)


@pytest.mark.parametrize("table", ["tool", "server", "role", "grant_rule", "role_parent"])
def test_truncate(zoo: Connection, table: str) -> None:
    add_role(zoo, "heir", "all")
    zoo.execute(f"truncate tool_rag.{table} cascade".encode())
    check(zoo)
    assert found(zoo, "zebra", roles=["heir"]) == []
    # And it goes on from there.
    add_role(zoo, "all")
    add_role(zoo, "heir", "all")
    allow(zoo, "all")
    add_tool(zoo, "one", "get_okapi", "okapi")
    check(zoo)
    assert "get_okapi" in found(zoo, "okapi", roles=["heir"])


def test_a_deferred_failure_undoes_the_index_too(zoo: Connection) -> None:
    before = test_index.read_index(zoo)
    for statement in (
        "delete from tool_rag.tool; select 1 / 0",
        "update tool_rag.tool set description = 'okapi'; select 1 / 0",
        "truncate tool_rag.server cascade; select 1 / 0",
    ):
        with undone(zoo), pytest.raises(psycopg.errors.DivisionByZero):
            zoo.execute(statement.encode())
    assert test_index.read_index(zoo) == before
    check(zoo)


def test_a_role_with_heirs_is_removed(zoo: Connection) -> None:
    add_role(zoo, "middle", "all")
    add_role(zoo, "heir", "middle")
    deny(zoo, "middle", "two")
    assert found(zoo, "zebra", roles=["heir"]) == ["get_zebra"]
    with undone(zoo):
        zoo.execute("delete from tool_rag.role where name = 'middle'")
        check(zoo)
        assert found(zoo, "zebra", roles=["heir"]) == []
    with undone(zoo):
        zoo.execute("delete from tool_rag.role where name in ('middle', 'all')")
        check(zoo)
    zoo.execute("delete from tool_rag.role")
    check(zoo)
    assert fetch(zoo, "select count(*) from tool_rag.role_tool") == 0


def test_names_are_exchanged(zoo: Connection) -> None:
    add_tool(zoo, "one", "put", "okapi")
    zoo.execute("update tool_rag.tool set name = 'tmp' where name = 'put'")
    zoo.execute(
        "update tool_rag.tool set name = case name when 'tmp' then 'get_okapi' else 'put' end"
        " where server_id = %s",
        [add_server(zoo, "one")],
    )
    check(zoo)
    assert {(hit["server"], hit["name"]) for hit in search(zoo, "zebra", k=9)} == {
        ("one", "get_okapi"),
        ("two", "get_zebra"),
    }


def test_a_tool_keeps_its_number_or_takes_its_index_along(zoo: Connection) -> None:
    # No vector and no rule refers to it by number.
    add_tool(zoo, "\U0001f996", "\U0001f9e9", "\U00012001", {})
    with suppress(psycopg.Error), zoo.transaction():
        zoo.execute("update tool_rag.tool set tool_id = default where name = '\U0001f9e9'")
    check(zoo)


@pytest.mark.parametrize("table", ["synonym", "example"])
def test_wordings_are_truncated_with_their_index(zoo: Connection, table: str) -> None:
    zoo.execute(
        "select tool_rag.add_synonym('okapi', 'one', 'get_zebra'),"
        " tool_rag.add_example('two', 'get_zebra', 'an okapi, please')"
    )
    assert len([hit for hit in search(zoo, "okapi") if hit["relevance"] > 0.5]) == 2
    zoo.execute(f"truncate tool_rag.{table}".encode())
    check(zoo)
    assert len([hit for hit in search(zoo, "okapi") if hit["relevance"] > 0.5]) == 1


def test_settings_that_stay_index_nothing(zoo: Connection) -> None:
    rows = "select array_agg(ctid::text order by ctid::text) from tool_rag.posting"
    before = fetch(zoo, rows)
    zoo.execute("update tool_rag.ranking_setting set name_weight = name_weight")
    zoo.execute("update tool_rag.ranking_setting set bm25_b = 0.3, bm25_k1 = 2")
    assert fetch(zoo, rows) == before
    zoo.execute("update tool_rag.ranking_setting set bm25_b = 0.4, description_weight = 3")
    assert fetch(zoo, rows) != before
    check(zoo)


def test_only_edits_of_what_counts_lock(database: str) -> None:
    # Reading, and settings of BM25 aside, an edit waits for another one; a search never does.
    with (
        psycopg.connect(database) as one,
        psycopg.connect(database) as two,
    ):
        upsert(one, export("s", {"name": "a", "description": "zebra"}))
        add_role(one, "all")
        allow(one, "all")
        one.commit()
        one.execute("update tool_rag.tool set description = 'okapi'")
        two.execute("set lock_timeout = '50ms'")
        two.commit()
        assert search(two, "okapi")[0]["description"] == "zebra"
        assert test_access.permitted(two, ["all"]) == {("s", "a")}
        for statement, values in (
            ("update tool_rag.server set title = 'x'", []),
            ("insert into tool_rag.role (name) values ('x')", []),
            ("select * from tool_rag.upsert_tools(%s)", [Jsonb([])]),
            ("select tool_rag.reindex_tools()", []),
            ("update tool_rag.ranking_setting set bm25_k1 = 1", []),
            ("delete from tool_rag.grant_rule where false", []),
        ):
            with undone(two), pytest.raises(psycopg.errors.LockNotAvailable):
                two.execute(statement.encode(), values or None)
        two.rollback()
        one.commit()
        assert search(two, "okapi")[0]["description"] == "okapi"
