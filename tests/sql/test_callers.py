"""sql/functions/045_caller.sql and 048_logins.sql: who asks, with real logins of Postgres.

What a caller sees is compared with an oracle in Python that knows the rules from their tables
(`test_access.Model`) and who asks from what the test has set.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from tests.sql.conftest import (
    ALL,
    DESK,
    MONEY,
    SHOP,
    WEATHER,
    Company,
    Connection,
    Tool,
    add_role,
    add_tool,
    allow,
    column,
    deny,
    fetch,
    hours_of,
    refused,
    search,
    seen,
    undone,
)
from tests.sql.test_access import LATE, PAST, Model

Claims = Mapping[str, Any] | str | None


def say(connection: Connection, setting: str | None = None, claims: Claims = None) -> None:
    """Set what the session says of its caller, until the session ends."""
    text = claims if isinstance(claims, str) or claims is None else json.dumps(claims)
    connection.execute("select set_config('tool_rag.roles', %s, false)", [setting or ""])
    connection.execute("select set_config('request.jwt.claims', %s, false)", [text or ""])


# Roles as an argument, in a setting, in a token


def test_roles_are_an_argument_of_a_backend(company: Company) -> None:
    backend = company.connect("backend")
    assert seen(backend) == set()
    assert seen(backend, []) == set()
    assert seen(backend, ["nobody"]) == set()
    assert seen(backend, ["support"]) == MONEY
    assert seen(backend, ["support", "meteorologist"]) == MONEY | WEATHER
    assert seen(backend, ["boss"]) == (MONEY | DESK) - {("shop", "refund_payment")}


def test_roles_are_set_for_one_transaction(company: Company) -> None:
    # As behind a pooler in transaction mode.
    backend = company.connect("backend")
    with backend.transaction():
        backend.execute("set local tool_rag.roles = 'support, clerk'")
        assert seen(backend) == (MONEY | DESK) - {("shop", "refund_payment")}
        assert seen(backend, ["meteorologist"]) == WEATHER
    assert seen(backend) == set()
    with backend.transaction():
        backend.execute("set local tool_rag.roles = 'meteorologist'")
        assert seen(backend) == WEATHER
    assert seen(backend) == set()


@pytest.mark.parametrize(
    ("setting", "claims", "roles", "expected"),
    [
        (None, {"roles": ["support"]}, None, MONEY),
        (None, {"roles": "support"}, None, MONEY),
        (None, {"roles": []}, None, set()),
        (None, {"roles": None}, None, set()),
        (None, {"role": "authenticated"}, None, set()),
        (None, {"roles": ["nobody"]}, None, set()),
        # Setting and token: what both permit, tool by tool.
        ("support", {"roles": ["support"]}, None, MONEY),
        ("all", {"roles": ["support"]}, None, MONEY),
        ("support", {"roles": ["all"]}, None, MONEY),
        ("support", {"roles": ["meteorologist"]}, None, set()),
        ("support", {"roles": ["boss"]}, None, MONEY - {("shop", "refund_payment")}),
        ("support", {"roles": ["clerk", "support"]}, None, MONEY - {("shop", "refund_payment")}),
        ("support", {"roles": []}, None, set()),
        # A token without the claim says nothing of roles: the setting does.
        ("support", {"role": "authenticated"}, None, MONEY),
        # Beside a token an argument counts within what the session says.
        (None, {"roles": ["support"]}, ["all"], MONEY),
        (None, {"roles": ["all"]}, ["support"], MONEY),
        (None, {"roles": ["support"]}, ["meteorologist"], set()),
        (None, {"role": "anon"}, ["all"], set()),
        ("meteorologist", {"role": "anon"}, ["all"], WEATHER),
        ("all", {"roles": ["all"]}, ["boss"], (MONEY | DESK) - {("shop", "refund_payment")}),
        (None, {"roles": ["support"]}, [], set()),
        # Without a token the argument is the backend's own.
        ("support", None, ["meteorologist"], WEATHER),
    ],
)
def test_setting_token_and_argument_resolve_to_the_smaller_set(
    company: Company,
    setting: str | None,
    claims: Claims,
    roles: list[str] | None,
    expected: set[Tool],
) -> None:
    backend = company.connect("backend")
    say(backend, setting, claims)
    assert seen(backend, roles) == expected


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ("support", "request.jwt.claims is not a JSON object"),
        ('{"roles": ["support"]', "request.jwt.claims is not a JSON object"),
        ('["support"]', "request.jwt.claims is not a JSON object"),
        ('"support"', "request.jwt.claims is not a JSON object"),
        ("null", "request.jwt.claims is not a JSON object"),
        ('{"roles": "\\u0000"}', "request.jwt.claims is not a JSON object"),
        ({"roles": {"support": True}}, '"roles" is neither a role nor a list'),
        ({"roles": 1}, '"roles" is neither a role nor a list'),
        ({"roles": True}, '"roles" is neither a role nor a list'),
        ({"roles": ["support", 1]}, '"roles" is neither a role nor a list'),
        ({"roles": [["support"]]}, '"roles" is neither a role nor a list'),
        ({"roles": ["support", None]}, '"roles" is neither a role nor a list'),
    ],
)
def test_a_token_that_can_not_be_read_is_an_error(
    company: Company, claims: Claims, message: str
) -> None:
    backend = company.connect("backend")
    say(backend, "support", claims)
    for statement in (
        "select * from tool_rag.permitted_tools()",
        "select * from tool_rag.permitted_servers()",
        "select * from tool_rag.my_tools",
        "select * from tool_rag.search_tools('money back')",
        "select * from tool_rag.search_tools('money back', '{support}')",
        "select * from tool_rag.resolve_tool('list_orders')",
        "select * from tool_rag.count_tools()",
    ):
        with backend.transaction(), refused(backend, "22023", message):
            backend.execute(statement.encode())


def test_where_a_token_has_the_roles_is_said_by_an_admin(company: Company) -> None:
    backend = company.connect("backend")
    claims = {"roles": ["all"], "app_metadata": {"tools": {"roles": ["support"]}}}
    say(backend, claims=claims)
    set_claim = "select tool_rag.set_roles_claim(%s)"
    company.admin.execute(set_claim, [["app_metadata", "tools", "roles"]])
    assert seen(backend) == MONEY
    company.admin.execute(set_claim, [["app_metadata"]])
    with backend.transaction(), refused(backend, "22023", '"app_metadata" is neither'):
        backend.execute("select * from tool_rag.my_tools")
    company.admin.execute(set_claim, [None])
    assert seen(backend) == set()
    assert seen(backend, ["all"]) == set()
    company.admin.execute(set_claim, [["roles"]])
    assert seen(backend) == ALL
    with company.admin.transaction(), refused(company.admin, "22023", "edit user_metadata"):
        company.admin.execute(set_claim, [["user_metadata", "roles"]])
    for path in ([], ["a", None]):
        with company.admin.transaction(), refused(company.admin, "22023", "list of keys"):
            company.admin.execute(set_claim, [path])


# Bound logins


def test_a_bound_login_never_sees_beyond_its_roles(company: Company) -> None:
    bound = company.connect("bound")
    assert seen(bound) == MONEY
    assert seen(bound, ["support"]) == MONEY
    assert seen(bound, ["all"]) == MONEY
    assert seen(bound, ["boss"]) == MONEY - {("shop", "refund_payment")}
    assert seen(bound, ["meteorologist"]) == set()
    assert seen(bound, []) == set()
    # What it sets.
    for setting, claims in (
        ("all", None),
        (None, {"roles": ["all"]}),
        ("all", {"roles": ["all"]}),
    ):
        say(bound, setting, claims)
        assert seen(bound) == MONEY
        assert seen(bound, ["all"]) == MONEY
    say(bound, "meteorologist")
    assert seen(bound) == set()
    say(bound)
    # Who it says it is.
    me = company.name("bound")
    for statement in (
        "reset role",
        "set role none",
        f"set role {me}",
        f"set session authorization {me}",
        "reset session authorization",
        "discard all",
    ):
        bound.execute(statement.encode())
        assert seen(bound, ["all"]) == MONEY
    bound.execute("reset role")
    for statement in (
        "set role postgres",
        f"set role {company.name('backend')}",
        "set role tool_rag_admin",
        "set session authorization postgres",
        f"set session authorization {company.name('backend')}",
        "select set_config('session_authorization', 'postgres', false)",
        "select set_config('role', 'postgres', false)",
        f"select tool_rag.unbind_login('{me}')",
        f"select tool_rag.trust_login('{me}')",
        "select tool_rag._read_login()",
        "select * from tool_rag.login",
        "update tool_rag.login set is_bound = false",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            bound.execute(statement.encode())
        assert seen(bound, ["all"]) == MONEY
    # What it allows itself.
    everything = {"shop": {"tools": [n for _, n in ALL]}, "desk": {"tools": [n for _, n in ALL]}}
    assert seen(bound, None, everything) == MONEY
    assert seen(bound, ["all"], everything) == MONEY
    # Its prepared statements.
    bound.execute(
        "prepare ask (text[]) as select name from tool_rag.search_tools('zebra', $1, 1000)"
    )
    for _ in range(7):
        found = {name for (name,) in bound.execute("execute ask ('{all}')")}
        assert found == {name for _, name in MONEY}


def test_a_binding_is_changed_and_taken_away(company: Company) -> None:
    bound = company.connect("bound")
    assert company.call("bind_login", "bound", ["support"]) is False
    assert company.call("bind_login", "bound", ["meteorologist", "clerk"]) is True
    assert seen(bound) == WEATHER | DESK
    assert seen(bound, ["all"]) == WEATHER | DESK
    # The denies of all its roles hold together.
    assert company.call("bind_login", "bound", ["support", "clerk"]) is True
    assert seen(bound, ["support"]) == MONEY - {("shop", "refund_payment")}
    assert company.call("bind_login", "bound", []) is True
    assert seen(bound, ["all"]) == set()
    assert company.call("unbind_login", "bound") is True
    assert company.call("unbind_login", "bound") is False
    assert seen(bound, ["all"]) == ALL
    assert seen(bound) == set()


def test_a_binding_to_roles_that_are_removed_leaves_nothing(company: Company) -> None:
    bound = company.connect("bound")
    company.admin.execute("select tool_rag.remove_role('support')")
    assert seen(bound) == set()
    assert seen(bound, ["all"]) == set()
    # A role of the same name is another one.
    add_role(company.admin, "support")
    allow(company.admin, "support")
    assert seen(bound, ["support"]) == set()


def test_a_binding_follows_a_role_that_is_renamed(company: Company) -> None:
    bound = company.connect("bound")
    company.admin.execute("update tool_rag.role set name = 'helpdesk' where name = 'support'")
    assert seen(bound, ["all"]) == MONEY
    assert seen(bound) == MONEY


def test_login_and_set_role_both_bind(company: Company) -> None:
    other = company.connect("other")
    group = company.name("group")
    company.call("bind_login", "group", ["meteorologist", "support"])
    assert seen(other, ["all"]) == ALL
    other.execute(f"set role {group}".encode())
    assert seen(other) == WEATHER | MONEY
    assert seen(other, ["all"]) == WEATHER | MONEY
    company.call("bind_login", "other", ["support", "clerk"])
    assert seen(other, ["all"]) == MONEY - {("shop", "refund_payment")}
    assert seen(other) == MONEY - {("shop", "refund_payment")}
    other.execute("reset role")
    assert seen(other, ["all"]) == (MONEY | DESK) - {("shop", "refund_payment")}


def test_a_bound_group_binds_who_inherits_its_privileges(company: Company) -> None:
    other, backend = company.connect("other"), company.connect("backend")
    company.call("bind_login", "group", ["support"])
    assert seen(other, ["all"]) == ALL
    grant = "grant {} to {} with inherit {}"
    for inherit, expected in (("true", MONEY), ("false", ALL)):
        company.admin.execute(
            grant.format(company.name("group"), company.name("other"), inherit).encode()
        )
        assert seen(other, ["all"]) == expected
    # By another group that is a member.
    company.admin.execute(
        grant.format(company.name("group"), company.name("bound"), "true").encode()
    )
    company.call("unbind_login", "bound")
    company.admin.execute(
        grant.format(company.name("bound"), company.name("backend"), "true").encode()
    )
    assert seen(backend, ["all"]) == MONEY
    # The owner here is a superuser, who counts as a member of every role.
    assert seen(company.admin, ["all"]) == ALL


def test_a_login_that_is_renamed_stays_bound(company: Company) -> None:
    old, new = company.name("bound"), f"{company.name('bound')}_renamed"
    bound = company.connect("bound")
    company.admin.execute(f"alter role {old} rename to {new}".encode())
    company.names["bound"] = new
    assert seen(bound, ["all"]) == MONEY
    assert seen(company.connect("bound"), ["all"]) == MONEY
    # One of the old name is taken for the bound one; so is whoever has the number.
    company.admin.execute(f"create role {old} login in role tool_rag_reader".encode())
    company.names["again"] = old
    assert seen(company.connect("again"), ["all"]) == MONEY
    assert seen(company.connect("bound"), ["all"]) == MONEY
    (listed,) = company.admin.execute(
        "select login, note from tool_rag.list_logins() where note is not null"
    ).fetchall()
    assert listed == (old, f"made anew; holds for {new} too")
    assert company.call("bind_login", "bound", ["support"]) is True
    assert company.call("unbind_login", "again") is True
    assert seen(company.connect("again"), ["all"]) == ALL
    assert seen(company.connect("bound"), ["all"]) == MONEY
    company.admin.execute(f"drop owned by {new}; drop role {new}".encode())


def test_a_login_that_is_made_anew_stays_bound_but_is_not_trusted(company: Company) -> None:
    name = company.name("bound")
    company.call("trust_login", "bound")
    company.admin.execute(f"drop owned by {name}; drop role {name}".encode())
    assert column(company.admin, "select note from tool_rag.list_logins()")[:2] == [
        None,
        "no such login",
    ]
    company.admin.execute(f"create role {name} login in role tool_rag_reader".encode())
    bound = company.connect("bound")
    assert seen(bound, ["all"]) == MONEY
    company.call("unbind_login", "bound")
    with bound.transaction(), refused(bound, "42501", "only beside roles"):
        seen(bound, None, {"shop": {"tools": ["list_orders"]}})
    assert company.call("trust_login", "bound") is True
    assert seen(bound, None, {"shop": {"tools": ["list_orders"]}}) == {("shop", "list_orders")}


def test_a_role_that_is_renamed_while_it_is_set_sees_nothing(company: Company) -> None:
    other = company.connect("other")
    group = company.name("group")
    other.execute(f"set role {group}".encode())
    assert seen(other, ["all"]) == ALL
    company.admin.execute(f"alter role {group} rename to {group}_x".encode())
    company.names["group"] = f"{group}_x"
    assert seen(other, ["all"]) == set()
    assert company.admin.execute(f"drop owned by {group}_x; drop role {group}_x".encode())


def test_bound_logins_neither_see_nor_edit_the_catalogue(company: Company) -> None:
    # Not even where somebody puts them into the group of editors or admins.
    bound = company.connect("bound")
    company.admin.execute(f"grant tool_rag_admin to {company.name('bound')}".encode())
    calls = [
        "list_tools()",
        "list_tool_access('desk', 'nothing')",
        "list_roles()",
        "list_rules()",
        "list_rules('nobody')",
        "list_synonyms()",
        "list_examples()",
        "list_dependencies()",
        "list_embedding_models()",
        "list_logins()",
        "suggest_dependencies()",
        "explain_access('nobody', 'desk', 'nothing')",
        "grant_tools('support', '*')",
        "grant_tools('nobody', '*')",
        "revoke_tools('support', 'shop')",
        "store_rules('[]')",
        "store_rules('[]', '{nobody}')",
        "add_role('new')",
        "remove_role('nobody')",
        "add_synonym('x', 'desk', 'nothing')",
        "remove_synonym('x', 'desk', 'nothing')",
        "add_example('desk', 'nothing', 'x')",
        "remove_example('desk', 'nothing', 'x')",
        "add_dependency('desk', 'nothing', 'desk', 'nothing', 'x')",
        "remove_dependency('desk', 'nothing', 'desk', 'nothing')",
        "forget_conversations(now())",
        "upsert_tools('{}')",
        "remove_server('nothing')",
        "reindex_tools()",
        "add_embedding_model('m', 3)",
        "texts_to_embed('built-in')",
        "store_vectors('built-in', '{}', '{}', '{}', '{}', '{}')",
        "use_embedding_model('built-in')",
        "drop_embedding_model('built-in')",
        "set_roles_claim('{x}')",
        "set_strict_statistics()",
        "set_strict_statistics(false)",
        "set_description('desk', 'nothing', 'x')",
        "set_audit('off')",
        "purge_audit()",
        "list_changes()",
        "list_access_changes('-infinity')",
        "list_audit_events()",
        "list_api_keys()",
        "add_api_key('k', 'abcdefgh0123', sha256('x'), '{all}')",
        "rotate_api_key('k', sha256('x'))",
        "revoke_api_key('k')",
        "set_review_policy('shop', 'trust')",
        "list_review_policies()",
        "list_pending_tools()",
        "try_approval('*')",
        "approve_tools('*')",
        "reject_tools('*')",
        "lint_tools('{}')",
        "lint_catalogue()",
        *(
            f"{function}('{company.name('bound')}'{more})"
            for function, more in (
                ("unbind_login", ""),
                ("bind_login", ", '{all}'"),
                ("trust_login", ""),
                ("distrust_login", ""),
                ("grant_access", ", 'reader'"),
                ("revoke_access", ""),
            )
        ),
    ]
    # Every function that is not a reader's is in the list.
    others = column(
        company.admin,
        "select p.proname from pg_proc p where p.pronamespace = 'tool_rag'::regnamespace"
        " and p.proname not like '\\_%' and not has_function_privilege('tool_rag_reader', p.oid,"
        " 'execute')",
    )
    assert {call.split("(")[0] for call in calls} == set(others)
    for call in calls:
        with bound.transaction(), refused(bound, "42501", "bound to roles"):
            bound.execute(f"select * from tool_rag.{call}".encode())
    assert bound.execute("select all_tools from tool_rag.count_tools()").fetchone() == (None,)
    with bound.transaction(), refused(bound, "42704", "desk/book_room"):
        bound.execute("select * from tool_rag.describe_tool('desk', 'book_room')")
    assert seen(bound, ["all"]) == MONEY


# What a backend allows for one call


NAMES = [name for _, name, *_ in SHOP]
SOME = {
    "shop": {"tools": ["list_orders", "cancel_order"]},
    "desk": {"tools": ["book_room", "nothing"]},
    "nowhere": {"tools": ["x"]},
    "weather": {"tools": []},
}
LISTED = {("shop", "list_orders"), ("shop", "cancel_order"), ("desk", "book_room")}


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (["support"], LISTED & MONEY),
        (["all"], LISTED),
        (["meteorologist"], set()),
        (["nobody"], set()),
        ([], set()),
    ],
)
def test_allowed_only_takes_away(company: Company, roles: list[str], expected: set[Tool]) -> None:
    backend = company.connect("backend")
    assert seen(backend, roles, SOME) == expected
    assert seen(backend, roles, {}) == set()


def test_what_is_allowed_is_applied_before_the_ranking(company: Company) -> None:
    backend = company.connect("backend")
    hits = search(backend, "give a customer money back", ("all",), k=2, allowed=json.dumps(SOME))
    assert len(hits) == 2
    assert {(hit["server"], hit["name"]) for hit in hits} <= LISTED
    assert hits[0]["reason"].endswith("allowed to all by */*")


def test_allowed_alone_needs_trust(company: Company) -> None:
    backend = company.connect("backend")
    with backend.transaction(), refused(backend, "42501", "only beside roles", hint="trust_login"):
        seen(backend, None, SOME)
    assert company.call("trust_login", "backend") is True
    assert company.call("trust_login", "backend") is False
    assert seen(backend, None, SOME) == LISTED
    assert seen(backend, None, {}) == set()
    assert seen(backend, ["support"], SOME) == LISTED & MONEY
    assert seen(backend, [], SOME) == set()
    # All tools of a server, by the name that import and export of such policies know as well.
    assert seen(backend, None, {"desk": {"tools": ["*"]}}) == DESK
    (hit,) = search(backend, "reserve a room", None, k=1, allowed=json.dumps(SOME))
    assert hit["reason"].endswith("; allowed by the call")
    assert "grant" not in hit["explain"]
    # What is disabled stays so.
    company.admin.execute("update tool_rag.tool set enabled = false where name = 'list_orders'")
    company.admin.execute("update tool_rag.server set enabled = false where name = 'desk'")
    assert seen(backend, None, SOME) == {("shop", "cancel_order")}
    assert company.call("distrust_login", "backend") is True
    assert company.call("distrust_login", "backend") is False
    with backend.transaction(), refused(backend, "42501", "only beside roles"):
        seen(backend, None, SOME)


def test_trust_does_not_free_a_bound_login(company: Company) -> None:
    bound = company.connect("bound")
    company.call("trust_login", "bound")
    assert seen(bound, None, SOME) == LISTED & MONEY
    assert seen(bound, ["all"], SOME) == LISTED & MONEY
    assert seen(bound, ["all"]) == MONEY


def test_trust_is_of_the_role_that_is_set(company: Company) -> None:
    # As PostgREST does it: one login that sets the role of whoever sent the request.
    other = company.connect("other")
    company.call("trust_login", "other")
    say(other, claims={"role": "service"})
    assert seen(other, ["support"]) == MONEY
    assert seen(other, None, SOME) == LISTED
    other.execute(f"set role {company.name('group')}".encode())
    assert seen(other, ["support"]) == set()
    with other.transaction(), refused(other, "42501", "only beside roles"):
        seen(other, None, SOME)
    company.call("trust_login", "group")
    assert seen(other, ["support"]) == MONEY
    # What a token says holds for those who name no roles.
    say(other, claims={"roles": ["meteorologist"]})
    assert seen(other) == WEATHER
    assert seen(other, ["support"]) == MONEY


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ([], "allowed is not a JSON object"),
        ("x", "allowed is not a JSON object"),
        ({"shop": ["list_orders"]}, 'allowed."shop".tools is not a list of names'),
        ({"shop": {}}, 'allowed."shop".tools is not a list of names'),
        ({"shop": {"tools": "*"}}, 'allowed."shop".tools is not a list of names'),
        ({"shop": {"tools": [1]}}, 'allowed."shop".tools is not a list of names'),
        ({"shop": {"tools": [None]}}, 'allowed."shop".tools is not a list of names'),
        ({"shop": {"tools": [["a"]]}}, 'allowed."shop".tools is not a list of names'),
        ({"desk": {"tools": []}, "shop": None}, 'allowed."shop".tools is not a list of names'),
    ],
)
def test_allowed_in_any_other_shape_is_refused(
    company: Company, allowed: Any, message: str
) -> None:
    backend = company.connect("backend")
    for roles in (["support"], [], None):
        with backend.transaction(), refused(backend, "22023", message, hint='"SERVER"'):
            seen(backend, roles, allowed)
    with backend.transaction(), refused(backend, "22023", "allowed is not a JSON object"):
        backend.execute("select * from tool_rag.permitted_tools('{all}', 'null')")


# All of it at once


@dataclass(frozen=True)
class Asking:
    """Who asks, and what an admin has decided about logins."""

    bound: Mapping[str, Sequence[str]]
    trusted: frozenset[str]
    login: str
    sets_role: bool
    inherits: bool
    setting: Sequence[str] | None
    claims: Mapping[str, Any] | None
    roles: Sequence[str] | None
    allowed: Any


ROLE_NAMES = ("support", "meteorologist", "clerk", "boss", "all", "nobody")
some_roles = st.lists(st.sampled_from(ROLE_NAMES), max_size=3)
askings = st.builds(
    Asking,
    bound=st.dictionaries(st.sampled_from(["bound", "other", "group"]), some_roles, max_size=3),
    trusted=st.frozensets(st.sampled_from(["bound", "other", "group"]), max_size=2),
    login=st.sampled_from(["bound", "other"]),
    sets_role=st.booleans(),
    inherits=st.booleans(),
    setting=st.none() | st.lists(st.sampled_from(ROLE_NAMES), min_size=1, max_size=3),
    claims=st.none()
    | st.just({"role": "web"})
    | st.builds(lambda roles: {"roles": roles}, some_roles),
    roles=st.none() | some_roles,
    allowed=st.none()
    | st.dictionaries(
        st.sampled_from(["shop", "weather", "desk", "nowhere"]),
        st.builds(
            lambda tools: {"tools": tools},
            st.lists(st.sampled_from([*NAMES, "nothing", "*"]), max_size=6),
        ),
        max_size=4,
    ),
)


def expected_tools(model: Model, asking: Asking) -> set[Tool] | None:
    """Return what the caller may see, or None for an error: `allowed` alone, without trust."""
    active = "group" if asking.sets_role else asking.login
    holds = {asking.login, active}
    if asking.inherits and asking.login == "other":
        holds.add("group")
    session = [] if asking.setting is None else [asking.setting]
    if asking.claims is not None and "roles" in asking.claims:
        session.append(asking.claims["roles"])
    if asking.roles is None:
        asked = session
    elif asking.claims is not None and active not in asking.trusted:
        asked = [asking.roles, *(session or [[]])]
    else:
        asked = [asking.roles]
    groups = [*asked, *(roles for login, roles in asking.bound.items() if login in holds)]
    if not groups and asking.allowed is None:
        return set()
    if not groups and active not in asking.trusted:
        return None
    tools = {tool for tool, enabled in model.tools.items() if enabled}
    for roles in groups:
        tools &= model.permitted(roles)
    if asking.allowed is not None:
        tools = {
            (server, name)
            for server, name in tools
            if {name, "*"} & set(asking.allowed.get(server, {"tools": []})["tools"])
        }
    return tools


def add_schedules(connection: Connection) -> None:
    """Give the company's roles rules that hold now, and others that do not."""
    here, there = hours_of("around", "Asia/Kolkata"), hours_of("this day", "Etc/GMT+11")
    off = hours_of("later", "Asia/Tokyo")
    allow(connection, "support", "desk", "book_room", hours=here)
    deny(connection, "support", "shop", "list_orders", hours=there)
    allow(connection, "support", "weather", start=LATE)
    allow(connection, "meteorologist", "desk", hours=off)
    deny(connection, "clerk", "desk", "book_room", hours=off)
    allow(connection, "clerk", "weather", "*", start=PAST, until=LATE)
    allow(connection, "boss", "shop", "refund_payment", start=PAST, hours=here)
    deny(connection, "all", "weather", "get_air_quality", start=PAST, hours=there)
    deny(connection, "all", "shop", start=LATE, hours=here)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("schedules", [False, True], ids=["plain", "schedules"])
