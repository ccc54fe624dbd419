from __future__ import annotations

import dataclasses
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import mcp
from tool_rag_pg._load_folder import find_foreign, load_folder
from tool_rag_pg.demo import (
    DEMO_FOLDER,
    DemoFolder,
    RoleLine,
    RuleLine,
    parse_access,
    read_folder,
    read_requests,
)
from tool_rag_pg.errors import SourceError
from tool_rag_pg.retriever import ToolRetriever

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def company() -> DemoFolder:
    return read_folder(DEMO_FOLDER)


def test_access_is_read() -> None:
    access = parse_access(
        "# who\nrole a\n  role b: a  # heir\nrole c : a,b\n\n"
        "allow a x/*\ndeny  b */del:ete,* until 2031-01-31\n"
        "allow c x/y until 2031-01-31T02:00+02:00",
        path="access.txt",
    )
    assert access.roles == (
        RoleLine(name="a", parents=()),
        RoleLine(name="b", parents=("a",)),
        RoleLine(name="c", parents=("a", "b")),
    )
    end = datetime(2031, 1, 31, tzinfo=UTC)
    assert access.rules == (
        RuleLine(effect="allow", role="a", server_pattern="x", tool_pattern="*", valid_until=None),
        RuleLine(
            effect="deny", role="b", server_pattern="*", tool_pattern="del:ete,*", valid_until=end
        ),
        RuleLine(effect="allow", role="c", server_pattern="x", tool_pattern="y", valid_until=end),
    )


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("rule x", "line 1, column 1", "'rule' begins no statement"),
        ("role", "line 1, column 5", "the role's name is missing"),
        ("role a : b", "line 1, column 10", "the role 'b' is not known here"),
        ("role a :", "line 1, column 9", "a role is missing"),
        ("role a : a", "line 1, column 10", "the role 'a' is not known here"),
        ("role a\nrole a", "line 2, column 6", "the role 'a' stands above already"),
        ("role a b", "line 1, column 8", "'b' is too much"),
        ("role a\nallow a", "line 2, column 8", "SERVER/TOOL is missing"),
        ("role a\nallow a x", "line 2, column 9", "'x' is not of the form SERVER/TOOL"),
        ("role a\nallow a /y # c", "line 2, column 9", "'/y' is not of the form SERVER/TOOL"),
        ("role a\nallow b x/y", "line 2, column 7", "the role 'b' is not known here"),
        ("role a\nallow a x/y z", "line 2, column 13", "'z' is too much"),
        ("role a\nallow a x/y until", "line 2, column 18", "a time is missing"),
        ("role a\nallow a x/y until soon", "line 2, column 19", "'soon' is no time"),
        ("role a\ndeny a x/y\ndeny a x/y", "line 3, column 8", "this rule stands above already"),
    ],
)
def test_faults_of_access_have_a_position(text: str, position: str, message: str) -> None:
    with pytest.raises(SourceError) as raised:
        parse_access(text, path="access.txt")
    assert (raised.value.path, raised.value.position) == ("access.txt", position)
    assert raised.value.message == f"access.txt: {position}: {message}"
    assert raised.value.hint


@pytest.mark.parametrize(
    ("lines", "position", "message"),
    [
        ("{", "line 1, column 2", "it is not valid JSON"),
        ("\n[]", "line 2", "it is no object"),
        ('{"id": "1", "query": "q"}', "line 1", "role is missing or no text"),
        ('{"id": "1", "query": "q", "role": "r", "expected": "x"}', "line 1", "no list of texts"),
        ('{"id": "1", "query": "q", "role": "r"}\n' * 2, "line 2", "stands above already"),
    ],
)
def test_faults_of_requests_have_a_position(
    tmp_path: Path, lines: str, position: str, message: str
) -> None:
    (tmp_path / "requests.jsonl").write_text(lines)
    with pytest.raises(SourceError, match=message) as raised:
        read_requests(tmp_path / "requests.jsonl")
    assert raised.value.position == position


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("synonyms.json", '{"shop/x": 5}', '"shop/x": the words are missing'),
        ("dependencies.json", "{}", "it is no JSON list"),
        ("examples.jsonl", '{"tool": "shop/x"}', "line 1: request is missing"),
    ],
)
def test_faults_of_wording_have_a_position(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / "servers").mkdir()
    (tmp_path / "servers" / "shop.json").write_text(json.dumps(mcp("x")))
    (tmp_path / "access.txt").write_text("role clerk\n")
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError, match=re.escape(f"{name}: {said}")):
        read_folder(tmp_path)


