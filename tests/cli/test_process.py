"""The command line as whole processes: exit codes, and which stream gets what."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import GITHUB


def tool_rag(
    *arguments: str, url: str, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tool_rag_pg.cli.main", *arguments],
        capture_output=True,
        text=True,
        input=stdin,
        env={**os.environ, "TOOL_RAG_DATABASE_URL": url},
    )


def test_from_an_export_to_a_shortlist(database: str, tmp_path: Path) -> None:
    ingested = tool_rag("ingest", "-", url=database, stdin=json.dumps(GITHUB))
    assert (ingested.returncode, ingested.stdout.count("\n")) == (0, 2)
    assert tool_rag("roles", "add", "developer", url=database).returncode == 0
    assert tool_rag("grant", "developer", "github/*", url=database).returncode == 0
    found = tool_rag("search", "open a pull request", "--role", "developer", "--json", url=database)
    assert found.returncode == 0
    assert json.loads(found.stdout)[0]["name"] == "create_pull_request"
    assert "that role developer may see\n" in found.stderr
    failed = tool_rag("revoke", "developer", "nope/*", url=database)
    assert (failed.returncode, failed.stdout) == (1, "")
    usage = tool_rag("grant", "developer", "github", url=database)
    assert (usage.returncode, usage.stdout) == (2, "")


def test_a_database_that_is_not_ready_or_not_there(make_database: object) -> None:
    assert callable(make_database)
    missing = tool_rag("search", "x", url=make_database())
    assert (missing.returncode, missing.stdout) == (3, "")
    assert "tool-rag db upgrade" in missing.stderr
    url = "postgresql://user:secret@127.0.0.1:1/none?connect_timeout=2"
    away = tool_rag("search", "x", url=url)
    assert (away.returncode, away.stdout) == (3, "")
    assert "secret" not in away.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_evaluation_that_is_told_to_end_drops_its_database(
    database: str, tmp_path: Path, number: signal.Signals
) -> None:
    tools = [{"name": f"tool_{place}", "description": f"Does {place}."} for place in range(40)]
    (tmp_path / "catalog.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools))
    # Far more than are asked before the signal comes.
    asked = [{"id": n, "query": f"do {n}", "expected": ["tool_1"]} for n in range(20_000)]
    (tmp_path / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    output = tmp_path / "result.json"
    process = subprocess.Popen(
        [
            # A shell that starts something in the background has it ignore SIGINT, nohup SIGHUP.
            *(
                sys.executable,
                "-c",
                "import signal; from tool_rag_pg.cli.main import main;"
                " signal.signal(signal.SIGINT, signal.default_int_handler);"
                " signal.signal(signal.SIGHUP, signal.SIG_DFL); main()",
            ),
            *("eval", "--set", "own", "--path", str(tmp_path), "--output", str(output)),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TOOL_RAG_DATABASE_URL": database},
    )
    partial = tmp_path / "result.json.partial"
    while process.poll() is None and (not partial.exists() or partial.stat().st_size < 2000):
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 128 + number, err
    assert f"Interrupted. The same command goes on from {partial}." in err
    assert not output.exists()
    with psycopg.connect(database) as connection:
        left = connection.execute(
            "select count(*) from pg_database where datname like 'tool\\_rag\\_eval\\_%'"
        ).fetchone()
    assert left == (0,)
