"""Catalogues and requests for the benchmarks: public sets, and a large one varied from them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

SETS = (
    "bfcl",
    "bfcl/nonlive",
    "bfcl/multi_turn",
    "azure_mcp_2026",
    "metatool",
    "sealtools",
    "stabletoolbench",
    "sgd",
    "clinc150",
)


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def tools_of(folder: Path, *, limit: int | None = None) -> list[dict[str, Any]]:
    """Return the tools of one public set, or the first of them, as `upsert_tools` takes them."""
    return [
        {
            "name": row["name"],
            "description": (row.get("description") or "").replace("\0", ""),
            "input_schema": row.get("parameters") or {},
        }
        for row in islice(read_jsonl(folder / "catalog.jsonl"), limit)
    ]


def real_tools(data: Path) -> list[dict[str, Any]]:
    """Return every tool of the public sets as {server, name, description, input_schema}."""
    seen: set[tuple[str, str]] = set()
    tools = []
    for name in SETS:
        for row in read_jsonl(data / name / "catalog.jsonl"):
            server = name.replace("/", "-")
            if (server, row["name"]) in seen:
                continue
            seen.add((server, row["name"]))
            tools.append(
                {
                    "server": server,
                    "name": row["name"],
                    "description": row.get("description") or "",
                    "input_schema": row.get("parameters") or {"type": "object", "properties": {}},
                }
            )
    for path in sorted((data / "mcp_exports").glob("*.json")):
        for row in json.loads(path.read_text(encoding="utf-8"))["tools"]:
            tools.append(
                {
                    "server": path.stem,
                    "name": row["name"],
                    "description": row.get("description") or "",
                    "input_schema": row.get("inputSchema") or {"type": "object", "properties": {}},
                }
            )
    return tools


def large_catalogue(data: Path, size: int, *, seed: int = 7) -> list[dict[str, Any]]:
    """Return `size` tools: all real ones, then variations, no two with the same name or text.

    A variation takes the name's first word and a sentence from one real tool, the rest of the name,
    another sentence and the parameters from a second one, so words keep their real frequencies
    and company while no text is repeated.
    """
    base = real_tools(data)
    random_ = random.Random(seed)
    random_.shuffle(base)
    tools = base[:size]
    texts = {tool["description"] for tool in tools}
    names = {tool["name"] for tool in tools}
    split = [
        (
            re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", tool["name"]) or ["tool"],
            re.split(r"(?<=[.!?])\s+", tool["description"]),
        )
        for tool in base
    ]
    while len(tools) < size:
        first, second = random_.randrange(len(base)), random_.randrange(len(base))
        (verb, *_), sentences = split[first]
        (_, *rest), others = split[second]
        name = "_".join(w.lower() for w in (verb, *(rest or split[second][0])))
        description = " ".join((random_.choice(sentences), random_.choice(others))).strip()
        if name in names:
            name = f"{name}_{split[first][0][-1].lower()}"
        if name in names or description in texts or not description:
            continue
        names.add(name)
        texts.add(description)
        properties = dict(
            random_.sample(
                sorted((base[first]["input_schema"].get("properties") or {}).items()), k=1
            )
            if base[first]["input_schema"].get("properties")
            else []
        ) | (base[second]["input_schema"].get("properties") or {})
        tools.append(
            {
                "server": f"varied-{len(tools) % 40:02d}",
                "name": name,
                "description": description,
                "input_schema": {"type": "object", "properties": properties},
            }
        )
    return tools


def requests(data: Path, limit: int, *, seed: int = 7) -> list[str]:
    """Return `limit` requests drawn evenly from the sets that have some."""
    pools = []
    for name in ("bfcl", "azure_mcp_2026", "metatool", "sealtools", "stabletoolbench", "clinc150"):
        rows = [row["query"] for row in read_jsonl(data / name / "requests.jsonl")]
        random.Random(seed).shuffle(rows)
        pools.append(rows)
    mixed = [query for group in zip(*pools, strict=False) for query in group]
    return mixed[:limit]
