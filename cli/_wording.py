"""What the commands on synonyms, examples and dependencies share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._output import note, print_json

if TYPE_CHECKING:
    from tool_rag_pg._wording_files import StoredLines
    from tool_rag_pg.retriever import ToolRetriever

__all__ = ["FileArgument", "JsonOption", "ToolArgument", "added", "import_file"]

ToolArgument = Annotated[str, typer.Argument(metavar="SERVER/TOOL", help="Which tool.")]
FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help='A file, or "-" for standard input.')
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def added(new: bool) -> str:
    """Return how to say whether something was new."""
    return "added" if new else "was there already"


def import_file(
    ctx: typer.Context,
    file: str,
    kind: str,
    store: Callable[[ToolRetriever], StoredLines],
    *,
    as_json: bool,
) -> None:
    """Store a file in one transaction and print how much of it was new."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        stored = store(ToolRetriever(connection))
    counts: dict[str, Any] = {
        "path": file,
        "read": stored.read,
        "added": stored.added,
        "unchanged": stored.read - stored.added,
    }
    if as_json:
        print_json(counts)
    many = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    note(
        f"{file}: {stored.read:,} {kind if stored.read == 1 else many}, {stored.added:,} of them "
        f"new, {stored.read - stored.added:,} there already."
    )
