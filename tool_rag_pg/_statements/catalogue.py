"""The tools: ingestion, and what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tool_rag_pg.models import ListedTool, ServerChange, ToolCount, ToolDefinition

from ._call import Allowed, Call, as_allowed, as_json, as_list, scalar

__all__ = [
    "count_tools",
    "describe_tool",
    "list_tools",
    "reindex_tools",
    "remove_server",
    "set_description",
    "upsert_tools",
]


def upsert_tools(
    payload: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Call[list[ServerChange]]:
    """Make a server's tools equal to an export, or several servers' to several; all or nothing.

    Args:
        payload: `{"server": name, "tools": [{"name", "description", "input_schema", ...}]}`, or a
            list of these. `tool_rag_pg.sources.ServerExport.as_payload` makes one of any format.
            A tool that lists `synonyms` has exactly these afterwards.

    Under the review policy of its server a new or changed tool may wait, or be rejected, instead
    (`set_review_policy`).

    Raises:
        InvalidArgument: says which value of the payload is wrong; nothing was changed.
    """
    return Call(
        "select server, added, changed, unchanged, removed, waiting, rejected, flagged"
        " from tool_rag.upsert_tools(payload => %(payload)s)",
        {"payload": as_json(payload, "payload")},
        lambda rows: [ServerChange(**row) for row in rows],
    )


def set_description(server: str, tool: str, description: str) -> Call[bool]:
    """Give one tool another description; return whether it is another one.

    The next `upsert_tools` of its server brings back what the export says.

    Raises:
        InvalidArgument: the tool does not exist.
    """
    return Call(
        "select tool_rag.set_description(server => %(server)s, tool => %(tool)s,"
        " description => %(description)s) as result",
        {"server": server, "tool": tool, "description": description},
        scalar,
    )


def remove_server(name: str) -> Call[int]:
    """Remove a server with its tools; return how many these were. Rules stay.

    Raises:
        InvalidArgument: the server does not exist.
    """
    return Call("select tool_rag.remove_server(name => %(name)s) as result", {"name": name}, scalar)


def reindex_tools() -> Call[int]:
    """Derive all ranking data anew from the catalogue; return the number of tools.

    Edits keep it exact, so this is for the day after the database's own text search has changed.
    """
    return Call("select tool_rag.reindex_tools() as result", {}, scalar)


def list_tools() -> Call[list[ListedTool]]:
    """Return every tool of the catalogue, whoever may see it, ordered by server and name."""
    return Call(
        "select server, name, title, description, is_action, tokens, enabled"
        " from tool_rag.list_tools()",
        {},
        lambda rows: [ListedTool(**row) for row in rows],
    )


def describe_tool(
    server: str,
    name: str,
    *,
    roles: Sequence[str] | None = None,
    allowed: Allowed | None = None,
) -> Call[ToolDefinition]:
    """Return all that the catalogue knows of a tool that the caller may see.

    Args:
        server: where the tool comes from.
        name: its name.
        roles: who asks, as in `search_tools`. Without roles and `allowed`, whoever may list the
            whole catalogue is told of any tool.
        allowed: as in `search_tools`.

    Raises:
        InvalidArgument: the tool does not exist, or not for these roles.
    """
    return Call(
        "select server, name, title, description, input_schema, output_schema, annotations,"
        " is_action, identity_parameters, enabled, tokens, updated_at"
        " from tool_rag.describe_tool(server => %(server)s, name => %(name)s,"
        " roles => %(roles)s, allowed => %(allowed)s)",
        {
            "server": server,
            "name": name,
            "roles": as_list(roles, "roles"),
            "allowed": as_allowed(allowed),
        },
        lambda rows: ToolDefinition(**rows[0]),
    )


def count_tools(
    *, roles: Sequence[str] | None = None, allowed: Allowed | None = None
) -> Call[ToolCount]:
    """Return how many tools the roles may see now, of how many, and their tokens in a prompt.

    Args:
        roles: who asks, as in `search_tools`.
        allowed: as in `search_tools`.
    """
    return Call(
        "select tools, tokens, all_tools, all_tokens"
        " from tool_rag.count_tools(roles => %(roles)s, allowed => %(allowed)s)",
        {"roles": as_list(roles, "roles"), "allowed": as_allowed(allowed)},
        lambda rows: ToolCount(**rows[0]),
    )
