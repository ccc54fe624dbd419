"""One statement for each SQL function, shared by the blocking and the asynchronous retriever.

A function here takes what its SQL function takes, under the same names, and returns a `Call`: what
to send, and how to read the answer. Its docstring is the one that users see on the retrievers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, LiteralString, TypeVar

from psycopg.types.json import Jsonb
from psycopg.types.numeric import Int4

from .errors import InvalidArgument
from .models import (
    AccessExplanation,
    AccessRule,
    ListedDependency,
    ListedExample,
    ListedRole,
    ListedSynonym,
    ListedTool,
    MissingTool,
    PermittedTool,
    ResolvedTool,
    RoleAccess,
    ServerChange,
    SuggestedDependency,
    ToolCount,
    ToolDefinition,
    ToolHit,
)

__all__ = [
    "Call",
    "add_dependency",
    "add_example",
    "add_role",
    "add_synonym",
    "count_tools",
    "describe_tool",
    "embed",
    "explain_access",
    "explain_missing",
    "forget_conversations",
    "grant_tools",
    "list_dependencies",
    "list_examples",
    "list_roles",
    "list_rules",
    "list_synonyms",
    "list_tool_access",
    "list_tools",
    "permitted_tools",
    "record_sent",
    "record_use",
    "reindex_tools",
    "remove_dependency",
    "remove_example",
    "remove_role",
    "remove_server",
    "remove_synonym",
    "resolve_tool",
    "revoke_tools",
    "search_tools",
    "search_tools_batch",
    "suggest_dependencies",
    "unknown_roles",
    "unmatched_words",
    "upsert_tools",
]

Effect = Literal["allow", "deny"]
Origin = Literal["human", "generated", "feedback"]
Row = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A statement, its parameters, and what makes a result of its rows."""

    statement: LiteralString
    parameters: Mapping[str, Any]
    read: Callable[[Sequence[Row]], T]


