"""The audit: every change by trigger, what access was at a time, events, retention."""

from __future__ import annotations

import json
import random
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import (
    HOURS,
    OFFSETS,
    Connection,
    add_role,
    add_server,
    add_tool,
    allow,
    column,
    export,
    fetch,
    hours_of,
    refused,
    undone,
    upsert,
)

AUDITED = {
    "pending_tool",
    "review_setting",
    "access_setting",
    "login",
    "login_role",
    "api_key",
    "api_key_role",
    "server",
    "tool",
    "role",
    "role_parent",
    "grant_rule",
    "synonym",
    "example",
    "dependency",
    "ranking_setting",
    "audit_setting",
}

# Derived from those by trigger, kept for conversations, or the audit itself.
NOT_AUDITED = {
    "alembic_version",
    "audit_event",
    "catalogue_state",
    "change",
    "document",
    "embedding_model",
    "lexeme",
    "message",
    "posting",
    "role_schedule",
    "role_tool",
    "tool_name",
    "tool_sent",
    "tool_use",
    "tool_vector",
    "word_piece",
}

ACCESS = "select concat(role, ' ', server, '/', tool) from tool_rag._access_at(%s) order by 1"
NOW = """
    select concat(r.name, ' ', s.name, '/', t.name)
    from tool_rag.role r
    cross join lateral tool_rag._permitted(
        tool_rag._with_schedules(array[r.role_id]), null
    ) p
    join tool_rag.tool t on t.tool_id = p.tool_id
    join tool_rag.server s on s.server_id = t.server_id
    order by 1
"""


def changes(connection: Connection, after: int = 0) -> list[tuple[str, str, str]]:
    """Return (action, object, label) of all changes after one, in order."""
    return connection.execute(
        "select action, object, label from tool_rag.change where change_id > %s order by change_id",
        [after],
    ).fetchall()


def latest(connection: Connection) -> int:
    return int(fetch(connection, "select coalesce(max(change_id), 0) from tool_rag.change"))


def fill(connection: Connection) -> None:
    """One row in every audited table."""
    add_tool(connection, "crm", "get_customer", "Look a customer up")
    add_tool(connection, "crm", "refund", "Give money back")
    add_role(connection, "staff")
    add_role(connection, "support", "staff")
    allow(connection, "support", "crm", "get_*")
    connection.execute("select tool_rag.add_synonym('pay back', server => 'crm', tool => 'refund')")
    connection.execute("select tool_rag.add_example('crm', 'refund', 'she wants her money')")
    connection.execute(
        "select tool_rag.add_dependency('crm', 'refund', 'crm', 'get_customer', 'id')"
    )


def test_every_table_is_audited_or_said_not_to_be(connection: Connection) -> None:
    tables = column(
        connection,
        "select relname from pg_class where relnamespace = 'tool_rag'::regnamespace"
        " and relkind = 'r'",
    )
    assert set(tables) == AUDITED | NOT_AUDITED
    audited = column(
        connection,
        "select c.relname from pg_trigger t join pg_class c on c.oid = t.tgrelid"
        " where t.tgname like 'zz%%audit%%' group by 1 having count(*) = 4",
    )
    assert set(audited) == AUDITED


def test_new_rows_are_told_in_words(connection: Connection) -> None:
    before = latest(connection)
    fill(connection)
    assert changes(connection, before) == [
        ("insert", "server", "crm"),
        ("insert", "tool", "crm/get_customer"),
        ("insert", "tool", "crm/refund"),
        ("insert", "role", "staff"),
        ("insert", "role", "support"),
        ("insert", "role_parent", "support inherits from staff"),
        ("insert", "grant_rule", "support: allow crm/get_*"),
        ("insert", "synonym", "crm/refund: pay back"),
        ("insert", "example", "crm/refund: she wants her money"),
        ("insert", "dependency", "crm/refund needs crm/get_customer"),
    ]