def test_no_function_returns_or_tells_of_more_than_the_caller_may_see(
    company: Company, schedules: bool
) -> None:
    admin = company.admin
    if schedules:
        add_schedules(admin)
    admin.execute("update tool_rag.tool set enabled = false where name = 'set_theme'")
    for tool, needs in (("list_orders", "book_room"), ("getForecast", "cancel_order")):
        admin.execute(
            "insert into tool_rag.dependency (tool_id, needs_id, reason)"
            " select t.tool_id, n.tool_id, 'needed' from tool_rag.tool t, tool_rag.tool n"
            " where t.name = %s and n.name = %s",
            [tool, needs],
        )
    admin.execute("insert into tool_rag.tool_use select 'c', 1, tool_id from tool_rag.tool")
    admin.execute("insert into tool_rag.tool_sent select 'c', tool_id, tool_id from tool_rag.tool")
    model = Model(admin)
    connections = {login: company.connect(login) for login in ("bound", "other")}
    group = company.name("group")
    admin.execute(f"grant {group} to {company.name('bound')} with inherit false".encode())

    @settings(max_examples=100, suppress_health_check=list(HealthCheck))
    @given(asking=askings)
    def check(asking: Asking) -> None:
        for login in ("bound", "other", "group"):
            company.call("unbind_login", login)
            company.call("distrust_login", login)
            if login in asking.trusted:
                company.call("trust_login", login)
        for login, roles in asking.bound.items():
            company.call("bind_login", login, [role for role in roles if role != "nobody"])
        admin.execute(
            f"grant {group} to {company.name('other')} with inherit {asking.inherits}".encode()
        )
        connection = connections[asking.login]
        connection.execute(f"set role {group if asking.sets_role else 'none'}".encode())
        say(connection, None if asking.setting is None else ",".join(asking.setting), asking.claims)
        compare(connection, asking, expected_tools(model, asking))

    check()


