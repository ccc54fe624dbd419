"""What comes on top of a search: dependencies, and what a conversation uses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tool_rag_pg.models import ListedDependency, SuggestedDependency

from ._call import Allowed, Call, as_allowed, as_list, clean, int4, scalar, zoned

__all__ = [
    "add_dependency",
    "forget_conversations",
    "list_dependencies",
    "record_message",
    "record_sent",
    "record_use",
    "remove_dependency",
    "suggest_dependencies",
]


def add_dependency(
    server: str, tool: str, needs_server: str, needs_tool: str, reason: str
) -> Call[bool]:
    """Note that a tool needs another one; return whether that, or its reason, is new.

    A search that returns the first returns the second as well, where the caller may see it.

    Args:
        server: where the tool comes from.
        tool: its name.
        needs_server: where the tool comes from that it needs.
        needs_tool: the name of that one.
        reason: what for; results repeat it.

    Raises:
        InvalidArgument: a tool that does not exist (the hint names the nearest), a cycle, or no
            reason.
    """
    return Call(
        "select tool_rag.add_dependency(server => %(server)s, tool => %(tool)s,"
        " needs_server => %(needs_server)s, needs_tool => %(needs_tool)s,"
        " reason => %(reason)s) as result",
        {
            "server": server,
            "tool": tool,
            "needs_server": needs_server,
            "needs_tool": needs_tool,
            "reason": reason,
        },
        scalar,
    )


def remove_dependency(server: str, tool: str, needs_server: str, needs_tool: str) -> Call[bool]:
    """Note that a tool no longer needs another one; return whether it did.

    Raises:
        InvalidArgument: a tool that does not exist.
    """
    return Call(
        "select tool_rag.remove_dependency(server => %(server)s, tool => %(tool)s,"
        " needs_server => %(needs_server)s, needs_tool => %(needs_tool)s) as result",
        {"server": server, "tool": tool, "needs_server": needs_server, "needs_tool": needs_tool},
        scalar,
    )


def list_dependencies() -> Call[list[ListedDependency]]:
    """Return which tools need which others, and why, ordered by server and tool."""
    return Call(
        "select server, tool, needs_server, needs_tool, reason from tool_rag.list_dependencies()",
        {},
        lambda rows: [ListedDependency(**row) for row in rows],
    )


def suggest_dependencies(
    server: str | None = None, max_rows: int | None = 100
) -> Call[list[SuggestedDependency]]:
    """Return which tools seem to need which others, judged by names and schemas, best first.

    Nothing is stored: `add_dependency` takes what is right. What a rule serves already, and what
    would close a cycle with the rules and the better proposals, is left out.

    Args:
        server: only its tools.
        max_rows: at most so many; None for all.
    """
    return Call(
        "select server, tool, needs_server, needs_tool, parameter, reason, confidence"
        " from tool_rag.suggest_dependencies(server => %(server)s, max_rows => %(max_rows)s)",
        {"server": server, "max_rows": None if max_rows is None else int4(max_rows, "max_rows")},
        lambda rows: [SuggestedDependency(**row) for row in rows],
    )


def record_use(
    conversation: str,
    turn: int | None,
    server: str,
    tool: str,
    *,
    roles: Sequence[str] | None = None,
    allowed: Allowed | None = None,
) -> Call[None]:
    """Note that a conversation used a tool, so that it stays in the shortlists for three turns.

    Args:
        conversation: any identifier, as the searches name it; at most 256 characters.
        turn: which turn of the assistant it was, counted from 0; None for that of the last message
            that `record_message` noted.
        server: where the tool comes from.
        tool: its name.
        roles: who asks, as in `search_tools`: a tool that these may not see is not noted.
        allowed: as in `search_tools`.

    Raises:
        InvalidArgument: a tool that does not exist, or not for these roles, or an impossible turn.
    """
    return Call(
        "select tool_rag.record_use(conversation => %(conversation)s, turn => %(turn)s,"
        " server => %(server)s, tool => %(tool)s, roles => %(roles)s, allowed => %(allowed)s)"
        " as result",
        {
            "conversation": conversation,
            "turn": None if turn is None else int4(turn, "turn"),
            "server": server,
            "tool": tool,
            "roles": as_list(roles, "roles"),
            "allowed": as_allowed(allowed),
        },
        lambda _: None,
    )


def record_message(conversation: str, said: str) -> Call[tuple[int, list[str]]]:
    """Note a request of a conversation; return the number of this turn and the requests before.

    For backends that keep no conversations themselves. The number counts from 0, as `record_use`
    takes it, and the requests, at most four, the latest last, are the `context` of a search.

    Args:
        conversation: any identifier that nobody else can guess, of at most 256 characters.
        said: the request; 10,000 characters are kept.

    Raises:
        InvalidArgument: an empty or too long identifier.
    """
    return Call(
        "select turn, context from tool_rag.record_message(conversation => %(conversation)s,"
        " said => %(said)s)",
        {"conversation": clean(conversation), "said": clean(said)},
        lambda rows: (rows[0]["turn"], list(rows[0]["context"])),
    )


def record_sent(
    conversation: str,
    tools: Sequence[str],
    *,
    roles: Sequence[str] | None = None,
    allowed: Allowed | None = None,
) -> Call[int]:
    """Note which tools a conversation's model was given; return how many are new.

    Searches with `options={"keep_order": True}` and the same conversation then keep these in place
    and put new ones behind them, so that a prompt cache holds.

    Args:
        conversation: any identifier, as the searches name it; at most 256 characters.
        tools: in the order of the prompt, each as `SERVER/TOOL`.
        roles: who asks, as in `search_tools`: a tool that these may not see is not noted.
        allowed: as in `search_tools`.

    Raises:
        InvalidArgument: a tool that does not exist, or not for these roles.
    """
    return Call(
        "select tool_rag.record_sent(conversation => %(conversation)s, tools => %(tools)s,"
        " roles => %(roles)s, allowed => %(allowed)s) as result",
        {
            "conversation": conversation,
            "tools": as_list(tools, "tools"),
            "roles": as_list(roles, "roles"),
            "allowed": as_allowed(allowed),
        },
        scalar,
    )


def forget_conversations(before: datetime, *, conversation: str | None = None) -> Call[int]:
    """Remove what is known of conversations that were silent since a time; return how many.

    Args:
        before: the time, with its zone.
        conversation: only this one.

    Raises:
        InvalidArgument: the time has no zone.
    """
    return Call(
        "select tool_rag.forget_conversations(before => %(before)s,"
        " conversation => %(conversation)s) as result",
        {"before": zoned(before, "before"), "conversation": conversation},
        scalar,
    )
