from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tool_rag_pg.embedding.builtin import BuiltinEmbedder
from tool_rag_pg.embedding.weights import quantise


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


def cosine(one: list[float] | None, other: list[float] | None) -> float:
    assert one is not None
    assert other is not None
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_a_vector_is_the_normalised_mean_of_its_pieces() -> None:
    weights = quantise(
        ["pay", "##ment", "refund"],
        [[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]],
        name="tiny",
        version="1",
    )
    tiny = BuiltinEmbedder(weights)
    assert tiny.pieces("Payment, pay!") == ["pay", "##ment", "pay"]
    length = math.hypot(2, 2)
    assert tiny.embed_one("Payment, pay!") == pytest.approx([2 / length, 2 / length], abs=1e-6)


def test_a_text_without_known_pieces_has_no_vector(embedder: BuiltinEmbedder) -> None:
    assert embedder.embed(["", "  \n", "\ufeff\u200b", "\U00012000\U00012001"]) == [None] * 4


def test_a_batch_gives_what_single_texts_give(embedder: BuiltinEmbedder) -> None:
    texts = ["send an email", "", "天気を教えて", "send an email"]
    assert embedder.embed(texts) == [embedder.embed_one(text) for text in texts]


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=80))
def test_any_text_gives_length_one_or_nothing(text: str, embedder: BuiltinEmbedder) -> None:
    vector = embedder.embed_one(text)
    if vector is None:
        assert embedder.pieces(text) == []
    else:
        assert len(vector) == embedder.dim
        assert math.fsum(component * component for component in vector) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("request_text", "serving", "other"),
    [
        ("what's the weather like tomorrow", "get_forecast", "send_email"),
        ("book me a room for two nights", "reserve_hotel", "list_branches"),
        ("how do I say good morning in french", "translate_text", "create_invoice"),
        ("is my flight delayed", "get_flight_status", "get_order_status"),
        ("remind me to call mum at six", "create_reminder", "create_repository"),
    ],
)
def test_meaning_ranks_the_serving_tool_first(
    embedder: BuiltinEmbedder, request_text: str, serving: str, other: str
) -> None:
    wanted, near, far = embedder.embed([request_text, serving, other])
    assert cosine(wanted, near) > cosine(wanted, far) + 0.05


def test_importing_and_embedding_needs_the_standard_library_only() -> None:
    code = (
        "import sys; from tool_rag_pg.embedding.builtin import BuiltinEmbedder as B; "
        "B().embed(['x']); "
        "bad = {'numpy', 'torch', 'psycopg', 'sqlalchemy', 'tokenizers'} & set(sys.modules); "
        "sys.exit(repr(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
