"""What comes on top of k: what tools need and what a conversation uses; and what fits a budget."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def shop(connection: Connection) -> Connection:
    connection.execute(
        """
        select tool_rag.upsert_tools('{"server": "shop", "tools": [
            {"name": "refund_payment", "description": "Give a customer money back"},
            {"name": "find_payment", "description": "Look up a transaction"},
            {"name": "find_customer", "description": "Look up a person"},
            {"name": "list_holidays", "description": "Public holidays of a country"},
            {"name": "audit_log", "description": "Who did what"}]}'),
            tool_rag.add_role('clerk'), tool_rag.grant_tools('clerk', 'shop', '*'),
            tool_rag.grant_tools('clerk', 'shop', 'audit_log', 'deny'),
            tool_rag.add_dependency('shop', 'refund_payment', 'shop', 'find_payment', 'its id'),
            tool_rag.add_dependency('shop', 'find_payment', 'shop', 'find_customer', 'whose'),
            tool_rag.add_dependency('shop', 'refund_payment', 'shop', 'audit_log', 'a trace')
        """
    )
    return connection


def search(connection: Connection, arguments: str = "") -> list[tuple[Any, ...]]:
    return connection.execute(
        f"select name, reason, score, tokens from tool_rag.search_tools(query => 'money back',"
        f" roles => '{{clerk}}', k => 1{arguments})".encode()
    ).fetchall()


def names(connection: Connection, arguments: str = "") -> list[str]:
    return [row[0] for row in search(connection, arguments)]


def test_what_a_tool_needs_comes_on_top_of_k_down_the_chain(shop: Connection) -> None:
    rows = search(shop)
    assert [row[0] for row in rows] == ["refund_payment", "find_payment", "find_customer"]
    assert rows[1][1].startswith("needed by shop/refund_payment: its id")
    assert rows[2][1].startswith("needed by shop/find_payment: whose")
    assert rows[1][2] is None


def test_a_needed_tool_that_is_denied_stays_away(shop: Connection) -> None:
    assert "audit_log" not in names(shop)
    assert not any("trace" in row[1] for row in search(shop))


def test_nothing_is_reached_through_a_denied_tool(shop: Connection) -> None:
    shop.execute("select tool_rag.grant_tools('clerk', 'shop', 'find_payment', 'deny')")
    assert names(shop) == ["refund_payment"]


@pytest.mark.parametrize(("depth", "count"), [(0, 1), (1, 2), (3, 3)])
def test_depth_is_an_option(shop: Connection, depth: int, count: int) -> None:
    assert len(names(shop, f", options => '{{\"needs_depth\": {depth}}}'")) == count


@pytest.mark.parametrize("via", ["function", "insert", "update"])
def test_cycles_are_refused(shop: Connection, via: str) -> None:
    statement = {
        "function": "select tool_rag.add_dependency('shop', 'find_customer', 'shop',"
        " 'refund_payment', 'x')",
        "insert": "insert into tool_rag.dependency select n.tool_id, d.tool_id, 'x'"
        " from tool_rag.tool n, tool_rag.tool d"
        " where n.name = 'find_customer' and d.name = 'refund_payment'",
        "update": "update tool_rag.dependency set needs_id ="
        " (select tool_id from tool_rag.tool where name = 'refund_payment')"
        " where reason = 'whose'",
    }[via]
    with pytest.raises(psycopg.Error, match="which needs it") as caught:
        shop.execute(statement.encode())
    assert caught.value.sqlstate == "22023"


def test_a_dependency_is_removed(shop: Connection) -> None:
    remove = "select tool_rag.remove_dependency('shop', 'refund_payment', 'shop', 'find_payment')"
    assert [shop.execute(remove.encode()).fetchone() for _ in range(2)] == [(True,), (False,)]
    assert names(shop) == ["refund_payment"]


def test_tools_in_use_stay_for_three_turns(shop: Connection) -> None:
    shop.execute("select tool_rag.record_use('c', 1, 'shop', 'list_holidays', '{clerk}')")
    kept = search(shop, ", conversation => 'c'")
    assert kept[-1][0] == "list_holidays"
    assert kept[-1][1].startswith("used in turn 1")
    assert "list_holidays" not in names(shop)
    assert "list_holidays" not in names(shop, ", conversation => 'another'")
    for turn in (2, 3):
        shop.execute(
            "select tool_rag.record_use('c', %s, 'shop', 'refund_payment', '{clerk}')", (turn,)
        )
        assert "list_holidays" in names(shop, ", conversation => 'c'")
    shop.execute("select tool_rag.record_use('c', 4, 'shop', 'refund_payment', '{clerk}')")
    assert "list_holidays" not in names(shop, ", conversation => 'c'")


def test_permission_is_asked_again_for_tools_in_use(shop: Connection) -> None:
    shop.execute("select tool_rag.record_use('c', 1, 'shop', 'list_holidays', '{clerk}')")
    shop.execute("select tool_rag.grant_tools('clerk', 'shop', 'list_*', 'deny')")
    assert "list_holidays" not in names(shop, ", conversation => 'c'")


def test_a_use_twice_noted_is_one(shop: Connection) -> None:
    for _ in range(2):
        shop.execute("select tool_rag.record_use('c', 1, 'shop', 'list_holidays', '{clerk}')")
    assert names(shop, ", conversation => 'c'").count("list_holidays") == 1


def test_a_budget_keeps_tools_whole_and_with_what_they_need(shop: Connection) -> None:
    everything = search(shop, ", conversation => 'c'")
    total = sum(row[3] for row in everything)
    shop.execute("select tool_rag.record_use('c', 1, 'shop', 'list_holidays', '{clerk}')")
    assert names(shop, f", conversation => 'c', token_budget => {total}") == [
        row[0] for row in everything
    ]
    assert "list_holidays" in names(shop, f", conversation => 'c', token_budget => {total * 2}")
    with pytest.raises(psycopg.Error, match="the best tool takes") as caught:
        search(shop, f", token_budget => {total - 1}")
    assert caught.value.sqlstate == "22023"
    assert f"takes {total}" in str(caught.value)


def test_a_shared_need_is_paid_once_and_never_left_out(shop: Connection) -> None:
    shop.execute(
        "select tool_rag.upsert_tools(jsonb_build_object('server', 'other', 'tools',"
        " jsonb_build_array(jsonb_build_object('name', 'money_back_offer', 'description',"
        " 'Money back, money back: ' || repeat('long words indeed ', 200))))),"
        " tool_rag.grant_tools('clerk', 'other', '*'),"
        " tool_rag.add_dependency('other', 'money_back_offer', 'shop', 'find_payment', 'too')"
    )
    found = shop.execute(
        "select name from tool_rag.search_tools('money back', '{clerk}', 2, token_budget => 300)"
    ).fetchall()
    assert {"refund_payment", "find_payment", "find_customer"} <= {name for (name,) in found}
    assert ("money_back_offer",) not in found


@pytest.mark.parametrize(
    ("call", "state"),
    [
        ("record_use('', 1, 'shop', 'find_payment')", "22023"),
        ("record_use('c', -1, 'shop', 'find_payment', '{clerk}')", "22023"),
        ("record_use('c', 1, 'shop', 'nothing', '{clerk}')", "42704"),
        ("add_dependency('shop', 'x', 'shop', 'find_payment', 'r')", "42704"),
        ("add_dependency('shop', 'list_holidays', 'shop', 'find_payment', ' ')", "22023"),
        ("search_tools('x', '{clerk}', token_budget => 0)", "22023"),
    ],
)
def test_bad_arguments_are_refused_with_a_hint(shop: Connection, call: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        shop.execute(f"select tool_rag.{call}".encode())
    assert caught.value.sqlstate == state
    assert caught.value.diag.message_hint


def test_a_tool_can_not_need_itself(shop: Connection) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="can't need itself"):
        shop.execute(
            "select tool_rag.add_dependency('shop', 'audit_log', 'shop', 'audit_log', 'x')"
        )
