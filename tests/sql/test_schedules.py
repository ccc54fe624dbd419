"""Rules with a beginning and with hours: 044_schedule.sql, and what they change everywhere else."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.conftest import (
    ALL,
    DESK,
    HOURS,
    MONEY,
    WEATHER,
    WEEKDAYS,
    Company,
    Connection,
    add_role,
    add_tool,
    allow,
    column,
    deny,
    fetch,
    found,
    hours_of,
    refused,
    search,
    seen,
    undone,
)
from tests.sql.test_access import check, in_hours, permitted

BERLIN = "Mon-Fri 09:00-17:00 Europe/Berlin"
REFUND = ("shop", "refund_payment")
WRITTEN = (
    "select tool_rag._write_hours(h.weekdays, h.hours_from, h.hours_until, h.time_zone)"
    " from tool_rag._read_hours(%s) h"
)


def holds(connection: Connection, hours: str, time: str) -> bool | None:
    """Whether hours hold at a time."""
    answer: bool | None = fetch(
        connection,
        "select tool_rag._is_in_hours(%s, h.weekdays, h.hours_from, h.hours_until, h.time_zone)"
        " from tool_rag._read_hours(%s) h",
        time,
        hours,
    )
    return answer


# Hours as a clock shows them


@pytest.mark.parametrize(
    ("hours", "time", "expected"),
    [
        # Wednesday, in winter: UTC + 1.
        (BERLIN, "2026-01-07 07:59:59.999999+00", False),
        (BERLIN, "2026-01-07 08:00+00", True),
        (BERLIN, "2026-01-07 15:59:59.999999+00", True),
        (BERLIN, "2026-01-07 16:00+00", False),
        # In summer: UTC + 2.
        (BERLIN, "2026-07-08 06:59+00", False),
        (BERLIN, "2026-07-08 07:00+00", True),
        (BERLIN, "2026-07-08 15:00+00", False),
        # Saturday and Sunday.
        (BERLIN, "2026-01-10 10:00+00", False),
        (BERLIN, "2026-01-11 10:00+00", False),
        # A day is that of the zone: Monday begins in Auckland while it is Sunday in UTC.
        ("Mon Pacific/Auckland", "2026-01-11 10:59+00", False),
        ("Mon Pacific/Auckland", "2026-01-11 11:00+00", True),
        ("Mon Pacific/Auckland", "2026-01-12 10:59+00", True),
        ("Mon Pacific/Auckland", "2026-01-12 11:00+00", False),
        # Past midnight, hours belong to the day on which they began.
        ("Fri 22:00-06:00 UTC", "2026-01-09 21:59+00", False),
        ("Fri 22:00-06:00 UTC", "2026-01-09 22:00+00", True),
        ("Fri 22:00-06:00 UTC", "2026-01-10 05:59+00", True),
        ("Fri 22:00-06:00 UTC", "2026-01-10 06:00+00", False),
        ("Fri 22:00-06:00 UTC", "2026-01-10 22:00+00", False),
        ("Fri 22:00-06:00 UTC", "2026-01-09 03:00+00", False),
        ("Sun 22:00-06:00 UTC", "2026-01-12 05:00+00", True),
        ("Sun 22:00-06:00 UTC", "2026-01-11 05:00+00", False),
        ("Mon 22:00-06:00 UTC", "2026-01-12 05:00+00", False),
        # Until midnight.
        ("Fri 22:00-24:00 UTC", "2026-01-09 23:59:59.999999+00", True),
        ("Fri 22:00-00:00 UTC", "2026-01-09 23:59:59.999999+00", True),
        ("Fri 22:00-00:00 UTC", "2026-01-10 00:00+00", False),
        # A whole day from nine o'clock on.
        ("Fri 09:00-09:00 UTC", "2026-01-09 08:59+00", False),
        ("Fri 09:00-09:00 UTC", "2026-01-09 09:00+00", True),
        ("Fri 09:00-09:00 UTC", "2026-01-10 08:59+00", True),
        ("Fri 09:00-09:00 UTC", "2026-01-10 09:00+00", False),
        ("00:00-24:00 UTC", "2026-01-10 00:00+00", True),
        # Berlin's clocks go from 02:00 to 03:00 on 29 March 2026, which is at 01:00 UTC.
        ("02:00-03:00 Europe/Berlin", "2026-03-29 00:59:59+00", False),
        ("02:00-03:00 Europe/Berlin", "2026-03-29 01:00+00", False),
        ("01:30-02:30 Europe/Berlin", "2026-03-29 00:59:59+00", True),
        ("01:30-02:30 Europe/Berlin", "2026-03-29 01:00+00", False),
        ("02:30-06:00 Europe/Berlin", "2026-03-29 00:59:59+00", False),
        ("02:30-06:00 Europe/Berlin", "2026-03-29 01:00+00", True),
        ("02:30-06:00 Europe/Berlin", "2026-03-29 04:00+00", False),
        ("Sat 22:00-04:00 Europe/Berlin", "2026-03-29 01:59+00", True),
        ("Sat 22:00-04:00 Europe/Berlin", "2026-03-29 02:00+00", False),
        # And from 03:00 back to 02:00 on 25 October 2026, which is at 01:00 UTC.
        ("02:00-03:00 Europe/Berlin", "2026-10-24 23:59:59+00", False),
        ("02:00-03:00 Europe/Berlin", "2026-10-25 00:00+00", True),
        ("02:00-03:00 Europe/Berlin", "2026-10-25 01:59:59+00", True),
        ("02:00-03:00 Europe/Berlin", "2026-10-25 02:00+00", False),
        # The quarter of an hour that the clock shows twice is there twice.
        ("02:15-02:30 Europe/Berlin", "2026-10-25 00:20+00", True),
        ("02:15-02:30 Europe/Berlin", "2026-10-25 00:40+00", False),
        ("02:15-02:30 Europe/Berlin", "2026-10-25 01:20+00", True),
        ("Sat 22:00-04:00 Europe/Berlin", "2026-10-25 02:59+00", True),
        ("Sat 22:00-04:00 Europe/Berlin", "2026-10-25 03:00+00", False),
        # Half hours from UTC.
        ("09:00-10:00 Asia/Kolkata", "2026-01-07 03:29+00", False),
        ("09:00-10:00 Asia/Kolkata", "2026-01-07 03:30+00", True),
        # No time at all.
        ("09:00-10:00 UTC", "infinity", None),
        ("09:00-10:00 UTC", "-infinity", None),
    ],
)
def test_hours_are_what_the_clock_there_shows(
    connection: Connection, hours: str, time: str, expected: bool | None
) -> None:
    assert holds(connection, hours, time) is expected


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    days=st.sets(st.integers(1, 7), min_size=1),
    start=st.times(),
    end=st.times(),
    zone=st.sampled_from(["UTC", "Etc/GMT+11", "Asia/Kolkata", "Asia/Tokyo"]),
    time=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
)
def test_hours_are_those_of_the_model(
    connection: Connection, days: set[int], start: Any, end: Any, zone: str, time: datetime
) -> None:
    clocks = [f"{one:%H:%M:%S}" for one in (start, end)]
    text = f"{','.join(WEEKDAYS[day - 1] for day in days)} {clocks[0]}-{clocks[1]} {zone}"
    now = time.replace(tzinfo=UTC)
    expected = in_hours(sorted(days), *clocks, zone, now)
    assert holds(connection, text, now.isoformat()) is expected
    # And written again they are the same.
    again = fetch(connection, WRITTEN, text)
    assert fetch(connection, WRITTEN, again) == again
    assert holds(connection, again, now.isoformat()) is expected


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (BERLIN, BERLIN),
        ("  mon-FRI   9-17  europe/berlin ", BERLIN),
        ("Mon,Tue,Wed,Thu,Fri 9:00 - 17:00:00 Europe/Berlin", BERLIN),
        ("Fri, Mon - Thu 09:00-17:00 Europe/Berlin", BERLIN),
        ("Mon-Sun 09:00-17:00 UTC", "09:00-17:00 UTC"),
        ("Fri-Mon utc", "Mon,Fri-Sun UTC"),
        ("Wed,Wed Etc/UTC", "Wed Etc/UTC"),
        ("Mon-Mon 22:00-0:00 UTC", "Mon 22:00-24:00 UTC"),
        ("00:00-24:00 UTC", "00:00-24:00 UTC"),
        ("Mon-Sun UTC", "00:00-24:00 UTC"),
        ("Sat-Sun 00:00-24 UTC", "Sat-Sun UTC"),
        ("08:30:15-08:30:45 America/Argentina/Buenos_Aires",) * 2,
        ("22:00-06:00 Etc/GMT+5", "22:00-06:00 Etc/GMT+5"),
        ("always", None),
        (" Always ", None),
    ],
)
def test_hours_are_written_in_one_way(
    connection: Connection, text: str, written: str | None
) -> None:
    assert fetch(connection, WRITTEN, text) == written


FAULTS = [
    ("", "is ''"),
    ("Europe/Berlin", "is 'Europe/Berlin', not days, hours and a time zone"),
    ("9-17", "not days, hours and a time zone"),
    ("Mon-Fri 9-17", "not days, hours and a time zone"),
    ("Mon-Fri", "not days, hours and a time zone"),
    ("Mon-Fri 09:00 Europe/Berlin", "not days, hours and a time zone"),
    ("Mon-Fri 09:00-12:00,13:00-17:00 UTC", "not days, hours and a time zone"),
    ("Monday-Friday 09:00-17:00 UTC", "not days, hours and a time zone"),
    ("Mon-Fri 09:00-17:00 Europe/Berlin extra", "not days, hours and a time zone"),
    ("Mon-Foo 09:00-17:00 UTC", "has the days 'mon-foo'"),
    ("Mon-Tue-Wed 09:00-17:00 UTC", "has the days"),
    ("25:00-26:00 UTC", "has the time '25:00'"),
    ("09:60-10:00 UTC", "has the time '09:60'"),
    ("09:00-24:01 UTC", "has the time '24:01'"),
    ("09:00:00:00-10:00 UTC", "has the time"),
    (":-: UTC", "has the time ':'"),
    ("24:00-06:00 UTC", "begins at 24:00"),
    ("09:00-17:00 Europe/Nowhere", "has the time zone 'Europe/Nowhere'"),
    # Offsets, to some, and regions with another one in summer, to others.
    ("09:00-17:00 CET", "has the time zone 'CET'"),
    ("09:00-17:00 EST", "has the time zone 'EST'"),
    ("09:00-17:00 IST", "has the time zone 'IST'"),
    ("09:00-17:00 GB", "has the time zone 'GB'"),
    ("09:00-17:00 +02:00", "has the time zone '+02:00'"),
    ("09:00-17:00 UTC+2", "has the time zone 'UTC+2'"),
    ("09:00-17:00 Europe/Berlin+5", "has the time zone 'Europe/Berlin+5'"),
    ("09:00-17:00 Foo/Bar5", "has the time zone 'Foo/Bar5'"),
    ("09:00-17:00 posix/Europe/Berlin", "has the time zone 'posix/Europe/Berlin'"),
    ("09:00-17:00 '; drop table tool_rag.tool; --", "not days, hours and a time zone"),
    ("Mon " * 60, "has more than 200 characters"),
]


@pytest.mark.parametrize(("hours", "message"), FAULTS, ids=str)
def test_hours_that_can_not_be_are_refused(shop: Connection, hours: str, message: str) -> None:
    rule = {"role": "all", "server_pattern": "*", "tool_pattern": "*", "effect": "deny"}
    for statement, values in (
        ("select tool_rag.grant_tools('all', '*', hours => %s)", [hours]),
        ("select tool_rag.revoke_tools('all', '*', hours => %s)", [hours]),
    ):
        with refused(shop, "22023", message, hint="Mon-Fri 09:00-17:00"):
            shop.execute(statement.encode(), values)
    with refused(shop, "22023", "rules[0].hours "):
        shop.execute(
            "select * from tool_rag.store_rules(%s)", [json.dumps([rule | {"hours": hours}])]
        )
    assert fetch(shop, "select count(*) from tool_rag.grant_rule") == 1
    assert permitted(shop, ["all"]) == ALL


# Rules with hours, and with a beginning


@pytest.mark.parametrize("kind", HOURS)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_rules_hold_in_their_hours(shop: Connection, kind: str, zone: str) -> None:
    for role in ("base", "heir"):
        add_role(shop, role)
    add_role(shop, "heir", "base")
    allow(shop, "base", "shop", hours=hours_of(kind, zone))
    expected = MONEY if HOURS[kind] else set()
    for roles in (["base"], ["heir"], ["heir", "base", "nobody"]):
        assert permitted(shop, roles) == expected
    assert (found(shop, "money back", roles=["heir"])[:1] == ["refund_payment"]) == HOURS[kind]
    # A deny in these hours.
    allow(shop, "heir")
    deny(shop, "base", "weather", hours=hours_of(kind, zone))
    assert permitted(shop, ["heir"]) == (ALL - WEATHER if HOURS[kind] else ALL)
    # What holds at all hours does so beside them.
    allow(shop, "base", "shop", "list_orders")
    assert permitted(shop, ["base"]) == expected | {("shop", "list_orders")}
    check(shop, ["heir", "base"], ["heir", "all"])


def test_rules_begin_and_end_by_themselves(connection: Connection) -> None:
    for name in ("first", "second", "third"):
        add_tool(connection, "s", name, "zebra")
    add_role(connection, "all")
    moments = "select clock_timestamp() + make_interval(secs => %s)"
    soon = fetch(connection, moments, 0.5)
    late = fetch(connection, moments, 3600)
    allow(connection, "all", "s", "first", start=soon)
    allow(connection, "all", "s", "second")
    deny(connection, "all", "s", "second", start=soon, until=late)
    allow(connection, "all", "s", "third", start=late)
    rows = column(connection, "select to_jsonb(r) from tool_rag.role_tool r order by tool_id")
    before = permitted(connection, ["all"])
    seen_before = set(found(connection, "zebra"))
    explain = "select min(reason) from tool_rag.explain_access('all', 's', %s)"
    reason = fetch(connection, explain, "first")
    while fetch(connection, "select clock_timestamp() <= %s", soon):
        connection.execute("select pg_sleep(0.05)")
    # In the same transaction, and nothing was written: a later statement is enough.
    assert permitted(connection, ["all"]) == {("s", "first")}
    assert found(connection, "zebra") == ["first"]
    assert column(connection, "select to_jsonb(r) from tool_rag.role_tool r order by tool_id") == (
        rows
    )
    assert before == {("s", "second")}
    assert seen_before == {"second"}
    assert reason.startswith("not now: the grant s/first to all begins ")
    assert fetch(connection, explain, "first") == "allowed to all by s/first"
    assert fetch(connection, explain, "second") == "denied to all by s/second"
    check(connection)


def test_one_role_has_the_same_patterns_in_two_windows(shop: Connection) -> None:
    add_role(shop, "r")
    allow(shop, "r", "shop", hours=BERLIN)
    allow(shop, "r", "shop", hours="Sat 10:00-12:00 Europe/Berlin")
    # The same in other words: its end changes.
    end = datetime(2131, 1, 1, tzinfo=UTC)
    allow(shop, "r", "shop", hours="mon,tue-fri 9-17 EUROPE/BERLIN", until=end)
    allow(shop, "r", "shop", start=end - timedelta(days=1))
    allow(shop, "r", "shop")
    rules = shop.execute(
        "select valid_from, valid_until, hours, valid from tool_rag.list_rules('r')"
    ).fetchall()
    assert [row[:3] for row in rules] == [
        (None, None, None),
        (None, end, BERLIN),
        (None, None, "Sat 10:00-12:00 Europe/Berlin"),
        (end - timedelta(days=1), None, None),
    ]
    assert (rules[0][3], rules[3][3]) == (True, False)
    revoke = "select tool_rag.revoke_tools('r', 'shop', '*', {})"
    # Those of one window only, or of none; or with nothing said all of them.
    assert fetch(shop, revoke.format("hours => 'Sun UTC'")) == 0
    assert fetch(shop, revoke.format("hours => 'Sat 10-12 Europe/Berlin'")) == 1
    assert fetch(shop, revoke.format("valid_from => '-infinity', hours => 'always'")) == 1
    assert fetch(shop, revoke.format("hours => 'always'")) == 1
    assert fetch(shop, "select hours from tool_rag.list_rules('r')") == BERLIN
    allow(shop, "r", "shop")
    deny(shop, "r", "shop", hours=BERLIN)
    with undone(shop):
        assert fetch(shop, revoke.format("null")) == 3
        assert fetch(shop, "select count(*) from tool_rag.role_schedule") == 0
    assert fetch(shop, revoke.format("'deny'")) == 1
    assert fetch(shop, revoke.format("null")) == 2
    check(shop)


def test_a_rule_that_would_end_before_it_begins_is_refused(shop: Connection) -> None:
    for start, end in (("2131-01-02", "2131-01-01"), ("2131-01-01", "2131-01-01")):
        with refused(shop, "22023", "not before its end"):
            allow(shop, "all", start=start, until=end)
        rule = {"role": "all", "server_pattern": "*", "tool_pattern": "*", "effect": "deny"}
        with refused(shop, "22023", "rules[0].valid_from is not before its end"):
            shop.execute(
                "select * from tool_rag.store_rules(%s)",
                [json.dumps([rule | {"valid_from": start, "valid_until": end}])],
            )


def test_plain_sql_brings_hours_into_one_form_or_is_refused(shop: Connection) -> None:
    insert = (
        "insert into tool_rag.grant_rule (role_id, server_pattern, tool_pattern, effect, weekdays,"
        " hours_from, hours_until, time_zone) select role_id, 'shop', '*', 'deny', {}"
        " from tool_rag.role"
    )
    with undone(shop):
        shop.execute(insert.format("'{5,1,1}', '9:00', '0:00', 'europe/berlin'").encode())
        assert fetch(shop, "select hours from tool_rag.list_rules() where effect = 'deny'") == (
            "Mon,Fri 09:00-24:00 Europe/Berlin"
        )
        with pytest.raises(psycopg.errors.UniqueViolation):
            shop.execute(insert.format("'{1,5}', '9:00', '24:00', 'Europe/Berlin'").encode())
    for values, error in (
        ("null, '9:00', '17:00', 'UTC'", psycopg.errors.CheckViolation),
        ("'{1}', null, '17:00', 'UTC'", psycopg.errors.CheckViolation),
        ("'{1}', '9:00', '17:00', null", psycopg.errors.CheckViolation),
        ("'{}', '9:00', '17:00', 'UTC'", psycopg.errors.CheckViolation),
        ("'{0}', '9:00', '17:00', 'UTC'", psycopg.errors.CheckViolation),
        ("'{8}', '9:00', '17:00', 'UTC'", psycopg.errors.CheckViolation),
        ("'{1,null}', '9:00', '17:00', 'UTC'", psycopg.errors.CheckViolation),
        ("'{1}', '24:00', '17:00', 'UTC'", psycopg.errors.CheckViolation),
        ("'{1}', '9:00', '17:00', 'CET'", psycopg.errors.InvalidParameterValue),
        ("'{1}', '9:00', '17:00', 'Nowhere/At_All'", psycopg.errors.InvalidParameterValue),
    ):
        with undone(shop), pytest.raises(error):
            shop.execute(insert.format(values).encode())
    with undone(shop), pytest.raises(psycopg.errors.NotNullViolation):
        shop.execute("update tool_rag.grant_rule set valid_from = null")
    # The number of a schedule is nothing that an edit can set.
    shop.execute("update tool_rag.grant_rule set schedule_id = -1")
    assert column(shop, "select schedule_id from tool_rag.grant_rule") == [None]
    with undone(shop), pytest.raises(psycopg.errors.CheckViolation):
        shop.execute(
            "insert into tool_rag.role (role_id, name) overriding system value values (-1, 'x')"
        )


@pytest.mark.parametrize(
    "statement",
    [
        "select tool_rag.remove_role('base')",
        "delete from tool_rag.grant_rule",
        "truncate tool_rag.grant_rule",
        "truncate tool_rag.role cascade",
        "update tool_rag.grant_rule set (weekdays, hours_from, hours_until, time_zone) = row(null,"
        " null, null, null), valid_from = '-infinity'",
    ],
)
def test_schedules_go_with_their_rules(shop: Connection, statement: str) -> None:
    for role in ("base", "heir"):
        add_role(shop, role)
    add_role(shop, "heir", "base")
    allow(shop, "base", "shop", hours=BERLIN)
    allow(shop, "base", "desk", hours=BERLIN)
    deny(shop, "base", "desk", hours=BERLIN)
    allow(shop, "base", "weather", start="2131-01-01")
    rows = "select count(*) from tool_rag.role_tool where role_id < 0"
    # One schedule for both allows.
    assert fetch(shop, "select count(*) from tool_rag.role_schedule") == 3
    assert fetch(shop, rows) == len(MONEY) + 2 * len(DESK) + len(WEATHER)
    shop.execute(statement.encode())
    assert fetch(shop, "select count(*) from tool_rag.role_schedule") == 0
    assert fetch(shop, rows) == 0
    check(shop)


def test_a_zone_that_is_not_known_any_more_fails_closed(company: Company) -> None:
    # As after an upgrade of the system's list of zones.
    admin = company.admin
    allow(admin, "support", "desk", hours=hours_of("this day", "Asia/Tokyo"))
    deny(admin, "support", "shop", "list_orders", hours=hours_of("later", "Asia/Tokyo"))
    backend = company.connect("backend")
    assert seen(backend, ["support"]) == MONEY | DESK
    admin.execute("alter table tool_rag.grant_rule disable trigger grant_rule_before_write")
    for table in ("grant_rule", "role_schedule"):
        admin.execute(
            f"update tool_rag.{table} set time_zone = 'Gone/Away'"
            " where time_zone is not null".encode()
        )
    admin.execute("alter table tool_rag.grant_rule enable trigger grant_rule_before_write")
    assert seen(backend, ["support"]) == MONEY - {("shop", "list_orders")}
    assert seen(company.connect("bound")) == MONEY - {("shop", "list_orders")}
    explain = "select min(reason) from tool_rag.explain_access('support', %s, %s)"
    assert fetch(admin, explain, "desk", "set_theme") == (
        "not now: the grant desk/* to support has the unknown time zone Gone/Away"
    )
    assert fetch(admin, explain, "shop", "list_orders").startswith("denied to support by shop/")
    # Other columns can be edited, and the rule can be put right or removed.
    admin.execute("update tool_rag.grant_rule set valid_until = '2131-01-01'")
    admin.execute(
        "update tool_rag.grant_rule set time_zone = 'UTC'"
        " where effect = 'deny' and time_zone is not null"
    )
    assert seen(backend, ["support"]) >= {("shop", "list_orders")}
    admin.execute("delete from tool_rag.grant_rule where time_zone = 'Gone/Away'")
    assert fetch(admin, "select count(*) from tool_rag.role_schedule") == 1


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Asia/Kolkata"])
def test_no_time_zone_of_a_session_moves_the_hours(company: Company, zone: str) -> None:
    allow(company.admin, "support", "desk", hours=hours_of("later", zone))
    allow(company.admin, "support", "weather", hours=hours_of("around", zone))
    backend = company.connect("backend")
    for shift in ("+5", "-5", "+4:30"):
        for own in (f"<{zone}>{shift}", f"{zone}{shift}", f"{zone.upper()}{shift}"):
            backend.execute("select set_config('timezone', %s, false)", [own])
            assert seen(backend, ["support"]) == MONEY | WEATHER, own
    for setting, value in (
        ("timezone_abbreviations", "Australia"),
        ("datestyle", "SQL, DMY"),
        ("intervalstyle", "sql_standard"),
        ("timezone", "Pacific/Kiritimati"),
    ):
        backend.execute("select set_config(%s, %s, false)", [setting, value])
        assert seen(backend, ["support"]) == MONEY | WEATHER, setting


# Who asks


def test_schedules_hold_for_whoever_asks(company: Company) -> None:
    admin, backend, bound = company.admin, company.connect("backend"), company.connect("bound")
    allow(admin, "support", "desk", hours=hours_of("around"))
    allow(admin, "support", "weather", hours=hours_of("later"))
    deny(admin, "clerk", "desk", "book_room", hours=hours_of("around"))
    now = MONEY | DESK
    assert seen(backend, ["support"]) == now
    # Bound: what its own role has now, and of others no more.
    assert seen(bound) == now
    assert seen(bound, ["support"]) == now
    assert seen(bound, ["all"]) == now
    assert seen(bound, ["boss"]) == now - {REFUND, ("desk", "book_room")}
    # A deny of another of the roles that bind it holds in its hours, whatever it asks with.
    company.call("bind_login", "bound", ["support", "meteorologist"])
    deny(admin, "meteorologist", "shop", "list_orders", hours=hours_of("this day"))
    assert seen(bound, ["support"]) == now - {("shop", "list_orders")}
    assert seen(bound) == (now | WEATHER) - {("shop", "list_orders")}
    deny(admin, "meteorologist", "desk", hours=hours_of("later"))
    assert seen(bound, ["support"]) == now - {("shop", "list_orders")}
    # By setting and token.
    backend.execute("select set_config('tool_rag.roles', 'support', false)")
    assert seen(backend) == now
    backend.execute("""select set_config('request.jwt.claims', '{"roles": ["all"]}', false)""")
    assert seen(backend) == now
    assert seen(backend, ["meteorologist"]) == set()
    backend.execute("select set_config('request.jwt.claims', '', false)")
    # With what is allowed.
    some = {"desk": {"tools": ["book_room", "set_theme"]}, "weather": {"tools": ["getForecast"]}}
    assert seen(backend, ["support"], some) == {("desk", "book_room"), ("desk", "set_theme")}
    assert seen(backend, ["boss"], some) == {("desk", "set_theme")}


def test_nothing_tells_of_schedules_as_roles(company: Company) -> None:
    admin = company.admin
    allow(admin, "support", "desk", hours=hours_of("around"))
    numbers = column(admin, "select schedule_id::text from tool_rag.role_schedule")
    assert len(numbers) == 1
    names = {"support", "meteorologist", "clerk", "boss", "all"}
    assert set(column(admin, "select name from tool_rag.list_roles()")) == names
    assert set(column(admin, "select name from tool_rag.role")) == names
    assert set(
        column(admin, "select role from tool_rag.list_tool_access('desk', 'set_theme')")
    ) == (names)
    assert column(admin, "select tool_rag.unknown_roles(%s)", numbers) == numbers
    assert not [
        row
        for row in column(admin, "select c::text from tool_rag.list_changes(max_rows => 1000) c")
        if "role_schedule" in row or "schedule_id" in row
    ]
    backend = company.connect("backend")
    assert seen(backend, numbers) == set()
    (hit,) = search(backend, "reserve a room", ["support"], k=1)
    assert hit["reason"].endswith("allowed to support by desk/*")
    grant = hit["explain"]["grant"]
    assert (grant["role"], grant["rule"]) == ("support", "desk/*")
    assert grant["hours"].endswith(" UTC")
    assert "valid_from" not in grant
    # A role may be called like its number, and is another one.
    add_role(admin, numbers[0])
    allow(admin, numbers[0], "weather", "getForecast")
    assert seen(backend, numbers) == {("weather", "getForecast")}
    assert seen(backend, ["support"]) == MONEY | DESK


def test_without_schedules_nobody_is_asked_for_them(shop: Connection) -> None:
    shop.execute("set local track_functions = 'all'")
    calls = "select sum(calls)::int from pg_stat_xact_user_functions where funcname = %s"
    add_role(shop, "other", "all")
    allow(shop, "other", "shop")
    search(shop, "refund", ["all"])
    permitted(shop, ["other", "all"])
    assert fetch(shop, calls, "_caller") > 0
    for function in ("_with_schedules", "_is_in_hours", "_before_grant_rule_write"):
        assert fetch(shop, calls, function) is None
    allow(shop, "other", "desk", hours=BERLIN)
    search(shop, "refund", ["all"])
    assert fetch(shop, calls, "_with_schedules") == 1
    # It is none of the role's, so no clock is read.
    assert fetch(shop, calls, "_is_in_hours") is None


# What admins are told


def explained(connection: Connection) -> tuple[bool, str]:
    ((verdict, reason),) = connection.execute(
        "select distinct permitted, reason from tool_rag.explain_access('r', 'shop', 'list_orders')"
    ).fetchall()
    return verdict, reason


def test_why_not_now(shop: Connection) -> None:
    add_role(shop, "parent")
    add_role(shop, "r", "parent")
    off, here = hours_of("later", "Asia/Tokyo"), hours_of("around", "Asia/Tokyo")
    allow(shop, "parent", "shop", hours=off, until="2131-01-01")
    assert explained(shop) == (False, f"not now: the grant shop/* to parent is outside {off}")
    # Of what is to come, what lasts longest.
    allow(shop, "r", "*", start="2130-01-01 00:00+00")
    shop.execute("set local timezone = 'UTC'")
    assert explained(shop) == (
        False,
        "not now: the grant */* to r begins 2130-01-01 00:00:00+00",
    )
    allow(shop, "r", "shop", "list_*", hours=here, until="2129-01-01")
    assert explained(shop) == (True, f"allowed to r by shop/list_*, {here}")
    deny(shop, "r", "shop", hours=off)
    assert explained(shop)[0]
    deny(shop, "parent", "*", hours=here)
    assert explained(shop) == (False, f"denied to parent by */*, {here}")
    rules = shop.execute(
        "select effect, server_pattern, valid, valid_from is not null, hours"
        " from tool_rag.explain_access('r', 'shop', 'list_orders')"
    ).fetchall()
    assert rules == [
        ("deny", "*", True, False, here),
        ("deny", "shop", False, False, off),
        ("allow", "shop", True, False, here),
        ("allow", "*", False, True, None),
        ("allow", "shop", False, False, off),
    ]
    shop.execute("delete from tool_rag.grant_rule where valid_until = 'infinity'")
    shop.execute("update tool_rag.grant_rule set valid_until = '2001-01-01'")
    assert explained(shop)[1].startswith("the grant shop/")
    assert " ended 2001-01-01" in explained(shop)[1]


def test_access_in_the_past_is_that_of_the_very_time(connection: Connection) -> None:
    add_tool(connection, "crm", "refund")
    add_role(connection, "support")
    allow(connection, "support", hours="Wed 09:00-17:00 Europe/Berlin", start="2020-01-08")
    deny(connection, "support", hours="12:00-13:00 Europe/Berlin")
    # As if the rules and all else had stood since before they began.
    connection.execute("alter table tool_rag.change disable trigger change_before_edit")
    connection.execute("update tool_rag.change set changed_at = '2020-01-01'")
    told = "select change from tool_rag.list_access_changes(%s, %s)"
    night = "2020-01-08 03:00+00"
    for time, changes in (
        ("2020-01-08 07:59+00", []),
        ("2020-01-08 08:00+00", ["gained"]),
        ("2020-01-08 11:30+00", []),
        ("2020-01-08 12:00+00", ["gained"]),
        ("2020-01-08 16:00+00", []),
        ("2020-01-15 08:00+00", ["gained"]),
        ("2020-01-16 08:00+00", []),
    ):
        assert column(connection, told, night, time) == changes, time
    # A week before it had not begun.
    assert column(connection, told, night, "2020-01-02 10:00+00") == []
    assert column(connection, told, "2020-01-02 10:00+00", "2020-01-08 10:00+00") == ["gained"]
    assert column(connection, told, "2020-01-08 10:00+00", night) == ["lost"]
    for time in ("infinity", "-infinity"):
        assert column(connection, "select role from tool_rag._access_at(%s)", time) == []


def test_changes_of_schedules_are_in_the_audit(connection: Connection) -> None:
    add_role(connection, "support")
    allow(connection, "support", "crm", hours="mon-fri 9-17 europe/berlin")
    label, after = connection.execute(
        "select label, after from tool_rag.list_changes(objects => '{grant_rule}')"
    ).fetchall()[0]
    assert label == f"support: allow crm/*, {BERLIN}"
    assert (after["weekdays"], after["hours_from"]) == ([1, 2, 3, 4, 5], "09:00:00")
    assert (after["time_zone"], after["valid_from"]) == ("Europe/Berlin", "-infinity")
    connection.execute("update tool_rag.grant_rule set valid_from = '2131-01-01'")
    before, after = connection.execute(
        "select before, after from tool_rag.list_changes(objects => '{grant_rule}')"
    ).fetchall()[0]
    assert {key for key in after if after[key] != before[key]} == {"valid_from"}


# Many rules at once


def rule(tool: str = "*", effect: str = "allow", **more: Any) -> dict[str, Any]:
    return {"role": "r", "server_pattern": "s", "tool_pattern": tool, "effect": effect, **more}


def store(connection: Connection, rules: Any, *replaced: str) -> list[tuple[Any, ...]]:
    return connection.execute(
        "select change, tool_pattern, effect, former_until, valid_until, valid_from, hours"
        " from tool_rag.store_rules(%s, %s)",
        [json.dumps(rules), list(replaced)],
    ).fetchall()


def test_rules_with_schedules_are_stored(connection: Connection) -> None:
    add_tool(connection, "s", "a", "zebra")
    add_role(connection, "r")
    start, end = datetime(2131, 1, 1, tzinfo=UTC), datetime(2131, 2, 1, tzinfo=UTC)
    file = [
        rule(),
        rule(hours=BERLIN),
        rule(hours=hours_of("around"), valid_until="2131-02-01"),
        rule(valid_from="2131-01-01 00:00+00"),
        rule("a", "deny", valid_from=None, hours=None),
    ]
    here = file[2]["hours"]
    stored = {row[4:]: row[:4] for row in store(connection, file) if row[1] == "*"}
    assert stored == {
        (until, begin, hours): ("added", "*", "allow", None)
        for until, begin, hours in (
            (None, None, None),
            (None, None, BERLIN),
            (end, None, here),
            (None, start, None),
        )
    }
    assert store(connection, file, "r") == []
    # A time without a zone is one of UTC, and hours in other words are the same.
    connection.execute("set local timezone = 'Asia/Tokyo'")
    again = [rule(hours="MON-FRI 9-17 europe/berlin"), rule(valid_from="2131-01-01")]
    assert {row[:2] + row[5:] for row in store(connection, again, "r")} == {
        ("removed", "*", None, None),
        ("removed", "*", None, here),
        ("removed", "a", None, None),
    }
    assert fetch(connection, "select count(*) from tool_rag.role_schedule") == 2
    assert store(connection, [], "r")[0][0] == "removed"
    check(connection)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([rule(valid_from="soon")], "rules[0].valid_from is neither null nor a time"),
        ([rule(valid_from=5)], "rules[0].valid_from is neither null nor a time"),
        ([rule(hours=5)], "rules[0].hours is neither null nor a text"),
        ([rule(hours=["Mon"])], "rules[0].hours is neither null nor a text"),
        ([rule(), rule(hours="Mon")], "rules[1].hours is 'Mon', not days"),
        ([rule(weekdays=[1])], "rules[0] has a key other than"),
        ([rule(hours=BERLIN), rule(hours="mon-fri 9-17 Europe/Berlin")], "rules[1] stands above"),
        ([rule(), rule(hours="always", valid_from="-infinity")], "rules[1] stands above"),
        (
            [rule(valid_from="2131-01-01"), rule(valid_from="2131-01-01T01:00+01:00")],
            "rules[1] stands above",
        ),
    ],
)
def test_a_fault_of_a_schedule_is_named(connection: Connection, rules: Any, said: str) -> None:
    add_role(connection, "r")
    with refused(connection, "22023", said):
        store(connection, rules, "r")
    assert fetch(connection, "select count(*) from tool_rag.grant_rule") == 0
