from __future__ import annotations

import copy
import itertools
import json

import jsonschema
import pytest
import yaml

from tool_rag_pg.sources import read_exports
from tool_rag_pg.sources.openapi_inputs import MAX_INPUT_SCHEMAS

OK = {"200": {"description": "Done"}}


def spec(paths, **rest):
    return {"openapi": "3.0.3", "info": {"title": "T", "version": "1"}, "paths": paths, **rest}


def body(schema, **rest):
    content = {"application/json": {"schema": schema}}
    return {"operationId": "op", "requestBody": {"content": content, **rest}, "responses": OK}


@pytest.fixture
def library(fixtures):
    result = read_exports([fixtures / "library.yaml"])
    assert result.errors == ()
    (export,) = result.exports
    return export


@pytest.fixture
def tools(library):
    return {tool.name: tool for tool in library.tools}


@pytest.fixture
def only(read):
    """Return the one tool of a description with one POST operation."""

    def only_tool(operation, **rest):
        (tool,) = read(spec({"/x": {"post": operation}}, **rest)).tools
        return tool

    return only_tool


def test_server(library):
    assert (library.server, library.format) == ("library", "openapi")
    assert library.title == "City library"
    assert library.description == "Books, members and loans."


def test_names_titles_descriptions(tools):
    assert list(tools) == [
        "searchBooks",
        "addBook",
        "replaceBook",
        "delete_books_id",
        "setPhoto",
        "lend",
    ]
    search = tools["searchBooks"]
    assert search.title == "Search books"
    assert search.description == ("Search books\n\nFinds books by words of their title or author.")
    assert (tools["delete_books_id"].title, tools["delete_books_id"].description) == (
        None,
        "Remove a book",
    )
    assert (tools["addBook"].title, tools["addBook"].description) == (None, "Adds a book")
    assert tools["lend"].description == ""


def test_parameters_of_path_and_operation(tools):
    schema = tools["searchBooks"].input_schema
    assert schema == {
        "type": "object",
        "properties": {
            "lang": {"type": "string", "description": "Two letters"},
            "q": {"type": "string", "description": "Words of the title"},
            "filter": {
                "type": "object",
                "properties": {"limit": {"type": "integer", "maximum": 50}},
            },
        },
        "required": ["lang", "q"],
    }


def test_body_is_flattened_with_its_references(tools, library):
    schema = tools["addBook"].input_schema
    assert schema["required"] == ["name", "genre"]
    assert list(schema["properties"]) == ["lang", "name", "genre", "sequel", "cover", "lost"]
    assert schema["properties"]["genre"]["enum"] == ["novel", "poetry"]
    assert schema["properties"]["name"]["description"] == "Title of the book"
    sequel = schema["properties"]["sequel"]
    assert sequel["description"] == "The book that follows"
    # A book's sequel is a book: described, and not opened again.
    assert sequel["properties"]["sequel"] == {}
    assert "id" not in sequel["properties"]
    assert schema["properties"]["cover"] == {}
    warnings = "\n".join(library.warnings)
    assert "POST /books: a reference that leaves the file was not followed" in warnings
    assert "POST /books: a reference that points at nothing was left out" in warnings


def test_body_that_clashes_with_a_parameter(tools):
    schema = tools["replaceBook"].input_schema
    assert list(schema["properties"]) == ["id", "body"]
    assert schema["properties"]["body"]["description"] == "The new book"
    assert list(schema["properties"]["body"]["properties"]) == ["id", "name"]
    assert schema["required"] == ["id"]


def test_body_that_is_no_json_and_two_parameters_of_one_name(tools, library):
    schema = tools["setPhoto"].input_schema
    assert schema["properties"]["body"] == {"type": "string", "description": "The picture"}
    assert list(schema["properties"]) == ["id", "query_id", "body"]
    assert schema["required"] == ["id", "body"]
    assert any("'query_id'" in warning for warning in library.warnings)


def test_form(tools):
    assert tools["lend"].input_schema == {
        "type": "object",
        "properties": {
            "book": {"type": "integer", "examples": [17]},
            "days": {"type": ["integer", "null"]},
        },
        "required": ["book"],
    }


def test_actions_and_annotations(tools, library):
    assert tools["searchBooks"].is_action is False
    assert tools["addBook"].is_action is True
    delete = tools["delete_books_id"]
    assert delete.is_action is True
    assert delete.annotations == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "deprecated": True,
    }
    assert tools["addBook"].annotations["idempotentHint"] is False
    assert tools["replaceBook"].annotations["idempotentHint"] is True
    assert any("DELETE /books/{id}: the operation is dep" in text for text in library.warnings)


