"""Models behind an endpoint that speaks OpenAI's embeddings protocol.

OpenAI's own, and those of vLLM, Ollama, Text Embeddings Inference, LiteLLM, llama.cpp and others.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from tool_rag_pg.embedding.embedder import check_vectors
from tool_rag_pg.errors import EmbeddingError, InvalidArgument

if TYPE_CHECKING:
    import httpx2

__all__ = ["OPENAI_URL", "OpenAIEmbedder"]

_log = logging.getLogger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
# Seconds before the second try, doubled for each further one, and where that ends.
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0
# A search can't wait as long as the embedding of a catalogue can.
_QUERY_RETRIES = 1
_MAX_SAID = 200


class _TryAgain(EmbeddingError):
    """A failure that may pass; `wait` is how many seconds the endpoint asks to wait."""

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message, hint="run it again later: what is stored stays")
        self.wait = wait


class OpenAIEmbedder:
    """Asks `POST {base_url}/embeddings`.

    The key is read from the environment for each request, and kept nowhere; without one, none is
    sent, as local servers like it. Answers 429 and 5xx, time-outs and lost connections are tried
    again, a request of a search once; other answers are not.

    Args:
        model: what the endpoint calls it.
        base_url: up to, and without, "/embeddings".
        api_key_env: which environment variable holds the key; None to send none.
        name: what the model is called in the database; `model` by default.
        dimensions: ask for vectors of this size, which only some models can shorten; None takes
            what the endpoint returns.
        query_prompt: what goes before a request.
        document_prompt: what `texts_to_embed` puts before a tool's text.
        batch_size: at most so many texts in one request.
        timeout: seconds for one request, from the connection to the last byte.
        retries: how often a request is tried again.
        max_wait: the longest Retry-After, in seconds, that is waited for.

    Raises:
        EmbeddingError: the package httpx2 is missing.
        InvalidArgument: an argument that can't be meant.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        api_key_env: str | None = "OPENAI_API_KEY",
        name: str | None = None,
        dimensions: int | None = None,
        query_prompt: str = "",
        document_prompt: str = "",
        batch_size: int = 128,
        timeout: float = 60.0,
        retries: int = 5,
        max_wait: float = 60.0,
    ) -> None:
        sizes = [batch_size, timeout, 1 if dimensions is None else dimensions]
        if min(sizes) <= 0 or retries < 0:
            raise InvalidArgument(
                "batch_size, timeout and dimensions are positive, retries not negative"
            )
        self.name = name or model
        self.query_prompt = query_prompt
        self.document_prompt = document_prompt
        self._model = model
        self._url = _endpoint(base_url)
        self._api_key_env = api_key_env
        self._asked_dimensions = dimensions
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._timeout = timeout
        self._retries = retries
        self._max_wait = max_wait
        self._client = _client(timeout)

    @property
    def dimensions(self) -> int:
        """Components of a vector; where that is not known yet, the endpoint is asked for one."""
        if self._dimensions is None:
            self._embed(["size"], retries=self._retries)
        assert self._dimensions is not None
        return self._dimensions

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r}, base_url={self._url.rpartition('/')[0]!r})"

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of tools' texts, as `texts_to_embed` returns them, in their order.

        Raises:
            EmbeddingError: the endpoint can't be reached, refuses, or its answer does not fit.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            vectors += self._embed(batch, retries=self._retries)
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a request.

        Raises:
            EmbeddingError: the endpoint can't be reached, refuses, or its answer does not fit.
        """
        return self._embed([self.query_prompt + text], retries=min(_QUERY_RETRIES, self._retries))[
            0
        ]

    def close(self) -> None:
        """Close the connections to the endpoint."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _embed(self, texts: Sequence[str], *, retries: int) -> list[list[float]]:
        question: dict[str, Any] = {"model": self._model, "input": list(texts)}
        if self._asked_dimensions is not None:
            question["dimensions"] = self._asked_dimensions
        # With escapes for all but ASCII, so that half of a surrogate pair can be sent as well.
        body = self._ask(json.dumps(question).encode("ascii"), retries=retries)
        vectors = self._read(body, len(texts))
        check_vectors(vectors, who=self._who, count=len(texts), dimensions=self._dimensions)
        self._dimensions = len(vectors[0])
        return vectors

    @property
    def _who(self) -> str:
        return f"the model {self._model!r} at {self._url}"

    def _key(self) -> str | None:
        """Return the key, or None where there is none to send."""
        key = os.environ.get(self._api_key_env, "").strip() if self._api_key_env else ""
        if not key:
            return None
        # Else an error about the header would quote it.
        if not re.fullmatch(r"[!-~]+", key):
            raise InvalidArgument(
                f"the key in {self._api_key_env} holds characters that no key has",
                hint="set it anew, without quotes and line ends",
            )
        if urlsplit(self._url).scheme == "http" and not _is_local(self._url):
            raise InvalidArgument(
                f"the key in {self._api_key_env} would cross the network unencrypted",
                hint="use https, or send no key: api_key_env=None",
            )
        return key

    def _ask(self, question: bytes, *, retries: int) -> bytes:
        """Return the body of a good answer, after some tries."""
        for tried in range(retries):
            try:
                return self._try(question)
            except _TryAgain as error:
                if error.wait > self._max_wait:
                    raise EmbeddingError(
                        f"{error.message}; it asks to wait {error.wait:.0f} seconds, and "
                        f"{self._max_wait:g} is the most",
                        hint="run it again later: what is stored stays",
                    ) from error.__cause__
                # Never sooner than the endpoint asks, and not all clients at once.
                own = min(_FIRST_WAIT * 2**tried, _LONGEST_WAIT) * random.uniform(0.5, 1.0)
                pause = max(error.wait, own)
                _log.info("%s; trying again in %.1f seconds", error.message, pause)
            time.sleep(pause)
        return self._try(question)

    def _try(self, question: bytes) -> bytes:
        """Return the body of a good answer; raise _TryAgain where another one may be good."""
        import httpx2

        key = self._key()
        headers = {"content-type": "application/json"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        end = time.monotonic() + self._timeout
        parts = []
        try:
            with self._client.stream(
                "POST", self._url, content=question, headers=headers
            ) as answer:
                for part in answer.iter_bytes():
                    parts.append(part)
                    # The client's own limit is for each part.
                    if time.monotonic() > end:
                        raise httpx2.ReadTimeout("the answer took too long")
        except httpx2.TimeoutException as error:
            raise _TryAgain(
                f"{self._url} did not answer within {self._timeout:g} seconds"
            ) from error
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError) as error:
            raise _TryAgain(f"{self._url} closed the connection") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise EmbeddingError(
                f"{self._url} can't be reached",
                hint="is the base URL right, and does the endpoint run?",
            ) from error
        body = b"".join(parts)
        if answer.is_success:
            return body
        raise self._refusal(answer.status_code, answer.headers, body, key)

    def _refusal(
        self, status: int, headers: Mapping[str, str], body: bytes, key: str | None
    ) -> EmbeddingError:
        """Return the error that an answer is."""
        if status in (401, 403):
            # What the endpoint says is not repeated: it may quote a part of the key.
            hint = "there is no key: api_key_env names no variable"
            if self._api_key_env is not None:
                state = "is not right for it" if key else "is not set"
                hint = f"the environment variable {self._api_key_env} {state}"
            return EmbeddingError(f"{self._url} refuses access ({status})", hint=hint)
        said, code = _said(body)
        if key is not None:
            said = said.replace(key, "***")
        message = f"{self._url} answered {status}{f': {said}' if said else ''}"
        # An account without money answers as one that asks too often.
        if code != "insufficient_quota" and (status == 429 or status >= 500):
            return _TryAgain(message, wait=_retry_after(headers.get("retry-after")))
        hints = {
            404: "is the base URL right (without /embeddings), and the model's name?",
            413: "take smaller batches",
        }
        return EmbeddingError(message, hint=hints.get(status))

    def _read(self, body: bytes, count: int) -> list[list[float]]:
        """Return the vectors of an answer in the order of the texts."""
        hint = "is the base URL right? It ends before /embeddings"
        try:
            document = json.loads(body)
        except ValueError as error:
            raise EmbeddingError(
                f"{self._url} answered with what is no JSON ({len(body)} bytes)", hint=hint
            ) from error
        data = document.get("data") if isinstance(document, dict) else None
        if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
            raise EmbeddingError(f"{self._url} answered without a list of vectors", hint=hint)
        if len(data) != count:
            raise EmbeddingError(
                f"{self._who} was given {count} texts and returned {len(data)} vectors"
            )
        placed = {}
        for place, each in enumerate(data):
            index = each.get("index", place)
            placed[index if isinstance(index, int) else place] = each.get("embedding")
        vectors = [placed.get(place) for place in range(count)]
        if not all(map(_is_vector, vectors)):
            raise EmbeddingError(
                f"{self._who} did not return one vector of numbers for each of {count} texts"
            )
        return [[float(value) for value in vector] for vector in vectors if vector]


