"""Keys of callers: stored by digest, good until they end, and never to be read."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from tests.sql.conftest import Connection, add_role, column, fetch, refused

DIGEST = sha256(b"one").digest()
OTHER = sha256(b"two").digest()
ID = "abcdefgh0123"


def add(connection: Connection, name: str = "asha", public_id: str = ID, **more: Any) -> None:
    given = {"digest": DIGEST, "roles": ["support"], "identity": {}, "expires_at": None} | more
    connection.execute(
        "select tool_rag.add_api_key(%s, %s, %s, %s, %s, %s)",
        [
            name,
            public_id,
            given["digest"],
            given["roles"],
            json.dumps(given["identity"]),
            given["expires_at"],
        ],
    )


def authenticate(connection: Connection, digest: bytes | None, public_id: str = ID) -> Any:
    return connection.execute(
        "select name, roles, identity, expires_at from tool_rag.authenticate_key(%s, %s)",
        [public_id, digest],
    ).fetchall()


@pytest.fixture
def company(connection: Connection) -> Connection:
    add_role(connection, "support")
    add_role(connection, "billing")
    return connection


def test_a_key_stands_for_roles_and_identity(company: Connection) -> None:
    add(company, roles=["support", "billing", "support"], identity={"agent_id": "a-17"})
    assert authenticate(company, DIGEST) == [
        ("asha", ["billing", "support"], {"agent_id": "a-17"}, None)
    ]
    assert (
        fetch(company, "select last_used_at = statement_timestamp() from tool_rag.api_key") is False
    )
    assert fetch(company, "select last_used_at is not null from tool_rag.api_key") is True


@pytest.mark.parametrize(
    "digest", [OTHER, b"", None, DIGEST[:31], DIGEST + b"\0", sha256(DIGEST).digest()]
)
def test_another_digest_is_no_key(company: Connection, digest: bytes | None) -> None:
    add(company)
    assert authenticate(company, digest) == []
    assert authenticate(company, digest, "zzzzzzzzzzzz") == []
    assert authenticate(company, DIGEST, "zzzzzzzzzzzz") == []
    assert fetch(company, "select last_used_at from tool_rag.api_key") is None


def test_a_key_ends(company: Connection) -> None:
    add(company, expires_at="infinity")
    company.execute("update tool_rag.api_key set expires_at = statement_timestamp()")
    assert authenticate(company, DIGEST) == []
    assert column(company, "select state from tool_rag.list_api_keys()") == ["expired"]


def test_a_revoked_key_is_worthless_for_good(company: Connection) -> None:
    add(company)
    company.execute("select tool_rag.revoke_api_key('asha')")
    assert authenticate(company, DIGEST) == []
    assert column(company, "select state from tool_rag.list_api_keys()") == ["revoked"]
    with refused(company, "55000", 'key "asha" is revoked'):
        company.execute("select tool_rag.rotate_api_key('asha', %s)", [OTHER])
    with refused(company, "23505", 'there is a key "asha" already'):
        add(company, public_id="zzzzzzzzzzzz")


def test_after_a_rotation_the_former_key_is_good_for_its_grace_only(company: Connection) -> None:
    add(company)
    assert fetch(company, "select tool_rag.rotate_api_key('asha', %s, '1 day')", OTHER) == ID
    assert authenticate(company, OTHER)
    assert authenticate(company, DIGEST)
    company.execute("update tool_rag.api_key set former_until = statement_timestamp()")
    assert authenticate(company, OTHER)
    assert authenticate(company, DIGEST) == []
    company.execute("select tool_rag.rotate_api_key('asha', %s)", [DIGEST])
    assert authenticate(company, OTHER) == []


def test_a_key_without_its_roles_asks_with_none(company: Connection) -> None:
    add(company)
    company.execute("select tool_rag.remove_role('support')")
    assert authenticate(company, DIGEST) == [("asha", [], {}, None)]


def test_a_key_is_checked_in_a_read_only_transaction(company: Connection) -> None:
    add(company)
    company.execute("set local transaction_read_only = on")
    assert authenticate(company, DIGEST)


def test_no_digest_leaves_the_table(company: Connection) -> None:
    add(company)
    company.execute("select tool_rag.rotate_api_key('asha', %s)", [OTHER])
    said = str(company.execute("select * from tool_rag.list_api_keys()").fetchall())
    said += str(company.execute("select * from tool_rag.list_changes()").fetchall())
    for digest in (DIGEST, OTHER):
        assert digest.hex() not in said
        assert repr(digest)[2:-1] not in said
    assert column(
        company, "select label from tool_rag.list_changes(objects => '{api_key,api_key_role}')"
    ) == ["asha", "asha has role support", "asha"]


@pytest.mark.parametrize(
    ("state", "says", "more"),
    [
        ("22023", "a digest has 32 bytes, this one 3", {"digest": b"abc"}),
        ("22023", "a digest has 32 bytes, this one none", {"digest": None}),
        ("22023", "a key's name has 1 to 256 characters", {"name": ""}),
        ("22023", "a key's public id has 12", {"public_id": "Abc"}),
        ("22023", "a key needs a role", {"roles": []}),
        ("22023", "identity is no JSON object", {"identity": [1]}),
        ("22023", "the key would end before it begins", {"expires_at": "2020-01-01"}),
        ("42704", 'role "nobody" does not exist', {"roles": ["nobody"]}),
    ],
)
def test_keys_that_can_not_be(
    company: Connection, state: str, says: str, more: dict[str, Any]
) -> None:
    with refused(company, state, says):
        add(company, **more)
    assert fetch(company, "select count(*) from tool_rag.api_key") == 0


@pytest.mark.parametrize(
    "call", ["revoke_api_key('x')", "rotate_api_key('x', decode(repeat('00', 32), 'hex'))"]
)
def test_a_key_that_does_not_exist(company: Connection, call: str) -> None:
    with refused(company, "42704", 'key "x" does not exist'):
        company.execute(f"select tool_rag.{call}".encode())


def test_a_negative_grace(company: Connection) -> None:
    add(company)
    with refused(company, "22023", "grace is negative or null"):
        company.execute("select tool_rag.rotate_api_key('asha', %s, '-1 day')", [OTHER])
