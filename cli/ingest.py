"""`tool-rag ingest`: exports of tools into the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._live import (
    CommandOption,
    EnvironmentOption,
    HeaderOption,
    UrlOption,
    read_live,
)
from tool_rag_pg.cli._output import note, print_error, print_json, print_table, progress
from tool_rag_pg.errors import InvalidArgument, SourceError, ToolRagError

if TYPE_CHECKING:
    import psycopg

    from tool_rag_pg.models import ServerChange
    from tool_rag_pg.sources import ReadResult, ServerExport

__all__ = ["app"]

app = typer.Typer()

# From so many tools on, each server is announced.
_LONG = 1000


@app.command(
    "ingest",
    help="Make servers' tools equal to exports: files, folders, - for standard input, or a server "
    "that runs.",
    epilog="Example: tool-rag ingest exports/ notion_openapi.yaml",
)
def ingest(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help='Files, folders, or "-" for standard input.'),
    ] = None,
    mcp: UrlOption = None,
    command: CommandOption = None,
    header: HeaderOption = None,
    env: EnvironmentOption = None,
    server: Annotated[
        str | None, typer.Option(help="Name of the server, where a file names none.")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="mcp, openai, anthropic, openapi, langchain or jsonl. Default: each file tells.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Keep nothing at all when any file is broken.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would change, and change nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Read all, then store what was good in one transaction."""
    from tool_rag_pg.sources import ReadResult, read_exports

    if mcp is None and command is None:
        result = read_exports(paths or (), server=server, format=format_)
    elif paths or format_ is not None:
        raise InvalidArgument(
            "a server that runs comes alone, without paths and --format",
            hint="ingest the files in a command of their own",
        )
    else:
        listing = read_live(mcp, command, header or (), env or (), server)
        result = ReadResult(exports=(listing.as_export(),))
    errors: list[ToolRagError] = list(result.errors)
    stored: list[tuple[ServerExport, ServerChange]] = []
    nobody = False
    if result.exports and not (strict and errors):
        import psycopg

        from tool_rag_pg.retriever import ToolRetriever

        with connect(ctx) as connection:
            with connection.transaction() as transaction:
                stored = _store(connection, result.exports, errors)
                if dry_run or (strict and errors):
                    raise psycopg.Rollback(transaction)
            nobody = not ToolRetriever(connection).list_roles()
    if strict and errors:
        stored = []
    _print(result, stored, errors, as_json=as_json)
    _tell_reviews([change for _, change in stored], dry_run=dry_run)
    if dry_run and stored:
        note("Dry run: nothing was changed.")
    if errors:
        kept = "Nothing was kept." if not stored or dry_run else "The rest was kept."
        note(f"{len(errors)} file{'s' * (len(errors) != 1)} could not be used. {kept}")
        raise typer.Exit(1)
    if nobody and stored:
        note(
            "No role may use them yet: tool-rag roles add developer; "
            f"tool-rag grant developer '{stored[0][0].server}/*'"
        )


def _store(
    connection: psycopg.Connection[Any],
    exports: Sequence[ServerExport],
    errors: list[ToolRagError],
) -> list[tuple[ServerExport, ServerChange]]:
    """Store exports file by file; what the database refuses of a file joins `errors`."""
    from tool_rag_pg.retriever import ToolRetriever

    retriever = ToolRetriever(connection)
    long = sum(len(export.tools) for export in exports) > _LONG
    stored: list[tuple[ServerExport, ServerChange]] = []
    for path, group in groupby(exports, key=lambda export: export.path):
        changes: list[tuple[ServerExport, ServerChange]] = []
        # A savepoint a file: either all of its servers are kept or none.
        with suppress(_Refused), connection.transaction():
            for export in group:
                if long:
                    progress(f"{export.server}: {len(export.tools):,} tools")
                try:
                    (change,) = retriever.upsert_tools(export.as_payload())
                except InvalidArgument as error:
                    refused = SourceError(
                        error.message, path=path, position=export.server, hint=error.hint
                    )
                    refused.__cause__ = error
                    errors.append(refused)
                    raise _Refused from error
                changes.append((export, change))
            stored.extend(changes)
    return stored


class _Refused(Exception):
    """Takes the servers of one file back."""


def _tell_reviews(changes: Sequence[ServerChange], *, dry_run: bool) -> None:
    """Say what does not serve, and how to look at it."""
    waiting = sum(change.waiting for change in changes)
    rejected = sum(change.rejected for change in changes)
    flagged = sum(change.flagged for change in changes)
    if waiting:
        look = "" if dry_run else " Look at them: tool-rag review"
        note(f"{waiting:,} new or changed tool{_s(waiting)} wait{'s' * (waiting == 1)}.{look}")
    if rejected:
        note(
            f"{rejected:,} new or changed tool{_s(rejected)} did not come in, by policy or because "
            "that version was rejected: tool-rag review list --rejected"
        )
    if flagged:
        note(f"The linter flags {flagged:,} of the new or changed tools: tool-rag lint PATH")


def _s(number: int) -> str:
    return "s" * (number != 1)


def _print(
    result: ReadResult,
    stored: Sequence[tuple[ServerExport, ServerChange]],
    errors: Sequence[ToolRagError],
    *,
    as_json: bool,
) -> None:
    warnings = [warning for export in result.exports for warning in export.warnings]
    if as_json:
        print_json(
            {
                "servers": [
                    {
                        **asdict(change),
                        "path": export.path,
                        "format": export.format,
                        "tools": len(export.tools),
                    }
                    for export, change in stored
                ],
                "errors": [
                    {
                        "path": getattr(error, "path", None),
                        "position": getattr(error, "position", None),
                        "message": error.message,
                        "hint": error.hint,
                    }
                    for error in errors
                ],
                "skipped": [asdict(skipped) for skipped in result.skipped],
                "warnings": warnings,
            }
        )
    elif stored:
        print_table(
            [
                "server",
                "file",
                "format",
                "tools",
                "added",
                "changed",
                "unchanged",
                "removed",
                "waiting",
                "rejected",
            ],
            [
                (
                    export.server,
                    export.path,
                    export.format,
                    len(export.tools),
                    change.added,
                    change.changed,
                    change.unchanged,
                    change.removed,
                    change.waiting,
                    change.rejected,
                )
                for export, change in stored
            ],
        )
    for warning in dict.fromkeys(warnings):
        note(f"Warning: {warning}")
    for skipped in result.skipped:
        note(f"Skipped {skipped.path}: {skipped.reason}")
    for error in errors:
        print_error(error)
    if stored:
        tools = sum(len(export.tools) for export, _ in stored)
        note(f"{tools:,} tools of {len(stored):,} server{'s' * (len(stored) != 1)}.")
