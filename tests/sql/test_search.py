"""sql/functions/080_search.sql: the contract of search_tools, and what its users complain of."""

from __future__ import annotations

import json
import random
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.conftest import (
    COLUMNS,
    SHOP,
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
    names,
    refused,
    schema_of,
    search,
    undone,
    upsert,
)
from tests.sql.test_text import CHARACTERS, SCRIPTS

EVERYTHING = {(server, name) for server, name, *_ in SHOP}


def test_the_columns_are_those_of_the_contract(shop: Connection) -> None:
    cursor = shop.execute(
        "select * from tool_rag.search_tools(query => 'refund', roles => '{all}')"
    )
    assert cursor.description is not None
    assert tuple(item.name for item in cursor.description) == COLUMNS
    assert fetch(
        shop,
        "select pg_get_function_arguments(oid) from pg_proc"
        " where pronamespace = 'tool_rag'::regnamespace and proname = 'search_tools'",
    ).startswith("query text, roles text[] DEFAULT NULL::text[], k integer DEFAULT 8, embedding")


def test_every_column_says_what_it_should(connection: Connection) -> None:
    upsert(
        connection,
        export(
            "shop",
            {
                "name": "refund_payment",
                "title": "Refund",
                "description": "Give a customer money back",
                "input_schema": schema_of("charge"),
                "annotations": {"readOnlyHint": True},
            },
            "other",
        ),
    )
    add_role(connection, "all")
    allow(connection, "all")
    hits = search(connection, "give the money back", k=2)
    assert [hit["rank"] for hit in hits] == [1, 2]
    first = hits[0]
    assert first["server"] == "shop"
    assert first["name"] == "refund_payment"
    assert first["title"] == "Refund"
    assert first["description"] == "Give a customer money back"
    assert first["input_schema"] == schema_of("charge")
    assert first["is_action"] is False
    assert hits[1]["is_action"] is True
    assert 0 < first["relevance"] <= 1
    assert first["score"] > hits[1]["score"] > 0
    assert first["tokens"] == fetch(
        connection, "select token_count from tool_rag.tool where name = 'refund_payment'"
    )


NO_NUMBERS: tuple[Any, ...] = ("abc", "5", True, None, [], {}, -0.1, 1000.5, 10**400)
WRONG_OPTIONS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"options": {name: value}}, "22023", f"options.{name} is not a number from 0 to 1000", "")
    for name in ("rrf_k", "words_weight", "meaning_weight", "score_weight", "context_weight")
    for value in NO_NUMBERS
]
ERRORS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"query": None}, "22023", "the query is empty", "user's own words"),
    ({"query": ""}, "22023", "the query is empty", "user's own words"),
    ({"query": " \n\t\r\f "}, "22023", "the query is empty", "user's own words"),
    ({"query": "x" * 20_001}, "22023", "the query has 20001 characters", "without the documents"),
    ({"query": "天" * 20_001}, "22023", "the query has 20001 characters", "without the documents"),
    ({"k": 0}, "22023", "k is 0 instead of 1 to 1000", "number of tools"),
    ({"k": -5}, "22023", "k is -5 instead of 1 to 1000", "number of tools"),
    ({"k": 1001}, "22023", "k is 1001 instead of 1 to 1000", "number of tools"),
    ({"k": 2**31 - 1}, "22023", "k is 2147483647 instead", "number of tools"),
    ({"k": None}, "22023", "k is null instead of 1 to 1000", "number of tools"),
    ({"options": {"depth": 5}}, "22023", 'options has no "depth"', "It takes anchor, model, "),
    ({"options": {"exact": True, "Exact": 1}}, "22023", 'options has no "Exact"', "It takes"),
    ({"options": {"exact": "true"}}, "22023", "options.exact is not true or false", ""),
    ({"options": {"exact": 1}}, "22023", "options.exact is not true or false", ""),
    ({"options": {"exact": None}}, "22023", "options.exact is not true or false", ""),
    *WRONG_OPTIONS,
    ({"options": []}, "22023", "options is not a JSON object", "for example"),
    ({"options": 5}, "22023", "options is not a JSON object", "for example"),
    ({"options": "exact"}, "22023", "options is not a JSON object", "for example"),
    ({"embedding": "[1,2]"}, "22000", "the embedding has 2 dimensions", "Leave it out"),
    ({"embedding": str([1.0] * 384)}, "22000", "the embedding has 384 dimensions", "Leave it out"),
    ({"embedding": str([0.0] * 256)}, "22000", "the embedding has no direction", "Leave it out"),
    ({"token_budget": 0}, "22023", "token_budget is 0 instead of at least 1", "Leave it out"),
    ({"min_relevance": -0.1}, "22023", "min_relevance is -0.1 instead of 0 to 1", "Leave it out"),
    ({"min_relevance": "1.5"}, "22023", "min_relevance is 1.5 instead of 0 to 1", "Leave it out"),
    ({"min_relevance": "NaN"}, "22023", "min_relevance is NaN instead of 0 to 1", "Leave it out"),
    ({"options": {"split": "yes"}}, "22023", "options.split is not true or false", "for example"),
    ({"options": {"anchor": "all"}}, "22023", 'options.anchor is not "exact", "words"', "go first"),
]


