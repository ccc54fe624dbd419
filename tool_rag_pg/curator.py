"""The two-method interface by which an agent asks for fewer tools.

A program that gives its tools as pairs of name and description, and gets the few back that serve a
message, runs on this package unchanged:

    curator = get_curator(mode="rag", top_k=10)
    curator.build_index(tools, extra_context=load_tool_context())
    curator.select("Can I send money to Rahul?", tools)

The index is a server of the catalogue, and searches are those of `tool_rag.search_tools` by a role
that sees this server only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from hashlib import sha256
from pathlib import Path
from textwrap import wrap
from types import TracebackType
from typing import Any, Literal, Self, TypeGuard, get_args

import psycopg

from .errors import InvalidArgument, SourceError
from .models import ServerChange
from .retriever import ToolRetriever

__all__ = ["Curator", "Mode", "get_curator", "load_tool_context"]

Mode = Literal["none", "keyword", "dense", "rag"]
Pair = tuple[str, str]

_MODE_VARIABLE = "TOOL_CURATOR_MODE"
_TOP_K_VARIABLE = "TOOL_CURATOR_TOP_K"
_CONTEXT_VARIABLE = "TOOL_CURATOR_CONTEXT"
_DATABASE_VARIABLE = "TOOL_RAG_DATABASE_URL"
_DEFAULT_TOP_K = 10

# Limits of `tool_rag.search_tools`, and of a tool's name, description and synonyms.
_MAX_ROWS = 1000
_MAX_QUERY = 20_000
_MAX_NAME = 256
_MAX_DESCRIPTION = 20_000
_MAX_SYNONYM = 1000

_OPTIONS: Mapping[str, Mapping[str, float]] = {
    "keyword": {"meaning_weight": 0},
    "dense": {"words_weight": 0},
    "rag": {},
}


def get_curator(
    mode: str | None = None,
    top_k: int | None = None,
    *,
    database_url: str | None = None,
    connection: psycopg.Connection[Any] | None = None,
    server: str = "curator",
) -> Curator:
    """Return a curator; it connects when it is first used.

    Args:
        mode: "none" (all tools, unchanged), "keyword" (words), "dense" (meaning) or "rag" (both);
            None takes the setting TOOL_CURATOR_MODE, or "rag".
        top_k: how many tools to select; None takes the setting TOOL_CURATOR_TOP_K, or 10.
        database_url: the database; None takes the setting TOOL_RAG_DATABASE_URL, or the embedded
            Postgres, started and upgraded where needed.
        connection: a connection to use instead, which is neither committed nor closed.
        server: what the index is called. Programs that share a database take one each, since the
            index holds exactly the tools that were given last.

    Raises:
        InvalidArgument: a mode, a number or a name that can't be.
    """
    chosen = mode if mode is not None else os.environ.get(_MODE_VARIABLE) or "rag"
    if chosen not in get_args(Mode):
        origin = "mode" if mode is not None else _MODE_VARIABLE
        raise InvalidArgument(
            f"{origin} is {chosen!r}", hint=f"it is one of {', '.join(get_args(Mode))}"
        )
    return Curator(
        mode=chosen,  # type: ignore[arg-type]  # Checked above.
        top_k=_read_top_k() if top_k is None else _check_top_k(top_k, "top_k"),
        database_url=database_url,
        connection=connection,
        server=server,
    )


def load_tool_context(path: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Return further words for tools, by name, from a JSON file.

    Args:
        path: a file like `{"submit_grievance": "raise complaint lodge formal protest"}`; lists of
            words are joined. None takes the setting TOOL_CURATOR_CONTEXT; without it there are no
            further words.

    Raises:
        SourceError: the file can't be read, or is no such object.
    """
    named = path if path is not None else os.environ.get(_CONTEXT_VARIABLE)
    if not named:
        return {}
    try:
        value = json.loads(Path(named).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(f"it can't be read: {error}", path=str(named)) from error
    if not isinstance(value, dict):
        raise SourceError(
            "it is no object", path=str(named), hint='write {"tool name": "further words"}'
        )
    words = {name: " ".join(each) if _is_texts(each) else each for name, each in value.items()}
    for name, each in words.items():
        if not isinstance(each, str):
            raise SourceError("it is no text", path=str(named), position=name, hint="write words")
    return words


class Curator:
    """Selects tools; `get_curator` makes one.

    Attributes:
        mode: how it ranks.
        top_k: at most so many tools are selected.
    """

    def __init__(
        self,
        *,
        mode: Mode,
        top_k: int,
        database_url: str | None,
        connection: psycopg.Connection[Any] | None,
        server: str,
    ) -> None:
        if not re.fullmatch(r"[\w.-]{1,200}", server):
            raise InvalidArgument(
                f"an index can't be called {server!r}", hint="take letters, digits, - and _"
            )
        self.mode = mode
        self.top_k = top_k
        self._url = database_url
        self._connection = connection
        self._server = server
        self._retriever: ToolRetriever | None = None
        self._words: Mapping[str, str] = {}
        self._indexed: frozenset[str] | None = None

    def build_index(
        self, tools: Iterable[Pair], extra_context: Mapping[str, str | Sequence[str]] | None = None
    ) -> ServerChange | None:
        """Make the index equal to these tools; only what changed since is computed anew.

        Args:
            tools: pairs of name and description. Of tools with one name all descriptions count.
            extra_context: further words by which people ask for a tool, by its name, which become
                its synonyms; names of other tools are ignored.

        Returns:
            How many tools were added, changed, unchanged and removed; None in the mode "none".

        Raises:
            ToolRagError: whatever the database reports.
        """
        if self.mode == "none":
            return None
        self._words = {_key(name): _join(words) for name, words in (extra_context or {}).items()}
        given = list(tools)
        retriever = self._get_retriever()
        permitted = retriever.permitted_tools(roles=[self._server])
        change = self._index(self._server, given)
        for server in sorted({tool.server for tool in permitted} - {self._server}):
            retriever.upsert_tools({"server": server, "tools": []})
        self._indexed = frozenset(_key(name) for name, _ in given)
        return change

    def select(self, query: str, tools: Iterable[Pair]) -> list[Pair]:
        """Return those of the given tools that serve a message, best first, at most `top_k`.

        Only given tools come back, as the very pairs that were given, whatever the index holds:
        pass what this user is permitted. Where the mode is "none" or the message is blank all come
        back, unchanged. Given tools that the index lacks are indexed on the way.

        Args:
            query: the user's message, as it is.
            tools: what may be selected.

        Raises:
            ToolRagError: whatever the database reports.
        """
        given = list(tools)
        query = _clean(query)
        if self.mode == "none" or not query.strip() or not given:
            return given
        pairs: dict[str, list[Pair]] = {}
        for pair in given:
            known = pairs.setdefault(_key(pair[0]), [])
            if pair not in known:
                known.append(pair)
        indexed = self._read_indexed(pairs.keys(), given)
        if pairs.keys() <= indexed:
            # In proportion, as many rows as hold enough of the given tools, with room for chance.
            share = len(indexed) / len(pairs)
            expected = self.top_k if share == 1 else int(2 * self.top_k * share) + 20
            for k in sorted({min(expected, _MAX_ROWS), _MAX_ROWS}):
                found = self._search(query, self._server, k)
                chosen = [pair for key in found for pair in pairs.get(key, ())]
                enough = len(chosen) >= min(self.top_k, len(pairs))
                if enough or len(found) < k or share == 1:
                    return chosen[: self.top_k]
        # The index lacks some, or so many other tools rank above that it has to be searched
        # without them: the filter comes before the ranking, in an index of exactly these.
        rows = self._rows(given)
        digest = sha256(json.dumps(rows).encode()).hexdigest()[:16]
        self._index(f"{self._server}:{digest}", given)
        found = self._search(query, f"{self._server}:{digest}", min(self.top_k, _MAX_ROWS))
        return [pair for key in found for pair in pairs[key]][: self.top_k]

    def close(self) -> None:
        """Close the curator's own connection; one that was given stays open."""
        if self._retriever is not None:
            self._retriever.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _get_retriever(self) -> ToolRetriever:
        if self._retriever is None:
            self._retriever = ToolRetriever(self._connection or self._url or _default_database())
        return self._retriever

    def _read_indexed(self, wanted: Set[str], given: Sequence[Pair]) -> frozenset[str]:
        """Return the names that the index holds; index what is given where it holds none."""
        if self._indexed is None or not wanted <= self._indexed:
            permitted = self._get_retriever().permitted_tools(roles=[self._server])
            names = frozenset(tool.name for tool in permitted if tool.server == self._server)
            if not names:
                self._index(self._server, given)
                names = frozenset(wanted)
            self._indexed = names
        return self._indexed

    def _search(self, query: str, server: str, k: int) -> list[str]:
        hits = self._get_retriever().search_tools(
            query[:_MAX_QUERY],
            roles=[self._server],
            k=k,
            servers=[server],
            options=_OPTIONS[self.mode],
        )
        return [hit.name for hit in hits]

    def _index(self, server: str, tools: Iterable[Pair]) -> ServerChange:
        retriever = self._get_retriever()
        retriever.add_role(self._server, description="Searches of a curator's index")
        retriever.grant_tools(self._server, self._server)
        retriever.grant_tools(self._server, f"{self._server}:*")
        # These tools are the program's own.
        retriever.set_review_policy(server, "trust", "report", create_server=True)
        (change,) = retriever.upsert_tools({"server": server, "tools": self._rows(tools)})
        return change

    def _rows(self, tools: Iterable[Pair]) -> list[dict[str, Any]]:
        """Return tools as `upsert_tools` takes them; further words are their synonyms.

        A tool without any says so, and loses those that it had: an index is exactly what was given
        last, and nothing is written where that is what it was.
        """
        texts: dict[str, list[str]] = {}
        for name, description in tools:
            known = texts.setdefault(_key(name), [])
            if description and (text := _clean(description)) not in known:
                known.append(text)
        return [
            {
                "name": key,
                "description": "\n".join(known)[:_MAX_DESCRIPTION],
                "synonyms": wrap(self._words.get(key, "")[:_MAX_DESCRIPTION], _MAX_SYNONYM),
            }
            for key, known in sorted(texts.items())
        ]


def _default_database() -> str:
    """Return the URL of the database named by the environment, or of the embedded one, ready."""
    if named := os.environ.get(_DATABASE_VARIABLE):
        return named
    from . import _database
    from ._migrate import upgrade
    from .embedded import ensure_database

    url = ensure_database()
    with _database.connect(url) as connection:
        is_current = _database.read_state(connection).is_current
    if not is_current:
        upgrade(url)
    return url


def _read_top_k() -> int:
    text = os.environ.get(_TOP_K_VARIABLE) or str(_DEFAULT_TOP_K)
    try:
        return _check_top_k(int(text), _TOP_K_VARIABLE)
    except ValueError as error:
        raise InvalidArgument(
            f"{_TOP_K_VARIABLE} is {text!r}", hint="it is a number of tools, for example 10"
        ) from error


def _check_top_k(top_k: int, origin: str) -> int:
    if top_k < 1:
        raise InvalidArgument(f"{origin} is {top_k}", hint="select at least one tool")
    return top_k


def _key(name: str) -> str:
    """Return the name under which the catalogue takes a tool: the same, wherever that can be."""
    cleaned = _clean(name)
    if cleaned == name and 0 < len(name) <= _MAX_NAME:
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{cleaned[: _MAX_NAME - 17]}~{digest}"


def _clean(text: str) -> str:
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _join(words: str | Sequence[str]) -> str:
    return " ".join(_clean(words if isinstance(words, str) else " ".join(words)).split())


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
