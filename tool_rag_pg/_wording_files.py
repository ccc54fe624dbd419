"""Files of synonyms, examples and dependencies: reading, storing and writing them.

`tool_rag_pg/data/demo/README.md` says what they look like. A tool is named "SERVER/TOOL", or by its
own name where only one server has it.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

from .errors import InvalidArgument, SourceError
from .models import ListedDependency, ListedExample, ListedSynonym, SuggestedDependency
from .retriever import ToolRetriever

__all__ = [
    "DependencyLine",
    "ExampleLine",
    "KnownRequests",
    "StoredLines",
    "SynonymLine",
    "as_dependencies",
    "as_example",
    "as_synonyms",
    "read_dependencies",
    "read_examples",
    "read_file",
    "read_synonyms",
    "refuse_known_requests",
    "resolve_dependencies",
    "resolve_examples",
    "resolve_synonyms",
    "store_dependencies",
    "store_examples",
    "store_synonyms",
]

#: From this share of common words on, two requests count as one.
NEAR = 0.8

Origin = Literal["human", "generated", "feedback"]
_ORIGINS: Mapping[str, Origin] = {
    "human": "human",
    "generated": "generated",
    "feedback": "feedback",
}
_TERMS = "words"
_SYNONYM_HINT = '{"SERVER/TOOL": "words", "words": {"term": "words"}}; a list of texts is fine too'
_EXAMPLE_HINT = 'a line is {"tool": "SERVER/TOOL", "request": "...", "origin": "human"}'
_DEPENDENCY_HINT = '[{"tool": "SERVER/TOOL", "needs": "SERVER/TOOL", "reason": "..."}]'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Where something stands: the file, and the position in it."""

    path: str
    position: str

    def fail(self, message: str, *, hint: str | None) -> NoReturn:
        raise SourceError(message, path=self.path, position=self.position, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynonymLine(_Line):
    """Words for a tool, as the file names it, or for a term."""

    tool: str | None
    term: str | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleLine(_Line):
    """A request that a tool serves."""

    tool: str
    request: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyLine(_Line):
    """A tool, another one that it needs, and what for."""

    tool: str
    needs: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLines:
    """How many lines a file has, and how many of them the database did not have yet."""

    read: int
    added: int


def read_synonyms(path: str) -> tuple[SynonymLine, ...]:
    """Return the synonyms of a JSON file; "-" is standard input.

    Raises:
        SourceError: with the key of the first entry that is none.
    """
    document = _read_json(path, empty={})
    if not isinstance(document, dict):
        raise SourceError("it is no JSON object", path=path, hint=_SYNONYM_HINT)
    lines: list[SynonymLine] = []
    for key, value in document.items():
        if key == _TERMS and isinstance(value, dict):
            for term, words in value.items():
                lines += _synonyms(path, f"{_TERMS}[{json.dumps(term)}]", words, term=term)
        else:
            lines += _synonyms(path, json.dumps(key, ensure_ascii=False), value, tool=key)
    return tuple(lines)


def _synonyms(
    path: str, position: str, value: Any, *, tool: str | None = None, term: str | None = None
) -> Iterator[SynonymLine]:
    many = isinstance(value, list)
    for number, words in enumerate(value if many else [value]):
        at = f"{position}[{number}]" if many else position
        if not isinstance(words, str) or not words.strip():
            raise SourceError(
                "the words are missing or no text", path=path, position=at, hint=_SYNONYM_HINT
            )
        yield SynonymLine(path=path, position=at, tool=tool, term=term, words=words)


def read_examples(path: str) -> tuple[ExampleLine, ...]:
    """Return the examples of a JSON Lines file; "-" is standard input.

    Raises:
        SourceError: with the number of the first line that is none.
    """
    lines = []
    for number, value in _read_lines(path):
        at = _Line(path=path, position=f"line {number}")
        origin = value.get("origin", "human")
        if not isinstance(origin, str) or origin not in _ORIGINS:
            at.fail(f"origin is {json.dumps(origin)}", hint="it is human, generated or feedback")
        lines.append(
            ExampleLine(
                path=path,
                position=at.position,
                tool=_text(at, value, "tool", _EXAMPLE_HINT),
                request=_text(at, value, "request", _EXAMPLE_HINT),
                origin=_ORIGINS[origin],
            )
        )
    return tuple(lines)


def read_dependencies(path: str) -> tuple[DependencyLine, ...]:
    """Return the dependencies of a JSON file; "-" is standard input.

    Raises:
        SourceError: with the place of the first that is none.
    """
    document = _read_json(path, empty=[])
    if not isinstance(document, list):
        raise SourceError("it is no JSON list", path=path, hint=_DEPENDENCY_HINT)
    lines = []
    for number, value in enumerate(document):
        at = _Line(path=path, position=f"[{number}]")
        if not isinstance(value, dict):
            at.fail("it is no object", hint=_DEPENDENCY_HINT)
        tool, needs, reason = (
            _text(at, value, key, _DEPENDENCY_HINT) for key in ("tool", "needs", "reason")
        )
        lines.append(
            DependencyLine(path=path, position=at.position, tool=tool, needs=needs, reason=reason)
        )
    return tuple(lines)


def refuse_known_requests(lines: Sequence[ExampleLine], evaluation: str) -> None:
    """Raise where an example is a request of an evaluation, or nearly one.

    Args:
        lines: the examples.
        evaluation: a JSON Lines file whose lines hold a `query` or a `request`.

    Raises:
        SourceError: with the line of the first such example, or a fault of the evaluation's file.
    """
    numbers: list[int] = []
    texts: list[str] = []
    for number, value in _read_lines(evaluation):
        at = _Line(path=evaluation, position=f"line {number}")
        key = "query" if "query" in value else "request"
        numbers.append(number)
        texts.append(_text(at, value, key, 'a line holds {"query": "..."}'))
    known = KnownRequests(texts)
    found: list[tuple[ExampleLine, int]] = []
    for line in lines:
        place = known.find(line.request)
        if place is not None:
            found.append((line, numbers[place]))
    if found:
        line, number = found[0]
        rest = f" (and {len(found) - 1} more lines)" if len(found) > 1 else ""
        line.fail(
            f"{line.request!r} is nearly the request of {evaluation}, line {number}{rest}",
            hint="an example that is also evaluated flatters; remove it, or do without --not-in",
        )


class KnownRequests:
    """Requests among which one that is nearly the same is found.

    Two count as one from four fifths of common words on (Jaccard), whatever their case, order and
    punctuation.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._known: list[frozenset[str]] = []
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        for text in texts:
            tokens = _tokens(text)
            for token in tokens:
                self._holders[token].append(len(self._known))
            self._known.append(tokens)

    def find(self, text: str) -> int | None:
        """Return the place of the first request that is nearly this one, or None."""
        tokens = _tokens(text)
        common = Counter(place for token in tokens for place in self._holders.get(token, ()))
        for place, count in sorted(common.items()):
            if count >= NEAR * (len(tokens) + len(self._known[place]) - count):
                return place
        return None


def _tokens(text: str) -> frozenset[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    # A request without any word stands for itself.
    return frozenset(re.findall(r"\w+", folded) or [" ".join(folded.split())])


def resolve_synonyms(
    retriever: ToolRetriever, lines: Sequence[SynonymLine]
) -> set[tuple[str, str | None, str | None, str | None]]:
    """Return what `add_synonym` takes for each line: words, server, tool and term.

    Raises:
        SourceError: several servers have a tool that is named without its server.
    """
    names = _Names(retriever)
    return {_synonym_arguments(names, line) for line in lines}


def resolve_examples(
    retriever: ToolRetriever, lines: Sequence[ExampleLine]
) -> set[tuple[str, str, str]]:
    """Return server, tool and request of each line.

    Raises:
        SourceError: several servers have a tool that is named without its server.
    """
    names = _Names(retriever)
    return {(*names.find(line, line.tool), line.request) for line in lines}


def resolve_dependencies(
    retriever: ToolRetriever, lines: Sequence[DependencyLine]
) -> set[tuple[str, str, str, str, str]]:
    """Return what `add_dependency` takes for each line.

    Raises:
        SourceError: several servers have a tool that is named without its server.
    """
    names = _Names(retriever)
    return {_dependency_arguments(names, line) for line in lines}


def store_synonyms(retriever: ToolRetriever, lines: Sequence[SynonymLine]) -> StoredLines:
    """Add synonyms that are not there yet; call it in a transaction.

    Raises:
        SourceError: with the position of the first that can't be stored.
    """
    names = _Names(retriever)
    return _store(lines, lambda line: retriever.add_synonym(*_synonym_arguments(names, line)))


def store_examples(retriever: ToolRetriever, lines: Sequence[ExampleLine]) -> StoredLines:
    """Add examples that are not there yet; call it in a transaction.

    Raises:
        SourceError: with the position of the first that can't be stored.
    """
    names = _Names(retriever)
    return _store(
        lines,
        lambda line: retriever.add_example(*names.find(line, line.tool), line.request, line.origin),
    )


def store_dependencies(retriever: ToolRetriever, lines: Sequence[DependencyLine]) -> StoredLines:
    """Add dependencies that are not there yet, or change their reason; call it in a transaction.

    Raises:
        SourceError: with the position of the first that can't be stored.
    """
    names = _Names(retriever)
    return _store(lines, lambda line: retriever.add_dependency(*_dependency_arguments(names, line)))


def _synonym_arguments(
    names: _Names, line: SynonymLine
) -> tuple[str, str | None, str | None, str | None]:
    if line.tool is None:
        return line.words, None, None, line.term
    return line.words, *names.find(line, line.tool), None


def _dependency_arguments(names: _Names, line: DependencyLine) -> tuple[str, str, str, str, str]:
    return *names.find(line, line.tool), *names.find(line, line.needs), line.reason


L = TypeVar("L", bound=_Line)


def _store(lines: Sequence[L], add: Callable[[L], bool]) -> StoredLines:
    added = 0
    for line in lines:
        try:
            added += add(line)
        except InvalidArgument as error:
            raise SourceError(
                error.message, path=line.path, position=line.position, hint=error.hint
            ) from error
    return StoredLines(read=len(lines), added=added)


class _Names:
    """Finds the server of a tool that a file calls by its own name only."""

    def __init__(self, retriever: ToolRetriever) -> None:
        self._retriever = retriever
        self._servers: dict[str, list[str]] | None = None

    def find(self, line: _Line, name: str) -> tuple[str, str]:
        """Return server and name; of one with a server the database says whether it exists."""
        server, slash, tool = name.partition("/")
        if server and slash and tool:
            return server, tool
        if self._servers is None:
            self._servers = {}
            for listed in self._retriever.list_tools():
                self._servers.setdefault(listed.name, []).append(listed.server)
        servers = self._servers.get(name, [])
        if len(servers) > 1:
            line.fail(
                f"{len(servers)} servers have a tool {name!r}",
                hint=f"write one of: {', '.join(f'{server}/{name}' for server in servers)}",
            )
        # Where none has it, the database's error names the nearest.
        return (servers[0] if servers else ""), name


def as_synonyms(rows: Iterable[ListedSynonym]) -> dict[str, Any]:
    """Return the document that `read_synonyms` reads these of."""
    terms: dict[str, list[str]] = {}
    tools: dict[str, list[str]] = {}
    for row in rows:
        if row.term is not None:
            terms.setdefault(row.term, []).append(row.words)
        else:
            tools.setdefault(f"{row.server}/{row.tool}", []).append(row.words)
    return {**({_TERMS: _unpacked(terms)} if terms else {}), **_unpacked(tools)}


def _unpacked(values: Mapping[str, list[str]]) -> dict[str, str | list[str]]:
    return {key: words[0] if len(words) == 1 else words for key, words in values.items()}


def as_example(row: ListedExample) -> dict[str, str]:
    """Return the line that `read_examples` reads this of."""
    return {"tool": f"{row.server}/{row.tool}", "request": row.request, "origin": row.origin}


def as_dependencies(
    rows: Iterable[ListedDependency | SuggestedDependency],
) -> list[dict[str, str]]:
    """Return the document that `read_dependencies` reads these of."""
    return [
        {
            "tool": f"{row.server}/{row.tool}",
            "needs": f"{row.needs_server}/{row.needs_tool}",
            "reason": row.reason,
        }
        for row in rows
    ]


def _text(at: _Line, value: Mapping[str, Any], key: str, hint: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text.strip():
        at.fail(f"{key} is missing or no text", hint=hint)
    return text


def _read_json(path: str, *, empty: Any) -> Any:
    """Return the document of a file; that of an empty one is given, as one of lines has no line."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise SourceError(
                f"the key {twice!r} stands twice in one object",
                path=path,
                hint="join the two: a list of texts is fine",
            )
        return found

    text = read_file(path)
    if not text.strip():
        return empty
    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise SourceError(
            f"it is not valid JSON: {error.msg}",
            path=path,
            position=f"line {error.lineno}, column {error.colno}",
            hint="correct it there",
        ) from error


def _read_lines(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(read_file(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise SourceError(
                f"it is not valid JSON: {error.msg}",
                path=path,
                position=f"line {number}, column {error.colno}",
                hint="one object a line",
            ) from error
        if not isinstance(value, dict):
            raise SourceError(
                "it is no object", path=path, position=f"line {number}", hint="one a line"
            )
        yield number, value


def read_file(path: str) -> str:
    """Return the text of a file; "-" is standard input.

    Raises:
        SourceError: it can't be read, or is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"it can't be read: {error}", path=path, hint="check the path and its encoding"
        ) from error
