"""What must hold for every object of the schema, read from Postgres' own catalogue."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from tests.conftest import Postgres
from tool_rag_pg import _assets

Connection = psycopg.Connection[tuple[Any, ...]]

# Without a pinned search_path, since a SET clause would keep them from being inlined. All that
# they name is qualified, and who calls them has pinned it. A body in standard SQL ("return ...")
# needs none: it is resolved when it is created.
INLINED = {"_permitted(integer[],integer[])"}

# Functions that share a name with another: (name, how many).
OVERLOADS: dict[str, int] = {}

# What callers type. Anything else begins with "_".
PUBLIC = {
    "add_api_key",
    "add_dependency",
    "add_embedding_model",
    "add_example",
    "add_role",
    "add_synonym",
    "approve_tools",
    "authenticate_key",
    "bind_login",
    "count_tools",
    "describe_tool",
    "distrust_login",
    "drop_embedding_model",
    "embed",
    "explain_access",
    "explain_missing",
    "forget_conversations",
    "grant_access",
    "grant_tools",
    "lint_catalogue",
    "lint_tools",
    "list_access_changes",
    "list_api_keys",
    "list_audit_events",
    "list_changes",
    "list_dependencies",
    "list_embedding_models",
    "list_examples",
    "list_logins",
    "list_pending_tools",
    "list_review_policies",
    "list_roles",
    "list_rules",
    "list_synonyms",
    "list_tool_access",
    "list_tools",
    "permitted_servers",
    "permitted_tools",
    "purge_audit",
    "record_call",
    "record_message",
    "record_sent",
    "record_use",
    "reindex_tools",
    "reject_tools",
    "remove_dependency",
    "remove_example",
    "remove_role",
    "remove_server",
    "remove_synonym",
    "resolve_tool",
    "revoke_access",
    "revoke_api_key",
    "revoke_tools",
    "rotate_api_key",
    "search_tools",
    "search_tools_batch",
    "set_audit",
    "set_description",
    "set_review_policy",
    "set_roles_claim",
    "set_strict_statistics",
    "store_rules",
    "store_vectors",
    "suggest_dependencies",
    "texts_to_embed",
    "trust_login",
    "try_approval",
    "unbind_login",
    "unknown_roles",
    "unmatched_words",
    "upsert_tools",
    "use_embedding_model",
}

# Those of them that edit the catalogue or access.
WRITING = {
    "add_api_key",
    "add_dependency",
    "add_embedding_model",
    "add_example",
    "add_role",
    "add_synonym",
    "approve_tools",
    "authenticate_key",
    "bind_login",
    "distrust_login",
    "drop_embedding_model",
    "forget_conversations",
    "grant_access",
    "grant_tools",
    "purge_audit",
    "record_call",
    "record_message",
    "record_sent",
    "record_use",
    "reindex_tools",
    "reject_tools",
    "remove_dependency",
    "remove_example",
    "remove_role",
    "remove_server",
    "remove_synonym",
    "revoke_access",
    "revoke_api_key",
    "revoke_tools",
    "rotate_api_key",
    "set_audit",
    "set_description",
    "set_review_policy",
    "set_roles_claim",
    "set_strict_statistics",
    "store_rules",
    "store_vectors",
    "trust_login",
    "try_approval",
    "unbind_login",
    "upsert_tools",
    "use_embedding_model",
}

# Words of a function's header that say volatility and parallel safety.
HEADER = re.compile(
    r"create or replace function tool_rag\.(\w+)\(.*?\n(language [^\n]*)", re.DOTALL
)

STATED = re.compile(r"\b(immutable|stable|volatile) parallel (safe|restricted|unsafe)\b")


def functions(connection: Connection, condition: str = "true") -> set[str]:
    """Return the signatures of our functions that meet a condition on pg_proc, as `name(types)`."""
    connection.execute("set local search_path = pg_catalog, pg_temp")
    rows = connection.execute(
        f"""
        select replace(p.oid::regprocedure::text, 'tool_rag.', '')
        from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = 'tool_rag'::regnamespace and ({condition})
        """.encode()
    )
    return {signature for (signature,) in rows}


def test_every_function_says_what_it_does(connection: Connection) -> None:
    assert functions(connection, "coalesce(obj_description(p.oid, 'pg_proc'), '') = ''") == set()


def test_every_table_says_what_it_holds(connection: Connection) -> None:
    rows = connection.execute("""
        select c.relname from pg_class c
        where c.relnamespace = 'tool_rag'::regnamespace and c.relkind in ('r', 'v', 'p', 'm')
            and c.relname <> 'alembic_version' and obj_description(c.oid, 'pg_class') is null
    """).fetchall()
    assert rows == []


def test_search_paths_are_pinned(connection: Connection) -> None:
    unpinned = functions(
        connection,
        """
        p.prosqlbody is null and not coalesce(
            'search_path=pg_catalog, pg_temp' = any(p.proconfig), false
        )
        """,
    )
    assert unpinned == INLINED


def test_standard_bodies_are_not_pinned(connection: Connection) -> None:
    # They are there to be inlined, which a SET clause prevents.
    assert functions(connection, "p.prosqlbody is not null and p.proconfig is not null") == set()


def test_what_callers_and_triggers_run_runs_as_the_owner(connection: Connection) -> None:
    # Callers read no table, and an admin's edits of rows derive rows that admins do not edit.
    triggers = "p.prorettype = 'trigger'::regtype"
    definers = functions(connection, f"p.prosecdef and not {triggers}")
    assert {signature.split("(")[0] for signature in definers} == PUBLIC
    assert functions(connection, f"not p.prosecdef and {triggers}") == set()


def test_nothing_is_executable_by_everyone(connection: Connection) -> None:
    everyone = """
        exists (
            select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
            where a.grantee = 0
        )
    """
    assert functions(connection, everyone) == set()


def test_a_role_without_grants_can_call_nothing(postgres: Postgres, connection: Connection) -> None:
    connection.execute("create role tool_rag_stranger; set local role tool_rag_stranger")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("select tool_rag.embed('hello')")


def test_no_name_is_overloaded(connection: Connection) -> None:
    # A new argument with a default would otherwise leave two functions, and calls ambiguous.
    counts: dict[str, int] = {}
    for signature in functions(connection):
        name = signature.split("(")[0]
        counts[name] = counts.get(name, 0) + 1
    assert {name: count for name, count in counts.items() if count > 1} == OVERLOADS


def test_public_functions_are_listed(connection: Connection) -> None:
    names = {signature.split("(")[0] for signature in functions(connection)}
    assert {name for name in names if not name.startswith("_")} == PUBLIC


def test_private_parameters_begin_with_p(connection: Connection) -> None:
    named = connection.execute("""
        select p.proname, a.name
        from pg_proc p
        cross join lateral unnest(
            p.proargnames, coalesce(p.proargmodes, array_fill('i'::"char", array[p.pronargs]))
        ) a (name, mode)
        where p.pronamespace = 'tool_rag'::regnamespace and a.mode in ('i', 'b', 'v')
    """).fetchall()
    wrong = [
        (function, name)
        for function, name in named
        if name and function.startswith("_") != name.startswith("p_")
    ]
    assert wrong == []


def test_no_function_is_defined_twice() -> None:
    # The later file would win, without a word.
    defined = [
        name
        for file in _assets.function_files()
        for name in re.findall(
            r"^create or replace function tool_rag\.(\w+)\(", file.text, re.MULTILINE
        )
    ]
    assert sorted(set(defined)) == sorted(defined)


def test_every_header_states_volatility_and_parallel_safety() -> None:
    incomplete = []
    for file in _assets.function_files():
        headers = dict(HEADER.findall(file.text))
        assert headers.keys() == file.functions, file.name
        for name, header in headers.items():
            trigger = "returns trigger" in file.text.split(f"tool_rag.{name}(", 1)[1][:200]
            stated = STATED.search(header)
            if not stated and not trigger:
                incomplete.append(f"{file.name}: {name}: {header}")
    assert incomplete == []


def test_reading_functions_do_not_write(connection: Connection) -> None:
    # A search must run on a hot standby, where nothing volatile may be needed.
    volatile = {name.split("(")[0] for name in functions(connection, "p.provolatile = 'v'")}
    assert PUBLIC & volatile == WRITING


def test_constraints_and_indexes_have_names_of_their_table(connection: Connection) -> None:
    rows = connection.execute("""
        select c.relname, i.relname
        from pg_index x
        join pg_class c on c.oid = x.indrelid
        join pg_class i on i.oid = x.indexrelid
        where c.relnamespace = 'tool_rag'::regnamespace
    """).fetchall()
    assert [row for row in rows if not row[1].startswith(f"{row[0]}_")] == []


def test_foreign_keys_are_indexed(connection: Connection) -> None:
    # Else the deletion of a referenced row reads all rows that might refer to it.
    rows = connection.execute("""
        select k.conname
        from pg_constraint k
        where k.connamespace = 'tool_rag'::regnamespace and k.contype = 'f'
            and not exists (
                select from pg_index x
                where x.indrelid = k.conrelid and x.indkey[0] = k.conkey[1]
            )
    """).fetchall()
    assert rows == []
