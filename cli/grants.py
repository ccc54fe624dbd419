"""`tool-rag grants`: rules from files, and files of rules."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._output import note, print_json, print_table, print_text, progress
from tool_rag_pg.cli._wording import FileArgument, JsonOption
from tool_rag_pg.errors import ToolRagError

__all__ = ["app"]

app = typer.Typer()
grants = typer.Typer(no_args_is_help=True, help="Import rules from files, and export them.")
app.add_typer(grants, name="grants", epilog="Example: tool-rag grants import grants.csv --dry-run")

Format = Literal["csv", "yaml", "gatekeeper"]


@grants.command(
    "import",
    help="Add the rules of a CSV, YAML or gatekeeper file, or change their end; all or none.",
    epilog="Example: tool-rag grants import grants.csv --replace --dry-run",
)
def import_(
    ctx: typer.Context,
    file: FileArgument,
    role: Annotated[
        str | None, typer.Option(help="Whose rules they are, where the file names no role.")
    ] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="Default: by the name's ending.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove all other rules of the roles in the file.")
    ] = False,
    create_roles: Annotated[
        bool, typer.Option("--create-roles", help="Make roles that do not exist.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where something in the file does not map.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what it would change.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Import rules."""
    from tool_rag_pg._policy_files import import_policies, read_policies

    policies = read_policies(file, format_=format_, role=role)
    for position in policies.not_mapped:
        note(f"not mapped: {_line(position)}")
    count = len(policies.not_mapped)
    if strict and count:
        raise ToolRagError(
            f"{file}: {count:,} {'entry does' if count == 1 else 'entries do'} not map to rules; "
            "nothing was changed",
            hint="take out what is listed above, or do without --strict",
        )
    with connect(ctx) as connection:
        imported = import_policies(
            connection,
            policies,
            replace=replace,
            create_roles=create_roles,
            dry_run=dry_run,
            progress=progress,
        )
    kinds = [change.change for change in imported.changes]
    counts = {kind: kinds.count(kind) for kind in ("added", "changed", "removed")}
    if as_json:
        document: dict[str, Any] = {
            "path": file,
            "dry_run": dry_run,
            **counts,
            "unchanged": imported.unchanged,
            "created_roles": imported.created_roles,
            "rules": [asdict(change) for change in imported.changes],
            "roles": [asdict(effect) for effect in imported.effects],
            "not_mapped": policies.not_mapped,
        }
        print_json(document)
    elif imported.changes:
        begin = any(change.valid_from is not None for change in imported.changes)
        hours = any(change.hours is not None for change in imported.changes)
        print_table(
            [
                *("change", "role", "effect", "pattern"),
                *(["from"] if begin else []),
                *("until before", "until"),
                *(["hours"] if hours else []),
            ],
            [
                (
                    change.change,
                    _line(change.role),
                    change.effect,
                    _line(f"{change.server_pattern}/{change.tool_pattern}"),
                    *([_time(change.valid_from)] if begin else []),
                    _time(change.former_until),
                    _time(change.valid_until),
                    *([change.hours or ""] if hours else []),
                )
                for change in imported.changes
            ],
        )
    for name in imported.created_roles:
        note(f"The role {_line(name)} {'would be' if dry_run else 'was'} made.")
    would = "would gain" if dry_run else "gained"
    lose = "lose" if dry_run else "lost"
    for effect in imported.effects:
        gained = f"{effect.gained:,} tool{'s' * (effect.gained != 1)}"
        note(f"{_line(effect.role)} {would} {gained} and {lose} {effect.lost:,}.")
    said = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
    left = f" {count:,} not mapped." if count else ""
    kept = " Nothing was kept." if dry_run else ""
    note(f"{file}: {said}, {imported.unchanged:,} as before.{left}{kept}")


@grants.command(
    "export",
    help="Print the rules of all roles, or of some, as a file that can be imported again.",
    epilog="Example: tool-rag grants export --role support --format yaml",
)
def export(
    ctx: typer.Context,
    role: Annotated[
        list[str] | None, typer.Option(help="Only rules of this role's own; repeatable.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to write them.")] = "csv",
) -> None:
    """Export rules."""
    from tool_rag_pg import _policy_files
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        everyone = retriever.list_roles()
        names = role or [listed.name for listed in everyone if listed.rules]
        held = {name: retriever.list_rules(name) for name in names}
    rules = [rule for name in held for rule in held[name] if rule.rule_role == name]
    if format_ == "csv":
        text = _policy_files.write_csv(rules)
    elif format_ == "yaml":
        text = _policy_files.write_yaml(rules)
    else:
        text = _policy_files.write_gatekeeper(rules, held)
        exported = [listed for listed in everyone if listed.name in held]
        for left in _policy_files.unmapped_rules(rules, exported):
            note(f"not mapped: {_line(left)}")
    if sys.stdout.isatty():
        print_text(text, end="")
    else:
        # As it is, for a file; as bytes: other platforms would alter the ends of lines.
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    note(
        f"{len(rules):,} rule{'s' * (len(rules) != 1)} of "
        f"{len(held):,} role{'s' * (len(held) != 1)}."
    )


def _line(text: str) -> str:
    """Return a text of a file as part of one line, which it can't end."""
    return text.replace("\n", "<U+000A>").replace("\t", "<U+0009>")


def _time(time: datetime | None) -> str:
    return "" if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
