"""sql/functions/040_catalogue.sql: an export and the catalogue are equal, or nothing happened."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sql.conftest import (
    Connection,
    add_role,
    add_server,
    add_tool,
    allow,
    column,
    export,
    fetch,
    found,
    refused,
    schema_of,
    search,
    undone,
    upsert,
)

EMPTY_SCHEMA = {"type": "object", "properties": {}}
MAIL = {
    "name": "send_mail",
    "title": "Send",
    "description": "Write an e-mail",
    "input_schema": schema_of("recipient", "body"),
    "output_schema": {"type": "object"},
    "annotations": {"destructiveHint": False},
    "is_action": True,
    "identity_parameters": ["sender", "tenant"],
}
# Everything that an upsert may touch, row by row, with what tells whether it did.
ROWS = """
    select 'tool', t.tool_id::text, t.ctid::text, t.xmin::text, t.updated_at::text, to_jsonb(t)
    from tool_rag.tool t
    union all
    select 'server', s.server_id::text, s.ctid::text, s.xmin::text, s.updated_at::text, to_jsonb(s)
    from tool_rag.server s
    union all
    select 'posting', p.lexeme_id || ' ' || p.tool_id, p.ctid::text, p.xmin::text, '', to_jsonb(p)
    from tool_rag.posting p
    union all
    select 'document', d.tool_id::text, d.ctid::text, d.xmin::text, '', to_jsonb(d)
    from tool_rag.document d
    union all
    select 'tool_vector', v.tool_id::text, v.ctid::text, v.xmin::text, '', null
    from tool_rag.tool_vector v
    union all
    select 'role_tool', r.role_id || ' ' || r.tool_id, r.ctid::text, r.xmin::text, '', to_jsonb(r)
    from tool_rag.role_tool r
