"""Nothing of a hidden tool comes out by any function, view or command that a reader can run.

Each case is a random catalogue, all of whose texts hold words of their own ("marks"), with random
roles, inheritance, rules, ends, schedules, edits and a random caller; what that may see is said by
`test_access.Model`. Of some tools other versions wait, or were rejected, refused or approved, as
the policies of their servers have it: of these only what serves is ever seen. Every function that
the group of readers may execute is called with random arguments, among them marks of hidden tools,
nearly such marks, and names. What comes back, be it rows, errors or notices, holds no mark of
anything hidden that the call itself did not write. And it is the same, to the byte, where all that
is hidden is worded differently; and, with statistics of the permitted tools alone, where there are
other hidden tools altogether, and nothing waits.

TOOL_RAG_TEST_CASES sets the number of cases.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.sql.conftest import (
    HOURS,
    OFFSETS,
    Connection,
    Tool,
    add_role,
    add_tool,
    allow,
    column,
    hours_of,
    refused,
    search,
    undone,
)
from tests.sql.test_access import Model
from tool_rag_pg.cli.main import main

CASES = int(os.environ.get("TOOL_RAG_TEST_CASES", "12"))

VERBS = ("get", "list", "create", "delete", "send")
NOUNS = ("invoice", "order", "room", "forecast", "mail", "report")
POLICIES = ("trust", "review", "review", "withhold", "withhold", "refuse")
ROLES = ("clerk", "boss", "guest", "auditor")
# They say how many tools have a word, so that other hidden tools change their scores.
COUNTING = ("search_tools", "search_tools_batch", "explain_missing")

Answer = tuple[Any, ...]
# A function, the statement that calls it, and its arguments.
Call = tuple[str, sql.Composed | sql.SQL, dict[str, Any]]


@dataclass(frozen=True)
class Version:
    """Another version of a tool, which an export brings under the policy of its server.

    Attributes:
        home: the number of the server.
        tool: the number of the tool; None for one that is new, which never serves here.
        definition: what the export says.
        fate: "waits" (or is refused, by policy), "rejected" or "approved".

    """

    home: int
    tool: int | None
    definition: dict[str, Any]
    fate: str


@dataclass
class Draft:
    """A catalogue before it is written: `<3>` stands for the mark with the number 3.

    Attributes:
        owners: of each mark its owner: the numbers of the tools that must all be visible; a server
            is known by any one of its tools, and what belongs to none of any is never shown.
        policies: of each server.
        titles: of each server, as it comes with other versions; under review it is not taken.

    """

    rng: random.Random
    owners: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    needs: list[tuple[int, int, str]] = field(default_factory=list)
    parents: list[tuple[str, str]] = field(default_factory=list)
    rules: list[tuple[str | None, ...]] = field(default_factory=list)
    edits: list[tuple[str, int]] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)

    def mark(self, kind: str, *tools: int) -> str:
        self.owners.append((kind, tools))
        return f"<{len(self.owners) - 1}>"

    def words(self, *tools: int) -> str:
        rng = self.rng
        return f"{rng.choice(VERBS)} the {rng.choice(NOUNS)} {self.mark('all', *tools)} of a day"

    def name(self, *tools: int) -> str:
        rng = self.rng
        return f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}_{self.mark('any', *tools)}"

    def definition(self, name: str, *tools: int) -> dict[str, Any]:
        """Return texts that belong to one tool, or to none."""
        rng = self.rng

        def words() -> str:
            noun = rng.choice(NOUNS)
            return f"{rng.choice(VERBS)} the {noun} {self.mark('any', *tools)} of a day"

        parameter = f"{rng.choice(NOUNS)}_{self.mark('any', *tools)}"
        return {
            "name": name,
            "title": words(),
            "description": words(),
            "input_schema": {
                "type": "object",
                "properties": {
                    parameter: {"type": "string", "description": words()},
                    "kind": {"enum": [self.mark("any", *tools), "other"]},
                },
            },
            "output_schema": {"type": "object", "title": words()},
            "annotations": {"title": self.mark("any", *tools)},
        }

    def new_tools(self, marks: list[str]) -> list[Tool]:
        """Return the names of tools that wait and are not in the catalogue."""
        new = [version for version in self.versions if version.tool is None]
        filled = fill([(self.servers[v.home], v.definition["name"]) for v in new], marks)
        return [(server, name) for server, name in filled]

    def withheld(self, names: list[Tool]) -> set[Tool]:
        """Return the tools that policies hide, whatever else there is."""
        return {
            names[version.tool]
            for version in self.versions
            if version.tool is not None
            and self.policies[version.home] == "withhold"
            and version.fate != "approved"
        }

    def served(self) -> list[dict[str, Any]]:
        """Return the definition of each tool that serves, once all was decided."""
        approved = {v.tool: v.definition for v in self.versions if v.fate == "approved"}
        return [approved.get(number, tool["definition"]) for number, tool in enumerate(self.tools)]


def draw(rng: random.Random) -> Draft:
    draft = Draft(rng)
    count = rng.randint(5, 9)
    homes = [rng.randrange(3) for _ in range(count)]
    for server in range(3):
        here = [tool for tool, home in enumerate(homes) if home == server]
        draft.servers.append(f"srv{draft.mark('any', *here)}")
    for tool, home in enumerate(homes):
        name = draft.name(tool)
        draft.tools.append(
            {
                "home": home,
                "name": name,
                "example": draft.words(tool),
                # From here on what another version may replace.
                "first_mark": len(draft.owners),
                "definition": draft.definition(name, tool),
                "synonym": draft.words(tool),
                "end_mark": len(draft.owners),
            }
        )
    for _ in range(count):
        one, other = sorted(rng.sample(range(count), 2))
        if (one, other) not in [need[:2] for need in draft.needs]:
            draft.needs.append((one, other, draft.words(one, other)))
    for role, parent in (("boss", "clerk"), ("auditor", "guest"), ("auditor", "boss")):
        if rng.random() < 0.5:
            draft.parents.append((role, parent))
    ends = (None, None, None, "2001-02-03", "2101-02-03")
    begins = (None, None, None, "2001-02-03", "2091-02-03")
    for _ in range(rng.randint(3, 7)):
        tool = rng.choice(draft.tools)
        kind = rng.choice([None, None, None, *HOURS])
        draft.rules.append(
            (
                rng.choice(ROLES),
                rng.choice(["*", draft.servers[tool["home"]], draft.servers[tool["home"]]]),
                rng.choice(["*", "*", f"{rng.choice(VERBS)}_*", tool["name"]]),
                rng.choice(["allow", "allow", "allow", "deny"]),
                rng.choice(ends),
                rng.choice(begins),
                kind and hours_of(kind, rng.choice(list(OFFSETS))),
            )
        )
    for _ in range(rng.randint(0, 3)):
        draft.edits.append(
            (
                rng.choice(["disable", "withhold", "close", "expire", "revoke", "dismiss"]),
                rng.randrange(100),
            )
        )
    draw_versions(draft, homes)
    return draft


def draw_versions(draft: Draft, homes: list[int]) -> None:
    rng = draft.rng
    draft.policies = [rng.choice(POLICIES) for _ in draft.servers]
    draft.titles = [f"Server {draft.mark('any')}" for _ in draft.servers]
    for number, home in enumerate(homes):
        if draft.policies[home] == "trust" or rng.random() < 0.25:
            continue
        fate = rng.choice(["waits", "waits", "rejected", "approved"])
        tool = draft.tools[number]
        if fate == "approved":
            # What it was is nobody's any more.
            for mark in range(tool["first_mark"], tool["end_mark"]):
                draft.owners[mark] = ("any", ())
        owner = (number,) if fate == "approved" else ()
        definition = draft.definition(tool["name"], *owner)
        definition["synonyms"] = [f"{rng.choice(NOUNS)} {draft.mark('any', *owner)}"]
        draft.versions.append(Version(home, number, definition, fate))
    for home, policy in enumerate(draft.policies):
        if policy != "trust" and rng.random() < 0.5:
            definition = draft.definition(draft.name())
            draft.versions.append(
                Version(home, None, definition, rng.choice(["waits", "rejected"]))
            )


def make_marks(rng: random.Random, count: int) -> list[str]:
    """Return words that nobody else writes, and that no stemmer shortens."""
    letters = "bcdfghjkmnpqrtvwxz"
    return ["".join(rng.choices(letters, k=9)) + "qx" for _ in range(count)]


def fill(value: Any, marks: list[str]) -> Any:
    text = re.sub(r"<(\d+)>", lambda match: marks[int(match[1])], json.dumps(value))
    return json.loads(text)


def build(
    connection: Connection, draft: Draft, marks: list[str], without: frozenset[int] = frozenset()
) -> list[Tool]:
    """Write the catalogue without some of its tools, and return the names of all."""
    full = fill(
        {
            "servers": draft.servers,
            "tools": draft.tools,
            "served": draft.served(),
            "needs": draft.needs,
            "rules": draft.rules,
        },
        marks,
    )
    names = [(full["servers"][tool["home"]], tool["name"]) for tool in full["tools"]]
    kept = [number for number in range(len(names)) if number not in without]
    # Servers in the order of their numbers, so that tools come in one order whatever is left out.
    payload = [
        {
            "server": server,
            "title": f"Server {server}",
            "tools": [
                # Where others are left out, nothing waits and nothing was reviewed.
                full["served"][number] if without else full["tools"][number]["definition"]
                for number in kept
                if names[number][0] == server
            ],
        }
        for server in full["servers"]
    ]
    if without:
        payload = [one for one in payload if one["tools"]]
        payload.append({"server": "elsewhere", "tools": others(draft)})
    connection.execute("select tool_rag.upsert_tools(%s)", [json.dumps(payload)])
    for number in kept:
        tool = full["tools"][number]
        connection.execute(
            "select tool_rag.add_example(%s, %s, %s)", [*names[number], tool["example"]]
        )
        if not (without and "synonyms" in full["served"][number]):
            connection.execute(
                "select tool_rag.add_synonym(%s, %s, %s)", [tool["synonym"], *names[number]]
            )
    if not without:
        review(connection, draft, marks)
    for one, other, reason in full["needs"]:
        if one not in without and other not in without:
            connection.execute(
                "select tool_rag.add_dependency(%s, %s, %s, %s, %s)",
                [*names[one], *names[other], reason],
            )
    for role in ROLES:
        parents = [parent for child, parent in draft.parents if child == role]
        connection.execute("select tool_rag.add_role(%s)", [role])
        if parents:
            connection.execute("select tool_rag.add_role(%s, %s)", [role, parents])
        if without:
            connection.execute("select tool_rag.grant_tools(%s, 'elsewhere', '*', 'deny')", [role])
    for rule in full["rules"]:
        with suppress(psycopg.errors.InvalidParameterValue), connection.transaction():
            # It would end before it begins.
            connection.execute("select tool_rag.grant_tools(%s, %s, %s, %s, %s, %s, %s)", rule)
    for kind, number in draft.edits:
        tool = names[number % len(names)]
        rule = full["rules"][number % len(full["rules"])]
        if kind in ("disable", "withhold"):
            flag = "enabled = false" if kind == "disable" else "withheld = true"
            connection.execute(
                f"update tool_rag.tool t set {flag} from tool_rag.server s"
                " where s.server_id = t.server_id and s.name = %s and t.name = %s".encode(),
                tool,
            )
        elif kind == "close":
            connection.execute(
                "update tool_rag.server set enabled = false where name = %s", [tool[0]]
            )
        elif kind == "expire":
            connection.execute(
                "update tool_rag.grant_rule set valid_until = '2001-02-03'"
                " where server_pattern = %s and tool_pattern = %s",
                rule[1:3],
            )
        elif kind == "revoke":
            # Unless the role was dismissed before.
            connection.execute(
                "select tool_rag.revoke_tools(r.name, %s, %s, %s) from tool_rag.role r"
                " where r.name = %s",
                [*rule[1:4], rule[0]],
            )
        else:
            connection.execute("delete from tool_rag.role where name = %s", [rule[0]])
    # Of one turn, and in places of their own: both are what the conversation knows by itself.
    connection.execute("insert into tool_rag.tool_use select 'c', 1, tool_id from tool_rag.tool")
    connection.execute(
        "insert into tool_rag.tool_sent (conversation, place, tool_id)"
        " select 'c', u.place, t.tool_id"
        " from unnest(%s::text[], %s::text[]) with ordinality u (server, name, place)"
        " join tool_rag.server s on s.name = u.server"
        " join tool_rag.tool t on t.server_id = s.server_id and t.name = u.name",
        [[server for server, _ in names], [name for _, name in names]],
    )
    return names


def review(connection: Connection, draft: Draft, marks: list[str]) -> None:
    """Set policies, have servers offer other versions, and decide on some of these."""
    servers, titles, tools = fill([draft.servers, draft.titles, draft.tools], marks)
    for home, (server, policy) in enumerate(zip(servers, draft.policies, strict=True)):
        if policy == "trust":
            continue
        offered = {tool["name"]: tool["definition"] for tool in tools if tool["home"] == home}
        versions = [version for version in draft.versions if version.home == home]
        for version in versions:
            definition = fill(version.definition, marks)
            offered[definition["name"]] = definition
        connection.execute("select tool_rag.set_review_policy(%s, %s)", [server, policy])
        export = {"server": server, "title": titles[home], "tools": list(offered.values())}
        connection.execute("select tool_rag.upsert_tools(%s)", [json.dumps(export)])
        for version in versions:
            if version.fate != "waits":
                decide = "approve_tools" if version.fate == "approved" else "reject_tools"
                done = column(
                    connection,
                    f"select name from tool_rag.{decide}(%s, %s)",
                    server,
                    fill(version.definition["name"], marks),
                )
                assert len(done) == 1


def others(draft: Draft) -> list[dict[str, Any]]:
    """Return tools that share the words of the rest."""
    return [
        {
            "name": f"{verb}_{noun}_{verb}",
            "description": f"{verb} the {noun} of a day, every {noun}",
            "input_schema": {"type": "object", "properties": {noun: {"type": "string"}}},
        }
        for verb, noun in zip(VERBS, NOUNS, strict=False)
    ]


@dataclass(frozen=True)
class Caller:
    """Who asks: by an argument, a setting, a binding of the login, and what is allowed."""

    roles: list[str] | None
    setting: list[str] | None
    bound: list[str] | None
    allowed: dict[str, Any] | None

    def sees(self, connection: Connection) -> set[Tool]:
        model = Model(connection)
        withheld = set(
            connection.execute(
                "select s.name, t.name from tool_rag.tool t join tool_rag.server s"
                " using (server_id) where t.withheld"
            ).fetchall()
        )
        asked = self.setting if self.roles is None else self.roles
        groups = [group for group in (asked, self.bound) if group is not None]
        tools = model.permitted(groups[0]) - withheld if groups else set()
        for group in groups[1:]:
            tools &= model.permitted(group)
        if self.allowed is not None:
            tools &= {(s, name) for s, entry in self.allowed.items() for name in entry["tools"]}
        return tools


def draw_caller(rng: random.Random, names: list[Tool]) -> Caller:
    def some() -> list[str]:
        return rng.sample([*ROLES, "nobody"], rng.randint(1, 2))

    how = rng.choice(["argument", "argument", "setting", "bound", "allowed"])
    allowed: dict[str, Any] | None = None
    if how == "allowed":
        allowed = {}
        for server, name in rng.sample(names, len(names) // 2 + 1):
            allowed.setdefault(server, {"tools": []})["tools"].append(name)
    return Caller(
        roles=None if how == "setting" or (how == "bound" and rng.random() < 0.5) else some(),
        setting=some() if how == "setting" else None,
        bound=some() if how == "bound" else None,
        allowed=allowed,
    )


class Arguments:
    """Random arguments by the names that functions give them.

    A function with an argument of another name fails the test, until it is said here what to pass.
    """

    def __init__(
        self, rng: random.Random, draft: Draft, marks: list[str], names: list[Tool], caller: Caller
    ) -> None:
        self.rng, self.draft, self.marks, self.names = rng, draft, marks, names
        self.given: dict[str, Any] = {"roles": caller.roles, "allowed": caller.allowed}
        self.makers: dict[str, Callable[[], Any]] = {
            "query": self.request,
            "text": self.request,
            "queries": lambda: [self.request() for _ in range(rng.randint(1, 2))],
            "limits": lambda: None,
            "k": lambda: rng.choice([1, 2, 8, 1000]),
            "embedding": lambda: str([rng.uniform(-1, 1) for _ in range(256)]),
            "context": lambda: [self.request()],
            "conversation": lambda: rng.choice(["c", "c", "d"]),
            "servers": lambda: [rng.choice(["*", "srv*", self.server(), f"{self.server()[:5]}*"])],
            "token_budget": lambda: rng.choice([1, 60, 300, 100_000]),
            "min_relevance": lambda: rng.choice([0.0, 0.1, 0.5]),
            "options": self.options,
            "server": self.server,
            "tool": self.tool,
            "name": self.tool,
            "names": lambda: [rng.choice([*ROLES, "nobody", self.tool()])],
            "tools": lambda: [f"{self.server()}/{self.tool()}" for _ in range(2)],
            "turn": lambda: rng.randint(1, 3),
            # It comes back with the next message: what the caller wrote itself, in an earlier call.
            "said": lambda: rng.choice(VERBS),
            "outcome": lambda: "allowed",
            "detail": lambda: json.dumps({"said": self.request()}),
            "public_id": lambda: "abcdefghijkl",
            "digest": lambda: bytes(32),
        }

    def near(self, word: str) -> str:
        """Return a word, or one that is nearly it."""
        rng = self.rng
        place = rng.randrange(len(word))
        return rng.choice(
            [
                word,
                word[:place] + word[place + 1 :],
                word[:place] + rng.choice(string.ascii_lowercase) + word[place + 1 :],
                word.upper(),
                word[: place + 1] + "*",
            ]
        )

    def request(self) -> str:
        rng = self.rng
        words = [
            rng.choice([rng.choice(VERBS), rng.choice(NOUNS), self.near(rng.choice(self.marks))])
            for _ in range(rng.randint(1, 6))
        ]
        if rng.random() < 0.3:
            words.append(self.tool())
        if rng.random() < 0.2:
            words[1:1] = ["; and then", rng.choice(VERBS)]
        return " ".join(words)

    def server(self) -> str:
        return self.near(self.rng.choice(self.names)[0])

    def tool(self) -> str:
        server, name = self.rng.choice(self.names)
        return self.rng.choice([self.near(name), self.near(name), f"{server}/{self.near(name)}"])

    def pair(self) -> Tool:
        server, name = self.rng.choice(self.names)
        return (server, name) if self.rng.random() < 0.6 else (self.server(), self.near(name))

    def options(self) -> str:
        rng = self.rng
        drawn: dict[str, Any] = {
            "exact": rng.random() < 0.5,
            "split": rng.random() < 0.5,
            "keep_order": rng.random() < 0.5,
            "anchor": rng.choice(["exact", "words", "none"]),
            "needs_depth": rng.randint(0, 4),
            "statistics": rng.choice(["permitted", "catalogue"]),
            rng.choice(["colour", *self.marks]): 1,
        }
        return json.dumps({key: drawn[key] for key in drawn if rng.random() < 0.3})

    def words_for(self, word: str) -> list[str]:
        """Return what stands in a command for a word in capitals."""
        match word:
            case "QUERY":
                return [self.request()]
            case "ROLES":
                return [part for role in self.given["roles"] or () for part in ("--role", role)]
            case "PAIR":
                return ["/".join(self.pair())]
            case "TOOL":
                return [self.tool()]
            case "SERVER":
                return [self.server()]
        return [word]

    def call(self, function: str, arguments: list[str], required: int) -> Call:
        given: dict[str, Any] = {}
        for place, argument in enumerate(arguments):
            if argument in self.given:
                value = self.given[argument]
                if value is not None:
                    given[argument] = json.dumps(value) if argument == "allowed" else value
            elif place < required or self.rng.random() < 0.3:
                given[argument] = self.makers[argument]()
        if "server" in given and {"tool", "name"} & given.keys():
            given["server"], given["tool" if "tool" in given else "name"] = self.pair()
        return call_of(function, given)


def call_of(function: str, given: dict[str, Any]) -> Call:
    statement = sql.SQL("select * from tool_rag.{}({})").format(
        sql.Identifier(function),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
            for name in given
        ),
    )
    return function, statement, given


def describe(server: str, name: str, roles: list[str]) -> Call:
    return call_of("describe_tool", {"server": server, "name": name, "roles": roles})


def reviewed_tools(draft: Draft, marks: list[str], names: list[Tool]) -> list[Tool]:
    """Return the tools that have another version, and those that are only that."""
    known = [names[version.tool] for version in draft.versions if version.tool is not None]
    return known + draft.new_tools(marks)


def is_described(answer: Answer, tool: dict[str, Any] | None) -> bool:
    """Return whether `describe_tool` answers with a definition, or with that there is none."""
    if tool is None:
        return answer[:2] == ("error", "42704")
    said = [tool[key] for key in ("title", "description", "input_schema", "output_schema")]
    return answer[0] == "rows" and all(part in answer[1] for part in said)


def in_review(connection: Connection) -> Counter[str]:
    """Return how many versions wait or were rejected, and how many tools that hides."""
    return Counter(
        column(
            connection,
            "select replace(state, 'refused', 'rejected') from tool_rag.pending_tool"
            " union all select 'withheld' from tool_rag.tool t where t.withheld and exists ("
            " select from tool_rag.pending_tool p"
            " where p.server_id = t.server_id and p.name = t.name)",
        )
    )


def functions_of_readers(connection: Connection) -> list[tuple[str, list[str], int]]:
    """Return name, arguments and the number of required ones of what the group may execute."""
    return [
        (name, arguments, count - defaults)
        for name, arguments, count, defaults in connection.execute("""
            select p.proname, coalesce(p.proargnames[: p.pronargs], '{}'), p.pronargs,
                p.pronargdefaults
            from pg_proc p
            where p.pronamespace = 'tool_rag'::regnamespace
                and has_function_privilege('tool_rag_reader', p.oid, 'execute')
            order by p.proname collate "C"
        """)
    ]


def ask(connection: Connection, call: Call, notices: list[Any]) -> Answer:
    """Return all that a call tells: its rows or its error, and notices."""
    notices.clear()
    _, statement, given = call
    answer: Answer
    connection.execute("savepoint call")
    try:
        rows = connection.execute(statement, given).fetchall()
        # When a row was written differs from one catalogue to the next.
        answer = ("rows", *(tuple(map(plain, row)) for row in rows))
        connection.execute("release savepoint call")
    except psycopg.Error as error:
        said = error.diag
        answer = (
            "error",
            *(
                getattr(said, name)
                for name in (
                    "sqlstate", "message_primary", "message_detail", "message_hint",
                    "schema_name", "table_name", "column_name", "constraint_name",
                    "internal_query",
                )
            ),
            # What else is said of these differs with what the session has planned.
            *re.findall(r"function [\w.]+|line \d+", said.context or ""),
        )  # fmt: skip
        connection.execute("rollback to savepoint call")
    return (*answer, *notices)


def plain(value: Any) -> Any:
    return "at some time" if isinstance(value, datetime.datetime) else value


def answers(
    connection: Connection, login: str, caller: Caller, calls: list[Call], is_strict: bool
) -> Iterator[Answer]:
    """Ask as a login that the caller has."""
    notices: list[Any] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        notices.append((diagnostic.message_primary, diagnostic.message_detail))

    if is_strict:
        connection.execute("update tool_rag.access_setting set strict_statistics = true")
    if caller.bound is not None:
        connection.execute(
            "select tool_rag.bind_login(%s, %s)",
            [login, column(connection, "select name from tool_rag.role where name = any(%s)",
             caller.bound)],
        )  # fmt: skip
    connection.execute(
        "select set_config('tool_rag.roles', %s, true)", [",".join(caller.setting or [])]
    )
    connection.execute(sql.SQL("set local role {}").format(sql.Identifier(login)))
    connection.add_notice_handler(note)
    try:
        for call in calls:
            yield ask(connection, call, notices)
    finally:
        connection.remove_notice_handler(note)


def hidden_marks(draft: Draft, marks: list[str], visible: set[int]) -> list[str]:
    return [
        mark
        for mark, (kind, tools) in zip(marks, draft.owners, strict=True)
        if not (visible.intersection(tools) if kind == "any" else visible.issuperset(tools))
    ]


def difference(case: int, call: Call, answer: Answer, same: Answer) -> str:
    """Say what of two answers differs."""
    pairs = [
        (a, b)
        for one, two in zip_longest(answer, same)
        for a, b in zip_longest(_flat(one), _flat(two))
        if a != b
    ]
    return f"case {case}: {call[0]} of {call[2]}: {pairs}"


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.fixture
def reader(make_login: Callable[..., str], connection: Connection) -> str:
    login = make_login()
    connection.execute("select tool_rag.grant_access(%s, 'reader')", [login])
    return login


@pytest.mark.timeout(3600)
def test_what_is_hidden_comes_out_by_no_function(
    connection: Connection, reader: str, seed: int, record_property: Callable[[str, object], None]
) -> None:
    functions = functions_of_readers(connection)
    assert len(functions) > 10
    asked, marks_hidden, denied = 0, 0, 0
    seen = Counter[str]()
    for case in range(CASES):
        rng = random.Random(f"{seed} {case}")
        draft = draw(rng)
        marks = make_marks(rng, len(draft.owners))
        is_strict = rng.random() < 0.5
        with undone(connection):
            names = build(connection, draft, marks)
            waiting = draft.new_tools(marks)
            caller = draw_caller(rng, names + waiting)
            if caller.bound is not None and not column(
                connection, "select name from tool_rag.role where name = any(%s)", caller.bound
            ):
                continue
            visible = {n for n, tool in enumerate(names) if tool in caller.sees(connection)}
            arguments = Arguments(rng, draft, marks, names + waiting, caller)
            calls = [
                arguments.call(function, named, required)
                for function, named, required in functions
                for _ in range(6 if function in COUNTING else 4)
            ]
            if caller.roles is None and caller.allowed is None:
                calls.append(("my_tools", sql.SQL("select * from tool_rag.my_tools"), {}))
            seen += in_review(connection)
            expected = [
                (role, tool, tool in replace(caller, roles=[role], allowed=None).sees(connection))
                for role in ROLES
                for tool in reviewed_tools(draft, marks, names)
            ]
            told = list(answers(connection, reader, caller, calls, is_strict))
            # Each role is shown the version that serves, or nothing.
            served = dict(zip(names, fill(draft.served(), marks), strict=True))
            assert not {tool for _, tool, shown in expected if shown} & draft.withheld(names)
            for role, tool, shown in expected:
                answer = ask(connection, describe(*tool, [role]), [])
                assert is_described(answer, served.get(tool) if shown else None), (case, answer)
                seen["shown"] += shown
        unseen = hidden_marks(draft, marks, visible)
        for call, answer in zip(calls, told, strict=True):
            text, written = repr(answer).lower(), repr(call[2]).lower()
            leaked = [mark for mark in unseen if mark in text and mark not in written]
            assert not leaked, (case, call, answer)
        asked += len(calls)
        marks_hidden += len(unseen)
        denied += len(names) - len(visible)

        # All that is hidden in other words, the order of tools and their number being the same.
        fresh = make_marks(rng, len(marks))
        other = [new if old in unseen else old for old, new in zip(marks, fresh, strict=True)]
        with undone(connection):
            build(connection, draft, other)
            again = list(answers(connection, reader, caller, calls, is_strict))
        for call, answer, same in zip(calls, told, again, strict=True):
            assert same == answer, difference(case, call, answer, same)

        # Other hidden tools altogether.
        with undone(connection):
            build(connection, draft, marks, frozenset(range(len(names))) - frozenset(visible))
            again = list(answers(connection, reader, caller, calls, is_strict))
        for call, answer, same in zip(calls, told, again, strict=True):
            options = call[2].get("options", "")
            if call[0] not in COUNTING or is_strict or '"statistics": "permitted"' in options:
                assert same == answer, difference(case, call, answer, same)
        asked += 2 * len(calls)
    assert marks_hidden > 0
    assert denied > 0
    assert all(seen[kind] > 0 for kind in ("waiting", "withheld", "rejected", "shown")), seen
    record_property(
        "tried",
        f"{CASES} catalogues, {asked} calls of {len(functions)} functions;"
        f" {seen['waiting']} versions"
        f" waited, {seen['rejected']} were rejected or refused; {seen['withheld']} tools were"
        f" withheld; {seen['shown']} times a role was shown one with another version",
    )


COMMANDS = (
    ("search", "QUERY", "ROLES"),
    ("search", "QUERY", "ROLES", "--explain", "--json", "--conversation", "c"),
    ("search", "QUERY", "ROLES", "--why-not", "PAIR"),
    ("search", "QUERY", "ROLES", "--budget", "100"),
    ("tools", "list"),
    ("tools", "list", "ROLES", "--json"),
    ("tools", "show", "PAIR"),
    ("tools", "resolve", "TOOL", "ROLES"),
    ("tools", "resolve", "TOOL", "ROLES", "--json"),
    # What only others may run.
    ("tools", "remove", "SERVER"),
    ("synonyms", "list"),
    ("examples", "list"),
    ("deps", "list"),
    ("roles", "list"),
    ("roles", "show", "boss"),
    ("explain-access", "boss", "PAIR"),
    ("lint",),
    ("review", "list"),
    ("review", "show", "PAIR"),
    ("audit", "changes"),
    ("audit", "events"),
    ("access", "diff", "--since", "2001-02-03"),
    ("what-if", "grant", "boss", "PAIR", "--query", "QUERY"),
    ("db", "verify"),
    ("models", "list"),
)


@pytest.mark.timeout(3600)
def test_what_is_hidden_comes_out_by_no_command(
    make_database: Callable[..., str],
    make_login: Callable[..., str],
    seed: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    cases = max(2, CASES // 6)
    login = make_login()
    ran = Counter[bool]()
    for case in range(cases):
        rng = random.Random(f"{seed} command {case}")
        draft = draw(rng)
        marks = make_marks(rng, len(draft.owners))
        url = make_database(migrated=True)
        with psycopg.connect(url) as admin:
            names = build(admin, draft, marks)
            admin.execute("select tool_rag.grant_access(%s, 'reader')", [login])
            roles = rng.sample(ROLES, 2)
            caller = Caller(roles=roles, setting=None, bound=None, allowed=None)
            visible = {n for n, tool in enumerate(names) if tool in caller.sees(admin)}
        unseen = hidden_marks(draft, marks, visible)
        arguments = Arguments(rng, draft, marks, names + draft.new_tools(marks), caller)
        monkeypatch.setenv("TOOL_RAG_DATABASE_URL", url.replace("postgres@", f"{login}@"))
        for command in COMMANDS:
            given = [part for word in command for part in arguments.words_for(word)]
            with pytest.raises(SystemExit) as ended:
                main(given)
            said = capsys.readouterr()
            text, written = f"{said.out}{said.err}".lower(), repr(given).lower()
            leaked = [mark for mark in unseen if mark in text and mark not in written]
            assert not leaked, (case, given, text)
            assert "Usage:" not in said.err
            ran[ended.value.code in (0, None)] += 1
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(sql.SQL("drop owned by {}").format(sql.Identifier(login)))
    assert ran[True] > 0
    assert ran[False] > 0
    record_property(
        "tried", f"{cases} catalogues, {ran.total()} commands, of which {ran[True]} succeeded"
    )


def test_the_view_and_functions_are_all_that_readers_have(connection: Connection) -> None:
    assert column(
        connection,
        "select c.relname from pg_class c where c.relnamespace = 'tool_rag'::regnamespace"
        " and c.relkind in ('r', 'v', 'm', 'f', 'p')"
        " and has_any_column_privilege('tool_rag_reader', c.oid, 'select')",
    ) == ["my_tools"]


# Of which tools words are counted


def scores(connection: Connection, query: str, **arguments: Any) -> list[tuple[Any, ...]]:
    return [
        (hit["name"], hit["score"], hit["relevance"], hit["explain"])
        for hit in search(connection, query, ["clerk"], **arguments)
    ]


STRICT = {"statistics": "permitted"}
REQUESTS = ("list the orders", "order forecast mail", "refund orders of a zebra", "weather")


@pytest.fixture
def clerk(shop: Connection) -> Connection:
    """The tools of SHOP with a role that sees only those of the shop."""
    add_role(shop, "clerk")
    allow(shop, "clerk", "shop")
    return shop


def test_permitted_statistics_are_those_of_a_catalogue_without_the_rest(clerk: Connection) -> None:
    for number in range(5):
        add_tool(clerk, "desk", f"zebra_order_{number}", "Orders and refunds of a customer")
    strict = [scores(clerk, request, options=STRICT) for request in REQUESTS]
    unmatched = [
        column(clerk, "select tool_rag.unmatched_words(%s, '{clerk}')", request)
        for request in REQUESTS
    ]
    usual = [scores(clerk, request) for request in REQUESTS]
    clerk.execute("delete from tool_rag.server where name <> 'shop'")
    assert [scores(clerk, request) for request in REQUESTS] == strict
    assert [scores(clerk, request, options=STRICT) for request in REQUESTS] == strict
    assert unmatched == [
        column(clerk, "select tool_rag.unmatched_words(%s, '{clerk}')", request)
        for request in REQUESTS
    ]
    # By default the same tools come with other scores.
    assert [{hit[0] for hit in hits} for hits in usual] == [
        {hit[0] for hit in hits} for hits in strict
    ]
    assert usual[0] != strict[0]


def test_no_caller_switches_strict_statistics_off(clerk: Connection) -> None:
    strict = [scores(clerk, request, options=STRICT) for request in REQUESTS]
    usual = [scores(clerk, request, options={"statistics": "catalogue"}) for request in REQUESTS]
    assert usual != strict
    assert usual == [scores(clerk, request) for request in REQUESTS]
    clerk.execute("update tool_rag.access_setting set strict_statistics = true")
    for options in ({}, {"statistics": "catalogue"}, {"exact": False}):
        assert [scores(clerk, request, options=options) for request in REQUESTS] == strict
    # Without its row nobody has said that it is off.
    clerk.execute("delete from tool_rag.access_setting")
    assert [scores(clerk, request) for request in REQUESTS] == strict


def test_strict_statistics_are_set_and_told(clerk: Connection) -> None:
    def held(strict: bool | None = None) -> bool:
        (answer,) = column(clerk, "select tool_rag.set_strict_statistics(%s)", strict)
        return bool(answer)

    usual = [scores(clerk, request) for request in REQUESTS]
    strict = [scores(clerk, request, options=STRICT) for request in REQUESTS]
    assert held() is False
    assert held(True) is True
    assert [scores(clerk, request) for request in REQUESTS] == strict
    with undone(clerk):
        # Where it only asks it writes nothing.
        clerk.execute("set local transaction_read_only = on")
        assert held() is True
    assert held(True) is True
    assert held(False) is False
    assert [scores(clerk, request) for request in REQUESTS] == usual
    changes = clerk.execute(
        "select action, before -> 'strict_statistics', after -> 'strict_statistics'"
        " from tool_rag.list_changes(objects => '{access_setting}')"
    ).fetchall()
    assert changes == [("update", True, False), ("update", False, True)]
    # A row that was removed is made anew, without making tokens count that did not.
    clerk.execute("delete from tool_rag.access_setting")
    assert held() is True
    assert held(False) is False
    assert column(clerk, "select roles_claim from tool_rag.access_setting") == [None]


def test_a_word_of_hidden_tools_alone_weighs_as_one_of_none(clerk: Connection) -> None:
    # Also by default: its number of tools is in no score.
    add_tool(clerk, "desk", "count_qqzzy", "Counting qqzzy and qqzzy")
    for text in ("refund WORD", "WORD WORD orders", "WORD"):
        hidden, none = (scores(clerk, text.replace("WORD", word)) for word in ("qqzzy", "qqzzv"))
        assert [hit[0] for hit in hidden] == [hit[0] for hit in none]
        assert [hit[3].get("words") for hit in hidden] == [hit[3].get("words") for hit in none]


@pytest.mark.parametrize("value", ["all", 1, None, True, ["permitted"]])
def test_statistics_of_anything_else_are_refused(clerk: Connection, value: Any) -> None:
    with refused(clerk, "22023", "options.statistics is not", hint="words are counted"):
        search(clerk, "refund", options={"statistics": value})
