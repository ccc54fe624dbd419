"""`tool-rag review`: new and changed tools of upstream servers, before they serve."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._diff import differences, print_parts
from tool_rag_pg.cli._names import split_pattern
from tool_rag_pg.cli._output import note, print_json, print_table, print_text
from tool_rag_pg.errors import InvalidArgument, ToolRagError

if TYPE_CHECKING:
    from tool_rag_pg.models import PendingTool, ReviewedTool, TriedTool
    from tool_rag_pg.retriever import ToolRetriever

__all__ = ["app"]

app = typer.Typer()
review = typer.Typer(
    invoke_without_command=True,
    help="Review new and changed tools that wait: look at them, approve or reject them.",
)
app.add_typer(review, name="review", epilog="Example: tool-rag review show github/create_issue")

_SHOWN_REQUESTS = 10

PatternArgument = Annotated[
    str,
    typer.Argument(metavar="SERVER/TOOL", help="Which tools; '*' is any text. Quote it: 'git*/*'."),
]
SomePatternArgument = Annotated[
    str,
    typer.Argument(metavar="[SERVER/TOOL]", help="Only these tools; '*' is any text."),
]
HashOption = Annotated[
    list[str] | None,
    typer.Option("--hash", help="Only this version, as show prints it; repeatable."),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
RejectedOption = Annotated[
    bool, typer.Option("--rejected", help="Those that were rejected earlier too.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@review.callback()
def default(ctx: typer.Context) -> None:
    """List what waits where no command is named."""
    if ctx.invoked_subcommand is None:
        list_(ctx)


@review.command(
    "list",
    help="List the tools that wait, and why.",
    epilog="Example: tool-rag review list 'github/*'",
)
def list_(
    ctx: typer.Context,
    pattern: SomePatternArgument = "*/*",
    rejected: RejectedOption = False,
    as_json: JsonOption = False,
) -> None:
    """List versions that do not serve."""
    from tool_rag_pg.retriever import ToolRetriever

    server, tool = split_pattern(pattern)
    with connect(ctx) as connection:
        listed = ToolRetriever(connection).list_pending_tools(server, tool, rejected=rejected)
    if as_json:
        print_json([asdict(pending) for pending in listed])
    elif listed:
        _print_list(listed)
    if not listed:
        note("Nothing waits." if pattern == "*/*" else f"Nothing waits that fits {pattern}.")
    elif not as_json:
        first = listed[0]
        note(f"Look at one: tool-rag review show '{first.server}/{first.name}'")


@review.command(
    "show",
    help="Show what a version would change, word by word, what the linter finds in it, and which"
    " known requests it would win.",
    epilog="Example: tool-rag review show github/create_issue",
)
def show(
    ctx: typer.Context,
    pattern: PatternArgument,
    rejected: RejectedOption = False,
    requests: Annotated[
        int | None,
        typer.Option(help="Try so many known requests, the newest; 0 for none. Default: 100."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show versions in full."""
    from tool_rag_pg.retriever import ToolRetriever

    server, tool = split_pattern(pattern)
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        listed = retriever.list_pending_tools(server, tool, rejected=rejected)
        tried = _try(retriever, server, tool, listed, requests)
    if not listed:
        raise _nothing(pattern)
    if as_json:
        print_json(
            [
                asdict(pending)
                | {
                    "differences": [
                        {"field": field, "parts": [[kind, text] for kind, text in parts]}
                        for field, parts in differences(pending.current, pending.definition)
                    ],
                    "requests": asdict(tried[pending.hash]) if pending.hash in tried else None,
                }
                for pending in listed
            ]
        )
        return
    for pending in listed:
        _print_version(pending, tried.get(pending.hash))


