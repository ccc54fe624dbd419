"""Paths, folders, standard input, names of servers, and what becomes of faults."""

from __future__ import annotations

import io
import json
import os

import pytest

from tool_rag_pg.errors import InvalidArgument
from tool_rag_pg.sources import FORMATS, read_exports

from .conftest import check_error, names

TOOLS = {"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}


def test_folder_in_order_with_hidden_files_left_out(write, tmp_path):
    for name in ("b.json", "a.yaml", "sub/c.jsonl", ".hidden.json", ".git/d.json", "note.txt"):
        write(json.dumps(TOOLS), name)
    result = read_exports([tmp_path])
    assert list(names(result)) == ["a", "b", "c"]
    assert [export.path for export in result.exports] == [
        str(tmp_path / "a.yaml"),
        str(tmp_path / "b.json"),
        str(tmp_path / "sub" / "c.jsonl"),
    ]
    assert (result.errors, result.skipped) == ((), ())


def test_broken_file_leaves_the_others_alone(write, tmp_path):
    write(TOOLS, "good.json")
    bad = write({"tools": [TOOLS["tools"][0], {"name": 5, "inputSchema": {}}]}, "bad.json")
    result = read_exports([tmp_path])
    assert names(result) == {"good": ["a"]}
    (error,) = result.errors
    check_error(error, bad)


def test_file_with_one_broken_server_is_not_kept_at_all(fail):
    fail({"a": TOOLS, "b": {"tools": [{"name": 5, "inputSchema": {}}]}})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("PROVENANCE.jsonl", [{"file": "a.json", "server": "a", "n_tools": 1}]),
        ("package.json", {"name": "x", "version": "1.0.0", "description": "A package"}),
        ("requests.jsonl", [{"id": 1, "query": "Book it", "expected": ["a"]}]),
        ("people.json", [{"name": "Ann", "description": "Engineer"}]),
        ("agent.json", {"name": "helper", "tools": ["bash", "read"]}),
        ("numbers.json", [1, 2, 3]),
        ("empty.json", {}),
        ("compose.yaml", "services:\n  db: {image: postgres}\n"),
    ],
)
def test_files_that_are_no_exports(write, tmp_path, name, content):
    write(TOOLS, "good.json")
    path = write(content, name)
    result = read_exports([tmp_path])
    assert result.errors == ()
    assert names(result) == {"good": ["a"]}
    (skipped,) = result.skipped
    assert skipped.path == str(path)
    assert skipped.reason
    (error,) = read_exports([path]).errors
    check_error(error, path)
    assert skipped.reason in error.message


def test_skipping_holds_for_a_forced_format_too(write, tmp_path):
    write(TOOLS, "good.json")
    write([{"file": "a.json", "server": "a"}], "PROVENANCE.jsonl")
    result = read_exports([tmp_path], format="mcp")
    assert (len(result.exports), len(result.skipped), result.errors) == (1, 1, ())


def test_folder_without_exports_is_an_error(write, tmp_path):
    (error,) = read_exports([tmp_path]).errors
    check_error(error, tmp_path)
    write({"name": "x"}, "package.json")
    result = read_exports([tmp_path])
    (error,) = result.errors
    check_error(error, tmp_path)
    assert len(result.skipped) == 1


def test_broken_file_is_error_enough_for_its_folder(write, tmp_path):
    write("{", "broken.json")
    assert len(read_exports([tmp_path]).errors) == 1


def test_missing_file_and_impossible_path(tmp_path):
    result = read_exports([tmp_path / "nowhere.json", "a\0b"])
    assert [error.hint is not None for error in result.errors] == [True, True]
    check_error(result.errors[0], tmp_path / "nowhere.json")


def test_unreadable_file(write, monkeypatch):
    path = write(TOOLS)

    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    (error,) = read_exports([path]).errors
    check_error(error, path)
    assert "permission denied" in error.message


def test_unreadable_folder_inside_a_folder(write, tmp_path, monkeypatch):
    write(TOOLS, "good.json")
    write(TOOLS, "locked/bad.json")
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr("os.scandir", refuse)
    result = read_exports([tmp_path])
    assert names(result) == {"good": ["a"]}
    (error,) = result.errors
    check_error(error, tmp_path / "locked")


