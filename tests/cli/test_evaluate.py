from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Cli
from tests.evaluation.bfcl_package import make_wheel
from tool_rag_pg.retriever import ToolRetriever

CREATE = "github/create_pull_request"


def write(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def cases(tmp_path: Path, developer: str) -> str:
    return write(
        tmp_path / "cases.jsonl",
        {"id": "pr", "query": "open a pull request", "roles": [developer], "expected": [CREATE]},
        {
            "id": "issues",
            "query": "what issues does the repository have",
            "role": developer,
            "expected": ["list_issues"],
            "forbidden": ["github/delete_repo"],
            "category": "reading",
        },
        {"id": "none", "query": "boil an egg", "roles": [developer], "expected": []},
        {"id": "no", "query": "delete it", "roles": [developer], "expected": ["delete_repo"]},
    )


def test_a_result_has_stable_keys(cli: Cli, cases: str, tmp_path: Path) -> None:
    output, html = tmp_path / "result.json", tmp_path / "report.html"
    outcome = cli("eval", cases, "--json", "--output", str(output), "--html", str(html))
    assert (outcome.code, outcome.err) == (0, "")
    made = outcome.json()
    assert list(made) == [
        "format",
        "settings",
        "fingerprint",
        "machine",
        "catalogue",
        "counts",
        "metrics",
        "outcomes",
        "no_tool",
        "leaks",
        "tokens",
        "latency",
        "reliability",
        "groups",
        "reasons",
        "alike_from",
        "already_known",
        "cases",
        "comparison",
        "baseline",
    ]
    assert json.loads(output.read_text()) == made
    assert not (tmp_path / "result.json.partial").exists()
    assert html.read_text().startswith("<!DOCTYPE html>")
    assert made["counts"]["with_tools"] == 3
    assert made["catalogue"]["tools"] == 5
    assert made["leaks"]["answers"] == 0
    assert made["leaks"]["permission_unaware"]["answers"] == 4
    (failing,) = [case for case in made["cases"] if case["failures"]]
    assert failing["id"] == "no"
    assert failing["failures"][0]["reason"] == "not permitted"
    assert made["metrics"][0]["name"] == "complete_recall"


def test_a_person_gets_tables(cli: Cli, cases: str) -> None:
    outcome = cli("eval", cases, "-k", "3")
    assert outcome.code == 0
    assert "4 cases, 3 of them with tools that serve, asked of 5 tools" in outcome.out
    assert "complete recall at 3\t66.7%" in outcome.out
    assert "at 5" not in outcome.out
    assert "grant the tool to the roles, or correct the case" in outcome.out
    assert "\nno\tdelete it\tgithub/delete_repo\t" in outcome.out
    markdown = cli("eval", cases, "--markdown")
    assert markdown.out.startswith("# Evaluation\n")
    assert "| complete recall at 3 | 66.7% |" in markdown.out
    cut = cli("eval", cases, "--min-relevance", "0.999", "--json").json()
    assert cut["no_tool"]["empty_answers"] == 1
    assert cut["outcomes"]["skipped"] == 3
    assert cli("eval", cases, "--limit", "2", "--json").json()["counts"]["cases"] == 2


def test_usage(cli: Cli, cases: str, tmp_path: Path) -> None:
    for wrong in (
        (),
        (cases, "--json", "--markdown"),
        (cases, "--set", "bfcl"),
        (cases, "--path", str(tmp_path)),
        (cases, "-k", "0"),
        (cases, "--min-relevance", "2"),
        (cases, "--role", "nobody"),
        (cases, "--output", str(tmp_path / "absent" / "x.json")),
    ):
        outcome = cli("eval", *wrong)
        assert (outcome.code, outcome.out) == (2, ""), wrong
    for wrong in (
        (cases, "--baseline", cases),
        (cases, "--compare", str(tmp_path / "absent")),
        (cases, "--output", str(tmp_path)),
        (str(tmp_path / "absent"),),
        ("--set", "x", "--path", str(tmp_path)),
    ):
        outcome = cli("eval", *wrong)
        assert (outcome.code, outcome.out) == (1, ""), wrong


def test_all_faults_of_a_file_are_told_and_nothing_runs(
    cli: Cli, developer: str, tmp_path: Path
) -> None:
    file = write(
        tmp_path / "cases.jsonl",
        {"query": "x", "roles": [developer], "expected": ["github/list_isues"]},
        {"query": "x", "roles": ["devloper"], "expected": []},
        {"query": "", "roles": [developer], "expected": []},
        {"query": "x", "expected": []},
    )
    output = tmp_path / "result.json"
    outcome = cli("eval", file, "--output", str(output))
    assert (outcome.code, outcome.out) == (1, "")
    assert f"{file}: line 1: expected: there is no tool 'github/list_isues'" in outcome.err
    assert "the nearest are: github/list_issues" in outcome.err
    assert "line 2: the role 'devloper' does not exist" in outcome.err
    assert "is it developer?" in outcome.err
    assert "line 3: query is missing" in outcome.err
    assert "line 4: it does not say who asks" in outcome.err
    assert "4 faults; nothing was asked" in outcome.err
    assert list(tmp_path.glob("result*")) == []


def test_known_requests_are_refused(cli: Cli, cases: str) -> None:
    cli("examples", "add", CREATE, "Open a pull request!")
    refused = cli("eval", cases)
    assert (refused.code, refused.out) == (1, "")
    assert f"line 1: case pr is nearly the example of {CREATE}" in refused.err
    assert "--allow-leakage" in refused.err
    allowed = cli("eval", cases, "--allow-leakage")
    assert allowed.code == 0
    assert "NOT A FAIR TEST: the requests of 1 case are among" in allowed.out
    assert "Requests that the database knows already" in allowed.out
    cli("examples", "remove", CREATE, "--all")
    cli("synonyms", "add", "github/list_issues", "what issues does the repository have")
    assert "case issues is nearly the synonym of github/list_issues" in cli("eval", cases).err
    # What is not asked does not matter.
    assert cli("eval", cases, "--limit", "1").code == 0


def test_a_baseline_fails_where_a_tool_was_lost(cli: Cli, cases: str, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    assert cli("eval", cases, "-k", "1", "--output", str(old)).code == 0
    same = cli("eval", cases, "-k", "1", "--baseline", str(old))
    assert same.code == 0
    assert f"Lost since {old}: 0 cases" in same.out
    cli("grant", "developer", CREATE, "--deny")
    lost = cli("eval", cases, "-k", "1", "--baseline", str(old), "--compare", str(old))
    assert lost.code == 1
    assert f"Lost: case pr: {CREATE}; came instead: github/list_issues" in lost.err
    assert f"1 case had all tools in {old} and lost one" in lost.err
    assert "lost at 1\tpr\topen a pull request\t" in lost.out
    assert cli("eval", cases, "--baseline", str(old)).code == 2, "another k"
    assert cli("eval", cases, "-k", "1", "--baseline", str(old), "--output", str(old)).code == 2
    new = cli("eval", cases, "-k", "1", "--compare", str(old), "--json").json()
    (difference,) = new["comparison"]["differences"]
    assert difference["at"] == 1
    assert [case["id"] for case in difference["lost"]] == ["pr"]


def test_a_leak_fails(cli: Cli, developer: str, tmp_path: Path) -> None:
    file = write(
        tmp_path / "cases.jsonl",
        {
            "query": "open a pull request",
            "roles": [developer],
            "expected": ["list_issues"],
            "forbidden": [CREATE],
        },
    )
    outcome = cli("eval", file)
    assert outcome.code == 1
    assert f"LEAK: case line 1: {CREATE}" in outcome.out
    assert "1 answer holds a tool that is forbidden" in outcome.err


def test_hostile_tools_do_no_harm(cli: Cli, database: str, tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>\"'&|`"
    with ToolRetriever(database) as retriever:
        retriever.upsert_tools(
            {
                "server": "<b>evil",
                "tools": [{"name": bad, "description": f"open {bad}"}, {"name": "x"}],
            }
        )
        retriever.add_role("r")
        retriever.grant_tools("r", "*", "*")
    file = write(
        tmp_path / "cases.jsonl",
        {"query": "open <script> alert", "roles": ["r"], "expected": ["x"]},
        {"query": "x", "roles": ["r"], "expected": [f"<b>evil/{bad}"]},
    )
    html = tmp_path / "report.html"
    assert cli("eval", file, "-k", "1", "--html", str(html)).code == 0
    page = html.read_text()
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in cli("eval", file, "-k", "1", "--markdown").out


def test_the_demo_company_leaks_nothing(cli: Cli) -> None:
    outcome = cli("eval", "--set", "demo", "--json")
    assert outcome.code == 0
    made = outcome.json()
    assert made["counts"]["cases"] == 200
    assert (made["counts"]["with_tools"], made["counts"]["no_tool"]) == (170, 30)
    assert made["leaks"]["answers"] == 0
    assert made["leaks"]["permission_unaware"]["answers"] > 100
    recall = {m["at"]: m["value"] for m in made["metrics"] if m["name"] == "recall"}
    assert recall[8] > 0.85
    missing = [failure for case in made["cases"] for failure in case["failures"]]
    assert len(missing) == sum(row["tools"] for row in made["reasons"])
    for case in made["cases"]:
        assert bool(case["failures"]) == (bool(case["expected"]) and case["status"] != "correct")


def test_the_university_is_asked_with_either_kind_of_descriptions(cli: Cli) -> None:
    tokens = {}
    for name in ("university", "university-originals"):
        outcome = cli("eval", "--set", name, "--json")
        assert outcome.code == 0, outcome.err
        made = outcome.json()
        assert (made["counts"]["with_tools"], made["counts"]["no_tool"]) == (251, 30)
        assert made["leaks"]["answers"] == 0
        tokens[name] = made["catalogue"]["tokens"]
    assert tokens["university-originals"] > 1.5 * tokens["university"]


def test_a_set_that_does_not_ship_needs_a_path(cli: Cli, tmp_path: Path) -> None:
    missing = cli("eval", "--set", "bfcl")
    assert missing.code == 2
    assert "demo, university, university-originals ship" in missing.err
    (tmp_path / "servers").mkdir()
    tool = {"name": "a", "description": "Does it.", "inputSchema": {"type": "object"}}
    write(tmp_path / "servers" / "s.json", {"tools": [tool]})
    (tmp_path / "access.txt").write_text("role r\nallow r s/*\n")
    write(
        tmp_path / "requests.jsonl", {"id": "1", "query": "do it", "role": "r", "expected": ["s/a"]}
    )
    assert cli("eval", "--set", "own", "--path", str(tmp_path)).code == 0
    without = cli("eval", "--set", "own-originals", "--path", str(tmp_path))
    assert without.code == 1
    assert "originals.json" in without.err


def test_a_set_has_a_database_of_its_own(cli: Cli, database: str, tmp_path: Path) -> None:
    folder = tmp_path / "sets" / "tiny"
    folder.mkdir(parents=True)
    write(
        folder / "catalog.jsonl",
        {"name": "get_weather", "description": "The weather.\0", "parameters": {}, "server": "x"},
        {"name": "set_alarm", "description": None},
    )
    write(
        folder / "requests.jsonl",
        {"id": 1, "query": "will it rain, weather", "expected": ["get_weather"], "sgd_style": True},
        {"id": 2, "query": "an alarm at six", "expected": ["set_alarm"], "sgd_style": False},
        {"id": 3, "query": "x", "expected": ["absent"], "label_problem": "junk"},
    )

    def databases() -> set[str]:
        with psycopg.connect(database) as connection:
            return {row[0] for row in connection.execute("select datname from pg_database")}

    before = databases()
    for path in (folder, folder.parent):
        outcome = cli("eval", "--set", "tiny", "--path", str(path), "--json")
        assert outcome.code == 0, outcome.err
        made = outcome.json()
        assert [group["group"] for group in made["groups"]] == ["SGD style", "not SGD style"]
        assert made["counts"]["left_out"] == 1
        assert made["metrics"][0]["value"] == 1
        assert made["cases"][0]["expected"] == ["tiny/get_weather"]
    assert databases() == before
    assert cli("tools", "list").out == "", "the user's own catalogue is as it was"
    (folder / "catalog.jsonl").write_text('{"title": "no name"}')
    broken = cli("eval", "--set", "tiny", "--path", str(folder))
    assert broken.code == 1
    assert "catalog.jsonl: line 1: it is no tool" in broken.err
    assert databases() == before


def test_a_set_is_fetched_and_asked(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_RAG_HOME", str(tmp_path / "home"))
    absent = cli("eval", "--set", "bfcl")
    assert (absent.code, absent.out) == (2, "")
    assert "tool-rag eval fetch bfcl" in absent.err
    wheel = str(make_wheel(tmp_path))
    fetched = cli("eval", "fetch", "bfcl", "--from", wheel)
    assert fetched.code == 0, fetched.err
    folder = tmp_path / "home" / "sets" / "bfcl"
    assert fetched.out == f"{folder}\n"
    assert "2 tools, 4 requests, 1 of them in the style of SGD" in fetched.err
    assert f"{folder}/NOTICE.txt" in fetched.err
    made = cli("eval", "--set", "bfcl", "--json").json()
    assert made["counts"]["with_tools"] == 4
    sizes = {group["group"]: group["cases"] for group in made["groups"]}
    assert (sizes["SGD style"], sizes["not SGD style"]) == (1, 3)
    again = cli("eval", "fetch", "bfcl", "--from", wheel, "--json").json()
    assert again == {
        "set": "bfcl",
        "folder": str(folder),
        "package": "bfcl-eval",
        "version": "9.8.7",
        "sha256": again["sha256"],
        "tools": 2,
        "requests": 4,
        "sgd_style": 1,
        "is_new": False,
    }
    other = cli("eval", "fetch", "bfcl", "--from", wheel, "--into", str(tmp_path / "other"))
    assert f"tool-rag eval --set bfcl --path {tmp_path}/other/bfcl" in other.err
    for wrong in (
        ("fetch",),
        ("fetch", "sgd"),
        ("fetch", "bfcl", "--from", wheel, "--version", "1"),
        ("fetch", "bfcl", "--version", "-e ."),
    ):
        outcome = cli("eval", *wrong)
        assert (outcome.code, outcome.out) == (2, ""), wrong
    failed = cli("eval", "fetch", "bfcl", "--from", str(tmp_path / "absent"))
    assert (failed.code, failed.out) == (1, "")
    # A file of this name is asked by its path.
    write(tmp_path / "fetch", {"query": "x", "expected": [], "roles": []})
    monkeypatch.chdir(tmp_path)
    assert cli("eval", "./fetch").code == 0
