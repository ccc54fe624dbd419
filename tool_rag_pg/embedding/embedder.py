"""What a model beside the built-in one has to offer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from tool_rag_pg.errors import EmbeddingError

__all__ = ["Embedder", "check_vectors"]


class Embedder(Protocol):
    """Computes vectors of requests and of tools' texts, which compare by their cosine.

    Vectors may have any length. A retriever may call it from several threads.
    """

    @property
    def name(self) -> str:
        """What the model is called in the database; 1 to 256 characters."""

    @property
    def dimensions(self) -> int:
        """Components of a vector, 1 to 4000."""

    @property
    def query_prompt(self) -> str:
        """What `embed_query` puts before a request; may be empty."""

    @property
    def document_prompt(self) -> str:
        """What the database puts before a tool's text when it asks for its vector; may be empty."""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, which have their prompt before them, in their order."""

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a request, with the prompt before it."""


def check_vectors(
    vectors: Sequence[Sequence[float]], *, who: str, count: int, dimensions: int | None
) -> None:
    """Raise unless there is one vector a text, each of the size wanted.

    Args:
        vectors: what was computed.
        who: the model, as a sentence begins with it.
        count: how many texts there were.
        dimensions: components wanted; None for those of the first vector.

    Raises:
        EmbeddingError: says how many were wanted and how many there are.
    """
    if len(vectors) != count:
        raise EmbeddingError(f"{who} was given {count} texts and returned {len(vectors)} vectors")
    for vector in vectors:
        wanted = len(vectors[0]) if dimensions is None else dimensions
        if len(vector) != wanted:
            raise EmbeddingError(
                f"{who} returned a vector of {len(vector)} dimensions instead of {wanted}",
                hint="the endpoint or the file has another model than its name says, or it can't "
                "shorten its vectors",
            )
        if not all(map(math.isfinite, vector)):
            raise EmbeddingError(f"{who} returned a vector that is not of finite numbers")
