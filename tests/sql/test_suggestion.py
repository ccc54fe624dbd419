"""Suggested dependencies: what names and schemas say, and what they do not."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.conftest import column, export, fetch, upsert

Connection = psycopg.Connection[tuple[Any, ...]]


def tool(name: str, *required: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    """A tool that requires parameters: by name, or as {name: schema}."""
    properties: dict[str, Any] = {}
    for parameter in required:
        properties |= {parameter: {}} if isinstance(parameter, str) else parameter
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "input_schema": schema, **more}


def yielding(*properties: str) -> dict[str, Any]:
    """An output schema with a list of objects that have these properties."""
    row = {"type": "object", "properties": {name: {"type": "string"} for name in properties}}
    return {"type": "object", "properties": {"rows": {"type": "array", "items": row}}}


READING = {"readOnlyHint": True}


def suggest(connection: Connection, *tools: dict[str, Any], server: str = "shop") -> list[str]:
    """Replace the server's tools; what is suggested, as "tool parameter < needed tool"."""
    upsert(connection, export(server, *tools))
    return suggested(connection)


def suggested(connection: Connection) -> list[str]:
    return column(
        connection,
        "select format('%s %s < %s', tool, parameter, needs_tool)"
        " from tool_rag.suggest_dependencies()",
    )


