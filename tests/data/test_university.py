"""The university is consistent in itself, and a real database leaks none of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from jsonschema import Draft202012Validator

from benchmarks.university import Asked, K, tables
from tests.data.test_demo_company import jaccard, schemas, words
from tool_rag_pg._load_folder import load_folder
from tool_rag_pg.demo import UNIVERSITY_FOLDER, DemoFolder, read_folder, read_originals
from tool_rag_pg.errors import SourceError
from tool_rag_pg.evaluation.cases import Case, find_leakage, read_cases
from tool_rag_pg.guards import find_unknown_tool_names
from tool_rag_pg.retriever import ToolRetriever

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "university.md"
SIZES = {"applicant": 27, "student": 87, "lecturer": 65, "administrator": 191}
CATEGORIES = {
    "exact": 45,
    "paraphrase": 70,
    "action": 45,
    "dependency": 35,
    "compound": 30,
    "vague": 26,
    "forbidden": 30,
}


def read_json(name: str) -> Any:
    return json.loads((UNIVERSITY_FOLDER / name).read_text(encoding="utf-8"))


def read_lines(name: str) -> list[dict[str, Any]]:
    text = (UNIVERSITY_FOLDER / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


SERVERS: dict[str, dict[str, Any]] = {
    file.stem: json.loads(file.read_text(encoding="utf-8"))
    for file in sorted((UNIVERSITY_FOLDER / "servers").glob("*.json"))
}
TOOLS: dict[str, dict[str, Any]] = {
    f"{server}/{tool['name']}": tool for server, doc in SERVERS.items() for tool in doc["tools"]
}
ORIGINALS: dict[str, str] = {
    f"{server}/{name}": text
    for server, texts in read_json("originals.json").items()
    for name, text in texts.items()
}
REQUESTS = read_lines("requests.jsonl")
RULES = read_json("dependencies.json")


@pytest.fixture
def university(connection: psycopg.Connection[Any]) -> ToolRetriever:
    load(connection, read_folder(UNIVERSITY_FOLDER))
    return ToolRetriever(connection)


def load(connection: psycopg.Connection[Any], folder: DemoFolder) -> None:
    """Load a folder into the transaction of the test, which is rolled back."""
    connection.execute("select 1")
    load_folder(connection, folder)


def permitted(retriever: ToolRetriever, role: str) -> set[str]:
    return {f"{tool.server}/{tool.name}" for tool in retriever.permitted_tools(roles=[role])}


def test_counts() -> None:
    assert len(SERVERS) == 8
    assert len(TOOLS) == 191
    assert sum(not tool["annotations"]["readOnlyHint"] for tool in TOOLS.values()) == 56
    assert len(REQUESTS) == 281
    assert Counter(request["category"] for request in REQUESTS) == CATEGORIES


@pytest.mark.parametrize("server", SERVERS)
def test_server_is_a_tools_list_result(server: str) -> None:
    doc = SERVERS[server]
    assert set(doc) == {"server", "title", "description", "tools"}
    assert doc["server"] == server
    for tool in doc["tools"]:
        assert set(tool) - {"_meta"} == {
            "name",
            "title",
            "description",
            "inputSchema",
            "annotations",
        }
        Draft202012Validator.check_schema(tool["inputSchema"])
        for schema in schemas(tool["inputSchema"]):
            assert schema["type"] in {"object", "array", "string", "integer", "number", "boolean"}
            assert set(schema.get("required", [])) <= set(schema.get("properties", {}))
            if "default" in schema and "enum" in schema:
                assert schema["default"] in schema["enum"]
            if "default" in schema:
                Draft202012Validator(schema).validate(schema["default"])


def test_names_are_unique_and_each_server_has_one_way_of_writing_them() -> None:
    names = Counter(tool["name"] for tool in TOOLS.values())
    assert max(names.values()) == 1
    styles = {
        "records": r"[a-z]+(_[a-z]+)*",
        "admissions": r"[a-z]+([A-Z][a-z]+)*",
        "timetable": r"[a-z]+(-[a-z]+)*",
        "exams": r"[a-z]+\.[a-z]+(_[a-z]+)*",
        "library": r"[a-z]+(_[a-z]+)*",
        "finance": r"([A-Z][a-z]+)+",
        "campus": r"[a-z]+\.[a-z]+(_[a-z]+)*",
        "staff": r"[a-z]+(_[a-z]+)*",
    }
    for server, doc in SERVERS.items():
        for tool in doc["tools"]:
            assert re.fullmatch(styles[server], tool["name"]), tool["name"]


def test_descriptions_are_contracts_and_name_only_tools_that_exist() -> None:
    names = {name.partition("/")[2] for name in TOOLS}
    for name, tool in TOOLS.items():
        assert 15 <= len(tool["description"].split()) <= 45, name
        parameters = tool["inputSchema"].get("properties", {})
        found = find_unknown_tool_names(
            tool["description"], TOOLS, argument_names=[*parameters, *names]
        )
        assert not found, name
        # Names with capitals inside are for a reader what separators are for that check.
        inner = re.findall(r"\b[A-Za-z]+[a-z][A-Z][A-Za-z]+\b", tool["description"])
        assert set(inner) <= names, name
    siblings = sum(
        any(
            re.search(rf"(?<![\w.-]){re.escape(other)}(?![\w-])", tool["description"])
            for other in names - {tool["name"]}
        )
        for tool in TOOLS.values()
    )
    assert siblings >= 180


def test_every_tool_has_a_longer_original_that_is_no_repetition() -> None:
    assert ORIGINALS.keys() == TOOLS.keys()
    for name, text in ORIGINALS.items():
        contract = TOOLS[name]["description"]
        assert 60 <= len(text.split()) <= 250, name
        assert len(text) > 1.5 * len(contract), name
        assert contract not in text, name
        assert jaccard(words(contract), words(text)) < 0.35, name
    openings = Counter(" ".join(text.split()[:3]).lower() for text in ORIGINALS.values())
    assert max(openings.values()) <= 4


def test_identity_parameters_are_declared_and_read() -> None:
    declared = {
        name: tuple(tool["_meta"]["tool-rag/identity_parameters"])
        for name, tool in TOOLS.items()
        if "_meta" in tool
    }
    read = {
        f"{export.server}/{tool.name}": tool.identity_parameters
        for export in read_folder(UNIVERSITY_FOLDER).exports
        for tool in export.tools
        if tool.identity_parameters
    }
    assert read == declared
    assert len(declared) > 90
    for name, tool in TOOLS.items():
        from_session = [
            key
            for key, schema in tool["inputSchema"].get("properties", {}).items()
            if schema.get("description") == "From the session"
        ]
        assert tuple(from_session) == declared.get(name, ())


def test_roles_see_as_many_tools_as_the_page_says(university: ToolRetriever) -> None:
    assert {role: len(permitted(university, role)) for role in SIZES} == SIZES


def test_every_rule_of_access_matches_a_tool() -> None:
    for rule in read_folder(UNIVERSITY_FOLDER).access.rules:
        pattern = f"{rule.server_pattern}/{rule.tool_pattern}"
        expression = ".*".join(map(re.escape, pattern.split("*")))
        assert any(re.fullmatch(expression, name) for name in TOOLS), pattern


def test_labels_agree_with_what_the_roles_may_use(university: ToolRetriever) -> None:
    may = {role: permitted(university, role) for role in SIZES}
    for request in REQUESTS:
        expected, forbidden = set(request["expected"]), set(request["forbidden"])
        assert expected | forbidden <= TOOLS.keys(), request["id"]
        assert expected | forbidden, request["id"]
        assert expected <= may[request["role"]], request["id"]
        assert not forbidden & may[request["role"]], request["id"]
        assert bool(expected) == (request["category"] != "forbidden"), request["id"]


def test_each_category_is_what_its_name_says() -> None:
    needs = {(rule["tool"], rule["needs"]) for rule in RULES}
    for request in REQUESTS:
        expected, category = request["expected"], request["category"]
        assert set(request) - {"context"} == {
            "id",
            "query",
            "role",
            "category",
            "expected",
            "forbidden",
        }
        assert ("context" in request) == (category == "vague"), request["id"]
        if category == "compound":
            assert 2 <= len(expected) <= 4, request["id"]
        elif category == "dependency":
            assert tuple(expected) in needs, request["id"]
        elif category != "forbidden":
            assert len(expected) == 1, request["id"]
        if category == "action":
            assert not TOOLS[expected[0]]["annotations"]["readOnlyHint"], request["id"]


def test_requests_are_distinct_and_none_is_a_description() -> None:
    assert len({request["id"] for request in REQUESTS}) == len(REQUESTS)
    asked = [(r["id"], r["category"], words(r["query"])) for r in REQUESTS]
    near = [
        (a, b)
        for (a, _, left), (b, _, right) in combinations(asked, 2)
        if jaccard(left, right) > 0.6
    ]
    assert not near
    said = {request["query"].casefold().strip(" .?!") for request in REQUESTS}
    assert len(said) == len(REQUESTS)
    for name, tool in TOOLS.items():
        assert tool["description"].casefold().strip(" .") not in said, name
        assert ORIGINALS[name].casefold().strip(" .") not in said, name


def test_paraphrases_avoid_the_wording_of_their_tools_and_exact_requests_do_not() -> None:
    shares: dict[str, list[float]] = {}
    for request in REQUESTS:
        asked = words(request["query"])
        for name in request["expected"]:
            tool = TOOLS[name]
            text = words(f"{tool['name']} {tool['title']} {tool['description']}")
            shares.setdefault(request["category"], []).append(len(asked & text) / len(asked))
            if request["category"] == "paraphrase":
                assert not words(tool["name"]) <= asked, request["id"]
    mean = {category: sum(values) / len(values) for category, values in shares.items()}
    assert mean["paraphrase"] <= 0.1
    assert mean["exact"] >= 0.75


def test_requests_cover_roles_servers_and_most_tools() -> None:
    expected = {tool for request in REQUESTS for tool in request["expected"]}
    assert {name.partition("/")[0] for name in expected} == set(SERVERS)
    assert len(expected) >= 165
    asked = {(request["role"], request["category"]) for request in REQUESTS}
    may_be_refused = SIZES.keys() - {"administrator"}
    assert asked == {
        (role, category)
        for role in SIZES
        for category in CATEGORIES
        if category != "forbidden" or role in may_be_refused
    }


def test_synonyms_and_dependencies_name_tools_and_have_no_cycle() -> None:
    synonyms = read_json("synonyms.json")
    assert synonyms.pop("words")
    assert synonyms.keys() <= TOOLS.keys()
    needs: dict[str, set[str]] = {}
    for rule in RULES:
        assert rule.keys() == {"tool", "needs", "reason"}
        assert {rule["tool"], rule["needs"]} <= TOOLS.keys()
        needs.setdefault(rule["tool"], set()).add(rule["needs"])

    def reach(tool: str, path: tuple[str, ...]) -> None:
        assert tool not in path, path
        for needed in needs.get(tool, ()):
            reach(needed, (*path, tool))

    for tool in needs:
        reach(tool, ())


def test_no_request_is_known_to_the_database(university: ToolRetriever) -> None:
    cases = read_cases(str(UNIVERSITY_FOLDER / "requests.jsonl"), tools=TOOLS).cases
    assert find_leakage(cases, university.list_examples(), university.list_synonyms()) == ()


@pytest.mark.parametrize("originals", [False, True], ids=["contract", "originals"])
def test_no_answer_holds_a_forbidden_tool(
    connection: psycopg.Connection[Any], originals: bool
) -> None:
    folder = read_folder(UNIVERSITY_FOLDER)
    load(connection, read_originals(folder) if originals else folder)
    retriever = ToolRetriever(connection)
    may = {role: permitted(retriever, role) for role in SIZES}
    stored = {f"{tool.server}/{tool.name}": tool for tool in retriever.list_tools()}
    description = retriever.describe_tool("exams", "appeal.submit").description
    assert description == (
        ORIGINALS["exams/appeal.submit"]
        if originals
        else TOOLS["exams/appeal.submit"]["description"]
    )
    assert sum(tool.is_action for tool in stored.values()) == 56
    for request in REQUESTS:
        hits = retriever.search_tools(
            request["query"], roles=[request["role"]], k=K, context=request.get("context", ())
        )
        names = {f"{hit.server}/{hit.name}" for hit in hits}
        assert names
        assert names <= may[request["role"]], request["id"]
        assert not names & set(request["forbidden"]), request["id"]


def test_originals_have_to_be_complete(tmp_path: Path) -> None:
    (tmp_path / "servers").mkdir()
    tool = {"name": "a", "description": "Does it.", "inputSchema": {"type": "object"}}
    (tmp_path / "servers" / "s.json").write_text(json.dumps({"tools": [tool]}))
    (tmp_path / "access.txt").write_text("role r\nallow r s/*\n")
    folder = read_folder(tmp_path)
    with pytest.raises(SourceError, match="can't be read"):
        read_originals(folder)
    file = tmp_path / "originals.json"
    for content, complaint in (
        ("{", "not valid JSON"),
        ("[]", "it is no object"),
        ('{"s": []}', "s: it is no object"),
        ('{"s": {"a": "x", "b": "x"}}', "no tool 'b'"),
        ('{"t": {"a": "x"}}', "no tool 'a'"),
        ('{"s": {"a": " "}}', "no text, or empty"),
        ('{"s": {}}', "description of s/a is missing"),
    ):
        file.write_text(content)
        with pytest.raises(SourceError, match=complaint) as caught:
            read_originals(folder)
        assert caught.value.hint
    file.write_text('{"s": {"a": "Long."}}')
    assert read_originals(folder).exports[0].tools[0].description == "Long."
    assert folder.exports[0].tools[0].description == "Does it."


def asked_in_all_settings(hit: bool) -> Iterator[Asked]:
    for number in range(8):
        served = number < 6
        case = Case(
            id=str(number),
            line=number + 1,
            query="q",
            roles=("r",),
            expected=("s/a",) if served else (),
            groups=("action" if served else "forbidden",),
        )
        for descriptions in ("contract", "original"):
            for ranking in ("keyword", "hybrid"):
                found = hit or descriptions == "contract" or number % 2 == 0
                yield Asked(
                    case=case,
                    descriptions=descriptions,
                    ranking=ranking,
                    tools=("s/a",) if found else ("s/b", "s/c"),
                    tokens=20,
                    permitted=3,
                    permitted_tokens=200,
                    leaks=(),
                )


def test_the_report_counts_lists_tokens_and_what_is_gained() -> None:
    report = dict(tables(list(asked_in_all_settings(hit=False))))
    best, *_, worst = report["roles"][:4]
    assert (best["tools"], best["tools a list"], best["fewer"]) == (3, "1.0", "90.0%")
    assert best["all expected in the list"].startswith("100.0% (")
    assert worst["all expected in the list"].startswith("50.0% (")
    assert worst["leaks"] == "0 of 8"
    (category,) = report["categories"]
    assert (category["category"], category["requests"]) == ("action", 6)
    gained = {row["what"]: (row["gained"], row["lost"]) for row in report["differences"]}
    assert gained["contract instead of original, hybrid"] == (3, 0)
    assert gained["hybrid instead of keyword, contract"] == (0, 0)


def test_docs_state_the_true_counts() -> None:
    text = DOCS.read_text(encoding="utf-8")
    stated = {key: int(n) for key, n in re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE)}
    servers = {server: len(doc["tools"]) for server, doc in SERVERS.items()}
    assert servers | SIZES == {key: stated[key] for key in servers | SIZES}
    stated = {key: int(n) for key, n in re.findall(r"^\| (\w+) \| (\d+) \|", text, re.MULTILINE)}
    assert {key: stated[key] for key in CATEGORIES} == CATEGORIES
    actions = re.findall(r"^\| `(\w+)` \| \d+ \| (\d+) \|", text, re.MULTILINE)
    assert {server: int(n) for server, n in actions if server in SERVERS} == {
        server: sum(not tool["annotations"]["readOnlyHint"] for tool in doc["tools"])
        for server, doc in SERVERS.items()
    }
    lengths = [len(tool["description"].split()) for tool in TOOLS.values()]
    long = [len(original.split()) for original in ORIGINALS.values()]
    assert f"{min(lengths)} to {max(lengths)} words, an original {min(long)} to {max(long)}" in text
    assert "one hand" in text
    marks = re.findall(r"^<!-- (\w+) -->\n\| ", text, re.MULTILINE)
    assert marks == ["roles", "categories", "differences"]
    assert all(one < two for one, two in pairwise(text.index(f"<!-- {m} -->") for m in marks))
