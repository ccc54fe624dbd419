"""The reference page of the command line, written from the commands themselves.

python -m tool_rag_pg.cli._docs > docs/cli.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from tool_rag_pg.cli.main import app

__all__ = ["commands", "render"]

_HEAD = """\
# Command line

Written by `python -m tool_rag_pg.cli._docs`; do not edit.

Results go to stdout, everything else to stderr. `--json` prints one document and `--jsonl` one
object a line; their keys are the SQL column names. On a terminal tables are drawn, elsewhere they
are tab-separated. Characters that hide or would steer a terminal are written out, as `<U+202E>`, in
JSON as escapes.

| exit code | |
|---|---|
| 0 | done; a search without hits is done too |
| 1 | failed |
| 2 | usage: an argument that you can correct |
| 3 | the database can't be reached, is not ready, or is newer than this package |
"""


def commands(
    group: Any = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command and group with its path, in the order of the help."""
    command: Any = typer.main.get_command(app) if group is None else group
    yield path, command
    for name, nested in getattr(command, "nested", {}).items():
        yield (*path, name), nested
    if hasattr(command, "list_commands"):
        with command.make_context("tool-rag", [], resilient_parsing=True) as ctx:
            for name in command.list_commands(ctx):
                yield from commands(command.get_command(ctx, name), (*path, name))


def render() -> str:
    """Return the page."""
    parts = [_HEAD]
    for path, command in commands():
        group = hasattr(command, "list_commands")
        if path:
            parts.append(f"## {' '.join(path)}\n" if len(path) == 1 else f"### {' '.join(path)}\n")
        else:
            parts.append("## Global options\n")
        parts.append(f"{command.help}\n")
        if not group:
            parts.append(f"```\n{_usage(path, command)}\n```\n")
        if command.epilog and not group:
            parts.append(f"{command.epilog.replace('Example: ', 'Example: `')}`\n")
        if table := _parameters(command):
            parts.append(table)
    return "\n".join(parts)


def _usage(path: tuple[str, ...], command: Any) -> str:
    words = ["tool-rag", *path, "[OPTIONS]"]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = _argument_name(parameter)
            words.append(name if parameter.required else f"[{name}]")
    return " ".join(words)


def _argument_name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _parameters(command: Any) -> str:
    rows = []
    for parameter in command.params:
        if parameter.name == "help" or not getattr(parameter, "help", None):
            continue
        names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
        if parameter.param_type_name == "argument":
            names = f"`{_argument_name(parameter)}`"
        notes = []
        if parameter.default not in (None, False, (), []) and not parameter.required:
            notes.append(f"default {parameter.default}")
        if getattr(parameter, "envvar", None):
            notes.append(f"also `{parameter.envvar}`")
        extra = f" ({'; '.join(notes)})" if notes else ""
        rows.append(f"| {names} | {parameter.help}{extra} |")
    return "\n".join(["| | |", "|---|---|", *rows, ""]) if rows else ""


if __name__ == "__main__":
    print(render(), end="")
