"""`tool-rag roles`, `grant`, `revoke` and `explain-access`: who may see which tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._names import join, read_start, read_until, split_name, split_pattern
from tool_rag_pg.cli._output import note, print_json, print_table, print_text
from tool_rag_pg.errors import InvalidArgument, ToolRagError

if TYPE_CHECKING:
    from tool_rag_pg.models import AccessRule, ListedRole

__all__ = ["app"]

app = typer.Typer()
roles = typer.Typer(no_args_is_help=True, help="Manage roles, their inheritance and their rules.")
app.add_typer(roles, name="roles", epilog="Example: tool-rag roles add developer")

RoleArgument = Annotated[str, typer.Argument(metavar="ROLE", help="Which role.")]
PatternArgument = Annotated[
    str,
    typer.Argument(metavar="SERVER/TOOL", help="Which tools; '*' is any text. Quote it: 'git*/*'."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@roles.command(
    "add",
    help="Create a role, or add parents to one that exists.",
    epilog="Example: tool-rag roles add support --parent employee",
)
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    parent: Annotated[
        list[str] | None,
        typer.Option(help="A role whose rules it inherits; repeat it for several."),
    ] = None,
    description: Annotated[str | None, typer.Option(help="A note for people.")] = None,
) -> None:
    """Create or extend a role."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        new = retriever.add_role(name, parents=parent or (), description=description)
        listed = _find(name, retriever.list_roles())
    inherits = f", inherits from {join(listed.parents)}" if listed.parents else ""
    note(
        f"Role {name} {'added' if new else 'was there already'}{inherits}; it may see "
        f"{listed.tools:,} tools."
    )
    if not listed.tools:
        note(f"Allow some: tool-rag grant {name} 'SERVER/*'")


@roles.command(
    "list",
    help="List roles with their parents and the number of tools that each may use now.",
    epilog="Example: tool-rag roles list --json",
)
def list_(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List roles."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        listed = ToolRetriever(connection).list_roles()
    if as_json:
        print_json([asdict(role) for role in listed])
    elif listed:
        print_table(
            ["role", "parents", "rules", "tools", "description"],
            [(r.name, ", ".join(r.parents), r.rules, r.tools, r.description) for r in listed],
        )
    if not listed:
        note("There is no role yet. Make one: tool-rag roles add NAME")


@roles.command(
    "show",
    help="Show a role's rules, its own and those that it inherits.",
    epilog="Example: tool-rag roles show support",
)
def show(ctx: typer.Context, name: RoleArgument, as_json: JsonOption = False) -> None:
    """Show one role."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        role = _find(name, retriever.list_roles())
        rules = retriever.list_rules(name)
    if as_json:
        print_json(asdict(role) | {"rules": [asdict(rule) for rule in rules]})
        return
    parents = f"inherits from {join(role.parents)}, " if role.parents else ""
    note(f"{name}: {parents}may see {role.tools:,} tools")
    if rules:
        _print_rules(rules)
    else:
        note(f"It has no rule, so it sees nothing. Allow tools: tool-rag grant {name} 'SERVER/*'")


@roles.command(
    "remove",
    help="Remove a role, its rules and its inheritance.",
    epilog="Example: tool-rag roles remove contractor",
)
def remove(ctx: typer.Context, name: RoleArgument) -> None:
    """Remove one role."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        listed = retriever.list_roles()
        retriever.remove_role(name)
    role = _find(name, listed)
    note(f"Role {name} removed, with {role.rules} rule{'s' * (role.rules != 1)}.")
    if heirs := [other.name for other in listed if name in other.parents]:
        note(f"No longer inheriting from it: {join(heirs)}.")


@app.command(
    "grant",
    help="Allow a role to use tools, or deny it with --deny, which beats every allow.",
    epilog="Example: tool-rag grant developer 'github/*' --until 30d",
)
def grant(
    ctx: typer.Context,
    role: RoleArgument,
    pattern: PatternArgument,
    deny: Annotated[bool, typer.Option("--deny", help="Take these tools away.")] = False,
    until: Annotated[
        str | None,
        typer.Option(metavar="T", help="End: 30d, 12h, or a time (ISO 8601; UTC if unsaid)."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="T", help="Beginning, likewise. Default: now.")
    ] = None,
    hours: Annotated[
        str | None,
        typer.Option(
            metavar="HOURS", help="Only then: 'Mon-Fri 09:00-17:00 Europe/Berlin'. Default: always."
        ),
    ] = None,
) -> None:
    """Add one rule."""
    from tool_rag_pg.retriever import ToolRetriever

    server, tool = split_pattern(pattern)
    effect: Literal["allow", "deny"] = "deny" if deny else "allow"
    start = read_start(from_) if from_ is not None else None
    end = read_until(until) if until is not None else None
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        count = retriever.grant_tools(
            role, server, tool, effect=effect, valid_until=end, valid_from=start, hours=hours
        )
        same = [
            rule
            for rule in retriever.list_rules(role)
            if (rule.rule_role, rule.effect, rule.server_pattern, rule.tool_pattern)
            == (role, effect, server, tool)
        ]
    note(
        f"{role}: {effect} {pattern}{_when(start, end, hours)}, "
        f"which fits {count:,} tool{'s' * (count != 1)} today."
    )
    if len(same) > 1:
        note(
            f"With other beginnings or hours the same rule stands {len(same) - 1:,} more "
            f"time{'s' * (len(same) > 2)}, each for itself: tool-rag roles show {role}"
        )
    if not count:
        note("Warning: no tool fits it yet. See what there is: tool-rag tools list")


@app.command(
    "revoke",
    help="Remove a rule of a role, named by the very pattern with which it was granted.",
    epilog="Example: tool-rag revoke developer 'github/*'",
)
def revoke(
    ctx: typer.Context,
    role: RoleArgument,
    pattern: PatternArgument,
    allow: Annotated[
        bool | None,
        typer.Option("--allow/--deny", help="Only the allow or only the deny. Default: both."),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="T", help="Only with this beginning. Default: with any."),
    ] = None,
    hours: Annotated[
        str | None,
        typer.Option(
            metavar="HOURS", help="Only with these hours, or 'always'. Default: with any."
        ),
    ] = None,
) -> None:
    """Remove the rules of one pattern."""
    from tool_rag_pg.retriever import ToolRetriever

    server, tool = split_pattern(pattern)
    effect: Literal["allow", "deny"] | None = (
        None if allow is None else "allow" if allow else "deny"
    )
    start = read_start(from_) if from_ is not None else None
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        count = retriever.revoke_tools(
            role, server, tool, effect=effect, valid_from=start, hours=hours
        )
        rules = [rule for rule in retriever.list_rules(role) if rule.rule_role == role]
    if not count:
        raise ToolRagError(
            f"the role {role!r} has no {f'{effect} ' if effect else ''}rule {pattern!r}"
            f"{_when(start, None, hours)}",
            hint=_own_rules(role, pattern, rules),
        )
    note(f"{role}: {count} rule{'s' * (count != 1)} {pattern} removed, {len(rules)} left.")


