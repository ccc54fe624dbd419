"""Our own shape, and files with several servers."""

from __future__ import annotations

import json

import pytest

from tool_rag_pg.sources import read_exports

from .conftest import names

ROW = {"name": "a", "description": "b", "parameters": {"type": "object", "properties": {}}}
MCP = {"name": "a", "inputSchema": {"type": "object"}}


def test_own_lines(fixtures):
    result = read_exports([fixtures / "own.jsonl"])
    assert names(result) == {"shop": ["refund", "track"], "desk": ["open_ticket"]}
    shop, desk = result.exports
    assert (shop.title, shop.description) == ("Shop", "Orders and refunds")
    assert shop.format == "jsonl"
    refund, track = shop.tools
    assert (refund.title, refund.is_action) == ("Refund an order", True)
    assert refund.identity_parameters == ("customer_id",)
    assert (track.description, track.is_action) == ("", False)
    assert track.input_schema == {"type": "object", "properties": {}}
    assert desk.tools[0].annotations == {"readOnlyHint": False}


def test_own_list_in_json(read):
    export = read([{**ROW, "server": "x"}])
    assert (export.format, export.server) == ("jsonl", "x")


def test_unknown_keys_are_ignored(read):
    assert read([{**ROW, "server": None, "n_variants": 3}], "a.jsonl").tools[0].name == "a"


def test_null_server_is_the_files_name_or_the_option(write):
    path = write([{**ROW, "server": None}], "shop/catalog.jsonl")
    assert names(read_exports([path])) == {"shop": ["a"]}
    assert names(read_exports([path], server="given")) == {"given": ["a"]}


def test_rows_that_name_a_server_keep_it(write):
    path = write([{**ROW, "server": None}, {**ROW, "server": "x"}], "rest.jsonl")
    assert names(read_exports([path], server="given")) == {"given": ["a"], "x": ["a"]}


def test_option_renames_the_only_server(write):
    path = write([{**ROW, "server": "x"}], "rest.jsonl")
    assert names(read_exports([path], server="given")) == {"given": ["a"]}


def test_option_does_not_fit_several_servers(fail):
    error = fail([{**ROW, "server": "x"}, {**ROW, "server": "y"}], "r.jsonl", server="given")
    assert "x, y" in error.message


def test_given_name_that_the_file_uses_too(fail):
    rows = [{**ROW, "server": "x"}, {**ROW, "server": None}]
    assert "'x'" in fail(rows, "r.jsonl", server="x").message


def test_duplicate_only_inside_one_server(write, fail):
    rows = [{**ROW, "server": "x"}, {**ROW, "server": "y"}]
    assert names(read_exports([write(rows, "r.jsonl")])) == {"x": ["a"], "y": ["a"]}
    error = fail([*rows, {**ROW, "server": "y"}], "r.jsonl")
    assert error.position == "line 3"
    assert "line 2" in error.message


@pytest.mark.parametrize(
    ("change", "position"),
    [
        ({"server": 5}, "line 1: server"),
        ({"is_action": "yes"}, "line 1: is_action"),
        ({"is_action": 1}, "line 1: is_action"),
        ({"identity_parameters": "a"}, "line 1: identity_parameters"),
        ({"identity_parameters": ["typo"]}, "line 1: identity_parameters[0]"),
        ({"identity_parameters": [1]}, "line 1: identity_parameters[0]"),
        ({"parameters": []}, "line 1: parameters"),
        ({"name": 5}, "line 1: name"),
    ],
)
def test_wrong_fields(fail, change, position):
    assert fail([{**ROW, "server": "x", **change}], "r.jsonl").position == position


def test_broken_line_is_named(fail):
    error = fail(json.dumps(ROW) + '\n\n{"name": "b", ', "r.jsonl")
    assert error.position == "line 3, column 15"
    error = fail(json.dumps(ROW) + " " + json.dumps(ROW), "r.jsonl")
    assert error.position.startswith("line 1, column ")


def test_lines_under_a_json_name_and_json_under_a_lines_name(read):
    rows = [ROW, {**ROW, "name": "b"}]
    text = "\n".join(json.dumps(row) for row in rows)
    assert read(text, "r.json").format == "jsonl"
    assert read(json.dumps({"tools": [MCP]}, indent=2), "r.jsonl").format == "mcp"


def test_line_separator_inside_a_text(read):
    text = json.dumps({**ROW, "description": "a\u2028b\u0085c"}, ensure_ascii=False)
    assert read(text, "r.jsonl").tools[0].description == "a\u2028b\u0085c"


def test_map_of_servers(write):
    servers = {"alpha": {"tools": [MCP]}, "beta": {"tools": [MCP], "title": "Beta"}}
    for content in (servers, {"mcpServers": servers}, {"servers": servers}):
        result = read_exports([write(content)])
        assert names(result) == {"alpha": ["a"], "beta": ["a"]}
        assert result.exports[1].title == "Beta"


def test_map_of_lists_and_list_of_servers(write):
    assert names(read_exports([write({"alpha": [MCP]})])) == {"alpha": ["a"]}
    listed = [{"server": "alpha", "tools": [MCP]}, {"name": "beta", "tools": [MCP]}]
    assert names(read_exports([write(listed)])) == {"alpha": ["a"], "beta": ["a"]}
    assert names(read_exports([write({"servers": listed})])) == {"alpha": ["a"], "beta": ["a"]}


def test_map_with_formats_of_their_own(write):
    content = {"a": {"tools": [MCP]}, "b": {"tools": [{"name": "x", "input_schema": {}}]}}
    result = read_exports([write(content)])
    assert [export.format for export in result.exports] == ["mcp", "anthropic"]


def test_map_with_a_server_without_tools(write):
    content = {"a": {"type": "stdio", "tools": [MCP]}, "b": {"command": "npx"}}
    (export,) = read_exports([write(content)]).exports
    assert export.server == "a"
    assert "b: this server lists no tools" in export.warnings[0]


def test_record_that_quotes_tools_is_no_map(fail):
    record = {"query": "Book it", "candidates": [MCP]}
    assert "'query', 'candidates'" in fail(record).message
    assert "no tool" in fail([record, record], "log.jsonl").message


def test_configuration_of_servers_is_no_export(fail):
    error = fail({"mcpServers": {"a": {"command": "npx", "args": ["server"]}}})
    assert "not their tools" in error.message


def test_position_in_a_map(fail):
    error = fail({"my server": {"tools": [MCP, {"name": 5, "inputSchema": {}}]}})
    assert error.position == "'my server'.tools[1].name"
