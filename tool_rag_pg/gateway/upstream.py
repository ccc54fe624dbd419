"""One server behind the gateway: connected when it is needed, and again after it was lost.

A connection is held by one task of its own, as the SDK's client wants it; calls of other tasks go
through it. One connection serves everybody, except to upstreams that get each caller's own key:
there each key has its own, so that no request carries another person's.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from tool_rag_pg.errors import ToolRagError

from .catalogue import list_tools
from .config import Limits, Secrets, UpstreamConfig, without
from .transport import NO_SESSION, NOT_SENT, UpstreamUnavailable, connect, fate_of, first_line

__all__ = ["CallLost", "CallTimedOut", "Upstream"]

logger = logging.getLogger(__name__)

Result: TypeAlias = types.CallToolResult | types.InputRequiredResult
_RESULT: TypeAdapter[Result] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
_FIRST_DELAY = 0.25
_LONGEST_DELAY = 30.0
# A connection that stood for less is no success: without a pause the next would follow at once.
_SHORT_LIFE = 1.0
# How often a call that its server did not take is made anew, over another connection.
_MAX_REFUSALS = 3
# An idle connection for one caller's key is closed after so many seconds, and the longest idle
# one when there are more than so many.
_KEY_IDLE_SECONDS = 300.0
_MAX_KEYS = 256


class CallLost(ToolRagError):
    """A connection that ended during a call: whether it was carried out is not known."""


class CallTimedOut(ToolRagError):
    """A call that took too long; the server was told to stop."""


@dataclass(eq=False)
class _Connection:
    """A connection and the task that holds it."""

    key: str | None
    ready: anyio.Event = field(default_factory=anyio.Event)
    stop: anyio.Event = field(default_factory=anyio.Event)
    ended: bool = False
    client: Client | None = None
    error: UpstreamUnavailable | None = None
    users: int = 0
    used_at: float = 0.0

    @property
    def is_usable(self) -> bool:
        return not self.ended and self.error is None and not self.stop.is_set()

    def end(self) -> None:
        """Note that the other side is gone."""
        self.ended = True
        self.stop.set()

    def retire(self) -> None:
        """Take no more calls; those under way go on."""
        self.stop.set()


class Upstream:
    """A server behind the gateway.

    Args:
        config: which one.
        secrets: values of `env:NAME`.
        limits: bounds of calls.
        on_changed: called when its tools may have changed, so that they are listed again.

    Use it as an asynchronous context manager: leaving it closes all its connections.
    """

    def __init__(
        self,
        config: UpstreamConfig,
        secrets: Secrets,
        limits: Limits,
        *,
        on_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.config = config
        self.name = config.name
        self._secrets = secrets
        self._limits = limits
        self._on_changed = on_changed
        self._connections: dict[str | None, _Connection] = {}
        self._slots = anyio.CapacityLimiter(limits.calls_per_server)
        self._tasks: TaskGroup | None = None
        self._failures = 0
        self._retry_at = 0.0
        self.state: Literal["unknown", "up", "down"] = "unknown"
        self.reason: str | None = None
        self.title: str | None = None

    async def __aenter__(self) -> Upstream:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> bool | None:
        assert self._tasks is not None
        for connection in self._connections.values():
            connection.retire()
        # A server that does not let go is left to the SDK, which kills it after some seconds.
        return await self._tasks.__aexit__(*details)

    @property
    def is_available(self) -> bool:
        """Whether nothing speaks against calling it: it is up, or was not tried yet."""
        return self.state != "down"

    @property
    def _call_seconds(self) -> float:
        return self.config.call_seconds or self._limits.call_seconds

    @property
    def seconds_until_retry(self) -> float:
        """How long a new attempt to connect waits, 0 for not at all."""
        return max(0.0, self._retry_at - anyio.current_time())

    async def list_tools(self) -> list[types.Tool]:
        """Return all its tools, over the connection that is nobody's in particular.

        Raises:
            UpstreamUnavailable: it can't be reached, or does not list them.
        """
        async with self._connection(None) as connection:
            assert connection.client is not None
            try:
                with anyio.fail_after(self._limits.call_seconds):
                    tools = await list_tools(connection.client)
            except (MCPError, TimeoutError, ValidationError, RuntimeError) as error:
                if isinstance(error, MCPError) and fate_of(error) != "answered":
                    self._lost(connection, error)
                raise UpstreamUnavailable(
                    f"{self.name} does not list its tools: {_why(error)}",
                    hint="see its log",
                ) from error
            self.title = _title(connection.client)
            return tools

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        key: str | None,
        may_repeat: bool,
        on_progress: ProgressFnT | None = None,
    ) -> types.CallToolResult:
        """Call a tool.

        Args:
            name: of the tool.
            arguments: checked already.
            key: the caller's own; it is sent only where the configuration says so.
            may_repeat: whether the call may be made more than once, since it changes nothing:
                after a lost connection it is then made again, twice at most.
            on_progress: called with progress as the server reports it.

        Raises:
            UpstreamUnavailable: the server can't be reached; the call was not made.
            CallLost: the connection ended during the call, and it may not be repeated.
            CallTimedOut: there was no answer in time.
            MCPError: the server's own error.
        """
        if self.config.forward_key and key is None:
            # Never with the gateway's own credentials in place of the caller's.
            raise UpstreamUnavailable(
                f"{self.name} wants each caller's own key, and this caller has none",
                hint="use a permissions mode with keys",
            )
        seconds = self._call_seconds
        attempts = 3 if may_repeat else 1
        refusals = 0
        while True:
            async with self._slots, self._connection(key) as connection:
                try:
                    with anyio.fail_after(seconds + 5):
                        return await self._finish(connection, name, arguments, seconds, on_progress)
                except TimeoutError:
                    raise self._timed_out(name) from None
                except MCPError as error:
                    # Servers have errors of their own with this code.
                    if error.code == types.REQUEST_TIMEOUT and error.message.endswith(
                        "'tools/call' timed out"
                    ):
                        raise self._timed_out(name) from None
                    fate = fate_of(error)
                    if fate == "answered":
                        # It may quote what the gateway sent it.
                        message = without(error.message, self._secrets.of(self.config))
                        raise MCPError(error.code, message) from error
                    self._lost(connection, error)
                    # What never reached the server was no attempt; `_connection` gives up in time.
                    attempts -= fate == "lost"
                    refusals += error.code == NO_SESSION
                    if refusals > _MAX_REFUSALS:
                        raise UpstreamUnavailable(
                            f"{self.name} ends its sessions at once", hint="see its log"
                        ) from error
                    if attempts <= 0:
                        raise CallLost(
                            f"the connection to {self.name} ended during the call of {name}",
                            hint="whether it was carried out is not known: look before you repeat",
                        ) from error

    def _timed_out(self, name: str) -> CallTimedOut:
        return CallTimedOut(
            f"{self.name}/{name} did not answer within {self._call_seconds:g} s",
            hint="it was told to stop; see what it did before calling it again",
        )

    async def _finish(
        self,
        connection: _Connection,
        name: str,
        arguments: dict[str, Any],
        seconds: float,
        on_progress: ProgressFnT | None,
    ) -> types.CallToolResult:
        """Call, and call again with its state for as long as the server only asks for that."""
        state: str | None = None
        delay = 0.05
        while True:
            result = await self._send(
                connection,
                types.CallToolRequestParams(name=name, arguments=arguments, request_state=state),
                seconds,
                on_progress,
            )
            if isinstance(result, types.CallToolResult):
                if (size := _size(result)) > self._limits.result_bytes:
                    raise MCPError(
                        types.INTERNAL_ERROR,
                        f"the answer of {self.name}/{name} has {size:,} characters, and "
                        f"{self._limits.result_bytes:,} are the most that pass",
                    )
                return result
            if result.input_requests:
                # The gateway declares no such capability, so that none should.
                raise MCPError(
                    types.INVALID_REQUEST,
                    f"{self.name}/{name} asks for input, which does not pass this gateway",
                )
            state = result.request_state
            await anyio.sleep(delay)
            delay = min(1.0, delay * 2)

    async def _send(
        self,
        connection: _Connection,
        params: types.CallToolRequestParams,
        seconds: float,
        on_progress: ProgressFnT | None,
    ) -> Result:
        try:
            return await self._request(connection, params, seconds, on_progress)
        except MCPError as error:
            if error.code != types.HEADER_MISMATCH:
                raise
            await self._learn_headers(connection, error)
        return await self._request(connection, params, seconds, on_progress)

    async def _learn_headers(self, connection: _Connection, error: MCPError) -> None:
        """List the tools over a connection: that says which arguments stand in headers too.

        The SDK's client knows it of the tools that it has listed itself: not over a connection for
        one caller's key, nor over a new one. What was refused for its headers was not carried out.
        """
        assert connection.client is not None
        try:
            await list_tools(connection.client)
        except (ToolRagError, ValidationError, RuntimeError) as reason:
            logger.debug("tools of %s not listed: %s", self.name, first_line(reason))
            raise error from reason

    async def _request(
        self,
        connection: _Connection,
        params: types.CallToolRequestParams,
        seconds: float,
        on_progress: ProgressFnT | None,
    ) -> Result:
        assert connection.client is not None
        try:
            # Not call_tool: that also checks the result against the tool's schema, and a result
            # that breaks it would be lost after the tool has done its work.
            return await connection.client.session.send_request(
                types.CallToolRequest(params=params),
                _RESULT,
                request_read_timeout_seconds=seconds,
                progress_callback=on_progress,
            )
        except ValidationError as error:
            raise MCPError(
                types.INTERNAL_ERROR, f"{self.name} answered with what the protocol does not allow"
            ) from error

    @asynccontextmanager
    async def _connection(self, key: str | None) -> AsyncIterator[_Connection]:
        key = key if self.config.forward_key else None
        connection = await self._ready(key)
        connection.users += 1
        try:
            yield connection
        finally:
            connection.users -= 1
            connection.used_at = anyio.current_time()

    async def _ready(self, key: str | None) -> _Connection:
        """Return a connection that stands; wait for a server that is just being restarted."""
        deadline = anyio.current_time() + self._limits.connect_seconds
        while True:
            connection = self._connections.get(key)
            if connection is None or not connection.is_usable:
                wait = self.seconds_until_retry
                if wait > 0:
                    if anyio.current_time() + wait > deadline:
                        raise UpstreamUnavailable(
                            f"{self.name} is not available: {self.reason}",
                            hint=f"it is tried again in {wait:.0f} s",
                        )
                    await anyio.sleep(wait)
                    continue
                connection = self._open(key)
            await connection.ready.wait()
            if connection.error is None and connection.is_usable:
                return connection
            if anyio.current_time() >= deadline or self.seconds_until_retry > (
                deadline - anyio.current_time()
            ):
                raise connection.error or UpstreamUnavailable(
                    f"{self.name} ends its connections at once", hint="see its log"
                )

    def _open(self, key: str | None) -> _Connection:
        if self._tasks is None:
            raise RuntimeError("the upstream is not entered")
        if len(self._connections) > _MAX_KEYS:
            idle = [each for each in self._connections.values() if not each.users]
            if idle:
                min(idle, key=lambda each: each.used_at).retire()
        connection = _Connection(key=key, used_at=anyio.current_time())
        self._connections[key] = connection
        self._tasks.start_soon(self._hold, connection)
        return connection

    async def _hold(self, connection: _Connection) -> None:
        """Keep a connection until it ends, or is told to."""
        try:
            async with connect(
                self.config,
                self._secrets,
                key=connection.key,
                connect_seconds=self._limits.connect_seconds,
                read_seconds=self._call_seconds + 30,
                result_bytes=self._limits.result_bytes,
                on_message=self._heard,
                on_end=connection.end,
            ) as client:
                connection.client = client
                since = anyio.current_time()
                self._connected(connection)
                async with anyio.create_task_group() as tasks:
                    if connection.key is None:
                        tasks.start_soon(self._listen, client)
                    else:
                        tasks.start_soon(self._expire, connection)
                    await connection.stop.wait()
                    # Calls that are still under way have their answer before it closes.
                    with anyio.move_on_after(0 if connection.ended else self._call_seconds):
                        while connection.users:
                            await anyio.sleep(0.02)
                    tasks.cancel_scope.cancel()
                if connection.ended and anyio.current_time() - since < _SHORT_LIFE:
                    self._failed("it ends its connections at once")
        except UpstreamUnavailable as error:
            connection.error = error
            self._failed(error.message)
        except Exception as error:
            # Whatever breaks while a connection closes: it is gone, and the next is a new one.
            logger.debug("closing the connection to %s: %s", self.name, first_line(error))
        finally:
            connection.ended = True
            connection.ready.set()
            if self._connections.get(connection.key) is connection:
                del self._connections[connection.key]

    def _connected(self, connection: _Connection) -> None:
        was = self.state
        self.state, self.reason = "up", None
        self._failures, self._retry_at = 0, 0.0
        connection.ready.set()
        if was != "up":
            logger.info("upstream is up", extra={"upstream": self.name})
        if was == "down":
            # What was missed while it was away.
            self._on_changed()

    def _failed(self, reason: str) -> None:
        if self.seconds_until_retry > 0:
            # Many calls fail by one outage; each counting, the wait would grow with their number.
            return
        delay = min(_LONGEST_DELAY, _FIRST_DELAY * 2.0**self._failures)
        self._failures += 1
        self._retry_at = anyio.current_time() + delay
        if self.state != "down":
            logger.warning("upstream is down", extra={"upstream": self.name, "reason": reason})
        self.state, self.reason = "down", reason

    def _lost(self, connection: _Connection, error: MCPError) -> None:
        logger.info(
            "connection to upstream lost",
            extra={"upstream": self.name, "reason": first_line(error)},
        )
        if error.code == types.CONNECTION_CLOSED:
            connection.end()
        else:
            connection.retire()
        if error.code == NOT_SENT:
            self._failed(error.message)

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, Exception):
            reason = without(first_line(message), self._secrets.of(self.config))[:500]
            logger.warning(
                "upstream answered what is no message",
                extra={"upstream": self.name, "reason": reason},
            )
        if isinstance(message, types.ToolListChangedNotification):
            self._on_changed()

    async def _listen(self, client: Client) -> None:
        """Follow changes where the revision has no notifications without being asked for."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        delay = _FIRST_DELAY
        while True:
            try:
                async with client.listen(tools_list_changed=True) as events:
                    delay = _FIRST_DELAY
                    async for event in events:
                        if isinstance(event, ToolsListChanged):
                            self._on_changed()
            except Exception as error:
                # The poll goes on meanwhile; nothing rests on this stream alone.
                logger.debug("the stream of changes of %s ended: %s", self.name, first_line(error))
            await anyio.sleep(delay)
            delay = min(_LONGEST_DELAY, delay * 2)
            # There is no replay: what changed in between is found by listing.
            self._on_changed()

    async def _expire(self, connection: _Connection) -> None:
        while connection.users or anyio.current_time() < connection.used_at + _KEY_IDLE_SECONDS:
            await anyio.sleep(_KEY_IDLE_SECONDS / 10)
        connection.retire()


def _why(error: BaseException) -> str:
    """Say what is wrong with a list, and where."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]]
        return f"{''.join(steps).lstrip('.')}: {first['msg']}"
    return "no answer in time" if isinstance(error, TimeoutError) else first_line(error)


def _size(result: types.CallToolResult) -> int:
    """Return about how many characters a result has on the wire."""
    parts = sum(
        len(getattr(part, "text", "") or getattr(part, "data", "") or "") for part in result.content
    )
    structured = result.structured_content
    return parts + (0 if structured is None else len(json.dumps(structured)))


def _title(client: Client) -> str | None:
    info = client.server_info
    return None if info is None else info.title