@pytest.mark.parametrize(
    ("arguments", "sqlstate", "message", "hint"),
    ERRORS,
    ids=lambda value: str(value)[:50] if isinstance(value, dict) else "",
)
def test_arguments_that_can_not_be_meant(
    shop: Connection, arguments: dict[str, Any], sqlstate: str, message: str, hint: str
) -> None:
    given = {"query": "refund", **arguments}
    with refused(shop, sqlstate, message, hint=hint):
        search(shop, given.pop("query"), **given)
    # Also where there is nothing to find: an error is never an empty answer.
    given = {"query": "refund", **arguments}
    with refused(shop, sqlstate, message, hint=hint):
        search(shop, given.pop("query"), roles=[], **given)


def test_options_null_is_refused(shop: Connection) -> None:
    with refused(shop, "22023", "options is not a JSON object", hint="for example"):
        shop.execute("select * from tool_rag.search_tools('x', '{all}', options => null)")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_vector_of_what_is_no_number(shop: Connection, value: str) -> None:
    with undone(shop), pytest.raises(psycopg.errors.DataException):
        search(shop, "refund", embedding=f"[{value}{',0' * 255}]")
    with undone(shop), pytest.raises(psycopg.errors.DataException):
        shop.execute(
            "select * from tool_rag.search_tools('x', '{all}',"
            " embedding => array_fill(%s::real, array[256])::vector)",
            [value],
        )


def test_arguments_left_null_are_as_left_out(shop: Connection) -> None:
    usual = search(shop, "refund")
    assert search(shop, "refund", servers=None, embedding=None, token_budget=None) == usual
    assert search(shop, "refund", context=None, conversation=None, min_relevance=None) == usual
    assert search(shop, "refund", context=[], options={}) == usual


def test_the_callers_vector_stands_for_its_own(shop: Connection) -> None:
    query = "give the money back"
    vector = fetch(shop, "select tool_rag.embed(%s)::real[]", query)
    usual = search(shop, query, k=8)
    for factor in (1, 0.001, 5, 1e6, 1e18):
        scaled = search(shop, query, k=8, embedding=str([factor * x for x in vector]))
        # Only its direction counts.
        assert names(scaled) == names(usual)
        for hit, same in zip(scaled, usual, strict=True):
            assert hit["relevance"] == pytest.approx(same["relevance"], abs=2e-3)
    # Words of one request, meaning of another.
    weather = str(fetch(shop, "select tool_rag.embed('weather forecast')::real[]"))
    assert search(shop, query, k=8, embedding=weather)[0]["explain"]["words"]
    assert found(shop, "\U00012000", embedding=weather)[0] == "getForecast"
    turned = search(shop, query, k=8, embedding=str([-x for x in vector]))
    assert all(0 <= hit["relevance"] <= 1 for hit in turned)


def test_relevance_is_a_fraction(shop: Connection) -> None:
    for request in ("Give a customer money back for a charge", "weather", "zzz", "qwertyuiop !?"):
        for hit in search(shop, request, k=100):
            assert 0 <= hit["relevance"] <= 1
    relevant = search(shop, "weather forecast for a city and a day")[0]["relevance"]
    assert relevant > 0.6
    assert relevant > search(shop, "how to knit a sweater")[0]["relevance"] + 0.2


