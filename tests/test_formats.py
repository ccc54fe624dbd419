"""What is rendered keeps each provider's published rules, and comes back as it was.

The rules stand here as schemas and checks of their own, from the documents that `_dialects.py`,
`_gemini_schema.py`, `_openai_strict.py` and `_provider_names.py` name.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tool_rag_pg._schemas import canonical
from tool_rag_pg.demo import DEMO_FOLDER, read_folder
from tool_rag_pg.errors import InvalidArgument
from tool_rag_pg.formats import (
    Rendered,
    provider_names,
    to_anthropic,
    to_anthropic_tool_references,
    to_gemini,
    to_mcp,
    to_openai_chat,
    to_openai_responses,
    to_openai_tool_search_output,
)
from tool_rag_pg.models import ToolHit
from tool_rag_pg.sources import read_exports

NAME = {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"}
ROOT = {
    "type": "object",
    "required": ["type", "properties"],
    "properties": {"type": {"const": "object"}, "properties": {"type": "object"}},
    "not": {"anyOf": [{"required": [k]} for k in ("oneOf", "anyOf", "allOf", "enum", "not")]},
}
OPENAI_FUNCTION = {
    "type": "object",
    "required": ["name", "parameters", "strict"],
    "properties": {
        "type": {"const": "function"},
        "name": NAME,
        "description": {"type": "string", "minLength": 1, "maxLength": 1024},
        "parameters": ROOT,
        "strict": {"type": "boolean"},
        "defer_loading": {"const": True},
    },
    "additionalProperties": False,
}
OPENAI_CHAT = {
    "type": "object",
    "required": ["type", "function"],
    "properties": {"type": {"const": "function"}, "function": OPENAI_FUNCTION},
    "additionalProperties": False,
}
TOOL_SEARCH_OUTPUT = {
    "type": "object",
    "required": ["type", "execution", "call_id", "status", "tools"],
    "properties": {
        "type": {"const": "tool_search_output"},
        "execution": {"const": "client"},
        "call_id": {"type": "string"},
        "status": {"const": "completed"},
        "tools": {"items": {**OPENAI_FUNCTION, "required": ["type", "defer_loading"]}},
    },
    "additionalProperties": False,
}
# "Self-hosted sandboxes": no union at the top level, no reference keywords; names of properties.
ANTHROPIC_TOOL = {
    "type": "object",
    "required": ["name", "description", "input_schema"],
    "properties": {
        "name": NAME,
        "description": {"type": "string", "minLength": 1},
        "input_schema": ROOT,
        "defer_loading": {"const": True},
    },
    "additionalProperties": False,
}
TOOL_REFERENCE = {
    "type": "object",
    "required": ["type", "tool_name"],
    "properties": {"type": {"const": "tool_reference"}, "tool_name": NAME},
    "additionalProperties": False,
}
COUNT = {"type": "integer", "minimum": 0}
GEMINI_TOOL = {
    "$defs": {
        "texts": {"description": {"type": "string"}, "nullable": {"const": True}},
        "schema": {
            "type": "object",
            "oneOf": [
                {
                    "required": ["anyOf"],
                    "properties": {"anyOf": {"minItems": 2, "items": {"$ref": "#/$defs/schema"}}},
                    "additionalProperties": False,
                },
                {
                    "required": ["type", "properties"],
                    "properties": {
                        "type": {"const": "OBJECT"},
                        "properties": {
                            "minProperties": 1,
                            "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]{0,63}$"},
                            "additionalProperties": {"$ref": "#/$defs/schema"},
                        },
                        "required": {"items": {"type": "string"}, "minItems": 1},
                        "minProperties": COUNT,
                        "maxProperties": COUNT,
                        "description": {"type": "string"},
                        "nullable": {"const": True},
                    },
                    "additionalProperties": False,
                },
                {
                    "required": ["type", "items"],
                    "properties": {
                        "type": {"const": "ARRAY"},
                        "items": {"$ref": "#/$defs/schema"},
                        "minItems": COUNT,
                        "maxItems": COUNT,
                        "description": {"type": "string"},
                        "nullable": {"const": True},
                    },
                    "additionalProperties": False,
                },
                {
                    "required": ["type"],
                    "properties": {
                        "type": {"const": "STRING"},
                        "enum": {"minItems": 1, "items": {"type": "string", "minLength": 1}},
                        "format": {"enum": ["enum", "date-time"]},
                        "pattern": {"type": "string"},
                        "minLength": COUNT,
                        "maxLength": COUNT,
                        "description": {"type": "string"},
                        "nullable": {"const": True},
                    },
                    "additionalProperties": False,
                },
                {
                    "required": ["type"],
                    "properties": {
                        "type": {"enum": ["NUMBER", "INTEGER", "BOOLEAN"]},
                        "format": {"enum": ["float", "double", "int32", "int64"]},
                        "minimum": {"type": "number"},
                        "maximum": {"type": "number"},
                        "description": {"type": "string"},
                        "nullable": {"const": True},
                    },
                    "additionalProperties": False,
                },
            ],
        },
    },
    "type": "object",
    "required": ["functionDeclarations"],
    "properties": {
        "functionDeclarations": {
            "minItems": 1,
            "items": {
                "required": ["name", "description"],
                "properties": {
                    "name": {"type": "string", "pattern": "^[a-zA-Z_][a-zA-Z0-9_.-]{0,62}$"},
                    "description": {"type": "string", "minLength": 1},
                    "parameters": {"$ref": "#/$defs/schema"},
                },
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}
MCP_TOOL = {
    "type": "object",
    "required": ["name", "inputSchema"],
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "inputSchema": {"required": ["type"], "properties": {"type": {"const": "object"}}},
        "annotations": {"properties": {"readOnlyHint": {"type": "boolean"}}},
    },
    "additionalProperties": False,
}
STRICT_KEYWORDS = {
    *("type", "description", "enum", "const", "pattern", "format", "multipleOf", "minimum"),
    *("maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "items"),
    *("anyOf", "properties", "required", "additionalProperties"),
}


def tool(schema: Any = None, *, server: str = "shop", name: str = "buy", **values: Any) -> ToolHit:
    known = {
        "rank": 1,
        "server": server,
        "name": name,
        "description": "Buy something.",
        "input_schema": schema or {"type": "object", "properties": {}},
        "is_action": True,
        "score": 1.0,
        "tokens": 10,
        **values,
    }
    return ToolHit(**{column.name: known.get(column.name) for column in fields(ToolHit)})


def args(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All schemas in a schema, where schemas stand."""
    yield schema
    for key in ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"):
        for member in schema.get(key, {}).values():
            yield from nodes(member)
    for key in ("items", "additionalProperties", "propertyNames", "not", "contains"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key])
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for member in schema.get(key, []):
            yield from nodes(member)


