"""`tool-rag synonyms` and `examples`: how people ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._names import split_name
from tool_rag_pg.cli._output import note, print_json, print_json_lines, print_table
from tool_rag_pg.cli._wording import FileArgument, JsonOption, ToolArgument, added, import_file
from tool_rag_pg.errors import InvalidArgument, ToolRagError

if TYPE_CHECKING:
    from tool_rag_pg.retriever import ToolRetriever

__all__ = ["app"]

app = typer.Typer()
synonyms = typer.Typer(no_args_is_help=True, help="Manage the words by which people mean tools.")
examples = typer.Typer(no_args_is_help=True, help="Manage requests that tools serve.")
app.add_typer(
    synonyms, name="synonyms", epilog="Example: tool-rag synonyms import domain_synonyms.json"
)
app.add_typer(examples, name="examples", epilog="Example: tool-rag examples import examples.jsonl")

Origin = Literal["human", "generated", "feedback"]

SomeToolArgument = Annotated[
    str | None, typer.Argument(metavar="[SERVER/TOOL]", help="Only those of this tool.")
]
TermOption = Annotated[str | None, typer.Option(help="A term of any request, instead of a tool.")]
AllOption = Annotated[bool, typer.Option("--all", help="Remove all that it has.")]
OriginOption = Annotated[
    Origin | None, typer.Option(help="Only those of this origin: human, generated or feedback.")
]


@synonyms.command(
    "add",
    help="Add words by which people mean a tool, or with --term a term of any request.",
    epilog="Example: tool-rag synonyms add hr/submit_grievance 'raise complaint formal protest'",
)
def add_synonym(
    ctx: typer.Context,
    values: Annotated[
        list[str],
        typer.Argument(
            metavar="[SERVER/TOOL] WORDS", help="Which tool (none with --term), and the words."
        ),
    ],
    term: TermOption = None,
) -> None:
    """Add one synonym."""
    from tool_rag_pg.retriever import ToolRetriever

    name, words = _target(values, term)
    if words is None:
        raise InvalidArgument(
            "the words are missing", hint=f"tool-rag synonyms add {name} 'the words'"
        )
    server, tool = (None, None) if name is None else split_name(name)
    with connect(ctx) as connection:
        new = ToolRetriever(connection).add_synonym(words, server, tool, term)
    note(f"{name or term}: {words!r} {added(new)}.")


@synonyms.command(
    "list",
    help="List the synonyms of terms and of tools.",
    epilog="Example: tool-rag synonyms list hr/submit_grievance",
)
def list_synonyms(
    ctx: typer.Context, tool: SomeToolArgument = None, as_json: JsonOption = False
) -> None:
    """List synonyms."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        rows = retriever.list_synonyms(*_known(retriever, tool))
    if as_json:
        print_json([asdict(row) for row in rows])
    elif rows:
        print_table(
            ["tool", "term", "words"],
            [(f"{r.server}/{r.tool}" if r.tool else None, r.term, r.words) for r in rows],
        )
    if not rows:
        note("There is no synonym. Add one: tool-rag synonyms add SERVER/TOOL 'words'")


@synonyms.command(
    "remove",
    help="Remove words of a tool or of a term, or with --all all that it has.",
    epilog="Example: tool-rag synonyms remove --term bill 'invoice statement'",
)
def remove_synonym(
    ctx: typer.Context,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SERVER/TOOL] [WORDS]",
            help="Which tool (none with --term), and the words as added.",
        ),
    ] = None,
    term: TermOption = None,
    all_: AllOption = False,
) -> None:
    """Remove synonyms."""
    from tool_rag_pg.retriever import ToolRetriever

    name, words = _target(values or [], term)
    _check_all(words, all_=all_)
    server, tool = (None, None) if name is None else split_name(name)
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        _known(retriever, name)
        gone = retriever.remove_synonym(words, server, tool, term)
    _report_removed(gone, name or term, words, see="tool-rag synonyms list")


@synonyms.command(
    "import",
    help="Add all synonyms of a JSON file, or none of them where one can't be.",
    epilog="Example: tool-rag synonyms import domain_synonyms.json",
)
def import_synonyms(ctx: typer.Context, file: FileArgument, as_json: JsonOption = False) -> None:
    """Import synonyms."""
    from tool_rag_pg._wording_files import read_synonyms, store_synonyms

    lines = read_synonyms(file)
    import_file(ctx, file, "synonym", lambda r: store_synonyms(r, lines), as_json=as_json)


@synonyms.command(
    "export",
    help="Print all synonyms in the format that import reads.",
    epilog="Example: tool-rag synonyms export > domain_synonyms.json",
)
def export_synonyms(ctx: typer.Context) -> None:
    """Export synonyms."""
    from tool_rag_pg._wording_files import as_synonyms
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        rows = ToolRetriever(connection).list_synonyms()
    print_json(as_synonyms(rows))


