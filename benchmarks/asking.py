"""What each feature of a search gains against leaving it out, on public sets; as Markdown.

    python -m benchmarks.asking --data DATA [--only compound,context] [--into docs/retrieval.md]

Parameters were chosen on the conversations with even places of sgd and bfcl/multi_turn, on requests
of stabletoolbench, and on compositions of azure_mcp_2026 and bfcl made with another seed; the
figures are of the odd conversations and of the seed below. The built-in model saw stabletoolbench
in training, which flatters both columns alike.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.catalogue import read_jsonl, tools_of
from benchmarks.harness import print_tables, temporary_database
from tool_rag_pg.retriever import ToolRetriever

ROLE = "everyone"
SEED = 20261130
JOINTS = ("; ", " and then ", "\n", ". Also, ", " as well as ", " plus ")

Row = dict[str, Any]


@contextmanager
def catalogue(data: Path, name: str, *, tools: int | None = None) -> Iterator[ToolRetriever]:
    """Yield a retriever on a temporary database that holds a set's tools (or the first of them)."""
    with temporary_database("tool_rag_bench_asking") as connection:
        retriever = ToolRetriever(connection)
        retriever.upsert_tools(
            {"server": _server(name), "tools": tools_of(data / name, limit=tools)}
        )
        retriever.add_role(ROLE)
        retriever.grant_tools(ROLE, "*", "*")
        yield retriever


def _server(name: str) -> str:
    return name.replace("/", "-")


def requests(data: Path, name: str, limit: int) -> list[Row]:
    """Return requests of a set that expect something, evenly drawn."""
    rows = [
        row
        for row in read_jsonl(data / name / "requests.jsonl")
        if row["expected"] and not row.get("label_problem")
    ]
    step = max(1, len(rows) / limit)
    return [rows[int(place * step)] for place in range(min(limit, len(rows)))]


def ask(retriever: ToolRetriever, query: str, **how: Any) -> list[str]:
    """Return the names of a shortlist of ten, and of what came on top."""
    return [hit.name for hit in retriever.search_tools(query, roles=[ROLE], k=10, **how)]


def recall(rows: Sequence[Row], lists: Sequence[list[str]], cuts: Sequence[int]) -> Row:
    """Return complete recall at some cuts, in percent."""
    return {
        f"@{cut}": round(
            100
            * statistics.fmean(
                set(row["expected"]) <= set(found[:cut])
                for row, found in zip(rows, lists, strict=True)
            ),
            1,
        )
        for cut in cuts
    }


def examples(data: Path, limit: int) -> list[Row]:
    """Human example requests of clinc150, 0 to 20 a tool; requests of its test part."""
    own = defaultdict(list)
    for row in read_jsonl(data / "clinc150" / "examples_train.jsonl"):
        own[row["name"]].append(row["example"])
    rows = requests(data, "clinc150", limit)
    table = []
    with catalogue(data, "clinc150") as retriever:
        for count in (0, 1, 5, 20):
            for tool, texts in own.items():
                for text in texts[:count]:
                    retriever.add_example(_server("clinc150"), tool, text)
            lists = [ask(retriever, row["query"]) for row in rows]
            table.append(
                {"examples a tool": count, "requests": len(rows), **recall(rows, lists, (1, 5, 10))}
            )
    return table


def synonyms(data: Path, limit: int) -> list[Row]:
    """One line of synonyms a tool: the eight words that most set its training requests apart."""
    own: dict[str, Counter[str]] = defaultdict(Counter)
    for row in read_jsonl(data / "clinc150" / "examples_train.jsonl"):
        own[row["name"]].update(set(re.findall(r"[a-z]{3,}", row["example"].lower())))
    everywhere = Counter(word for words in own.values() for word in words)
    rows = requests(data, "clinc150", limit)
    table = []
    with catalogue(data, "clinc150") as retriever:
        for count in (0, 8):
            for tool, words in own.items() if count else ():
                best = sorted(
                    words,
                    key=lambda word: (-words[word] * math.log(len(own) / everywhere[word]), word),
                )
                retriever.add_synonym(" ".join(best[:count]), server=_server("clinc150"), tool=tool)
            lists = [ask(retriever, row["query"]) for row in rows]
            table.append(
                {"words a tool": count, "requests": len(rows), **recall(rows, lists, (1, 5, 10))}
            )
    return table


def compound(data: Path, limit: int) -> list[Row]:
    """Several requests in one: stabletoolbench as it is, and compositions of other sets."""
    table = []
    for name, counts in (
        ("stabletoolbench", (1,)),
        ("azure_mcp_2026", (1, 2, 3, 4)),
        ("bfcl", (1, 2, 3, 4)),
    ):
        single = requests(data, name, limit)
        with catalogue(data, name) as retriever:
            for count in counts:
                rows = single if count == 1 else list(_compositions(single, count, 200))
                for split in (False, True):
                    lists = [ask(retriever, row["query"], options={"split": split}) for row in rows]
                    table.append(
                        {
                            "set": name if count == 1 else f"{name}, {count} joined",
                            "requests": len(rows),
                            "split": "on" if split else "off",
                            **recall(rows, lists, (5, 10)),
                        }
                    )
    return table


