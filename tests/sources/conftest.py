from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tool_rag_pg.errors import SourceError
from tool_rag_pg.sources import ReadResult, ServerExport, read_exports

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file: text and bytes as they are, a list of rows to `.jsonl`, else JSON."""

    def write_file(content: Any, name: str = "acme.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif name.endswith("l") and isinstance(content, list):
            path.write_text("\n".join(json.dumps(row) for row in content), encoding="utf-8")
        else:
            path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def read(write: Callable[..., Path]) -> Callable[..., ServerExport]:
    """Write a file that is one good export, and return what was read."""

    def read_one(content: Any, name: str = "acme.json", **options: Any) -> ServerExport:
        result = read_exports([write(content, name)], **options)
        assert [str(error) for error in result.errors] == []
        (export,) = result.exports
        return export

    return read_one


@pytest.fixture
def fail(write: Callable[..., Path]) -> Callable[..., SourceError]:
    """Write a file that can't be read, and return the error, checked for its form."""

    def read_broken(content: Any, name: str = "acme.json", **options: Any) -> SourceError:
        path = write(content, name)
        result = read_exports([path], **options)
        assert result.exports == ()
        (error,) = result.errors
        check_error(error, path)
        return error

    return read_broken


def check_error(error: SourceError, path: Path | str) -> None:
    """Assert that an error is one sentence with its file and a remedy."""
    assert error.path == str(path)
    assert str(error).startswith(f"{path}: ")
    assert error.hint
    text = f"{error.message}{error.hint}"
    assert "\n" not in text
    assert not error.message.endswith(".")
    assert "Traceback" not in text
    if error.position:
        assert str(error).startswith(f"{path}: {error.position}: ")


def names(result: ReadResult) -> dict[str, list[str]]:
    return {export.server: [tool.name for tool in export.tools] for export in result.exports}
