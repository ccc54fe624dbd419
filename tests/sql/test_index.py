"""sql/functions/030_index.sql: after every edit the index is what indexing anew would make."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.conftest import (
    Connection,
    add_role,
    add_server,
    add_tool,
    allow,
    column,
    export,
    fetch,
    found,
    schema_of,
    search,
    undone,
    upsert,
)

Index = dict[str, Any]


def read_index(connection: Connection) -> Index:
    """Return all that is derived from tools' texts, by names instead of numbers."""
    postings = connection.execute("""
        select s.name || '/' || t.name, l.lexeme, p.frequency, p.length
        from tool_rag.posting p
        left join tool_rag.lexeme l using (lexeme_id)
        left join tool_rag.tool t using (tool_id)
        left join tool_rag.server s using (server_id)
    """).fetchall()
    documents = connection.execute("""
        select s.name || '/' || t.name, d.length, (
            select jsonb_object_agg(coalesce(l.lexeme, '?'), f.frequency)
            from unnest(d.lexeme_ids, d.frequencies) f (lexeme_id, frequency)
            left join tool_rag.lexeme l using (lexeme_id)
        )
        from tool_rag.document d
        left join tool_rag.tool t using (tool_id)
        left join tool_rag.server s using (server_id)
    """).fetchall()
    return {
        "postings": {(tool, lexeme): rest for tool, lexeme, *rest in postings},
        "documents": {tool: rest for tool, *rest in documents},
        "lexemes": dict(
            connection.execute("select lexeme, document_frequency from tool_rag.lexeme").fetchall()
        ),
        "vectors": {
            tuple(key): vector
            for *key, vector in connection.execute("""
                select s.name || '/' || t.name, v.kind, coalesce(e.request, y.words),
                    v.embedding::real[]
                from tool_rag.tool_vector v
                left join tool_rag.tool t using (tool_id)
                left join tool_rag.server s using (server_id)
                left join tool_rag.example e
                    on v.kind = 'example' and e.example_id = v.source_id and e.tool_id = v.tool_id
                left join tool_rag.synonym y
                    on v.kind = 'synonym' and y.synonym_id = v.source_id and y.tool_id = v.tool_id
            """)
        },
        "wordings": connection.execute("""
            select term, request, l
            from (
                select term, null, term_lexemes from tool_rag.synonym
                union all
                select null, request, lexemes from tool_rag.example
            ) w (term, request, l)
            order by term, request, l
        """).fetchall(),
        "totals": connection.execute(
            "select document_count, total_length from tool_rag.catalogue_state"
        ).fetchone(),
        "counts": [
            fetch(connection, f"select count(*) from tool_rag.{table}")
            for table in ("posting", "document", "lexeme", "tool_vector")
        ],
    }


def index_anew(connection: Connection) -> Index:
    """Return what `read_index` would if nothing but the tools themselves had been kept."""
    with undone(connection):
        connection.execute("""
            truncate tool_rag.posting, tool_rag.document, tool_rag.lexeme, tool_rag.tool_vector;
            update tool_rag.catalogue_state set document_count = 0, total_length = 0;
            select tool_rag.reindex_tools();
        """)
        return read_index(connection)


def check(connection: Connection) -> Index:
    index = read_index(connection)
    anew = index_anew(connection)
    vectors, vectors_anew = index.pop("vectors"), anew.pop("vectors")
    assert index == anew
    assert vectors.keys() == vectors_anew.keys()
    # In the order in which words happen to be added, a sum of floats differs in its last bits.
    for tool, vector in vectors.items():
        assert vector == pytest.approx(vectors_anew[tool], abs=2e-3), tool
    index["vectors"] = vectors
    # And of itself: statistics are sums over what they count.
    assert set(index["documents"]) == set(
        column(
            connection,
            "select s.name || '/' || t.name from tool_rag.tool t join tool_rag.server s"
            " using (server_id)",
        )
    )
    assert index["totals"] == (
        len(index["documents"]),
        sum(length for length, _ in index["documents"].values()),
    )
    tools: dict[str, int] = {}
    for _, lexeme in index["postings"]:
        tools[lexeme] = tools.get(lexeme, 0) + 1
    assert index["lexemes"] == tools
    for (tool, lexeme), (frequency, length) in index["postings"].items():
        assert index["documents"][tool] == [length, index["documents"][tool][1]]
        assert index["documents"][tool][1][lexeme] == frequency
    assert index["counts"][0] == len(index["postings"])
    assert sum(len(words or {}) for _, words in index["documents"].values()) == index["counts"][0]
    return index


