"""The gateway over HTTP: who calls, how often they may, and what operators look at.

The protocol, its checks of Host and Origin, sessions and limits of size are the SDK's.
"""

from __future__ import annotations

import hmac
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tool_rag_pg.errors import ToolRagError

from .callers import Authenticator
from .config import HttpSettings, is_loopback, reads_like_secret
from .metrics import Metrics
from .server import GatewayServer

__all__ = ["build_app", "security"]

logger = logging.getLogger(__name__)

# Attempts without a good key, from one address: enough for mistakes, too few for a flood.
_FAILURES_PER_MINUTE = 60

IsReady = Callable[[], Awaitable[bool]]


def security(settings: HttpSettings) -> TransportSecuritySettings:
    """Return which values of Host and Origin are accepted, against DNS rebinding."""
    own = ["127.0.0.1", "localhost", "[::1]"] if is_loopback(settings.host) else []
    if not own and settings.host not in ("0.0.0.0", "::"):
        own = [f"[{settings.host}]" if ":" in settings.host else settings.host]
    hosts = [f"{host}:*" for host in own]
    origins = [f"http://{host}:*" for host in own]
    return TransportSecuritySettings(
        allowed_hosts=[*hosts, *settings.allowed_hosts],
        allowed_origins=[*origins, *settings.allowed_origins],
    )


def build_app(
    server: GatewayServer,
    authenticator: Authenticator,
    *,
    is_ready: IsReady,
    metrics_key: str | None = None,
    resource_metadata: tuple[str, list[Route]] | None = None,
) -> ASGIApp:
    """Return the application: the protocol's endpoint, /healthz, /readyz and /metrics.

    Args:
        server: the protocol's side.
        authenticator: tells who calls.
        is_ready: whether requests can be served now.
        metrics_key: what /metrics wants as a bearer token; None serves it on loopback alone.
        resource_metadata: where clients learn which authorization server issues tokens, and the
            routes that tell them.
    """
    gateway = server.gateway
    settings, limits = gateway.config.http, gateway.config.limits
    metrics = gateway.metrics

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readiness(request: Request) -> Response:
        ready = await is_ready()
        return JSONResponse({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    async def counts(request: Request) -> Response:
        if metrics_key is None and not is_loopback(settings.host):
            return Response(status_code=404)
        if metrics_key is not None and not _is_bearer(request.headers, metrics_key):
            return _refuse(401, "this needs the key of http.metrics_key")
        page = metrics.page(gateway.upstreams.values())
        return Response(page, media_type="text/plain; version=0.0.4; charset=utf-8")

    app = server.streamable_http_app(
        streamable_http_path=settings.path,
        max_request_body_size=limits.request_bytes,
        max_sessions=limits.sessions,
        transport_security=security(settings),
        custom_starlette_routes=[
            Route("/healthz", health),
            Route("/readyz", readiness),
            Route("/metrics", counts),
            *(resource_metadata[1] if resource_metadata else []),
        ],
    )
    return _Gate(
        app,
        authenticator,
        metrics,
        path=settings.path,
        requests_per_minute=limits.requests_per_minute,
        security=security(settings),
        challenge=f'Bearer resource_metadata="{resource_metadata[0]}"'
        if resource_metadata
        else "Bearer",
    )


class _Gate:
    """Lets no request to the protocol's endpoint through without a caller."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        metrics: Metrics,
        *,
        path: str,
        requests_per_minute: int,
        security: TransportSecuritySettings,
        challenge: str,
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._metrics = metrics
        self._path = path
        self._challenge = challenge
        self._security = TransportSecurityMiddleware(security)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._rate = RateLimitItemPerMinute(requests_per_minute)
        self._failures = RateLimitItemPerMinute(_FAILURES_PER_MINUTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        refusal = None
        # Probes name whatever address they have found; what they get tells nobody anything.
        if scope["path"] not in ("/healthz", "/readyz"):
            refusal = await self._security.validate_request(request)
        if refusal is not None:
            self._metrics.refused("host")
        elif scope["path"].rstrip("/") == self._path.rstrip("/"):
            refusal = await self._admit(request, scope)
        await (self._app if refusal is None else refusal)(scope, receive, send)

    async def _admit(self, request: Request, scope: Scope) -> Response | None:
        """Find out who calls; return an answer for whoever may not."""
        query = scope.get("query_string", b"").decode("latin-1")
        if any(reads_like_secret(name) for name, _ in parse_qsl(query, keep_blank_values=True)):
            self._metrics.refused("key_in_url")
            return _refuse(400, "a key does not belong in an address: send it as a header")
        bearer, other = _bearer(request.headers), request.headers.get("x-api-key", "").strip()
        if bearer and other and not hmac.compare_digest(bearer.encode(), other.encode()):
            self._metrics.refused("two_keys")
            return _refuse(400, "Authorization and X-API-Key hold different keys: send one of them")
        address = request.client.host if request.client else "unknown"
        if not await self._limiter.test(self._failures, "failures", address):
            return await self._too_many(self._failures, "failures", address)
        try:
            caller = await self._authenticator.authenticate(_key(request.headers))
        except ToolRagError as error:
            self._metrics.refused("unavailable")
            logger.error("callers can't be told apart", extra={"reason": error.message})
            return _refuse(503, "keys can't be checked at the moment", {"Retry-After": "5"})
        if caller is None:
            self._metrics.refused("key")
            await self._limiter.hit(self._failures, "failures", address)
            return _refuse(
                401,
                "this needs a valid key, as Authorization: Bearer KEY",
                {"WWW-Authenticate": self._challenge},
            )
        if not await self._limiter.hit(self._rate, "caller", caller.name):
            return await self._too_many(self._rate, "caller", caller.name)
        scope["tool_rag.caller"] = caller
        # So that a session belongs to whoever opened it. The key itself stays out of it.
        scope["user"] = AuthenticatedUser(AccessToken(token="-", client_id=caller.name, scopes=[]))
        return None

    async def _too_many(self, rate: RateLimitItemPerMinute, kind: str, who: str) -> Response:
        self._metrics.refused("rate")
        window = await self._limiter.get_window_stats(rate, kind, who)
        seconds = max(1, math.ceil(window.reset_time - time.time()))
        return _refuse(429, "too many requests", {"Retry-After": str(seconds)})


def _bearer(headers: Headers) -> str | None:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def _key(headers: Headers) -> str | None:
    return _bearer(headers) or headers.get("x-api-key", "").strip() or None


def _is_bearer(headers: Headers, key: str) -> bool:
    return hmac.compare_digest((_key(headers) or "").encode(), key.encode())


def _refuse(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an answer that clients of the protocol, and people, can read."""
    error = {"code": -32600 if status < 500 else -32603, "message": message}
    return Response(
        json.dumps({"jsonrpc": "2.0", "id": None, "error": error}),
        status,
        headers,
        media_type="application/json",
    )
