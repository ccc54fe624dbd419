"""Whatever a public function is given, it succeeds or refuses it in words that a program can read.

Each argument is drawn by its type, some ordinary and some as bad as they come: SQL, a megabyte,
odd characters, NaN, infinities, numbers at the ends of their types, nulls, arrays of nulls, JSON
that is 10,000 levels deep or has 100,000 keys. The outcome is an answer, or an error with one of a
few SQLSTATEs after which the database is as it was; never an internal error, a lost connection or
a call that does not end.

TOOL_RAG_TEST_CASES sets the number of calls of each function.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.sql.conftest import SHOP, Connection, column, export, fetch, schema_of
from tests.test_catalogue import PUBLIC

CASES = int(os.environ.get("TOOL_RAG_TEST_CASES", "7"))

# What an error may be: data that can't be meant (22), a constraint (23), an object that does not
# exist, a privilege, a limit of Postgres (54), or a state in which it can't be done (55000).
STATES = r"22...|23...|42704|42501|54...|55000"

LONG = 1_000_000
TEXTS = (
    "",
    " ",
    "'; drop table tool_rag.tool; --",
    "$$ || (select pg_sleep(9)) || $$",
    '"; delete from tool_rag.tool; --',
    "%s %I {} \\ \\x00 :name $1",
    "x" * LONG,
    "find the tool; " * (LONG // 15),
    "a_b" * 80,
    "(" * 5000,
    "*" * 250,
    "*a" * 120,
    "\\" * 999,
    "\ufffe\uffff\ufeff\u202e\u2066\u200d",
    "e" + "\u0301" * 3000,
    "\U0010ffff\U000e0041\U0001f468\u200d\U0001f469",
    "\u0130\u0131\u1e9e\ufb03\u01c5",
    "\x01\x02\x03\x1b[31m\x7f",
    "\u6f22\u5b57" * 500,
    "-1e999",
    "NaN",
    "Mon-Fri 09:00-17:00 " + "Zone/" * 30,
    "99:99-99:99 Etc/GMT+99",
)
NUMBERS = ("0", "-1", "1", "2147483647", "-2147483648", "99999999999999999999", "1e400", "x")
FLOATS = ("NaN", "Infinity", "-Infinity", "-1", "0", "1e308", "-1e308", "1e-320", "1e400")
DEEP = "[" * 10_000 + "]" * 10_000
DEEP_OBJECT = '{"properties": ' * 10_000 + "{}" + "}" * 10_000
WIDE = json.dumps({f"key{number}": number for number in range(100_000)})


def tool_with(schema: str) -> str:
    return (
        '{"server": "shop", "tools": [{"name": "bomb", "description": "x", "input_schema": '
        + schema
        + "}]}"
    )


DOCUMENTS = (
    "null",
    "true",
    "1e100000",
    '"text"',
    "[]",
    "{}",
    "[null, null]",
    '{"": null}',
    '{"a": "\\u0000"}',
    '{"a": "\\ud800"}',
    DEEP,
    DEEP_OBJECT,
    WIDE,
    tool_with(DEEP_OBJECT),
    tool_with(f'{{"properties": {WIDE}}}'),
    tool_with(f'{{"properties": {DEEP}}}'),
    tool_with(json.dumps({"type": "object", "properties": {"a": {"enum": ["x" * 500] * 2000}}})),
    tool_with(json.dumps({"$ref": "#", "properties": {"a": {"$ref": "#/properties/a"}}})),
    '{"server": "shop", "tools": null}',
    '{"server": "' + "s" * 300 + '", "tools": []}',
    '{"server": "shop", "tools": [{"name": "' + "n" * LONG + '"}]}',
    '{"server": "shop", "tools": [{"name": "a", "description": "' + "d " * (LONG // 2) + '"}]}',
    '{"server": "shop", "tools": [{"name": "a"}, {"name": "a"}]}',
    '{"shop": {"tools": [null]}}',
    '{"shop": {"tools": ["refund_payment"]}}',
    '{"rrf_k": 1e308}',
    '{"rrf_k": -1}',
    '{"needs_depth": 0.5, "statistics": "permitted"}',
    '{"exact": "yes"}',
    '{"model": "' + "m" * 1000 + '"}',
)
VECTORS = (
    "[]",
    "[1]",
    "[NaN]",
    f"[{','.join(['NaN'] * 256)}]",
    f"[{','.join(['Infinity'] * 256)}]",
    f"[{','.join(['0'] * 256)}]",
    f"[{','.join(['3e38'] * 256)}]",
    f"[{','.join(['1e-45'] * 256)}]",
    f"[{','.join(['-1'] * 256)}]",
    f"[{','.join(['1'] * 16_000)}]",
    f"[{','.join(['1'] * 16_001)}]",
    "[1,2",
)
TIMES = ("infinity", "-infinity", "4714-11-24 BC", "294276-12-31", "2001-02-03", "never", "")
SPANS = ("-1 day", "0", "178000000 years", "1e30 days", "1 hour", "x")
BYTES = ("", "\\x00", "\\x" + "00" * 32, "\\x" + "ff" * LONG, "\\xg")


def array_of(items: tuple[str, ...], rng: random.Random) -> Any:
    return rng.choice(
        [
            "{}",
            "{null}",
            "{null,null,null}",
            [rng.choice(items) for _ in range(rng.randint(1, 3))],
            [rng.choice(items[:4]), None],
            [rng.choice(items[:3])] * 5000,
            "{{1,2},{3,4}}",
            "[5:6]={1,2}",
            "{1,2",
        ]
    )


# By the type of an argument.
BAD: dict[str, Callable[[random.Random], Any]] = {
    "text": lambda rng: rng.choice(TEXTS),
    "integer": lambda rng: rng.choice(NUMBERS),
    "bigint": lambda rng: rng.choice(NUMBERS),
    "double precision": lambda rng: rng.choice(FLOATS),
    "boolean": lambda rng: rng.choice(["true", "false", "maybe"]),
    "jsonb": lambda rng: rng.choice(DOCUMENTS),
    "timestamp with time zone": lambda rng: rng.choice(TIMES),
    "interval": lambda rng: rng.choice(SPANS),
    "bytea": lambda rng: rng.choice(BYTES),
    "vector": lambda rng: rng.choice(VECTORS),
    "text[]": lambda rng: array_of(TEXTS, rng),
    "integer[]": lambda rng: array_of(NUMBERS, rng),
    "bigint[]": lambda rng: array_of(NUMBERS, rng),
    "bytea[]": lambda rng: array_of(BYTES, rng),
}

# Ordinary values of the arguments that lead on, so that the bad ones beside them are reached.
GOOD: dict[str, tuple[Any, ...]] = {
    "server": ("shop",),
    "tool": ("refund_payment",),
    "needs_server": ("desk",),
    "needs_tool": ("send_mail",),
    "role": ("all",),
    "roles": (["all"],),
    "query": ("refund a payment",),
    "queries": (["refund", "book a room"],),
    "text": ("refund",),
    "server_pattern": ("*", "shop"),
    "tool_pattern": ("*",),
    "conversation": ("c",),
    "k": (5,),
    "effect": ("allow", "deny"),
    "hours": ("Mon-Fri 09:00-17:00 Europe/Berlin", "always"),
    "policy": ("hold", "accept"),
    "level": ("full",),
    "origin": ("manual",),
    "max_rows": (5,),
    "outcome": ("allowed",),
    "access": ("reader",),
    "model": ("builtin",),
    "dimensions": (3,),
    "public_id": ("abcdefghijkl",),
    "digest": (bytes(32),),
    "payload": (json.dumps(export("shop", "refund_payment", "list_orders")),),
}


def functions(connection: Connection) -> list[tuple[str, list[str], list[str], int]]:
    """Return name, arguments, their types and the number of required ones of public functions."""
    return [
        (name, arguments, types, count - defaults)
        for name, arguments, types, count, defaults in connection.execute("""
            select p.proname, coalesce(p.proargnames[: p.pronargs], '{}'),
                array(
                    select regexp_replace(format_type(t.oid, null), '^.*\\.', '')
                    from unnest(p.proargtypes::oid[]) with ordinality t (oid, place)
                    order by t.place
                ),
                p.pronargs, p.pronargdefaults
            from pg_proc p
            where p.pronamespace = 'tool_rag'::regnamespace and p.proname !~ '^_'
            order by p.proname collate "C"
        """)
    ]


def fill(connection: Connection, login: str) -> None:
    """Make the catalogue what the tests begin with, as far as calls have changed it."""
    payload = [
        export(
            server,
            *(
                {"name": name, "description": text, "input_schema": schema_of(*parameters)}
                for home, name, text, parameters in SHOP
                if home == server
            ),
        )
        for server in ("shop", "weather", "desk")
    ]
    connection.execute("delete from tool_rag.role")
    connection.execute("delete from tool_rag.server")
    connection.execute("delete from tool_rag.login")
    connection.execute("delete from tool_rag.embedding_model where model_id <> 1")
    connection.execute("select tool_rag.upsert_tools(%s)", [json.dumps(payload)])
    connection.execute("select tool_rag.add_role('all')")
    connection.execute("select tool_rag.grant_tools('all', '*')")
    connection.execute("select tool_rag.grant_access(%s, 'reader')", [login])


def digest(connection: Connection) -> list[tuple[str, str]]:
    """Return a digest of every table but the model of the package, which nothing writes."""
    tables = column(
        connection,
        "select relname from pg_class where relnamespace = 'tool_rag'::regnamespace"
        " and relkind = 'r' and relname <> 'word_piece' order by relname",
    )
    statement = sql.SQL(" union all ").join(
        sql.SQL(
            "select {}, coalesce(sum(hashtextextended(t::text, 0)), 0)::text from tool_rag.{} t"
        ).format(sql.Literal(table), sql.Identifier(table))
        for table in tables
    )
    return connection.execute(statement).fetchall()


def shorten(given: dict[str, Any]) -> str:
    return ", ".join(f"{name} => {str(value)[:60]!r}" for name, value in given.items())


@pytest.mark.timeout(3600)
def test_bad_input_is_refused_in_words(
    database: str,
    make_login: Callable[..., str],
    seed: int,
    record_property: Callable[[str, object], None],
) -> None:
    rng = random.Random(seed)
    login = make_login()
    outcomes: Counter[str] = Counter()
    faults = []
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("set statement_timeout = '60s'")
        connection.execute("set client_min_messages = 'error'")
        fill(connection, login)
        before = digest(connection)
        found = functions(connection)
        assert {name for name, *_ in found} == PUBLIC
        for name, arguments, types, required in found:
            for number in range(CASES if arguments else 1):
                bad = rng.randrange(len(arguments)) if arguments else None
                given: dict[str, Any] = {}
                for place, (argument, kind) in enumerate(zip(arguments, types, strict=True)):
                    if place == bad or (place < required and argument not in GOOD):
                        given[argument] = None if rng.random() < 0.1 else BAD[kind](rng)
                    elif argument == "login" and rng.random() < 0.5:
                        given[argument] = login
                    elif argument in GOOD and (place < required or rng.random() < 0.7):
                        given[argument] = rng.choice(GOOD[argument])
                statement = sql.SQL("select count(*) from tool_rag.{}({})").format(
                    sql.Identifier(name),
                    sql.SQL(", ").join(
                        sql.SQL("{} => %s").format(sql.Identifier(one)) for one in given
                    ),
                )
                call = f"{name}({shorten(given)}), call {number}"
                try:
                    # Counted there: psycopg reads no infinite times.
                    connection.execute(statement, list(given.values()))
                except psycopg.Error as error:
                    assert not connection.closed, call
                    state = error.sqlstate or ""
                    outcomes[state] += 1
                    if not re.fullmatch(STATES, state):
                        faults.append(f"{call}: {state} {str(error)[:300]}")
                    after = digest(connection)
                    assert after == before, call
                else:
                    outcomes["accepted"] += 1
                    after = digest(connection)
                    if after != before:
                        fill(connection, login)
                        before = digest(connection)
        assert fetch(connection, "select count(*) from tool_rag.tool") == len(SHOP)
    assert not faults, "\n".join(faults)
    record_property(
        "tried",
        f"{outcomes.total()} calls of {len(found)} functions: "
        + ", ".join(f"{state} {count}" for state, count in sorted(outcomes.items())),
    )
