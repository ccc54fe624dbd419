from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import Cli
from tool_rag_pg.retriever import ToolRetriever

HEADER = "role,server_pattern,tool_pattern,effect,valid_until"
State = Callable[[], Any]


@pytest.fixture
def state(database: str) -> State:
    def read() -> Any:
        with ToolRetriever(database) as retriever:
            return retriever.list_roles(), retriever.list_rules()

    return read


def rules_of(cli: Cli, role: str) -> list[tuple[str, str, str | None]]:
    shown = cli("roles", "show", role, "--json").json()
    return sorted(
        (rule["effect"], f"{rule['server_pattern']}/{rule['tool_pattern']}", rule["valid_until"])
        for rule in shown["rules"]
        if rule["rule_role"] == role
    )


def test_csv_adds_and_changes_and_a_dry_run_shows_it(
    cli: Cli, developer: str, state: State, tmp_path: Path
) -> None:
    cli("roles", "add", "lead", "--parent", developer)
    file = tmp_path / "grants.csv"
    file.write_text(
        f"\ufeff{HEADER}\n"
        "developer,github,*,allow,2131-01-31\n"
        "developer,mail,list_*,allow,\n"
        'developer,*,delete_*,deny,""\n',
        encoding="utf-8",
    )
    before = state()
    arguments = ("grants", "import", str(file))
    tried = cli(*arguments, "--dry-run")
    assert (tried.code, state()) == (0, before)
    assert tried.rows() == [
        {
            "change": "changed",
            "role": "developer",
            "effect": "allow",
            "pattern": "github/*",
            "until before": "",
            "until": "2131-01-31 00:00 UTC",
        },
        {
            "change": "added",
            "role": "developer",
            "effect": "allow",
            "pattern": "mail/list_*",
            "until before": "",
            "until": "",
        },
    ]
    # The heir gains it too.
    assert tried.err.splitlines() == [
        "developer would gain 1 tool and lose 0.",
        "lead would gain 1 tool and lose 0.",
        f"{file}: 1 added, 1 changed, 0 removed, 1 as before. Nothing was kept.",
    ]
    done = cli(*arguments)
    assert (done.code, done.rows()) == (0, tried.rows())
    assert rules_of(cli, developer) == [
        ("allow", "github/*", "2131-01-31T00:00:00+00:00"),
        ("allow", "mail/list_*", None),
        ("deny", "*/delete_*", None),
    ]
    again = cli(*arguments)
    assert (again.code, again.out) == (0, "")
    assert "0 added, 0 changed, 0 removed, 3 as before." in again.err


def test_replacing_is_told_and_counts_what_is_lost(cli: Cli, developer: str, state: State) -> None:
    cli("roles", "add", "other")
    cli("grant", "other", "mail/*")
    text = "- {role: developer, server_pattern: mail, tool_pattern: '*', effect: allow}\n"
    before = state()
    arguments = ("grants", "import", "-", "--format", "yaml", "--replace", "--json")
    tried = cli(*arguments, "--dry-run", stdin=text).json()
    assert state() == before
    done = cli(*arguments, stdin=text).json()
    assert done == tried | {"dry_run": False}
    assert (done["added"], done["changed"], done["removed"], done["unchanged"]) == (1, 0, 2, 0)
    assert done["roles"] == [{"role": "developer", "gained": 2, "lost": 2}]
    assert [(r["change"], r["effect"], r["server_pattern"]) for r in done["rules"]] == [
        ("removed", "deny", "*"),
        ("removed", "allow", "github"),
        ("added", "allow", "mail"),
    ]
    assert rules_of(cli, developer) == [("allow", "mail/*", None)]
    # Another role is not touched; a file without rows removes the rules of the role that is named.
    assert rules_of(cli, "other") == [("allow", "mail/*", None)]
    empty = cli("grants", "import", "-", "--format=csv", "--replace", "--role=other", stdin=HEADER)
    assert "0 added, 0 changed, 1 removed, 0 as before." in empty.err
    assert rules_of(cli, "other") == []


