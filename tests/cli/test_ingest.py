from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import GITHUB, MAIL, OBJECT, Cli, mcp


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """A folder with two good exports, a broken one, and a file that is none."""
    (tmp_path / "alpha.json").write_text(json.dumps(mcp("one", "two")))
    (tmp_path / "beta.json").write_text('{"tools": [{"name": "x", "inputSchema": ')
    (tmp_path / "gamma.json").write_text(json.dumps(mcp("three")))
    (tmp_path / "readme.json").write_text('{"hello": "world"}')
    return tmp_path


def stored(database: str) -> set[str]:
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "select s.name || '/' || t.name from tool_rag.tool t join tool_rag.server s"
            " on s.server_id = t.server_id"
        ).fetchall()
    return {row[0] for row in rows}


def test_counts_what_changed(cli: Cli, tmp_path: Path, database: str) -> None:
    file = tmp_path / "alpha.json"
    file.write_text(json.dumps(mcp("one", "two", "three")))
    first = cli("ingest", str(file))
    assert first.code == 0
    assert first.rows() == [
        {
            "server": "alpha",
            "file": str(file),
            "format": "mcp",
            "tools": "3",
            "added": "3",
            "changed": "0",
            "unchanged": "0",
            "removed": "0",
            "waiting": "0",
            "rejected": "0",
        }
    ]
    assert "3 tools of 1 server." in first.err
    assert "tool-rag grant developer 'alpha/*'" in first.err
    edited = mcp("one", "two", "four")
    edited["tools"][0]["description"] = "Do it otherwise."
    file.write_text(json.dumps(edited))
    (row,) = cli("ingest", str(file), "--json").json()["servers"]
    assert row == {
        "server": "alpha",
        "added": 1,
        "changed": 1,
        "unchanged": 1,
        "removed": 1,
        "waiting": 0,
        "rejected": 0,
        "flagged": 0,
        "path": str(file),
        "format": "mcp",
        "tools": 3,
    }
    assert stored(database) == {"alpha/one", "alpha/two", "alpha/four"}


def test_a_broken_file_leaves_the_others(cli: Cli, exports: Path, database: str) -> None:
    outcome = cli("ingest", str(exports))
    assert outcome.code == 1
    assert [row["server"] for row in outcome.rows()] == ["alpha", "gamma"]
    assert "Error: " in outcome.err
    assert "beta.json: line 1" in outcome.err
    assert "1 file could not be used. The rest was kept." in outcome.err
    assert f"Skipped {exports / 'readme.json'}" in outcome.err
    assert "beta" not in outcome.out
    assert stored(database) == {"alpha/one", "alpha/two", "gamma/three"}


def test_strict_keeps_nothing_when_a_file_is_broken(cli: Cli, exports: Path, database: str) -> None:
    outcome = cli("ingest", str(exports), "--strict")
    assert (outcome.code, outcome.out) == (1, "")
    assert "Nothing was kept." in outcome.err
    assert stored(database) == set()
    (exports / "beta.json").unlink()
    assert cli("ingest", str(exports), "--strict").code == 0
    assert stored(database) == {"alpha/one", "alpha/two", "gamma/three"}


def test_a_dry_run_counts_and_keeps_nothing(cli: Cli, exports: Path, database: str) -> None:
    (exports / "beta.json").unlink()
    outcome = cli("ingest", str(exports), "--dry-run")
    assert outcome.code == 0
    assert [row["added"] for row in outcome.rows()] == ["2", "1"]
    assert "Dry run: nothing was changed." in outcome.err
    assert stored(database) == set()


def test_json_lists_errors_and_skipped_files(cli: Cli, exports: Path) -> None:
    outcome = cli("ingest", str(exports), "--json")
    assert outcome.code == 1
    document = outcome.json()
    assert list(document) == ["servers", "errors", "skipped", "warnings"]
    assert [server["server"] for server in document["servers"]] == ["alpha", "gamma"]
    (error,) = document["errors"]
    assert error["path"] == str(exports / "beta.json")
    assert error["position"].startswith("line 1")
    assert [Path(skipped["path"]).name for skipped in document["skipped"]] == ["readme.json"]


def test_reads_stdin_under_a_given_name_and_format(cli: Cli, database: str) -> None:
    text = json.dumps([{"name": "pay", "description": "Pay.", "parameters": OBJECT}])
    outcome = cli("ingest", "-", "--server", "shop", "--format", "openai", stdin=text)
    assert outcome.code == 0
    assert [(row["server"], row["file"], row["format"]) for row in outcome.rows()] == [
        ("shop", "-", "openai")
    ]
    assert stored(database) == {"shop/pay"}


def test_what_the_database_refuses_of_a_file_takes_back_that_file_only(
    cli: Cli, tmp_path: Path, database: str
) -> None:
    lines = [
        {"server": "good", "name": "one", "description": "", "parameters": OBJECT},
        {"server": "star*", "name": "two", "description": "", "parameters": OBJECT},
    ]
    (tmp_path / "bad.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "good.json").write_text(json.dumps(mcp("three", server="other")))
    outcome = cli("ingest", str(tmp_path))
    assert outcome.code == 1
    assert "bad.jsonl: star*" in outcome.err
    assert [row["server"] for row in outcome.rows()] == ["other"]
    assert stored(database) == {"other/three"}
    assert cli("ingest", str(tmp_path), "--strict").code == 1
    assert stored(database) == {"other/three"}


def test_a_path_that_does_not_exist(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("ingest", str(tmp_path / "none.json"))
    assert (outcome.code, outcome.out) == (1, "")
    assert "none.json" in outcome.err
    assert "Nothing was kept." in outcome.err


def test_our_own_exports_can_be_read_back(cli: Cli, tmp_path: Path, database: str) -> None:
    file = tmp_path / "all.json"
    file.write_text(json.dumps([GITHUB, MAIL]))
    assert cli("ingest", str(file)).code == 0
    assert len(stored(database)) == 5