# What users complain of elsewhere (one test a complaint).


@pytest.mark.parametrize(
    ("request_text", "name"),
    [
        ("this customer got charged twice, give them their money back", "refund_payment"),
        ("Refund a payment to the customer", "refund_payment"),
        ("I don't need it any more, please cancel my order before it ships", "cancel_order"),
        ("is it going to rain in Paris tomorrow?", "getForecast"),
        ("I can hardly breathe outside, is the air bad here?", "get_air_quality"),
        ("we'd like to sit together at three, find us a room for the meeting", "book_room"),
        ("drop Anna a line that I am late; an e-mail will do", "send_mail"),
        ("make my screen dark, the colours hurt", "set_theme"),
    ],
)
def test_people_ask_in_sentences(shop: Connection, request_text: str, name: str) -> None:
    # No tool has all these words, which a conjunction of them would demand.
    assert found(shop, request_text)[0] == name


@pytest.mark.parametrize(
    "request_text",
    ["getForecast", "call getForecast now", "GETFORECAST", "get forecast", "get_forecast please"],
)
def test_a_tool_is_found_by_its_name(shop: Connection, request_text: str) -> None:
    first = search(shop, request_text)[0]
    assert first["name"] == "getForecast"
    assert first["explain"]["words"]["rank"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "create_pull_request",
        "createPullRequest",
        "CreatePullRequest",
        "create-pull-request",
        "github.create.pull.request",
        "pulls/create",
        "v2:createPR",
        "S3PutObjectV2",
        "x" * 200,
        "查询天气",
        "naïve_tool",
    ],
)
def test_a_name_in_any_style_is_found_exactly(shop: Connection, name: str) -> None:
    add_tool(shop, "elsewhere", name, "Something that the request does not speak of")
    assert found(shop, f"please run {name} for me")[0] == name


def test_the_is_not_in_theme(shop: Connection) -> None:
    for config in ("english", "simple"):
        shop.execute(
            "update tool_rag.ranking_setting set text_search_config = %s::regconfig", [config]
        )
        for request in ("the", "the the the", "what is the weather", "them"):
            by_words = [hit["name"] for hit in search(shop, request) if "words" in hit["explain"]]
            assert "set_theme" not in by_words
    assert found(shop, "theme")[0] == "set_theme"


def test_a_common_verb_does_not_outrank_the_right_tool(connection: Connection) -> None:
    for thing in ("orders", "users", "files", "cities", "rooms", "songs"):
        add_tool(connection, "s", f"get_{thing}", f"Get the {thing} that you get to get")
    add_tool(connection, "s", "zeppelin_fare", "Price of a flight by zeppelin")
    add_role(connection, "all")
    allow(connection, "all")
    assert found(connection, "get get get the fare of a zeppelin")[0] == "zeppelin_fare"


@pytest.mark.parametrize(("request_text", "name", "description"), SCRIPTS)
def test_any_script_is_found(
    shop: Connection, request_text: str, name: str, description: str
) -> None:
    add_tool(shop, "world", name, description)
    first = search(shop, request_text)[0]
    assert first["name"] == name
    assert first["explain"]["words"]["rank"] == 1
    assert first["explain"]["words"]["matched"]


@pytest.mark.parametrize(
    ("description", "request_text"),
    [
        ("Réserver une chambre d'hôtel", "RESERVER hotel"),
        ("reserver hotel", "réserver hôtel"),
        ("Größe ändern", "grosse andern größe"),
        ("Ёжик рисует", "ежик"),
        ("ＦＵＬＬＷＩＤＴＨ converter", "fullwidth"),
        ("カメラを起動", "ｶﾒﾗ"),
        ("ﬁnd oﬃce", "find office"),
        ("İstanbul'da otel", "istanbul"),
        ("Ångström", "angstrom"),
        ("东京天气", "東京の天気"),
        ("日本語", "日本"),
    ],
)
def test_forms_of_letters_are_one(shop: Connection, description: str, request_text: str) -> None:
    add_tool(shop, "world", "zz", description)
    hits = {hit["name"]: hit["explain"] for hit in search(shop, request_text)}
    assert "words" in hits["zz"]


