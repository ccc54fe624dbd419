"""Models that run in this process, by the package sentence-transformers."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tool_rag_pg.embedding.embedder import check_vectors
from tool_rag_pg.errors import EmbeddingError

__all__ = ["SentenceTransformerEmbedder"]

# Of models that were published without prompts in their configuration: query's and document's, as
# their model cards give them. Instruction-tuned variants have other ones, and say so themselves.
_KNOWN_PROMPTS = (
    (
        re.compile(r"(?<![a-z0-9])bge-(small|base|large)-en(-v1\.5)?(?![\w-])", re.IGNORECASE),
        ("Represent this sentence for searching relevant passages: ", ""),
    ),
    (
        re.compile(r"(?<![a-z0-9])e5-(small|base|large)(-v2)?(?![\w-])", re.IGNORECASE),
        ("query: ", "passage: "),
    ),
)
_QUERY_NAMES = ("query",)
_DOCUMENT_NAMES = ("document", "passage", "corpus")


class SentenceTransformerEmbedder:
    """A model of the Hugging Face hub or of a folder, loaded at once.

    A folder needs no network. Code that a model brings along is not run. Texts longer than the
    model's limit (256 word pieces for all-MiniLM-L6-v2, 512 for BGE and E5) are cut off by it.

    Args:
        model_name_or_path: a name on the hub, such as "BAAI/bge-small-en-v1.5", or a folder.
        name: what it is called in the database; as it was given by default.
        query_prompt: what goes before a request; None takes the model's own prompt, or else that
            which is known for the English BGE models and for E5.
        document_prompt: what `texts_to_embed` puts before a tool's text; likewise.
        device: as torch names it ("cpu", "cuda"); None for the best there is.
        revision: which commit of the hub's repository; None for the newest.
        batch_size: how many texts go through the model at once.

    Raises:
        EmbeddingError: the package is missing, or the model can't be loaded.
    """

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str],
        *,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        device: str | None = None,
        revision: str | None = None,
        batch_size: int = 32,
    ) -> None:
        source = os.fspath(model_name_or_path)
        self.name = name or source
        self._batch_size = batch_size
        # Tokenizers of the hub can't be used by two threads at once.
        self._lock = threading.Lock()
        self._model = _load(source, device=device, revision=revision)
        known = _known_prompts(f"{source} {self.name}")
        own = dict(self._model.prompts or {})
        self.query_prompt = _choose(query_prompt, own, _QUERY_NAMES, known[0])
        self.document_prompt = _choose(document_prompt, own, _DOCUMENT_NAMES, known[1])
        size = self._model.get_embedding_dimension()
        self.dimensions = int(size) if size else len(self._encode(self._model.encode, ["size"])[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, dimensions={self.dimensions})"

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors, of length 1, of tools' texts, as `texts_to_embed` returns them.

        Raises:
            EmbeddingError: the model can't be run, or its vectors do not fit.
        """
        if not texts:
            return []
        return self._checked(self._model.encode_document, texts, "")

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a request, of length 1.

        Raises:
            EmbeddingError: the model can't be run, or its vector does not fit.
        """
        return self._checked(self._model.encode_query, [text], self.query_prompt)[0]

    def _checked(
        self, encode: Callable[..., Any], texts: Sequence[str], prompt: str
    ) -> list[list[float]]:
        vectors = self._encode(encode, texts, prompt=prompt)
        check_vectors(
            vectors,
            who=f"the model {self.name!r}",
            count=len(texts),
            dimensions=self.dimensions,
        )
        return vectors

    def _encode(
        self, encode: Callable[..., Any], texts: Sequence[str], *, prompt: str = ""
    ) -> list[list[float]]:
        try:
            with self._lock:
                array = encode(
                    list(texts),
                    prompt=prompt,
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    normalize_embeddings=True,
                )
        except RuntimeError as error:
            # torch's, out of memory included.
            raise EmbeddingError(
                f"the model {self.name!r} could not embed {len(texts)} texts",
                hint="where memory is short, take a smaller batch, or device='cpu'",
            ) from error
        vectors: list[list[float]] = array.tolist()
        return vectors


def _load(source: str, *, device: str | None, revision: str | None) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise EmbeddingError(
            "the package sentence-transformers is not installed, or lacks something",
            hint="run: pip install 'tool-rag-pg[sentence-transformers]' (without a GPU, before it: "
            "pip install torch --index-url https://download.pytorch.org/whl/cpu)",
        ) from error
    try:
        return SentenceTransformer(source, device=device, revision=revision)
    except Exception as error:
        raise EmbeddingError(
            f"the model {source!r} can't be loaded",
            hint="name a folder that holds it, or a model of the Hugging Face hub, which is "
            "downloaded once",
        ) from error


def _known_prompts(where: str) -> tuple[str, str]:
    return next((prompts for form, prompts in _KNOWN_PROMPTS if form.search(where)), ("", ""))


def _choose(given: str | None, own: dict[str, str], names: tuple[str, ...], known: str) -> str:
    if given is not None:
        return given
    return next((own[name] for name in names if own.get(name)), known)
