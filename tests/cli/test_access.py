from __future__ import annotations

from tests.cli.conftest import Cli


def test_roles_are_added_listed_shown_and_removed(cli: Cli, developer: str) -> None:
    added = cli("roles", "add", "lead", "--parent", developer, "--description", "Leads")
    assert (added.code, added.out) == (0, "")
    assert "Role lead added, inherits from developer; it may see 2 tools." in added.err
    assert cli("roles", "list").rows() == [
        {"role": "developer", "parents": "", "rules": "2", "tools": "2", "description": ""},
        {
            "role": "lead",
            "parents": "developer",
            "rules": "0",
            "tools": "2",
            "description": "Leads",
        },
    ]
    assert cli("roles", "list", "--json").json()[1] == {
        "name": "lead",
        "description": "Leads",
        "parents": ["developer"],
        "rules": 0,
        "tools": 2,
    }
    cli("grant", "lead", "mail/*")
    shown = cli("roles", "show", "lead")
    assert [(row["rule of"], row["effect"], row["pattern"]) for row in shown.rows()] == [
        ("lead", "allow", "mail/*"),
        ("developer", "deny", "*/delete_*"),
        ("developer", "allow", "github/*"),
    ]
    assert "inherits from developer, may see 4 tools" in shown.err
    assert cli("roles", "show", "lead", "--json").json()["rules"][0] == {
        "rule_role": "lead",
        "server_pattern": "mail",
        "tool_pattern": "*",
        "effect": "allow",
        "valid_until": None,
        "valid": True,
        "valid_from": None,
        "hours": None,
    }
    removed = cli("roles", "remove", "developer")
    assert removed.code == 0
    assert "No longer inheriting from it: lead." in removed.err
    assert [row["role"] for row in cli("roles", "list").rows()] == ["lead"]


def test_adding_a_role_again_says_so(cli: Cli, developer: str) -> None:
    again = cli("roles", "add", developer)
    assert again.code == 0
    assert "was there already" in again.err


def test_a_cycle_is_refused(cli: Cli, developer: str) -> None:
    cli("roles", "add", "lead", "--parent", developer)
    outcome = cli("roles", "add", developer, "--parent", "lead")
    assert outcome.code == 2
    assert outcome.err.startswith("Error: ")
    assert cli("roles", "list").rows()[0]["parents"] == ""


def test_no_roles(cli: Cli) -> None:
    outcome = cli("roles", "list")
    assert (outcome.code, outcome.out) == (0, "")
    assert "tool-rag roles add" in outcome.err
    assert cli("roles", "list", "--json").json() == []


def test_unknown_roles_are_errors_that_say_how_to_make_one(cli: Cli, tools: None) -> None:
    for arguments in (
        ("roles", "show", "nobody"),
        ("roles", "remove", "nobody"),
        ("roles", "add", "x", "--parent", "nobody"),
        ("grant", "nobody", "github/*"),
        ("revoke", "nobody", "github/*"),
        ("explain-access", "nobody", "github/list_issues"),
    ):
        outcome = cli(*arguments)
        assert (outcome.code, outcome.out) == (2, ""), arguments
        assert "nobody" in outcome.err
        assert "tool-rag roles add" in outcome.err


def test_a_grant_says_how_many_tools_it_fits(cli: Cli, developer: str) -> None:
    outcome = cli("grant", developer, "mail/*")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "developer: allow mail/*, which fits 2 tools today.\n"


def test_a_grant_that_fits_nothing_warns(cli: Cli, developer: str) -> None:
    outcome = cli("grant", developer, "gitlab/*")
    assert outcome.code == 0
    assert "Warning: no tool fits it yet" in outcome.err


def test_a_deny_beats_the_allow(cli: Cli, developer: str) -> None:
    assert cli("grant", developer, "github/list_*", "--deny").code == 0
    listed = cli("tools", "list", "--role", developer).rows()
    assert [row["tool"] for row in listed] == ["github/create_pull_request"]


def test_a_grant_may_end(cli: Cli, developer: str) -> None:
    outcome = cli("grant", developer, "mail/*", "--until", "2999-01-31T18:00+02:00")
    assert outcome.code == 0
    assert "until 2999-01-31 16:00 UTC" in outcome.err
    rules = cli("roles", "show", developer, "--json").json()["rules"]
    (rule,) = [rule for rule in rules if rule["server_pattern"] == "mail"]
    assert (rule["valid_until"][:16], rule["valid"]) == ("2999-01-31T16:00", True)


