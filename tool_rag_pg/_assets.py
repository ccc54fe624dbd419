"""The files that are the product: `sql/` and the alembic environment in `migrations/`.

Both ship as sub-packages (`tool_rag_pg.sql`, `tool_rag_pg.migrations`), so they are found in a
checkout and in an installed wheel alike.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

__all__ = [
    "SqlFile",
    "function_files",
    "functions_digest",
    "head_revision",
    "migrations_dir",
    "render",
    "revisions",
    "schema_file",
    "schema_files",
]

_PLACEHOLDER = "@extschema:vector@"
_FUNCTION = re.compile(r"^create or replace function tool_rag\.(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class SqlFile:
    """One file of `sql/`.

    Attributes:
        name: file name without `.sql`: the revision, for a schema step.
        text: its content, verbatim.

    """

    name: str
    text: str

    @property
    def functions(self) -> frozenset[str]:
        """Names of the functions that it defines, without schema and arguments."""
        return frozenset(_FUNCTION.findall(self.text))


def _package_dir(package: str) -> Path:
    return Path(str(files(package)))


@lru_cache(maxsize=2)
def _sql_files(folder: str) -> tuple[SqlFile, ...]:
    paths = sorted((_package_dir("tool_rag_pg.sql") / folder).glob("*.sql"))
    return tuple(SqlFile(path.stem, path.read_text(encoding="utf-8")) for path in paths)


def schema_files() -> tuple[SqlFile, ...]:
    """Return the schema steps in the order in which they run, each once."""
    return _sql_files("schema")


def schema_file(name: str) -> SqlFile:
    """Return one schema step by name, as in `0001_catalogue`."""
    return next(step for step in schema_files() if step.name == name)


def function_files() -> tuple[SqlFile, ...]:
    """Return the files of functions in the order in which each upgrade applies them."""
    return _sql_files("functions")


def revisions() -> tuple[str, ...]:
    """Return the names of all schema steps, oldest first."""
    return tuple(step.name for step in schema_files())


def head_revision() -> str:
    """Return the name of the newest schema step."""
    return revisions()[-1]


def functions_digest() -> str:
    """Return twelve hexadecimal digits that change with any change of the function files."""
    digest = hashlib.sha256()
    for file in function_files():
        digest.update(f"{file.name}\0{file.text}\0".encode())
    return digest.hexdigest()[:12]


def migrations_dir() -> Path:
    """Return the folder of the alembic environment."""
    return _package_dir("tool_rag_pg.migrations")


def render(text: str, *, vector_schema: str) -> str:
    """Put the schema of the extension vector, as an identifier, where a file leaves it open."""
    quoted = '"' + vector_schema.replace('"', '""') + '"'
    return text.replace(_PLACEHOLDER, quoted)
