"""Train the built-in model: `python -m tool_rag_pg.embedding.train --data PATH --out FILE`.

A static model gives every word piece one vector; a text's vector is the normalised sum of its
pieces' vectors. The vector of piece w is

    e(w) = exp(g(w) + x(w) v) (x(w) W + d(w))

where x(w) are fixed features from a sentence encoder, the *teacher* (its output for the piece
alone, and its input embedding), W (features x dim) is one linear map for all pieces, d(w) a
correction and g(w) the log weight of each. W starts as the principal axes of the features and g
as the log of the smooth inverse frequency a / (a + p(w)) (Arora and others, 2017). A piece that
training never meets keeps the map that all others learnt.

Four losses are added up, each over random batches:

- *requests*: cross-entropy of a request's tools among the tools of the batch and random ones
  (InfoNCE, van den Oord and others, 2018); other tools of the same request are left out;
- *fields*: the same between two texts of one tool (name and description, a parameter's
  description and the tool's, ...), in both directions; needs no labels;
- *pairs*: the same between two texts that mean the same (a word and its gloss, an operation's name
  and its description, ...), from the file `--pairs` that `tool_rag_pg.embedding.pairs` writes;
- *teacher*: Kullback-Leibler divergence between the soft-maxed cosines of random texts, the
  teacher's and the model's.

Words that BERT's vocabulary cuts up ("delete" is `del ##ete`) become pieces of their own when
enough training texts use them, or when the teacher finds a word of the list `--words` close to
some training text; what the teacher makes of the whole word is their feature. Splitting stays
greedy and longest-first, so it stays the tokenizer of `wordpiece`.

The loop runs with several seeds, and the vectors are averaged (Wortsman and others, 2022): all runs
start from the same axes, so that their vectors are comparable piece by piece.

Needs the extra `train` (torch, sentence-transformers, numpy). One thread gives the same weights
on each run on one machine; another processor may differ in the last bits.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tool_rag_pg.embedding.weights import Weights, quantise, save
from tool_rag_pg.embedding.wordpiece import split_words, words_to_pieces

__all__ = ["Settings", "ToolText", "main", "read_exports", "read_labelled", "train"]

MODEL_NAME = "tool-rag-static-{dim}"
MODEL_VERSION = "2"
TEACHER = "sentence-transformers/all-MiniLM-L6-v2"
LABELLED = ("sealtools", "stabletoolbench", "metatool")
UNLABELLED = ("mcp_exports", "exports")
FULL_WEIGHT, SHORT_WEIGHT, NAME_WEIGHT = 1.0, 0.5, 0.2
"""Weights of the three texts in a tool's vector while training, and as the SQL starts out."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides the outcome, beside the data; the defaults are those of the shipped weights.

    Attributes:
        dim: components of a vector.
        steps: batches.
        requests: labelled requests in a batch.
        fields: pairs of two texts of one tool in a batch.
        pairs: pairs of the file `--pairs` in a batch.
        distilled: texts in a batch whose cosines are compared with the teacher's.
        negatives: random tools added to those of the batch.
        share: how often each labelled set is drawn.
        per_tool: requests used of one tool in the set `metatool`, which has hundreds.
        request_weight: factor of the loss of requests.
        field_weight: factor of the loss of fields.
        pair_weight: factor of the loss of pairs.
        teacher_weight: factor of the loss against the teacher.
        temperature: of all soft-maxes.
        dropped: share of the pieces of a text left out at random.
        map_rate: Adam's learning rate of W and v.
        piece_rate: Adam's learning rate of d.
        weight_rate: Adam's learning rate of g.
        frequency: a of the smooth inverse frequency.
        word_texts: training texts that make a cut-up word a piece.
        listed_words: words of the list `--words` added at most.
        seed: of every random choice in the first run.
        runs: how many, each with the next seed; their vectors are averaged.

    """

    dim: int = 256
    steps: int = 600
    requests: int = 256
    fields: int = 256
    pairs: int = 512
    distilled: int = 256
    negatives: int = 512
    share: tuple[float, float, float] = (0.4, 0.2, 0.4)
    per_tool: int = 100
    request_weight: float = 1.0
    field_weight: float = 0.5
    pair_weight: float = 1.0
    teacher_weight: float = 1.0
    temperature: float = 0.05
    dropped: float = 0.1
    map_rate: float = 1e-3
    piece_rate: float = 1e-3
    weight_rate: float = 1e-2
    frequency: float = 1e-3
    word_texts: int = 2
    listed_words: int = 4000
    seed: int = 0
    runs: int = 3


@dataclass(frozen=True)
class ToolText:
    """The texts of one tool, as the model sees them.

    Attributes:
        key: name in its set.
        name: words of the name, split at capitals, digits and punctuation.
        short: name words, title and description.
        full: `short`, then parameter names, their descriptions, enumerated values, server.
        description: the description alone.
        parameters: parameter names, descriptions and enumerated values.
        parameter_descriptions: each description on its own.

    """

    key: str
    name: str
    short: str
    full: str
    description: str
    parameters: str
    parameter_descriptions: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """A request and the keys of all tools that it needs."""

    text: str
    expected: tuple[str, ...]


@dataclass
class Material:
    """All that training reads: tools, requests by set (with positions of tools), plain texts.

    `pairs` are two texts each that mean the same.
    """

    tools: list[ToolText] = field(default_factory=list)
    requests: dict[str, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    texts: dict[str, None] = field(default_factory=dict)


# --- reading ---------------------------------------------------------------------------------

_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIGIT = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_SEPARATOR = re.compile(r"[\W_]+")
_MAX_DEPTH = 8
_TEXT_LENGTH = 1200
_PARAMETER_LENGTH = 400


def split_name(name: str) -> str:
    """Split an identifier into words: "getUserInfo_v2" gives "get User Info v 2"."""
    return _SEPARATOR.sub(" ", _DIGIT.sub(" ", _CASE.sub(" ", name))).strip()


def _plain(text: str, length: int = _TEXT_LENGTH) -> str:
    return " ".join(text.split())[:length]


def _walk_schema(schema: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield ("name" | "description" | "value", text) of a JSON Schema, nested ones included."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return
    properties = schema.get("properties")
    nested: list[Any] = []
    if isinstance(properties, dict):
        for name, child in properties.items():
            yield "name", name
            nested.append(child)
    nested.append(schema.get("items"))
    for combiner in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(combiner)
        nested.extend(choices if isinstance(choices, list) else ())
    for child in nested:
        if isinstance(child, dict):
            description = child.get("description")
            if isinstance(description, str) and description.strip():
                yield "description", description.strip()
            values = child.get("enum")
            for value in values if isinstance(values, list) else ():
                if isinstance(value, (str, int, float)) and not isinstance(value, bool):
                    yield "value", str(value)
            yield from _walk_schema(child, depth + 1)


def tool_text(
    name: str, description: str | None, schema: Any, *, server: str = "", title: str = ""
) -> ToolText:
    """Put the texts of one tool together.

    Args:
        name: its name.
        description: its description, if any.
        schema: JSON Schema of its input.
        server: name of its server.
        title: its title for people.
    """
    found: dict[str, list[str]] = {"name": [], "description": [], "value": []}
    for kind, text in _walk_schema(schema):
        found[kind].append(text)
    words = split_name(name)
    described = (description or "").strip()
    short = f"{words}. {title + '. ' if title else ''}{described}"
    parameters = " ".join(
        [
            *map(split_name, found["name"]),
            *found["description"],
            *map(split_name, found["value"]),
        ]
    )
    return ToolText(
        key=name,
        name=words,
        short=_plain(short),
        full=_plain(f"{short} {parameters} {split_name(server)}", 2 * _TEXT_LENGTH),
        description=_plain(described),
        parameters=_plain(parameters),
        parameter_descriptions=tuple(
            _plain(text, _PARAMETER_LENGTH) for text in found["description"]
        ),
    )


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def read_labelled(folder: Path) -> tuple[list[ToolText], list[Request]]:
    """Read `catalog.jsonl` and `requests.jsonl` of one set; requests marked as faulty are left out.

    Args:
        folder: holds both files; `catalog.jsonl` has {name, description, parameters, server},
            `requests.jsonl` has {query, expected: [name], label_problem?}.
    """
    tools = [
        tool_text(
            row["name"],
            row.get("description"),
            row.get("parameters"),
            server=row.get("server") or "",
            title=row.get("title") or "",
        )
        for row in _json_lines(folder / "catalog.jsonl")
    ]
    requests = [
        Request(row["query"], tuple(row["expected"]))
        for row in _json_lines(folder / "requests.jsonl")
        if not row.get("label_problem")
    ]
    return tools, requests


def _resolve(document: Any, schema: Any) -> Any:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    for step in reference[2:].split("/"):
        document = document.get(step, {})
    return document


def _operations(document: dict[str, Any], server: str) -> Iterator[ToolText]:
    for path, item in document["paths"].items():
        for operation in item.values():
            if not isinstance(operation, dict):
                continue
            properties = {
                parameter["name"]: {
                    "description": parameter.get("description") or "",
                    "enum": parameter.get("schema", parameter).get("enum") or [],
                }
                for parameter in operation.get("parameters") or ()
                if "name" in parameter
            }
            content = (operation.get("requestBody") or {}).get("content") or {}
            body = _resolve(document, (content.get("application/json") or {}).get("schema") or {})
            for name, child in (body.get("properties") or {}).items():
                if isinstance(child, dict):
                    properties[name] = {"description": child.get("description") or "", "enum": []}
            described = ". ".join(filter(None, map(operation.get, ("summary", "description"))))
            yield tool_text(
                operation.get("operationId") or path,
                described,
                {"properties": properties},
                server=server,
            )


def read_exports(data: Path) -> list[ToolText]:
    """Read tools without requests: MCP `tools/list` results, OpenAPI, OpenAI and Anthropic tools.

    Args:
        data: holds `mcp_exports/` and `exports/`; either may be missing.
    """
    tools: list[ToolText] = []
    for path in sorted((data / "mcp_exports").glob("*.json")):
        server = path.stem.removeprefix("snap-").removeprefix("mtbpp-")
        for row in json.loads(path.read_text(encoding="utf-8"))["tools"]:
            title = row.get("title") or (row.get("annotations") or {}).get("title") or ""
            schema = row.get("inputSchema")
            tools.append(
                tool_text(row["name"], row.get("description"), schema, server=server, title=title)
            )
    for path in sorted((data / "exports").glob("*/*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict):
            tools.extend(_operations(document, path.stem.split("_")[0]))
            continue
        for entry in document:
            row = entry.get("function", entry)
            schema = row.get("parameters", row.get("input_schema"))
            tools.append(tool_text(row["name"], row.get("description"), schema))
    return tools


def is_held_out(key: str, share: float) -> bool:
    """Say whether a tool belongs to the held-out part; depends on its name alone."""
    digest = hashlib.sha256(f"dev:{key}".encode()).hexdigest()
    return int(digest[:8], 16) / 2**32 < share


def read_material(
    data: Path, *, held_out: float, left_out: Sequence[str], per_tool: int, pairs: Path | None
) -> Material:
    """Read all training sets.

    Args:
        data: folder with one folder a set.
        held_out: share of the labelled tools that training must not see, nor their requests.
        left_out: labelled sets that training must not see at all.
        per_tool: requests used of one tool in `metatool`.
        pairs: what `tool_rag_pg.embedding.pairs` wrote; None for none.
    """
    material = Material()
    if pairs is not None:
        with pairs.open(encoding="utf-8") as file:
            material.pairs = [(left, right) for left, right, _ in map(json.loads, file)]
    for name in LABELLED:
        if name in left_out:
            continue
        tools, requests = read_labelled(data / name)
        position = {}
        for tool in tools:
            if not is_held_out(tool.key, held_out):
                position[tool.key] = len(material.tools)
                material.tools.append(tool)
        if name == "metatool":
            requests = _thin(requests, per_tool)
        material.requests[name] = kept = []
        for request in requests:
            if all(key in position for key in request.expected):
                kept.append((request.text, tuple(position[key] for key in request.expected)))
                material.texts[_plain(request.text)] = None
    material.tools.extend(read_exports(data))
    for tool in material.tools:
        texts = (tool.name, tool.description, tool.short, tool.full[:_TEXT_LENGTH])
        for text in (*texts, *tool.parameter_descriptions):
            if text:
                material.texts[text] = None
    return material


def _thin(requests: Sequence[Request], per_tool: int) -> list[Request]:
    """Keep at most `per_tool` requests of each first expected tool, chosen by hash."""

    def draw(request: Request) -> str:
        return hashlib.sha256(request.text.encode()).hexdigest()

    seen: Counter[str] = Counter()
    kept = []
    for request in sorted(requests, key=draw):
        seen[request.expected[0]] += 1
        if seen[request.expected[0]] <= per_tool:
            kept.append(request)
    return kept


# --- the teacher -----------------------------------------------------------------------------


class Teacher:
    """A BERT-like sentence encoder: features of words, vectors of texts."""

    def __init__(self, name: str, cache: Path | None = None) -> None:
        """Load it; `cache` is a folder where vectors of texts are kept between runs."""
        import torch
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(name, device="cpu")
        self._model.max_seq_length = 128
        transformer: Any = self._model[0]
        self._encoder = transformer.auto_model
        vocabulary: dict[str, int] = self._model.tokenizer.get_vocab()
        self.pieces = [
            piece
            for piece in sorted(vocabulary, key=vocabulary.__getitem__)
            if not re.fullmatch(r"\[.+\]", piece)
        ]
        self._id = vocabulary
        self._cache = cache
        self._torch = torch

    def features(self, words: Sequence[Sequence[str]]) -> Any:
        """Return features of words, each given as its pieces: float32, words x 2 encoder widths.

        The first half is the mean of the encoder's outputs at the word's pieces, the word standing
        alone between `[CLS]` and `[SEP]`; the second is the mean of the input embeddings.
        """
        import numpy as np

        torch = self._torch
        table = self._encoder.get_input_embeddings().weight.detach().numpy()
        width = table.shape[1]
        out = np.zeros((len(words), 2 * width), np.float32)
        by_length: dict[int, list[int]] = {}
        for index, pieces in enumerate(words):
            by_length.setdefault(len(pieces), []).append(index)
        start, end = self._id["[CLS]"], self._id["[SEP]"]
        with torch.inference_mode():
            for rows in by_length.values():
                for offset in range(0, len(rows), 512):
                    chunk = rows[offset : offset + 512]
                    ids = [[self._id[piece] for piece in words[row]] for row in chunk]
                    batch = torch.tensor([[start, *row, end] for row in ids])
                    mask = torch.ones_like(batch)
                    hidden = self._encoder(input_ids=batch, attention_mask=mask).last_hidden_state
                    out[chunk, :width] = hidden[:, 1:-1].mean(1).numpy()
                    out[chunk, width:] = table[np.asarray(ids)].mean(1)
        return out

    def embed(self, texts: Sequence[str], progress: Callable[[str], None]) -> Any:
        """Return unit vectors of texts: float32, texts x encoder width; computed in bfloat16."""
        import numpy as np

        torch = self._torch
        known: dict[str, Any] = {}
        path = None if self._cache is None else self._cache / "teacher.npz"
        if path is not None and path.exists():
            with np.load(path) as stored:
                known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
        keys = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        missing = [index for index, key in enumerate(keys) if key not in known]
        if missing:
            progress(f"teacher: {len(missing)} of {len(texts)} texts to embed")
            self._model.to(torch.bfloat16)
            vectors = self._model.encode(
                [texts[index] for index in missing],
                batch_size=64,
                normalize_embeddings=True,
                convert_to_tensor=True,
                show_progress_bar=False,
            )
            self._model.to(torch.float32)
            rounded = vectors.float().numpy().astype(np.float16)
            known.update(zip((keys[index] for index in missing), rounded, strict=True))
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                np.savez(path, keys=np.array(list(known)), vectors=np.stack(list(known.values())))
        return np.stack([known[key] for key in keys]).astype(np.float32)


# --- words that become pieces ------------------------------------------------------------------

_SUFFIXES = ("s", "es", "ed", "ing", "ly", "er", "ers", "d", "ness", "able")


def _is_whole_word(word: str) -> bool:
    return word.isascii() and word.isalpha() and 3 <= len(word) <= 24


def frequent_words(texts: Iterable[str], known: frozenset[str], minimum: int) -> list[str]:
    """Return, sorted, the words outside the vocabulary that `minimum` or more texts use."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({word for word in split_words(text) if word not in known})
    return sorted(w for w, count in counts.items() if count >= minimum and _is_whole_word(w))