def test_the_gatekeeper_shape_maps_and_lists_what_does_not(
    cli: Cli, developer: str, state: State
) -> None:
    servers = {
        "github": {"tools": ["list_issues"], "limits": {"rows": 5}, "hours": "9-17"},
        "mail": {"tools": ["*"]},
    }
    arguments = ("grants", "import", "-", "--format", "gatekeeper")
    before = state()
    strict = cli(*arguments, "--role", developer, "--strict", stdin=json.dumps(servers))
    assert (strict.code, strict.out, state()) == (1, "", before)
    assert "2 entries do not map to rules; nothing was changed" in strict.err
    single = cli(*arguments, "--role", developer, "--json", stdin=json.dumps(servers))
    assert single.code == 0
    assert single.json()["not_mapped"] == ["github.limits", "github.hours"]
    assert single.err.splitlines()[:2] == ["not mapped: github.limits", "not mapped: github.hours"]
    assert single.err.endswith("-: 2 added, 0 changed, 0 removed, 0 as before. 2 not mapped.\n")
    assert rules_of(cli, developer)[:2] == [
        ("allow", "github/*", None),
        ("allow", "github/list_issues", None),
    ]
    keyed = json.dumps({"asha": servers, "ben\u202e\nx": {"mail": {"tools": [], "rate": "9/m"}}})
    refused = cli(*arguments, stdin=keyed)
    assert (refused.code, refused.out) == (1, "")
    assert "-: asha: the role 'asha' does not exist (and 1 more)" in refused.err
    assert "tool-rag roles add 'asha';" in refused.err
    made = cli(*arguments, "--create-roles", stdin=keyed)
    assert made.code == 0
    assert "asha gained 3 tools and lost 0." in made.err
    assert "The role ben<U+202E><U+000A>x was made.\n" in made.err
    assert "\u202e" not in made.err
    assert rules_of(cli, "asha") == [
        ("allow", "github/list_issues", None),
        ("allow", "mail/*", None),
    ]


ROW = "developer,mail,x,allow,\n"


