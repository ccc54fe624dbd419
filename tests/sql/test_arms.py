"""sql/functions/070_arms.sql: what the arms score, and what they propose where tools are many."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from psycopg.rows import dict_row

from tests.sql.conftest import (
    FEW,
    FIVE,
    MANY,
    Connection,
    add_role,
    add_tool,
    allow,
    column,
    deny,
    fetch,
    found,
    many_tools,
    schema_of,
    search,
)


def read_query(connection: Connection, query: str) -> dict[str, Any]:
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute("select * from tool_rag._read_query(%s)", [query]).fetchone()
    assert row is not None
    return row


def rank_words(
    connection: Connection, query: str, tool_ids: list[int], limit: int = 1000
) -> list[tuple[int, float]]:
    return connection.execute(
        "select r.tool_id, r.score from tool_rag._read_query(%s) q,"
        " tool_rag._rank_words(q.lexeme_ids, q.weights, q.frequencies, q.terms, q.term_weights,"
        " q.base, q.slope, %s, %s) r",
        [query, tool_ids, limit],
    ).fetchall()


def bm25(connection: Connection, query: str, k1: float, b: float) -> dict[int, float]:
    """BM25 in Python, of all tools, over lexemes as they stand in the documents."""
    documents = {
        tool: (length, dict(zip(lexemes, frequencies, strict=True)))
        for tool, length, lexemes, frequencies in connection.execute("""
            select d.tool_id, d.length, array(
                select lexeme from unnest(d.lexeme_ids) with ordinality i (id, n)
                join tool_rag.lexeme l on l.lexeme_id = i.id order by n
            ), d.frequencies from tool_rag.document d
        """)
    }
    lexemes = column(
        connection,
        "select unnest(tsvector_to_array(to_tsvector('english', tool_rag._lexical_text(%s))))",
        query,
    )
    average = sum(length for length, _ in documents.values()) / len(documents)
    scores: dict[int, float] = {}
    for lexeme in lexemes:
        holding = {tool for tool, (_, words) in documents.items() if lexeme in words}
        idf = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for tool in holding:
            length, words = documents[tool]
            norm = k1 * (1 - b + b * length / average)
            scores[tool] = scores.get(tool, 0) + idf * words[lexeme] / (words[lexeme] + norm)
    return scores


@pytest.fixture
def ids(shop: Connection) -> list[int]:
    return [int(id) for id in column(shop, "select tool_id from tool_rag.tool order by tool_id")]


@pytest.mark.parametrize(
    "query",
    [
        "give the customer money back",
        "weather forecast for the city",
        "reserve a room and send an e-mail to a customer",
        "shop desk weather",
        "order order ORDER",
    ],
)
@pytest.mark.parametrize(("k1", "b"), [(1.6, 0.75), (0.9, 0.4), (2.0, 0.0), (1.2, 1.0)])
def test_the_word_arm_is_bm25(
    shop: Connection, ids: list[int], query: str, k1: float, b: float
) -> None:
    shop.execute("update tool_rag.ranking_setting set bm25_k1 = %s, bm25_b = %s", [k1, b])
    expected = bm25(shop, query, k1, b)
    assert len(expected) > 1
    ranked = rank_words(shop, query, ids)
    assert dict(ranked) == pytest.approx(expected, rel=1e-5)
    assert ranked == sorted(ranked, key=lambda row: (-row[1], row[0]))
    # The best of a few are the same: by their documents, not by the words' postings.
    few = ids[:1]
    assert dict(rank_words(shop, query, few)) == pytest.approx(
        {tool: score for tool, score in expected.items() if tool in few}, rel=1e-5
    )
    assert rank_words(shop, query, ids, 1) == ranked[:1]


def test_both_ways_of_the_word_arm_agree(many: Connection) -> None:
    everything = column(many, "select tool_id from tool_rag.tool order by tool_id")
    query = "refund the invoice of a customer in the online shop"
    read = read_query(many, query)
    by_postings = rank_words(many, query, everything, MANY)
    # As few tools as make the postings longer than their documents.
    few = [tool for tool, _ in by_postings[:: len(by_postings) // 20]]
    assert sum(read["frequencies"]) < 30 * len(everything)
    assert sum(read["frequencies"]) > 30 * len(few)
    by_documents = rank_words(many, query, few, MANY)
    scores = dict(by_postings)
    assert dict(by_documents) == pytest.approx({tool: scores[tool] for tool in few}, rel=1e-9)


def test_a_request_is_read_rarest_word_first(shop: Connection) -> None:
    read = read_query(shop, "List the zzz orders of a Customer; city customers!")
    assert read["frequencies"] == sorted(read["frequencies"])
    assert sorted(read["words"]) == ["city", "customer", "list", "orders"]
    assert all(weight > 0 for weight in read["weights"])
    assert read["weights"] == sorted(read["weights"], reverse=True)
    nothing = read_query(shop, "zzz the of")
    assert nothing["lexeme_ids"] is None
    assert nothing["words"] is None


def test_the_first_hundred_words_of_a_request_count(connection: Connection) -> None:
    for number in range(130):
        add_tool(connection, "s", f"tool{number:03}", "common", {})
    words = " ".join(f"tool{number:03}" for number in range(130))
    read = read_query(connection, f"common {words}")
    assert len(read["lexeme_ids"]) == 100
    # Not the rarest: whether a word is rare, or stands nowhere, is not the caller's to know.
    assert "common" in read["words"]
    assert "tool098" in read["words"]
    assert "tool099" not in read["words"]
    nowhere = " ".join(f"nothing{n}" for n in range(99))
    assert read_query(connection, f"{nowhere} tool007 tool008")["words"] == ["tool007"]


def test_an_empty_catalogue(connection: Connection) -> None:
    add_role(connection, "all")
    allow(connection, "all")
    assert read_query(connection, "refund")["lexeme_ids"] is None
    assert found(connection, "refund") == []
    assert rank_words(connection, "refund", []) == []


def test_the_meaning_arm_is_the_inner_product(shop: Connection, ids: list[int]) -> None:
    query = "get my money back"
    vector = fetch(shop, "select tool_rag.embed(%s)::real[]", query)
    expected = {
        tool: sum(a * b for a, b in zip(vector, embedding, strict=True))
        for tool, embedding in shop.execute(
            "select tool_id, embedding::real[] from tool_rag.tool_vector"
        )
    }
    rank = "select tool_id, score from tool_rag._rank_vectors(tool_rag.embed(%s), 1, %s, %s)"
    ranked = shop.execute(rank, [query, ids, 100]).fetchall()
    assert dict(ranked) == pytest.approx(expected, abs=1e-3)
    assert ranked == sorted(ranked, key=lambda row: (-row[1], row[0]))
    assert shop.execute(rank, [query, ids, 2]).fetchall() == ranked[:2]
    # One tool of many is looked up, many are read through: the scores are the same.
    one = shop.execute(rank, [query, ids[:1], 100]).fetchall()
    assert one == [row for row in ranked if row[0] == ids[0]]
    assert shop.execute(rank, [None, ids, 100]).fetchall() == []
    assert shop.execute(rank, [query, [], 100]).fetchall() == []


# Requests whose words stand in many of the tools or in none, and in other words than theirs.
REQUESTS = [
    f"{verb} {thing}{place}"
    for verb, thing in zip(
        (
            "I want to pay back", "please remove", "show me every", "look for", "back up the",
            "sign off the", "put into the calendar a", "send to a colleague the", "paper copy of a",
            "combine two", "tell somebody about the", "check", "give to someone else a", "create",
            "delete", "list", "export", "approve", "refund", "archive",
        ),
        (
            "bills", "client", "plane", "accommodation", "package", "source code", "version",
            "support case", "worker", "agreement", "pictures", "songs", "dish", "sick person",
            "lecture", "car", "temperature", "secret", "campaign", "warehouse",
        ),
        strict=True,
    )
    for place in ("", " for the hospital", " in the system of the university")
]  # fmt: skip


@pytest.mark.parametrize("roles", [("all",), ("most",), ("both",), ("half", "other_half")])
def test_proposals_are_as_good_as_the_exact_answer(
    many: Connection, roles: tuple[str, ...]
) -> None:
    overlap = []
    for request in REQUESTS:
        fast = [(hit["server"], hit["name"]) for hit in search(many, request, roles, k=10)]
        exact = [
            (hit["server"], hit["name"])
            for hit in search(many, request, roles, k=10, options={"exact": True})
        ]
        assert len(fast) == len(exact) == 10
        overlap.append(len(set(fast) & set(exact)) / 10)
    assert sum(overlap) / len(overlap) >= 0.95
    assert min(overlap) >= 0.6


@pytest.mark.parametrize("roles", [("all",), ("most",), ("both",), ("tenth",), ("five",)])
def test_many_tools_and_only_permitted_ones(many: Connection, roles: tuple[str, ...]) -> None:
    permitted = set(
        many.execute(
            "select server, name from tool_rag.permitted_tools(%s)", [list(roles)]
        ).fetchall()
    )
    assert (
        len(permitted)
        == {"all": 4000, "most": 3200, "both": 4000, "tenth": 400, "five": 5}[roles[0]]
    )
    for request in REQUESTS[::4]:
        hits = search(many, request, roles, k=300)
        assert len(hits) == min(300, len(permitted))
        assert {(hit["server"], hit["name"]) for hit in hits} <= permitted


def test_what_the_denies_of_one_role_leave_of_anothers_grants(many: Connection) -> None:
    # `all` alone sees everything, so that the indexes are asked; what they propose is denied.
    left = {("system3", f"refund_{thing}") for thing in FIVE}
    for roles in (("all", "blind"), ("blind", "both"), ("five",), ("five", "blind")):
        for request in REQUESTS[::6]:
            hits = search(many, request, roles, k=50)
            assert {(hit["server"], hit["name"]) for hit in hits} == left
    assert search(many, "refund", ("blind",), k=50) == []


def test_a_scan_that_gives_up_loses_nothing(many: Connection) -> None:
    # pgvector gives up where its memory ends; then every permitted tool is scored after all.
    left = {("system3", f"refund_{thing}") for thing in FIVE}
    with many.transaction(force_rollback=True):
        many.execute("set local work_mem = '64kB'; set local hnsw.scan_mem_multiplier = 1")
        for request in REQUESTS[::6]:
            hits = search(many, request, ("all", "blind"), k=50)
            assert {(hit["server"], hit["name"]) for hit in hits} == left
        # With many examples of these few, each of which has a vector of its own.
        many.execute(
            "insert into tool_rag.example (tool_id, request)"
            " select t.tool_id, 'please refund number ' || n || ' of ' || t.name"
            " from tool_rag.tool t join tool_rag.server s using (server_id),"
            " generate_series(1, 40) n where s.name = 'system3' and t.name = any(%s)",
            [[f"refund_{thing}" for thing in FIVE]],
        )
        hits = search(many, "please refund number 7", ("all", "blind"), k=50)
        assert {(hit["server"], hit["name"]) for hit in hits} == left


def test_a_long_list_needs_no_reading_of_all(many: Connection) -> None:
    candidates = fetch(
        many,
        "select cardinality(tool_rag._candidates(q.lexeme_ids, q.weights, q.frequencies, q.base,"
        " q.slope, tool_rag.embed('refund'), 1, null, tool_rag._role_ids('{most}'), null, null,"
        " 600, false))"
        " from tool_rag._read_query('refund') q",
    )
    # The index is scanned on beyond what it gives at once; 3,200 would be all.
    assert 600 <= candidates <= 2000
    assert len(search(many, "refund", ("most",), k=600)) == 600


def test_few_servers_of_many(many: Connection) -> None:
    for servers in (["system7"], ["system1", "system2"], ["*"], ["nowhere"], []):
        hits = search(many, "refund the invoice", ("all",), k=100, servers=servers)
        expected = {
            "system7": {"system7"},
            "system1": {"system1", "system2"},
            "*": {f"system{n}" for n in range(10)},
        }.get((servers or ["nowhere"])[0], set())
        assert len(hits) == (100 if expected else 0)
        assert {hit["server"] for hit in hits} <= expected
        if len(expected) < 10:
            assert {hit["server"] for hit in hits} == expected


def test_many_tools_give_the_same_answer_each_time(many: Connection) -> None:
    for request in REQUESTS[::10]:
        first = search(many, request, ("all",), k=20)
        assert search(many, request, ("all",), k=20) == first
        # And fewer of them are its beginning.
        fewer = search(many, request, ("all",), k=7)
        assert [hit["name"] for hit in fewer] == [hit["name"] for hit in first[:7]]


def test_an_exact_name_among_many(many: Connection) -> None:
    chance = random.Random(7)
    for server, name, description in chance.sample(many_tools(), 25):
        hits = search(many, f"call {name} on {server}", ("all",), k=10)
        assert (server, name) in {(hit["server"], hit["name"]) for hit in hits}
        hits = search(many, description, ("all",), k=1)
        assert (hits[0]["server"], hits[0]["name"]) == (server, name)


def test_words_that_stand_in_every_tool(many: Connection) -> None:
    # Nothing to tell them apart by; still an answer, and a stable one.
    first = found(many, "system", roles=("all",), k=5)
    assert len(first) == 5
    assert found(many, "system", roles=("all",), k=5) == first


def test_unknown_words_among_many(many: Connection) -> None:
    # No lexeme; then no vector either.
    hits = search(many, "reimburse", ("all",), k=5)
    assert len(hits) == 5
    assert all("words" not in hit["explain"] for hit in hits)
    assert search(many, "\U00012000", ("all",), k=5) == []
    assert search(many, "\U00012000", ("tenth",), k=5) == []


def test_expired_grants_do_not_make_a_role_see_much(many: Connection) -> None:
    with many.transaction(force_rollback=True):
        many.execute(
            "update tool_rag.grant_rule g set valid_until = now() - interval '1 day'"
            " from tool_rag.role r where r.role_id = g.role_id and r.name = 'all'"
        )
        assert search(many, "refund", ("all",), k=5) == []
        assert len(search(many, "refund", ("all", "tenth"), k=500)) == 400


def test_candidates_of_a_role_that_sees_few_are_all_it_sees(many: Connection) -> None:
    candidates = (
        "select cardinality(tool_rag._candidates(q.lexeme_ids, q.weights, q.frequencies, q.base,"
        " q.slope, tool_rag.embed('refund'), 1, null, tool_rag._role_ids(%s), null, null,"
        " 100, %s))"
        " from tool_rag._read_query('refund') q"
    )
    assert fetch(many, candidates, ["tenth"], False) == 400
    assert fetch(many, candidates, ["five"], False) == 5
    assert fetch(many, candidates, ["half"], False) == 2000 < FEW
    assert 100 <= fetch(many, candidates, ["all"], False) <= 300
    assert fetch(many, candidates, ["all"], True) == MANY
    assert fetch(many, candidates, ["all", "blind"], False) == 5
    assert fetch(many, candidates, ["nobody"], False) == 0


def test_an_edit_among_many_is_seen_at_once(many: Connection) -> None:
    with many.transaction(force_rollback=True):
        tool = add_tool(
            many, "system2", "photosynthesise", "Turn light into sugar", schema_of("light")
        )
        for request in ("photosynthesise", "turn light into sugar"):
            assert found(many, request, roles=("all",), k=1) == ["photosynthesise"]
        deny(many, "all", "system2", "photo*")
        assert "photosynthesise" not in found(many, "turn light into sugar", roles=("all",))
        many.execute("delete from tool_rag.tool where tool_id = %s", [tool])