def test_without_words_in_common_meaning_ranks_alone(shop: Connection) -> None:
    hits = search(shop, "reimbursement", k=3)
    assert hits[0]["name"] == "refund_payment"
    for hit in hits:
        assert "words" not in hit["explain"]
        assert hit["explain"]["meaning"]["rank"] == hit["rank"]
        assert not hit["reason"].startswith("words")


def test_without_a_vector_words_rank_alone(shop: Connection) -> None:
    for number in range(3):
        add_tool(shop, "cuneiform", f"\U00012000{number}", "\U00012001 " * (number + 1))
    hits = search(shop, "\U00012001")
    assert names(hits) != []
    assert all(hit["server"] == "cuneiform" for hit in hits)
    for hit in hits:
        assert "meaning" not in hit["explain"]
        assert hit["explain"]["words"]["rank"] == hit["rank"]
        assert 0 < hit["relevance"] < 1


@pytest.mark.parametrize("request_text", ["\U0001f996\U0001f996", "\u200b", "\U00012345", "\x01"])
def test_what_says_nothing_finds_nothing(shop: Connection, request_text: str) -> None:
    assert search(shop, request_text) == []
    assert search(shop, request_text, token_budget=500, conversation="c") == []


def test_a_limit_counts_only_what_is_permitted(shop: Connection) -> None:
    for number in range(50):
        add_tool(shop, "secret", f"refund_payment_{number}", "Give a customer money back")
    deny(shop, "all", "secret")
    hits = search(shop, "give a customer money back for a charge", k=8)
    assert len(hits) == 8
    assert hits[0]["name"] == "refund_payment"
    assert {(hit["server"], hit["name"]) for hit in hits} == EVERYTHING


def test_two_servers_with_one_name(shop: Connection) -> None:
    add_tool(shop, "zoo", "refund_payment", "Give a visitor of the zoo money back")
    hits = search(shop, "refund a payment", k=9)
    assert {(hit["server"], hit["name"]) for hit in hits} == EVERYTHING | {
        ("zoo", "refund_payment")
    }


# Order


def test_equal_tools_come_in_the_order_of_their_ids(connection: Connection) -> None:
    add_role(connection, "all")
    allow(connection, "all")
    chance = random.Random(3)
    servers = [f"s{number:02}" for number in range(30)]
    chance.shuffle(servers)
    connection.execute("update tool_rag.ranking_setting set server_weight = 0")
    # Without a vector: that of a text may differ in its last bits.
    for server in servers:
        add_tool(connection, server, "\U00012000", "\U00012001 \U00012002", {})
    hits = search(connection, "\U00012001", k=30)
    assert [hit["server"] for hit in hits] == servers
    assert len({hit["score"] for hit in hits}) == 30
    assert {hit["explain"]["words"]["score"] for hit in hits} == {
        hits[0]["explain"]["words"]["score"]
    }
    # Rewritten rows lie elsewhere in the table; their ids are the same.
    connection.execute("update tool_rag.tool set annotations = '{\"x\": 1}' where tool_id % 3 = 0")
    connection.execute("update tool_rag.tool set description = description || ' ' ")
    assert [hit["server"] for hit in search(connection, "\U00012001", k=30)] == servers


def test_the_answer_is_the_same_each_time(shop: Connection) -> None:
    for request in ("refund", "get the weather", "write a letter to the customer"):
        first = search(shop, request, k=8)
        for _ in range(5):
            assert search(shop, request, k=8) == first
        for setting in ("enable_indexscan = off", "enable_seqscan = off", "enable_sort = off"):
            with undone(shop):
                shop.execute(f"set local {setting}".encode())
                assert search(shop, request, k=8) == first


