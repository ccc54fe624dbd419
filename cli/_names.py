"""Reading what a person types: names and patterns of tools, times, a text or `-`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tool_rag_pg.errors import InvalidArgument

__all__ = [
    "fits",
    "join",
    "read_duration",
    "read_since",
    "read_start",
    "read_text",
    "read_until",
    "split_name",
    "split_pattern",
    "unknown_role",
]

_DURATION = re.compile(r"(\d{1,6})([mhdw])")
_TIME_HINT = "write 30d, 12h, 2031-01-31 or 2031-01-31T18:00+02:00"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def split_pattern(text: str) -> tuple[str, str]:
    """Return the patterns of servers and of tools in `SERVER/TOOL`.

    Raises:
        InvalidArgument: there is no "/", or nothing on one side of it.
    """
    server, _, tool = text.partition("/")
    if not (server and tool):
        raise InvalidArgument(
            f"{text!r} is not of the form SERVER/TOOL",
            hint=f"for all tools of a server: '{server or 'github'}/*'; for everything: '*/*'",
        )
    return server, tool


def split_name(text: str) -> tuple[str, str]:
    """Return server and name of one tool.

    Raises:
        InvalidArgument: there is no "/", or nothing on one side of it.
    """
    server, _, tool = text.partition("/")
    if not (server and tool):
        raise InvalidArgument(
            f"{text!r} is not of the form SERVER/TOOL", hint="see tool-rag tools list"
        )
    return server, tool


def fits(pattern: str, name: str) -> bool:
    """Return whether a name fits a pattern in which "*" is any run of characters."""
    return bool(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL))


def read_until(text: str) -> datetime:
    """Return the time that `30d`, `12h` or an ISO 8601 time (UTC where it names no zone) means.

    Raises:
        InvalidArgument: it is neither, or lies in the past.
    """
    until = _read_time(text, 1)
    if until <= datetime.now(UTC):
        raise InvalidArgument(f"{text} does not lie in the future", hint=_TIME_HINT)
    return until


def read_start(text: str) -> datetime:
    """Return the time, to the minute, that `30d`, `12h` or an ISO 8601 time means.

    What tables show of it is then all that there is, so that it can be typed again.

    Raises:
        InvalidArgument: it is neither.
    """
    start = _read_time(text, 1)
    return start.replace(second=0, microsecond=0) if _DURATION.fullmatch(text) else start


def read_since(text: str) -> datetime:
    """Return the time that `30d` ago, `12h` ago or an ISO 8601 time (UTC without a zone) means.

    Raises:
        InvalidArgument: it is neither, or lies in the future.
    """
    since = _read_time(text, -1)
    if since > datetime.now(UTC):
        raise InvalidArgument(f"{text} does not lie in the past", hint=_TIME_HINT)
    return since


def read_duration(text: str) -> timedelta:
    """Return the time that `30d`, `12h` or `6w` is long.

    Raises:
        InvalidArgument: it is none.
    """
    match = _DURATION.fullmatch(text)
    if not match:
        raise InvalidArgument(f"{text!r} is no length of time", hint="write 90d, 12h or 6w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _read_time(text: str, sign: int) -> datetime:
    """Return a time written in full, or a duration from now on (sign 1) or back (-1)."""
    try:
        if _DURATION.fullmatch(text):
            return datetime.now(UTC) + sign * read_duration(text)
        time = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(f"{text!r} is no time that can be used", hint=_TIME_HINT) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def read_text(text: str) -> str:
    """Return a text, or what standard input holds for "-"."""
    if text != "-":
        return text
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def unknown_role(name: str, otherwise: str) -> str:
    """Return what to do about a role that does not exist: that, or what its name gives away."""
    several = [part.strip() for part in name.split(",") if part.strip()]
    if "," in name and several:
        return f"Repeat the option for several roles: {' '.join(f'--role {x}' for x in several)}"
    return otherwise


def join(names: Sequence[str]) -> str:
    """Return names for a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
