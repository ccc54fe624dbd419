"""One server behind the gateway: connected when it is needed, and again after it was lost.

A connection is held by one task of its own, as the SDK's client wants it; calls of other tasks go
through it. One connection serves everybody, except to upstreams that get each caller's own key:
there each key has its own, so that no request carries another person's.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal, TypeAlias

import anyio
import httpx2
import mcp_types as types
from anyio.abc import TaskGroup
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import IncomingMessage, MessageHandlerFnT
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from tool_rag_pg.errors import ToolRagError

from .config import Limits, Secrets, UpstreamConfig

__all__ = ["CallLost", "CallTimedOut", "Upstream", "UpstreamUnavailable", "connect"]

logger = logging.getLogger(__name__)

Result: TypeAlias = types.CallToolResult | types.InputRequiredResult
_RESULT: TypeAdapter[Result] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
_FIRST_DELAY = 0.25
_LONGEST_DELAY = 30.0
# Our own words of the transport for what the SDK would end the whole connection for; of the range
# that JSON-RPC leaves to implementations.
_NO_SESSION = -32097
_NOT_SENT = -32098
_LOST = -32099
# What the SDK says, with a code that servers use too, of a connection and of a stream that ended.
_CLOSED = frozenset({"Connection closed", "SSE stream ended without a response"})
# How often a call that its server did not take is made anew, over another connection.
_MAX_REFUSALS = 3
_LINE_BYTES = 8192
# What is read of a refusal, to see what it is about.
_REFUSAL_BYTES = 65_536
# An idle connection for one caller's key is closed after so many seconds, and the longest idle
# one when there are more than so many.
_KEY_IDLE_SECONDS = 300.0
_MAX_KEYS = 256


class UpstreamUnavailable(ToolRagError):
    """A server that can't be reached; what was asked of it was not sent."""


class CallLost(ToolRagError):
    """A connection that ended during a call: whether it was carried out is not known."""


class CallTimedOut(ToolRagError):
    """A call that took too long; the server was told to stop."""


@asynccontextmanager
async def connect(
    config: UpstreamConfig,
    secrets: Secrets,
    *,
    key: str | None = None,
    connect_seconds: float = 10.0,
    read_seconds: float = 300.0,
    result_bytes: int = 32 * 1024 * 1024,
    on_message: MessageHandlerFnT | None = None,
    on_end: Callable[[], None] | None = None,
) -> AsyncIterator[Client]:
    """Connect to a server, in whatever revision of the protocol it speaks.

    Args:
        config: which server.
        secrets: values of `env:NAME`.
        key: the caller's own, where the server gets it.
        connect_seconds: for the connection to stand.
        read_seconds: how long an answer may be silent.
        result_bytes: of one answer.
        on_message: called with each notification.
        on_end: called when the other side has ended the connection.

    Raises:
        UpstreamUnavailable: it can't be reached, or speaks no known revision.
    """
    transport = _transport(config, secrets, key, read_seconds, result_bytes)
    client = Client(
        _watched(transport, on_end or (lambda: None)),
        mode="auto",
        cache=None,
        message_handler=on_message,
        client_info=types.Implementation(name="tool-rag-gateway", version=version("tool-rag-pg")),
    )
    connected = False
    # One scope around all of it, whose deadline goes once the connection stands: what is entered
    # inside a scope has to be left inside it.
    with anyio.CancelScope(deadline=anyio.current_time() + connect_seconds) as scope:
        try:
            async with client:
                connected = True
                scope.deadline = math.inf
                yield client
        except Exception as error:
            if connected:
                raise
            raise UpstreamUnavailable(
                f"{config.name} can't be reached: {_first(error)}",
                hint="see whether it runs, and its log",
            ) from _root(error)
    if not connected:
        raise UpstreamUnavailable(
            f"{config.name} did not answer within {connect_seconds:g} s",
            hint="see whether it runs",
        )


def _transport(
    config: UpstreamConfig, secrets: Secrets, key: str | None, seconds: float, result_bytes: int
) -> Any:
    if config.command is not None:
        return _started(
            StdioServerParameters(
                command=config.command,
                args=list(config.args),
                env={name: secrets.resolve(value) for name, value in config.env.items()},
                cwd=config.cwd,
            ),
            config.name,
        )
    headers = {name: secrets.resolve(value) for name, value in config.headers.items()}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return _http(config.url or "", headers, seconds, result_bytes)


@asynccontextmanager
async def _started(parameters: StdioServerParameters, name: str) -> AsyncIterator[Any]:
    """Start a server, and log line by line what it writes to standard error.

    Passed on as it is, it could steer the terminal, and would break the log.
    """
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as errors:
        thread = threading.Thread(target=_log_lines, args=(reading, name), daemon=True)
        thread.start()
        async with stdio_client(parameters, errlog=errors) as streams:
            yield streams


def _log_lines(descriptor: int, name: str) -> None:
    with os.fdopen(descriptor, "rb") as lines:
        # A line without an end is taken in parts: no server fills the memory.
        while line := lines.readline(_LINE_BYTES):
            text = line.decode(errors="replace").rstrip()
            if text:
                logger.info("upstream says", extra={"upstream": name, "text": text})


@asynccontextmanager
async def _http(
    url: str, headers: dict[str, str], seconds: float, result_bytes: int
) -> AsyncIterator[Any]:
    client = httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(30.0, read=seconds),
        transport=_PerCall(),
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=result_bytes) as streams,
    ):
        yield streams