@pytest.mark.parametrize(
    ("format_", "text", "said"),
    [
        ("csv", "", "-: it has no header"),
        ("csv", "role,server_pattern,tool_pattern\n", "line 1: missing: effect"),
        ("csv", "server_pattern,tool_pattern,effect\n", "line 1: missing: role"),
        ("csv", HEADER + ",rate,note\n", "line 1: not known: 'rate', 'note'"),
        ("csv", HEADER + ",role\n", "line 1: a column stands twice"),
        ("csv", f"{HEADER}\n{ROW}developer,mail\n", "line 3: it has 2 cells instead of 5"),
        ("csv", f'{HEADER}\n{ROW}"developer\n', "line 3: it is not valid CSV: "),
        ("csv", f'{HEADER}\n"a\nb",c,d,allow,\n\nx,y,z,alow,\n', "line 5: effect: the effect is"),
        ("csv", f"{HEADER}\n{ROW}{ROW}", "line 3: this rule stands at line 2 already"),
        ("csv", f"{HEADER}\n,mail,x,allow,\n", "line 2: role: role is missing"),
        ("csv", f"{HEADER}\ndeveloper,,x,allow,\n", "line 2: server_pattern: server_pattern is"),
        ("csv", f"{HEADER}\ndeveloper,a/b,x,allow,\n", "server_pattern has a '/'"),
        ("csv", f"{HEADER}\ndeveloper,a,{'x' * 257},allow,\n", "more than 256 characters"),
        ("csv", f"{HEADER}\ndeveloper,a,b\0,allow,\n", "can't be stored"),
        ("csv", f"{HEADER}\ndeveloper,a,b,allow,soon\n", "line 2: valid_until: 'soon' is no time"),
        ("csv", f"{HEADER}\nnobody,a,b,allow,\n", "line 2: the role 'nobody' does not exist"),
        ("yaml", "a: b\n", "-: it is no list"),
        ("yaml", "- a\n", "-: [0]: it is no mapping"),
        ("yaml", "- {role: developer, tools: x}\n", "-: [0]: not known: 'tools'"),
        ("yaml", "- {role: a, role: b}\n", "the key 'role' stands twice"),
        ("yaml", "- !!python/object:os.system {}\n", "[0].effect: the effect is missing"),
        (
            "yaml",
            "- {role: 7, server_pattern: a, tool_pattern: b, effect: deny}\n",
            "[0].role: role is 7 instead of a text",
        ),
        (
            "yaml",
            "- {role: developer, server_pattern: a, tool_pattern: b, effect: yes}\n",
            "[0].effect: the effect is 'yes'",
        ),
        (
            "yaml",
            "- {role: r, server_pattern: a, tool_pattern: b, effect: deny, valid_until: 2031}\n",
            "[0].valid_until: 2031 is no time",
        ),
        ("gatekeeper", "[]", "it is not one JSON object"),
        ("gatekeeper", "{} {}", "it is not one JSON object"),
        ("gatekeeper", '{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ("gatekeeper", '{"a": 1}', "-: a: it is no object"),
        ("gatekeeper", '{"mail": {"tools": ["x"]}}', "so the file does not say whose tools"),
        ("gatekeeper", '{"r": {"mail": {}}}', "-: r.mail.tools: it is no list of names"),
        ("gatekeeper", '{"r": {"mail": {"tools": [1]}}}', "-: r.mail.tools[0]: the name is 1"),
        ("gatekeeper", '{"r": {"mail": {"tools": ["a*"]}}}', "r.mail.tools[0]: 'a*' is a pattern"),
        ("gatekeeper", '{"r": {"*": {"tools": ["a"]}}}', "the server is a pattern"),
        ("gatekeeper", '{"r": {"a/b": {"tools": ["a"]}}}', "the name has a '/'"),
        ("gatekeeper", '{"r": {"m": {"tools": ["a", "a"]}}}', "stands at r.m.tools[0] already"),
        ("gatekeeper", '{"r": {"m": {"tools": ["\\ud800"]}}}', "can't be stored"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_changes_nothing(
    cli: Cli, developer: str, state: State, format_: str, text: str, said: str
) -> None:
    before = state()
    outcome = cli("grants", "import", "-", "--format", format_, "--replace", stdin=text)
    assert (outcome.code, outcome.out) == (1, "")
    assert said in outcome.err
    # One sentence, and what to do.
    assert outcome.err.splitlines()[1].startswith("  ")
    assert state() == before


def test_a_role_of_the_command_line_is_that_of_the_rows(
    cli: Cli, developer: str, state: State, tmp_path: Path
) -> None:
    file = tmp_path / "grants.txt"
    file.write_text("server_pattern,tool_pattern,effect\nmail,send_message,allow\n")
    unsaid = cli("grants", "import", str(file), "--role", developer)
    assert unsaid.code == 2
    assert "--format" in unsaid.err
    done = cli("grants", "import", str(file), "--role", developer, "--format", "csv")
    assert (done.code, done.rows()[0]["pattern"]) == (0, "mail/send_message")
    before = state()
    file.write_text(f"{HEADER}\nlead,mail,x,allow,\n")
    other = cli("grants", "import", str(file), "--role", developer, "--format", "csv")
    assert other.code == 1
    assert "line 2: role: the role is 'lead' instead of 'developer'" in other.err
    missing = cli("grants", "import", str(tmp_path / "none.csv"))
    assert missing.code == 1
    assert "it can't be read" in missing.err
    impossible = cli(
        *("grants", "import", "-", "--format", "csv", "--create-roles"),
        stdin=f'{HEADER}\nfine,mail,x,allow,\n"a,b",mail,x,allow,\n',
    )
    assert impossible.code == 1
    assert "-: line 3: a role's name has 1 to 256 characters" in impossible.err
    assert state() == before


def test_the_gatekeeper_export_never_allows_more(cli: Cli, developer: str) -> None:
    cli("roles", "add", "lead", "--parent", developer)
    cli("grant", "lead", "mail/*")
    # Its own rules have no deny, but it inherits one.
    refused = cli("grants", "export", "--role", "lead", "--format", "gatekeeper")
    assert (refused.code, refused.out) == (1, "")
    assert "'lead' holds the rule deny '*/delete_*'" in refused.err
    cli("revoke", developer, "*/delete_*")
    cli("grant", developer, "mail/send_message", "--until", "30d")
    cli("grant", developer, "git*/list_*")
    done = cli("grants", "export", "--format", "gatekeeper")
    assert done.json() == {
        "developer": {"github": {"tools": ["*"]}},
        "lead": {"mail": {"tools": ["*"]}},
    }
    listed = done.err.splitlines()
    assert "not mapped: developer: allow git*/list_*" in listed
    assert "not mapped: lead: inherits from developer" in listed
    assert any(
        line.startswith("not mapped: developer: allow mail/send_message until ") for line in listed
    )
    unknown = cli("grants", "export", "--role", "nobody")
    assert (unknown.code, unknown.out) == (2, "")


TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab*-_ .:#'\"\r\n\t=~&!%@`|>"),
        st.characters(exclude_categories=["Cs"], exclude_characters='\0/,{}"'),
    ),
    min_size=1,
    max_size=8,
) | st.sampled_from(["no", "null", "~", "007", "1e3", "0o17", "2031-01-31", "<<", "- a", "*"])
ENDS = st.none() | st.datetimes(datetime(2000, 1, 1), datetime(2900, 1, 1))
STARTS = st.none() | st.datetimes(datetime(1900, 1, 1), datetime(1999, 1, 1))
CLOCKS = st.times().map(lambda time: f"{time:%H:%M:%S}")
SCHEDULES = st.none() | st.builds(
    lambda days, start, end, zone: f"{days} {start}-{end} {zone}",
    st.sampled_from(["Mon", "Mon-Fri", "Tue,Sat", "Fri-Mon"]),
    CLOCKS,
    CLOCKS,
    st.sampled_from(["UTC", "Europe/Berlin", "Etc/GMT+5", "America/Port-au-Prince"]),
)


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rules=st.lists(
        st.tuples(
            *(TEXTS, TEXTS, TEXTS, st.sampled_from(["allow", "deny"]), STARTS, SCHEDULES, ENDS)
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda rule: rule[:6],
    )
)
def test_what_is_exported_is_imported_as_it_was(
    cli: Cli, database: str, state: State, rules: list[Any]
) -> None:
    rules = [
        (
            *(role.replace('"', "'"), server, tool, effect, start and start.replace(tzinfo=UTC)),
            *(hours, end and end.replace(tzinfo=UTC)),
        )
        for role, server, tool, effect, start, hours, end in rules
    ]
    if len({rule[:6] for rule in rules}) < len(rules):
        return
    with ToolRetriever(database) as retriever:
        for listed in retriever.list_roles():
            retriever.remove_role(listed.name)
        for role in {rule[0] for rule in rules}:
            retriever.add_role(role)
        for role, server, tool, effect, start, hours, end in rules:
            retriever.grant_tools(
                *(role, server, tool),
                effect=effect,
                valid_until=end,
                valid_from=start,
                hours=hours,
            )
    before = state()
    for format_ in ("csv", "yaml"):
        exported = cli("grants", "export", "--format", format_)
        assert exported.code == 0
        arguments = ("grants", "import", "-", "--format", format_, "--replace", "--json")
        same = cli(*arguments, "--dry-run", stdin=exported.out)
        assert same.code == 0, same.err
        assert (same.json()["rules"], same.json()["unchanged"]) == ([], len(rules))
        # And it makes a database without rules the same, whatever was there.
        with ToolRetriever(database) as retriever:
            for listed in retriever.list_roles():
                retriever.remove_role(listed.name)
        assert cli(*arguments, "--create-roles", stdin=exported.out).code == 0
        assert state() == before


@settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    granted=st.dictionaries(
        st.sampled_from(["a", "b", "no", "ü.x"]),
        st.dictionaries(
            st.sampled_from(["github", "mail"]),
            st.sets(st.sampled_from(["*", "list_issues", "delete_repo", "x.y"]), min_size=1),
            min_size=1,
        ),
        min_size=1,
    )
)
def test_the_gatekeeper_shape_comes_back_as_it_was(
    cli: Cli, tools: None, database: str, granted: dict[str, dict[str, set[str]]]
) -> None:
    with ToolRetriever(database) as retriever:
        for listed in retriever.list_roles():
            retriever.remove_role(listed.name)
    document = {
        role: {server: {"tools": sorted(tools)} for server, tools in servers.items()}
        for role, servers in granted.items()
    }
    arguments = ("grants", "import", "-", "--format", "gatekeeper", "--replace")
    assert cli(*arguments, "--create-roles", stdin=json.dumps(document)).code == 0
    exported = cli("grants", "export", "--format", "gatekeeper")
    found = exported.json()
    assert {
        role: {server: set(entry["tools"]) for server, entry in servers.items()}
        for role, servers in found.items()
    } == granted
    same = cli(*arguments, "--dry-run", "--json", stdin=exported.out).json()
    assert same["rules"] == []
    assert same["not_mapped"] == []


def test_a_rule_that_has_ended_is_exported_too(cli: Cli, developer: str, database: str) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    with ToolRetriever(database) as retriever:
        retriever.grant_tools(developer, "*", "delete_*", effect="deny", valid_until=past)
    exported = cli("grants", "export", "--role", developer)
    assert f"developer,*,delete_*,deny,,{past.isoformat()},\n" in exported.out


BERLIN = "Mon-Fri 09:00-17:00 Europe/Berlin"
SCHEDULED = "role,server_pattern,tool_pattern,effect,valid_from,valid_until,hours"


def test_beginnings_and_hours_of_files(cli: Cli, developer: str, tmp_path: Path) -> None:
    file = tmp_path / "grants.csv"
    file.write_text(
        f"{SCHEDULED}\n"
        "developer,mail,*,allow,2131-01-31,2131-02-28T18:00+01:00,mon-fri 9-17 europe/berlin\n"
        "developer,mail,*,allow,,,Sat 10:00-12:00 Europe/Berlin\n"
        "developer,mail,*,deny,,,\n"
    )
    done = cli("grants", "import", str(file))
    assert done.code == 0
    assert [tuple(row.values()) for row in done.rows()] == [
        ("added", developer, "allow", "mail/*", "", "", "", "Sat 10:00-12:00 Europe/Berlin"),
        *[("added", developer, "allow", "mail/*", "2131-01-31 00:00 UTC", "",
           "2131-02-28 17:00 UTC", BERLIN)],
        ("added", developer, "deny", "mail/*", "", "", "", ""),
    ]  # fmt: skip
    assert list(done.rows()[0])[4:] == ["from", "until before", "until", "hours"]
    exported = cli("grants", "export", "--role", developer)
    assert exported.out.splitlines()[0] == SCHEDULED
    assert (
        "developer,mail,*,allow,2131-01-31T00:00:00+00:00,2131-02-28T17:00:00+00:00,"
        f'"{BERLIN}"\n'.replace('"', "")
        in exported.out
    )
    written = cli("grants", "export", "--role", developer, "--format", "yaml").out
    assert f'  hours: "{BERLIN}"\n' in written
    assert '  valid_from: "2131-01-31T00:00:00+00:00"\n' in written
    again = cli(
        *("grants", "import", "-", "--format", "yaml", "--replace", "--json"),
        stdin=written + "- {role: developer, server_pattern: x, tool_pattern: y, effect: deny,"
        " hours: 22:00-06:00 UTC, valid_from: 2131-01-01}\n",
    )
    assert [(r["change"], r["hours"], r["valid_from"]) for r in again.json()["rules"]] == [
        ("added", "22:00-06:00 UTC", "2131-01-01T00:00:00+00:00")
    ]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("soon,,", "line 3: valid_from: 'soon' is no time"),
        (",,9-17", "line 3: hours: hours is '9-17', not days, hours and a time zone"),
        (",,09:00-17:00 CET", "line 3: hours: hours has the time zone 'CET'"),
        ("2131-02-01,2131-01-01,", "line 3: valid_from: valid_from is not before its end"),
        (",,mon-fri 9-17 EUROPE/BERLIN", "line 3: this rule stands above already"),
        (f",,{BERLIN}", "line 3: this rule stands at line 2 already"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_told_with_its_place(
    cli: Cli, developer: str, state: State, cells: str, said: str
) -> None:
    before = state()
    text = f"{SCHEDULED}\ndeveloper,m,x,allow,,,{BERLIN}\ndeveloper,m,x,allow,{cells}\n"
    outcome = cli("grants", "import", "-", "--format", "csv", "--replace", stdin=text)
    assert (outcome.code, outcome.out) == (1, "")
    assert said in outcome.err
    assert outcome.err.splitlines()[1].startswith("  ")
    assert state() == before


@pytest.mark.parametrize(
    ("said", "hours"),
    [
        ("mon-fri 9-17 Europe/Berlin", BERLIN),
        ("9:00-17:00 UTC", "09:00-17:00 UTC"),
        ("Sat,Sun UTC", "Sat-Sun UTC"),
        (
            {"days": ["Mon", "Wed"], "start": "09:00", "end": "17:00", "timezone": "Europe/Berlin"},
            "Mon,Wed 09:00-17:00 Europe/Berlin",
        ),
        ({"days": "Sat-Sun", "timezone": "utc"}, "Sat-Sun UTC"),
        ({"start": "22:00", "end": "06:00", "timezone": "UTC"}, "22:00-06:00 UTC"),
        ("9-17", None),
        ("Mon-Fri 09:00-17:00", None),
        ("Europe/Berlin", None),
        ("always", None),
        (["Mon-Fri 09:00-17:00 UTC"], None),
        (9, None),
        (None, None),
        ({"days": [], "timezone": "UTC"}, None),
        ({"days": "", "start": "09:00", "end": "17:00", "timezone": "UTC"}, None),
        ({"start": "09:00", "end": "17:00"}, None),
        ({"start": "09:00", "timezone": "UTC"}, None),
        ({"days": [1], "start": "09:00", "end": "17:00", "timezone": "UTC"}, None),
        ({"start": "09:00", "end": "17:00", "timezone": "UTC", "holidays": False}, None),
    ],
    ids=str,
)
def test_hours_of_the_gatekeeper_shape_map_or_are_listed(
    cli: Cli, developer: str, said: Any, hours: str | None
) -> None:
    servers = {"mail": {"tools": ["list_mail", "*"], "hours": said}}
    arguments = ("grants", "import", "-", "--format", "gatekeeper", "--role", developer, "--json")
    done = cli(*arguments, stdin=json.dumps(servers))
    assert done.code == 0
    assert done.json()["not_mapped"] == ([] if hours else ["mail.hours"])
    assert {rule["hours"] for rule in done.json()["rules"]} == {hours}


def test_hours_of_the_gatekeeper_shape_that_can_not_be(
    cli: Cli, developer: str, state: State
) -> None:
    before = state()
    for said in ("Mon-Fri 09:00-17:00 Europe/Nowhere", "Mon-Foo UTC", "9-25 UTC"):
        document = {developer: {"mail": {"tools": ["x"], "hours": said}}}
        refused = cli("grants", "import", "-", "--format=gatekeeper", stdin=json.dumps(document))
        assert (refused.code, refused.out) == (1, "")
        assert "-: developer.mail.hours: hours has the " in refused.err
        assert state() == before


def test_the_gatekeeper_export_leaves_out_what_holds_only_sometimes(
    cli: Cli, developer: str
) -> None:
    cli("revoke", developer, "*/delete_*")
    cli("grant", developer, "mail/*", "--hours", BERLIN)
    cli("grant", developer, "mail/*", "--from", "2131-01-31")
    done = cli("grants", "export", "--format", "gatekeeper")
    assert done.json() == {"developer": {"github": {"tools": ["*"]}}}
    assert f"not mapped: developer: allow mail/*, {BERLIN}\n" in done.err
    assert "not mapped: developer: allow mail/* from 2131-01-31" in done.err
    # A deny, whether it holds now or later, is nothing that can be left out.
    for option in (("--hours", BERLIN), ("--from", "2131-01-31")):
        cli("grant", developer, "mail/send_message", "--deny", *option)
        refused = cli("grants", "export", "--format", "gatekeeper")
        assert (refused.code, refused.out) == (1, "")
        assert "'developer' holds the rule deny 'mail/send_message'" in refused.err
        assert cli("revoke", developer, "mail/send_message").code == 0
    # An ended deny takes nothing away.
    assert cli("grants", "export", "--format", "gatekeeper").code == 0
