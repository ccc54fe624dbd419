"""Clients of others: the inspector, the TypeScript SDKs, and plain HTTP in old revisions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tool_rag_pg.gateway.run import KEY_VARIABLE
from tool_rag_pg.keys import SECRET_VARIABLE
from tool_rag_pg.retriever import ToolRetriever

from . import npm
from .conftest import SECRET, Running, Serve, stdio_peer

INSPECTOR = ("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
ERAS = ("legacy", "auto", "modern")


@pytest.fixture(scope="module")
def config(folder: Path) -> dict[str, Any]:
    return {"name": "office", "servers": [stdio_peer(folder, "local")]}


@pytest.fixture(scope="module")
def gateway(serve: Serve, config: dict[str, Any], catalogue: str) -> Running:
    running = serve(config, tools_of=("local",))
    with psycopg.connect(catalogue, autocommit=True) as connection:
        retriever = ToolRetriever(connection)
        retriever.add_role("staff")
        retriever.grant_tools("staff", "*")
    return running


@pytest.fixture(scope="module")
def key(gateway: Running, make_key: Callable[..., str]) -> str:
    return make_key("asha", ["staff"])


def ledger(folder: Path) -> list[str]:
    path = folder / "local.ledger"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


Inspect = Callable[..., Any]


@pytest.fixture(params=[*(f"http {era}" for era in ERAS), "stdio legacy", "stdio auto"])
def inspect(
    request: pytest.FixtureRequest,
    gateway: Running,
    key: str,
    config: dict[str, Any],
    catalogue: str,
    tmp_path: Path,
) -> Inspect:
    """Return a function that has the inspector's command line ask, and returns its answer."""
    transport, era = request.param.split()
    command = [*npm.script(*INSPECTOR), "--cli"]
    environment = {}
    if transport == "http":
        command += ["--server-url", gateway.url, "--transport", "http"]
        command += ["--header", f"Authorization: Bearer {key}"]
    else:
        path = tmp_path / "gateway.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        command += [sys.executable, "-m", "tool_rag_pg.cli.main", "serve", str(path), "--stdio"]
        command += ["--cwd", str(npm.ROOT)]
        for name, value in {
            "TOOL_RAG_DATABASE_URL": catalogue,
            SECRET_VARIABLE: SECRET,
            KEY_VARIABLE: key,
        }.items():
            command += ["-e", f"{name}={value}"]

    def ask(method: str, *more: str) -> Any:
        asked = ["--protocol-era", era, "--method", method, *more, "--format", "json", "--quiet"]
        done = npm.run_node([*command, *asked], tmp_path, environment=environment)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)["result"]

    return ask


@npm.needs_npm
def test_the_inspector(inspect: Inspect) -> None:
    listed = inspect("tools/list", "--strict")
    assert [tool["name"] for tool in listed["tools"]] == ["search_tools", "call_tool"]
    assert "13 tools of 1 server" in listed["tools"][0]["description"]

    def call(name: str, arguments: dict[str, Any]) -> Any:
        given = ["--tool-name", name, "--tool-args-json", json.dumps(arguments)]
        return inspect("tools/call", *given)

    found = call("search_tools", {"query": "add two numbers", "limit": 1})
    (tool,) = found["structuredContent"]["tools"]
    asked = {"server": tool["server"], "name": tool["name"], "arguments": {"a": 2, "b": 3}}
    assert call("call_tool", asked)["structuredContent"] == {"sum": 5}
    picture = call("call_tool", {"server": "local", "name": "show_picture"})
    assert [part["type"] for part in picture["content"]] == ["image", "text"]


@npm.needs_npm
@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_without_a_key(gateway: Running, era: str, tmp_path: Path) -> None:
    command = [*npm.script(*INSPECTOR), "--cli", "--server-url", gateway.url, "--transport", "http"]
    asked = ["--stored-auth-only", "--protocol-era", era, "--method", "tools/list"]
    done = npm.run_node([*command, *asked, "--format", "json"], tmp_path)
    assert done.returncode != 0
    assert "search_tools" not in done.stdout
    assert "401" in done.stderr or "auth_required" in done.stderr