def test_output_schema(tools):
    output = tools["searchBooks"].output_schema
    book = output["properties"]["books"]["items"]
    assert list(book["properties"]) == ["id", "name", "sequel"]
    assert tools["addBook"].output_schema is None


def test_swagger_2(fixtures):
    (export,) = read_exports([fixtures / "swagger2.json"]).exports
    tools = {tool.name: tool for tool in export.tools}
    assert list(tools) == ["send", "head_parcels", "upload_label"]
    assert tools["send"].input_schema == {
        "type": "object",
        "properties": {
            "token": {"type": "string"},
            "weight": {"type": "number", "exclusiveMinimum": 0},
            "insured": {"type": "boolean", "default": False},
        },
        "required": ["weight"],
    }
    assert tools["send"].output_schema["properties"]["weight"]["type"] == "number"
    assert tools["head_parcels"].is_action is False
    assert tools["upload_label"].input_schema == {
        "type": "object",
        "properties": {
            "label": {"type": "string", "format": "binary"},
            "size": {"type": "string", "enum": ["S", "L"]},
        },
        "required": ["label"],
    }


def test_yaml_and_json_give_the_same(fixtures, read, library):
    text = (fixtures / "swagger2.json").read_text(encoding="utf-8")
    as_yaml = yaml.safe_dump(json.loads(text), sort_keys=False)
    assert read(as_yaml, "p.yaml").tools == read(text, "p.json").tools


def test_every_schema_is_valid_json_schema(fixtures):
    result = read_exports([fixtures / "library.yaml", fixtures / "swagger2.json"])
    for export in result.exports:
        for tool in export.tools:
            jsonschema.Draft202012Validator.check_schema(dict(tool.input_schema))


def test_keywords_of_older_versions(only):
    tool = only(
        body(
            {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "nullable": True, "x-secret": 1, "xml": {}},
                    "b": {"type": "integer", "maximum": 9, "exclusiveMaximum": False},
                    "x-kept": {"type": "string", "required": True},
                    "c": {"items": [{"type": "string"}], "example": {"big": 1}},
                },
                "required": "a",
            }
        )
    )
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"type": "integer", "maximum": 9},
            "x-kept": {"type": "string"},
            "c": {"prefixItems": [{"type": "string"}]},
        },
    }


def test_body_of_alternatives_stays_one_argument(only):
    tool = only(body({"oneOf": [{"type": "string"}, {"type": "object"}]}, required=True))
    assert list(tool.input_schema["properties"]) == ["body"]
    assert tool.input_schema["required"] == ["body"]


def test_parts_that_contradict_each_other_are_not_merged(only):
    parts = [
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "integer"}}},
    ]
    tool = only(body({"allOf": parts}))
    assert len(tool.input_schema["properties"]["body"]["allOf"]) == 2


def test_reference_for_body_response_and_path(read):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    content = {"content": {"application/vnd.x+json; charset=utf-8": {"schema": schema}}}
    operation = {
        "operationId": "op",
        "requestBody": {"$ref": "#/components/requestBodies/B"},
        "responses": {"2XX": {"$ref": "#/components/responses/R"}},
    }
    paths = {"/a~b": {"$ref": "#/components/pathItems/P"}, "x-note": "not a path"}
    components = {
        "requestBodies": {"B": content},
        "responses": {"R": content},
        "pathItems": {"P": {"post": operation}},
    }
    (tool,) = read(spec(paths, components=components)).tools
    assert tool.input_schema == schema
    assert tool.output_schema == schema


def test_references_that_run_in_a_circle(read):
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    paths = {
        "/x": {"post": body({"$ref": "#/components/schemas/A"})},
        "/y": {"$ref": "#/paths/~1y"},
    }
    export = read(spec(paths, components={"schemas": schemas}))
    assert export.tools[0].input_schema["properties"] == {
        "body": {"description": "Body, application/json"}
    }
    assert any("leads back to itself" in warning for warning in export.warnings)


def test_recursion_through_several_schemas(only):
    schemas = {
        "Folder": {
            "type": "object",
            "description": "A folder",
            "properties": {
                "files": {"type": "array", "items": {"$ref": "#/components/schemas/File"}}
            },
        },
        "File": {
            "type": "object",
            "properties": {"parent": {"$ref": "#/components/schemas/Folder"}},
        },
    }
    tool = only(body({"$ref": "#/components/schemas/Folder"}), components={"schemas": schemas})
    parent = tool.input_schema["properties"]["files"]["items"]["properties"]["parent"]
    assert parent["type"] == "object"
    assert parent["description"] == "A folder"
    assert len(json.dumps(tool.input_schema)) < 1_000


