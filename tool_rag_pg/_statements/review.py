"""What upstream servers change: policies, versions that wait, and the linter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from psycopg.types.json import Jsonb

from tool_rag_pg.models import (
    ListedPolicy,
    PendingTool,
    ReviewedTool,
    ToolFinding,
    TriedTool,
)

from ._call import Call, as_list, int4

__all__ = [
    "approve_tools",
    "lint_catalogue",
    "lint_tools",
    "list_pending_tools",
    "list_review_policies",
    "reject_tools",
    "set_review_policy",
    "try_approval",
]

Policy = Literal["trust", "review", "withhold", "refuse", "default"]
LintPolicy = Literal["quarantine", "report", "default"]


def list_pending_tools(
    server_pattern: str = "*", tool_pattern: str = "*", *, rejected: bool = False
) -> Call[list[PendingTool]]:
    """Return versions of tools that do not serve, ordered by server and name.

    Args:
        server_pattern: only of these servers; "*" is any run of characters.
        tool_pattern: only of these of their tools.
        rejected: those that a person rejected too.
    """
    return Call(
        "select server, name, is_new, state, reason, hash, findings, current, definition,"
        " submitted_at, submitted_by, decided_at, decided_by, note"
        " from tool_rag.list_pending_tools(server_pattern => %(server_pattern)s,"
        " tool_pattern => %(tool_pattern)s, rejected => %(rejected)s)",
        {
            "server_pattern": server_pattern,
            "tool_pattern": tool_pattern,
            "rejected": rejected,
        },
        lambda rows: [PendingTool(**row) for row in rows],
    )


def approve_tools(
    server_pattern: str, tool_pattern: str = "*", *, hashes: Sequence[str] | None = None
) -> Call[list[ReviewedTool]]:
    """Let versions serve that wait, exactly as they were listed; return their tools.

    Args:
        server_pattern: of these servers; "*" is any run of characters.
        tool_pattern: of these of their tools.
        hashes: only these versions, as `list_pending_tools` gives them, rejected ones too; None
            for all that wait and fit.

    Raises:
        InvalidArgument: one of the hashes is not there any more, so that something else would be
            approved than was looked at, or two are of one tool; nothing was changed.
    """
    return Call(
        "select server, name, is_new from tool_rag.approve_tools("
        "server_pattern => %(server_pattern)s, tool_pattern => %(tool_pattern)s,"
        " hashes => %(hashes)s)",
        {
            "server_pattern": server_pattern,
            "tool_pattern": tool_pattern,
            "hashes": as_list(hashes, "hashes"),
        },
        lambda rows: [ReviewedTool(**row) for row in rows],
    )


def reject_tools(
    server_pattern: str,
    tool_pattern: str = "*",
    *,
    hashes: Sequence[str] | None = None,
    note: str | None = None,
) -> Call[list[ReviewedTool]]:
    """Reject versions that wait, now and whenever an export brings them again.

    Args:
        server_pattern: of these servers; "*" is any run of characters.
        tool_pattern: of these of their tools.
        hashes: only these versions; None for all that wait and fit.
        note: why, for people.

    Raises:
        InvalidArgument: one of the hashes is not there any more; nothing was changed.
    """
    return Call(
        "select server, name, is_new from tool_rag.reject_tools("
        "server_pattern => %(server_pattern)s, tool_pattern => %(tool_pattern)s,"
        " hashes => %(hashes)s, note => %(note)s)",
        {
            "server_pattern": server_pattern,
            "tool_pattern": tool_pattern,
            "hashes": as_list(hashes, "hashes"),
            "note": note,
        },
        lambda rows: [ReviewedTool(**row) for row in rows],
    )


def try_approval(
    server_pattern: str,
    tool_pattern: str = "*",
    *,
    hashes: Sequence[str] | None = None,
    max_requests: int | None = None,
) -> Call[list[TriedTool]]:
    """Return what approving would do to the known requests of other tools; nothing is kept.

    Each version is stored, the newest known requests are searched for, and all is taken back.
    Edits of the catalogue wait meanwhile, searches do not.

    Args:
        server_pattern: of these servers; "*" is any run of characters.
        tool_pattern: of these of their tools.
        hashes: only these versions; None for all that wait and fit.
        max_requests: so many requests at most; None for the setting of the database (100).

    Raises:
        InvalidArgument: one of the hashes is not there any more, or `max_requests` is above 10,000.
    """
    return Call(
        "select server, name, examined, known, first_before, first, among_before, among, requests"
        " from tool_rag.try_approval(server_pattern => %(server_pattern)s,"
        " tool_pattern => %(tool_pattern)s, hashes => %(hashes)s,"
        " max_requests => %(max_requests)s)",
        {
            "server_pattern": server_pattern,
            "tool_pattern": tool_pattern,
            "hashes": as_list(hashes, "hashes"),
            "max_requests": None if max_requests is None else int4(max_requests, "max_requests"),
        },
        lambda rows: [TriedTool(**row) for row in rows],
    )


def set_review_policy(
    server: str | None,
    policy: Policy | None = None,
    lint: LintPolicy | None = None,
    create_server: bool = False,
) -> Call[None]:
    """Say what becomes of new and changed tools of a server, from its next export on.

    Args:
        server: whose; None for all servers that have no policy of their own.
        policy: "trust" (they serve), "review" (they wait, old versions serve), "withhold" (they
            wait, and changed tools are hidden), "refuse" (old versions stay), or "default" for
            what holds for all servers; None leaves it as it is.
        lint: what becomes of versions that the linter flags, where the server is trusted:
            "quarantine" (they wait), "report" (they serve) or "default"; None leaves it.
        create_server: create the server where it does not exist, for its first export to wait.

    Raises:
        InvalidArgument: a server that does not exist, or no such policy.
    """
    return Call(
        "select tool_rag.set_review_policy(server => %(server)s, policy => %(policy)s,"
        " lint => %(lint)s, create_server => %(create_server)s) as result",
        {"server": server, "policy": policy, "lint": lint, "create_server": create_server},
        lambda _: None,
    )


def list_review_policies() -> Call[list[ListedPolicy]]:
    """Return the policy of all servers, then that of each, with what waits."""
    return Call(
        "select server, policy, lint, is_default, waiting, rejected"
        " from tool_rag.list_review_policies()",
        {},
        lambda rows: [ListedPolicy(**row) for row in rows],
    )


def lint_tools(
    payload: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Call[list[ToolFinding]]:
    """Return what the linter finds in an export, or several, beside the catalogue.

    Args:
        payload: what `upsert_tools` takes; nothing of it is stored.

    Raises:
        InvalidArgument: it is no export.
    """
    return Call(
        "select server, tool, rule, severity, field, place, excerpt"
        " from tool_rag.lint_tools(payload => %(payload)s)",
        {"payload": Jsonb(payload)},
        lambda rows: [ToolFinding(**row) for row in rows],
    )


def lint_catalogue(server_pattern: str = "*", tool_pattern: str = "*") -> Call[list[ToolFinding]]:
    """Return what the linter finds in tools of the catalogue, the gravest of each tool first.

    Args:
        server_pattern: only of these servers; "*" is any run of characters.
        tool_pattern: only of these of their tools.
    """
    return Call(
        "select server, tool, rule, severity, field, place, excerpt"
        " from tool_rag.lint_catalogue(server_pattern => %(server_pattern)s,"
        " tool_pattern => %(tool_pattern)s)",
        {"server_pattern": server_pattern, "tool_pattern": tool_pattern},
        lambda rows: [ToolFinding(**row) for row in rows],
    )
