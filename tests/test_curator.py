from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tool_rag_pg.curator import Curator, get_curator, load_tool_context
from tool_rag_pg.embedded import EmbeddedServer
from tool_rag_pg.errors import InvalidArgument, SchemaNotReady, SourceError
from tool_rag_pg.models import ServerChange
from tool_rag_pg.retriever import ToolRetriever

Connection = psycopg.Connection[Any]

TOOLS = [
    ("submit_grievance", "File a formal grievance with the authority."),
    ("transfer_funds", "Transfer money to another person's bank account."),
    ("get_weather", "Current weather of a city."),
    ("book_train", "Reserve seats on a train."),
    ("list_holidays", "Public holidays of a country."),
]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MODE", "TOP_K", "CONTEXT"):
        monkeypatch.delenv(f"TOOL_CURATOR_{name}", raising=False)


@pytest.fixture
def curator(connection: Connection) -> Curator:
    made = get_curator(mode="rag", top_k=2, connection=connection)
    made.build_index(TOOLS)
    return made


# A program for the interface, which knows nothing else of this package.
PROGRAM = """
import json, sys
from tool_rag_pg.curator import get_curator, load_tool_context

TOOLS = [tuple(pair) for pair in json.load(sys.stdin)]

class Agent:
    def __init__(self, tools):
        self.tools = tools
        self.curator = get_curator()
        self.curator.build_index(tools, extra_context=load_tool_context())

    def prompt(self, message):
        return [name for name, description in self.curator.select(message, self.tools)]

agent = Agent(TOOLS)
print(json.dumps([agent.prompt(message) for message in sys.argv[1:]]))
"""


@pytest.mark.parametrize(
    ("mode", "found"),
    [
        ("none", [[name for name, _ in TOOLS]] * 3),
        ("keyword", [["transfer_funds"], ["submit_grievance"], []]),
        ("dense", [["transfer_funds"], ["submit_grievance"], ["get_weather"]]),
        ("rag", [["transfer_funds"], ["submit_grievance"], ["get_weather"]]),
    ],
)
def test_a_program_of_the_interface_runs_unchanged(
    database: str, tmp_path: Path, mode: str, found: list[list[str]]
) -> None:
    context = tmp_path / "context.json"
    context.write_text('{"submit_grievance": "raise complaint lodge formal protest"}')
    settings = {
        "TOOL_RAG_DATABASE_URL": database,
        "TOOL_CURATOR_MODE": mode,
        "TOOL_CURATOR_TOP_K": "1",
        "TOOL_CURATOR_CONTEXT": str(context),
    }
    messages = ("Can I send money to Rahul?", "I'd like to lodge a complaint", "is it rainy")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *messages],
            input=json.dumps(TOOLS),
            env=os.environ | settings,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == found


def test_the_example_of_the_interface_holds(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_RAG_DATABASE_URL", database)
    curator = get_curator(mode="rag", top_k=3)
    curator.build_index(TOOLS, extra_context=load_tool_context())
    selected = curator.select("Can I send money to Rahul?", TOOLS)
    assert selected[0] == TOOLS[1]
    assert len(selected) <= 3
    curator.close()


@pytest.mark.parametrize("mode", ["keyword", "dense", "rag"])
def test_each_mode_finds_by_its_own_means(connection: Connection, mode: str) -> None:
    curator = get_curator(mode=mode, top_k=1, connection=connection)
    curator.build_index(TOOLS)
    assert curator.select("transfer money", TOOLS) == [TOOLS[1]]
    # "rainy" stands in no tool.
    meant = curator.select("is it going to be rainy", TOOLS)
    assert meant == ([] if mode == "keyword" else [TOOLS[2]])


def test_mode_none_gives_all_back_and_needs_no_database() -> None:
    curator = get_curator("none", database_url="postgresql://nowhere.invalid/x")
    assert curator.build_index(TOOLS) is None
    assert curator.select("money", TOOLS) == TOOLS


def test_settings_choose_mode_and_number(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (get_curator().mode, get_curator().top_k) == ("rag", 10)
    monkeypatch.setenv("TOOL_CURATOR_MODE", "keyword")
    monkeypatch.setenv("TOOL_CURATOR_TOP_K", "1")
    curator = get_curator(connection=connection)
    assert (curator.mode, curator.top_k) == ("keyword", 1)
    curator.build_index(TOOLS)
    assert len(curator.select("money of a country", TOOLS)) == 1
    assert get_curator("dense", 7).mode == "dense"
    assert get_curator("dense", 7).top_k == 7


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("TOOL_CURATOR_MODE", "magic", "TOOL_CURATOR_MODE is 'magic'"),
        ("TOOL_CURATOR_TOP_K", "many", "TOOL_CURATOR_TOP_K is 'many'"),
        ("TOOL_CURATOR_TOP_K", "0", "TOOL_CURATOR_TOP_K is 0"),
    ],
)
def test_settings_that_can_t_be_are_errors(
    variable: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidArgument, match=message):
        get_curator()


