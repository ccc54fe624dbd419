"""docs/permissions.md is what the catalogue says, and docs/security.md claims what is tested."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tool_rag_pg.cli._permissions import render

ROOT = Path(__file__).resolve().parents[2]

Connection = psycopg.Connection[tuple[Any, ...]]


def test_permissions_md_is_what_the_catalogue_says(connection: Connection) -> None:
    page = (ROOT / "docs/permissions.md").read_text(encoding="utf-8")
    assert page == render(connection), (
        "run: python -m tool_rag_pg.cli._permissions > docs/permissions.md"
    )


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("alter table tool_rag.tool disable row level security", "no row level security"),
        ("create policy all_see on tool_rag.tool using (true)", "for others than admins"),
        ("alter function tool_rag.embed(text) security invoker", "does not run as its owner"),
        ("grant usage on sequence tool_rag.tool_tool_id_seq to tool_rag_reader", "on the sequence"),
    ],
)
def test_the_page_is_not_written_of_what_it_could_not_tell(
    connection: Connection, damage: str, said: str
) -> None:
    connection.execute(damage.encode())
    with pytest.raises(ValueError, match=said):
        render(connection)


def test_every_function_of_a_group_is_guarded(connection: Connection) -> None:
    # By what its source calls, as the page says it; these tell nobody of a tool.
    rows = re.findall(r"^\| `(\w+)\(.*?\)` \| ([\w ]+) \|", render(connection), re.MULTILINE)
    assert len(rows) > 40
    assert [name for name, guard in rows if guard == "tells nothing of tools"] == [
        "authenticate_key",
        "embed",
        "record_call",
        "record_message",
    ]
    assert [name for name, guard in rows if guard == "tells a bound login of its own roles"] == [
        "unknown_roles"
    ]
    own = connection.execute("""
        select p.proname from pg_proc p
        where p.pronamespace = 'tool_rag'::regnamespace and p.proname not like '\\_%'
            and p.prosrc !~ 'tool_rag\\._(caller|find_called|resolve_tool|search|check_unbound)\\('
    """).fetchall()
    # These ask by way of search_tools, with the arguments that they were given.
    assert {name for (name,) in own} == {
        "authenticate_key",
        "embed",
        "record_call",
        "record_message",
        "search_tools_batch",
        "unknown_roles",
    }


def functions_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_claim_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    claims = re.findall(r"^\| ([A-Z\"`].*?) \| (`tests/.*) \|$", page, re.MULTILINE)
    assert len(claims) > 25
    named = [
        reference for _, cell in claims for reference in re.findall(r"`([^`:]+)::(\w+)`", cell)
    ]
    assert len(named) >= len(claims)
    assert all(re.search(r"`[^`:]+::\w+`", cell) for _, cell in claims)
    missing = [f"{path}::{name}" for path, name in named if name not in functions_in(ROOT / path)]
    assert missing == []
    # Nothing that looks like a reference is written otherwise.
    assert len(re.findall(r"tests/\S+?::", page)) == len(named)
