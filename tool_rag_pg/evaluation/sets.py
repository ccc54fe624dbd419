"""Sets of tools and requests, each in a database of its own that is dropped afterwards.

A set is a folder with catalog.jsonl and requests.jsonl, as the public sets are kept, or one in the
format of the demo company. Of the latter, NAME-originals is the set NAME with other descriptions:
those of its originals.json.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql

from tool_rag_pg import _database, _migrate, embedded
from tool_rag_pg._load_folder import load_folder
from tool_rag_pg._wording_files import read_file
from tool_rag_pg.demo import DEMO_FOLDER, UNIVERSITY_FOLDER, read_folder, read_originals
from tool_rag_pg.errors import DatabaseUnavailable, SourceError
from tool_rag_pg.retriever import ToolRetriever

__all__ = [
    "ORIGINALS",
    "REQUESTS",
    "ROLE",
    "SHIPPED",
    "drop_abandoned",
    "find_folder",
    "load_set",
    "sets_home",
    "temporary_database",
]

#: What ends the name of a set with the descriptions of its originals.json.
ORIGINALS = "-originals"
#: The sets that ship with the package, and where they are.
SHIPPED = {
    "demo": DEMO_FOLDER,
    "university": UNIVERSITY_FOLDER,
    f"university{ORIGINALS}": UNIVERSITY_FOLDER,
}
#: Who may use all tools of a public set.
ROLE = "everyone"
#: Where a set's cases are.
REQUESTS = "requests.jsonl"
_CATALOGUE = "catalog.jsonl"
_ACCESS = "access.txt"
# Temporary databases: when they were made, in seconds since 1970, and a random part.
_PREFIX = "tool_rag_eval_"
_NAME = re.compile(rf"{_PREFIX}(\d{{10,11}})_[0-9a-f]{{12}}")
_ABANDONED_SECONDS = 3600


def sets_home() -> Path:
    """Return the folder where sets are put that no other folder is named for."""
    return embedded.data_home() / "sets"


def find_folder(path: Path, name: str) -> Path:
    """Return the folder that holds a set: the path itself, or the one of its name in it.

    Raises:
        SourceError: neither holds a catalogue.
    """
    for folder in (path, path / name, path / name.removesuffix(ORIGINALS)):
        if (folder / _CATALOGUE).is_file() or (folder / _ACCESS).is_file():
            return folder
    raise SourceError(
        f"neither it nor {name} in it holds {_CATALOGUE} or {_ACCESS}",
        path=str(path),
        hint="name the set's folder, or the folder of all sets",
    )


def load_set(connection: psycopg.Connection[Any], folder: Path, name: str) -> list[str]:
    """Store a set's tools and access; return who asks where a case does not say.

    The tools of a public set become those of one server, and the role `everyone` may use them.

    Raises:
        SourceError: with the first line that is not understood, or without originals where the
            name asks for them.
    """
    if (folder / _CATALOGUE).is_file():
        with connection.transaction():
            _load_catalogue(ToolRetriever(connection), folder, name)
        return [ROLE]
    content = read_folder(folder)
    load_folder(connection, read_originals(content) if name.endswith(ORIGINALS) else content)
    return []


def _load_catalogue(retriever: ToolRetriever, folder: Path, name: str) -> None:
    path = str(folder / _CATALOGUE)
    tools: list[dict[str, Any]] = []
    for number, line in enumerate(read_file(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            tools.append(
                {
                    "name": row["name"],
                    "description": (row.get("description") or "").replace("\0", ""),
                    "input_schema": row.get("parameters") or {},
                }
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SourceError(
                "it is no tool",
                path=path,
                position=f"line {number}",
                hint='a line is {"name": "...", "description": "...", "parameters": {}}',
            ) from error
    # Every tool of a public set is to be found, whatever its text says.
    retriever.set_review_policy(None, "trust", "report")
    retriever.upsert_tools({"server": name.replace("/", "-"), "tools": tools})
    retriever.add_role(ROLE)
    retriever.grant_tools(ROLE, "*", "*")


@contextmanager
def temporary_database(
    url: str | None, *, notify: Callable[[str], None] | None = None
) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to a fresh migrated database, which is dropped afterwards.

    Those of runs that ended without dropping theirs are dropped first.

    Args:
        url: a database of the server to make it on; None takes the embedded server.
        notify: called with a sentence before something that takes more than a moment, and where
            something was left behind.

    Raises:
        DatabaseUnavailable: the server does not let this user create a database.
    """
    tell = notify or (lambda _: None)
    server = None
    if url is None:
        url = embedded.ensure_database(notify=notify)
        server = embedded.default_server()
    for name in drop_abandoned(url):
        tell(f"Dropped {name}, which an evaluation that was ended had left behind.")
    name = _name(url)
    target = conninfo.make_conninfo(url, dbname=name)
    try:
        if server is None:
            _execute(url, "create database {} template template0 encoding 'UTF8'", name)
        else:
            server.create_database(name)
        _migrate.upgrade(target)
        with _database.connect(target) as connection:
            yield connection
    finally:
        _execute(url, "drop database if exists {} with (force)", name)


def drop_abandoned(url: str) -> list[str]:
    """Drop the databases of evaluations that were ended before they could; return their names.

    Such a database is named as ours are, belongs to this user, was made an hour ago by the server's
    clock, and has no connection. An evaluation is connected to its own but for a moment at its
    start, so that of a running one is never dropped, on whatever machine it runs.

    Args:
        url: a database of the server.
    """
    dropped = []
    with _database.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "select d.datname, extract(epoch from now())"
            " from pg_database d join pg_roles r on r.oid = d.datdba"
            " where d.datname like 'tool\\_rag\\_eval\\_%' and r.rolname = current_user"
            " and not exists (select from pg_stat_activity a where a.datid = d.oid)"
        ).fetchall()
        for name, now in rows:
            made = _NAME.fullmatch(name)
            if made is None or now - int(made[1]) < _ABANDONED_SECONDS:
                continue
            # Without force: it fails where somebody has connected since. Another run may drop it.
            with suppress(psycopg.Error):
                connection.execute(sql.SQL("drop database {}").format(sql.Identifier(name)))
                dropped.append(name)
    return dropped


def _name(url: str) -> str:
    """Return a new database's name, which says when it was made by the server's clock."""
    with _database.connect(url, autocommit=True) as connection:
        row = connection.execute("select extract(epoch from now())::bigint").fetchone()
    assert row is not None
    return f"{_PREFIX}{row[0]}_{secrets.token_hex(6)}"


def _execute(url: str, statement: Any, name: str) -> None:
    with _database.connect(url, autocommit=True) as connection:
        try:
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))
        except psycopg.Error as error:
            raise DatabaseUnavailable(
                "a set needs a database of its own, which can't be made or dropped here:"
                f" {error.diag.message_primary or error}",
                hint="connect as a user that may create databases, or name no database",
            ) from error
