"""`tool-rag audit` and `tool-rag access`: who changed, searched and called what."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._names import read_duration, read_since
from tool_rag_pg.cli._output import note, print_json, print_table, print_text

if TYPE_CHECKING:
    from tool_rag_pg.models import AccessChange, AuditEvent, RecordedChange

__all__ = ["app"]

app = typer.Typer()
audit = typer.Typer(no_args_is_help=True, help="See who changed, searched and called what.")
app.add_typer(audit, name="audit", epilog="Example: tool-rag audit changes --since 7d")
access = typer.Typer(
    no_args_is_help=True, help="See how access changed, and set what scores tell of hidden tools."
)
app.add_typer(access, name="access", epilog="Example: tool-rag access diff --since 7d")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
SinceOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Not older: 7d (ago), 12h, 2031-01-31, ..."),
]
UntilOption = Annotated[str | None, typer.Option(metavar="TIME", help="Before this time.")]
LoginOption = Annotated[str | None, typer.Option(help="By this Postgres login only.")]
LimitOption = Annotated[int, typer.Option(min=1, max=1_000_000, help="How many at most.")]

# A list of tools longer than this is given by server.
_MANY = 20


def _time(text: str | None) -> datetime | None:
    return None if text is None else read_since(text)


@audit.command(
    "changes",
    help="List changes of tools, grants, roles and wording, the latest first.",
    epilog="Example: tool-rag audit changes --since 7d --object grant_rule",
)
def list_changes(
    ctx: typer.Context,
    since: SinceOption = None,
    until: UntilOption = None,
    object_: Annotated[
        list[str] | None,
        typer.Option(
            "--object",
            help="Of this table only (tool, server, role, grant_rule, synonym, ...); repeat it.",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN", help="Whose description fits, as in 'crm/*'; '*' is any text."
        ),
    ] = None,
    login: LoginOption = None,
    limit: LimitOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List changes."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        rows = ToolRetriever(connection).list_changes(
            since=_time(since),
            until=_time(until),
            objects=object_,
            label=label,
            login=login,
            max_rows=limit,
        )
    if as_json:
        print_json([asdict(row) for row in rows])
    elif rows:
        print_table(
            ["time", "who", "what", "object", "row", "values"],
            [(_when(r.changed_at), _who(r), r.action, r.object, r.label, _values(r)) for r in rows],
        )
    if not rows:
        note("No change fits.")
    elif len(rows) == limit:
        note(f"There may be more than these {limit}: raise --limit.")


@audit.command(
    "events",
    help="List recorded searches and calls, the latest first.",
    epilog="Example: tool-rag audit events --kind search --outcome empty --since 1d",
)
def list_events(
    ctx: typer.Context,
    since: SinceOption = None,
    until: UntilOption = None,
    kind: Annotated[
        Literal["search", "call"] | None, typer.Option(help="Only searches, or only calls.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(help="Only these: found, empty, allowed, refused, ...")
    ] = None,
    login: LoginOption = None,
    limit: LimitOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List searches and calls."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        rows = retriever.list_audit_events(
            since=_time(since),
            until=_time(until),
            kind=kind,
            outcome=outcome,
            login=login,
            max_rows=limit,
        )
        level = retriever.set_audit().level if not rows else None
    if as_json:
        print_json([asdict(row) for row in rows])
    elif rows:
        print_table(
            ["time", "who", "kind", "roles", "outcome", "tools", "tokens", "ms", "detail"],
            [
                (
                    _when(r.happened_at),
                    _who(r),
                    r.kind,
                    None if r.roles is None else ", ".join(r.roles),
                    r.outcome,
                    r.tools,
                    r.tokens,
                    r.milliseconds,
                    _detail(r.detail),
                )
                for r in rows
            ],
        )
    if level == "off":
        note("Searches and calls are not recorded. To change that: tool-rag audit set counts")
    elif not rows:
        note("No search and no call fits.")
    elif len(rows) == limit:
        note(f"There may be more than these {limit}: raise --limit.")


@audit.command(
    "set",
    help="Say what is recorded of searches and calls, and how long it is kept.",
    epilog="Example: tool-rag audit set full --keep-events 30d",
)
def set_(
    ctx: typer.Context,
    level: Annotated[
        Literal["off", "counts", "full"] | None,
        typer.Argument(
            metavar="LEVEL",
            help="off; counts: who, when, how much; full: also the words and the tools.",
        ),
    ] = None,
    keep_events: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long to keep them: 90d, 6w, ...")
    ] = None,
    keep_changes: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long to keep changes; else for ever.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Set level and retention; without any argument show them."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        held = ToolRetriever(connection).set_audit(
            level=level,
            keep_events=None if keep_events is None else read_duration(keep_events),
            keep_changes=None if keep_changes is None else read_duration(keep_changes),
        )
    if as_json:
        print_json(
            {
                "level": held.level,
                "keep_events": _seconds(held.keep_events),
                "keep_changes": _seconds(held.keep_changes),
            }
        )
        return
    kept = "for ever" if held.keep_changes is None else f"for {_days(held.keep_changes)}"
    note(
        f"Searches and calls: {held.level}, kept for {_days(held.keep_events)}; changes: all, "
        f"kept {kept}. What is older goes with: tool-rag audit purge"
    )


@audit.command(
    "purge",
    help="Remove entries that are older than their retention.",
    epilog="Example: tool-rag audit purge",
)
def purge(ctx: typer.Context) -> None:
    """Remove old entries."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        changes, events = ToolRetriever(connection).purge_audit()
    note(f"Removed {changes:,} changes and {events:,} searches and calls.")


