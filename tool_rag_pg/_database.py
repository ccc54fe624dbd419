"""Connecting to Postgres, and the one place where its errors become ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import conninfo

from tool_rag_pg import _assets
from tool_rag_pg.errors import (
    DatabaseError,
    DatabaseNewer,
    DatabaseUnavailable,
    InvalidArgument,
    SchemaNotReady,
    ToolRagError,
)

__all__ = ["State", "check_ready", "connect", "describe_target", "read_state", "translated"]

UPGRADE = "run: tool-rag db upgrade"

# Arguments that a function refuses (22023), values that Postgres refuses (a number out of range, a
# time or JSON that can't be read, a character that text can't hold), rows that break a constraint.
_VALUE_STATES = {"22003", "22007", "22008", "22021", "22023", "22030", "22032", "22P02", "22P05"}
_ARGUMENT_STATES = _VALUE_STATES | {"23502", "23505", "23514"}
# Raised by functions about a name that the caller gave; from elsewhere it is a defect.
_NAME_STATES = frozenset({"42704"})
_RAISE = "exec_stmt_raise"
_MISSING_STATES = frozenset({"3F000", "42P01", "42883", "42703"})
_UNREACHABLE_STATES = frozenset({"57P01", "57P02", "57P03", "53300", "28000", "28P01", "3D000"})
_HINTS = {
    "25006": "this server is read-only, perhaps a standby: name the primary",
    "40001": "another edit came first: run it again",
    "40P01": "another edit came first: run it again",
    "42501": "connect as the owner of the schema tool_rag, or have an admin run: "
    "tool-rag db grant-access LOGIN --as editor",
}
_STATE_COMMENT = re.compile(r"schema (\w+), functions ([0-9a-f]+)\)$")


@dataclass(frozen=True)
class State:
    """What a database holds, as its last upgrade left it written on the schema.

    Attributes:
        revision: newest schema step, or None where the schema or the note is missing.
        functions: digest of the function files, as `_assets.functions_digest` returns it.

    """

    revision: str | None
    functions: str | None

    @property
    def is_current(self) -> bool:
        """Whether schema and functions are those of this package."""
        return (
            self.revision == _assets.head_revision()
            and self.functions == _assets.functions_digest()
        )


def state_comment(version: str) -> str:
    """Return the note that an upgrade leaves on the schema."""
    return (
        f"Tool retrieval (tool_rag_pg {version}, schema {_assets.head_revision()}, "
        f"functions {_assets.functions_digest()})"
    )


def read_state(connection: psycopg.Connection[Any]) -> State:
    """Read the note on the schema; any role may, whatever its privileges."""
    row = connection.execute(
        # As bytes: a database in SQL_ASCII has no text that psycopg would decode.
        "select convert_to(obj_description(to_regnamespace('tool_rag'), 'pg_namespace'), 'UTF8')"
    ).fetchone()
    found = _STATE_COMMENT.search(row[0].decode()) if row and row[0] else None
    return State(found[1], found[2]) if found else State(None, None)


def check_ready(state: State) -> None:
    """Raise unless the schema is the one that this package was written for.

    Functions may differ: versions that share a schema can work on one database while a
    deployment replaces the one by the other.

    Raises:
        SchemaNotReady: the schema is missing or older.
        DatabaseNewer: the schema is newer.

    """
    if state.revision is None:
        raise SchemaNotReady("the database has no schema tool_rag", hint=UPGRADE)
    if state.revision not in _assets.revisions():
        raise database_newer(state.revision)
    if state.revision != _assets.head_revision():
        raise SchemaNotReady(
            f"the database is at {state.revision}, this package needs {_assets.head_revision()}",
            hint=UPGRADE,
        )


def database_newer(revision: str) -> DatabaseNewer:
    """Return the error about a schema that this package does not know."""
    return DatabaseNewer(
        f"the database is at {revision}, which is newer than this package "
        f"({_assets.head_revision()})",
        hint="install the newer version: pip install --upgrade tool-rag-pg",
    )


def describe_target(url: str) -> str:
    """Say which database a URL or conninfo string names, leaving out every secret."""
    try:
        named = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "the named database"
    where = named.get("host") or named.get("hostaddr") or "the local server"
    port = f":{named['port']}" if named.get("port") else ""
    return f"database {named.get('dbname') or '(default)'} on {where}{port}"


def connect(url: str, *, autocommit: bool = False) -> psycopg.Connection[tuple[Any, ...]]:
    """Open a connection.

    Args:
        url: URL or conninfo string; it never appears in an error.
        autocommit: as in psycopg.

    Raises:
        DatabaseUnavailable: it is no such string, or there is no connection to be had.

    """
    try:
        # Which fails without naming the password, unlike libpq's own message about a bad URL.
        conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise DatabaseUnavailable(
            "the database URL can't be read",
            hint="write it as postgresql://USER@HOST:PORT/DATABASE, special characters "
            "percent-encoded",
        ) from None
    try:
        return psycopg.connect(url, autocommit=autocommit, application_name="tool-rag")
    except psycopg.OperationalError as exc:
        raise _unavailable(exc, target=describe_target(url)) from exc


def _unavailable(exc: psycopg.Error, *, target: str) -> DatabaseUnavailable:
    lines = str(exc).strip().splitlines() or ["no answer"]
    reason = lines[0].removeprefix("connection failed: ").removeprefix("connection is bad: ")
    return DatabaseUnavailable(
        f"no connection to {target}: {reason}",
        hint="check that the server runs and that TOOL_RAG_DATABASE_URL or --database-url is right",
    )


def translate(exc: psycopg.Error) -> ToolRagError:
    """Return the error of this package that says what an error of the driver means."""
    state = exc.sqlstate
    diagnostics = exc.diag
    message = diagnostics.message_primary or str(exc).strip() or type(exc).__name__
    hint = diagnostics.message_hint
    if state is None and isinstance(exc, psycopg.OperationalError | psycopg.InterfaceError):
        return _unavailable(exc, target="the database")
    if state in _UNREACHABLE_STATES:
        return _unavailable(exc, target="the database")
    if state in _MISSING_STATES and "tool_rag" in message:
        return SchemaNotReady(f"the schema lacks what this package needs: {message}", hint=UPGRADE)
    raised = state in _NAME_STATES and diagnostics.source_function == _RAISE
    unsendable = state is None and isinstance(exc, psycopg.DataError)
    if unsendable or state in _ARGUMENT_STATES or raised:
        return InvalidArgument(message, hint=hint or diagnostics.message_detail)
    hint = hint or _HINTS.get(state or "") or diagnostics.message_detail
    return DatabaseError(message, sqlstate=state, hint=hint)


@contextmanager
def translated() -> Iterator[None]:
    """Re-raise errors of the driver as those of this package, from the original."""
    try:
        yield
    except psycopg.Error as exc:
        raise translate(exc) from exc
