"""Asking the cases: each answer with its time, its leaks, and why an expected tool is missing."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import psycopg

from tool_rag_pg import _database
from tool_rag_pg.errors import DatabaseError, SourceError
from tool_rag_pg.models import ToolHit
from tool_rag_pg.retriever import ToolRetriever

from .cases import Case
from .reasons import FailureExplainer

__all__ = ["Answer", "Asked", "Sidecar", "Unaware", "ask_cases", "ask_unaware", "fingerprint"]

# Permission-unaware searches hold the lock that edits take; so many in one transaction.
_BATCH = 250
# Read-only servers, and users without the right to edit.
_MAY_NOT_EDIT = {"25006", "42501"}

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search returned for a case, as JSON holds it.

    Attributes:
        id: of the case.
        hits: `{"tool", "relevance", "tokens", "on_top"}` for each; `on_top` of the first k are
            tools that others need or that the conversation uses.
        milliseconds: from call to rows.
        permitted_tools: how many tools the roles may use.
        permitted_tokens: the tokens of all these.
        leaks: tools of the answer that are forbidden, or that the roles may not use.
        failures: for each expected tool that is not among the first k, why.
    """

    id: str
    hits: list[dict[str, Any]]
    milliseconds: float
    permitted_tools: int
    permitted_tokens: int
    leaks: list[str]
    failures: list[dict[str, Any]]

    def first(self, k: int) -> list[str]:
        """Return the names of the first k."""
        return [hit["tool"] for hit in self.hits[:k] if not hit["on_top"]]

    def names(self) -> list[str]:
        """Return the names of all."""
        return [hit["tool"] for hit in self.hits]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """All answers, and the catalogue that gave them."""

    answers: tuple[Answer, ...]
    tools: int
    tokens: int
    machine: str
    resumed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unaware:
    """What a search that asks nobody's permission returns.

    Attributes:
        leaking: in how many answers there is a forbidden or unpermitted tool; None where it was not
            measured.
        answers: of how many.
        reason: why it was not measured, or None.
    """

    leaking: int | None
    answers: int
    reason: str | None = None
    leaks: tuple[bool, ...] = ()


def fingerprint(connection: psycopg.Connection[Any], settings: Any, cases: Sequence[Case]) -> str:
    """Return what two runs have in common that must give the same answers.

    It covers settings and cases, the catalogue, its wording and access, and the functions that
    search; not the time, nor the tools that conversations have used.
    """
    retriever = ToolRetriever(connection)
    state = [
        settings,
        [asdict(case) for case in cases],
        asdict(_database.read_state(connection)),
        *(
            [asdict(row) for row in rows]
            for rows in (
                retriever.list_tools(),
                retriever.list_roles(),
                retriever.list_rules(),
                retriever.list_synonyms(),
                retriever.list_examples(),
                retriever.list_dependencies(),
            )
        ),
    ]
    text = json.dumps(state, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Sidecar:
    """Answers on disk while a run goes on, so that an interrupted one is taken up again.

    Args:
        path: of the result; the sidecar is this with ".partial" behind it. None keeps nothing.
        fingerprint: of the run; answers of another one are thrown away.
    """

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        self._path = None if path is None else path.with_name(path.name + ".partial")
        self._fingerprint = fingerprint
        self._file: TextIO | None = None
        self.answers: dict[str, Answer] = {}

    def __enter__(self) -> Sidecar:
        if self._path is None:
            return self
        self.answers = {answer.id: answer for answer in self._read(self._path)}
        try:
            # Anew, since the last line of an interrupted run may be torn.
            self._file = self._path.open("w", encoding="utf-8")
        except OSError as error:
            raise SourceError(
                f"it can't be written: {error.strerror}",
                path=str(self._path),
                hint="name another file with --output",
            ) from error
        self._write({"fingerprint": self._fingerprint})
        for answer in self.answers.values():
            self._write(asdict(answer))
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, answer: Answer) -> None:
        """Keep an answer."""
        self._write(asdict(answer))

    def remove(self) -> None:
        """Remove the sidecar: the result is there."""
        if self._file is not None and self._path is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)

    def _write(self, value: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(value, ensure_ascii=True) + "\n")
            self._file.flush()

    def _read(self, path: Path) -> Iterator[Answer]:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return
        with suppress(ValueError, TypeError, KeyError):
            if not lines or json.loads(lines[0])["fingerprint"] != self._fingerprint:
                return
            for line in lines[1:]:
                yield Answer(**json.loads(line))


def ask_cases(
    connection: psycopg.Connection[Any],
    cases: Sequence[Case],
    *,
    k: int,
    min_relevance: float | None,
    sidecar: Sidecar,
    progress: Progress | None = None,
) -> Asked:
    """Ask every case of one snapshot of the database, and judge the answers.

    Args:
        connection: outside of a transaction; its work is rolled back.
        cases: what to ask.
        k: tools in a shortlist.
        min_relevance: the cut-off, or None.
        sidecar: opened; answers that it holds are not asked for again.
        progress: called with the number of cases that are done and that of all.
    """
    with _one_snapshot(connection):
        retriever = ToolRetriever(connection)
        tools = retriever.list_tools()
        judge = _Judge(
            retriever,
            FailureExplainer(retriever, tools, k=k, min_relevance=min_relevance),
            k=k,
            min_relevance=min_relevance,
        )
        answers = []
        resumed = sum(case.id in sidecar.answers for case in cases)
        if cases and resumed < len(cases):
            # The first searches of a connection load the functions.
            for _ in range(5):
                judge.search(cases[0])
        for number, case in enumerate(cases):
            if progress is not None:
                progress(number, len(cases))
            answer = sidecar.answers.get(case.id)
            if answer is None:
                answer = judge.ask(case)
                sidecar.add(answer)
            answers.append(answer)
        if progress is not None:
            progress(len(cases), len(cases))
        return Asked(
            answers=tuple(answers),
            tools=sum(tool.enabled for tool in tools),
            tokens=sum(tool.tokens for tool in tools if tool.enabled),
            machine=_machine(connection),
            resumed=resumed,
        )