def check_openai(parameters: dict[str, Any], *, strict: bool) -> None:
    Draft202012Validator.check_schema(parameters)
    for node in nodes(parameters):
        types = [node["type"]] if isinstance(node.get("type"), str) else node.get("type", [])
        if "array" in types:
            assert isinstance(node.get("items"), dict)
        if strict:
            assert node.keys() <= STRICT_KEYWORDS
            assert types or "anyOf" in node
            assert node.get("format", "date") in {"date-time", "date", "email", "uuid"}
            if "object" in types:
                assert node["additionalProperties"] is False
                assert node["required"] == list(node["properties"])
            if "const" not in node and "enum" in node and None in node["enum"]:
                assert "null" in types


def check_anthropic(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    for node in nodes(schema):
        assert not any(key.startswith("$") for key in node)
        for name in node.get("properties", {}):
            assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name)


def check_gemini(declaration: dict[str, Any]) -> None:
    def required_are_defined(schema: dict[str, Any]) -> None:
        assert set(schema.get("required", [])) <= set(schema.get("properties", {}))
        for member in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
            required_are_defined(member)
        if "items" in schema:
            required_are_defined(schema["items"])

    required_are_defined(declaration.get("parameters", {}))


def check_all(hits: list[ToolHit]) -> None:
    """Render for every provider and hold the result against its rules."""
    wanted = {(hit.server, hit.name) for hit in hits}

    def check(rule: dict[str, Any], rendered: Rendered) -> Rendered:
        for each in rendered.tools:
            Draft202012Validator(rule).validate(each)
        assert set(rendered.names.values()) == wanted
        assert {rendered.resolve(name) for name in rendered.names} == wanted
        assert json.loads(json.dumps(rendered.tools)) == rendered.tools
        return rendered

    for strict in (False, True):
        for made in check(OPENAI_CHAT, to_openai_chat(hits, strict=strict)).tools:
            function = made["function"]
            check_openai(function["parameters"], strict=function["strict"])
        check(OPENAI_FUNCTION, to_openai_responses(hits, strict=strict))
    found = check(TOOL_SEARCH_OUTPUT, to_openai_tool_search_output(hits, call_id="call_1"))
    assert [each["name"] for each in found.tools[0]["tools"]] == list(found.names)
    for made in check(ANTHROPIC_TOOL, to_anthropic(hits, defer_loading=True)).tools:
        check_anthropic(made["input_schema"])
    check(TOOL_REFERENCE, to_anthropic_tool_references(hits))
    for declaration in check(GEMINI_TOOL, to_gemini(hits)).tools[0]["functionDeclarations"]:
        check_gemini(declaration)
    check(MCP_TOOL, to_mcp(hits))


