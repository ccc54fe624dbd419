"""`tool-rag deps suggest`: print, save, accept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tool_rag_pg.retriever import ToolRetriever

CANCEL = "shop/cancel_order"
SEARCH = "shop/search_orders"


def tool(name: str, *required: str, read_only: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "input_schema": {
            "type": "object",
            "properties": {parameter: {"type": "string"} for parameter in required},
            "required": list(required),
        },
        "annotations": {"readOnlyHint": read_only},
    }


@pytest.fixture
def shop(database: str) -> None:
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools(
            [
                {
                    "server": "shop",
                    "tools": [
                        tool("search_orders", "query", read_only=True),
                        tool("get_order", "order_id", read_only=True),
                        tool("cancel_order", "order_id"),
                    ],
                },
                {"server": "mail", "tools": [tool("send_message", "text")]},
            ]
        )


@pytest.mark.usefixtures("shop")
def test_suggestions_are_printed_and_not_added(cli: Cli) -> None:
    shown = cli("deps", "suggest")
    assert shown.rows()[0] == {
        "tool": CANCEL,
        "needs": SEARCH,
        "reason": "order_id comes from search_orders",
        "confidence": "0.80",
    }
    assert len(shown.rows()) == 2
    assert "2 dependencies proposed, none added." in shown.err
    assert "--accept" in shown.err
    first, _ = cli("deps", "suggest", "--json").json()
    assert first.pop("confidence") == pytest.approx(0.8)
    assert first == {
        "server": "shop",
        "tool": "cancel_order",
        "needs_server": "shop",
        "needs_tool": "search_orders",
        "parameter": "order_id",
        "reason": "order_id comes from search_orders",
    }
    limited = cli("deps", "suggest", "--limit", "1")
    assert len(limited.rows()) == 1
    assert "There may be more than these 1" in limited.err
    assert cli("deps", "list").out == ""


@pytest.mark.usefixtures("shop")
def test_accepting_adds_what_is_shown(cli: Cli) -> None:
    assert cli("deps", "suggest", "--accept", "--limit", "1").rows()[0]["tool"] == CANCEL
    assert [row["tool"] for row in cli("deps", "list").rows()] == [CANCEL]
    accepted = cli("deps", "suggest", "--accept")
    assert "1 dependency added." in accepted.err
    assert len(cli("deps", "list").rows()) == 2
    nothing = cli("deps", "suggest", "--accept", "--json")
    assert (nothing.code, nothing.json()) == (0, [])
    assert "There is nothing to propose." in nothing.err


@pytest.mark.usefixtures("shop")
def test_a_file_of_suggestions_is_edited_and_imported(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "dependencies.json"
    written = cli("deps", "suggest", "--output", str(file))
    assert f"2 dependencies written, none added. Edit them, then: tool-rag deps import {file}" in (
        written.err
    )
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document[0] == {
        "tool": CANCEL,
        "needs": SEARCH,
        "reason": "order_id comes from search_orders",
    }
    file.write_text(json.dumps(document[:1]), encoding="utf-8")
    assert "1 dependency, 1 of them new" in cli("deps", "import", str(file)).err
    assert cli("deps", "export").json() == document[:1]
    nowhere = cli("deps", "suggest", "--accept", "--output", str(tmp_path / "no" / "x.json"))
    assert (nowhere.code, nowhere.out) == (1, "")
    assert "it can't be written" in nowhere.err
    assert cli("deps", "export").json() == document[:1]


@pytest.mark.usefixtures("shop")
def test_suggestions_of_one_server(cli: Cli) -> None:
    assert len(cli("deps", "suggest", "--server", "shop").rows()) == 2
    nothing = cli("deps", "suggest", "--server", "mail")
    assert (nothing.code, nothing.out) == (0, "")
    assert "There is nothing to propose." in nothing.err
    unknown = cli("deps", "suggest", "--server", "shpo")
    assert (unknown.code, unknown.out) == (2, "")
    assert "server 'shpo' does not exist" in unknown.err
    assert cli("deps", "suggest", "--limit", "0").code == 2
