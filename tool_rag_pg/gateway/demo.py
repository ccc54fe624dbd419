"""`make demo-gateway`: two people with different rights, one gateway, two real servers behind it.

Everything is real: the reference servers for git and time, started by the gateway; a repository in
a temporary folder; the gateway as a process of its own; keys; and the SDK's client, which speaks
to it over HTTP. What it prints is what happened.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import psycopg
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tool_rag_pg import embedded
from tool_rag_pg._migrate import upgrade
from tool_rag_pg._visible import visible
from tool_rag_pg.errors import InvalidArgument, ToolRagError
from tool_rag_pg.keys import SECRET_VARIABLE, new_key
from tool_rag_pg.retriever import ToolRetriever

__all__ = ["main"]

_DATABASE = "tool_rag_gateway_demo"
_WIDTH = 96


def say(text: str = "") -> None:
    """Print a line of the transcript."""
    for line in text.splitlines() or [""]:
        shown = visible(line)
        indent = " " * (len(shown) - len(shown.lstrip()))
        wrapped = textwrap.wrap(shown, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
        print("\n".join(wrapped), flush=True)


def main() -> None:
    """Set everything up, let two people work, and take everything down."""
    try:
        _check_programs()
        with tempfile.TemporaryDirectory(prefix="tool-rag-demo-") as name:
            folder = Path(name)
            repository = _make_repository(folder / "shop")
            secret = secrets.token_hex(32)
            url = _make_database()
            keys = _make_people(url, secret)
            with _gateway(folder, url, secret) as address:
                anyio.run(_tour, address, keys, repository, url)
    except ToolRagError as error:
        sys.exit(f"Error: {error}" + (f"\n  {error.hint}" if error.hint else ""))


def _check_programs() -> None:
    for program, advice in (
        ("git", "install it with the packages of your system"),
        (_server("git"), "run: make demo-gateway"),
        (_server("time"), "run: make demo-gateway"),
    ):
        if shutil.which(program) is None:
            raise InvalidArgument(f"{program} is not installed", hint=advice)


def _server(name: str) -> str:
    return str(Path(sys.executable).with_name(f"mcp-server-{name}"))


def _make_repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / "prices.txt").write_text("Skarn 3: 249 EUR\n", encoding="utf-8")
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.email", "demo@example.org"],
        ["config", "user.name", "Demo"],
        ["add", "prices.txt"],
        ["commit", "-q", "-m", "Prices of the shop"],
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    # What Dana has changed and not committed yet.
    (folder / "prices.txt").write_text("Skarn 3: 199 EUR\n", encoding="utf-8")
    return folder


def _make_database() -> str:
    embedded.ensure_database(notify=say)
    server = embedded.default_server()
    server.drop_database(_DATABASE)
    server.create_database(_DATABASE)
    url = server.url(_DATABASE)
    upgrade(url)
    return url


def _make_people(url: str, secret: str) -> dict[str, str]:
    """Make two roles with their rules and a key for one person each; return the keys."""
    keys = {}
    with psycopg.connect(url, autocommit=True) as connection:
        retriever = ToolRetriever(connection)
        retriever.set_audit(level="full")
        retriever.add_role("reader")
        for pattern in ("git_log", "git_show", "git_status", "git_diff*"):
            retriever.grant_tools("reader", "git", pattern)
        retriever.grant_tools("reader", "time", "get_current_time")
        retriever.add_role("developer", parents=["reader"])
        retriever.grant_tools("developer", "git")
        retriever.grant_tools("developer", "time")
        for name, role in (("Ravi", "reader"), ("Dana", "developer")):
            key = new_key(secret.encode())
            retriever.add_api_key(name, key.public_id, key.digest, [role])
            keys[name] = key.text
    return keys


@contextmanager
def _gateway(folder: Path, url: str, secret: str) -> Iterator[str]:
    """Start the gateway, and end it with the block; yields its address."""
    config = {
        "name": "shop-tools",
        "servers": [
            {"name": "git", "command": _server("git"), "description": "the shop's repository"},
            {"name": "time", "command": _server("time"), "description": "clocks of the world"},
        ],
        "permissions": {"mode": "keys"},
        "http": {"port": 0},
        "log": {"level": "warning"},
    }
    path = folder / "gateway.json"
    path.write_text(json.dumps(config, indent=2), encoding="utf-8")
    say(f"\n$ tool-rag serve {path.name}")
    say(path.read_text(encoding="utf-8"))
    log = folder / "gateway.log"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tool_rag_pg.cli.main", "serve", str(path)],
            stderr=file,
            env={**os.environ, SECRET_VARIABLE: secret, "TOOL_RAG_DATABASE_URL": url},
        )
    try:
        yield _wait_for(process, log, url)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes], log: Path, url: str) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        said = log.read_text(encoding="utf-8")
        if process.poll() is not None:
            raise InvalidArgument(f"the gateway did not start: {said[-500:]}")
        found = re.search(r"^Serving .* at (http://\S+)$", said, re.MULTILINE)
        with psycopg.connect(url) as connection:
            listed = ToolRetriever(connection).list_tools()
        if found and len({each.server for each in listed}) == 2:
            say(found[0])
            return found[1]
        time.sleep(0.1)
    raise InvalidArgument("the gateway did not list its servers' tools within 60 s")


@dataclass
class _Person:
    """Somebody with an agent: what it calls is printed, and so is what it is asked."""

    name: str
    client: Client
    asked: list[str] = field(default_factory=list)

    async def search(self, query: str) -> list[dict[str, Any]]:
        say(f"\n{self.name}'s agent searches: {query}")
        result = await self.client.call_tool("search_tools", {"query": query, "limit": 4})
        document: dict[str, Any] = result.structured_content
        for tool in document["tools"]:
            mark = " (may change something)" if tool["may_change_something"] else ""
            say(f"   {tool['server']}/{tool['name']}{mark}: {tool['description']}")
        if not document["tools"]:
            say(f"   {document['message']}")
        tools: list[dict[str, Any]] = document["tools"]
        return tools

    async def call(self, server: str, name: str, **arguments: Any) -> types.CallToolResult:
        shown = ", ".join(f"{key}={_shown(value)}" for key, value in arguments.items())
        say(f"\n{self.name}'s agent calls {server}/{name}({shown})")
        result = await self.client.call_tool(
            "call_tool", {"server": server, "name": name, "arguments": arguments}
        )
        text = "\n".join(part.text for part in result.content if hasattr(part, "text"))
        for line in text.strip().splitlines()[:8]:
            say(f"   {'refused: ' if result.is_error else ''}{line}")
        return result

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        """Be the person at the client: agree, and show what was asked."""
        self.asked.append(params.message)
        say(f"   {self.name} is asked:")
        for line in params.message.splitlines():
            say(f"      {line}")
        say(f"   {self.name} says yes.")
        return types.ElicitResult(action="accept", content={})


def _shown(value: object) -> str:
    is_path = isinstance(value, str) and value.startswith("/")
    return json.dumps(Path(str(value)).name if is_path else value)


async def _tour(address: str, keys: dict[str, str], repository: Path, url: str) -> None:
    where = str(repository)
    async with _person("Ravi", address, keys) as ravi, _person("Dana", address, keys) as dana:
        for person in (ravi, dana):
            tools = (await person.client.list_tools()).tools
            say(f"\nWhat {person.name}'s model is told of search_tools:")
            told = re.search(r"[\d,]+ tools? of .*?\.", tools[0].description or "")
            say(f"   {told[0] if told else tools[0].description}")
        request = "commit the changed prices"
        await ravi.search(request)
        await ravi.call("git", "git_commit", repo_path=where, message="Cheaper")
        await dana.search(request)
        await dana.call("git", "git_add", repo_path=where, files=["prices.txt"])
        await dana.call("git", "gitCommit", repo_path=where, message="Cheaper Skarn 3")
        await ravi.call("git", "git_log", repo_path=where, max_count=1)
        await ravi.call("time", "get_current_time", timezone="Asia/Tokyo")
        say("\nAn administrator: tool-rag grant reader git/git_create_branch")
        with psycopg.connect(url, autocommit=True) as connection:
            ToolRetriever(connection).grant_tools("reader", "git", "git_create_branch")
        await ravi.call("git", "git_create_branch", repo_path=where, branch_name="ideas")
    say("\nWhat the audit has (tool-rag audit events):")
    with psycopg.connect(url, autocommit=True) as connection:
        events = ToolRetriever(connection).list_audit_events(kind="call")
    for event in reversed(events):
        detail = event.detail or {}
        who = detail.get("detail", {}).get("caller")
        say(f"   {who:5} {event.outcome:14} {detail.get('server')}/{detail.get('tool')}")
    say("\nRavi may read, Dana may commit, and what changes something was confirmed by a person.")


@asynccontextmanager
async def _person(name: str, address: str, keys: dict[str, str]) -> AsyncIterator[_Person]:
    """Connect a person's client."""
    people: list[_Person] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return await people[0].answer(context, params)

    headers = {"Authorization": f"Bearer {keys[name]}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(
            streamable_http_client(address, http_client=http),
            elicitation_callback=answer,
            cache=None,
        ) as client,
    ):
        people.append(_Person(name, client))
        yield people[0]


if __name__ == "__main__":
    main()
