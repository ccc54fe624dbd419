"""No command lets a text of others steer the terminal, or hide something from who reads it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Cli
from tool_rag_pg._visible import escaped, visible
from tool_rag_pg.cli._docs import commands
from tool_rag_pg.retriever import ToolRetriever

# Clears the screen and sets the window's title, in 7 and in 8 bits; bidi, zero-width, blank, tag
# and private characters, and variation selectors.
STEER = (
    "\x1b[2J\x1b]0;own\x07\x9b31m\x7f\x08\r\u202e\u2066\u200b\u200d\u2028\ufeff\xad\u2060\u115f"
    "\ufe0f\U000e0041\U000e0100\ue000"
)
HIDDEN = {character for character in STEER if not (character.isascii() and character.isprintable())}

SERVER = f"shop{STEER}"
REFUND, ORDERS = f"refund{STEER}", f"list_orders{STEER}"
TOOL, OTHER = f"{SERVER}/{REFUND}", f"{SERVER}/{ORDERS}"
BOSS, CLERK = f"boss{STEER}", f"clerk{STEER}"
REQUEST = f"refund{STEER} an order"


def definition(name: str, description: str) -> dict[str, Any]:
    text = f"{STEER} of an order"
    return {
        "name": name,
        "title": f"Title {text}",
        "description": f"{description}\n{text}\r\n{text}",
        "input_schema": {
            "type": "object",
            "properties": {
                f"order_id{STEER}": {"type": "string", "description": text, "enum": [text]}
            },
            "required": [f"order_id{STEER}"],
        },
        "output_schema": {"type": "object", "properties": {f"order_id{STEER}": {"title": text}}},
        "annotations": {"title": text},
        "identity_parameters": [f"order_id{STEER}"],
    }


TOOLS = [
    definition(REFUND, "Give the money of an order back"),
    definition(ORDERS, "List orders"),
    {
        "name": "cancel_order",
        "description": f"Cancel an order{STEER}",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
    },
    {
        "name": "search_orders",
        "description": f"Search orders{STEER}",
        "annotations": {"readOnlyHint": True},
    },
]


@pytest.fixture
def shop(database: str) -> None:
    """A database in which everything that others write has such characters."""
    with psycopg.connect(database) as connection:
        retriever = ToolRetriever(connection)
        connection.execute("select set_config('tool_rag.actor', %s, false)", [f"ann{STEER}"])
        retriever.set_review_policy(None, "trust", "report")
        retriever.upsert_tools({"server": SERVER, "title": STEER, "tools": TOOLS})
        retriever.add_role(CLERK, description=f"Clerks{STEER}")
        retriever.add_role(BOSS, parents=[CLERK], description=f"Bosses{STEER}")
        retriever.grant_tools(CLERK, SERVER)
        retriever.grant_tools(BOSS, f"{SERVER}*", ORDERS, effect="deny")
        retriever.add_synonym(f"chargeback{STEER}", SERVER, REFUND)
        retriever.add_synonym(f"refund payback{STEER}", term=f"money{STEER}")
        retriever.add_example(SERVER, REFUND, f"she was{STEER} charged\ntwice")
        retriever.add_example(SERVER, ORDERS, f"her{STEER} orders of June")
        retriever.add_dependency(SERVER, REFUND, SERVER, ORDERS, f"gives{STEER} the id")
        retriever.record_use(STEER, 1, SERVER, "search_orders", roles=[CLERK])
        retriever.add_embedding_model(f"model{STEER}", 3)
        retriever.add_api_key(
            f"key{STEER}", "abcdefghijkl", bytes(32), [CLERK], identity={STEER: STEER}
        )
        # Of a login of Postgres that is gone; to make one would reach beyond this database.
        connection.execute(
            "insert into tool_rag.login (name, role_oid, is_bound) values (%s, 1, true)",
            [f"login{STEER}"],
        )
        connection.execute(
            "insert into tool_rag.login_role select l.login_id, r.role_id"
            " from tool_rag.login l cross join tool_rag.role r"
        )
        retriever.set_audit(level="full")
        retriever.search_tools(REQUEST, roles=[CLERK])
        retriever.record_call(SERVER, REFUND, STEER, roles=[CLERK], detail={STEER: STEER})
        retriever.set_description(SERVER, "cancel_order", f"Cancel orders{STEER}")
        retriever.set_review_policy(SERVER, "review")
        changed = [tool | {"description": f"Better{STEER}"} for tool in TOOLS[:2]]
        new = definition(f"new{STEER}", f"Order something{STEER}")
        retriever.upsert_tools({"server": SERVER, "tools": [*changed, *TOOLS[2:], new]})
        retriever.reject_tools(SERVER, ORDERS, note=f"No{STEER}")
        # What an upgrade would not have made.
        connection.execute(f'create function tool_rag."f{STEER}"() returns int return 1'.encode())


@pytest.fixture(params=["piped", "terminal"])
def terminal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether stdout is to be a terminal, which is so wide that nothing is left out."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "4000")
    return bool(request.param == "terminal")


def printed(text: str) -> str:
    """Return what was printed without the colours and styles that are the tables' own."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def write(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def asked(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield commands that print what is in the database or in files, then those that edit."""
    export = write(folder / "export.json", {"server": SERVER, "tools": TOOLS})
    elsewhere = write(folder / "elsewhere.json", {"server": f"new{STEER}", "tools": TOOLS})
    rules = f'role,server_pattern,tool_pattern,effect\n"{CLERK}","{SERVER}","{REFUND}",allow\n'
    rules = write(folder / "rules.csv", rules)
    fault = write(folder / "fault.csv", rules_with_a_fault())
    case = {
        "query": REQUEST,
        "roles": [BOSS],
        "expected": [TOOL, OTHER],
        "forbidden": [f"{SERVER}/search_orders"],
        "category": f"refunds{STEER}",
        "id": f"one{STEER}",
    }
    cases = write(folder / "cases.jsonl", json.dumps(case) + "\n")
    role = ("--role", BOSS)
    yield "search", REQUEST, "--role", CLERK, "--conversation", STEER
    yield "search", REQUEST, "--role", CLERK, "--explain", "--context", REQUEST
    yield "search", REQUEST, "--role", CLERK, "--json"
    yield "search", REQUEST, "--role", CLERK, "--jsonl"
    yield "search", f"quagga{STEER}", *role, "--explain", "--server", f"x{STEER}"
    yield "search", REQUEST, "--role", f"nobody{STEER}"
    yield "search", REQUEST, *role, "--why-not", OTHER
    yield "search", REQUEST, "--role", CLERK, "-k", "1", "--why-not", f"{SERVER}/cancel_order"
    yield "tools", "list"
    yield "tools", "list", *role
    yield "tools", "list", "--json"
    yield "tools", "list", "--jsonl"
    yield "tools", "show", TOOL
    yield "tools", "show", TOOL, "--json"
    yield "tools", "show", f"{TOOL}x"
    yield ("export",)
    yield "tools", "resolve", f"{REFUND}s", *role
    yield "tools", "resolve", f"quagga{STEER}", *role
    yield ("lint",)
    yield "lint", export
    yield "lint", export, "--json"
    yield ("review",)
    yield "review", "list", "--rejected"
    yield "review", "show", "*/*", "--rejected"
    yield "review", "show", "*/*", "--json"
    yield "review", "show", f"x{STEER}/y"
    yield "review", "policy"
    for group in ("synonyms", "examples", "deps"):
        yield group, "list"
        yield group, "list", "--json"
        yield group, "export"
    yield "deps", "suggest"
    yield "models", "list"
    yield "roles", "list"
    yield "roles", "list", "--json"
    yield "roles", "show", BOSS
    yield "roles", "show", f"x{STEER}"
    yield "explain-access", BOSS, OTHER
    yield "explain-access", BOSS, OTHER, "--json"
    yield "grants", "import", rules, "--replace", "--dry-run"
    yield "grants", "import", rules, "--replace", "--dry-run", "--json"
    yield "grants", "import", fault
    yield "grants", "export", "--format", "yaml"
    yield "grants", "export"
    yield "keys", "list"
    yield "keys", "list", "--json"
    yield "access", "diff", "--since", "2001-02-03"
    yield "audit", "changes", "--limit", "1000"
    yield "audit", "changes", "--limit", "1000", "--json"
    yield "audit", "events"
    yield "audit", "events", "--json"
    yield "eval", cases, "--allow-leakage"
    yield "eval", cases, "--allow-leakage", "--markdown"
    yield "eval", cases, "--allow-leakage", "--json"
    yield "what-if", "grant", BOSS, f"{SERVER}/*", "--query", REQUEST
    yield "what-if", "revoke", CLERK, f"{SERVER}/*", "--query", REQUEST, *role
    yield "what-if", "synonym", TOOL, f"words{STEER}", "--query", REQUEST, *role
    yield "what-if", "example", TOOL, f"asked{STEER}", "--query", REQUEST, *role
    yield "what-if", "description", TOOL, f"Text{STEER}", "--query", REQUEST, *role
    yield "db", "logins"
    yield "db", "verify"
    yield "ingest", elsewhere, "--dry-run"
    yield "ingest", elsewhere, "--dry-run", "--json"

    yield "ingest", elsewhere
    yield "review", "approve", TOOL, "--yes"
    yield "review", "reject", "*/*", "--note", STEER, "--yes"
    yield "grants", "import", rules, "--replace"
    yield "roles", "add", f"heir{STEER}", "--parent", CLERK
    yield "grant", BOSS, f"{SERVER}/x*", "--deny"
    yield "revoke", BOSS, f"{SERVER}/x*"
    yield "revoke", BOSS, f"{SERVER}/x*"
    yield "synonyms", "add", TOOL, f"back{STEER}"
    yield "synonyms", "remove", TOOL, f"back{STEER}"
    yield "synonyms", "remove", TOOL, f"back{STEER}"
    yield "examples", "add", TOOL, f"more{STEER}"
    yield "examples", "remove", TOOL, f"more{STEER}"
    yield "deps", "add", OTHER, f"{SERVER}/search_orders", STEER
    yield "deps", "remove", OTHER, f"{SERVER}/search_orders"
    yield "models", "use", f"model{STEER}"
    yield "models", "use", f"x{STEER}"
    yield "models", "drop", f"model{STEER}"
    yield "keys", "add", f"new{STEER}", "--role", CLERK
    yield "keys", "rotate", f"x{STEER}"
    yield "keys", "revoke", f"key{STEER}"
    yield "roles", "remove", CLERK
    yield "tools", "remove", SERVER


