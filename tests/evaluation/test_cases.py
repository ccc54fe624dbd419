from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tool_rag_pg.demo import DEMO_FOLDER, read_folder, read_requests
from tool_rag_pg.errors import CasesError, SourceError
from tool_rag_pg.evaluation.cases import Case, CaseFile, find_leakage, fold_name, read_cases
from tool_rag_pg.models import ListedExample, ListedSynonym

TOOLS = ["git/open_issue", "git/close_issue", "mail/send", "crm/send", "odd/a/b"]


def read(tmp_path: Path, *lines: Any, **how: Any) -> CaseFile:
    path = tmp_path / "cases.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts), encoding="utf-8")
    return read_cases(str(path), tools=TOOLS, **{"known_roles": {"dev", "ops"}, **how})


def test_a_case_says_it_all(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        {
            "id": "one",
            "query": "shut it",
            "roles": ["dev", "ops", "dev"],
            "expected": ["close_issue", "git/close_issue"],
            "forbidden": ["git/open_issue"],
            "context": ["hello", "hello"],
            "conversation": "17",
            "category": "short",
            "sgd_style": False,
        },
        "",
        {"query": "nothing serves this", "role": "ops", "expected": []},
        {"query": "bad label", "expected": "?", "label_problem": "unclear"},
    )
    assert file.left_out == 1
    assert file.cases == (
        Case(
            id="one",
            line=1,
            query="shut it",
            roles=("dev", "ops"),
            expected=("git/close_issue",),
            forbidden=("git/open_issue",),
            context=("hello", "hello"),
            conversation="17",
            groups=("not SGD style", "short"),
        ),
        Case(id="line 3", line=3, query="nothing serves this", roles=("ops",), expected=()),
    )


def test_who_asks_by_default(tmp_path: Path) -> None:
    line = {"query": "x", "expected": ["odd/a/b"]}
    assert read(tmp_path, line, default_roles=["dev"]).cases[0].roles == ("dev",)
    own = line | {"roles": []}
    assert read(tmp_path, own, default_roles=["dev"]).cases[0].roles == ()


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    good = {"query": "x", "role": "dev", "expected": []}
    with pytest.raises(CasesError) as raised:
        read(
            tmp_path,
            "{",
            "[]",
            {"role": "dev", "expected": []},
            {"query": "x", "expected": []},
            {"query": "x", "role": "dev"},
            {"query": "x", "role": "dev", "roles": ["ops"], "expected": []},
            {"query": "x", "role": "deve", "expected": ["send"]},
            {"query": "x", "role": "dev", "expected": ["git/open-isue"], "forbidden": ["zzz"]},
            {"query": "x", "role": "dev", "expected": ["mail/send"], "forbidden": ["mail/send"]},
            good | {"context": "hello"},
            good | {"conversation": ""},
            good | {"id": "same"},
            good | {"id": "same"},
            good | {"query": "x" * 20_001},
            good | {"id": True},
            good | {"expected": "mail/send"},
        )
    told = [(fault.position, str(fault).split(": ", 2)[2]) for fault in raised.value.faults]
    assert told == [
        ("line 1", told[0][1]),
        ("line 2", "it is no object"),
        ("line 3", "query is missing or no text"),
        ("line 4", "it does not say who asks"),
        ("line 5", "expected is missing"),
        ("line 6", "it has both role and roles"),
        ("line 7", "the role 'deve' does not exist"),
        ("line 7", "expected: 2 servers have a tool 'send'"),
        ("line 8", "expected: there is no tool 'git/open-isue'"),
        ("line 8", "forbidden: there is no tool 'zzz'"),
        ("line 9", "mail/send is both expected and forbidden"),
        ("line 10", "context is no list of texts"),
        ("line 11", "conversation is no text of 1 to 256 characters"),
        ("line 13", "the id 'same' stands in line 12 already"),
        ("line 14", "query has 20,001 characters"),
        ("line 15", "id is no text"),
        ("line 16", "expected is no list of texts"),
    ]
    assert "not valid JSON" in told[0][1]
    hints = {fault.position: fault.hint or "" for fault in raised.value.faults}
    assert "dev" in hints["line 7"] or "crm/send, mail/send" in hints["line 7"]
    near = [fault.hint for fault in raised.value.faults if fault.position == "line 8"]
    assert near[0] is not None
    assert near[0].startswith("the nearest are: git/open_issue")
    assert "17 faults; nothing was asked" in raised.value.message


def test_a_file_without_cases(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="it holds no case"):
        read(tmp_path, "")
    with pytest.raises(SourceError, match="can't be read"):
        read_cases(str(tmp_path / "absent"), tools=TOOLS)


def test_odd_characters_do_no_harm(tmp_path: Path) -> None:
    (case,) = read(
        tmp_path, '{"query": "a\\u0000b \\ud800", "roles": ["dev"], "expected": []}'
    ).cases
    assert case.query == "a b ?"


def test_the_demo_s_requests_are_cases() -> None:
    path = DEMO_FOLDER / "requests.jsonl"
    folder = read_folder(DEMO_FOLDER)
    tools = [f"{export.server}/{tool.name}" for export in folder.exports for tool in export.tools]
    cases = read_cases(str(path), tools=tools).cases
    assert [(c.id, c.query, c.roles, c.expected, c.forbidden) for c in cases] == [
        (r.id, r.query, (r.role,), r.expected, r.forbidden) for r in read_requests(path)
    ]


def test_folded_names() -> None:
    assert fold_name("create-pull_Request") == fold_name("createPullRequest")
    assert fold_name("--") == "--"


def test_leakage_is_found() -> None:
    def case(id_: str, query: str) -> Case:
        return Case(id=id_, line=3, query=query, roles=(), expected=())

    examples = [
        ListedExample(server="git", tool="open_issue", request="Report a bug for me!", origin="x")
    ]
    synonyms = [
        ListedSynonym(server=None, tool=None, term="bug", words="defect"),
        ListedSynonym(server="mail", tool="send", term=None, words="write to ann now"),
    ]
    found = find_leakage(
        [
            case("exact", "report a bug for me"),
            case("near", "report a bug for me please"),
            case("far", "please close the bug of me and Ann"),
            case("synonym", "Write to Ann, now"),
            case("term", "defect"),
        ],
        examples,
        synonyms,
    )
    assert [(known.case, known.kind, known.tool) for known in found] == [
        ("exact", "example", "git/open_issue"),
        ("near", "example", "git/open_issue"),
        ("synonym", "synonym", "mail/send"),
        ("term", "synonym", "bug"),
    ]
