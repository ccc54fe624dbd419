"""`tool-rag eval`: how well labelled requests are answered, and why not where they are not."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tool_rag_pg.cli._context import connect, settings_of
from tool_rag_pg.cli._eval_fetch import EvalCommand
from tool_rag_pg.cli._names import unknown_role
from tool_rag_pg.cli._output import note, print_error, print_json, print_table, print_text
from tool_rag_pg.cli._signals import unwinding
from tool_rag_pg.errors import CasesError, InvalidArgument, SourceError, ToolRagError

if TYPE_CHECKING:
    import psycopg

    from tool_rag_pg.evaluation.cases import CaseFile, KnownCase

__all__ = ["app"]

app = typer.Typer()

_SHOWN = 5
_BAR = 24


@app.command(
    "eval",
    cls=EvalCommand,
    help="Ask labelled requests, and report quality, leaks, cost and why tools are missing; `eval"
    " fetch` gets a public set.",
    epilog="Example: tool-rag eval cases.jsonl --output result.json --html report.html",
)
def evaluate(
    ctx: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="CASES",
            help='JSON Lines, or "-" for standard input; with --set, default: its requests.jsonl.',
        ),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(help="Who asks where a case does not say; repeat it for several roles."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="Tools in a shortlist.")] = 10,
    min_relevance: Annotated[
        float | None,
        typer.Option(metavar="P", min=0, max=1, help="Cut off tools less relevant than this."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Ask only the first N cases.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the result here; an interrupted run with the same arguments goes on.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report with plots here.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Fail where a case of this result had its tools and lost one."
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Show what differs from this result, case by case."),
    ] = None,
    allow_leakage: Annotated[
        bool,
        typer.Option(
            "--allow-leakage",
            help="Ask requests that are examples or synonyms in the database, too.",
        ),
    ] = False,
    set_: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="NAME",
            help="Evaluate a set in a temporary database instead of your catalogue: demo,"
            " university, university-originals, one that `eval fetch` got, or one in --path.",
        ),
    ] = None,
    path: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The set: catalog.jsonl and requests.jsonl, or like the demo's; default: where"
            " `eval fetch` puts sets.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Read, ask, report; then fail where something leaked or was lost."""
    from tool_rag_pg.evaluation import compare as comparing
    from tool_rag_pg.evaluation.sections import many

    if as_json and as_markdown:
        raise InvalidArgument("--json and --markdown exclude each other", hint="pass one of them")
    if path is not None and set_ is None:
        raise InvalidArgument("--path goes with --set", hint="--set bfcl --path folder/of/bfcl")
    if set_ is not None and path is None:
        path = _known_set(set_)
    if file is None and set_ is None:
        raise InvalidArgument(
            "the file of cases is missing",
            hint='a line is {"query": "...", "roles": ["..."], "expected": ["SERVER/TOOL"]}',
        )
    if output is not None and baseline is not None and output.resolve() == Path(baseline).resolve():
        raise InvalidArgument(
            "--output would replace the baseline", hint="name another file, and copy it over"
        )
    # Before anything is asked: a run may take minutes.
    results = {name: comparing.read_result(name) for name in {baseline, compare} - {None} if name}
    for target in (output, html):
        if target is not None and not target.resolve().parent.is_dir():
            raise InvalidArgument(f"the folder of {target} does not exist", hint="make it first")
    settings: dict[str, Any] = {
        "k": k,
        "min_relevance": min_relevance,
        "roles": role or [],
        "limit": limit,
        "allow_leakage": allow_leakage,
        "set": set_,
    }
    with unwinding(), _catalogue(ctx, set_, path) as (connection, roles, default):
        document = _run(
            connection,
            file or str(default),
            roles=role or roles,
            settings=settings,
            output=output,
            check=lambda new: _compare(new, results, baseline=baseline, other=compare),
        )
    if html is not None:
        from tool_rag_pg.evaluation.page import as_page

        _write(html, as_page(document))
    if as_json:
        print_json(document)
    elif as_markdown:
        from tool_rag_pg.evaluation.sections import as_markdown as render

        print_text(render(document), end="")
    else:
        _print(document)
    if leaking := document["leaks"]["answers"]:
        raise ToolRagError(
            f"{many(leaking, 'answer')} hold{'s' * (leaking == 1)} a tool that is forbidden or not"
            " permitted",
            hint="see which, above; tool-rag explain-access ROLE SERVER/TOOL names the rule",
        )
    if baseline is not None and (lost := document["baseline"]["lost"]):
        for case in lost[:_SHOWN]:
            note(
                f"Lost: case {case['id']}: {', '.join(case['missing'])}; came instead:"
                f" {', '.join(case['instead']) or 'nothing new'}"
            )
        raise ToolRagError(
            f"{many(len(lost), 'case')} had all tools in {baseline} and lost one",
            hint="put it right, or accept it with a new baseline: --output",
        )


@contextmanager
def _catalogue(
    ctx: typer.Context, name: str | None, path: Path | None
) -> Iterator[tuple[psycopg.Connection[Any], list[str], Path | None]]:
    """Yield a connection, who asks by default, and the default file of cases."""
    if name is None or path is None:
        with connect(ctx) as connection:
            yield connection, [], None
        return
    from tool_rag_pg.evaluation import sets

    folder = sets.find_folder(path, name)
    with sets.temporary_database(settings_of(ctx).database_url, notify=note) as connection:
        roles = sets.load_set(connection, folder, name)
        connection.commit()
        yield connection, roles, folder / sets.REQUESTS