def test_who_did_it(connection: Connection) -> None:
    connection.execute("create role audit_editor in role tool_rag_admin")
    connection.execute("set local tool_rag.actor = 'alice@example.com'")
    connection.execute("set local role audit_editor")
    connection.execute("select tool_rag.add_role('viewer')")
    row = connection.execute(
        "select login, acting_role, actor, before, after from tool_rag.change"
        " order by change_id desc limit 1"
    ).fetchone()
    assert row is not None
    assert row[:4] == (connection.info.user, "audit_editor", "alice@example.com", None)
    assert row[4]["name"] == "viewer"
    connection.execute("reset role")
    connection.execute("set local tool_rag.actor = ''")
    connection.execute("select tool_rag.remove_role('viewer')")
    assert connection.execute(
        "select acting_role, actor, after from tool_rag.change order by change_id desc limit 1"
    ).fetchone() == (None, None, None)


def test_updates_say_what_was_and_what_is(connection: Connection) -> None:
    fill(connection)
    at = latest(connection)
    connection.execute(
        "update tool_rag.tool set description = 'Return money' where name = 'refund'"
    )
    before, after = connection.execute(
        "select before, after from tool_rag.change where change_id > %s", [at]
    ).fetchall()[0]
    assert {k for k in after if after[k] != before[k]} == {"description"}
    assert (before["description"], after["description"]) == ("Give money back", "Return money")
    # What leaves a row as it is, is no change.
    at = latest(connection)
    connection.execute("update tool_rag.tool set description = description, updated_at = now()")
    connection.execute("update tool_rag.synonym set words = words")
    upsert(connection, export("crm", {"name": "refund", "description": "Return money"}))
    assert changes(connection, at) == [
        ("delete", "tool", "crm/get_customer"),
        ("delete", "dependency", "crm/refund needs crm/get_customer"),
    ]


def test_a_key_that_changes_is_one_row_gone_and_another_come(connection: Connection) -> None:
    fill(connection)
    add_role(connection, "guest")
    at = latest(connection)
    connection.execute(
        "update tool_rag.role_parent set parent_id = "
        "(select role_id from tool_rag.role where name = 'guest')"
    )
    assert sorted(changes(connection, at)) == [
        ("delete", "role_parent", "support inherits from staff"),
        ("insert", "role_parent", "support inherits from guest"),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "select tool_rag.remove_server('crm'); select tool_rag.remove_role('support');"
        " select tool_rag.remove_role('staff')",
        "delete from tool_rag.server; delete from tool_rag.role",
        "truncate tool_rag.server, tool_rag.role cascade",
    ],
)
def test_what_goes_with_others_is_told_by_its_name(connection: Connection, statement: str) -> None:
    fill(connection)
    added = {(o, label) for _, o, label in changes(connection)}
    at = latest(connection)
    connection.execute(statement.encode())
    gone = changes(connection, at)
    assert {action for action, _, _ in gone} == {"delete"}
    assert {(o, label) for _, o, label in gone} == added
    assert len(gone) == len(added)


def test_a_refused_edit_leaves_no_trace(connection: Connection) -> None:
    fill(connection)
    at = latest(connection)
    with undone(connection), pytest.raises(psycopg.errors.DatabaseError):
        connection.execute(
            "insert into tool_rag.role_parent (role_id, parent_id)"
            " select parent_id, role_id from tool_rag.role_parent"
        )
    assert changes(connection, at) == []


@pytest.mark.parametrize("table", ["change", "audit_event"])
@pytest.mark.parametrize("edit", ["update {} set login = 'x'", "delete from {}", "truncate {}"])
def test_entries_stay_as_they_were_written(connection: Connection, table: str, edit: str) -> None:
    fill(connection)
    with refused(connection, "55000", "the audit is only ever added to"):
        connection.execute(edit.format(f"tool_rag.{table}").encode())


