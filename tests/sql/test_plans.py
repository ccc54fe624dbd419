"""How searches are carried out: by index, with bounded reading, whatever a session did before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import (
    COMMON,
    MANY,
    Connection,
    add_role,
    add_tool,
    allow,
    export,
    fetch,
    found,
    search,
    upsert,
)

# Tables of more than a row: reading one through is what a search must not do.
TABLES = (
    "dependency",
    "document",
    "embedding_model",
    "example",
    "grant_rule",
    "lexeme",
    "posting",
    "role",
    "role_tool",
    "server",
    "synonym",
    "tool",
    "tool_name",
    "tool_use",
    "tool_vector",
    "word_piece",
)
COUNTS = """
    select c.relname, c.relkind = 'i', pg_stat_get_xact_numscans(c.oid),
        pg_stat_get_xact_tuples_returned(c.oid)
    from pg_class c
    where c.relnamespace = 'tool_rag'::regnamespace and c.relkind in ('r', 'i')
"""


class Reading:
    """What the statements inside `reading` have read.

    Attributes:
        through: tables that were read from end to end.
        scans: how often each index was used.
        entries: how many entries of each index were read.

    """

    through: set[str]
    scans: dict[str, int]
    entries: dict[str, int]


@contextmanager
def reading(connection: Connection) -> Iterator[Reading]:
    """Count what is read inside, by the counters of this transaction."""

    def counts() -> dict[str, tuple[bool, int, int]]:
        return {name: (index, *rest) for name, index, *rest in connection.execute(COUNTS)}

    read = Reading()
    before = counts()
    yield read
    after = counts()
    more = {
        name: (index, scans - before[name][1], entries - before[name][2])
        for name, (index, scans, entries) in after.items()
    }
    read.through = {
        name for name, (index, scans, _) in more.items() if not index and scans and name in TABLES
    }
    read.scans = {name: scans for name, (index, scans, _) in more.items() if index}
    read.entries = {name: entries for name, (index, _, entries) in more.items() if index}


@pytest.fixture
def reader(many: Connection) -> Iterator[Connection]:
    """The database of many tools, within a transaction, which the counters need."""
    with many.transaction(force_rollback=True):
        yield many


def test_the_counters_see_a_table_read_through(reader: Connection) -> None:
    # Else the tests below could not fail.
    with reading(reader) as read:
        reader.execute("set local enable_indexscan = off; set local enable_indexonlyscan = off")
        fetch(reader, "select sum(frequency) from tool_rag.posting")
    assert read.through == {"posting"}
    with reading(reader) as read:
        reader.execute("set local enable_indexscan = on; set local enable_seqscan = off")
        fetch(reader, "select name from tool_rag.tool order by tool_id limit 1")
    assert read.through == set()
    assert read.scans["tool_pkey"] == 1


REQUESTS = (
    "refund the invoice of a customer in the online shop",
    "system",
    "reimburse",
    "delete everything unfathomable zzyzx",
    "天気 refund",
    "!",
)


@pytest.mark.parametrize("request_text", REQUESTS)
@pytest.mark.parametrize(
    "roles", [("all",), ("both",), ("most",), ("tenth",), ("five",), ("all", "blind"), ("nobody",)]
)
def test_a_search_reads_no_table_through(
    reader: Connection, roles: tuple[str, ...], request_text: str
) -> None:
    # Plans are made at the first call and may change at the sixth.
    for _ in range(7):
        with reading(reader) as read:
            search(reader, request_text, roles, k=10)
        assert read.through == set()


def test_who_sees_much_is_served_by_both_indexes(reader: Connection) -> None:
    with reading(reader) as read:
        assert len(search(reader, "refund the invoice of a customer", ("all",), k=10)) == 10
    assert read.scans["tool_vector_definition_idx"] == 1
    # Of 4,000 vectors those near by, of the postings those of the request's words.
    assert read.entries["tool_vector_definition_idx"] <= 400
    assert read.scans["posting_pkey"] >= 1
    assert read.scans["role_tool_role_id_idx"] >= 1
    frequencies = fetch(reader, "select (tool_rag._read_query(%s)).frequencies", REQUESTS[0])
    assert read.entries["posting_pkey"] <= 4 * sum(frequencies)


def test_who_sees_few_has_just_these_scored(reader: Connection) -> None:
    with reading(reader) as read:
        assert len(search(reader, "refund the invoice", ("five",), k=10)) == 5
    assert read.scans["tool_vector_definition_idx"] == 0
    vectors = read.entries["tool_vector_pkey"] + read.entries["tool_vector_tool_id_idx"]
    # Entries of rows that are gone are counted until a vacuum, so the bounds are wide.
    assert 5 <= vectors < MANY // 4
    assert 5 <= read.entries["document_pkey"] < MANY // 4
    assert read.entries["role_tool_role_id_idx"] < MANY // 4
    assert read.entries["tool_pkey"] < MANY // 4


def test_words_of_every_tool_are_read_within_a_budget(reader: Connection) -> None:
    # Six words stand in all the tools, each of the others in a twentieth of them.
    request = f"{COMMON}: create delete list update invoice customer flight hotel"
    frequencies = fetch(reader, "select (tool_rag._read_query(%s)).frequencies", request)
    assert frequencies[-6:] == [MANY] * 6
    rare = sum(frequencies[:-6])
    for _ in range(7):
        with reading(reader) as read:
            assert len(search(reader, request, ("all",), k=10)) == 10
        # The rare ones and as many of the others as the budget holds; all would be 24,000 more.
        assert rare <= read.entries["posting_pkey"] < rare + 6 * MANY
        assert read.through == set()


def test_no_role_reads_no_index_of_tools(reader: Connection) -> None:
    for roles in ([], ["nobody"]):
        with reading(reader) as read:
            assert search(reader, "refund", roles) == []
        assert read.scans["posting_pkey"] == 0
        assert read.scans["tool_vector_definition_idx"] == read.scans["tool_vector_pkey"] == 0
        assert read.scans["tool_pkey"] == 0


def test_the_catalogue_may_outgrow_what_a_session_has_planned(database: str) -> None:
    with psycopg.connect(database) as connection:
        add_tool(connection, "s", "first", "zebra")
        add_role(connection, "all")
        allow(connection, "all")
        for _ in range(7):
            assert found(connection, "zebra") == ["first"]
        connection.execute(
            "insert into tool_rag.tool (server_id, name, description)"
            " select server_id, 'tool' || n, 'zebra number ' || n"
            " from tool_rag.server, generate_series(1, 3200) n"
        )
        with reading(connection) as read:
            assert found(connection, "number 77")[0] == "tool77"
        assert read.through == set()
        assert read.scans["tool_vector_definition_idx"] == 1


EDITS: dict[str, Any] = {
    "a tool with unknown words": lambda c: add_tool(
        c, "s", "zzyzx", "antidisestablishmentarianism donaudampfschifffahrt"
    ),
    "an export": lambda c: upsert(c, export("s", *(f"zzyzx{n}" for n in range(50)))),
    "a new index": lambda c: c.execute("select tool_rag.reindex_tools()"),
    "a role": lambda c: add_role(c, "r", "all"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_leaves_the_sessions_searches_their_plans(database: str, edit: str) -> None:
    # A plan is made once in a session, under the settings of whoever comes first.
    with psycopg.connect(database) as connection:
        add_role(connection, "all")
        allow(connection, "all")
        EDITS[edit](connection)
        with reading(connection) as read:
            for _ in range(7):
                search(connection, "unfathomable zzyzx zebra", ("all",))
                fetch(connection, "select tool_rag.embed('unfathomable zzyzx zebra')")
        assert read.through == set()


# Large in any catalogue. Whether postings are read through is for the planner: here they are few.
BIG = {"role_tool", "word_piece"}


def test_an_edit_of_one_tool_reads_no_big_table_through(reader: Connection) -> None:
    for _ in range(7):
        with reading(reader) as read:
            reader.execute(
                "update tool_rag.tool set description = description || ' anew'"
                " where tool_id = (select min(tool_id) from tool_rag.tool)"
            )
        assert read.through & BIG == set()
    with reading(reader) as read:
        add_tool(reader, "system1", "brand_new", "Something unheard of")
    assert read.through & BIG == set()
    with reading(reader) as read:
        reader.execute("delete from tool_rag.tool where name = 'brand_new'")
    assert read.through & BIG == set()


def explained(connection: Connection, query: str) -> list[dict[str, Any]]:
    """Return the nodes of a query's plan, as it was carried out."""
    plan = fetch(connection, f"explain (analyze, format json, costs off, timing off) {query}")

    def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield node
        for inner in node.get("Plans", ()):
            yield from nodes(inner)

    return list(nodes(plan[0]["Plan"]))


