"""Keys of callers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tool_rag_pg.keys import Caller
from tool_rag_pg.models import ListedKey

from ._call import Call, as_list, clean, scalar, zoned

__all__ = [
    "add_api_key",
    "authenticate_key",
    "list_api_keys",
    "revoke_api_key",
    "rotate_api_key",
]


def add_api_key(
    name: str,
    public_id: str,
    digest: bytes,
    roles: Sequence[str],
    *,
    identity: Mapping[str, Any] | None = None,
    expires_at: datetime | None = None,
) -> Call[None]:
    """Store a key by its digest.

    Args:
        name: whom or what it is for.
        public_id: the part of the key that is no secret.
        digest: 32 bytes, as `tool_rag_pg.keys.new_key` makes them.
        roles: what it asks with; at least one.
        identity: on whose behalf: values of identity parameters by name.
        expires_at: its end; None for none.

    Raises:
        InvalidArgument: an argument that can't be, a name that another key has, or a role that does
            not exist.
    """
    return Call(
        "select tool_rag.add_api_key(name => %(name)s, public_id => %(public_id)s,"
        " digest => %(digest)s, roles => %(roles)s, identity => %(identity)s::jsonb,"
        " expires_at => %(expires_at)s) as result",
        {
            "name": clean(name),
            "public_id": public_id,
            "digest": digest,
            "roles": as_list(roles, "roles"),
            "identity": json.dumps(dict(identity or {})),
            "expires_at": zoned(expires_at, "expires_at"),
        },
        lambda rows: None,
    )


def rotate_api_key(name: str, digest: bytes, *, grace: timedelta = timedelta(0)) -> Call[str]:
    """Replace a key by another with the same roles and identity; return its public id.

    Args:
        name: the key's.
        digest: that of the new key, 32 bytes.
        grace: how long the former key is good yet.

    Raises:
        InvalidArgument: there is no key of this name, a digest that is none, or a negative time.
    """
    return Call(
        "select tool_rag.rotate_api_key(name => %(name)s, digest => %(digest)s,"
        " grace => %(grace)s) as result",
        {"name": clean(name), "digest": digest, "grace": grace},
        scalar,
    )


def revoke_api_key(name: str) -> Call[None]:
    """Make a key worthless at once and for good.

    Raises:
        InvalidArgument: there is no key of this name.
    """
    return Call(
        "select tool_rag.revoke_api_key(name => %(name)s) as result",
        {"name": clean(name)},
        lambda rows: None,
    )


def list_api_keys(name: str | None = None) -> Call[list[ListedKey]]:
    """Return the keys, without anything by which one could ask.

    Args:
        name: only the key of this name; none is an empty list.
    """
    return Call(
        "select name, public_id, roles, identity, state, expires_at, created_at, rotated_at,"
        " last_used_at from tool_rag.list_api_keys(name => %(name)s)",
        {"name": None if name is None else clean(name)},
        lambda rows: [ListedKey(**row) for row in rows],
    )


def authenticate_key(public_id: str, digest: bytes) -> Call[Caller | None]:
    """Return whom the key with this public id and digest stands for, or None.

    `tool_rag_pg.keys.authenticate` takes the key as it was sent.
    """
    return Call(
        "select name, roles, identity, expires_at from tool_rag.authenticate_key("
        "public_id => %(public_id)s, digest => %(digest)s)",
        {"public_id": public_id, "digest": digest},
        lambda rows: Caller(**rows[0]) if rows else None,
    )
