"""The demo company is consistent in itself; nothing here uses the product's own code."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "tool_rag_pg" / "data" / "demo"
DOCS = ROOT / "docs" / "demo-company.md"

# Bounds on how much a request repeats its tool's own name, title and description.
MEAN_JACCARD = 0.08
MEAN_SHARE_OF_REQUEST = 0.18
SHARE_NAMING_THE_TOOL = 0.25
NEAR_DUPLICATE = 0.6

STOP_WORDS = """
a about after again all am an and any are as at back be because been before but by can could d
did do does done down for from get had has have he her here him his how i if in into is it its
just ll m may me might mine more most much must my no not now of off on once one only or our out
over please re s she should so some still t than that the their them then there these they this
those to too up us ve was we were what when where which who whom why will with would yet you
your
"""
STOP = frozenset(STOP_WORDS.split())


def read_jsonl(name: str) -> list[dict[str, Any]]:
    lines = (DEMO / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_servers() -> dict[str, dict[str, Any]]:
    files = sorted((DEMO / "servers").glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


SERVERS = read_servers()
TOOLS: dict[str, dict[str, Any]] = {
    f"{server}/{tool['name']}": tool for server, doc in SERVERS.items() for tool in doc["tools"]
}
REQUESTS = read_jsonl("requests.jsonl")


def words(text: str) -> set[str]:
    """Content words, lower case, names split at case and punctuation, plural and tense cut off."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    found = {w for w in re.findall(r"[a-z0-9]+", text) if len(w) > 1 and w not in STOP}
    return {re.sub(r"(?<=...)(ing|ed|es|s)$", "", w) for w in found}


def jaccard(left: set[str], right: set[str]) -> float:
    return len(left & right) / max(1, len(left | right))


