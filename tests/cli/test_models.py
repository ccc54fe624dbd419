"""`tool-rag embed`, `tool-rag models`, and `tool-rag search --model`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.embedding.conftest import KEY, SIZE, Answer, FakeEndpoint, endpoint, well
from tool_rag_pg.retriever import ToolRetriever

__all__ = ["endpoint"]

pytestmark = pytest.mark.usefixtures("developer")


@pytest.fixture
def openai(endpoint: FakeEndpoint) -> list[str]:
    """Options for the model m of the fake endpoint."""
    return ["--model", "m", "--provider", "openai", "--base-url", endpoint.url]


def prompts(database: str) -> tuple[str, str]:
    with ToolRetriever(database) as retriever:
        model = retriever.list_embedding_models()[1]
        return model.query_prompt, model.document_prompt


def test_from_embedding_to_dropping(
    cli: Cli, database: str, endpoint: FakeEndpoint, openai: list[str]
) -> None:
    empty = cli("models", "list")
    assert [row["in use"] for row in empty.rows()] == ["yes"]
    done = cli("embed", *openai, "--query-prompt", "q: ", "--document-prompt", "d: ")
    assert (done.code, done.out) == (0, "")
    assert "m: 5 texts embedded in" in done.err
    assert f"5 vectors of {SIZE} dimensions; to use it: tool-rag models use 'm'" in done.err
    assert all(text.startswith("d: ") for text in endpoint.inputs()[-1])

    # Without options the prompts stay those that were registered.
    again = cli("embed", *openai, "--use", "--json")
    summary = again.json()
    assert summary.pop("seconds") >= 0
    assert summary == {
        "model": "m",
        "dimensions": SIZE,
        "is_new": False,
        "embedded": 0,
        "total": 5,
        "missing": 0,
        "is_active": True,
    }
    assert prompts(database) == ("q: ", "d: ")

    rows = {row["name"]: row for row in cli("models", "list").rows()}
    assert rows["m"] == {
        "name": "m",
        "dimensions": str(SIZE),
        "in use": "yes",
        "vectors": "5",
        "missing": "0",
    }
    assert rows["built-in"]["in use"] == "no"
    found = cli("search", "open a pull request", "--role", "developer", *openai, "--json")
    assert endpoint.inputs()[-1] == ["q: open a pull request"]
    assert {hit["explain"]["model"]["name"] for hit in found.json()} == {"m"}
    # The one in use needs no name.
    cli("search", "issues", "--role", "developer", *openai[2:])
    assert endpoint.asked[-1].question == {"model": "m", "input": ["q: issues"]}
    explained = cli("search", "issues", "--role", "developer", *openai, "--explain").rows()
    assert explained[0]["model"].startswith("#")
    asked = len(endpoint.asked)
    assert cli("search", "issues", "--role", "developer").code == 0
    assert len(endpoint.asked) == asked

    assert cli("models", "use", "built-in", "--json").json() == {
        "name": "built-in",
        "is_active": True,
    }
    (listed,) = (each for each in cli("models", "list", "--json").json() if each["name"] == "m")
    assert (listed["is_active"], listed["query_prompt"]) == (False, "q: ")
    dropped = cli("models", "drop", "m", "--json")
    assert dropped.json() == {"name": "m", "dropped": 5}
    assert [row["name"] for row in cli("models", "list").rows()] == ["built-in"]


def test_a_name_of_its_own_in_batches(
    cli: Cli, endpoint: FakeEndpoint, openai: list[str], database: str
) -> None:
    assert cli("embed", *openai, "--as", "mine", "--batch", "2", "--use").code == 0
    assert [len(each) for each in endpoint.inputs()] == [1, 2, 2, 1]
    assert {each.question["model"] for each in endpoint.asked} == {"m"}
    found = cli("search", "issues", "--role", "developer", *openai, "--as", "mine", "--json")
    assert found.json()[0]["explain"]["model"]["name"] == "mine"
    with ToolRetriever(database) as retriever:
        retriever.add_example("mail", "send_message", "write to Ann")
    assert "mine lacks 1 text: tool-rag embed" in cli("models", "list").err


def test_a_run_that_fails_keeps_what_is_stored(
    cli: Cli, endpoint: FakeEndpoint, openai: list[str], database: str
) -> None:
    size = {"input": ["size"]}
    endpoint.script = [
        *(Answer(body=well(question)) for question in (size, {"input": ["a", "b"]})),
        Answer(401, b'{"error": {"message": "wrong key"}}'),
    ]
    failed = cli("embed", *openai, "--batch", "2")
    assert (failed.code, failed.out) == (1, "")
    assert "refuses access (401)" in failed.err
    assert KEY not in failed.err
    with ToolRetriever(database) as retriever:
        assert retriever.list_embedding_models()[1].embedded == 2
    assert cli("embed", *openai, "--json").json()["embedded"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["search", "x", "--model", "nope"], 2, "the model 'nope' has embedded nothing here"),
        (["search", "x", "--provider", "openai"], 2, "no model is in use"),
        (["search", "x", "--model", "m", "--why-not", "a/b"], 2, "--why-not does not go with"),
        (["embed", "--model", "m", "--base-url", "http://x/v1"], 2, "is for --provider openai"),
        (["embed", "--model", "m", "--provider", "openai", "--base-url", "x"], 2, "can't be read"),
        (["embed"], 2, ""),
        (["models", "use", "nope"], 2, 'no embedding model "nope"'),
        (["models", "drop", "nope"], 2, 'no embedding model "nope"'),
        (["models", "drop", "built-in"], 2, "can't be dropped"),
    ],
)
def test_what_is_refused(cli: Cli, arguments: list[str], code: int, said: str) -> None:
    refused = cli(*arguments)
    assert (refused.code, refused.out) == (code, "")
    assert said in refused.err


def test_a_model_that_embedded_nothing_is_not_used(cli: Cli, database: str) -> None:
    with ToolRetriever(database) as retriever:
        retriever.add_embedding_model("m", SIZE)
    refused = cli("models", "use", "m")
    assert refused.code == 1
    assert "tool-rag embed --model NAME" in refused.err


def test_a_package_that_is_missing_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, Any] = __import__("sys").modules
    monkeypatch.setitem(modules, "sentence_transformers", None)
    missing = cli("embed", "--model", "m")
    assert (missing.code, missing.out) == (1, "")
    assert "sentence-transformers is not installed" in missing.err
    assert "pip install 'tool-rag-pg[sentence-transformers]'" in missing.err
