"""The demo on an embedded server of its own, as whole processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tool_rag_pg.embedded import EmbeddedServer

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Return a function that runs `tool-rag ARGUMENTS` with no database named."""
    # A short path: that of a socket may have about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="tool-rag-demo-") as home:

        def start(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, "-m", "tool_rag_pg.cli.main", *arguments],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "TOOL_RAG_HOME": home, "TOOL_RAG_EMBEDDED_PG": "18"},
                timeout=120,
            )

        try:
            yield start
        finally:
            EmbeddedServer(Path(home, "pg18")).stop(immediate=True)


def test_the_demo_has_a_database_of_its_own(run: Run, tmp_path: Path) -> None:
    first = run("demo")
    assert "Preparing the demo's database" in first.stderr
    assert "8 servers, 159 tools" in first.stdout
    assert "For accounting the same words put it at rank" in first.stdout

    start = time.perf_counter()
    second = run("demo")
    assert time.perf_counter() - start < 30, "5 s on an idle machine"
    assert second.stderr == ""
    assert without_times(second.stdout) == without_times(first.stdout)

    # The user's own catalogue is another database.
    assert run("roles", "list").stdout == ""
    assert run("tools", "list").stdout == ""

    (tmp_path / "servers").mkdir()
    (tmp_path / "servers" / "shop.json").write_text(
        '{"tools": [{"name": "ship", "description": "Ship it", "inputSchema": {}}]}'
    )
    (tmp_path / "access.txt").write_text("role clerk\nallow clerk shop/*\n")
    own = run("demo", "ship it", "--path", str(tmp_path))
    assert "shop/ship" in own.stdout
    assert without_times(run("demo").stdout) == without_times(first.stdout)

    reset = run("demo", "--reset")
    assert "Preparing the demo's database" in reset.stderr
    assert without_times(reset.stdout) == without_times(first.stdout)


def without_times(text: str) -> list[str]:
    """The words of an output, but for the times that searches took."""
    words = text.split()
    return [word for word, after in zip(words, [*words[1:], ""], strict=True) if after != "ms:"]