def search_tools(
    query: str,
    *,
    roles: Sequence[str] | None = None,
    k: int = 8,
    embedding: Sequence[float] | None = None,
    context: Sequence[str] = (),
    conversation: str | None = None,
    servers: Sequence[str] | None = None,
    token_budget: int | None = None,
    min_relevance: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Call[list[ToolHit]]:
    """Return the few tools that serve a request, out of those that the roles may use.

    Args:
        query: the request in the user's own words.
        roles: the caller's roles; None takes those of the session's setting `tool_rag.roles`.
            Without any, and for roles that do not exist, the answer is empty.
        k: at most so many tools, and on top of them what these need and what is in use.
        embedding: the request's vector by another model, to rank by it too.
        context: earlier messages of the user, the newest last; the last three count, much where the
            request says little ("yes, the second one"), hardly where it stands for itself.
        conversation: identifies the conversation, so that tools in use (see `record_use`) stay
            in the list, on top of k.
        servers: only tools of these; "*" is any run of characters.
        token_budget: leave out tools that would exceed so many tokens together; the best tool
            always fits, or the call is refused.
        min_relevance: leave out tools less relevant than this, 0 to 1; a request that no tool
            serves then has an empty answer.
        options: further settings, by name: docs/sql.md lists them.

    Raises:
        InvalidArgument: an argument that the function refuses.
        SchemaNotReady: the database lacks the schema, or holds an older version.
        ToolRagError: whatever else the database reports.
    """
    return Call(
        "select rank, server, name, title, description, input_schema, is_action, relevance, score,"
        " tokens, reason, explain from tool_rag.search_tools(query => %(query)s,"
        " roles => %(roles)s, k => %(k)s, embedding => %(embedding)s, context => %(context)s,"
        " conversation => %(conversation)s, servers => %(servers)s,"
        " token_budget => %(token_budget)s, min_relevance => %(min_relevance)s,"
        " options => %(options)s)",
        {
            "query": _clean(query),
            "k": _int4(k, "k"),
            "embedding": _vector(embedding),
            **_how(roles, context, conversation, servers, token_budget, min_relevance, options),
        },
        lambda rows: [ToolHit(**row) for row in rows],
    )


def search_tools_batch(
    queries: Sequence[str],
    *,
    roles: Sequence[str] | None = None,
    limits: Sequence[int] | None = None,
    context: Sequence[str] = (),
    conversation: str | None = None,
    servers: Sequence[str] | None = None,
    token_budget: int | None = None,
    min_relevance: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Call[list[list[ToolHit]]]:
    """Search for several requests in one statement; return one shortlist for each, in order.

    Args:
        queries: 1 to 100 requests.
        roles: as in `search_tools`, like the other arguments, which hold for all requests.
        limits: k for each request; None for 8 each.
        context: as in `search_tools`.
        conversation: as in `search_tools`.
        servers: as in `search_tools`.
        token_budget: as in `search_tools`, for each shortlist.
        min_relevance: as in `search_tools`.
        options: as in `search_tools`.

    Raises:
        InvalidArgument: as in `search_tools`, or not one limit for each request.
    """
    texts = [_clean(query) for query in _names(queries, "queries") or ()]

    def read(rows: Sequence[Row]) -> list[list[ToolHit]]:
        lists: list[list[ToolHit]] = [[] for _ in texts]
        for row in rows:
            columns = dict(row)
            lists[columns.pop("query_number") - 1].append(ToolHit(**columns))
        return lists

    return Call(
        "select query_number, rank, server, name, title, description, input_schema, is_action,"
        " relevance, score, tokens, reason, explain from tool_rag.search_tools_batch("
        "queries => %(queries)s, roles => %(roles)s, limits => %(limits)s, context => %(context)s,"
        " conversation => %(conversation)s, servers => %(servers)s,"
        " token_budget => %(token_budget)s, min_relevance => %(min_relevance)s,"
        " options => %(options)s)",
        {
            "queries": texts,
            "limits": None if limits is None else [_int4(limit, "limits") for limit in limits],
            **_how(roles, context, conversation, servers, token_budget, min_relevance, options),
        },
        read,
    )


def explain_missing(
    query: str,
    server: str,
    tool: str,
    *,
    roles: Sequence[str] | None = None,
    k: int = 8,
    context: Sequence[str] = (),
    conversation: str | None = None,
    servers: Sequence[str] | None = None,
    token_budget: int | None = None,
    min_relevance: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Call[MissingTool]:
    """Say why `search_tools`, with the same arguments, does not return a tool.

    It tells no more than the roles may know: a tool that they may not see and one that does not
    exist get one answer. `explain_access` tells an admin which rule decides.

    Args:
        query: the request.
        server: where the missing tool comes from.
        tool: its name.
        roles: as in `search_tools`, like the other arguments.
        k: as in `search_tools`.
        context: as in `search_tools`.
        conversation: as in `search_tools`.
        servers: as in `search_tools`.
        token_budget: as in `search_tools`.
        min_relevance: as in `search_tools`.
        options: as in `search_tools`.
    """
    return Call(
        "select outcome, rank, relevance, reason, detail from tool_rag.explain_missing("
        "query => %(query)s, server => %(server)s, tool => %(tool)s, roles => %(roles)s,"
        " k => %(k)s, context => %(context)s, conversation => %(conversation)s,"
        " servers => %(servers)s, token_budget => %(token_budget)s,"
        " min_relevance => %(min_relevance)s, options => %(options)s)",
        {
            "query": _clean(query),
            "server": _clean(server),
            "tool": _clean(tool),
            "k": _int4(k, "k"),
            **_how(roles, context, conversation, servers, token_budget, min_relevance, options),
        },
        lambda rows: MissingTool(**rows[0]),
    )


def unmatched_words(
    query: str, *, roles: Sequence[str] | None = None, servers: Sequence[str] | None = None
) -> Call[list[str]]:
    """Return the words of a request that stand in no tool that the roles may see.

    They are candidates for synonyms.

    Args:
        query: the request.
        roles: as in `search_tools`.
        servers: as in `search_tools`.
    """
    return Call(
        "select tool_rag.unmatched_words(query => %(query)s, roles => %(roles)s,"
        " servers => %(servers)s) as result",
        {
            "query": _clean(query),
            "roles": _names(roles, "roles"),
            "servers": _names(servers, "servers"),
        },
        _scalar,
    )


def _how(
    roles: Sequence[str] | None,
    context: Sequence[str],
    conversation: str | None,
    servers: Sequence[str] | None,
    token_budget: int | None,
    min_relevance: float | None,
    options: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the parameters that all kinds of search share."""
    return {
        "roles": _names(roles, "roles"),
        "context": [_clean(text) for text in _names(context, "context") or ()],
        "conversation": conversation,
        "servers": _names(servers, "servers"),
        "token_budget": None if token_budget is None else _int4(token_budget, "token_budget"),
        "min_relevance": min_relevance,
        "options": Jsonb(dict(options or {})),
    }


def permitted_tools(*, roles: Sequence[str] | None = None) -> Call[list[PermittedTool]]:
    """Return every tool that the roles may see now, ordered by server and name.

    Args:
        roles: the caller's roles; None takes those of the session's setting `tool_rag.roles`.
    """
    return Call(
        "select server, name, title, description, is_action, tokens"
        " from tool_rag.permitted_tools(roles => %(roles)s)",
        {"roles": _names(roles, "roles")},
        lambda rows: [PermittedTool(**row) for row in rows],
    )


def resolve_tool(
    name: str, *, roles: Sequence[str] | None = None, servers: Sequence[str] | None = None
) -> Call[list[ResolvedTool]]:
    """Return which tool a name means that a model called, out of those that the roles may use.

    One row with the outcome "exact" or "corrected", or up to three with "hint" where more than one
    may be meant or none is near enough; none where nothing is alike. A tool that the roles may not
    use is not there at all.

    Args:
        name: as the model wrote it, TOOL or SERVER/TOOL.
        roles: the caller's roles; None takes those of the session's setting `tool_rag.roles`.
        servers: only tools of these; "*" is any run of characters.

    Raises:
        InvalidArgument: an empty name, or one of more than 512 characters.
    """
    return Call(
        "select outcome, server, name, similarity from tool_rag.resolve_tool(name => %(name)s,"
        " roles => %(roles)s, servers => %(servers)s)",
        {
            "name": _clean(name),
            "roles": _names(roles, "roles"),
            "servers": _names(servers, "servers"),
        },
        lambda rows: [ResolvedTool(**row) for row in rows],
    )


def upsert_tools(
    payload: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Call[list[ServerChange]]:
    """Make a server's tools equal to an export, or several servers' to several; all or nothing.

    Args:
        payload: `{"server": name, "tools": [{"name", "description", "input_schema", ...}]}`, or a
            list of these. `tool_rag_pg.sources.ServerExport.as_payload` makes one of any format.

    Raises:
        InvalidArgument: says which value of the payload is wrong; nothing was changed.
    """
    return Call(
        "select server, added, changed, unchanged, removed"
        " from tool_rag.upsert_tools(payload => %(payload)s)",
        {"payload": Jsonb(payload)},
        lambda rows: [ServerChange(**row) for row in rows],
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
        {"name": name, "parents": _names(parents, "parents"), "description": description},
        _scalar,
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
) -> Call[int]:
    """Add a rule, or change the end of the same one; return how many tools its patterns fit today.

    Args:
        role: who it is for.
        server_pattern: which servers; "*" is any run of characters.
        tool_pattern: which of their tools.
        effect: "allow", or "deny", which beats every allow.
        valid_until: end of validity, with a time zone; None for no end.

    Raises:
        InvalidArgument: a role that does not exist, or an impossible pattern.
    """
    if valid_until is not None and valid_until.tzinfo is None:
        raise InvalidArgument(
            "valid_until has no time zone", hint="use datetime.now(timezone.utc) + timedelta(...)"
        )
    return Call(
        "select tool_rag.grant_tools(role => %(role)s, server_pattern => %(server_pattern)s,"
        " tool_pattern => %(tool_pattern)s, effect => %(effect)s,"
        " valid_until => %(valid_until)s) as result",
        {
            "role": role,
            "server_pattern": server_pattern,
            "tool_pattern": tool_pattern,
            "effect": effect,
            "valid_until": valid_until,
        },
        _scalar,
    )


def revoke_tools(
    role: str, server_pattern: str, tool_pattern: str = "*", *, effect: Effect | None = None
) -> Call[int]:
    """Remove the rules with exactly these patterns; return how many there were.

    To take single tools out of a wider grant, grant a deny.

    Args:
        role: whose rules.
        server_pattern: as in the grant.
        tool_pattern: as in the grant.
        effect: only the allow or the deny; None for both.

    Raises:
        InvalidArgument: the role does not exist.
    """
    return Call(
        "select tool_rag.revoke_tools(role => %(role)s, server_pattern => %(server_pattern)s,"
        " tool_pattern => %(tool_pattern)s, effect => %(effect)s) as result",
        {
            "role": role,
            "server_pattern": server_pattern,
            "tool_pattern": tool_pattern,
            "effect": effect,
        },
        _scalar,
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
        " valid from tool_rag.explain_access(role => %(role)s, server => %(server)s,"
        " tool => %(tool)s)",
        {"role": role, "server": server, "tool": tool},
        read,
    )


def embed(text: str) -> Call[list[float] | None]:
    """Return the built-in model's vector of a text, of length 1; None when it knows no word of it.

    Args:
        text: any text; the first 10,000 characters count.
    """

    def read(rows: Sequence[Row]) -> list[float] | None:
        value: str | None = rows[0]["result"]
        return None if value is None else [float(part) for part in value[1:-1].split(",")]

    # As text, since the vector types of pgvector have no fixed number that a client could know.
    return Call(
        "select tool_rag.embed(text => %(text)s)::text as result", {"text": _clean(text)}, read
    )


def reindex_tools() -> Call[int]:
    """Derive all ranking data anew from the catalogue; return the number of tools.

    Edits keep it exact, so this is for the day after the database's own text search has changed.
    """
    return Call("select tool_rag.reindex_tools() as result", {}, _scalar)


def list_tools() -> Call[list[ListedTool]]:
    """Return every tool of the catalogue, whoever may see it, ordered by server and name."""
    return Call(
        "select server, name, title, description, is_action, tokens, enabled"
        " from tool_rag.list_tools()",
        {},
        lambda rows: [ListedTool(**row) for row in rows],
    )


def describe_tool(server: str, name: str) -> Call[ToolDefinition]:
    """Return all that the catalogue knows of a tool, whoever may see it.

    Raises:
        InvalidArgument: the tool does not exist.
    """
    return Call(
        "select server, name, title, description, input_schema, output_schema, annotations,"
        " is_action, identity_parameters, enabled, tokens, updated_at"
        " from tool_rag.describe_tool(server => %(server)s, name => %(name)s)",
        {"server": server, "name": name},
        lambda rows: ToolDefinition(**rows[0]),
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


def count_tools(*, roles: Sequence[str] | None = None) -> Call[ToolCount]:
    """Return how many tools the roles may see now, of how many, and their tokens in a prompt.

    Args:
        roles: the caller's roles; None takes those of the session's setting `tool_rag.roles`.
    """
    return Call(
        "select tools, tokens, all_tools, all_tokens from tool_rag.count_tools(roles => %(roles)s)",
        {"roles": _names(roles, "roles")},
        lambda rows: ToolCount(**rows[0]),
    )


def unknown_roles(names: Sequence[str]) -> Call[list[str]]:
    """Return those of some names that no role has, in order and each once."""
    return Call(
        "select name from tool_rag.unknown_roles(names => %(names)s)",
        {"names": _names(names, "names")},
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
        "select rule_role, server_pattern, tool_pattern, effect, valid_until, valid"
        " from tool_rag.list_rules(role => %(role)s)",
        {"role": role},
        lambda rows: [AccessRule(**row) for row in rows],
    )


def remove_server(name: str) -> Call[int]:
    """Remove a server with its tools; return how many these were. Rules stay.

    Raises:
        InvalidArgument: the server does not exist.
    """
    return Call(
        "select tool_rag.remove_server(name => %(name)s) as result", {"name": name}, _scalar
    )


def add_synonym(
    words: str, server: str | None = None, tool: str | None = None, term: str | None = None
) -> Call[bool]:
    """Add words by which people mean a tool, or a term of any request; return whether new.

    Args:
        words: the words, separated by spaces.
        server: of the tool that they mean.
        tool: its name.
        term: instead of a tool: what the words stand beside in any request that holds it.

    Raises:
        InvalidArgument: a tool that does not exist (the hint names the nearest), or not either a
            tool or a term.
    """
    return Call(
        "select tool_rag.add_synonym(words => %(words)s, server => %(server)s, tool => %(tool)s,"
        " term => %(term)s) as result",
        {"words": words, "server": server, "tool": tool, "term": term},
        _scalar,
    )


def remove_synonym(
    words: str | None, server: str | None = None, tool: str | None = None, term: str | None = None
) -> Call[bool]:
    """Remove a synonym of a tool or a term; return whether there was one.

    Args:
        words: exactly as added; None for all of that tool or term.
        server: of the tool.
        tool: its name.
        term: instead of a tool.
    """
    return Call(
        "select tool_rag.remove_synonym(words => %(words)s, server => %(server)s,"
        " tool => %(tool)s, term => %(term)s) as result",
        {"words": words, "server": server, "tool": tool, "term": term},
        _scalar,
    )


def list_synonyms(server: str | None = None, tool: str | None = None) -> Call[list[ListedSynonym]]:
    """Return the synonyms of terms, then those of tools.

    Args:
        server: only those of this server's tools.
        tool: only those of tools of this name.
    """
    return Call(
        "select server, tool, term, words"
        " from tool_rag.list_synonyms(server => %(server)s, tool => %(tool)s)",
        {"server": server, "tool": tool},
        lambda rows: [ListedSynonym(**row) for row in rows],
    )


def add_example(server: str, tool: str, request: str, origin: Origin = "human") -> Call[bool]:
    """Add a request that a tool serves; return whether it is new.

    Args:
        server: where the tool comes from.
        tool: its name.
        request: as people send it.
        origin: who wrote it: a person, a model, or a search whose result was used.

    Raises:
        InvalidArgument: a tool that does not exist (the hint names the nearest), or no request.
    """
    return Call(
        "select tool_rag.add_example(server => %(server)s, tool => %(tool)s,"
        " request => %(request)s, origin => %(origin)s) as result",
        {"server": server, "tool": tool, "request": request, "origin": origin},
        _scalar,
    )


def remove_example(
    server: str, tool: str, request: str | None, origin: Origin | None = None
) -> Call[bool]:
    """Remove a request from a tool's examples; return whether there was one.

    Args:
        server: where the tool comes from.
        tool: its name.
        request: exactly as added; None for all of the tool.
        origin: only where it is of this origin.

    Raises:
        InvalidArgument: an origin that does not exist.
    """
    return Call(
        "select tool_rag.remove_example(server => %(server)s, tool => %(tool)s,"
        " request => %(request)s, origin => %(origin)s) as result",
        {"server": server, "tool": tool, "request": request, "origin": origin},
        _scalar,
    )


def list_examples(
    server: str | None = None, tool: str | None = None, origin: Origin | None = None
) -> Call[list[ListedExample]]:
    """Return the requests that tools serve, ordered by server and tool.

    Args:
        server: only those of this server's tools.
        tool: only those of tools of this name.
        origin: only those of this origin.
    """
    return Call(
        "select server, tool, request, origin from tool_rag.list_examples(server => %(server)s,"
        " tool => %(tool)s, origin => %(origin)s)",
        {"server": server, "tool": tool, "origin": origin},
        lambda rows: [ListedExample(**row) for row in rows],
    )


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
        _scalar,
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
        _scalar,
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
        {"server": server, "max_rows": None if max_rows is None else _int4(max_rows, "max_rows")},
        lambda rows: [SuggestedDependency(**row) for row in rows],
    )


def record_use(conversation: str, turn: int, server: str, tool: str) -> Call[None]:
    """Note that a conversation used a tool, so that it stays in the shortlists for three turns.

    Args:
        conversation: any identifier, as the searches name it; at most 256 characters.
        turn: which turn of the assistant it was, counted from 0.
        server: where the tool comes from.
        tool: its name.

    Raises:
        InvalidArgument: a tool that does not exist, or an impossible turn.
    """
    return Call(
        "select tool_rag.record_use(conversation => %(conversation)s, turn => %(turn)s,"
        " server => %(server)s, tool => %(tool)s) as result",
        {
            "conversation": conversation,
            "turn": _int4(turn, "turn"),
            "server": server,
            "tool": tool,
        },
        lambda _: None,
    )


def record_sent(conversation: str, tools: Sequence[str]) -> Call[int]:
    """Note which tools a conversation's model was given; return how many are new.

    Searches with `options={"keep_order": True}` and the same conversation then keep these in place
    and put new ones behind them, so that a prompt cache holds.

    Args:
        conversation: any identifier, as the searches name it; at most 256 characters.
        tools: in the order of the prompt, each as `SERVER/TOOL`.

    Raises:
        InvalidArgument: a tool that does not exist.
    """
    return Call(
        "select tool_rag.record_sent(conversation => %(conversation)s, tools => %(tools)s)"
        " as result",
        {"conversation": conversation, "tools": _names(tools, "tools")},
        _scalar,
    )


def forget_conversations(before: datetime, *, conversation: str | None = None) -> Call[int]:
    """Remove what is known of conversations that were silent since a time; return how many.

    Args:
        before: the time, with its zone.
        conversation: only this one.
    """
    return Call(
        "select tool_rag.forget_conversations(before => %(before)s,"
        " conversation => %(conversation)s) as result",
        {"before": before, "conversation": conversation},
        _scalar,
    )


def _scalar(rows: Sequence[Row]) -> Any:
    return rows[0]["result"]


def _clean(text: str) -> str:
    """Return a text as Postgres can take it: without NUL, and without halves of surrogate pairs."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _names(values: Sequence[str] | None, argument: str) -> list[str] | None:
    if isinstance(values, str):
        raise InvalidArgument(
            f"{argument} is one text instead of a list", hint=f"pass {argument}=[{values!r}]"
        )
    return None if values is None else list(values)


def _int4(value: int, argument: str) -> Int4:
    if not -(2**31) <= value < 2**31:
        raise InvalidArgument(f"{argument} is out of range: {value}")
    return Int4(value)


def _vector(values: Sequence[float] | None) -> str | None:
    return None if values is None else f"[{','.join(repr(float(value)) for value in values)}]"