class _PerCall(httpx2.AsyncHTTPTransport):
    """Answers a request that failed on its way, so that it alone fails and not all beside it.

    What is raised here would end the SDK's connection, and with it every call that is under way.
    """

    def __init__(self) -> None:
        super().__init__(
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
            retries=1,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; say as an error of JSON-RPC that it could not be sent, or was lost."""
        try:
            response = await super().handle_async_request(request)
            if (
                request.method == "POST"
                and response.status_code in (400, 404)
                and "mcp-session-id" in request.headers
            ):
                return await _refusal(request, response)
            return response
        except httpx2.TransportError as error:
            if request.method != "POST":
                raise
            unsent = isinstance(
                error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout
            )
            return _failure(
                request, _NOT_SENT if unsent else _LOST, str(error) or type(error).__name__
            )


def _failure(request: httpx2.Request, code: int, message: str) -> httpx2.Response:
    error = {"code": code, "message": message}
    return httpx2.Response(
        503, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request
    )


async def _refusal(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Return a refusal, or that the server, started anew, does not know the session.

    The protocol wants status 404 for that. Many servers, the reference server of everything among
    them, say 400 and the rest in words of their own; some of them in no JSON-RPC.
    """
    content = b""
    async for part in response.aiter_bytes():
        content += part
        if len(content) > _REFUSAL_BYTES:
            break
    await response.aclose()
    if response.status_code == 404 or b"session" in content.lower():
        return _failure(request, _NO_SESSION, "it does not know the session any more")
    kind = response.headers.get("content-type", "")
    return httpx2.Response(
        response.status_code, headers={"content-type": kind}, content=content, request=request
    )


class _Watched:
    """A stream of incoming messages that tells when the other side has ended it."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def receive(self) -> Any:
        try:
            return await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._on_end()
            raise

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._on_end()
            raise

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> Any:
        return await self._stream.__aexit__(*details)


@asynccontextmanager
async def _watched(transport: Any, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    async with transport as (read, write):
        yield _Watched(read, on_end), write


def _root(error: BaseException) -> BaseException:
    """Return what went wrong, out of whatever groups of errors it came in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _first(error: BaseException) -> str:
    """Return what went wrong in one line."""
    error = _root(error)
    if isinstance(error, FileNotFoundError | PermissionError):
        return f"{error.filename or 'the command'}: {error.strerror}"
    text = str(error).partition("\n")[0]
    return text or type(error).__name__


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
        from .catalogue import list_tools

        async with self._connection(None) as connection:
            assert connection.client is not None
            try:
                with anyio.fail_after(self._limits.call_seconds):
                    tools = await list_tools(connection.client)
            except (MCPError, TimeoutError, ValidationError, RuntimeError) as error:
                if isinstance(error, MCPError) and _fate(error) != "answered":
                    self._lost(connection, error)
                raise UpstreamUnavailable(
                    f"{self.name} does not list its tools: {_first(error)}",
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
            may_repeat: whether the call may be made twice, since it changes nothing: after a lost
                connection it is then made again, once.
            on_progress: called with progress as the server reports it.

        Raises:
            UpstreamUnavailable: the server can't be reached; the call was not made.
            CallLost: the connection ended during the call, and it may not be repeated.
            CallTimedOut: there was no answer in time.
            MCPError: the server's own error.
        """
        seconds = self._call_seconds
        attempts = 2 if may_repeat else 1
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
                    fate = _fate(error)
                    if fate == "answered":
                        raise
                    self._lost(connection, error)
                    # What never reached the server was no attempt; `_connection` gives up in time.
                    attempts -= fate == "lost"
                    refusals += error.code == _NO_SESSION
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
        from .catalogue import list_tools

        assert connection.client is not None
        try:
            await list_tools(connection.client)
        except (ToolRagError, ValidationError, RuntimeError) as reason:
            logger.debug("tools of %s not listed: %s", self.name, _first(reason))
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
        except UpstreamUnavailable as error:
            connection.error = error
            self._failed(error.message)
        except Exception as error:
            # Whatever breaks while a connection closes: it is gone, and the next is a new one.
            logger.debug("closing the connection to %s: %s", self.name, _first(error))
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
            "connection to upstream lost", extra={"upstream": self.name, "reason": _first(error)}
        )
        if error.code == types.CONNECTION_CLOSED:
            connection.end()
        else:
            connection.retire()
        if error.code == _NOT_SENT:
            self._failed(error.message)

    async def _heard(self, message: IncomingMessage) -> None:
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
                logger.debug("the stream of changes of %s ended: %s", self.name, _first(error))
            await anyio.sleep(delay)
            delay = min(_LONGEST_DELAY, delay * 2)
            # There is no replay: what changed in between is found by listing.
            self._on_changed()

    async def _expire(self, connection: _Connection) -> None:
        while connection.users or anyio.current_time() < connection.used_at + _KEY_IDLE_SECONDS:
            await anyio.sleep(_KEY_IDLE_SECONDS / 10)
        connection.retire()


def _fate(error: MCPError) -> Literal["answered", "not_sent", "lost"]:
    """Say whether an error is the server's own answer, or what became of the request."""
    if error.code in (_NOT_SENT, _NO_SESSION):
        return "not_sent"
    # Servers have errors of their own with the code by which the SDK says so.
    closed = error.code == types.CONNECTION_CLOSED and error.message in _CLOSED
    return "lost" if closed or error.code == _LOST else "answered"


def _title(client: Client) -> str | None:
    info = client.server_info
    return None if info is None else info.title
