from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Cli, mcp


def test_the_tour_shows_people_savings_and_a_refusal(cli: Cli) -> None:
    first = cli("demo")
    assert first.code == 0
    assert "8 servers, 159 tools" in first.out
    for role in ("employee: ", "support: ", "admin: ", "logistics: "):
        assert f"\n{role}" in first.out
    assert first.out.count("fewer tokens than") == 4
    assert "allowed to support by payments/refund_payment" in " ".join(first.out.split())
    refusal = first.out[first.out.index("warehouse/write_off_stock is not in the list") :]
    assert refusal.startswith(
        "warehouse/write_off_stock is not in the list of logistics: "
        "denied to logistics by warehouse/write_off_stock."
    )
    assert "For accounting the same words put it at rank 1." in refusal
    assert "\x1b" not in first.out
    asked = first.out.index("twelve sleeping pads")
    assert "write_off_stock" not in first.out[asked : first.out.index(refusal)]

    before = cli("roles", "list", "--json").out
    again = cli("demo", "why do customers send the Skarn 3 back", "--role", "admin")
    assert "analytics/returns.reasons" in again.out
    each = cli("demo", "why do customers send the Skarn 3 back", "-k", "2")
    assert each.out.count("fewer tokens than") == 6
    assert (
        "analytics/returns.reasons"
        not in cli("demo", "why do customers send the Skarn 3 back", "--role", "support").out
    )
    assert cli("roles", "list", "--json").out == before


def test_a_named_database_with_other_content_is_left_alone(cli: Cli, developer: str) -> None:
    outcome = cli("demo")
    assert (outcome.code, outcome.out) == (2, "")
    assert "the database holds more than the demo: github, mail and developer" in outcome.err
    assert len(cli("tools", "list").rows()) == 5


def test_roles_are_those_of_the_folder_and_go_with_a_request(cli: Cli) -> None:
    unknown = cli("demo", "anything", "--role", "ceo")
    assert (unknown.code, unknown.out) == (2, "")
    assert "employee, support, logistics, accounting, store_manager and admin" in unknown.err
    lonely = cli("demo", "--role", "admin")
    assert lonely.code == 2
    assert "--role goes with a request" in lonely.err


def test_a_folder_of_ones_own(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "servers").mkdir()
    (tmp_path / "servers" / "shop.json").write_text(json.dumps(mcp("refund", "ship")))
    (tmp_path / "access.txt").write_text("role clerk\nrole boss\nallow clerk shop/ship\n")
    outcome = cli("demo", "ship it", "--path", str(tmp_path), "--role", "clerk")
    assert outcome.code == 0
    assert "1 servers, 2 tools" in outcome.out
    assert "shop/ship" in outcome.out
    assert "shop/refund" not in outcome.out
    (tmp_path / "access.txt").write_text("role clerk\nallow boss shop/ship\n")
    broken = cli("demo", "--path", str(tmp_path))
    assert (broken.code, broken.out) == (1, "")
    assert "access.txt: line 2, column 7: the role 'boss' is not known here" in broken.err
