"""`tool-rag embed` and `tool-rag models`: embedding models beside the built-in one."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._embedder import (
    API_KEY_ENV,
    ApiKeyEnvOption,
    BaseUrlOption,
    NameOption,
    Provider,
    find_model,
    open_embedder,
)
from tool_rag_pg.cli._output import note, print_json, print_table, progress
from tool_rag_pg.cli._wording import JsonOption

__all__ = ["app"]

app = typer.Typer()
models = typer.Typer(no_args_is_help=True, help="List, choose or drop embedding models.")
app.add_typer(models, name="models", epilog="Example: tool-rag models list")

ModelArgument = Annotated[str, typer.Argument(metavar="NAME", help="Which model.")]


@app.command(
    "embed",
    help="Have a model embed what is new or changed in the catalogue.",
    epilog="Example: tool-rag embed --model BAAI/bge-small-en-v1.5 --use",
)
def embed(
    ctx: typer.Context,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="What the provider calls it, or its folder.")
    ],
    name: NameOption = None,
    provider: Annotated[
        Provider, typer.Option(help="What runs it.")
    ] = Provider.sentence_transformers,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = API_KEY_ENV,
    query_prompt: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="What goes before a request, if not what it has, or is known."
        ),
    ] = None,
    document_prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What goes before a tool's text; likewise.")
    ] = None,
    batch: Annotated[
        int, typer.Option(min=1, metavar="N", help="Embed and store so many texts at once.")
    ] = 128,
    use: Annotated[
        bool, typer.Option("--use", help="Take it from then on, as `models use` does.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Embed the catalogue, a batch in each transaction."""
    from tool_rag_pg.embedding import embed_catalogue
    from tool_rag_pg.retriever import ToolRetriever

    start = time.monotonic()
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        known = find_model(retriever, name or model)
        # Loading a model takes a while: no transaction stays open over it.
        connection.commit()
        if known is not None:
            query_prompt = known.query_prompt if query_prompt is None else query_prompt
            document_prompt = known.document_prompt if document_prompt is None else document_prompt
        progress(f"Loading {model} ...")
        with open_embedder(
            model,
            name=name,
            provider=provider,
            base_url=base_url,
            api_key_env=api_key_env,
            query_prompt=query_prompt,
            document_prompt=document_prompt,
        ) as embedder:
            done = embed_catalogue(
                retriever,
                embedder,
                batch=batch,
                on_progress=lambda done, of: progress(f"{done:,} of {of:,} texts"),
            )
        if use:
            retriever.use_embedding_model(done.model)
        now = find_model(retriever, done.model)
    seconds = round(time.monotonic() - start, 1)
    is_active = now is not None and now.is_active
    if as_json:
        print_json({**asdict(done), "is_active": is_active, "seconds": seconds})
    state = "it is in use" if is_active else f"to use it: tool-rag models use '{done.model}'"
    texts = f"{done.embedded:,} text{'s' * (done.embedded != 1)}"
    note(
        f"{done.model}: {texts} embedded in {seconds:g} seconds, {done.total:,} vectors of "
        f"{done.dimensions} dimensions; {state}."
    )


@models.command(
    "list",
    help="List the models, with how much each has embedded and which is in use.",
    epilog="Example: tool-rag models list --json",
)
def list_models(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List models."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        rows = ToolRetriever(connection).list_embedding_models()
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    print_table(
        ["name", "dimensions", "in use", "vectors", "missing"],
        [(r.name, r.dimensions, r.is_active, r.embedded, r.missing) for r in rows],
    )
    for row in rows:
        if row.missing:
            texts = f"{row.missing:,} text{'s' * (row.missing != 1)}"
            note(f"{row.name} lacks {texts}: tool-rag embed --model '{row.name}'")


@models.command(
    "use",
    help='Take vectors of this model in searches from now on; "built-in" goes back.',
    epilog="Example: tool-rag models use BAAI/bge-small-en-v1.5",
)
def use_model(ctx: typer.Context, name: ModelArgument, as_json: JsonOption = False) -> None:
    """Choose a model."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        ToolRetriever(connection).use_embedding_model(name)
    if as_json:
        print_json({"name": name, "is_active": True})
    note(f"{name} is in use.")


@models.command(
    "drop",
    help="Remove a model with its vectors.",
    epilog="Example: tool-rag models drop all-MiniLM-L6-v2",
)
def drop_model(ctx: typer.Context, name: ModelArgument, as_json: JsonOption = False) -> None:
    """Drop a model."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        dropped = ToolRetriever(connection).drop_embedding_model(name)
    if as_json:
        print_json({"name": name, "dropped": dropped})
    note(f"{name} is gone, with {dropped:,} vectors.")
