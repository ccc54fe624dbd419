"""An upstream's own list of tools, as an export of the kind that files hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tool_rag_pg.errors import SourceError
from tool_rag_pg.sources.reader import read_text

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client

    from tool_rag_pg.sources import ServerExport

__all__ = ["list_tools", "read_tools"]

_MAX_PAGES = 1000


async def list_tools(client: Client) -> list[types.Tool]:
    """Return all tools of a server, page by page.

    Raises:
        SourceError: the server's pages have no end.
        MCPError: the server refuses, or the connection was lost.
    """
    tools: list[types.Tool] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        tools.extend(page.tools)
        cursor = page.next_cursor
        if cursor is None:
            return tools
        if cursor in seen:
            break
        seen.add(cursor)
    raise SourceError(
        "its list of tools has no end", path="tools/list", hint="the server's paging is broken"
    )


def read_tools(
    server: str, tools: Sequence[types.Tool], *, title: str | None = None, shown: str
) -> ServerExport:
    """Return a list of tools as an export, checked as one of a file is.

    Args:
        server: its name in the catalogue.
        tools: as `list_tools` returns them.
        title: the server's name for people.
        shown: what errors and warnings call the list.

    Raises:
        SourceError: a tool that can't be stored, no tool at all, or two of one name.
    """
    document: dict[str, Any] = {
        "tools": [
            tool.model_dump(by_alias=True, mode="json", exclude_none=True, exclude_unset=True)
            for tool in tools
        ]
    }
    export = read_text(json.dumps(document), server=server, format="mcp", shown=shown)
    return replace(export, title=title)
