"""`tool-rag keys`, and what a gateway makes of a key that was sent."""

from __future__ import annotations

import base64

import pytest

from tests.cli.conftest import Cli
from tool_rag_pg.errors import InvalidArgument
from tool_rag_pg.keys import authenticate, key_secrets, new_key
from tool_rag_pg.retriever import ToolRetriever

SECRET = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def roles(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_RAG_KEY_SECRET", SECRET)
    with ToolRetriever(database) as retriever:
        retriever.add_role("support")


def test_a_key_is_shown_once_and_then_known_by_its_digest(cli: Cli, database: str) -> None:
    made = cli(
        "keys",
        "add",
        "asha",
        "--role",
        "support",
        "--identity",
        "agent_id=a-17",
        "--identity",
        "level=3",
        "--expires",
        "90d",
    )
    key = made.out.strip()
    assert len(base64.urlsafe_b64decode(key.split("_", 2)[2] + "=")) == 32
    assert "can't be shown again" in made.err
    listed = cli("keys", "list", "--json")
    assert key not in listed.out
    assert key.split("_", 2)[2] not in listed.out + cli("audit", "changes", "--json").out
    (row,) = listed.json()
    assert (row["state"], row["roles"], row["last_used_at"]) == ("good", ["support"], None)
    with ToolRetriever(database) as retriever:
        caller = authenticate(retriever, key, key_secrets())
        assert caller is not None
        assert (caller.name, caller.roles) == ("asha", ["support"])
        assert caller.identity == {"agent_id": "a-17", "level": 3}
        # A key made with one secret is none under another, and good while both are listed.
        other = {"TOOL_RAG_KEY_SECRET": "f" * 32}
        assert authenticate(retriever, key, key_secrets(other)) is None
        both = {"TOOL_RAG_KEY_SECRET": f"{'f' * 32}, {SECRET}"}
        assert authenticate(retriever, key, key_secrets(both)) == caller
        for wrong in (key[:-1], key + "x", key.upper(), "", "trk_", "' or true --", "trk_a_b"):
            assert authenticate(retriever, wrong, key_secrets()) is None


def test_rotation_and_revocation(cli: Cli, database: str) -> None:
    first = cli("keys", "add", "asha", "--role", "support", "--json").json()["key"]
    # It is found by its name among others.
    assert cli("keys", "add", "ann", "--role", "support").code == 0
    second = cli("keys", "rotate", "asha", "--grace", "1h").out.strip()
    third = cli("keys", "rotate", "asha").out.strip()
    assert first.split("_")[1] == second.split("_")[1] == third.split("_")[1]
    with ToolRetriever(database) as retriever:
        good = [bool(authenticate(retriever, key, key_secrets())) for key in (first, second, third)]
        assert good == [False, False, True]
        cli("keys", "revoke", "asha")
        assert authenticate(retriever, third, key_secrets()) is None
    states = {row["name"]: row["state"] for row in cli("keys", "list").rows()}
    assert states == {"ann": "good", "asha": "revoked"}
    failed = cli("keys", "rotate", "asha")
    assert (failed.code, failed.out) == (1, "")
    assert "is revoked" in failed.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "asha", "--role", "nobody"), 'role "nobody" does not exist'),
        (("add", "asha", "--role", "support", "--identity", "x"), "not of the form NAME=VALUE"),
        (("add", "asha", "--role", "support", "--expires", "2020-01-01"), "in the future"),
        (("rotate", "asha"), 'key "asha" does not exist'),
        (("revoke", "asha"), 'key "asha" does not exist'),
    ],
)
def test_what_can_not_be_done(cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    failed = cli("keys", *arguments)
    assert failed.code in (1, 2)
    assert (failed.out, says in failed.err) == ("", True)
    assert cli("keys", "list", "--json").json() == []


@pytest.mark.parametrize("secret", ["", "short", f"{SECRET},short"])
def test_no_key_without_a_secret(cli: Cli, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("TOOL_RAG_KEY_SECRET", secret)
    failed = cli("keys", "add", "asha", "--role", "support")
    assert failed.code == 2
    assert "TOOL_RAG_KEY_SECRET" in failed.err
    assert "short" not in failed.err.replace("shorter", "")
    with pytest.raises(InvalidArgument):
        key_secrets()


def test_a_key_does_not_end_in_a_log() -> None:
    key = new_key(SECRET.encode())
    assert key.text not in repr(key)
    assert key.text not in f"{key}"