@access.command(
    "diff",
    help="Show which tools each role gained or lost since a time, whatever did it.",
    epilog="Example: tool-rag access diff --since 7d",
)
def diff(
    ctx: typer.Context,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="From when on: 7d (ago), 12h, 2031-01-31, ...")
    ],
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Up to when; else until now.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Name every tool, however many they are.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare access at two times."""
    from tool_rag_pg.retriever import ToolRetriever

    start = read_since(since)
    with connect(ctx) as connection:
        rows = ToolRetriever(connection).list_access_changes(start, until=_time(until))
    if as_json:
        print_json([asdict(row) for row in rows])
    elif rows:
        print_table(["role", "change", "tools"], list(_grouped(rows, every=every)))
    if rows:
        count = Counter(row.change for row in rows)
        note(f"Since {_when(start)}: {count['gained']:,} gained, {count['lost']:,} lost.")
    else:
        note(f"No role gained or lost a tool since {_when(start)}.")


@access.command(
    "strict-statistics",
    help="Have every search count words in its caller's tools alone, whatever it asks, or say"
    " whether it is so.",
    epilog="Example: tool-rag access strict-statistics on",
)
def strict_statistics(
    ctx: typer.Context,
    state: Annotated[
        Literal["on", "off"] | None,
        typer.Argument(
            metavar="STATE",
            help="on: scores depend on no tool that the caller may not see; off, as at first: that"
            " is for each search to say.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Set strict statistics; without an argument tell whether they are on."""
    from tool_rag_pg.retriever import ToolRetriever

    strict = None if state is None else state == "on"
    with connect(ctx) as connection:
        held = ToolRetriever(connection).set_strict_statistics(strict)
    if as_json:
        print_json({"strict_statistics": held})
    else:
        print_text("on" if held else "off")
    note(
        "Every search counts words in the tools that its caller may see, and in no other."
        if held
        else "Searches count words in the whole catalogue, unless they ask for less:"
        ' {"statistics": "permitted"}.'
    )


def _grouped(rows: list[AccessChange], *, every: bool) -> Iterator[tuple[str, str, str]]:
    """Yield a line for each tool, or for each server where a role's tools there are many."""
    size = Counter((r.role, r.change, r.server) for r in rows)
    told = set()
    for row in rows:
        group = (row.role, row.change, row.server)
        if every or size[group] <= _MANY:
            yield row.role, row.change, f"{row.server}/{row.tool}"
        elif group not in told:
            told.add(group)
            yield row.role, row.change, f"{row.server}: {size[group]:,} tools (--all names them)"


def _when(time: datetime) -> str:
    return time.astimezone().isoformat(" ", "seconds")


def _who(row: RecordedChange | AuditEvent) -> str:
    """Return the login, the role it acted as, and the person that the backend named."""
    login = row.login if row.acting_role is None else f"{row.login} as {row.acting_role}"
    return login if row.actor is None else f"{row.actor} ({login})"


def _values(change: RecordedChange) -> str:
    """Return what an update changed, as `key: before -> after`."""
    if change.before is None or change.after is None:
        return ""
    before, after = change.before, change.after
    return "; ".join(
        f"{key}: {_short(before.get(key))} -> {_short(after.get(key))}"
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    )


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _detail(detail: dict[str, Any] | None) -> str:
    if detail is None:
        return ""
    if "query" in detail:
        return f"{_short(detail['query'])} -> {', '.join(detail['tools']) or 'nothing'}"
    return f"{detail.get('server')}/{detail.get('tool')}"


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else time.total_seconds()


def _days(time: timedelta) -> str:
    return f"{time.days} days" if time.days else str(time)
