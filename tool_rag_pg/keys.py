"""Keys of callers: 256 random bits, shown once, of which the database holds an HMAC.

A key is `trk_` + public id + `_` + secret part. The HMAC is made with a secret of this deployment,
`TOOL_RAG_KEY_SECRET`, which never reaches the database: a copy of the table lets nobody in, and
nobody who can only write to the table can make a key that is good.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import string
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .retriever import AsyncToolRetriever, ToolRetriever

__all__ = ["Caller", "NewKey", "authenticate", "authenticate_async", "key_secrets", "new_key"]

SECRET_VARIABLE = "TOOL_RAG_KEY_SECRET"
_KEY = re.compile(r"trk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})")
_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made: the only time that it is known.

    Attributes:
        text: what the caller sends.
        public_id: the part that is no secret.
        digest: what the database stores, 32 bytes.
    """

    text: str
    public_id: str
    digest: bytes

    def __repr__(self) -> str:
        """Leave out the key, which would end in a log."""
        return f"NewKey(public_id={self.public_id!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whom a key stands for.

    Attributes:
        name: the key's name.
        roles: what it asks with.
        identity: values of identity parameters by name.
        expires_at: its end, or None.
    """

    name: str
    roles: list[str]
    identity: dict[str, Any]
    expires_at: datetime | None


def key_secrets(environment: Mapping[str, str] | None = None) -> list[bytes]:
    """Return the secrets of `TOOL_RAG_KEY_SECRET`: the first makes keys, all check them.

    Several, with commas between them, are good while one replaces another.

    Raises:
        InvalidArgument: there is none, or one has fewer than 32 characters.
    """
    value = (os.environ if environment is None else environment).get(SECRET_VARIABLE, "")
    found = [part.strip().encode() for part in value.split(",") if part.strip()]
    if not found or min(map(len, found)) < 32:
        raise InvalidArgument(
            f"{SECRET_VARIABLE} is not set"
            if not found
            else f"{SECRET_VARIABLE} holds fewer than 32 characters",
            hint="make one and keep it with the other secrets: openssl rand -hex 32",
        )
    return found


def new_key(secret: bytes, public_id: str | None = None) -> NewKey:
    """Return a new key.

    Args:
        secret: the deployment's, as `key_secrets` returns it.
        public_id: that of the key which it replaces; None makes one up.
    """
    public_id = public_id or "".join(secrets.choice(_LETTERS) for _ in range(12))
    random = urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")
    text = f"trk_{public_id}_{random}"
    return NewKey(text, public_id, _digest(text, secret))


def authenticate(retriever: ToolRetriever, key: str, secrets: list[bytes]) -> Caller | None:
    """Return whom a key stands for, or None where it is not, or no longer, good.

    Args:
        retriever: asks the database, which compares digests.
        key: as the caller sent it.
        secrets: the deployment's, as `key_secrets` returns them.
    """
    for public_id, digest in _credentials(key, secrets):
        if (caller := retriever.authenticate_key(public_id, digest)) is not None:
            return caller
    return None


async def authenticate_async(
    retriever: AsyncToolRetriever, key: str, secrets: list[bytes]
) -> Caller | None:
    """Do as `authenticate` does, without blocking."""
    for public_id, digest in _credentials(key, secrets):
        if (caller := await retriever.authenticate_key(public_id, digest)) is not None:
            return caller
    return None


def _credentials(key: str, secrets: list[bytes]) -> list[tuple[str, bytes]]:
    match = _KEY.fullmatch(key)
    return [] if match is None else [(match[1], _digest(key, secret)) for secret in secrets]


def _digest(text: str, secret: bytes) -> bytes:
    return hmac.digest(secret, text.encode(), hashlib.sha256)