def base_words(listed: Iterable[str], known: frozenset[str]) -> list[str]:
    """Return, sorted, the listed words outside the vocabulary that are no plain inflections.

    "refunds" is left out, because "refund" and `##s` spell it.
    """
    words = {word for word in map(str.lower, listed) if word not in known and _is_whole_word(word)}

    def spelled(stem: str) -> bool:
        return len(stem) >= 4 and (stem in words or stem in known)

    def inflected(word: str) -> bool:
        for suffix in _SUFFIXES:
            stem = word.removesuffix(suffix)
            if stem != word and (spelled(stem) or spelled(f"{stem}e")):
                return True
        return word.endswith(("ies", "ied", "ier")) and spelled(f"{word[:-3]}y")

    return sorted(word for word in words if not inflected(word))


def closest_words(words: Sequence[str], vectors: Any, text_vectors: Any, count: int) -> list[str]:
    """Return, sorted, the `count` words whose teacher vectors are closest to some text's."""
    import numpy as np

    best = np.concatenate(
        [
            (vectors[start : start + 256] @ text_vectors.T).max(1)
            for start in range(0, len(words), 256)
        ]
    )
    order = np.argsort(-best, kind="stable")[:count]
    return sorted(words[index] for index in order)


# --- training ----------------------------------------------------------------------------------


