"""The protocol's reference servers, from npm and PyPI, behind one gateway.

What passes the gateway is compared with what the same server answers to the SDK's own client.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import psycopg
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tool_rag_pg.retriever import ToolRetriever

from . import npm
from .conftest import (
    MODES,
    Process,
    Running,
    Serve,
    accept,
    decline,
    free_port,
    run,
    start,
    text_of,
    wait_until,
)

pytestmark = npm.needs_npm

#: How many tools each server lists to a client that can neither be asked nor sample.
# As their servers list them; one of everything runs only as a task, which is left out.
TOOLS = {"everything": 13, "filesystem": 14, "git": 12, "memory": 9, "time": 2, "web": 13}
TASKS = {"simulate-research-query"}
EVERYTHING = ("@modelcontextprotocol/server-everything", "dist/index.js")


@pytest.fixture(scope="module")
def files(folder: Path) -> Path:
    """The one folder that the server of files may use; beside it lies what it may not."""
    files = folder / "files"
    files.mkdir()
    (files / "notes.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (folder / "secret.txt").write_text("nobody's business", encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def repository(folder: Path) -> Path:
    repository = folder / "repository"
    repository.mkdir()
    settings = {"user.name": "Asha", "user.email": "asha@example.org"}
    git(repository, "init", "--quiet")
    for name, value in settings.items():
        git(repository, "config", name, value)
    (repository / "a.txt").write_text("first\n", encoding="utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "Begin")
    return repository


def git(repository: Path, *arguments: str) -> str:
    # Not the settings of whoever runs the tests.
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.check_output(command, text=True, env=environment)


@dataclass
class Web:
    """The server of everything over HTTP, with sessions, to be started again."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: Process | None = None
    starts: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        self.starts += 1
        command = [*npm.script(*EVERYTHING), "streamableHttp"]
        log = self.folder / f"web{self.starts}.log"
        process = self.process = start(command, log, {"PORT": str(self.port)})

        def listens() -> bool:
            assert process.popen.poll() is None, process.said()
            return f"listening on port {self.port}" in process.said()

        wait_until(listens, "the server of everything")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()


@pytest.fixture(scope="module")
def web(folder: Path) -> Iterator[Web]:
    web = Web(folder)
    web.start()
    yield web
    web.kill()


