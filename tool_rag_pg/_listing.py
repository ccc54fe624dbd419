"""What an admin lists: the whole catalogue, roles and rules, whoever may see them.

Plain reads of tables, for the command line; what callers use is in `_statements`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ._statements import Call

__all__ = [
    "ListedRole",
    "ListedRule",
    "ListedTool",
    "RoleAccess",
    "ToolDefinition",
    "Visible",
    "ancestors",
    "count_visible",
    "list_role_names",
    "list_roles",
    "list_rules",
    "list_tools",
    "list_unknown_roles",
    "list_who_may",
    "show_tool",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool of the catalogue; `enabled` is false where it or its server is switched off."""

    server: str
    name: str
    title: str | None
    description: str
    is_action: bool
    tokens: int
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """All that the catalogue knows of a tool."""

    server: str
    name: str
    title: str | None
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    is_action: bool
    identity_parameters: list[str]
    enabled: bool
    tokens: int
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleAccess:
    """Whether a role may see one tool, and why."""

    role: str
    permitted: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """How many tools roles may see, of how many there are, and their tokens in a prompt."""

    tools: int
    tokens: int
    all_tools: int
    all_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRole:
    """A role, with the number of its own rules and of the tools that it may see now."""

    name: str
    description: str | None
    parents: list[str]
    rules: int
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRule:
    """A rule of one role."""

    role: str
    server_pattern: str
    tool_pattern: str
    effect: str
    valid_until: datetime | None
    valid: bool


def list_tools() -> Call[list[ListedTool]]:
    """Return every tool of the catalogue, ordered by server and name."""
    return Call(
        "select s.name as server, t.name, t.title, t.description, t.is_action,"
        " t.token_count as tokens, t.enabled and s.enabled as enabled"
        " from tool_rag.tool t join tool_rag.server s on s.server_id = t.server_id"
        ' order by s.name collate "C", t.name collate "C"',
        {},
        lambda rows: [ListedTool(**row) for row in rows],
    )


def show_tool(server: str, name: str) -> Call[ToolDefinition | None]:
    """Return the definition of a tool, or None."""
    return Call(
        "select s.name as server, t.name, t.title, t.description, t.input_schema,"
        " t.output_schema, t.annotations, t.is_action, t.identity_parameters,"
        " t.enabled and s.enabled as enabled, t.token_count as tokens, t.updated_at"
        " from tool_rag.tool t join tool_rag.server s on s.server_id = t.server_id"
        " where s.name = %(server)s and t.name = %(name)s",
        {"server": server, "name": name},
        lambda rows: ToolDefinition(**rows[0]) if rows else None,
    )


def list_who_may(server: str, name: str) -> Call[list[RoleAccess]]:
    """Return what each role is told of a tool."""
    return Call(
        "select r.name as role, e.permitted, e.reason from tool_rag.role r cross join lateral"
        " (select permitted, reason from tool_rag.explain_access(role => r.name,"
        " server => %(server)s, tool => %(name)s) limit 1) e"
        ' order by r.name collate "C"',
        {"server": server, "name": name},
        lambda rows: [RoleAccess(**row) for row in rows],
    )


def count_visible(roles: Sequence[str] | None) -> Call[Visible]:
    """Return how much of the catalogue roles may see; None takes the session's own roles."""
    return Call(
        "select p.tools, p.tokens, c.all_tools, c.all_tokens from"
        " (select count(*)::int as tools, coalesce(sum(tokens), 0)::int as tokens"
        " from tool_rag.permitted_tools(roles => %(roles)s)) p cross join"
        " (select count(*)::int as all_tools, coalesce(sum(token_count), 0)::int as all_tokens"
        " from tool_rag.tool) c",
        {"roles": None if roles is None else list(roles)},
        lambda rows: Visible(**rows[0]),
    )


def list_role_names() -> Call[list[str]]:
    """Return the names of all roles."""
    return Call(
        'select name from tool_rag.role order by name collate "C"',
        {},
        lambda rows: [row["name"] for row in rows],
    )


def list_unknown_roles(names: Sequence[str]) -> Call[list[str]]:
    """Return those of some names that no role has."""
    return Call(
        "select distinct n as name from unnest(%(names)s::text[]) n"
        " where not exists (select from tool_rag.role r where r.name = n) order by n",
        {"names": list(names)},
        lambda rows: [row["name"] for row in rows],
    )


def list_roles() -> Call[list[ListedRole]]:
    """Return all roles, ordered by name."""
    return Call(
        "select r.name, r.description, array(select p.name from tool_rag.role_parent l"
        " join tool_rag.role p on p.role_id = l.parent_id where l.role_id = r.role_id"
        ' order by p.name collate "C") as parents,'
        " (select count(*) from tool_rag.grant_rule g where g.role_id = r.role_id)::int as rules,"
        " (select count(*) from tool_rag.permitted_tools(roles => array[r.name]))::int as tools"
        ' from tool_rag.role r order by r.name collate "C"',
        {},
        lambda rows: [ListedRole(**row) for row in rows],
    )


def list_rules() -> Call[list[ListedRule]]:
    """Return the rules of all roles: by role, denies first, then by pattern."""
    return Call(
        "select r.name as role, g.server_pattern, g.tool_pattern, g.effect, g.valid_until,"
        " g.valid_until > statement_timestamp() as valid"
        " from tool_rag.grant_rule g join tool_rag.role r on r.role_id = g.role_id"
        ' order by r.name collate "C", g.effect desc, g.server_pattern collate "C",'
        ' g.tool_pattern collate "C"',
        {},
        lambda rows: [ListedRule(**row) for row in rows],
    )


def ancestors(role: str, roles: Iterable[ListedRole]) -> Sequence[str]:
    """Return a role and all that it inherits from, the nearest first."""
    parents: Mapping[str, Sequence[str]] = {listed.name: listed.parents for listed in roles}
    found = [role]
    for name in found:
        found += [parent for parent in parents[name] if parent not in found]
    return found
