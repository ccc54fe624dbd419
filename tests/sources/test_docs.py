"""What the page on ingestion says is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tool_rag_pg.sources import FORMATS, read_exports
from tool_rag_pg.sources.fields import MAX_NAME
from tool_rag_pg.sources.files import MAX_BYTES
from tool_rag_pg.sources.json_text import MAX_DEPTH
from tool_rag_pg.sources.openapi_inputs import MAX_INPUT_SCHEMAS
from tool_rag_pg.sources.openapi_schema import MAX_SCHEMA_DEPTH

from .conftest import names

PAGE = (Path(__file__).parents[2] / "docs" / "ingestion.md").read_text(encoding="utf-8")


def test_every_format_has_a_row():
    assert re.findall(r"^\| `(\w+)` \| \w", PAGE, re.MULTILINE)[: len(FORMATS)] == list(FORMATS)


def test_limits():
    assert f"up to {MAX_BYTES // 1024 // 1024} MB" in PAGE
    assert f"more than {MAX_DEPTH} levels" in PAGE
    assert f"1 to {MAX_NAME} characters" in PAGE
    assert f"At most {MAX_INPUT_SCHEMAS} sub-schemas in {MAX_SCHEMA_DEPTH} levels" in PAGE


def test_examples(write):
    several, own = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert names(read_exports([write(several)])) == {
        "github": ["create_issue"],
        "jira": ["create_issue"],
    }
    assert names(read_exports([write(own, "own.jsonl")])) == {
        "shop": ["refund"],
        "desk": ["open_ticket"],
    }


@pytest.mark.parametrize("number", [0, 1, 2])
def test_messages_are_the_real_ones(fail, number):
    tool = {"name": "refund", "parameters": {}, "server": "shop"}
    filler = [{**tool, "name": str(n)} for n in range(17)]
    rows = [*filler[:2], tool, *filler[2:15], tool]
    tools = [{"name": str(n), "inputSchema": {}} for n in range(4)]
    contents = [
        ({"tools": [*tools, {"name": 5, "inputSchema": {}}]}, "tools.json"),
        (rows, "tools.jsonl"),
        ("[" + "\n" * 211 + '"name": "a"]', "tools.json"),
    ]
    shown = re.findall(r"^(tools\.json.*)\n  (.*)$", PAGE, re.MULTILINE)
    content, name = contents[number]
    error = fail(content, name)
    message = f"{name}{error.message.split(name, 1)[1]}"
    expected, hint = shown[number]
    assert error.hint == hint
    assert re.sub(r"column \d+", "", message) == re.sub(r"column \d+", "", expected)
