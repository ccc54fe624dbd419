"""Embedding models beside the built-in one."""

from __future__ import annotations

from collections.abc import Sequence

from tool_rag_pg.models import ListedEmbeddingModel, TextToEmbed

from ._call import Call, as_list, int4, scalar, vector

__all__ = [
    "add_embedding_model",
    "drop_embedding_model",
    "list_embedding_models",
    "store_vectors",
    "texts_to_embed",
    "use_embedding_model",
]


def add_embedding_model(
    name: str, dimensions: int, query_prompt: str = "", document_prompt: str = ""
) -> Call[bool]:
    """Register a model whose vectors a client computes, or change its prompts.

    Return whether it is new. Where the document prompt differs, all texts are to be embedded anew.

    Args:
        name: what it is called here; 1 to 256 characters.
        dimensions: components of its vectors, 1 to 4000.
        query_prompt: what goes before a request; noted for clients, which put it there.
        document_prompt: what `texts_to_embed` puts before each text.

    Raises:
        InvalidArgument: no such name or size, or the model has another size here.
    """
    return Call(
        "select tool_rag.add_embedding_model(name => %(name)s, dimensions => %(dimensions)s,"
        " query_prompt => %(query_prompt)s, document_prompt => %(document_prompt)s) as result",
        {
            "name": name,
            "dimensions": int4(dimensions, "dimensions"),
            "query_prompt": query_prompt,
            "document_prompt": document_prompt,
        },
        scalar,
    )


def use_embedding_model(name: str) -> Call[None]:
    """Take a caller's vector for one of this model where the search names none.

    Args:
        name: of a model that has embedded the catalogue, or "built-in" to go back.

    Raises:
        InvalidArgument: the model does not exist.
        DatabaseError: it has embedded no tool yet.
    """
    return Call(
        "select tool_rag.use_embedding_model(name => %(name)s) as result",
        {"name": name},
        lambda _: None,
    )


def drop_embedding_model(name: str) -> Call[int]:
    """Remove a model with its vectors; return how many these were.

    Raises:
        InvalidArgument: the model does not exist, or is the built-in one.
    """
    return Call(
        "select tool_rag.drop_embedding_model(name => %(name)s) as result", {"name": name}, scalar
    )


def list_embedding_models() -> Call[list[ListedEmbeddingModel]]:
    """Return all models, the built-in one first, with what each has still to embed."""
    return Call(
        "select name, dimensions, query_prompt, document_prompt, is_active, embedded, missing"
        " from tool_rag.list_embedding_models()",
        {},
        lambda rows: [ListedEmbeddingModel(**row) for row in rows],
    )


def texts_to_embed(model: str, max_rows: int = 256) -> Call[list[TextToEmbed]]:
    """Return what a model has still to embed: what is new, changed, or was never embedded.

    Args:
        model: its name.
        max_rows: at most so many.

    Raises:
        InvalidArgument: the model does not exist.
    """
    return Call(
        "select tool_id, kind, source_id, source_hash, content"
        " from tool_rag.texts_to_embed(model => %(model)s, max_rows => %(max_rows)s)",
        {"model": model, "max_rows": int4(max_rows, "max_rows")},
        lambda rows: [TextToEmbed(**row) for row in rows],
    )


def store_vectors(
    model: str,
    tool_ids: Sequence[int],
    kinds: Sequence[str],
    source_ids: Sequence[int],
    source_hashes: Sequence[bytes],
    vectors: Sequence[Sequence[float]],
) -> Call[int]:
    """Store the vectors of texts, and return of how many: those deleted meanwhile are left out.

    A text that changed meanwhile is embedded again, since its hash no longer fits.

    Args:
        model: its name.
        tool_ids: of each text, as `texts_to_embed` returned it.
        kinds: likewise.
        source_ids: likewise.
        source_hashes: likewise.
        vectors: one for each text, of any length.

    Raises:
        InvalidArgument: the model does not exist, or is the built-in one.
        DatabaseError: a vector has another size than the model.
    """
    return Call(
        "select tool_rag.store_vectors(model => %(model)s, tool_ids => %(tool_ids)s::int[],"
        " kinds => %(kinds)s, source_ids => %(source_ids)s::int[],"
        " source_hashes => %(source_hashes)s::bytea[], vectors => %(vectors)s) as result",
        {
            "model": model,
            "tool_ids": [int4(each, "tool_ids") for each in tool_ids],
            "kinds": as_list(kinds, "kinds"),
            "source_ids": [int4(each, "source_ids") for each in source_ids],
            "source_hashes": list(source_hashes),
            "vectors": [vector(each) for each in vectors],
        },
        scalar,
    )
