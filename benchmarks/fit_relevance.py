"""Fit the constants of `tool_rag._relevance` and the vector of `tool_rag._tool_in_general`.

    python -m benchmarks.fit_relevance --data DATA [--mean-vector] [--minilm [MODEL]] [--json]

Prints the constants beside those in force, and how well each choice of features tells served
requests from others: in each fitted set, by a model fitted and averaged without it, and in the sets
of benchmarks.relevance. BFCL and CLINC150 are never fitted. Needs numpy, which the extra `train`
brings.

The features of a request and one of its first eight tools come from the SQL functions:

- s, the similarity, and w, the BM25 score in units of a word that stands in no tool;
- sqrt(n) of the request's lexemes that stand in any tool: long requests match more by chance;
- g, the request's inner product with the mean tool: some requests resemble any tool
  (cohort normalisation, as in speaker verification).

Served are first turns of SGD, requests of the Azure MCP set, and those requests of MetaTool,
StableToolBench and Seal-Tools that the built-in model was not trained on. Not served are

- the same requests without the expected tools and all that are close to these (`removed`);
- requests of MetaTool that need no tool, and requests of other sets (`needless`, `foreign`);
- small talk, general knowledge and noise: benchmarks/smalltalk.txt.

Both classes weigh the same, and so do sets. The first logistic regression has an intercept for each
catalogue, or the sizes of five catalogues would explain what similarity and words should; it is
fitted on the best row by the model of the round before (of a served request, the best expected
one). The second one scales its score and adds the logarithm of the catalogue's size.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.catalogue import read_jsonl
from benchmarks.harness import print_tables
from benchmarks.relevance import (
    HELD_OUT_SHARE,
    SETS,
    Request,
    auroc,
    bins,
    by_tool,
    calibration_error,
    public_set,
    read_requests,
    share_from,
    threshold,
)
from tool_rag_pg.embedding.train import LABELLED, TEACHER, is_held_out

try:
    import numpy as np
except ImportError as exc:
    raise SystemExit("numpy is needed: pip install 'tool-rag-pg[train]'") from exc

FITTED = ("azure_mcp_2026", "sgd", *LABELLED)
AVERAGED = ("azure_mcp_2026", *LABELLED)
FOREIGN = {
    "azure_mcp_2026": ("sgd", "metatool", "sealtools", "stabletoolbench"),
    "metatool": ("azure_mcp_2026",),
    "sealtools": ("azure_mcp_2026",),
    "sgd": ("azure_mcp_2026", "sealtools"),
}
"""Whose requests each catalogue is asked that have nothing in common with it."""
KINDS = {"served": 1.0, "removed": 0.45, "needless": 0.2, "foreign": 0.2, "small talk": 0.15}
"""Kinds of requests, and how much each weighs in its class."""
NAMES = ("s", "w", "sqrt(n)", "g")
SMALLTALK = Path(__file__).with_name("smalltalk.txt")
K, NARROW, ROUNDS, SEED = 8, 100, 4, 0
LEAST, MOST = 30, 10000
"""Sizes of a catalogue between which its logarithm counts."""
Array = Any

RANK = """
with request as materialized (
    select r.*, tool_rag.embed(%(text)s) as vector from tool_rag._read_query(%(text)s) r
),
arm as (
    select w.tool_id, w.score as words, null::float8 as meaning,
        1 / (5 + row_number() over (order by w.score desc, w.tool_id))::float8
            + 0.15 * w.score / max(w.score) over () as fused
    from request r
    cross join lateral tool_rag._rank_words(
        r.lexeme_ids, r.weights, r.frequencies, r.terms, r.term_weights, r.base, r.slope,
        %(tool_ids)s, 100
    ) w
    union all
    select m.tool_id, null, m.score,
        1 / (5 + row_number() over (order by m.score desc, m.tool_id))::float8
            + 0.15 * greatest(m.score, 0) / greatest(max(m.score) over (), 1e-6)
    from request r
    cross join lateral tool_rag._rank_vectors(r.vector, 1, %(tool_ids)s, 100) m
),
hit as (
    select a.tool_id, max(a.words) as words, max(a.meaning) as meaning, sum(a.fused) as fused
    from arm a
    group by a.tool_id
    order by 4 desc, 3 desc nulls last, 1
    limit %(k)s
)
select r.lexeme_count, r.vector::text,
    array(select h.tool_id from hit h order by h.tool_id),
    array(
        select coalesce(h.meaning, 0)
            / (t.full_vector_weight + t.short_vector_weight + t.name_vector_weight)
        from hit h, tool_rag.ranking_setting t order by h.tool_id
    ),
    array(
        select coalesce(h.words, 0) / ln(1 + (s.document_count + 0.5) / 0.5)
        from hit h, tool_rag.catalogue_state s order by h.tool_id
    )