def test_frequencies_are_weighted_by_field(connection: Connection) -> None:
    upsert(
        connection,
        export(
            "zebra",
            {
                "name": "zebra",
                "title": "Zebra",
                "description": "Zebra zebra okapi",
                "input_schema": {
                    "properties": {
                        "zebra": {"description": "zebra"},
                        "b": {"enum": ["zebra", "zebra", "lemur"], "description": "ibex"},
                    }
                },
            },
        ),
    )
    index = read_index(connection)
    # Name 2, title 2, description 2 x 1, parameter 0.5, its description 0.5, value 1, server 0.25.
    assert index["postings"]["zebra/zebra", "zebra"][0] == 8.25
    assert index["postings"]["zebra/zebra", "okapi"][0] == 1
    assert index["postings"]["zebra/zebra", "lemur"][0] == 1
    assert index["postings"]["zebra/zebra", "ibex"][0] == 0.5
    assert index["documents"]["zebra/zebra"][0] == round(8.25 + 1 + 1 + 0.5 + 0.5)
    check(connection)


def test_weights_are_those_of_the_settings(connection: Connection) -> None:
    upsert(connection, export("s", {"name": "zebra", "title": "okapi", "description": "lemur"}))
    connection.execute(
        "update tool_rag.ranking_setting"
        " set name_weight = 3, title_weight = 0, description_weight = 0.5, server_weight = 0"
    )
    assert {
        lexeme: rest[0] for (_, lexeme), rest in read_index(connection)["postings"].items()
    } == {
        "zebra": 3,
        "lemur": 0.5,
    }
    check(connection)


def test_the_vector_is_the_weighted_sum_of_three(connection: Connection) -> None:
    upsert(
        connection,
        export(
            "deskServer",
            {
                "name": "bookRoom",
                "title": "Reserve",
                "description": "Reserve a meeting room",
                "input_schema": {
                    "properties": {
                        "startTime": {"description": "When it starts", "enum": ["noon", "evening"]}
                    }
                },
            },
        ),
    )
    texts = {
        "name": "book Room",
        "short": "book Room Reserve Reserve a meeting room",
        "full": "book Room Reserve Reserve a meeting room start Time When it starts noon evening"
        " desk Server",
    }
    for weights in ((1, 0.5, 0.2), (0, 0, 1), (0, 1, 0), (1, 0, 0), (2, 3, 0)):
        connection.execute(
            "update tool_rag.ranking_setting set full_vector_weight = %s,"
            " short_vector_weight = %s, name_vector_weight = %s",
            weights,
        )
        parts = [
            fetch(connection, "select tool_rag.embed(%s)::real[]", texts[name])
            for name in ("full", "short", "name")
        ]
        expected = [
            sum(w * x for w, x in zip(weights, components, strict=True))
            for components in zip(*parts, strict=True)
        ]
        vector = fetch(connection, "select embedding::real[] from tool_rag.tool_vector")
        assert vector == pytest.approx(expected, abs=2e-3 * sum(weights))


def test_a_tool_without_known_words_has_postings_but_no_vector(connection: Connection) -> None:
    add_tool(connection, "\U00012000", "\U00012001", "\U00012002\U00012003", {})
    index = check(connection)
    assert index["vectors"] == {}
    assert len(index["postings"]) == 3


def test_a_tool_without_any_word_is_a_document_of_no_length(connection: Connection) -> None:
    add_tool(connection, "\U0001f996", "\U0001f9e9", "", {})
    index = check(connection)
    assert index["documents"] == {"\U0001f996/\U0001f9e9": [0, None]}
    assert index["totals"] == (1, 0)
    add_role(connection, "all")
    allow(connection, "all")
    assert found(connection, "anything") == []


WORDS = (
    "zebra",
    "okapi",
    "lemurs",
    "the",
    "meeting rooms",
    "getUserInfo",
    "天気予報",
    "погода",
    "",
)
NAMES = ("alpha", "betaGamma", "delta_epsilon", "天気", "x/y", "zebra")
SERVERS = ("one", "two", "Three4")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
PARAMETERS = st.lists(st.sampled_from(["zebra", "roomId", "day", "天"]), max_size=3, unique=True)

