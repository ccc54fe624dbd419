"""Logins of Postgres: what they may call, what they are bound to, and which are believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tool_rag_pg.models import ListedLogin

from ._call import Call, as_list, scalar

__all__ = [
    "bind_login",
    "distrust_login",
    "grant_access",
    "list_logins",
    "revoke_access",
    "set_roles_claim",
    "set_strict_statistics",
    "trust_login",
    "unbind_login",
]


def grant_access(login: str, access: Literal["reader", "editor", "admin"]) -> Call[bool]:
    """Make a login a reader, an editor or an admin, in place of what it was.

    It holds in every database of the server that has this schema. Returns False where the login
    was that already.

    Args:
        login: a login of Postgres that exists.
        access: readers search, editors edit rules and wording too, admins all.

    Raises:
        InvalidArgument: no such login or access, or a bound login that should be more than a
            reader.
    """
    return Call(
        "select tool_rag.grant_access(login => %(login)s, access => %(access)s) as result",
        {"login": login, "access": access},
        scalar,
    )


def revoke_access(login: str) -> Call[bool]:
    """Take a login out of readers, editors and admins; return whether it was one of them.

    A binding stays.

    Raises:
        InvalidArgument: no such login.
    """
    return Call(
        "select tool_rag.revoke_access(login => %(login)s) as result", {"login": login}, scalar
    )


def bind_login(login: str, roles: Sequence[str]) -> Call[bool]:
    """Tie a login to roles, in place of those it was tied to; return whether that is a change.

    It never sees more than these see together, whatever it passes or sets, and just that where it
    names no roles.

    Args:
        login: a login of Postgres, or a group role, whose binding holds for all that inherit its
            privileges.
        roles: of the application; an empty list lets it see nothing.

    Raises:
        InvalidArgument: no such login or role, or a login that may edit.
    """
    return Call(
        "select tool_rag.bind_login(login => %(login)s, roles => %(roles)s) as result",
        {"login": login, "roles": as_list(roles, "roles")},
        scalar,
    )


def unbind_login(login: str) -> Call[bool]:
    """Free a login from its binding; return whether it had one."""
    return Call(
        "select tool_rag.unbind_login(login => %(login)s) as result", {"login": login}, scalar
    )


def trust_login(login: str) -> Call[bool]:
    """Believe a backend's login; return whether that is a change.

    Its argument `allowed` then counts without roles, as far as a binding permits, and its argument
    `roles` beside a token.

    Raises:
        InvalidArgument: no such login.
    """
    return Call(
        "select tool_rag.trust_login(login => %(login)s) as result", {"login": login}, scalar
    )


def distrust_login(login: str) -> Call[bool]:
    """Take back `trust_login`; return whether the login was trusted."""
    return Call(
        "select tool_rag.distrust_login(login => %(login)s) as result", {"login": login}, scalar
    )


def set_roles_claim(path: Sequence[str] | None) -> Call[None]:
    """Say where the claims of a token (the setting `request.jwt.claims`) have the roles.

    Args:
        path: keys from the outermost on, at first `["roles"]`; None reads none from tokens.

    Raises:
        InvalidArgument: no path, or one that users write themselves (`user_metadata`).
    """
    return Call(
        "select tool_rag.set_roles_claim(path => %(path)s) as result",
        {"path": as_list(path, "path")},
        lambda _: None,
    )


def set_strict_statistics(strict: bool | None = None) -> Call[bool]:
    """Say whether every search counts words in its caller's tools alone; return what holds then.

    No caller can switch it off: it holds whatever the option "statistics" of a search says.

    Args:
        strict: None only asks.
    """
    return Call(
        "select tool_rag.set_strict_statistics(strict => %(strict)s) as result",
        {"strict": strict},
        scalar,
    )


def list_logins() -> Call[list[ListedLogin]]:
    """Return the logins that are readers, editors, admins, bound or trusted, ordered by name."""
    return Call(
        "select login, access, is_bound, roles, is_trusted, note from tool_rag.list_logins()",
        {},
        lambda rows: [ListedLogin(**row) for row in rows],
    )
