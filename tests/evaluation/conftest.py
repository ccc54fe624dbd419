"""Results made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tool_rag_pg.evaluation.cases import Case, CaseFile, KnownCase
from tool_rag_pg.evaluation.report import build_document
from tool_rag_pg.evaluation.run import Answer, Asked, Unaware

HOSTILE = "</td><script>alert('x')</script><img src=x onerror=\"alert(1)\">&`|*[a](b)\x1b[2J\u202e"


def hit(tool: str, relevance: float | None = 0.5, *, on_top: bool = False) -> dict[str, Any]:
    return {"tool": tool, "relevance": relevance, "tokens": 100, "on_top": on_top}


def failure(tool: str, reason: str = "crowded out", **more: Any) -> dict[str, Any]:
    return {
        "tool": tool,
        "reason": reason,
        "detail": "",
        "rank": None,
        "relevance": None,
        "instead": [],
        "alike": [],
        "unmatched": [],
        **more,
    }


def answer(id_: str, *hits: dict[str, Any], **more: Any) -> Answer:
    values = {
        "milliseconds": 2.0,
        "permitted_tools": 20,
        "permitted_tokens": 2_000,
        "leaks": [],
        "failures": [],
    }
    return Answer(id=id_, hits=list(hits), **{**values, **more})


def case(id_: str, *expected: str, **more: Any) -> Case:
    return Case(
        **{"id": id_, "line": 1, "query": f"do {id_}", "roles": ("r",), **more}, expected=expected
    )


def document(
    pairs: list[tuple[Case, Answer]],
    *,
    k: int = 10,
    unaware: Unaware | None = None,
    leakage: tuple[KnownCase, ...] = (),
    **settings: Any,
) -> dict[str, Any]:
    cases = tuple(case for case, _ in pairs)
    return build_document(
        CaseFile(path="cases.jsonl", cases=cases, left_out=0),
        cases,
        Asked(
            answers=tuple(answer for _, answer in pairs),
            tools=30,
            tokens=3_000,
            machine="2 cores here, Postgres 18.0",
            resumed=0,
        ),
        unaware or Unaware(leaking=None, answers=len(cases), reason="everybody may"),
        leakage,
        settings={"k": k, "min_relevance": None, **settings},
        fingerprint="f",
    )


@pytest.fixture
def hostile() -> dict[str, Any]:
    """A result whose every text is an attack."""
    bad = f"s/{HOSTILE}"
    known = KnownCase(case=HOSTILE, line=1, kind="example", tool=bad, text=HOSTILE)
    made = document(
        [
            (
                case(HOSTILE, bad, query=HOSTILE, groups=(HOSTILE,)),
                answer(
                    HOSTILE,
                    hit("s/other" + HOSTILE),
                    leaks=[bad],
                    failures=[failure(bad, detail=HOSTILE, instead=[bad], unmatched=[HOSTILE])],
                ),
            ),
            (case("none"), answer("none")),
        ],
        leakage=(known,),
        unaware=Unaware(leaking=1, answers=2, leaks=(True, False)),
    )
    change = {"id": HOSTILE, "query": HOSTILE, "missing": [bad], "instead": [bad]}
    numbers = {"value": 0.0, "low": 0.0, "high": 0.0, "cases": 1}
    others = {"cases": 1, "relabelled": 1, "only_new": 0, "only_old": 2}
    made["baseline"] = {"path": HOSTILE, **others, "lost": [change]}
    made["comparison"] = {
        "path": HOSTILE,
        **others,
        "differences": [
            {
                "name": "complete_recall",
                "at": 5,
                "now": 0.0,
                "before": 1.0,
                "difference": numbers,
                "gained": [],
                "lost": [change],
            }
        ],
    }
    return made
