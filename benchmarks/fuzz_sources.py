"""Fuzz the parsers of exports, guided by coverage where atheris is installed.

    python -m benchmarks.fuzz_sources --seconds 300

What `tests/sources/test_fuzz.py` draws with hypothesis, atheris finds by which branches an input
takes. It begins with the good exports of the tests. Reading must end in exports or in errors with a
hint: anything else is printed with the input, and the exit code is 1. Without atheris (`pip
install atheris`, Linux only) inputs are good exports with random damage.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import random
import re
import sys
import time
from pathlib import Path
from types import ModuleType

from tool_rag_pg.sources import FORMATS, read_exports

FIXTURES = Path(__file__).resolve().parents[1] / "tests/sources/fixtures"
LONGEST = 20_000
# Pieces that damage is made of, beside single bytes.
PIECES = (
    b"null", b"[]", b"{}", b"[[[[", b'{"a":', b"1e999", b"-1", b'"$ref": "#"', b"\\u0000",
    b"\\ud800", b"\xff\xfe", b"&a ", b"*a", b"!!python/object ", b"? ", b"- ", b"|\n ", b"\t",
    b"true", b"NaN", b'"name": "x"', b'"properties": ', b"\r\n", b"\x00", b"%YAML 1.2\n---\n",
)  # fmt: skip


def check(data: bytes) -> None:
    """Read one input, whose first byte chooses the format; anything odd raises."""
    chosen = data[0] % (len(FORMATS) + 1) if data else 0
    format = None if chosen == 0 else FORMATS[chosen - 1]
    result = read_exports(["-"], server="s", format=format, stdin=io.BytesIO(data[1:]))
    if bool(result.exports) == bool(result.errors):
        raise AssertionError("neither exports nor errors, or both")
    for export in result.exports:
        payload = json.dumps(export.as_payload(), allow_nan=False, ensure_ascii=False)
        payload.encode()
        # A backslash that is itself escaped is followed by mere text.
        if re.search(r"(?<!\\)(\\\\)*\\u0000", payload):
            raise AssertionError("a NUL, which Postgres does not store")
        if len({tool.name for tool in export.tools}) != len(export.tools):
            raise AssertionError("two tools of one name")
    for error in result.errors:
        if not error.hint or "\n" in str(error):
            raise AssertionError(f"an error without a hint, or of two lines: {error}")


def seeds() -> list[bytes]:
    return [b"\x00" + path.read_bytes()[:LONGEST] for path in sorted(FIXTURES.iterdir())]


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return an input with a few bytes or pieces changed, added, removed or repeated."""
    value = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        place = rng.randrange(len(value) + 1)
        length = rng.choice((0, 1, 4, 40))
        if rng.random() < 0.2:
            piece = bytes(value[place : place + rng.randint(1, 200)]) * rng.randint(1, 3)
        elif rng.random() < 0.5:
            piece = rng.choice(PIECES)
        else:
            piece = rng.randbytes(rng.randint(0, 2))
        value[place : place + length] = piece
    return bytes(value[:LONGEST])


def without_atheris(seconds: float, rng: random.Random) -> int:
    """Try damaged exports for a time, and return how many."""
    good = seeds()
    end = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < end:
        data = damage(rng.choice(good), rng)
        try:
            check(data)
        except Exception:
            print(f"after {tried} inputs, this one: {data!r}", file=sys.stderr)
            raise
        tried += 1
    return tried


def with_atheris(atheris: ModuleType, seconds: int) -> None:
    """Hand over to atheris, which ends the process and says how many inputs it ran."""
    with atheris.instrument_imports():
        for name in [name for name in sys.modules if name.startswith("tool_rag_pg.sources")]:
            importlib.reload(sys.modules[name])
    pieces = "\n".join('"' + "".join(f"\\x{byte:02x}" for byte in piece) + '"' for piece in PIECES)
    folder = Path("build/fuzz_sources")
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds()):
        (corpus / f"seed{number}").write_bytes(data)
    (folder / "pieces").write_text(pieces, encoding="utf-8")
    atheris.Setup(
        [
            sys.argv[0], str(corpus), f"-dict={folder / 'pieces'}", f"-max_total_time={seconds}",
            f"-max_len={LONGEST}", "-timeout=20", "-print_final_stats=1",
        ],
        check,
    )  # fmt: skip
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz the parsers of exports.")
    parser.add_argument("--seconds", type=int, default=60, help="How long; 60 by default.")
    parser.add_argument("--seed", type=int, default=0, help="Of the damage without atheris.")
    given = parser.parse_args()
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        tried = without_atheris(given.seconds, random.Random(given.seed))
        print(f"{tried} inputs in {given.seconds} s, without atheris: no fault")
        return
    with_atheris(atheris, given.seconds)


if __name__ == "__main__":
    main()