def _compositions(rows: Sequence[Row], count: int, size: int) -> Iterator[Row]:
    chance = random.Random(SEED + count)
    for _ in range(size):
        chosen = chance.sample(rows, k=count)
        joint = chance.choice(JOINTS)
        yield {
            "query": joint.join(row["query"].strip() for row in chosen),
            "expected": sorted({name for row in chosen for name in row["expected"]}),
        }


def _turns(data: Path, name: str) -> list[Row]:
    """Return the turns of every other conversation, each with the messages before it."""
    conversations: dict[str, list[Row]] = defaultdict(list)
    for row in read_jsonl(data / name / "turns.jsonl"):
        conversations[row["conversation_id"]].append(row)
    turns = []
    for _, rows in sorted(conversations.items())[1::2]:
        for place, row in enumerate(rows):
            if row["expected"] and row["user_text"].strip():
                kind = (
                    "first"
                    if place == 0
                    else row.get("followup_kind") or ("new" if row.get("new_intent") else "goes on")
                )
                turns.append(
                    row
                    | {
                        "query": row["user_text"],
                        "kind": kind,
                        "before": [earlier["user_text"] for earlier in rows[:place]],
                    }
                )
    return turns


def context(data: Path, limit: int) -> list[Row]:
    """Earlier messages of the user: follow-ups, and requests that stand for themselves."""
    table = []
    for name, kinds in (
        ("sgd", {"goes on": "an intent goes on", "new": "a new intent begins"}),
        (
            "bfcl/multi_turn",
            {
                "supplies_missing_parameter": "only supplies a parameter",
                "goes on": "stands for itself",
            },
        ),
    ):
        turns = _turns(data, name)
        with catalogue(data, name) as retriever:
            for kind, label in kinds.items():
                rows = [row for row in turns if row["kind"] == kind][:limit]
                for weight in (0, None):
                    how = {} if weight is None else {"options": {"context_weight": weight}}
                    lists = [
                        ask(retriever, row["query"], context=row["before"], **how) for row in rows
                    ]
                    table.append(_context_row(name, label, rows, lists, on=weight is None))
    # The worst case: what was said before has nothing to do with it.
    chance = random.Random(SEED)
    rows = requests(data, "bfcl", limit)
    with catalogue(data, "bfcl") as retriever:
        for weight in (0, None):
            how = {} if weight is None else {"options": {"context_weight": weight}}
            chance.seed(SEED)
            lists = [
                ask(
                    retriever,
                    row["query"],
                    context=[other["query"] for other in chance.sample(rows, k=3)],
                    **how,
                )
                for row in rows
            ]
            table.append(
                _context_row("bfcl", "strange messages before it", rows, lists, on=weight is None)
            )
    return table


def _context_row(
    name: str, label: str, rows: Sequence[Row], lists: Sequence[list[str]], *, on: bool
) -> Row:
    return {
        "set": name,
        "the request": label,
        "requests": len(rows),
        "context": "on" if on else "off",
        **recall(rows, lists, (1, 5, 10)),
    }


def sticky(data: Path, limit: int) -> list[Row]:
    """Tools in use: what a conversation called stays; recall of the whole list, k = 5."""
    turns = _turns(data, "sgd")[: 2 * limit]
    measured = [row for row in turns if row["kind"] != "first"]
    table = []
    with catalogue(data, "sgd") as retriever:
        for with_context in (False, True):
            for remembers in (False, True):
                found, sizes = [], []
                for row in turns:
                    conversation = f"{row['conversation_id']} {with_context}"
                    hits = retriever.search_tools(
                        row["query"],
                        roles=[ROLE],
                        k=5,
                        context=row["before"] if with_context else (),
                        conversation=conversation if remembers else None,
                    )
                    if row["kind"] != "first":
                        found.append([hit.name for hit in hits])
                        sizes.append(len(hits))
                    for tool in row["called"] if remembers else ():
                        retriever.record_use(
                            conversation, row["turn"], _server("sgd"), tool, roles=[ROLE]
                        )
                table.append(
                    {
                        "context": "on" if with_context else "off",
                        "tools in use": "kept" if remembers else "not kept",
                        "requests": len(measured),
                        "tools a list": round(statistics.fmean(sizes), 1),
                        "in the list": recall(measured, found, (100,))["@100"],
                    }
                )
    return table


