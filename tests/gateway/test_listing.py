"""Lists of servers that run: `tool-rag ingest` and `export`, and the catalogue kept up to date."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tool_rag_pg.cli.main import main
from tool_rag_pg.retriever import ToolRetriever

from .conftest import ROOT, PeerServer, Serve, count_tools, run, stdio_peer, text_of, wait_until
from .peer import TOOLS

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def peer(folder: Path) -> Iterator[PeerServer]:
    peer = PeerServer(folder, "web").start()
    yield peer
    peer.stop()


@pytest.fixture
def cli(catalogue: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.setenv("TOOL_RAG_DATABASE_URL", catalogue)
    monkeypatch.chdir(ROOT)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        written = capsys.readouterr()
        return int(ended.value.code or 0), written.out, written.err

    return call


def command(folder: Path) -> str:
    ledger = str(folder / "started.ledger")
    return shlex.join([sys.executable, "-m", "tests.gateway.peer", "--ledger", ledger])


def test_a_server_that_runs_is_ingested(
    cli: Cli, peer: PeerServer, folder: Path, catalogue: str
) -> None:
    code, out, err = cli("ingest", "--mcp", peer.url, "--json")
    assert code == 0, err
    (server,) = json.loads(out)["servers"]
    assert (server["server"], server["tools"], server["added"]) == ("peer", len(TOOLS), len(TOOLS))
    code, out, _ = cli("ingest", "--command", command(folder), "--server", "started", "--json")
    assert json.loads(out)["servers"][0]["added"] == len(TOOLS)
    assert count_tools(catalogue, "started") == len(TOOLS)
    with psycopg.connect(catalogue) as connection:
        tool = ToolRetriever(connection).describe_tool("started", "list_my_orders")
    assert tool.identity_parameters == ["customer_id"]
    assert not tool.is_action
    # Again: nothing is new.
    _, out, _ = cli("ingest", "--command", command(folder), "--server", "started", "--json")
    assert json.loads(out)["servers"][0]["unchanged"] == len(TOOLS)
    assert cli("ingest", "--mcp", peer.url, "--server", "dry", "--dry-run")[0] == 0
    assert count_tools(catalogue, "dry") == 0


def test_lists_are_written_as_files(
    cli: Cli, peer: PeerServer, folder: Path, catalogue: str, tmp_path: Path
) -> None:
    assert cli("ingest", "--mcp", peer.url, "--server", "kept")[0] == 0
    code, out, err = cli("export", "--mcp", peer.url, "--output", str(tmp_path / "live"))
    assert (code, out) == (0, ""), err
    live = json.loads((tmp_path / "live/peer.json").read_text(encoding="utf-8"))
    assert [tool["name"] for tool in live["tools"]] == [tool.name for tool in TOOLS]
    assert cli("export", "--server", "kept", "--output", str(tmp_path / "stored"))[0] == 0
    code, out, _ = cli("export", "--server", "kept")
    assert json.loads(out) == json.loads((tmp_path / "stored/kept.json").read_text("utf-8"))
    # Both come back as what is there already.
    (tmp_path / "live/peer.json").rename(tmp_path / "live/kept.json")
    live["server"] = "kept"
    (tmp_path / "live/kept.json").write_text(json.dumps(live), encoding="utf-8")
    for path in ("live", "stored"):
        code, out, err = cli("ingest", str(tmp_path / path), "--json")
        (change,) = json.loads(out)["servers"]
        assert (change["server"], change["unchanged"]) == ("kept", len(TOOLS)), err
        assert change["changed"] == change["added"] == change["removed"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ingest", "--mcp", "http://127.0.0.1:1/mcp"], "can't be reached"),
        (["ingest", "--command", "no-such-program --x"], "no-such-program"),
        (["ingest", "--command", "'"], "--command can't be read"),
        (["ingest", "--command", " "], "--command is empty"),
        (["ingest", "--mcp", "nonsense"], "url: it is no http:// or https:// address"),
        (["ingest", "--mcp", "http://x/mcp", "--command", "y"], "either a url or a command"),
        (["ingest", "--mcp", "http://x/mcp", "exports/"], "comes alone"),
        (["ingest", "--mcp", "http://x/mcp", "--header", "SECRET-VALUE"], "NAME:VALUE"),
        (["ingest", "--mcp", "http://x/mcp", "--header", "X-Key: SECRET-VALUE"], "env:NAME"),
        (["ingest", "--mcp", "http://x/mcp", "--header", "A: env:NOT_SET_X"], "NOT_SET_X"),
        (["ingest", "--command", "y", "--env", "A_TOKEN=SECRET-VALUE"], "env:NAME"),
        (["ingest"], "no list of paths"),
        (["export", "--server", "nobody*"], "no server of the catalogue fits"),
        (["export", "--command", f"{sys.executable} -c 'print(7)'"], "can't be reached"),
    ],
)
def test_what_is_wrong_is_said(cli: Cli, catalogue: str, arguments: list[str], said: str) -> None:
    code, out, err = cli(*arguments)
    assert code in (1, 2)
    assert said in err
    assert out == ""
    assert "SECRET-VALUE" not in err
    assert "Traceback" not in err


def test_an_output_that_can_not_be_written(cli: Cli, peer: PeerServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    code, _, err = cli("export", "--mcp", peer.url, "--output", str(tmp_path / "file"))
    assert code == 2
    assert "can't be written" in err


def test_a_server_that_tells_nothing_is_asked_from_time_to_time(
    serve: Serve, folder: Path, catalogue: str
) -> None:
    gateway = serve(
        {
            "servers": [stdio_peer(folder, "silent", refresh_seconds=0.5)],
            "permissions": {"mode": "none"},
        },
        tools_of=("silent",),
    )
    with psycopg.connect(catalogue, autocommit=True) as connection:
        # As if the server had had another tool meanwhile, and told nobody.
        connection.execute("delete from tool_rag.tool where name = 'show_picture'")
    wait_until(lambda: count_tools(catalogue, "silent") == len(TOOLS), "the poll")
    assert gateway.metric("tool_rag_refreshes_total", server="silent", outcome="stored") >= 2


def test_what_is_down_is_offered_where_the_policy_says_so(
    serve: Serve, folder: Path, catalogue: str
) -> None:
    away = PeerServer(folder, "offered").start()
    gateway = serve(
        {
            "servers": [{"name": "offered", "url": away.url}],
            "permissions": {"mode": "none"},
            "unavailable": "offer",
            "limits": {"connect_seconds": 1},
        },
        tools_of=("offered",),
    )

    async def main() -> None:
        async with gateway.client() as client:
            asked = {"server": "offered", "name": "add_numbers", "arguments": {"a": 1, "b": 2}}
            away.kill()
            assert (await client.call_tool("call_tool", asked)).is_error
            found = await client.call_tool("search_tools", {"query": "add two numbers"})
            assert found.structured_content["tools"][0]["available"] is False
            away.start()
            end = time.monotonic() + 30
            result: Any = None
            while time.monotonic() < end:
                result = await client.call_tool("call_tool", asked)
                if not result.is_error:
                    break
            assert text_of(result) == "3"
            found = await client.call_tool("search_tools", {"query": "add two numbers"})
            assert "available" not in found.structured_content["tools"][0]

    run(main)
    away.stop()


def test_what_a_server_writes_to_its_error_output_is_a_line_of_the_log(
    serve: Serve, folder: Path
) -> None:
    shell = "printf '\\033[31mhello\\n' >&2; exec " + command(folder)
    gateway = serve(
        {
            "servers": [{"name": "loud", "command": "sh", "args": ["-c", shell], "cwd": str(ROOT)}],
            "permissions": {"mode": "none"},
        },
        tools_of=("loud",),
    )
    lines = wait_until(lambda: gateway.process.lines("upstream says"), "its line")
    assert lines[0]["upstream"] == "loud"
    assert lines[0]["text"] == "\x1b[31mhello"
    assert "\x1b" not in gateway.process.said()
