"""`tool-rag db` on a named database, and what all commands share: errors and exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Cli
from tests.conftest import MakeDatabase
from tool_rag_pg import _migrate
from tool_rag_pg._database import describe_target, translate
from tool_rag_pg.cli._output import print_error
from tool_rag_pg.cli.main import main
from tool_rag_pg.errors import (
    DatabaseError,
    DatabaseUnavailable,
    InvalidArgument,
    SchemaNotReady,
    ToolRagError,
)

SECRET = "s3cr3t-p4ss"


def test_upgrade_says_what_it_did_and_that_nothing_is_left(
    cli: Cli, make_database: MakeDatabase
) -> None:
    url = make_database()
    first = cli("--database-url", url, "db", "upgrade")
    assert (first.code, first.out) == (0, "")
    assert first.err.startswith("Upgraded: applied 0001_catalogue, ")
    assert "word pieces loaded" in first.err
    second = cli("--database-url", url, "db", "upgrade")
    assert (second.code, second.out, second.err) == (0, "", "The database is up to date.\n")


def test_verify_prints_differences_and_fails(cli: Cli, database: str) -> None:
    good = cli("db", "verify")
    assert (good.code, good.out) == (0, "")
    with psycopg.connect(database) as connection:
        connection.execute("drop function tool_rag.remove_role(text)")
    bad = cli("db", "verify")
    assert (bad.code, bad.out) == (1, "function tool_rag.remove_role(text) is missing\n")


def test_sql_goes_to_stdout(cli: Cli) -> None:
    plain = cli("db", "sql", "--vector-schema", "my extensions")
    assert (plain.code, plain.err) == (0, "")
    assert plain.out.startswith("BEGIN;\n")
    assert plain.out.rstrip().endswith("COMMIT;")
    assert '"my extensions".halfvec' in plain.out
    assert "@extschema" not in plain.out


def test_a_reader_that_leaves_is_no_error() -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "tool_rag_pg.cli.main", "db", "sql", "--with-model"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "BEGIN;\n"
    writer.stdout.close()
    assert writer.stderr is not None
    assert writer.stderr.read() == ""
    writer.stderr.close()
    assert writer.wait() == 1


def test_up_is_about_the_embedded_server_only(cli: Cli) -> None:
    up = cli("db", "up")
    assert (up.code, up.out) == (2, "")
    assert "tool-rag db upgrade" in up.err


def test_an_older_or_missing_schema_says_how_to_get_it(
    cli: Cli, make_database: MakeDatabase
) -> None:
    outcome = cli("--database-url", make_database(), "search", "x")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == (
        "Error: the database has no schema tool_rag\n  run: tool-rag db upgrade\n"
    )


def test_a_newer_schema_is_not_touched(cli: Cli, database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("update tool_rag.alembic_version set version_num = '9999_future'")
    outcome = cli("db", "upgrade")
    assert outcome.code == 3
    assert "9999_future, which is newer than this package" in outcome.err


@pytest.mark.parametrize("debug", [[], ["--debug"]])
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/mine?connect_timeout=2",
        f"postgresql://me:{SECRET}@127.0.0.1:port/mine",
        f"postgre://me:{SECRET}@127.0.0.1/mine",
        f"host=127.0.0.1 port=1 user=me password={SECRET} dbname=mine connect_timeout=2",
        f"host=127.0.0.1 password={SECRET} nonsense",
    ],
)
def test_no_connection_is_said_without_the_password(url: str, debug: list[str]) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tool_rag_pg.cli.main",
            "--database-url",
            url,
            *debug,
            "search",
            "x",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == (1 if debug else 3)
    assert "DatabaseUnavailable" in done.stderr if debug else done.stderr.startswith("Error: ")
    assert done.stdout == ""
    assert SECRET not in done.stderr


def test_an_unknown_command_is_a_usage_error(cli: Cli) -> None:
    assert cli("nonsense").code == 2
    assert cli("db", "nonsense").code == 2


def test_the_version_is_printed(cli: Cli) -> None:
    assert cli("--version").out == "tool-rag 0.1.0\n"


def test_debug_shows_the_traceback(cli: Cli) -> None:
    with pytest.raises(InvalidArgument):
        main(["--debug", "grant", "nobody", "a/b"])
    assert cli("grant", "nobody", "a/b").code == 2


def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(_migrate, "offline_sql", broken)
    with pytest.raises(ZeroDivisionError):
        main(["db", "sql"])


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("select tool_rag.grant_tools('x', 'y', 'z')", InvalidArgument, 'role "x" does not exist'),
        ("select tool_rag.add_role('')", InvalidArgument, "a role's name has 1 to 256 characters"),
        ("insert into tool_rag.role (name) values ('a,b')", InvalidArgument, "role_name_check"),
        ("select 'x'::int", InvalidArgument, "invalid input syntax"),
        ("select 'x'::no_such_type", DatabaseError, 'type "no_such_type" does not exist'),
        ("select tool_rag.no_such()", SchemaNotReady, "tool_rag.no_such"),
        ("select * from tool_rag.no_such", SchemaNotReady, "tool_rag.no_such"),
        ("select * from no_such", DatabaseError, "no_such"),
        ("select 1 / 0", DatabaseError, "division by zero"),
        ("selec", DatabaseError, "syntax error"),
    ],
)
def test_an_error_of_postgres_becomes_the_right_one_of_ours(
    connection: psycopg.Connection[Any], statement: str, error: type[ToolRagError], message: str
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement.encode())
    translated = translate(caught.value)
    assert type(translated) is error
    assert message in translated.message
    if isinstance(translated, DatabaseError):
        assert translated.sqlstate == caught.value.sqlstate


def test_hints_of_the_functions_are_kept(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("select tool_rag.grant_tools('x', 'y', 'z')")
    hint = translate(caught.value).hint
    assert hint is not None
    assert "tool-rag roles add" in hint


def test_a_missing_privilege_says_who_can_help(connection: psycopg.Connection[Any]) -> None:
    connection.execute("create role tool_rag_guest; set local role tool_rag_guest")
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("select * from tool_rag.tool")
    translated = translate(caught.value)
    assert isinstance(translated, DatabaseError)
    assert "owner of the schema tool_rag" in str(translated.hint)


def test_errors_on_the_way_there_are_about_the_connection() -> None:
    assert isinstance(translate(psycopg.OperationalError("server closed")), DatabaseUnavailable)
    assert isinstance(translate(psycopg.InterfaceError("is closed")), DatabaseUnavailable)
    assert isinstance(translate(psycopg.DataError("no NUL in text")), InvalidArgument)
    assert isinstance(translate(psycopg.ProgrammingError("no results")), DatabaseError)


def test_a_target_is_described_without_its_secrets() -> None:
    url = f"postgresql://me:{SECRET}@db.example:5433/mine?sslpassword={SECRET}"
    assert describe_target(url) == "database mine on db.example:5433"
    assert describe_target("") == "database (default) on the local server"


def test_causes_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    error = ToolRagError("it failed: the disk is full", hint="make room")
    error.__cause__ = OSError("the disk is full")
    error.__cause__.__cause__ = ValueError("a deeper reason\nwith lines")
    print_error(error)
    assert capsys.readouterr().err == (
        "Error: it failed: the disk is full\n  make room\n  because: a deeper reason\n"
    )


def test_standard_output_is_the_result_alone(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("search", "x", "--json")
    assert outcome.out == "[]\n"
    assert outcome.err != ""
