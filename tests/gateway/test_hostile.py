"""A server that means no good harms itself, and neither the gateway nor who else uses it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import anyio
import psutil
import psycopg
import pytest
from mcp import Client

from .conftest import ROOT, Running, Serve, count_tools, run, stdio_peer, text_of, wait_until

TOKEN = "token-of-the-hostile-server"


@pytest.fixture(scope="module")
def gateway(serve: Serve, folder: Path) -> Running:
    return serve(
        {
            "servers": [
                {
                    "name": "hostile",
                    "command": sys.executable,
                    "args": ["-m", "tests.gateway.hostile"],
                    "cwd": str(ROOT),
                    "env": {"HOSTILE_TOKEN": "env:HOSTILE_TOKEN"},
                },
                stdio_peer(folder, "honest"),
            ],
            "permissions": {"mode": "none"},
            "limits": {"result_bytes": 1_000_000, "requests_per_minute": 1_000_000},
        },
        {"HOSTILE_TOKEN": TOKEN},
        tools_of=("hostile", "honest"),
    )


async def call(client: Client, server: str, tool: str, arguments: Any = None) -> Any:
    asked = {"server": server, "name": tool, "arguments": arguments or {}}
    return await client.call_tool("call_tool", asked)


def test_a_tool_that_can_not_be_stored_hides_no_other(gateway: Running, catalogue: str) -> None:
    assert count_tools(catalogue, "hostile") == 4
    lines = gateway.process.lines("tool left out")
    assert len(lines) >= 2
    assert {line["upstream"] for line in lines} == {"hostile"}
    with psycopg.connect(catalogue) as connection:
        names = connection.execute(
            "select t.name from tool_rag.tool t join tool_rag.server s using (server_id)"
            " where s.name = 'hostile' order by 1"
        ).fetchall()
    assert names == [("doubling",), ("fine",), ("tell_secret",), ("too_much",)]


def test_a_schema_without_end_holds_nobody_up(gateway: Running) -> None:
    process = psutil.Process(gateway.process.popen.pid)
    waited: list[float] = []

    async def main() -> None:
        async with gateway.client() as client, gateway.client() as other:
            assert text_of(await call(client, "hostile", "fine")) == "done"
            before = process.memory_info().rss

            async def bystander() -> None:
                while True:
                    start = time.monotonic()
                    assert text_of(await call(other, "honest", "make_text", {"length": 1})) == "x"
                    waited.append(time.monotonic() - start)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(bystander)
                for _ in range(5):
                    done = await call(client, "hostile", "doubling", {"a": 1})
                    # Which the server may still refuse; the gateway gives up checking it.
                    assert text_of(done) == "done"
                tasks.cancel_scope.cancel()
            assert process.memory_info().rss - before < 300_000_000

    run(main)
    # Calls of others went on between; how fast is the machine's business.
    assert len(waited) >= 5


def test_what_it_is_given_is_in_no_log_and_no_answer(gateway: Running) -> None:
    async def main() -> None:
        async with gateway.client() as client:
            refused = await call(client, "hostile", "tell_secret")
            assert refused.is_error
            assert "refused: (secret) is wrong" in text_of(refused)

    run(main)
    wait_until(lambda: gateway.process.lines("upstream says"), "its lines")
    assert gateway.process.lines("upstream says")[0]["text"] == "the token is (secret)"
    assert TOKEN not in gateway.process.said()


def test_what_it_writes_does_not_fill_the_disk(gateway: Running) -> None:
    (left_out,) = wait_until(
        lambda: gateway.process.lines("upstream said more")[:1], "the count of lines", 40
    )
    assert left_out["lines"] > 100
    said = gateway.process.lines("upstream says")
    seconds = time.time() - psutil.Process(gateway.process.popen.pid).create_time()
    assert len(said) <= 50 * (seconds / 10 + 2)


def test_an_answer_that_is_too_large_is_none(gateway: Running) -> None:
    async def main() -> None:
        async with gateway.client() as client:
            refused = await call(client, "hostile", "too_much")
            assert refused.is_error
            assert "3,000,000 characters" in text_of(refused)
            long = await call(client, "q" * 300, "fine")
            assert long.is_error
            assert len(text_of(long)) < 1_000

    run(main)
    assert max(map(len, gateway.process.said().splitlines())) < 10_000
