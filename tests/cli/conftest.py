"""Running the command line inside the test's process, on a database of the test's own."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tool_rag_pg.cli.main import main
from tool_rag_pg.retriever import ToolRetriever


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def rows(self) -> list[dict[str, str]]:
        """The table on stdout, as it is printed where there is no terminal."""
        head, *lines = (line.split("\t") for line in self.out.splitlines())
        return [dict(zip(head, line, strict=True)) for line in lines]


Cli = Callable[..., Outcome]

OBJECT = {"type": "object", "properties": {}}
GITHUB = {
    "server": "github",
    "tools": [
        {
            "name": "create_pull_request",
            "title": "Open new pull request",
            "description": "Create a new pull request in a GitHub repository.",
            "input_schema": {
                "type": "object",
                "properties": {"head": {"type": "string", "description": "Branch with changes"}},
            },
        },
        {
            "name": "list_issues",
            "description": "List the issues of a repository.",
            "input_schema": OBJECT,
            "annotations": {"readOnlyHint": True},
        },
        {"name": "delete_repo", "description": "Delete a repository.", "input_schema": OBJECT},
    ],
}
MAIL = {
    "server": "mail",
    "tools": [
        {"name": "send_message", "description": "Send an e-mail.", "input_schema": OBJECT},
        {"name": "list_folders", "description": "List mail folders.", "input_schema": OBJECT},
    ],
}


def mcp(*names: str, **server: str) -> dict[str, Any]:
    """A result of tools/list."""
    return {
        **server,
        "tools": [{"name": n, "description": f"Do {n}.", "inputSchema": OBJECT} for n in names],
    }


@pytest.fixture
def cli(database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return a function that runs `tool-rag ARGUMENTS` on an empty migrated database."""
    monkeypatch.setenv("TOOL_RAG_DATABASE_URL", database)

    def run(*arguments: str, stdin: str = "") -> Outcome:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        written = capsys.readouterr()
        return Outcome(int(exit_.value.code or 0), written.out, written.err)

    return run


@pytest.fixture
def tools(database: str) -> None:
    """Two servers with five tools, and no role."""
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools([GITHUB, MAIL])


@pytest.fixture
def developer(database: str, tools: None) -> str:
    """A role that may use all of github but delete_repo."""
    with ToolRetriever(database) as retriever:
        retriever.add_role("developer")
        retriever.grant_tools("developer", "github")
        retriever.grant_tools("developer", "*", "delete_*", effect="deny")
    return "developer"