def compare(connection: Connection, asking: Asking, tools: set[Tool] | None) -> None:
    """Compare every function of readers with what the oracle says."""
    given_to_all = {
        "roles": None if asking.roles is None else list(asking.roles),
        "allowed": None if asking.allowed is None else json.dumps(asking.allowed),
    }
    who = "roles => %(roles)s, allowed => %(allowed)s"

    def rows(statement: str) -> list[tuple[Any, ...]]:
        return connection.execute(statement.encode(), given_to_all).fetchall()

    if tools is None:
        for call in (f"permitted_tools({who})", f"search_tools('zebra', {who})"):
            with connection.transaction(), refused(connection, "42501", "only beside roles"):
                rows(f"select tool_rag.{call}")
        return
    assert set(rows(f"select server, name from tool_rag.permitted_tools({who})")) == tools
    if asking.roles is None and asking.allowed is None:
        assert set(rows("select server, name from tool_rag.my_tools")) == tools
    assert rows(f"select tools, all_tools from tool_rag.count_tools({who})") == [(len(tools), None)]
    for call in (
        f"search_tools('zebra', k => 1000, {who})",
        f"search_tools_batch('{{zebra}}', limits => '{{1000}}', {who})",
    ):
        assert set(rows(f"select server, name from tool_rag.{call}")) == tools
    for options in ({}, {"keep_order": True}, {"exact": True}):
        hits = rows(
            "select server, name, reason || explain from tool_rag.search_tools('zebra orders',"
            f" k => 1, conversation => 'c', options => '{json.dumps(options)}', {who})"
        )
        assert {hit[:2] for hit in hits} <= tools
        told = " ".join(hit[2] for hit in hits)
        assert not [name for _, name in ALL - tools if name in told]
    assert rows(f"select tool_rag.unmatched_words('zebra', {who})") == [
        ([] if tools else ["zebra"],)
    ]
    for server, name in [*sorted(ALL), ("nowhere", "at_all")]:
        visible = (server, name) in tools
        resolved = rows(
            f"select outcome, server, name from tool_rag.resolve_tool('{server}/{name}', {who})"
        )
        assert {row[1:] for row in resolved} <= tools
        assert (("exact", server, name) in resolved) == visible
        ((outcome,),) = rows(
            f"select outcome from tool_rag.explain_missing('zebra', '{server}', '{name}', {who})"
        )
        assert (outcome == "not_permitted") == (not visible)
        for call in (
            f"describe_tool('{server}', '{name}', {who})",
            f"record_use('d', 1, '{server}', '{name}', {who})",
            f"record_sent('d', '{{{server}/{name}}}', {who})",
        ):
            if visible:
                assert len(rows(f"select * from tool_rag.{call}")) == 1
            else:
                with connection.transaction(), refused(connection, "42704", f"{server}/{name}"):
                    rows(f"select * from tool_rag.{call}")


