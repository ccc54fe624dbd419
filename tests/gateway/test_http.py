"""Who is let in over HTTP: keys, policies, tokens, limits, and browsers of other sites."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import jwt
import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from mcp import Client

from tool_rag_pg.retriever import ToolRetriever

from .conftest import MODES, PeerServer, Running, Serve, run, text_of, wait_until

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/list",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}


@pytest.fixture(scope="module")
def peer(folder: Path) -> Iterator[PeerServer]:
    peer = PeerServer(folder, "web").start()
    yield peer
    peer.stop()


@pytest.fixture(scope="module")
def roles(catalogue: str) -> None:
    with psycopg.connect(catalogue, autocommit=True) as connection:
        retriever = ToolRetriever(connection)
        retriever.add_role("staff")
        retriever.grant_tools("staff", "*")


@pytest.fixture(scope="module")
def gateway(serve: Serve, peer: PeerServer, roles: None) -> Running:
    return serve(
        {
            "name": "door",
            "servers": [{"name": "web", "url": peer.url}],
            "limits": {"requests_per_minute": 100},
            "http": {"port": 0, "metrics_key": "env:METRICS_KEY"},
        },
        {"METRICS_KEY": "m" * 32},
        tools_of=("web",),
    )


def post(gateway: Running, body: Any = None, *, to: str = "", **headers: str) -> httpx2.Response:
    with httpx2.Client() as client:
        return client.post(
            gateway.url + to,
            json=LIST if body is None else body,
            headers={**HEADERS, **headers},
            timeout=20,
        )


def test_only_good_keys_get_in(
    gateway: Running, make_key: Callable[..., str], catalogue: str
) -> None:
    good = make_key("good", ["staff"])
    spoilt = good[:-1] + ("A" if good[-1] != "A" else "B")
    assert post(gateway, Authorization=f"Bearer {good}").status_code == 200
    assert post(gateway, **{"X-Api-Key": good}).status_code == 200
    for headers in ({}, {"Authorization": f"Bearer {spoilt}"}, {"Authorization": "Bearer x"}):
        refused = post(gateway, **headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "key" in refused.json()["error"]["message"]
    with psycopg.connect(catalogue, autocommit=True) as connection:
        ToolRetriever(connection).revoke_api_key("good")
    assert post(gateway, Authorization=f"Bearer {good}").status_code == 401
    assert good not in gateway.process.said()


def test_a_key_in_the_address_is_refused(gateway: Running, make_key: Callable[..., str]) -> None:
    key = make_key("in the address", ["staff"])
    for name in ("api_key", "token", "access_token"):
        assert post(gateway, to=f"?{name}={key}").status_code == 400
    assert key not in gateway.process.said()


def test_a_session_belongs_to_who_opened_it(gateway: Running, make_key: Callable[..., str]) -> None:
    mine, other = make_key("mine", ["staff"]), make_key("other", ["staff"])
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    old = {"MCP-Protocol-Version": "2025-06-18", "Authorization": f"Bearer {mine}"}
    begun = post(gateway, begin, **old)
    assert begun.status_code == 200
    assert '"protocolVersion":"2025-06-18"' in begun.text
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert post(gateway, ready, **old, **session).status_code == 202
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert "search_tools" in post(gateway, listing, **old, **session).text
    stolen = {**old, "Authorization": f"Bearer {other}"}
    assert post(gateway, listing, **stolen, **session).status_code == 404


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example.org", 421),
        ("Host", "127.0.0.1.evil.example.org", 421),
        ("Origin", "https://evil.example.org", 403),
        ("Origin", "null", 403),
    ],
)
def test_browsers_of_other_sites_stay_out(
    gateway: Running, make_key: Callable[..., str], header: str, value: str, status: int
) -> None:
    key = make_key(f"browser {header} {value}", ["staff"])
    assert post(gateway, **{"Authorization": f"Bearer {key}", header: value}).status_code == status
    assert gateway.get("/metrics", {header: value})[0] == status
    # Probes of clusters name addresses of their own.
    assert gateway.get("/healthz", {header: value})[0] == 200


def test_a_caller_may_ask_so_often(gateway: Running, make_key: Callable[..., str]) -> None:
    key, other = make_key("often", ["staff"]), make_key("seldom", ["staff"])
    statuses = [post(gateway, Authorization=f"Bearer {key}").status_code for _ in range(110)]
    assert 429 in statuses
    assert statuses[:50] == [200] * 50
    late = post(gateway, Authorization=f"Bearer {key}")
    assert 1 <= int(late.headers["retry-after"]) <= 60
    assert post(gateway, Authorization=f"Bearer {other}").status_code == 200


def test_operators_see_how_it_is(gateway: Running) -> None:
    assert gateway.get("/healthz") == (200, '{"status":"ok"}')
    assert gateway.get("/readyz") == (200, '{"status":"ready"}')
    assert gateway.get("/metrics")[0] == 401
    status, page = gateway.get("/metrics", {"Authorization": f"Bearer {'m' * 32}"})
    assert status == 200
    assert 'tool_rag_upstream_up{server="web"} 1.0' in page
    assert "tool_rag_requests_refused_total" in page
    assert gateway.get("/")[0] == 404


async def names(client: Client, query: str = "numbers, rooms, texts") -> set[str]:
    found = await client.call_tool("search_tools", {"query": query, "limit": 50})
    assert not found.is_error, text_of(found)
    return {tool["name"] for tool in found.structured_content["tools"]}


@pytest.mark.parametrize("mode", MODES)
def test_policies_of_a_gatekeeper_in_a_file(
    serve: Serve, peer: PeerServer, folder: Path, catalogue: str, mode: str
) -> None:
    path = folder / f"policies-{mode}.json"

    def allow(*tools: str, **more: Any) -> None:
        digest = hashlib.sha256(b"key of ben").hexdigest()
        policies = {
            "key of asha": {"web": {"tools": list(tools)}},
            f"sha256:{digest}": {"web": {"tools": ["make_text"], **more}},
        }
        path.write_text(json.dumps(policies), encoding="utf-8")

    allow("add_numbers")
    with psycopg.connect(catalogue, autocommit=True) as connection:
        connection.execute("select tool_rag.trust_login(session_user::text)")
    gateway = serve(
        {
            "servers": [{"name": "web", "url": peer.url}],
            "permissions": {"mode": "gatekeeper", "store": str(path), "ignore": ["rate"]},
            "min_relevance": None,
        },
        tools_of=("web",),
    )

    async def main() -> None:
        async with gateway.client("key of asha", mode=mode) as client:
            assert await names(client) == {"add_numbers"}
            listed = await client.list_tools()
            assert "1 tool of 1 server" in (listed.tools[0].description or "")
            allow("add_numbers", "book_room")
            assert await names(client) == {"add_numbers", "book_room"}
        async with gateway.client("key of ben", mode=mode) as client:
            assert await names(client) == {"make_text"}
            asked = {"server": "web", "name": "make_text", "arguments": {"length": 2}}
            assert text_of(await client.call_tool("call_tool", asked)) == "xx"
            asked = {"server": "web", "name": "add_numbers", "arguments": {"a": 1, "b": 2}}
            assert (await client.call_tool("call_tool", asked)).is_error

    run(main)
    assert post(gateway, Authorization="Bearer key of nobody").status_code == 401
    # A limit that nobody enforces, or a broken file, lets nobody in.
    allow("add_numbers", hours="9-17")
    assert post(gateway, Authorization="Bearer key of asha").status_code == 503
    allow("add_numbers", rate="10/min")
    assert post(gateway, Authorization="Bearer key of asha").status_code == 200
    path.write_text("{", encoding="utf-8")
    assert post(gateway, Authorization="Bearer key of asha").status_code == 503
    assert "key of asha" not in gateway.process.said()


def test_policies_of_a_gatekeeper_in_postgres(
    serve: Serve, peer: PeerServer, catalogue: str
) -> None:
    with psycopg.connect(catalogue, autocommit=True) as connection:
        connection.execute("select tool_rag.trust_login(session_user::text)")
        connection.execute("create table gatekeeper_policy (key_sha256 text, policy jsonb)")
        connection.execute(
            "insert into gatekeeper_policy values (%s, %s)",
            (
                hashlib.sha256(b"key of asha").hexdigest(),
                json.dumps({"web": {"tools": ["add_numbers"]}}),
            ),
        )
    gateway = serve(
        {
            "servers": [{"name": "web", "url": peer.url}],
            "permissions": {"mode": "gatekeeper", "store": "env:STORE"},
        },
        {"STORE": catalogue},
        tools_of=("web",),
    )

    async def main() -> None:
        async with gateway.client("key of asha") as client:
            assert await names(client) == {"add_numbers"}
            with psycopg.connect(catalogue, autocommit=True) as connection:
                connection.execute("delete from gatekeeper_policy")

    run(main)
    assert post(gateway, Authorization="Bearer key of asha").status_code == 401


class Issuer:
    """An authorization server, as far as a resource server sees one: its keys."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        keys = json.dumps({"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]})

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(keys.encode())

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, key: Any = None, **claims: Any) -> str:
        now = int(time.time())
        usual = {
            "iss": self.url,
            "aud": "http://127.0.0.1:8808/mcp",
            "sub": "asha",
            "iat": now,
            "exp": now + 300,
            "scope": "tools read",
            "app": {"roles": ["staff"]},
            "customer": "c-17",
        }
        merged = {k: v for k, v in {**usual, **claims}.items() if v is not None}
        return jwt.encode(merged, key or self.key, algorithm="RS256", headers={"kid": "one"})


