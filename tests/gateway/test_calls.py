"""Searching and calling through the gateway, as people with different rights, in both eras."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import psycopg
import pytest
from mcp import Client, MCPError

from tool_rag_pg.retriever import ToolRetriever

from .conftest import (
    MODES,
    PeerServer,
    Running,
    Serve,
    accept,
    decline,
    run,
    stdio_peer,
    text_of,
    wait_until,
)


@pytest.fixture(scope="module")
def peer(folder: Path) -> Any:
    peer = PeerServer(folder, "web").start()
    yield peer
    peer.stop()


@pytest.fixture(scope="module")
def gateway(serve: Serve, peer: PeerServer, folder: Path, catalogue: str) -> Running:
    running = serve(
        {
            "name": "office",
            "servers": [
                {"name": "web", "url": peer.url, "description": "rooms and orders"},
                stdio_peer(folder, "local", env={"PEER_TOKEN": "env:PEER_TOKEN"}),
            ],
            "permissions": {"mode": "keys"},
            "always_on": ["local/add_numbers"],
        },
        {"PEER_TOKEN": "value of the variable"},
        tools_of=("web", "local"),
    )
    with psycopg.connect(catalogue, autocommit=True) as connection:
        retriever = ToolRetriever(connection)
        retriever.set_audit(level="full")
        for role in ("staff", "guest"):
            retriever.add_role(role)
        retriever.grant_tools("staff", "*")
        retriever.grant_tools("guest", "web", "add_numbers")
    return running


@pytest.fixture(scope="module")
def staff(make_key: Callable[..., str], gateway: Running) -> str:
    return make_key("asha", ["staff"], identity={"customer_id": "c-17"})


@pytest.fixture(scope="module")
def guest(make_key: Callable[..., str], gateway: Running) -> str:
    return make_key("ben", ["guest"])


async def search(client: Client, query: str, **more: Any) -> dict[str, Any]:
    result = await client.call_tool("search_tools", {"query": query, **more})
    assert not result.is_error, text_of(result)
    document: dict[str, Any] = result.structured_content
    assert json.loads(text_of(result)) == document
    return document


async def call(
    client: Client, server: str, name: str, arguments: Any = None, **more: Any
) -> types.CallToolResult:
    asked = {"server": server, "name": name, "arguments": arguments or {}, **more}
    return await client.call_tool("call_tool", asked)


@pytest.mark.parametrize("mode", MODES)
def test_the_list_says_what_lies_behind_it(
    gateway: Running, staff: str, guest: str, mode: str
) -> None:
    async def main() -> None:
        async with gateway.client(staff, mode=mode) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == [
                "search_tools",
                "call_tool",
                "local__add_numbers",
            ]
            assert "26 tools of 2 servers" in (listed.tools[0].description or "")
            assert "web (13, rooms and orders)" in (listed.tools[0].description or "")
            assert listed.cache_scope == "private"
            assert client.instructions
            added = await client.call_tool("local__add_numbers", {"a": 2, "b": 3})
            assert added.structured_content == {"sum": 5}
        async with gateway.client(guest, mode=mode) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["search_tools", "call_tool"]
            assert "1 tool of 1 server" in (listed.tools[0].description or "")
            refused = await client.call_tool("local__add_numbers", {"a": 2, "b": 3})
            assert refused.is_error

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_search_and_call(gateway: Running, staff: str, mode: str) -> None:
    async def main() -> None:
        async with gateway.client(staff, mode=mode) as client:
            found = await search(client, "add up two numbers", limit=3)
            assert found["tools"][0]["name"] == "add_numbers"
            assert len(found["tools"]) <= 3
            assert found["tools"][0]["reason"]
            server = found["tools"][0]["server"]
            result = await call(client, server, "add_numbers", {"a": 1, "b": 2})
            assert result.structured_content == {"sum": 3}
            assert text_of(result) == "3"

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_where_nothing_serves(gateway: Running, staff: str, mode: str) -> None:
    async def main() -> None:
        async with gateway.client(staff, mode=mode) as client:
            found = await search(client, "quagga zebra xylophone")
            assert found["tools"] == []
            assert "quagga" in found["message"]

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_rights_of_each_person(gateway: Running, guest: str, peer: PeerServer, mode: str) -> None:
    async def main() -> None:
        async with gateway.client(guest, mode=mode, elicitation_callback=accept) as client:
            found = await search(client, "book a meeting room, add numbers", limit=50)
            assert {(each["server"], each["name"]) for each in found["tools"]} == {
                ("web", "add_numbers")
            }
            forbidden = await call(client, "web", "book_room", {"room": "forbidden"})
            missing = await call(client, "web", "book_roof", {"room": "forbidden"})
            assert forbidden.is_error
            assert missing.is_error
            # One answer, whether there is such a tool or not.
            assert text_of(forbidden).replace("book_room", "book_roof") == text_of(missing)

    run(main)
    assert "booked forbidden" not in peer.entries()


@pytest.mark.parametrize("mode", MODES)
def test_a_grant_counts_at_once(gateway: Running, guest: str, catalogue: str, mode: str) -> None:
    def edit(statement: str) -> None:
        with psycopg.connect(catalogue, autocommit=True) as connection:
            connection.execute(statement.encode())

    async def main() -> None:
        async with gateway.client(guest, mode=mode) as client:
            assert (await call(client, "web", "make_text", {"length": 3})).is_error
            edit("select tool_rag.grant_tools('guest', 'web', 'make_text')")
            assert text_of(await call(client, "web", "make_text", {"length": 3})) == "xxx"
            edit("select tool_rag.revoke_tools('guest', 'web', 'make_text')")
            assert (await call(client, "web", "make_text", {"length": 3})).is_error

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_names_and_arguments_are_corrected(gateway: Running, staff: str, mode: str) -> None:
    async def main() -> None:
        async with gateway.client(staff, mode=mode) as client:
            misspelt = await call(client, "web", "addNumbers", {"a": 1, "b": 2})
            assert misspelt.structured_content == {"sum": 3}
            wrong = await call(client, "web", "add_numbers", {"a": "one"})
            assert wrong.is_error
            assert "a: " in text_of(wrong)
            assert "b: it is missing" in text_of(wrong)
            unknown = await client.call_tool("search_tools", {"querry": "x"})
            assert unknown.is_error
            assert "query" in text_of(unknown)

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_identity_comes_from_the_key(
    gateway: Running, staff: str, make_key: Callable[..., str], mode: str
) -> None:
    nobody = make_key(f"no identity {mode}", ["staff"])

    async def main() -> None:
        async with gateway.client(staff, mode=mode) as client:
            found = await search(client, "list my orders", limit=1)
            (orders,) = found["tools"]
            assert "customer_id" not in json.dumps(orders["input_schema"])
            for arguments in ({"year": 2024}, {"year": 2024, "customer_id": "c-99"}):
                result = await call(client, orders["server"], "list_my_orders", arguments)
                assert text_of(result) == "orders of c-17 in 2024"
        async with gateway.client(nobody, mode=mode) as client:
            refused = await call(client, "web", "list_my_orders", {"year": 2024})
            assert refused.is_error
            assert "customer_id" in text_of(refused)

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_an_action_is_confirmed(gateway: Running, staff: str, peer: PeerServer, mode: str) -> None:
    asked: list[str] = []

    async def note_and_accept(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return await accept(context, params)

    async def main() -> None:
        async with gateway.client(staff, mode=mode, elicitation_callback=note_and_accept) as client:
            result = await call(client, "web", "book_room", {"room": f"A {mode}"})
            assert text_of(result) == f"booked A {mode}"
        async with gateway.client(staff, mode=mode, elicitation_callback=decline) as client:
            result = await call(client, "web", "book_room", {"room": f"B {mode}"})
            assert result.is_error
            assert "did not agree" in text_of(result)
        # A client that can't ask its user.
        async with gateway.client(staff, mode=mode) as client:
            asking = call(client, "web", "book_room", {"room": f"C {mode}"})
            if mode == "auto":
                with pytest.raises(MCPError, match="may change something") as caught:
                    await asking
                assert caught.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
                assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
            else:
                result = await asking
                assert result.is_error
                assert "may change something" in text_of(result)
            # What changes nothing needs no confirmation.
            assert not (await call(client, "web", "add_numbers", {"a": 1, "b": 1})).is_error

    run(main)
    assert len(asked) == 1
    assert f"A {mode}" in asked[0]
    assert "book_room" in asked[0]
    assert [entry for entry in peer.entries() if entry.endswith(mode)] == [f"booked A {mode}"]


def test_a_confirmation_is_for_one_call(gateway: Running, staff: str, peer: PeerServer) -> None:
    """Another call, the same a second time, another person, a changed state: none goes through."""

    async def main() -> None:
        async with gateway.client(staff, elicitation_callback=accept) as client:

            async def ask(room: str, **more: Any) -> Any:
                arguments = {"server": "web", "name": "book_room", "arguments": {"room": room}}
                return await client.session.call_tool(
                    "call_tool", arguments, allow_input_required=True, **more
                )

            answers = {"confirm": types.ElicitResult(action="accept", content={})}
            first = await ask("once")
            assert isinstance(first, types.InputRequiredResult)
            state = first.request_state
            assert "once" not in str(state)
            # An answer without the state asks again.
            unasked = await ask("once", input_responses=answers)
            assert isinstance(unasked, types.InputRequiredResult)
            for room, sent in (("other", state), ("once", str(state)[:-2] + "AA")):
                with pytest.raises(Exception, match="requestState"):
                    await ask(room, input_responses=answers, request_state=sent)
            done = await ask("once", input_responses=answers, request_state=state)
            assert text_of(done) == "booked once"
            again = await ask("once", input_responses=answers, request_state=state)
            assert isinstance(again, types.InputRequiredResult)

    run(main)
    assert peer.entries().count("booked once") == 1
    assert "booked other" not in peer.entries()


@pytest.mark.parametrize("mode", MODES)
def test_results_pass_through(gateway: Running, staff: str, mode: str) -> None:
    async def main() -> None:
        async with gateway.client(staff, mode=mode) as client:
            for server in ("web", "local"):
                picture = await call(client, server, "show_picture")
                assert isinstance(picture.content[0], types.ImageContent)
                assert text_of(picture) == "1 by 1"
                large = await call(client, server, "make_text", {"length": 5_000_000})
                assert len(text_of(large)) == 5_000_000
                failed = await call(client, server, "always_fail")
                assert failed.is_error
                assert text_of(failed) == "the tool says no"
                broken = await call(client, server, "break_protocol")
                assert broken.is_error
                assert "the server says no" in text_of(broken)

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_progress_passes_through(gateway: Running, staff: str, mode: str) -> None:
    heard: dict[str, list[Any]] = {"web": [], "local": []}

    async def main() -> None:
        async with gateway.client(staff, mode=mode) as client:
            for server, list_ in heard.items():

                async def note(progress: float, total: Any, message: Any, to: Any = list_) -> None:
                    to.append((progress, total, message))

                asked = {"server": server, "name": "report_progress", "arguments": {"steps": 5}}
                result = await client.call_tool("call_tool", asked, progress_callback=note)
                assert text_of(result) == "counted"

    run(main)
    for list_ in heard.values():
        assert list_ == [(step + 1, 5, f"step {step}") for step in range(5)]


def test_secrets_reach_only_their_server(gateway: Running, staff: str) -> None:
    async def main() -> None:
        async with gateway.client(staff) as client:
            local = await call(client, "local", "show_environment", {"name": "PEER_TOKEN"})
            assert text_of(local) == "value of the variable"
            other = await call(client, "local", "show_environment", {"name": "TOOL_RAG_KEY_SECRET"})
            assert text_of(other) == "(not set)"
            headers = await call(client, "web", "show_headers")
            assert staff not in text_of(headers)
            assert "authorization" not in text_of(headers)

    run(main)
    said = gateway.process.said()
    assert staff not in said
    assert "value of the variable" not in said


def test_every_decision_is_recorded(gateway: Running, staff: str, guest: str) -> None:
    async def main() -> None:
        async with gateway.client(staff, elicitation_callback=decline) as client:
            await call(client, "web", "book_room", {"room": "recorded"})
            await call(client, "web", "addNumbers", {"a": 41, "b": 1})
            await call(client, "web", "add_numbers", {"a": "x"})
        async with gateway.client(guest) as client:
            await call(client, "web", "book_room", {"room": "recorded"})

    before = len(gateway.events())
    run(main)
    events = wait_until(
        lambda: gateway.events()[:5] if len(gateway.events()) >= before + 5 else None, "events"
    )
    outcomes = [(event.outcome, event.detail["tool"]) for event in reversed(events)]
    assert outcomes == [
        ("asked", "book_room"),
        ("declined", "book_room"),
        ("called", "add_numbers"),
        ("invalid", "add_numbers"),
        ("not_permitted", "book_room"),
    ]
    assert events[2].detail["detail"]["written"] == "web/addNumbers"
    assert events[2].detail["detail"]["arguments"] == {"a": 41, "b": 1}
    assert events[2].detail["detail"]["caller"] == "asha"
    assert events[0].roles == ["guest"]
    assert all("customer_id" not in json.dumps(event.detail) for event in events)
