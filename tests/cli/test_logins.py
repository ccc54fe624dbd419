"""`tool-rag db grant-access`, `revoke-access` and `logins`, and commands run by such a login."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import sql

from tests.cli.conftest import Cli
from tests.conftest import Postgres


@pytest.fixture
def login(postgres: Postgres, database: str) -> Iterator[str]:
    """A login of the server that has nothing yet."""
    name = f"login_{next(postgres.numbers)}"
    postgres.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
    yield name
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(sql.SQL("drop owned by {}").format(sql.Identifier(name)))
    postgres.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


@pytest.fixture
def as_login(cli: Cli, database: str, login: str) -> Callable[..., object]:
    """Return a function that runs a command as that login."""
    url = database.replace("postgres@", f"{login}@")
    return lambda *arguments: cli("--database-url", url, *arguments)


def test_access_is_given_listed_and_taken_back(cli: Cli, login: str, developer: str) -> None:
    given = cli("db", "grant-access", login, "--as", "reader", "--bind", developer)
    assert (given.code, given.out) == (0, "")
    assert given.err == f"{login} is a reader, bound to {developer}.\n"
    again = cli("db", "grant-access", login, "--as", "reader", "--bind", developer)
    assert again.err == f"{login} was already a reader, bound to {developer}.\n"
    trusted = cli("db", "grant-access", login, "--as", "reader", "--trust")
    assert trusted.err == f"{login} is a reader, bound to {developer}, trusted.\n"
    (row,) = [row for row in cli("db", "logins").rows() if row["login"] == login]
    assert row == {
        "login": login,
        "access": "reader",
        "bound to": developer,
        "trusted": "yes",
        "note": "",
    }
    (row,) = [row for row in cli("db", "logins", "--json").json() if row["login"] == login]
    assert row == {
        "login": login,
        "access": "reader",
        "is_bound": True,
        "roles": [developer],
        "is_trusted": True,
        "note": None,
    }
    revoked = cli("db", "revoke-access", login)
    assert revoked.err == (
        f"{login} has no access any more.\nIt stays bound to {developer}. To free it: --unbind\n"
    )
    revoked = cli("db", "revoke-access", login, "--unbind")
    assert revoked.err == f"{login} had no access.\n"
    assert login not in cli("db", "logins").out
    free = cli("db", "grant-access", login, "--as", "reader")
    assert free.err.startswith(f"{login} is a reader.\nIt is not bound: ")


def test_what_can_not_be_is_a_usage_error(cli: Cli, login: str, developer: str) -> None:
    for arguments, message in (
        (("nobody at all", "--as", "reader"), 'login "nobody at all" does not exist'),
        ((login, "--as", "editor", "--bind", developer), "--bind does not go with --as editor"),
        ((login, "--as", "reader", "--bind", "nobody"), 'role "nobody" does not exist'),
        ((login, "--as", "owner"), "owner"),
    ):
        outcome = cli("db", "grant-access", *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert message in outcome.err
    assert cli("db", "revoke-access", "nobody at all").code == 2
    # Nothing of it was kept.
    assert login not in cli("db", "logins").out


def test_a_reader_searches_from_the_command_line(
    cli: Cli, as_login: Cli, login: str, developer: str
) -> None:
    refused = as_login("search", "pull request", "--role", developer)
    assert (refused.code, refused.out) == (1, "")
    assert "grant-access" in refused.err
    cli("db", "grant-access", login, "--as", "reader")
    named = as_login("search", "pull request", "--role", developer, "-k", "1")
    assert [row["tool"] for row in named.rows()] == ["github/create_pull_request"]
    assert as_login("search", "pull request").out == ""
    cli("db", "grant-access", login, "--as", "reader", "--bind", developer)
    own = as_login("search", "pull request", "-k", "1", "--json").json()
    assert [hit["name"] for hit in own] == ["create_pull_request"]
    refused = as_login("tools", "list")
    assert (refused.code, refused.out) == (1, "")
    assert "tool-rag db grant-access LOGIN --as editor" in refused.err


def test_an_editor_grants_from_the_command_line(
    cli: Cli, as_login: Cli, login: str, developer: str
) -> None:
    cli("db", "grant-access", login, "--as", "editor")
    assert as_login("grant", developer, "mail/*").code == 0
    assert as_login("tools", "list").code == 0
    assert as_login("roles", "add", "new").code == 1
    assert as_login("db", "logins").code == 1


def test_missing_groups_are_said(cli: Cli, login: str, postgres: Postgres) -> None:
    # An owner who may not create roles, on a server where nobody did.
    from tests.migrations.test_privileges import without_groups

    name = f"tool_rag_test_{next(postgres.numbers)}"
    postgres.execute(
        sql.SQL("create database {} owner {}").format(sql.Identifier(name), sql.Identifier(login))
    )
    try:
        with psycopg.connect(postgres.server.url(name)) as connection:
            connection.execute("create extension vector")
        url = postgres.server.url(name).replace("postgres@", f"{login}@")
        with without_groups(postgres):
            done = cli("--database-url", url, "db", "upgrade")
            assert done.code == 0
            assert done.err.startswith(
                "Warning: this user may not create the group roles tool_rag_admin, tool_rag_editor"
                " and tool_rag_reader. All works for the schema's owner;\n"
            )
            assert "Upgraded: " in done.err
    finally:
        postgres.drop(name)
