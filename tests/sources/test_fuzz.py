"""Whatever a file holds, reading ends in exports or in a `SourceError`."""

from __future__ import annotations

import copy
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_sources import check as check_bytes
from benchmarks.fuzz_sources import damage, seeds
from tool_rag_pg.sources import FORMATS, read_exports
from tool_rag_pg.sources.context import Origin
from tool_rag_pg.sources.yaml_text import parse_yaml

FIXTURES = Path(__file__).parent / "fixtures"
KEYS = (
    "name", "description", "parameters", "inputSchema", "input_schema", "args", "args_schema",
    "tools", "functions", "function", "type", "server", "servers", "result", "jsonrpc",
    "annotations", "properties", "openapi", "paths", "/a", "get", "post", "requestBody",
    "content", "schema", "$ref", "allOf", "items", "required", "nextCursor", "serverInfo",
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8)
    | st.sampled_from([*KEYS, "object", "3.1.0", "#/paths", "#/a/0", "#", "readOnly"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=25,
)


def load(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".yaml":
        return parse_yaml(text, Origin(str(path)))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line]
    return json.loads(text)


SEEDS = [load(path) for path in sorted(FIXTURES.iterdir())]


def spots(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all values inside `value`."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [way] + [spot for key, item in items for spot in spots(item, (*way, key))]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """Return a good export of which up to three values were replaced."""
    value = {"root": copy.deepcopy(draw(st.sampled_from(SEEDS)))}
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(spots(value)[1:]))
        holder = value
        for key in way:
            holder = holder[key]
        holder[last] = draw(VALUES)
    return value["root"]


def check(text: str | bytes, format: str | None) -> None:
    stream = io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text)
    result = read_exports(["-"], server="s", format=format, stdin=stream)
    assert bool(result.exports) != bool(result.errors)
    for export in result.exports:
        payload = json.dumps(export.as_payload(), allow_nan=False, ensure_ascii=False)
        assert "\\u0000" not in payload
        payload.encode()
        assert export.tools
        assert len({tool.name for tool in export.tools}) == len(export.tools)
    for error in result.errors:
        assert error.hint
        assert "\n" not in str(error)


forms = st.none() | st.sampled_from(FORMATS)


@given(VALUES, forms)
@settings(max_examples=300, deadline=None)
def test_any_json_value(value, format):
    check(json.dumps(value), format)


@given(st.lists(VALUES, min_size=1, max_size=4), forms)
@settings(max_examples=150, deadline=None)
def test_any_json_lines(values, format):
    check("\n".join(json.dumps(value) for value in values), format)


@given(damaged(), forms)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_exports(value, format):
    check(json.dumps(value), format)


@given(st.text(max_size=60) | st.text("[]{}:,&*!|>-?#'\" \n\tab01<", max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text(text):
    check(text, None)


@given(st.binary(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_bytes(data):
    check(data, None)


def test_damaged_bytes(seed):
    rng = random.Random(seed)
    good = seeds()
    for _ in range(1000):
        check_bytes(damage(rng.choice(good), rng))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": NaNx}', "NaN is no JSON value"),
        ("[-Infinity1]", "-Infinity is no JSON value"),
        ("[1e999x]", "the number is too large"),
        ("[-" + "9" * 400 + "x]", "the number is too large"),
    ],
)
def test_what_stands_right_behind_a_refused_value(text, said):
    result = read_exports(["-"], server="s", format=None, stdin=io.StringIO(text))
    assert [said in str(error) for error in result.errors] == [True]
