"""`tool-rag export`: lists of tools as files, of the catalogue or of a server that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
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
from tool_rag_pg.cli._names import fits
from tool_rag_pg.cli._output import note, print_json, progress
from tool_rag_pg.errors import InvalidArgument

if TYPE_CHECKING:
    from tool_rag_pg.models import ToolDefinition
    from tool_rag_pg.retriever import ToolRetriever

__all__ = ["app"]

app = typer.Typer()


@app.command(
    "export",
    help="Write lists of tools, which `tool-rag ingest` reads: of the catalogue, or of a server "
    "that runs.",
    epilog="Example: tool-rag export --mcp https://example.org/mcp --output exports/",
)
def export(
    ctx: typer.Context,
    mcp: UrlOption = None,
    command: CommandOption = None,
    header: HeaderOption = None,
    env: EnvironmentOption = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="Of the catalogue only servers that fit this pattern ('git*'); of a server that "
            "runs, its name."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="A folder, for one file for each server. Default: standard output."),
    ] = None,
) -> None:
    """Write what is asked for, each file whole or not at all."""
    documents: dict[str, Mapping[str, Any]]
    if mcp is not None or command is not None:
        listing = read_live(mcp, command, header or (), env or (), server)
        documents = {
            listing.server: {
                "server": listing.server,
                "title": listing.title,
                "tools": listing.tools,
            }
        }
    else:
        from tool_rag_pg.retriever import ToolRetriever

        with connect(ctx) as connection:
            documents = dict(_of_catalogue(ToolRetriever(connection), server))
        if not documents:
            raise InvalidArgument(
                "no server of the catalogue fits" if server else "the catalogue holds no tool",
                hint="see them: tool-rag tools list" if server else "tool-rag ingest PATH",
            )
    if output is None:
        several = list(documents.values())
        print_json(several[0] if len(several) == 1 else several)
        return
    written = _write(documents, output)
    note(f"{len(written):,} file{'s' * (len(written) != 1)} in {output}.")


def _of_catalogue(
    retriever: ToolRetriever, pattern: str | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    listed = [
        tool for tool in retriever.list_tools() if pattern is None or fits(pattern, tool.server)
    ]
    for name in dict.fromkeys(tool.server for tool in listed):
        tools = [tool.name for tool in listed if tool.server == name]
        progress(f"{name}: {len(tools):,} tools")
        rows = [_row(retriever.describe_tool(name, tool)) for tool in tools]
        yield name, {"server": name, "tools": rows}


def _row(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations,
        "is_action": tool.is_action,
        "identity_parameters": tool.identity_parameters,
    }


def _write(documents: Mapping[str, Mapping[str, Any]], folder: Path) -> list[Path]:
    from tool_rag_pg.sources.text import slug

    names: dict[str, str] = {}
    for server in documents:
        name = f"{slug(server) or 'server'}.json"
        if (other := names.setdefault(name.lower(), server)) != server:
            raise InvalidArgument(
                f"the servers {other!r} and {server!r} would be one file {name}",
                hint="export them one by one, with --server and into folders of their own",
            )
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for server, document in documents.items():
            path = folder / f"{slug(server) or 'server'}.json"
            half = path.with_suffix(".json.part")
            text = json.dumps(document, ensure_ascii=False, indent=2)
            half.write_text(f"{text}\n", encoding="utf-8")
            half.replace(path)
            written.append(path)
    except OSError as error:
        raise InvalidArgument(
            f"{error.filename or folder} can't be written: {error.strerror}",
            hint="name a folder that you may write to with --output",
        ) from error
    return written