def test_a_grant_may_begin_later_and_have_hours(cli: Cli, developer: str) -> None:
    hours = "Mon-Fri 09:00-17:00 Europe/Berlin"
    outcome = cli(
        *("grant", developer, "mail/*", "--from", "2131-01-31", "--until", "2131-02-28"),
        *("--hours", hours),
    )
    assert outcome.err == (
        "developer: allow mail/* from 2131-01-31 00:00 UTC until 2131-02-28 00:00 UTC,"
        f" {hours}, which fits 2 tools today.\n"
    )
    shown = cli("roles", "show", developer)
    assert list(shown.rows()[0]) == [
        *("rule of", "effect", "pattern", "from", "until", "hours", "valid")
    ]
    (row,) = [row for row in shown.rows() if row["pattern"] == "mail/*"]
    assert (row["from"], row["hours"], row["valid"]) == ("2131-01-31 00:00 UTC", hours, "no")
    explained = cli("explain-access", developer, "mail/send_message").out.splitlines()
    assert explained[0].startswith(
        "developer may not use mail/send_message: not now: the grant mail/* to developer begins "
    )
    # Another window of the same rule, and each is removed by itself.
    more = cli("grant", developer, "mail/*", "--from", "9d", "--deny")
    assert "stands" not in more.err
    more = cli("grant", developer, "mail/*", "--hours", "Sat UTC")
    assert "the same rule stands 1 more time, each for itself" in more.err
    (begun,) = [row["from"] for row in cli("roles", "show", developer).rows()
                if row["effect"] == "deny" and row["pattern"] == "mail/*"]  # fmt: skip
    none = cli("revoke", developer, "mail/*", "--hours", "Sun UTC")
    assert none.code == 1
    assert "has no rule 'mail/*', Sun UTC" in none.err
    assert "\n    allow mail/*, Sat UTC" in none.err
    assert cli("revoke", developer, "mail/*", "--from", begun.removesuffix(" UTC")).code == 0
    assert cli("revoke", developer, "mail/*", "--hours", "sat utc").code == 0
    left = cli("revoke", developer, "mail/*")
    assert left.err == "developer: 1 rule mail/* removed, 2 left.\n"
    bad = cli("grant", developer, "mail/*", "--hours", "9-17")
    assert bad.code == 2
    assert "hours is '9-17', not days, hours and a time zone" in bad.err
    assert "Mon-Fri 09:00-17:00 Europe/Berlin" in bad.err
    assert list(cli("roles", "show", developer).rows()[0]) == [
        *("rule of", "effect", "pattern", "until", "valid")
    ]


def test_a_grant_in_the_past_and_a_pattern_without_a_slash_are_usage_errors(
    cli: Cli, developer: str
) -> None:
    before = cli("roles", "show", developer).out
    past = cli("grant", developer, "mail/*", "--until", "2020-01-01")
    assert (past.code, past.out) == (2, "")
    assert "2020-01-01 does not lie in the future" in past.err
    for command in ("grant", "revoke"):
        outcome = cli(command, developer, "mail")
        assert (outcome.code, outcome.out) == (2, "")
        assert "'mail' is not of the form SERVER/TOOL" in outcome.err
        assert "'mail/*'" in outcome.err
    assert cli("roles", "show", developer).out == before


def test_revoking_removes_the_rules_of_the_pattern(cli: Cli, developer: str) -> None:
    cli("grant", developer, "github/*", "--deny")
    only = cli("revoke", developer, "github/*", "--deny")
    assert only.code == 0
    assert "1 rule github/* removed, 2 left" in only.err
    assert cli("revoke", developer, "github/*").code == 0
    assert cli("tools", "list", "--role", developer).out == ""


def test_revoking_nothing_fails_and_lists_what_there_is(cli: Cli, developer: str) -> None:
    outcome = cli("revoke", developer, "github/list_issues")
    assert (outcome.code, outcome.out) == (1, "")
    assert "has no rule 'github/list_issues'" in outcome.err
    assert "allow github/*" in outcome.err
    assert "deny */delete_*" in outcome.err
    assert "tool-rag grant developer 'github/list_issues' --deny" in outcome.err


def test_explain_access_gives_verdict_and_rules(cli: Cli, developer: str) -> None:
    denied = cli("explain-access", developer, "github/delete_repo")
    assert denied.code == 0
    verdict, *_ = denied.out.splitlines()
    assert verdict == (
        "developer may not use github/delete_repo: denied to developer by */delete_*"
    )
    assert "developer\tdeny\t*/delete_*\t\tyes" in denied.out
    allowed = cli("explain-access", developer, "github/list_issues", "--json").json()
    assert (allowed["permitted"], allowed["reason"]) == (True, "allowed to developer by github/*")
    assert list(allowed["rules"][0]) == [
        "rule_role",
        "server_pattern",
        "tool_pattern",
        "effect",
        "valid_until",
        "valid",
        "valid_from",
        "hours",
    ]
    none = cli("explain-access", developer, "mail/send_message")
    assert none.out.count("\n") == 1
    assert cli("explain-access", developer, "mail/nope").code == 2