# What is hidden and what does not exist get one answer, for one work

Work = dict[str, tuple[int, ...]]


def read_so_far(connection: Connection) -> Work:
    """Return what this transaction has read of each table and index: scans and tuples."""
    rows = connection.execute("""
        select c.relname, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_returned(c.oid),
            pg_stat_get_xact_tuples_fetched(c.oid)
        from pg_class c where c.relnamespace = 'tool_rag'::regnamespace
    """).fetchall()
    return {name: tuple(rest) for name, *rest in rows}


def answer_and_work(connection: Connection, call: str) -> tuple[Any, Work]:
    """Return the answer of a call, or its error, and what it read."""
    answer: Any
    with connection.transaction(force_rollback=True):
        before = read_so_far(connection)
        with undone(connection):
            try:
                answer = connection.execute(f"select * from tool_rag.{call}".encode()).fetchall()
            except psycopg.Error as error:
                said = error.diag
                answer = (said.sqlstate, said.message_primary, said.message_hint)
        after = read_so_far(connection)
    return answer, {
        name: tuple(b - a for a, b in zip(before[name], values, strict=True))
        for name, values in after.items()
    }


@pytest.mark.parametrize("schedules", [False, True], ids=["plain", "schedules"])
@pytest.mark.parametrize("who", ["'{support}'", "'{support,clerk}'", "null"])
@pytest.mark.parametrize(
    "call",
    [
        "resolve_tool('SERVER/TOOL', roles => WHO)",
        "resolve_tool('TOOL', roles => WHO)",
        "explain_missing('zebra', 'SERVER', 'TOOL', roles => WHO)",
        "describe_tool('SERVER', 'TOOL', roles => WHO)",
        "record_use('c', 1, 'SERVER', 'TOOL', roles => WHO)",
        "record_sent('c', array['SERVER/TOOL'], roles => WHO)",
    ],
)
def test_a_hidden_tool_and_none_get_one_answer_for_one_work(
    company: Company, call: str, who: str, schedules: bool
) -> None:
    if schedules:
        allow(company.admin, "support", "desk", hours=hours_of("around"))
        deny(company.admin, "support", "weather", "get_qqzzy", hours=hours_of("this day"))
        allow(company.admin, "support", "weather", "get_qqzzy", hours=hours_of("later"))
    # Two names of one shape: a tool's that the caller may not see, and nobody's.
    hidden, none = ("weather", "get_qqzzy"), ("weathex", "get_qqzzv")
    add_tool(company.admin, *hidden, "Hidden things")
    deny(company.admin, "clerk", "weather")
    connection = company.connect("bound" if who == "null" else "backend")

    def ask(server: str, tool: str) -> tuple[str, Work]:
        text = call.replace("SERVER", server).replace("TOOL", tool).replace("WHO", who)
        # What a session reads once is read before, and plans are settled.
        for _ in range(8):
            answer, work = answer_and_work(connection, text)
        return json.dumps(answer, default=str).replace(server, "S").replace(tool, "T"), work

    answer, work = ask(*hidden)
    other, same = ask(*none)
    assert other == answer
    assert same == work
    assert any(any(values) for values in work.values())


