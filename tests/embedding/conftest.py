"""A server on loopback that speaks OpenAI's embeddings protocol, and misbehaves when told to."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

SIZE = 6
KEY = "sk-very-secret-0123456789"


def fake_vector(text: str, size: int = SIZE) -> list[float]:
    """Return a vector that depends on the text alone."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return [(byte - 127.5) / 128 for byte in digest[:size]]


@dataclass
class Answer:
    """What the server does with one request, instead of answering it well.

    Attributes:
        status: of the answer; 0 closes the connection instead.
        body: what it says.
        headers: besides the length.
        delay: seconds before it answers.
        drip: seconds before each byte of the body.

    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0
    drip: float = 0


@dataclass
class Asked:
    """A request that arrived, and when."""

    path: str
    authorization: str | None
    question: dict[str, Any]
    at: float


@dataclass
class FakeEndpoint:
    """The running server.

    Attributes:
        url: its base URL.
        asked: the requests so far.
        script: what to do with the next ones; then it answers well.

    """

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    script: list[Answer] = field(default_factory=list)

    def inputs(self) -> list[list[str]]:
        return [each.question["input"] for each in self.asked]


def well(question: dict[str, Any]) -> bytes:
    """Return the good answer to a question, in an order of its own."""
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": fake_vector(text, question.get("dimensions", SIZE)),
        }
        for index, text in enumerate(question["input"])
    ]
    return json.dumps({"object": "list", "data": data[::-1], "model": "m"}).encode()


@contextmanager
def serve() -> Iterator[FakeEndpoint]:
    endpoint = FakeEndpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["content-length"])))
            endpoint.asked.append(
                Asked(self.path, self.headers["authorization"], question, time.monotonic())
            )
            told = endpoint.script.pop(0) if endpoint.script else Answer(body=well(question))
            time.sleep(told.delay)
            if told.status == 0:
                self.close_connection = True
                return
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(told.body)))
            self.end_headers()
            for byte in told.body if told.drip else ():
                time.sleep(told.drip)
                try:
                    self.wfile.write(bytes([byte]))
                except ConnectionError:
                    return
            if not told.drip:
                self.wfile.write(told.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEndpoint]:
    """A running endpoint; the key is set, and no proxy stands between."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("tool_rag_pg.embedding.openai._FIRST_WAIT", 0.01)
    with serve() as made:
        yield made
