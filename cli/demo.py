"""`tool-rag demo`: an invented company's requests, answered as different people."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tool_rag_pg._visible import visible
from tool_rag_pg.cli._context import connect, settings_of
from tool_rag_pg.cli._names import join, unknown_role
from tool_rag_pg.cli._output import note, progress
from tool_rag_pg.cli._shortlist import draw_shortlist
from tool_rag_pg.errors import InvalidArgument

if TYPE_CHECKING:
    import psycopg
    from rich.console import Console

    from tool_rag_pg.demo import DemoFolder, DemoRequest
    from tool_rag_pg.models import ToolCount, ToolHit

__all__ = ["app"]

app = typer.Typer()

_DATABASE = "tool_rag_demo"
# Requests of the shipped company that are asked unless a query is given, and one that is refused.
_SHOWN = ("employee-05", "support-01", "admin-07")
_REFUSED = "logistics-25"
# Columns where there is no terminal.
_WIDTH = 110


@app.command(
    "demo",
    help="Show an invented company's shortlists, and what permissions do to them.",
    epilog="Example: tool-rag demo 'why do customers send the Skarn 3 back' --role admin",
)
def demo(
    ctx: typer.Context,
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="A request of your own; default: a tour."),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(help="Who asks it, repeatable; default: each role in turn."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="At most so many tools in a shortlist.")] = 5,
    path: Annotated[
        Path | None,
        typer.Option(help="A folder of your own in the demo's format, instead of the demo's."),
    ] = None,
    reset: Annotated[
        bool, typer.Option("--reset", help="Build the demo's database anew first.")
    ] = False,
) -> None:
    """Load the folder where needed, ask, and print."""
    from tool_rag_pg.demo import DEMO_FOLDER, read_folder

    if role and query is None:
        raise InvalidArgument(
            "--role goes with a request", hint=f"tool-rag demo 'a request' --role {role[0]}"
        )
    folder = read_folder(path or DEMO_FOLDER)
    names = [line.name for line in folder.access.roles]
    if unknown := sorted(set(role or ()) - set(names)):
        raise InvalidArgument(
            f"the role {unknown[0]!r} is not one of the demo's",
            hint=unknown_role(unknown[0], f"they are {join(names)}"),
        )
    with _loaded(ctx, folder, reset=reset) as connection:
        tour = _Tour(connection, folder, _console(), k)
        tour.introduce()
        if query is None:
            tour.show_all()
            return
        for one in [[name] for name in names] if role is None else [role]:
            tour.ask(query, one)


@contextmanager
def _loaded(
    ctx: typer.Context, folder: DemoFolder, *, reset: bool
) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to a database that holds the folder.

    On the embedded server it is one of the demo's own, beside the user's catalogue. A named
    database is used only if there is nothing else in it.
    """
    from tool_rag_pg import _database
    from tool_rag_pg._load_folder import find_foreign, load_folder

    if settings_of(ctx).database_url is not None:
        with connect(ctx) as connection:
            if foreign := find_foreign(connection, folder):
                raise InvalidArgument(
                    f"the database holds more than the demo: {join(foreign[:5])}",
                    hint="name an empty database, or none for the embedded one",
                )
            load_folder(connection, folder)
            yield connection
        return
    url = _embedded_database(folder, reset=reset)
    with _database.connect(url) as connection:
        load_folder(connection, folder)
        yield connection


def _embedded_database(folder: DemoFolder, *, reset: bool) -> str:
    """Return the URL of the folder's own database on the embedded server, migrated."""
    from tool_rag_pg import _database, embedded
    from tool_rag_pg.demo import DEMO_FOLDER

    embedded.ensure_database(notify=note)
    server = embedded.default_server()
    name = _DATABASE
    if folder.path != DEMO_FOLDER:
        name += "_" + hashlib.sha256(str(folder.path.resolve()).encode()).hexdigest()[:8]
    if reset:
        server.drop_database(name)
    new = server.create_database(name)
    url = server.url(name)
    if not new:
        with _database.connect(url) as connection:
            if _database.read_state(connection).is_current:
                return url
    from tool_rag_pg._migrate import upgrade

    note("Preparing the demo's database ...")
    upgrade(url, progress=progress)
    return url


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, emoji=False, width=_WIDTH)


