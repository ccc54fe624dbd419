"""Bringing a database to this package's schema, all of it in one transaction.

Alembic runs the steps of `sql/schema` that are still missing. Then the files of `sql/functions`
are applied, whatever they were before, and what no file defines any more is dropped. Then the
built-in model is loaded where the database holds another one or none.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from psycopg import sql

from tool_rag_pg import _assets, _load_model
from tool_rag_pg._catalogue import snapshot
from tool_rag_pg._database import connect, database_newer, state_comment, translated
from tool_rag_pg.errors import DatabaseUnavailable

if TYPE_CHECKING:
    import alembic.config
    import sqlalchemy

__all__ = [
    "ACCESS_FILES",
    "GROUPS",
    "INDEX_FILES",
    "VERSION_SCHEMA",
    "UpgradeReport",
    "apply_functions",
    "apply_step",
    "begin",
    "find_vector",
    "missing_groups",
    "offline_sql",
    "upgrade",
]

VERSION_SCHEMA = "tool_rag"

_PACKAGE = "tool-rag-pg"
_MIN_SERVER = 160000
_MIN_VECTOR = (0, 8)
# Any number that no other program uses; it only has to be the same in every version.
_LOCK = 7_260_183_554
# Files whose functions decide what is stored: after a change of theirs it is computed anew.
INDEX_FILES = frozenset({"010_text", "020_embedding", "030_index"})
ACCESS_FILES = frozenset({"050_access"})
# As sql/functions/095_privileges.sql has them.
GROUPS = ("tool_rag_reader", "tool_rag_editor", "tool_rag_admin")


_SEARCH_PATH: LiteralString = "set local search_path = pg_catalog, pg_temp"
_FUNCTION_ROWS: LiteralString = """
    select p.xmin::text, p.oid::regprocedure::text
    from pg_proc p
    where p.pronamespace = 'tool_rag'::regnamespace and p.prokind = 'f'
"""
_TRIGGER_ROWS: LiteralString = """
    select t.xmin::text, t.tgname, c.relname
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'tool_rag'::regnamespace and not t.tgisinternal
"""
_VALIDATE: LiteralString = """
    select case l.lanname
        when 'plpgsql' then plpgsql_validator(p.oid)
        when 'sql' then fmgr_sql_validator(p.oid)
    end
    from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = 'tool_rag'::regnamespace
