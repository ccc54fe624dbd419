"""A wheel laid out as that of bfcl-eval, with a handful of requests."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CATEGORIES = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
DATA = "bfcl_eval/data"


def function(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": description or f"Does {name}.",
        "parameters": {"type": "dict", "required": [], "properties": properties},
    }


def request(id_: str, text: str, *functions: dict[str, Any], system: str = "") -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    if system:
        messages.insert(0, {"role": "system", "content": system})
    return {"id": id_, "question": [messages], "function": list(functions)}


def answer(id_: str, *names: str) -> dict[str, Any]:
    return {"id": id_, "ground_truth": [{name: {"x": ["1", ""]}} for name in names]}


RAIN = function(
    "get_weather",
    "Says whether it rains.",
    place={"type": "string"},
    degrees={"type": "float", "default": 1.0},
    type={"type": "any", "description": "anything"},
    pair={"type": "tuple", "items": {"type": "integer"}},
)
FILMS = function("Movies_1_FindMovies", "Finds films.", place={"type": "string"})
OTHER_RAIN = function("get_weather", "Another one of this name.")

FILES: dict[str, list[dict[str, Any]]] = {
    f"{DATA}/BFCL_v4_live_simple.json": [
        request("live_simple_0", "will it rain in Łódź?", RAIN, system="You are terse."),
    ],
    f"{DATA}/BFCL_v4_live_multiple.json": [
        request("live_multiple_0", "what is on at the cinema", OTHER_RAIN, FILMS),
    ],
    f"{DATA}/BFCL_v4_live_parallel.json": [
        request("live_parallel_0", "rain here and there?", RAIN),
    ],
    f"{DATA}/BFCL_v4_live_parallel_multiple.json": [
        request("live_parallel_multiple_0", "rain? films?", RAIN, FILMS),
    ],
    f"{DATA}/possible_answer/BFCL_v4_live_simple.json": [answer("live_simple_0", "get_weather")],
    f"{DATA}/possible_answer/BFCL_v4_live_multiple.json": [
        answer("live_multiple_0", "Movies_1_FindMovies")
    ],
    f"{DATA}/possible_answer/BFCL_v4_live_parallel.json": [
        answer("live_parallel_0", "get_weather", "get_weather")
    ],
    f"{DATA}/possible_answer/BFCL_v4_live_parallel_multiple.json": [
        answer("live_parallel_multiple_0", "get_weather", "Movies_1_FindMovies")
    ],
}


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def make_wheel(
    folder: Path, *, version: str = "9.8.7", changed: Mapping[str, str | None] | None = None
) -> Path:
    """Write a wheel to a folder; `changed` files hold another text, or are left out for None."""
    info = f"bfcl_eval-{version}.dist-info"
    files: dict[str, str | None] = {
        # What must never be run.
        "bfcl_eval/__init__.py": "raise SystemExit('it was run')\n",
        f"{DATA}/BFCL_v4_live_irrelevance.json": "not even JSON\n",
        **{name: lines(rows) for name, rows in FILES.items()},
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: bfcl_eval\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
        # Names that an unpacking would write outside of its folder.
        "../../escaped.txt": "x",
        "/tmp/escaped.txt": "x",
        **(changed or {}),
    }
    path = folder / f"bfcl_eval-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, text in files.items():
            if text is not None:
                wheel.writestr(name, text)
    return path
