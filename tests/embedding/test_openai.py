"""The adapter for OpenAI's protocol, against a server on real sockets."""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.embedding.conftest import KEY, SIZE, Answer, FakeEndpoint, fake_vector, well
from tool_rag_pg.embedding import OpenAIEmbedder
from tool_rag_pg.errors import EmbeddingError, InvalidArgument

Make = Callable[..., OpenAIEmbedder]


@pytest.fixture
def make(endpoint: FakeEndpoint) -> Iterator[Make]:
    """Return a function that makes an embedder for the endpoint."""
    made: list[OpenAIEmbedder] = []

    def embedder(**options: object) -> OpenAIEmbedder:
        options.setdefault("base_url", endpoint.url)
        made.append(OpenAIEmbedder("m", **options))  # type: ignore[arg-type]
        return made[-1]

    yield embedder
    for each in made:
        each.close()


def error_body(message: str, code: str | None = None) -> bytes:
    return json.dumps({"error": {"message": message, "code": code}}).encode()


def test_texts_go_in_batches_and_vectors_come_in_order(endpoint: FakeEndpoint, make: Make) -> None:
    texts = [f"text {number} é\U0001f600" for number in range(7)]
    embedder = make(batch_size=3, document_prompt="d: ", query_prompt="q: ", name="mine")
    vectors = embedder.embed_documents(texts)
    assert endpoint.inputs() == [part for part in (texts[:3], texts[3:6], texts[6:])]
    assert vectors == [pytest.approx(fake_vector(text)) for text in texts]
    assert {(each.path, each.authorization) for each in endpoint.asked} == {
        ("/v1/embeddings", f"Bearer {KEY}")
    }
    assert all(set(each.question) == {"model", "input"} for each in endpoint.asked)
    assert (embedder.name, embedder.dimensions, len(endpoint.asked)) == ("mine", SIZE, 3)
    assert embedder.embed_query("how") == pytest.approx(fake_vector("q: how"))
    assert embedder.embed_documents([]) == []
    embedder.embed_query("half \ud800 pair")


def test_the_size_is_asked_for_or_found_out(endpoint: FakeEndpoint, make: Make) -> None:
    assert make().dimensions == SIZE
    assert len(endpoint.asked) == 1
    short = make(dimensions=4)
    assert short.dimensions == 4
    assert len(short.embed_query("x")) == 4
    assert [each.question.get("dimensions") for each in endpoint.asked] == [None, 4]


def test_what_may_pass_is_tried_again(endpoint: FakeEndpoint, make: Make) -> None:
    endpoint.script = [
        Answer(500, b"<html>"),
        Answer(429, error_body("slow down"), {"retry-after": "0.4"}),
        Answer(503, b"", {"retry-after": format_datetime(datetime.now(UTC) - timedelta(1), True)}),
        Answer(0),
    ]
    assert make().embed_documents(["x"]) == [pytest.approx(fake_vector("x"))]
    assert len(endpoint.asked) == 5
    waits = [b.at - a.at for a, b in zip(endpoint.asked, endpoint.asked[1:], strict=False)]
    assert 0.4 <= waits[1] < 2
    assert waits[0] < 0.4


def test_it_gives_up_in_the_end(endpoint: FakeEndpoint, make: Make) -> None:
    endpoint.script = [Answer(502)] * 9
    with pytest.raises(EmbeddingError, match=r"/v1/embeddings answered 502$"):
        make(retries=2).embed_documents(["x"])
    assert len(endpoint.asked) == 3
    # A search waits for one more try only.
    with pytest.raises(EmbeddingError):
        make().embed_query("x")
    assert len(endpoint.asked) == 5
    endpoint.script = [Answer(429, b"", {"retry-after": "3600"})]
    with pytest.raises(EmbeddingError, match="asks to wait 3600 seconds, and 60 is the most"):
        make().embed_documents(["x"])
    assert len(endpoint.asked) == 6


def test_a_slow_answer_is_a_failure_that_may_pass(endpoint: FakeEndpoint, make: Make) -> None:
    endpoint.script = [Answer(delay=0.6)]
    start = time.monotonic()
    assert make(timeout=0.25).embed_documents(["x"])
    assert time.monotonic() - start < 3
    endpoint.script = [Answer(delay=0.4)] * 2
    with pytest.raises(EmbeddingError, match=r"did not answer within 0\.1 seconds"):
        make(timeout=0.1, retries=1).embed_documents(["x"])
    # Each part comes in time, all of them do not.
    endpoint.script = [Answer(body=b" " * 40, drip=0.05)]
    with pytest.raises(EmbeddingError, match=r"did not answer within 0\.3 seconds"):
        make(timeout=0.3, retries=0).embed_documents(["x"])