@review.command(
    "approve",
    help="Let versions serve that wait, exactly as they are shown.",
    epilog="Example: tool-rag review approve 'github/*' --yes",
)
def approve(
    ctx: typer.Context,
    pattern: PatternArgument,
    hash_: HashOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Approve versions."""
    from tool_rag_pg.retriever import ToolRetriever

    server, tool = split_pattern(pattern)
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        listed = _choose(retriever, pattern, hash_)
        if not yes:
            tried = _try(retriever, server, tool, listed, None)
            _ask("approve", listed, tried)
        # By their hashes, so that what came in meanwhile is not approved unseen.
        done = retriever.approve_tools(server, tool, hashes=[pending.hash for pending in listed])
    _report("approved", done, as_json=as_json)


@review.command(
    "reject",
    help="Reject versions that wait, now and whenever an export brings them again.",
    epilog="Example: tool-rag review reject github/create_issue --note 'asks for secrets' --yes",
)
def reject(
    ctx: typer.Context,
    pattern: PatternArgument,
    hash_: HashOption = None,
    reason: Annotated[str | None, typer.Option("--note", help="Why, for people.")] = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Reject versions."""
    from tool_rag_pg.retriever import ToolRetriever

    server, tool = split_pattern(pattern)
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        listed = _choose(retriever, pattern, hash_)
        if not yes:
            _ask("reject", listed, {})
        done = retriever.reject_tools(
            server, tool, hashes=[pending.hash for pending in listed], note=reason
        )
    _report("rejected", done, as_json=as_json)


@review.command(
    "policy",
    help="Say what becomes of new and changed tools of a server, or list what holds.",
    epilog="Example: tool-rag review policy github review",
)
def policy(
    ctx: typer.Context,
    server: Annotated[
        str | None,
        typer.Argument(
            metavar="[SERVER]", help="Whose; '*' for all without a policy of their own."
        ),
    ] = None,
    name: Annotated[
        Literal["trust", "review", "withhold", "refuse", "default"] | None,
        typer.Argument(
            metavar="[POLICY]",
            help="trust: they serve; review: they wait, old versions serve; withhold: they wait,"
            " changed tools are hidden; refuse: old versions stay; default: as all servers.",
        ),
    ] = None,
    lint: Annotated[
        Literal["quarantine", "report", "default"] | None,
        typer.Option(help="What the linter flags of a trusted server waits, or is only counted."),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Create the server, before its first export.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Set or list policies."""
    from tool_rag_pg.retriever import ToolRetriever

    if server is not None and name is None and lint is None:
        raise InvalidArgument(
            "the policy is missing",
            hint=f"tool-rag review policy {server} review, or without a server to list all",
        )
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        if server is not None:
            retriever.set_review_policy(None if server == "*" else server, name, lint, new)
        listed = retriever.list_review_policies()
    if server is not None:
        chosen = None if server == "*" else server
        listed = [row for row in listed if row.server == chosen]
    if as_json:
        print_json([asdict(row) for row in listed])
    else:
        print_table(
            ["server", "policy", "lint", "default", "waiting", "rejected"],
            [
                (
                    row.server if row.server is not None else "(all others)",
                    row.policy,
                    row.lint,
                    row.is_default,
                    row.waiting,
                    row.rejected,
                )
                for row in listed
            ],
        )
    if server is not None:
        note("It counts from the next export on.")


def _nothing(pattern: str) -> ToolRagError:
    return ToolRagError(
        f"nothing waits that fits {pattern!r}", hint="see what does: tool-rag review list"
    )


def _choose(
    retriever: ToolRetriever, pattern: str, hashes: Sequence[str] | None
) -> list[PendingTool]:
    """Return the versions that are meant.

    Raises:
        ToolRagError: there is none, or a hash is none of them.
    """
    server, tool = split_pattern(pattern)
    listed = retriever.list_pending_tools(server, tool, rejected=bool(hashes))
    if hashes:
        known = {pending.hash for pending in listed}
        for missing in (hash_ for hash_ in hashes if hash_ not in known):
            raise InvalidArgument(
                f"no version {missing!r} waits",
                hint="what its server offers changed since it was shown; look again: "
                f"tool-rag review show '{pattern}'",
            )
        listed = [pending for pending in listed if pending.hash in hashes]
    if not listed:
        raise _nothing(pattern)
    return listed


def _try(
    retriever: ToolRetriever,
    server: str,
    tool: str,
    listed: Sequence[PendingTool],
    requests: int | None,
) -> dict[str, TriedTool]:
    """Return what the versions that are offered would win, by their hashes."""
    offered = {(p.server, p.name): p.hash for p in listed if p.state != "rejected"}
    if not offered or requests == 0:
        return {}
    tried = retriever.try_approval(
        server, tool, hashes=list(offered.values()), max_requests=requests
    )
    return {offered[row.server, row.name]: row for row in tried}


def _ask(verb: str, listed: Sequence[PendingTool], tried: dict[str, TriedTool]) -> None:
    """Show versions and ask; without a person to ask it is an error."""
    if not sys.stdin.isatty():
        raise InvalidArgument(
            f"there is nobody to ask whether to {verb} {_count(len(listed))}", hint="pass --yes"
        )
    for pending in listed:
        _print_version(pending, tried.get(pending.hash))
    if not typer.confirm(f"{verb.capitalize()} {_count(len(listed))}?", err=True):
        raise ToolRagError("nothing was changed", hint="the answer was no")


def _report(done: str, rows: Sequence[ReviewedTool], *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        print_table(
            ["tool", "kind"],
            [(f"{row.server}/{row.name}", "new" if row.is_new else "changed") for row in rows],
        )
    note(f"{_count(len(rows))} {done}.")


def _count(number: int) -> str:
    return f"{number:,} version{'s' * (number != 1)}"


def _print_list(listed: Sequence[PendingTool]) -> None:
    print_table(
        ["tool", "kind", "state", "reason", "findings", "since"],
        [
            (
                f"{pending.server}/{pending.name}",
                "new" if pending.is_new else "changed",
                pending.state,
                pending.reason,
                ", ".join(dict.fromkeys(f["rule"] for f in pending.findings)),
                f"{pending.submitted_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
            )
            for pending in listed
        ],
    )


def _print_version(pending: PendingTool, tried: TriedTool | None) -> None:
    kind = "new" if pending.is_new else "changed"
    print_text(
        f"{pending.server}/{pending.name}  ({kind}, {pending.state}, "
        f"{pending.reason})\nhash: {pending.hash}\nsubmitted: "
        f"{pending.submitted_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC by "
        f"{pending.submitted_by}"
    )
    if pending.decided_at is not None:
        why = f": {pending.note}" if pending.note else ""
        print_text(
            f"rejected: {pending.decided_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC by "
            f"{pending.decided_by or ''}{why}"
        )
    for field, parts in differences(pending.current, pending.definition):
        print_text(f"\n{field}:")
        print_parts(parts)
    print_text()
    if pending.findings:
        print_table(
            ["severity", "rule", "field", "at", "excerpt"],
            [
                (
                    finding["severity"],
                    finding["rule"],
                    finding["field"],
                    finding["place"],
                    finding["excerpt"],
                )
                for finding in pending.findings
            ],
        )
    if tried is not None:
        _print_tried(tried)


def _print_tried(tried: TriedTool) -> None:
    if not tried.examined:
        note("There is no known request yet to try it with: tool-rag examples add")
        return
    print_text(
        f"Of {tried.examined:,} known requests (of {tried.known:,}, the newest) it would be first "
        f"for {tried.first:,} that other tools serve ({tried.first_before:,} of them already), and "
        f"among the first five for {tried.among:,} ({tried.among_before:,} of them already)."
    )
    if tried.requests:
        print_table(
            ["request", "place", "now", "served by"],
            [
                (
                    row["request"],
                    row["place"],
                    row["place_before"],
                    ", ".join(row["tools"] or []),
                )
                for row in tried.requests[:_SHOWN_REQUESTS]
            ],
        )
