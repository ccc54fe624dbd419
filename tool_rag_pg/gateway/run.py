"""Starting a gateway, keeping it, and letting it finish its calls."""

from __future__ import annotations

import contextlib
import logging
import math
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

import anyio
import psycopg
import uvicorn
from mcp.server.stdio import stdio_server
from psycopg_pool import AsyncConnectionPool
from starlette.types import ASGIApp

from tool_rag_pg import _database
from tool_rag_pg.errors import InvalidArgument, ToolRagError
from tool_rag_pg.keys import SECRET_VARIABLE, key_secrets
from tool_rag_pg.retriever import AsyncToolRetriever

from . import oauth
from .callers import (
    Authenticator,
    Caller,
    DatabasePolicies,
    Everyone,
    FilePolicies,
    KeyAuthenticator,
    PolicyAuthenticator,
)
from .config import GatewayConfig, Secrets, is_loopback
from .http import build_app
from .metrics import Metrics
from .refresh import Refresher
from .server import GatewayServer, StdioCaller
from .service import Gateway
from .upstream import Upstream

__all__ = ["KEY_VARIABLE", "check_exposure", "check_key_secret", "serve_http", "serve_stdio"]

logger = logging.getLogger(__name__)

#: Whose key a gateway on standard input and output asks with.
KEY_VARIABLE = "TOOL_RAG_KEY"
_FORGET_AFTER = timedelta(days=1)
_HOUSEKEEPING_SECONDS = 3600.0
# A connection that was good so short a time ago is taken without another question.
_TRY_SECONDS = 1.0
_tried: WeakKeyDictionary[psycopg.AsyncConnection[Any], float] = WeakKeyDictionary()