STEPS = st.one_of(
    st.tuples(st.just("insert"), st.sampled_from(SERVERS), st.sampled_from(NAMES), TEXTS),
    st.tuples(st.just("insert_many"), st.sampled_from(SERVERS), st.integers(1, 4), TEXTS),
    st.tuples(st.just("insert_or_update"), st.sampled_from(SERVERS), st.sampled_from(NAMES), TEXTS),
    st.tuples(st.just("describe"), st.integers(0, 9), TEXTS),
    st.tuples(st.just("describe_all"), TEXTS),
    st.tuples(st.just("entitle"), st.integers(0, 9), TEXTS),
    st.tuples(st.just("schema"), st.integers(0, 9), PARAMETERS),
    st.tuples(st.just("rename"), st.integers(0, 9), st.sampled_from(NAMES)),
    st.tuples(st.just("move"), st.integers(0, 9), st.sampled_from(SERVERS)),
    st.tuples(st.just("disable"), st.integers(0, 9)),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("delete_many"), st.sampled_from(NAMES)),
    st.tuples(st.just("replace"), st.integers(0, 9), TEXTS),
    st.tuples(st.just("rename_server"), st.sampled_from(SERVERS), st.sampled_from(SERVERS)),
    st.tuples(st.just("disable_server"), st.sampled_from(SERVERS)),
    st.tuples(st.just("delete_server"), st.sampled_from(SERVERS)),
    st.tuples(
        st.just("upsert"),
        st.sampled_from(SERVERS),
        st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=4),
    ),
    st.tuples(st.just("truncate"), st.sampled_from(["tool", "server", "synonym", "example"])),
    st.tuples(st.just("synonym"), st.integers(0, 9), st.sampled_from(WORDS[:-1])),
    st.tuples(st.just("example"), st.integers(0, 9), st.sampled_from(WORDS[:-1])),
    st.tuples(st.just("term"), st.sampled_from(WORDS[:2]), st.sampled_from(WORDS[:-1])),
    st.tuples(st.just("reword"), st.sampled_from(WORDS[:-1])),
    st.tuples(st.just("move_wordings"), st.integers(0, 9)),
    st.tuples(st.just("unword"), st.integers(0, 9)),
    st.tuples(st.just("fail"), st.integers(0, 9), TEXTS),
    st.tuples(st.just("bm25"), st.sampled_from([0.5, 1.2])),
    st.tuples(
        st.just("set"),
        st.sampled_from(["name_weight", "server_weight", "parameter_name_weight"]),
        st.sampled_from([0, 0.5, 2]),
    ),
    st.tuples(st.just("config"), st.sampled_from(["english", "simple", "russian"])),
)


def nth(connection: Connection, number: int) -> int:
    ids = column(connection, "select tool_id from tool_rag.tool order by tool_id")
    return int(ids[number % len(ids)]) if ids else 0


