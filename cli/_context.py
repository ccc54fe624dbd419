"""What a command gets from the global options: a connection to the right database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg
    import typer

__all__ = ["Settings", "connect", "database_url", "settings_of"]


@dataclass(frozen=True)
class Settings:
    """Values of the global options.

    Attributes:
        database_url: URL or conninfo string, or None for the embedded server.
        debug: whether errors come with their traceback.

    """

    database_url: str | None = field(default=None, repr=False)
    debug: bool = False


def settings_of(ctx: typer.Context) -> Settings:
    """Return the values of the global options."""
    settings = ctx.find_object(Settings)
    return settings if settings is not None else Settings()


def database_url(ctx: typer.Context) -> str:
    """Return the named database's URL, or that of the embedded server, started where needed."""
    named = settings_of(ctx).database_url
    if named is not None:
        return named
    from tool_rag_pg import embedded
    from tool_rag_pg.cli._output import note

    return embedded.ensure_database(notify=note)


def connect(ctx: typer.Context) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a connection to a database whose schema is ready.

    Used as `with connect(ctx) as connection:` it commits at the end of the block.

    A named database is never changed: where its schema is missing or old, the error says so. The
    embedded one belongs to this package and is brought up to date.

    Raises:
        DatabaseUnavailable: there is no connection to be had.
        SchemaNotReady: the schema of a named database is missing or older than this package.
        DatabaseNewer: the schema is newer than this package.

    """
    from tool_rag_pg import _database

    named = settings_of(ctx).database_url
    if named is None:
        return _connect_embedded(ctx)
    connection = _database.connect(named)
    try:
        _database.check_ready(_database.read_state(connection))
        connection.rollback()
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_embedded(ctx: typer.Context) -> psycopg.Connection[tuple[Any, ...]]:
    from tool_rag_pg import _database
    from tool_rag_pg.cli._output import note, progress

    url = database_url(ctx)
    connection = _database.connect(url)
    state = _database.read_state(connection)
    connection.rollback()
    if state.is_current:
        return connection
    connection.close()
    from tool_rag_pg._migrate import upgrade

    note("Preparing the embedded database ...")
    upgrade(url, progress=progress)
    return _database.connect(url)
