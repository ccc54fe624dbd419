"""Searches, and why they answer as they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tool_rag_pg.models import MissingTool, ToolHit

from ._call import (
    Allowed,
    Call,
    Row,
    as_allowed,
    as_json,
    as_list,
    clean,
    int4,
    scalar,
    vector,
)

__all__ = [
    "embed",
    "explain_missing",
    "query_to_embed",
    "search_tools",
    "search_tools_batch",
    "unmatched_words",
    "with_embedding",
]


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
    allowed: Allowed | None = None,
) -> Call[list[ToolHit]]:
    """Return the few tools that serve a request, out of those that the roles may use.

    Args:
        query: the request in the user's own words.
        roles: the caller's roles; None takes those of the session: its setting
            `tool_rag.roles`, its token (`request.jwt.claims`) or what its login is bound to.
            Without any, and for roles that do not exist, the answer is empty.
        k: at most so many tools, and on top of them what these need and what is in use.
        embedding: the request's vector by the model in use, or by the one that `options` name as
            "model"; it ranks beside the rest. A retriever with an `embedder` computes it, unless
            one of the two is given.
        context: earlier messages of the user, the newest last; the last four count, much where the
            request says little ("yes, the second one"), hardly where it stands for itself.
        conversation: identifies the conversation, so that tools in use (see `record_use`) stay
            in the list, on top of k.
        servers: only tools of these; "*" is any run of characters.
        token_budget: leave out tools that would exceed so many tokens together; the best tool
            always fits, or the call is refused.
        min_relevance: leave out tools less relevant than this, 0 to 1; a request that no tool
            serves then has an empty answer.
        options: further settings, by name: docs/sql.md lists them.
        allowed: what the caller's own permission system lets the user have, as
            `{"server": {"tools": ["name", ...]}}`: all else is taken away before anything is
            ranked. Without roles it counts only for a login that is trusted (`trust_login`).

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
        " options => %(options)s, allowed => %(allowed)s)",
        {
            "query": clean(query),
            "k": int4(k, "k"),
            "embedding": vector(embedding),
            **_how(roles, context, conversation, servers, token_budget, min_relevance, options),
            "allowed": as_allowed(allowed),
        },
        lambda rows: [ToolHit(**row) for row in rows],
    )


def query_to_embed(call: Call[list[ToolHit]]) -> str | None:
    """Return the request of a call of `search_tools` that is to be embedded, or None.

    None where the caller gave a vector or named a model, and where there is nothing to embed.
    """
    given = call.parameters
    if given["embedding"] is not None or "model" in given["options"].obj:
        return None
    query: str = given["query"]
    return query if query.strip() else None


def with_embedding(
    call: Call[list[ToolHit]], model: str, embedding: Sequence[float]
) -> Call[list[ToolHit]]:
    """Return a call of `search_tools` with its request's vector by a model."""
    options = as_json({**call.parameters["options"].obj, "model": model}, "options")
    return replace(
        call,
        parameters={**call.parameters, "embedding": vector(embedding), "options": options},
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
    allowed: Allowed | None = None,
) -> Call[list[list[ToolHit]]]:
    """Search for several requests in one statement; return one shortlist for each, in order.

    It takes no vectors: a retriever's `embedder` has no part in it.

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
        allowed: as in `search_tools`.

    Raises:
        InvalidArgument: as in `search_tools`, or not one limit for each request.
    """
    texts = [clean(query) for query in as_list(queries, "queries") or ()]

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
        " options => %(options)s, allowed => %(allowed)s)",
        {
            "queries": texts,
            "limits": None if limits is None else [int4(limit, "limits") for limit in limits],
            **_how(roles, context, conversation, servers, token_budget, min_relevance, options),
            "allowed": as_allowed(allowed),
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
    allowed: Allowed | None = None,
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
        allowed: as in `search_tools`.
    """
    return Call(
        "select outcome, rank, relevance, reason, detail from tool_rag.explain_missing("
        "query => %(query)s, server => %(server)s, tool => %(tool)s, roles => %(roles)s,"
        " k => %(k)s, context => %(context)s, conversation => %(conversation)s,"
        " servers => %(servers)s, token_budget => %(token_budget)s,"
        " min_relevance => %(min_relevance)s, options => %(options)s, allowed => %(allowed)s)",
        {
            "query": clean(query),
            "server": clean(server),
            "tool": clean(tool),
            "k": int4(k, "k"),
            **_how(roles, context, conversation, servers, token_budget, min_relevance, options),
            "allowed": as_allowed(allowed),
        },
        lambda rows: MissingTool(**rows[0]),
    )


def unmatched_words(
    query: str,
    *,
    roles: Sequence[str] | None = None,
    servers: Sequence[str] | None = None,
    allowed: Allowed | None = None,
) -> Call[list[str]]:
    """Return the words of a request that stand in no tool that the roles may see.

    They are candidates for synonyms.

    Args:
        query: the request.
        roles: as in `search_tools`.
        servers: as in `search_tools`.
        allowed: as in `search_tools`.
    """
    return Call(
        "select tool_rag.unmatched_words(query => %(query)s, roles => %(roles)s,"
        " servers => %(servers)s, allowed => %(allowed)s) as result",
        {
            "query": clean(query),
            "roles": as_list(roles, "roles"),
            "servers": as_list(servers, "servers"),
            "allowed": as_allowed(allowed),
        },
        scalar,
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
        "roles": as_list(roles, "roles"),
        "context": [clean(text) for text in as_list(context, "context") or ()],
        "conversation": conversation,
        "servers": as_list(servers, "servers"),
        "token_budget": None if token_budget is None else int4(token_budget, "token_budget"),
        "min_relevance": min_relevance,
        "options": as_json(dict(options or {}), "options"),
    }


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
        "select tool_rag.embed(text => %(text)s)::text as result", {"text": clean(text)}, read
    )