class _Running:
    """A gateway with all that it needs, while it runs."""

    def __init__(
        self,
        config: GatewayConfig,
        gateway: Gateway,
        authenticator: Authenticator,
        pool: AsyncConnectionPool[Any],
    ) -> None:
        self.config = config
        self.gateway = gateway
        self.authenticator = authenticator
        self.is_draining = False
        self.server: GatewayServer | None = None
        self._pool = pool

    async def tell_changed(self) -> None:
        """Tell clients that follow the list of tools that an upstream has others now."""
        if self.server is not None:
            await self.server.tell_changed()

    async def is_ready(self) -> bool:
        """Whether requests can be served: the database answers, and nobody has said stop."""
        if self.is_draining:
            return False
        try:
            with anyio.fail_after(2):
                async with self._pool.connection() as connection:
                    await connection.execute("select 1")
        except Exception as error:
            logger.warning("not ready", extra={"reason": type(error).__name__})
            return False
        return True

    async def drain(self) -> None:
        """Wait until the calls under way have their answers, or the time is over."""
        self.is_draining = True
        with anyio.move_on_after(self.config.limits.shutdown_seconds) as scope:
            while self.gateway.calls_under_way:
                await anyio.sleep(0.02)
        if scope.cancelled_caught:
            logger.warning("calls cut off", extra={"calls": self.gateway.calls_under_way})


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Raise our own error as it is, out of the groups that tasks wrap errors in."""
    try:
        yield
    except BaseExceptionGroup as group:
        ours: BaseException | None = group.split(ToolRagError)[0]
        while isinstance(ours, BaseExceptionGroup):
            ours = ours.exceptions[0]
        if ours is None:
            raise
        raise ours from ours.__cause__


@asynccontextmanager
async def _running(
    config: GatewayConfig, secrets: Secrets, database: str, refresh_database: str
) -> AsyncIterator[_Running]:
    metrics = Metrics()
    async with contextlib.AsyncExitStack() as stack:
        pool = await stack.enter_async_context(_pool(config, database, "gateway"))
        retriever = AsyncToolRetriever(pool)
        if refresh_database == database:
            storing = retriever
        else:
            storing = AsyncToolRetriever(
                await stack.enter_async_context(_pool(config, refresh_database, "refresh"))
            )
        authenticator = await _authenticator(config, secrets, retriever, storing, stack)
        refreshers: dict[str, Refresher] = {}
        upstreams = {}
        for each in config.servers:
            upstreams[each.name] = Upstream(
                each, secrets, config.limits, on_changed=_wanting(refreshers, each.name)
            )
        gateway = Gateway(config, retriever, upstreams, metrics)
        for upstream in upstreams.values():
            await stack.enter_async_context(upstream)
        running = _Running(config, gateway, authenticator, pool)
        for name, upstream in upstreams.items():
            refreshers[name] = Refresher(upstream, storing, metrics, running.tell_changed)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        for refresher in refreshers.values():
            tasks.start_soon(refresher.run)
        tasks.start_soon(_housekeeping, storing)
        try:
            yield running
        finally:
            tasks.cancel_scope.cancel()


def _wanting(refreshers: dict[str, Refresher], name: str) -> Callable[[], None]:
    def want() -> None:
        if name in refreshers:
            refreshers[name].want()

    return want


async def _check(connection: psycopg.AsyncConnection[Any]) -> None:
    """Try a connection that was not used for a while: the server may have been restarted."""
    now = time.monotonic()
    if now - _tried.get(connection, -math.inf) > _TRY_SECONDS:
        await AsyncConnectionPool.check_connection(connection)
        _tried[connection] = now


@asynccontextmanager
async def _pool(
    config: GatewayConfig, database: str, name: str
) -> AsyncIterator[AsyncConnectionPool[Any]]:
    with contextlib.closing(_database.connect(database, autocommit=True)) as connection:
        # Once, blocking: says in our own words what is wrong with the database.
        _database.check_ready(_database.read_state(connection))
    async with _open_pool(config, database, name) as pool:
        yield pool


def _open_pool(config: GatewayConfig, database: str, name: str) -> AsyncConnectionPool[Any]:
    return AsyncConnectionPool(
        database,
        min_size=1,
        max_size=config.limits.database_connections,
        timeout=5,
        kwargs={"autocommit": True},
        check=_check,
        open=False,
        name=name,
    )


async def _authenticator(
    config: GatewayConfig,
    secrets: Secrets,
    retriever: AsyncToolRetriever,
    storing: AsyncToolRetriever,
    stack: contextlib.AsyncExitStack,
) -> Authenticator:
    permissions = config.permissions
    if permissions.mode == "none":
        await _ensure_roles(config, storing)
        return Everyone(permissions.roles)
    if permissions.mode == "keys":
        return KeyAuthenticator(retriever, key_secrets(secrets.environment))
    if permissions.mode == "oauth":
        assert permissions.provider is not None
        return oauth.TokenAuthenticator(permissions.provider)
    try:
        await retriever.permitted_servers(allowed={})
    except ToolRagError as error:
        raise InvalidArgument(
            "the gateway's login may not decide alone what callers see, which mode "
            '"gatekeeper" needs',
            hint="an admin calls: select tool_rag.trust_login('LOGIN')",
        ) from error
    assert permissions.store is not None
    if not permissions.store_is_database:
        policies = FilePolicies(permissions.store, permissions.ignore)
        await policies.find("")
        return PolicyAuthenticator(policies)
    store = secrets.resolve(permissions.store)
    pool = await stack.enter_async_context(_open_pool(config, store, "policies"))
    found = DatabasePolicies(pool, permissions.query, permissions.ignore)
    await found.find("")
    return PolicyAuthenticator(found)


async def _ensure_roles(config: GatewayConfig, storing: AsyncToolRetriever) -> None:
    """Make the roles of mode "none" see what is behind the gateway.

    A server that a rule of the role names already is left as the rule has it.
    """
    for role in config.permissions.roles:
        if await storing.unknown_roles([role]):
            await storing.add_role(role, description=f"Everyone who reaches {config.name}")
        ruled = {rule.server_pattern for rule in await storing.list_rules(role=role)}
        new = [server.name for server in config.servers if not {server.name, "*"} & ruled]
        for server in new:
            await storing.grant_tools(role, server)
        if new:
            logger.warning(
                "granted, since permissions mode is none: everyone may use everything",
                extra={"role": role, "servers": new},
            )


async def _housekeeping(storing: AsyncToolRetriever) -> None:
    while True:
        try:
            await storing.forget_conversations(datetime.now(UTC) - _FORGET_AFTER)
        except ToolRagError as error:
            logger.warning("conversations not forgotten", extra={"reason": error.message})
        await anyio.sleep(_HOUSEKEEPING_SECONDS)


def _state_secret(secrets: Secrets) -> bytes | None:
    """Return what the processes of one deployment share, where they share anything."""
    return key_secrets(secrets.environment)[0] if secrets.environment.get(SECRET_VARIABLE) else None


class _Server(uvicorn.Server):
    """Lets calls finish: the first signal drains, the second ends at once."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.told_to_stop = anyio.Event()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Note that it shall end."""
        if self.told_to_stop.is_set():
            self.force_exit = True
            self.should_exit = True
        self.told_to_stop.set()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, since asyncio sends small answers at once (TCP_NODELAY) only then;
    # otherwise each answer in two parts waits some 40 ms for an acknowledgement.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise InvalidArgument(
            f"{host}:{port} can't be listened on: {error.strerror}",
            hint='name another port in "http": {"port": ...}, 0 for any that is free',
        ) from error
    return sock


