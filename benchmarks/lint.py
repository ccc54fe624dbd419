"""How often the linter flags tools of public sets, which are honest as far as anybody knows.

    python -m benchmarks.lint --data DATA

All sets are ingested into one database, each set of `mcp_exports` and `exports` as servers of its
own, so that names that look alike and texts on other servers' tools are compared as well.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.catalogue import SETS, tools_of
from benchmarks.harness import print_tables, temporary_database
from tool_rag_pg.retriever import ToolRetriever
from tool_rag_pg.sources import read_exports

FOLDERS = ("mcp_exports", "exports")
SEVERITIES = ("high", "medium", "low")


def exports_of(data: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the exports of each set that the folder has, each name once."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in FOLDERS:
        if (data / name).is_dir():
            result = read_exports([str(data / name)])
            found[name] = [export.as_payload() for export in result.exports]
    for name in SETS:
        if (data / name / "catalog.jsonl").is_file():
            tools = {tool["name"][:256]: tool for tool in tools_of(data / name)}
            found[name] = [
                {
                    "server": name.replace("/", "-"),
                    "tools": [tool | {"name": each} for each, tool in tools.items()],
                }
            ]
    return found


def measure(data: Path) -> list[dict[str, Any]]:
    """Return one row for each set: its tools, those with a finding of each severity, and rules."""
    sets = exports_of(data)
    with temporary_database("tool_rag_bench_lint") as connection:
        retriever = ToolRetriever(connection)
        retriever.set_review_policy(None, "trust", "report")
        for exports in sets.values():
            retriever.upsert_tools(exports)
        found = retriever.lint_catalogue()
    rows = []
    for name, exports in sets.items():
        servers = {export["server"] for export in exports}
        own = [finding for finding in found if finding.server in servers]
        worst = Counter(
            min(
                (f.severity for f in own if (f.server, f.tool) == key),
                key=SEVERITIES.index,
            )
            for key in {(finding.server, finding.tool) for finding in own}
        )
        rules = Counter((f.severity, f.rule) for f in own if f.severity != "low")
        rows.append(
            {
                "set": name,
                "tools": sum(len(export["tools"]) for export in exports),
                **{severity: worst[severity] for severity in SEVERITIES},
                "rules": ", ".join(f"{rule} {count}" for (_, rule), count in sorted(rules.items())),
            }
        )
    return [*rows, total(rows)]


def total(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the sum of all rows."""
    counted = ("tools", *SEVERITIES)
    sums = {key: sum(row[key] for row in rows) for key in counted}
    return {"set": "all", **sums, "rules": ""}


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of public sets")
    parser.add_argument("--into", type=Path, help="a Markdown page with the line <!-- lint -->")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    print_tables([("lint", measure(arguments.data))], as_json=arguments.json, into=arguments.into)


if __name__ == "__main__":
    main()