@pytest.mark.parametrize(
    ("answer", "said", "hint"),
    [
        (Answer(400, error_body("input is too long")), "answered 400: input is too long$", None),
        (Answer(404, b"not found"), "answered 404$", "without /embeddings"),
        (Answer(413, b""), "answered 413$", "smaller batches"),
        (Answer(429, error_body("pay", "insufficient_quota")), "answered 429: pay$", None),
        (Answer(302, b"", {"location": "http://127.0.0.1:1/"}), "answered 302$", None),
        (Answer(422, b'{"detail": "no such model"}'), "answered 422: no such model$", None),
    ],
)
def test_what_will_not_pass_is_not_tried_again(
    endpoint: FakeEndpoint, make: Make, answer: Answer, said: str, hint: str | None
) -> None:
    endpoint.script = [answer]
    with pytest.raises(EmbeddingError, match=said) as caught:
        make().embed_documents(["x"])
    assert len(endpoint.asked) == 1
    assert (hint or "") in (caught.value.hint or "")


@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_the_key_is_never_said(
    endpoint: FakeEndpoint, make: Make, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.script = [Answer(status, error_body(f"Incorrect key: {KEY}, {KEY[:9]}..."))] * 2
    embedder = make(retries=1)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed_documents(["x"])
    told = "".join(traceback.format_exception(caught.value)) + str(caught.value.hint) + caplog.text
    assert KEY not in told + repr(embedder)
    if status in (401, 403):
        assert KEY[:9] not in told
        assert "OPENAI_API_KEY is not right for it" in (caught.value.hint or "")
        assert len(endpoint.asked) == 1


def test_without_a_key_none_is_sent(
    endpoint: FakeEndpoint, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(api_key_env=None).embed_query("x")
    monkeypatch.delenv("OPENAI_API_KEY")
    make().embed_query("x")
    assert {each.authorization for each in endpoint.asked} == {None}
    endpoint.script = [Answer(401)]
    with pytest.raises(EmbeddingError) as caught:
        make().embed_query("x")
    assert caught.value.hint == "the environment variable OPENAI_API_KEY is not set"
    # Read anew for each request, with what a file put behind it.
    embedder = make(api_key_env="OTHER_KEY")
    monkeypatch.setenv("OTHER_KEY", "other\n")
    embedder.embed_query("x")
    assert endpoint.asked[-1].authorization == "Bearer other"
    monkeypatch.setenv("OTHER_KEY", "se cret")
    with pytest.raises(InvalidArgument, match="characters that no key has") as refused:
        embedder.embed_query("x")
    assert "cret" not in str(refused.value)
    monkeypatch.setenv("OTHER_KEY", "secret")
    with pytest.raises(InvalidArgument, match="unencrypted"):
        make(base_url="http://192.0.2.1/v1", api_key_env="OTHER_KEY").embed_query("x")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>", r"no JSON \(6 bytes\)"),
        (b"", "no JSON"),
        (b"[]", "without a list of vectors"),
        (b'{"data": {}}', "without a list of vectors"),
        (b'{"data": [5]}', "without a list of vectors"),
        (b'{"data": []}', "was given 2 texts and returned 0 vectors"),
        (b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}', "each of"),
        (b'{"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1}]}', "one vector of numbers"),
        (b'{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}', "of 2 dimensions instead of 1"),
        (b'{"data": [{"embedding": [NaN]}, {"embedding": [1]}]}', "not of finite numbers"),
        (b'{"data": [{"index": [], "embedding": []}, {"embedding": [1]}]}', "each of 2 texts"),
    ],
)
def test_answers_that_do_not_fit(
    endpoint: FakeEndpoint, make: Make, body: bytes, said: str
) -> None:
    endpoint.script = [Answer(body=body)]
    with pytest.raises(EmbeddingError, match=said):
        make().embed_documents(["a", "b"])
    assert len(endpoint.asked) == 1


def test_another_size_than_before(endpoint: FakeEndpoint, make: Make) -> None:
    embedder = make(dimensions=5)
    endpoint.script = [Answer(body=well({"input": ["x"]}))]
    with pytest.raises(EmbeddingError, match="a vector of 6 dimensions instead of 5"):
        embedder.embed_query("x")


def test_an_endpoint_that_is_not_there(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbeddingError, match="can't be reached") as caught:
        make(base_url="http://127.0.0.1:1/v1").embed_documents(["x"])
    assert "does the endpoint run" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "url", ["", "api.openai.com/v1", "ftp://x/v1", "http://", "https://x:y/", "https://[x/v1"]
)
def test_a_url_that_can_not_be_read(url: str) -> None:
    with pytest.raises(InvalidArgument, match="can't be read"):
        OpenAIEmbedder("m", base_url=url)


@pytest.mark.parametrize("url", ["https://u:secret@x/v1", "https://x/v1?key=secret"])
def test_a_url_holds_no_secret(url: str) -> None:
    with pytest.raises(InvalidArgument, match="more than a host and a path") as caught:
        OpenAIEmbedder("m", base_url=url)
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_the_path_may_end_as_it_likes(endpoint: FakeEndpoint, make: Make) -> None:
    for end in ("/", "/embeddings", "/embeddings/"):
        make(base_url=endpoint.url + end).embed_query("x")
    assert {each.path for each in endpoint.asked} == {"/v1/embeddings"}


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"timeout": 0}, {"dimensions": 0}])
def test_numbers_that_make_no_sense(make: Make, options: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        make(**options)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(EmbeddingError, match="httpx2 is not installed") as caught:
        OpenAIEmbedder("m")
    assert caught.value.hint == "run: pip install 'tool-rag-pg[openai]'"