def test_a_folder_without_access_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "servers").mkdir()
    with pytest.raises(SourceError, match="no JSON"):
        read_folder(tmp_path)
    tool = {"name": "a", "inputSchema": {"type": "object"}}
    (tmp_path / "servers" / "x.json").write_text(json.dumps({"tools": [tool]}))
    with pytest.raises(SourceError, match=r"access\.txt: it can't be read"):
        read_folder(tmp_path)


def contents(connection: Connection) -> tuple[Any, ...]:
    retriever = ToolRetriever(connection)
    return (retriever.list_tools(), retriever.list_roles(), retriever.list_rules())


def test_loading_makes_a_database_equal_to_the_folder(
    connection: Connection, company: DemoFolder
) -> None:
    ToolRetriever(connection).upsert_tools({"server": "old", "tools": [{"name": "gone"}]})
    ToolRetriever(connection).add_role("stranger")
    assert find_foreign(connection, company) == ["old", "stranger"]
    load_folder(connection, company)
    assert find_foreign(connection, company) == []
    tools, roles, rules = contents(connection)
    assert {(tool.server, tool.name) for tool in tools} == {
        (export.server, tool.name) for export in company.exports for tool in export.tools
    }
    assert {role.name: set(role.parents) for role in roles} == {
        role.name: set(role.parents) for role in company.access.roles
    }
    assert len(rules) == len(company.access.rules)
    inherited = ToolRetriever(connection).list_rules("store_manager")
    assert list(dict.fromkeys(rule.rule_role for rule in inherited)) == [
        "store_manager",
        "logistics",
        "support",
        "employee",
    ]
    ids = "select array_agg(grant_id order by grant_id) from tool_rag.grant_rule"
    before = connection.execute(ids).fetchone()
    load_folder(connection, company)
    assert contents(connection) == (tools, roles, rules)
    assert connection.execute(ids).fetchone() == before
    ToolRetriever(connection).grant_tools("employee", "*")
    load_folder(connection, company)
    assert contents(connection) == (tools, roles, rules)


def wording(retriever: ToolRetriever) -> tuple[Any, ...]:
    return retriever.list_synonyms(), retriever.list_examples(), retriever.list_dependencies()


def test_loading_makes_the_wording_equal_too(connection: Connection, company: DemoFolder) -> None:
    retriever = ToolRetriever(connection)
    # This also begins the transaction that the test is to leave open.
    assert wording(retriever) == ([], [], [])
    load_folder(connection, company)
    loaded = wording(retriever)
    lines = (company.synonyms, company.examples, company.dependencies)
    assert [len(rows) for rows in loaded] == [len(file or ()) for file in lines]
    assert all(loaded)
    ids = (
        "select array(select synonym_id from tool_rag.synonym order by 1),"
        " array(select example_id from tool_rag.example order by 1),"
        " array(select xmin::text from tool_rag.dependency)"
    )
    before = connection.execute(ids).fetchone()
    load_folder(connection, company)
    assert connection.execute(ids).fetchone() == before
    first, *_ = loaded[2]
    names = (first.server, first.tool, first.needs_server, first.needs_tool)
    # Back to front, which is a circle together with what the folder says.
    retriever.remove_dependency(*names)
    retriever.add_dependency(*names[2:], *names[:2], reason="the wrong way round")
    retriever.add_synonym("of my own", "hr", "requestTimeOff")
    retriever.add_synonym("of my own", term="mine")
    retriever.add_example("hr", "requestTimeOff", "of my own")
    # A folder without these files has no say in them.
    own = wording(retriever)
    load_folder(
        connection, dataclasses.replace(company, synonyms=None, examples=None, dependencies=None)
    )
    assert wording(retriever) == own
    load_folder(connection, company)
    assert wording(retriever) == loaded


def test_no_answer_holds_a_forbidden_tool(connection: Connection, company: DemoFolder) -> None:
    connection.execute("select")  # Opens the transaction inside which loading is a savepoint.
    load_folder(connection, company)
    retriever = ToolRetriever(connection)
    permitted = {
        role.name: {(t.server, t.name) for t in retriever.permitted_tools(roles=[role.name])}
        for role in company.access.roles
    }
    found = 0
    for request in company.requests:
        hits = retriever.search_tools(request.query, roles=[request.role], k=8)
        assert {(hit.server, hit.name) for hit in hits} <= permitted[request.role], request.id
        names = {f"{hit.server}/{hit.name}" for hit in hits}
        assert not names & set(request.forbidden), request.id
        found += bool(request.expected) and set(request.expected) <= names
    # 88% when this was written: a floor, not a goal; the demo company is no measure of quality.
    assert found >= 0.8 * sum(bool(request.expected) for request in company.requests)