def openai(schema: Any, **options: Any) -> dict[str, Any]:
    return to_openai_responses([tool(schema)], **options).tools[0]


def gemini(schema: Any) -> dict[str, Any]:
    declaration: dict[str, Any] = to_gemini([tool(schema)]).tools[0]["functionDeclarations"][0]
    parameters: dict[str, Any] = declaration["parameters"]
    return parameters


# The rules


def test_the_demo_company_s_tools_keep_the_rules() -> None:
    exports = read_folder(DEMO_FOLDER).exports
    hits = [
        tool(t.input_schema, server=e.server, name=t.name, description=t.description)
        for e in exports
        for t in e.tools
    ]
    assert len(hits) > 150
    check_all(hits)
    assert to_openai_responses(hits, strict=True).notes == ()


def test_exports_of_every_format_keep_the_rules() -> None:
    result = read_exports([Path(__file__).parent / "sources" / "fixtures"])
    hits = [
        tool(t.input_schema, server=e.server, name=t.name, description=t.description)
        for e in result.exports
        for t in e.tools
    ]
    assert len(hits) > 10
    check_all(hits)


NAMES = st.text(min_size=1, max_size=80)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.sampled_from(["", "a", "b", "1", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


class Messy:
    """Draws schemas as servers publish them, of all drafts at once; quicker than strategies do."""

    TYPES = (*("string", "number", "integer", "boolean", "object", "array", "null", "any", 3),)
    NAMES = (*("a", "b", "a b", "$top", "größe", "店", "x" * 70, "1st", "_", "", "filter[id]"),)
    VALUES = (None, True, 0, 1.5, "", "a", "b", {"a": 1}, [1], "{}")

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def schema(self, depth: int = 3) -> Any:
        if self.random.random() < 0.1:
            return self.random.choice([True, False, {}, {}, "string", None])
        keys = self.random.sample(sorted(self.makers()), self.random.randint(1, 5))
        return {key: self.makers()[key](depth - 1) for key in keys if depth or key in LEAVES}

    def makers(self) -> dict[str, Callable[[int], Any]]:
        choose = self.random.choice
        values = self.several(lambda _: choose(self.VALUES))
        members = self.members(self.schema)
        return {
            **{"type": lambda _: choose([choose(self.TYPES), [choose(self.TYPES), "null"]])},
            **{key: lambda _: choose(self.VALUES) for key in ("const", "default", "example")},
            **{key: lambda _: choose(["some text", "", 7]) for key in ("description", "title")},
            **{key: lambda _: choose([True, False, 2]) for key in ("nullable", "uniqueItems")},
            **{key: lambda _: choose([-1, 0, 2, 2.0, "1", None, True]) for key in BOUNDS},
            **{key: self.several(self.schema) for key in ("anyOf", "oneOf", "allOf")},
            **{key: members for key in ("properties", "$defs", "dependencies")},
            **{key: self.schema for key in ("items", "additionalProperties", "not", "if", "then")},
            "enum": values,
            "required": lambda _: choose([True, [choose(self.NAMES)], "a"]),
            "format": lambda _: choose(["date", "date-time", "int64", "uri", 7]),
            "pattern": lambda _: choose(["^a+$", "(?=x)", 3]),
            "patternProperties": self.members(self.schema),
            "prefixItems": self.several(self.schema),
            "$ref": lambda _: choose(["#", "#/$defs/a", "https://x.test/y", "#/none/0"]),
            "x-order": lambda _: 1,
        }

    def several(self, make: Callable[[int], Any]) -> Callable[[int], Any]:
        return lambda depth: [make(depth) for _ in range(self.random.randint(0, 3))]

    def members(self, make: Callable[[int], Any]) -> Callable[[int], Any]:
        return lambda depth: {
            self.random.choice(self.NAMES): make(depth) for _ in range(self.random.randint(0, 3))
        }


BOUNDS = (*("minLength", "maxItems", "minimum", "maximum", "exclusiveMinimum", "multipleOf"),)
LEAVES = {*BOUNDS, "type", "const", "enum", "description", "format", "pattern", "$ref", "default"}


@given(st.integers(0, 2**63), st.booleans())
@settings(max_examples=150)
def test_any_schema_keeps_the_rules(seed: int, is_object: bool) -> None:
    messy = Messy(seed)
    schemas = [messy.schema(), messy.schema()]
    schemas = [schema if isinstance(schema, dict) else {} for schema in schemas]
    if is_object:
        schemas = [{**s, "type": "object", "properties": {"a": s, "b c": s}} for s in schemas]
    check_all([tool(schema, name=f"tool_{n}") for n, schema in enumerate(schemas)])


SOUND = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "object", "array", "null"]),
            "enum": st.lists(JSON, min_size=1, max_size=3),
            "minimum": st.integers(0, 3),
            "maxLength": st.integers(0, 2),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": inner | st.booleans(),
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.none() | st.integers(-2, 5) | st.sampled_from(["", "a", "abc"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(SOUND, VALUES)
@settings(max_examples=300)
def test_what_a_schema_takes_its_canonical_form_takes(schema: dict[str, Any], value: Any) -> None:
    original = {"type": "object", "properties": {"value": schema}}
    if Draft202012Validator(original).is_valid({"value": value}):
        assert Draft202012Validator(canonical(original)).is_valid({"value": value})


def test_a_recursive_schema_ends() -> None:
    tree = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {
                    "label": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                },
                "required": ["label"],
            }
        },
    }
    check_all([tool(tree)])
    made = to_anthropic([tool(tree)]).tools[0]["input_schema"]
    child = made["properties"]["children"]["items"]
    assert child["properties"]["label"] == {"type": "string"}
    assert child["properties"]["children"]["items"] == {"type": "object"}
    assert to_openai_responses([tool(tree)], strict=True).notes == (
        "shop__buy goes without strict mode: it has an object of any keys",
    )


