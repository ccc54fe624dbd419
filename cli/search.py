"""`tool-rag search`: the few tools that serve a request."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypedDict

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
from tool_rag_pg.cli._names import join, read_text, split_name, unknown_role
from tool_rag_pg.cli._output import note, print_json, print_json_lines, print_table
from tool_rag_pg.cli._shortlist import print_shortlist
from tool_rag_pg.errors import InvalidArgument

if TYPE_CHECKING:
    from tool_rag_pg.embedding import Embedder
    from tool_rag_pg.models import MissingTool, ToolCount, ToolHit
    from tool_rag_pg.retriever import ToolRetriever

__all__ = ["app"]

app = typer.Typer()

# Up to here a shortlist saves less than it costs (docs/retrieval.md).
_FEW_TOOLS = 20
_FEW_TOKENS = 3_500


class _How(TypedDict):
    roles: list[str] | None
    k: int
    context: Sequence[str]
    conversation: str | None
    servers: list[str] | None
    token_budget: int | None
    min_relevance: float | None


@app.command(
    "search",
    help="Find the few tools that serve a request, among those that the roles may use.",
    epilog="Example: tool-rag search 'open a pull request from my branch' --role developer -k 5",
)
def search(
    ctx: typer.Context,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='The request in plain words, or "-" for stdin.')
    ],
    role: Annotated[
        list[str] | None, typer.Option(help="Who asks; repeat it for several roles.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="So many tools, and what these need.")] = 8,
    server: Annotated[
        list[str] | None,
        typer.Option(help="Only tools of this server; a pattern ('git*'), repeatable."),
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Keep the tools that this conversation uses in the list."),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MESSAGE",
            help="An earlier message of the user, for requests that say little; repeat it, the"
            " newest last.",
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(metavar="N", help="Only the best tools that fit in N tokens together."),
    ] = None,
    min_relevance: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="Only tools that serve the request with this probability, 0 to 1."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Embed the request by this model too; with --provider only, by the one in use.",
        ),
    ] = None,
    name: NameOption = None,
    provider: Annotated[
        Provider | None, typer.Option(help="What runs the model: sentence-transformers, if any.")
    ] = None,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = API_KEY_ENV,
    why_not: Annotated[
        str | None,
        typer.Option(metavar="SERVER/TOOL", help="Say why this tool is not in the list."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show rank and score in each arm of the search.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    as_json_lines: Annotated[
        bool, typer.Option("--jsonl", help="Print one JSON object a line.")
    ] = False,
) -> None:
    """Search, print the shortlist, and say what it saves or why it is empty."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        text = read_text(query)
        how = _How(
            roles=role or None,
            k=k,
            context=context or (),
            conversation=conversation,
            servers=server or None,
            token_budget=budget,
            min_relevance=min_relevance,
        )
        asked = bool(model or provider or base_url)
        if why_not is not None:
            if asked:
                raise InvalidArgument(
                    "--why-not does not go with a model", hint="it explains searches without one"
                )
            missing = retriever.explain_missing(text, *split_name(why_not), **how)
            _print_missing(missing, as_json=as_json or as_json_lines)
            return
        if asked:
            with _embedder(retriever, model, name, provider, base_url, api_key_env) as embedder:
                hits = ToolRetriever(connection, embedder=embedder).search_tools(text, **how)
        else:
            hits = retriever.search_tools(text, **how)
        visible = retriever.count_tools(roles=role or None)
        unknown = retriever.unknown_roles(role or [])
        unmatched = (
            retriever.unmatched_words(text, roles=role or None, servers=server or None)
            if explain and visible.tools
            else []
        )
    if as_json:
        print_json([asdict(hit) for hit in hits])
    elif as_json_lines:
        print_json_lines(asdict(hit) for hit in hits)
    elif hits:
        print_shortlist(hits, explain=explain)
    for name in unknown:
        advice = unknown_role(name, f"Create it: tool-rag roles add {name}")
        note(f"The role {name!r} does not exist. {advice}")
    if unmatched:
        note(
            f"In no tool: {', '.join(unmatched)}. Synonyms can say what is meant: tool-rag synonyms"
        )
    note(_summary(hits, visible, role or [], server or [], unknown, min_relevance))
    if hint := _all_at_once(visible):
        note(hint)


def _embedder(
    retriever: ToolRetriever,
    model: str | None,
    name: str | None,
    provider: Provider | None,
    base_url: str | None,
    api_key_env: str,
) -> AbstractContextManager[Embedder]:
    """Return what embeds the request: by the prompt that the model is registered with."""
    known = find_model(retriever, name or model)
    if known is None or known.name == "built-in":
        named = name or model
        raise InvalidArgument(
            f"the model {named!r} has embedded nothing here" if named else "no model is in use",
            hint=f"run: tool-rag embed --model {model or 'MODEL'}",
        )
    return open_embedder(
        model or known.name,
        name=known.name,
        provider=provider or Provider.sentence_transformers,
        base_url=base_url,
        api_key_env=api_key_env,
        query_prompt=known.query_prompt,
        document_prompt=known.document_prompt,
    )


def _print_missing(missing: MissingTool, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(missing))
        return
    print_table(
        ["outcome", "rank", "relevance", "reason"],
        [
            (
                missing.outcome,
                missing.rank or "",
                "" if missing.relevance is None else f"{missing.relevance:.2f}",
                missing.reason,
            )
        ],
    )
    if words := (missing.detail or {}).get("unmatched"):
        note(f"In no tool: {', '.join(words)}. Synonyms can say what is meant: tool-rag synonyms")


def _all_at_once(visible: ToolCount) -> str | None:
    """Return the advice for few tools: docs/retrieval.md has the figures."""
    if not 0 < visible.tools <= _FEW_TOOLS or visible.tokens > _FEW_TOKENS:
        return None
    return (
        f"With {visible.tools} tools of {visible.tokens:,} tokens, sending all of them is simpler:"
        " a stable list keeps the model's prompt cache."
    )


def _summary(
    hits: Sequence[ToolHit],
    visible: ToolCount,
    roles: Sequence[str],
    servers: Sequence[str],
    unknown: Sequence[str],
    min_relevance: float | None,
) -> str:
    """Return the line on stderr: what the shortlist saves, or why there is none."""
    who = f"role {roles[0]}" if len(roles) == 1 else f"the roles {join(roles)}" if roles else "you"
    if hits:
        count = f"{len(hits)} tool{'s' * (len(hits) != 1)}"
        tokens = sum(hit.tokens for hit in hits)
        return f"{count}, {tokens:,} tokens of {visible.tokens:,} that {who} may see"
    if visible.all_tools == 0:
        return "The catalogue is empty. Fill it: tool-rag ingest PATH"
    if not visible.tools and not roles:
        return (
            "Without a role no tool is visible. Make one and name it with --role:\n"
            "  tool-rag roles add developer\n"
            "  tool-rag grant developer 'SERVER/*'"
        )
    known = [role for role in roles if role not in unknown]
    if not visible.tools and known:
        return (
            f"{join(known)} may see no tool yet. Allow some: tool-rag grant {known[0]} 'SERVER/*'"
        )
    if not visible.tools:
        return "So no tool is visible."
    if min_relevance:
        return (
            f"None of the {visible.tools:,} tools that {who} may see serves the request with a"
            f" relevance of {min_relevance:g} or more."
        )
    if servers:
        return f"No tool of {join(servers)} that {who} may see matches the request."
    return f"None of the {visible.tools:,} tools that {who} may see matches the request."
