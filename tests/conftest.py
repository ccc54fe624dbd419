"""A real Postgres for every test that asks: 16 and 18, each with one migrated template database.

`connection` is a transaction on a shared migrated database, rolled back after the test.
`database` is the URL of a migrated database of the test's own. `make_database` makes others.
A server that does not start fails the tests; nothing is skipped.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql

from tool_rag_pg._migrate import upgrade
from tool_rag_pg.embedded import VERSIONS, EmbeddedServer

TEMPLATE = "tool_rag_template"
SHARED = "tool_rag_shared"

MakeDatabase = Callable[..., str]

# Machines differ and are shared; pytest-timeout bounds a test that hangs.
settings.register_profile("tool_rag", deadline=None)
settings.load_profile("tool_rag")


def wanted_versions() -> list[int]:
    """Return the versions of Postgres to test on: all, or those of TOOL_RAG_TEST_PG."""
    named = os.environ.get("TOOL_RAG_TEST_PG")
    versions = [int(part) for part in named.split(",")] if named else list(VERSIONS)
    assert set(versions) <= set(VERSIONS), f"TOOL_RAG_TEST_PG={named}: one of {VERSIONS}"
    return versions


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    # No test may reach the databases of whoever runs it.
    for name in list(os.environ):
        if name == "TOOL_RAG_DATABASE_URL" or (name.startswith("PG") and name[2:].isupper()):
            del os.environ[name]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what asks no Postgres, where TOOL_RAG_TEST_ONLY is "postgres", or all else.

    So that several runs at once, each with a version of its own, do nothing twice: see .ci/run.
    """
    only = os.environ.get("TOOL_RAG_TEST_ONLY")
    if only is None:
        return
    assert only in ("postgres", "other"), f"TOOL_RAG_TEST_ONLY={only}: postgres, other, or nothing"
    wanted = only == "postgres"
    kept = [item for item in items if ("postgres" in getattr(item, "fixturenames", ())) == wanted]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_report_header(config: pytest.Config) -> list[str]:
    said = []
    for version in wanted_versions():
        bin_dir = EmbeddedServer(Path(), version=version).bin_dir
        full = subprocess.check_output([bin_dir / "postgres", "--version"], text=True).split()[-1]
        control = next(bin_dir.parent.rglob("vector.control")).read_text(encoding="utf-8")
        vector = re.search(r"default_version = '([^']+)'", control)
        said.append(f"{full} with pgvector {vector[1] if vector else '?'}")
    seed = config.option.hypothesis_seed
    return [
        f"postgres: {', '.join(said)}",
        f"seed: {seed} (repeat with --hypothesis-seed={seed})",
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much tests tried that draw random cases by themselves."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "tried" and report.when == "call":
                terminalreporter.write_line(f"tried: {report.nodeid.split('::')[-1]}: {value}")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run, for tests that draw random data by themselves."""
    return int(request.config.option.hypothesis_seed)


@dataclass
class Postgres:
    """One server of the session, with its migrated template.

    Attributes:
        server: the running server.
        shared: the connection that tests borrow, one transaction each.

    """

    server: EmbeddedServer
    shared: psycopg.Connection[tuple[Any, ...]] | None = None
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def version(self) -> int:
        return self.server.version

    def execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.server.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def clone(self, name: str) -> str:
        """Make a copy of the template and return its URL."""
        self.execute(
            sql.SQL("create database {} template {} strategy file_copy").format(
                sql.Identifier(name), sql.Identifier(TEMPLATE)
            )
        )
        return self.server.url(name)

    def drop(self, name: str) -> None:
        self.execute(
            sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
        )

    def borrow(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the shared connection, outside of a transaction."""
        if self.shared is None or self.shared.closed:
            self.drop(SHARED)
            self.shared = psycopg.connect(self.clone(SHARED))
        return self.shared


def start_postgres(version: int, folder: Path) -> Postgres:
    """Start a server that need not survive a crash, and make its template."""
    server = EmbeddedServer(
        folder / f"pg{version}",
        version=version,
        settings={
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "max_wal_size": "4GB",
            "autovacuum": "off",
        },
    )
    server.start()
    server.create_database(TEMPLATE)
    upgrade(server.url(TEMPLATE))
    with psycopg.connect(server.url(TEMPLATE), autocommit=True) as connection:
        connection.execute("vacuum analyze")
    return Postgres(server)


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[int], Postgres]]:
    # A short path: that of a socket may have about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="tool-rag-test-"))
    running: dict[int, Postgres] = {}

    def get(version: int) -> Postgres:
        if version not in running:
            running[version] = start_postgres(version, folder)
        return running[version]

    yield get
    for postgres in running.values():
        if postgres.shared is not None:
            postgres.shared.close()
    # All that this session started, also one that failed halfway.
    for version in VERSIONS:
        EmbeddedServer(folder / f"pg{version}", version=version).stop(immediate=True)
    shutil.rmtree(folder)


@pytest.fixture(scope="session", params=wanted_versions(), ids=lambda version: f"pg{version}")
def postgres(request: pytest.FixtureRequest, servers: Callable[[int], Postgres]) -> Postgres:
    """Each version of Postgres in turn."""
    return servers(request.param)


@pytest.fixture
def connection(postgres: Postgres) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A transaction on a migrated database without tools, rolled back after the test."""
    shared = postgres.borrow()
    state = "select version from tool_rag.catalogue_state"
    before = shared.execute(state).fetchone()
    shared.rollback()
    yield shared
    if shared.closed:
        return
    shared.rollback()
    after = shared.execute(state).fetchone()
    shared.rollback()
    if after != before:
        shared.close()
        pytest.fail("this test commits: it needs the fixture `database` instead of `connection`")


@pytest.fixture
def make_database(postgres: Postgres) -> Iterator[MakeDatabase]:
    """Return a function that creates databases, dropped after the test.

    `make_database()` is empty; `make_database(migrated=True)` is not. Further options are those of
    `create database`, as in `make_database(lc_ctype="C", encoding="UTF8")`.
    """
    made: list[str] = []

    def make(*, migrated: bool = False, **options: str) -> str:
        name = f"tool_rag_test_{next(postgres.numbers)}"
        made.append(name)
        if migrated and not options:
            return postgres.clone(name)
        clauses = {"template": "template0", **options}
        postgres.execute(
            sql.SQL("create database {} {}").format(
                sql.Identifier(name),
                sql.SQL(" ").join(
                    sql.SQL("{} {}").format(sql.SQL(key), sql.Literal(value))
                    if key not in ("template", "owner")
                    else sql.SQL("{} {}").format(sql.SQL(key), sql.Identifier(value))
                    for key, value in clauses.items()
                ),
            )
        )
        url = postgres.server.url(name)
        if migrated:
            upgrade(url)
        return url

    yield make
    for name in made:
        postgres.drop(name)


@pytest.fixture
def database(make_database: MakeDatabase) -> str:
    """The URL of a migrated database of the test's own, without tools."""
    return make_database(migrated=True)