def take(connection: Connection, step: tuple[Any, ...]) -> None:
    kind, *values = step
    match kind:
        case "insert":
            add_tool(connection, values[0], values[1], values[2])
        case "insert_many":
            connection.execute(
                "insert into tool_rag.tool (server_id, name, description, enabled)"
                " select %s, 'many' || n || random(), %s || ' number ' || n, n %% 2 = 0"
                " from generate_series(1, %s) n",
                [add_server(connection, values[0]), values[2], values[1]],
            )
        case "insert_or_update":
            connection.execute(
                "insert into tool_rag.tool (server_id, name, description)"
                " values (%(s)s, %(n)s, %(d)s), (%(s)s, %(n)s || '2', %(d)s)"
                " on conflict (server_id, name) do update set description = excluded.description",
                {"s": add_server(connection, values[0]), "n": values[1], "d": values[2]},
            )
        case "describe":
            connection.execute(
                "update tool_rag.tool set description = %s where tool_id = %s",
                [values[1], nth(connection, values[0])],
            )
        case "describe_all":
            connection.execute(
                "update tool_rag.tool set description = description || ' ' || %s", [values[0]]
            )
        case "entitle":
            connection.execute(
                "update tool_rag.tool set title = nullif(%s, '') where tool_id = %s",
                [values[1], nth(connection, values[0])],
            )
        case "schema":
            connection.execute(
                "update tool_rag.tool set input_schema = %s where tool_id = %s",
                [
                    psycopg.types.json.Jsonb(schema_of(*values[1])),
                    nth(connection, values[0]),
                ],
            )
        case "rename":
            connection.execute(
                "update tool_rag.tool set name = %s where tool_id = %s",
                [values[1], nth(connection, values[0])],
            )
        case "move":
            connection.execute(
                "update tool_rag.tool set server_id = %s where tool_id = %s",
                [add_server(connection, values[1]), nth(connection, values[0])],
            )
        case "disable":
            connection.execute(
                "update tool_rag.tool set enabled = not enabled where tool_id = %s",
                [nth(connection, values[0])],
            )
        case "delete":
            connection.execute(
                "delete from tool_rag.tool where tool_id = %s", [nth(connection, values[0])]
            )
        case "delete_many":
            connection.execute("delete from tool_rag.tool where name >= %s", [values[0]])
        case "replace":
            # One statement that takes a tool away and brings its like.
            connection.execute(
                "with gone as (delete from tool_rag.tool where tool_id = %s returning *)"
                " insert into tool_rag.tool (server_id, name, description)"
                " select server_id, name || '''', %s from gone",
                [nth(connection, values[0]), values[1]],
            )
        case "rename_server":
            connection.execute(
                "update tool_rag.server set name = %s where name = %s", [values[1], values[0]]
            )
        case "disable_server":
            connection.execute(
                "update tool_rag.server set enabled = not enabled where name = %s", values
            )
        case "delete_server":
            connection.execute("delete from tool_rag.server where name = %s", values)
        case "upsert":
            tools = [{"name": name, "description": text} for name, text in values[1].items()]
            upsert(connection, export(values[0], *tools))
        case "truncate":
            connection.execute(f"truncate tool_rag.{values[0]} cascade".encode())
        case "synonym":
            connection.execute(
                "insert into tool_rag.synonym (tool_id, words)"
                " select tool_id, %s from tool_rag.tool where tool_id = %s",
                [values[1], nth(connection, values[0])],
            )
        case "example":
            connection.execute(
                "insert into tool_rag.example (tool_id, request)"
                " select tool_id, %s from tool_rag.tool where tool_id >= %s",
                [values[1], nth(connection, values[0])],
            )
        case "term":
            connection.execute("insert into tool_rag.synonym (term, words) values (%s, %s)", values)
        case "reword":
            connection.execute("update tool_rag.synonym set words = words || ' ' || %s", values)
            connection.execute("update tool_rag.example set request = request || ' ' || %s", values)
        case "move_wordings":
            for table in ("synonym", "example"):
                connection.execute(
                    f"update tool_rag.{table} set tool_id = %s"
                    " where tool_id = (select min(tool_id) from tool_rag.tool)".encode(),
                    [nth(connection, values[0])],
                )
        case "unword":
            for table in ("synonym", "example"):
                connection.execute(
                    f"delete from tool_rag.{table} where tool_id = %s".encode(),
                    [nth(connection, values[0])],
                )
        case "fail":
            with undone(connection):
                connection.execute("update tool_rag.tool set description = %s", [values[1]])
                connection.execute(
                    "delete from tool_rag.tool where tool_id = %s", [nth(connection, values[0])]
                )
        case "bm25":
            connection.execute("update tool_rag.ranking_setting set bm25_k1 = %s", values)
        case "set":
            connection.execute(
                f"update tool_rag.ranking_setting set {values[0]} = %s".encode(), [values[1]]
            )
        case "config":
            connection.execute(
                "update tool_rag.ranking_setting set text_search_config = %s::regconfig", values
            )
        case _:
            raise AssertionError(kind)


def take_if_possible(connection: Connection, step: tuple[Any, ...]) -> None:
    """One edit drawn by chance; two tools of a name on a server are refused, leaving no trace."""
    with suppress(psycopg.errors.UniqueViolation), connection.transaction():
        take(connection, step)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=2, max_size=12))
def test_any_edits_leave_what_indexing_anew_makes(
    connection: Connection, steps: list[tuple[Any, ...]]
) -> None:
    with undone(connection):
        for name in SERVERS:
            add_tool(connection, name, "alpha", "zebra of the okapi", schema_of("roomId"))
        for step in steps:
            take_if_possible(connection, step)
        check(connection)


