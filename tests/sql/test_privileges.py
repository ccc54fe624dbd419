"""sql/functions/095_privileges.sql: what readers, editors and admins may do, as real logins."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import (
    ALL,
    MONEY,
    Company,
    Connection,
    add_role,
    allow,
    column,
    fetch,
    found,
    search,
    seen,
)

GROUPS = ("tool_rag_reader", "tool_rag_editor", "tool_rag_admin")

# What the groups may call; the owner and nobody else may call the rest.
READER = {
    "authenticate_key",
    "count_tools",
    "describe_tool",
    "embed",
    "explain_missing",
    "permitted_servers",
    "permitted_tools",
    "record_call",
    "record_message",
    "record_sent",
    "record_use",
    "resolve_tool",
    "search_tools",
    "search_tools_batch",
    "unknown_roles",
    "unmatched_words",
}
EDITOR = READER | {
    "add_dependency",
    "add_example",
    "add_synonym",
    "explain_access",
    "forget_conversations",
    "grant_tools",
    "list_dependencies",
    "list_embedding_models",
    "list_examples",
    "list_roles",
    "list_rules",
    "list_synonyms",
    "list_tool_access",
    "list_tools",
    "remove_dependency",
    "remove_example",
    "remove_synonym",
    "revoke_tools",
    "store_rules",
    "suggest_dependencies",
}


def tables(connection: Connection) -> list[str]:
    return column(
        connection,
        "select c.relname from pg_class c where c.relnamespace = 'tool_rag'::regnamespace"
        " and c.relkind = 'r' order by 1",
    )


def callable_by(connection: Connection, role: str) -> set[str]:
    return set(
        column(
            connection,
            "select p.proname from pg_proc p where p.pronamespace = 'tool_rag'::regnamespace"
            " and has_function_privilege(%s, p.oid, 'execute')",
            role,
        )
    )


def test_each_group_may_call_what_is_its_own(connection: Connection) -> None:
    public = set(
        column(
            connection,
            "select p.proname from pg_proc p where p.pronamespace = 'tool_rag'::regnamespace"
            " and p.proname not like '\\_%'",
        )
    )
    assert callable_by(connection, "tool_rag_reader") == READER
    assert callable_by(connection, "tool_rag_editor") == EDITOR
    assert callable_by(connection, "tool_rag_admin") == public


def test_nobody_else_was_given_anything(connection: Connection) -> None:
    grantees = connection.execute("""
        with acl (what, item) as (
            select 'schema', a from pg_namespace n cross join lateral
                aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
            where n.nspname = 'tool_rag'
            union all
            select c.relname, a from pg_class c cross join lateral aclexplode(coalesce(c.relacl,
                acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) a
            where c.relnamespace = 'tool_rag'::regnamespace and c.relkind <> 'i'
            union all
            select p.proname, a from pg_proc p cross join lateral
                aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
            where p.pronamespace = 'tool_rag'::regnamespace
        )
        select distinct coalesce(r.rolname, 'public'), (acl.item).is_grantable
        from acl left join pg_roles r on r.oid = (acl.item).grantee
    """).fetchall()
    owner = fetch(
        connection, "select nspowner::regrole::text from pg_namespace where nspname = 'tool_rag'"
    )
    assert set(grantees) == {(group, False) for group in (*GROUPS, owner)}


def test_groups_have_no_powers_in_the_server(connection: Connection) -> None:
    rows = connection.execute(
        "select rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,"
        " rolbypassrls from pg_roles where rolname = any(%s)",
        [list(GROUPS)],
    ).fetchall()
    assert rows == [(False, True, False, False, False, False, False)] * 3


def test_every_table_has_row_level_security(connection: Connection) -> None:
    # A mere grant on a table shows nothing: only admins have a policy.
    rows = connection.execute("""
        select c.relname, c.relrowsecurity, c.relforcerowsecurity,
            array_agg(p.polname::text || ' ' || (
                select string_agg(r::regrole::text, ',') from unnest(p.polroles) r
            ))
        from pg_class c left join pg_policy p on p.polrelid = c.oid
        where c.relnamespace = 'tool_rag'::regnamespace and c.relkind = 'r'
        group by 1, 2, 3 order by 1
    """).fetchall()
    # Digests of keys are for nobody to read.
    assert rows == [
        (table, True, False, [None if table == "api_key" else "admin tool_rag_admin"])
        for table in tables(connection)
    ]


@pytest.mark.parametrize("login", ["backend", "bound"])
def test_a_reader_searches_and_reads_no_table(company: Company, login: str) -> None:
    reader = company.connect(login)
    assert seen(reader, ["support"]) == MONEY
    assert found(reader, "give a customer money back", roles=("support",))[0] == "refund_payment"
    assert (
        fetch(
            reader,
            "select count(*) from tool_rag.describe_tool('shop', 'list_orders', '{support}')",
        )
        == 1
    )
    for table in tables(company.admin):
        for statement in (
            f"select from tool_rag.{table}",
            f"delete from tool_rag.{table}",
            f"truncate tool_rag.{table}",
            f"insert into tool_rag.{table} default values",
            f"copy tool_rag.{table} to stdout",
            f"create trigger t before insert on tool_rag.{table}"
            " execute function tool_rag._before_edit()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(statement.encode())
    for statement in (
        "create table tool_rag.mine ()",
        "create function tool_rag.mine() returns int language sql return 1",
        "alter function tool_rag.embed(text) reset all",
        "create or replace view tool_rag.my_tools as select 1",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(statement.encode())


def calls_of_all(connection: Connection) -> list[tuple[str, str]]:
    """Return every function's name, and a statement that calls it with nulls."""
    rows = connection.execute("""
        select p.proname, p.oid::regproc::text, (
            select array_agg(format_type(t, null) order by place)
            from unnest(p.proargtypes) with ordinality u (t, place)
        )
        from pg_proc p
        where p.pronamespace = 'tool_rag'::regnamespace and p.prorettype <> 'trigger'::regtype
        order by 1
    """).fetchall()
    # From a subquery: a strict function of a mere null would not be called at all.
    return [
        (
            name,
            f"select {function}({', '.join(f'a{n}' for n, _ in enumerate(types or ()))})"
            f" from (select {', '.join(f'null::{t} as a{n}' for n, t in enumerate(types or ()))}"
            " offset 0) a",
        )
        for name, function, types in rows
    ]


def test_every_other_function_is_refused(company: Company) -> None:
    calls = calls_of_all(company.admin)
    assert len(calls) > 100
    company.call("grant_access", "other", "editor")
    for login, may in (("backend", READER), ("other", EDITOR)):
        connection = company.connect(login)
        for name, call in calls:
            if name not in may:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(call.encode())


def test_a_grant_on_a_table_by_mistake_shows_nothing(company: Company) -> None:
    backend = company.connect("backend")
    company.admin.execute(
        f"grant select, insert, update, delete on all tables in schema tool_rag"
        f" to {company.name('backend')}, tool_rag_editor".encode()
    )
    company.call("grant_access", "other", "editor")
    for connection in (backend, company.connect("other")):
        for table in tables(company.admin):
            assert fetch(connection, f"select count(*) from tool_rag.{table}") == 0
            delete = f"delete from tool_rag.{table}".encode()
            if table in ("change", "audit_event"):
                with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
                    connection.execute(delete)
            else:
                assert connection.execute(delete).rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("insert into tool_rag.role (name) values ('mine')")
    # And the way to one's own tools stays.
    backend.execute("set tool_rag.roles = 'support'")
    assert set(backend.execute("select server, name from tool_rag.my_tools").fetchall()) == MONEY
    backend.execute("set row_security = off")
    assert seen(backend) == MONEY
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        backend.execute("select from tool_rag.tool")
    # What Postgres knows of the values in a table is hidden as well.
    company.admin.execute("analyze tool_rag.tool")
    backend.execute("reset row_security")
    assert fetch(backend, "select count(*) from pg_stats where schemaname = 'tool_rag'") == 0


def test_my_tools_lets_no_function_of_the_caller_see_more(company: Company) -> None:
    bound = company.connect("bound")
    bound.execute("create temp table spied (name text)")
    bound.execute("""
        create function pg_temp.spy(text) returns boolean language plpgsql cost 0.0001 as
        'begin insert into spied values ($1); return true; end'
    """)
    assert fetch(bound, "select count(*) from tool_rag.my_tools where pg_temp.spy(name)") == 3
    assert set(column(bound, "select name from spied")) == {name for _, name in MONEY}


def test_an_editor_edits_through_functions(company: Company) -> None:
    company.call("grant_access", "other", "editor")
    editor = company.connect("other")
    assert fetch(editor, "select count(*) from tool_rag.list_tools()") == len(ALL)
    editor.execute("select tool_rag.grant_tools('support', 'weather', '*')")
    same = [
        {"role": "support", "server_pattern": "weather", "tool_pattern": "*", "effect": "allow"}
    ]
    assert not editor.execute("select from tool_rag.store_rules(%s)", [json.dumps(same)]).fetchall()
    editor.execute("select tool_rag.add_synonym('brolly', 'weather', 'getForecast')")
    editor.execute("select tool_rag.add_example('weather', 'getForecast', 'is it wet outside')")
    editor.execute(
        "select tool_rag.add_dependency('weather', 'getForecast', 'shop', 'list_orders', 'why')"
    )
    hits = search(editor, "brolly", ("support",), k=1)
    assert [hit["name"] for hit in hits] == ["getForecast", "list_orders"]
    assert fetch(editor, "select count(*) from tool_rag.suggest_dependencies()") == 0
    assert fetch(editor, "select all_tools from tool_rag.count_tools()") == len(ALL)
    assert fetch(editor, "select count(*) from tool_rag.describe_tool('desk', 'set_theme')") == 1
    for table in tables(company.admin):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            editor.execute(f"select from tool_rag.{table}".encode())


def test_an_admin_edits_rows_and_the_index_follows(company: Company) -> None:
    company.call("grant_access", "other", "admin")
    admin = company.connect("other")
    admin.execute(
        "insert into tool_rag.tool (server_id, name, description)"
        " select server_id, 'knit_socks', 'Knit warm socks of wool' from tool_rag.server"
        " where name = 'desk'"
    )
    admin.execute(
        "insert into tool_rag.grant_rule (role_id, server_pattern, tool_pattern)"
        " select role_id, 'desk', 'knit*' from tool_rag.role where name = 'support'"
    )
    assert found(admin, "wool socks", roles=("support",))[0] == "knit_socks"
    admin.execute("update tool_rag.tool set enabled = false where name = 'knit_socks'")
    assert "knit_socks" not in found(admin, "wool socks", roles=("support",))
    admin.execute("update tool_rag.ranking_setting set name_weight = 3")
    admin.execute("delete from tool_rag.server where name = 'weather'")
    admin.execute('select tool_rag.upsert_tools(\'{"server": "x", "tools": []}\')')
    assert fetch(admin, "select tool_rag.add_embedding_model('other-model', 3)") is True
    assert fetch(admin, "select tool_rag.drop_embedding_model('other-model')") == 0
    add_role(admin, "new")
    allow(admin, "new")
    assert fetch(admin, "select count(*) from tool_rag.posting") > 0
    # What is derived stays as triggers make it.
    for table in ("role_tool", "posting", "document", "lexeme", "tool_vector", "word_piece"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            admin.execute(f"delete from tool_rag.{table}".encode())
    for statement in (
        "create trigger t before insert on tool_rag.tool execute function tool_rag._before_edit()",
        "create table tool_rag.mine ()",
        "alter table tool_rag.tool disable row level security",
        "drop function tool_rag.embed(text)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            admin.execute(statement.encode())


def test_a_login_without_a_group_has_nothing(
    company: Company,
    make_login: Callable[[str], str],
) -> None:
    with psycopg.connect(company.url, user=make_login("login"), autocommit=True) as stranger:
        for _, call in calls_of_all(company.admin):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                stranger.execute(call.encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            stranger.execute("select from tool_rag.my_tools")


# What a caller prepares in its session, to be met by functions that run as the owner


def every_answer(connection: Connection) -> list[Any]:
    """Return what the functions of readers say to the roles `all`, who may ask for `support`."""
    return [
        connection.execute(f"select * from tool_rag.{call}".encode()).fetchall()
        for call in (
            "search_tools('give a customer money back', '{all}', 20, context => '{earlier}')",
            "search_tools('weather; and then book a room', '{all}', 20, conversation => 'c')",
            """search_tools('room', '{all}', allowed => '{"desk": {"tools": ["book_room"]}}')""",
            "search_tools_batch('{zebra,money}', '{all}')",
            "permitted_tools('{all}')",
            "my_tools",
            "resolve_tool('listOrdrs', '{all}')",
            "resolve_tool('weather/getForecast', '{all}')",
            "explain_missing('zebra', 'desk', 'book_room', '{all}')",
            "unmatched_words('forecast quux', '{all}')",
            "describe_tool('shop', 'list_orders', '{all}')",
            "count_tools('{all}')",
            "unknown_roles('{all,support,nobody}')",
            "embed('hello world')",
        )
    ]


def hostile_objects(connection: Connection, schema: str) -> list[str]:
    """Return statements that put a trap into a schema under every name that our functions use."""
    relations = column(
        connection,
        "select c.relname from pg_class c where c.relnamespace = 'tool_rag'::regnamespace"
        " and c.relkind in ('r', 'v')"
        " union all select c.relname from pg_class c where c.relnamespace ="
        " 'pg_catalog'::regnamespace and c.relname in ('pg_roles', 'pg_proc', 'pg_class')",
    )
    functions = connection.execute("""
        select distinct p.proname, pg_get_function_identity_arguments(p.oid)
        from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f'
            and p.proname in ('lower', 'length', 'btrim', 'strpos', 'substr', 'replace', 'left',
                'cardinality', 'array_position', 'coalesce', 'unnest', 'regexp_replace',
                'jsonb_typeof', 'to_tsvector', 'width_bucket', 'current_setting', 'pg_has_role',
                'to_regrole', 'quote_ident', 'statement_timestamp', 'jsonb_each', 'repeat')
            and p.proargtypes::oid[] && array['text'::regtype, 'jsonb'::regtype,
                'name'::regtype, 'anyarray'::regtype]::oid[]
            and not p.proretset and p.provariadic = 0
            and not exists (select from unnest(p.proargtypes) t
                where t::regtype::text in ('"any"', 'internal'))
    """).fetchall()
    body = "language plpgsql as 'begin raise exception ''hijacked''; end'"
    operators = (
        ("=", "int", "int"), ("=", "text", "text"), ("<>", "text", "text"),
        ("<@", "int[]", "int[]"), ("||", "text", "text"), ("->", "jsonb", "text"),
        ("->>", "jsonb", "text"),
        ("~", "text", "text"), ("!~", "text", "text"), (">", "timestamptz", "timestamptz"),
        ("<=", "timestamptz", "timestamptz"), ("*", "float8", "float8"), ("+", "int", "int"),
    )  # fmt: skip
    made = [f"create table {schema}.{name} (trap int)" for name in relations]
    made += [
        f"create function {schema}.{name}({arguments}) returns text {body}"
        for name, arguments in functions
        if "any" not in arguments
    ]
    for number, (operator, left, right) in enumerate(operators):
        result = "boolean" if operator not in ("||", "->", "->>", "*", "+") else left
        made += [
            f"create function {schema}.trap_{number}({left}, {right}) returns {result} {body}",
            f"create operator {schema}.{operator} (leftarg = {left}, rightarg = {right},"
            f" function = {schema}.trap_{number})",
        ]
    made += [f"create type {schema}.{name} as enum ('trap')" for name in ("text", "jsonb", "int4")]
    made += [f"create domain {schema}.regconfig as pg_catalog.text check (false)"]
    return made


@pytest.mark.parametrize("where", ["a schema in front", "temporary"])
def test_hostile_names_in_the_search_path_are_not_met(
    company: Company,
    where: str,
) -> None:
    backend = company.connect("backend")
    company.admin.execute("select tool_rag.record_use('c', 1, 'shop', 'list_orders', '{all}')")
    usual = every_answer(backend)
    company.admin.execute(f"create schema evil authorization {company.name('backend')}".encode())
    schema = "evil" if where == "a schema in front" else "pg_temp"
    attacker = company.connect("backend")
    traps = hostile_objects(company.admin, schema)
    assert len(traps) > 60
    for statement in traps:
        attacker.execute(statement.encode())
    attacker.execute(f"set search_path = {schema}, tool_rag, pg_catalog".encode())
    # The trap works where a path leads to it.
    if schema == "evil":
        with pytest.raises(psycopg.errors.RaiseException, match="hijacked"):
            attacker.execute("select 'a'::pg_catalog.text || 'b'::pg_catalog.text")
    assert every_answer(attacker) == usual
    # In a session whose first call of each function is under that path.
    assert every_answer(attacker) == usual


@pytest.mark.parametrize(
    "setting",
    [
        "search_path = ''",
        "standard_conforming_strings = off",
        "transform_null_equals = on",
        "array_nulls = off",
        "quote_all_identifiers = on",
        "default_text_search_config = 'simple'",
        "default_transaction_read_only = off",
        "row_security = off",
        "check_function_bodies = off",
        "enable_indexscan = off",
        "enable_indexonlyscan = off",
        "plan_cache_mode = force_generic_plan",
        "hnsw.iterative_scan = off",
        "hnsw.ef_search = 1",
        "work_mem = '64kB'",
        "debug_print_plan = on",
        "client_min_messages = log",
        "timezone = 'Asia/Tokyo'",
        "datestyle = 'German, DMY'",
        "intervalstyle = 'iso_8601'",
        "extra_float_digits = -15",
        "bytea_output = 'escape'",
        "xmloption = 'document'",
    ],
)
def test_settings_of_a_session_change_no_permission(
    company: Company,
    setting: str,
) -> None:
    bound = company.connect("bound")
    bound.execute(f"set {setting}".encode())
    assert seen(bound, ["all"]) == MONEY
    assert seen(bound) == MONEY


def test_what_a_search_says_to_the_client_names_nothing_hidden(company: Company) -> None:
    bound = company.connect("bound")
    said: list[str] = []
    bound.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
    for setting in (
        "client_min_messages = debug5",
        "debug_print_parse = on",
        "debug_print_rewritten = on",
        "debug_print_plan = on",
    ):
        bound.execute(f"set {setting}".encode())
    assert seen(bound, ["all"]) == MONEY
    bound.execute("select * from tool_rag.resolve_tool('getForecas')")
    hidden = [name for _, name in ALL - MONEY]
    assert said
    assert not [text for text in said if any(name in text for name in hidden)]
