"""`verify` names what differs, whatever it is, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.conftest import MakeDatabase
from tool_rag_pg._verify import verify
from tool_rag_pg.errors import DatabaseNewer, DatabaseUnavailable, SchemaNotReady

FILL = """
    select tool_rag.upsert_tools('{"server": "post", "tools": [
        {"name": "send_letter", "description": "Send a letter by mail"},
        {"name": "track_parcel", "description": "Say where a parcel is"}
    ]}');
    select tool_rag.add_role('clerk');
    select tool_rag.grant_tools('clerk', 'post', '*');
"""


def test_nothing_differs_after_edits(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(FILL)
        connection.execute("delete from tool_rag.tool where name = 'send_letter'")
        connection.execute("select tool_rag.add_embedding_model('some-model', 384)")
    assert verify(database) == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            "drop index tool_rag.tool_vector_definition_idx",
            "index tool_rag.tool_vector_definition_idx is missing",
        ),
        (
            "alter table tool_rag.tool add column colour text",
            "column tool.colour is not of this package",
        ),
        ("alter table tool_rag.tool alter name drop not null", "column tool.name differs"),
        (
            "alter table tool_rag.tool drop constraint tool_name_check",
            "constraint tool_rag.tool.tool_name_check is missing",
        ),
        (
            "alter function tool_rag.remove_role(text) security invoker",
            "function tool_rag.remove_role(text) differs",
        ),
        (
            "grant execute on function tool_rag.remove_role(text) to public",
            "function tool_rag.remove_role(text) differs",
        ),
        ("grant delete on tool_rag.role to public", "relation role differs"),
        (
            "alter table tool_rag.tool disable trigger tool_after_insert",
            "trigger tool_rag.tool.tool_after_insert differs",
        ),
        ("create type tool_rag.mood as enum ('good')", "type mood is not of this package"),
        (
            "update tool_rag.embedding_model set fingerprint = null",
            "the built-in embedding model is missing or another one; run: tool-rag db upgrade",
        ),
        (
            "delete from tool_rag.role_tool where tool_id = 1",
            "1 rows of role_tool differ from the rules",
        ),
        (
            "update tool_rag.role_tool set deny_until = 'infinity'",
            "4 rows of role_tool differ from the rules",
        ),
        (
            "update tool_rag.catalogue_state set total_length = total_length + 1",
            "1 statistics of the catalogue differ from its documents",
        ),
        (
            "update tool_rag.lexeme set document_frequency = 2 where lexeme = 'parcel'",
            "1 lexemes have a wrong document frequency",
        ),
        (
            "update tool_rag.tool_name set folded = 'x' where tool_id = 1",
            "1 folded names differ from the tools' names",
        ),
        (
            "update tool_rag.posting set length = 0 where tool_id = 1",
            "1 documents differ from their postings",
        ),
    ],
)
def test_each_difference_is_named(database: str, damage: str, said: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(FILL)
        connection.execute(damage.encode())
    found = verify(database)
    assert said in found
    # And it stays as it is: verifying twice finds the same.
    assert verify(database) == found


def test_a_tool_that_was_never_indexed_is_noticed(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("alter table tool_rag.tool disable trigger tool_after_insert")
        connection.execute(FILL)
        connection.execute("alter table tool_rag.tool enable trigger tool_after_insert")
    assert "2 tools are not in the lexical index" in verify(database)


def test_a_tool_that_was_deleted_past_its_trigger_is_noticed(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(FILL)
        connection.execute("alter table tool_rag.tool disable trigger tool_after_delete")
        connection.execute("delete from tool_rag.tool where name = 'send_letter'")
        connection.execute("alter table tool_rag.tool enable trigger tool_after_delete")
    assert verify(database) == ["1 indexed documents have no tool"]


def test_a_database_without_the_schema_is_not_ready(
    make_database: MakeDatabase,
) -> None:
    url = make_database()
    with pytest.raises(SchemaNotReady, match="has no schema tool_rag") as caught:
        verify(url)
    assert caught.value.hint == "run: tool-rag db upgrade"


@pytest.mark.parametrize(
    ("revision", "error", "message"),
    [
        ("0001_catalogue", SchemaNotReady, "the database is at 0001_catalogue, this package needs"),
        ("9999_future", DatabaseNewer, "the database is at 9999_future, which is newer"),
    ],
)
def test_another_version_is_said_first(
    database: str, revision: str, error: type[Exception], message: str
) -> None:
    with psycopg.connect(database) as connection:
        note = f"Tool retrieval (tool_rag_pg 0.0.1, schema {revision}, functions 0123456789ab)"
        connection.execute(f"comment on schema tool_rag is '{note}'".encode())
    with pytest.raises(error, match=message):
        verify(database)


def test_no_server_is_no_connection(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="no connection to database x"):
        verify(f"postgresql:///x?host={tmp_path}&password=secret")