def test_many_edits_by_chance(connection: Connection, seed: int) -> None:
    """Longer than hypothesis' examples, with the statistics checked on the way."""
    chance = random.Random(seed)
    with undone(connection):
        for number in range(120):
            server = chance.choice(SERVERS)
            text = " ".join(chance.choices(WORDS, k=3)) + f" w{chance.randrange(20)}"
            tool = chance.randrange(50)
            step = chance.choice(
                [
                    ("insert_or_update", server, f"tool{tool}", text),
                    ("insert_or_update", server, f"tool{tool}", text),
                    ("upsert", server, {f"tool{n}": text for n in range(tool % 7)}),
                    ("describe", tool, text),
                    ("delete", tool),
                    ("replace", tool, text),
                    ("disable", tool),
                ]
            )
            take_if_possible(connection, step)
            if number % 30 == 29:
                check(connection)


@pytest.mark.parametrize("config", ["simple", "german", "russian"])
def test_another_text_search_configuration_indexes_anew(
    connection: Connection, config: str
) -> None:
    add_role(connection, "all")
    allow(connection, "all")
    add_tool(connection, "s", "a", "Wetterberichte der Häuser")
    add_tool(connection, "s", "b", "погоды в городах")
    add_tool(connection, "s", "c", "meetings of the teams")
    before = read_index(connection)["lexemes"]
    connection.execute(
        "update tool_rag.ranking_setting set text_search_config = %s::regconfig", [config]
    )
    lexemes = check(connection)["lexemes"]
    assert lexemes != before
    by_words = [
        hit["name"]
        for query, hit in ((q, h) for q in QUERIES[config] for h in search(connection, q))
        if "words" in hit["explain"]
    ]
    assert by_words == EXPECTED[config]


QUERIES = {
    "simple": ["meetings", "meeting", "the"],
    "german": ["Wetterbericht", "Haus"],
    "russian": ["погода", "город"],
}
EXPECTED = {"simple": ["c", "c"], "german": ["a", "a"], "russian": ["b", "b"]}


def test_k1_and_b_touch_no_row(connection: Connection) -> None:
    add_role(connection, "all")
    allow(connection, "all")
    add_tool(connection, "s", "long", "zebra " + "okapi lemur ibex tapir " * 20)
    add_tool(connection, "s", "short", "okapi zebra")
    rows = """
        select 'posting ' || ctid || xmin from tool_rag.posting
        union all select 'document ' || ctid || xmin from tool_rag.document
        union all select 'vector ' || ctid || xmin from tool_rag.tool_vector
        order by 1
    """
    before = column(connection, rows)
    scores = [hit["explain"]["words"]["score"] for hit in search(connection, "zebra")]
    connection.execute("update tool_rag.ranking_setting set bm25_k1 = 0.4, bm25_b = 0.1")
    assert column(connection, rows) == before
    # A search reads them all the same.
    assert [hit["explain"]["words"]["score"] for hit in search(connection, "zebra")] != scores
    connection.execute("update tool_rag.ranking_setting set name_weight = 1")
    assert column(connection, rows) != before


@pytest.mark.parametrize(
    "setting",
    [
        "bm25_k1 = 0",
        "bm25_k1 = -1",
        "bm25_b = 1.1",
        "bm25_b = -0.1",
        "name_weight = -1",
        "server_weight = -0.01",
        "short_vector_weight = -1",
    ],
)
def test_settings_that_can_not_be(connection: Connection, setting: str) -> None:
    with undone(connection), pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(f"update tool_rag.ranking_setting set {setting}".encode())
    with undone(connection), pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("insert into tool_rag.ranking_setting default values")


def test_an_edit_touches_only_its_tool(connection: Connection) -> None:
    ids = [add_tool(connection, "s", f"t{n}", f"zebra okapi word{n}") for n in range(10)]
    rows = """
        select 'posting', tool_id, ctid::text from tool_rag.posting
        union all select 'document', tool_id, ctid::text from tool_rag.document
        union all select 'vector', tool_id, ctid::text from tool_rag.tool_vector
        union all select 'lexeme', 0, ctid::text || lexeme from tool_rag.lexeme
    """
    before = set(connection.execute(rows).fetchall())
    connection.execute(
        "update tool_rag.tool set description = 'zebra lemur' where tool_id = %s", [ids[3]]
    )
    gone = before - set(connection.execute(rows).fetchall())
    assert {(kind, tool) for kind, tool, _ in gone if tool} == {
        ("posting", ids[3]),
        ("document", ids[3]),
        ("vector", ids[3]),
    }
    # Of the lexemes those whose number of tools has changed, twice for the ones that it kept.
    assert {place.split(")")[1] for kind, _, place in gone if kind == "lexeme"} <= {
        "zebra",
        "okapi",
        "word3",
        "t3",
        "s",
    }