@pytest.mark.parametrize(
    ("needy", "giver", "parameter"),
    [
        (tool("cancel_order", "order_id"), tool("list_orders"), "order_id"),
        (tool("cancelOrder", "orderId"), tool("searchOrders", "query"), "orderId"),
        (tool("cancel_order", "order_id"), tool("find_order", "email"), "order_id"),
        (tool("cancel_order", "id_order"), tool("orders.list"), "id_order"),
        (tool("cancel_order", "order"), tool("list_orders"), "order"),
        (tool("cancel_order", "id"), tool("list_orders"), "id"),
        (tool("orders_cancel", "order_id"), tool("orders_list"), "order_id"),
        (tool("shop_cancel_order", "order_id"), tool("shop_list_orders"), "order_id"),
        (tool("pack", {"order_ids": {"type": "array"}}), tool("list_all_orders"), "order_ids"),
        (tool("pack", {"order_id": {"type": ["integer", "null"]}}), tool("get_orders"), "order_id"),
        (tool("merge_customers", "keep_customer_id"), tool("list_customers"), "keep_customer_id"),
        (tool("close_city", "city_id"), tool("list_cities"), "city_id"),
        (tool("cancel_order", "order_id"), tool("list_unpaid_orders"), "order_id"),
        (tool("decide_return", "return_id"), tool("get_return", "order_number"), "return_id"),
        (tool("add_comment", "issue_number"), tool("list_issues"), "issue_number"),
        (
            tool("merge", {"pull_number": {"description": "The pull request number"}}),
            tool("list_pull_requests"),
            "pull_number",
        ),
        # A lookup of another name, but it alone yields the id.
        (
            tool("book_visit", "slot_id"),
            tool("check_calendar", annotations=READING, output_schema=yielding("slotId")),
            "slot_id",
        ),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else value,
)
def test_a_required_id_needs_the_tool_that_finds_it(
    connection: Connection, needy: dict[str, Any], giver: dict[str, Any], parameter: str
) -> None:
    found = suggest(connection, needy, giver, tool("list_holidays"), tool("get_weather", "place"))
    assert found == [f"{needy['name']} {parameter} < {giver['name']}"]


@pytest.mark.parametrize(
    "tools",
    [
        # It asks for what it would give.
        [tool("cancel_order", "order_id"), tool("get_order", "order_id")],
        [tool("cancel_order", "order_id"), tool("search_orders", "order_number")],
        [tool("get_order", "id")],
        # It writes, or is declared to.
        [tool("cancel_order", "order_id"), tool("create_order")],
        [tool("cancel_order", "order_id"), tool("create_orders", output_schema=yielding("id"))],
        [
            tool("cancel_order", "order_id"),
            tool("find_orders", annotations={"readOnlyHint": False}),
        ],
        [
            tool("cancel_order", "order_id"),
            tool("get_orders", annotations={"readOnlyHint": True, "destructiveHint": True}),
        ],
        # It tells of one that is known.
        [tool("cancel_order", "order_id"), tool("get_order_status", "email")],
        # Other things of that name, or parts of them.
        [tool("cancel_order", "order_id"), tool("list_order_items")],
        [tool("react", "comment_id"), tool("list_discussion_comments")],
        [tool("cancel_order", "order_id"), tool("list_drafts", output_schema=yielding("order_id"))],
        # No id of anything that exists.
        [tool("create_order", "order_id"), tool("list_orders")],
        [tool("send_message", "message"), tool("list_messages")],
        [tool("sort", {"order": {"description": "How to sort"}}), tool("list_orders")],
        [tool("sort", {"order": {"enum": ["up", "down"]}}), tool("list_orders")],
        [tool("track", {"order_id": {"default": "last"}}), tool("list_orders")],
        [tool("pack", {"order_id": {"type": "object"}}), tool("list_orders")],
        [tool("read", "page_number"), tool("list_pages")],
        [tool("cancel_order", "order_id", identity_parameters=["order_id"]), tool("list_orders")],
    ],
    ids=lambda tools: "-".join(tool["name"] for tool in tools),
)
def test_what_does_not_give_it_is_not_suggested(
    connection: Connection, tools: list[dict[str, Any]]
) -> None:
    assert suggest(connection, *tools) == []


def test_an_optional_parameter_needs_nothing(connection: Connection) -> None:
    needy = tool("cancel_order", "order_id")
    needy["input_schema"]["required"] = []
    assert suggest(connection, needy, tool("list_orders")) == []


def test_tools_of_other_servers_give_nothing(connection: Connection) -> None:
    suggest(connection, tool("list_orders"), server="archive")
    assert suggest(connection, tool("cancel_order", "order_id")) == []


@pytest.mark.parametrize(
    ("givers", "best"),
    [
        ((tool("get_order", "email"), tool("list_orders", "page")), "list_orders"),
        ((tool("list_orders"), tool("find_orders", output_schema=yielding("id"))), "find_orders"),
        (
            (
                tool("list_orders"),
                tool("get_order", "email", output_schema=yielding("order_id"))
                | {"annotations": READING},
            ),
            "get_order",
        ),
        ((tool("find_orders", "a", "b"), tool("list_orders", "a")), "list_orders"),
        ((tool("list_web_orders"), tool("list_orders")), "list_orders"),
        ((tool("list_orders"), tool("search_orders", annotations=READING)), "search_orders"),
    ],
    ids=["many before one", "output", "output of one", "fewer questions", "exact", "declared"],
)
def test_the_best_of_several_is_suggested_alone(
    connection: Connection, givers: tuple[dict[str, Any], ...], best: str
) -> None:
    found = suggest(connection, tool("cancel_order", "order_id"), *givers)
    assert [line for line in found if line.startswith("cancel_order")] == [
        f"cancel_order order_id < {best}"
    ]


def test_a_tool_of_the_same_kind_comes_before_the_general_one(connection: Connection) -> None:
    found = suggest(
        connection,
        tool("remove_project_user", "user_id"),
        tool("add_project_user", "user_id"),
        tool("list_users"),
        tool("list_project_users"),
    )
    assert found == [
        "remove_project_user user_id < list_project_users",
        "add_project_user user_id < list_users",
    ]


def test_a_pair_of_tools_is_suggested_once(connection: Connection) -> None:
    needy = tool("transfer_money", "from_account_id", "to_account_id")
    assert suggest(connection, needy, tool("list_accounts")) == [
        "transfer_money from_account_id < list_accounts"
    ]


def test_rows_say_why_best_first(connection: Connection) -> None:
    upsert(
        connection,
        [
            export(
                "shop",
                tool("ship_order", "order_id"),
                tool("cancel_order", "order_id"),
                tool("list_orders", output_schema=yielding("id"), annotations=READING),
            ),
            export("desk", tool("close_ticket", "ticket_id"), tool("get_my_tickets")),
        ],
    )
    rows = connection.execute("select * from tool_rag.suggest_dependencies()").fetchall()
    assert [row[:6] for row in rows] == [
        *(
            ("shop", name, "shop", "list_orders", "order_id", "order_id comes from list_orders")
            for name in ("cancel_order", "ship_order")
        ),
        (
            "desk",
            "close_ticket",
            "desk",
            "get_my_tickets",
            "ticket_id",
            "ticket_id comes from get_my_tickets",
        ),
    ]
    confidences = [row[6] for row in rows]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 < confidence < 1 for confidence in confidences)
    limited = "select tool from tool_rag.suggest_dependencies(%s, %s)"
    assert column(connection, limited, "desk", 100) == ["close_ticket"]
    assert column(connection, limited, None, 2) == ["cancel_order", "ship_order"]
    assert len(column(connection, limited, None, None)) == 3
    assert column(connection, limited, "nowhere", None) == []


def accept_all(connection: Connection) -> None:
    connection.execute(
        "select tool_rag.add_dependency(server, tool, needs_server, needs_tool, reason)"
        " from tool_rag.suggest_dependencies(max_rows => null)"
    )


def test_what_a_rule_serves_is_not_suggested_again(connection: Connection) -> None:
    tools = [tool("cancel_order", "order_id"), tool("list_orders"), tool("search_orders", "query")]
    assert suggest(connection, *tools) == ["cancel_order order_id < list_orders"]
    accept_all(connection)
    assert suggested(connection) == []
    connection.execute(
        "select tool_rag.remove_dependency('shop', 'cancel_order', 'shop', 'list_orders'),"
        " tool_rag.add_dependency('shop', 'cancel_order', 'shop', 'search_orders', 'mine')"
    )
    assert suggested(connection) == []


