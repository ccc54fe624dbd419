"""Text to vectors: the built-in static model, and adapters for stronger ones.

`SentenceTransformerEmbedder` runs a model in this process, `OpenAIEmbedder` asks an endpoint that
speaks OpenAI's protocol; whatever has the members of `Embedder` will do as well. `embed_catalogue`
has such a model embed the tools, and `ToolRetriever(..., embedder=...)` the requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .catalogue import EmbeddedCatalogue, embed_catalogue
    from .embedder import Embedder
    from .openai import OpenAIEmbedder
    from .sentence_transformers import SentenceTransformerEmbedder

__all__ = [
    "EmbeddedCatalogue",
    "Embedder",
    "OpenAIEmbedder",
    "SentenceTransformerEmbedder",
    "embed_catalogue",
]

_MODULES = {
    "EmbeddedCatalogue": "catalogue",
    "Embedder": "embedder",
    "OpenAIEmbedder": "openai",
    "SentenceTransformerEmbedder": "sentence_transformers",
    "embed_catalogue": "catalogue",
}


def __getattr__(name: str) -> Any:
    """Import what is exported when it is first asked for: migrations need only the weights."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