def test_tokens_of_an_authorization_server(serve: Serve, peer: PeerServer, roles: None) -> None:
    issuer = Issuer()
    gateway = serve(
        {
            "servers": [{"name": "web", "url": peer.url}],
            "permissions": {
                "mode": "oauth",
                "provider": {
                    "issuer": issuer.url,
                    "audience": "http://127.0.0.1:8808/mcp",
                    "roles_claim": "app.roles",
                    "identity": {"customer_id": "customer"},
                    "scopes": ["tools"],
                },
            },
        },
        tools_of=("web",),
    )

    async def main() -> None:
        async with gateway.client(issuer.token()) as client:
            assert "add_numbers" in await names(client)
            asked = {"server": "web", "name": "list_my_orders", "arguments": {}}
            orders = await client.call_tool("call_tool", asked)
            assert text_of(orders) == "orders of c-17 in all years"
        async with gateway.client(issuer.token(app={"roles": []})) as client:
            assert await names(client) == set()

    run(main)
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = issuer.key.public_key()
    for token in (
        issuer.token(aud="http://elsewhere/mcp"),
        issuer.token(iss="http://elsewhere"),
        issuer.token(exp=int(time.time()) - 60),
        issuer.token(exp=None),
        issuer.token(sub=None),
        issuer.token(scope="read"),
        issuer.token(app={"roles": 7}),
        issuer.token(key=other),
        jwt.encode({"sub": "asha"}, "", algorithm="none"),
        "trk_abc",
    ):
        refused = post(gateway, Authorization=f"Bearer {token}")
        assert refused.status_code == 401, token
    assert "resource_metadata=" in refused.headers["www-authenticate"]
    assert public is not None
    status, metadata = gateway.get("/.well-known/oauth-protected-resource/mcp")
    assert status == 200
    assert json.loads(metadata)["authorization_servers"] == [f"{issuer.url}/"]
    issuer.server.shutdown()
    issuer.server.server_close()