@app.command(
    "explain-access",
    help="Say why a role may or may not use a tool, with every rule that bears on it.",
    epilog="Example: tool-rag explain-access support payments/refund_payment",
)
def explain_access(
    ctx: typer.Context,
    role: RoleArgument,
    tool: Annotated[str, typer.Argument(metavar="SERVER/TOOL", help="Which tool.")],
    as_json: JsonOption = False,
) -> None:
    """Explain one verdict."""
    from tool_rag_pg.retriever import ToolRetriever

    server, name = split_name(tool)
    with connect(ctx) as connection:
        explanation = ToolRetriever(connection).explain_access(role, server, name)
    if as_json:
        print_json(asdict(explanation))
        return
    verb = "may" if explanation.permitted else "may not"
    print_text(f"{role} {verb} use {tool}: {explanation.reason}")
    if explanation.rules:
        _print_rules(explanation.rules)


def _find(name: str, listed: Sequence[ListedRole]) -> ListedRole:
    for role in listed:
        if role.name == name:
            return role
    raise InvalidArgument(
        f"the role {name!r} does not exist",
        hint=f"create it: tool-rag roles add {name}; see all: tool-rag roles list",
    )


def _own_rules(role: str, pattern: str, rules: Sequence[AccessRule]) -> str:
    """Return a hint that lists a role's own rules and says how to take single tools away."""
    listed = "".join(
        f"\n    {rule.effect} {rule.server_pattern}/{rule.tool_pattern}"
        f"{_when(rule.valid_from, None, rule.hours)}"
        for rule in rules
    )
    return (
        f"its own rules are:{listed or ' none'}\n"
        f"  to take tools out of a wider grant: tool-rag grant {role} '{pattern}' --deny"
    )


def _print_rules(rules: Sequence[AccessRule]) -> None:
    """Print rules, each with the role that holds it; beginnings and hours where there are any."""
    begin = any(rule.valid_from is not None for rule in rules)
    hours = any(rule.hours is not None for rule in rules)
    print_table(
        [
            *("rule of", "effect", "pattern"),
            *(["from"] if begin else []),
            "until",
            *(["hours"] if hours else []),
            "valid",
        ],
        [
            (
                *(rule.rule_role, rule.effect, f"{rule.server_pattern}/{rule.tool_pattern}"),
                *([_time(rule.valid_from)] if begin else []),
                _time(rule.valid_until),
                *([rule.hours or ""] if hours else []),
                rule.valid,
            )
            for rule in rules
        ],
    )


def _time(time: datetime | None) -> str:
    return "" if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _when(start: datetime | None, end: datetime | None, hours: str | None) -> str:
    return (
        ("" if start is None else f" from {_time(start)}")
        + ("" if end is None else f" until {_time(end)}")
        + ("" if hours is None else f", {hours}")
    )
