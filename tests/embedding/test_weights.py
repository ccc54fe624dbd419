from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import pytest

from tool_rag_pg.embedding.weights import (
    WeightsError,
    default_weights,
    load,
    quantise,
    save,
)

ROWS = [[0.5, -1.0, 0.25], [0.0, 0.0, 0.0], [100.0, 0.5, -99.0]]


def test_the_shipped_file_is_whole_and_small() -> None:
    weights = default_weights()
    assert len(weights) == len(weights.pieces) == len(weights.scales) > 25_000
    assert len(weights.vectors) == len(weights) * weights.dim
    assert weights.meta["pieces"] == len(weights)
    assert {"name", "dim", "version", "sha256", "command", "seed", "training"} <= set(weights.meta)
    path = Path(__file__).parents[2] / "tool_rag_pg" / "data" / "word_pieces.zip"
    assert path.stat().st_size < 16_000_000


def test_the_shipped_vectors_are_usable() -> None:
    for piece, row in default_weights().rows():
        length = math.sqrt(sum(component * component for component in row))
        assert 1e-3 < length < 1e3, piece
        # half precision, as the database stores it, keeps three digits above 2^-14
        assert max(map(abs, row)) > 2**-9, piece


def test_no_special_piece_is_shipped() -> None:
    pieces = set(default_weights().pieces)
    assert not {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "[unused0]", ""} & pieces
    assert {"the", "##s", "!", "invoice"} <= pieces


def test_a_round_trip_keeps_everything(tmp_path: Path) -> None:
    weights = quantise(["a", "##b", "é"], ROWS, name="small", version="3", meta={"seed": 7})
    save(weights, tmp_path / "w.zip")
    again = load(tmp_path / "w.zip")
    assert again == weights
    assert again.meta["seed"] == 7
    assert again.dim == 3


def test_rounding_is_within_half_a_step() -> None:
    weights = quantise(["a", "b", "c"], ROWS, name="small", version="3")
    for (_, got), wanted in zip(weights.rows(), ROWS, strict=True):
        step = max(map(abs, wanted)) / 127
        assert all(abs(g - w) <= step / 2 + 1e-6 for g, w in zip(got, wanted, strict=True))


def test_equal_weights_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        save(quantise(["a", "b", "c"], ROWS, name="s", version="1"), tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    good = tmp_path / "good.zip"
    save(quantise(["a", "b", "c"], ROWS, name="s", version="1"), good)
    with zipfile.ZipFile(good) as bundle:
        members = {name: bundle.read(name) for name in bundle.namelist()}
    members["vectors.i8"] = bytes(len(members["vectors.i8"]))
    bad = tmp_path / "bad.zip"
    with zipfile.ZipFile(bad, "w") as bundle:
        for name, data in members.items():
            bundle.writestr(name, data)
    with pytest.raises(WeightsError, match="sha256") as caught:
        load(bad)
    assert caught.value.path == str(bad)
    assert "train" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "content", [b"", b"not a zip", json.dumps({"dim": 3}).encode()], ids=["empty", "text", "json"]
)
def test_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "w.zip"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match="not a weights file"):
        load(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no such weights file"):
        load(tmp_path / "none.zip")