def test_nearest_vectors_come_from_the_index(reader: Connection) -> None:
    # The query of _propose_by_vector needs this very expression and predicate.
    reader.execute("set local enable_seqscan = off; set local enable_sort = off")
    vector = fetch(reader, "select tool_rag.embed('refund the invoice')::text")
    operator = fetch(
        reader,
        "select 'operator(' || quote_ident(nspname) || '.<#>)' from pg_extension e"
        " join pg_namespace n on n.oid = e.extnamespace where extname = 'vector'",
    )
    nodes = explained(
        reader,
        "select tool_id from tool_rag.tool_vector where model_id = 1 and kind = 'definition'"
        f" order by embedding::halfvec(256) {operator} '{vector}'::halfvec(256) limit 10",
    )
    assert [node.get("Index Name") for node in nodes if "Index Name" in node] == [
        "tool_vector_definition_idx"
    ]
    assert all(node["Node Type"] != "Sort" for node in nodes)


def test_the_index_holds_every_vector(reader: Connection) -> None:
    assert fetch(reader, "select count(*) from tool_rag.tool_vector where model_id = 1") == MANY
    assert fetch(
        reader,
        "select indisvalid from pg_index where indexrelid = %s::regclass",
        "tool_rag.tool_vector_definition_idx",
    )