from request r
"""
"""The first k of some tools for a request, fused as `_rank_request` does, and its features."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Requests of one kind and source, asked of one catalogue, with their first k tools.

    `rows` (requests, k, 2) holds s and w, `tools` (requests, k) places in the catalogue or -1,
    `lexemes` (requests,) n, `vectors` (requests, dim), `expected` (requests, k) which tools serve.
    """

    kind: str
    source: str
    catalogue: str
    size: int
    variant: str
    texts: list[str]
    rows: Array
    tools: Array
    lexemes: Array
    vectors: Array
    expected: Array

    @property
    def log_size(self) -> float:
        """The logarithm of the catalogue's size, within bounds."""
        return math.log(max(LEAST, min(MOST, self.size)))

    @property
    def pool(self) -> tuple[str, bool]:
        """What has an intercept of its own: a catalogue, whole or as the few permitted tools."""
        return self.catalogue, self.variant == f"{NARROW}"

    def features(self, mean: Array, count: int) -> Array:
        """Return the first `count` features, (requests, k, count)."""
        whole = np.stack([np.sqrt(self.lexemes), self.vectors @ mean], 1)[:, None, :]
        return np.concatenate([self.rows, np.repeat(whole, K, 1)], 2)[:, :, :count]


@dataclass(frozen=True, kw_only=True)
class Model:
    """Weights of the first features, of the logarithm of the size, intercept, and mean tool."""

    weights: Array
    size: float
    intercept: float
    mean: Array

    def scores(self, group: Group) -> list[float]:
        """Return the logit of each request's best row; very low where it has none."""
        logits = group.features(self.mean, len(self.weights)) @ self.weights
        best = np.where(group.tools >= 0, logits, -99).max(1)
        return list(best + self.size * group.log_size + self.intercept)