def _known_set(name: str) -> Path:
    """Return the folder of a set that ships with the package or was fetched."""
    from tool_rag_pg.evaluation import fetch, sets

    if name in sets.SHIPPED:
        return sets.SHIPPED[name]
    if name == fetch.BFCL and (sets.sets_home() / name).is_dir():
        return sets.sets_home() / name
    hint = f"--set {name} --path folder/of/{name}"
    if name == fetch.BFCL:
        hint = f"get it: tool-rag eval fetch {name}; or name where it is: {hint}"
    raise InvalidArgument(
        f"--path is missing: only the sets {', '.join(sets.SHIPPED)} ship with this package",
        hint=hint,
    )


def _run(
    connection: psycopg.Connection[Any],
    file: str,
    *,
    roles: list[str],
    settings: dict[str, Any],
    output: Path | None,
    check: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Ask, and return the document; it is kept in `output` before anything is printed."""
    import json

    from tool_rag_pg.evaluation import run
    from tool_rag_pg.evaluation.report import build_document
    from tool_rag_pg.retriever import ToolRetriever

    cases_file, leakage = _read(ToolRetriever(connection), file, roles, settings)
    cases = cases_file.cases[: settings["limit"]]
    fingerprint = run.fingerprint(connection, settings, cases)
    with run.Sidecar(output, fingerprint) as sidecar:
        with _told_how_to_go_on(output), _progress("cases") as progress:
            asked = run.ask_cases(
                connection,
                cases,
                k=settings["k"],
                min_relevance=settings["min_relevance"],
                sidecar=sidecar,
                progress=progress,
            )
        if asked.resumed:
            note(f"Went on where a run was interrupted: {asked.resumed:,} answers were there.")
        with _progress("cases without permissions") as progress:
            unaware = run.ask_unaware(
                connection,
                cases,
                asked.answers,
                k=settings["k"],
                min_relevance=settings["min_relevance"],
                progress=progress,
            )
        document = build_document(
            cases_file,
            cases,
            asked,
            unaware,
            leakage,
            settings=settings | {"cases": file},
            fingerprint=fingerprint,
        )
        check(document)
        if output is not None:
            _write(output, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
            sidecar.remove()
    return document


def _read(
    retriever: Any, file: str, roles: list[str], settings: dict[str, Any]
) -> tuple[CaseFile, tuple[KnownCase, ...]]:
    """Return the cases, and those of them that the database knows already."""
    from tool_rag_pg.evaluation.cases import find_leakage, read_cases

    if unknown := retriever.unknown_roles(roles):
        raise InvalidArgument(
            f"the role {unknown[0]!r} does not exist",
            hint=unknown_role(unknown[0], "see tool-rag roles list"),
        )
    try:
        found = read_cases(
            file,
            tools=[f"{tool.server}/{tool.name}" for tool in retriever.list_tools()],
            known_roles={row.name for row in retriever.list_roles()},
            default_roles=roles,
        )
    except CasesError as error:
        for fault in error.faults:
            print_error(fault)
        raise
    leakage = find_leakage(
        found.cases[: settings["limit"]], retriever.list_examples(), retriever.list_synonyms()
    )
    if leakage and not settings["allow_leakage"]:
        _refuse(file, leakage)
    return found, leakage


def _refuse(file: str, leakage: tuple[KnownCase, ...]) -> None:
    from tool_rag_pg.evaluation.sections import many

    for known in leakage:
        note(
            f"{file}: line {known.line}: case {known.case} is nearly the {known.kind} of"
            f" {known.tool}: {known.text!r}"
        )
    raise ToolRagError(
        f"the database knows the request of {many(len(leakage), 'case')} already, so that finding"
        " the tool shows nothing",
        hint="remove the examples or synonyms (tool-rag examples remove), or the cases; or pass"
        " --allow-leakage, and the report says so",
    )


def _compare(
    document: dict[str, Any],
    results: dict[str, dict[str, Any]],
    *,
    baseline: str | None,
    other: str | None,
) -> None:
    """Add to a document what differs from earlier results."""
    from tool_rag_pg.evaluation import compare

    document["comparison"] = document["baseline"] = None
    if other is not None:
        document["comparison"] = compare.compare(document, results[other], path=other)
    if baseline is not None:
        document["baseline"] = compare.find_regressions(document, results[baseline], path=baseline)


def _print(document: dict[str, Any]) -> None:
    from tool_rag_pg.evaluation.sections import make_sections, summary

    print_text(summary(document))
    for section in make_sections(document):
        if section.rows and sys.stdout.isatty():
            print_table(section.columns, section.rows, title=section.title)
        else:
            print_text(f"\n{section.title}")
            if section.rows:
                print_table(section.columns, section.rows)
        for text in section.notes:
            print_text(text)
        if section.notes and sys.stdout.isatty():
            print_text()


def _write(path: Path, text: str) -> None:
    """Write a file as a whole: there is never half of it."""
    partial = path.with_name(f"{path.name}.new")
    try:
        partial.write_text(text, encoding="utf-8", errors="replace")
        partial.replace(path)
    except OSError as error:
        raise SourceError(
            f"it can't be written: {error.strerror}", path=str(path), hint="name another file"
        ) from error


@contextmanager
def _told_how_to_go_on(output: Path | None) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if output is not None:
            note(f"Interrupted. The same command goes on from {output}.partial.")
        raise


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what draws a bar on one line of a terminal's stderr, and wipes it in the end."""
    last = 0.0

    def show(done: int, of: int) -> None:
        nonlocal last
        if sys.stderr.isatty() and time.monotonic() - last > 0.2:
            last = time.monotonic()
            full = _BAR * done // max(of, 1)
            bar = "█" * full + "░" * (_BAR - full)
            print(f"\r\x1b[K{bar} {done:,} of {of:,} {what}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if last:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
