"""BFCL from the wheel of its package, without a network: pip has a folder for its index."""

from __future__ import annotations

import importlib.util
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.bfcl_package import (
    CATEGORIES,
    DATA,
    FILES,
    answer,
    function,
    lines,
    make_wheel,
    request,
)
from tool_rag_pg.errors import InvalidArgument, SourceError, ToolRagError
from tool_rag_pg.evaluation import fetch
from tool_rag_pg.evaluation.fetch import fetch_bfcl

SIMPLE = f"{DATA}/BFCL_v4_live_simple.json"
SIMPLE_ANSWERS = f"{DATA}/possible_answer/BFCL_v4_live_simple.json"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for its only index."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_the_live_part_is_pooled(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    told: list[str] = []
    found = fetch_bfcl(tmp_path / "sets", wheel=wheel, progress=told.append)
    folder = tmp_path / "sets" / "bfcl"
    assert (found.set, found.folder, found.version) == ("bfcl", str(folder), "9.8.7")
    assert (found.tools, found.requests, found.sgd_style, found.is_new) == (2, 4, 1, True)
    assert told == [f"Reading {category} ..." for category in CATEGORIES]
    assert rows(folder / "catalog.jsonl") == [
        {
            "name": "get_weather",
            # The first function of a name.
            "description": "Says whether it rains.",
            "parameters": {
                "type": "object",
                "required": [],
                "properties": {
                    "place": {"type": "string"},
                    "degrees": {"type": "number", "default": 1.0},
                    "type": {"description": "anything"},
                    "pair": {"type": "array", "items": {"type": "integer"}},
                },
            },
        },
        {
            "name": "Movies_1_FindMovies",
            "description": "Finds films.",
            "parameters": {
                "type": "object",
                "required": [],
                "properties": {"place": {"type": "string"}},
            },
        },
    ]
    asked = rows(folder / "requests.jsonl")
    assert asked[0] == {
        "id": "live_simple_0",
        "query": "will it rain in Łódź?",
        "expected": ["get_weather"],
        "category": "live_simple",
        "sgd_style": False,
    }
    assert [(row["expected"], row["sgd_style"]) for row in asked[1:]] == [
        (["Movies_1_FindMovies"], True),
        (["get_weather"], False),
        (["get_weather", "Movies_1_FindMovies"], False),
    ]
    notice = (folder / "NOTICE.txt").read_text()
    assert "Apache License" in notice
    assert "version 9.8.7" in notice
    # Nothing was unpacked, and nothing was left.
    assert sorted(path.name for path in tmp_path.iterdir()) == [wheel.name, "sets"]
    assert [path.name for path in (tmp_path / "sets").iterdir()] == ["bfcl"]


def test_pip_downloads_it_once(tmp_path: Path, index: Path) -> None:
    wheel = make_wheel(index)
    told: list[str] = []
    found = fetch_bfcl(tmp_path / "sets", version="9.8.7", progress=told.append)
    assert told[0] == "Downloading bfcl-eval 9.8.7 ..."
    assert found.is_new
    wheel.unlink()
    again = fetch_bfcl(tmp_path / "sets", version="9.8.7")
    assert not again.is_new
    assert again.sha256 == found.sha256
    # Another version takes its place as a whole; one that was edited is made anew.
    make_wheel(index, version="9.9")
    assert fetch_bfcl(tmp_path / "sets", version="9.9").version == "9.9"
    edited = tmp_path / "sets" / "bfcl" / "requests.jsonl"
    text = edited.read_text()
    edited.write_text("")
    assert fetch_bfcl(tmp_path / "sets", version="9.9").is_new
    assert edited.read_text() == text
    assert [path.name for path in (tmp_path / "sets").iterdir()] == ["bfcl"]


def test_a_known_version_must_have_its_known_hash(tmp_path: Path, index: Path) -> None:
    make_wheel(index, version=fetch.VERSION)
    with pytest.raises(ToolRagError, match="DO NOT MATCH THE HASHES"):
        fetch_bfcl(tmp_path / "sets")
    assert not (tmp_path / "sets" / "bfcl").exists()


def test_what_can_not_be_had(tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolRagError, match=r"pip could not get bfcl-eval 9\.8\.7: ") as caught:
        fetch_bfcl(tmp_path / "sets", version="9.8.7")
    assert "--only-binary :all: bfcl-eval==9.8.7" in str(caught.value.hint)
    # Source distributions are left alone: pip would run them.
    (index / "bfcl_eval-9.8.7.tar.gz").write_bytes(b"")
    with pytest.raises(ToolRagError, match="pip could not get"):
        fetch_bfcl(tmp_path / "sets", version="9.8.7")
    for version in ("--editable", "1 --pre", "", "1\n-e ."):
        with pytest.raises(InvalidArgument, match="is no version"):
            fetch_bfcl(tmp_path / "sets", version=version)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pip" else pytest.fail(name)
    )
    with pytest.raises(ToolRagError, match="there is no pip in") as missing:
        fetch_bfcl(tmp_path / "sets")
    assert "pass it by --from" in str(missing.value.hint)