@pytest.fixture(scope="module")
def configs(folder: Path, files: Path, repository: Path, web: Web) -> dict[str, dict[str, Any]]:
    python = sys.executable
    git_environment = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    servers = [
        npm.as_server("everything", [*npm.script(*EVERYTHING), "stdio"]),
        npm.as_server(
            "filesystem",
            [*npm.script("@modelcontextprotocol/server-filesystem", "dist/index.js"), str(files)],
        ),
        npm.as_server(
            "memory",
            npm.script("@modelcontextprotocol/server-memory", "dist/index.js"),
            env={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        ),
        npm.as_server("time", [python, "-m", "mcp_server_time", "--local-timezone", "UTC"]),
        npm.as_server(
            "git",
            [python, "-m", "mcp_server_git", "--repository", str(repository)],
            env=git_environment,
        ),
        {"name": "web", "url": web.url},
    ]
    return {server["name"]: server for server in servers}


@pytest.fixture(scope="module")
def gateway(serve: Serve, configs: dict[str, dict[str, Any]]) -> Running:
    return serve(
        {
            "servers": list(configs.values()),
            "permissions": {"mode": "none"},
            "limits": {"connect_seconds": 60},
        },
        tools_of=tuple(configs),
    )


@asynccontextmanager
async def directly(config: dict[str, Any]) -> AsyncIterator[Client]:
    """Connect the SDK's client to a server without the gateway."""
    if "url" in config:
        async with httpx2.AsyncClient(timeout=60) as http:
            transport = streamable_http_client(config["url"], http_client=http)
            async with Client(transport, cache=None) as client:
                yield client
        return
    parameters = StdioServerParameters(
        command=config["command"], args=config["args"], env=config.get("env", {})
    )
    # Not the standard error that pytest has put in place, which is no file.
    with open(os.devnull, "w", encoding="utf-8") as errors:
        async with Client(stdio_client(parameters, errlog=errors), cache=None) as client:
            yield client


async def call(
    client: Client, server: str, name: str, arguments: dict[str, Any] | None = None, **more: Any
) -> types.CallToolResult:
    asked = {"server": server, "name": name, "arguments": arguments or {}}
    return await client.call_tool("call_tool", asked, **more)


def shown(result: types.CallToolResult) -> dict[str, Any]:
    """Return what a client sees of a result, without times that differ from call to call."""
    parts = [part.model_dump(mode="json", exclude_none=True) for part in result.content]
    text = re.sub(r"\d+:\d\d:\d\d ?[AP]?M?", "(time)", json.dumps(parts))
    return {
        "content": json.loads(text),
        "structured": result.structured_content,
        "is_error": bool(result.is_error),
    }


@pytest.mark.parametrize("server", sorted(TOOLS))
def test_the_catalogue_is_what_the_server_lists(
    gateway: Running, configs: dict[str, dict[str, Any]], catalogue: str, server: str
) -> None:
    async def main() -> list[types.Tool]:
        async with directly(configs[server]) as client:
            return (await client.list_tools()).tools

    listed = run(main)
    assert len(listed) == TOOLS[server]
    listed = [tool for tool in listed if tool.name not in TASKS]

    def stored() -> dict[str, Any]:
        with psycopg.connect(catalogue) as connection:
            retriever = ToolRetriever(connection)
            return {
                each.name: retriever.describe_tool(each.server, each.name)
                for each in retriever.list_tools()
                if each.server == server
            }

    wait_until(lambda: len(stored()) == len(listed), f"all tools of {server}")
    for tool in listed:
        kept = stored()[tool.name]
        assert kept.title == tool.title
        assert kept.description == tool.description
        assert kept.input_schema == tool.input_schema
        assert kept.output_schema == tool.output_schema
        annotations = tool.annotations
        assert kept.annotations == (
            {} if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True)
        )
        read_only = annotations is not None and annotations.read_only_hint is True
        assert kept.is_action is not read_only


def test_a_server_s_own_word_of_a_change_is_heard(gateway: Running) -> None:
    """The server of everything adds tools once it knows its client, and says so."""
    assert wait_until(
        lambda: (
            gateway.metric("tool_rag_refreshes_total", outcome="stored", server="everything") >= 2
        ),
        "a second listing",
    )


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What time is it in Tokyo?", {"time/get_current_time"}),
        ("convert 3 pm in Berlin to New York time", {"time/convert_time"}),
        ("show the commit history", {"git/git_log"}),
        ("which changes are not staged yet", {"git/git_diff_unstaged"}),
        ("switch to another branch", {"git/git_checkout"}),
        ("read a text file", {"filesystem/read_text_file", "filesystem/read_file"}),
        ("find files whose name matches a pattern", {"filesystem/search_files"}),
        ("rename a file", {"filesystem/move_file"}),
        ("add observations to an entity of the knowledge graph", {"memory/add_observations"}),
        ("add up two numbers", {"everything/get-sum", "web/get-sum"}),
    ],
)
def test_search_finds_the_right_tool(gateway: Running, query: str, found: set[str]) -> None:
    async def main() -> list[str]:
        async with gateway.client() as client:
            result = await client.call_tool("search_tools", {"query": query})
            document: Any = result.structured_content
            return [f"{tool['server']}/{tool['name']}" for tool in document["tools"]]

    names = run(main)
    assert found & set(names), names


