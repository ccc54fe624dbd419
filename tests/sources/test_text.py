"""What files hold at the level of bytes, characters and syntax."""

from __future__ import annotations

import codecs
import json
import time

import pytest

from tool_rag_pg.sources import read_exports
from tool_rag_pg.sources.json_text import MAX_DEPTH


def tool(**fields):
    return {"name": "a", "inputSchema": {"type": "object"}, **fields}


def text(**fields):
    return json.dumps({"tools": [tool(**fields)]}, ensure_ascii=False)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_encodings(read, encoding):
    assert read(text(title="Zażółć 🦉").encode(encoding)).tools[0].title == "Zażółć 🦉"


def test_encoding_that_is_not_unicode(fail):
    data = ('{"tools": [\n' + json.dumps(tool()) + ', {"name": "caf\xe9"}]}').encode("latin-1")
    error = fail(data)
    assert error.position == "line 2"
    assert "0xe9" in error.message
    assert "UTF-8" in error.hint


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x1f\x8b\x08\x00abc",
        bytes(range(256)),
        b'{"a": "\0"}',
        codecs.BOM_UTF16_LE + b"a",
    ],
)
def test_binary(fail, data):
    assert fail(data).hint


@pytest.mark.parametrize("data", ["", " \n", codecs.BOM_UTF8.decode()])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.yaml"])
def test_empty_file(fail, data, name):
    assert "empty" in fail(data, name).message


def test_unicode_of_all_kinds_is_kept(read):
    samples = [
        "日本語のツール",
        "مرحبا بالعالم",
        "👩‍👩‍👧‍👦",
        "e\u0301",
        "\u202egnp.exe",
        "\U0010ffff",
    ]
    for sample in samples:
        assert read(text(description=sample)).tools[0].description == sample
        escaped = json.dumps({"tools": [tool(description=sample)]})
        assert read(escaped).tools[0].description == sample


def test_description_of_40000_characters(read):
    assert read(text(description="ab " * 13_334)).tools[0].description == "ab " * 13_334


def test_nul_is_removed_with_a_warning(read):
    export = read(
        {"tools": [tool(description="a\0b", inputSchema={"properties": {"k\0": {"enum": ["\0"]}}})]}
    )
    assert export.tools[0].description == "ab"
    assert export.tools[0].input_schema == {"properties": {"k": {"enum": [""]}}}
    (warning,) = export.warnings
    assert "tools[0].inputSchema.properties: NUL" in warning
    assert "and at 2 more" in warning
    assert "\\u0000" not in json.dumps(export.as_payload())


def test_half_surrogates_are_replaced_with_a_warning(read):
    export = read('[{"name": "a", "description": "x\\ud83d", "inputSchema": {}}]')
    assert export.tools[0].description == "x\ufffd"
    assert "[0].description" in export.warnings[0]
    assert "U+FFFD" in export.warnings[0]


def test_surrogate_pairs_are_characters(read):
    export = read('[{"name": "a", "description": "\\ud83e\\udd89", "inputSchema": {}}]')
    assert (export.tools[0].description, export.warnings) == ("🦉", ())


def test_names_that_become_equal_are_still_duplicates(fail):
    assert fail([tool(), tool(name="a\0")]).position == "[1]"
    assert fail('[{"name": "a", "inputSchema": {"k": 1, "k\\u0000": 2}}]').position


def test_yaml_escapes_are_cleaned_too(read):
    export = read('tools:\n- name: a\n  description: "x\\0y"\n  inputSchema: {}', "a.yaml")
    assert export.tools[0].description == "xy"
    assert export.warnings


def nested(levels):
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [MAX_DEPTH, 2_000, 200_000])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.yaml"])
def test_deep_nesting(fail, levels, name):
    content = '{"tools": [{"name": "a", "inputSchema": {"x": ' + nested(levels) + "}}]}"
    error = fail(content, name)
    # libyaml has a limit of its own, and words of its own.
    assert "nest" in error.message
    assert len(str(error)) < 500
    assert error.position.startswith("line 1, column ")


def test_deep_but_bearable(read):
    content = '[{"name": "a", "inputSchema": {"x": ' + nested(MAX_DEPTH - 4) + "}}]"
    json.dumps(read(content).as_payload())


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_json_lacks(fail, constant):
    content = '{"tools": [{"name": "NaN",\n "inputSchema": {"maximum": ' + constant + "}}]}"
    error = fail(content)
    assert error.position == "line 2, column 29"
    assert constant in error.message


@pytest.mark.parametrize("number", ["1e400", "-1e999", "9" * 310, "9" * 5_000, "1" * 400 + ".5"])
def test_numbers_that_cannot_be_stored(fail, number):
    error = fail('[{"name": "a", "inputSchema": {"maximum": ' + number + "}}]")
    assert error.position == "line 1, column 43"
    assert "too large" in error.message
    assert len(error.message) < 200


def test_large_numbers_are_kept(read):
    limits = {"maximum": 18446744073709551616, "minimum": -1.7e308, "multipleOf": 0.01}
    assert read([tool(inputSchema=limits)]).tools[0].input_schema == limits


def test_duplicate_keys(fail):
    error = fail('{"tools": [\n  {"name": "a", "inputSchema": {"x": "name",\n "\\u0078": 1}}]}')
    assert error.position == "line 3, column 2"
    assert "'x'" in error.message


@pytest.mark.parametrize(
    ("content", "position"),
    [
        ('{"tools": [', "line 1, column 12"),
        ('{"tools": [{"name": "a" "b"}]}', "line 1, column 25"),
        ("{'tools': []}", "line 1, column 2"),
        ('{"tools": []} x', "line 1, column 15"),
        ('{"tools": [\n{"name" "a"}]}', "line 2, column 9"),
        ('{"a": "\n"}', "line 1, column 8"),
        ("\x01", "line 1, column 1"),
    ],
)
def test_syntax_errors_have_line_and_column(fail, content, position):
    error = fail(content)
    assert error.position == position
    assert "not valid JSON" in error.message


def test_too_large_a_file(fail, monkeypatch):
    monkeypatch.setattr("tool_rag_pg.sources.files.MAX_BYTES", 1024 * 1024)
    assert "more than 1 MB" in fail(" " * (1024 * 1024 + 1)).message


def test_ten_thousand_tools(write):
    properties = {f"p{n}": {"type": "string", "description": "Something"} for n in range(5)}
    schema = {"type": "object", "properties": properties}
    tools = [tool(name=f"t{n}", description="Does it", inputSchema=schema) for n in range(10_000)]
    path = write({"tools": tools})
    start = time.monotonic()
    (export,) = read_exports([path]).exports
    # Takes some 0.3 s; the bound only tells linear work from quadratic work.
    assert time.monotonic() - start < 5
    assert len(export.tools) == 10_000
