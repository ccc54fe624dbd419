"""Synonyms and examples: found at once, and only by who may see the tool."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def shop(connection: Connection) -> Connection:
    connection.execute(
        """
        select tool_rag.upsert_tools('{"server": "shop", "tools": [
            {"name": "submit_grievance", "description": "Submit a grievance form"},
            {"name": "refund_payment", "description": "Give a customer money back"},
            {"name": "list_holidays", "description": "Public holidays of a country"}]}'),
            tool_rag.add_role('clerk'), tool_rag.grant_tools('clerk', 'shop', '*'),
            tool_rag.add_role('guest'), tool_rag.grant_tools('guest', 'shop', 'list_*')
        """
    )
    return connection


def search(connection: Connection, query: str, role: str = "clerk") -> list[tuple[Any, ...]]:
    return connection.execute(
        "select name, reason, explain from tool_rag.search_tools(%s, array[%s], 3)", (query, role)
    ).fetchall()


def vectors(connection: Connection, kind: str) -> int:
    row = connection.execute(
        "select count(*) from tool_rag.tool_vector where kind = %s", (kind,)
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_words_for_a_tool_find_it(shop: Connection) -> None:
    before = search(shop, "lodge a formal protest")
    assert "submit_grievance" not in [name for name, reason, _ in before if "words" in reason]
    shop.execute(
        "select tool_rag.add_synonym('raise complaint lodge formal protest', 'shop',"
        " 'submit_grievance')"
    )
    name, reason, explain = search(shop, "lodge a formal protest")[0]
    assert name == "submit_grievance"
    assert "words: formal, lodge, protest" in reason
    assert explain["synonym"] == "raise complaint lodge formal protest"


def test_words_for_a_term_expand_requests_that_hold_it(shop: Connection) -> None:
    shop.execute("select tool_rag.add_synonym('refund payment', term => 'chargeback dispute')")
    found = search(shop, "open a dispute about the chargeback")
    assert found[0][0] == "refund_payment"
    assert found[0][2]["expansion"] == "refund payment"
    # All of the term's words must be there.
    assert "expansion" not in search(shop, "settle this dispute")[0][2]


def test_an_example_finds_its_tool_and_is_named(shop: Connection) -> None:
    shop.execute(
        "select tool_rag.add_example('shop', 'refund_payment', 'they took my coins twice')"
    )
    name, reason, explain = search(shop, "my coins were taken twice")[0]
    assert name == "refund_payment"
    assert "as in: they took my coins twice" in reason
    assert explain["example"] == "they took my coins twice"


def test_a_tool_scores_by_its_best_example_not_by_their_sum(shop: Connection) -> None:
    shop.execute(
        "select tool_rag.add_example('shop', 'refund_payment', 'thing number ' || n || ' please')"
        " from generate_series(1, 30) n"
    )
    shop.execute("select tool_rag.add_example('shop', 'list_holidays', 'when is easter please')")
    assert search(shop, "when is easter please")[0][0] == "list_holidays"


def test_wording_never_shows_a_tool_to_who_may_not_see_it(shop: Connection) -> None:
    shop.execute(
        "select tool_rag.add_synonym('lodge protest', 'shop', 'submit_grievance'),"
        " tool_rag.add_example('shop', 'submit_grievance', 'lodge my protest'),"
        " tool_rag.add_synonym('grievance', term => 'protest')"
    )
    for query in ("lodge my protest", "grievance", "protest"):
        for name, reason, explain in search(shop, query, "guest"):
            assert name == "list_holidays"
            assert "lodge" not in reason
            assert "example" not in explain


def test_repeats_are_told_apart_from_news(shop: Connection) -> None:
    add = "select tool_rag.add_synonym('cash', 'shop', 'refund_payment')"
    example = "select tool_rag.add_example('shop', 'refund_payment', 'my cash')"
    assert [shop.execute(add.encode()).fetchone() for _ in range(2)] == [(True,), (False,)]
    assert [shop.execute(example.encode()).fetchone() for _ in range(2)] == [(True,), (False,)]


def test_what_is_removed_no_longer_counts(shop: Connection) -> None:
    shop.execute(
        "select tool_rag.add_synonym('zebra', 'shop', 'refund_payment'),"
        " tool_rag.add_example('shop', 'refund_payment', 'okapi'),"
        " tool_rag.add_synonym('payment', term => 'quagga')"
    )
    assert (vectors(shop, "synonym"), vectors(shop, "example")) == (1, 1)
    row = shop.execute(
        "select tool_rag.remove_synonym('zebra', 'shop', 'refund_payment'),"
        " tool_rag.remove_example('shop', 'refund_payment', 'okapi'),"
        " tool_rag.remove_synonym('payment', term => 'quagga'),"
        " tool_rag.remove_synonym('zebra', 'shop', 'refund_payment')"
    ).fetchone()
    assert row == (True, True, True, False)
    assert (vectors(shop, "synonym"), vectors(shop, "example")) == (0, 0)
    assert shop.execute("select from tool_rag.lexeme where lexeme ~ 'zebra|okapi'").rowcount == 0
    assert "expansion" not in search(shop, "quagga")[0][2]


@pytest.mark.parametrize(
    ("arguments", "gone", "left"),
    [
        ("null", True, ["three"]),
        ("null, 'generated'", True, ["one", "three"]),
        ("null, origin => 'feedback'", False, ["one", "three", "two"]),
        ("'two', 'generated'", True, ["one", "three"]),
        ("'one', 'generated'", False, ["one", "three", "two"]),
    ],
)
def test_examples_go_by_tool_request_and_origin(
    shop: Connection, arguments: str, gone: bool, left: list[str]
) -> None:
    shop.execute(
        "select tool_rag.add_example('shop', 'refund_payment', 'one', 'human'),"
        " tool_rag.add_example('shop', 'refund_payment', 'two', 'generated'),"
        " tool_rag.add_example('shop', 'list_holidays', 'three', 'generated')"
    )
    removed = shop.execute(
        f"select tool_rag.remove_example('shop', 'refund_payment', {arguments})".encode()
    ).fetchone()
    assert removed == (gone,)
    rows = shop.execute("select request from tool_rag.list_examples()").fetchall()
    assert sorted(row[0] for row in rows) == left
    of_origin = shop.execute("select request from tool_rag.list_examples(origin => 'human')")
    assert of_origin.fetchall() == [("one",)] * ("one" in left)


def test_an_origin_that_does_not_exist_removes_nothing(shop: Connection) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="origin is 'genrated'"):
        shop.execute("select tool_rag.remove_example('shop', 'refund_payment', null, 'genrated')")


def test_wording_goes_with_its_tool(shop: Connection) -> None:
    shop.execute(
        "select tool_rag.add_synonym('zebra', 'shop', 'refund_payment'),"
        " tool_rag.add_example('shop', 'refund_payment', 'okapi')"
    )
    shop.execute("delete from tool_rag.tool where name = 'refund_payment'")
    assert shop.execute("select from tool_rag.synonym").rowcount == 0
    assert shop.execute("select from tool_rag.example").rowcount == 0
    assert (vectors(shop, "synonym"), vectors(shop, "example")) == (0, 0)


def test_an_edit_of_plain_sql_counts_at_once(shop: Connection) -> None:
    shop.execute("select tool_rag.add_example('shop', 'refund_payment', 'about okapis')")
    shop.execute("update tool_rag.example set request = 'about quaggas'")
    assert "as in: about quaggas" in search(shop, "quaggas")[0][1]
    assert vectors(shop, "example") == 1
    shop.execute("select tool_rag.add_synonym('okapi', 'shop', 'refund_payment')")
    shop.execute("update tool_rag.synonym set words = 'zebra'")
    assert "words: zebra" in search(shop, "zebra")[0][1]
    assert shop.execute("select from tool_rag.lexeme where lexeme = 'okapi'").rowcount == 0


def test_wording_follows_the_text_search_configuration(shop: Connection) -> None:
    shop.execute(
        "select tool_rag.add_example('shop', 'refund_payment', 'the refunding of payments'),"
        " tool_rag.add_synonym('payment', term => 'remittances')"
    )
    shop.execute("update tool_rag.ranking_setting set text_search_config = 'simple'")
    row = shop.execute(
        "select (select lexemes from tool_rag.example),"
        " (select term_lexemes from tool_rag.synonym where term is not null)"
    ).fetchone()
    assert row == (["of", "payments", "refunding", "the"], ["remittances"])


@pytest.mark.parametrize(
    ("call", "state", "message", "hint"),
    [
        ("add_example('shop', 'refund_paymnt', 'x')", "42704", "refund_paymnt", "refund_payment"),
        ("add_synonym('x', 'shop', 'grievance')", "42704", "grievance", "submit_grievance"),
        ("add_example('shop', 'refund_payment', ' ')", "22023", "1 to 2000", "request"),
        ("add_example('shop', 'refund_payment', 'x', 'me')", "22023", "'me'", "who wrote"),
        ("add_synonym('x')", "22023", "one of them", "add_synonym("),
        ("add_synonym('x', 'shop', 'refund_payment', 'y')", "22023", "one of them", "add_"),
        ("add_synonym('', term => 'bill')", "22023", "1 to 1000", "words"),
        ("add_synonym('x', term => 'the')", "22023", "no word", "Stop words"),
    ],
)
def test_bad_wording_is_refused_with_a_hint(
    shop: Connection, call: str, state: str, message: str, hint: str
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        shop.execute(f"select tool_rag.{call}".encode())
    assert caught.value.sqlstate == state
    assert message in str(caught.value.diag.message_primary)
    assert hint in str(caught.value.diag.message_hint)