def test_the_answer_does_not_depend_on_what_happened_before(shop: Connection) -> None:
    requests = ("refund", "get the weather", "write a letter to the customer")
    before = [search(shop, request, k=8) for request in requests]
    for number in range(60):
        add_tool(shop, "noise", f"refund_weather_{number}", "letter to the customer " * number)
    assert [search(shop, request, k=8) for request in requests] != before
    shop.execute("delete from tool_rag.server where name = 'noise'")
    assert [search(shop, request, k=8) for request in requests] == before
    shop.execute("select tool_rag.reindex_tools()")
    assert [names(search(shop, request, k=8)) for request in requests] == [
        names(hits) for hits in before
    ]
    # The same tools, put in the other way round.
    shop.execute("truncate tool_rag.server cascade")
    for server, name, description, parameters in reversed(SHOP):
        add_tool(shop, server, name, description, schema_of(*parameters))
    assert [names(search(shop, request, k=8)) for request in requests] == [
        names(hits) for hits in before
    ]


def test_fewer_are_the_first_of_more(shop: Connection) -> None:
    for request in ("refund", "the weather in a city", "room"):
        every = search(shop, request, k=1000)
        assert {(hit["server"], hit["name"]) for hit in every} == EVERYTHING
        assert [hit["rank"] for hit in every] == list(range(1, 9))
        assert [hit["score"] for hit in every] == sorted(
            (hit["score"] for hit in every), reverse=True
        )
        for k in range(1, 9):
            assert search(shop, request, k=k) == every[:k]
        assert search(shop, request) == every


def test_exact_is_the_usual_answer_where_tools_are_few(shop: Connection) -> None:
    for request in ("refund", "the weather in a city", "room", "qwertyuiop"):
        assert search(shop, request, options={"exact": True}) == search(shop, request)
        assert search(shop, request, options={"exact": False}) == search(shop, request)


# Fusion


def fuse(hits: list[dict[str, Any]], **options: float) -> dict[str, float]:
    """Reciprocal rank fusion and a share of the scores, from what the rows themselves explain."""
    rrf_k, share = options.get("rrf_k", 5), options.get("score_weight", 0.3)
    fused: dict[str, float] = {}
    for arm in ("words", "meaning"):
        weight = options.get(f"{arm}_weight", 1)
        ranked = [hit for hit in hits if arm in hit["explain"]]
        best = max((hit["explain"][arm]["score"] for hit in ranked), default=0)
        for hit in ranked:
            rank, score = hit["explain"][arm]["rank"], hit["explain"][arm]["score"]
            fused[hit["name"]] = fused.get(hit["name"], 0) + weight * (
                1 / (rrf_k + rank) + share * max(score, 0) / best / 2
            )
    return fused


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rrf_k": 60},
        {"rrf_k": 0},
        {"rrf_k": 10, "score_weight": 0},
        {"score_weight": 2},
        {"words_weight": 3},
        {"meaning_weight": 0.25},
        {"rrf_k": 1000, "score_weight": 0, "words_weight": 0.5},
    ],
)
def test_the_score_is_that_of_the_formula(shop: Connection, options: dict[str, float]) -> None:
    for request in ("give the customer money back", "weather", "book a room for the customer"):
        hits = search(shop, request, k=100, options=options)
        assert {hit["name"]: hit["score"] for hit in hits} == pytest.approx(
            fuse(hits, **options), rel=2e-3
        )


def test_one_arm_alone(shop: Connection) -> None:
    request = "give the customer money back"
    by_words = search(shop, request, k=100, options={"meaning_weight": 0})
    assert [hit["explain"]["words"]["rank"] for hit in by_words] == [
        hit["rank"] for hit in by_words
    ]
    assert len(by_words) < 8
    by_meaning = search(shop, request, k=100, options={"words_weight": 0})
    assert [hit["explain"]["meaning"]["rank"] for hit in by_meaning] == list(range(1, 9))
    scores = [hit["explain"]["meaning"]["score"] for hit in by_meaning]
    assert scores == sorted(scores, reverse=True)
    assert search(shop, request, options={"words_weight": 0, "meaning_weight": 0}) == []


# Reasons


