"""The weights of the built-in model: one zip file, read and written with the standard library.

Members, all stored with DEFLATE and a fixed timestamp, so that equal weights give equal bytes:

=============  =====================================================================================
`vocab.txt`    n lines, UTF-8, one word piece each; a piece inside a word starts with `##`
`vectors.i8`   n x dim signed bytes, row by row, in the order of `vocab.txt`
`scales.f32`   n little-endian IEEE 754 singles: vector = scale x the row's bytes
`meta.json`    name, dim, version, sha256 and whatever the trainer recorded
=============  =====================================================================================

The sha256 is of the three data members one after the other, in the order above. The length of a
vector is the weight of its piece in a mean, so rows are not normalised.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from tool_rag_pg.errors import ToolRagError

__all__ = ["Weights", "WeightsError", "default_weights", "load", "quantise", "save"]

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
_LEVEL = 9
_REBUILD = "reinstall the package, or train again: python -m tool_rag_pg.embedding.train --help"


class WeightsError(ToolRagError):
    """A weights file that is missing, damaged or of another format.

    Attributes:
        path: the file.

    """

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(f"{path}: {message}", hint=_REBUILD)
        self.path = path


@dataclass(frozen=True)
class Weights:
    """Word pieces and their vectors.

    Attributes:
        name: name of the model, as stored beside vectors in the database.
        dim: components of a vector.
        version: version of the model; vectors of two versions are not comparable.
        pieces: n word pieces, the ones inside a word with a leading `##`.
        vectors: n x dim signed bytes, row-major.
        scales: n factors; the vector of piece i is scales[i] x its bytes.
        meta: all of `meta.json`: training data, command, seed, scores.

    """

    name: str
    dim: int
    version: str
    pieces: tuple[str, ...]
    vectors: array[int] = field(repr=False)
    scales: array[float] = field(repr=False)
    meta: Mapping[str, Any] = field(repr=False)

    def __len__(self) -> int:
        """Count the word pieces."""
        return len(self.pieces)

    def row(self, index: int) -> list[float]:
        """Return the vector of one piece: dim floats, not normalised."""
        dim = self.dim
        scale = self.scales[index]
        return [scale * byte for byte in self.vectors[index * dim : (index + 1) * dim]]

    def rows(self) -> Iterator[tuple[str, list[float]]]:
        """Yield each piece with its vector (dim floats, not normalised), in file order."""
        for index, piece in enumerate(self.pieces):
            yield piece, self.row(index)


def _content(weights: Weights) -> list[tuple[str, bytes]]:
    scales = array("f", weights.scales)
    if sys.byteorder == "big":
        scales.byteswap()
    return [
        ("vocab.txt", "".join(f"{piece}\n" for piece in weights.pieces).encode()),
        ("vectors.i8", weights.vectors.tobytes()),
        ("scales.f32", scales.tobytes()),
    ]


def _sha256(content: Sequence[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for _, data in content:
        digest.update(data)
    return digest.hexdigest()


def quantise(
    pieces: Sequence[str],
    rows: Sequence[Sequence[float]],
    *,
    name: str,
    version: str,
    meta: Mapping[str, Any] | None = None,
) -> Weights:
    """Round vectors to eight bits each, with one scale a row.

    Args:
        pieces: n distinct word pieces.
        rows: n vectors of the same length.
        name: name of the model.
        version: version of the model.
        meta: facts to record beside it.

    Returns:
        Weights whose rows differ from the given ones by at most half of the row's largest
        component / 127, in each component.

    """
    dim = len(rows[0])
    vectors = array("b")
    scales = array("f")
    for row in rows:
        if len(row) != dim:
            raise ValueError(f"a row of {len(row)} components among rows of {dim}")
        largest = max(map(abs, row))
        scale = largest / 127.0 if largest > 0 else 1.0
        vectors.extend(round(component / scale) for component in row)
        scales.append(scale)
    weights = Weights(name, dim, version, tuple(pieces), vectors, scales, {})
    described = dict(meta or {})
    described.update(
        name=name,
        dim=dim,
        version=version,
        pieces=len(weights.pieces),
        sha256=_sha256(_content(weights)),
    )
    return Weights(name, dim, version, weights.pieces, vectors, scales, described)


def save(weights: Weights, path: str | Path) -> None:
    """Write the weights file; equal weights give equal bytes with the same zlib."""
    content = _content(weights)
    text = json.dumps(dict(weights.meta), ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    content.append(("meta.json", text.encode()))
    with zipfile.ZipFile(path, "w") as bundle:
        for member, data in content:
            info = zipfile.ZipInfo(member, date_time=_TIMESTAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            bundle.writestr(info, data, compresslevel=_LEVEL)


def load(path: str | Path | None = None) -> Weights:
    """Read a weights file and check it against its own sha256.

    Args:
        path: the file; None for the one that ships with the package.

    Raises:
        WeightsError: it is missing, not such a zip file, or its content does not match.

    """
    if path is None:
        with as_file(files("tool_rag_pg.data") / "word_pieces.zip") as shipped:
            return _load(shipped)
    return _load(Path(path))


def _load(path: Path) -> Weights:
    where = str(path)
    try:
        with zipfile.ZipFile(path) as bundle:
            meta: dict[str, Any] = json.loads(bundle.read("meta.json"))
            vocab = bundle.read("vocab.txt")
            packed = bundle.read("vectors.i8")
            scale_bytes = bundle.read("scales.f32")
    except FileNotFoundError as exc:
        raise WeightsError("no such weights file", path=where) from exc
    except (KeyError, ValueError, zipfile.BadZipFile) as exc:
        raise WeightsError(f"not a weights file ({exc})", path=where) from exc
    pieces = tuple(vocab.decode().split("\n")[:-1])
    vectors = array("b", packed)
    scales = array("f", scale_bytes)
    if sys.byteorder == "big":
        scales.byteswap()
    dim = int(meta.get("dim", 0))
    if len(set(pieces)) != len(scales) or len(vectors) != len(scales) * dim:
        raise WeightsError("its members do not fit together", path=where)
    digest = hashlib.sha256(vocab + packed + scale_bytes).hexdigest()
    if digest != meta.get("sha256"):
        raise WeightsError("its content does not match its sha256", path=where)
    return Weights(str(meta["name"]), dim, str(meta["version"]), pieces, vectors, scales, meta)


@lru_cache(maxsize=1)
def default_weights() -> Weights:
    """Return the shipped weights, read once a process."""
    return load()
