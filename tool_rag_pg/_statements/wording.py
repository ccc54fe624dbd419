"""How people ask: synonyms and example requests."""

from __future__ import annotations

from typing import Literal

from tool_rag_pg.models import ListedExample, ListedSynonym

from ._call import Call, scalar

__all__ = [
    "add_example",
    "add_synonym",
    "list_examples",
    "list_synonyms",
    "remove_example",
    "remove_synonym",
]

Origin = Literal["human", "generated", "feedback"]


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
        scalar,
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
        scalar,
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
        scalar,
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
        scalar,
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