def test_the_reason_names_words_meaning_and_rule(shop: Connection) -> None:
    hit = search(shop, "Orders of customers, LISTED!", k=1)[0]
    assert hit["name"] == "list_orders"
    assert hit["explain"]["words"]["matched"] == ["customers", "listed", "orders"]
    similarity = hit["explain"]["meaning"]["score"]
    assert 0 < similarity < 1
    assert hit["explain"]["grant"] == {"role": "all", "rule": "*/*"}
    assert hit["reason"] == (
        f"words: customers, listed, orders; meaning: {similarity:.2f}; allowed to all by */*"
    )


@pytest.mark.parametrize(
    ("request_text", "matched"),
    [
        ("날씨 want weather windy wide", ["weather", "wide", "windy"]),
        ("天気 weather 東京 wide", ["weather", "wide"]),
        ("weather... WIDE?! (windy)", ["weather", "wide", "windy"]),
        ("the weatherWindy of it", ["weather", "weatherwindy", "windy"]),
        ("wétter weäther wide", ["weather", "wide"]),
        ("weather weather weather", ["weather"]),
        ("ภาษา wide windy", ["wide", "windy"]),
        ("  \n weather  \t wide ", ["weather", "wide"]),
        ("why 😀 windy", ["windy"]),
    ],
)
def test_matched_words_are_the_requests_own(
    connection: Connection, request_text: str, matched: list[str]
) -> None:
    add_tool(connection, "s", "weather_windy", "windy wide weatherWindy")
    add_tool(connection, "s", "other", "something else")
    add_role(connection, "all")
    allow(connection, "all")
    first = search(connection, request_text)[0]
    assert first["name"] == "weather_windy"
    assert first["explain"]["words"]["matched"] == matched


def test_matched_words_are_shown_as_asked_not_as_stems(shop: Connection) -> None:
    hits = search(shop, "colouring the meetings of reserved emails", k=8)
    shown = {word for hit in hits for word in hit["explain"].get("words", {}).get("matched", [])}
    assert shown == {"colouring", "meetings", "reserved"}


def test_the_grant_is_one_that_allows(connection: Connection) -> None:
    add_tool(connection, "s", "a", "zebra")
    for role in ("one", "two", "three"):
        add_role(connection, role)
    add_role(connection, "heir", "one")
    past = fetch(connection, "select now() - interval '1 day'")
    soon = fetch(connection, "select now() + interval '1 day'")
    allow(connection, "two", "*", "a", until=past)
    allow(connection, "three", "s", "nothing")
    assert search(connection, "zebra", ["one", "two", "three"]) == []
    allow(connection, "one", "s*", "a", until=soon)
    for roles in (["heir"], ["two", "three", "heir"], ["one", "two"]):
        hit = search(connection, "zebra", roles)[0]
        grant = hit["explain"]["grant"]
        assert (grant["role"], grant["rule"]) == ("one", "s*/a")
        assert grant["valid_until"][:10] == soon.astimezone().isoformat()[:10]
        assert hit["reason"].endswith("allowed to one by s*/a")
    # One that never ends says more than one that does.
    allow(connection, "one")
    assert search(connection, "zebra", ["one"])[0]["explain"]["grant"] == {
        "role": "one",
        "rule": "*/*",
    }


def test_every_row_names_a_grant(shop: Connection) -> None:
    add_role(shop, "desk")
    allow(shop, "desk", "desk")
    for hit in search(shop, "anything", ["desk", "all", "nobody"], k=100):
        grant = hit["explain"]["grant"]
        allowed = column(
            shop,
            "select permitted from tool_rag.explain_access(%s, %s, %s)",
            grant["role"],
            hit["server"],
            hit["name"],
        )
        assert set(allowed) == {True}


# Which tools


def test_servers_are_chosen_by_pattern(shop: Connection) -> None:
    def servers(*patterns: str | None) -> set[str]:
        return {hit["server"] for hit in search(shop, "get", k=100, servers=list(patterns))}

    assert servers("shop") == {"shop"}
    assert servers("shop", "desk") == {"shop", "desk"}
    assert servers("*") == {"shop", "desk", "weather"}
    assert servers("*e*") == {"desk", "weather"}
    assert servers("s*", "nowhere") == {"shop"}
    for nothing in ((), ("nowhere",), ("Shop",), ("shop/*",), ("%",), ("sho_",), ("",), (None,)):
        assert servers(*nothing) == set()
    assert search(shop, "get", [], servers=["*"]) == []


