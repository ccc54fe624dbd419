"""A gateway in a process of its own, on a real Postgres, in front of real servers."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import psycopg
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import Postgres, wanted_versions
from tool_rag_pg.keys import SECRET_VARIABLE, new_key
from tool_rag_pg.retriever import ToolRetriever

ROOT = Path(__file__).resolve().parents[2]
SECRET = "s" * 64
NUMBERS = count()
#: Revisions: the stateless one, and the latest with a handshake and sessions.
MODES = ("auto", "legacy")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port


def wait_until(is_so: Callable[[], Any], what: str, seconds: float = 30) -> Any:
    """Return what a condition returns once it holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := is_so():
            return value
        time.sleep(0.02)
    pytest.fail(f"{what} did not come within {seconds} s")


@dataclass
class Process:
    """A program under test, with what it wrote to standard error."""

    popen: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def lines(self, message: str) -> list[dict[str, Any]]:
        """The lines of its log with this message."""
        found = []
        for line in self.said().splitlines():
            with suppress(ValueError):
                entry = json.loads(line)
                if entry.get("message") == message:
                    found.append(entry)
        return found

    def stop(self) -> int:
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
            try:
                self.popen.wait(20)
            except subprocess.TimeoutExpired:
                self.popen.kill()
        return self.popen.wait(10)

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(10)


def start(command: list[str], log: Path, environment: dict[str, str] | None = None) -> Process:
    with log.open("ab") as file:
        popen = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    return Process(popen, log)


@dataclass
class PeerServer:
    """`tests.gateway.peer` over HTTP, on a port of its own, to be killed and started again."""

    folder: Path
    name: str
    port: int = field(default_factory=free_port)
    process: Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def ledger(self) -> Path:
        return self.folder / f"{self.name}.ledger"

    def entries(self) -> list[str]:
        if not self.ledger.exists():
            return []
        return self.ledger.read_text(encoding="utf-8").splitlines()

    def start(self) -> PeerServer:
        command = [sys.executable, "-m", "tests.gateway.peer", "--ledger", str(self.ledger)]
        self.process = start([*command, "--port", str(self.port)], self.folder / f"{self.name}.log")
        wait_until(self._answers, f"{self.name} on port {self.port}")
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.popen.poll() is None, self.process.said()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.2):
            return True
        return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()


def stdio_peer(folder: Path, name: str, **more: Any) -> dict[str, Any]:
    """Return the configuration of a peer that the gateway starts itself."""
    return {
        "name": name,
        "command": sys.executable,
        "args": ["-m", "tests.gateway.peer", "--ledger", str(folder / f"{name}.ledger")],
        "cwd": str(ROOT),
        **more,
    }


@dataclass
class Running:
    """A gateway that serves HTTP."""

    process: Process
    url: str
    database: str

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
        address = self.url.removesuffix("/mcp") + path
        request = urllib.request.Request(address, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    @asynccontextmanager
    async def client(
        self, key: str | None = None, *, mode: str = "auto", **options: Any
    ) -> AsyncIterator[Client]:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(self.url, http_client=http, max_sse_event_size=None)
            async with Client(transport, mode=mode, cache=None, **options) as client:
                yield client

    def metric(self, name: str, **labels: str) -> float:
        wanted = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        status, page = self.get("/metrics")
        assert status == 200, page
        for line in page.splitlines():
            series, _, value = line.rpartition(" ")
            if series == (f"{name}{{{wanted}}}" if wanted else name):
                return float(value)
        return 0.0

    def events(self, kind: str = "call") -> list[Any]:
        with psycopg.connect(self.database, autocommit=True) as connection:
            return ToolRetriever(connection).list_audit_events(kind=kind, max_rows=10_000)


Serve = Callable[..., Running]


@pytest.fixture(scope="session")
def gateway_postgres(servers: Callable[[int], Postgres]) -> Postgres:
    """One server: what differs between versions of Postgres is tested where the SQL is."""
    return servers(wanted_versions()[-1])


@pytest.fixture(scope="module")
def catalogue(gateway_postgres: Postgres) -> Iterator[str]:
    """The URL of a migrated database of the module's own, without tools."""
    name = f"tool_rag_gateway_{next(NUMBERS)}"
    yield gateway_postgres.clone(name)
    gateway_postgres.drop(name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def serve(catalogue: str, folder: Path) -> Iterator[Serve]:
    """Return a function that starts gateways; they end with the module."""
    started: list[Process] = []

    def begin(
        config: dict[str, Any],
        environment: dict[str, str] | None = None,
        *,
        tools_of: tuple[str, ...] = (),
    ) -> Running:
        number = next(NUMBERS)
        path = folder / f"gateway{number}.json"
        config = {"http": {"port": 0}, **config}
        path.write_text(json.dumps(config), encoding="utf-8")
        process = start(
            [sys.executable, "-m", "tool_rag_pg.cli.main", "serve", str(path)],
            folder / f"gateway{number}.log",
            {SECRET_VARIABLE: SECRET, "TOOL_RAG_DATABASE_URL": catalogue, **(environment or {})},
        )
        started.append(process)

        def address() -> str | None:
            assert process.popen.poll() is None, process.said()
            found = re.search(r"^Serving .* at (http://\S+)$", process.said(), re.MULTILINE)
            return found[1] if found else None

        running = Running(process, wait_until(address, "the gateway"), catalogue)
        for server in tools_of:
            wait_until(lambda server=server: count_tools(catalogue, server), f"tools of {server}")
        return running

    yield begin
    for process in started:
        process.stop()


def count_tools(database: str, server: str) -> int:
    with psycopg.connect(database) as connection:
        (number,) = connection.execute(
            "select count(*) from tool_rag.tool t join tool_rag.server s using (server_id)"
            " where s.name = %s",
            (server,),
        ).fetchone() or (0,)
        return int(number)


@pytest.fixture(scope="module")
def make_key(catalogue: str) -> Callable[..., str]:
    """Return a function that makes a key and returns what its caller sends."""

    def make(name: str, roles: list[str], **options: Any) -> str:
        key = new_key(SECRET.encode())
        with psycopg.connect(catalogue, autocommit=True) as connection:
            ToolRetriever(connection).add_api_key(name, key.public_id, key.digest, roles, **options)
        return key.text

    return make


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))


def run(main: Callable[[], Any]) -> Any:
    """Run a coroutine function to its end."""
    return anyio.run(main)


async def accept(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={})


async def decline(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="decline")