def read_access() -> tuple[dict[str, list[str]], list[tuple[str, str, str, datetime | None]]]:
    """Parse access.txt strictly: parents by role, and (effect, role, pattern, valid until)."""
    parents: dict[str, list[str]] = {}
    rules: list[tuple[str, str, str, datetime | None]] = []
    for number, raw in enumerate((DEMO / "access.txt").read_text().splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        if not line:
            continue
        if match := re.fullmatch(r"role\s+(\w+)(?:\s*:\s*(\w+(?:\s*,\s*\w+)*))?", line):
            name, above = match.groups()
            assert name not in parents, f"line {number}: role {name} twice"
            parents[name] = re.split(r"\s*,\s*", above) if above else []
            assert all(p in parents for p in parents[name]), f"line {number}: unknown parent"
        elif match := re.fullmatch(r"(allow|deny)\s+(\w+)\s+(\S+/\S+)(?:\s+until\s+(\S+))?", line):
            effect, role, pattern, until = match.groups()
            assert role in parents, f"line {number}: unknown role {role}"
            rules.append((effect, role, pattern, datetime.fromisoformat(until) if until else None))
        else:
            pytest.fail(f"access.txt line {number} is not understood: {raw}")
    return parents, rules


PARENTS, RULES = read_access()


def matching(pattern: str) -> set[str]:
    expression = ".*".join(re.escape(part) for part in pattern.split("*"))
    return {name for name in TOOLS if re.fullmatch(expression, name)}


def lineage(role: str) -> set[str]:
    return {role}.union(*(lineage(parent) for parent in PARENTS[role]))


def permitted(role: str) -> set[str]:
    now = datetime.now(UTC)
    found: dict[str, set[str]] = {"allow": set(), "deny": set()}
    for effect, holder, pattern, until in RULES:
        if holder in lineage(role) and (until is None or now < until):
            found[effect] |= matching(pattern)
    return found["allow"] - found["deny"]


PERMITTED = {role: permitted(role) for role in PARENTS}


def schemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """A schema and everything nested in it."""
    inner = list(schema.get("properties", {}).values())
    inner += [schema["items"]] if "items" in schema else []
    return [schema, *(deep for child in inner for deep in schemas(child))]


def test_counts() -> None:
    assert len(SERVERS) == 8
    assert 140 <= len(TOOLS) <= 165
    assert all(12 <= len(doc["tools"]) <= 28 for doc in SERVERS.values())
    assert len(PARENTS) == 6
    assert len(REQUESTS) == 200
    assert 165 <= sum(bool(r["expected"]) for r in REQUESTS) <= 173
    assert sum(not r["expected"] for r in REQUESTS) >= 27
    assert 12 <= sum(len(r["expected"]) == 2 for r in REQUESTS) <= 20


@pytest.mark.parametrize("server", SERVERS)
def test_server_is_a_tools_list_result(server: str) -> None:
    doc = SERVERS[server]
    assert set(doc) <= {"server", "title", "description", "tools"}
    assert doc["server"] == server
    assert doc["title"]
    assert doc["description"]
    for tool in doc["tools"]:
        assert set(tool) <= {"name", "title", "description", "inputSchema", "annotations"}, tool
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", tool["name"])
        assert tool["description"].strip()
        assert 2 <= len(tool["inputSchema"]["properties"]) <= 7, tool["name"]
        for schema in schemas(tool["inputSchema"]):
            assert schema["type"] in {"object", "array", "string", "integer", "number", "boolean"}
            assert set(schema.get("required", [])) <= set(schema.get("properties", {}))
            assert schema.get("required") != []
            if "default" in schema and "enum" in schema:
                assert schema["default"] in schema["enum"]
        hints = tool.get("annotations", {})
        assert not (hints.get("readOnlyHint") and hints.get("destructiveHint")), tool["name"]


def test_tool_names_are_unique_and_of_several_styles() -> None:
    names = Counter(tool["name"] for tool in TOOLS.values())
    assert max(names.values()) == 1
    assert len({name.lower() for name in names}) == len(names)
    assert any(re.search(r"[a-z][A-Z]", name) for name in names)
    assert any("-" in name for name in names)
    assert any("." in name for name in names)


def test_nested_parameters_enums_and_hints_occur() -> None:
    inner = [s for t in TOOLS.values() for s in schemas(t["inputSchema"])[1:]]
    assert sum("properties" in s for s in inner) >= 20
    assert sum("enum" in s for s in inner) >= 60
    annotated = [t["annotations"] for t in TOOLS.values() if "annotations" in t]
    assert len(annotated) >= 0.9 * len(TOOLS)
    assert sum(a.get("destructiveHint") is True for a in annotated) >= 20


def test_access_uses_every_feature() -> None:
    now = datetime.now(UTC)
    assert max(len(parents) for parents in PARENTS.values()) == 2
    assert sum(effect == "deny" for effect, *_ in RULES) >= 10
    assert any(until and until <= now for *_, until in RULES), "an expired grant"
    assert any(until and until.year > now.year + 20 for *_, until in RULES), "a grant until far off"
    assert all(until is None or until.tzinfo for *_, until in RULES)
    inherited_allow = [
        (role, tool)
        for effect, role, pattern, _ in RULES
        if effect == "deny"
        for tool in matching(pattern)
        if any(tool in PERMITTED[parent] for parent in PARENTS[role])
    ]
    assert inherited_allow, "a deny that takes away what a parent role may use"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join(map(str, rule[:3])))
def test_every_rule_matches_a_tool(rule: tuple[str, str, str, datetime | None]) -> None:
    assert matching(rule[2])


@pytest.mark.parametrize("role", PARENTS)
def test_every_role_sees_some_tools_and_not_all(role: str) -> None:
    assert 10 <= len(PERMITTED[role]) <= 135
    assert len(PERMITTED[role]) < len(TOOLS)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: r["id"])
def test_request_is_answerable_as_labelled(request_: dict[str, Any]) -> None:
    assert set(request_) <= {"id", "query", "role", "expected", "forbidden", "note"}
    assert 15 <= len(request_["query"]) <= 300
    expected, forbidden = request_["expected"], request_["forbidden"]
    assert len(set(expected + forbidden)) == len(expected) + len(forbidden) > 0
    assert set(expected + forbidden) <= set(TOOLS)
    assert set(expected) <= PERMITTED[request_["role"]]
    assert not set(forbidden) & PERMITTED[request_["role"]]