def test_a_search_that_names_a_hidden_tool_is_answered_as_if_there_were_none(
    company: Company,
) -> None:
    backend = company.connect("backend")
    texts = ("call weather/get_qqzzy now", "get_qqzzy", "qqzzy zebra", "hidden things")

    def ask() -> list[Any]:
        return [
            backend.execute(statement.encode(), [text]).fetchall()
            for text in texts
            for statement in (
                "select rank, server, name, reason from tool_rag.search_tools(%s, '{support}')",
                "select tool_rag.unmatched_words(%s, '{support}')",
            )
        ]

    before = ask()
    add_tool(company.admin, "weather", "get_qqzzy", "Hidden things")
    assert ask() == before


def test_nothing_hidden_is_near_a_misspelt_name(company: Company) -> None:
    backend = company.connect("backend")
    for name in ("getForecas", "weather/getForecast", "GETFORECAST"):
        call = "select server, name from tool_rag.resolve_tool(%s, '{support}')"
        assert backend.execute(call, [name]).fetchall() == []
    for call in (
        "record_use('c', 1, 'weather', 'getForecas', '{support}')",
        "record_sent('c', '{weather/getForecas}', '{support}')",
        "describe_tool('weather', 'getForecas', '{support}')",
    ):
        with backend.transaction(), pytest.raises(psycopg.errors.UndefinedObject) as caught:
            backend.execute(f"select tool_rag.{call}".encode())
        said = caught.value.diag
        assert said.message_primary == 'tool "weather/getForecas" does not exist for these roles'
        assert "getForecast" not in str(caught.value)


