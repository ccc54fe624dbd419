"""The configuration: what is accepted, and every fault with its place, none with its secret."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tool_rag_pg.cli.main import main
from tool_rag_pg.errors import InvalidArgument
from tool_rag_pg.gateway.config import ConfigError, Secrets, read_config
from tool_rag_pg.gateway.run import check_exposure

SERVER = {"name": "web", "url": "http://127.0.0.1:9000/mcp"}


def write(folder: Path, document: Any) -> Path:
    path = folder / "gateway.json"
    text = document if isinstance(document, str) else json.dumps(document)
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, document: Any, environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_config(write(folder, document), environment or {})
    return list(caught.value.faults)


def test_the_short_shape_is_accepted_as_it_stands(tmp_path: Path) -> None:
    config, secrets = read_config(
        write(
            tmp_path,
            {
                "name": "tools",
                "servers": [
                    {**SERVER, "headers": {"Authorization": "Bearer env:WEB_TOKEN", "X-Team": "a"}}
                ],
                "permissions": {"mode": "gatekeeper", "store": "policies.json"},
                "limit": 5,
            },
        ),
        {"WEB_TOKEN": "abc"},
    )
    assert (config.name, config.limit, config.permissions.store) == ("tools", 5, "policies.json")
    assert secrets.resolve(config.servers[0].headers["Authorization"]) == "Bearer abc"
    assert secrets.resolve(config.servers[0].headers["X-Team"]) == "a"
    assert "abc" not in repr(secrets) + repr(config)


def test_without_permissions_callers_need_keys(tmp_path: Path) -> None:
    config, _ = read_config(write(tmp_path, {"servers": [SERVER]}), {})
    assert config.permissions.mode == "keys"
    assert config.http.host == "127.0.0.1"
    assert config.confirmation.without_elicitation == "refuse"


def test_all_faults_at_once(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        {
            "servers": [
                {"name": "a/b", "url": "ftp://x"},
                {"name": "both", "url": "http://x/mcp", "command": "y"},
                {"name": "neither"},
            ],
            "limit": 0,
            "min_relevance": 7,
            "permissions": {"mode": "open"},
            "http": {"port": "80", "path": "/metrics"},
            "serverz": [],
            "always_on": ["no_slash"],
        },
    )
    places = {fault.partition(":")[0] for fault in found}
    assert places == {
        "servers[0].name",
        "servers[0].url",
        "servers[1]",
        "servers[2]",
        "limit",
        "min_relevance",
        "permissions.mode",
        "http.port",
        "http.path",
        "serverz",
        "always_on[0]",
    }


@pytest.mark.parametrize(
    ("server", "place"),
    [
        ({"headers": {"Authorization": "Bearer SECRET-VALUE"}}, "servers[0].headers"),
        ({"headers": {"X-Api-Key": "SECRET-VALUE"}}, "servers[0].headers"),
        ({"headers": {"Cookie": "a=SECRET-VALUE"}}, "servers[0].headers"),
        ({"headers": {"X": "SECRET-VALUE\r\nHost: y"}}, "servers[0].headers"),
        ({"headers": {"Host": "SECRET-VALUE"}}, "servers[0].headers"),
        ({"url": "http://user:SECRET-VALUE@x/mcp"}, "servers[0].url"),
        ({"url": "http://x/mcp?api_key=SECRET-VALUE"}, "servers[0].url"),
        (
            {"url": None, "command": "x", "env": {"GITHUB_TOKEN": "SECRET-VALUE"}},
            "servers[0].env",
        ),
    ],
)
def test_no_secret_stands_in_the_file(tmp_path: Path, server: dict[str, Any], place: str) -> None:
    merged = {**SERVER, **server}
    (fault,) = faults(tmp_path, {"servers": [{k: v for k, v in merged.items() if v is not None}]})
    assert fault.startswith(f"{place}: ")
    assert "SECRET-VALUE" not in fault


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ("", "line 1, column 1"),
        ('{"servers": [}', "line 1, column 14"),
        ("[]", "no JSON object"),
        ('{"servers": [], "servers": []}', "stands twice"),
        ({}, "servers: this setting is missing"),
        ({"servers": []}, "servers: "),
        ({"servers": [SERVER, SERVER]}, "servers[1].name: 'web' is also the name of servers[0]"),
        (
            {"servers": [{**SERVER, "headers": {"A": "env:NOT_SET"}}]},
            "servers[0].headers.A: the environment variable NOT_SET is not set",
        ),
        ({"servers": [SERVER], "database": "env:NOT_SET"}, "database: the environment variable"),
        ({"servers": [SERVER], "database": "postgresql://u:pw@h/d"}, "database: it holds a pass"),
        ({"servers": [SERVER], "http": {"metrics_key": "abc"}}, "http.metrics_key: it is a secret"),
        ({"servers": [SERVER], "permissions": {"mode": "gatekeeper"}}, "needs a store"),
        ({"servers": [SERVER], "permissions": {"mode": "oauth"}}, "needs a provider"),
        ({"servers": [SERVER], "permissions": {"mode": "none", "store": "x"}}, "has no store"),
        ({"servers": [SERVER], "always_on": ["other/tool"]}, "'other' is none of the servers"),
        (
            {
                "servers": [{**SERVER, "forward_key": True}],
                "permissions": {"mode": "none"},
            },
            "no caller has a key",
        ),
    ],
)
def test_faults(tmp_path: Path, document: Any, fault: str) -> None:
    assert fault in "; ".join(faults(tmp_path, document))


def test_a_network_is_not_let_in_by_accident(tmp_path: Path) -> None:
    def check(**more: Any) -> None:
        config, _ = read_config(write(tmp_path, {"servers": [SERVER], **more}), {})
        check_exposure(config)

    check()
    check(http={"host": "::1"}, permissions={"mode": "none"})
    check(http={"host": "10.0.0.1"})
    check(http={"host": "0.0.0.0", "allowed_hosts": ["tools.example.org"]})
    with pytest.raises(InvalidArgument, match="everyone on the network"):
        check(http={"host": "10.0.0.1"}, permissions={"mode": "none"})
    with pytest.raises(InvalidArgument, match="allowed_hosts"):
        check(http={"host": "0.0.0.0"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
KEYS = st.sampled_from(
    ["servers", "name", "permissions", "limit", "http", "limits", "log", "always_on", "database"]
)


@given(st.dictionaries(KEYS, JSON) | JSON)
def test_nonsense_is_refused_with_its_place(
    tmp_path_factory: pytest.TempPathFactory, document: Any
) -> None:
    path = write(tmp_path_factory.mktemp("config"), document)
    with pytest.raises(ConfigError) as caught:
        read_config(path, {})
    assert caught.value.faults
    assert all(fault and "\n" not in fault for fault in caught.value.faults)


@given(st.text() | st.from_regex(r"([a-z]+ )?env:[A-Za-z_]\w*", fullmatch=True))
def test_references(value: str) -> None:
    secrets = Secrets({})
    name = secrets.missing(value)
    if name is None:
        assert secrets.resolve(value) == value
    else:
        assert Secrets({name: "x"}).resolve(value) in ("x", f"{value.partition(' ')[0]} x")


def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOL_RAG_KEY_SECRET", raising=False)

    def check(path: Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["serve", str(path), "--check"])
        return int(ended.value.code or 0), capsys.readouterr().err

    code, said = check(write(tmp_path, {"servers": []}))
    assert code == 2
    assert "servers: " in said
    assert "docs/gateway.md" in said
    assert check(tmp_path / "none.json")[0] == 2
    code, said = check(write(tmp_path, {"servers": [SERVER]}))
    assert code == 2
    assert "TOOL_RAG_KEY_SECRET is not set" in said
    monkeypatch.setenv("TOOL_RAG_KEY_SECRET", "s" * 64)
    code, said = check(write(tmp_path, {"servers": [SERVER]}))
    assert code == 0
    assert "is right" in said


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "tool_rag_pg.gateway.run", raising=False)
    # What the import of a package that is not installed raises.
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(SystemExit) as ended:
        main(["serve", str(write(tmp_path, {"servers": [SERVER]}))])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "needs the package uvicorn" in said
    assert "pip install 'tool-rag-pg[gateway]'" in said
