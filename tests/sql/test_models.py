"""Models beside the built-in one: registry, what they have still to embed, and their arm."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.sql.conftest import Connection, column, deny, fetch, found, names, refused, search

MODEL = "tiny"
SIZE = 8


def vector(text: str, size: int = SIZE) -> str:
    """Return a vector that depends on the text alone."""
    chance = random.Random(text)
    return str([chance.uniform(-1, 1) for _ in range(size)])


def to_embed(connection: Connection, model: str = MODEL, rows: int = 100) -> list[tuple[Any, ...]]:
    return connection.execute(
        "select tool_id, kind, source_id, source_hash, content"
        " from tool_rag.texts_to_embed(%s, %s)",
        (model, rows),
    ).fetchall()


def store(connection: Connection, rows: list[tuple[Any, ...]], *, size: int = SIZE) -> int:
    return int(
        fetch(
            connection,
            "select tool_rag.store_vectors(%s, %s, %s, %s, %s::bytea[], %s)",
            MODEL,
            [row[0] for row in rows],
            [row[1] for row in rows],
            [row[2] for row in rows],
            [row[3] for row in rows],
            [vector(row[4], size) for row in rows],
        )
    )


@pytest.fixture
def embedded(shop: Connection) -> Connection:
    assert fetch(shop, "select tool_rag.add_embedding_model(%s, %s)", MODEL, SIZE)
    assert store(shop, to_embed(shop)) == 8
    shop.execute("select tool_rag.use_embedding_model(%s)", (MODEL,))
    return shop


def listed(connection: Connection) -> dict[str, tuple[Any, ...]]:
    return {
        row[0]: row[1:]
        for row in connection.execute(
            "select name, dimensions, is_active, embedded, missing"
            " from tool_rag.list_embedding_models()"
        )
    }


def test_only_what_is_new_or_changed_is_embedded_again(embedded: Connection) -> None:
    assert to_embed(embedded) == []
    embedded.execute(
        "update tool_rag.tool set description = 'Undo a charge' where name = 'refund_payment'"
    )
    embedded.execute("select tool_rag.add_synonym('cash', server => 'shop', tool => 'list_orders')")
    embedded.execute("select tool_rag.add_example('shop', 'list_orders', 'what did I buy')")
    rows = to_embed(embedded)
    assert sorted(row[1] for row in rows) == ["definition", "example", "synonym"]
    (definition,) = (row[4] for row in rows if row[1] == "definition")
    assert definition.startswith("refund payment. Undo a charge")
    assert {row[4] for row in rows if row[1] != "definition"} == {"cash", "what did I buy"}
    assert len(to_embed(embedded, rows=2)) == 2
    assert listed(embedded)[MODEL] == (SIZE, True, 8, 3)
    assert store(embedded, rows) == 3
    assert to_embed(embedded) == []
    embedded.execute(
        "select tool_rag.remove_synonym('cash', server => 'shop', tool => 'list_orders')"
    )
    embedded.execute("select tool_rag.remove_example('shop', 'list_orders', null)")
    assert listed(embedded)[MODEL] == (SIZE, True, 8, 0)


def test_what_changed_while_it_was_embedded_comes_again(shop: Connection) -> None:
    shop.execute("select tool_rag.add_embedding_model(%s, %s)", (MODEL, SIZE))
    rows = to_embed(shop)
    shop.execute("update tool_rag.tool set description = 'Other' where name = 'set_theme'")
    shop.execute("delete from tool_rag.tool where name = 'book_room'")
    assert store(shop, rows) == 7
    assert [row[4][:9] for row in to_embed(shop)] == ["set theme"]


def test_the_model_ranks_beside_the_others(embedded: Connection) -> None:
    query = "weather forecast for a city"
    refund = next(
        text
        for text in column(
            embedded,
            "select content from (select 1) o, lateral (select string_agg("
            "case when f.field in ('name', 'parameter_name') then"
            " tool_rag._identifier_words(f.content) else f.content end, '. ') as content"
            " from tool_rag.tool t cross join lateral tool_rag._tool_fields("
            "t.name, t.title, t.description, t.input_schema, null) f"
            " where t.name = 'refund_payment' and f.content is not null) c",
        )
    )
    usual = search(embedded, query, k=8)
    assert all("model" not in hit["explain"] for hit in usual)
    hits = search(embedded, query, k=8, embedding=vector(refund))
    by_name = {hit["name"]: hit for hit in hits}
    arm = by_name["refund_payment"]["explain"]["model"]
    assert (arm["name"], arm["rank"]) == (MODEL, 1)
    assert arm["score"] == pytest.approx(1, abs=1e-3)
    assert "model: 1.00" in by_name["refund_payment"]["reason"]
    assert names(hits).index("refund_payment") < names(usual).index("refund_payment")
    alone = {"words_weight": 0, "meaning_weight": 0}
    by_model = search(embedded, query, k=1, embedding=vector(refund), options=alone)
    assert names(by_model) == ["refund_payment"]
    off = search(embedded, query, k=8, embedding=vector(refund), options={"model_weight": 0})
    assert names(off) == names(usual)
    # Not what the caller may not see.
    deny(embedded, "all", "shop")
    assert "refund_payment" not in found(embedded, query, k=8, embedding=vector(refund))


def test_the_caller_may_name_the_model(embedded: Connection) -> None:
    built_in = str(fetch(embedded, "select tool_rag.embed('refund')::real[]"))
    with refused(embedded, "22000", f'has 256 dimensions, the model "{MODEL}" has {SIZE}'):
        search(embedded, "refund", embedding=built_in)
    hits = search(embedded, "refund", embedding=built_in, options={"model": "built-in"})
    assert names(hits) == found(embedded, "refund")
    with refused(embedded, "42704", 'no embedding model "huge"', hint="There are built-in, tiny"):
        search(embedded, "refund", embedding=built_in, options={"model": "huge"})
    with refused(embedded, "22023", "options.model is not the name of a model"):
        search(embedded, "refund", options={"model": 5})
    embedded.execute("select tool_rag.use_embedding_model('built-in')")
    assert listed(embedded)["built-in"][1] is True
    assert names(search(embedded, "refund", embedding=built_in)) == found(embedded, "refund")
    named = search(embedded, "refund", embedding=vector("x"), options={"model": MODEL})
    assert named[0]["explain"]["model"]["name"] == MODEL


def test_a_callers_model_proposes_where_much_is_visible(many: Connection) -> None:
    with many.transaction(force_rollback=True):
        many.execute("select tool_rag.add_embedding_model(%s, %s)", (MODEL, SIZE))
        ids = column(many, "select tool_id from tool_rag.tool order by tool_id")
        store(many, [(tool_id, "definition", 0, b"", str(tool_id)) for tool_id in ids])
        wanted = ids[len(ids) // 2]
        role = fetch(many, "select name from tool_rag.role order by role_id limit 1")
        rows = many.execute(
            "select t.tool_id from tool_rag.search_tools('qqq zzz', %s, 1, embedding => %s,"
            " options => %s) s join tool_rag.server v on v.name = s.server"
            " join tool_rag.tool t on t.server_id = v.server_id and t.name = s.name",
            (
                [role],
                vector(str(wanted)),
                f'{{"model": "{MODEL}", "words_weight": 0, "meaning_weight": 0}}',
            ),
        ).fetchall()
        assert rows == [(wanted,)]


def test_models_are_added_and_dropped(embedded: Connection) -> None:
    assert not fetch(embedded, "select tool_rag.add_embedding_model(%s, %s)", MODEL, SIZE)
    with refused(embedded, "22023", f'"{MODEL}" has {SIZE} dimensions here, not 9'):
        embedded.execute("select tool_rag.add_embedding_model(%s, 9)", (MODEL,))
    with refused(embedded, "22000", f'a vector has 9 dimensions, the model "{MODEL}" has {SIZE}'):
        store(embedded, [(1, "definition", 0, b"", "x")], size=9)
    # Another document prompt makes other vectors.
    assert not fetch(
        embedded, "select tool_rag.add_embedding_model(%s, %s, 'q: ', 'd: ')", MODEL, SIZE
    )
    rows = to_embed(embedded)
    assert len(rows) == 8
    assert all(row[4].startswith("d: ") for row in rows)
    assert fetch(embedded, "select tool_rag.drop_embedding_model(%s)", MODEL) == 8
    assert list(listed(embedded)) == ["built-in"]
    assert (
        fetch(embedded, "select count(*) from pg_class where relname like 'tool_vector_model_%%'")
        == 0
    )
    for statement in ("drop_embedding_model('built-in')", "add_embedding_model('', 5)"):
        with refused(embedded, "22023", ""):
            embedded.execute(f"select tool_rag.{statement}".encode())
    with refused(embedded, "42704", 'no embedding model "tiny"'):
        embedded.execute("select tool_rag.use_embedding_model('tiny')")


def test_a_model_without_vectors_is_not_used(shop: Connection) -> None:
    shop.execute("select tool_rag.add_embedding_model(%s, %s)", (MODEL, SIZE))
    with refused(shop, "55000", "has embedded no tool yet", hint="tool-rag embed"):
        shop.execute("select tool_rag.use_embedding_model(%s)", (MODEL,))
