"""Why a tool that a case expects is not among the first k: one reason each, by a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tool_rag_pg.models import ListedTool
from tool_rag_pg.retriever import ToolRetriever

from .cases import Case, fold_name

__all__ = ["ALIKE", "REASONS", "FailureExplainer"]

#: From this cosine of their descriptions' built-in vectors on, two tools count as near-duplicates.
ALIKE = 0.9

#: Reasons in the order in which they are looked for, each with what to do about it.
REASONS: Mapping[str, str] = {
    "not permitted": "grant the tool to the roles, or correct the case",
    "near-duplicate": "merge or rename one of the two, or accept either in the case",
    "vocabulary gap": "add the request's words as synonyms, or an example request",
    "below the cut-off": "lower the cut-off, or make the tool more relevant by examples",
    "crowded out": "sharpen the descriptions of the tool and of those before it",
}


class FailureExplainer:
    """Explains failures on one state of the catalogue.

    Args:
        retriever: on a connection that sees that state.
        tools: the whole catalogue.
        k: tools in a shortlist.
        min_relevance: the cut-off, or None.
    """

    def __init__(
        self,
        retriever: ToolRetriever,
        tools: Iterable[ListedTool],
        *,
        k: int,
        min_relevance: float | None,
    ) -> None:
        self._retriever = retriever
        self._k = k
        self._min_relevance = min_relevance
        self._descriptions = {f"{tool.server}/{tool.name}": tool.description for tool in tools}
        self._vectors: dict[str, list[float] | None] = {}

    def explain(
        self, case: Case, tool: str, found: Sequence[str], *, permitted: bool
    ) -> dict[str, Any]:
        """Return the reason, with what it rests on.

        Args:
            case: the case.
            tool: which of its expected tools is missing.
            found: the first k, as "SERVER/TOOL".
            permitted: whether the roles of the case may use the tool.
        """
        instead = [name for name in found if name not in case.expected]
        failure: dict[str, Any] = {
            "tool": tool,
            "reason": "crowded out",
            "detail": "",
            "rank": None,
            "relevance": None,
            "instead": instead,
            "alike": [],
            "unmatched": [],
        }
        if not permitted:
            return failure | {
                "reason": "not permitted",
                "detail": self._why_not_permitted(case, tool),
            }
        server, _, name = tool.partition("/")
        missing = self._retriever.explain_missing(
            case.query,
            server,
            name,
            roles=case.roles,
            k=self._k,
            context=case.context,
            conversation=case.conversation,
            min_relevance=self._min_relevance,
        )
        failure |= {"rank": missing.rank, "relevance": missing.relevance}
        if alike := self._alike(tool, instead):
            said = alike[0]
            how = (
                "has the same name"
                if said["same_name"]
                else f"has a description that is {said['similarity']:.0%} alike"
            )
            return failure | {
                "reason": "near-duplicate",
                "alike": alike,
                "detail": f"{said['tool']} {how}",
            }
        detail = missing.detail
        if detail is None or "words" not in detail:
            words = self._retriever.unmatched_words(case.query, roles=case.roles)
            told = f"; in no tool: {', '.join(words)}" if words else ""
            return failure | {
                "reason": "vocabulary gap",
                "unmatched": words,
                "detail": f"request and tool share no word{told}"
                if detail is not None
                else f"{missing.reason}{told}",
            }
        if missing.outcome == "below_cut_off":
            return failure | {"reason": "below the cut-off", "detail": missing.reason}
        before = ", ".join(instead[:3]) + (", ..." if len(instead) > 3 else "")
        place = "on top of the first k" if missing.outcome == "listed" else "in the whole ranking"
        return failure | {
            "unmatched": list(detail.get("unmatched", ())),
            "detail": f"rank {missing.rank} {place}, behind {before or 'other tools'}",
        }

    def _why_not_permitted(self, case: Case, tool: str) -> str:
        server, _, name = tool.partition("/")
        said = [
            f"{role}: {self._retriever.explain_access(role, server, name).reason}"
            for role in case.roles
        ]
        return "; ".join(said) or "no role asks"

    def _alike(self, tool: str, others: Sequence[str]) -> list[dict[str, Any]]:
        """Return those of some tools that are near-duplicates of one, in their order."""
        name = fold_name(tool.partition("/")[2])
        alike = []
        for other in others:
            same = fold_name(other.partition("/")[2]) == name
            similarity = self._similarity(tool, other)
            if same or (similarity is not None and similarity >= ALIKE):
                alike.append({"tool": other, "same_name": same, "similarity": similarity})
        return alike

    def _similarity(self, one: str, other: str) -> float | None:
        """Return the cosine of two descriptions; None where one says nothing."""
        first, second = self._vector(one), self._vector(other)
        if first is None or second is None:
            return None
        return sum(a * b for a, b in zip(first, second, strict=True))

    def _vector(self, tool: str) -> list[float] | None:
        if tool not in self._vectors:
            text = self._descriptions.get(tool, "")
            self._vectors[tool] = self._retriever.embed(text) if text.strip() else None
        return self._vectors[tool]
