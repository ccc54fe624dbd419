"""The one error tree of the package.

Every error that this package raises on purpose is a `ToolRagError`: a sentence that says what is
wrong, a `hint` that says what to do next, and attributes that carry the data. Errors of the
database driver are re-raised from the original, so its SQLSTATE and position stay reachable
through `__cause__`.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CasesError",
    "DatabaseError",
    "DatabaseNewer",
    "DatabaseUnavailable",
    "EmbeddingError",
    "InvalidArgument",
    "SchemaNotReady",
    "SourceError",
    "ToolRagError",
]


class ToolRagError(Exception):
    """Base of all errors of this package.

    Attributes:
        message: one sentence, without a trailing full stop.
        hint: what to do next, or None.
        exit_code: status with which the command line ends.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidArgument(ToolRagError):
    """An argument that the caller can correct (SQLSTATE 22023 and its relatives)."""

    exit_code = 2


class SourceError(ToolRagError):
    """An export of tools that can't be read.

    Attributes:
        path: the file, or "-" for standard input.
        position: where in it ("line 3, column 9", "tools[4].name"), or None for all of it.
    """

    def __init__(
        self, message: str, *, path: str, position: str | None = None, hint: str | None = None
    ) -> None:
        where = f"{path}: {position}" if position else path
        super().__init__(f"{where}: {message}", hint=hint)
        self.path = path
        self.position = position


class CasesError(ToolRagError):
    """Cases of an evaluation that can't be asked.

    Attributes:
        faults: every fault, each with its line.
    """

    def __init__(self, message: str, *, faults: tuple[SourceError, ...], hint: str) -> None:
        super().__init__(message, hint=hint)
        self.faults = faults


class EmbeddingError(ToolRagError):
    """An embedding model that can't be loaded or asked, or whose answer does not fit."""


class DatabaseUnavailable(ToolRagError):
    """No connection to the database, or a server that lacks what the schema needs."""

    exit_code = 3


class SchemaNotReady(ToolRagError):
    """The database lacks the schema `tool_rag`, or holds an older version of it."""

    exit_code = 3


class DatabaseNewer(ToolRagError):
    """The database was migrated by a newer version of this package."""

    exit_code = 3


class DatabaseError(ToolRagError):
    """The database refused a statement; `sqlstate` says why."""

    def __init__(self, message: str, *, sqlstate: str | None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.sqlstate = sqlstate