@pytest.mark.parametrize("options", [{"mode": "x"}, {"top_k": 0}, {"server": "a/b"}])
def test_arguments_that_can_t_be_are_errors(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        get_curator(**options)
    assert caught.value.hint


def test_building_again_changes_nothing(curator: Curator) -> None:
    again = curator.build_index(reversed(TOOLS))
    assert again == ServerChange(server="curator", added=0, changed=0, unchanged=5, removed=0)
    edited = curator.build_index([*TOOLS[1:], ("get_weather", "Rain and sun."), ("new", "")])
    assert edited == ServerChange(server="curator", added=1, changed=1, unchanged=3, removed=1)


def test_only_given_tools_come_back_as_they_were_given(curator: Curator) -> None:
    permitted = [("get_weather", "another text"), ("book_train", "")]
    for query in ("send money", "weather", "train", "grievance"):
        selected = curator.select(query, permitted)
        assert set(selected) <= set(permitted)
    assert curator.select("weather", permitted)[0] is permitted[0]


def test_a_small_permitted_set_is_not_starved_by_the_rest(connection: Connection) -> None:
    crowd = [(f"send_money_{n}", "Send money to a person's account.") for n in range(1200)]
    curator = get_curator(top_k=2, connection=connection)
    curator.build_index([*crowd, *TOOLS])
    # All of the crowd ranks above; of 1,205 rows a search returns 1,000 at most.
    selected = curator.select("send money to a person's account", TOOLS[2:4])
    assert sorted(selected) == sorted(TOOLS[2:4])
    assert curator.select("send money to a person's account", TOOLS)[0] == TOOLS[1]
    assert len(curator.select("send money", crowd)) == 2
    # The index is as it was, and the sets made on the way go with the next build.
    change = curator.build_index([*crowd, *TOOLS])
    assert change is not None
    assert change.unchanged == 1205
    permitted = ToolRetriever(connection).permitted_tools(roles=["curator"])
    assert {tool.server for tool in permitted} == {"curator"}


def test_tools_that_are_not_indexed_are_selected_too(curator: Curator) -> None:
    extended = [*TOOLS, ("play_music", "Play a song on the speakers.")]
    assert curator.select("put on some music", extended)[0] == extended[-1]
    assert curator.select("send money", TOOLS)[0] == TOOLS[1]


def test_selecting_works_without_building_and_in_another_process(connection: Connection) -> None:
    first = get_curator(top_k=1, connection=connection)
    assert first.select("send money", TOOLS) == [TOOLS[1]]
    # As a worker would that is given what one user may see.
    second = get_curator(top_k=1, connection=connection)
    assert second.select("weather", TOOLS[2:4]) == [TOOLS[2]]
    change = first.build_index(TOOLS)
    assert change is not None
    assert change.unchanged == 5


def test_further_words_are_found(connection: Connection) -> None:
    curator = get_curator("keyword", 2, connection=connection)
    curator.build_index(TOOLS)
    assert curator.select("I want to lodge a complaint", TOOLS) == []
    words = {"submit_grievance": "raise complaint lodge formal protest", "no_such_tool": "x"}
    change = curator.build_index(TOOLS, extra_context=words)
    assert change is not None
    assert (change.changed, change.unchanged) == (1, 4)
    assert curator.select("I want to lodge a complaint", TOOLS)[0] == TOOLS[0]
    listed = {name: text.split() for name, text in words.items()}
    again = curator.build_index(TOOLS, extra_context=listed)
    assert again is not None
    assert again.unchanged == 5
    gone = curator.build_index(TOOLS)
    assert gone is not None
    assert gone.changed == 1


def test_further_words_are_synonyms(connection: Connection) -> None:
    def synonyms() -> list[tuple[str | None, str]]:
        return [(each.tool, each.words) for each in retriever.list_synonyms("curator")]

    def change(words: Mapping[str, str | Sequence[str]]) -> tuple[int, int]:
        made = curator.build_index(TOOLS, extra_context=words)
        assert made is not None
        return made.changed, made.unchanged

    retriever = ToolRetriever(connection)
    curator = get_curator(top_k=2, connection=connection)
    curator.build_index(TOOLS)
    assert change({"submit_grievance": "raise complaint lodge", "book_train": "rail"}) == (2, 3)
    assert synonyms() == [("book_train", "rail"), ("submit_grievance", "raise complaint lodge")]
    (hit, *_) = retriever.search_tools("lodge a complaint", roles=["curator"], servers=["curator"])
    assert (hit.name, hit.title) == ("submit_grievance", None)
    assert hit.explain is not None
    assert hit.explain["synonym"] == "raise complaint lodge"
    assert hit.explain["words"]["matched"] == ["complaint", "lodge"]
    # The same again, as a list too, is no change; others replace them, and what is dropped goes.
    assert change(
        {"submit_grievance": ["raise", "complaint", "lodge"], "book_train": " rail\n", "x": "y"}
    ) == (0, 5)
    assert change({"submit_grievance": "protest", "get_weather": " "}) == (2, 3)
    assert synonyms() == [("submit_grievance", "protest")]
    keyword = get_curator("keyword", connection=connection)
    assert keyword.select("lodge a complaint", TOOLS) == []
    assert keyword.select("a protest", TOOLS) == TOOLS[:1]
    assert change({}) == (1, 4)
    assert synonyms() == []


def test_words_without_end_are_cut_between_words(connection: Connection) -> None:
    curator = get_curator("keyword", 1, connection=connection)
    words = " ".join(f"word{number}" for number in range(10_000))
    curator.build_index(
        TOOLS, extra_context={"book_train": f"{words} \0", "get_weather": "x" * 5000}
    )
    again = curator.build_index(
        TOOLS, extra_context={"book_train": words, "get_weather": "x" * 5000}
    )
    assert again is not None
    assert again.unchanged == 5
    assert curator.select("about word77", TOOLS) == [TOOLS[3]]
    listed = ToolRetriever(connection).list_synonyms("curator")
    assert 20 < len(listed) < 30


def test_a_set_that_is_indexed_apart_has_the_words_too(connection: Connection) -> None:
    curator = get_curator("keyword", 1, connection=connection)
    curator.build_index(TOOLS[:2], extra_context={"get_weather": "umbrella"})
    assert curator.select("an umbrella", TOOLS[:3]) == [TOOLS[2]]


def test_a_name_given_twice_keeps_all_its_pairs(connection: Connection) -> None:
    tools = [
        ("pay", "Settle an invoice."),
        ("pay", "Buy someone lunch."),
        ("pay", "Settle an invoice."),
        ("sing", "Sing a song."),
    ]
    curator = get_curator(top_k=3, connection=connection)
    change = curator.build_index(tools)
    assert change is not None
    assert change.added == 2
    assert curator.select("lunch", tools)[:2] == tools[:2]
    assert curator.select("settle the invoice", tools) == [*tools[:2], tools[3]]
    assert get_curator(top_k=1, connection=connection).select("lunch", tools) == tools[:1]


@pytest.mark.parametrize(
    "name", ["", "x" * 300, "nul\0byte", "half \ud800", "a/b*c", "検索", "'; drop table x; --"]
)
def test_any_name_and_description_can_be_indexed(connection: Connection, name: str) -> None:
    tools = [(name, "Find ancient maps. \0 \udfff"), ("sing", ""), ("long", "word " * 50_000)]
    curator = get_curator(top_k=1, connection=connection)
    curator.build_index(tools)
    assert curator.select("ancient maps", tools) == tools[:1]


@pytest.mark.parametrize("query", ["", " \n", "\u3000", "\0"])
def test_a_blank_message_selects_nothing_away(curator: Curator, query: str) -> None:
    assert curator.select(query, TOOLS) == TOOLS


def test_any_message_is_answered(curator: Curator, seed: int) -> None:
    letters = random.Random(seed)
    for length in (1, 30, 5_000, 30_000):
        query = "".join(chr(letters.randrange(1, 0xD800)) for _ in range(length))
        assert set(curator.select(query, TOOLS)) <= set(TOOLS)
    assert curator.select("money " * 10_000, TOOLS)[0] == TOOLS[1]
    assert curator.select("nul\0 money", TOOLS)[0] == TOOLS[1]
    assert curator.select("money", []) == []


def test_programs_with_names_of_their_own_keep_apart(connection: Connection) -> None:
    one = get_curator(top_k=5, connection=connection, server="one")
    two = get_curator(top_k=5, connection=connection, server="two")
    one.build_index(TOOLS[:2])
    two.build_index(TOOLS[2:])
    assert one.select("money", TOOLS[:2])[0] == TOOLS[1]
    assert set(two.select("money", TOOLS[2:])) <= set(TOOLS[2:])
    retriever = ToolRetriever(connection)
    assert {tool.server for tool in retriever.permitted_tools(roles=["one"])} == {"one"}


def test_a_database_without_the_schema_says_what_to_do(make_database: Any) -> None:
    with (
        get_curator(database_url=make_database()) as curator,
        pytest.raises(SchemaNotReady) as caught,
    ):
        curator.build_index(TOOLS)
    assert caught.value.hint == "run: tool-rag db upgrade"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # A short path: that of a socket may have about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="tool-rag-curator-") as folder:
        monkeypatch.setenv("TOOL_RAG_HOME", folder)
        yield Path(folder)
        EmbeddedServer(Path(folder, "pg18")).stop(immediate=True)


def test_without_a_database_the_embedded_one_is_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOL_RAG_DATABASE_URL", raising=False)
    with get_curator(top_k=1) as curator:
        curator.build_index(TOOLS)
        assert curator.select("send money", TOOLS) == [TOOLS[1]]
    assert (home / "pg18").is_dir()


# The context file


def test_the_context_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "context.json"
    path.write_text('{"a": "some words", "b": ["more", "words"]}', encoding="utf-8")
    assert load_tool_context(path) == {"a": "some words", "b": "more words"}
    assert load_tool_context() == {}
    monkeypatch.setenv("TOOL_CURATOR_CONTEXT", str(path))
    assert load_tool_context() == {"a": "some words", "b": "more words"}


@pytest.mark.parametrize("text", ["[1]", '{"a": 1}', '{"a": [1]}', "{", "\udcff"])
def test_a_context_that_is_none_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "context.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SourceError, match=r"context\.json"):
        load_tool_context(path)
    with pytest.raises(SourceError, match="none"):
        load_tool_context(tmp_path / "none")


def test_the_docs_example_runs(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_RAG_DATABASE_URL", database)
    text = (Path(__file__).parents[1] / "docs/curator.md").read_text(encoding="utf-8")
    known: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/curator.md", "exec"), known)
    assert len(known["selected"]) == 2
    known["curator"].close()