@npm.needs_npm
@pytest.mark.parametrize("sdk", ["v1", "v2", "v2-stateless"])
def test_the_typescript_sdks(
    gateway: Running, key: str, folder: Path, tmp_path: Path, sdk: str
) -> None:
    # Beside the packages it imports: that is where node looks for them.
    program = tmp_path / "client.mjs"
    program.write_bytes((npm.WANTED / "client.mjs").read_bytes())
    (tmp_path / "node_modules").symlink_to(npm.MODULES)
    done = npm.run_node([str(npm.node()), str(program), sdk, gateway.url, key], tmp_path)
    assert done.returncode == 0, done.stderr
    saw = json.loads(done.stdout)
    assert saw.pop("asked") == [
        f'Call book_room of local? It may change something.\n{{\n "room": "of {sdk}"\n}}'
    ]
    assert saw == {
        "server": "office",
        "listed": ["search_tools", "call_tool"],
        "found": ["local/add_numbers"],
        "sum": {"sum": 5},
        "steps": [{"type": "text", "text": "counted"}],
        "progress": [
            {"progress": step + 1, "total": 3, "message": f"step {step}"} for step in range(3)
        ],
        "booked": [{"type": "text", "text": f"booked of {sdk}"}],
        "failed": True,
    }
    assert ledger(folder).count(f"booked of {sdk}") == 1


class Plain:
    """A client that knows JSON-RPC and HTTP, and nothing of any SDK."""

    def __init__(self, gateway: Running, key: str, revision: str) -> None:
        self.url = gateway.url
        self.revision = revision
        self.number = 0
        self.http = httpx2.Client(
            timeout=60,
            headers={
                "Authorization": f"Bearer {key}",
                "Accept": "application/json, text/event-stream",
            },
        )

    def post(self, message: dict[str, Any]) -> httpx2.Response:
        return self.http.post(self.url, json={"jsonrpc": "2.0", **message})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.number += 1
        answer = self.post({"id": self.number, "method": method, "params": params})
        assert answer.status_code == 200, answer.text
        if answer.headers["content-type"].startswith("text/event-stream"):
            lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
            messages = [json.loads(line.removeprefix("data: ")) for line in lines]
        else:
            messages = [answer.json()]
        (message,) = [each for each in messages if each.get("id") == self.number]
        self.session = answer.headers.get("mcp-session-id")
        return message["result"]

    def begin(self, capabilities: dict[str, Any]) -> Any:
        begun = self.ask(
            "initialize",
            {
                "protocolVersion": self.revision,
                "capabilities": capabilities,
                "clientInfo": {"name": "plain", "version": "1"},
            },
        )
        self.http.headers["Mcp-Session-Id"] = str(self.session)
        if self.revision >= "2025-06-18":
            # Revisions before have no such header.
            self.http.headers["MCP-Protocol-Version"] = self.revision
        assert self.post({"method": "notifications/initialized"}).status_code == 202
        return begun

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_older_revisions(gateway: Running, key: str, revision: str) -> None:
    client = Plain(gateway, key, revision)
    with client.http:
        begun = client.begin({})
        assert begun["protocolVersion"] == revision
        assert begun["serverInfo"]["name"] == "office"
        assert begun["capabilities"]["tools"] == {"listChanged": False}
        tools = client.ask("tools/list", {})["tools"]
        assert [tool["name"] for tool in tools] == ["search_tools", "call_tool"]
        found = client.call("search_tools", {"query": "add two numbers", "limit": 1})
        document = json.loads(found["content"][0]["text"])
        assert [tool["name"] for tool in document["tools"]] == ["add_numbers"]
        asked = {"server": "local", "name": "add_numbers", "arguments": {"a": 2, "b": 3}}
        assert client.call("call_tool", asked)["content"] == [{"type": "text", "text": "5"}]
        unasked = {"server": "local", "name": "book_room", "arguments": {"room": revision}}
        refused = client.call("call_tool", unasked)
        assert refused["isError"] is True
        assert "can't ask its user" in refused["content"][0]["text"]
        # What ends a session ends it for good.
        assert client.http.delete(client.url).status_code in (200, 204)
        assert client.post({"id": 99, "method": "tools/list", "params": {}}).status_code == 404


def test_a_client_that_can_show_addresses_alone_can_not_be_asked(
    gateway: Running, key: str, folder: Path
) -> None:
    client = Plain(gateway, key, "2025-11-25")
    with client.http:
        client.begin({"elicitation": {"url": {}}})
        asked = {"server": "local", "name": "book_room", "arguments": {"room": "by address"}}
        refused = client.call("call_tool", asked)
        assert refused["isError"] is True
        assert "can't ask its user" in refused["content"][0]["text"]
    assert "booked by address" not in ledger(folder)


def test_an_unknown_revision_is_answered_with_a_known_one(gateway: Running, key: str) -> None:
    client = Plain(gateway, key, "2019-01-01")
    with client.http:
        begun = client.ask(
            "initialize",
            {
                "protocolVersion": client.revision,
                "capabilities": {},
                "clientInfo": {"name": "plain", "version": "1"},
            },
        )
        assert begun["protocolVersion"] == "2025-11-25"
