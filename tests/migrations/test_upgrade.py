"""Upgrades: complete or nothing, once, by whoever owns the database, wherever pgvector is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import psycopg
import pytest
from alembic import command
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from tests.conftest import MakeDatabase, Postgres
from tests.migrations.conftest import dump, fetch
from tool_rag_pg import _assets, _migrate
from tool_rag_pg._catalogue import snapshot
from tool_rag_pg._database import read_state
from tool_rag_pg._migrate import upgrade
from tool_rag_pg._verify import verify
from tool_rag_pg.errors import DatabaseError, DatabaseNewer, DatabaseUnavailable, SchemaNotReady

TOOLS = """
select tool_rag.upsert_tools('{"server": "post", "tools": [
    {"name": "sendLetter", "description": "Send a letter by mail"},
    {"name": "track_parcel", "description": "Say where a parcel is"}
]}');
select tool_rag.add_role('clerk');
select tool_rag.grant_tools('clerk', 'post', '*');
"""
SEARCH = "select name from tool_rag.search_tools('where is my parcel', '{clerk}')"


def fill(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(TOOLS.encode())


def as_role(url: str, role: str) -> str:
    return url.replace("postgres@", f"{role}@")


def read_snapshot(url: str) -> dict[tuple[str, str], str]:
    with psycopg.connect(url) as connection:
        connection.execute("set search_path = pg_catalog, pg_temp")
        return snapshot(connection)


@pytest.fixture
def broken_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last file of functions that fails after all others were applied."""
    files = (*_assets.function_files(), _assets.SqlFile("999_broken", "select 1 / 0;"))
    monkeypatch.setattr(_assets, "function_files", lambda: files)


def test_a_first_upgrade_says_what_it_did(make_database: MakeDatabase) -> None:
    url = make_database()
    said: list[str] = []
    report = upgrade(url, progress=said.append)
    assert report.steps == _assets.revisions()
    assert report.functions > 0
    assert report.word_pieces == fetch(url, "select count(*) from tool_rag.word_piece")
    assert report.reindexed == 0
    assert len(said) == 2
    assert verify(url) == []


def test_a_second_upgrade_changes_nothing(database: str) -> None:
    fill(database)
    rows = "select string_agg(p.xmin::text || p.oid, ',' order by p.oid) from pg_proc p"
    before = fetch(database, rows)
    assert not upgrade(database).changed
    # Not even the same functions once more: what searches have planned stays valid.
    assert fetch(database, rows) == before


def test_step_by_step_gives_what_a_fresh_upgrade_gives(
    postgres: Postgres, database: str, make_database: MakeDatabase
) -> None:
    stepwise = make_database()
    with psycopg.connect(stepwise) as connection:
        vector_schema = _migrate.find_vector(connection)
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(stepwise), poolclass=NullPool
    )
    for revision in _assets.revisions():
        with engine.begin() as owner:
            config = _migrate.alembic_config(
                connection=owner,
                vector_schema=vector_schema,
                before=lambda owner=owner: owner.exec_driver_sql(
                    "create schema if not exists tool_rag"
                ),
                after=lambda: None,
            )
            command.upgrade(config, revision)
    report = upgrade(stepwise)
    assert report.steps == ()
    assert report.functions > 0
    assert read_snapshot(stepwise) == read_snapshot(database)
    assert dump(postgres, stepwise) == dump(postgres, database)


def test_each_step_has_its_revision() -> None:
    shims = sorted((_assets.migrations_dir() / "versions").glob("[0-9]*.py"))
    assert tuple(shim.stem for shim in shims) == _assets.revisions()


