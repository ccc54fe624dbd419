"""Follow-ups, tools in use, tools that are listed once they were found; the gateway on stdio."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import psycopg
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.subscriptions import ToolsListChanged

from tool_rag_pg.keys import SECRET_VARIABLE
from tool_rag_pg.retriever import ToolRetriever

from .conftest import (
    MODES,
    ROOT,
    SECRET,
    PeerServer,
    Running,
    Serve,
    accept,
    run,
    stdio_peer,
    text_of,
)


@pytest.fixture(scope="module")
def peer(folder: Path) -> Iterator[PeerServer]:
    peer = PeerServer(folder, "web").start()
    yield peer
    peer.stop()


@pytest.fixture(scope="module")
def gateway(serve: Serve, peer: PeerServer, catalogue: str) -> Running:
    running = serve(
        {
            "servers": [{"name": "web", "url": peer.url}],
            "permissions": {"mode": "keys"},
            "offer_found": True,
            "min_relevance": None,
            "limit": 1,
        },
        tools_of=("web",),
    )
    with psycopg.connect(catalogue, autocommit=True) as connection:
        retriever = ToolRetriever(connection)
        retriever.add_role("staff")
        retriever.grant_tools("staff", "web")
    return running


@pytest.fixture(scope="module")
def keys(make_key: Callable[..., str], gateway: Running) -> list[str]:
    return [make_key(f"person {number}", ["staff"]) for number in range(6)]


async def search(client: Client, query: str, **more: Any) -> tuple[list[str], str]:
    result = await client.call_tool("search_tools", {"query": query, **more})
    assert not result.is_error, text_of(result)
    found = result.structured_content
    return [tool["name"] for tool in found["tools"]], found["conversation"]


def test_a_session_is_a_conversation(gateway: Running, keys: list[str]) -> None:
    async def main() -> None:
        async with gateway.client(keys[0], mode="legacy") as client:
            names, handle = await search(client, "book a meeting room for the board")
            assert (names, handle) == (["book_room"], "")
            assert (await search(client, "yes please, tomorrow as well"))[0] == ["book_room"]
        async with gateway.client(keys[0], mode="legacy") as client:
            # Another session is another conversation.
            assert (await search(client, "yes please, tomorrow as well"))[0] != ["book_room"]

    run(main)


def test_a_handle_is_a_conversation(gateway: Running, keys: list[str]) -> None:
    async def main() -> None:
        async with gateway.client(keys[1]) as client:
            names, handle = await search(client, "book a meeting room for the board")
            assert names == ["book_room"]
            assert handle
            follow_up = "yes please, tomorrow as well"
            assert (await search(client, follow_up))[0] != ["book_room"]
            assert await search(client, follow_up, conversation=handle) == (["book_room"], handle)
        async with gateway.client(keys[2]) as client:
            # A handle is worth nothing to somebody else.
            assert (await search(client, follow_up, conversation=handle))[0] != ["book_room"]

    run(main)


def test_tools_in_use_stay(gateway: Running, keys: list[str]) -> None:
    async def main() -> None:
        async with gateway.client(keys[1]) as client:
            _, handle = await search(client, "show a picture")
            arguments = {"server": "web", "name": "show_picture", "conversation": handle}
            assert not (await client.call_tool("call_tool", arguments)).is_error
            names, _ = await search(client, "add two numbers", conversation=handle)
            assert names == ["add_numbers", "show_picture"]
            assert (await search(client, "add two numbers"))[0] == ["add_numbers"]

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_what_was_found_is_listed(gateway: Running, keys: list[str], mode: str) -> None:
    key = keys[3 + MODES.index(mode)]
    told: list[Any] = []

    async def hear(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            told.append(message)

    async def main() -> None:
        async with gateway.client(key, mode=mode, message_handler=hear) as client:
            assert client.server_capabilities.tools is not None
            assert client.server_capabilities.tools.list_changed
            assert len((await client.list_tools()).tools) == 2

            async def follow(*, task_status: Any = anyio.TASK_STATUS_IGNORED) -> None:
                async with client.listen(tools_list_changed=True) as events:
                    task_status.started()
                    async for event in events:
                        if isinstance(event, ToolsListChanged):
                            told.append(event)

            async with anyio.create_task_group() as tasks:
                if mode == "auto":
                    await tasks.start(follow)
                else:
                    await anyio.sleep(0.5)
                await search(client, "add two numbers")
                with anyio.fail_after(10):
                    while not told:
                        await anyio.sleep(0.02)
                tasks.cancel_scope.cancel()
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed[2:]] == ["web__add_numbers"]
            assert listed[2].input_schema["required"] == ["a", "b"]
            result = await client.call_tool("web__add_numbers", {"a": 1, "b": 2})
            assert text_of(result) == "3"
        # What one person found is not in another's list.
        async with gateway.client(keys[5], mode=mode) as client:
            assert len((await client.list_tools()).tools) == 2

    run(main)


@pytest.fixture
def on_stdio(folder: Path, catalogue: str) -> Callable[..., StdioServerParameters]:
    def make(key: str | None, **more: Any) -> StdioServerParameters:
        path = folder / "stdio.json"
        config = {"servers": [stdio_peer(folder, "inner")], "permissions": {"mode": "keys"}, **more}
        path.write_text(json.dumps(config), encoding="utf-8")
        environment = {SECRET_VARIABLE: SECRET, "TOOL_RAG_DATABASE_URL": catalogue}
        return StdioServerParameters(
            command=sys.executable,
            args=["-m", "tool_rag_pg.cli.main", "serve", str(path), "--stdio"],
            cwd=ROOT,
            env={**environment, **({"TOOL_RAG_KEY": key} if key else {})},
        )

    return make


@pytest.mark.parametrize("mode", MODES)
def test_on_standard_input_and_output(
    on_stdio: Callable[..., StdioServerParameters],
    make_key: Callable[..., str],
    catalogue: str,
    gateway: Running,
    mode: str,
) -> None:
    with psycopg.connect(catalogue, autocommit=True) as connection:
        ToolRetriever(connection).grant_tools("staff", "inner")
    key = make_key(f"stdio {mode}", ["staff"])

    async def main() -> None:
        parameters = on_stdio(key, always_on=["inner/add_numbers"])
        async with Client(parameters, mode=mode, cache=None, elicitation_callback=accept) as client:
            with anyio.fail_after(30):
                while len((await client.list_tools()).tools) < 3:
                    await anyio.sleep(0.1)
            names, _ = await search(client, "book a meeting room")
            assert "book_room" in names
            asked = {"server": "inner", "name": "book_room", "arguments": {"room": mode}}
            assert text_of(await client.call_tool("call_tool", asked)) == f"booked {mode}"
            follow_up, _ = await search(client, "yes please, tomorrow as well", limit=1)
            assert "book_room" in follow_up
            with psycopg.connect(catalogue, autocommit=True) as connection:
                ToolRetriever(connection).revoke_api_key(f"stdio {mode}")
            with pytest.raises(Exception, match="no valid key"):
                await client.call_tool("search_tools", {"query": "book a room"})

    run(main)


@pytest.mark.parametrize("key", [None, "trk_wrong"])
def test_on_standard_input_without_a_key(
    on_stdio: Callable[..., StdioServerParameters], key: str | None
) -> None:
    parameters = on_stdio(key)
    done = subprocess.run(
        [parameters.command, *parameters.args],
        cwd=ROOT,
        env={**(parameters.env or {}), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "TOOL_RAG_KEY" in done.stderr
    assert done.stdout == ""
