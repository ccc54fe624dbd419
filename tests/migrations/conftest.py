"""What the tests of migrations share: dumps, roles, and running psql."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.conftest import Postgres


def dump(postgres: Postgres, url: str) -> str:
    """Return the schema as pg_dump writes it, without what differs from run to run."""
    text = subprocess.check_output(
        [
            postgres.server.bin_dir / "pg_dump",
            "--schema-only",
            "--schema=tool_rag",
            "--no-owner",
            url,
        ],
        text=True,
    )
    # Comments, and a key that each dump makes up.
    text = re.sub(r"^(--|\\(un)?restrict ).*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\n{2,}", "\n\n", text).lstrip("\n")
    # What differs with each version; the functions stand there themselves.
    return re.sub(r"tool_rag_pg [^ ,]+, (.*?), functions [0-9a-f]{12}\)", r"\1)", text)


def run_psql(postgres: Postgres, url: str, text: str) -> None:
    """Run a script as psql does, stopping at the first error."""
    done = subprocess.run(
        [postgres.server.bin_dir / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url],
        input=text,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def fetch(url: str, query: str, *parameters: Any) -> Any:
    """Return the first column of the first row."""
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture
def make_role(postgres: Postgres) -> Iterator[Callable[[str], str]]:
    """Return a function that creates a role without privileges, dropped after the test."""
    made: list[str] = []

    def make(name: str) -> str:
        role = f"{name}_{next(postgres.numbers)}"
        postgres.execute(sql.SQL("create role {} login").format(sql.Identifier(role)))
        made.append(role)
        return role

    yield make
    for role in made:
        postgres.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