@pytest.mark.parametrize(
    "change",
    [
        "annotations = '{\"readOnlyHint\": true}'",
        "is_action = not is_action",
        "identity_parameters = '{x}'",
        "enabled = false",
        'output_schema = \'{"properties": {"zebra": {}}}\'',
        "description = description",
    ],
)
def test_an_edit_of_anything_else_touches_no_index(connection: Connection, change: str) -> None:
    add_tool(connection, "s", "a", "zebra")
    rows = "select array_agg(ctid::text order by ctid::text) from tool_rag.{}"
    tables = ("posting", "document", "lexeme", "tool_vector")
    before = [fetch(connection, rows.format(table)) for table in tables]
    connection.execute(f"update tool_rag.tool set {change}".encode())
    assert [fetch(connection, rows.format(table)) for table in tables] == before
    check(connection)


@pytest.mark.parametrize(
    "change",
    [
        "name = 'okapi'",
        "title = 'okapi'",
        "description = 'okapi'",
        'input_schema = \'{"properties": {"okapi": {}}}\'',
        "server_id = (select server_id from tool_rag.server where name = 'okapi')",
    ],
)
def test_an_edit_of_any_text_is_indexed(connection: Connection, change: str) -> None:
    add_tool(connection, "s", "a", "zebra")
    add_server(connection, "okapi")
    connection.execute(f"update tool_rag.tool set {change}".encode())
    assert check(connection)["lexemes"]["okapi"] == 1
    connection.execute("update tool_rag.tool set name = 'b', title = null, description = ''")
    check(connection)


def test_reindexing_says_how_many_and_changes_nothing(connection: Connection) -> None:
    assert fetch(connection, "select tool_rag.reindex_tools()") == 0
    for number in range(3):
        add_tool(connection, "s", f"t{number}", "zebra okapi")
    before = check(connection)
    assert fetch(connection, "select tool_rag.reindex_tools()") == 3
    after = check(connection)
    for kind in ("postings", "documents", "lexemes", "totals", "counts"):
        assert after[kind] == before[kind]


def test_more_tools_than_one_chunk(connection: Connection) -> None:
    connection.execute(
        "insert into tool_rag.tool (server_id, name, description)"
        " select %s, 'tool' || n, 'zebra number ' || n %% 7 from generate_series(1, 1100) n",
        [add_server(connection, "s")],
    )
    assert (
        fetch(connection, "select document_frequency from tool_rag.lexeme where lexeme = 'zebra'")
        == 1100
    )
    check(connection)
    connection.execute("delete from tool_rag.tool where name <> 'tool7'")
    index = check(connection)
    assert index["lexemes"] == {"tool7": 1, "zebra": 1, "number": 1, "0": 1}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("getUserInfo", "get User Info"),
        ("get_user.info-now/v2:x#y", "get user info now v2 x y"),
        ("HTTPServer", "HTTP Server"),
        ("parse2Html", "parse2 Html"),
        ("__init__", " init "),
        ("plain", "plain"),
        ("天気getX", "天気get X"),
        ("", ""),
    ],
)
def test_identifier_words(connection: Connection, name: str, expected: str) -> None:
    assert fetch(connection, "select tool_rag._identifier_words(%s)", name) == expected


def test_tool_fields(connection: Connection) -> None:
    fields: dict[str, str] = dict(
        connection.execute(
            "select field, content from tool_rag._tool_fields('n', '', 'd', %s, 's')",
            [
                psycopg.types.json.Jsonb(
                    {
                        "description": "top",
                        "properties": {
                            "a": {"enum": ["x", "x", 5], "items": {"properties": {"b": {}}}},
                            "c": {"const": "y", "description": "of c"},
                        },
                    }
                )
            ],
        ).fetchall()
    )
    assert fields["name"] == "n"
    assert "title" not in fields
    assert fields["description"] == "d"
    assert set(fields["parameter_name"].split()) == {"a", "b", "c"}
    assert set(fields["parameter_description"].split()) == {"top", "of", "c"}
    assert fields["parameter_value"] == "x y"
    assert fields["server"] == "s"
