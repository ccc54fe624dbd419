from __future__ import annotations

import json

import pytest

from tool_rag_pg.sources import read_exports

from .conftest import names

TOOL = {"name": "a", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}


def test_tools_list_result(fixtures):
    (export,) = read_exports([fixtures / "github-like.json"]).exports
    first, second = export.tools
    assert (export.server, export.format, export.warnings) == ("github-like", "mcp", ())
    assert first.name == "list_branches"
    assert first.title == "List branches"
    assert first.description == "List the branches of a repository"
    assert first.input_schema["required"] == ["owner"]
    assert first.output_schema == {"type": "object", "properties": {"names": {"type": "array"}}}
    assert first.annotations["readOnlyHint"] is True
    assert first.is_action is None
    assert second.title == "Delete a branch"
    assert second.description == ""
    assert second.output_schema is None


def test_payload_has_the_columns_and_is_an_export_itself(fixtures, read):
    (export,) = read_exports([fixtures / "github-like.json"]).exports
    payload = json.loads(json.dumps(export.as_payload()))
    assert list(payload) == ["server", "title", "description", "tools"]
    assert list(payload["tools"][0]) == [
        "name",
        "title",
        "description",
        "input_schema",
        "output_schema",
        "annotations",
        "is_action",
        "identity_parameters",
    ]
    again = read(payload, "other.json")
    assert (again.server, again.tools) == (export.server, export.tools)


@pytest.mark.parametrize(
    "content",
    [
        [TOOL],
        TOOL,
        {"tools": [TOOL]},
        {"tools": [TOOL], "nextCursor": None},
        {"tools": [TOOL], "nextCursor": ""},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}},
        [{"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}}],
        {"result": {"tools": [TOOL]}},
    ],
)
def test_every_wrapper(read, content):
    export = read(content)
    assert export.format == "mcp"
    assert [tool.name for tool in export.tools] == ["a"]


def test_pages_in_a_list_and_in_lines_are_merged(read, fixtures):
    pages = [{"tools": [TOOL], "nextCursor": "n"}, {"tools": [{**TOOL, "name": "b"}]}]
    assert [tool.name for tool in read(pages).tools] == ["a", "b"]
    assert [tool.name for tool in read(pages, "acme.jsonl").tools] == ["a", "b"]
    envelopes = [{"jsonrpc": "2.0", "id": n, "result": page} for n, page in enumerate(pages)]
    assert [tool.name for tool in read(envelopes).tools] == ["a", "b"]
    assert [tool.name for tool in read(list(reversed(envelopes))).tools] == ["b", "a"]


def test_recorded_session_names_its_server(fixtures):
    (export,) = read_exports([fixtures / "session.jsonl"]).exports
    assert (export.server, export.title) == ("weather", "Weather service")
    assert [tool.name for tool in export.tools] == ["forecast", "history"]