class Asker:
    """Asks one catalogue through the functions of the two arms."""

    def __init__(self, connection: psycopg.Connection[Any], name: str) -> None:
        self._connection, self.name, self._random = connection, name, random.Random(SEED)
        rows = connection.execute(
            "select t.tool_id, t.name, t.description, v.embedding::text"
            " from tool_rag.tool t join tool_rag.tool_vector v using (tool_id)"
            " where v.model_id = 1 and v.kind = 'definition' order by 1"
        ).fetchall()
        self._ids = [row[0] for row in rows]
        self._places = {row[1]: place for place, row in enumerate(rows)}
        self.texts = [f"{_words(row[1])}. {row[2]}" for row in rows]
        vectors = np.array([json.loads(row[3]) for row in rows])
        # Three unit vectors weighted: an inner product with a request is a similarity times that.
        scale = connection.execute(
            "select full_vector_weight + short_vector_weight + name_vector_weight"
            " from tool_rag.ranking_setting"
        ).fetchone()
        assert scale is not None
        self.vectors = vectors / scale[0]
        self._unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def served(self, requests: Sequence[Request]) -> Iterator[Group]:
        """Yield the requests asked of all tools and of few, with their tools and without."""
        few = requests[: len(requests) // 2]
        yield self.ask("served", self.name, requests)
        yield self.ask("served", self.name, few, f"{NARROW}", self._some)
        for cosine in (0.65, 0.55, 0.45):
            permitted = partial(self._without, cosine=cosine)
            yield self.ask("removed", self.name, requests, f"{cosine}", permitted)
        yield self.ask("removed", self.name, few, f"{NARROW}", self._few_without)

    def refused(self, kind: str, source: str, texts: Sequence[str]) -> Iterator[Group]:
        """Yield texts that no tool serves, asked of all tools, and every other one of few."""
        requests: list[Request] = [(text, ()) for text in texts]
        yield self.ask(kind, source, requests)
        yield self.ask(kind, source, requests[::2], f"{NARROW}", self._some)

    def ask(
        self,
        kind: str,
        source: str,
        requests: Sequence[Request],
        variant: str = "",
        permitted: Callable[[list[int]], list[int]] | None = None,
    ) -> Group:
        """Ask requests of all tools, or those permitted given the places of a request's own."""
        shape = (len(requests), K)
        rows, tools, expected = np.zeros((*shape, 2)), np.full(shape, -1), np.zeros(shape, bool)
        lexemes, vectors = np.zeros(len(requests)), np.zeros((len(requests), self._unit.shape[1]))
        place_of = {tool_id: place for place, tool_id in enumerate(self._ids)}
        for number, (text, names) in enumerate(requests):
            own = [self._places[name] for name in names if name in self._places]
            places = range(len(self._ids)) if permitted is None else permitted(own)
            tool_ids = [self._ids[place] for place in places]
            answer = self._connection.execute(
                RANK, {"text": text.replace("\0", ""), "tool_ids": tool_ids, "k": K}
            ).fetchone()
            assert answer is not None
            lexemes[number], vector, found, *scores = answer
            if vector is not None:
                vectors[number] = json.loads(vector)
            tools[number, : len(found)] = [place_of[tool_id] for tool_id in found]
            rows[number, : len(found)] = np.array(scores).T
            expected[number] = np.isin(tools[number], own)
        return Group(
            kind=kind,
            source=source,
            catalogue=self.name,
            size=len(self._ids),
            variant=variant,
            texts=[text for text, _ in requests],
            rows=rows,
            tools=tools,
            lexemes=lexemes,
            vectors=vectors,
            expected=expected,
        )

    def _without(self, own: list[int], cosine: float) -> list[int]:
        return list(np.flatnonzero((self._unit @ self._unit[own].T).max(1) < cosine))

    def _few_without(self, own: list[int]) -> list[int]:
        return self._sample(self._without(own, 0.55))

    def _some(self, own: list[int]) -> list[int]:
        return sorted({*own, *self._sample(range(len(self._ids)))})

    def _sample(self, places: Sequence[int]) -> list[int]:
        return self._random.sample(places, min(NARROW, len(places)))


def _words(name: str) -> str:
    return re.sub(r"[\W_]+", " ", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name))


def collect(data: Path) -> tuple[list[Group], dict[str, Asker], Model]:
    """Ask every catalogue its requests; return all groups, catalogues and the model in force."""
    requests = {name: fitted_requests(data, name) for name in FITTED}
    needless = read_requests(data, "metatool")[1]
    small_talk = SMALLTALK.read_text(encoding="utf-8").splitlines()
    groups: list[Group] = []
    catalogues: dict[str, Asker] = {}
    for name in dict.fromkeys((*FITTED, *SETS)):
        print(f"{name} ...", file=sys.stderr)
        with public_set(data, name) as connection:
            asker = catalogues[name] = Asker(connection, name)
            if name in FITTED:
                groups += asker.served(requests[name])
                groups += asker.refused("needless", "metatool", needless)
                groups += asker.refused("small talk", "", small_talk)
            for source in FOREIGN.get(name, ()):
                foreign: list[Request] = [(text, ()) for text, _ in requests[source][:300]]
                groups.append(asker.ask("foreign", source, foreign))
            if name in SETS:
                served, others = read_requests(data, name)
                groups.append(asker.ask("scored", name, served, "served"))
                groups.append(asker.ask("scored", name, [(text, ()) for text in others]))
            in_force = read_model(connection)
    return groups, catalogues, in_force


def fitted_requests(data: Path, name: str, *, limit: int = 600) -> list[Request]:
    """Return up to `limit` requests of a set, in random order, unseen by the built-in model."""
    if name == "sgd":
        turns = read_jsonl(data / name / "turns.jsonl")
        rows = [
            (row["user_text"], row["expected"])
            for row in turns
            if row["turn"] == 0 and row["new_intent"]
        ]
    else:
        lines = read_jsonl(data / name / "requests.jsonl")
        rows = [(row["query"], row["expected"]) for row in lines if not row.get("label_problem")]
    kept = [
        (text, tuple(tools))
        for text, tools in rows
        if tools and (name not in LABELLED or any(is_held_out(t, HELD_OUT_SHARE) for t in tools))
    ]
    if name == "metatool":
        kept = by_tool(kept)[:limit]
    return random.Random(SEED).sample(kept, min(limit, len(kept)))


