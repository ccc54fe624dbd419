"""`tool-rag what-if`: what an edit would do to a shortlist; nothing is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._names import join, split_name, split_pattern, unknown_role
from tool_rag_pg.cli._output import note, print_json, print_table
from tool_rag_pg.cli._wording import JsonOption, ToolArgument
from tool_rag_pg.errors import InvalidArgument

if TYPE_CHECKING:
    from tool_rag_pg.models import ToolHit
    from tool_rag_pg.retriever import ToolRetriever

__all__ = ["app"]

app = typer.Typer()
what_if = typer.Typer(
    no_args_is_help=True, help="Show what an edit would do to a shortlist, and keep nothing of it."
)
app.add_typer(
    what_if,
    name="what-if",
    epilog="Example: tool-rag what-if grant support 'orders/*' --query 'where is it'",
)

PatternRoleArgument = Annotated[str, typer.Argument(metavar="ROLE", help="Whose rule it is.")]
PatternArgument = Annotated[
    str, typer.Argument(metavar="SERVER/TOOL", help="Which tools; '*' is any text.")
]
QueryOption = Annotated[str, typer.Option(help="The request to search for.")]
RoleOption = Annotated[list[str], typer.Option(help="Who asks; repeat it for several roles.")]
AskingRoleOption = Annotated[
    list[str] | None, typer.Option(help="Who asks, repeatable; default: the role of the rule.")
]
CountOption = Annotated[int, typer.Option("-k", help="So many tools, and what these need.")]
DenyOption = Annotated[bool, typer.Option("--deny", help="It is a rule that takes tools away.")]


@what_if.command(
    "grant",
    help="Try a rule that allows tools to a role, or denies them.",
    epilog="Example: tool-rag what-if grant support 'payments/*' --query 'she paid twice'",
)
def try_grant(
    ctx: typer.Context,
    rule_role: PatternRoleArgument,
    pattern: PatternArgument,
    query: QueryOption,
    role: AskingRoleOption = None,
    deny: DenyOption = False,
    k: CountOption = 8,
    as_json: JsonOption = False,
) -> None:
    """Try a new rule."""
    server, tool = split_pattern(pattern)
    effect: Literal["allow", "deny"] = "deny" if deny else "allow"
    _try(
        ctx,
        lambda retriever: retriever.grant_tools(rule_role, server, tool, effect=effect),
        query=query,
        roles=role or [rule_role],
        k=k,
        as_json=as_json,
    )


@what_if.command(
    "revoke",
    help="Try to do without a rule of a role.",
    epilog="Example: tool-rag what-if revoke support 'payments/*' --query 'she paid twice'",
)
def try_revoke(
    ctx: typer.Context,
    rule_role: PatternRoleArgument,
    pattern: PatternArgument,
    query: QueryOption,
    role: AskingRoleOption = None,
    deny: DenyOption = False,
    k: CountOption = 8,
    as_json: JsonOption = False,
) -> None:
    """Try to remove a rule."""
    server, tool = split_pattern(pattern)
    effect: Literal["allow", "deny"] = "deny" if deny else "allow"

    def revoke(retriever: ToolRetriever) -> None:
        if not retriever.revoke_tools(rule_role, server, tool, effect=effect):
            raise InvalidArgument(
                f"{rule_role} has no {effect} rule of its own with the pattern {pattern}",
                hint=f"see them: tool-rag roles show {rule_role}",
            )

    _try(ctx, revoke, query=query, roles=role or [rule_role], k=k, as_json=as_json)


@what_if.command(
    "synonym",
    help="Try words by which people mean a tool.",
    epilog="Example: tool-rag what-if synonym payments/refund_payment chargeback"
    " --query 'do a chargeback' --role support",
)
def try_synonym(
    ctx: typer.Context,
    tool: ToolArgument,
    words: Annotated[str, typer.Argument(metavar="WORDS", help="Separated by spaces.")],
    query: QueryOption,
    role: RoleOption,
    k: CountOption = 8,
    as_json: JsonOption = False,
) -> None:
    """Try a synonym."""
    server, name = split_name(tool)
    _try(
        ctx,
        lambda retriever: retriever.add_synonym(words, server, name),
        query=query,
        roles=role,
        k=k,
        as_json=as_json,
    )


@what_if.command(
    "example",
    help="Try a request that a tool serves.",
    epilog="Example: tool-rag what-if example payments/refund_payment 'she paid twice'"
    " --query 'he was charged two times' --role support",
)
def try_example(
    ctx: typer.Context,
    tool: ToolArgument,
    request: Annotated[str, typer.Argument(metavar="REQUEST", help="As people send it.")],
    query: QueryOption,
    role: RoleOption,
    k: CountOption = 8,
    as_json: JsonOption = False,
) -> None:
    """Try an example."""
    server, name = split_name(tool)
    _try(
        ctx,
        lambda retriever: retriever.add_example(server, name, request),
        query=query,
        roles=role,
        k=k,
        as_json=as_json,
    )


@what_if.command(
    "description",
    help="Try another description of a tool.",
    epilog="Example: tool-rag what-if description mail/send_message 'Write to somebody'"
    " --query 'tell Ann' --role developer",
)
def try_description(
    ctx: typer.Context,
    tool: ToolArgument,
    description: Annotated[str, typer.Argument(metavar="TEXT", help="The new description.")],
    query: QueryOption,
    role: RoleOption,
    k: CountOption = 8,
    as_json: JsonOption = False,
) -> None:
    """Try a description."""
    server, name = split_name(tool)

    def describe(retriever: ToolRetriever) -> None:
        if not retriever.set_description(server, name, description):
            raise InvalidArgument(f"{tool} has this description already", hint="try another one")

    _try(ctx, describe, query=query, roles=role, k=k, as_json=as_json)


def _try(
    ctx: typer.Context,
    edit: Callable[[ToolRetriever], object],
    *,
    query: str,
    roles: list[str],
    k: int,
    as_json: bool,
) -> None:
    """Try an edit and print both shortlists as one."""
    from tool_rag_pg.evaluation.what_if import try_edit
    from tool_rag_pg.retriever import ToolRetriever

    def search(retriever: ToolRetriever) -> list[ToolHit]:
        return retriever.search_tools(query, roles=roles, k=k)

    with connect(ctx) as connection:
        moves = try_edit(connection, edit, search)
        unknown = ToolRetriever(connection).unknown_roles(roles)
    if as_json:
        print_json([asdict(move) for move in moves])
    elif moves:
        print_table(
            ["tool", "change", "rank before", "rank", "relevance before", "relevance"],
            [
                (
                    move.tool,
                    move.change,
                    move.rank_before,
                    move.rank,
                    move.relevance_before,
                    move.relevance,
                )
                for move in moves
            ],
        )
    for name in unknown:
        advice = unknown_role(name, f"Create it: tool-rag roles add {name}")
        note(f"The role {name!r} does not exist. {advice}")
    counts = Counter(move.change for move in moves)
    said = [f"{counts[change]} {change}" for change in ("gained", "lost", "moved", "same")]
    note(f"For {join(roles)}: {', '.join(said)}. Nothing was kept.")