@pytest.mark.parametrize("round_", range(3))
def test_access_at_any_time_is_what_it_was(connection: Connection, seed: int, round_: int) -> None:
    """Random edits; after each the permitted sets are noted, and told again at the end."""
    chance = random.Random(seed + round_)
    roles = ["a", "b", "c", "d"]
    for number, role in enumerate(roles):
        add_role(connection, role, *chance.sample(roles[:number], k=min(number, 1)))
    known: list[tuple[Any, list[str]]] = []
    for _ in range(40):
        role = chance.choice(roles)
        server = chance.choice(["x", "y", "z*"])
        tool = chance.choice(["get_a", "get_b", "put_a", "get_*", "*"])
        name = chance.choice(["get_a", "get_b", "put_a"])
        step = chance.randrange(9)
        with undone(connection) if chance.random() < 0.1 else connection.transaction():
            match step:
                case 0 | 1:
                    upsert(connection, export(server.strip("*"), name, "other"))
                case 2 | 3 | 4:
                    kind = chance.choice([None, *HOURS])
                    allow(
                        connection,
                        role,
                        server,
                        tool,
                        effect="deny" if step == 4 else "allow",
                        start=chance.choice([None, None, "2001-02-03", "2101-02-03"]),
                        hours=kind and hours_of(kind, chance.choice(list(OFFSETS))),
                    )
                case 5:
                    connection.execute(
                        "delete from tool_rag.grant_rule where grant_id ="
                        " (select min(grant_id) from tool_rag.grant_rule)"
                    )
                case 6:
                    connection.execute(
                        "update tool_rag.tool set enabled = not enabled where name = %s", [name]
                    )
                case 7:
                    connection.execute(
                        "update tool_rag.server set name = 'yz' where name = 'y'"
                        " and not exists (select from tool_rag.server where name = 'yz')"
                        if chance.random() < 0.5
                        else "delete from tool_rag.server where name = 'z'"
                    )
                case _:
                    connection.execute("select tool_rag.remove_role(%s)", [role])
                    add_role(connection, role)
        known.append((fetch(connection, "select clock_timestamp()"), column(connection, NOW)))
    for time, permitted in known:
        assert column(connection, ACCESS, time) == permitted
    (start, first), (end, last) = chance.sample(known, k=2)
    listed = connection.execute(
        "select change, concat(role, ' ', server, '/', tool)"
        " from tool_rag.list_access_changes(%s, %s)",
        [start, end],
    ).fetchall()
    assert sorted(listed) == sorted(
        [("gained", row) for row in set(last) - set(first)]
        + [("lost", row) for row in set(first) - set(last)]
    )


def test_the_end_of_a_rule_is_a_loss_that_nobody_did(connection: Connection) -> None:
    add_tool(connection, "crm", "refund")
    add_role(connection, "support")
    allow(connection, "support", "crm", "*", until="2020-01-02")
    # As if the rule and all else had stood since before its end.
    connection.execute("alter table tool_rag.change disable trigger change_before_edit")
    connection.execute("update tool_rag.change set changed_at = '2020-01-01'")
    assert connection.execute(
        "select role, server, tool, change"
        " from tool_rag.list_access_changes('2020-01-01 12:00', '2020-01-03')"
    ).fetchall() == [("support", "crm", "refund", "lost")]


def test_changes_are_listed_by_what_and_whom(connection: Connection) -> None:
    fill(connection)
    listing = "select label from tool_rag.list_changes({}) order by change_id"
    assert column(connection, listing.format("objects => '{role,synonym}'")) == [
        "staff",
        "support",
        "crm/refund: pay back",
    ]
    assert column(connection, listing.format("label => 'crm/*'"))[0] == "crm/get_customer"
    assert column(connection, listing.format("max_rows => 1")) == [
        "crm/refund needs crm/get_customer"
    ]
    assert column(connection, listing.format("login => 'nobody'")) == []
    assert column(connection, listing.format("since => 'infinity'")) == []
    assert column(connection, listing.format("until => '-infinity'")) == []


def call(connection: Connection, detail: Any = None, **more: Any) -> Any:
    return fetch(
        connection,
        "select tool_rag.record_call('crm', 'refund', 'allowed', roles => '{support}',"
        " conversation => 'c1', detail => %s)",
        None if detail is None else json.dumps(detail),
    )


