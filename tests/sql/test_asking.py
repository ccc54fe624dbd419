"""How people ask: several requests in one, follow-ups, named tools, what no tool serves."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import (
    SHOP,
    Connection,
    add_role,
    add_tool,
    allow,
    column,
    deny,
    fetch,
    found,
    names,
    refused,
    search,
)

PARTS: list[tuple[str, list[str]]] = [
    ("Book a room and then mail the team", ["Book a room", "mail the team"]),
    (
        "Refund order 7; cancel order 8;\nship order 9",
        ["Refund order 7", "cancel order 8", "ship order 9"],
    ),
    (
        "Please:\n1. open an issue\n2) assign it to Bob\n- close the old one",
        ["Please: open an issue", "assign it to Bob", "close the old one"],
    ),
    ("1. open an issue 2. assign it 3. tell Bob", ["open an issue", "assign it", "tell Bob"]),
    (
        "Show the weather in Paris, as well as flights to Rome. Also, book a table",
        ["Show the weather in Paris", "flights to Rome", "book a table"],
    ),
    (
        "list my orders plus my refunds. Additionally, mail them",
        ["list my orders", "my refunds", "mail them"],
    ),
    ("预订一家上海的酒店房间；取消我的机票订单", ["预订一家上海的酒店房间", "取消我的机票订单"]),
    # Code, quotations, addresses and brackets stay whole.
    (
        "Send 'it's done; bye' to Bob, then archive it all",
        ["Send 'it's done; bye' to Bob", "archive it all"],
    ),
    (
        'run `a; b` on "x; also y" and then stop the box',
        ['run `a; b` on "x; also y"', "stop the box"],
    ),
]
PARTS += [
    ("open a pull request; also ban a user", ["open a pull request", "ban a user"]),
    ("- open a pull request\n- also ban a user", ["open a pull request", "ban a user"]),
    ("打开文件；列出问题；合并分支", ["打开文件", "列出问题", "合并分支"]),
    ("read https://x.y/z; list issues now", ["read https://x.y/z", "list issues now"]),
]
WHOLE = [
    "«open it; close it»",
    "„open it; close it“",
    "‘open it; close it’",
    "「打开文件；列出问题」",
    "(first open it; then close it)",
    "see www.example.com/a;b=c",
    "mail mailto:a@b.c;d@e.f",
    "this <code title='a b; c d'> &amp; that &amp; more",
    "Set priority to 1. Move card to 2. done",
    "salt and pepper please",
    "Remind me on May 3. Call John plus 5 minutes",
    "What is 2024-05-06; 2024-05-07",
    'find `a; b` and "x; y; then z" in http://a.b/c;d',
    "the burger also known as Whopper",
    "If it rains then close the roof",
    "tell me 5 plus 3",
    "classify: 'where is my card?'; 'what is my balance?'",
    "do [a; b; c] and {d; e}",
    "```\nfirst line;\nsecond line\n```",
    "; ; ;",
    "refund it; " * 9,
    "open the door; shut the window " + "x" * 2000,
]


@pytest.mark.parametrize(("text", "parts"), PARTS, ids=lambda value: str(value)[:30])
def test_several_requests_are_told_apart(
    connection: Connection, text: str, parts: list[str]
) -> None:
    assert fetch(connection, "select tool_rag._split_request(%s)", text) == parts


@pytest.mark.parametrize("text", WHOLE, ids=lambda text: text[:30])
def test_one_request_stays_whole(connection: Connection, text: str) -> None:
    assert fetch(connection, "select tool_rag._split_request(%s)", text) == [text]


def test_every_part_keeps_its_best(shop: Connection) -> None:
    request = (
        "give the customer money back; what will the weather be; reserve a meeting room; "
        "write an e-mail to somebody"
    )
    best = {"refund_payment", "getForecast", "book_room", "send_mail"}
    assert set(found(shop, request, k=4)) == best
    hits = search(shop, request, k=8)
    assert best <= set(names(hits)[:5])
    by_name = {hit["name"]: hit for hit in hits}
    assert by_name["book_room"]["explain"]["part"] == "reserve a meeting room"
    assert "for: reserve a meeting room" in by_name["book_room"]["reason"]
    whole = search(shop, request, k=8, options={"split": False})
    assert all("part" not in hit["explain"] for hit in whole)
    assert len(search(shop, request, k=2)) == 2


def test_what_earlier_messages_say_counts_where_the_request_says_little(shop: Connection) -> None:
    context = ["Give the customer money back for a charge", "  ", "Which one?"]
    hits = search(shop, "the second one", k=3, context=context)
    assert hits[0]["name"] == "refund_payment"
    assert hits[0]["explain"]["context"] == context[0]
    assert "earlier: Give the customer" in hits[0]["reason"]
    # It stands for itself, whatever was said before.
    request = "What will the weather forecast be for the city of Rome on this very day?"
    assert found(shop, request, k=1, context=context) == ["getForecast"]
    off = search(shop, "the second one", k=3, context=context, options={"context_weight": 0})
    assert all("context" not in hit["explain"] for hit in off)


def test_only_the_last_four_messages_count(shop: Connection) -> None:
    context = ["Give the customer money back for a charge", "aaa", "bbb", "ccc", "ddd"]
    assert found(shop, "zzz qqq", k=1, context=context[:4]) == ["refund_payment"]
    hits = search(shop, "zzz qqq", k=8, context=context)
    assert not any("money" in hit["explain"].get("context", "") for hit in hits)


def test_a_tool_that_is_named_goes_first(shop: Connection) -> None:
    request = "call get_air_quality to see the weather forecast for a city and a day"
    assert found(shop, request, k=3)[0] == "get_air_quality"
    assert found(shop, request, k=1) == ["get_air_quality"]
    assert found(shop, request, k=3, options={"anchor": "none"})[0] == "getForecast"
    # Part of a longer name is no name.
    assert found(shop, request.replace("quality", "quality_v2"), k=1) == ["getForecast"]
    deny(shop, "all", "weather", "get_air_quality")
    assert "get_air_quality" not in found(shop, request, k=8)


def test_names_in_other_words_are_an_option(shop: Connection) -> None:
    add_tool(shop, "desk", "archive_quarterly_report", "Put it away")
    request = "weather forecast for a city and a day, not the quaterly report archive"
    assert found(shop, request, k=1) == ["getForecast"]
    anchored = found(shop, request, k=2, options={"anchor": "words"})
    assert anchored[0] == "archive_quarterly_report"
    assert len(found(shop, request, k=2, options={"anchor": "words"})) == 2


@pytest.mark.parametrize(
    ("left", "right", "alike"),
    [
        ("weather", "weather", True),
        ("wether", "weather", True),
        ("weahter", "weather", True),
        ("weatherr", "weather", True),
        ("meather", "weather", True),
        ("weathes", "weather", True),
        ("wethr", "weather", False),
        ("mail", "male", False),
        ("mail", "mail", True),
        ("orders", "folders", False),
        ("", "weather", False),
    ],
)
def test_one_typo(connection: Connection, left: str, right: str, alike: bool) -> None:
    query = "select tool_rag._within_one_edit(%s, %s)"
    assert fetch(connection, query, left, right) is alike
    assert fetch(connection, query, right, left) is alike


def test_a_request_that_nothing_serves_finds_nothing(shop: Connection) -> None:
    served = "Give a customer money back for a charge"
    assert found(shop, served, min_relevance="0.5")[0] == "refund_payment"
    assert search(shop, "tell me a joke about penguins", min_relevance="0.5") == []
    for hit in search(shop, served, k=8, min_relevance="0.2"):
        assert hit["relevance"] >= 0.2
    assert search(shop, served, min_relevance="0") == search(shop, served)
    # Tools in use stay.
    shop.execute("select tool_rag.record_use('c', 1, 'shop', 'refund_payment', '{all}')")
    assert found(shop, "tell me a joke about penguins", min_relevance="0.5", conversation="c") == [
        "refund_payment"
    ]


def test_relevance_falls_with_what_the_arms_say(connection: Connection) -> None:
    query = "select tool_rag._relevance(%s::float8, %s::float8, 4, 0.1, 500)"
    assert fetch(connection, query, 0.6, 5) > fetch(connection, query, 0.5, 5)
    assert fetch(connection, query, 0.6, 5) > fetch(connection, query, 0.6, 4)
    assert fetch(connection, query, None, None) > 0
    assert fetch(connection, query, -1e9, 0) == pytest.approx(0, abs=1e-12)
    assert fetch(connection, query, 1e9, 1e9) <= 1


def test_what_was_sent_stays_in_place(shop: Connection) -> None:
    options = {"keep_order": True}
    first = [f"{hit['server']}/{hit['name']}" for hit in search(shop, "money back", k=3)]
    assert fetch(shop, "select tool_rag.record_sent('c', %s, '{all}')", first) == 3
    hits = search(shop, "weather forecast", k=2, conversation="c", options=options)
    assert [f"{hit['server']}/{hit['name']}" for hit in hits[:3]] == first
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))
    assert hits[3]["name"] == "getForecast"
    assert "sent before" in hits[0]["reason"]
    sent = [f"{hit['server']}/{hit['name']}" for hit in hits]
    assert fetch(shop, "select tool_rag.record_sent('c', %s, '{all}')", sent) == len(hits) - 3
    again = search(shop, "money back", k=3, conversation="c", options=options)
    assert [f"{hit['server']}/{hit['name']}" for hit in again][: len(sent)] == sent
    # Without the option, and in other conversations, the best goes first.
    assert search(shop, "weather forecast", k=2, conversation="c")[0]["name"] == "getForecast"
    assert (
        search(shop, "weather forecast", k=2, conversation="d", options=options)[0]["name"]
        == "getForecast"
    )
    # What the caller may no longer see goes, whatever it costs.
    deny(shop, "all", "shop")
    left = search(shop, "money back", k=3, conversation="c", options=options)
    assert all(hit["server"] != "shop" for hit in left)


def test_the_budget_is_spent_on_the_best_not_on_what_was_sent(shop: Connection) -> None:
    shop.execute("select tool_rag.record_sent('c', '{desk/set_theme,desk/book_room}', '{all}')")
    best = search(shop, "weather forecast", k=1)[0]
    hits = search(
        shop,
        "weather forecast",
        k=1,
        conversation="c",
        options={"keep_order": True},
        token_budget=best["tokens"],
    )
    assert names(hits) == ["getForecast"]


def test_what_was_sent_is_refused_where_it_can_not_be(shop: Connection) -> None:
    with refused(shop, "42704", "desk/nothing"):
        shop.execute("select tool_rag.record_sent('c', '{desk/nothing}', '{all}')")
    with refused(shop, "22023", "conversation"):
        shop.execute("select tool_rag.record_sent('', '{desk/book_room}', '{all}')")
    with refused(shop, "22023", "its tools"):
        shop.execute("select tool_rag.record_sent('c', '{desk/book_room,null}', '{all}')")
    with refused(shop, "22023", '"refund_payment" is not of the form SERVER/TOOL'):
        shop.execute("select tool_rag.record_sent('c', '{refund_payment}', '{all}')")
    assert fetch(shop, "select tool_rag.record_sent('c', '{}', '{all}')") == 0
    # A model wrote the name: nothing near it is told.
    for call in (
        "record_sent('c', '{desk/set_them}', '{all}')",
        "record_use('c', 1, 'desk', 'set_them', '{all}')",
    ):
        with refused(shop, "42704", 'tool "desk/set_them" does not exist', hint="resolve_tool"):
            shop.execute(f"select tool_rag.{call}".encode())


def test_a_kept_order_does_not_grow_without_end(shop: Connection) -> None:
    for number in range(70):
        add_tool(shop, "long", f"tool_{number}", "Anything at all")
    shop.execute(
        "select tool_rag.record_sent('c', array_agg('long/tool_' || n order by n), '{all}')"
        " from generate_series(0, 69) n"
    )
    hits = search(shop, "money back", k=3, conversation="c", options={"keep_order": True})
    assert len(hits) <= 53
    assert names(hits)[:50] == [f"tool_{number}" for number in range(50)]


def test_what_is_sent_or_used_again_keeps_a_conversation_alive(shop: Connection) -> None:
    for call in (
        "record_sent('a', '{desk/book_room}', '{all}')",
        "record_use('b', 0, 'desk', 'book_room', '{all}')",
    ):
        shop.execute(f"select tool_rag.{call}".encode())
    shop.execute("update tool_rag.tool_sent set sent_at = '2000-01-01'")
    shop.execute("update tool_rag.tool_use set used_at = '2000-01-01'")
    for call in (
        "record_sent('a', '{desk/book_room}', '{all}')",
        "record_use('b', 0, 'desk', 'book_room', '{all}')",
    ):
        shop.execute(f"select tool_rag.{call}".encode())
    assert fetch(shop, "select tool_rag.forget_conversations('2001-01-01')") == 0


def test_silent_conversations_are_forgotten(shop: Connection) -> None:
    shop.execute("select tool_rag.record_sent('a', '{desk/book_room}', '{all}')")
    shop.execute("select tool_rag.record_use('b', 0, 'desk', 'book_room', '{all}')")
    forget = "select tool_rag.forget_conversations(%s, %s)"
    assert fetch(shop, forget, "2000-01-01", None) == 0
    assert fetch(shop, forget, "2100-01-01", "a") == 1
    assert column(shop, "select conversation from tool_rag.tool_use") == ["b"]
    assert fetch(shop, forget, "2100-01-01", None) == 1
    assert column(shop, "select conversation from tool_rag.tool_use") == []
    with refused(shop, "22023", "before is null"):
        shop.execute("select tool_rag.forget_conversations(null)")


# Why not


def missing(connection: Connection, name: str, **arguments: Any) -> tuple[Any, ...]:
    server, tool = name.split("/")
    given = {"query": "money back", "roles": ["all"], "server": server, "tool": tool, **arguments}
    row = connection.execute(
        "select outcome, rank, relevance, reason, detail from tool_rag.explain_missing("
        + ", ".join(f"{key} => %({key})s" for key in given).encode().decode()
        + ")",
        given,
    ).fetchone()
    assert row is not None
    return row


def test_the_printed_relevance_is_enough(shop: Connection) -> None:
    for hit in search(shop, "give a customer money back", k=8):
        kept = search(shop, "give a customer money back", k=8, min_relevance=hit["relevance"])
        assert hit["name"] in names(kept)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_said_of_a_missing_tool_is_true(shop: Connection, seed: int) -> None:
    chance = random.Random(seed)
    words = ["give", "customer", "money", "back", "weather", "city", "reserve", "day;", "also", ";"]
    tools = [f"{server}/{name}" for server, name, *_ in SHOP]
    for _ in range(15):
        how: dict[str, Any] = {
            "k": chance.choice([1, 2, 4]),
            "context": chance.sample(["money back", "weather forecast", "a room"], k=1),
            "token_budget": chance.choice([None, 150, 100_000]),
            "min_relevance": chance.choice([None, 0.1, 0.4]),
        }
        query = " ".join(chance.choices(words, k=chance.randint(2, 9)))
        if not query.strip("; "):
            continue
        try:
            hits = search(shop, query, **how)
        except psycopg.errors.InvalidParameterValue:
            continue
        listed = {f"{hit['server']}/{hit['name']}": hit for hit in hits}
        tool = chance.choice(tools)
        outcome, rank, relevance, reason, detail = missing(shop, tool, query=query, **how)
        assert (outcome == "listed") == (tool in listed)
        if outcome == "listed":
            assert rank == listed[tool]["rank"]
        elif outcome == "below_cut_off":
            assert relevance < how["min_relevance"]
        elif outcome == "over_budget":
            free = search(shop, query, **how | {"token_budget": None})
            assert tool in {f"{hit['server']}/{hit['name']}" for hit in free}
        else:
            assert outcome == "crowded_out"
            if hits:
                last = [hit for hit in hits if hit["score"] is not None][-1]
                assert detail["last"] == f"{last['server']}/{last['name']}"
                assert detail["last"] in reason


def test_why_a_tool_is_missing(shop: Connection) -> None:
    assert missing(shop, "shop/refund_payment")[:2] == ("listed", 1)
    outcome, rank, _, reason, detail = missing(shop, "desk/set_theme", k=2)
    assert outcome == "crowded_out"
    assert rank > 2
    assert "the list ends with " in reason
    assert detail["last"] != "desk/set_theme"
    assert missing(shop, "desk/set_theme", k=8, min_relevance=0.9)[0] == "below_cut_off"
    first, second = search(shop, "money back", k=2)
    over = missing(shop, f"{second['server']}/{second['name']}", k=2, token_budget=first["tokens"])
    assert over[:2] == ("over_budget", 2)
    assert missing(shop, "desk/set_theme", servers=["shop"])[0] == "other_server"


def test_what_roles_may_not_see_is_as_if_it_did_not_exist(shop: Connection) -> None:
    deny(shop, "all", "desk")
    hidden = missing(shop, "desk/set_theme")
    nothing = missing(shop, "desk/set_themes")
    assert hidden[0] == nothing[0] == "not_permitted"
    assert hidden[3] == nothing[3].replace("themes", "theme")
    assert hidden[1:3] + hidden[4:] == nothing[1:3] + nothing[4:]
    assert missing(shop, "desk/set_theme", roles=[])[0] == "not_permitted"
    with refused(shop, "22023", "the query is empty"):
        missing(shop, "desk/set_theme", query=" ")


def test_words_of_hidden_tools_are_to_relevance_as_words_of_none(shop: Connection) -> None:
    # Whoever could tell by the score whether a word stands in a hidden tool could guess its name.
    add_tool(shop, "secret", "zebrafish_layoff", "Plan of next year")
    deny(shop, "all", "secret")
    vector = str(fetch(shop, "select tool_rag.embed('refund a customer')::real[]"))
    hidden, none = (
        [
            (hit["name"], hit["relevance"], hit["score"])
            for hit in search(shop, f"refund a customer {word}", embedding=vector)
        ]
        for word in ("zebrafish_layoff", "quaggamire_layabout")
    )
    assert hidden == none


def test_words_of_hidden_tools_push_no_others_out(shop: Connection) -> None:
    words = " ".join(f"rare{number}" for number in range(90))
    add_tool(shop, "shop", "many_words", words)
    add_tool(shop, "secret", "accrual", "accrual")
    deny(shop, "all", "secret")
    lists = [
        [
            (hit["name"], hit["explain"].get("words", {}).get("matched"))
            for hit in search(shop, f"{words} customer {word}", options={"meaning_weight": 0})
        ]
        for word in ("quaggamire", "accrual")
    ]
    assert lists[0] == lists[1]
    assert len(lists[0]) > 1


def test_words_that_match_nothing(shop: Connection) -> None:
    query = "select tool_rag.unmatched_words(%s, '{all}')"
    request = "the Florps of a customer, florps and colours"
    assert fetch(shop, query, request) == ["florps"]
    # A word of hidden tools only is as unknown as any.
    deny(shop, "all", "desk")
    assert fetch(shop, query, request) == ["florps", "colours"]
    shop.execute("select tool_rag.add_example('shop', 'list_orders', 'how are my florps')")
    assert fetch(shop, query, request) == ["colours"]
    assert fetch(
        shop, "select tool_rag.unmatched_words(%s, '{all}', '{weather}')", "customer city"
    ) == ["customer"]


# Several searches


def test_several_searches_in_one_statement(shop: Connection) -> None:
    rows = shop.execute(
        "select query_number, rank, name from tool_rag.search_tools_batch("
        "array['money back', 'weather forecast', 'reserve a meeting room'], '{all}', '{1,3,2}')"
    ).fetchall()
    assert [row[0] for row in rows] == [1, 2, 2, 2, 3, 3]
    for number, query, k in ((1, "money back", 1), (2, "weather forecast", 3)):
        assert [row[2] for row in rows if row[0] == number] == found(shop, query, k=k)
    assert (
        len(
            shop.execute(
                "select * from tool_rag.search_tools_batch('{money back}', '{all}')"
            ).fetchall()
        )
        == 8
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("null", "there are 0 queries"),
        ("'{}'", "there are 0 queries"),
        ("array_fill('x'::text, '{101}')", "there are 101 queries"),
        ("'{{a,b},{c,d}}'", "there are 4 queries"),
        ("'{a,b}', limits => '{1}'", "there are 1 limits for 2 queries"),
        ("'{a,\" \"}'", "the query is empty"),
        ("'{a}', limits => '{0}'", "k is 0"),
    ],
)
def test_batches_that_can_not_be(shop: Connection, arguments: str, message: str) -> None:
    with refused(shop, "22023", message):
        shop.execute(f"select * from tool_rag.search_tools_batch({arguments})".encode())


# No feature reaches beyond what the caller may see


VERBS = ("list", "get", "delete", "send", "book", "refund", "archive")
NOUNS = ("order", "payment", "room", "mail", "report", "ticket", "invoice")


@pytest.mark.parametrize("seed", range(12))
def test_no_feature_returns_or_names_what_is_not_permitted(
    connection: Connection, seed: int
) -> None:
    chance = random.Random(seed)
    tools = []
    for number in range(40):
        server = f"s{number % 4}"
        # A mark of its own in every text, to be found wherever a tool shows.
        name = f"{chance.choice(VERBS)}_{chance.choice(NOUNS)}_m{number}x"
        add_tool(connection, server, name, f"{name.replace('_', ' ')} of a person")
        tools.append((server, name))
    roles = [f"r{number}" for number in range(4)]
    for number, role in enumerate(roles):
        add_role(connection, role, *chance.sample(roles[:number], k=min(number, 1)))
        for server, name in chance.sample(tools, k=12):
            allow(connection, role, server, name)
        for server, name in chance.sample(tools, k=4):
            deny(connection, role, server, name)
    for server, name in tools:
        if chance.random() < 0.3:
            connection.execute(
                "select tool_rag.add_example(%s, %s, %s)",
                (server, name, f"please {name.replace('_', ' ')} at once"),
            )
        if chance.random() < 0.3:
            connection.execute(
                "select tool_rag.add_synonym(%s, server => %s, tool => %s)",
                (f"handle the {name}", server, name),
            )
    for earlier, later in itertools.pairwise(tools):
        if chance.random() < 0.5:
            connection.execute(
                "select tool_rag.add_dependency(%s, %s, %s, %s, %s)",
                (*later, *earlier, f"its {earlier[1]}"),
            )
    add_role(connection, "everything")
    allow(connection, "everything")
    for turn, (server, name) in enumerate(chance.sample(tools, k=8)):
        connection.execute(
            "select tool_rag.record_use('c', %s, %s, %s, '{everything}')",
            (turn // 3, server, name),
        )
    connection.execute(
        "select tool_rag.record_sent('c', %s, '{everything}')",
        ([f"{s}/{n}" for s, n in chance.sample(tools, k=9)],),
    )
    for _ in range(8):
        asking = chance.sample(roles, k=chance.choice([0, 1, 1, 2, 3]))
        visible = {
            tuple(row)
            for row in connection.execute(
                "select server, name from tool_rag.permitted_tools(%s)", (asking,)
            )
        }
        hidden = [name for server, name in tools if (server, name) not in visible]
        wanted = chance.sample(tools, k=3)
        arguments = {
            "query": "; ".join(name.replace("_", chance.choice("_ ")) for _, name in wanted)
            + chance.choice(["", " again", "; and also book it"]),
            "roles": asking,
            "k": chance.choice([1, 5, 40]),
            "context": [chance.choice(tools)[1].replace("_", " ")],
            "conversation": "c",
            "options": {
                "keep_order": chance.random() < 0.5,
                "exact": chance.random() < 0.5,
                "anchor": chance.choice(["exact", "words", "none"]),
            },
        }
        hits = search(
            connection,
            arguments["query"],
            **{key: value for key, value in arguments.items() if key != "query"},
        )
        assert {(hit["server"], hit["name"]) for hit in hits} <= visible
        if not visible:
            assert hits == []
        told = json.dumps([[hit["reason"], hit["explain"]] for hit in hits])
        # What the caller wrote comes back as the part or the message that led to a tool.
        for own in (arguments["query"], *arguments["context"]):
            for piece in own.split("; "):
                told = told.replace(piece, "")
        for name in hidden:
            mark = name.rsplit("_", 1)[1]
            assert f"_{mark}" not in told, (name, told)
        server, name = chance.choice(tools)
        outcome = missing(connection, f"{server}/{name}", query="book a room", roles=asking)[0]
        assert (outcome == "not_permitted") == ((server, name) not in visible)


def rows(shop: Connection, query: str, *arguments: Any) -> list[Any]:
    return shop.execute(query, arguments).fetchall()


def test_messages_of_a_conversation(shop: Connection) -> None:
    def say(conversation: str, said: str) -> tuple[int, list[str]]:
        (row,) = rows(
            shop, "select turn, context from tool_rag.record_message(%s, %s)", conversation, said
        )
        return row

    assert say("m", "one") == (0, [])
    assert say("other", "elsewhere") == (0, [])
    assert say("m", "two") == (1, ["one"])
    for turn in range(2, 6):
        say("m", f"turn {turn}")
    assert say("m", "x" * 20_000) == (6, ["turn 2", "turn 3", "turn 4", "turn 5"])
    assert [len(said) for said in say("m", "")[1]] == [6, 6, 6, 10_000]
    for wrong in ("null, 'a'", "'', 'a'", "repeat('x', 257), 'a'", "'m', null"):
        with pytest.raises(psycopg.errors.InvalidParameterValue), shop.transaction():
            shop.execute(f"select tool_rag.record_message({wrong})")
    # A use without a number belongs to the last message; three turns later it is out.
    shop.execute("select tool_rag.record_use('m', null, 'desk', 'book_room', '{all}')")
    assert fetch(shop, "select max(turn) from tool_rag.tool_use where conversation = 'm'") == 7
    kept = []
    for _ in range(5):
        say("m", "hi")
        found = rows(
            shop,
            "select name from tool_rag.search_tools('refund a payment', '{all}', k => 1,"
            " conversation => 'm')",
        )
        kept.append(("book_room",) in found)
    assert kept == [True, True, True, False, False]
    assert fetch(shop, "select tool_rag.forget_conversations(now() + interval '1 s', 'm')") == 1
    assert fetch(shop, "select count(*) from tool_rag.message where conversation = 'm'") == 0
    assert say("other", "again") == (1, ["elsewhere"])


def test_servers_of_which_a_caller_may_see_tools(shop: Connection) -> None:
    by_hand = rows(
        shop,
        "select server, count(*), count(*) filter (where is_action)"
        " from tool_rag.permitted_tools('{all}') group by server order by server",
    )
    counted = "select server, tools, actions from tool_rag.permitted_servers('{all}'"
    assert rows(shop, f"{counted})") == by_hand
    assert len(by_hand) > 1
    assert rows(shop, f"""{counted}, '{{"desk": {{"tools": ["book_room"]}}}}')""") == [
        ("desk", 1, 1)
    ]
    assert rows(shop, "select * from tool_rag.permitted_servers('{nobody}')") == []
