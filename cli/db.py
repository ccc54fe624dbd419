"""`tool-rag db`: starting the embedded server, upgrading, verifying, printing the schema."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tool_rag_pg.cli._context import connect, database_url, settings_of
from tool_rag_pg.cli._names import join
from tool_rag_pg.cli._output import note, print_json, print_table, print_text, progress
from tool_rag_pg.errors import InvalidArgument

if TYPE_CHECKING:
    from tool_rag_pg.models import ListedLogin

app = typer.Typer()
db = typer.Typer(
    no_args_is_help=True,
    help="Start, upgrade, verify, print or stop the database, and say who may connect as what.",
)
app.add_typer(db, name="db")


LoginArgument = Annotated[
    str, typer.Argument(metavar="LOGIN", help="A login of Postgres, which exists already.")
]


class Access(StrEnum):
    """What a login may do."""

    reader = "reader"
    editor = "editor"
    admin = "admin"


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
    if report.missing_groups:
        note(
            f"Warning: this user may not create the group roles {join(report.missing_groups)}. All"
            " works for the schema's owner;\nto have them, as a user who may create roles:"
            " tool-rag db upgrade"
        )
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
        print_text(difference)
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


@db.command(
    "grant-access",
    help="Let a login search (reader), edit rules and wording too (editor), or do all (admin).",
    epilog="Example: tool-rag db grant-access web_backend --as reader --bind support",
)
def grant_access(
    ctx: typer.Context,
    login: LoginArgument,
    access: Annotated[Access, typer.Option("--as", help="What it may do.")],
    bind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE",
            help="Tie it to this role, beyond which it then never sees, whatever it asks; repeat it"
            " for several.",
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Believe what it passes: allowed without roles, roles beside a token."
        ),
    ] = False,
) -> None:
    """Put a login into a group, and bind or trust it."""
    from tool_rag_pg.retriever import ToolRetriever

    if bind and access is not Access.reader:
        raise InvalidArgument(
            f"--bind does not go with --as {access}",
            hint="only readers are bound: editors and admins see the whole catalogue",
        )
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        changed = retriever.grant_access(login, access.value)
        if bind:
            changed |= retriever.bind_login(login, bind)
        if trust:
            changed |= retriever.trust_login(login)
        listed = next((row for row in retriever.list_logins() if row.login == login), None)
    said = _bound(listed)
    note(f"{login} {'is' if changed else 'was already'} {_article(access)}{said}.")
    if access is Access.reader and not (listed and listed.is_bound):
        note(
            "It is not bound: it sees what the roles that it names may see. To tie it: --bind ROLE"
        )


@db.command(
    "revoke-access",
    help="Take a login out of readers, editors and admins, and its trust; a binding stays.",
    epilog="Example: tool-rag db revoke-access web_backend",
)
def revoke_access(
    ctx: typer.Context,
    login: LoginArgument,
    unbind: Annotated[
        bool, typer.Option("--unbind", help="Free it from its roles as well.")
    ] = False,
) -> None:
    """Take a login out of its group."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        had = retriever.revoke_access(login)
        retriever.distrust_login(login)
        if unbind:
            retriever.unbind_login(login)
        listed = next((row for row in retriever.list_logins() if row.login == login), None)
    note(f"{login} {'has no access any more' if had else 'had no access'}.")
    if listed is not None and listed.is_bound:
        note(f"It stays{_bound(listed).removeprefix(',')}. To free it: --unbind")


@db.command(
    "logins",
    help="List the logins that have access, are bound to roles or are trusted.",
    epilog="Example: tool-rag db logins --json",
)
def logins(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List logins."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        listed = ToolRetriever(connection).list_logins()
    if as_json:
        print_json([asdict(row) for row in listed])
    elif listed:
        print_table(
            ["login", "access", "bound to", "trusted", "note"],
            [
                (
                    row.login,
                    row.access,
                    (", ".join(row.roles) or "nothing") if row.is_bound else "",
                    row.is_trusted,
                    row.note,
                )
                for row in listed
            ],
        )
    else:
        note("No login has access yet. Give it: tool-rag db grant-access LOGIN --as reader")


def _article(access: Access) -> str:
    return f"{'a' if access is Access.reader else 'an'} {access}"


def _bound(listed: ListedLogin | None) -> str:
    """Return what else holds for a login, to end a sentence with."""
    said = ""
    if listed is not None and listed.is_bound:
        said += (
            f", bound to {join(listed.roles) if listed.roles else 'nothing, so it sees nothing'}"
        )
    if listed is not None and listed.is_trusted:
        said += ", trusted"
    return said
