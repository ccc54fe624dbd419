"""`tool-rag search`: the few tools that serve a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._names import join, read_text
from tool_rag_pg.cli._output import note, print_json, print_json_lines
from tool_rag_pg.cli._shortlist import print_shortlist

if TYPE_CHECKING:
    from tool_rag_pg.models import ToolCount, ToolHit

__all__ = ["app"]

app = typer.Typer()


@app.command(
    "search",
    help="Find the few tools that serve a request, among those that the roles may use.",
    epilog="Example: tool-rag search 'open a pull request from my branch' --role developer -k 5",
)
def search(
    ctx: typer.Context,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='The request in plain words, or "-" for stdin.')
    ],
    role: Annotated[
        list[str] | None, typer.Option(help="Who asks; repeat it for several roles.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="So many tools, and what these need.")] = 8,
    server: Annotated[
        list[str] | None,
        typer.Option(help="Only tools of this server; a pattern ('git*'), repeatable."),
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Keep the tools that this conversation uses in the list."),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="N", help="Only the best tools that fit in N tokens together."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show rank and score in each arm of the search.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    as_json_lines: Annotated[
        bool, typer.Option("--jsonl", help="Print one JSON object a line.")
    ] = False,
) -> None:
    """Search, print the shortlist, and say what it saves or why it is empty."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        hits = retriever.search_tools(
            read_text(query),
            roles=role or None,
            k=k,
            servers=server or None,
            conversation=conversation,
            token_budget=budget,
        )
        visible = retriever.count_tools(roles=role or None)
        unknown = retriever.unknown_roles(role or [])
    if as_json:
        print_json([asdict(hit) for hit in hits])
    elif as_json_lines:
        print_json_lines(asdict(hit) for hit in hits)
    elif hits:
        print_shortlist(hits, explain=explain)
    for name in unknown:
        note(f"The role {name!r} does not exist. Create it: tool-rag roles add {name}")
    note(_summary(hits, visible, role or [], server or [], unknown))


def _summary(
    hits: Sequence[ToolHit],
    visible: ToolCount,
    roles: Sequence[str],
    servers: Sequence[str],
    unknown: Sequence[str],
) -> str:
    """Return the line on stderr: what the shortlist saves, or why there is none."""
    who = f"role {roles[0]}" if len(roles) == 1 else f"the roles {join(roles)}" if roles else "you"
    if hits:
        count = f"{len(hits)} tool{'s' * (len(hits) != 1)}"
        tokens = sum(hit.tokens for hit in hits)
        return f"{count}, {tokens:,} tokens of {visible.tokens:,} that {who} may see"
    if not visible.all_tools:
        return "The catalogue is empty. Fill it: tool-rag ingest PATH"
    if not visible.tools and not roles:
        return (
            "Without a role no tool is visible. Make one and name it with --role:\n"
            "  tool-rag roles add developer\n"
            "  tool-rag grant developer 'SERVER/*'"
        )
    known = [role for role in roles if role not in unknown]
    if not visible.tools and known:
        return (
            f"{join(known)} may see no tool yet. Allow some: tool-rag grant {known[0]} 'SERVER/*'"
        )
    if not visible.tools:
        return "So no tool is visible."
    if servers:
        return f"No tool of {join(servers)} that {who} may see matches the request."
    return f"None of the {visible.tools:,} tools that {who} may see matches the request."