def rules_with_a_fault() -> str:
    return f'role,server_pattern,tool_pattern,effect\n"{CLERK}","{SERVER}","{REFUND}",{STEER}\n'


# What prints nothing by others, or only what the files say that it imports just as above.
NOT_ASKED = {
    "access strict-statistics",
    "audit purge",
    "audit set",
    "db grant-access",
    "db revoke-access",
    "db sql",
    "db stop",
    "db up",
    "db upgrade",
    "deps import",
    "embed",
    "examples import",
    "serve",
    "synonyms import",
}


@pytest.mark.usefixtures("shop")
def test_nothing_hidden_or_steering_is_printed(
    cli: Cli, terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_RAG_KEY_SECRET", "0123456789abcdef" * 4)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert ("───" in cli("tools", "list").out) == terminal
    told = 0
    for command in asked(tmp_path):
        outcome = cli(*command)
        assert "Usage:" not in outcome.err, command
        assert outcome.out + outcome.err
        # A file of rules is read by programs: piped, it has the names as they are.
        is_file = command[:2] == ("grants", "export") and not terminal
        shown = outcome.err + printed(outcome.out) * (not is_file)
        assert not HIDDEN & set(shown), (command, shown)
        told += "<U+001B>" in shown or "\\u001b" in shown
        if "--json" in command:
            outcome.json()
    assert told > 80


@pytest.mark.usefixtures("shop")
def test_json_and_files_of_rules_are_exact(cli: Cli) -> None:
    (tool,) = (tool for tool in cli("tools", "list", "--json").json() if tool["name"] == REFUND)
    assert (tool["server"], tool["title"]) == (SERVER, TOOLS[0]["title"])
    assert tool["description"] == TOOLS[0]["description"]
    lines = cli("search", REQUEST, "--role", CLERK, "--jsonl").out.split("\n")[:-1]
    assert REFUND in {json.loads(line)["name"] for line in lines}
    exported = cli("grants", "export").out
    assert cli("grants", "import", "-", "--format", "csv", stdin=exported).code == 0
    assert cli("grants", "export").out == exported


def test_every_command_that_prints_texts_is_asked(tmp_path: Path) -> None:
    paths = {" ".join(path): command for path, command in commands() if path}
    single = {path for path, command in paths.items() if not hasattr(command, "list_commands")}
    given = [" ".join(command) for command in asked(tmp_path)]
    covered = {path for path in single if any(f"{one} ".startswith(f"{path} ") for one in given)}
    assert single - covered == NOT_ASKED | {"demo", "eval fetch"} & single


def test_the_demo_of_a_folder(
    cli: Cli, terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    (tmp_path / "servers").mkdir()
    tools = [{"name": "refund", "description": f"Refund{STEER}", "inputSchema": {}}]
    write(tmp_path / "servers" / "shop.json", {"tools": tools})
    # Its format ends lines where these characters do.
    role = f"clerk[red]{STEER}".replace("\r", "").replace("\u2028", "")
    write(tmp_path / "access.txt", f"role {role}\nrole boss\nallow {role} shop/*\n")
    outcome = cli("demo", REQUEST, "--path", str(tmp_path))
    assert outcome.code == 0
    shown = printed(outcome.out)
    assert not HIDDEN & set(shown + outcome.err)
    assert "clerk[red]<U+001B>[2J" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, größer, 漢字, مرحبا, 👍", None),
        ("two\nlines\tand a tab", None),
        ("\x1b[31m", "<U+001B>[31m"),
        ("a\u202eb\U000e0041", "a<U+202E>b<U+E0041>"),
        ("\ud800", "<U+D800>"),
    ],
)
def test_what_is_written_out(text: str, shown: str | None) -> None:
    assert visible(text) == (text if shown is None else shown)
    document = json.dumps({text: [text, 1.5, None]}, ensure_ascii=False, indent=2)
    assert json.loads(escaped(document)) == {text: [text, 1.5, None]}
    assert visible(escaped(document)) == escaped(document)


def test_a_cell_is_one_line(cli: Cli, database: str) -> None:
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools(
            {"server": "shop", "tools": [{"name": "a", "description": "Do\r\nit\n\n now"}]}
        )
        retriever.add_example("shop", "a", "one\ntwo\t\u2028three")
    (row,) = cli("examples", "list").rows()
    assert row["request"] == "one two <U+2028>three"
    assert cli("tools", "list").rows()[0]["description"] == "Do it now"