@pytest.mark.parametrize("server", ["everything", "web"])
@pytest.mark.parametrize("mode", MODES)
def test_every_kind_of_result_passes_unchanged(
    gateway: Running, configs: dict[str, dict[str, Any]], server: str, mode: str
) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("echo", {"message": "ünï ☂ \u202e <b>"}),
        ("get-sum", {"a": 2, "b": 3.5}),
        ("get-tiny-image", {}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-links", {"count": 4}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 2}),
    ]
    passed = {}

    async def main() -> None:
        async with directly(configs[server]) as direct, gateway.client(mode=mode) as client:
            for name, arguments in calls:
                passed[name] = await call(client, server, name, arguments)
                expected = await direct.call_tool(name, arguments)
                assert not expected.is_error, text_of(expected)
                assert shown(passed[name]) == shown(expected)

    run(main)
    # That there is something of each kind to be lost.
    kinds = {name: [part.type for part in result.content] for name, result in passed.items()}
    assert kinds == {
        "echo": ["text"],
        "get-sum": ["text"],
        "get-tiny-image": ["text", "image", "text"],
        "get-structured-content": ["text"],
        "get-annotated-message": ["text", "image"],
        "get-resource-links": ["text"] + ["resource_link"] * 4,
        "get-resource-reference": ["text", "resource", "text"],
    }
    assert passed["get-structured-content"].structured_content == {
        "temperature": 36,
        "conditions": "Light rain / drizzle",
        "humidity": 82,
    }
    annotated = passed["get-annotated-message"].content[0]
    assert isinstance(annotated, types.TextContent)
    assert annotated.annotations is not None
    assert annotated.annotations.audience == ["user", "assistant"]
    assert annotated.annotations.priority == 1


@pytest.mark.parametrize("server", ["everything", "web"])
@pytest.mark.parametrize("mode", MODES)
def test_progress_of_a_long_call_passes(gateway: Running, server: str, mode: str) -> None:
    heard: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total))

    async def main() -> None:
        async with gateway.client(mode=mode) as client:
            result = await call(
                client,
                server,
                "trigger-long-running-operation",
                {"duration": 0.5, "steps": 5},
                progress_callback=note,
            )
            assert "completed" in text_of(result)

    run(main)
    assert heard == [(step, 5) for step in range(1, 6)]


def test_errors_are_the_server_s_own(
    gateway: Running, configs: dict[str, dict[str, Any]], files: Path, folder: Path
) -> None:
    failing: list[tuple[str, str, dict[str, Any], str]] = [
        ("filesystem", "read_text_file", {"path": str(files / "no.txt")}, "ENOENT"),
        ("filesystem", "read_text_file", {"path": str(folder / "secret.txt")}, "Access denied"),
        ("filesystem", "list_directory", {"path": "/"}, "Access denied"),
        ("everything", "get-resource-reference", {"resourceId": 1.5}, "Invalid resourceId"),
        ("git", "git_status", {"repo_path": str(folder)}, "outside"),
        ("time", "get_current_time", {"timezone": "Mars/Olympus"}, "Invalid timezone"),
    ]

    async def main() -> None:
        async with gateway.client() as client:
            for server, name, arguments, reason in failing:
                result = await call(client, server, name, arguments)
                assert result.is_error
                assert reason in text_of(result), text_of(result)
                assert "nobody's business" not in text_of(result)
                async with directly(configs[server]) as direct:
                    assert shown(result) == shown(await direct.call_tool(name, arguments))

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_is_only_a_task_is_not_offered(gateway: Running, mode: str) -> None:
    """Tasks are an extension of the protocol that the gateway does not speak."""

    async def main() -> None:
        async with gateway.client(mode=mode, elicitation_callback=accept) as client:
            result = await call(client, "everything", "simulate-research-query", {"topic": "owls"})
            assert result.is_error
            assert "there is no tool" in text_of(result)

    run(main)
    assert gateway.process.lines("tools that run only as tasks left out")