def _centred(features: Any, width: int) -> Any:
    """Centre each half of the features and scale it to a root mean square length of one."""
    import numpy as np

    halves = []
    for half in (features[:, :width], features[:, width:]):
        shifted = half - half.mean(0)
        halves.append(shifted / np.sqrt((shifted**2).sum(1).mean()))
    return np.concatenate(halves, 1)


class _Batch:
    """Bags of pieces of one step, embedded together so that each piece is mapped once."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._sizes: list[int] = []

    def add(self, bags: Iterable[Sequence[int]]) -> slice:
        start = len(self._sizes)
        for bag in bags:
            self._ids.extend(bag)
            self._sizes.append(len(bag))
        return slice(start, len(self._sizes))

    def embed(self, rows: Callable[[Any], Any]) -> Any:
        import torch
        from torch.nn import functional

        ids, inverse = torch.unique(torch.tensor(self._ids), return_inverse=True)
        sizes = torch.tensor([0, *self._sizes[:-1]])
        bags = functional.embedding_bag(inverse, rows(ids), torch.cumsum(sizes, 0), mode="sum")
        return functional.normalize(bags, dim=1)


def fit(
    material: Material,
    bags: Callable[[str], list[int]],
    features: Any,
    text_vectors: Any,
    settings: Settings,
    progress: Callable[[str], None],
) -> Any:
    """Run the training loop.

    Args:
        material: tools, requests and texts.
        bags: gives the positions of a text's pieces.
        features: x(w), float32, pieces x features.
        text_vectors: teacher vectors of `material.texts`, in order.
        settings: sizes, rates and the seed.
        progress: called with a line now and then.

    Returns:
        float32 array, pieces x dim, not normalised.
    """
    import numpy as np
    import torch
    from torch.nn import functional

    torch.manual_seed(settings.seed)
    rng = random.Random(settings.seed)
    tau = settings.temperature

    tools = material.tools
    blank = bags("tool")

    def bagged(texts: Iterable[str]) -> list[list[int]]:
        return [bags(text) or blank for text in texts]

    full = bagged(tool.full for tool in tools)
    short = bagged(tool.short for tool in tools)
    name = bagged(tool.name for tool in tools)
    description = [bags(tool.description) for tool in tools]
    parameters = [bags(tool.parameters) for tool in tools]
    single = [[bags(text) for text in tool.parameter_descriptions[:12]] for tool in tools]
    sets = list(material.requests)
    share = [settings.share[LABELLED.index(key)] for key in sets]
    asked = {
        key: [(bags(text) or blank, positions) for text, positions in material.requests[key]]
        for key in sets
    }
    texts = bagged(material.texts)
    equals = [
        (left, right)
        for left, right in ((bags(left), bags(right)) for left, right in material.pairs)
        if left and right
    ]
    taught = torch.tensor(text_vectors)

    counts = np.ones(len(features))
    for bag in texts:
        np.add.at(counts, bag, 1)
    frequency = counts / counts.sum()
    log_weight = np.log(settings.frequency / (settings.frequency + frequency))
    x = torch.tensor(features)
    axes = np.linalg.svd(features[::3], full_matrices=False)[2][: settings.dim].T
    axes = axes / np.linalg.norm(features @ axes, axis=1).mean()
    linear = torch.nn.Parameter(torch.tensor(axes.astype(np.float32)))
    slope = torch.nn.Parameter(torch.zeros(features.shape[1], 1))
    correction = torch.nn.Embedding(len(features), settings.dim, sparse=True)
    torch.nn.init.zeros_(correction.weight)
    weight = torch.nn.Embedding(len(features), 1, sparse=True)
    weight.weight.data[:, 0] = torch.tensor(log_weight, dtype=torch.float32)
    optimisers: list[tuple[Any, float]] = [
        (torch.optim.Adam([linear, slope], betas=(0.9, 0.99)), settings.map_rate),
        (torch.optim.SparseAdam(correction.parameters(), betas=(0.9, 0.99)), settings.piece_rate),
        (torch.optim.SparseAdam(weight.parameters(), betas=(0.9, 0.99)), settings.weight_rate),
    ]

    def rows(ids: Any) -> Any:
        return (x[ids] @ linear + correction(ids)) * torch.exp(weight(ids) + x[ids] @ slope)

    def thinned(bag: list[int]) -> list[int]:
        if len(bag) < 4:
            return bag
        return [piece for piece in bag if rng.random() > settings.dropped] or bag

    def field_pair() -> tuple[list[int], list[int], int]:
        while True:
            index = rng.randrange(len(tools))
            kind = rng.random()
            if kind < 0.35:
                pair = name[index], description[index]
            elif kind < 0.55:
                pair = description[index], parameters[index]
            elif kind < 0.7:
                pair = name[index], parameters[index]
            elif single[index]:
                pair = rng.choice(single[index]), short[index]
            else:
                continue
            if pair[0] and pair[1]:
                return thinned(pair[0]), thinned(pair[1]), index

    started = time.monotonic()
    for step in range(settings.steps):
        rate = min(1.0, (step + 1) / 30) * (1 - 0.9 * step / settings.steps)
        for optimiser, peak in optimisers:
            optimiser.param_groups[0]["lr"] = peak * rate
            optimiser.zero_grad()

        batch = _Batch()
        drawn = [rng.choice(asked[rng.choices(sets, share)[0]]) for _ in range(settings.requests)]
        wanted = [rng.choice(positions) for _, positions in drawn]
        offered = wanted + [rng.randrange(len(tools)) for _ in range(settings.negatives)]
        in_requests = batch.add(thinned(bag) for bag, _ in drawn)
        in_full = batch.add(full[index] for index in offered)
        in_short = batch.add(short[index] for index in offered)
        in_name = batch.add(name[index] for index in offered)
        pairs = [field_pair() for _ in range(settings.fields)]
        in_left = batch.add(left for left, _, _ in pairs)
        in_right = batch.add(right for _, right, _ in pairs)
        alike = [rng.choice(equals) for _ in range(settings.pairs if equals else 0)]
        in_one = batch.add(one for one, _ in alike)
        in_other = batch.add(thinned(other) for _, other in alike)
        sample = [rng.randrange(len(texts)) for _ in range(settings.distilled)]
        in_texts = batch.add(texts[index] for index in sample)
        z = batch.embed(rows)

        documents = functional.normalize(
            FULL_WEIGHT * z[in_full] + SHORT_WEIGHT * z[in_short] + NAME_WEIGHT * z[in_name], dim=1
        )
        score = z[in_requests] @ documents.T / tau
        columns = torch.tensor(offered)
        right = torch.zeros_like(score, dtype=torch.bool)
        for row, (_, positions) in enumerate(drawn):
            for position in positions:
                right[row] |= columns == position
        own = torch.arange(len(drawn))
        right[own, own] = False
        loss = settings.request_weight * functional.cross_entropy(
            score.masked_fill(right, -1e4), own
        )

        score = z[in_left] @ z[in_right].T / tau
        owner = torch.tensor([index for _, _, index in pairs])
        same = owner[:, None] == owner[None]
        same.fill_diagonal_(False)
        score = score.masked_fill(same, -1e4)
        own = torch.arange(len(pairs))
        both = functional.cross_entropy(score, own) + functional.cross_entropy(score.T, own)
        loss = loss + settings.field_weight * 0.5 * both

        if alike:
            score = z[in_one] @ z[in_other].T / tau
            own = torch.arange(len(alike))
            both = functional.cross_entropy(score, own) + functional.cross_entropy(score.T, own)
            loss = loss + settings.pair_weight * 0.5 * both

        mine = z[in_texts] @ z[in_texts].T / tau
        theirs = taught[sample] @ taught[sample].T / tau
        itself = torch.eye(len(sample), dtype=torch.bool)
        loss = loss + settings.teacher_weight * functional.kl_div(
            functional.log_softmax(mine.masked_fill(itself, -1e4), 1),
            functional.softmax(theirs.masked_fill(itself, -1e4), 1),
            reduction="batchmean",
        )
        loss.backward()
        for optimiser, _ in optimisers:
            optimiser.step()
        if step % 50 == 49:
            seconds = time.monotonic() - started
            progress(f"step {step + 1}: loss {loss.item():.3f}, {seconds:.0f} s")

    with torch.no_grad():
        chunks = [rows(ids) for ids in torch.arange(len(features)).split(4096)]
        return torch.cat(chunks).numpy()


def recall(
    tools: Sequence[ToolText],
    requests: Sequence[Request],
    bags: Callable[[str], list[int]],
    vectors: Any,
) -> dict[str, float]:
    """Measure complete recall: the share of requests with all expected tools in the first k.

    Args:
        tools: the pool.
        requests: requests; the keys that they expect are in the pool.
        bags: gives the positions of a text's pieces.
        vectors: float32, pieces x dim.

    Returns:
        Requests, and percentages at 1, 5 and 10. Static vectors alone, no lexical arm.
    """
    import numpy as np

    def unit(texts: Iterable[str]) -> Any:
        total = np.stack([vectors[bags(text)].sum(0) for text in texts])
        return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)

    documents = (
        FULL_WEIGHT * unit(tool.full for tool in tools)
        + SHORT_WEIGHT * unit(tool.short for tool in tools)
        + NAME_WEIGHT * unit(tool.name for tool in tools)
    )
    order = np.argsort(
        -(unit(request.text for request in requests) @ documents.T), axis=1, kind="stable"
    )
    position = {tool.key: index for index, tool in enumerate(tools)}
    out = {"requests": float(len(requests))}
    for k in (1, 5, 10):
        hits = [
            {position[key] for key in request.expected} <= set(best[:k].tolist())
            for request, best in zip(requests, order, strict=True)
        ]
        out[f"complete@{k}"] = round(100.0 * sum(hits) / len(hits), 1)
    return out


def train(
    data: Path,
    *,
    settings: Settings | None = None,
    teacher: str = TEACHER,
    words: Path | None = None,
    pairs: Path | None = None,
    held_out: float = 0.2,
    left_out: Sequence[str] = (),
    cache: Path | None = None,
    progress: Callable[[str], None] = print,
) -> Weights:
    """Train the model on the public sets and return its weights.

    Args:
        data: folder with the folders `sealtools`, `stabletoolbench`, `metatool`, `mcp_exports`
            and `exports`.
        settings: sizes, rates and the seed; None for those of the shipped weights.
        teacher: name or path of the sentence encoder; it has BERT's uncased vocabulary.
        words: a list of common words, one a line; None for none.
        pairs: pairs of texts, as `tool_rag_pg.embedding.pairs` writes them; None for none.
        held_out: share of the labelled tools kept away from training and measured afterwards.
        left_out: labelled sets kept away as a whole, and measured afterwards.
        cache: folder for the teacher's vectors.
        progress: called with a line now and then.

    Returns:
        Weights, rounded to eight bits, the scores on the held-out part in `meta["scores"]`.
    """
    import numpy as np
    import torch

    settings = settings or Settings()
    torch.set_num_threads(1)
    material = read_material(
        data, held_out=held_out, left_out=left_out, per_tool=settings.per_tool, pairs=pairs
    )
    texts = list(material.texts)
    progress(f"{len(material.tools)} tools, {len(texts)} texts")

    guide = Teacher(teacher, cache)
    known = frozenset(guide.pieces)
    text_vectors = guide.embed(texts, progress)
    added = frequent_words(texts, known, settings.word_texts)
    if words is not None:
        taken = known | set(added)
        listed = base_words(words.read_text(encoding="utf-8").split(), frozenset(taken))
        vectors = guide.embed(listed, progress)
        added += closest_words(listed, vectors, text_vectors, settings.listed_words)
    progress(f"{len(known)} pieces of the teacher, {len(added)} words added")
    pieces = [*guide.pieces, *added]
    index = {piece: position for position, piece in enumerate(pieces)}

    def bags(text: str) -> list[int]:
        return [index[piece] for piece in words_to_pieces(split_words(text), index, longest=24)]

    spelled = [list(words_to_pieces([word], known)) for word in added]
    own = guide.features([[piece] for piece in guide.pieces])
    width = own.shape[1] // 2
    features = _centred(own, width)
    if added:
        features = np.concatenate([features, _centred(guide.features(spelled), width)])
    matrix = np.zeros((len(features), settings.dim), dtype=np.float32)
    for seed in range(settings.seed, settings.seed + settings.runs):
        progress(f"seed {seed}")
        one = replace(settings, seed=seed)
        run = fit(material, bags, features.astype(np.float32), text_vectors, one, progress)
        matrix += run * (1 / np.median(np.linalg.norm(run, axis=1)))
    matrix *= 4.0 / np.median(np.linalg.norm(matrix, axis=1))

    scores = {}
    for name in LABELLED:
        tools, requests = read_labelled(data / name)
        whole = name in left_out
        unseen = [
            request
            for request in (_thin(requests, 12) if name == "metatool" else requests)
            if whole or any(is_held_out(key, held_out) for key in request.expected)
        ]
        if unseen:
            scores[f"{name}, {'left out' if whole else 'held-out tools'}"] = recall(
                tools, unseen, bags, matrix
            )
    meta = {
        "seed": settings.seed,
        "settings": asdict(settings),
        "teacher": TEACHER if Path(teacher).exists() else teacher,
        "training": {
            "labelled": [name for name in LABELLED if name not in left_out],
            "texts only": list(UNLABELLED),
            "held-out share of labelled tools": held_out,
            "tools": len(material.tools),
            "requests": {name: len(rows) for name, rows in material.requests.items()},
            "texts": len(texts),
            "pairs": len(material.pairs),
            "words added": len(added),
        },
        "scores": scores,
    }
    return quantise(
        pieces,
        matrix.tolist(),
        name=MODEL_NAME.format(dim=settings.dim),
        version=MODEL_VERSION,
        meta=meta,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tool_rag_pg.embedding.train",
        description="Train the built-in static embedding model and write its weights file.",
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the training sets")
    parser.add_argument("--out", type=Path, required=True, help="weights file to write")
    parser.add_argument("--teacher", default=TEACHER, help="sentence encoder: name or folder")
    parser.add_argument("--words", type=Path, help="list of common words, one a line")
    parser.add_argument("--pairs", type=Path, help="pairs of texts (tool_rag_pg.embedding.pairs)")
    parser.add_argument("--held-out", type=float, default=0.2, help="share of tools held out")
    parser.add_argument(
        "--leave-out", action="append", default=[], choices=LABELLED, help="set not to train on"
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps the teacher's vectors")
    parser.add_argument("--steps", type=int, default=Settings.steps)
    parser.add_argument("--dim", type=int, default=Settings.dim)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    parser.add_argument("--runs", type=int, default=Settings.runs, help="seeds, averaged")
    options = parser.parse_args(arguments)

    def progress(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    settings = Settings(steps=options.steps, dim=options.dim, seed=options.seed, runs=options.runs)
    weights = train(
        options.data,
        settings=settings,
        teacher=options.teacher,
        words=options.words,
        pairs=options.pairs,
        held_out=options.held_out,
        left_out=options.leave_out,
        cache=options.cache,
        progress=progress,
    )
    command = ["python -m tool_rag_pg.embedding.train --data DATA --out FILE"]
    command += ["--words WORDS"] if options.words else []
    command += ["--pairs PAIRS"] if options.pairs else []
    command += [f"--leave-out {name}" for name in options.leave_out]
    command.append(f"--held-out {options.held_out} --steps {options.steps}")
    command.append(f"--dim {options.dim} --seed {options.seed} --runs {options.runs}")
    meta = {**weights.meta, "command": " ".join(command)}
    save(
        Weights(
            weights.name,
            weights.dim,
            weights.version,
            weights.pieces,
            weights.vectors,
            weights.scales,
            meta,
        ),
        options.out,
    )
    print(json.dumps(weights.meta["scores"], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