def test_requests_cover_servers_roles_and_most_tools() -> None:
    used = {tool for r in REQUESTS for tool in r["expected"]}
    assert len(used) >= 110
    assert {tool.split("/")[0] for tool in used} == set(SERVERS)
    assert {r["role"] for r in REQUESTS if r["expected"]} == set(PARENTS)
    assert {r["role"] for r in REQUESTS if not r["expected"]} == set(PARENTS)


def test_requests_are_distinct() -> None:
    assert len({r["id"] for r in REQUESTS}) == len(REQUESTS)
    assert len({r["query"].casefold() for r in REQUESTS}) == len(REQUESTS)
    pairs = combinations(((r["id"], words(r["query"])) for r in REQUESTS), 2)
    near = [(a, b) for (a, left), (b, right) in pairs if jaccard(left, right) >= NEAR_DUPLICATE]
    assert not near


def test_requests_avoid_the_wording_of_their_tools() -> None:
    overlap, share, naming = [], [], []
    for request in REQUESTS:
        asked = words(request["query"])
        for name in request["expected"]:
            tool = TOOLS[name]
            own = words(tool["name"])
            text = own | words(tool.get("title", "")) | words(tool["description"])
            overlap.append(jaccard(asked, text))
            share.append(len(asked & text) / len(asked))
            naming.append(bool(asked & own))
            assert not own or not own <= asked, f"{request['id']} spells out {name}"
    assert sum(overlap) / len(overlap) <= MEAN_JACCARD
    assert sum(share) / len(share) <= MEAN_SHARE_OF_REQUEST
    assert sum(naming) / len(naming) <= SHARE_NAMING_THE_TOOL


def test_synonyms() -> None:
    document = json.loads((DEMO / "synonyms.json").read_text(encoding="utf-8"))
    general = document.pop("words")
    assert set(document) <= set(TOOLS)
    assert all(isinstance(v, str) and v.strip() for v in [*document.values(), *general.values()])
    for text in document.values():
        assert all(jaccard(words(text), words(r["query"])) < 0.4 for r in REQUESTS), text


def test_dependencies_exist_and_have_no_cycle() -> None:
    rules = json.loads((DEMO / "dependencies.json").read_text(encoding="utf-8"))
    assert len(rules) >= 12
    needs: dict[str, set[str]] = {}
    for rule in rules:
        assert set(rule) == {"tool", "needs", "reason"}
        assert {rule["tool"], rule["needs"]} <= set(TOOLS)
        assert rule["reason"]
        needs.setdefault(rule["tool"], set()).add(rule["needs"])

    def reach(tool: str, path: tuple[str, ...] = ()) -> None:
        assert tool not in path, (*path, tool)
        for needed in needs.get(tool, ()):
            reach(needed, (*path, tool))

    for tool in needs:
        reach(tool)


def test_examples_are_not_taken_from_the_requests() -> None:
    examples = read_jsonl("examples.jsonl")
    assert len(examples) == 8
    for example in examples:
        assert set(example) == {"tool", "request"}
        assert example["tool"] in TOOLS
        asked = words(example["request"])
        close = [r["id"] for r in REQUESTS if jaccard(asked, words(r["query"])) >= 0.4]
        assert not close, example


def test_docs_state_the_true_counts() -> None:
    text = DOCS.read_text(encoding="utf-8")
    stated = {key: int(n) for key, n in re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE)}
    servers = {server: len(doc["tools"]) for server, doc in SERVERS.items()}
    roles = {role: len(tools) for role, tools in PERMITTED.items()}
    assert stated == servers | roles
    row = re.compile(r"^\| `(\w+)` \| \d+ \| [^|]*\| (\d+) \| (\d+) \|$", re.MULTILINE)
    asked = Counter((r["role"], bool(r["expected"])) for r in REQUESTS)
    assert {role: (int(may), int(not_)) for role, may, not_ in row.findall(text)} == {
        role: (asked[role, True], asked[role, False]) for role in PARENTS
    }
    assert f"{sum(bool(r['forbidden']) for r in REQUESTS)} name forbidden tools" in text
    used = {tool for r in REQUESTS for tool in r["expected"]}
    assert f"{len(TOOLS)} tools" in text
    assert f"{len(used)} of the {len(TOOLS)} tools" in text