# Logins as admins manage them


def test_logins_are_listed(company: Company) -> None:
    company.call("trust_login", "backend")
    company.call("grant_access", "other", "editor")
    rows = company.admin.execute(
        "select login, access, is_bound, roles, is_trusted, note from tool_rag.list_logins()"
        " where login = any(%s)",
        [list(company.names.values())],
    ).fetchall()
    assert rows == sorted(
        [
            (company.name("backend"), "reader", False, [], True, None),
            (company.name("bound"), "reader", True, ["support"], False, None),
            (company.name("other"), "editor", False, [], False, None),
        ]
    )


def test_access_is_granted_changed_and_revoked(company: Company) -> None:
    backend = company.connect("backend")
    for level, may, may_not in (
        ("editor", "list_tools()", "list_logins()"),
        ("admin", "list_logins()", None),
        ("editor", "list_tools()", "list_logins()"),
        ("reader", "embed('x')", "list_tools()"),
    ):
        assert company.call("grant_access", "backend", level) is True
        assert company.call("grant_access", "backend", level) is False
        backend.execute(f"select tool_rag.{may}".encode())
        if may_not is not None:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                backend.execute(f"select tool_rag.{may_not}".encode())
    assert company.call("revoke_access", "backend") is True
    assert company.call("revoke_access", "backend") is False
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        backend.execute("select tool_rag.embed('x')")


