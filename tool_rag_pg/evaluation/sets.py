"""Sets of tools and requests, each in a database of its own that is dropped afterwards.

A set is a folder with catalog.jsonl and requests.jsonl, as the public sets are kept, or one in the
format of the demo company. Of the latter, NAME-originals is the set NAME with other descriptions:
those of its originals.json.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    "find_folder",
    "load_set",
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
    retriever.upsert_tools({"server": name.replace("/", "-"), "tools": tools})
    retriever.add_role(ROLE)
    retriever.grant_tools(ROLE, "*", "*")


@contextmanager
def temporary_database(
    url: str | None, *, notify: Callable[[str], None] | None = None
) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to a fresh migrated database, which is dropped afterwards.

    Args:
        url: a database of the server to make it on; None takes the embedded server.
        notify: called with a sentence before something that takes more than a moment.

    Raises:
        DatabaseUnavailable: the server does not let this user create a database.
    """
    name = f"tool_rag_eval_{secrets.token_hex(6)}"
    if url is None:
        embedded.ensure_database(notify=notify)
        server = embedded.default_server()
        server.create_database(name)
        target = server.url(name)
    else:
        _execute(url, "create database {} template template0 encoding 'UTF8'", name)
        target = conninfo.make_conninfo(url, dbname=name)
    try:
        _migrate.upgrade(target)
        with _database.connect(target) as connection:
            yield connection
    finally:
        if url is None:
            server.drop_database(name)
        else:
            _execute(url, "drop database if exists {} with (force)", name)


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
