"""`tool-rag db`: starting the embedded server, upgrading, verifying, printing the schema."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tool_rag_pg.cli._context import connect, database_url, settings_of
from tool_rag_pg.cli._output import note, progress
from tool_rag_pg.errors import InvalidArgument

app = typer.Typer()
db = typer.Typer(no_args_is_help=True, help="Start, upgrade, verify, print or stop the database.")
app.add_typer(db, name="db")


@db.command("up", epilog="Example: psql $(tool-rag db up)")
def up(ctx: typer.Context) -> None:
    """Start the embedded Postgres, bring its schema up to date, and print its URL."""
    if settings_of(ctx).database_url is not None:
        raise InvalidArgument(
            "a database is named, so the embedded one is not used",
            hint="prepare the named one: tool-rag db upgrade",
        )
    connect(ctx).close()
    print(database_url(ctx))


@db.command("upgrade", epilog="Example: tool-rag --database-url postgresql://me@host/db db upgrade")
def upgrade_command(ctx: typer.Context) -> None:
    """Create the schema, or bring it to this version, in one transaction."""
    from tool_rag_pg._migrate import upgrade

    report = upgrade(database_url(ctx), progress=progress)
    if not report.changed:
        note("The database is up to date.")
        return
    done = [f"applied {step}" for step in report.steps]
    if report.functions:
        done.append(f"{report.functions} functions and triggers created, changed or dropped")
    if report.word_pieces:
        done.append(f"{report.word_pieces} word pieces loaded")
    if report.reindexed:
        done.append(f"{report.reindexed} tools indexed anew")
    note(f"Upgraded: {', '.join(done) or 'the note of its version'}.")


@db.command("verify", epilog="Example: tool-rag db verify")
def verify_command(ctx: typer.Context) -> None:
    """Compare the database with what this version would have made, and its index with its tools."""
    from tool_rag_pg._verify import verify

    found = verify(database_url(ctx))
    for difference in found:
        print(difference)
    if found:
        raise typer.Exit(1)
    note("The database is as this version makes it.")


@db.command(
    "sql",
    help="Print the schema and its functions as SQL, for a database with the extension vector and "
    "without this schema.",
    epilog="Example: tool-rag db sql --with-model | psql mydatabase",
)
def sql_command(
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Add the embedding model, as psql reads it.")
    ] = False,
    vector_schema: Annotated[
        str, typer.Option(help="Schema in which the extension vector is installed.")
    ] = "public",
) -> None:
    """Print the schema and its functions as SQL."""
    from tool_rag_pg._migrate import offline_sql

    for part in offline_sql(vector_schema=vector_schema, with_model=with_model):
        sys.stdout.write(part)


@db.command("stop", epilog="Example: tool-rag db stop")
def stop() -> None:
    """Stop the embedded Postgres; its data stay."""
    from tool_rag_pg import embedded

    server = embedded.default_server()
    stopped = server.stop()
    note(f"{'Stopped' if stopped else 'Not running:'} the embedded Postgres in {server.data_dir}.")
