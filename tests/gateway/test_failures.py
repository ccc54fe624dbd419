"""What breaks on the way: servers that are killed, clients that leave, a database that is gone.

Whatever happens, each call has one answer, and what may change something is carried out once at
most. The peers' ledgers say what was carried out.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import psutil
import psycopg
import pytest
from mcp import Client, MCPError
from psycopg.conninfo import conninfo_to_dict

from tests.conftest import Postgres

from .conftest import (
    MODES,
    PeerServer,
    Running,
    Serve,
    accept,
    count_tools,
    run,
    stdio_peer,
    text_of,
    wait_until,
)


def call(client: Client, server: str, tool: str, /, **arguments: Any) -> Any:
    asked = {"server": server, "name": tool, "arguments": arguments}
    return client.call_tool("call_tool", asked)


@pytest.fixture
def peer(folder: Path, request: pytest.FixtureRequest) -> Any:
    peer = PeerServer(folder, request.node.name.replace("[", "-").strip("]")).start()
    yield peer
    peer.stop()


def serve_one(serve: Serve, server: dict[str, Any], **limits: Any) -> Running:
    return serve(
        {
            "servers": [server],
            "permissions": {"mode": "none"},
            "confirmation": {"calls": "never"},
            "limits": {"requests_per_minute": 1_000_000, **limits},
        },
        tools_of=(server["name"],),
    )


def child_of(gateway: Running) -> psutil.Process:
    """The server that the gateway has started itself."""

    def find() -> psutil.Process | None:
        children = psutil.Process(gateway.process.popen.pid).children(recursive=True)
        return next((each for each in children if "tests.gateway.peer" in each.cmdline()), None)

    found: psutil.Process = wait_until(find, "the server's process")
    return found


@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_a_server_is_killed_and_started_again_during_calls(
    serve: Serve,
    folder: Path,
    peer: PeerServer,
    kind: str,
    record_property: Callable[[str, object], None],
) -> None:
    """Nothing is lost: as many answers as calls, no write twice, no read without its result."""
    name = f"killed-{kind}"
    server = {"name": name, "url": peer.url} if kind == "http" else stdio_peer(folder, name)
    gateway = serve_one(serve, server, connect_seconds=20)
    ledger = peer.ledger if kind == "http" else folder / f"{name}.ledger"
    answers: dict[str, Counter[str]] = {"read": Counter(), "write": Counter()}
    written: set[str] = set()
    rounds = 40

    async def work(client: Client, worker: int) -> None:
        for turn in range(rounds):
            mark = f"{worker}.{turn}"
            read = await call(client, name, "wait_and_look", mark=f"r{mark}", seconds=0.02)
            answers["read"]["ok" if text_of(read) == f"done r{mark}" else text_of(read)] += 1
            wrote = await call(client, name, "wait_and_write", mark=f"w{mark}", seconds=0.02)
            if not wrote.is_error:
                written.add(f"w{mark}")
            answers["write"]["ok" if not wrote.is_error else text_of(wrote)] += 1

    async def disturb() -> None:
        for _ in range(3):
            await anyio.sleep(0.8)
            if kind == "http":
                await anyio.to_thread.run_sync(peer.kill)
                await anyio.sleep(0.3)
                await anyio.to_thread.run_sync(peer.start)
            else:
                await anyio.to_thread.run_sync(lambda: child_of(gateway).kill())

    async def main() -> None:
        async with gateway.client() as client, anyio.create_task_group() as tasks:
            tasks.start_soon(disturb)
            for worker in range(8):
                tasks.start_soon(work, client, worker)

    run(main)
    lines = ledger.read_text(encoding="utf-8").splitlines()
    begun = Counter(line for line in lines if line.startswith("begun w"))
    done = {line.removeprefix("done ") for line in lines if line.startswith("done w")}
    assert sum(answers["read"].values()) == sum(answers["write"].values()) == 8 * rounds
    assert answers["read"] == {"ok": 8 * rounds}
    assert max(begun.values()) == 1
    # What was answered as done was done; what was not is said to be in doubt, or not sent.
    assert written <= done
    wrong = [text for text in answers["write"] if text != "ok"]
    assert all("ended during the call" in text for text in wrong), wrong
    assert answers["write"]["ok"] >= 8 * rounds - 3 * 8
    record_property(
        "tried",
        f"{2 * 8 * rounds} calls, 3 kills: {answers['read']['ok']} reads answered, "
        f"{answers['write']['ok']} writes answered, {len(wrong)} kinds of doubt for "
        f"{8 * rounds - answers['write']['ok']} writes, none carried out twice",
    )
    assert gateway.metric("tool_rag_calls_under_way") == 0


def test_a_server_that_is_down_blocks_nothing(serve: Serve, folder: Path, catalogue: str) -> None:
    away = PeerServer(folder, "away")
    gateway = serve(
        {
            "servers": [{"name": "away", "url": away.url}, stdio_peer(folder, "here")],
            "permissions": {"mode": "none"},
            "confirmation": {"calls": "never"},
            "limits": {"connect_seconds": 1},
        },
        tools_of=("here",),
    )
    assert count_tools(catalogue, "away") == 0

    async def search(client: Client) -> set[str]:
        found = await client.call_tool("search_tools", {"query": "add numbers", "limit": 20})
        assert not found.is_error, text_of(found)
        return {tool["server"] for tool in found.structured_content["tools"]}

    async def main() -> None:
        async with gateway.client() as client:
            assert await search(client) == {"here"}
            # Comes up: its tools are there without a restart.
            away.start()
            await anyio.to_thread.run_sync(
                lambda: wait_until(lambda: count_tools(catalogue, "away"), "its tools")
            )
            assert await search(client) == {"away", "here"}
            # Goes down: they are hidden once that is known, and a call says so at once.
            away.kill()
            refused = await call(client, "away", "add_numbers", a=1, b=2)
            assert refused.is_error
            assert "away is not available" in text_of(refused) or "reached" in text_of(refused)
            assert await search(client) == {"here"}
            assert gateway.metric("tool_rag_upstream_up", server="away") == 0
            assert gateway.metric("tool_rag_upstream_up", server="here") == 1
            away.start()

            async def comes_back() -> None:
                while await search(client) != {"away", "here"}:
                    await anyio.sleep(0.1)

            with anyio.fail_after(30):
                await comes_back()
            assert text_of(await call(client, "away", "add_numbers", a=1, b=2)) == "3"

    run(main)
    away.stop()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_a_client_that_leaves_cancels_its_call(
    serve: Serve, folder: Path, peer: PeerServer, kind: str, mode: str
) -> None:
    name = f"left-{kind}-{mode}"
    server = {"name": name, "url": peer.url} if kind == "http" else stdio_peer(folder, name)
    gateway = serve_one(serve, server)
    ledger = peer.ledger if kind == "http" else folder / f"{name}.ledger"

    def entries() -> list[str]:
        return ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []

    async def main() -> None:
        async with gateway.client(mode=mode) as client:
            with anyio.move_on_after(1.0):
                await call(client, name, "wait_and_write", mark=mode, seconds=30)
            # The session goes on.
            assert text_of(await call(client, name, "add_numbers", a=1, b=2)) == "3"

    run(main)
    wait_until(lambda: f"cancelled {mode}" in entries(), "the cancellation", 10)
    assert f"done {mode}" not in entries()
    assert gateway.metric("tool_rag_calls_under_way") == 0


def test_a_broken_connection_cancels_its_call(serve: Serve, peer: PeerServer) -> None:
    """Not a polite cancellation: the client's socket is gone."""
    gateway = serve_one(serve, {"name": "gone", "url": peer.url})
    arguments = {"mark": "gone", "seconds": 30}
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "call_tool",
            "arguments": {"server": "gone", "name": "wait_and_write", "arguments": arguments},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "call_tool",
    }

    with pytest.raises(httpx2.ReadTimeout), httpx2.Client(timeout=1.5) as client:
        client.post(gateway.url, json=body, headers=headers)
    wait_until(lambda: "cancelled gone" in peer.entries(), "the cancellation", 10)


