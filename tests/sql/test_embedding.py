"""sql/functions/020_embedding.sql: the built-in model in SQL and in Python is one."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.sql.conftest import Connection, column, fetch
from tests.sql.test_text import CHARACTERS, ODD, SCRIPTS
from tool_rag_pg.embedding.builtin import BuiltinEmbedder

DATA = "TOOL_RAG_TEST_DATA"

VERBS = ("open", "cancel", "list", "refund", "translate", "book", "delete", "summarise")
THINGS = (
    "a pull request",
    "the flight to São Paulo",
    "all invoices of 2024",
    "my mother's birthday",
    "the customer, who was charged twice",
    "https://example.com/a?b=c&d=%20",
    "get_user_info",
    "getUserInfo(id=7)",
    "C++/C# code",
    "20°C in °F",
    "5€ → $",
)
ENDS = ("", "!", ", please", " — schnell", " 😀", " до завтра", " 明日まで")
REQUESTS = [f"{verb} {thing}{end}" for verb in VERBS for thing in THINGS for end in ENDS]
LONG = (
    "x" * 100,
    "x" * 101,
    "ab" * 60 + " refund",
    "refund " + "é" * 101,
    "e\u0301" * 100 + " mail",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
)
NOTHING = ("", " ", "\n\t", "\u200b\ufeff", "\U00012000\U00012001", "\U0001f9ff", "\ue000")


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


def embed(connection: Connection, texts: list[str]) -> list[list[float] | None]:
    return column(
        connection,
        "select tool_rag.embed(t)::real[] from unnest(%s::text[]) with ordinality u (t, n)"
        " order by n",
        texts,
    )


def apart(one: list[float] | None, other: list[float] | None) -> bool:
    """Whether two vectors are not, but for rounding, the same."""
    if one is None or other is None:
        return one is not other
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) < 0.999


def differing(connection: Connection, embedder: BuiltinEmbedder, texts: list[str]) -> list[str]:
    return [
        text
        for text, ours, pythons in zip(
            texts, embed(connection, texts), embedder.embed(texts), strict=True
        )
        if apart(ours, pythons)
    ]


def test_requests_have_pythons_vectors(connection: Connection, embedder: BuiltinEmbedder) -> None:
    assert len(REQUESTS) > 600
    assert differing(connection, embedder, REQUESTS) == []


def test_odd_texts_have_pythons_vectors(connection: Connection, embedder: BuiltinEmbedder) -> None:
    texts = [*ODD, *LONG, *NOTHING, *(text for script in SCRIPTS for text in script)]
    assert differing(connection, embedder, texts) == []


# Words and characters that pieces are made of, mixed with all the others.
PARTS = st.one_of(
    st.text(CHARACTERS, max_size=6),
    st.sampled_from([*"abcdeéßщ天カ한.,-_/'\u0301\u200b ", "##ing", "play", "[UNK]", "\n", "  "]),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.lists(PARTS, max_size=12).map("".join), min_size=1, max_size=15))
@example(texts=["hello\u0898world", "a\u061db", "\U0002b820 x", "e\u0301"])
def test_any_text_has_pythons_vector(
    connection: Connection, embedder: BuiltinEmbedder, texts: list[str]
) -> None:
    assert differing(connection, embedder, texts) == []


def test_vectors_have_length_one(connection: Connection) -> None:
    texts = [*REQUESTS[::10], *LONG, *(request for request, _, _ in SCRIPTS)]
    lengths = [math.hypot(*vector) for vector in embed(connection, texts) if vector]
    assert len(lengths) > 60
    assert lengths == pytest.approx([1.0] * len(lengths), abs=1e-3)


def test_what_is_unknown_has_no_vector(connection: Connection) -> None:
    assert embed(connection, list(NOTHING)) == [None] * len(NOTHING)
    assert fetch(connection, "select tool_rag.embed(null)") is None


def test_a_word_of_101_characters_counts_for_nothing(connection: Connection) -> None:
    with_long, without, unlike = embed(
        connection, [f"refund {'ab' * 51} now", "refund now", f"refund {'ab' * 50} now"]
    )
    assert with_long == without
    assert unlike != without


def test_order_and_case_do_not_count(connection: Connection) -> None:
    one, other = embed(connection, ["Refund the PAYMENT", "payment the refund"])
    assert one == other


def test_a_text_is_read_up_to_a_bound(connection: Connection, embedder: BuiltinEmbedder) -> None:
    # Ten thousand characters or a thousand words, and nothing of what follows.
    by_length = "refund " * 10 + "x " * 100 + "-" * 30_000
    ends = by_length[:10_000]
    by_words = " ".join(["refund", "payment"] * 500)
    vectors = embed(
        connection, [f"{ends} weather", ends, f"{by_words} weather", by_words, "refund payment"]
    )
    assert vectors[0] == vectors[1]
    assert vectors[2] == vectors[3]
    assert not apart(vectors[3], embedder.embed_one("refund payment"))
    assert not apart(vectors[4], embedder.embed_one("refund payment"))


def test_word_pieces_are_pythons(connection: Connection, embedder: BuiltinEmbedder) -> None:
    words = sorted({word for text in (*REQUESTS, *LONG) for word in text.lower().split()})
    rows = column(
        connection,
        "select tool_rag._word_pieces(w) from unnest(%s::text[]) with ordinality u (w, n)"
        " order by n",
        words,
    )
    plain = [(word, pieces) for word, pieces in zip(words, rows, strict=True) if word.isalnum()]
    assert len(plain) > 30
    # An accent is folded before a word comes here.
    assert [
        word for word, pieces in plain if word.isascii() and pieces != embedder.pieces(word)
    ] == []


def test_the_longest_pieces_are_found_whole(connection: Connection) -> None:
    longest = column(
        connection,
        "select piece from tool_rag.word_piece where piece not like '##%'"
        " order by length(piece) desc, piece limit 20",
    )
    for piece in longest:
        assert fetch(connection, "select tool_rag._word_pieces(%s)", piece) == [piece]


def test_another_search_path_changes_nothing(connection: Connection) -> None:
    before = embed(connection, ["open a pull request"])
    connection.execute("create schema evil; set local search_path = evil")
    connection.execute("create function evil.lower(text) returns text return 'x'")
    assert embed(connection, ["open a pull request"]) == before


@pytest.mark.skipif(DATA not in os.environ, reason=f"{DATA} does not name a folder of public sets")
def test_every_bfcl_request_has_pythons_vector(
    connection: Connection, embedder: BuiltinEmbedder
) -> None:
    lines = Path(os.environ[DATA], "bfcl", "requests.jsonl").read_text("utf-8").splitlines()
    requests = [json.loads(line)["query"] for line in lines]
    assert len(requests) > 1000
    assert differing(connection, embedder, requests) == []
