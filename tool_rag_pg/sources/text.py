"""Bytes to text, and text to what Postgres can store."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

from .context import Origin, at

__all__ = ["clean", "decode", "may_need_cleaning", "slug"]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Escapes that may stand for a NUL or half a surrogate pair; anything else is stored as it is.
_SUSPECT = re.compile(r"\\(?:[uU]0000|x00|0|[uU](?:0000)?[dD][89a-fA-F])")
_NUL_REMOVED = "NUL characters were removed, since Postgres cannot store them"
_SURROGATE_REPLACED = "half surrogate pairs were replaced by U+FFFD, since they are no characters"


def decode(data: bytes, origin: Origin) -> str:
    """Return the text of a file: UTF-8, or what its byte order mark or its zero bytes say.

    Raises:
        SourceError: the bytes are no text, or in another encoding.
    """
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), None)
    # JSON begins with two ASCII characters, so UTF-16 without a mark shows in the zero bytes.
    encoding = encoding or json.detect_encoding(data[:4])
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8" or b"\0" in data[:1024]:
            raise origin.error(
                None,
                "the file is not text, or damaged",
                hint="name a JSON, JSON Lines or YAML file",
            ) from error
        line = data.count(b"\n", 0, error.start) + 1
        raise origin.error(
            f"line {line}",
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            hint="save the file as UTF-8",
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise origin.error(
            f"line {line}",
            "the file holds a NUL byte, so it is binary or damaged",
            hint="name a JSON, JSON Lines or YAML file",
        )
    if not text.strip():
        raise origin.error(None, "the file is empty", hint="export the tools again")
    return text


def may_need_cleaning(text: str) -> bool:
    """Return whether a file's text has escapes for characters that cannot be stored."""
    return _SUSPECT.search(text) is not None


def clean(value: Any, origin: Origin, position: str) -> Any:
    """Return `value` without NUL characters and half surrogate pairs, with a warning for each.

    Raises:
        SourceError: two keys of one object become equal.
    """
    if isinstance(value, str):
        if "\0" in value:
            origin.warn(position, _NUL_REMOVED)
            value = value.replace("\0", "")
        if _SURROGATE.search(value):
            origin.warn(position, _SURROGATE_REPLACED)
            value = _SURROGATE.sub("\ufffd", value)
        return value
    if isinstance(value, list):
        return [clean(item, origin, at(position, index)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    cleaned: dict[str, Any] = {}
    for key, item in value.items():
        new_key = clean(key, origin, position)
        if new_key in cleaned:
            raise origin.error(
                position,
                f"two keys are both {new_key!r} once characters that cannot be stored are gone",
                hint="rename one of them",
            )
        cleaned[new_key] = clean(item, origin, at(position, new_key))
    return cleaned


def slug(text: str) -> str:
    """Return a lowercase name of letters, digits, `.`, `_` and `-`, or "" when none are left."""
    return re.sub(r"[^\w.-]+", "-", text.strip().lower()).strip("-.")