async def serve_http(
    config: GatewayConfig,
    secrets: Secrets,
    database: str,
    refresh_database: str,
    *,
    on_started: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve over HTTP until a signal says to stop; calls under way are finished.

    Args:
        config: the settings.
        secrets: values of `env:NAME`.
        database: of the catalogue.
        refresh_database: the same, with the login that stores tools.
        on_started: called with the endpoint's address.

    Raises:
        ToolRagError: it can't be started, and why.
    """
    with _plain_errors(), contextlib.closing(_bind(config.http.host, config.http.port)) as sock:
        async with _running(config, secrets, database, refresh_database) as running:
            server = GatewayServer(running.gateway, state_secret=_state_secret(secrets))
            running.server = server
            app: ASGIApp = build_app(
                server,
                running.authenticator,
                is_ready=running.is_ready,
                metrics_key=None
                if config.http.metrics_key is None
                else secrets.resolve(config.http.metrics_key),
                resource_metadata=oauth.resource_metadata(config),
            )
            web = _Server(
                uvicorn.Config(
                    app,
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    proxy_headers=False,
                    ws="none",
                    timeout_graceful_shutdown=2,
                )
            )
            async with anyio.create_task_group() as tasks:

                async def stop() -> None:
                    await web.told_to_stop.wait()
                    logger.info("stopping", extra={"calls": running.gateway.calls_under_way})
                    await running.drain()
                    # Streams that wait for changes would hold the connections open.
                    server.listening.close()
                    web.should_exit = True

                tasks.start_soon(stop)
                host, port = sock.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                on_started(f"http://{shown}:{port}{config.http.path}")
                await web.serve(sockets=[sock])
                tasks.cancel_scope.cancel()


async def serve_stdio(
    config: GatewayConfig, secrets: Secrets, database: str, refresh_database: str
) -> None:
    """Serve the one client at the other end of standard input and output.

    Raises:
        ToolRagError: it can't be started, and why.
    """
    with _plain_errors():
        await _serve_stdio(config, secrets, database, refresh_database)


async def _serve_stdio(
    config: GatewayConfig, secrets: Secrets, database: str, refresh_database: str
) -> None:
    async with _running(config, secrets, database, refresh_database) as running:
        key = secrets.environment.get(KEY_VARIABLE)

        async def authenticate() -> Caller | None:
            return await running.authenticator.authenticate(key)

        if await authenticate() is None:
            raise InvalidArgument(
                f"{KEY_VARIABLE} holds no valid key" if key else f"{KEY_VARIABLE} is not set",
                hint="set it to the key of the person who uses this client",
            )
        server = GatewayServer(
            running.gateway,
            stdio=StdioCaller(authenticate),
            state_secret=_state_secret(secrets),
        )
        running.server = server
        async with stdio_server() as (read, write), anyio.create_task_group() as tasks:

            async def stop() -> None:
                with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                    async for _ in signals:
                        await running.drain()
                        # Reading standard input can't be interrupted; the process ends with it.
                        tasks.cancel_scope.cancel()
                        return

            tasks.start_soon(stop)
            await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()


def check_key_secret(config: GatewayConfig, secrets: Secrets) -> None:
    """Refuse to begin without what keys are checked with.

    Raises:
        InvalidArgument: mode "keys", and the deployment's secret is not set, or too short.
    """
    if config.permissions.mode == "keys":
        key_secrets(secrets.environment)


def check_exposure(config: GatewayConfig) -> None:
    """Refuse settings that would open tools to a whole network.

    Raises:
        InvalidArgument: everyone could call, or any website through a visitor's browser.
    """
    if is_loopback(config.http.host):
        return
    if config.permissions.mode == "none":
        raise InvalidArgument(
            f'permissions mode "none" on {config.http.host} lets everyone on the network call',
            hint='use mode "keys", or host "127.0.0.1"',
        )
    if config.http.host in ("0.0.0.0", "::") and not config.http.allowed_hosts:
        raise InvalidArgument(
            f"{config.http.host} needs http.allowed_hosts: by which names clients reach it",
            hint='for example "allowed_hosts": ["tools.example.org"]',
        )