def test_references_that_multiply_are_bounded() -> None:
    layers = {
        f"l{n}": args(**{f"p{i}": {"$ref": f"#/$defs/l{n + 1}"} for i in range(10)})
        for n in range(9)
    }
    schema = {"$ref": "#/$defs/l0", "$defs": {**layers, "l9": {"type": "string"}}}
    check_all([tool(schema)])
    assert len(json.dumps(canonical(schema))) < 2_000_000


def test_old_drafts_are_read() -> None:
    made = canonical(
        args(
            id={"type": "string", "required": True},
            price={"type": "number", "minimum": 0, "exclusiveMinimum": True, "nullable": True},
            pair={"type": "array", "items": [{"type": "string"}], "additionalItems": False},
            gone=False,
        )
    )
    assert made == {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string"},
            "price": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        },
    }


def test_unions_at_the_root_are_merged() -> None:
    def kind(value: str, **properties: Any) -> dict[str, Any]:
        return {
            **args(kind={"const": value}, **properties),
            "required": ["kind", *properties],
        }

    text = {"type": "string"}
    schema = {"oneOf": [kind("mail", address=text), kind("post", street=text)]}
    check_all([tool(schema)])
    assert canonical(schema) == {
        "type": "object",
        "properties": {"kind": {"enum": ["mail", "post"]}, "address": text, "street": text},
        "required": ["kind"],
        "description": "Required is one of these: address; or street.",
    }


