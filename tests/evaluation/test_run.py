"""Asking, on a small catalogue: answers, reasons, one snapshot, and interrupted runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tool_rag_pg import _database
from tool_rag_pg.errors import DatabaseUnavailable
from tool_rag_pg.evaluation.cases import Case
from tool_rag_pg.evaluation.reasons import REASONS
from tool_rag_pg.evaluation.run import Answer, Asked, Sidecar, ask_cases, ask_unaware, fingerprint
from tool_rag_pg.evaluation.sets import temporary_database
from tool_rag_pg.retriever import ToolRetriever

TOOLS: dict[str, str] = {
    "refund_payment": "Give a customer money back for a charge.",
    "void_payment": "Cancel a charge of a customer before it is settled.",
    "list_charges": "List the charges of a customer.",
    "getInvoice": "Download an invoice as PDF.",
    "get_weather": "Tell the weather of a city.",
    "weather_of_city": "Tell the weather of the city.",
    "erase": "Remove everything for good.",
}


@pytest.fixture
def shop(database: str) -> str:
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools(
            [
                {
                    "server": "shop",
                    "tools": [{"name": n, "description": d} for n, d in TOOLS.items()],
                },
                {
                    "server": "old",
                    "tools": [{"name": "get-invoice", "description": "Paper archive of 1999."}],
                },
            ]
        )
        retriever.add_role("clerk")
        retriever.grant_tools("clerk", "*", "*")
        retriever.grant_tools("clerk", "shop", "erase", effect="deny")
        retriever.add_role("boss")
        retriever.grant_tools("boss", "*", "*")
    return database


def case(query: str, *expected: str, **more: Any) -> Case:
    values: dict[str, Any] = {"id": query, "line": 1, "query": query, "roles": ("clerk",)}
    return Case(**{**values, **more}, expected=tuple(f"shop/{name}" for name in expected))


def ask(
    url: str,
    *cases: Case,
    k: int = 10,
    min_relevance: float | None = None,
    path: Path | None = None,
    **more: Any,
) -> Asked:
    with _database.connect(url) as connection:
        mark = fingerprint(connection, {"k": k}, cases)
        with Sidecar(path, mark) as sidecar:
            return ask_cases(
                connection, cases, k=k, min_relevance=min_relevance, sidecar=sidecar, **more
            )


def reason(answer: Answer) -> str:
    (failure,) = answer.failures
    assert failure["reason"] in REASONS
    return str(failure["reason"])


def test_what_is_found_has_no_failure(shop: str) -> None:
    (answer,) = ask(shop, case("give the customer the money back", "refund_payment")).answers
    assert answer.failures == []
    assert answer.leaks == []
    assert answer.first(1) == ["shop/refund_payment"]
    assert answer.permitted_tools == 7
    assert answer.milliseconds > 0


def test_each_reason_by_its_rule(shop: str) -> None:
    asked = ask(
        shop,
        case("remove everything for good", "erase"),
        case("archive paper invoice", "getInvoice"),
        case("weather of city", "get_weather"),
        case("cancel a charge of a customer before it is settled", "list_charges"),
        case("zebra crossing umbrella", "refund_payment"),
        k=1,
    )
    not_permitted, same_name, alike, crowded, gap = asked.answers
    assert reason(not_permitted) == "not permitted"
    assert not_permitted.failures[0]["detail"].startswith("clerk: ")
    assert reason(same_name) == "near-duplicate"
    assert same_name.failures[0]["alike"][0] == {
        "tool": "old/get-invoice",
        "same_name": True,
        "similarity": pytest.approx(same_name.failures[0]["alike"][0]["similarity"]),
    }
    assert reason(alike) == "near-duplicate"
    assert alike.failures[0]["alike"][0]["tool"] == "shop/weather_of_city"
    assert alike.failures[0]["alike"][0]["similarity"] > 0.9
    assert reason(crowded) == "crowded out"
    assert crowded.failures[0]["rank"] > 1
    assert crowded.failures[0]["instead"] == ["shop/void_payment"]
    assert reason(gap) == "vocabulary gap"
    assert set(gap.failures[0]["unmatched"]) == {"zebra", "crossing", "umbrella"}


def test_below_the_cut_off(shop: str) -> None:
    (answer,) = ask(shop, case("a customer", "list_charges"), min_relevance=0.99).answers
    assert answer.hits == []
    assert reason(answer) == "below the cut-off"


def test_leaks_are_told(shop: str) -> None:
    forbidden = case("remove everything for good", roles=("boss",), forbidden=("shop/erase",))
    asked = ask(shop, forbidden, case("remove everything for good"))
    assert [answer.leaks for answer in asked.answers] == [["shop/erase"], []]


def test_a_search_without_permissions_is_taken_back(shop: str) -> None:
    cases = [case("remove everything for good"), case("the weather", "get_weather")]
    asked = ask(shop, *cases, k=2)
    with _database.connect(shop) as connection:
        before = ToolRetriever(connection).list_roles()
        unaware = ask_unaware(connection, cases, asked.answers, k=2)
        assert (unaware.leaking, unaware.leaks) == (1, (True, False))
        assert ToolRetriever(connection).list_roles() == before
        boss = [case("the weather", "get_weather", roles=("boss",))]
        unaware = ask_unaware(connection, boss, ask(shop, *boss).answers, k=2)
        assert unaware.leaking is None
        assert unaware.reason == "everybody may use everything"


def test_a_read_only_server_is_evaluated_too(shop: str) -> None:
    cases = [case("remove everything for good")]
    url = psycopg.conninfo.make_conninfo(shop, options="-c default_transaction_read_only=on")
    asked = ask(url, *cases)
    assert asked.answers[0].leaks == []
    with _database.connect(url) as connection:
        unaware = ask_unaware(connection, cases, asked.answers, k=2)
    assert unaware.leaking is None
    assert unaware.reason == "it takes the right to make a role"


def test_an_editor_can_evaluate(shop: str) -> None:
    cases = [case("remove everything for good")]
    user = "tool_rag_eval_reader"
    with psycopg.connect(shop, autocommit=True) as owner:
        owner.execute(f"create role {user} login")
        owner.execute(f"select tool_rag.grant_access('{user}', 'editor')")
        try:
            url = psycopg.conninfo.make_conninfo(shop, user=user)
            asked = ask(url, *cases)
            assert asked.answers[0].permitted_tools == 7
            with _database.connect(url) as connection:
                unaware = ask_unaware(connection, cases, asked.answers, k=2)
            assert unaware.reason == "it takes the right to make a role"
            with (
                pytest.raises(DatabaseUnavailable, match="can't be made or dropped here"),
                temporary_database(url),
            ):
                pass
        finally:
            owner.execute(f"drop owned by {user}; drop role {user}")


def test_all_cases_see_one_state(shop: str) -> None:
    cases = [case("the weather", "get_weather", id=str(number)) for number in range(3)]

    def edit(done: int, _: int) -> None:
        if done == 1:
            with ToolRetriever(shop) as retriever:
                retriever.remove_server("shop")

    asked = ask(shop, *cases, progress=edit)
    assert [answer.failures for answer in asked.answers] == [[], [], []]
    assert asked.tools == 8


def test_an_interrupted_run_goes_on(shop: str, tmp_path: Path) -> None:
    cases = [case("the weather", "get_weather", id=str(number)) for number in range(5)]
    path = tmp_path / "result.json"
    partial = tmp_path / "result.json.partial"

    def interrupt(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(shop, *cases, path=path, progress=interrupt)
    assert len(partial.read_text().splitlines()) == 4
    # The last line may be torn.
    partial.write_text(partial.read_text()[:-30])
    asked = ask(shop, *cases, path=path)
    assert asked.resumed == 2
    assert [answer.id for answer in asked.answers] == ["0", "1", "2", "3", "4"]
    assert ask(shop, *cases, path=path).resumed == 5
    # Another k, other cases or another catalogue: from the beginning.
    assert ask(shop, *cases, path=path, k=3).resumed == 0
    assert ask(shop, *cases[:4], path=path, k=3).resumed == 0
    assert ask(shop, *cases[:4], path=path, k=3).resumed == 4
    with ToolRetriever(shop) as retriever:
        retriever.add_synonym("rain", "shop", "get_weather")
    assert ask(shop, *cases[:4], path=path, k=3).resumed == 0
    partial.write_text("nonsense\n")
    assert ask(shop, *cases, path=path).resumed == 0
