"""`tool-rag lint`: tools that address the model, hide characters, or pass for others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._output import note, print_error, print_json, print_table, progress
from tool_rag_pg.errors import ToolRagError

if TYPE_CHECKING:
    from tool_rag_pg.models import ToolFinding

__all__ = ["app"]

app = typer.Typer()

Severity = Literal["high", "medium", "low"]
_SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")


@app.command(
    "lint",
    help="Find texts of tools that address the model, hidden characters, and names that pass for"
    " others.",
    epilog="Example: tool-rag lint exports/ --fail-on high",
)
def lint(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help='Files, folders, or "-" for standard input; none for the catalogue.',
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="Of the catalogue only servers that fit this pattern ('git*'); of a file that "
            "names no server, its name."
        ),
    ] = None,
    severity: Annotated[
        Severity, typer.Option(help="Show only findings that are at least so grave.")
    ] = "medium",
    fail_on: Annotated[
        Severity | None,
        typer.Option(help="Exit with 1 where there is a finding at least so grave."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Lint files or the catalogue; nothing is stored."""
    from tool_rag_pg.retriever import ToolRetriever

    errors: Sequence[ToolRagError] = ()
    payload: list[dict[str, Any]] = []
    if paths:
        from tool_rag_pg.sources import read_exports

        result = read_exports(paths, server=server)
        errors = result.errors
        payload = [export.as_payload() for export in result.exports]
        for skipped in result.skipped:
            note(f"Skipped {skipped.path}: {skipped.reason}")
    found: list[ToolFinding] = []
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        if paths:
            # One by one, so that progress can be told.
            for export in payload:
                progress(f"{export['server']}: {len(export['tools']):,} tools")
                found.extend(retriever.lint_tools(export))
            count = sum(len(export["tools"]) for export in payload)
        else:
            found = retriever.lint_catalogue(server or "*")
            count = retriever.count_tools(roles=[]).all_tools or 0
    shown = [finding for finding in found if _is_grave(finding, severity)]
    if as_json:
        print_json([asdict(finding) for finding in shown])
    elif shown:
        print_table(
            ["tool", "severity", "rule", "field", "at", "excerpt"],
            [
                (
                    f"{finding.server or ''}/{finding.tool}",
                    finding.severity,
                    finding.rule,
                    finding.field,
                    finding.place,
                    finding.excerpt,
                )
                for finding in shown
            ],
        )
    for error in errors:
        print_error(error)
    counts = Counter(finding.severity for finding in found)
    said = ", ".join(f"{counts[each]:,} {each}" for each in _SEVERITIES)
    note(f"{count:,} tools{' in the catalogue' * (not paths)}: {said}.")
    if errors or (fail_on and any(_is_grave(finding, fail_on) for finding in found)):
        raise typer.Exit(1)


def _is_grave(finding: ToolFinding, severity: Severity) -> bool:
    return finding.severity in _SEVERITIES[: _SEVERITIES.index(severity) + 1]