def read_model(connection: psycopg.Connection[Any]) -> Model:
    """Read the constants in force back from the SQL function, which is a logistic one."""

    def logit(similarity: float, word: float, lexemes: int, sameness: float, size: int) -> float:
        row = connection.execute(
            "select ln(r / (1 - r)), tool_rag._tool_in_general()::text"
            " from tool_rag._relevance(%s, %s, %s, %s, %s) r",
            (similarity, word * math.log(1 + (size + 0.5) / 0.5), lexemes, sameness, size),
        ).fetchone()
        assert row is not None
        mean[:] = json.loads(row[1])
        return float(row[0])

    mean: list[float] = []
    base = logit(0, 0, 0, 0, LEAST)
    steps = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
    weights = np.array([logit(*step, LEAST) - base for step in steps])
    size = (logit(0, 0, 0, 0, MOST) - base) / math.log(MOST / LEAST)
    return Model(
        weights=weights, size=size, intercept=base - size * math.log(LEAST), mean=np.array(mean)
    )


def logistic(table: Array, label: Array, weight: Array, *, ridge: float = 1e-6) -> Array:
    """Return the coefficients of a weighted logistic regression, by Newton's method."""
    solution = np.zeros(table.shape[1])
    weight = weight / weight.sum()
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(table @ solution, -30, 30)))
        slope = table.T @ (weight * (chance - label)) + ridge * solution
        curve = (table * (weight * chance * (1 - chance))[:, None]).T @ table
        solution -= np.linalg.solve(curve + ridge * np.eye(len(solution)), slope)
    return solution


def fit(groups: Sequence[Group], mean: Array, count: int) -> Model:
    """Fit the first `count` features."""
    groups = [group for group in groups if group.kind in KINDS]
    of_kind = Counter(group.kind for group in groups)
    pools = sorted({group.pool for group in groups})
    # Of requests with any tool left: features, which rows may be the best, and what is constant.
    some = [(group.tools >= 0).any(1) for group in groups]
    tables = np.concatenate([g.features(mean, count)[s] for g, s in zip(groups, some, strict=True)])
    there = np.concatenate([g.tools[s] >= 0 for g, s in zip(groups, some, strict=True)])
    expected = np.concatenate([g.expected[s] for g, s in zip(groups, some, strict=True)])
    allowed = np.where(expected.any(1, keepdims=True), expected, there)
    number = np.repeat(np.arange(len(groups)), [s.sum() for s in some])
    pool = np.eye(len(pools))[[pools.index(group.pool) for group in groups]][number]
    size = np.array([group.log_size for group in groups])[number]
    label = np.array([group.kind == "served" for group in groups])[number]
    weight = np.array(
        [
            KINDS[group.kind] / of_kind[group.kind] / s.sum()
            for group, s in zip(groups, some, strict=True)
        ]
    )[number]
    weight = weight / np.where(label, weight[label].sum(), weight[~label].sum())
    weights = np.eye(count)[0]
    for _ in range(ROUNDS):
        best = np.where(allowed, tables @ weights, -np.inf).argmax(1)
        rows = tables[np.arange(len(tables)), best]
        weights = logistic(np.hstack([rows, pool]), label, weight)[:count]
    score = np.where(there, tables @ weights, -np.inf).max(1)
    scale, of_size, intercept = logistic(
        np.column_stack([score, size, np.ones(len(score))]), label, weight
    )
    return Model(weights=weights * scale, size=of_size, intercept=intercept, mean=mean)


def mean_tool(catalogues: Mapping[str, Asker], *, leave: str = "") -> Array:
    """Return the mean vector of the averaged sets' tools but those of one set, (dim,)."""
    return np.concatenate([catalogues[n].vectors for n in AVERAGED if n != leave]).mean(0)


