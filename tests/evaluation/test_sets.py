"""Databases of evaluations that ended without dropping theirs."""

from __future__ import annotations

import time

import psycopg
import pytest
from psycopg import sql

from tests.conftest import Postgres
from tool_rag_pg.evaluation.sets import drop_abandoned, temporary_database

OLD = int(time.time()) - 4000
NEW = int(time.time())
TOKEN = "0123456789ab"


@pytest.fixture
def url(postgres: Postgres, database: str) -> str:
    return database


def names(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("select datname from pg_database")
        return {name for (name,) in rows if name.startswith("tool_rag_eval")}


def execute(url: str, statement: str, *identifiers: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, identifiers)))  # type: ignore[arg-type]


def test_only_what_is_abandoned_is_dropped(url: str) -> None:
    abandoned = f"tool_rag_eval_{OLD}_{TOKEN}"
    in_use = f"tool_rag_eval_{OLD}_{TOKEN[::-1]}"
    others = {
        in_use,
        f"tool_rag_eval_{NEW}_{TOKEN}",
        f"tool_rag_eval_{OLD}_{TOKEN}_mine",
        "tool_rag_eval_results",
        f"tool_rag_evaluation_{OLD}_{TOKEN}",
    }
    foreign = f"tool_rag_eval_{OLD}_{'f' * 12}"
    made = {abandoned, foreign} | others
    role = f"other_{TOKEN}"
    execute(url, "create role {}", role)
    try:
        for name in made:
            execute(url, "create database {}", name)
        execute(url, "alter database {} owner to {}", foreign, role)
        with psycopg.connect(url, dbname=in_use):
            told: list[str] = []
            with temporary_database(url, notify=told.append) as connection:
                own = connection.info.dbname
                assert told == [
                    f"Dropped {abandoned}, which an evaluation that was ended had left behind."
                ]
                assert names(url) == {foreign, own} | others
                # One that is asked right now has a connection, besides being new.
                assert drop_abandoned(url) == []
            assert names(url) == {foreign} | others
        assert drop_abandoned(url) == [in_use]
    finally:
        for name in made:
            execute(url, "drop database if exists {} with (force)", name)
        execute(url, "drop role {}", role)


def test_a_run_that_fails_leaves_nothing(url: str) -> None:
    def run() -> None:
        with temporary_database(url):
            assert len(names(url)) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert names(url) == set()