@pytest.mark.parametrize("mode", MODES)
def test_files_are_read_and_after_confirmation_written(
    gateway: Running, files: Path, folder: Path, mode: str
) -> None:
    written = files / f"letter {mode}.txt"

    async def main() -> None:
        async with gateway.client(mode=mode, elicitation_callback=decline) as client:
            first_lines = {"path": str(files / "notes.txt"), "head": 2}
            read = await call(client, "filesystem", "read_text_file", first_lines)
            assert text_of(read) == "one\ntwo"
            assert read.structured_content == {"content": "one\ntwo"}
            letter = {"path": str(written), "content": "Dear Ben,\n"}
            declined = await call(client, "filesystem", "write_file", letter)
            assert declined.is_error
            assert not written.exists()
        async with gateway.client(mode=mode, elicitation_callback=accept) as client:
            done = await call(client, "filesystem", "write_file", letter)
            assert not done.is_error, text_of(done)
            assert written.read_text(encoding="utf-8") == "Dear Ben,\n"
            edit = {"path": str(written), "edits": [{"oldText": "Ben", "newText": "Asha"}]}
            edited = await call(client, "filesystem", "edit_file", edit)
            assert "+Dear Asha," in text_of(edited)
            assert written.read_text(encoding="utf-8") == "Dear Asha,\n"
            elsewhere = {"path": str(folder / f"{mode}.txt"), "content": "x"}
            outside = await call(client, "filesystem", "write_file", elsewhere)
            assert outside.is_error
            assert not (folder / f"{mode}.txt").exists()

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_remembered_is_found_again(gateway: Running, folder: Path, mode: str) -> None:
    name = f"owl of {mode}"
    entity = {"name": name, "entityType": "bird", "observations": ["lives in the barn"]}

    async def main() -> None:
        async with gateway.client(mode=mode, elicitation_callback=accept) as client:
            stored = await call(client, "memory", "create_entities", {"entities": [entity]})
            assert not stored.is_error, text_of(stored)
        async with gateway.client(mode=mode) as client:
            found = await call(client, "memory", "search_nodes", {"query": name})
            assert isinstance(found.structured_content, dict)
            assert found.structured_content["entities"] == [entity]
            asking = call(client, "memory", "delete_entities", {"entityNames": [name]})
            if mode == "legacy":
                assert "can't ask its user" in text_of(await asking)
            else:
                with pytest.raises(MCPError, match="can't ask its user"):
                    await asking

    run(main)
    assert name in (folder / "memory.jsonl").read_text(encoding="utf-8")


def test_a_commit_is_made(gateway: Running, repository: Path) -> None:
    path = str(repository)
    (repository / "b.txt").write_text("second\n", encoding="utf-8")

    async def main() -> None:
        async with gateway.client(elicitation_callback=accept) as client:
            await call(client, "git", "git_add", {"repo_path": path, "files": ["b.txt"]})
            message = {"repo_path": path, "message": "Add b"}
            done = await call(client, "git", "git_commit", message)
            assert not done.is_error, text_of(done)
            log = await call(client, "git", "git_log", {"repo_path": path, "max_count": 1})
            assert "Add b" in text_of(log)

    run(main)
    assert git(repository, "log", "--format=%s").split("\n")[:2] == ["Add b", "Begin"]


def test_times_are_converted(gateway: Running) -> None:
    zones = {"source_timezone": "Asia/Kolkata", "target_timezone": "Asia/Tokyo", "time": "09:00"}

    async def main() -> None:
        async with gateway.client() as client:
            result = await call(client, "time", "convert_time", zones)
            assert json.loads(text_of(result))["time_difference"] == "+3.5h"

    run(main)


def test_nothing_of_the_gateway_s_environment_reaches_a_server(gateway: Running) -> None:
    async def main() -> None:
        async with gateway.client() as client:
            result = await call(client, "everything", "get-env")
            environment = json.loads(text_of(result))
            assert "PATH" in environment
            assert not [name for name in environment if name.startswith(("TOOL_RAG", "PG"))]

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_was_started_anew_is_used_on(gateway: Running, web: Web, mode: str) -> None:
    """It says with status 400, and in no JSON-RPC, that it does not know the session."""

    async def main() -> None:
        async with gateway.client(mode=mode, elicitation_callback=accept) as client:
            total = {"a": 1, "b": 2}
            assert "is 3" in text_of(await call(client, "web", "get-sum", total))
            web.kill()
            web.start()
            assert "is 3" in text_of(await call(client, "web", "get-sum", total))
            web.kill()
            web.start()
            # It was refused, and so not carried out: that it may change something is no matter.
            toggled = await call(client, "web", "toggle-simulated-logging")
            assert text_of(toggled).startswith("Started")

    run(main)