CIRCLE = (
    tool("list_orders", "customer_id"),
    tool("list_customers", "shop_id"),
    tool("list_shops", "order_id"),
)


def test_suggestions_close_no_circle(connection: Connection) -> None:
    assert len(suggest(connection, *CIRCLE)) == 2
    accept_all(connection)
    assert suggested(connection) == []


def test_suggestions_close_no_circle_with_rules(connection: Connection) -> None:
    upsert(
        connection,
        export("shop", tool("cancel_order", "order_id"), tool("list_orders"), "x", "y"),
    )
    assert len(suggested(connection)) == 1
    for needy, needed in (("list_orders", "x"), ("x", "y"), ("y", "cancel_order")):
        connection.execute(
            "select tool_rag.add_dependency('shop', %s, 'shop', %s, 'so')", [needy, needed]
        )
    assert suggested(connection) == []


@pytest.mark.parametrize(
    "statement",
    ["tool set enabled = false where name = %s", "server set enabled = false where name <> %s"],
)
def test_disabled_tools_are_left_out(connection: Connection, statement: str) -> None:
    assert suggest(connection, tool("cancel_order", "order_id"), tool("list_orders"))
    connection.execute(f"update tool_rag.{statement}".encode(), ["list_orders"])
    assert suggested(connection) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"required": 5},
        {"required": [None, 5, {"a": 1}, "", "$", "order_id"], "properties": 5},
        {"required": ["order_id"], "properties": {"order_id": True}},
        {"required": ["order_id"], "properties": {"order_id": {"type": 5, "description": []}}},
    ],
)
def test_schemas_that_are_none_do_no_harm(connection: Connection, schema: dict[str, Any]) -> None:
    needy = {"name": "$", "input_schema": schema, "output_schema": {"properties": [schema]}}
    assert len(suggest(connection, needy, tool("list_orders"))) in (0, 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["list", "get", "find", "cancel", "create"]),
            st.sampled_from(["order", "orders", "customer_orders", "customers", "customer"]),
            st.sets(st.sampled_from(["id", "order_id", "customerId", "order", "query"])),
        ),
        max_size=12,
        unique_by=lambda row: row[:2],
    )
)
def test_all_suggestions_can_be_accepted(
    connection: Connection, rows: list[tuple[str, str, set[str]]]
) -> None:
    tools = [tool(f"{verb}_{noun}", *sorted(asked)) for verb, noun, asked in rows]
    upsert(connection, export("shop", *tools))
    connection.execute("delete from tool_rag.dependency")
    accept_all(connection)
    assert suggested(connection) == []


def test_names_are_read_as_words(connection: Connection) -> None:
    words = "select tool_rag._name_words(%s)"
    assert fetch(connection, words, "getHTTPUser-userIDs_2 ünï.Ort") == [
        "get",
        "http",
        "user",
        "user",
        "ids",
        "2",
        "uni",
        "ort",
    ]
    assert fetch(connection, words, "") == []
    same = "select tool_rag._singular(array[%s]) = tool_rag._singular(array[%s])"
    for one, many in (
        ("order", "orders"),
        ("city", "cities"),
        ("movie", "movies"),
        ("address", "addresses"),
        ("status", "statuses"),
        ("branch", "branches"),
        ("cache", "caches"),
        ("person", "people"),
    ):
        assert fetch(connection, same, one, many), one
    parsed = "select verb, noun, area, is_lookup, is_many from tool_rag._parse_tool_name(%s, %s)"
    for name, result in (
        ("list_open_orders_of_shop", ("list", ["order"], ["shop"], True, True)),
        ("shop_orders_get", ("get", ["order"], [], True, True)),
        ("get_order_by_email", ("get", ["order"], [], True, False)),
        ("getOrderStatus", ("get", ["order"], [], False, False)),
        ("frobnicate", ("frobnicate", [], [], False, False)),
        ("", (None, [], [], None, None)),
    ):
        assert connection.execute(parsed.encode(), [name, "shop"]).fetchone() == result, name


def test_a_server_of_two_thousand_tools_is_read_in_time(connection: Connection) -> None:
    # Half of the tools list what the others ask for; a second or two, unless pairs go unbounded.
    upsert(
        connection,
        export(
            "shop",
            *(tool(f"list_kind{number}_orders", "page") for number in range(1000)),
            *(tool(f"pack{number}", "order_id", "item_id") for number in range(1000)),
        ),
    )
    started = time.monotonic()
    assert suggested(connection) == []
    assert time.monotonic() - started < 20