def test_huge_schema_is_cut_evenly(read):
    levels = 12
    schemas = {
        f"L{level}": {
            "type": "object",
            "description": f"Level {level}",
            "properties": {
                f"p{n}": {"$ref": f"#/components/schemas/L{level + 1}"} for n in range(10)
            },
        }
        for level in range(levels)
    }
    schemas[f"L{levels}"] = {"type": "string"}
    export = read(
        spec(
            {"/x": {"post": body({"$ref": "#/components/schemas/L0"})}},
            components={"schemas": schemas},
        )
    )
    (tool,) = export.tools
    assert "very large" in export.warnings[0]
    properties = tool.input_schema["properties"]
    assert all(len(properties[f"p{n}"]["properties"]) == 10 for n in range(10))
    text = json.dumps(tool.input_schema)
    assert text.count('"description"') < MAX_INPUT_SCHEMAS * 11
    assert len(text) < 150_000


def test_chain_of_thousands_of_references_and_nested_allof(only):
    names = [f"S{n}" for n in range(3_000)]
    schemas = {
        name: {"allOf": [{"$ref": f"#/components/schemas/{after}"}, {"type": "object"}]}
        for name, after in itertools.pairwise(names)
    }
    schemas[names[-1]] = {"type": "object"}
    tool = only(body({"$ref": "#/components/schemas/S0"}), components={"schemas": schemas})
    assert tool.name == "op"


def test_names_made_from_paths_do_not_collide(read):
    paths = {"/a/{b}": {"get": {}}, "/a/b": {"get": {}}, "/": {"get": {}}}
    export = read(spec(paths))
    assert [tool.name for tool in export.tools] == ["get_a_b", "get_a_b_2", "get"]
    assert "GET /a/b" in export.warnings[0]


def test_generated_name_never_takes_an_operation_id(read):
    export = read(spec({"/a": {"get": {}}, "/b": {"get": {"operationId": "get_a"}}}))
    assert [tool.name for tool in export.tools] == ["get_a_2", "get_a"]


def test_one_operation_id_twice(fail):
    error = fail(spec({"/a": {"get": {"operationId": "x"}}, "/b": {"put": {"operationId": "x"}}}))
    assert error.position == "PUT /b"
    assert "GET /a" in error.message


@pytest.mark.parametrize(
    ("version", "good"),
    [
        ({"openapi": "3.0.0"}, True),
        ({"openapi": 3.1}, True),
        ({"swagger": 2.0}, True),
        ({"swagger": "2.0"}, True),
        ({"swagger": "1.2"}, False),
        ({"openapi": "4.0.0"}, False),
    ],
)
def test_versions(write, version, good):
    path = write({**version, "info": {}, "paths": {"/a": {"get": {}}}})
    result = read_exports([path])
    assert bool(result.exports) is good
    assert good or "version" in result.errors[0].message


@pytest.mark.parametrize(
    ("paths", "position"),
    [
        ([], "paths"),
        ({"/a": 5}, "paths./a"),
        ({"/a": {"get": []}}, "GET /a"),
        ({"/a": {"get": {"operationId": 5}}}, "GET /a.operationId"),
        ({"/a": {"get": {"operationId": ""}}}, "GET /a.operationId"),
        ({"/a": {"get": {"parameters": {}}}}, "GET /a.parameters"),
        ({"/a": {"get": {"parameters": [{"in": "query"}]}}}, "GET /a.parameters[0]"),
        ({"/a": {"post": {"requestBody": []}}}, "POST /a.requestBody"),
        ({"/a": {"post": {"requestBody": {"content": 1}}}}, "POST /a.requestBody"),
        ({"/" + "a" * 300: {"get": {}}}, "GET /" + "a" * 300 + ".operationId"),
    ],
)
def test_wrong_shapes(fail, paths, position):
    assert fail(spec(paths)).position == position


def test_description_without_operations(fail):
    assert "no tools" in fail(spec({})).message
    assert "no tools" in fail({"openapi": "3.1.0", "info": {}}).message


def test_reading_leaves_no_trace_in_shared_schemas(fixtures, write):
    document = json.loads((fixtures / "swagger2.json").read_text(encoding="utf-8"))
    twice = copy.deepcopy(document)
    twice["paths"]["/again"] = {"post": {**document["paths"]["/parcels"]["post"]}}
    twice["paths"]["/again"]["post"]["operationId"] = "again"
    tools = {t.name: t for t in read_exports([write(twice)]).exports[0].tools}
    assert tools["send"].input_schema == tools["again"].input_schema


def test_forced_format(fail):
    assert "neither an 'openapi'" in fail([{"name": "a"}], format="openapi").message
