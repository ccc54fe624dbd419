"""Roles, rules, and what they permit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from tool_rag_pg.models import (
    AccessExplanation,
    AccessRule,
    ListedRole,
    PermittedServer,
    PermittedTool,
    ResolvedTool,
    RoleAccess,
    RuleChange,
)

from ._call import Allowed, Call, Row, as_allowed, as_json, as_list, clean, scalar, zoned

__all__ = [
    "add_role",
    "explain_access",
    "grant_tools",
    "list_roles",
    "list_rules",
    "list_tool_access",
    "permitted_servers",
    "permitted_tools",
    "remove_role",
    "resolve_tool",
    "revoke_tools",
    "store_rules",
    "unknown_roles",
]

Effect = Literal["allow", "deny"]


def permitted_tools(
    *, roles: Sequence[str] | None = None, allowed: Allowed | None = None
) -> Call[list[PermittedTool]]:
    """Return every tool that the roles may see now, ordered by server and name.

    Args:
        roles: who asks, as in `search_tools`.
        allowed: as in `search_tools`.
    """
    return Call(
        "select server, name, title, description, is_action, tokens"
        " from tool_rag.permitted_tools(roles => %(roles)s, allowed => %(allowed)s)",
        {"roles": as_list(roles, "roles"), "allowed": as_allowed(allowed)},
        lambda rows: [PermittedTool(**row) for row in rows],
    )


def permitted_servers(
    *, roles: Sequence[str] | None = None, allowed: Allowed | None = None
) -> Call[list[PermittedServer]]:
    """Return the servers of which the roles may see a tool now, and of how many, by name.

    Args:
        roles: who asks, as in `search_tools`.
        allowed: as in `search_tools`.
    """
    return Call(
        "select server, title, description, tools, actions"
        " from tool_rag.permitted_servers(roles => %(roles)s, allowed => %(allowed)s)",
        {"roles": as_list(roles, "roles"), "allowed": as_allowed(allowed)},
        lambda rows: [PermittedServer(**row) for row in rows],
    )


def resolve_tool(
    name: str,
    *,
    roles: Sequence[str] | None = None,
    servers: Sequence[str] | None = None,
    allowed: Allowed | None = None,
) -> Call[list[ResolvedTool]]:
    """Return which tool a name means that a model called, out of those that the roles may use.

    One row with the outcome "exact" or "corrected", or up to three with "hint" where more than one
    may be meant or none is near enough; none where nothing is alike. A tool that the roles may not
    use is not there at all.

    Args:
        name: as the model wrote it, TOOL or SERVER/TOOL.
        roles: who asks, as in `search_tools`.
        servers: only tools of these; "*" is any run of characters.
        allowed: as in `search_tools`.

    Raises:
        InvalidArgument: an empty name, or one of more than 512 characters.
    """
    return Call(
        "select outcome, server, name, similarity from tool_rag.resolve_tool(name => %(name)s,"
        " roles => %(roles)s, servers => %(servers)s, allowed => %(allowed)s)",
        {
            "name": clean(name),
            "roles": as_list(roles, "roles"),
            "servers": as_list(servers, "servers"),
            "allowed": as_allowed(allowed),
        },
        lambda rows: [ResolvedTool(**row) for row in rows],
    )


def add_role(
    name: str, *, parents: Sequence[str] = (), description: str | None = None
) -> Call[bool]:
    """Create a role, or add parents to one that exists; return whether it is new.

    Args:
        name: what it is called.
        parents: roles whose rules it inherits, allows and denies.
        description: for people.

    Raises:
        InvalidArgument: a parent that does not exist, or a cycle.
    """
    return Call(
        "select tool_rag.add_role(name => %(name)s, parents => %(parents)s,"
        " description => %(description)s) as result",
        {"name": name, "parents": as_list(parents, "parents"), "description": description},
        scalar,
    )


def remove_role(name: str) -> Call[None]:
    """Remove a role, its rules and its inheritance.

    Raises:
        InvalidArgument: the role does not exist.
    """
    return Call(
        "select tool_rag.remove_role(name => %(name)s) as result", {"name": name}, lambda _: None
    )


def grant_tools(
    role: str,
    server_pattern: str,
    tool_pattern: str = "*",
    *,
    effect: Effect = "allow",
    valid_until: datetime | None = None,
    valid_from: datetime | None = None,
    hours: str | None = None,
) -> Call[int]:
    """Add a rule, or change the end of the same one; return how many tools its patterns fit today.

    Rules that differ in their beginning or hours are different rules.

    Args:
        role: who it is for.
        server_pattern: which servers; "*" is any run of characters.
        tool_pattern: which of their tools.
        effect: "allow", or "deny", which beats every allow.
        valid_until: end of validity, with a time zone; None for no end.
        valid_from: beginning of validity, with a time zone; None for at once.
        hours: when it holds, as "Mon-Fri 09:00-17:00 Europe/Berlin"; None for at all hours.

    Raises:
        InvalidArgument: a role that does not exist, an impossible pattern, hours that can't be.
    """
    return Call(
        "select tool_rag.grant_tools(role => %(role)s, server_pattern => %(server_pattern)s,"
        " tool_pattern => %(tool_pattern)s, effect => %(effect)s,"
        " valid_until => %(valid_until)s, valid_from => %(valid_from)s,"
        " hours => %(hours)s) as result",
        {
            "role": role,
            "server_pattern": server_pattern,
            "tool_pattern": tool_pattern,
            "effect": effect,
            "valid_until": zoned(valid_until, "valid_until"),
            "valid_from": zoned(valid_from, "valid_from"),
            "hours": hours,
        },
        scalar,
    )


def revoke_tools(
    role: str,
    server_pattern: str,
    tool_pattern: str = "*",
    *,
    effect: Effect | None = None,
    valid_from: datetime | None = None,
    hours: str | None = None,
) -> Call[int]:
    """Remove the rules with exactly these patterns; return how many there were.

    To take single tools out of a wider grant, grant a deny.

    Args:
        role: whose rules.
        server_pattern: as in the grant.
        tool_pattern: as in the grant.
        effect: only the allow or the deny; None for both.
        valid_from: only a rule with this beginning; None for any and none.
        hours: only a rule with these hours, or "always" for one without; None for any and none.

    Raises:
        InvalidArgument: the role does not exist, or the hours can't be.
    """
    return Call(
        "select tool_rag.revoke_tools(role => %(role)s, server_pattern => %(server_pattern)s,"
        " tool_pattern => %(tool_pattern)s, effect => %(effect)s,"
        " valid_from => %(valid_from)s, hours => %(hours)s) as result",
        {
            "role": role,
            "server_pattern": server_pattern,
            "tool_pattern": tool_pattern,
            "effect": effect,
            "valid_from": zoned(valid_from, "valid_from"),
            "hours": hours,
        },
        scalar,
    )


def store_rules(
    rules: Sequence[Mapping[str, Any]], *, replaced_roles: Sequence[str] = ()
) -> Call[list[RuleChange]]:
    """Add many rules, or change their ends where they stand already; all or none.

    Args:
        rules: each `{"role", "server_pattern", "tool_pattern", "effect"}` and, where it has them,
            `"valid_from"` and `"valid_until"`, datetimes with a time zone or texts, and `"hours"`
            as in `grant_tools`.
        replaced_roles: roles all of whose other rules go.

    Returns:
        What was added, changed or removed, ordered by role and patterns; not what stays as it is.

    Raises:
        InvalidArgument: a rule that can't be, named by its place; a role that does not exist.
    """
    made = []
    for place, rule in enumerate(rules):
        made.append(dict(rule))
        for key in ("valid_from", "valid_until"):
            time = rule.get(key)
            if isinstance(time, datetime):
                zoned(time, f"rules[{place}].{key}")
                made[-1][key] = time.isoformat()
    return Call(
        "select change, role, server_pattern, tool_pattern, effect, former_until, valid_until,"
        " valid_from, hours from tool_rag.store_rules(rules => %(rules)s,"
        " replaced_roles => %(replaced_roles)s)",
        {
            "rules": as_json(made, "rules"),
            "replaced_roles": as_list(replaced_roles, "replaced_roles"),
        },
        lambda rows: [RuleChange(**row) for row in rows],
    )


def explain_access(role: str, server: str, tool: str) -> Call[AccessExplanation]:
    """Return why a role may or may not see a tool. For admins: it tells what exists.

    Raises:
        InvalidArgument: the role or the tool does not exist.
    """

    def read(rows: Sequence[Row]) -> AccessExplanation:
        rules = [dict(row) for row in rows]
        verdicts = [(rule.pop("permitted"), rule.pop("reason")) for rule in rules]
        return AccessExplanation(
            permitted=verdicts[0][0],
            reason=verdicts[0][1],
            rules=tuple(AccessRule(**rule) for rule in rules if rule["rule_role"] is not None),
        )

    return Call(
        "select permitted, reason, rule_role, server_pattern, tool_pattern, effect, valid_until,"
        " valid, valid_from, hours from tool_rag.explain_access(role => %(role)s,"
        " server => %(server)s, tool => %(tool)s)",
        {"role": role, "server": server, "tool": tool},
        read,
    )


def list_tool_access(server: str, tool: str) -> Call[list[RoleAccess]]:
    """Return for every role, ordered by name, whether it may see a tool now, and why.

    Raises:
        InvalidArgument: the tool does not exist.
    """
    return Call(
        "select role, permitted, reason"
        " from tool_rag.list_tool_access(server => %(server)s, tool => %(tool)s)",
        {"server": server, "tool": tool},
        lambda rows: [RoleAccess(**row) for row in rows],
    )


def unknown_roles(names: Sequence[str]) -> Call[list[str]]:
    """Return those of some names that no role has, in order and each once."""
    return Call(
        "select name from tool_rag.unknown_roles(names => %(names)s)",
        {"names": as_list(names, "names")},
        lambda rows: [row["name"] for row in rows],
    )


def list_roles() -> Call[list[ListedRole]]:
    """Return every role, ordered by name, with the number of tools that it may see now."""
    return Call(
        "select name, description, parents, rules, tools from tool_rag.list_roles()",
        {},
        lambda rows: [ListedRole(**row) for row in rows],
    )


def list_rules(role: str | None = None) -> Call[list[AccessRule]]:
    """Return a role's rules: its own, then those that it inherits, from the nearest role on.

    Args:
        role: whose rules; None for the rules of all roles, ordered by role.

    Raises:
        InvalidArgument: the role does not exist.
    """
    return Call(
        "select rule_role, server_pattern, tool_pattern, effect, valid_until, valid, valid_from,"
        " hours from tool_rag.list_rules(role => %(role)s)",
        {"role": role},
        lambda rows: [AccessRule(**row) for row in rows],
    )