def test_what_is_disabled_is_gone_at_once(shop: Connection) -> None:
    request = "give a customer money back"
    assert found(shop, request)[0] == "refund_payment"
    shop.execute("update tool_rag.tool set enabled = false where name = 'refund_payment'")
    assert "refund_payment" not in found(shop, request)
    shop.execute("update tool_rag.tool set enabled = true")
    assert found(shop, request)[0] == "refund_payment"
    shop.execute("update tool_rag.server set enabled = false where name = 'shop'")
    assert {hit["server"] for hit in search(shop, request)} == {"desk", "weather"}
    shop.execute("update tool_rag.server set enabled = true")
    assert found(shop, request)[0] == "refund_payment"
    shop.execute("delete from tool_rag.server where name = 'shop'")
    assert {hit["server"] for hit in search(shop, request)} == {"desk", "weather"}


def test_an_edit_by_plain_sql_is_seen_in_its_transaction(shop: Connection) -> None:
    request = "photosynthesis of ferns"
    assert "words" not in search(shop, request)[0]["explain"]
    shop.execute(
        "update tool_rag.tool set description = 'Photosynthesis of ferns' where name = 'book_room'"
    )
    first = search(shop, request)[0]
    assert first["name"] == "book_room"
    assert first["relevance"] > 0.6
    shop.execute("update tool_rag.tool set name = 'fern' where name = 'set_theme'")
    assert set(found(shop, request, k=2)) == {"book_room", "fern"}
    add_tool(shop, "garden", "ferns", "Photosynthesis of ferns")
    assert "ferns" in found(shop, request, k=2)
    shop.execute("delete from tool_rag.tool where name = 'ferns'")
    assert "ferns" not in found(shop, request, k=100)


def test_a_parameter_its_text_and_its_values_find_a_tool(shop: Connection) -> None:
    shop.execute(
        "update tool_rag.tool set input_schema = %s where name = 'book_room'",
        [
            json.dumps(
                {
                    "properties": {
                        "beamerNeeded": {"type": "boolean", "description": "With a loudspeaker"},
                        "floor": {"enum": ["basement", "rooftop"]},
                    }
                }
            )
        ],
    )
    for request in ("beamer", "beamerNeeded", "loudspeakers", "rooftop"):
        first = search(shop, request)[0]
        assert first["name"] == "book_room"
        assert first["explain"]["words"]["rank"] == 1


def test_a_server_finds_its_tools(shop: Connection) -> None:
    assert {hit["server"] for hit in search(shop, "weather", k=2)} == {"weather"}
    shop.execute("update tool_rag.server set name = 'xylophone' where name = 'desk'")
    by_words = [hit for hit in search(shop, "xylophone") if "words" in hit["explain"]]
    assert {hit["server"] for hit in by_words} == {"xylophone"}
    assert len(by_words) == 3


# Odd requests


ODD_REQUESTS = (
    "'; drop table tool_rag.tool; --",
    "' or 1=1 --",
    "%s %(x)s {0} :x $1 \\",
    "select * from tool_rag.search_tools('x')",
    "a & b | !c <-> d:*",
    "'a' 'b' \"c\"",
    "😀😀😀",
    "\x01\x02\x1b[31m red",
    "\u202eback\u202c",
    "مرحبا שלום abc",
    "e" + "\u0301" * 500,
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "NaN Infinity -1e400",
    "null",
    "the of and",
    "?" * 5000,
    "\ufffe\uffff",
    "\U0010ffff",
    "x" * 20_000,
    "word " * 4000,
    "天" * 20_000,
    "天気予報" * 5000,
    "aB" * 10_000,
    "ก่อน" * 5000,
    " ".join(f"w{number}" for number in range(2500)),
)


