"""An upstream's own list of tools, as an export of the kind that files hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio
from mcp import MCPError
from pydantic import ValidationError

from tool_rag_pg.errors import SourceError
from tool_rag_pg.sources.naming import check_server
from tool_rag_pg.sources.reader import read_text
from tool_rag_pg.sources.text import slug

from .config import Secrets, UpstreamConfig
from .transport import connect

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client

    from tool_rag_pg.sources import ServerExport

__all__ = ["Listing", "fetch_listing", "list_tools", "read_tools"]

_MAX_PAGES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a server says of itself and its tools.

    Attributes:
        server: its name in the catalogue.
        title: a name for people, or None.
        tools: as it lists them, in the protocol's own form.
        shown: what errors and warnings call it.
    """

    server: str
    title: str | None
    tools: list[dict[str, Any]]
    shown: str

    def as_export(self) -> ServerExport:
        """Return the tools as `tool-rag ingest` stores them.

        Raises:
            SourceError: a tool that can't be stored, no tool at all, or two of one name.
        """
        text = json.dumps({"tools": self.tools})
        export = read_text(text, server=self.server, format="mcp", shown=self.shown)
        return replace(export, title=self.title)


def fetch_listing(
    config: UpstreamConfig, secrets: Secrets, *, named: bool = True, seconds: float = 60.0
) -> Listing:
    """Connect to a server and return what it lists; blocking.

    Args:
        config: which server.
        secrets: values of `env:NAME`.
        named: whether the name of `config` is the server's; otherwise its own is taken.
        seconds: for all of it.

    Raises:
        UpstreamUnavailable: it can't be reached.
        SourceError: it does not list its tools, or has no usable name.
    """

    async def fetch() -> Listing:
        shown = config.url or config.command or config.name
        async with connect(config, secrets, connect_seconds=seconds) as client:
            try:
                with anyio.fail_after(seconds):
                    tools = await list_tools(client)
            except (MCPError, TimeoutError, ValidationError) as error:
                raise SourceError(
                    f"it does not list its tools: {str(error) or 'no answer'}",
                    path=shown,
                    hint="see its log",
                ) from error
            info = client.server_info
            own = slug(info.name) if info is not None else ""
            return Listing(
                server=config.name if named else check_server(own or config.name),
                title=None if info is None else info.title,
                tools=[_wire(tool) for tool in tools],
                shown=shown,
            )

    return anyio.run(fetch)


def _wire(tool: types.Tool) -> dict[str, Any]:
    return tool.model_dump(by_alias=True, mode="json", exclude_none=True, exclude_unset=True)


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
    server: str, tools: Sequence[types.Tool], *, title: str | None = None
) -> ServerExport:
    """Return a list of tools as an export, checked as one of a file is.

    Args:
        server: its name in the catalogue.
        tools: as `list_tools` returns them.
        title: the server's name for people.

    Raises:
        SourceError: a tool that can't be stored, no tool at all, or two of one name.
    """
    wire = [_wire(tool) for tool in tools]
    return Listing(server=server, title=title, tools=wire, shown=server).as_export()
