"""OpenAI, Anthropic and LangChain."""

from __future__ import annotations

import pytest

from tool_rag_pg.sources import read_exports


def one(path):
    result = read_exports([path])
    assert result.errors == ()
    (export,) = result.exports
    return export


def test_openai_chat(fixtures):
    export = one(fixtures / "openai-chat.json")
    assert export.format == "openai"
    book, hours = export.tools
    assert book.name == "book_table"
    assert book.description == "Book a table in a restaurant"
    assert book.input_schema["required"] == ["people"]
    assert hours.input_schema == {"type": "object", "properties": {}}


def test_openai_responses_leaves_out_what_the_provider_runs(fixtures):
    export = one(fixtures / "openai-responses.json")
    assert export.format == "openai"
    assert [tool.name for tool in export.tools] == ["book_table"]
    assert [
        kind in text
        for kind, text in zip(("web_search", "namespace", "custom"), export.warnings, strict=True)
    ] == [True, True, True]
    assert "tools[2]" in export.warnings[1]


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: {"functions": f}, lambda f: {"tools": f}])
def test_old_functions(read, wrap):
    functions = [{"name": "a", "description": "b", "parameters": {"type": "object"}}]
    export = read(wrap(functions))
    assert (export.format, export.tools[0].name) == ("openai", "a")


def test_functions_without_parameters(read):
    export = read({"functions": [{"name": "a", "description": "b"}]})
    assert export.format == "openai"


def test_positions_inside_a_function(fail):
    error = fail({"tools": [{"type": "function", "function": {"name": 1}}]})
    assert error.position == "tools[0].function.name"


def test_only_tools_of_the_provider(fail):
    assert "no tools" in fail({"tools": [{"type": "web_search"}]}).message
    assert "no tools" in fail([{"type": "bash_20250124", "name": "bash"}]).message


def test_record_of_calls_is_no_export(fail):
    call = {"type": "function", "function": {"name": "a", "arguments": "{}"}}
    assert "no tool" in fail([call]).message
    assert "no tool" in fail([{"name": "a", "args": {"city": "Rome"}, "id": "1"}]).message


def test_anthropic(fixtures):
    export = one(fixtures / "anthropic.json")
    assert export.format == "anthropic"
    assert [tool.name for tool in export.tools] == ["get_invoice", "ping"]
    assert export.tools[0].input_schema["required"] == ["number"]
    (warning,) = export.warnings
    assert "tools[1]" in warning
    assert "web_search_20250305" in warning


def test_anthropic_bare_list(read):
    export = read([{"name": "a", "description": "", "input_schema": {"type": "object"}}])
    assert (export.format, export.tools[0].description) == ("anthropic", "")


def test_langchain(fixtures):
    export = one(fixtures / "langchain.json")
    assert export.format == "langchain"
    multiply, search = export.tools
    assert multiply.title == "Multiplication"
    assert multiply.annotations == {"readOnlyHint": True}
    assert multiply.input_schema["required"] == ["a", "b"]
    assert search.input_schema == {
        "type": "object",
        "properties": {
            "query": {"title": "Query", "type": "string"},
            "limit": {"title": "Limit", "type": "integer", "default": 5},
        },
        "required": ["query"],
    }


def test_langchain_tool_without_arguments(read):
    export = read([{"name": "a", "description": "b", "args_schema": None}])
    assert export.format == "langchain"
    assert export.tools[0].input_schema == {"type": "object", "properties": {}}
    export = read([{"name": "a", "description": "b", "args": {}}])
    assert export.tools[0].input_schema == {"type": "object", "properties": {}}


def test_langchain_class_instead_of_schema(fail):
    error = fail([{"name": "a", "description": "b", "args_schema": "<class 'A'>"}])
    assert error.position == "[0].args_schema"
    assert "model_json_schema" in error.hint
    error = fail([{"name": "a", "description": "b", "args": {"q": "string"}}])
    assert error.position == "[0].args.q"


def test_mixed_formats_name_both_places(fail):
    error = fail([{"name": "a", "inputSchema": {}}, {"name": "b", "input_schema": {}}])
    assert error.position == "[1]"
    assert "[0]" in error.message
    assert "--format" in error.hint


def test_forced_format_refuses_a_foreign_key(fail):
    error = fail([{"name": "a", "input_schema": {"type": "object"}}], format="mcp")
    assert error.position == "[0].input_schema"
    assert "'inputSchema'" in error.message


def test_forced_format_reads_what_has_no_schema(read):
    export = read([{"name": "a", "description": "b"}], format="anthropic")
    assert (export.format, export.tools[0].name) == ("anthropic", "a")
