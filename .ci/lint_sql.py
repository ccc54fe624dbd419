"""Run pgspot over the SQL files as they are applied: rendered, in order, under our search path."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tool_rag_pg import _assets

# pgspot must see that the schema is ours, and the search path under which upgrades run.
PREAMBLE = "create schema tool_rag;\nset search_path = pg_catalog, pg_temp;\n"
# Meant to be inlined, which a SET clause forbids: pgspot sees them as if they had one. Only the
# owner may call them directly. tests/test_catalogue.py holds the same list.
INLINED = ["_permitted"]
# pgspot's parser knows no output parameter by its qualified name.
WITHOUT_PLPGSQL = ["040_catalogue"]
PINNED = "\nset search_path = pg_catalog, pg_temp"
# A body in standard SQL ("return ...") is resolved when it is created, so that no search path can
# change it. pgspot stumbles over it and gets the same expression as a quoted body.
STANDARD_BODY = re.compile(r"\nreturn (.*?);\n(?=comment on function)", re.DOTALL)


def prepared(text: str) -> str:
    """Return a file as pgspot can judge it: standard bodies quoted, inlined functions pinned."""
    text = STANDARD_BODY.sub(lambda body: f"{PINNED}\nas $$ select {body[1]} $$;\n", text)
    for name in INLINED:
        header = re.compile(rf"(create or replace function tool_rag\.{name}\(.*?)(\nas \$\$)", re.S)
        text = header.sub(rf"\1{PINNED}\2", text)
    return text


def main() -> int:
    """Check each file; return the number of files with findings."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in (*_assets.schema_files(), *_assets.function_files()):
            path = Path(folder, f"{file.name}.sql")
            text = _assets.render(prepared(file.text), vector_schema="public")
            path.write_text(PREAMBLE + text, encoding="utf-8")
            plpgsql = "--no-plpgsql" if file.name in WITHOUT_PLPGSQL else "--plpgsql"
            run = subprocess.run(
                [Path(sys.executable).with_name("pgspot"), plpgsql, path],
                text=True,
                capture_output=True,
            )
            if run.returncode or "Errors: 0 Warnings: 0 Unknown: 0" not in run.stdout:
                failed += 1
                print(f"{file.name}.sql:\n{run.stdout}{run.stderr}")
    print(f"pgspot: {failed} files with findings")
    return failed


if __name__ == "__main__":
    sys.exit(main())
