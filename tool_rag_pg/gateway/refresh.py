"""Keeping the catalogue equal to what upstreams offer, through the rules of review."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
import mcp_types as types

from tool_rag_pg.errors import SourceError, ToolRagError

from .catalogue import read_tools
from .metrics import Metrics
from .transport import UpstreamUnavailable
from .upstream import Upstream

if TYPE_CHECKING:
    from tool_rag_pg.models import ServerChange
    from tool_rag_pg.retriever import AsyncToolRetriever
    from tool_rag_pg.sources import ServerExport

__all__ = ["Refresher"]

logger = logging.getLogger(__name__)

# Servers announce one change as many; they are listed once for all that come within so long.
_SETTLE_SECONDS = 0.2
# After each change within so long of the last listing the pause doubles, up to this.
_QUIET_SECONDS, _MOST_SETTLE_SECONDS = 5.0, 30.0
_RETRY_SECONDS = 5.0


class Refresher:
    """Lists one upstream's tools at the start, when it says so, and from time to time.

    Args:
        upstream: whose.
        retriever: stores them.
        metrics: counts.
        on_stored: called after the catalogue has changed.
    """

    def __init__(
        self,
        upstream: Upstream,
        retriever: AsyncToolRetriever,
        metrics: Metrics,
        on_stored: Callable[[], Awaitable[None]],
    ) -> None:
        self._upstream = upstream
        self._retriever = retriever
        self._metrics = metrics
        self._on_stored = on_stored
        self._wanted = anyio.Event()

    def want(self) -> None:
        """List again soon."""
        self._wanted.set()

    async def run(self) -> None:
        """Go on until cancelled; what goes wrong is logged and tried again."""
        failures = 0
        settle = _SETTLE_SECONDS
        while True:
            self._wanted = anyio.Event()
            seconds = self._upstream.config.refresh_seconds
            try:
                await self.refresh()
            except ToolRagError as error:
                logger.warning(
                    "tools not refreshed",
                    extra={"upstream": self._upstream.name, "reason": error.message},
                )
                self._metrics.refreshed(self._upstream.name, "failed")
                pause = _RETRY_SECONDS * 2**failures
                failures = min(failures + 1, 8)
                seconds = min(seconds, max(pause, self._upstream.seconds_until_retry))
            else:
                failures = 0
            listed_at = anyio.current_time()
            with anyio.move_on_after(seconds):
                await self._wanted.wait()
                # A list that changes all the time is read more and more seldom.
                quiet = anyio.current_time() - listed_at > _QUIET_SECONDS
                settle = _SETTLE_SECONDS if quiet else min(_MOST_SETTLE_SECONDS, settle * 2)
                await anyio.sleep(settle)

    def _readable(self, tools: list[types.Tool]) -> ServerExport:
        """Return the tools that can be stored; one that can't hides no other."""
        name, title = self._upstream.name, self._upstream.title
        try:
            return read_tools(name, tools, title=title)
        except SourceError:
            good = []
            for tool in tools:
                try:
                    read_tools(name, [tool], title=title)
                except SourceError as error:
                    logger.warning(
                        "tool left out", extra={"upstream": name, "reason": error.message[:500]}
                    )
                else:
                    good.append(tool)
            return read_tools(name, good, title=title)

    async def refresh(self) -> ServerChange:
        """List and store; return what changed.

        Raises:
            UpstreamUnavailable: the server can't be reached.
            ToolRagError: its list can't be read or stored. What was stored before stays.
        """
        name = self._upstream.name
        tools = await self._upstream.list_tools()
        callable_ = [tool for tool in tools if not _is_task_only(tool)]
        if len(callable_) < len(tools):
            # Offered, they would be found and fail: the gateway speaks no tasks.
            left_out = [tool.name for tool in tools if _is_task_only(tool)]
            logger.info(
                "tools that run only as tasks left out",
                extra={"upstream": name, "tools": left_out},
            )
        tools = callable_
        if not tools:
            # Storing that would remove every tool, and what people wrote for it, for what is more
            # often a server that is not ready than one that has lost all.
            raise UpstreamUnavailable(
                f"{name} lists no tools; those it had are kept",
                hint=f"to remove them: tool-rag tools remove {name}",
            )
        export = self._readable(tools)
        for warning in export.warnings:
            logger.info("tools read", extra={"upstream": name, "reason": warning})
        (change,) = await self._retriever.upsert_tools(export.as_payload())
        self._metrics.refreshed(name, "stored")
        for kind in ("waiting", "rejected", "flagged"):
            if number := getattr(change, kind):
                logger.warning(
                    "tools need a look", extra={"upstream": name, "kind": kind, "tools": number}
                )
        if change.added or change.changed or change.removed:
            logger.info(
                "tools stored",
                extra={
                    "upstream": name,
                    "added": change.added,
                    "changed": change.changed,
                    "removed": change.removed,
                },
            )
            await self._on_stored()
        return change


def _is_task_only(tool: types.Tool) -> bool:
    return tool.execution is not None and tool.execution.task_support == "required"
