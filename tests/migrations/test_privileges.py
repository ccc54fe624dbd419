"""What an upgrade does about the group roles, with and without the right to create them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from tests.conftest import MakeDatabase, Postgres
from tests.migrations.conftest import fetch
from tests.migrations.test_upgrade import SEARCH, as_role, fill
from tool_rag_pg._migrate import GROUPS, upgrade
from tool_rag_pg._verify import verify

DAMAGE = """
    grant execute on function tool_rag.list_tools() to tool_rag_reader;
    grant execute on function tool_rag._find_tool(text, text) to tool_rag_reader;
    grant select, insert on tool_rag.tool to tool_rag_reader;
    grant update on tool_rag.role_tool to tool_rag_admin;
    revoke execute on function tool_rag.embed(text) from tool_rag_reader;
    grant create on schema tool_rag to tool_rag_editor;
    drop policy admin on tool_rag.role;
    alter policy admin on tool_rag.tool to public;
"""


@contextmanager
def without_groups(postgres: Postgres) -> Iterator[None]:
    """Let the server lack the groups for a while: other databases refer to them by number."""
    rename = sql.SQL("alter role {} rename to {}")
    aside = {name: f"{name}_aside" for name in GROUPS}
    for name, other in aside.items():
        postgres.execute(rename.format(sql.Identifier(name), sql.Identifier(other)))
    try:
        yield
    finally:
        for name, other in aside.items():
            postgres.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(name)))
            postgres.execute(rename.format(sql.Identifier(other), sql.Identifier(name)))


def test_an_upgrade_puts_right_what_was_granted_to_the_groups(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(DAMAGE)
    found = verify(database)
    for said in (
        "function tool_rag.list_tools() differs",
        "function tool_rag._find_tool(text,text) differs",
        "function tool_rag.embed(text) differs",
        "relation tool differs",
        "relation role_tool differs",
        "schema tool_rag differs",
        "policy tool_rag.role.admin is missing",
        "policy tool_rag.tool.admin differs",
    ):
        assert said in found
    assert upgrade(database).changed
    assert verify(database) == []


def test_policies_and_views_of_others_are_named(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("""
            create policy mine on tool_rag.tool using (true);
            create or replace view tool_rag.my_tools with (security_barrier) as
            select server, name, title, description, is_action, tokens
            from tool_rag.permitted_tools('{all}');
        """)
    assert verify(database) == [
        "policy tool_rag.tool.mine is not of this package",
        "relation my_tools differs",
    ]


def test_without_the_right_to_create_roles_all_works_for_the_owner(
    postgres: Postgres, make_database: MakeDatabase, make_role: Callable[[str], str]
) -> None:
    owner = make_role("owner")
    url = make_database(owner=owner)
    with psycopg.connect(url) as connection:
        connection.execute("create extension vector")
    with without_groups(postgres):
        report = upgrade(as_role(url, owner))
        assert report.missing_groups == tuple(sorted(GROUPS))
        assert not upgrade(as_role(url, owner)).changed
        fill(as_role(url, owner))
        assert fetch(as_role(url, owner), SEARCH) == "track_parcel"
        assert fetch(as_role(url, owner), "select count(*) from tool_rag.my_tools") == 0
        others = """
            select count(*) from pg_proc p cross join lateral aclexplode(p.proacl) a
            where p.pronamespace = 'tool_rag'::regnamespace and a.grantee <> p.proowner
        """
        assert fetch(url, others) == 0
        assert [line.split(";")[0] for line in verify(as_role(url, owner))] == [
            f"group role {name} is missing" for name in sorted(GROUPS)
        ]
        with psycopg.connect(as_role(url, owner)) as connection:
            said: list[str | None] = []
            connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
            connection.execute("select tool_rag._apply_privileges(true)")
            assert said == [
                "the group roles tool_rag_reader, tool_rag_editor, tool_rag_admin are missing, and"
                " this user may not create them"
            ]
            with pytest.raises(psycopg.errors.UndefinedObject) as caught:
                connection.execute("select tool_rag.grant_access(%s, 'reader')", [owner])
            assert caught.value.diag.message_hint == (
                "As a user who may create roles: tool-rag db upgrade."
            )
    # Once they are there, the next upgrade gives them what is theirs.
    assert upgrade(as_role(url, owner)).changed
    assert verify(as_role(url, owner)) == []
    # Another user made the groups: only who administers them fills them.
    reader = make_role("reader")
    with psycopg.connect(as_role(url, owner)) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            connection.execute("select tool_rag.grant_access(%s, 'reader')", [reader])
        assert caught.value.diag.message_hint is not None
        assert f"grant tool_rag_reader to {owner}" in caught.value.diag.message_hint
    postgres.drop(url.split("/")[-1].split("?")[0])


def test_an_owner_who_may_create_roles_makes_and_fills_the_groups(
    postgres: Postgres, make_database: MakeDatabase, make_role: Callable[[str], str]
) -> None:
    owner, reader = make_role("owner"), make_role("reader")
    postgres.execute(sql.SQL("alter role {} createrole").format(sql.Identifier(owner)))
    url = make_database(owner=owner)
    with psycopg.connect(url) as connection:
        connection.execute("create extension vector")
    with without_groups(postgres):
        assert upgrade(as_role(url, owner)).missing_groups == ()
        assert verify(as_role(url, owner)) == []
        fill(as_role(url, owner))
        with psycopg.connect(as_role(url, owner)) as connection:
            connection.execute("select tool_rag.grant_access(%s, 'reader')", [reader])
            connection.execute("select tool_rag.bind_login(%s, '{clerk}')", [reader])
        assert fetch(as_role(url, reader), "select count(*) from tool_rag.my_tools") == 2
        # Who made the reader administers it, which is no reason to be bound by it.
        assert fetch(as_role(url, owner), SEARCH) == "track_parcel"
        with psycopg.connect(as_role(url, owner)) as connection:
            assert connection.execute("select tool_rag.revoke_access(%s)", [reader]).fetchone() == (
                True,
            )
        postgres.drop(url.split("/")[-1].split("?")[0])


def test_a_group_with_powers_of_its_own_is_named(postgres: Postgres, database: str) -> None:
    postgres.execute(sql.SQL("alter role tool_rag_reader login"))
    try:
        assert verify(database) == [
            "group role tool_rag_reader has powers of its own in the server"
        ]
    finally:
        postgres.execute(sql.SQL("alter role tool_rag_reader nologin"))
