"""Tokens of an authorization server: the gateway as a resource server of OAuth 2.1.

Tokens are JWTs (RFC 9068), checked against the issuer's published keys: signature, issuer,
audience and times. Where clients get one is told as RFC 9728 says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import anyio
import jwt
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.routing import Route

from tool_rag_pg.errors import DatabaseUnavailable

from .callers import Caller
from .config import GatewayConfig, IdentityProvider

__all__ = ["TokenAuthenticator", "resource_metadata"]

# Asymmetric ones only: a public key must never serve as the secret of a symmetric one.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class TokenAuthenticator:
    """Mode "oauth".

    Args:
        provider: whose tokens, and how they are read.
    """

    def __init__(self, provider: IdentityProvider) -> None:
        self._provider = provider
        address = provider.jwks_url or f"{provider.issuer.rstrip('/')}/.well-known/jwks.json"
        self._keys = jwt.PyJWKClient(address, cache_keys=True, lifespan=300, timeout=10)

    async def authenticate(self, key: str | None) -> Caller | None:
        """Check a token.

        Raises:
            DatabaseUnavailable: the issuer's keys can't be fetched.
        """
        if key is None or not _JWT.fullmatch(key):
            return None
        return await anyio.to_thread.run_sync(self._check, key)

    def _check(self, token: str) -> Caller | None:
        provider = self._provider
        try:
            signing = self._keys.get_signing_key_from_jwt(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                signing.key,
                algorithms=_ALGORITHMS,
                audience=provider.audience,
                issuer=provider.issuer,
                leeway=30,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWKClientConnectionError as error:
            raise DatabaseUnavailable(
                "the keys of the authorization server can't be fetched",
                hint="see whether permissions.provider.jwks_url answers",
            ) from error
        except jwt.PyJWTError:
            return None
        if not set(provider.scopes) <= _scopes(claims):
            return None
        roles = _roles(claims, provider.roles_claim)
        if roles is None:
            return None
        identity = {
            parameter: value
            for parameter, claim in provider.identity.items()
            if (value := _claim(claims, claim)) is not None
        }
        return Caller(name=f"{claims['sub']}", roles=tuple(roles), identity=identity, key=token)


def _scopes(claims: Mapping[str, Any]) -> set[str]:
    value = claims.get("scope", claims.get("scp", ""))
    return set(value.split() if isinstance(value, str) else map(str, value))


def _roles(claims: Mapping[str, Any], path: str) -> list[str] | None:
    """Return the roles that a token names; none at all is no reason to refuse, nonsense is."""
    value = _claim(claims, path)
    if value is None:
        return []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        return None
    return values


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    if path in claims:
        return claims[path]
    value: Any = claims
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def resource_metadata(config: GatewayConfig) -> tuple[str, list[Route]] | None:
    """Return where clients learn who issues tokens, and the routes that tell them."""
    provider = config.permissions.provider
    if provider is None:
        return None
    resource = AnyHttpUrl(provider.audience)
    routes = create_protected_resource_routes(
        resource_url=resource,
        authorization_servers=[AnyHttpUrl(provider.issuer)],
        scopes_supported=provider.scopes or None,
    )
    return str(build_resource_metadata_url(resource)), routes
