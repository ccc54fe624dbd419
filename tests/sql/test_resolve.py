"""sql/functions/052_names.sql: which permitted tool a misspelt name means."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.conftest import (
    MANY,
    Connection,
    add_role,
    add_server,
    add_tool,
    allow,
    deny,
    fetch,
    refused,
    undone,
)
from tests.sql.test_plans import reading

Row = tuple[str, str, str, float]

TOOLS = (
    ("github", "create_pull_request"),
    ("github", "list_issues"),
    ("github", "archive_repo"),
    ("github", "get_object_v1"),
    ("github", "run"),
    ("gitlab", "create_merge_request"),
    ("gitlab", "list_pipelines"),
    ("mail", "sendMessage"),
    ("mail", "list_folders"),
    ("api", "repos/list-for-user"),
)


def resolve(
    connection: Connection,
    name: str | None,
    roles: list[str] | None = ["all"],  # noqa: B006
    servers: list[str] | None = None,
) -> list[Row]:
    return connection.execute(
        "select outcome, server, name, round(similarity::numeric, 3)::float8"
        " from tool_rag.resolve_tool(%s, %s, %s)",
        [name, roles, servers],
    ).fetchall()


def answer(connection: Connection, name: str, **arguments: Any) -> tuple[str, list[str]]:
    """The outcome and the tools of it."""
    rows = resolve(connection, name, **arguments)
    outcomes = {outcome for outcome, *_ in rows}
    assert len(outcomes) <= 1
    return outcomes.pop() if outcomes else "none", [f"{row[1]}/{row[2]}" for row in rows]


@pytest.fixture
def catalogue(connection: Connection) -> Connection:
    for server, name in TOOLS:
        add_tool(connection, server, name)
    add_role(connection, "all")
    allow(connection, "all")
    return connection


@pytest.mark.parametrize(("server", "name"), TOOLS)
def test_the_very_name(catalogue: Connection, server: str, name: str) -> None:
    row = ("exact", server, name, 1.0)
    assert resolve(catalogue, name) == resolve(catalogue, f"{server}/{name}") == [row]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("createPullRequest", "github/create_pull_request"),
        ("create-pull-request", "github/create_pull_request"),
        ("CREATE PULL.REQUEST", "github/create_pull_request"),
        ("createpullrequest", "github/create_pull_request"),
        ("crëate_pull_request", "github/create_pull_request"),
        ("GitHub/createPullRequest", "github/create_pull_request"),
        ("send_message", "mail/sendMessage"),
        ("MAIL/send-message", "mail/sendMessage"),
        ("repos_list_for_user", "api/repos/list-for-user"),
        ("api/repos/listForUser", "api/repos/list-for-user"),
    ],
)
def test_case_and_separators_do_not_count(catalogue: Connection, name: str, tool: str) -> None:
    assert answer(catalogue, name) == ("corrected", [tool])
    assert resolve(catalogue, name)[0][3] == 1


@pytest.mark.parametrize(
    ("name", "tool", "similarity"),
    [
        ("create_pull_reqest", "github/create_pull_request", 2 * 16 / 33),
        ("createPullReqest", "github/create_pull_request", 2 * 16 / 33),
        ("create_pull_requests", "github/create_pull_request", 2 * 17 / 35),
        ("craete_pull_request", "github/create_pull_request", 2 * 16 / 34),
        ("lsit_issues", "github/list_issues", 2 * 9 / 20),
        ("list_isue", "github/list_issues", 2 * 8 / 18),
        ("github_create_pull_request", "github/create_pull_request", 2 * 17 / 40),
        ("github/list_isues", "github/list_issues", 0.75 * 2 * 9 / 19 + 0.25),
        ("githb/list_issues", "github/list_issues", 0.75 + 0.25 * 10 / 11),
        ("repos/list-for-usr", "api/repos/list-for-user", 2 * 15 / 31),
    ],
)
def test_a_misspelt_name_is_corrected(
    catalogue: Connection, name: str, tool: str, similarity: float
) -> None:
    catalogue.execute("delete from tool_rag.tool where name = 'create_merge_request'")
    assert answer(catalogue, name) == ("corrected", [tool])
    assert resolve(catalogue, name)[0][3] == round(similarity, 3)


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        # Alike, but not enough.
        ("pull_request", ["github/create_pull_request"]),
        ("list_pipes", ["gitlab/list_pipelines"]),
        ("rn", ["github/run"]),
        # Missing words that leave two.
        ("create_request", ["github/create_pull_request", "gitlab/create_merge_request"]),
        # Other words rather than other spellings.
        ("unarchive_repo", ["github/archive_repo"]),
        ("set_object_v1", ["github/get_object_v1"]),
        ("get_object_v2", ["github/get_object_v1"]),
        ("get_objects", ["github/get_object_v1"]),
        ("create_test_pull_request", ["github/create_pull_request"]),
        # The right name of another server.
        ("gitlab/create_pull_request", ["github/create_pull_request"]),
        ("github/list_folders", ["mail/list_folders"]),
    ],
)
def test_what_is_in_doubt_is_only_hinted_at(
    catalogue: Connection, name: str, tools: list[str]
) -> None:
    outcome, found = answer(catalogue, name)
    assert outcome == "hint"
    assert found[: len(tools)] == tools


@pytest.mark.parametrize(
    "name", ["zebra", "x", "/", "//", "github/", "/run", "github/zebra", "-", "🦖", "%", "*", "\\"]
)
def test_nothing_alike_is_no_row(catalogue: Connection, name: str) -> None:
    assert [row for row in resolve(catalogue, name) if row[2] != "run"] == []


def test_at_most_three_hints_the_best_first(connection: Connection) -> None:
    add_role(connection, "all")
    allow(connection, "all")
    for number in range(6):
        add_tool(connection, "s", f"list_invoices_{number}")
    assert answer(connection, "list_invoices_9") == (
        "hint",
        ["s/list_invoices_0", "s/list_invoices_1", "s/list_invoices_2"],
    )
    add_tool(connection, "s", "list_invoice_99")
    rows = resolve(connection, "list_invoices_9")
    assert rows[0][2] == "list_invoice_99"
    assert [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)


def test_two_that_are_nearly_as_good_are_hints(catalogue: Connection) -> None:
    assert answer(catalogue, "create_pull_reqest")[0] == "corrected"
    add_tool(catalogue, "github", "create_pull_requests")
    outcome, tools = answer(catalogue, "create_pull_reqest")
    assert outcome == "hint"
    assert tools[:2] == ["github/create_pull_request", "github/create_pull_requests"]
    # Another word is no rival, however long the rest.
    add_tool(catalogue, "github", "delete_pull_request_review_comment")
    add_tool(catalogue, "github", "create_pull_request_review_comment")
    assert answer(catalogue, "delete_pull_request_review_coment") == (
        "corrected",
        ["github/delete_pull_request_review_comment"],
    )


def test_the_same_words_in_another_order_are_another_name(catalogue: Connection) -> None:
    add_tool(catalogue, "bank", "convert_currency_amount_from_usd_to_eur")
    assert answer(catalogue, "convert_currency_amount_from_eur_to_usd") == (
        "hint",
        ["bank/convert_currency_amount_from_usd_to_eur"],
    )
    add_tool(catalogue, "bank", "get_user_by_user_id")
    assert answer(catalogue, "get_usr_by_user_id") == ("corrected", ["bank/get_user_by_user_id"])


def test_a_name_of_several_servers_is_decided_by_nobody(catalogue: Connection) -> None:
    add_tool(catalogue, "gitlab", "list_issues")
    both = ["github/list_issues", "gitlab/list_issues"]
    for name in ("list_issues", "listIssues"):
        assert answer(catalogue, name) == ("hint", both)
    outcome, tools = answer(catalogue, "list_isues")
    assert (outcome, tools[:2]) == ("hint", both)
    assert answer(catalogue, "gitlab/list_issues") == ("exact", both[1:])
    assert answer(catalogue, "gitlab/listIssues") == ("corrected", both[1:])
    # Also where servers are called nearly alike.
    add_tool(catalogue, "gitlab2", "list_issues")
    assert answer(catalogue, "gitlab/list_isues") == ("corrected", both[1:])
    assert answer(catalogue, "list_issues", servers=["gith*"]) == ("exact", both[:1])
    assert answer(catalogue, "list_isues", servers=["github", "mail"]) == ("corrected", both[:1])
    # The very name beats one that is the same but for its case.
    add_tool(catalogue, "mail", "listIssues")
    assert answer(catalogue, "listIssues") == ("exact", ["mail/listIssues"])
    for number in range(5):
        add_tool(catalogue, f"s{number}", "listIssues")
    assert len(resolve(catalogue, "listIssues")) == 3


def test_servers_are_patterns(catalogue: Connection) -> None:
    assert answer(catalogue, "list_folders", servers=["git*"])[1] != ["mail/list_folders"]
    assert answer(catalogue, "sendMesage", servers=["git*"]) == ("none", [])
    assert answer(catalogue, "sendMesage", servers=["m*l"]) == ("corrected", ["mail/sendMessage"])
    assert answer(catalogue, "sendMessage", servers=[]) == ("none", [])


def test_no_role_and_unknown_roles_see_nothing(catalogue: Connection) -> None:
    for roles in (None, [], ["nobody"], [""]):
        for name in ("list_issues", "listIssues", "list_isues", "github/list_issues"):
            assert resolve(catalogue, name, roles) == []
    catalogue.execute("set local tool_rag.roles = 'guest, all'")
    assert answer(catalogue, "list_isues", roles=None)[0] == "corrected"


def test_denied_and_expired_tools_are_not_there(catalogue: Connection) -> None:
    add_role(catalogue, "clerk")
    allow(catalogue, "clerk", "mail")
    allow(catalogue, "clerk", "gitlab", until=datetime.now(UTC) - timedelta(days=1))
    allow(catalogue, "clerk", "github")
    deny(catalogue, "clerk", "github", "create_*")
    for name in ("create_pull_request", "createPullRequest", "github/create_pull_reqest"):
        assert resolve(catalogue, name, ["clerk"]) == []
        # One deny of any role holds.
        assert resolve(catalogue, name, ["clerk", "all"])[:1] != resolve(catalogue, name)[:1]
    assert "gitlab" not in {row[1] for row in resolve(catalogue, "list_pipelnes", ["clerk"])}
    # Nor do they make a name ambiguous.
    add_tool(catalogue, "gitlab", "list_issues")
    assert answer(catalogue, "list_issues", roles=["clerk"]) == ("exact", ["github/list_issues"])
    catalogue.execute("update tool_rag.tool set enabled = false where name = 'list_folders'")
    assert answer(catalogue, "list_folders", roles=["clerk"])[1] != ["mail/list_folders"]


WORDS = st.sampled_from(["get", "set", "user", "users", "v1", "v2", "a", "a/b", "Ü"])
NAMES = st.lists(WORDS, min_size=1, max_size=3).map("_".join)
CALLS = st.tuples(st.sampled_from(["", "", "one/", "oen/", "two/"]), NAMES, st.integers(0, 12)).map(
    lambda call: f"{call[0]}{call[1][: call[2]]}{call[1][call[2] + 1 :]}" or "x"
)


@given(
    tools=st.sets(st.tuples(st.sampled_from(["one", "two", "twoo"]), NAMES), max_size=12),
    data=st.data(),
    calls=st.lists(CALLS, min_size=1, max_size=4),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_answer_is_that_of_a_catalogue_of_permitted_tools(
    connection: Connection, tools: set[tuple[str, str]], data: Any, calls: list[str]
) -> None:
    ordered = sorted(tools)
    granted = data.draw(st.lists(st.booleans(), min_size=len(tools), max_size=len(tools)))
    denied = data.draw(st.lists(st.booleans(), min_size=len(tools), max_size=len(tools)))
    servers = data.draw(st.sampled_from([None, ["one"], ["t*"]]))
    with undone(connection):
        for role in ("clerk", "all"):
            add_role(connection, role)
        allow(connection, "all")
        for (server, name), is_granted, is_denied in zip(ordered, granted, denied, strict=True):
            add_tool(connection, server, name)
            if is_granted:
                allow(connection, "clerk", server, name)
            if is_denied:
                deny(connection, "clerk", server, name)
        found = [resolve(connection, call, ["clerk"], servers) for call in calls]
        connection.execute("""
            delete from tool_rag.tool t
            where not exists (
                select from tool_rag.permitted_tools('{clerk}') p
                join tool_rag.server s on s.name = p.server
                where p.name = t.name and s.server_id = t.server_id
            );
            delete from tool_rag.server s
            where not exists (select from tool_rag.tool t where t.server_id = s.server_id)
        """)
        assert [resolve(connection, call, ["all"], servers) for call in calls] == found


def test_names_of_other_scripts(catalogue: Connection) -> None:
    for name in ("получить_погоду", "天気予報を取得", "Größe_ändern", "날씨_조회하기", "🦖🦕"):
        add_tool(catalogue, "world", name)
        assert answer(catalogue, name) == ("exact", [f"world/{name}"])
    assert answer(catalogue, "ПолучитьПогоду") == ("corrected", ["world/получить_погоду"])
    assert answer(catalogue, "получить_погду") == ("corrected", ["world/получить_погоду"])
    assert answer(catalogue, "天気予報を取") == ("corrected", ["world/天気予報を取得"])
    assert answer(catalogue, "grosse_andern")[1] == ["world/Größe_ändern"]
    decomposed = "Gro\u0308ße_a\u0308ndern"
    assert answer(catalogue, decomposed) == ("corrected", ["world/Größe_ändern"])


def test_names_of_nothing_but_separators(catalogue: Connection) -> None:
    for name in ("---", "_", "/", "//"):
        add_tool(catalogue, "odd", name)
    for name in ("---", "_", "/", "//"):
        assert answer(catalogue, name) == ("exact", [f"odd/{name}"])
    assert answer(catalogue, "odd/---") == ("exact", ["odd/---"])


def test_long_names(catalogue: Connection) -> None:
    long = "_".join(["customer", "invoice"] * 16)[:250]
    add_tool(catalogue, "long", long)
    for place in (3, 100, 249):
        misspelt = f"{long[:place]}q{long[place:]}"
        assert answer(catalogue, misspelt) == ("corrected", [f"long/{long}"])
    assert answer(catalogue, "é" * 512) == ("none", [])


@pytest.mark.parametrize("name", [None, "", "  \t\n", "x" * 513])
def test_names_that_can_not_be(catalogue: Connection, name: str | None) -> None:
    with refused(catalogue, "22023", "characters instead of 1 to 512", hint="TOOL or SERVER/TOOL"):
        resolve(catalogue, name)


@given(name=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_name(catalogue: Connection, name: str) -> None:
    if re.search(r"\S", name):
        with undone(catalogue):
            resolve(catalogue, f"x{name}")


def test_edits_by_plain_sql_count_at_once(catalogue: Connection) -> None:
    catalogue.execute("update tool_rag.tool set name = 'list_tickets' where name = 'list_issues'")
    assert answer(catalogue, "list_isues")[0] != "corrected"
    assert answer(catalogue, "listTickets") == ("corrected", ["github/list_tickets"])
    catalogue.execute("update tool_rag.server set name = 'forge' where name = 'github'")
    assert answer(catalogue, "forge/list_tickts") == ("corrected", ["forge/list_tickets"])
    catalogue.execute("delete from tool_rag.tool where name = 'list_tickets'")
    assert answer(catalogue, "list_tickets")[0] != "exact"
    catalogue.execute(
        "insert into tool_rag.tool (server_id, name) values (%s, 'list_tickets')",
        [add_server(catalogue, "mail")],
    )
    assert answer(catalogue, "list_tickts") == ("corrected", ["mail/list_tickets"])
    catalogue.execute("truncate tool_rag.tool cascade")
    assert fetch(catalogue, "select count(*) from tool_rag.tool_name") == 0


def test_other_edits_rewrite_no_name(catalogue: Connection) -> None:
    rows = "select array_agg(ctid::text order by tool_id) from tool_rag.tool_name"
    before = fetch(catalogue, rows)
    catalogue.execute("update tool_rag.tool set description = 'zebra'")
    catalogue.execute("select tool_rag.reindex_tools()")
    assert fetch(catalogue, rows) == before


@lru_cache(maxsize=100_000)
def ratio(a: str, b: str) -> float:
    """Twice the longest common subsequence by the sum of the lengths, by its recurrence."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = row
        row = [0]
        for place, y in enumerate(b):
            row.append(before[place] + 1 if x == y else max(before[place + 1], row[place]))
    return 2 * row[-1] / (len(a) + len(b))


