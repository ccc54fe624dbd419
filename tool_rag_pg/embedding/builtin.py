"""The built-in model in Python: the same vectors as `tool_rag.embed(text)` gives in SQL."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from operator import add, mul

from tool_rag_pg.embedding.weights import Weights, default_weights
from tool_rag_pg.embedding.wordpiece import split_words, words_to_pieces

__all__ = ["BuiltinEmbedder"]


class BuiltinEmbedder:
    """A static embedding model: a text's vector is the normalised mean of its pieces' vectors.

    No context, no order, no truncation: "a b" and "b a" have one vector. Vectors of two texts
    compare by inner product, which for length-one vectors is the cosine.
    """

    def __init__(self, weights: Weights | None = None) -> None:
        """Use the given weights, or else the shipped ones."""
        self.weights = default_weights() if weights is None else weights
        pieces = self.weights.pieces
        self._index = {piece: position for position, piece in enumerate(pieces)}
        self._longest = max(len(piece.removeprefix("##")) for piece in pieces)
        self._rows: dict[str, array[float]] = {}

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.weights.name

    @property
    def dim(self) -> int:
        """Components of a vector."""
        return self.weights.dim

    def pieces(self, text: str) -> list[str]:
        """Return the known word pieces of a text, in order; see `wordpiece` for the rules."""
        return list(words_to_pieces(split_words(text), self._index, longest=self._longest))

    def embed_one(self, text: str) -> list[float] | None:
        """Return the vector of one text: `dim` floats of length one, or None.

        None, as SQL's null, stands for a text without any known piece: an empty one, or one in a
        script that the vocabulary lacks.
        """
        counts: dict[str, int] = {}
        for piece in self.pieces(text):
            counts[piece] = counts.get(piece, 0) + 1
        total: list[float] | None = None
        for piece, count in counts.items():
            row: Sequence[float] = self._row(piece)
            if count > 1:
                row = [count * component for component in row]
            total = list(row) if total is None else list(map(add, total, row))
        if total is None:
            return None
        length = math.sqrt(sum(map(mul, total, total)))
        if length == 0.0:
            return None
        return [component / length for component in total]

    def embed(self, texts: Sequence[str]) -> list[list[float] | None]:
        """Return one vector a text, in the order given; see `embed_one`."""
        return [self.embed_one(text) for text in texts]

    def _row(self, piece: str) -> array[float]:
        row = self._rows.get(piece)
        if row is None:
            row = self._rows[piece] = array("d", self.weights.row(self._index[piece]))
        return row
