"""What the tests of the SQL share: filling a catalogue, asking it, and expecting errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from tests.conftest import Postgres

Connection = psycopg.Connection[tuple[Any, ...]]

COLUMNS = (
    "rank",
    "server",
    "name",
    "title",
    "description",
    "input_schema",
    "is_action",
    "relevance",
    "score",
    "tokens",
    "reason",
    "explain",
)

# Ordinary tools of an ordinary company: (server, name, description, parameter names).
SHOP = (
    ("shop", "refund_payment", "Give a customer money back for a charge", ("charge", "amount")),
    ("shop", "list_orders", "List the orders of a customer", ("customer",)),
    ("shop", "cancel_order", "Cancel an order that was not shipped yet", ("order",)),
    ("weather", "getForecast", "Weather forecast for a city and a day", ("city", "day")),
    ("weather", "get_air_quality", "How clean the air of a place is now", ("place",)),
    ("desk", "set_theme", "Change colours and fonts of a screen", ("theme",)),
    ("desk", "send_mail", "Write an e-mail to somebody", ("recipient", "subject", "body")),
    ("desk", "book_room", "Reserve a meeting room", ("room", "start", "end")),
)


def fetch(connection: Connection, query: str, *parameters: Any) -> Any:
    """Return the first column of the first row."""
    row = connection.execute(query.encode(), parameters or None).fetchone()
    assert row is not None
    return row[0]


def column(connection: Connection, query: str, *parameters: Any) -> list[Any]:
    """Return the first column of all rows."""
    return [row[0] for row in connection.execute(query.encode(), parameters or None)]


def schema_of(*parameters: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in parameters}}


def upsert(connection: Connection, payload: Any) -> list[tuple[str, int, int, int, int]]:
    """Call upsert_tools: (server, added, changed, unchanged, removed) of each export."""
    return connection.execute(
        "select server, added, changed, unchanged, removed from tool_rag.upsert_tools(%s)",
        [json.dumps(payload)],
    ).fetchall()


def export(server: str, *tools: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    """An export; a tool that is a mere name has nothing else."""
    return {
        "server": server,
        "tools": [{"name": tool} if isinstance(tool, str) else tool for tool in tools],
        **more,
    }


def add_server(connection: Connection, name: str) -> int:
    found = connection.execute(
        "select server_id from tool_rag.server where name = %s", [name]
    ).fetchone()
    if found is not None:
        return int(found[0])
    return int(
        fetch(
            connection, "insert into tool_rag.server (name) values (%s) returning server_id", name
        )
    )


def add_tool(
    connection: Connection,
    server: str,
    name: str,
    description: str = "",
    schema: dict[str, Any] | None = None,
) -> int:
    """Insert a tool by plain SQL."""
    return int(
        fetch(
            connection,
            "insert into tool_rag.tool (server_id, name, description, input_schema)"
            " values (%s, %s, %s, %s) returning tool_id",
            add_server(connection, server),
            name,
            description,
            json.dumps(schema_of() if schema is None else schema),
        )
    )


def add_role(connection: Connection, name: str, *parents: str) -> None:
    connection.execute("select tool_rag.add_role(%s, %s)", [name, list(parents)])


def allow(
    connection: Connection,
    role: str,
    server: str = "*",
    tool: str = "*",
    *,
    effect: str = "allow",
    until: Any = None,
    start: Any = None,
    hours: str | None = None,
) -> None:
    connection.execute(
        "select tool_rag.grant_tools(%s, %s, %s, %s, %s, %s, %s)",
        [role, server, tool, effect, until, start, hours],
    )


def deny(
    connection: Connection, role: str, server: str = "*", tool: str = "*", **more: Any
) -> None:
    allow(connection, role, server, tool, effect="deny", **more)


# Zones whose clocks never change, in minutes from UTC: a test knows by itself what they show.
OFFSETS = {"UTC": 0, "Etc/GMT+11": -660, "Asia/Kolkata": 330, "Asia/Tokyo": 540}
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# Kinds of hours by whether they hold at the time of the test, and for three hours before and after.
HOURS = {"around": True, "this day": True, "later": False, "on others": False, "another day": False}


def hours_of(kind: str, zone: str = "UTC") -> str:
    """Return hours of a kind as a text."""
    clock = datetime.now(UTC) + timedelta(minutes=OFFSETS[zone])
    start, end = clock - timedelta(hours=3), clock + timedelta(hours=3)
    near = {(clock + timedelta(days=days)).weekday() for days in (-1, 0, 1)}
    if kind == "this day":
        days = near
    elif kind == "another day":
        days = set(range(7)) - near
    elif kind == "on others":
        days = set(range(7)) - {start.weekday()}
    else:
        days = set() if kind == "later" else {start.weekday()}
    times = f"{start:%H:%M}-{end:%H:%M} "
    if kind == "later":
        times = f"{end:%H:%M}-{end + timedelta(hours=3):%H:%M} "
    elif kind in ("this day", "another day"):
        times = ""
    return f"{','.join(WEEKDAYS[day] for day in sorted(days))} {times}{zone}".strip()


def search(
    connection: Connection, query: str, roles: Sequence[str] | None = ("all",), **arguments: Any
) -> list[dict[str, Any]]:
    """Call search_tools with named arguments; dictionaries become jsonb."""
    given: dict[str, Any] = {
        "query": query,
        "roles": None if roles is None else list(roles),
        **{
            name: json.dumps(value) if name == "options" else value
            for name, value in arguments.items()
        },
    }
    statement = sql.SQL("select * from tool_rag.search_tools({})").format(
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
            for name in given
        )
    )
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, given).fetchall()


def names(hits: Iterable[dict[str, Any]]) -> list[str]:
    return [hit["name"] for hit in hits]


def found(connection: Connection, query: str, **arguments: Any) -> list[str]:
    """Names of the tools that a search returns, best first."""
    return names(search(connection, query, **arguments))


@contextmanager
def undone(connection: Connection) -> Iterator[None]:
    """Take back what happens inside, and nothing before it."""
    connection.execute("savepoint undone")
    try:
        yield
    finally:
        if connection.info.transaction_status is not psycopg.pq.TransactionStatus.UNKNOWN:
            connection.execute("rollback to savepoint undone")
            connection.execute("release savepoint undone")


@contextmanager
def refused(
    connection: Connection, sqlstate: str, message: str, *, hint: str | None = ""
) -> Iterator[None]:
    """Expect an error with this SQLSTATE, and words that its message and hint contain.

    A hint of "" stands for any, but there has to be one; None expects none.
    """
    with undone(connection):
        with pytest.raises(psycopg.Error) as caught:
            yield
        said = caught.value.diag
        assert said.message_primary is not None
        assert message in said.message_primary
        assert said.sqlstate == sqlstate, said.message_primary
        if hint is None:
            assert said.message_hint is None
        else:
            assert said.message_hint, f"no hint: {said.message_primary}"
            assert hint in said.message_hint


@pytest.fixture
def shop(connection: Connection) -> Connection:
    """The tools of SHOP, by plain SQL, and the role `all`, which sees them."""
    for server, name, description, parameters in SHOP:
        add_tool(connection, server, name, description, schema_of(*parameters))
    add_role(connection, "all")
    allow(connection, "all")
    return connection


# A company with logins of its own

Tool = tuple[str, str]
ALL = {(server, name) for server, name, *_ in SHOP}
MONEY = {tool for tool in ALL if tool[0] == "shop"}
WEATHER = {tool for tool in ALL if tool[0] == "weather"}
DESK = {tool for tool in ALL if tool[0] == "desk"}


@dataclass
class Company:
    """A database of a test's own, and its logins.

    Attributes:
        admin: a connection of the owner, in autocommit.
        url: of the owner.
        names: the logins' names in the server, by those that tests use.
    """

    admin: Connection
    url: str
    names: dict[str, str] = field(default_factory=dict)
    opened: list[Connection] = field(default_factory=list)

    def name(self, login: str) -> str:
        return self.names.get(login, login)

    def call(self, function: str, login: str, *arguments: Any) -> Any:
        """Call a function about a login as the owner."""
        marks = ", ".join(["%s"] * (1 + len(arguments)))
        return fetch(
            self.admin, f"select tool_rag.{function}({marks})", self.name(login), *arguments
        )

    def connect(self, login: str) -> Connection:
        """Open a connection of a login, in autocommit."""
        made = psycopg.connect(
            self.url.replace("postgres@", f"{self.name(login)}@"), autocommit=True
        )
        self.opened.append(made)
        return made


@pytest.fixture
def make_login(postgres: Postgres) -> Iterator[Callable[[str], str]]:
    """Return a function that creates a role of the server, dropped after the test."""
    made: list[str] = []

    def make(options: LiteralString = "login") -> str:
        role = f"caller_{next(postgres.numbers)}"
        postgres.execute(
            sql.SQL("create role {} {}").format(sql.Identifier(role), sql.SQL(options))
        )
        made.append(role)
        return role

    yield make
    for role in made:
        postgres.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(role)))


@pytest.fixture
def company(make_login: Callable[[str], str], database: str) -> Iterator[Company]:
    """The tools of SHOP; roles; and the logins `backend`, `bound`, `other` and the group `group`.

    All of them are readers. `bound` is bound to the role `support`. `other` may set the role
    `group`, whose privileges it does not inherit.
    """
    with psycopg.connect(database, autocommit=True) as admin:
        made = Company(admin, database)
        for server, name, description, _ in SHOP:
            add_tool(admin, server, name, description + " zebra")
        for role, *parents in (
            ["support"],
            ["meteorologist"],
            ["clerk"],
            ["boss", "support", "clerk"],
            ["all"],
        ):
            add_role(admin, role, *parents)
        allow(admin, "support", "shop")
        allow(admin, "meteorologist", "weather")
        allow(admin, "clerk", "desk")
        deny(admin, "clerk", "shop", "refund_payment")
        allow(admin, "all")
        for login, options in (
            ("backend", "login"),
            ("bound", "login"),
            ("other", "login"),
            ("group", "nologin"),
        ):
            made.names[login] = make_login(options)
            made.call("grant_access", login, "reader")
        admin.execute(
            sql.SQL("grant {} to {} with inherit false, set true").format(
                sql.Identifier(made.name("group")), sql.Identifier(made.name("other"))
            )
        )
        made.call("bind_login", "bound", ["support"])
        yield made
        for connection in made.opened:
            connection.close()
        for login in made.names.values():
            if fetch(admin, "select exists (select from pg_roles where rolname = %s)", login):
                admin.execute(sql.SQL("drop owned by {}").format(sql.Identifier(login)))


def seen(
    connection: Connection, roles: Sequence[str] | None = None, allowed: Any = None
) -> set[Tool]:
    """Return what permitted_tools returns, which is what a search finds and my_tools shows."""
    text = None if allowed is None else json.dumps(allowed)
    tools = {
        (server, name)
        for server, name in connection.execute(
            "select server, name from tool_rag.permitted_tools(%s, %s)",
            [None if roles is None else list(roles), text],
        )
    }
    hits = search(connection, "zebra", roles, k=1000, **({"allowed": text} if text else {}))
    assert {(hit["server"], hit["name"]) for hit in hits} == tools
    if roles is None and allowed is None:
        rows = connection.execute("select server, name from tool_rag.my_tools").fetchall()
        assert set(rows) == tools
    return tools


MANY = 4000
# A caller who sees more tools than this is served by the indexes (see 070_arms.sql).
FEW = 3000

_VERBS = (
    "create delete list update search export archive approve schedule translate refund share print"
    " rename merge restore audit assign validate notify"
)
_THINGS = (
    "invoice customer flight hotel parcel repository branch ticket employee contract photo playlist"
    " recipe patient lecture vehicle sensor password campaign warehouse"
)
_PLACES = (
    "in the accounting system",
    "for a travel agency",
    "on the hospital network",
    "of the online shop",
    "at the university",
    "through the mobile application",
    "in the city archive",
    "for the sales team",
    "on the factory floor",
    "of the music library",
)


# Words that stand in every one of them.
COMMON = "our company quickly and safely on demand every day"


def many_tools() -> list[tuple[str, str, str]]:
    """(server, name, description) of MANY tools, all different, of which most share words."""
    verbs, things = _VERBS.split(), _THINGS.split()
    made = []
    for number in range(MANY):
        verb = verbs[number % 20]
        thing = things[number // 20 % 20]
        place = number // 400
        made.append(
            (
                f"system{place}",
                f"{verb}_{thing}",
                f"{verb.capitalize()} a {thing} {_PLACES[place]}; {COMMON}",
            )
        )
    return made


@pytest.fixture(scope="session")
def many(postgres: Postgres) -> Iterator[Connection]:
    """A database of MANY tools, to be read only, with roles of different sight.

    `all` sees everything; `most` 80% of it; `half` and `other_half` half each, `both` inherits from
    these; `blind` is denied all but five tools; `five` may see just these; `tenth` sees a tenth.
    """
    name = f"tool_rag_many_{next(postgres.numbers)}"
    with psycopg.connect(postgres.clone(name)) as connection:
        connection.execute(
            "insert into tool_rag.server (name) select 'system' || n from generate_series(0, 9) n"
        )
        servers, tools, descriptions = zip(*many_tools(), strict=True)
        connection.execute(
            "insert into tool_rag.tool (server_id, name, description)"
            " select s.server_id, u.name, u.description"
            " from unnest(%s::text[], %s::text[], %s::text[]) u (server, name, description)"
            " join tool_rag.server s on s.name = u.server",
            [list(servers), list(tools), list(descriptions)],
        )
        for role, *parents in (
            ["all"],
            ["most"],
            ["half"],
            ["other_half"],
            ["both", "half", "other_half"],
            ["five"],
            ["blind"],
            ["tenth"],
        ):
            add_role(connection, role, *parents)
        allow(connection, "all")
        for server in range(8):
            allow(connection, "most", f"system{server}")
        for server in range(5):
            allow(connection, "half", f"system{server}")
            allow(connection, "other_half", f"system{server + 5}")
        allow(connection, "tenth", "system7")
        for thing in FIVE:
            allow(connection, "five", "system3", f"refund_{thing}")
        connection.execute(
            "insert into tool_rag.grant_rule (role_id, server_pattern, tool_pattern, effect)"
            " select r.role_id, s.name, t.name, 'deny'"
            " from tool_rag.role r, tool_rag.tool t join tool_rag.server s using (server_id)"
            " where r.name = 'blind' and not (s.name = 'system3' and t.name = any(%s))",
            [[f"refund_{thing}" for thing in FIVE]],
        )
        connection.commit()
        connection.autocommit = True
        connection.execute("vacuum analyze")
        yield connection
    postgres.drop(name)


FIVE = ("invoice", "flight", "parcel", "photo", "recipe")
