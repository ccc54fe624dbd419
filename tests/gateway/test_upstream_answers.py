"""Answers of servers that are easily taken for something else, and what they expect in headers."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tool_rag_pg.gateway.config import Limits, Secrets, UpstreamConfig
from tool_rag_pg.gateway.transport import UpstreamUnavailable, proxy_for
from tool_rag_pg.gateway.upstream import Upstream
from tool_rag_pg.retriever import ToolRetriever

from .conftest import Process, Running, Serve, free_port, run, start, text_of, wait_until
from .suite_peer import MIRRORED, REFUSING


@pytest.fixture(scope="module")
def address(folder: Path) -> Any:
    port = free_port()
    command = [sys.executable, "-m", "tests.gateway.suite_peer", "--port", str(port)]
    process: Process = start(command, folder / "mirrored.log")

    def answers() -> bool:
        assert process.popen.poll() is None, process.said()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return True
        return False

    wait_until(answers, "the server")
    yield f"http://127.0.0.1:{port}/mcp"
    process.stop()


@pytest.fixture(scope="module")
def gateway(serve: Serve, address: str, catalogue: str) -> Running:
    running = serve(
        {
            "servers": [
                {"name": "shared", "url": address},
                {"name": "personal", "url": address, "forward_key": True},
            ],
            "always_on": [f"shared/{MIRRORED}"],
        },
        tools_of=("shared", "personal"),
    )
    with psycopg.connect(catalogue, autocommit=True) as connection:
        retriever = ToolRetriever(connection)
        retriever.add_role("staff")
        retriever.grant_tools("staff", "*")
    return running


@pytest.mark.parametrize("server", ["shared", "personal"])
def test_the_argument_is_sent_as_a_header(
    gateway: Running, make_key: Callable[..., str], server: str
) -> None:
    """Over a connection for one caller's key too, over which no tools have been listed."""
    key = make_key(f"asha of {server}", ["staff"])

    async def main() -> None:
        async with gateway.client(key) as client:
            asked = {"server": server, "name": MIRRORED, "arguments": {"region": "eu north"}}
            for _ in range(2):
                result = await client.call_tool("call_tool", asked)
                assert text_of(result) == "header: eu north"

    run(main)


def test_clients_are_not_told_to_send_it(gateway: Running, make_key: Callable[..., str]) -> None:
    """What they sent would be checked by nobody; a parameter of that name stays."""
    key = make_key("ben", ["staff"])

    async def main() -> None:
        async with gateway.client(key) as client:
            listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            assert listed[f"shared__{MIRRORED}"]["properties"] == {
                "region": {"type": "string"},
                "x-mcp-header": {"type": "string"},
            }
            result = await client.call_tool(f"shared__{MIRRORED}", {"region": "south"})
            assert text_of(result) == "header: south"

    run(main)


@pytest.mark.parametrize("code", [-32000, -32001])
def test_a_server_s_own_error_is_no_lost_connection(
    gateway: Running, make_key: Callable[..., str], code: int
) -> None:
    """The SDK uses these codes for its own, and so do servers; calls beside it go on."""
    key = make_key(f"code {code}", ["staff"])
    refused = {"server": "shared", "name": REFUSING, "arguments": {"code": code}}
    slow = {"server": "shared", "name": "test_tool_with_progress"}

    async def main() -> None:
        async with gateway.client(key) as client:

            async def beside() -> None:
                assert text_of(await client.call_tool("call_tool", slow)) == "done"

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(beside)
                for _ in range(3):
                    result = await client.call_tool("call_tool", refused)
                    assert result.is_error
                    assert text_of(result) == f"not now (error {code} of the server)"

    run(main)
    assert not gateway.process.lines("connection to upstream lost")


class Forgetful:
    """A server with sessions that it has forgotten as soon as a tool is called."""

    def __init__(self) -> None:
        self.calls = 0
        self.app = Starlette(routes=[Route("/mcp", self.answer, methods=["GET", "POST", "DELETE"])])

    async def answer(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        match message["method"]:
            case "initialize":
                result: dict[str, Any] = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "forgetful", "version": "1"},
                }
            case "tools/call":
                self.calls += 1
                error = {"code": -32001, "message": "Session not found"}
                return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 404)
            case method:
                error = {"code": -32601, "message": f"no {method}"}
                return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": error}, 400)
        return JSONResponse(
            {"jsonrpc": "2.0", "id": message["id"], "result": result},
            headers={"Mcp-Session-Id": "s"},
        )


def test_a_server_that_forgets_every_session_is_given_up() -> None:
    forgetful = Forgetful()

    async def main() -> None:
        port = free_port()
        web = uvicorn.Server(uvicorn.Config(forgetful.app, port=port, log_config=None, ws="none"))
        config = UpstreamConfig(name="forgetful", url=f"http://127.0.0.1:{port}/mcp")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve)
            while not web.started:
                await anyio.sleep(0.01)
            async with Upstream(config, Secrets({}), Limits(call_seconds=20)) as upstream:
                with pytest.raises(UpstreamUnavailable, match="ends its sessions at once"):
                    await upstream.call("look", {}, key=None, may_repeat=False)
            web.should_exit = True

    run(main)
    assert 1 < forgetful.calls < 10


def test_proxies_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert proxy_for("https://example.org/mcp") is None
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inner.example")
    assert proxy_for("https://example.org/mcp") == "http://proxy.example:3128"
    assert proxy_for("http://example.org/mcp") is None
    assert proxy_for("https://inner.example/mcp") is None
    for local in ("https://127.0.0.1:1/mcp", "https://localhost/mcp", "https://[::1]/mcp"):
        assert proxy_for(local) is None
