"""`tool-rag deps`: which tools need which others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._names import split_name
from tool_rag_pg.cli._output import note, print_json, print_table
from tool_rag_pg.cli._wording import FileArgument, JsonOption, ToolArgument, added, import_file
from tool_rag_pg.errors import InvalidArgument, ToolRagError

if TYPE_CHECKING:
    from tool_rag_pg.models import SuggestedDependency
    from tool_rag_pg.retriever import ToolRetriever

__all__ = ["app"]

app = typer.Typer()
deps = typer.Typer(no_args_is_help=True, help="Manage which tools need which others.")
app.add_typer(deps, name="deps", epilog="Example: tool-rag deps import dependencies.json")

NeedsArgument = Annotated[
    str, typer.Argument(metavar="NEEDS", help="The tool that it needs, as SERVER/TOOL.")
]


@deps.command(
    "add",
    help="Note that a tool needs another one, so that a search returns both.",
    epilog="Example: tool-rag deps add shop/refund shop/list_charges 'gives the id of the charge'",
)
def add_dependency(
    ctx: typer.Context,
    tool: ToolArgument,
    needs: NeedsArgument,
    reason: Annotated[str, typer.Argument(metavar="REASON", help="What for; results repeat it.")],
) -> None:
    """Add one dependency."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        new = ToolRetriever(connection).add_dependency(
            *split_name(tool), *split_name(needs), reason
        )
    note(f"{tool} needs {needs}: {added(new)}.")


@deps.command(
    "list",
    help="List which tools need which others, and what for.",
    epilog="Example: tool-rag deps list --json",
)
def list_dependencies(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List dependencies."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        rows = ToolRetriever(connection).list_dependencies()
    if as_json:
        print_json([asdict(row) for row in rows])
    elif rows:
        print_table(
            ["tool", "needs", "reason"],
            [(f"{r.server}/{r.tool}", f"{r.needs_server}/{r.needs_tool}", r.reason) for r in rows],
        )
    if not rows:
        note("There is no dependency. Add one: tool-rag deps add SERVER/TOOL SERVER/TOOL 'reason'")


@deps.command(
    "remove",
    help="Note that a tool no longer needs another one.",
    epilog="Example: tool-rag deps remove shop/refund shop/list_charges",
)
def remove_dependency(ctx: typer.Context, tool: ToolArgument, needs: NeedsArgument) -> None:
    """Remove one dependency."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        gone = ToolRetriever(connection).remove_dependency(*split_name(tool), *split_name(needs))
    if not gone:
        raise ToolRagError(f"{tool} does not need {needs}", hint="see: tool-rag deps list")
    note(f"{tool} no longer needs {needs}.")


@deps.command(
    "import",
    help="Add all dependencies of a JSON file, or none of them where one can't be.",
    epilog="Example: tool-rag deps import dependencies.json",
)
def import_dependencies(
    ctx: typer.Context, file: FileArgument, as_json: JsonOption = False
) -> None:
    """Import dependencies."""
    from tool_rag_pg._wording_files import read_dependencies, store_dependencies

    lines = read_dependencies(file)
    import_file(ctx, file, "dependency", lambda r: store_dependencies(r, lines), as_json=as_json)


@deps.command(
    "export",
    help="Print all dependencies in the format that import reads.",
    epilog="Example: tool-rag deps export > dependencies.json",
)
def export_dependencies(ctx: typer.Context) -> None:
    """Export dependencies."""
    from tool_rag_pg._wording_files import as_dependencies
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        rows = ToolRetriever(connection).list_dependencies()
    print_json(as_dependencies(rows))


@deps.command(
    "suggest",
    help="Propose which tools need which others, by their names and schemas, or add these.",
    epilog="Example: tool-rag deps suggest --server shop --output dependencies.json",
)
def suggest_dependencies(
    ctx: typer.Context,
    server: Annotated[str | None, typer.Option(help="Only for tools of this server.")] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Add all that is proposed, or nothing.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many.")] = 100,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a file, to be edited and read by deps import."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Suggest dependencies."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        rows = retriever.suggest_dependencies(server, limit)
        if not rows and server is not None:
            _check_server(retriever, server)
        if output is not None:
            _write(output, rows)
        if accept:
            for row in rows:
                retriever.add_dependency(
                    row.server, row.tool, row.needs_server, row.needs_tool, row.reason
                )
    if as_json:
        print_json([asdict(row) for row in rows])
    elif rows:
        print_table(
            ["tool", "needs", "reason", "confidence"],
            [
                (f"{r.server}/{r.tool}", f"{r.needs_server}/{r.needs_tool}", r.reason, r.confidence)
                for r in rows
            ],
        )
    note(_what_next(len(rows), accept=accept, output=output))
    if len(rows) == limit:
        note(f"There may be more than these {limit:,}: raise --limit.")


def _what_next(count: int, *, accept: bool, output: Path | None) -> str:
    many = "1 dependency" if count == 1 else f"{count:,} dependencies"
    if not count:
        return "There is nothing to propose."
    if accept:
        return f"{many} added."
    if output is not None:
        return f"{many} written, none added. Edit them, then: tool-rag deps import {output}"
    return (
        f"{many} proposed, none added. Add one: tool-rag deps add SERVER/TOOL SERVER/TOOL "
        "'reason'; all: --accept; some: --output FILE, edit it, tool-rag deps import FILE."
    )


def _check_server(retriever: ToolRetriever, server: str) -> None:
    if all(tool.server != server for tool in retriever.list_tools()):
        raise InvalidArgument(
            f"server {server!r} does not exist or has no tools", hint="see: tool-rag tools list"
        )


def _write(path: Path, rows: Sequence[SuggestedDependency]) -> None:
    from tool_rag_pg._wording_files import as_dependencies

    text = json.dumps(as_dependencies(rows), ensure_ascii=False, indent=2)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ToolRagError(
            f"{path}: it can't be written: {error.strerror}", hint="name another file"
        ) from error
