"""Pairs of texts that mean the same, for training: `python -m tool_rag_pg.embedding.pairs ...`.

From dictionaries and API descriptions that anyone can install:

- WordNet's data files (Debian `wordnet-base`): words and their gloss, an example sentence and the
  gloss, a word and its synonyms;
- the short descriptions of Debian's packages (`apt-cache dumpavail`): name and description;
- Amazon's service models (`botocore`, from PyPI): operation and documentation, a parameter's
  documentation and its operation's;
- Google's discovery documents (`google-api-python-client`, from PyPI): method and description.

One JSON array of three texts a line: left, right, and where the pair is from.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["main", "read_botocore", "read_discovery", "read_packages", "read_wordnet"]

Pair = tuple[str, str, str]

_LEFT_LENGTH, _RIGHT_LENGTH = 400, 500
_SHORTEST = 8
_SENTENCE = re.compile(r"(?<=[.])\s")
_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[_./:#-]+")
# Sections whose packages say nothing of their own.
_DULL_SECTION = re.compile(r"^Section: (?:.*/)?(?:debug|libdevel|oldlibs)$", re.MULTILINE)
_MAX_PARAMETERS = 15


def _words(identifier: str) -> str:
    return _SEPARATORS.sub(" ", _CASE.sub(" ", identifier))


def _plain(markup: str | None) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", markup or "")).strip()


def _sentences(text: str, count: int) -> str:
    return " ".join(_SENTENCE.split(text)[:count])


def read_wordnet(folder: Path) -> Iterator[Pair]:
    """Yield the pairs of WordNet's `data.*` files (format: wndb(5WN))."""
    for path in sorted(folder.glob("data.*")):
        for line in path.read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition(" | ")
            columns = head.split()
            count = int(columns[3], 16)
            words = [columns[4 + 2 * n].replace("_", " ").split("(")[0] for n in range(count)]
            definition, *examples = re.split(r';\s*"', gloss.strip())
            yield ", ".join(words), definition, "wordnet"
            if examples:
                yield examples[0].strip('" '), definition, "wordnet"
            if len(words) > 1:
                yield words[0], ", ".join(words[1:]), "wordnet"


def read_packages(path: Path) -> Iterator[Pair]:
    """Yield name and short description of the packages in a file like Debian's `Packages`."""
    for record in path.read_text(encoding="utf-8", errors="replace").split("\n\n"):
        name = re.search(r"^Package: (.*)$", record, re.MULTILINE)
        about = re.search(r"^Description(?:-en)?: (.*)$", record, re.MULTILINE)
        if name and about and not _DULL_SECTION.search(record):
            yield re.sub(r"[-+.]+", " ", name[1]), about[1], "packages"


def read_botocore(folder: Path) -> Iterator[Pair]:
    """Yield the pairs of the latest model of each service under `botocore/data`."""
    for service in sorted(path for path in folder.iterdir() if path.is_dir()):
        models = sorted(service.glob("*/service-2.json*"))
        if not models:
            continue
        data = models[-1].read_bytes()
        model = json.loads(gzip.decompress(data) if models[-1].suffix == ".gz" else data)
        title = model["metadata"].get("serviceId", "")
        for name, operation in model["operations"].items():
            about = _plain(operation.get("documentation"))
            yield f"{title} {_words(name)}", _sentences(about, 2), "botocore"
            shape = model["shapes"].get(operation.get("input", {}).get("shape"), {})
            described = [
                _plain(member["documentation"])
                for member in list(shape.get("members", {}).values())[:_MAX_PARAMETERS]
                if member.get("documentation")
            ]
            if described:
                # One of them, by the operation's name, so that a run repeats itself.
                yield (
                    _sentences(random.Random(name).choice(described), 1),
                    _sentences(about, 1) or _words(name),
                    "botocore",
                )


def read_discovery(folder: Path) -> Iterator[Pair]:
    """Yield method and description of each stable API's discovery document."""
    for path in sorted(folder.glob("*.json")):
        if re.search(r"v\d+\.json$", path.name):
            for method in _methods(json.loads(path.read_text(encoding="utf-8"))):
                about = _sentences(_plain(method.get("description")), 2)
                yield _words(method["id"]), about, "discovery"


def _methods(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from resource.get("methods", {}).values()
    for nested in resource.get("resources", {}).values():
        yield from _methods(nested)


def usable(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield pairs with white space made even, shortened, without empty or repeated ones."""
    seen = set()
    for left, right, source in pairs:
        left = " ".join(left.split())[:_LEFT_LENGTH]
        right = " ".join(right.split())[:_RIGHT_LENGTH]
        # Of short words two are enough for a pair, as of "lodge" and "file".
        if len(left) < 2 or (len(right) < _SHORTEST and source != "wordnet") or not right:
            continue
        if (left, right) not in seen:
            seen.add((left, right))
            yield left, right, source


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tool_rag_pg.embedding.pairs",
        description="Write pairs of texts for training, one JSON array a line.",
    )
    parser.add_argument("--wordnet", type=Path, help="folder with WordNet's data files")
    parser.add_argument("--packages", type=Path, help="what apt-cache dumpavail printed")
    parser.add_argument("--botocore", type=Path, help="the folder botocore/data")
    parser.add_argument("--discovery", type=Path, help="the folder discovery_cache/documents")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    options = parser.parse_args(arguments)
    readers = (
        (options.wordnet, read_wordnet),
        (options.packages, read_packages),
        (options.botocore, read_botocore),
        (options.discovery, read_discovery),
    )
    counts: Counter[str] = Counter()
    with options.out.open("w", encoding="utf-8") as file:
        for pair in usable(p for path, read in readers if path for p in read(path)):
            counts[pair[2]] += 1
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
    print(json.dumps(counts, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
