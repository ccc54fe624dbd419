"""Who calls: what a key, a token or nothing at all stands for, asked anew with each request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from tool_rag_pg import _database
from tool_rag_pg.errors import InvalidArgument
from tool_rag_pg.keys import authenticate_async

if TYPE_CHECKING:
    from psycopg_pool import AsyncConnectionPool

    from tool_rag_pg.retriever import AsyncToolRetriever

__all__ = [
    "Authenticator",
    "Caller",
    "DatabasePolicies",
    "Everyone",
    "FilePolicies",
    "KeyAuthenticator",
    "PolicyAuthenticator",
    "read_policies",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """On whose behalf a request is made.

    Attributes:
        name: for logs, audit and limits; no secret.
        roles: what searches ask with, or None where `allowed` alone decides.
        allowed: what the caller's permission system lets it have, or None.
        identity: values of identity parameters by name.
        key: what it sent, for upstreams that are to get it.
    """

    name: str
    roles: tuple[str, ...] | None = None
    allowed: Mapping[str, Any] | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = field(default=None, repr=False)

    def asks(self) -> dict[str, Any]:
        """Return the arguments by which functions of the retriever know who asks."""
        return {
            "roles": None if self.roles is None else list(self.roles),
            "allowed": self.allowed,
        }


class Authenticator(Protocol):
    """One of the permission modes."""

    async def authenticate(self, key: str | None) -> Caller | None:
        """Return whom a key stands for, or None where it is not, or no longer, good.

        Raises:
            ToolRagError: it can't be told, since a store can't be read.
        """


class Everyone:
    """Mode "none": who reaches the gateway asks with the same roles."""

    def __init__(self, roles: list[str]) -> None:
        self._caller = Caller(name="everyone", roles=tuple(roles))

    async def authenticate(self, key: str | None) -> Caller | None:
        """Return the one caller there is, whatever the key."""
        return self._caller


class KeyAuthenticator:
    """Mode "keys": keys of `tool-rag keys`, as the database knows them at this moment."""

    def __init__(self, retriever: AsyncToolRetriever, secrets: list[bytes]) -> None:
        self._retriever = retriever
        self._secrets = secrets

    async def authenticate(self, key: str | None) -> Caller | None:
        """Ask the database."""
        if key is None:
            return None
        found = await authenticate_async(self._retriever, key, self._secrets)
        if found is None:
            return None
        return Caller(name=found.name, roles=tuple(found.roles), identity=found.identity, key=key)


class FilePolicies:
    """Policies of a file, read again when it changes.

    A file that can't be read, or is wrong, denies everybody until it is right again.
    """

    def __init__(self, path: str, ignore: list[str]) -> None:
        self._path = Path(path)
        self._ignore = frozenset(ignore)
        self._seen: tuple[int, int, int] | None = None
        self._policies: Mapping[str, Mapping[str, Any]] = {}

    async def find(self, digest: str) -> Mapping[str, Any] | None:
        """Return the policy of the key with this SHA-256 (hexadecimal), or None."""
        await anyio.to_thread.run_sync(self._refresh)
        return self._policies.get(digest)

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
            if seen == self._seen:
                return
            self._policies = {}
            self._seen = None
            self._policies = read_policies(self._path, self._ignore)
            self._seen = seen
        except OSError as error:
            self._policies = {}
            self._seen = None
            raise InvalidArgument(
                f"the policies of {self._path} can't be read: {error.strerror}",
                hint="make the file readable for the gateway",
            ) from error


def read_policies(path: Path, ignore: frozenset[str]) -> dict[str, Mapping[str, Any]]:
    """Return the policies of a gatekeeper's file by the SHA-256 of their keys.

    Args:
        path: JSON: `{"KEY": {"SERVER": {"tools": ["NAME", ...]}}}`; a key may be written as
            `sha256:` and its SHA-256 in hexadecimal digits.
        ignore: what of a policy may be disregarded; any other key than `tools` is a fault, since
            it would limit somebody and does not.

    Raises:
        OSError: the file can't be read.
        InvalidArgument: it is no such file; says where. Keys are not quoted.
    """
    hint = 'write {"KEY": {"SERVER": {"tools": ["NAME", ...]}}}'
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{path}: this is no JSON", hint=hint) from error
    if not isinstance(document, dict):
        raise InvalidArgument(f"{path}: it holds no object", hint=hint)
    found: dict[str, Mapping[str, Any]] = {}
    for place, (key, policy) in enumerate(document.items(), 1):
        where = f"{path}: policy {place}"
        if key.startswith("sha256:"):
            digest = key.removeprefix("sha256:").lower()
            if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
                raise InvalidArgument(f"{where}: this is no SHA-256 in 64 digits", hint=hint)
        else:
            digest = hashlib.sha256(key.encode()).hexdigest()
        found[digest] = check_policy(policy, ignore, where)
    return found


def check_policy(policy: object, ignore: frozenset[str], where: str) -> Mapping[str, Any]:
    """Return a policy as `allowed` takes it, with nothing in it that would go unheeded.

    Raises:
        InvalidArgument: another shape, or a limit that the gateway does not enforce.
    """
    hint = 'write {"SERVER": {"tools": ["NAME", ...]}}'
    if not isinstance(policy, dict):
        raise InvalidArgument(f"{where}: it is no object", hint=hint)
    allowed: dict[str, Any] = {}
    for server, entry in policy.items():
        tools = entry.get("tools") if isinstance(entry, dict) else None
        if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
            raise InvalidArgument(f"{where}.{server}.tools: it is no list of names", hint=hint)
        for limit in entry:
            if limit != "tools" and limit not in ignore:
                raise InvalidArgument(
                    f"{where}.{server}.{limit}: the gateway does not enforce this",
                    hint=f'name it in "permissions": {{"ignore": ["{limit}"]}} if something else '
                    "does, or take it out",
                )
        allowed[server] = {"tools": tools}
    return allowed


class DatabasePolicies:
    """Policies of a table in Postgres.

    Args:
        pool: of connections to that database.
        query: returns one JSON policy, or no row, for the parameter `sha256`.
        ignore: as in `read_policies`.
    """

    def __init__(self, pool: AsyncConnectionPool[Any], query: str, ignore: list[str]) -> None:
        self._pool = pool
        self._query = query
        self._ignore = frozenset(ignore)

    async def find(self, digest: str) -> Mapping[str, Any] | None:
        """Return the policy of the key with this SHA-256 (hexadecimal), or None."""
        with _database.translated():
            async with self._pool.connection() as connection:
                # What the query says is the operator's, never a caller's.
                cursor = await connection.execute(self._query.encode(), {"sha256": digest})
                row = await cursor.fetchone()
        if row is None:
            return None
        return check_policy(row[0], self._ignore, f"the policy of key {digest[:8]}")


class PolicyAuthenticator:
    """Mode "gatekeeper": each key has a policy of another system.

    Args:
        policies: where they are.
    """

    def __init__(self, policies: FilePolicies | DatabasePolicies) -> None:
        self._policies = policies

    async def authenticate(self, key: str | None) -> Caller | None:
        """Look the key's policy up."""
        if not key:
            return None
        digest = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()
        policy = await self._policies.find(digest)
        if policy is None:
            return None
        # The name is in logs: a part of the digest tells keys apart and makes none known.
        return Caller(name=f"key {digest[:8]}", allowed=policy, key=key)
