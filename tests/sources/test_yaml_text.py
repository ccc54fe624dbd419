from __future__ import annotations

import time

import pytest

HEAD = "tools:\n- name: a\n  description: x\n  inputSchema:\n"


def schema(read, text):
    body = "\n".join(f"    {line}" for line in text.strip("\n").split("\n"))
    return read(HEAD + body, "a.yaml").tools[0].input_schema


def test_words_numbers_and_dates(read):
    text = """
enum: [on, no, yes, off, 12:30, 2024-01-01, 1_000, 010, 0x1f, 0o17, 1.5, .5, -3, 1e3, ~, null, true]
plain: 2024-01-01T00:00:00Z
quoted: ["5", 'true', !!str 7, ! 8]
tagged: [!!int "7", !!float "2", !!timestamp 2024-01-01]
200: code
"""
    assert schema(read, text) == {
        "enum": [
            *("on", "no", "yes", "off", "12:30", "2024-01-01", "1_000"),
            *(10, 31, 15, 1.5, 0.5, -3, 1000.0, None, None, True),
        ],
        "plain": "2024-01-01T00:00:00Z",
        "quoted": ["5", "true", "7", "8"],
        "tagged": [7, 2, "2024-01-01"],
        "200": "code",
    }


def test_anchors_merges_and_aliased_keys(read):
    text = """
base: &base {type: string, title: Base}
one: {<<: *base, title: Own}
two: {<<: [*base, {extra: 1, title: Late}]}
key: &key word
*key : 1
block: |
  two
  lines
"""
    assert schema(read, text) == {
        "base": {"type": "string", "title": "Base"},
        "one": {"title": "Own", "type": "string"},
        "two": {"type": "string", "title": "Base", "extra": 1},
        "key": "word",
        "word": 1,
        "block": "two\nlines",
    }


@pytest.mark.parametrize(
    ("text", "position", "part"),
    [
        ("a: [1, 2", "line 2, column 1", "not valid YAML"),
        ("a: b: c", "line 1, column 5", "not valid YAML"),
        ("a:\n\t- b", "line 2, column 1", "not valid YAML"),
        ("a: 1\nb: 2\na: 3", "line 3, column 1", "'a' stands twice"),
        ("k: &k a\na: 1\n*k : 2", "line 3, column 1", "'a' stands twice"),
        ("a: .nan", "line 1, column 4", ".nan"),
        ("a: -.inf", "line 1, column 4", "-.inf"),
        ("a: 1e999", "line 1, column 4", "too large"),
        ("a: " + "9" * 400, "line 1, column 4", "too large"),
        ("a: !custom b", "line 1, column 4", "!custom"),
        ("a: !!python/object:os.system x", "line 1, column 4", "python/object"),
        ("a: &x [*x]", "line 1, column 8", "inside its own value"),
        ("a: *nowhere", "line 1, column 4", "no anchor"),
        ("? [a]\n: b", "line 1, column 5", "key is not a text"),
        ("a: {<<: 5}", "line 1, column 9", "merges"),
        ("a: 1\n---\nb: 2", "line 2, column 1", "second document"),
    ],
)
def test_faults_have_line_and_column(fail, text, position, part):
    error = fail(text, "a.yaml")
    assert part in error.message
    assert error.position == position


def test_characters_that_yaml_forbids(fail):
    assert "not valid YAML" in fail("a: \x01", "a.yaml").message


def test_billion_laughs(fail):
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    start = time.monotonic()
    assert "aliases expand" in fail("\n".join(lines), "a.yaml").message
    assert time.monotonic() - start < 5


def test_aliases_of_long_texts_and_of_merges(fail):
    long = "a: &a " + "x" * 100_000 + "\nb: [" + ", ".join(["*a"] * 1_000) + "]"
    assert "aliases expand" in fail(long, "a.yaml").message
    lines = ["a0: &a0 {k: lol}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 30)]
    assert "aliases expand" in fail("\n".join(lines), "a.yaml").message


def test_depth_through_aliases(fail):
    lines = ["a0: &a0 [x]"]
    for n in range(1, 6):
        lines.append(f"a{n}: &a{n} " + "[" * 100 + f"*a{n - 1}" + "]" * 100)
    assert "aliases expand" in fail("\n".join(lines), "a.yaml").message


def test_text_that_is_no_export(fail):
    assert "it holds the text" in fail("just a sentence", "a.yaml").message
    assert "it holds null" in fail("# nothing", "a.yaml").message
    assert "its keys are 'version', 'services'" in fail("version: 1\nservices: {}", "a.yml").message