class _Judge:
    """Asks a case and compares the answer with its labels."""

    def __init__(
        self,
        retriever: ToolRetriever,
        explainer: FailureExplainer,
        *,
        k: int,
        min_relevance: float | None,
    ) -> None:
        self._retriever = retriever
        self._explainer = explainer
        self._k = k
        self._min_relevance = min_relevance
        self._permitted: dict[tuple[str, ...], dict[str, int]] = {}

    def search(self, case: Case) -> list[ToolHit]:
        return self._retriever.search_tools(
            case.query,
            roles=case.roles,
            k=self._k,
            context=case.context,
            conversation=case.conversation,
            min_relevance=self._min_relevance,
        )

    def ask(self, case: Case) -> Answer:
        start = time.perf_counter()
        hits = self.search(case)
        milliseconds = (time.perf_counter() - start) * 1000
        permitted = self._permitted_to(case.roles)
        answer = Answer(
            id=case.id,
            hits=[
                {
                    "tool": f"{hit.server}/{hit.name}",
                    "relevance": hit.relevance,
                    "tokens": hit.tokens,
                    "on_top": place >= self._k or hit.score is None,
                }
                for place, hit in enumerate(hits)
            ],
            milliseconds=round(milliseconds, 3),
            permitted_tools=len(permitted),
            permitted_tokens=sum(permitted.values()),
            leaks=[],
            failures=[],
        )
        answer.leaks.extend(
            name for name in answer.names() if name in case.forbidden or name not in permitted
        )
        found = answer.first(self._k)
        answer.failures.extend(
            self._explainer.explain(case, tool, found, permitted=tool in permitted)
            for tool in case.expected
            if tool not in found
        )
        return answer

    def _permitted_to(self, roles: tuple[str, ...]) -> dict[str, int]:
        if roles not in self._permitted:
            self._permitted[roles] = {
                f"{tool.server}/{tool.name}": tool.tokens
                for tool in self._retriever.permitted_tools(roles=roles)
            }
        return self._permitted[roles]


@contextmanager
def _one_snapshot(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Run a block in a read-only transaction that sees one state of the database throughout."""
    level, read_only = connection.isolation_level, connection.read_only
    connection.rollback()
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    try:
        with connection.transaction(force_rollback=True), _closed_by_interruption(connection):
            yield
    finally:
        if not connection.closed:
            connection.rollback()
            connection.isolation_level, connection.read_only = level, read_only


@contextmanager
def _closed_by_interruption(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Close the connection when the block is interrupted, which may be in the middle of a query.

    Nothing more can be said on it then, a roll-back included; the server rolls back by itself.
    """
    try:
        yield
    except KeyboardInterrupt:
        connection.close()
        raise


def ask_unaware(
    connection: psycopg.Connection[Any],
    cases: Sequence[Case],
    answers: Iterable[Answer],
    *,
    k: int,
    min_relevance: float | None = None,
    progress: Progress | None = None,
) -> Unaware:
    """Count the answers with forbidden or unpermitted tools if everybody might use everything.

    A role that may use all tools is made for it, in transactions that are rolled back. Edits of the
    catalogue wait meanwhile; searches do not.

    Args:
        connection: as in `ask_cases`.
        cases: what was asked.
        answers: of `ask_cases`.
        k: tools in a shortlist.
        min_relevance: the cut-off, or None.
        progress: as in `ask_cases`.
    """
    retriever = ToolRetriever(connection)
    connection.rollback()
    everything = sum(tool.enabled for tool in retriever.list_tools())
    permitted: dict[tuple[str, ...], set[str]] = {}
    for case in cases:
        if case.roles not in permitted:
            permitted[case.roles] = {
                f"{tool.server}/{tool.name}" for tool in retriever.permitted_tools(roles=case.roles)
            }
    connection.rollback()
    if not any(case.forbidden for case in cases) and all(
        answer.permitted_tools == everything for answer in answers
    ):
        return Unaware(leaking=None, answers=len(cases), reason="everybody may use everything")
    leaks: list[bool] = []
    try:
        for start in range(0, len(cases), _BATCH):
            with connection.transaction(force_rollback=True), _closed_by_interruption(connection):
                role = f"tool-rag-eval-{secrets.token_hex(8)}"
                retriever.add_role(role)
                retriever.grant_tools(role, "*", "*")
                for case in cases[start : start + _BATCH]:
                    if progress is not None:
                        progress(len(leaks), len(cases))
                    hits = retriever.search_tools(
                        case.query,
                        roles=[role],
                        k=k,
                        context=case.context,
                        min_relevance=min_relevance,
                    )
                    names = {f"{hit.server}/{hit.name}" for hit in hits}
                    leaks.append(bool(names & set(case.forbidden) or names - permitted[case.roles]))
            connection.rollback()
    except DatabaseError as error:
        connection.rollback()
        if error.sqlstate not in _MAY_NOT_EDIT:
            raise
        return Unaware(
            leaking=None,
            answers=len(cases),
            reason="it takes the right to make a role",
        )
    if progress is not None:
        progress(len(cases), len(cases))
    return Unaware(leaking=sum(leaks), answers=len(cases), leaks=tuple(leaks))


def _machine(connection: psycopg.Connection[Any]) -> str:
    version = connection.info.parameter_status("server_version") or "?"
    return f"{os.cpu_count()} cores here, Postgres {version.split()[0]}"