EVENTS = "select kind, roles, conversation, outcome, detail from tool_rag.list_audit_events()"


def test_calls_are_recorded_as_far_as_the_level_has_it(connection: Connection) -> None:
    assert call(connection, {"reason": "x"}) is False
    assert connection.execute(EVENTS.encode()).fetchall() == []
    connection.execute("select tool_rag.set_audit('counts')")
    assert call(connection, {"reason": "x"}) is True
    assert connection.execute(EVENTS.encode()).fetchall() == [
        ("call", ["support"], "c1", "allowed", None)
    ]
    connection.execute("select tool_rag.set_audit('full')")
    assert call(connection, {"reason": "x"}) is True
    assert connection.execute(EVENTS.encode()).fetchall()[0][4] == {
        "server": "crm",
        "tool": "refund",
        "detail": {"reason": "x"},
    }


@pytest.mark.parametrize(
    "key",
    ["password", "API_KEY", "apiKey", "client_secret", "access-token", "Authorization", "cookie"],
)
def test_secrets_are_not_kept(connection: Connection, key: str) -> None:
    connection.execute("select tool_rag.set_audit('full')")
    call(connection, {"arguments": {key: "s3cret", "list": [{key: {"a": "s3cret"}}], "n": 1}})
    detail = fetch(connection, "select detail from tool_rag.audit_event")
    assert "s3cret" not in json.dumps(detail)
    assert detail["detail"]["arguments"]["n"] == 1


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("set_audit('loud')", "level is 'loud' instead of off, counts or full"),
        ("set_audit(keep_events => '-1 day')", "a retention is negative"),
        ("record_call('crm', '', 'allowed')", "a call is recorded with a tool"),
        ("record_call('crm', null, 'allowed')", "a call is recorded with a tool"),
        ("record_call('crm', 'a', repeat('x', 101))", "a call is recorded with a tool"),
        (
            "record_call('crm', 'a', 'x', detail => to_jsonb(repeat('x', 100001)))",
            "a call is recorded with a tool",
        ),
    ],
)
def test_what_can_not_be_recorded(connection: Connection, statement: str, says: str) -> None:
    with refused(connection, "22023", says):
        connection.execute(f"select tool_rag.{statement}".encode())


def test_what_is_old_goes_and_the_rest_stays(connection: Connection) -> None:
    fill(connection)
    connection.execute("select tool_rag.set_audit('full')")
    call(connection)
    for table, time in (("change", "changed_at"), ("audit_event", "happened_at")):
        connection.execute(
            f"alter table tool_rag.{table} disable trigger {table}_before_edit".encode()
        )
        connection.execute(
            f"update tool_rag.{table} set {time} = now() - interval '100 days'".encode()
        )
        connection.execute(
            f"alter table tool_rag.{table} enable trigger {table}_before_edit".encode()
        )
    call(connection)
    add_server(connection, "new")
    at = latest(connection)
    assert connection.execute("select * from tool_rag.purge_audit()").fetchall() == [(0, 1)]
    assert fetch(connection, "select count(*) from tool_rag.audit_event") == 1
    # Changes stay until somebody says how long.
    connection.execute("select tool_rag.set_audit(keep_changes => '90 days')")
    purged, _ = connection.execute("select * from tool_rag.purge_audit()").fetchall()[0]
    assert purged > 0
    assert changes(connection, at - 1)[0] == ("insert", "server", "new")
    with refused(connection, "22023", "the audit goes back to"):
        connection.execute("select * from tool_rag.list_access_changes(now() - interval '91 days')")
    with refused(connection, "55000", "only ever added to"):
        connection.execute("delete from tool_rag.change")


def searches(connection: Connection) -> list[Any]:
    return connection.execute(
        "select roles, conversation, outcome, tools, tokens > 0, milliseconds > 0, detail"
        " from tool_rag.list_audit_events(kind => 'search') order by event_id"
    ).fetchall()


