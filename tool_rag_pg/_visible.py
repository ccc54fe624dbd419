"""Text of others, with what is hidden in it, or would steer a terminal, written out."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

__all__ = ["escaped", "visible"]

# All else is shown as it is; line breaks and tabs do no harm.
_DOUBTFUL = re.compile(r"[^ -~\n\t]")
# Letters that are blank, and what alters the character before it.
_BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
_SELECTORS = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def visible(text: str) -> str:
    """Return a text in which every hidden or steering character is written out: <U+202E>."""
    return _written_out(text, lambda character: f"<U+{ord(character):04X}>")


def escaped(document: str) -> str:
    r"""Return a JSON document in which every such character is an escape: `\u202e`.

    It holds the same data: outside of texts JSON has none of them.
    """
    return _written_out(document, lambda character: json.dumps(character)[1:-1])


def _written_out(text: str, write: Callable[[str], str]) -> str:
    return _DOUBTFUL.sub(lambda match: write(match[0]) if _is_hidden(match[0]) else match[0], text)


def _is_hidden(character: str) -> bool:
    number = ord(character)
    return (
        unicodedata.category(character) in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
        or number in _BLANK
        or any(number in selectors for selectors in _SELECTORS)
    )