def leave_one_out(
    groups: Sequence[Group], catalogues: Mapping[str, Asker], count: int
) -> dict[str, float]:
    """Return the AUROC of each fitted set by a model that knows nothing of it.

    It is the mean of three: against the same requests without their tools (cosine 0.65 and 0.45),
    and against requests that need none.
    """
    areas = {}
    for name in FITTED:
        rest = [group for group in groups if name not in (group.catalogue, group.source)]
        model = fit(rest, mean_tool(catalogues, leave=name), count)
        own = {(g.kind, g.variant): model.scores(g) for g in groups if g.catalogue == name}
        against = (("removed", "0.65"), ("removed", "0.45"), ("needless", ""))
        areas[name] = sum(auroc(own["served", ""], own[key]) for key in against) / len(against)
    return areas


def scored(groups: Sequence[Group], model: Model) -> dict[str, str]:
    """Return AUROC, share refused where 95% are kept, and calibration error of the other sets."""
    said = {}
    for name in SETS:
        served, others = (
            [1 / (1 + math.exp(-score)) for score in model.scores(group)]
            for group in groups
            if (group.kind, group.source) == ("scored", name)
        )
        refused = 1 - share_from(others, threshold(served))
        error = calibration_error(bins(served, others))
        said[name] = f"{auroc(served, others):.3f} / {refused:.0%} / {error:.3f}"
    return said


def with_encoder(groups: Sequence[Group], catalogues: Mapping[str, Asker], model: str) -> Any:
    """Return the groups with the cosine by a sentence encoder in place of s, for the same rows."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as exc:
        raise SystemExit("MiniLM needs: pip install 'tool-rag-pg[train]'") from exc
    encoder = SentenceTransformer(model, device="cpu")
    encoder.max_seq_length = 128

    def encode(texts: list[str]) -> Array:
        return encoder.encode(texts, batch_size=64, normalize_embeddings=True)

    texts = sorted({text for group in groups for text in group.texts})
    vectors, place_of = encode(texts), {text: place for place, text in enumerate(texts)}
    tools = {name: encode(asker.texts) for name, asker in catalogues.items()}
    for group in groups:
        mine = vectors[[place_of[text] for text in group.texts]]
        cosine = np.einsum("rkd,rd->rk", tools[group.catalogue][group.tools], mine)
        yield replace(group, rows=np.stack([cosine, group.rows[:, :, 1]], 2))


def report(data: Path, encoder: str | None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the tables, and the mean tool as the last."""
    groups, catalogues, in_force = collect(data)
    mean = mean_tool(catalogues)
    models = {"in force": in_force, "fitted": fit(groups, mean, len(NAMES))}
    yield (
        "constants",
        [
            {"model": name, "intercept": f"{model.intercept:.2f}"}
            | {n: f"{w:.3f}" for n, w in zip(NAMES, model.weights, strict=True)}
            | {"ln(tools)": f"{model.size:.3f}"}
            for name, model in models.items()
        ],
    )
    choices = [(groups, count, ", ".join(NAMES[:count])) for count in range(1, len(NAMES) + 1)]
    if encoder is not None:
        changed = list(with_encoder(groups, catalogues, encoder))
        choices += [(changed, 1, "encoder"), (changed, 4, "encoder, w, sqrt(n), g")]
    left_out = []
    others = [{"features": "in force"} | scored(groups, in_force)]
    for some, count, name in choices:
        areas = leave_one_out(some, catalogues, count)
        areas["mean"] = sum(areas.values()) / len(areas)
        left_out.append({"features": name} | {key: f"{area:.3f}" for key, area in areas.items()})
        others.append({"features": name} | scored(some, fit(some, mean, count)))
    yield "AUROC of each fitted set, left out", left_out
    yield "AUROC / others refused where 95% are kept / calibration error", others
    yield "the mean tool", [{"component": round(float(component), 4)} for component in mean]


def main() -> None:
    """Fit and report."""
    parser = argparse.ArgumentParser(description="Fit the constants of relevance.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets")
    parser.add_argument("--mean-vector", action="store_true", help="print the mean tool, too")
    parser.add_argument(
        "--minilm",
        nargs="?",
        const=TEACHER,
        metavar="MODEL",
        help="try a sentence encoder in place of the built-in model, too (name or folder)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    *tables, (_, mean) = report(options.data, options.minilm)
    print_tables(tables, as_json=options.json)
    if options.mean_vector:
        components = ", ".join(str(row["component"]) for row in mean)
        print(textwrap.fill(components, 100, break_on_hyphens=False))


if __name__ == "__main__":
    main()
