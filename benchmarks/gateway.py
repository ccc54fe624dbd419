"""What a call costs through the gateway, against the same call made directly.

    python -m benchmarks.gateway --calls 400

One server with one tool that adds two numbers, over HTTP and started by a command; the gateway in a
process of its own, with keys, on the embedded Postgres, its audit at "counts". Direct calls and
calls through the gateway take turns, in rounds, so that what else the machine does meets both.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psycopg
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer

from benchmarks.harness import machine, print_tables, temporary_database
from tool_rag_pg.keys import SECRET_VARIABLE, new_key
from tool_rag_pg.retriever import ToolRetriever

ERAS = {"2026-07-28": "auto", "2025-11-25": "legacy"}
ROUNDS = 20
ARGUMENTS = {"a": 2, "b": 3}
Call = Callable[[], Awaitable[Any]]


def serve(port: int | None) -> None:
    """Be the server behind the gateway."""
    server = MCPServer("sums", log_level="WARNING")

    @server.tool()
    def add_numbers(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    if port is None:
        server.run("stdio")
    else:
        server.run("streamable-http", port=port)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port


@contextmanager
def process(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[None]:
    """Run a program as long as the block does."""
    with log.open("wb") as file:
        running = subprocess.Popen(
            command, stdout=file, stderr=file, env={**os.environ, **environment}
        )
    try:
        yield
    finally:
        running.terminate()
        running.wait(30)


def wait_for(found: Callable[[], Any], what: str) -> Any:
    """Return what comes within a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.05)
    sys.exit(f"{what} did not come within 60 s")


@asynccontextmanager
async def client_of(
    where: str | StdioServerParameters, era: str, key: str
) -> AsyncIterator[Client]:
    """Connect, in one era of the protocol."""
    if isinstance(where, StdioServerParameters):
        async with Client(where, mode=ERAS[era], cache=None) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(where, http_client=http)
        async with Client(transport, mode=ERAS[era], cache=None) as client:
            yield client


async def by_turns(calls: Mapping[str, Call], number: int) -> dict[str, list[float]]:
    """Time calls, some of each in turn; return seconds of each."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(10):
            await call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            for _ in range(max(1, number // ROUNDS)):
                start = time.perf_counter()
                await call()
                times[name].append(time.perf_counter() - start)
    return times


async def rate(call: Call, number: int, at_once: int) -> float:
    """Return how many calls a second go through with so many under way."""
    left = number

    async def work() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await call()

    start = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(at_once):
            tasks.start_soon(work)
    return number / (time.perf_counter() - start)


async def measure(
    gateway: str, direct: str, command: StdioServerParameters, key: str, number: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows of times and rows of rates."""
    times, rates = [], []
    for era in ERAS:
        async with (
            client_of(direct, era, key) as over_http,
            client_of(command, era, key) as over_stdio,
            client_of(gateway, era, key) as through,
        ):

            async def add(client: Client) -> None:
                result = await client.call_tool("add_numbers", ARGUMENTS)
                assert not result.is_error, result

            async def add_through(server: str, client: Client = through) -> None:
                asked = {"server": server, "name": "add_numbers", "arguments": ARGUMENTS}
                result = await client.call_tool("call_tool", asked)
                assert not result.is_error, result

            async def search(client: Client = through) -> None:
                found = await client.call_tool("search_tools", {"query": "add two numbers"})
                assert not found.is_error, found

            taken = await by_turns(
                {
                    "direct, HTTP": lambda client=over_http: add(client),
                    "direct, stdio": lambda client=over_stdio: add(client),
                    "gateway, then HTTP": lambda: add_through("web"),
                    "gateway, then stdio": lambda: add_through("local"),
                    "search_tools": search,
                },
                number,
            )
            base = statistics.median(taken["direct, HTTP"])
            for name, seconds in taken.items():
                quantiles = statistics.quantiles(seconds, n=20)
                times.append(
                    {
                        "revision": era,
                        "what": name,
                        "p50 ms": f"{statistics.median(seconds) * 1000:.1f}",
                        "p95 ms": f"{quantiles[-1] * 1000:.1f}",
                        "to direct, HTTP": f"{statistics.median(seconds) / base:.1f}",
                    }
                )
            for name, call in (
                ("direct, HTTP", lambda client=over_http: add(client)),
                ("gateway, then HTTP", lambda: add_through("web")),
            ):
                rates.append(
                    {
                        "revision": era,
                        "what": name,
                        "calls a second, 16 at once": f"{await rate(call, number, 16):.0f}",
                    }
                )
    return times, rates


def run(number: int, *, as_json: bool, into: Path | None) -> None:
    """Start everything, measure, and print."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        connection = stack.enter_context(temporary_database("tool_rag_gateway_benchmark"))
        secret = secrets.token_hex(32)
        key = prepare(connection, secret)
        port = free_port()
        own = [sys.executable, "-m", "benchmarks.gateway"]
        stack.enter_context(process([*own, "--serve", str(port)], {}, folder / "server.log"))
        config = {
            "servers": [
                {"name": "web", "url": f"http://127.0.0.1:{port}/mcp"},
                {
                    "name": "local",
                    "command": own[0],
                    "args": [*own[1:], "--serve", "stdio"],
                    "cwd": os.getcwd(),
                },
            ],
            "limits": {"requests_per_minute": 10_000_000},
            "confirmation": {"calls": "never"},
            "http": {"port": 0},
        }
        path, log = folder / "gateway.json", folder / "gateway.log"
        path.write_text(json.dumps(config), encoding="utf-8")
        url = f"host={connection.info.host} port={connection.info.port}"
        url += f" dbname={connection.info.dbname} user={connection.info.user}"
        stack.enter_context(
            process(
                [sys.executable, "-m", "tool_rag_pg.cli.main", "serve", str(path)],
                {SECRET_VARIABLE: secret, "TOOL_RAG_DATABASE_URL": url},
                log,
            )
        )
        (address,) = wait_for(
            lambda: re.findall(r"^Serving .* at (http://\S+)$", log.read_text(), re.MULTILINE),
            "the gateway",
        )
        wait_for(
            lambda: len(ToolRetriever(connection).permitted_tools(roles=["caller"])) == 2, "tools"
        )
        command = StdioServerParameters(
            command=own[0], args=[*own[1:], "--serve", "stdio"], cwd=os.getcwd()
        )
        times, rates = anyio.run(
            measure, address, f"http://127.0.0.1:{port}/mcp", command, key, number
        )
        if not as_json:
            print(f"{machine(connection)}; {number} calls of each kind, in {ROUNDS} rounds")
    print_tables((("calls", times), ("rates", rates)), as_json=as_json, into=into)


def prepare(connection: psycopg.Connection[Any], secret: str) -> str:
    """Make a role that may use everything, and return a key of it."""
    retriever = ToolRetriever(connection)
    retriever.set_audit(level="counts")
    retriever.add_role("caller")
    retriever.grant_tools("caller", "*")
    key = new_key(secret.encode())
    retriever.add_api_key("caller", key.public_id, key.digest, ["caller"])
    return key.text


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--into", type=Path, help="a Markdown file whose tables are replaced")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve is not None:
        serve(None if chosen.serve == "stdio" else int(chosen.serve))
        return
    run(chosen.calls, as_json=chosen.json, into=chosen.into)


if __name__ == "__main__":
    main()
