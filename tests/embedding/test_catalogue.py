"""A model embeds the catalogue and the requests, on a real Postgres."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from tests.cli.conftest import GITHUB, MAIL
from tests.embedding.conftest import SIZE, FakeEndpoint, fake_vector
from tool_rag_pg.embedding import EmbeddedCatalogue, Embedder, OpenAIEmbedder, embed_catalogue
from tool_rag_pg.errors import DatabaseError, EmbeddingError, InvalidArgument
from tool_rag_pg.models import ListedEmbeddingModel, ToolHit
from tool_rag_pg.retriever import AsyncToolRetriever, ToolRetriever

QUERY = "zzz qqq"
ALONE = {"words_weight": 0, "meaning_weight": 0}


class Fake:
    """An embedder of which a test says what it returns, and where it fails."""

    def __init__(self, name: str = "fake", dimensions: int = SIZE, prompt: str = "") -> None:
        self.name = name
        self.dimensions = dimensions
        self.query_prompt = "q: "
        self.document_prompt = prompt
        self.documents: list[str] = []
        self.queries: list[str] = []
        self.threads: set[int] = set()
        self.fails_after: int | None = None
        self.wrong: list[list[float]] | None = None
        self.answers: dict[str, str] = {}

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if self.fails_after is not None and len(self.documents) >= self.fails_after:
            raise EmbeddingError("the model broke")
        self.documents += texts
        return self.wrong or [fake_vector(text, self.dimensions) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        self.threads.add(threading.get_ident())
        return fake_vector(self.answers.get(text, text), self.dimensions)


@pytest.fixture
def filled(database: str) -> str:
    """Five tools, all of which the role all may use, a synonym and an example."""
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools([GITHUB, MAIL])
        retriever.add_role("all")
        retriever.grant_tools("all", "*")
        retriever.add_synonym("bugs", "github", "list_issues")
        retriever.add_example("mail", "send_message", "write to Ann")
    return database


def listed(database: str, name: str = "fake") -> ListedEmbeddingModel:
    with ToolRetriever(database) as retriever:
        return next(each for each in retriever.list_embedding_models() if each.name == name)


def stored(database: str) -> int:
    return listed(database).embedded


def test_all_is_embedded_once(filled: str) -> None:
    fake = Fake(prompt="d: ")
    embedder: Embedder = fake
    steps: list[tuple[int, int]] = []
    with ToolRetriever(filled) as retriever:
        done = embed_catalogue(
            retriever, embedder, batch=3, on_progress=lambda *step: steps.append(step)
        )
        assert done == EmbeddedCatalogue(
            model="fake", dimensions=SIZE, is_new=True, embedded=7, total=7, missing=0
        )
        assert steps == [(0, 7), (3, 7), (6, 7), (7, 7)]
        # The prompt is put there by the database.
        assert all(text.startswith("d: ") for text in fake.documents)
        assert {"d: bugs", "d: write to Ann"} < set(fake.documents)
        assert listed(filled) == ListedEmbeddingModel(
            name="fake",
            dimensions=SIZE,
            query_prompt="q: ",
            document_prompt="d: ",
            is_active=False,
            embedded=7,
            missing=0,
        )
        again = embed_catalogue(retriever, fake)
        assert (again.is_new, again.embedded, again.total) == (False, 0, 7)
        retriever.add_example("mail", "send_message", "drop Bob a line")
        assert embed_catalogue(retriever, fake).embedded == 1
        assert len(fake.documents) == 8
        # With another prompt before them all texts have other vectors.
        assert embed_catalogue(retriever, Fake(prompt="passage: ")).embedded == 8


def test_a_run_that_was_stopped_goes_on(filled: str) -> None:
    fake = Fake()
    fake.fails_after = 4
    with psycopg.connect(filled) as connection:
        with pytest.raises(EmbeddingError, match="the model broke"):
            embed_catalogue(connection, fake, batch=2)
        # Nothing was left open, so the owner's roll-back takes nothing back.
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        connection.rollback()
        assert stored(filled) == 4
        fake.fails_after = None
        assert embed_catalogue(connection, fake, batch=2).embedded == 3
    assert len(set(fake.documents)) == len(fake.documents) == 7


def test_no_transaction_is_open_while_the_model_computes(filled: str) -> None:
    class Watching(Fake):
        states: list[Any] = []  # noqa: RUF012

        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            self.states.append(connection.info.transaction_status)
            return super().embed_documents(texts)

    with psycopg.connect(filled) as connection:
        embed_catalogue(connection, Watching(), batch=4)
        assert set(Watching.states) == {psycopg.pq.TransactionStatus.IDLE}


def test_an_open_transaction_stays_its_owner_s(filled: str) -> None:
    with psycopg.connect(filled) as connection:
        connection.execute("select tool_rag.add_role('mine')")
        assert embed_catalogue(connection, Fake(), batch=2).embedded == 7
        connection.rollback()
    with ToolRetriever(filled) as retriever:
        assert [model.name for model in retriever.list_embedding_models()] == ["built-in"]
        assert retriever.unknown_roles(["mine"]) == ["mine"]


def test_a_pool_will_do(filled: str) -> None:
    with ConnectionPool(filled, min_size=1, max_size=1, open=True) as pool:
        assert embed_catalogue(ToolRetriever(pool), Fake(), batch=3).embedded == 7


def test_what_changes_meanwhile_is_embedded_too(filled: str) -> None:
    class Editing(Fake):
        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            if not self.documents:
                with ToolRetriever(filled) as retriever:
                    retriever.upsert_tools({**MAIL, "tools": MAIL["tools"][:1]})
                    retriever.add_example("mail", "send_message", "tell Eve")
            return super().embed_documents(texts)

    steps: list[tuple[int, int]] = []
    with ToolRetriever(filled) as retriever:
        done = embed_catalogue(
            retriever, Editing(), batch=100, on_progress=lambda *step: steps.append(step)
        )
    assert (done.embedded, done.total, done.missing) == (7, 7, 0)
    assert steps[-1] == (7, 7)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([[1.0] * SIZE], "was given 7 texts and returned 1 vectors"),
        ([[1.0] * 5] * 7, f"a vector of 5 dimensions instead of {SIZE}"),
        ([[float("nan")] * SIZE] * 7, "not of finite numbers"),
    ],
)
def test_vectors_that_do_not_fit(filled: str, wrong: list[list[float]], said: str) -> None:
    fake = Fake()
    fake.wrong = wrong
    with ToolRetriever(filled) as retriever, pytest.raises(EmbeddingError, match=said):
        embed_catalogue(retriever, fake)
    assert stored(filled) == 0


def test_what_can_not_be_embedded(filled: str) -> None:
    with ToolRetriever(filled) as retriever:
        embed_catalogue(retriever, Fake())
        with pytest.raises(InvalidArgument, match=f"has {SIZE} dimensions here, not 5"):
            embed_catalogue(retriever, Fake(dimensions=5))
        with pytest.raises(InvalidArgument, match="batch is 0"):
            embed_catalogue(retriever, Fake(), batch=0)
        with pytest.raises(InvalidArgument, match="1 to 4000 dimensions"):
            embed_catalogue(retriever, Fake("huge", 4001))
    with pytest.raises(InvalidArgument, match="by a ToolRetriever"):
        embed_catalogue(AsyncToolRetriever(filled), Fake())  # type: ignore[arg-type]


def test_prompts_that_two_programs_change(filled: str) -> None:
    class Rival(Fake):
        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            with ToolRetriever(filled) as retriever:
                retriever.add_embedding_model("fake", SIZE, "q: ", "other: ")
            return super().embed_documents(texts)

    rival = Rival(prompt="d: ")
    with ToolRetriever(filled) as retriever:
        done = embed_catalogue(retriever, rival, batch=3)
        # The first batch had the old prompt before it, and was asked for again.
        assert (done.embedded, done.total, done.missing) == (10, 7, 0)
        assert [text.startswith("other: ") for text in rival.documents] == [False] * 3 + [True] * 7
        # What was computed with a prompt counts again when the prompt is back.
        retriever.add_embedding_model("fake", SIZE, "q: ", "d: ")
        assert listed(filled).missing == 7
        retriever.add_embedding_model("fake", SIZE, "q: ", "other: ")
        assert listed(filled).missing == 0


def test_the_registry_by_its_methods(filled: str) -> None:
    with ToolRetriever(filled) as retriever:
        assert retriever.add_embedding_model("fake", SIZE) is True
        assert retriever.add_embedding_model("fake", SIZE, "q: ", document_prompt="d: ") is False
        with pytest.raises(DatabaseError, match="has embedded no tool yet") as caught:
            retriever.use_embedding_model("fake")
        assert "tool-rag embed" in (caught.value.hint or "")
        texts = retriever.texts_to_embed("fake", 3)
        assert len(texts) == 3
        assert all(text.content.startswith("d: ") for text in texts)
        assert len(retriever.texts_to_embed("fake")) == 7

        def store(size: int) -> int:
            return retriever.store_vectors(
                "fake",
                [text.tool_id for text in texts],
                [text.kind for text in texts],
                [text.source_id for text in texts],
                [text.source_hash for text in texts],
                [fake_vector(text.content, size) for text in texts],
            )

        with pytest.raises(DatabaseError, match=f'has 5 dimensions, the model "fake" has {SIZE}'):
            store(5)
        assert store(SIZE) == 3
        assert retriever.store_vectors("fake", [], [], [], [], []) == 0
        retriever.use_embedding_model("fake")
        assert [model.is_active for model in retriever.list_embedding_models()] == [False, True]
        assert retriever.drop_embedding_model("fake") == 3
        for refused in (retriever.use_embedding_model, retriever.texts_to_embed):
            with pytest.raises(InvalidArgument, match='no embedding model "fake"'):
                refused("fake")
        with pytest.raises(InvalidArgument, match="built-in"):
            retriever.drop_embedding_model("built-in")


@pytest.fixture
def fake(filled: str) -> Fake:
    """An embedder that takes QUERY for the text of list_folders; not in use, but embedded."""
    made = Fake()
    with ToolRetriever(filled) as retriever:
        embed_catalogue(retriever, made)
    made.answers[QUERY] = next(text for text in made.documents if text.startswith("list folders"))
    return made


def arm(hits: list[ToolHit], name: str) -> Any:
    return next(hit.explain or {} for hit in hits if hit.name == name).get("model")


def test_searches_pass_the_request_s_vector(filled: str, fake: Fake) -> None:
    with ToolRetriever(filled, embedder=fake) as retriever:
        hits = retriever.search_tools(QUERY, roles=["all"], options=ALONE)
        assert hits[0].name == "list_folders"
        found = arm(hits, "list_folders")
        assert (found["name"], found["rank"]) == ("fake", 1)
        assert found["score"] > 0.99
        assert fake.queries == [QUERY]
        # Unless the caller passes one, or names a model.
        given = retriever.embed("mail")
        retriever.search_tools(QUERY, roles=["all"], embedding=given)
        retriever.search_tools(query=QUERY, roles=["all"], options={"model": "fake"})
        retriever.search_tools_batch([QUERY], roles=["all"])
        with pytest.raises(InvalidArgument, match="query is empty"):
            retriever.search_tools("  ", roles=["all"])
        assert fake.queries == [QUERY]
        # Other options stay, and the caller's own stay as they were.
        options = {"split": False}
        retriever.search_tools(QUERY, roles=["all"], options=options)
        assert options == {"split": False}
        retriever.drop_embedding_model("fake")
        with pytest.raises(InvalidArgument, match='no embedding model "fake"'):
            retriever.search_tools(QUERY, roles=["all"])
    with ToolRetriever(filled) as retriever:
        assert retriever.search_tools("mail", roles=["all"])


def test_searches_without_blocking_embed_in_a_thread(filled: str, fake: Fake) -> None:
    async def main() -> list[list[ToolHit]]:
        async with AsyncToolRetriever(filled, embedder=fake) as retriever:
            given = await retriever.embed("mail")
            await retriever.search_tools(QUERY, roles=["all"], embedding=given)
            assert fake.queries == []
            return [
                await retriever.search_tools(QUERY, roles=["all"], options=ALONE) for _ in range(2)
            ]

    for hits in asyncio.run(main()):
        assert hits[0].name == "list_folders"
    assert threading.get_ident() not in fake.threads


def test_an_endpoint_embeds_catalogue_and_requests(filled: str, endpoint: FakeEndpoint) -> None:
    with (
        OpenAIEmbedder("m", base_url=endpoint.url, batch_size=2, document_prompt="d: ") as embedder,
        ToolRetriever(filled, embedder=embedder) as retriever,
    ):
        assert embed_catalogue(retriever, embedder, batch=5).embedded == 7
        assert [len(each) for each in endpoint.inputs()] == [1, 2, 2, 1, 2]
        assert all(each.startswith("d: ") for part in endpoint.inputs()[1:] for each in part)
        text = next(
            each for part in endpoint.inputs() for each in part if each.startswith("d: list fold")
        )
        hits = retriever.search_tools(text, roles=["all"], options=ALONE)
        assert hits[0].name == "list_folders"
        assert endpoint.inputs()[-1] == [text]