@examples.command(
    "add",
    help="Add a request that a tool serves.",
    epilog="Example: tool-rag examples add payments/refund_payment 'she was charged twice'",
)
def add_example(
    ctx: typer.Context,
    tool: ToolArgument,
    request: Annotated[str, typer.Argument(metavar="REQUEST", help="As people send it.")],
    origin: Annotated[
        Origin, typer.Option(help="Who wrote it: human, generated (by a model) or feedback.")
    ] = "human",
) -> None:
    """Add one example."""
    from tool_rag_pg.retriever import ToolRetriever

    server, name = split_name(tool)
    with connect(ctx) as connection:
        new = ToolRetriever(connection).add_example(server, name, request, origin)
    note(f"{tool}: {request!r} {added(new)}.")


@examples.command(
    "list",
    help="List requests with the tools that serve them.",
    epilog="Example: tool-rag examples list payments/refund_payment --origin human",
)
def list_examples(
    ctx: typer.Context,
    tool: SomeToolArgument = None,
    origin: OriginOption = None,
    as_json: JsonOption = False,
) -> None:
    """List examples."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        rows = retriever.list_examples(*_known(retriever, tool), origin)
    if as_json:
        print_json([asdict(row) for row in rows])
    elif rows:
        print_table(
            ["tool", "request", "origin"],
            [(f"{row.server}/{row.tool}", row.request, row.origin) for row in rows],
        )
    if not rows:
        note("There is no example. Add one: tool-rag examples add SERVER/TOOL 'a request'")


@examples.command(
    "remove",
    help="Remove a request from a tool's examples, or with --all all that it has.",
    epilog="Example: tool-rag examples remove payments/refund_payment 'she was charged twice'",
)
def remove_example(
    ctx: typer.Context,
    tool: Annotated[
        str | None,
        typer.Argument(
            metavar="[SERVER/TOOL]", help="Which tool; without one, with --all and --origin, all."
        ),
    ] = None,
    request: Annotated[
        str | None, typer.Argument(metavar="[REQUEST]", help="The request as added.")
    ] = None,
    all_: AllOption = False,
    origin: OriginOption = None,
) -> None:
    """Remove examples."""
    from tool_rag_pg.retriever import ToolRetriever

    _check_all(request, all_=all_)
    if tool is None and origin is None:
        raise InvalidArgument(
            "the tool is missing",
            hint="write: SERVER/TOOL --all, or for those of all tools: --all --origin generated",
        )
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        if tool is None:
            rows = retriever.list_examples(origin=origin)
            for server, name in sorted({(row.server, row.tool) for row in rows}):
                retriever.remove_example(server, name, None, origin)
            note(f"{len(rows):,} {origin} {'example' if len(rows) == 1 else 'examples'} removed.")
            return
        server, name = split_name(tool)
        _known(retriever, tool)
        gone = retriever.remove_example(server, name, request, origin)
    of_origin = "" if origin is None else f" --origin {origin}"
    _report_removed(gone, tool, request, see=f"tool-rag examples list {tool}{of_origin}")


@examples.command(
    "import",
    help="Add all requests of a JSON Lines file, or none of them where one can't be.",
    epilog="Example: tool-rag examples import examples.jsonl --not-in cases.jsonl",
)
def import_examples(
    ctx: typer.Context,
    file: FileArgument,
    not_in: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Refuse requests that are in this evaluation, or nearly so."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import examples."""
    from tool_rag_pg._wording_files import read_examples, refuse_known_requests, store_examples

    lines = read_examples(file)
    if not_in is not None:
        refuse_known_requests(lines, not_in)
    import_file(ctx, file, "example", lambda r: store_examples(r, lines), as_json=as_json)


@examples.command(
    "export",
    help="Print all examples in the format that import reads, JSON Lines.",
    epilog="Example: tool-rag examples export --origin feedback > examples.jsonl",
)
def export_examples(ctx: typer.Context, origin: OriginOption = None) -> None:
    """Export examples."""
    from tool_rag_pg._wording_files import as_example
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        rows = ToolRetriever(connection).list_examples(origin=origin)
    print_json_lines(as_example(row) for row in rows)


def _target(values: Sequence[str], term: str | None) -> tuple[str | None, str | None]:
    """Return the tool (None with a term) and the words of what was typed."""
    if len(values) > (2 if term is None else 1) or (term is None and not values):
        raise InvalidArgument(
            "a synonym is for a tool or for a term, and its words are one argument",
            hint="write: SERVER/TOOL 'the words', or: --term TERM 'the words'",
        )
    name = None if term is not None else values[0]
    words = values[len(values) - 1] if len(values) > (term is None) else None
    return name, words


def _known(retriever: ToolRetriever, tool: str | None) -> tuple[str | None, str | None]:
    """Return server and name of a tool; an unknown one is an error that names the nearest."""
    if tool is None:
        return None, None
    server, name = split_name(tool)
    retriever.describe_tool(server, name)
    return server, name


def _check_all(words: str | None, *, all_: bool) -> None:
    if (words is None) != all_:
        raise InvalidArgument(
            "name what to remove, or pass --all, one of them", hint="--all removes all that it has"
        )


def _report_removed(gone: bool, target: str | None, words: str | None, *, see: str) -> None:
    what = "nothing" if words is None else f"no {words!r}"
    if not gone:
        raise ToolRagError(f"{target} has {what} to remove", hint=f"see what it has: {see}")
    note(f"{target}: {'all' if words is None else repr(words)} removed.")