def test_all_of_at_the_root_is_merged() -> None:
    base = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    schema = {
        "allOf": [{"$ref": "#/$defs/base"}, args(note={"type": "string"})],
        "$defs": {"base": base},
    }
    made = canonical(schema)
    assert list(made["properties"]) == ["note", "id"] or list(made["properties"]) == ["id", "note"]
    assert made["required"] == ["id"]


# OpenAI


def test_an_openai_array_says_what_it_holds() -> None:
    made = openai(args(tags={"type": "array"}, pair={"type": ["array", "null"]}))
    assert made["parameters"]["properties"]["tags"] == {"type": "array", "items": {}}
    assert made["strict"] is False


def test_strict_mode_closes_objects_and_requires_all_they_name() -> None:
    schema = {
        **args(
            query={"type": "string", "minLength": 1, "default": "x"},
            limit={"type": "integer", "minimum": 1},
            sort={"enum": ["up", "down"]},
        ),
        "required": ["query"],
    }
    made = openai(schema, strict=True)
    assert made["strict"] is True
    assert made["parameters"] == {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": ["integer", "null"], "minimum": 1},
            "sort": {"type": ["string", "null"], "enum": ["up", "down", None]},
        },
        "required": ["query", "limit", "sort"],
        "additionalProperties": False,
    }


def test_nulls_that_only_strict_mode_asks_for_are_left_out() -> None:
    schema = {
        **args(
            query={"type": "string"},
            limit={"type": "integer"},
            parent={"type": ["string", "null"]},
            lines={"type": "array", "items": {**args(a={"type": "string"}, b={"type": "number"})}},
        ),
        "required": ["query"],
    }
    rendered = to_openai_chat([tool(schema)], strict=True)
    written = {
        "query": "x",
        "limit": None,
        "parent": None,
        "lines": [{"a": "y", "b": None}],
    }
    assert rendered.restore_arguments("shop__buy", written) == {
        "query": "x",
        "parent": None,
        "lines": [{"a": "y"}],
    }
    plain = to_openai_chat([tool(schema)])
    assert plain.restore_arguments("shop__buy", json.dumps(written)) == written


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (args(data={"type": "object"}), "it has an object of any keys"),
        (args(data={}), "it allows any value somewhere"),
        ({**args(), "additionalProperties": {"type": "string"}}, "it has an object of any keys"),
        (args(list={"type": "array"}), "it has an array that does not say what it holds"),
        ({**args(), "required": ["ghost"]}, "it requires 'ghost', which it does not declare"),
        (
            args(a={"anyOf": [args(x={"type": "string"}), args(x={"type": "number"})]}),
            "it has alternatives that begin with the same property",
        ),
        (
            args(a={"enum": [f"{n:0100}" for n in range(300)]}),
            "it enumerates too many values",
        ),
    ],
)
def test_what_strict_mode_can_t_represent_goes_without(schema: Any, reason: str) -> None:
    rendered = to_openai_responses([tool(schema), tool(name="other")], strict=True)
    assert [made["strict"] for made in rendered.tools] == [False, True]
    assert rendered.notes == (f"shop__buy goes without strict mode: {reason}",)


def test_nesting_beyond_strict_mode_goes_without() -> None:
    def nested(levels: int) -> dict[str, Any]:
        return args(x=nested(levels - 1)) if levels else {"type": "string"}

    assert openai(nested(10), strict=True)["strict"] is True
    assert openai(nested(11), strict=True)["strict"] is False


@pytest.mark.parametrize("text", ["word " * 400, "語" * 1500])
def test_a_long_description_is_cut_for_openai_only(text: str) -> None:
    hit = tool(description=text)
    cut = to_openai_responses([hit]).tools[0]["description"]
    assert 1000 < len(cut) <= 1024
    assert cut.endswith(("word…", "語…"))
    assert to_anthropic([hit]).tools[0]["description"] == text.strip()