"""


@dataclass(frozen=True)
class UpgradeReport:
    """What an upgrade did.

    Attributes:
        steps: schema steps that were applied, oldest first.
        functions: number of functions and triggers that were created, changed or dropped.
        word_pieces: number of word pieces that were loaded.
        reindexed: number of tools that were indexed anew.
        changed: whether it did any of that, or renewed the schema's note of its version.
        missing_groups: group roles that the user could not create.

    """

    steps: tuple[str, ...]
    functions: int
    word_pieces: int
    reindexed: int
    changed: bool
    missing_groups: tuple[str, ...] = ()


def _quiet(_text: str) -> None:
    """Report no progress."""


def upgrade(url: str, *, progress: Callable[[str], None] = _quiet) -> UpgradeReport:
    """Bring a database to this package's schema, or leave it exactly as it was.

    Concurrent upgrades wait for each other. Searches go on meanwhile; edits wait.

    Args:
        url: URL or conninfo string.
        progress: called with a sentence before each part that takes a while.

    Returns:
        What was done; nothing on a database that was up to date, which is not written to.

    Raises:
        DatabaseUnavailable: no connection, or a server that lacks what the schema needs.
        DatabaseNewer: a newer version of this package has upgraded it already.
        DatabaseError: a statement failed, for example for want of a privilege.

    """
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connect(url), poolclass=NullPool
    )
    with translated(), engine.connect() as owner:
        transaction = owner.begin()
        report = _upgrade(owner, progress)
        if report.changed:
            transaction.commit()
        else:
            transaction.rollback()
        return report


def _upgrade(owner: sqlalchemy.Connection, progress: Callable[[str], None]) -> UpgradeReport:
    connection = owner.connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    begin(connection)
    before = _read_revision(connection)
    known = _assets.revisions()
    if before is not None and before not in known:
        raise database_newer(before)
    had = snapshot(connection) if before is not None else {}
    vector_schema = find_vector(connection)
    missing = known[known.index(before) + 1 :] if before is not None else known
    if missing:
        progress(f"Applying {', '.join(missing)}")
        _run_alembic(owner, vector_schema)
    apply_functions(connection, vector_schema)
    has = snapshot(connection)

    changed = {key for key in had.keys() | has.keys() if had.get(key) != has.get(key)}
    functions = {name for kind, name in changed if kind in ("function", "trigger")}
    word_pieces = reindexed = 0
    if not _load_model.is_loaded(connection):
        progress("Loading the built-in embedding model")
        word_pieces = _load_model.load_model(connection)
    if before is not None and (word_pieces or _touches(functions, INDEX_FILES)):
        progress("Indexing the tools anew")
        reindexed = _call(connection, "select tool_rag.reindex_tools()")
    if before is not None and _touches(functions, ACCESS_FILES):
        _call(connection, "select tool_rag._refresh_access(null, null)")
    return UpgradeReport(
        missing,
        len(functions),
        word_pieces,
        reindexed,
        changed=bool(changed or word_pieces),
        missing_groups=missing_groups(connection),
    )


def missing_groups(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    """Return the names of the group roles that the server lacks."""
    rows = connection.execute(
        "select g from unnest(%s::text[]) g where to_regrole(g) is null order by 1", [list(GROUPS)]
    )
    return tuple(name for (name,) in rows)


def begin(connection: psycopg.Connection[Any]) -> None:
    """Check the server, then take the lock that orders upgrades, until the transaction ends."""
    _check_server(connection)
    connection.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
    # Every file runs under the same path, and the names that the catalogue prints are qualified.
    connection.execute(_SEARCH_PATH)
    connection.execute("set local client_min_messages = warning")


def _call(connection: psycopg.Connection[Any], statement: str) -> int:
    row = connection.execute(statement.encode()).fetchone()
    return int(row[0] or 0) if row else 0


def _touches(functions: set[str], files: frozenset[str]) -> bool:
    names = {name.removeprefix("tool_rag.").split("(")[0] for name in functions}
    return any(names & file.functions for file in _assets.function_files() if file.name in files)


def _check_server(connection: psycopg.Connection[Any]) -> None:
    if connection.info.server_version < _MIN_SERVER:
        raise DatabaseUnavailable(
            f"the server is Postgres {connection.info.server_version // 10000}",
            hint="Postgres 16 or newer is needed",
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise DatabaseUnavailable(
            f"the database is encoded in {encoding}",
            hint="create one in UTF8: create database tool_rag template template0 encoding 'UTF8'",
        )


def _read_revision(connection: psycopg.Connection[Any]) -> str | None:
    row = connection.execute("select to_regclass('tool_rag.alembic_version')").fetchone()
    if row is None or row[0] is None:
        return None
    row = connection.execute("select version_num from tool_rag.alembic_version").fetchone()
    return row[0] if row else None


def find_vector(connection: psycopg.Connection[Any]) -> str:
    """Return the schema of the extension vector, created where it is missing."""
    find = """
        select n.nspname, e.extversion
        from pg_extension e join pg_namespace n on n.oid = e.extnamespace
        where e.extname = 'vector'
    """
    row = connection.execute(find).fetchone()
    if row is None:
        try:
            connection.execute("create extension vector schema public")
        except psycopg.errors.InsufficientPrivilege as exc:
            raise DatabaseUnavailable(
                "the extension vector is not installed, and this user may not install it",
                hint="as a superuser, in this database: create extension vector",
            ) from exc
        except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported) as exc:
            raise DatabaseUnavailable(
                "the server has no extension vector",
                hint="install pgvector 0.8 or newer: https://github.com/pgvector/pgvector",
            ) from exc
        row = connection.execute(find).fetchone()
        assert row is not None
    schema, extension = str(row[0]), str(row[1])
    if tuple(int(part) for part in extension.split(".")[:2]) < _MIN_VECTOR:
        raise DatabaseUnavailable(
            f"the extension vector is {extension}",
            hint="0.8 or newer is needed; once it is installed: alter extension vector update",
        )
    return schema


def alembic_config(**attributes: object) -> alembic.config.Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_assets.migrations_dir()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes.update(attributes)
    return config


def _run_alembic(owner: sqlalchemy.Connection, vector_schema: str) -> None:
    from alembic import command
    from sqlalchemy.exc import DBAPIError

    # Finding a transaction under way, alembic works in it and does not end it.
    config = alembic_config(
        connection=owner,
        vector_schema=vector_schema,
        before=lambda: owner.exec_driver_sql("create schema if not exists tool_rag"),
        after=lambda: None,
    )
    try:
        command.upgrade(config, "head")
    except DBAPIError as exc:
        if isinstance(exc.orig, psycopg.Error):
            raise exc.orig from exc
        raise


def apply_step(revision: str) -> None:
    """Apply one file of `sql/schema` verbatim; called by its alembic revision."""
    from alembic import op

    context = op.get_context()
    assert context.config is not None
    text = _assets.render(
        _assets.schema_file(revision).text,
        vector_schema=context.config.attributes["vector_schema"],
    )
    if context.as_sql:
        context.impl.static_output(text)
    else:
        # Neither ":name" nor "%" of the file may be taken for a parameter.
        op.get_bind().exec_driver_sql(text, execution_options={"no_parameters": True})


def _apply_functions_sql(vector_schema: str, *, create_groups: bool) -> Iterator[str]:
    """Yield the statements that create all functions and triggers."""
    quoted = _assets.render("@extschema:vector@", vector_schema=vector_schema)
    # Files may use functions of later files; and a user who is no superuser may name the settings
    # of an extension only once its library is loaded.
    yield "set local check_function_bodies = off;"
    yield f"select '[0]'::{quoted}.vector;"
    for file in _assets.function_files():
        yield _assets.render(file.text, vector_schema=vector_schema)
    yield "revoke all on all functions in schema tool_rag from public;"
    yield f"select tool_rag._apply_privileges(p_create => {str(create_groups).lower()});"
    comment = state_comment(version(_PACKAGE)).replace("'", "''")
    yield f"comment on schema tool_rag is '{comment}';"


def apply_functions(
    connection: psycopg.Connection[Any], vector_schema: str, *, create_groups: bool = True
) -> None:
    """Create all functions and triggers anew, and drop those that no file defines any more.

    Args:
        connection: used, not committed.
        vector_schema: schema of the extension vector.
        create_groups: create the group roles that are missing, as far as the user may.
    """
    *files, revoke, privileges, note = _apply_functions_sql(
        vector_schema, create_groups=create_groups
    )
    had_functions = connection.execute(_FUNCTION_ROWS).fetchall()
    had_triggers = connection.execute(_TRIGGER_ROWS).fetchall()
    for statement in files:
        connection.execute(statement.encode())
    # Applying a file writes the catalogue row of each thing in it anew, changed or not.
    left_triggers = set(had_triggers) & set(connection.execute(_TRIGGER_ROWS).fetchall())
    for _, name, table in sorted(left_triggers):
        connection.execute(
            sql.SQL("drop trigger {} on tool_rag.{}").format(
                sql.Identifier(name), sql.Identifier(table)
            )
        )
    left_functions = set(had_functions) & set(connection.execute(_FUNCTION_ROWS).fetchall())
    if left_functions:
        # In one statement, since they may use each other; Postgres quoted the names itself.
        names = ", ".join(name for _, name in sorted(left_functions))
        connection.execute(f"drop function {names}".encode())
    connection.execute(revoke.encode())
    connection.execute(privileges.encode())
    connection.execute(note.encode())
    connection.execute("set local check_function_bodies = on")
    connection.execute(_VALIDATE)


def offline_sql(*, vector_schema: str = "public", with_model: bool = False) -> Iterator[str]:
    """Yield the schema and its functions as SQL text, for an empty database.

    Args:
        vector_schema: schema of the extension vector, which must be installed.
        with_model: add the built-in model as COPY with its rows, which psql understands. Without
            it `upgrade` loads the model later; until then searches go by words only.

    """
    from alembic import command

    output = io.StringIO()

    def before() -> None:
        output.write(f"{_SEARCH_PATH};\ncreate schema if not exists tool_rag;\n\n")

    def after() -> None:
        for statement in _apply_functions_sql(vector_schema, create_groups=True):
            output.write(statement.rstrip() + "\n\n")

    config = alembic_config(output=output, vector_schema=vector_schema, before=before, after=after)
    command.upgrade(config, "head", sql=True)
    yield output.getvalue()
    if with_model:
        yield "BEGIN;\n\n"
        yield from _load_model.copy_text()
        yield "\nCOMMIT;\n"
