"""Loading the built-in model's word pieces into the database."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import psycopg

from tool_rag_pg.errors import ToolRagError

if TYPE_CHECKING:
    from tool_rag_pg.embedding.weights import Weights

__all__ = ["copy_text", "is_loaded", "load_model", "shipped_fingerprint"]

_MODEL = "built-in"
_COPY = "copy tool_rag.word_piece (piece, embedding) from stdin (format binary)"
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)


def shipped_fingerprint() -> str:
    """Return the sha256 of the shipped weights, without unpacking them."""
    with (
        as_file(files("tool_rag_pg.data") / "word_pieces.zip") as path,
        zipfile.ZipFile(path) as bundle,
    ):
        return str(json.loads(bundle.read("meta.json"))["sha256"])


def is_loaded(connection: psycopg.Connection[Any]) -> bool:
    """Whether the database holds the shipped weights."""
    row = connection.execute(
        "select fingerprint from tool_rag.embedding_model where name = %s", [_MODEL]
    ).fetchone()
    return row is not None and row[0] == shipped_fingerprint()


def _binary_rows(weights: Weights) -> Iterator[bytes]:
    """Yield rows (piece, halfvec) in the binary format of COPY, about a megabyte at a time.

    A halfvec is its dimensions and an unused field, 16 bits each, then its components as IEEE 754
    half-precision numbers, all big-endian.
    """
    pack_vector = struct.Struct(f">ihh{weights.dim}e").pack
    pack_text = struct.Struct(">hi").pack
    size = 4 + 2 * weights.dim
    chunk = bytearray(_SIGNATURE)
    for piece, vector in weights.rows():
        text = piece.encode()
        chunk += pack_text(2, len(text))
        chunk += text
        chunk += pack_vector(size, weights.dim, 0, *vector)
        if len(chunk) > 1 << 20:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk + _TRAILER)


def load_model(connection: psycopg.Connection[Any]) -> int:
    """Replace the word pieces in the database by the shipped ones, in the caller's transaction.

    Searches of other sessions go on with the old ones until it commits. Tools are not embedded
    anew: that is for the caller.

    Returns:
        Number of word pieces.

    """
    from tool_rag_pg.embedding.weights import load

    weights = load()
    row = connection.execute(
        "select dimensions from tool_rag.embedding_model where name = %s", [_MODEL]
    ).fetchone()
    if row is None or row[0] != weights.dim:
        raise ToolRagError(
            f"the shipped model has {weights.dim} dimensions, the schema another number",
            hint="reinstall the package: pip install --force-reinstall tool-rag-pg",
        )
    connection.execute("delete from tool_rag.word_piece")
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for chunk in _binary_rows(weights):
            copy.write(chunk)
    connection.execute("analyze tool_rag.word_piece")
    connection.execute(
        "update tool_rag.embedding_model set fingerprint = %s where name = %s",
        [weights.meta["sha256"], _MODEL],
    )
    return len(weights)


def copy_text() -> Iterator[str]:
    """Yield what loads the weights through psql: COPY with its rows, and the fingerprint."""
    from tool_rag_pg.embedding.weights import load

    weights = load()
    # Rounded here as in the binary format; five digits name a half-precision number exactly.
    halves = struct.Struct(f"<{weights.dim}e")
    yield "copy tool_rag.word_piece (piece, embedding) from stdin;\n"
    for piece, vector in weights.rows():
        numbers = ",".join(f"{half:.5g}" for half in halves.unpack(halves.pack(*vector)))
        yield piece.replace("\\", "\\\\") + f"\t[{numbers}]\n"
    yield "\\.\n"
    yield "analyze tool_rag.word_piece;\n"
    yield (
        f"update tool_rag.embedding_model set fingerprint = '{weights.meta['sha256']}' "
        f"where name = '{_MODEL}';\n"
    )
