"""Options that say how a model beside the built-in one is run, and the embedder they mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tool_rag_pg.errors import InvalidArgument

if TYPE_CHECKING:
    from tool_rag_pg.embedding import Embedder
    from tool_rag_pg.models import ListedEmbeddingModel
    from tool_rag_pg.retriever import ToolRetriever

__all__ = [
    "API_KEY_ENV",
    "ApiKeyEnvOption",
    "BaseUrlOption",
    "NameOption",
    "Provider",
    "find_model",
    "open_embedder",
]

API_KEY_ENV = "OPENAI_API_KEY"


class Provider(StrEnum):
    """What runs a model."""

    sentence_transformers = "sentence-transformers"
    openai = "openai"


NameOption = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="What the model is called in the database, if not so."
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="An endpoint with OpenAI's protocol, up to /v1; OpenAI's by default."
    ),
]
ApiKeyEnvOption = Annotated[
    str,
    typer.Option(metavar="VARIABLE", help="Environment variable with the endpoint's key, if any."),
]


def find_model(retriever: ToolRetriever, name: str | None) -> ListedEmbeddingModel | None:
    """Return the model of this name, or for None the one in use; None where there is none."""
    for model in retriever.list_embedding_models():
        if model.name == name or (name is None and model.is_active):
            return model
    return None


@contextmanager
def open_embedder(
    model: str,
    *,
    name: str | None,
    provider: Provider,
    base_url: str | None,
    api_key_env: str,
    query_prompt: str | None,
    document_prompt: str | None,
) -> Iterator[Embedder]:
    """Yield the embedder that the options mean, and close its connections afterwards.

    Raises:
        InvalidArgument: options that do not go together.
        EmbeddingError: what the model needs is not installed, or it can't be loaded.
    """
    if provider is Provider.openai:
        from tool_rag_pg.embedding.openai import OPENAI_URL, OpenAIEmbedder

        with OpenAIEmbedder(
            model,
            base_url=base_url or OPENAI_URL,
            name=name,
            api_key_env=api_key_env or None,
            query_prompt=query_prompt or "",
            document_prompt=document_prompt or "",
        ) as embedder:
            yield embedder
        return
    if base_url is not None:
        raise InvalidArgument("--base-url is for --provider openai", hint="name the provider too")
    from tool_rag_pg.embedding import SentenceTransformerEmbedder

    if not sys.stderr.isatty():
        # Read by the hub's packages when they are imported.
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    yield SentenceTransformerEmbedder(
        model, name=name, query_prompt=query_prompt, document_prompt=document_prompt
    )
