"""Cases: requests with the tools that they should, and should not, be answered with.

One JSON object a line; docs/evaluation.md says what it may hold. The requests of the demo company
and of the public sets that benchmarks use are such files as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tool_rag_pg._wording_files import KnownRequests, read_file
from tool_rag_pg.errors import CasesError, SourceError
from tool_rag_pg.models import ListedExample, ListedSynonym

__all__ = ["Case", "CaseFile", "KnownCase", "find_leakage", "fold_name", "read_cases"]

_HINT = '{"query": "...", "roles": ["..."], "expected": ["SERVER/TOOL"]}'
_LONGEST = 20_000
_LONGEST_CONVERSATION = 256
_NEAREST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request and what its answer is judged by.

    Attributes:
        id: unique in its file; "line N" where the file gives none.
        line: where it stands in its file.
        query: the request.
        roles: who asks.
        expected: tools ("SERVER/TOOL") that serve it; none where no tool does.
        forbidden: tools that the answer must never hold.
        context: earlier messages of the user.
        conversation: whose tools in use stay in the list, or None.
        groups: what it is counted under besides the whole.
    """

    id: str
    line: int
    query: str
    roles: tuple[str, ...]
    expected: tuple[str, ...]
    forbidden: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    conversation: str | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFile:
    """The cases of a file, and how many of its lines are marked as badly labelled."""

    path: str
    cases: tuple[Case, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCase:
    """A case whose request the database knows already.

    Attributes:
        case: its id.
        line: where it stands.
        kind: "example" or "synonym".
        tool: whose example or synonym it is ("SERVER/TOOL"), or the term.
        text: the example or the words.
    """

    case: str
    line: int
    kind: str
    tool: str
    text: str


def fold_name(name: str) -> str:
    """Return a tool's own name without case and separators: `create-pull_Request`."""
    return "".join(letter for letter in name.casefold() if letter.isalnum()) or name


def read_cases(
    path: str,
    *,
    tools: Iterable[str],
    known_roles: AbstractSet[str] | None = None,
    default_roles: Sequence[str] = (),
) -> CaseFile:
    """Return the cases of a JSON Lines file; "-" is standard input.

    Args:
        path: the file.
        tools: every tool of the catalogue, as "SERVER/TOOL".
        known_roles: the roles that exist; None takes any.
        default_roles: who asks where a case does not say.

    Raises:
        CasesError: with every fault of the file.
        SourceError: it can't be read at all.
    """
    reader = _Reader(path, tools, known_roles, default_roles)
    cases: dict[str, Case] = {}
    left_out = 0
    for number, text in enumerate(read_file(path).split("\n"), 1):
        if not text.strip():
            continue
        value = reader.parse(number, text)
        if value is None:
            continue
        if value.get("label_problem"):
            left_out += 1
            continue
        case = reader.read(number, value)
        if case is not None and case.id in cases:
            reader.fault(
                number,
                f"the id {case.id!r} stands in line {cases[case.id].line} already",
                "give each case its own",
            )
        elif case is not None:
            cases[case.id] = case
    if not (cases or reader.faults):
        raise SourceError("it holds no case", path=path, hint=f"a line is {_HINT}")
    if reader.faults:
        many = len(reader.faults)
        raise CasesError(
            f"{path} has {many:,} fault{'s' * (many != 1)}; nothing was asked",
            faults=tuple(reader.faults),
            hint="correct the lines named above",
        )
    return CaseFile(path=path, cases=tuple(cases.values()), left_out=left_out)


class _Reader:
    """Reads lines and collects their faults."""

    def __init__(
        self,
        path: str,
        tools: Iterable[str],
        known_roles: AbstractSet[str] | None,
        default_roles: Sequence[str],
    ) -> None:
        self.faults: list[SourceError] = []
        self._path = path
        self._roles = known_roles
        self._default_roles = tuple(default_roles)
        self._tools = frozenset(tools)
        self._of_name: dict[str, list[str]] = {}
        self._of_fold: dict[str, list[str]] = {}
        for tool in sorted(self._tools):
            name = tool.partition("/")[2]
            self._of_name.setdefault(name, []).append(tool)
            for spelling in {fold_name(name), fold_name(tool)}:
                self._of_fold.setdefault(spelling, []).append(tool)

    def fault(self, number: int, message: str, hint: str | None) -> None:
        self.faults.append(
            SourceError(message, path=self._path, position=f"line {number}", hint=hint)
        )

    def parse(self, number: int, text: str) -> dict[str, Any] | None:
        try:
            value = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            self.fault(number, f"it is not valid JSON: {error}", "one object a line")
            return None
        if not isinstance(value, dict):
            self.fault(number, "it is no object", f"a line is {_HINT}")
            return None
        return {key: _storable(each) for key, each in value.items()}

    def read(self, number: int, value: Mapping[str, Any]) -> Case | None:
        before = len(self.faults)
        identity = value.get("id", f"line {number}")
        if not isinstance(identity, str | int) or identity == "" or isinstance(identity, bool):
            self.fault(number, "id is no text", "give each case its own, or none")
        query = value.get("query")
        if not isinstance(query, str) or not query.strip():
            self.fault(number, "query is missing or no text", f"a line is {_HINT}")
            query = ""
        elif len(query) > _LONGEST:
            self.fault(number, f"query has {len(query):,} characters", f"{_LONGEST:,} are taken")
        roles = self._read_roles(number, value)
        if "expected" not in value:
            self.fault(number, "expected is missing", "write [] where no tool serves the request")
        expected = tuple(self._read_tools(number, value, "expected"))
        forbidden = tuple(self._read_tools(number, value, "forbidden"))
        if both := sorted(set(expected) & set(forbidden)):
            self.fault(number, f"{both[0]} is both expected and forbidden", "it can be only one")
        conversation = value.get("conversation")
        if conversation is not None and not (
            isinstance(conversation, str) and 0 < len(conversation) <= _LONGEST_CONVERSATION
        ):
            self.fault(
                number,
                f"conversation is no text of 1 to {_LONGEST_CONVERSATION} characters",
                "it is what record_use calls it",
            )
        context = self._texts(number, value, "context")
        if len(self.faults) > before:
            return None
        return Case(
            id=str(identity),
            line=number,
            query=query,
            roles=roles,
            expected=expected,
            forbidden=forbidden,
            context=context,
            conversation=conversation,
            groups=tuple(_groups(value)),
        )

    def _texts(self, number: int, value: Mapping[str, Any], key: str) -> tuple[str, ...]:
        texts = value.get(key)
        if texts is None:
            return ()
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            self.fault(number, f"{key} is no list of texts", f"a line is {_HINT}")
            return ()
        return tuple(dict.fromkeys(texts)) if key != "context" else tuple(texts)

    def _read_roles(self, number: int, value: Mapping[str, Any]) -> tuple[str, ...]:
        if "role" in value and "roles" in value:
            self.fault(number, "it has both role and roles", "write roles")
            return ()
        if "role" in value:
            role = value["role"]
            if not isinstance(role, str) or not role:
                self.fault(number, "role is no text", f"a line is {_HINT}")
                return ()
            roles: tuple[str, ...] = (role,)
        elif "roles" in value:
            roles = self._texts(number, value, "roles")
        elif self._default_roles:
            return self._default_roles
        else:
            self.fault(number, "it does not say who asks", "give it roles, or pass --role")
            return ()
        if self._roles is not None:
            for unknown in (role for role in roles if role not in self._roles):
                near = get_close_matches(unknown, sorted(self._roles), n=_NEAREST)
                self.fault(
                    number,
                    f"the role {unknown!r} does not exist",
                    f"is it {' or '.join(near)}?" if near else "see tool-rag roles list",
                )
        return roles

    def _read_tools(self, number: int, value: Mapping[str, Any], key: str) -> Iterator[str]:
        found: dict[str, None] = {}
        for name in self._texts(number, value, key):
            tool = self._find(number, name, key)
            if tool is not None:
                found[tool] = None
        yield from found

    def _find(self, number: int, name: str, key: str) -> str | None:
        if name in self._tools:
            return name
        servers = self._of_name.get(name, [])
        if len(servers) == 1:
            return servers[0]
        if servers:
            self.fault(
                number,
                f"{key}: {len(servers)} servers have a tool {name!r}",
                f"write one of: {', '.join(servers)}",
            )
            return None
        near = self._nearest(name)
        self.fault(
            number,
            f"{key}: there is no tool {name!r}",
            f"the nearest are: {', '.join(near)}" if near else "see tool-rag tools list",
        )
        return None

    def _nearest(self, name: str) -> list[str]:
        spellings = get_close_matches(fold_name(name), self._of_fold, n=_NEAREST, cutoff=0.5)
        return list(dict.fromkeys(tool for each in spellings for tool in self._of_fold[each]))[
            :_NEAREST
        ]


def _storable(value: Any) -> Any:
    """Return texts as Postgres and files can take them: no NUL, no half of a surrogate pair."""
    if isinstance(value, str):
        return value.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return [_storable(each) for each in value] if isinstance(value, list) else value


def _groups(value: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(value.get("sgd_style"), bool):
        yield "SGD style" if value["sgd_style"] else "not SGD style"
    if isinstance(value.get("category"), str) and value["category"]:
        yield value["category"]


def find_leakage(
    cases: Sequence[Case], examples: Sequence[ListedExample], synonyms: Sequence[ListedSynonym]
) -> tuple[KnownCase, ...]:
    """Return the cases whose request is an example or synonym, or nearly one."""
    sources = [("example", f"{row.server}/{row.tool}", row.request) for row in examples]
    sources += [
        ("synonym", row.term if row.term is not None else f"{row.server}/{row.tool}", row.words)
        for row in synonyms
    ]
    known = KnownRequests(text for _, _, text in sources)
    found = []
    for case in cases:
        place = known.find(case.query)
        if place is not None:
            kind, tool, text = sources[place]
            found.append(KnownCase(case=case.id, line=case.line, kind=kind, tool=tool, text=text))
    return tuple(found)