def test_a_callers_key_goes_only_where_it_belongs(
    serve: Serve, peer: PeerServer, make_key: Callable[..., str], roles: None
) -> None:
    """Each caller's own, to the server that asks for it, also when many call at once."""
    gateway = serve(
        {
            "servers": [
                {
                    "name": "trusting",
                    "url": peer.url,
                    "forward_key": True,
                    "headers": {"authorization": "Bearer env:LISTING"},
                },
                {"name": "web", "url": peer.url},
            ],
        },
        {"LISTING": "the gateway's own"},
        tools_of=("trusting", "web"),
    )
    keys = [make_key(f"forwarded {number}", ["staff"]) for number in range(4)]

    async def headers(key: str, server: str, mode: str) -> str:
        async with gateway.client(key, mode=mode) as client:
            asked = {"server": server, "name": "show_headers", "arguments": {}}
            return text_of(await client.call_tool("call_tool", asked))

    async def main() -> None:
        import anyio

        async def check(key: str, mode: str) -> None:
            said = await headers(key, "trusting", mode)
            assert f"Bearer {key}" in said
            assert not [other for other in keys if other != key and other in said]
            assert "the gateway's own" not in said
            assert key not in await headers(key, "web", mode)

        async with anyio.create_task_group() as tasks:
            for key in keys:
                for mode in MODES:
                    tasks.start_soon(check, key, mode)

    run(main)
    wait_until(lambda: gateway.get("/readyz")[0] == 200, "readiness")
    assert not [key for key in keys if key in gateway.process.said()]
