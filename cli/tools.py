"""`tool-rag tools`: what the catalogue holds, and taking a server out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._names import fits, join, split_name, unknown_role
from tool_rag_pg.cli._output import note, print_json, print_json_lines, print_table, print_text
from tool_rag_pg.errors import InvalidArgument

if TYPE_CHECKING:
    from tool_rag_pg.models import ListedTool, PermittedTool, ToolDefinition
    from tool_rag_pg.retriever import ToolRetriever

__all__ = ["app"]

app = typer.Typer()
tools = typer.Typer(no_args_is_help=True, help="Show what the catalogue holds, or remove of it.")
app.add_typer(tools, name="tools", epilog="Example: tool-rag tools list --server 'git*'")

_SHOWN_CHARACTERS = 72


@tools.command(
    "list",
    help="List the tools of the catalogue, or those that roles may use.",
    epilog="Example: tool-rag tools list --role developer --server 'git*'",
)
def list_(
    ctx: typer.Context,
    role: Annotated[
        list[str] | None,
        typer.Option(help="Only what this role may use now; repeat it for several roles."),
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="Only tools of servers that fit this pattern ('git*').")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    as_json_lines: Annotated[
        bool, typer.Option("--jsonl", help="Print one JSON object a line.")
    ] = False,
) -> None:
    """List tools."""
    from tool_rag_pg.retriever import ToolRetriever

    listed: Sequence[ListedTool | PermittedTool]
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        listed = retriever.permitted_tools(roles=role) if role else retriever.list_tools()
        unknown = retriever.unknown_roles(role or [])
    found = [tool for tool in listed if server is None or fits(server, tool.server)]
    if as_json:
        print_json([asdict(tool) for tool in found])
    elif as_json_lines:
        print_json_lines(asdict(tool) for tool in found)
    elif found:
        print_table(
            ["tool", "action", "tokens", "description"],
            [
                (
                    f"{tool.server}/{tool.name}",
                    tool.is_action,
                    tool.tokens,
                    _shorten(tool.description or tool.title or ""),
                )
                for tool in found
            ],
        )
    for name in unknown:
        advice = unknown_role(name, f"Create it: tool-rag roles add {name}")
        note(f"The role {name!r} does not exist. {advice}")
    note(_count(found, role or [], server, anything=bool(listed)))


def _count(
    found: Sequence[ListedTool | PermittedTool],
    roles: Sequence[str],
    server: str | None,
    *,
    anything: bool,
) -> str:
    if found:
        tokens = sum(tool.tokens for tool in found)
        servers = len({tool.server for tool in found})
        return (
            f"{len(found):,} tool{'s' * (len(found) != 1)} of {servers} "
            f"server{'s' * (servers != 1)}, {tokens:,} tokens"
        )
    if anything:
        return f"No server fits {server!r}."
    if roles:
        return f"{join(roles)} may see no tool. Allow some: tool-rag grant {roles[0]} 'SERVER/*'"
    return "The catalogue is empty. Fill it: tool-rag ingest PATH"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"


@tools.command(
    "show",
    help="Show a tool's definition, its tokens, and which roles may use it.",
    epilog="Example: tool-rag tools show github/create_pull_request",
)
def show(
    ctx: typer.Context,
    tool: Annotated[str, typer.Argument(metavar="SERVER/TOOL", help="Which tool.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show one tool."""
    from tool_rag_pg.retriever import ToolRetriever

    server, name = split_name(tool)
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        try:
            with connection.transaction():
                definition = retriever.describe_tool(server, name)
        except InvalidArgument as error:
            raise _unknown_tool(retriever, tool) from error
        roles = retriever.list_tool_access(server, name)
    if as_json:
        print_json(asdict(definition) | {"roles": [asdict(role) for role in roles]})
        return
    _print_definition(definition)
    if roles:
        print_table(
            ["role", "may use it", "reason"],
            [(role.role, role.permitted, role.reason) for role in roles],
        )
    else:
        note("There is no role yet, so nobody may use it. Make one: tool-rag roles add NAME")


def _print_definition(tool: ToolDefinition) -> None:
    import json

    facts = [
        "action" if tool.is_action else "read-only",
        f"about {tool.tokens:,} tokens",
        *([] if tool.enabled else ["disabled"]),
    ]
    print_text(f"{tool.server}/{tool.name}  ({', '.join(facts)})")
    if tool.title:
        print_text(tool.title)
    print_text(f"\n{tool.description or 'No description.'}\n")
    parts: list[tuple[str, Any]] = [
        ("input_schema", tool.input_schema),
        ("output_schema", tool.output_schema),
        ("annotations", tool.annotations),
        ("identity_parameters", tool.identity_parameters),
    ]
    for label, value in parts:
        if value:
            print_text(f"{label}: {json.dumps(value, ensure_ascii=False, indent=2)}\n")


@tools.command(
    "resolve",
    help="Tell which tool a misspelt name means, among those that the roles may use.",
    epilog="Example: tool-rag tools resolve createPullReqest --role developer",
)
def resolve(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What was called: TOOL or SERVER/TOOL.")
    ],
    role: Annotated[
        list[str] | None, typer.Option(help="Who calls; repeat it for several roles.")
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(help="Only tools of this server; a pattern ('git*'), repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Resolve one name."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        found = retriever.resolve_tool(name, roles=role or None, servers=server or None)
        unknown = retriever.unknown_roles(role or [])
    if as_json:
        print_json([asdict(tool) for tool in found])
    elif found:
        print_table(
            ["outcome", "tool", "similarity"],
            [
                (tool.outcome, f"{tool.server}/{tool.name}", f"{tool.similarity:.2f}")
                for tool in found
            ],
        )
    for each in unknown:
        advice = unknown_role(each, f"Create it: tool-rag roles add {each}")
        note(f"The role {each!r} does not exist. {advice}")
    if not found:
        who = join(role) if role else "a caller without a role"
        note(f"No tool that {who} may use is called anything like {name!r}.")


@tools.command(
    "remove",
    help="Remove a server with all its tools; rules that name it stay.",
    epilog="Example: tool-rag tools remove github",
)
def remove(
    ctx: typer.Context,
    server: Annotated[str, typer.Argument(metavar="SERVER", help="Which server.")],
) -> None:
    """Remove one server."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        count = ToolRetriever(connection).remove_server(server)
    note(f"Server {server} removed, with {count:,} tool{'s' * (count != 1)}.")


def _unknown_tool(retriever: ToolRetriever, tool: str) -> InvalidArgument:
    from difflib import get_close_matches

    names = [f"{other.server}/{other.name}" for other in retriever.list_tools()]
    close = get_close_matches(tool, names, n=3)
    return InvalidArgument(
        f"the tool {tool!r} does not exist",
        hint=f"did you mean {' or '.join(close)}?" if close else "see tool-rag tools list",
    )