def order(data: Path, limit: int) -> list[Row]:
    """Keep the order, for prompt caches: how much of a list is the beginning of the last one."""
    turns = _turns(data, "sgd")[:limit]
    table = []
    with catalogue(data, "sgd") as retriever:
        for keeps in (False, True):
            before: tuple[str, list[tuple[str, int]]] = ("", [])
            shares, sizes, found = [], [], []
            for row in turns:
                conversation = row["conversation_id"]
                hits = retriever.search_tools(
                    row["query"],
                    roles=[ROLE],
                    k=8,
                    context=row["before"],
                    conversation=conversation if keeps else None,
                    options={"keep_order": True} if keeps else None,
                )
                sent = [(f"{hit.server}/{hit.name}", hit.tokens) for hit in hits]
                if keeps:
                    retriever.record_sent(conversation, [name for name, _ in sent], roles=[ROLE])
                if before[0] == conversation:
                    same = 0
                    for old, new in zip(before[1], sent, strict=False):
                        if old != new:
                            break
                        same += new[1]
                    shares.append(same / max(1, sum(tokens for _, tokens in sent)))
                    sizes.append(sum(tokens for _, tokens in sent))
                    found.append((row, [hit.name for hit in hits]))
                before = (conversation, sent)
            table.append(
                {
                    "order": "kept" if keeps else "best first",
                    "turns": len(shares),
                    "tokens a list": round(statistics.fmean(sizes)),
                    "read from the cache": f"{100 * statistics.fmean(shares):.0f}%",
                    "in the list": recall(
                        [row for row, _ in found], [names for _, names in found], (100,)
                    )["@100"],
                }
            )
    return table


def anchor(data: Path, limit: int) -> list[Row]:
    """Tools that a request names go first: by identifier (the default), or by 60% of its words."""
    table = []
    for name in ("bfcl", "azure_mcp_2026", "stabletoolbench"):
        rows = requests(data, name, limit)
        with catalogue(data, name) as retriever:
            for mode in ("none", "exact", "words"):
                lists = [ask(retriever, row["query"], options={"anchor": mode}) for row in rows]
                table.append(
                    {
                        "set": name,
                        "requests": len(rows),
                        "anchor": mode,
                        **recall(rows, lists, (1, 5, 10)),
                    }
                )
    return table


def budget(data: Path, limit: int) -> list[Row]:
    """Fit a number of tokens, of k = 20."""
    rows = requests(data, "bfcl", limit)
    table = []
    with catalogue(data, "bfcl") as retriever:
        for tokens in (500, 1000, 2000, None):
            lists, sizes = [], []
            for row in rows:
                hits = retriever.search_tools(row["query"], roles=[ROLE], k=20, token_budget=tokens)
                lists.append([hit.name for hit in hits])
                sizes.append(sum(hit.tokens for hit in hits))
            table.append(
                {
                    "token_budget": tokens or "none",
                    "requests": len(rows),
                    "tools a list": round(statistics.fmean(map(len, lists)), 1),
                    "tokens a list": round(statistics.fmean(sizes)),
                    "in the list": recall(rows, lists, (100,))["@100"],
                }
            )
    return table


def curating(data: Path, limit: int) -> list[Row]:
    """Price a shortlist against all tools, over a conversation of ten turns.

    The unit is a thousand tokens at the price of input that is not cached. Writing to a cache costs
    1.25 of it, reading from it 0.1. All tools are written once and read nine times; a shortlist of
    its own for each turn is paid in full each time.
    """
    rows = requests(data, "bfcl", limit)
    table = []
    for size in (10, 20, 40, 80, 160, 320, 528):
        with catalogue(data, "bfcl", tools=size) as retriever:
            names = {tool.name for tool in retriever.permitted_tools(roles=[ROLE])}
            total = retriever.count_tools(roles=[ROLE]).tokens
            served = [row for row in rows if set(row["expected"]) <= names]
            lists, sizes = [], []
            for row in served:
                hits = retriever.search_tools(row["query"], roles=[ROLE], k=8)
                lists.append([hit.name for hit in hits])
                sizes.append(sum(hit.tokens for hit in hits))
        one = statistics.fmean(sizes) if sizes else 0
        table.append(
            {
                "tools": len(names),
                "tokens of all": total,
                "tokens of 8": round(one),
                "in the 8": recall(served, lists, (8,))["@8"] if served else None,
                "price of all, cached": f"{total * (1.25 + 9 * 0.1) / 1000:.1f}",
                "of all, not cached": f"{total * 10 / 1000:.1f}",
                "of a list each turn": f"{one * 10 / 1000:.1f}",
            }
        )
    return table


FEATURES: Mapping[str, Callable[[Path, int], list[Row]]] = {
    "examples": examples,
    "synonyms": synonyms,
    "compound": compound,
    "context": context,
    "sticky": sticky,
    "anchor": anchor,
    "budget": budget,
    "order": order,
    "curating": curating,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What each feature of a search gains.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets")
    parser.add_argument("--only", default=",".join(FEATURES), help="some of the features")
    parser.add_argument("--requests", type=int, default=1000, help="of a set, at the most")
    parser.add_argument("--into", type=Path, help="a Markdown file whose tables are replaced")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",")
    if unknown := sorted(set(chosen) - FEATURES.keys()):
        parser.error(f"no such feature: {', '.join(unknown)}; there are {', '.join(FEATURES)}")
    print_tables(
        ((name, FEATURES[name](arguments.data, arguments.requests)) for name in chosen),
        as_json=arguments.json,
        into=arguments.into,
    )


if __name__ == "__main__":
    main()