def test_an_index_that_is_not_there(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ToolRagError, match="pip could not get bfcl-eval") as caught:
        fetch_bfcl(tmp_path / "sets")
    assert "secret" not in f"{caught.value} {caught.value.hint}"
    assert list((tmp_path / "sets").iterdir()) == []


def broken(*good: dict[str, Any], bad: str) -> str:
    return lines(list(good)) + bad + "\n"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({SIMPLE: None}, r"BFCL_v\*_live_simple.json: there are 0 such files"),
        ({f"{DATA}/BFCL_v5_live_simple.json": ""}, "there are 2 such files"),
        ({SIMPLE_ANSWERS: ""}, r"live_simple.json: line 1: 'live_simple_0' has no possible answer"),
        ({SIMPLE: broken(*FILES[SIMPLE], bad='{"id": ')}, r"simple.json: line 2: it is not valid"),
        ({SIMPLE: broken(*FILES[SIMPLE], bad="[" * 100_000)}, "line 2: it is not valid JSON"),
        ({SIMPLE: broken(*FILES[SIMPLE], bad="[]")}, "line 2: it is no object with an id"),
        ({SIMPLE: '\n\n{"id": "x"}'}, "line 3: it is no request: KeyError: 'function'"),
        (
            {SIMPLE: lines([{**request("x", "?"), "function": [{"name": ""}]}])},
            "line 1: it is no request: TypeError: a function has no name",
        ),
        ({SIMPLE: lines([request("x", " ")])}, "line 1: it is no request: no user says anything"),
        (
            {SIMPLE_ANSWERS: lines([answer("live_simple_0", "shell")])},
            r"possible_answer/BFCL_v4_live_simple.json: line 1: it calls 'shell', which is no",
        ),
        ({SIMPLE_ANSWERS: lines([answer("live_simple_0")])}, "line 1: it calls none"),
        ({SIMPLE_ANSWERS: '{"id": "live_simple_0"}'}, "line 1: it is no answer: KeyError"),
        ({SIMPLE_ANSWERS: '{"id": "live_simple_0", "ground_truth": 5}'}, "it is no answer"),
        ({"bfcl_eval-9.8.7.dist-info/METADATA": "Name: x"}, "METADATA: it states no version"),
    ],
)
def test_a_wheel_that_is_not_as_it_should_be(
    tmp_path: Path, changed: dict[str, str | None], said: str
) -> None:
    wheel = make_wheel(tmp_path, changed=changed)
    with pytest.raises(SourceError, match=said) as caught:
        fetch_bfcl(tmp_path / "sets", wheel=wheel)
    assert caught.value.path == str(wheel)
    assert fetch.VERSION in str(caught.value.hint)
    assert list((tmp_path / "sets").iterdir()) == []


def test_a_wheel_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_MOST_BYTES", 200)
    with pytest.raises(SourceError, match=r"it has [\d,]+ bytes"):
        fetch_bfcl(tmp_path / "sets", wheel=make_wheel(tmp_path))


def test_a_file_that_is_no_wheel(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_text("x")
    with pytest.raises(SourceError, match="it is no wheel"):
        fetch_bfcl(tmp_path / "sets", wheel=tmp_path / "x.whl")
    with pytest.raises(SourceError, match="it can't be read: No such file"):
        fetch_bfcl(tmp_path / "sets", wheel=tmp_path / "absent.whl")


def test_what_is_there_already_is_not_lost(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    mine = tmp_path / "sets" / "bfcl"
    mine.mkdir(parents=True)
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidArgument, match="was not made by this command"):
        fetch_bfcl(tmp_path / "sets", wheel=wheel)
    assert (mine / "thesis.txt").read_text() == "years of work"
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError, match="it can't be written"):
        fetch_bfcl(tmp_path / "file", wheel=wheel)


def test_several_at_once(tmp_path: Path) -> None:
    wheels = []
    for version in ("1.0", "1.1"):
        wheels.append(make_wheel(tmp_path, version=version))
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                fetch_bfcl(tmp_path / "sets", wheel=wheels[(number + turn) % 2])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [path.name for path in (tmp_path / "sets").iterdir()] == ["bfcl"]
    assert len(rows(tmp_path / "sets" / "bfcl" / "requests.jsonl")) == 4


def test_names_that_look_like_sgd_s(tmp_path: Path) -> None:
    names = ("Movies_1_FindMovies", "Homes_2_x", "movies_1_Find", "RideSharing_22_GetRide")
    asked = [request(f"r{number}", name, function(name)) for number, name in enumerate(names)]
    answers = [answer(f"r{number}", name) for number, name in enumerate(names)]
    wheel = make_wheel(tmp_path, changed={SIMPLE: lines(asked), SIMPLE_ANSWERS: lines(answers)})
    fetch_bfcl(tmp_path / "sets", wheel=wheel)
    asked = rows(tmp_path / "sets" / "bfcl" / "requests.jsonl")[:4]
    assert [row["sgd_style"] for row in asked] == [True, False, False, True]
