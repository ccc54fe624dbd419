"""The folder format of the demo company: servers, who may use what, and labelled requests.

Anyone's tools can be written down the same way; `tool_rag_pg/data/demo/README.md` says how.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NoReturn

from ._wording_files import (
    DependencyLine,
    ExampleLine,
    SynonymLine,
    read_dependencies,
    read_examples,
    read_synonyms,
)
from .errors import SourceError
from .sources import ServerExport, read_exports

__all__ = [
    "DEMO_FOLDER",
    "UNIVERSITY_FOLDER",
    "Access",
    "DemoFolder",
    "DemoRequest",
    "RoleLine",
    "RuleLine",
    "parse_access",
    "read_folder",
    "read_originals",
    "read_requests",
]

#: Where the demo company lies in the installed package.
DEMO_FOLDER = Path(__file__).parent / "data" / "demo"
#: Where the university lies in it.
UNIVERSITY_FOLDER = Path(__file__).parent / "data" / "university"

_EFFECTS: Mapping[str, Literal["allow", "deny"]] = {"allow": "allow", "deny": "deny"}
_WORD = re.compile(r"\S+")
_ROLE_WORD = re.compile(r"[^\s,:]+|[,:]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleLine:
    """A line `role NAME : PARENT, ...` of access.txt."""

    name: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """A line `allow` or `deny ROLE SERVER/TOOL [until TIME]` of access.txt.

    Attributes:
        effect: "allow" or "deny".
        role: whose rule it is.
        server_pattern: which servers; "*" is any run of characters.
        tool_pattern: which of their tools.
        valid_until: end of validity, or None for no end.
    """

    effect: Literal["allow", "deny"]
    role: str
    server_pattern: str
    tool_pattern: str
    valid_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The content of access.txt; parents come before their children."""

    roles: tuple[RoleLine, ...]
    rules: tuple[RuleLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRequest:
    """A line of requests.jsonl.

    Attributes:
        id: unique in its file.
        query: what the person types.
        role: who asks.
        expected: every tool ("SERVER/TOOL") that the shortlist has to hold; none where no tool
            that the role may use serves.
        forbidden: tools that must never be in it.
        note: for readers, or None.
    """

    id: str
    query: str
    role: str
    expected: tuple[str, ...]
    forbidden: tuple[str, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFolder:
    """A folder as read; `requests` is empty where the folder has no requests.jsonl.

    `synonyms`, `dependencies` and `examples` are None where it has no file of them.
    """

    path: Path
    exports: tuple[ServerExport, ...]
    access: Access
    requests: tuple[DemoRequest, ...]
    synonyms: tuple[SynonymLine, ...] | None = None
    dependencies: tuple[DependencyLine, ...] | None = None
    examples: tuple[ExampleLine, ...] | None = None


def read_folder(path: Path) -> DemoFolder:
    """Read a folder in the format of the demo company.

    Raises:
        SourceError: the first fault of any of its files.
    """
    result = read_exports([path / "servers"], format="mcp")
    if result.errors:
        raise result.errors[0]
    requests = path / "requests.jsonl"
    synonyms = path / "synonyms.json"
    dependencies = path / "dependencies.json"
    examples = path / "examples.jsonl"
    return DemoFolder(
        path=path,
        exports=result.exports,
        access=parse_access(_read_text(path / "access.txt"), path=str(path / "access.txt")),
        requests=read_requests(requests) if requests.exists() else (),
        synonyms=read_synonyms(str(synonyms)) if synonyms.exists() else None,
        dependencies=read_dependencies(str(dependencies)) if dependencies.exists() else None,
        examples=read_examples(str(examples)) if examples.exists() else None,
    )


def read_originals(folder: DemoFolder) -> DemoFolder:
    """Return the folder with the descriptions of its originals.json in place of its own.

    Raises:
        SourceError: there is no such file, or it has not exactly one text for each tool.
    """
    path = folder.path / "originals.json"

    def fail(message: str, position: str = "") -> NoReturn:
        hint = 'it holds {"SERVER": {"TOOL": "a description"}}, for each tool of servers/'
        raise SourceError(message, path=str(path), position=position or None, hint=hint)

    try:
        document = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        fail(f"it is not valid JSON: {error.msg}", f"line {error.lineno}, column {error.colno}")
    if not isinstance(document, dict):
        fail("it is no object")
    known = {(export.server, tool.name) for export in folder.exports for tool in export.tools}
    texts: dict[tuple[str, str], str] = {}
    for server, tools in document.items():
        if not isinstance(tools, dict):
            fail("it is no object", server)
        for name, text in tools.items():
            if (server, name) not in known:
                fail(f"there is no tool {name!r} on this server", server)
            if not isinstance(text, str) or not text.strip():
                fail("the description is no text, or empty", f"{server}.{name}")
            texts[server, name] = text
    if missing := sorted(known - texts.keys()):
        fail(f"the description of {'/'.join(missing[0])} is missing")
    exports = tuple(
        replace(
            export,
            tools=tuple(
                replace(tool, description=texts[export.server, tool.name]) for tool in export.tools
            ),
        )
        for export in folder.exports
    )
    return replace(folder, exports=exports)


def parse_access(text: str, *, path: str) -> Access:
    """Return the roles and rules of an access.txt.

    Args:
        text: its content.
        path: its name, for errors.

    Raises:
        SourceError: with the line and column of the first word that does not fit.
    """
    roles: dict[str, RoleLine] = {}
    rules: dict[tuple[str, str, str, str], RuleLine] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = _Words(line.partition("#")[0], path, number)
        if words.at_end:
            continue
        statement = words.take("role, allow or deny")
        if statement == "role":
            role = _read_role(words, roles)
            roles[role.name] = role
        elif statement in _EFFECTS:
            rule = _read_rule(words, _EFFECTS[statement], roles)
            key = (rule.effect, rule.role, rule.server_pattern, rule.tool_pattern)
            if key in rules:
                words.fail("this rule stands above already", hint="remove one of the two")
            rules[key] = rule
        else:
            words.fail(
                f"{statement!r} begins no statement",
                hint="a line begins with role, allow, deny or #",
            )
    return Access(roles=tuple(roles.values()), rules=tuple(rules.values()))


class _Words:
    """The words of one line, taken from left to right."""

    def __init__(self, line: str, path: str, number: int) -> None:
        pattern = _ROLE_WORD if line.split()[:1] == ["role"] else _WORD
        self._words = [(match.group(), match.start() + 1) for match in pattern.finditer(line)]
        self._end = len(line.rstrip()) + 1
        self._next = 0
        self._path = path
        self._number = number

    @property
    def at_end(self) -> bool:
        return self._next == len(self._words)

    def take(self, wanted: str) -> str:
        if self.at_end:
            self._next += 1
            self.fail(
                f"{wanted} is missing",
                hint="lines are: role NAME [: PARENT, ...] / allow ROLE SERVER/TOOL [until TIME]",
            )
        self._next += 1
        return self._words[self._next - 1][0]

    def accept(self, word: str) -> bool:
        found = not self.at_end and self._words[self._next][0] == word
        self._next += found
        return found

    def finish(self) -> None:
        if not self.at_end:
            extra = self.take("")
            self.fail(f"{extra!r} is too much", hint="put one statement on a line")

    def fail(self, message: str, *, hint: str) -> NoReturn:
        """Raise an error at the word that was taken last."""
        taken = self._next - 1
        column = self._words[taken][1] if taken < len(self._words) else self._end
        position = f"line {self._number}, column {column}"
        raise SourceError(message, path=self._path, position=position, hint=hint)


def _read_role(words: _Words, known: Mapping[str, RoleLine]) -> RoleLine:
    name = words.take("the role's name")
    if name in known:
        words.fail(f"the role {name!r} stands above already", hint="give it one line")
    parents: list[str] = []
    if words.accept(":"):
        parents.append(_known_role(words, known))
        while words.accept(","):
            parents.append(_known_role(words, known))
    words.finish()
    return RoleLine(name=name, parents=tuple(parents))


def _read_rule(
    words: _Words, effect: Literal["allow", "deny"], known: Mapping[str, RoleLine]
) -> RuleLine:
    role = _known_role(words, known)
    pattern = words.take("SERVER/TOOL")
    server, slash, tool = pattern.partition("/")
    if not (server and slash and tool):
        words.fail(
            f"{pattern!r} is not of the form SERVER/TOOL",
            hint="for all tools of a server: SERVER/*",
        )
    until = None
    if words.accept("until"):
        until = _read_time(words)
    words.finish()
    return RuleLine(
        effect=effect, role=role, server_pattern=server, tool_pattern=tool, valid_until=until
    )


def _known_role(words: _Words, known: Mapping[str, RoleLine]) -> str:
    name = words.take("a role")
    if name not in known:
        words.fail(f"the role {name!r} is not known here", hint=f"put a line above: role {name}")
    return name


def _read_time(words: _Words) -> datetime:
    text = words.take("a time")
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        words.fail(f"{text!r} is no time", hint="write it like 2031-01-01T00:00Z")
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def read_requests(path: Path) -> tuple[DemoRequest, ...]:
    """Return the labelled requests of a JSON Lines file.

    Raises:
        SourceError: with the line of the first that is not one.
    """
    requests: dict[str, DemoRequest] = {}
    for number, value in _read_lines(path):
        try:
            request = DemoRequest(
                id=_text(value, "id"),
                query=_text(value, "query"),
                role=_text(value, "role"),
                expected=_texts(value, "expected"),
                forbidden=_texts(value, "forbidden"),
                note=value.get("note"),
            )
        except ValueError as error:
            raise SourceError(
                str(error), path=str(path), position=f"line {number}", hint="correct it there"
            ) from error
        if request.id in requests:
            raise SourceError(
                f"the id {request.id!r} stands above already",
                path=str(path),
                position=f"line {number}",
                hint="give each request its own",
            )
        requests[request.id] = request
    return tuple(requests.values())


def _read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(_read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise SourceError(
                f"it is not valid JSON: {error.msg}",
                path=str(path),
                position=f"line {number}, column {error.colno}",
                hint="one object a line",
            ) from error
        if not isinstance(value, dict):
            raise SourceError(
                "it is no object", path=str(path), position=f"line {number}", hint="one a line"
            )
        yield number, value


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text:
        raise ValueError(f"{key} is missing or no text")
    return text


def _texts(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts: Sequence[Any] = value.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{key} is no list of texts")
    return tuple(texts)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"it can't be read: {error}", path=str(path), hint="check the path and its encoding"
        ) from error
