"""One name for a tool that every provider accepts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

__all__ = ["NAME", "NAME_LENGTH", "SEPARATOR", "provider_names"]

#: What every provider accepts: OpenAI ("Function calling") and Anthropic ("Define tools", 128 by
#: now) take letters, digits, "_" and "-", up to 64; Google ("FunctionDeclaration") begins with a
#: letter or "_", and its Firebase reference says 63; MCP ("Tools", 2025-11-25) up to 128.
NAME_LENGTH = 63
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,62}")

#: Between a server and a tool.
SEPARATOR = "__"
_HASH_LENGTH = 6


def provider_names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the names under which providers know tools, all distinct, by server and tool.

    A name is "server__tool" where that is legal and can't be read in two ways, and otherwise as
    much of it as is, with a hash of the true one. So it does not depend on the other tools, except
    that of two tools with the same hash one gets a longer one.

    Args:
        tools: pairs of server and tool; repeated ones count once.
    """
    wanted = sorted(set(tools))
    named = {pair: f"{pair[0]}{SEPARATOR}{pair[1]}" for pair in wanted if _is_plain(*pair)}
    taken = set(named.values())
    for pair in wanted:
        if pair not in named:
            stem = _clean(SEPARATOR.join(filter(None, map(_clean, pair)))) or "tool"
            stem = stem if stem[0].isalpha() else f"_{stem}"
            text = "\0".join(pair).encode("utf-8", "surrogatepass")
            digest = sha256(text).hexdigest()
            candidates = (
                f"{stem[: NAME_LENGTH - length - 1]}_{digest[:length]}"
                for length in range(_HASH_LENGTH, NAME_LENGTH - 1)
            )
            named[pair] = next(name for name in candidates if name not in taken)
            taken.add(named[pair])
    return named


def _is_plain(server: str, tool: str) -> bool:
    """Whether "server__tool" is legal, and the first "__" in it is the one between the two."""
    name = f"{server}{SEPARATOR}{tool}"
    first = name.find(SEPARATOR) == len(server)
    return bool(server and tool and first and NAME.fullmatch(name))


def _clean(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", plain).strip("_-")
