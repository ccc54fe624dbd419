"""Connections to servers: over HTTP or to a program, and what became of a request that failed.

The SDK's client ends a connection, and every call on it, where sending one request fails. Here
such a request gets an answer of our own, so that it alone fails, and one that says whether the
server can have seen it.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import MessageHandlerFnT
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tool_rag_pg.errors import ToolRagError

from .config import Secrets, UpstreamConfig, is_loopback, without

__all__ = [
    "NOT_SENT",
    "NO_SESSION",
    "UpstreamUnavailable",
    "connect",
    "fate_of",
    "first_line",
    "proxy_for",
]

logger = logging.getLogger(__name__)

# Our own words for what the SDK would end the whole connection for; of the range that JSON-RPC
# leaves to implementations.
NO_SESSION = -32097
NOT_SENT = -32098
_LOST = -32099
# What the SDK says, with a code that servers use too, of a connection and of a stream that ended.
_CLOSED = frozenset({"Connection closed", "SSE stream ended without a response"})
_LINE_BYTES = 2048
# So many lines of a server's error output are logged in so many seconds; the others are counted.
_LINES, _LINES_SECONDS = 50, 10.0
# What is read of a refusal, to see what it is about.
_REFUSAL_BYTES = 65_536


class UpstreamUnavailable(ToolRagError):
    """A server that can't be reached; what was asked of it was not sent."""


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
                f"{config.name} can't be reached: {first_line(error)}",
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
            secrets.of(config),
        )
    headers = {name: secrets.resolve(value) for name, value in config.headers.items()}
    if key is not None:
        headers = {
            name: value for name, value in headers.items() if name.lower() != "authorization"
        }
        headers["Authorization"] = f"Bearer {key}"
    return _http(config.url or "", headers, seconds, result_bytes)


@asynccontextmanager
async def _started(
    parameters: StdioServerParameters, name: str, hidden: Sequence[str]
) -> AsyncIterator[Any]:
    """Start a server, and log line by line what it writes to standard error.

    Passed on as it is, it could steer the terminal, and would break the log.
    """
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as errors:
        thread = threading.Thread(target=_log_lines, args=(reading, name, hidden), daemon=True)
        thread.start()
        async with stdio_client(parameters, errlog=errors) as streams:
            yield streams


def _log_lines(descriptor: int, name: str, hidden: Sequence[str]) -> None:
    """Log what a server writes: so many lines in so long, and how many were left out."""
    since, logged, left_out = time.monotonic(), 0, 0
    with os.fdopen(descriptor, "rb") as lines:
        # A line without an end is taken in parts: no server fills the memory.
        while line := lines.readline(_LINE_BYTES):
            if time.monotonic() - since > _LINES_SECONDS:
                if left_out:
                    logger.info("upstream said more", extra={"upstream": name, "lines": left_out})
                since, logged, left_out = time.monotonic(), 0, 0
            text = without(line.decode(errors="replace").rstrip(), hidden)
            if text and logged < _LINES:
                logged += 1
                logger.info("upstream says", extra={"upstream": name, "text": text})
            elif text:
                left_out += 1


@asynccontextmanager
async def _http(
    url: str, headers: dict[str, str], seconds: float, result_bytes: int
) -> AsyncIterator[Any]:
    client = httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(30.0, read=seconds),
        transport=_PerCall(proxy_for(url)),
        # No credentials of a .netrc: what goes to a server is what its configuration says.
        trust_env=False,
    )
    async with (
        client,
        streamable_http_client(url, http_client=client, max_sse_event_size=result_bytes) as streams,
    ):
        yield streams


def proxy_for(url: str) -> str | None:
    """Return the proxy by which the environment has an address reached (HTTPS_PROXY, NO_PROXY)."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


class _PerCall(httpx2.AsyncHTTPTransport):
    """Answers a request that failed on its way, so that it alone fails and not all beside it.

    What is raised here would end the SDK's connection, and with it every call that is under way.
    """

    def __init__(self, proxy: str | None) -> None:
        super().__init__(
            proxy=proxy,
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
                request, NOT_SENT if unsent else _LOST, str(error) or type(error).__name__
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
        return _failure(request, NO_SESSION, "it does not know the session any more")
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


def first_line(error: BaseException) -> str:
    """Return what went wrong in one line."""
    error = _root(error)
    if isinstance(error, FileNotFoundError | PermissionError):
        return f"{error.filename or 'the command'}: {error.strerror}"
    text = str(error).partition("\n")[0]
    return text or type(error).__name__


def fate_of(error: MCPError) -> Literal["answered", "not_sent", "lost"]:
    """Say whether an error is the server's own answer, or what became of the request."""
    if error.code in (NOT_SENT, NO_SESSION):
        return "not_sent"
    # Servers have errors of their own with the code by which the SDK says so.
    closed = error.code == types.CONNECTION_CLOSED and error.message in _CLOSED
    return "lost" if closed or error.code == _LOST else "answered"