@pytest.mark.parametrize("request_text", ODD_REQUESTS, ids=lambda text: ascii(text)[:30])
def test_odd_requests_are_only_text(shop: Connection, request_text: str) -> None:
    # No measurement: more than a bounded amount of work would take minutes.
    shop.execute("set local statement_timeout = '20s'")
    hits = search(shop, request_text[:20_000], k=100)
    assert {(hit["server"], hit["name"]) for hit in hits} <= EVERYTHING
    assert search(shop, request_text[:20_000], roles=["nobody"]) == []
    assert fetch(shop, "select count(*) from tool_rag.tool") == 8


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(CHARACTERS, max_size=60), k=st.integers(1, 20))
def test_any_request_gets_an_answer(shop: Connection, text: str, k: int) -> None:
    add_role(shop, "desk")
    allow(shop, "desk", "desk")
    request = f"a{text}"
    hits = search(shop, request, ["desk"], k=k)
    assert len(hits) <= k
    assert {hit["server"] for hit in hits} <= {"desk"}
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))
    assert search(shop, request, ["desk"], k=k) == hits
    assert search(shop, request, [], k=k) == []


TOOL_TEXTS = st.lists(
    st.tuples(st.text(CHARACTERS, min_size=1, max_size=20), st.text(CHARACTERS, max_size=60)),
    min_size=1,
    max_size=6,
    unique_by=lambda tool: tool[0],
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tools=TOOL_TEXTS, data=st.data())
def test_any_tool_is_found_by_its_own_text(
    shop: Connection, tools: list[tuple[str, str]], data: st.DataObject
) -> None:
    with undone(shop):
        server = add_server(shop, "any")
        for name, description in tools:
            shop.execute(
                "insert into tool_rag.tool (server_id, name, description) values (%s, %s, %s)",
                [server, name, description],
            )
        name, description = data.draw(st.sampled_from(tools))
        request = f"{name} {description}"
        known = fetch(
            shop,
            "select tool_rag.embed(%s) is not null"
            " or exists (select from tool_rag._read_query(%s) where lexeme_ids is not null)",
            request,
            request,
        )
        if known and request.strip():
            assert ("any", name) in {
                (hit["server"], hit["name"]) for hit in search(shop, request, k=100)
            }


# Whence it may be called


def test_a_read_only_transaction(shop: Connection) -> None:
    shop.execute("set transaction read only")
    assert found(shop, "give a customer money back")[0] == "refund_payment"
    assert len(column(shop, "select name from tool_rag.permitted_tools('{all}')")) == 8
    assert fetch(
        shop, "select permitted from tool_rag.explain_access('all', 'shop', 'list_orders')"
    )
    assert fetch(shop, "select tool_rag.embed('x') is not null")
    with undone(shop), pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        add_tool(shop, "shop", "a")


def test_another_search_path_and_other_settings_change_nothing(shop: Connection) -> None:
    usual = search(shop, "give a customer money back", k=8)
    for setting in (
        "search_path = ''",
        "search_path = pg_temp",
        "default_text_search_config = 'simple'",
        "standard_conforming_strings = off",
        "enable_hashjoin = off",
        "jit = on",
        "work_mem = '64kB'",
        "plan_cache_mode = force_custom_plan",
        "hnsw.ef_search = 1",
        "statement_timeout = '1min'",
        "datestyle = 'German'",
    ):
        with undone(shop):
            shop.execute(f"set local {setting}".encode())
            assert search(shop, "give a customer money back", k=8) == usual


def test_many_searches_in_one_statement(shop: Connection) -> None:
    rows = shop.execute("""
        select q.request, h.name
        from (values ('weather forecast'), ('money back'), ('meeting room')) q (request)
        cross join lateral tool_rag.search_tools(q.request, '{all}', 1) h
    """).fetchall()
    assert dict(rows) == {
        "weather forecast": "getForecast",
        "money back": "refund_payment",
        "meeting room": "book_room",
    }


def test_a_prepared_search_sees_later_edits(shop: Connection) -> None:
    shop.execute(
        "prepare asked (text[]) as select name from tool_rag.search_tools('money back', $1, 1)"
    )
    ask = "execute asked ('{all}')"
    for _ in range(7):
        assert column(shop, ask) == ["refund_payment"]
    deny(shop, "all", "shop", "refund_payment")
    assert column(shop, ask) != ["refund_payment"]
    shop.execute("delete from tool_rag.grant_rule")
    assert column(shop, ask) == []
    shop.execute("deallocate asked")
