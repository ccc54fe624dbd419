"""Finding files and reading their bytes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from tool_rag_pg.errors import SourceError

from .context import Origin
from .document import SUFFIXES

__all__ = ["MAX_BYTES", "STDIN", "Source", "find", "read_bytes"]

#: Largest file that is read, in bytes. Reading takes some seven times as much memory.
MAX_BYTES = 64 * 1024 * 1024
STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to read.

    Attributes:
        shown: its name in messages.
        path: None for standard input.
        folder: the folder, as the caller named it, in which it was found, or None when the caller
            named the file itself.
    """

    shown: str
    path: Path | None
    folder: str | None = None


def find(paths: Sequence[str | Path]) -> Iterator[Source | SourceError]:
    """Yield the files to read, each once, or an error for a path that can't be.

    Folders are searched through all levels, in the order of names. Hidden files and folders are
    left out; links are followed, each folder once.
    """
    seen: set[str] = set()
    for path in paths:
        shown = _shown(path)
        if shown == STDIN:
            if STDIN not in seen:
                seen.add(STDIN)
                yield Source(shown=STDIN, path=None)
            continue
        try:
            is_folder = stat.S_ISDIR(Path(path).stat().st_mode)
        except (OSError, ValueError) as error:
            yield _unreadable(shown, error)
            continue
        if is_folder:
            yield from _in_folder(Path(path), shown, seen)
        elif (real := os.path.realpath(path)) not in seen:
            seen.add(real)
            yield Source(shown=shown, path=Path(path))


def _in_folder(path: Path, folder: str, seen: set[str]) -> Iterator[Source | SourceError]:
    errors: list[OSError] = []
    found = _walk(path, errors)
    for error in errors:
        yield _unreadable(_shown(error.filename), error)
    if not found and not errors:
        yield SourceError(
            "the folder holds no JSON, JSON Lines or YAML file",
            path=folder,
            hint="name a folder with exports, or the files themselves",
        )
    for file in found:
        real = os.path.realpath(file)
        if real not in seen:
            seen.add(real)
            yield Source(shown=_shown(file), path=file, folder=folder)


def _walk(folder: Path, errors: list[OSError]) -> list[Path]:
    files: list[Path] = []
    visited: set[str] = set()
    for root, folders, names in os.walk(folder, onerror=errors.append, followlinks=True):
        real = os.path.realpath(root)
        if real in visited:
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(root, name)
            wanted = not name.startswith(".") and file.suffix.lower() in SUFFIXES
            # A link to nothing is reported when it is read; a pipe would block.
            if wanted and (file.is_file() or file.is_symlink()):
                files.append(file)
    return files


def read_bytes(source: Source, origin: Origin, stdin: TextIO | BinaryIO | None) -> bytes:
    """Return what a file or standard input holds.

    Raises:
        SourceError: it can't be read, or has more than `MAX_BYTES`.
    """
    try:
        if source.path is None:
            stream = stdin if stdin is not None else sys.stdin.buffer
            data: bytes | str = stream.read(MAX_BYTES + 1)
        else:
            with source.path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(source.shown, error) from error
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        raise origin.error(
            None,
            f"it has more than {MAX_BYTES // 1024 // 1024} MB",
            hint="split it into smaller files",
        )
    return data


def _shown(path: str | Path) -> str:
    # A file name need not be text; messages and the database want one.
    return os.fsencode(path).decode("utf-8", "replace")


def _unreadable(shown: str, error: Exception) -> SourceError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return SourceError(
        f"it can't be read: {reason[:1].lower()}{reason[1:]}",
        path=shown,
        hint="check the path and its permissions",
    )