LETTERS = st.text("abcä天", min_size=1, max_size=200)


@given(text=LETTERS, others=st.lists(LETTERS, min_size=1, max_size=4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_similarities_are_those_of_the_recurrence(
    connection: Connection, text: str, others: list[str]
) -> None:
    found = fetch(connection, "select tool_rag._similarities(%s, %s)", text, others)
    assert found == pytest.approx([ratio(text, other) for other in others])


def test_the_best_of_many_is_found(many: Connection) -> None:
    names = {
        re.sub("[^a-z]", "", row[0])
        for row in many.execute("select distinct name from tool_rag.tool").fetchall()
    }
    for name in ("refund_invoce", "translte_recipe", "exprot_hotel", "assign_wherehouse", "pirnt"):
        best = max(ratio(re.sub("[^a-z]", "", name), other) for other in names)
        rows = resolve(many, name)
        assert rows[0][3] == round(best, 3) if best >= 0.6 else rows == []
        assert {row[0] for row in rows} <= {"hint"}
        # One that sees little is answered out of what it sees.
        few = resolve(many, name, ["tenth"])
        assert {row[1] for row in few} <= {"system7"}
        assert [row[2:] for row in few[:1]] == [row[2:] for row in rows[:1]]
        assert few == resolve(many, name, ["all"], ["system7"])


def test_of_many_tools_only_narrow_rows_are_read(many: Connection) -> None:
    with reading(many) as read:
        resolve(many, "refund_invoce", ["five"])
    assert not read.through & {"tool", "tool_name", "role_tool", "document"}
    with reading(many) as read:
        resolve(many, "refund_invoce", ["all"])
    assert not read.through & {"tool", "role_tool", "document"}
    assert read.entries["tool_pkey"] < MANY // 4


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("change_card", "charge_card"),
        ("restart_virtual_machine", "restore_virtual_machine"),
        ("close_issue", "clone_issue"),
        ("reserve_stock", "reverse_stock"),
        ("reload_service", "read_service"),
        ("transfer_records", "transform_records"),
        ("look_account", "lock_account"),
        ("delete_users", "delete_all_users"),
        ("send_invoice_to_customers", "send_invoice_to_all_customers"),
    ],
)
def test_one_word_is_never_taken_for_another(connection: Connection, name: str, tool: str) -> None:
    add_tool(connection, "s", tool)
    add_role(connection, "all")
    allow(connection, "all")
    rows = connection.execute(
        "select outcome, name from tool_rag.resolve_tool(%s, '{all}')", (name,)
    ).fetchall()
    assert rows == [("hint", tool)]


def test_accents_do_not_count(connection: Connection) -> None:
    add_tool(connection, "s", "überprüfe_rechnung")
    add_role(connection, "all")
    allow(connection, "all")
    for name in ("überprufe_rechnun", "uberprufe_rechnun", "uberprufe-rechnung"):
        rows = connection.execute(
            "select outcome from tool_rag.resolve_tool(%s, '{all}')", (name,)
        ).fetchall()
        assert rows == [("corrected",)], name