"""


def rows(connection: Connection) -> set[tuple[Any, ...]]:
    return {(*row[:5], json.dumps(row[5])) for row in connection.execute(ROWS)}


def tools(connection: Connection, server: str) -> dict[str, dict[str, Any]]:
    return {
        row[0]["name"]: row[0]
        for row in connection.execute(
            "select to_jsonb(t) from tool_rag.tool t join tool_rag.server s using (server_id)"
            " where s.name = %s order by t.tool_id",
            [server],
        )
    }


def test_tools_are_added_changed_left_and_removed(connection: Connection) -> None:
    assert upsert(connection, export("s", "a", "b", "c")) == [("s", 3, 0, 0, 0)]
    assert upsert(connection, export("s", "a", "b", "c")) == [("s", 0, 0, 3, 0)]
    changed = {"name": "b", "description": "anew"}
    assert upsert(connection, export("s", "a", changed, "d", "e")) == [("s", 2, 1, 1, 1)]
    assert {name: tool["description"] for name, tool in tools(connection, "s").items()} == {
        "a": "",
        "b": "anew",
        "d": "",
        "e": "",
    }
    assert upsert(connection, export("s")) == [("s", 0, 0, 0, 4)]
    assert tools(connection, "s") == {}


def test_every_field_arrives(connection: Connection) -> None:
    upsert(connection, export("post", MAIL, title="Post", description="Letters"))
    tool = tools(connection, "post")["send_mail"]
    assert {key: tool[key] for key in MAIL} == MAIL
    assert connection.execute(
        "select title, description, enabled from tool_rag.server where name = 'post'"
    ).fetchone() == ("Post", "Letters", True)


def test_what_is_missing_or_null_gets_its_default(connection: Connection) -> None:
    nulls = dict.fromkeys(MAIL) | {"name": "b"}
    upsert(connection, export("s", "a", nulls))
    for tool in tools(connection, "s").values():
        assert tool["title"] is None
        assert tool["description"] == ""
        assert tool["input_schema"] == EMPTY_SCHEMA
        assert tool["output_schema"] is None
        assert tool["annotations"] == {}
        assert tool["is_action"] is True
        assert tool["identity_parameters"] == []
        assert tool["enabled"] is True


@pytest.mark.parametrize(
    "change",
    [
        {"title": "New"},
        {"title": None},
        {"description": "New"},
        {"input_schema": schema_of("recipient")},
        {"input_schema": {}},
        {"output_schema": {"type": "array"}},
        {"output_schema": None},
        {"annotations": {"readOnlyHint": True}},
        {"annotations": None},
        {"is_action": False},
        {"identity_parameters": ["tenant", "sender"]},
        {"identity_parameters": []},
    ],
    ids=str,
)
def test_a_change_of_any_field_is_a_change(connection: Connection, change: dict[str, Any]) -> None:
    upsert(connection, export("s", MAIL))
    assert upsert(connection, export("s", MAIL | change)) == [("s", 0, 1, 0, 0)]
    assert upsert(connection, export("s", MAIL | change)) == [("s", 0, 0, 1, 0)]
    # And back: nothing of it stays.
    upsert(connection, export("s", MAIL))
    tool = tools(connection, "s")["send_mail"]
    assert {key: tool[key] for key in MAIL} == MAIL


def test_the_order_of_keys_and_of_tools_is_no_change(connection: Connection) -> None:
    upsert(connection, export("s", MAIL, "b"))
    turned = dict(reversed(MAIL.items()))
    turned["input_schema"] = {"properties": schema_of("body", "recipient")["properties"]} | {
        "type": "object"
    }
    assert upsert(connection, export("s", "b", turned)) == [("s", 0, 0, 2, 0)]


def test_what_is_unchanged_is_not_touched(database: str) -> None:
    others = [{"name": name, "description": f"Do {name} with it"} for name in "abcdef"]
    with psycopg.connect(database) as connection:
        upsert(connection, [export("post", MAIL, *others), export("other", "x")])
        add_role(connection, "all")
        allow(connection, "all")
        connection.commit()
        before = rows(connection)
        connection.commit()
        # The same once more, in another transaction.
        assert upsert(connection, [export("post", MAIL, *others), export("other", "x")]) == [
            ("post", 0, 0, 7, 0),
            ("other", 0, 0, 1, 0),
        ]
        connection.commit()
        assert rows(connection) == before
        # One tool differs: of the others nothing is written.
        name = fetch(connection, "select tool_id from tool_rag.tool where name = 'c'")
        others[2]["description"] = "Quite another"
        assert upsert(connection, export("post", MAIL, *others)) == [("post", 0, 1, 6, 0)]
        connection.commit()
        gone = before - rows(connection)
        assert {(kind, key) for kind, key, *_ in gone if kind in ("tool", "document")} == {
            ("tool", str(name)),
            ("document", str(name)),
        }
        assert {key.split()[-1] for kind, key, *_ in gone if kind == "posting"} == {str(name)}
        assert {key for kind, key, *_ in gone if kind == "tool_vector"} == {str(name)}
        assert not [kind for kind, *_ in gone if kind in ("server", "role_tool")]


def test_a_changed_tool_keeps_its_id_and_a_new_time(database: str) -> None:
    with psycopg.connect(database) as connection:
        upsert(connection, export("s", "a"))
        connection.commit()
        before = tools(connection, "s")["a"]
        connection.commit()
        upsert(connection, export("s", {"name": "a", "description": "x"}))
        after = tools(connection, "s")["a"]
    assert after["tool_id"] == before["tool_id"]
    assert after["created_at"] == before["created_at"]
    assert after["updated_at"] > before["updated_at"]
    assert after["content_hash"] != before["content_hash"]


def test_servers_of_one_call_and_others_stay_apart(connection: Connection) -> None:
    upsert(connection, export("third", "a", "b"))
    assert upsert(connection, [export("one", "a", "b"), export("two", "b", "c")]) == [
        ("one", 2, 0, 0, 0),
        ("two", 2, 0, 0, 0),
    ]
    assert upsert(connection, [export("two", "b"), export("one", "a", "b", "c")]) == [
        ("two", 0, 0, 1, 1),
        ("one", 1, 0, 2, 0),
    ]
    assert list(tools(connection, "third")) == ["a", "b"]
    assert upsert(connection, []) == []


def test_names_are_told_apart_by_every_character(connection: Connection) -> None:
    # One of them hides characters, for which it would wait.
    connection.execute("select tool_rag.set_review_policy(null, lint => 'report')")
    weird = [
        "get/user",
        "Get/User",
        "get user",
        " get user",
        "get user ",
        "it's",
        'say "hi"',
        "back\\slash",
        "50%",
        "a*",
        "a_b",
        "a-b",
        "天気",
        "é",
        "e\u0301",
        "😀",
        "\u202eabc",
        "new\nline",
        "tab\t",
        "select",
        "'; drop table tool_rag.tool; --",
        "x" * 256,
        "天" * 256,
        "null",
        "${x}",
        "<b>",
    ]
    assert upsert(connection, export("s", *weird)) == [("s", len(weird), 0, 0, 0)]
    assert list(tools(connection, "s")) == weird
    assert upsert(connection, export("s", *reversed(weird))) == [("s", 0, 0, len(weird), 0)]
    assert upsert(connection, export("s", *weird[1:])) == [("s", 0, 0, len(weird) - 1, 1)]
    # Of servers too, but for the two characters of patterns.
    servers = [name for name in weird if not set(name) & set("/*")]
    upsert(connection, [export(server, "a") for server in servers])
    assert set(column(connection, "select name from tool_rag.server")) == {"s", *servers}


def test_the_same_name_on_two_servers_is_two_tools(connection: Connection) -> None:
    upsert(connection, [export("one", "run"), export("two", {"name": "run", "title": "T"})])
    assert tools(connection, "one")["run"]["title"] is None
    assert tools(connection, "two")["run"]["title"] == "T"


def test_one_description_is_set_until_the_next_export(connection: Connection) -> None:
    tools = [MAIL, {"name": "read_mail", "description": "Open it"}]
    upsert(connection, export("mail", *tools))
    add_role(connection, "all")
    allow(connection, "all", "mail")
    before = connection.execute(
        "select name, description, content_hash, token_count from tool_rag.tool order by name"
    ).fetchall()
    say = "select tool_rag.set_description(%s, %s, %s)"
    assert fetch(
        connection, say, "mail", "send_mail", "Dispatch a telegram to a partner in another town"
    )
    assert not fetch(
        connection, say, "mail", "send_mail", "Dispatch a telegram to a partner in another town"
    )
    (read, sent) = connection.execute(
        "select name, description, content_hash, token_count from tool_rag.tool order by name"
    ).fetchall()
    assert read == before[0]
    assert sent[1] == "Dispatch a telegram to a partner in another town"
    assert (sent[2] != before[1][2], sent[3] != before[1][3]) == (True, True)
    # What is derived follows.
    assert found(connection, "telegram", roles=["all"])[0] == "send_mail"
    assert fetch(connection, say, "mail", "send_mail", "")
    upsert(connection, export("mail", *tools))
    assert (
        connection.execute(
            "select name, description, content_hash, token_count from tool_rag.tool order by name"
        ).fetchall()
        == before
    )
    with refused(connection, "42704", 'tool "mail/send_mial" does not exist', hint="send_mail"):
        connection.execute(say, ("mail", "send_mial", "x"))
    with refused(connection, "22023", "description is null"):
        connection.execute(say, ("mail", "send_mail", None))


def test_synonyms_of_an_export_replace_those_that_a_tool_had(connection: Connection) -> None:
    def listed() -> set[tuple[str, str]]:
        return set(connection.execute("select tool, words from tool_rag.list_synonyms()"))

    def given(*synonyms: str) -> dict[str, Any]:
        return {"name": "a", "synonyms": list(synonyms)}

    assert upsert(connection, export("s", given("one two", "three", "three"), "b")) == [
        ("s", 2, 0, 0, 0)
    ]
    assert listed() == {("a", "one two"), ("a", "three")}
    before = connection.execute(ROWS).fetchall()
    assert upsert(connection, export("s", given("three", "one two"), "b")) == [("s", 0, 0, 2, 0)]
    assert connection.execute(ROWS).fetchall() == before
    # A tool that says nothing of synonyms keeps them, also those that an admin added.
    column(connection, "select tool_rag.add_synonym('four', 's', 'b')")
    assert upsert(connection, export("s", "a", "b")) == [("s", 0, 0, 2, 0)]
    assert upsert(connection, export("s", {"name": "a", "synonyms": None}, "b"))[0][3] == 2
    assert listed() == {("a", "one two"), ("a", "three"), ("b", "four")}
    # What changes in two ways is one change.
    changed = given("three", "five") | {"description": "new"}
    assert upsert(connection, export("s", changed, "b")) == [("s", 0, 1, 1, 0)]
    assert listed() == {("a", "three"), ("a", "five"), ("b", "four")}
    vectors = "select count(*) from tool_rag.tool_vector where kind = 'synonym'"
    assert column(connection, vectors) == [3]
    assert upsert(connection, export("s", given() | {"description": "new"}, "b")) == [
        ("s", 0, 1, 1, 0)
    ]
    assert listed() == {("b", "four")}
    assert column(connection, vectors) == [1]


NO_EXPORT = "is not an export of tools"
BAD_PAYLOADS: list[tuple[Any, str, str]] = [
    (None, "22023", f"payload {NO_EXPORT}"),
    (5, "22023", f"payload {NO_EXPORT}"),
    ("text", "22023", f"payload {NO_EXPORT}"),
    ({}, "22023", f"payload {NO_EXPORT}"),
    ({"server": "s"}, "22023", f"payload {NO_EXPORT}"),
    ({"tools": []}, "22023", f"payload {NO_EXPORT}"),
    ({"server": 5, "tools": []}, "22023", f"payload {NO_EXPORT}"),
    ({"server": None, "tools": []}, "22023", f"payload {NO_EXPORT}"),
    ({"server": "s", "tools": {}}, "22023", f"payload {NO_EXPORT}"),
    ({"server": "s", "tools": None}, "22023", f"payload {NO_EXPORT}"),
    ({"server": "s", "tools": [], "title": ["x"]}, "22023", "payload"),
    ({"server": "s", "tools": [], "description": 5}, "22023", "payload"),
    ([export("x", "a"), 5], "22023", f"payload[1] {NO_EXPORT}"),
    ([[]], "22023", f"payload[0] {NO_EXPORT}"),
    (export("", "a"), "22023", "payload.server"),
    (export("a/b", "a"), "22023", "payload.server"),
    (export("a*", "a"), "22023", "payload.server"),
    (export("s" * 257, "a"), "22023", "payload.server"),
    ([export("x", "a"), export("a/b", "a")], "22023", "payload[1].server"),
    ([export("x", "a"), export("y", "a"), export("x", "b")], "23505", "payload[2].server"),
    ({"server": "s", "tools": ["a"]}, "22023", "payload.tools[0] is not of type object"),
    ({"server": "s", "tools": [None]}, "22023", "payload.tools[0] is not of type object"),
    (export("s", "a", {}), "22023", "payload.tools[1].name is not of type string"),
    (export("s", "a", {"name": None}), "22023", "payload.tools[1].name is not of type string"),
    (export("s", "a", {"name": 7}), "22023", "payload.tools[1].name is not of type string"),
    (export("s", "a", "b", ""), "22023", "payload.tools[2].name"),
    (export("s", "a", "n" * 257), "22023", "payload.tools[1].name"),
    (
        [export("x", "a"), export("s", "a", {"name": "b", "description": 1})],
        "22023",
        "payload[1].tools[1].description is not of type string",
    ),
    *(
        (
            export("s", "a", {"name": "b", key: value}),
            "22023",
            f"payload.tools[1].{key} is not of type {expected}",
        )
        for key, value, expected in (
            ("title", {}, "string"),
            ("description", ["a"], "string"),
            ("input_schema", [], "object"),
            ("input_schema", "{}", "object"),
            ("input_schema", True, "object"),
            ("output_schema", 1, "object"),
            ("annotations", [], "object"),
            ("is_action", "yes", "boolean"),
            ("is_action", 1, "boolean"),
            ("identity_parameters", "tenant", "array"),
            ("identity_parameters", {}, "array"),
            ("synonyms", "words", "array"),
            ("synonyms", {}, "array"),
        )
    ),
    *(
        (
            export("s", "a", {"name": "b", "identity_parameters": value}),
            "22023",
            "payload.tools[1].identity_parameters",
        )
        for value in ([1], [None], ["a", {}], ["a", ["b"]])
    ),
    *(
        (export("s", "a", {"name": "b", "synonyms": value}), "22023", f"payload.tools[1].{said}")
        for value, said in (
            ([1], "synonyms is not an array of strings"),
            (["a", None], "synonyms is not an array of strings"),
            (["a", " \n"], "synonyms[1] has 2 characters"),
            (["a" * 1001], "synonyms[0] has 1001 characters"),
        )
    ),
    (export("s", "a", "b", "a"), "23505", 'payload.tools[0] and tools[2] have the same name, "a"'),
    (
        [export("x", "a"), export("s", "a", "b", "b")],
        "23505",
        'payload[1].tools[1] and tools[2] have the same name, "b"',
    ),
]


@pytest.mark.parametrize(
    ("payload", "sqlstate", "message"), BAD_PAYLOADS, ids=lambda v: str(v)[:60]
)
def test_a_bad_payload_changes_nothing_and_says_where(
    connection: Connection, payload: Any, sqlstate: str, message: str
) -> None:
    upsert(connection, [export("s", "a", "old"), export("x", {"name": "a", "title": "kept"})])
    before = rows(connection)
    with refused(connection, sqlstate, message):
        upsert(connection, payload)
    assert rows(connection) == before


def test_a_null_payload_is_refused(connection: Connection) -> None:
    with refused(connection, "22023", f"payload {NO_EXPORT}"):
        connection.execute("select * from tool_rag.upsert_tools(null)")


def test_a_failure_in_the_last_server_undoes_the_first(connection: Connection) -> None:
    many = [export(f"s{number}", "a", "b") for number in range(5)]
    with refused(connection, "22023", "payload[5].tools[0].title"):
        upsert(connection, [*many, export("last", {"name": "a", "title": 1})])
    assert fetch(connection, "select count(*) from tool_rag.server") == 0


@pytest.mark.parametrize(
    ("annotations", "is_action"),
    [
        ({}, True),
        ({"readOnlyHint": True}, False),
        ({"readOnlyHint": False}, True),
        ({"readOnlyHint": True, "destructiveHint": False}, False),
        ({"readOnlyHint": True, "destructiveHint": True}, True),
        ({"destructiveHint": False}, True),
        ({"destructiveHint": True}, True),
        ({"readOnlyHint": "true"}, True),
        ({"readOnlyHint": 1}, True),
        ({"readOnlyHint": None}, True),
        ({"idempotentHint": True, "title": "T"}, True),
    ],
)
def test_hints_say_whether_it_is_an_action(
    connection: Connection, annotations: dict[str, Any], is_action: bool
) -> None:
    upsert(connection, export("s", {"name": "a", "annotations": annotations}))
    connection.execute(
        "insert into tool_rag.tool (server_id, name, annotations)"
        " select server_id, 'b', %s from tool_rag.server",
        [json.dumps(annotations)],
    )
    assert [tool["is_action"] for tool in tools(connection, "s").values()] == [is_action] * 2
    # What an export says itself comes before the hints.
    for said in (True, False):
        tool = {"name": "a", "annotations": annotations, "is_action": said}
        upsert(connection, export("s", tool))
        assert tools(connection, "s")["a"]["is_action"] is said


def test_an_admins_word_survives_an_unchanged_export(connection: Connection) -> None:
    tool = {"name": "a", "description": "x", "annotations": {"readOnlyHint": True}}
    upsert(connection, export("s", tool, title="Theirs"))
    connection.execute(
        "update tool_rag.tool set is_action = true, identity_parameters = '{tenant}',"
        " enabled = false"
    )
    connection.execute("update tool_rag.server set title = 'Ours', enabled = false")
    assert upsert(connection, export("s", tool)) == [("s", 0, 0, 1, 0)]
    kept = tools(connection, "s")["a"]
    assert kept["is_action"] is True
    assert kept["identity_parameters"] == ["tenant"]
    assert kept["enabled"] is False
    assert connection.execute("select title, enabled from tool_rag.server").fetchone() == (
        "Ours",
        False,
    )
    # A changed tool has its hints read anew; what no export speaks of stays.
    assert upsert(connection, export("s", tool | {"description": "y"})) == [("s", 0, 1, 0, 0)]
    kept = tools(connection, "s")["a"]
    assert kept["is_action"] is False
    assert kept["identity_parameters"] == ["tenant"]
    assert kept["enabled"] is False


def test_a_plain_insert_fills_what_is_derived(connection: Connection) -> None:
    add_tool(connection, "s", "plain", "A text", schema_of("a"))
    upsert(
        connection,
        export("t", {"name": "plain", "description": "A text", "input_schema": schema_of("a")}),
    )
    plain, exported = tools(connection, "s")["plain"], tools(connection, "t")["plain"]
    assert plain["content_hash"] == exported["content_hash"]
    assert plain["token_count"] == exported["token_count"] > 0
    # Nobody sets them by hand.
    connection.execute("update tool_rag.tool set content_hash = '\\x00', token_count = -1")
    assert tools(connection, "s")["plain"]["content_hash"] == plain["content_hash"]
    assert tools(connection, "s")["plain"]["token_count"] == plain["token_count"]


def test_the_content_hash_is_a_sha256_of_the_definition(connection: Connection) -> None:
    add_tool(connection, "s", "a", "Ä text", {})
    definition = '[null, "Ä text", {}, null, {}]'
    assert (
        bytes(fetch(connection, "select content_hash from tool_rag.tool"))
        == hashlib.sha256(definition.encode()).digest()
    )
    hashes = set()
    for change in (
        "name = 'b'",
        "title = 'T'",
        "title = ''",
        "description = 'T'",
        "input_schema = '{\"a\": null}'",
        "output_schema = '{}'",
        "annotations = '{\"a\": null}'",
    ):
        with undone(connection):
            connection.execute(f"update tool_rag.tool set {change}".encode())
            hashes.add(bytes(fetch(connection, "select content_hash from tool_rag.tool")))
    # The name alone is no part of it: renamed tools are matched by name.
    assert len(hashes) == 7


def test_tokens_grow_with_the_definition(connection: Connection) -> None:
    short = add_tool(connection, "s", "a")
    longer = add_tool(connection, "s", "b", "Say what the weather is like in a town")
    longest = add_tool(
        connection, "s", "c", "Say what the weather is like in a town", schema_of("town", "day")
    )
    counts: dict[int, int] = dict(
        connection.execute("select tool_id, token_count from tool_rag.tool").fetchall()
    )
    assert 0 < counts[short] < counts[longer] < counts[longest] < 100


@pytest.mark.parametrize(
    ("values", "constraint"),
    [
        ("name = ''", "tool_name_check"),
        ("name = repeat('x', 257)", "tool_name_check"),
        ("input_schema = '[]'", "tool_input_schema_check"),
        ("output_schema = '5'", "tool_output_schema_check"),
        ("annotations = 'null'", "tool_annotations_check"),
        ("name = 'other'", "tool_server_id_name_key"),
        ("server_id = 0", "tool_server_id_fkey"),
    ],
)
def test_constraints_hold_for_plain_sql(
    connection: Connection, values: str, constraint: str
) -> None:
    add_tool(connection, "s", "one")
    add_tool(connection, "s", "other")
    with undone(connection):
        with pytest.raises(psycopg.errors.IntegrityError) as caught:
            connection.execute(f"update tool_rag.tool set {values} where name = 'one'".encode())
        assert caught.value.diag.constraint_name == constraint


def test_hidden_and_moved_tools_by_plain_sql(connection: Connection) -> None:
    add_tool(connection, "one", "weather", "Weather of a town")
    add_tool(connection, "one", "mail", "Write a letter")
    add_server(connection, "two")
    add_role(connection, "all")
    allow(connection, "all")
    allow(connection, "all", "two", "*")
    request = "weather of a town"
    assert found(connection, request) == ["weather", "mail"]
    connection.execute("update tool_rag.tool set name = 'forecast' where name = 'weather'")
    assert found(connection, request) == ["forecast", "mail"]
    connection.execute("update tool_rag.tool set enabled = false where name = 'forecast'")
    assert found(connection, request) == ["mail"]
    connection.execute("update tool_rag.tool set enabled = true")
    connection.execute("update tool_rag.server set enabled = false where name = 'one'")
    assert found(connection, request) == []
    connection.execute(
        "update tool_rag.tool set server_id ="
        " (select server_id from tool_rag.server where name = 'two') where name = 'forecast'"
    )
    hits = search(connection, request)
    assert [(hit["server"], hit["name"]) for hit in hits] == [("two", "forecast")]
    connection.execute("update tool_rag.server set enabled = true")
    assert found(connection, request) == ["forecast", "mail"]


def test_a_description_of_40000_characters(connection: Connection) -> None:
    add_role(connection, "all")
    allow(connection, "all")
    text = "Write minutes of a meeting. " * 1500 + "finally zebra"
    upsert(connection, export("s", {"name": "long", "description": text}, "short"))
    assert tools(connection, "s")["long"]["description"] == text
    assert len(text) > 40_000
    hit = search(connection, "minutes of the meeting")[0]
    assert hit["name"] == "long"
    assert hit["tokens"] > 5000


@pytest.mark.parametrize("text", ["天気予報" * 10_000, "ก่อนหน้า" * 5000, "😀 " * 20_000])
def test_a_long_description_in_any_script(connection: Connection, text: str) -> None:
    upsert(connection, export("s", {"name": "long", "description": text}))
    assert tools(connection, "s")["long"]["description"] == text


def test_a_description_beyond_what_a_tsvector_holds(connection: Connection) -> None:
    add_role(connection, "all")
    allow(connection, "all")
    text = " ".join(f"word{number}" for number in range(200_000))
    schema = {
        "properties": {
            f"p{number}": {"description": " ".join(f"d{number}x{n}" for n in range(80))}
            for number in range(2000)
        }
    }
    upsert(connection, export("s", {"name": "vast", "description": text, "input_schema": schema}))
    assert found(connection, "word7") == ["vast"]
    assert search(connection, "word7")[0]["explain"]["words"]["matched"] == ["word7"]


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "description": "bottom"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


SCHEMAS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    # schema, words that find it, words that do not
    "recursive": (
        {
            "$ref": "#/$defs/node",
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {
                        "left": {"$ref": "#/$defs/node"},
                        "zebra": {"description": "striped animal", "enum": ["okapi"]},
                    },
                }
            },
        },
        ["left", "zebra", "striped", "okapi"],
        ["defs", "ref", "node"],
    ),
    "no_type": ({"properties": {"zebra": {}}}, ["zebra"], ["properties"]),
    "boolean_schemas": ({"properties": {"zebra": True, "okapi": False}}, ["zebra", "okapi"], []),
    "properties_not_an_object": ({"properties": ["zebra", {"okapi": 1}]}, [], ["zebra", "okapi"]),
    "properties_null": ({"properties": None, "description": None}, [], ["null"]),
    "enum_of_objects": (
        {"properties": {"a": {"enum": [{"zebra": "okapi"}, ["lemur"], 1, None, True, "ibex"]}}},
        ["ibex"],
        ["zebra", "okapi", "lemur"],
    ),
    "enum_not_an_array": ({"properties": {"a": {"enum": "zebra"}}}, [], ["zebra"]),
    "const": (
        {"properties": {"a": {"const": "zebra"}, "b": {"const": {"okapi": 1}}}},
        ["zebra"],
        ["okapi"],
    ),
    "parameter_named_description": (
        {"properties": {"description": {"type": "string", "description": "zebra"}}},
        ["description", "zebra"],
        [],
    ),
    "parameters_named_like_keywords": (
        {
            "properties": {
                "enum": {"type": "string", "enum": ["zebra"]},
                "const": {"type": "string"},
                "properties": {"type": "string", "description": "okapi"},
            }
        },
        ["enum", "const", "zebra", "okapi", "properties"],
        [],
    ),
    "nested": (
        {
            "properties": {
                "list": {
                    "type": "array",
                    "items": {"properties": {"zebra": {"description": "okapi"}}},
                },
                "either": {
                    "anyOf": [{"properties": {"lemur": {"enum": ["ibex"]}}}, {"type": "null"}]
                },
            }
        },
        ["zebra", "okapi", "lemur", "ibex"],
        ["items", "anyof"],
    ),
    "description_not_a_text": ({"properties": {"a": {"description": ["zebra"]}}}, [], ["zebra"]),
    "camel": ({"properties": {"zebraStripes": {}}}, ["zebra", "stripes", "zebrastripes"], []),
    "empty": ({}, [], ["type"]),
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_odd_schemas(connection: Connection, kind: str) -> None:
    schema, finding, other = SCHEMAS[kind]
    add_role(connection, "all")
    allow(connection, "all")
    upsert(connection, export("s", {"name": "odd", "input_schema": schema}))
    assert tools(connection, "s")["odd"]["input_schema"] == schema

    def by_words(word: str) -> bool:
        return any("words" in hit["explain"] for hit in search(connection, word))

    assert [word for word in finding if not by_words(word)] == []
    assert [word for word in other if by_words(word)] == []


def test_2000_enum_values(connection: Connection) -> None:
    values = [f"value{number:04}" for number in range(2000)]
    upsert(
        connection,
        export("s", {"name": "a", "input_schema": {"properties": {"p": {"enum": values}}}}),
    )
    indexed = fetch(
        connection, "select count(*) from tool_rag.lexeme where lexeme like %s", "value%"
    )
    assert 500 <= indexed <= 2000
    assert len(tools(connection, "s")["a"]["input_schema"]["properties"]["p"]["enum"]) == 2000


@pytest.mark.parametrize("levels", [10, 1000, 3000])
def test_deep_schemas(connection: Connection, levels: int) -> None:
    # No measurement, but time in the square of the depth would take a minute.
    connection.execute("set local statement_timeout = '10s'")
    text = json.dumps(deep(100)).replace(
        '{"type": "string", "description": "bottom"}',
        '{"type": "object", "properties": {"inner": ' * (levels - 5)
        + '{"type": "string"}'
        + "}}" * (levels - 5),
    )
    connection.execute(
        "select * from tool_rag.upsert_tools(jsonb_build_object('server', 's', 'tools',"
        " jsonb_build_array(jsonb_build_object('name', 'a', 'input_schema', %s::jsonb))))",
        [text],
    )
    assert fetch(connection, "select input_schema = %s::jsonb from tool_rag.tool", text)
    assert fetch(connection, "select count(*) from tool_rag.lexeme where lexeme = 'inner'") == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "zebra", "é", "a b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "description", "enum", "const", "items", "$ref", "x y", ""]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    schemas=st.lists(st.dictionaries(st.sampled_from(["properties", "$defs", "enum"]), JSON)),
    texts=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))),
)
def test_any_schema_and_text_is_taken_and_given_back(
    connection: Connection, schemas: list[dict[str, Any]], texts: list[str]
) -> None:
    made: list[dict[str, Any]] = [
        {"name": f"t{number}", "input_schema": schema} for number, schema in enumerate(schemas)
    ] + [
        {"name": f"u{number}", "description": text, "title": text}
        for number, text in enumerate(texts)
    ]
    with undone(connection):
        # Some hide characters, for which they would wait.
        connection.execute("select tool_rag.set_review_policy(null, lint => 'report')")
        assert upsert(connection, export("s", *made)) == [("s", len(made), 0, 0, 0)]
        kept = tools(connection, "s")
        for tool in made:
            assert {key: kept[tool["name"]][key] for key in tool} == tool
        assert upsert(connection, export("s", *made)) == [("s", 0, 0, len(made), 0)]


def test_thousands_of_tools_of_one_server(connection: Connection) -> None:
    upsert(connection, export("s", *(f"t{number}" for number in range(2000))))
    assert upsert(connection, export("s", *(f"t{number}" for number in range(1, 2001)))) == [
        ("s", 1, 0, 1999, 1)
    ]
    assert fetch(connection, "select document_count from tool_rag.catalogue_state") == 2000


def test_the_version_grows_with_every_edit(connection: Connection) -> None:
    version = "select version from tool_rag.catalogue_state"
    seen = [fetch(connection, version)]
    for statement in (
        "insert into tool_rag.server (name) values ('s')",
        "update tool_rag.server set title = 'x'",
        "insert into tool_rag.tool (server_id, name) select server_id, 'a' from tool_rag.server",
        "update tool_rag.tool set title = 'x'",
        "select tool_rag.add_role('r')",
        "select tool_rag.add_role('q', '{r}')",
        "select tool_rag.grant_tools('r', '*')",
        "select tool_rag.revoke_tools('r', '*')",
        "delete from tool_rag.role_parent",
        "select tool_rag.remove_role('r')",
        "select * from tool_rag.upsert_tools('[]')",
        "update tool_rag.ranking_setting set bm25_k1 = 1.2",
        "delete from tool_rag.tool",
        "truncate tool_rag.server cascade",
    ):
        connection.execute(statement.encode())
        seen.append(fetch(connection, version))
    assert seen == sorted(set(seen))
