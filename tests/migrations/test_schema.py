"""The schema as a reviewer sees it, released steps that stay as they are, and SQL without us."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import psycopg
import pytest

from tests.conftest import MakeDatabase, Postgres
from tests.migrations.conftest import dump, fetch, run_psql
from tool_rag_pg import _assets
from tool_rag_pg._catalogue import differences, snapshot
from tool_rag_pg._migrate import offline_sql, upgrade
from tool_rag_pg._verify import verify
from tool_rag_pg.embedded import VERSIONS

COMMITTED = Path(__file__).with_name("schema.sql")
FROZEN = Path(__file__).resolve().parents[2] / "migrations" / "frozen.txt"
REWRITE = "TOOL_RAG_REWRITE_SCHEMA"


def without_bodies(text: str) -> str:
    """Return a dump without the bodies of functions, which are in sql/functions as they are."""
    text = re.sub(r"(\n +AS \$(\w*)\$).*?\$\2\$;", r"\1 ... $\2$;", text, flags=re.DOTALL)
    return re.sub(r"\n RETURN .*?;\n(?=\n)", "\n RETURN ...;\n", text, flags=re.DOTALL)


def test_the_committed_schema_is_the_one_that_upgrades_make(
    postgres: Postgres, database: str
) -> None:
    if postgres.version < VERSIONS[-1]:
        return  # Each version's pg_dump writes in its own way; the newest one's is committed.
    new = without_bodies(dump(postgres, database))
    if os.environ.get(REWRITE):
        COMMITTED.write_text(new, encoding="utf-8")
    assert new == COMMITTED.read_text(encoding="utf-8"), "look at it and commit it: make schema"


def broken_seals(frozen: str, steps: dict[str, str]) -> list[str]:
    """Return the released steps, one `sha256  name.sql` a line, that are not as they were."""
    lines = [line.split() for line in frozen.splitlines() if line.strip()]
    sealed = {name: digest for digest, name in lines}
    return [
        name
        for name, digest in sealed.items()
        if hashlib.sha256(steps.get(name, "").encode()).hexdigest() != digest
    ]


def test_released_steps_are_as_they_were() -> None:
    steps = {f"{step.name}.sql": step.text for step in _assets.schema_files()}
    assert broken_seals(FROZEN.read_text(encoding="utf-8"), steps) == [], "add a new step instead"


def test_an_edit_of_a_released_step_is_noticed() -> None:
    steps = {f"{step.name}.sql": step.text for step in _assets.schema_files()}
    frozen = "".join(
        f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in steps.items()
    )
    assert broken_seals(frozen, steps) == []
    first, second, *_ = steps
    assert broken_seals(frozen, {**steps, first: steps[first] + " "}) == [first]
    assert broken_seals(frozen, {n: t for n, t in steps.items() if n != second}) == [second]


def test_files_are_named_and_numbered_in_order() -> None:
    numbers = [int(step.name[:4]) for step in _assets.schema_files()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(re.fullmatch(r"\d{3}_[a-z]+", file.name) for file in _assets.function_files())


@pytest.mark.parametrize("vector_schema", ["public", "extensions"])
def test_offline_sql_makes_the_same_schema(
    postgres: Postgres, make_database: MakeDatabase, vector_schema: str
) -> None:
    url, usual = make_database(), make_database()
    for each in (url, usual):
        with psycopg.connect(each) as connection:
            connection.execute(f"create schema if not exists {vector_schema}".encode())
            connection.execute(f"create extension vector schema {vector_schema}".encode())
    run_psql(postgres, url, "".join(offline_sql(vector_schema=vector_schema)))
    upgrade(usual)
    with psycopg.connect(url) as made, psycopg.connect(usual) as wanted:
        assert differences(snapshot(made), snapshot(wanted)) == []
    # What is left is the model, and that is all that an upgrade then adds.
    assert len(verify(url)) == 1
    report = upgrade(url)
    assert (report.steps, report.functions) == ((), 0)
    assert report.word_pieces > 0
    assert verify(url) == []


def test_offline_sql_can_bring_the_model_along(
    postgres: Postgres, make_database: MakeDatabase, database: str
) -> None:
    url = make_database()
    with psycopg.connect(url) as connection:
        connection.execute("create extension vector")
    run_psql(postgres, url, "".join(offline_sql(with_model=True)))
    pieces = "select md5(string_agg(piece || embedding::text, '' order by piece)) from %s"
    pieces = pieces.replace("%s", "tool_rag.word_piece")
    assert fetch(url, pieces) == fetch(database, pieces)
    assert not upgrade(url).changed