@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_a_call_ends_in_time(serve: Serve, folder: Path, peer: PeerServer, kind: str) -> None:
    name = f"slow-{kind}"
    server = {"name": name, "url": peer.url} if kind == "http" else stdio_peer(folder, name)
    gateway = serve_one(serve, {**server, "call_seconds": 0.5})
    ledger = peer.ledger if kind == "http" else folder / f"{name}.ledger"

    async def main() -> None:
        async with gateway.client() as client:
            late = await call(client, name, "wait_and_write", mark="late", seconds=30)
            assert late.is_error
            assert "did not answer within 0.5 s" in text_of(late)
            assert text_of(await call(client, name, "add_numbers", a=1, b=2)) == "3"

    run(main)
    wait_until(
        lambda: "cancelled late" in ledger.read_text(encoding="utf-8"), "the cancellation", 10
    )


@pytest.mark.parametrize("mode", MODES)
def test_told_to_stop_it_finishes_calls(serve: Serve, peer: PeerServer, mode: str) -> None:
    gateway = serve_one(serve, {"name": f"last-{mode}", "url": peer.url})
    answers: list[str] = []

    async def main() -> None:
        async with gateway.client(mode=mode) as client, anyio.create_task_group() as tasks:

            async def last() -> None:
                result = await call(
                    client, f"last-{mode}", "wait_and_write", mark="last", seconds=1.5
                )
                answers.append(text_of(result))

            tasks.start_soon(last)
            while "begun last" not in peer.entries():
                await anyio.sleep(0.02)
            gateway.process.popen.send_signal(signal.SIGTERM)
            await anyio.sleep(0.2)
            assert gateway.get("/readyz")[0] == 503
            assert gateway.get("/healthz")[0] == 200

    run(main)
    assert answers == ["done last"]
    assert gateway.process.popen.wait(15) == 0
    assert "done last" in peer.entries()


