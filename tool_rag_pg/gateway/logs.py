"""Structured logs: one JSON object a line, on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

__all__ = ["configure"]

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

_NOISY = (
    "httpx2",
    "httpcore2",
    "mcp",
    "uvicorn.access",
    "uvicorn.error",
    "psycopg.pool",
    "alembic",
)


class _JsonFormatter(logging.Formatter):
    def __init__(self, arguments: bool) -> None:
        super().__init__()
        self._arguments = arguments

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for key, value in vars(record).items():
            if key not in _USUAL and value is not None and (key != "arguments" or self._arguments):
                line[key] = _without_secrets(value) if key == "arguments" else value
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        # In ASCII, so that no text of a tool can steer a terminal or break a line.
        return json.dumps(line, default=str)


def _without_secrets(value: Any) -> Any:
    from .config import reads_like_secret

    if isinstance(value, dict):
        return {
            key: "(not kept)" if reads_like_secret(str(key)) else _without_secrets(each)
            for key, each in value.items()
        }
    return [_without_secrets(each) for each in value] if isinstance(value, list) else value


def configure(level: str, *, arguments: bool) -> None:
    """Send all logs of the process to standard error.

    Args:
        level: "debug", "info", "warning" or "error".
        arguments: whether lines about calls have their arguments.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter(arguments))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # These say at "info" what each request and each poll does; "debug" has it.
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(
            logging.DEBUG if level == "debug" else max(logging.WARNING, root.level)
        )