def test_missing_page_is_an_error(fail):
    error = fail({"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL], "nextCursor": "x"}})
    assert error.position == "result.nextCursor"
    assert "one file" in error.hint


def test_error_answer(fail):
    error = fail({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "No such"}})
    assert error.position == "error"
    assert "No such" in error.message


def test_other_answers_hold_no_tools(fail):
    error = fail({"jsonrpc": "2.0", "id": 1, "result": {"resources": []}})
    assert "tools/list" in error.message


def test_no_tools_at_all_is_an_error(fail):
    assert "no tools" in fail({"tools": []}).message
    assert "empty list" in fail([]).message


@pytest.mark.parametrize("schema", [None, {}])
def test_tool_without_arguments(read, schema):
    (tool,) = read({"tools": [{"name": "a", "description": "b", "inputSchema": schema}]}).tools
    assert tool.input_schema == {"type": "object", "properties": {}}


def test_tools_without_any_schema(read):
    export = read({"tools": [{"name": "a", "description": "Says hello"}]})
    assert export.format == "mcp"
    assert export.tools[0].input_schema == {"type": "object", "properties": {}}


def test_properties_as_an_empty_list_of_php(read):
    (tool,) = read([{"name": "a", "inputSchema": {"type": "object", "properties": []}}]).tools
    assert tool.input_schema == {"type": "object", "properties": {}}


def test_recursive_and_referring_schemas_are_kept(read):
    schema = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    assert read([{"name": "a", "inputSchema": schema}]).tools[0].input_schema == schema


def test_schema_of_another_type_is_kept_with_a_warning(read):
    export = read([{"name": "a", "inputSchema": {"type": "array"}}])
    assert export.tools[0].input_schema == {"type": "array"}
    assert "[0].inputSchema.type" in export.warnings[0]


def test_hints_that_are_no_booleans(read):
    hints = {"readOnlyHint": "yes", "destructiveHint": None, "idempotentHint": True}
    export = read({"tools": [{**TOOL, "annotations": hints}]})
    assert export.tools[0].annotations == {"idempotentHint": True}
    (warning,) = export.warnings
    assert "tools[0].annotations.readOnlyHint" in warning


@pytest.mark.parametrize(
    ("change", "position", "part"),
    [
        ({"name": 5}, "tools[1].name", "number 5"),
        ({"name": True}, "tools[1].name", "true"),
        ({"name": None}, "tools[1].name", "no name"),
        ({"name": ""}, "tools[1].name", "empty"),
        ({"name": " \n"}, "tools[1].name", "empty"),
        ({"name": "n" * 257}, "tools[1].name", "257"),
        ({"description": 7}, "tools[1].description", "number 7"),
        ({"title": ["x"]}, "tools[1].title", "a list"),
        ({"inputSchema": "x"}, "tools[1].inputSchema", "the text 'x'"),
        ({"inputSchema": []}, "tools[1].inputSchema", "a list"),
        ({"inputSchema": {"properties": "p"}}, "tools[1].inputSchema.properties", "the text 'p'"),
        ({"outputSchema": 1}, "tools[1].outputSchema", "number 1"),
        ({"annotations": []}, "tools[1].annotations", "a list"),
    ],
)
def test_wrong_fields_are_named_by_position(fail, change, position, part):
    error = fail({"tools": [TOOL, {**TOOL, "name": "b", **change}]})
    assert error.position == position
    assert part in error.message


def test_missing_name_and_entries_that_are_no_objects(fail):
    assert fail({"tools": [TOOL, {"inputSchema": {}}]}).position == "tools[1].name"
    assert fail([TOOL, "b"]).position == "[1]"
    assert fail([TOOL, 5], "acme.jsonl").position == "line 2"
    envelope = {"jsonrpc": "2.0", "result": {"tools": [TOOL, None]}}
    assert fail(envelope).position == "result.tools[1]"
    assert fail([envelope], "acme.jsonl").position == "line 1: result.tools[1]"


def test_longest_name(read):
    assert len(read([{**TOOL, "name": "n" * 256}]).tools[0].name) == 256


def test_duplicate_names_both_positions(fail):
    tools = [TOOL, {**TOOL, "name": "b"}, TOOL]
    error = fail({"tools": tools})
    assert error.position == "tools[2]"
    assert "tools[0]" in error.message
    error = fail(tools, "acme.jsonl")
    assert error.position == "line 3"
    assert "line 1" in error.message


def test_same_tool_on_two_servers_is_no_duplicate(write):
    result = read_exports([write([TOOL], "a.json"), write([TOOL], "b.json")])
    assert names(result) == {"a": ["a"], "b": ["a"]}


def test_identity_parameters_stand_in_meta(read):
    export = read([{**TOOL, "_meta": {"tool-rag/identity_parameters": ["x"], "other": 1}}])
    assert (export.format, export.tools[0].identity_parameters) == ("mcp", ("x",))
    for meta in (None, "text", {}, {"tool-rag/identity_parameters": None}):
        assert read([{**TOOL, "_meta": meta}]).tools[0].identity_parameters == ()


@pytest.mark.parametrize("names", ["x", ["y"], [1], {"x": 1}])
def test_identity_parameters_that_name_nothing_are_refused(names, tmp_path):
    # Ignored, they would leave it to the model on whose behalf it calls.
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{**TOOL, "_meta": {"tool-rag/identity_parameters": names}}]))
    result = read_exports([path])
    assert result.exports == ()
    assert "tool-rag/identity_parameters" in result.errors[0].position