def _client(timeout: float) -> httpx2.Client:
    try:
        import httpx2
    except ImportError as error:
        raise EmbeddingError(
            "the package httpx2 is not installed", hint="run: pip install 'tool-rag-pg[openai]'"
        ) from error
    return httpx2.Client(timeout=httpx2.Timeout(timeout, connect=min(10.0, timeout)))


def _endpoint(base_url: str) -> str:
    """Return the URL to post to; it holds no secret, since errors name it."""
    hint = "write it as https://HOST/v1; the key belongs in the environment"
    try:
        parts = urlsplit(base_url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise InvalidArgument("the base URL can't be read", hint=hint)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidArgument("the base URL holds more than a host and a path", hint=hint)
    return f"{base_url.strip().rstrip('/').removesuffix('/embeddings')}/embeddings"


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_vector(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(part) is float or type(part) is int for part in value)
    )


def _said(body: bytes) -> tuple[str, str | None]:
    """Return what an endpoint says is wrong, on one short line, and its code for it."""
    try:
        document = json.loads(body)
    except ValueError:
        return "", None
    document = document if isinstance(document, dict) else {}
    error = document.get("error", document.get("message", document.get("detail")))
    code = None
    if isinstance(error, dict):
        code = error.get("code")
        error = error.get("message")
    text = " ".join(error.split()) if isinstance(error, str) else ""
    return (text if len(text) <= _MAX_SAID else f"{text[:_MAX_SAID]}..."), code


def _retry_after(value: str | None) -> float:
    """Return how many seconds a header Retry-After asks to wait: 0 where it says nothing."""
    if value is None:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0