def test_eight_processes_at_once(make_database: MakeDatabase) -> None:
    url = make_database()
    program = (
        "import sys; from tool_rag_pg._migrate import upgrade; print(upgrade(sys.argv[1]).changed)"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    answers = [process.communicate() for process in processes]
    assert sorted(answers) == [("False\n", "")] * 7 + [("True\n", "")]
    assert verify(url) == []


def test_a_newer_database_is_left_alone(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("update tool_rag.alembic_version set version_num = '9999_future'")
    with pytest.raises(DatabaseNewer, match="9999_future, which is newer") as caught:
        upgrade(database)
    assert caught.value.hint == "install the newer version: pip install --upgrade tool-rag-pg"


@pytest.mark.usefixtures("broken_functions")
def test_a_failure_leaves_an_empty_database_empty(make_database: MakeDatabase) -> None:
    url = make_database()
    with pytest.raises(DatabaseError, match="division by zero"):
        upgrade(url)
    assert fetch(url, "select to_regnamespace('tool_rag')") is None
    assert fetch(url, "select count(*) from pg_extension where extname = 'vector'") == 0


@pytest.mark.usefixtures("broken_functions")
def test_a_failure_leaves_an_old_database_as_it_was(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("drop function tool_rag.remove_role(text)")
    before = read_snapshot(database)
    with pytest.raises(DatabaseError):
        upgrade(database)
    assert read_snapshot(database) == before


def test_a_function_that_does_not_compile_fails_the_upgrade(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Bodies are not checked while files are applied, since they may use what comes later.
    wrong = """
        create or replace function tool_rag._wrong() returns int language sql
        as $$ select count from tool_rag.no_such_table $$;
    """
    files = (*_assets.function_files(), _assets.SqlFile("999_wrong", wrong))
    monkeypatch.setattr(_assets, "function_files", lambda: files)
    with pytest.raises(SchemaNotReady, match="no_such_table"):
        upgrade(database)
    assert fetch(database, "select to_regproc('tool_rag._wrong')") is None


def test_what_no_file_defines_any_more_is_dropped(database: str) -> None:
    before = read_snapshot(database)
    with psycopg.connect(database) as connection:
        connection.execute("""
            create function tool_rag._old(int) returns int language sql return $1;
            create function tool_rag._older() returns int language sql return tool_rag._old(1);
            create function tool_rag.embed(text, int) returns int language sql return 1;
            create trigger "old one" before insert on tool_rag.role
            execute function tool_rag._before_edit();
        """)
    assert upgrade(database).functions == 4
    assert read_snapshot(database) == before


def test_nothing_of_the_users_is_dropped_along(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("""
            create function tool_rag._old(int) returns int language sql return $1;
            create view public.mine as select tool_rag._old(1) as one;
        """)
    with pytest.raises(DatabaseError, match="other objects depend on it") as caught:
        upgrade(database)
    assert caught.value.sqlstate == "2BP01"
    assert fetch(database, "select one from public.mine") == 1


def test_the_index_follows_a_change_of_the_functions_that_make_it(database: str) -> None:
    fill(database)
    assert not upgrade(database).changed
    with psycopg.connect(database) as connection:
        connection.execute("""
            create or replace function tool_rag._lexical_text(p_text text) returns text
            language sql immutable parallel safe strict set search_path = pg_catalog, pg_temp
            as $$ select 'nothing' $$;
            select tool_rag.reindex_tools();
        """)
        assert connection.execute("select count(*) from tool_rag.lexeme").fetchone() == (1,)
    assert upgrade(database).reindexed == 2
    assert fetch(database, "select count(*) from tool_rag.lexeme") > 5
    assert verify(database) == []


def test_the_files_that_decide_what_is_stored_exist() -> None:
    names = {file.name for file in _assets.function_files()}
    assert names >= _migrate.INDEX_FILES | _migrate.ACCESS_FILES


def test_another_model_is_replaced_and_tools_embedded_anew(database: str) -> None:
    fill(database)
    vectors = "select array_agg(embedding::text order by tool_id) from tool_rag.tool_vector"
    before = fetch(database, vectors)
    with psycopg.connect(database) as connection:
        connection.execute("""
            delete from tool_rag.word_piece where length(piece) > 3;
            update tool_rag.embedding_model set fingerprint = 'another';
            select tool_rag.reindex_tools();
        """)
    assert fetch(database, vectors) != before
    report = upgrade(database)
    assert report.reindexed == 2
    assert report.word_pieces == fetch(database, "select count(*) from tool_rag.word_piece")
    assert fetch(database, vectors) == before


def test_an_owner_who_is_no_superuser_can_upgrade(
    make_role: Callable[[str], str], make_database: MakeDatabase
) -> None:
    owner = make_role("owner")
    url = make_database(owner=owner)
    with psycopg.connect(url) as connection:
        connection.execute("create extension vector")
    url = as_role(url, owner)
    upgrade(url)
    fill(url)
    assert fetch(url, SEARCH) == "track_parcel"
    assert not upgrade(url).changed
    assert verify(url) == []


def test_who_may_not_create_the_extension_is_told_who_may(
    make_role: Callable[[str], str], make_database: MakeDatabase
) -> None:
    url = as_role(make_database(), make_role("guest"))
    with pytest.raises(DatabaseUnavailable, match="may not install it") as caught:
        upgrade(url)
    assert caught.value.hint == "as a superuser, in this database: create extension vector"


def test_the_extension_may_stand_in_any_schema(make_database: MakeDatabase) -> None:
    url = make_database()
    with psycopg.connect(url) as connection:
        connection.execute('create schema "my ""extensions"')
        connection.execute('create extension vector schema "my ""extensions"')
    upgrade(url)
    fill(url)
    assert fetch(url, SEARCH) == "track_parcel"
    assert verify(url) == []


def test_a_search_path_of_the_database_makes_no_difference(
    database: str, make_database: MakeDatabase
) -> None:
    url = make_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "create schema evil; create function evil.now() returns text "
            "language sql as $$ select 'no' $$;"
        )
        connection.execute(
            f"alter database {connection.info.dbname} "
            "set search_path = evil, tool_rag, pg_catalog".encode()
        )
    upgrade(url)
    assert not upgrade(url).changed
    assert read_snapshot(url) == read_snapshot(database)


def test_the_locale_c_will_do(make_database: MakeDatabase, database: str) -> None:
    url = make_database(migrated=True, lc_ctype="C", lc_collate="C")
    fill(url)
    assert fetch(url, SEARCH) == "track_parcel"
    embed = "select tool_rag.embed('Größe der ÄRZTE — ΑΘΗΝΑ')::text"
    assert fetch(url, embed) == fetch(database, embed)


def test_a_database_in_another_encoding_is_refused(make_database: MakeDatabase) -> None:
    url = make_database(encoding="LATIN1", lc_ctype="C", lc_collate="C")
    with pytest.raises(DatabaseUnavailable, match="encoded in LATIN1") as caught:
        upgrade(url)
    assert "encoding 'UTF8'" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("setting", "least", "message"),
    [
        ("_MIN_SERVER", 990000, "the server is Postgres 1[68]"),
        ("_MIN_VECTOR", (99, 0), "vector is 0"),
    ],
)
def test_an_old_server_is_refused(
    make_database: MakeDatabase,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    least: object,
    message: str,
) -> None:
    monkeypatch.setattr(_migrate, setting, least)
    with pytest.raises(DatabaseUnavailable, match=message) as caught:
        upgrade(make_database())
    assert caught.value.hint


def test_a_lost_note_of_the_version_is_written_anew(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("comment on schema tool_rag is 'mine'")
        assert read_state(connection).revision is None
    report = upgrade(database)
    assert (report.changed, report.functions) == (True, 0)
    with psycopg.connect(database) as connection:
        assert read_state(connection).is_current