@dataclass(frozen=True, slots=True)
class _Tour:
    """Asks and prints.

    Attributes:
        connection: to the database that holds the folder.
        folder: what was loaded.
        console: where to print.
        k: tools in a shortlist.
    """

    connection: psycopg.Connection[Any]
    folder: DemoFolder
    console: Console
    k: int

    def introduce(self) -> None:
        """Print what is in the folder."""
        whole = self._count([])
        self.console.print(
            f"[bold]{len(self.folder.exports)} servers, {whole.all_tools} tools[/bold], "
            f"{whole.all_tokens:,} tokens if a model got them all. "
            f"Roles: {_plain(', '.join(role.name for role in self.folder.access.roles))}."
        )
        # The first search of a connection loads the functions; the times shown are of later ones.
        self._search("warm up", [self.folder.access.roles[0].name])

    def show_all(self) -> None:
        """Ask a few requests, and one whose best tool the asker may not use."""
        shown, refused = _pick(self.folder)
        for request in shown:
            self.ask(request.query, [request.role])
        if refused is not None:
            self.refuse(refused)

    def ask(self, query: str, roles: Sequence[str]) -> None:
        """Print the shortlist of a request with what it saves."""
        start = time.perf_counter()
        hits = self._search(query, roles)
        milliseconds = (time.perf_counter() - start) * 1000
        seen = self._count(roles)
        tokens = sum(hit.tokens for hit in hits)
        who = _plain(join(roles))
        self.console.print(f"\n[bold cyan]{who}[/bold cyan]: [bold]{_plain(query)}[/bold]")
        if hits:
            draw_shortlist(self.console, hits)
        self.console.print(
            f"{len(hits)} tools, {tokens:,} tokens, in {milliseconds:.0f} ms: "
            f"{_saved(tokens, seen.tokens)} fewer tokens than the {seen.tools} tools that "
            f"{who} may use ({seen.tokens:,}), {_saved(tokens, seen.all_tokens)} "
            "fewer than the whole catalogue.",
            style="dim",
        )

    def _search(self, query: str, roles: Sequence[str]) -> list[ToolHit]:
        from tool_rag_pg.retriever import ToolRetriever

        return ToolRetriever(self.connection).search_tools(query, roles=roles, k=self.k)

    def _count(self, roles: Sequence[str]) -> ToolCount:
        from tool_rag_pg.retriever import ToolRetriever

        return ToolRetriever(self.connection).count_tools(roles=roles)

    def refuse(self, request: DemoRequest) -> None:
        """Ask a request whose tool the asker may not use; say why, and who gets it."""
        from tool_rag_pg.retriever import ToolRetriever

        tool = request.forbidden[0]
        server, name = tool.split("/", 1)
        self.ask(request.query, [request.role])
        explanation = ToolRetriever(self.connection).explain_access(request.role, server, name)
        self.console.print(
            f"\n[bold]{_plain(tool)}[/bold] is not in the list of "
            f"[bold cyan]{_plain(request.role)}[/bold cyan]: "
            f"[yellow]{_plain(explanation.reason)}[/yellow]."
        )
        ranks = {
            role.name: hit.rank
            for role in self.folder.access.roles
            for hit in self._search(request.query, [role.name])
            if (hit.server, hit.name) == (server, name)
        }
        for role, rank in sorted(ranks.items(), key=lambda item: item[1]):
            self.console.print(
                f"For [bold cyan]{_plain(role)}[/bold cyan] the same words put it at rank {rank}."
            )


def _plain(text: str) -> str:
    """Return a text of the folder or the database, in which nothing is hidden or markup."""
    from rich.markup import escape

    return escape(visible(text))


def _saved(tokens: int, whole: int | None) -> str:
    return f"{100 * (1 - tokens / whole):.0f}%" if whole else "0%"


def _pick(folder: DemoFolder) -> tuple[list[DemoRequest], DemoRequest | None]:
    """Return the requests to show: the chosen ones, or the first of each of three roles."""
    by_id = {request.id: request for request in folder.requests}
    shown = [by_id[id_] for id_ in _SHOWN if id_ in by_id]
    if len(shown) < len(_SHOWN):
        first: dict[str, DemoRequest] = {}
        for request in folder.requests:
            if request.expected:
                first.setdefault(request.role, request)
        shown = list(first.values())[: len(_SHOWN)]
    out_of_bounds = [r for r in folder.requests if r.forbidden and not r.expected]
    return shown, by_id.get(_REFUSED) or next(iter(out_of_bounds), None)