def test_a_description_that_is_missing_is_made_of_the_title_or_the_name() -> None:
    hits = [
        tool(description="", name="send_mail"),
        tool(description=" ", name="b", title="Send a letter"),
    ]
    made = to_openai_responses(hits).tools
    assert [each["description"] for each in made] == ["send mail", "Send a letter"]


# Gemini


def test_gemini_gets_its_subset_of_openapi() -> None:
    made = gemini(
        {
            **args(
                when={"type": ["string", "null"], "format": "date", "description": "The day."},
                level={"type": "integer", "enum": [1, 2]},
                size={"const": "big"},
                price={"type": "number", "exclusiveMinimum": 0},
                either={"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "Id."},
                maybe={"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            ),
            "required": ["when", "undeclared"],
            "additionalProperties": False,
        }
    )
    assert made == {
        "type": "OBJECT",
        "properties": {
            "when": {"type": "STRING", "description": "The day. Format: date.", "nullable": True},
            "level": {"type": "INTEGER", "description": "One of 1, 2."},
            "size": {"type": "STRING", "enum": ["big"], "format": "enum"},
            "price": {"type": "NUMBER", "minimum": 0, "description": "More than 0."},
            "either": {
                "anyOf": [
                    {"type": "STRING", "description": "Id."},
                    {"type": "INTEGER", "description": "Id."},
                ]
            },
            "maybe": {"type": "BOOLEAN", "nullable": True},
        },
        "required": ["when"],
    }


def test_gemini_writes_objects_of_any_keys_as_json_text() -> None:
    schema = args(
        labels={"type": "object", "additionalProperties": {"type": "string"}},
        value={},
        note={"type": "string"},
        rows={"type": "array", "items": {"type": "object"}},
    )
    assert gemini(schema)["properties"]["labels"] == {
        "type": "STRING",
        "description": "As JSON text.",
    }
    restored = to_gemini([tool(schema)]).restore_arguments(
        "shop__buy",
        {
            "labels": '{"a": "b"}',
            "value": "[1, 2]",
            "note": '{"kept": "as text"}',
            "rows": ['{"x": 1}', {"x": 2}],
        },
    )
    assert restored == {
        "labels": {"a": "b"},
        "value": [1, 2],
        "note": '{"kept": "as text"}',
        "rows": [{"x": 1}, {"x": 2}],
    }
    broken = to_gemini([tool(schema)]).restore_arguments("shop__buy", {"labels": "{a"})
    assert broken == {"labels": "{a"}


def test_gemini_gets_no_parameters_where_there_are_none() -> None:
    rendered = to_gemini([tool()])
    assert "parameters" not in rendered.tools[0]["functionDeclarations"][0]
    assert rendered.notes == ()
    free = to_gemini([tool({"type": "object", "additionalProperties": True})])
    assert free.notes == ("shop__buy takes arguments of any name, which Gemini can't declare",)


def test_no_hits_are_no_tools() -> None:
    assert to_gemini([]).tools == []
    assert to_openai_chat([]).tools == []


# MCP


def test_mcp_keeps_the_schema_as_it_is() -> None:
    schema = {**args(a={"$ref": "#/$defs/x"}), "$defs": {"x": {"type": "string"}}, "x-own": 1}
    hit = tool(schema, title="Buy", is_action=False)
    assert to_mcp([hit]).tools == [
        {
            "name": "shop__buy",
            "title": "Buy",
            "description": "Buy something.",
            "inputSchema": schema,
            "annotations": {"readOnlyHint": True},
        }
    ]
    assert to_mcp([tool({"anyOf": [args()]})]).tools[0]["inputSchema"]["type"] == "object"
    assert to_mcp([hit]).restore_arguments("shop__buy", {"a": "x"}) == {"a": "x"}


# Identity


@dataclass(frozen=True)
class WithIdentity:
    server: str = "shop"
    name: str = "buy"
    title: str | None = None
    description: str = "Buy something."
    is_action: bool = True
    identity_parameters: tuple[str, ...] = ("customer_id",)

    @property
    def input_schema(self) -> dict[str, Any]:
        both = args(customer_id={"type": "string"}, amount={"type": "number"})
        return {**both, "required": ["customer_id", "amount"]}


@pytest.mark.parametrize(
    "render", [to_openai_chat, to_openai_responses, to_anthropic, to_gemini, to_mcp]
)
def test_identity_parameters_are_not_shown(render: Callable[..., Rendered]) -> None:
    shown = json.dumps(render([WithIdentity()]).tools)
    assert "customer_id" not in shown
    assert "amount" in shown


def test_hits_of_a_search_do_not_show_identity() -> None:
    hit = tool(WithIdentity().input_schema, explain={"identity_parameters": ["customer_id"]})
    for render in (to_openai_chat, to_openai_responses, to_anthropic, to_gemini, to_mcp):
        assert "customer_id" not in json.dumps(render([hit]).tools)
    assert "customer_id" not in json.dumps(to_openai_tool_search_output([hit], call_id="c").tools)
    assert "customer_id" in json.dumps(to_mcp([tool(WithIdentity().input_schema)]).tools)


# Names


@pytest.mark.parametrize(
    ("server", "name", "expected"),
    [
        ("payments", "refund_payment", "payments__refund_payment"),
        ("my-server", "get-Item2", "my-server__get-Item2"),
        ("a", "b__c", "a__b__c"),
        ("a__b", "c", r"a__b__c_[0-9a-f]{6}"),
        ("a_", "b", r"a_+b_[0-9a-f]{6}"),
        ("analytics", "sales.summary", r"analytics__sales_summary_[0-9a-f]{6}"),
        ("3d", "render", r"_3d__render_[0-9a-f]{6}"),
        ("shop", "/orders/{id}", r"shop__orders_id_[0-9a-f]{6}"),
        ("shop", "größe", r"shop__gro_?e_[0-9a-f]{6}"),
        ("店", "検索", r"tool_[0-9a-f]{6}"),
        ("server", "x" * 100, r"server__x{48}_[0-9a-f]{6}"),
    ],
)
def test_a_name_stays_what_it_is_where_it_can(server: str, name: str, expected: str) -> None:
    found = provider_names([(server, name)])[server, name]
    assert re.fullmatch(expected, found)
    assert len(found) <= 63


PAIRS = st.tuples(st.text(max_size=70), st.text(max_size=70)) | st.tuples(
    st.sampled_from(["a", "a_", "a__b", "A", "3"]), st.sampled_from(["b", "_b", "b__c", "b.c", "-"])
)


@given(st.lists(PAIRS, max_size=12), PAIRS)
def test_names_are_legal_distinct_and_do_not_depend_on_the_others(
    pairs: list[tuple[str, str]], pair: tuple[str, str]
) -> None:
    names = provider_names([*pairs, pair])
    assert len(set(names.values())) == len(names) == len({*pairs, pair})
    assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,62}", name) for name in names.values())
    assert names[pair] == provider_names([pair])[pair]
    assert names == provider_names(reversed([*pairs, pair]))


def test_a_hash_that_is_taken_gets_longer() -> None:
    name = provider_names([("a", "b.c")])["a", "b.c"]
    squatter = ("a", name.removeprefix("a__"))
    both = provider_names([("a", "b.c"), squatter])
    assert both[squatter] == name
    assert both["a", "b.c"] != name
    assert both["a", "b.c"].startswith(name)


def test_a_call_is_named_as_resolve_tool_takes_it() -> None:
    rendered = to_mcp([tool(name="refund"), tool(name="sales.summary"), tool(name="a/b")])
    for name, (server, called) in rendered.names.items():
        assert rendered.full_name(name) == f"{server}/{called}"
        assert rendered.name_of(server, called) == name
    for wrong, expected in (
        ("shop__refnd", "shop/refnd"),
        ("refund", "refund"),
        ("shop/refund", "shop/refund"),
        ("a__b__c", "a/b__c"),
        ("", ""),
    ):
        assert rendered.full_name(wrong) == expected
    with pytest.raises(InvalidArgument, match="no tool of this list is shop/buy") as caught:
        rendered.name_of("shop", "buy")
    assert caught.value.hint


def test_hits_keep_their_order_and_count_once() -> None:
    hits = [tool(name="b"), tool(name="a"), tool(name="b", description="again")]
    rendered = to_openai_responses(hits)
    assert [made["name"] for made in rendered.tools] == ["shop__b", "shop__a"]
    assert rendered.tools[0]["description"] == "Buy something."


def test_a_name_that_is_not_there_is_an_error_with_the_nearest() -> None:
    rendered = to_anthropic([tool(name="refund_payment"), tool(name="list_orders")])
    with pytest.raises(InvalidArgument, match="no tool of this list is named") as caught:
        rendered.resolve("shop__refund_paymnt")
    assert caught.value.hint == "the nearest: shop__refund_payment"
    with pytest.raises(InvalidArgument):
        rendered.restore_arguments("quite_other", {})


# Arguments


@pytest.mark.parametrize("render", [to_anthropic, to_gemini])
@given(st.lists(NAMES, min_size=1, max_size=8, unique=True))
def test_renamed_arguments_come_back(
    render: Callable[[list[ToolHit]], Rendered], names: list[str]
) -> None:
    inner = args(**{name: {"type": "string"} for name in names})
    rendered = render([tool({**inner, "properties": {**inner["properties"], "nested": inner}})])
    made = rendered.tools[0]
    if render is to_gemini:
        made = made["functionDeclarations"][0]
    properties = made.get("input_schema", made.get("parameters"))["properties"]
    # Both list them in the order of the original.
    renamed = dict(zip(dict.fromkeys([*names, "nested"]), properties, strict=True))
    written: dict[str, Any] = {new: "x" for new in properties}
    written[renamed["nested"]] = {renamed[name]: "y" for name in names}
    restored = rendered.restore_arguments("shop__buy", written)
    assert restored == {
        **dict.fromkeys(names, "x"),
        "nested": dict.fromkeys(names, "y"),
    }


def test_keys_of_data_are_not_renamed() -> None:
    schema = args(**{"filter[id]": {"type": "string"}, "data": {"type": "object"}})
    rendered = to_anthropic([tool(schema)])
    assert list(rendered.tools[0]["input_schema"]["properties"]) == ["filter_id", "data"]
    written = {"filter_id": "7", "data": {"filter_id": "stays"}, "unknown": 1}
    assert rendered.restore_arguments("shop__buy", written) == {
        "filter[id]": "7",
        "data": {"filter_id": "stays"},
        "unknown": 1,
    }


def test_required_follows_renaming_and_clashes_are_told_apart() -> None:
    schema = {
        **args(**{"a b": {}, "a_b": {}, "a.b": {}}),
        "required": ["a b"],
        "dependentRequired": {"a b": ["a_b"]},
    }
    made = to_anthropic([tool(schema)]).tools[0]["input_schema"]
    renamed = next(name for name in made["properties"] if name not in ("a_b", "a.b"))
    assert re.fullmatch(r"a_b_[0-9a-f]{6}", renamed)
    assert made["required"] == [renamed]
    assert made["dependentRequired"] == {renamed: ["a_b"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "are no JSON"),
        ("[1]", "are no object"),
        ("null", "are no object"),
        ('{"a":' * 100_000, "are nested too deeply"),
    ],
)
def test_arguments_that_are_no_object_are_an_error(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        to_openai_chat([tool()]).restore_arguments("shop__buy", text)
    assert to_openai_chat([tool()]).restore_arguments("shop__buy", " ") == {}


def test_the_docs_examples_run() -> None:
    text = (Path(__file__).parents[1] / "docs/formats.md").read_text(encoding="utf-8")
    hits = [tool(args(amount={"type": "number"}), name="refund")]
    known: dict[str, Any] = {
        "hits": hits,
        "all_permitted": [*hits, tool()],
        "conversation": [],
        "MODEL": "any",
        "call_name": "shop__refund",
        "call_arguments": '{"amount": 5}',
    }
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/formats.md", "exec"), known)
    assert (known["server"], known["tool"]) == ("shop", "refund")
    assert known["arguments"] == {"amount": 5}
    names = {definition["name"] for definition in known["definitions"]}
    assert {block["tool_name"] for block in known["content"]} <= names
    assert known["conversation"][0]["type"] == "tool_search_output"
