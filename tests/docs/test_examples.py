"""What the docs show runs as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tool_rag_pg.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_sql_blocks_run_in_order(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        try:
            for block in blocks("docs/sql.md", "sql"):
                # Several statements in one string: without parameters psycopg sends them as
                # they are.
                connection.execute(block.replace("web_backend", "docs_backend"))
            connection.execute("set role docs_backend")
            # All that it may see: it is bound to what its roles permit.
            names = connection.execute("select name from tool_rag.my_tools").fetchall()
            assert ("list_orders",) in names
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("select tool_rag.grant_tools('support', '*', '*')")
        finally:
            connection.execute("reset role; drop owned by docs_backend; drop role docs_backend")


def test_the_sql_on_review_runs(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        for block in blocks("docs/review.md", "sql"):
            connection.execute(block)
        policies = connection.execute("select * from tool_rag.list_review_policies()").fetchall()
        assert [row[:2] for row in policies] == [(None, "withhold"), ("github", "review")]


def test_the_files_and_the_sql_on_policies_work(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = ("--database-url", database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("select tool_rag.add_role('support'), tool_rag.add_role('reports')")
        for language, ending, rules in (
            ("csv", "csv", 3),
            ("yaml", "yaml", 1),
            ("json", "json", 1),
        ):
            (text,) = blocks("docs/policies.md", language)
            file = tmp_path / f"rules.{ending}"
            file.write_text(text, encoding="utf-8")
            with pytest.raises(SystemExit) as exit_:
                main([*url, "grants", "import", str(file), "--dry-run", "--json"])
            assert not exit_.value.code
            document = json.loads(capsys.readouterr().out)
            assert (document["added"], len(document["rules"])) == (rules, rules)
            # The page names every key of the document, and every one of its rules.
            page = (ROOT / "docs/policies.md").read_text(encoding="utf-8")
            assert [key for key in document if f"`{key}`" not in page] == []
            assert f"`{', '.join(document['rules'][0])}`" in page
        assert document["not_mapped"] == ["reports.orders.limits", "reports.orders.rate"]
        (sql,) = blocks("docs/policies.md", "sql")
        (row,) = connection.execute(sql.encode()).fetchall()
        assert row[:2] == ("added", "support")


def test_the_page_on_review_has_every_rule(connection: psycopg.Connection[Any]) -> None:
    rules = connection.execute("select rule, severity from tool_rag._lint_rules()").fetchall()
    listed = set()
    rule = ""
    for name, severity in re.findall(
        r"^\| (?:`(\w+)` )?\| (high|medium|low) \|",
        (ROOT / "docs/review.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    ):
        rule = name or rule
        listed.add((rule, severity))
    assert listed == {
        *rules,
        ("looks_like_other", "high"),
        ("mixed_scripts", "high"),
        ("steers_other", "high"),
        ("copies_other", "medium"),
        ("wins_requests", "high"),
    }


def test_the_readme_s_sql_runs(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        for block in blocks("README.md", "sql"):
            connection.execute(block)
        row = connection.execute("select count(*) from tool_rag.tool").fetchone()
        assert row is not None
        assert row[0]


def test_the_functions_that_sql_md_lists_are_all_there_are(
    connection: psycopg.Connection[Any],
) -> None:
    rows = connection.execute(
        "select format('%s(%s)', proname, array_to_string(proargnames[1:pronargs], ', '))"
        " from pg_proc where pronamespace = 'tool_rag'::regnamespace and proname !~ '^_'"
        " and prorettype <> 'trigger'::regtype"
    ).fetchall()
    text = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+\(.*?\))` \|", text, re.MULTILINE)) == {row[0] for row in rows}


@pytest.mark.parametrize("name", ["docs/python.md", "README.md"])
def test_python_blocks_run_in_order(name: str, database: str, tmp_path: Path) -> None:
    (tmp_path / "shop.json").write_text(
        '{"tools": [{"name": "ship", "description": "Ship it", "inputSchema": {"type": "object"}}]}'
    )
    known: dict[str, Any] = {"DATABASE_URL": database, "EXPORTS": tmp_path}
    for block in blocks(name, "python"):
        exec(compile(block, name, "exec"), known)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/python.md",
        "docs/sql.md",
        "docs/cli.md",
        "docs/evaluation.md",
        "docs/embedders.md",
        "docs/university.md",
        "docs/permissions.md",
        "docs/security.md",
        "docs/review.md",
        "docs/policies.md",
    ],
)
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert ((ROOT / name).parent / target).exists(), target
