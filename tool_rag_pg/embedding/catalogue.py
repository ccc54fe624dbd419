"""Having a model embed what is new or changed in the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import psycopg

from tool_rag_pg.embedding.embedder import Embedder, check_vectors
from tool_rag_pg.errors import EmbeddingError, InvalidArgument
from tool_rag_pg.models import TextToEmbed
from tool_rag_pg.retriever import ToolRetriever

__all__ = ["EmbeddedCatalogue", "embed_catalogue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedCatalogue:
    """What a run of `embed_catalogue` did.

    Attributes:
        model: the model's name in the database.
        dimensions: components of its vectors.
        is_new: whether this run registered it.
        embedded: how many vectors this run stored.
        total: how many vectors of the model there are now.
        missing: how many texts were added or changed meanwhile, for the next run.
    """

    model: str
    dimensions: int
    is_new: bool
    embedded: int
    total: int
    missing: int


def embed_catalogue(
    database: ToolRetriever | psycopg.Connection[Any],
    embedder: Embedder,
    *,
    batch: int = 128,
    on_progress: Callable[[int, int], None] | None = None,
) -> EmbeddedCatalogue:
    """Register a model and have it embed all that it has not embedded yet.

    Each batch is a transaction of its own, so what is stored stays when a run is stopped, and the
    next run goes on from there. While the model computes, no transaction is open. Only a
    connection on which one is open already is left to its owner: all of the run is part of that.

    Args:
        database: a retriever, or a connection.
        embedder: the model, whose prompts are registered with it.
        batch: how many texts are embedded and stored at once.
        on_progress: called with the numbers of texts that are done and of all to be done, once
            before the first batch and after each.

    Raises:
        EmbeddingError: the model fails, or its vectors do not fit.
        InvalidArgument: the model is registered with another size.
        ToolRagError: whatever else the database reports.
    """
    if isinstance(database, psycopg.Connection):
        database = ToolRetriever(database)
    if not isinstance(database, ToolRetriever):
        raise InvalidArgument(
            "the catalogue is embedded by a ToolRetriever or a blocking connection",
            hint="from async code run it in a thread: asyncio.to_thread(embed_catalogue, ...)",
        )
    if batch < 1:
        raise InvalidArgument(f"batch is {batch}", hint="how many texts at once; 128 by default")
    name, dimensions = embedder.name, embedder.dimensions
    with _step(database):
        is_new = database.add_embedding_model(
            name, dimensions, embedder.query_prompt, embedder.document_prompt
        )
        waiting = _missing(database, name)[1]
    done = 0
    if on_progress is not None:
        on_progress(0, waiting)
    before: list[TextToEmbed] = []
    while True:
        with _step(database):
            texts = database.texts_to_embed(name, batch)
        if not texts:
            break
        if texts == before:
            raise EmbeddingError(
                f"the vectors of {name!r} were stored, and are asked for again",
                hint="does another program change its prompts over and over?",
            )
        before = texts
        vectors = _embed(embedder, texts, dimensions)
        with _step(database):
            done += database.store_vectors(
                name,
                [text.tool_id for text in texts],
                [text.kind for text in texts],
                [text.source_id for text in texts],
                [text.source_hash for text in texts],
                vectors,
            )
        if on_progress is not None:
            # What is added meanwhile is embedded too.
            waiting = max(waiting, done)
            on_progress(done, waiting)
    with _step(database):
        total, missing = _missing(database, name)
    return EmbeddedCatalogue(
        model=name,
        dimensions=dimensions,
        is_new=is_new,
        embedded=done,
        total=total,
        missing=missing,
    )


def _step(retriever: ToolRetriever) -> AbstractContextManager[Any]:
    """Return a transaction where the retriever uses a connection; else each call has its own."""
    connection = retriever._database
    return connection.transaction() if isinstance(connection, psycopg.Connection) else nullcontext()


def _missing(retriever: ToolRetriever, name: str) -> tuple[int, int]:
    """Return how many texts a model has embedded, and how many not."""
    for model in retriever.list_embedding_models():
        if model.name == name:
            return model.embedded, model.missing
    raise EmbeddingError(f"the model {name!r} was dropped meanwhile")


def _embed(embedder: Embedder, texts: Sequence[TextToEmbed], dimensions: int) -> list[list[float]]:
    vectors = embedder.embed_documents([text.content for text in texts])
    check_vectors(
        vectors, who=f"the model {embedder.name!r}", count=len(texts), dimensions=dimensions
    )
    return vectors
