"""`make demo-gateway`, as far as it is not make: real servers, two people, what each may do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_demo(tmp_path: Path) -> None:
    home = tmp_path / "h"
    environment = {**os.environ, "TOOL_RAG_HOME": str(home), "PYTHONWARNINGS": ""}
    done = subprocess.run(
        [sys.executable, "-m", "tool_rag_pg.gateway.demo"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
    )
    subprocess.run(
        [sys.executable, "-m", "tool_rag_pg.cli.main", "db", "stop"], env=environment, check=True
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "7 tools of 2 servers" in said
    assert "14 tools of 2 servers" in said
    assert "refused: there is no tool 'git_commit'" in said
    assert "Changes committed successfully" in said
    assert "Message: Cheaper Skarn 3" in said
    assert "Created branch 'ideas'" in said
    assert said.count("is asked:") == 3
    assert "Ravi  not_permitted  git/git_commit" in said
    assert said.rstrip().endswith("was confirmed by a person.")