def test_searches_are_recorded_as_far_as_the_level_has_it(connection: Connection) -> None:
    fill(connection)
    search = (
        "select count(*) from tool_rag.search_tools('give money back', roles => %s,"
        " conversation => 'c1')"
    )
    allow(connection, "support", "crm", "refund")
    connection.execute(search.encode(), [["support"]])
    assert searches(connection) == []
    connection.execute("select tool_rag.set_audit('counts')")
    # Two tools: what refund needs comes with it.
    assert fetch(connection, search, ["support"]) == 2
    assert fetch(connection, search, ["staff"]) == 0
    assert searches(connection) == [
        (["support"], "c1", "found", 2, True, True, None),
        (["staff"], "c1", "empty", 0, False, True, None),
    ]
    connection.execute("select tool_rag.set_audit('full')")
    connection.execute(
        "select * from tool_rag.search_tools_batch('{money,customer}', roles => '{support}',"
        " limits => '{1,1}')"
    )
    assert [(row[0], row[6]["query"]) for row in searches(connection)[2:]] == [
        (["support"], "money"),
        (["support"], "customer"),
    ]
    found = searches(connection)[2][6]["tools"]
    assert found == ["crm/refund", "crm/get_customer"]


@pytest.mark.parametrize(
    ("tool", "more", "outcome"),
    [
        ("refund", "", "listed"),
        ("close_ticket", "", "not_permitted"),
        ("get_customer", ", servers => '{mail}'", "other_server"),
        ("get_customer", ", min_relevance => 0.99", "below_cut_off"),
        ("get_customer", ", k => 1, options => '{\"needs_depth\": 0}'", "crowded_out"),
        ("get_customer", ", token_budget => 30", "over_budget"),
    ],
)
def test_what_explains_a_search_is_recorded_as_that_search(
    connection: Connection, tool: str, more: str, outcome: str
) -> None:
    fill(connection)
    connection.execute("delete from tool_rag.dependency")
    allow(connection, "support", "crm", "refund")
    connection.execute("select tool_rag.set_audit('full')")
    said = column(
        connection,
        "select outcome from tool_rag.explain_missing('give money back', 'crm', %s,"
        f" roles => '{{support}}'{more})",
        tool,
    )
    assert said == [outcome]
    (row,) = searches(connection)
    assert (row[0], row[6]["query"]) == (["support"], "give money back")


def test_a_search_in_a_read_only_transaction_goes_to_the_log(connection: Connection) -> None:
    fill(connection)
    allow(connection, "support", "crm", "refund")
    connection.execute("select tool_rag.set_audit('full')")
    connection.execute("set local client_min_messages = 'log'")
    said: list[str] = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    with undone(connection):
        connection.execute("set local transaction_read_only = on")
        rows = connection.execute(
            "select name from tool_rag.search_tools('money back', roles => '{support}', k => 1)"
        ).fetchall()
    assert rows == [("refund",), ("get_customer",)]
    assert searches(connection) == []
    (line,) = [text for text in said if text.startswith("tool_rag audit: ")]
    logged = json.loads(line.removeprefix("tool_rag audit: "))
    assert logged["detail"]["tools"] == ["crm/refund", "crm/get_customer"]
    assert (logged["roles"], logged["outcome"], logged["tools"]) == (["support"], "found", 2)


def test_a_parallel_plan_does_not_stop_the_audit(connection: Connection) -> None:
    fill(connection)
    allow(connection, "support")
    connection.execute("select tool_rag.set_audit('counts')")
    for setting in (
        "parallel_setup_cost = 0",
        "parallel_tuple_cost = 0",
        "min_parallel_table_scan_size = 0",
    ):
        connection.execute(f"set local {setting}".encode())
    connection.execute(
        "select count(*) from tool_rag.word_piece w,"
        " tool_rag.search_tools('money', roles => '{support}') h where w.piece = h.name"
    )
    assert len(searches(connection)) == 1
