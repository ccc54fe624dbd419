"""Names of servers."""

from __future__ import annotations

import re
from pathlib import Path

from tool_rag_pg.errors import InvalidArgument

from .context import Origin, shorten
from .fields import MAX_NAME
from .text import slug

__all__ = ["check_server", "default_server", "own_server"]

# "/" separates server and tool in grants; control characters break tables and logs.
_FORBIDDEN = re.compile("[/\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_server(server: str) -> str:
    """Return the name that a caller gives to a server, without space around it.

    Raises:
        InvalidArgument: it is empty, too long, or holds a "/", which separates server and tool in
            grants.
    """
    name = server.strip()
    if not name or len(name) > MAX_NAME or _FORBIDDEN.search(name):
        raise InvalidArgument(
            f"{shorten(server)!r} can't be the name of a server",
            hint=f"use 1 to {MAX_NAME} characters, no '/' among them",
        )
    return name


def own_server(origin: Origin, name: str) -> str:
    """Return the name that an export gives to its server, in the form that is stored.

    Raises:
        SourceError: nothing of the name can be kept.
    """
    stored = _FORBIDDEN.sub("-", name.strip())
    if not stored or len(stored) > MAX_NAME:
        raise origin.error(
            None,
            f"{shorten(name)!r} can't be the name of a server",
            hint="name the server with --server",
        )
    if stored != name.strip():
        origin.warn(
            f"server {shorten(name)!r}",
            f"it is stored as {shorten(stored)!r}, since a name holds no '/' or control character",
        )
    return stored


def default_server(origin: Origin, path: Path | None) -> str:
    """Return a server's name made from its file's: the stem, or for `catalog.*` the folder.

    Raises:
        SourceError: standard input, or a name without letters and digits.
    """
    if path is None:
        raise origin.error(
            None, "the export does not say which server it is of", hint="name it with --server"
        )
    stem = path.resolve().parent.name if path.stem.lower() == "catalog" else path.stem
    name = slug(stem)[:MAX_NAME]
    if not name:
        raise origin.error(
            None, "the file's name gives no name for the server", hint="name it with --server"
        )
    return name