def test_an_admin_who_is_not_the_owner_manages_logins(company: Company) -> None:
    company.call("grant_access", "other", "admin")
    other = company.connect("other")
    backend = company.name("backend")
    assert fetch(other, "select tool_rag.bind_login(%s, '{clerk}')", backend) is True
    assert seen(company.connect("backend"), ["all"]) == DESK
    assert fetch(other, "select tool_rag.unbind_login(%s)", backend) is True
    assert fetch(other, "select tool_rag.grant_access(%s, 'editor')", backend) is True
    assert fetch(other, "select tool_rag.revoke_access(%s)", backend) is True


@pytest.mark.parametrize(
    ("call", "sqlstate", "message"),
    [
        ("grant_access('nobody at all', 'reader')", "42704", "does not exist"),
        ("grant_access(null, 'reader')", "42704", "does not exist"),
        ("grant_access('{backend}', 'owner')", "22023", "access is 'owner'"),
        ("grant_access('{backend}', null)", "22023", "access is null"),
        ("grant_access('{bound}', 'editor')", "22023", "is bound to roles"),
        ("grant_access('{bound}', 'admin')", "22023", "is bound to roles"),
        ("grant_access('tool_rag_editor', 'admin')", "22023", "is one of the groups"),
        ("revoke_access('nobody at all')", "42704", "does not exist"),
        ("bind_login('nobody at all', '{support}')", "42704", 'login "nobody at all"'),
        ("bind_login('tool_rag_reader', '{support}')", "22023", "is one of the groups"),
        ("bind_login('{backend}', '{nobody}')", "42704", 'role "nobody" does not exist'),
        ("bind_login('{backend}', null)", "22023", "roles to bind"),
        ("bind_login('{backend}', '{null}')", "22023", "roles to bind"),
        ("bind_login('postgres', '{support}')", "22023", "is a superuser here"),
        ("trust_login('nobody at all')", "42704", "does not exist"),
        ("trust_login('tool_rag_reader')", "22023", "is one of the groups"),
    ],
)
def test_what_can_not_be_of_a_login_is_refused(
    company: Company, call: str, sqlstate: str, message: str
) -> None:
    for login, name in company.names.items():
        call = call.replace(f"{{{login}}}", name)
    with company.admin.transaction(), refused(company.admin, sqlstate, message):
        company.admin.execute(f"select tool_rag.{call}".encode())


