"""What was changed, searched and called, by whom."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from tool_rag_pg.models import AccessChange, AuditEvent, AuditSettings, RecordedChange

from ._call import Call, as_list, clean, int4, scalar, zoned

__all__ = [
    "list_access_changes",
    "list_audit_events",
    "list_changes",
    "purge_audit",
    "record_call",
    "set_audit",
]


def list_changes(
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    objects: Sequence[str] | None = None,
    label: str | None = None,
    login: str | None = None,
    max_rows: int = 100,
) -> Call[list[RecordedChange]]:
    """Return changes of catalogue, wording and access, the latest first.

    Args:
        since: not older than this; with a time zone.
        until: before this; with a time zone.
        objects: of these tables only: "server", "tool", "role", "role_parent", "grant_rule",
            "synonym", "example", "dependency", "ranking_setting", "audit_setting".
        label: whose description in words fits this pattern; "*" is any run of characters.
        login: by this Postgres login only.
        max_rows: how many at most.

    Raises:
        InvalidArgument: a time without a time zone.
    """
    return Call(
        "select changed_at, login, acting_role, actor, object, label, action, before, after,"
        " change_id from tool_rag.list_changes(since => %(since)s, until => %(until)s,"
        " objects => %(objects)s, label => %(label)s, login => %(login)s,"
        " max_rows => %(max_rows)s)",
        {
            "since": zoned(since, "since"),
            "until": zoned(until, "until"),
            "objects": as_list(objects, "objects"),
            "label": label,
            "login": login,
            "max_rows": int4(max_rows, "max_rows"),
        },
        lambda rows: [RecordedChange(**row) for row in rows],
    )


def list_access_changes(
    since: datetime, *, until: datetime | None = None
) -> Call[list[AccessChange]]:
    """Return which roles gained or lost which tools between two times, whatever did it.

    Args:
        since: from when on; with a time zone.
        until: up to when; None is now.

    Raises:
        InvalidArgument: a time without a time zone, or one from before what the audit keeps.
    """
    return Call(
        "select role, server, tool, change from tool_rag.list_access_changes("
        "since => %(since)s, until => %(until)s)",
        {"since": zoned(since, "since"), "until": zoned(until, "until")},
        lambda rows: [AccessChange(**row) for row in rows],
    )


def list_audit_events(
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    kind: Literal["search", "call"] | None = None,
    outcome: str | None = None,
    login: str | None = None,
    max_rows: int = 100,
) -> Call[list[AuditEvent]]:
    """Return recorded searches and calls, the latest first.

    Args:
        since: not older than this; with a time zone.
        until: before this; with a time zone.
        kind: only "search" or only "call".
        outcome: of a search "found" or "empty"; of a call what was recorded.
        login: by this Postgres login only.
        max_rows: how many at most.

    Raises:
        InvalidArgument: a time without a time zone.
    """
    return Call(
        "select happened_at, kind, login, acting_role, actor, roles, conversation, outcome, tools,"
        " tokens, milliseconds, detail, event_id from tool_rag.list_audit_events("
        "since => %(since)s, until => %(until)s, kind => %(kind)s, outcome => %(outcome)s,"
        " login => %(login)s, max_rows => %(max_rows)s)",
        {
            "since": zoned(since, "since"),
            "until": zoned(until, "until"),
            "kind": kind,
            "outcome": outcome,
            "login": login,
            "max_rows": int4(max_rows, "max_rows"),
        },
        lambda rows: [AuditEvent(**row) for row in rows],
    )


def set_audit(
    *,
    level: Literal["off", "counts", "full"] | None = None,
    keep_events: timedelta | None = None,
    keep_changes: timedelta | None = None,
) -> Call[AuditSettings]:
    """Set what is recorded of searches and calls and how long it is kept; return what holds then.

    Args:
        level: "off", "counts" (who, when, how much) or "full" (also words and tools); None: as it
            is.
        keep_events: how long `purge_audit` leaves searches and calls; None: as it is.
        keep_changes: how long it leaves changes; None: as it is, at first for ever.

    Raises:
        InvalidArgument: another level, or a negative time.
    """
    return Call(
        "select level, keep_events, keep_changes from tool_rag.set_audit(level => %(level)s,"
        " keep_events => %(keep_events)s, keep_changes => %(keep_changes)s)",
        {"level": level, "keep_events": keep_events, "keep_changes": keep_changes},
        lambda rows: AuditSettings(**rows[0]),
    )


def record_call(
    server: str,
    tool: str,
    outcome: str,
    *,
    roles: Sequence[str] | None = None,
    conversation: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Call[bool]:
    """Record that a tool was called, or refused; return whether the audit's level has it recorded.

    Args:
        server: the tool's server.
        tool: its name.
        outcome: what came of it: "allowed", "refused", "confirmed", "failed", ...
        roles: the caller's roles.
        conversation: the caller's name for the conversation.
        detail: what else to keep at the level "full"; values whose keys look like secrets are not.

    Raises:
        InvalidArgument: an empty name, an outcome of more than 100 characters, or more than 100,000
            characters of detail.
    """
    return Call(
        "select tool_rag.record_call(server => %(server)s, tool => %(tool)s,"
        " outcome => %(outcome)s, roles => %(roles)s, conversation => %(conversation)s,"
        " detail => %(detail)s::jsonb) as result",
        {
            "server": clean(server),
            "tool": clean(tool),
            "outcome": clean(outcome),
            "roles": as_list(roles, "roles"),
            "conversation": conversation,
            "detail": None if detail is None else json.dumps(detail),
        },
        scalar,
    )


def purge_audit() -> Call[tuple[int, int]]:
    """Remove what the retention no longer keeps; return how many changes and how many events."""
    return Call(
        "select changes, events from tool_rag.purge_audit()",
        {},
        lambda rows: (rows[0]["changes"], rows[0]["events"]),
    )