def test_links_that_run_in_a_circle(write, tmp_path):
    write(TOOLS, "sub/good.json")
    (tmp_path / "sub" / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self.json").symlink_to(tmp_path / "self.json")
    result = read_exports([tmp_path])
    assert names(result) == {"good": ["a"]}
    (error,) = result.errors
    check_error(error, tmp_path / "self.json")


def test_file_named_twice_is_read_once(write, tmp_path):
    path = write(TOOLS)
    (tmp_path / "link.json").symlink_to(path)
    result = read_exports([path, tmp_path, path])
    assert (names(result), result.errors) == ({"acme": ["a"]}, ())


def test_pipe_in_a_folder_does_not_block(write, tmp_path):
    write(TOOLS)
    os.mkfifo(tmp_path / "pipe.json")
    assert names(read_exports([tmp_path])) == {"acme": ["a"]}


@pytest.mark.parametrize("stream", [io.StringIO, lambda text: io.BytesIO(text.encode("utf-16"))])
def test_standard_input(stream):
    result = read_exports(["-"], server="given", stdin=stream(json.dumps(TOOLS)))
    assert names(result) == {"given": ["a"]}
    assert result.exports[0].path == "-"


def test_standard_input_by_default(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps({"server": "s", **TOOLS}).encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert names(read_exports(["-", "-"])) == {"s": ["a"]}


def test_standard_input_that_names_no_server():
    (error,) = read_exports(["-"], stdin=io.StringIO(json.dumps(TOOLS))).errors
    check_error(error, "-")
    assert "--server" in error.hint


@pytest.mark.parametrize(
    "text",
    [
        "tools:\n- name: a\n  inputSchema: {}\n",
        '{"name": "a", "parameters": {}}\n{"name": "b", "parameters": {}}\n',
        "openapi: 3.1.0\ninfo: {}\npaths: {/a: {get: {operationId: a}}}\n",
        '{"a": "\ud800"',
    ],
)
def test_standard_input_of_every_syntax(text):
    result = read_exports(["-"], server="s", stdin=io.StringIO(text))
    assert len(result.exports) + len(result.errors) == 1


@pytest.mark.parametrize(
    ("file", "server"),
    [
        ("GitHub MCP Server.json", "github-mcp-server"),
        ("notion_openapi.v1.json", "notion_openapi.v1"),
        ("天気.json", "天気"),
        ("shop/catalog.json", "shop"),
        ("-lead-.json", "lead"),
    ],
)
def test_server_from_the_files_name(read, file, server):
    assert read(TOOLS, file).server == server


def test_file_name_without_a_letter(fail):
    assert "--server" in fail(TOOLS, "---.json").hint


def test_servers_own_name_is_trimmed_and_free_of_slashes(read):
    export = read({"server": " io.github.acme/search\n", **TOOLS})
    assert export.server == "io.github.acme-search"
    assert "io.github.acme/search" in export.warnings[0]
    assert read({"server": " spaced name ", **TOOLS}).server == "spaced name"


def test_own_names_that_become_equal(fail):
    assert "'a-b'" in fail({"a/b": TOOLS, "a-b": TOOLS}).message


def test_own_name_that_cannot_be_kept(fail):
    assert "--server" in fail({"server": "n" * 257, **TOOLS}).hint


@pytest.mark.parametrize("server", ["", " ", "a/b", "a\nb", "n" * 257])
def test_impossible_server_option(write, server):
    with pytest.raises(InvalidArgument, match="server"):
        read_exports([write(TOOLS)], server=server)


def test_server_option_is_trimmed(read):
    assert read(TOOLS, server=" given ").server == "given"


def test_unknown_format_and_no_paths(write):
    with pytest.raises(InvalidArgument, match="'mpc'") as caught:
        read_exports([write(TOOLS)], format="mpc")
    assert all(name in caught.value.hint for name in FORMATS)
    with pytest.raises(InvalidArgument):
        read_exports([])
    with pytest.raises(InvalidArgument):
        read_exports(str(write(TOOLS)))


def test_two_files_of_one_server_are_both_refused(write):
    first, second = write(TOOLS, "one.json"), write(TOOLS, "two.json")
    other = write(TOOLS, "other.json")
    assert len(read_exports([first, second], server="s").exports) == 0
    write({"server": "one", **TOOLS}, "two.json")
    result = read_exports([first, second, other])
    assert names(result) == {"other": ["a"]}
    (error,) = result.errors
    check_error(error, second)
    assert str(first) in error.message
    assert "'one'" in error.message