def test_editors_and_admins_are_not_bound(company: Company) -> None:
    for level, message in (("editor", "is an editor here"), ("admin", "is an admin here")):
        company.call("grant_access", "backend", level)
        with company.admin.transaction(), refused(company.admin, "22023", message):
            company.call("bind_login", "backend", ["support"])


def test_membership_by_another_role_is_said(company: Company) -> None:
    company.admin.execute(f"grant {company.name('group')} to {company.name('backend')}".encode())
    assert company.call("revoke_access", "backend") is True
    with (
        company.admin.transaction(),
        refused(company.admin, "55000", "is in tool_rag_reader by another role"),
    ):
        company.call("revoke_access", "backend")
    assert seen(company.connect("backend"), ["support"]) == MONEY


@pytest.mark.parametrize("name", ["a b", "élan", 'qu"ote', "o'neil", "UPPER", "x; drop table y"])
def test_odd_names_of_logins(company: Company, make_login: Callable[[str], str], name: str) -> None:
    login = make_login("login")
    odd = f"{name} {login}"
    rename = sql.SQL("alter role {} rename to {}")
    company.admin.execute(rename.format(sql.Identifier(login), sql.Identifier(odd)))
    try:
        assert company.call("grant_access", odd, "reader") is True
        assert company.call("bind_login", odd, ["support"]) is True
        with psycopg.connect(company.url, user=odd, autocommit=True) as connection:
            assert seen(connection, ["all"]) == MONEY
            connection.execute(sql.SQL("set role {}").format(sql.Identifier(odd)))
            assert seen(connection, ["all"]) == MONEY
        assert company.call("revoke_access", odd) is True
    finally:
        company.admin.execute(rename.format(sql.Identifier(odd), sql.Identifier(login)))


def test_bindings_of_many_other_logins_change_nothing(company: Company) -> None:
    company.admin.execute(
        "insert into tool_rag.login (name, role_oid, is_bound)"
        " select 'login ' || n, 4000000000 + n, true from generate_series(1, 200) n"
    )
    assert seen(company.connect("backend"), ["all"]) == ALL
    assert seen(company.connect("bound"), ["all"]) == MONEY
