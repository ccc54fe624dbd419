"""The entry point `tool-rag`: global options, lazily loaded commands, one place for errors.

How a command joins in:

* A module of this package defines `app = typer.Typer()`. What is registered on that `app` appears
  directly under `tool-rag`: `@app.command("search")` is `tool-rag search`; a group such as
  `tool-rag tools list` is `tools = typer.Typer(help=...)`, `@tools.command("list")` and
  `app.add_typer(tools, name="tools")`.
* Its names are listed in `COMMANDS` below, so that only the module of the command in use is
  imported. Modules import what is heavy inside their functions.
* A command takes `ctx: typer.Context` first and gets its connection from
  `tool_rag_pg.cli._context`: `with connect(ctx) as connection:` (a psycopg connection; it commits
  when the block ends, rolls back when it raises).
* It prints through `tool_rag_pg.cli._output` and raises `ToolRagError`; `main` renders it and
  chooses the exit code. Errors of psycopg need no handling in a command.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tool_rag_pg.cli._context import Settings
from tool_rag_pg.cli._output import print_error
from tool_rag_pg.errors import ToolRagError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "main"]

# Command or group -> module of this package, in the order in which the help lists them.
COMMANDS = {
    "demo": "demo",
    "search": "search",
    "ingest": "ingest",
    "export": "export",
    "review": "review",
    "lint": "lint",
    "tools": "tools",
    "synonyms": "wording",
    "examples": "wording",
    "deps": "deps",
    "embed": "models",
    "models": "models",
    "roles": "access",
    "grant": "access",
    "revoke": "access",
    "grants": "grants",
    "explain-access": "access",
    "keys": "keys",
    "access": "audit",
    "audit": "audit",
    "serve": "serve",
    "eval": "evaluate",
    "what-if": "what_if",
    "db": "db",
}


class LazyGroup(TyperGroup):
    """The top group, which imports a command's module when the command is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the command of this name; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"tool_rag_pg.cli.{COMMANDS[cmd_name]}")
        return typer.main.get_group(module.app).commands[cmd_name]


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    help="Find the few tools a request needs, among those its user may use, inside Postgres.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tool-rag {version('tool-rag-pg')}")
        raise typer.Exit


@app.callback()
def _global_options(
    ctx: typer.Context,
    database_url: Annotated[
        str | None,
        typer.Option(
            envvar="TOOL_RAG_DATABASE_URL",
            show_envvar=True,
            help="Postgres with pgvector; without it an embedded server is started and used.",
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    ctx.obj = Settings(database_url=database_url or None, debug=debug)


def _as_error(exc: BaseException) -> ToolRagError | None:
    """Return the error to render, or None where it is a defect of the program."""
    if isinstance(exc, ToolRagError):
        return exc
    if "psycopg" in sys.modules:
        import psycopg

        from tool_rag_pg._database import translate

        if isinstance(exc, psycopg.Error):
            error = translate(exc)
            error.__cause__ = exc
            return error
    return None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    command = typer.main.get_command(app)
    try:
        command(args=list(arguments), prog_name="tool-rag")
    except Exception as exc:
        error = _as_error(exc)
        if error is None or "--debug" in arguments:
            raise
        print_error(error)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
