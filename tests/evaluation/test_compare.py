from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.conftest import answer, case, document, hit
from tool_rag_pg.errors import InvalidArgument, SourceError
from tool_rag_pg.evaluation.compare import compare, find_regressions, read_result


def result(found: dict[str, list[str]], *, k: int = 10, expected: str = "s/a") -> dict[str, Any]:
    return document(
        [
            (case(id_, expected), answer(id_, *(hit(tool) for tool in tools)))
            for id_, tools in found.items()
        ],
        k=k,
    )


OLD = {"kept": ["s/a"], "lost": ["s/b", "s/a"], "gained": ["s/b"], "gone": ["s/a"]}
NEW = {"kept": ["s/b", "s/a"], "lost": ["s/b", "s/c"], "gained": ["s/a"], "added": ["s/a"]}


def test_changes_by_hand() -> None:
    made = compare(result(NEW), result(OLD), path="old.json")
    assert (made["cases"], made["only_new"], made["only_old"], made["relabelled"]) == (3, 1, 1, 0)
    at_5, at_10 = made["differences"]
    assert (at_5["at"], at_10["at"]) == (5, 10)
    assert (at_5["before"], at_5["now"]) == (2 / 3, 2 / 3)
    assert [each["id"] for each in at_5["gained"]] == ["gained"]
    assert at_5["lost"] == [{"id": "lost", "query": "do lost", "missing": ["s/a"]}]
    assert at_5["difference"]["value"] == 0
    assert at_5["difference"]["low"] < 0 < at_5["difference"]["high"]


def test_pairs_give_a_narrower_interval_than_two_samples() -> None:
    old = {f"c{number}": ["s/a"] if number % 2 else ["s/b"] for number in range(200)}
    new = old | {f"c{number}": ["s/a"] for number in range(0, 20, 2)}
    (difference, _) = compare(result(new), result(old), path="x")["differences"]
    assert difference["difference"]["value"] == pytest.approx(0.05)
    assert 0.015 < difference["difference"]["low"] < 0.05 < difference["difference"]["high"] < 0.09
    same = compare(result(old), result(old), path="x")["differences"][0]
    assert same["difference"] == {"value": 0.0, "low": 0.0, "high": 0.0, "cases": 200}


def test_a_baseline_tells_what_was_lost() -> None:
    made = find_regressions(result(NEW), result(OLD), path="old.json")
    assert made["lost"] == [
        {"id": "lost", "query": "do lost", "missing": ["s/a"], "instead": ["s/c"]}
    ]
    assert find_regressions(result(OLD), result(OLD), path="x")["lost"] == []
    with pytest.raises(InvalidArgument, match="k = 5"):
        find_regressions(result(NEW), result(OLD, k=5), path="x")


def test_relabelled_cases_are_not_compared() -> None:
    with pytest.raises(InvalidArgument, match="no case"):
        compare(result(NEW), result(OLD, expected="s/z"), path="x")
    with pytest.raises(InvalidArgument, match="no case"):
        find_regressions(result({"other": []}), result(OLD), path="x")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", '{"format": "tool-rag eval 1"}', '{"format": "tool-rag eval 1", "cases": 1}'],
)
def test_other_files_are_no_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"result\.json"):
        read_result(str(path))
    with pytest.raises(SourceError, match="can't be read"):
        read_result(str(tmp_path))


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    made = result(OLD)
    path = tmp_path / "result.json"
    path.write_text(json.dumps(made))
    assert read_result(str(path)) == json.loads(json.dumps(made))