def test_without_its_database_a_search_is_no_empty_answer(
    serve: Serve, folder: Path, gateway_postgres: Postgres
) -> None:
    gateway = serve_one(serve, stdio_peer(folder, "kept"))
    name = conninfo_to_dict(gateway.database)["dbname"]

    def admit(allowed: bool) -> None:
        with psycopg.connect(gateway_postgres.server.url("postgres"), autocommit=True) as admin:
            admin.execute(f'alter database "{name}" allow_connections {allowed}'.encode())
            if not allowed:
                admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s",
                    (name,),
                )

    async def main() -> None:
        async with gateway.client() as client:
            assert not (await client.call_tool("search_tools", {"query": "add"})).is_error
            admit(False)
            try:
                found = await client.call_tool("search_tools", {"query": "add"})
                assert found.is_error
                assert "does not mean that there is no tool" in text_of(found)
                assert gateway.get("/readyz")[0] == 503
                with pytest.raises(MCPError, match="can't be listed"):
                    await client.list_tools()
            finally:
                admit(True)
            wait_until(lambda: gateway.get("/readyz")[0] == 200, "the database")
            assert not (await client.call_tool("search_tools", {"query": "add"})).is_error

    run(main)


@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_a_tool_that_is_new_is_found_without_a_restart(
    serve: Serve, folder: Path, peer: PeerServer, kind: str
) -> None:
    name = f"learning-{kind}"
    server = {"name": name, "url": peer.url} if kind == "http" else stdio_peer(folder, name)
    gateway = serve_one(serve, server)

    async def main() -> None:
        async with gateway.client() as client:
            await call(client, name, "learn_a_tool", name="whistle_loudly")
            with anyio.fail_after(20):
                while True:
                    found = await client.call_tool("search_tools", {"query": "whistle loudly"})
                    names = [tool["name"] for tool in found.structured_content["tools"]]
                    if "whistle_loudly" in names:
                        break
                    await anyio.sleep(0.1)
            assert names[0] == "whistle_loudly"

    run(main)


def test_a_change_waits_where_the_policy_says_so(
    serve: Serve, folder: Path, catalogue: str
) -> None:
    gateway = serve_one(serve, stdio_peer(folder, "watched"))
    with psycopg.connect(catalogue, autocommit=True) as connection:
        connection.execute("select tool_rag.set_review_policy('watched', 'review')")

    def waiting() -> list[Any]:
        with psycopg.connect(catalogue, autocommit=True) as connection:
            return connection.execute("select name from tool_rag.list_pending_tools()").fetchall()

    async def main() -> None:
        async with gateway.client() as client:
            await call(client, "watched", "learn_a_tool", name="obey_me")
            await anyio.to_thread.run_sync(
                lambda: wait_until(lambda: ("obey_me",) in waiting(), "the new tool")
            )
            found = await client.call_tool("search_tools", {"query": "obey me", "limit": 20})
            names = [tool["name"] for tool in found.structured_content["tools"]]
            assert "obey_me" not in names
            assert (await call(client, "watched", "obey_me")).is_error

    run(main)
    assert gateway.process.lines("tools need a look")


def test_two_hundred_clients_at_once(serve: Serve, folder: Path, peer: PeerServer) -> None:
    gateway = serve_one(serve, {"name": "busy", "url": peer.url})
    sums: list[str] = []

    async def one(number: int) -> None:
        async with gateway.client(mode=MODES[number % 2]) as client:
            found = await client.call_tool("search_tools", {"query": "add two numbers"})
            assert found.structured_content["tools"][0]["name"] == "add_numbers"
            sums.append(text_of(await call(client, "busy", "add_numbers", a=number, b=1)))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(one, number)

    start = time.monotonic()
    run(main)
    assert sorted(map(int, sums)) == list(range(1, 201)), time.monotonic() - start
    assert gateway.metric("tool_rag_calls_total", outcome="called", server="busy") == 200


def test_what_the_client_says_is_bounded(serve: Serve, folder: Path) -> None:
    gateway = serve_one(serve, stdio_peer(folder, "bounded"), request_bytes=100_000)

    async def main() -> None:
        async with gateway.client(elicitation_callback=accept) as client:
            with pytest.raises(MCPError):
                await client.call_tool("search_tools", {"query": "x" * 200_000})
            refused = await client.call_tool("search_tools", {"query": "x" * 20_000})
            assert refused.is_error
            deep: Any = {}
            for _ in range(150):
                deep = {"a": deep}
            nested = await client.call_tool(
                "call_tool", {"server": "bounded", "name": "add_numbers", "arguments": deep}
            )
            assert nested.is_error
            assert isinstance(nested, types.CallToolResult)

    run(main)
