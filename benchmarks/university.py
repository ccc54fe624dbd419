"""The university: what each role's shortlists hold, with two kinds of descriptions; as Markdown.

    python -m benchmarks.university [--into docs/university.md]

Every request is asked four times: with contract-style and with original descriptions, by words
alone and by words and meaning. Nothing was tuned on it. Ends with status 1 when any answer holds a
tool that is forbidden to its asker.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import print_tables, temporary_database
from tool_rag_pg._load_folder import load_folder
from tool_rag_pg.demo import UNIVERSITY_FOLDER, DemoFolder, read_folder, read_originals
from tool_rag_pg.evaluation.cases import Case, read_cases
from tool_rag_pg.evaluation.metrics import Estimate, bootstrap
from tool_rag_pg.evaluation.sets import REQUESTS
from tool_rag_pg.retriever import ToolRetriever

K = 10
DESCRIPTIONS = ("contract", "original")
RANKINGS: Mapping[str, dict[str, Any]] = {"keyword": {"meaning_weight": 0}, "hybrid": {}}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A case as it was answered in one setting.

    Attributes:
        case: what was asked.
        descriptions: "contract" or "original".
        ranking: "keyword" or "hybrid".
        tools: the shortlist, with what comes on top of the first K.
        tokens: of the shortlist.
        permitted: how many tools the role may use.
        permitted_tokens: of all these.
        leaks: tools of the shortlist that are forbidden or that the role may not use.
    """

    case: Case
    descriptions: str
    ranking: str
    tools: tuple[str, ...]
    tokens: int
    permitted: int
    permitted_tokens: int
    leaks: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the shortlist holds all that the case expects."""
        return set(self.case.expected) <= set(self.tools)


def measure(path: Path) -> list[Asked]:
    """Ask every case in every setting."""
    folder = read_folder(path)
    variants = {"contract": folder, "original": read_originals(folder)}
    return [asked for name in DESCRIPTIONS for asked in _ask_all(variants[name], name)]


def _ask_all(folder: DemoFolder, descriptions: str) -> Iterator[Asked]:
    with temporary_database("tool_rag_bench_university") as connection:
        load_folder(connection, folder)
        retriever = ToolRetriever(connection)
        roles = [role.name for role in folder.access.roles]
        cases = read_cases(
            str(folder.path / REQUESTS),
            tools=[f"{tool.server}/{tool.name}" for tool in retriever.list_tools()],
            known_roles=set(roles),
        ).cases
        permitted = {
            role: {
                f"{tool.server}/{tool.name}": tool.tokens
                for tool in retriever.permitted_tools(roles=[role])
            }
            for role in roles
        }
        for case in cases:
            own = permitted[case.roles[0]]
            for ranking, options in RANKINGS.items():
                hits = retriever.search_tools(
                    case.query, roles=case.roles, k=K, context=case.context, options=options
                )
                names = tuple(f"{hit.server}/{hit.name}" for hit in hits)
                yield Asked(
                    case=case,
                    descriptions=descriptions,
                    ranking=ranking,
                    tools=names,
                    tokens=sum(hit.tokens for hit in hits),
                    permitted=len(own),
                    permitted_tokens=sum(own.values()),
                    leaks=tuple(
                        name for name in names if name in case.forbidden or name not in own
                    ),
                )


def tables(asked: Sequence[Asked]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the name and the rows of each table."""
    yield "roles", list(_by_role(asked))
    yield "categories", list(_by_category(asked))
    yield "differences", list(_differences(asked))


def _by_role(asked: Sequence[Asked]) -> Iterator[Row]:
    roles = list(dict.fromkeys(each.case.roles[0] for each in asked))
    by_size = sorted(roles, key=lambda role: _of(asked, role=role)[0].permitted)
    for role in [*by_size, None]:
        for descriptions in DESCRIPTIONS:
            for ranking in RANKINGS:
                part = _of(asked, role=role, descriptions=descriptions, ranking=ranking)
                sent = statistics.fmean(each.tokens for each in part)
                whole = statistics.fmean(each.permitted_tokens for each in part)
                yield {
                    "role": f"`{role}`" if role else "all",
                    "tools": part[0].permitted if role else None,
                    "descriptions": descriptions,
                    "ranking": ranking,
                    "tools a list": f"{statistics.fmean(len(each.tools) for each in part):.1f}",
                    "tokens a list": f"{sent:,.0f}",
                    "of all": f"{whole:,.0f}",
                    "fewer": f"{100 * (1 - sent / whole):.1f}%",
                    "requests": sum(bool(each.case.expected) for each in part),
                    "all expected in the list": _share(part),
                    "leaks": f"{sum(bool(each.leaks) for each in part)} of {len(part)}",
                }


def _by_category(asked: Sequence[Asked]) -> Iterator[Row]:
    for category in dict.fromkeys(each.case.groups[0] for each in asked):
        part = _of(asked, category=category)
        if not any(each.case.expected for each in part):
            continue
        yield {
            "category": category,
            "requests": len({each.case.id for each in part}),
            **{
                f"{descriptions}, {ranking}": _share(
                    _of(part, descriptions=descriptions, ranking=ranking)
                )
                for descriptions in DESCRIPTIONS
                for ranking in RANKINGS
            },
        }


def _differences(asked: Sequence[Asked]) -> Iterator[Row]:
    pairs = [
        (f"contract instead of original, {ranking}", ("contract", ranking), ("original", ranking))
        for ranking in RANKINGS
    ] + [
        (f"hybrid instead of keyword, {name}", (name, "hybrid"), (name, "keyword"))
        for name in DESCRIPTIONS
    ]
    for label, (one, first), (other, second) in pairs:
        left = _served(_of(asked, descriptions=one, ranking=first))
        right = _served(_of(asked, descriptions=other, ranking=second))
        changes = [a.complete - b.complete for a, b in zip(left, right, strict=True)]
        change = bootstrap({"change": changes})["change"]
        yield {
            "what": label,
            "requests": len(changes),
            "gained": changes.count(1),
            "lost": changes.count(-1),
            "difference, points": f"{100 * change.value:+.1f} ({_interval(change)})",
        }


def _of(
    asked: Sequence[Asked],
    *,
    role: str | None = None,
    category: str | None = None,
    descriptions: str | None = None,
    ranking: str | None = None,
) -> list[Asked]:
    return [
        each
        for each in asked
        if role in (None, each.case.roles[0])
        and category in (None, each.case.groups[0])
        and descriptions in (None, each.descriptions)
        and ranking in (None, each.ranking)
    ]


def _served(asked: Sequence[Asked]) -> list[Asked]:
    return [each for each in asked if each.case.expected]


def _share(asked: Sequence[Asked]) -> str:
    """Return the share of complete answers among cases that expect tools, with its interval."""
    complete = [float(each.complete) for each in _served(asked)]
    share = bootstrap({"complete": complete})["complete"]
    return f"{100 * share.value:.1f}% ({_interval(share)})"


def _interval(estimate: Estimate) -> str:
    return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Shortlists of a university's four roles.")
    parser.add_argument("--path", type=Path, default=UNIVERSITY_FOLDER, help="another folder")
    parser.add_argument("--into", type=Path, help="a Markdown file whose tables are replaced")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    asked = measure(arguments.path)
    print_tables(tables(asked), as_json=arguments.json, into=arguments.into)
    leaking = sorted({each.case.id for each in asked if each.leaks})
    if leaking:
        print(f"Leaks: {', '.join(leaking)}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
