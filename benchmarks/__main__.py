"""All benchmarks: `make bench`, or with the public sets `make bench DATA=folder`."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks import (
    asking,
    bfcl,
    demo_company,
    gateway,
    large,
    multilingual,
    university,
    visibility,
)
from benchmarks.harness import print_report, print_tables
from tool_rag_pg.demo import DEMO_FOLDER, UNIVERSITY_FOLDER


def main() -> None:
    """Run the sets that ship with the package, and with a folder of public sets the others."""
    print("# The demo company: python -m benchmarks.demo_company", flush=True)
    print_report(demo_company.measure(DEMO_FOLDER), as_json=False)
    print("\n# The university: python -m benchmarks.university", flush=True)
    print_tables(university.tables(university.measure(UNIVERSITY_FOLDER)), as_json=False)
    print("\n# Other languages: python -m benchmarks.multilingual", flush=True)
    print_tables(multilingual.tables(None), as_json=False)
    print("\n# Access edited meanwhile: python -m benchmarks.visibility", flush=True)
    print_report(visibility.measure(32, 300), as_json=False)
    print("\n# Calls through the gateway: python -m benchmarks.gateway", flush=True)
    gateway.run(400, as_json=False, into=None)
    data = os.environ.get("DATA")
    if data is None:
        print("\nName a folder of public sets for the others: make bench DATA=folder")
        return
    for name in ("bfcl", "azure_mcp_2026", "clinc150"):
        print(f"\n# python -m benchmarks.bfcl --data DATA --set {name}", flush=True)
        print_report(bfcl.measure(Path(data) / name, name), as_json=False)
    print("\n# python -m benchmarks.large --data DATA", flush=True)
    print_report(large.measure(Path(data), size=44453, queries=300), as_json=False)
    print("\n# python -m benchmarks.asking --data DATA", flush=True)
    print_tables(
        ((name, measure(Path(data), 1000)) for name, measure in asking.FEATURES.items()),
        as_json=False,
    )


if __name__ == "__main__":
    main()
