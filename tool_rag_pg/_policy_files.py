"""Files of rules: reading, storing and writing them.

docs/policies.md says what they look like.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn

import psycopg
import yaml

from ._wording_files import read_file
from .errors import InvalidArgument, SourceError, ToolRagError
from .models import AccessRule, ListedRole, RuleChange
from .retriever import ToolRetriever
from .sources.context import Origin, at
from .sources.json_text import parse_json
from .sources.yaml_text import parse_yaml

__all__ = [
    "Format",
    "ImportedRules",
    "Policies",
    "RoleEffect",
    "RuleLine",
    "import_policies",
    "read_policies",
    "unmapped_rules",
    "write_csv",
    "write_gatekeeper",
    "write_yaml",
]

Format = Literal["csv", "yaml", "gatekeeper"]

_ENDINGS: Mapping[str, Format] = {
    ".csv": "csv",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "gatekeeper",
}
_COLUMNS = (
    "role",
    "server_pattern",
    "tool_pattern",
    "effect",
    "valid_from",
    "valid_until",
    "hours",
)
_NEEDED = {"server_pattern", "tool_pattern", "effect"}
_SHAPE = 'it is {"ROLE": {"SERVER": {"tools": ["NAME", ...]}}}'
# Texts that no reader of YAML takes for anything else; all others are quoted.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_-]*")
# What of another system's hours may be meant as ours. Whether the days, times and zone exist, the
# database says.
_HOURS = re.compile(
    r"(?=\S+\s)([a-z]{3}(\s*[,-]\s*[a-z]{3})*\s+)?([\d:]+\s*-\s*[\d:]+\s+)?([a-z_]+(/[\w+-]+)+|utc)",
    re.IGNORECASE,
)
_FAULT = re.compile(r"rules\[(\d+)\](?:\.(\w+))? (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """A rule as a file has it, and where it stands there."""

    position: str
    role: str
    server_pattern: str
    tool_pattern: str
    effect: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    hours: str | None = None
    # Where the hours stand, if not in the rule itself.
    hours_position: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """What a file says.

    Attributes:
        path: the file, or "-" for standard input.
        roles: the roles that it is about, each with the first position where it is named; a role
            may have no rule.
        rules: the rules, each once.
        not_mapped: positions of what has no counterpart here and is left out.
    """

    path: str
    roles: Mapping[str, str]
    rules: tuple[RuleLine, ...]
    not_mapped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleEffect:
    """How many tools a role gained and lost."""

    role: str
    gained: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRules:
    """What an import did, or would do.

    Attributes:
        created_roles: roles that were not there.
        changes: the rules that are not as they were.
        unchanged: how many rules of the file stood already.
        effects: the roles that gain or lose tools: those of the file, and their heirs.
    """

    created_roles: tuple[str, ...]
    changes: tuple[RuleChange, ...]
    unchanged: int
    effects: tuple[RoleEffect, ...]


def read_policies(path: str, *, format_: Format | None, role: str | None) -> Policies:
    """Return what a file says; "-" is standard input.

    Args:
        path: the file.
        format_: how it is written; None to go by the ending of its name.
        role: whose rules these are, where the file does not say it.

    Raises:
        SourceError: with the position of the first fault.
        InvalidArgument: the format can't be told.
    """
    if format_ is None:
        format_ = next((made for end, made in _ENDINGS.items() if path.lower().endswith(end)), None)
    if format_ is None:
        raise InvalidArgument(
            f"the name {path!r} does not tell how the file is written",
            hint="add --format csv, yaml or gatekeeper",
        )
    reader = _Reader(path, role)
    text = read_file(path)
    if format_ == "csv":
        reader.read_csv(text)
    elif format_ == "yaml":
        reader.read_yaml(text)
    else:
        reader.read_gatekeeper(text)
    return Policies(
        path=path,
        roles=reader.roles,
        rules=tuple(reader.rules.values()),
        not_mapped=tuple(reader.not_mapped),
    )


class _Reader:
    """Collects what one file says."""

    def __init__(self, path: str, role: str | None) -> None:
        self._path = path
        self._origin = Origin(path)
        self._role = role
        self.roles: dict[str, str] = {} if role is None else {role: ""}
        self.rules: dict[tuple[object, ...], RuleLine] = {}
        self.not_mapped: list[str] = []

    def _fail(self, position: str, message: str, *, hint: str) -> NoReturn:
        raise SourceError(message, path=self._path, position=position or None, hint=hint)

    def _add(self, rule: RuleLine) -> None:
        key = (
            *(rule.role, rule.server_pattern, rule.tool_pattern, rule.effect),
            *(rule.valid_from, rule.hours),
        )
        if key in self.rules:
            self._fail(
                rule.position,
                f"this rule stands at {self.rules[key].position} already",
                hint="remove one of the two",
            )
        self.rules[key] = rule
        self.roles.setdefault(rule.role, rule.position)

    def read_csv(self, text: str) -> None:
        # Lines are counted as an editor does, also where a quoted cell has several.
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        header: list[str] | None = None
        while True:
            position = f"line {rows.line_num + 1}"
            try:
                cells = next(rows, None)
            except csv.Error as error:
                self._fail(position, f"it is not valid CSV: {error}", hint="correct it there")
            if cells is None:
                break
            if not cells:
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                self._check_columns(position, header)
                continue
            if len(cells) != len(header):
                self._fail(
                    position,
                    f"it has {len(cells)} cells instead of {len(header)}",
                    hint=f"the columns are {', '.join(header)}",
                )
            # An empty cell is none: neither a role nor a pattern can be empty.
            values = {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}
            self._add(self._rule(position, values))
        if header is None:
            self._fail("", "it has no header", hint=f"its first line is {','.join(_COLUMNS)}")

    def _check_columns(self, position: str, header: list[str]) -> None:
        hint = f"the columns are {', '.join(_COLUMNS)}, separated by commas"
        if unknown := [name for name in header if name not in _COLUMNS]:
            self._fail(position, f"not known: {', '.join(map(repr, unknown))}", hint=hint)
        if len(set(header)) < len(header):
            self._fail(position, "a column stands twice", hint=hint)
        needed = _NEEDED if self._role is not None else _NEEDED | {"role"}
        if missing := [name for name in _COLUMNS if name in needed - set(header)]:
            self._fail(position, f"missing: {', '.join(missing)}", hint=hint)

    def read_yaml(self, text: str) -> None:
        document = parse_yaml(text, self._origin)
        hint = f"it is a list of mappings with the keys {', '.join(_COLUMNS)}"
        if not isinstance(document, list):
            self._fail("", "it is no list", hint=hint)
        for number, value in enumerate(document):
            position = at("", number)
            if not isinstance(value, dict):
                self._fail(position, "it is no mapping", hint=hint)
            if unknown := [key for key in value if key not in _COLUMNS]:
                self._fail(position, f"not known: {', '.join(map(repr, unknown))}", hint=hint)
            self._add(self._rule(position, value))

    def _rule(self, position: str, values: Mapping[str, Any]) -> RuleLine:
        role = values.get("role", self._role)
        where = self._origin, position
        if self._role is not None and role != self._role:
            self._fail(
                at(position, "role"),
                f"the role is {role!r} instead of {self._role!r}",
                hint="do without --role where the file names roles",
            )
        effect = values.get("effect")
        if effect not in ("allow", "deny"):
            self._fail(
                at(position, "effect"),
                "the effect is missing" if effect is None else f"the effect is {effect!r}",
                hint="it is allow or deny",
            )
        return RuleLine(
            position=position,
            role=_text(*where, "role", role),
            server_pattern=_server(*where, "server_pattern", values.get("server_pattern")),
            tool_pattern=_pattern(*where, "tool_pattern", values.get("tool_pattern")),
            effect=effect,
            valid_from=_time(*where, "valid_from", values.get("valid_from")),
            valid_until=_time(*where, "valid_until", values.get("valid_until")),
            hours=None if values.get("hours") is None else _text(*where, "hours", values["hours"]),
        )

    def read_gatekeeper(self, text: str) -> None:
        documents = parse_json(text, self._origin)
        if len(documents) != 1 or not isinstance(documents[0][0], dict):
            self._fail("", "it is not one JSON object", hint=_SHAPE)
        document = documents[0][0]
        if self._role is not None:
            self._read_servers("", self._role, document)
            return
        for role, servers in document.items():
            position = at("", role)
            if not isinstance(servers, dict):
                self._fail(position, "it is no object", hint=_SHAPE)
            if isinstance(servers.get("tools"), list):
                self._fail(
                    position,
                    "it is a server, so the file does not say whose tools these are",
                    hint="add --role ROLE",
                )
            self.roles[_text(self._origin, position, "", role)] = position
            self._read_servers(position, role, servers)

    def _read_servers(self, position: str, role: str, servers: Mapping[str, Any]) -> None:
        for server, entry in servers.items():
            where = at(position, server)
            tools = entry.get("tools") if isinstance(entry, dict) else None
            if not isinstance(tools, list):
                self._fail(
                    at(where, "tools"),
                    "it is no list of names",
                    hint=f"{_SHAPE}, or without the roles where --role names one",
                )
            _server(self._origin, where, "", server)
            if "*" in server:
                self._fail(where, "the server is a pattern", hint="name servers one by one")
            hours = _hours(entry.get("hours"))
            for number, tool in enumerate(tools):
                place = at(at(where, "tools"), number)
                name = _pattern(self._origin, place, "", tool)
                if "*" in name and name != "*":
                    self._fail(
                        place,
                        f"{name!r} is a pattern",
                        hint='name tools one by one, or all with "*"; CSV and YAML have patterns',
                    )
                self._add(
                    RuleLine(
                        position=place,
                        role=role,
                        server_pattern=server,
                        tool_pattern=name,
                        effect="allow",
                        hours=hours,
                        hours_position=at(where, "hours"),
                    )
                )
            mapped = {"tools"} if hours is None else {"tools", "hours"}
            self.not_mapped += [at(where, key) for key in entry if key not in mapped]


def _text(origin: Origin, position: str, key: str, value: Any) -> str:
    where = at(position, key) if key else position
    if not isinstance(value, str):
        said = "is missing" if value is None else f"is {value!r} instead of a text"
        raise origin.error(where, f"{key or 'the name'} {said}", hint="write it as a text, quoted")
    if value == "" or "\0" in value or re.search("[\ud800-\udfff]", value):
        raise origin.error(
            where,
            f"{key or 'the name'} is empty, or has characters that can't be stored",
            hint="name what is meant",
        )
    return value


def _pattern(origin: Origin, position: str, key: str, value: Any) -> str:
    text = _text(origin, position, key, value)
    if len(text) > 256:
        raise origin.error(
            at(position, key) if key else position,
            f"{key or 'the name'} has more than 256 characters",
            hint='shorten it: "*" stands for any run of characters',
        )
    return text


def _server(origin: Origin, position: str, key: str, value: Any) -> str:
    text = _pattern(origin, position, key, value)
    if "/" in text:
        raise origin.error(
            at(position, key) if key else position,
            f"{key or 'the name'} has a '/'",
            hint="servers have none in their names; tools stand apart from them",
        )
    return text


def _hours(value: Any) -> str | None:
    """Return hours of another system as a text of ours, or None where they have no counterpart."""
    if isinstance(value, dict):
        days = value.get("days", "Mon-Sun")
        start, end = value.get("start", "00:00"), value.get("end", "24:00")
        parts = [*days] if isinstance(days, list) else [days]
        texts = [*parts, start, end, value.get("timezone")]
        if (
            value.keys() - {"days", "start", "end", "timezone"}
            or ("start" in value) != ("end" in value)
            or not parts
            or not all(isinstance(text, str) and text for text in texts)
        ):
            return None
        value = f"{','.join(parts)} {start}-{end} {value['timezone']}"
    return value if isinstance(value, str) and _HOURS.fullmatch(value.strip()) else None


def _time(origin: Origin, position: str, key: str, value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise origin.error(
            at(position, key),
            f"{value!r} is no time",
            hint="write 2031-01-31 or 2031-01-31T18:00+02:00; without a zone it is UTC",
        ) from error


def import_policies(
    connection: psycopg.Connection[Any],
    policies: Policies,
    *,
    replace: bool,
    create_roles: bool,
    dry_run: bool,
    progress: Callable[[str], None],
) -> ImportedRules:
    """Store what a file says, all or nothing; with `dry_run` it is taken back again.

    Args:
        connection: what it commits stays so, except in a dry run.
        policies: what `read_policies` returned.
        replace: whether other rules of its roles go.
        create_roles: whether roles that are not there are made, without parents.
        dry_run: whether all is undone.
        progress: is told what goes on.

    Raises:
        SourceError: a role does not exist, or can't be made.
        psycopg.Error, ToolRagError: nothing was changed.
    """
    retriever = ToolRetriever(connection)
    with connection.transaction(force_rollback=dry_run):
        # Takes the lock of edits, so that the tools before and after differ by this file alone.
        retriever.store_rules([])
        unknown = retriever.unknown_roles(list(policies.roles))
        if unknown and not create_roles:
            first = min(unknown, key=list(policies.roles).index)
            rest = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
            raise SourceError(
                f"the role {first!r} does not exist{rest}",
                path=policies.path,
                position=policies.roles[first] or None,
                hint=f"make it: tool-rag roles add {first!r}; or add --create-roles",
            )
        for role in unknown:
            try:
                retriever.add_role(role)
            except InvalidArgument as error:
                raise SourceError(
                    error.message,
                    path=policies.path,
                    position=policies.roles[role] or None,
                    hint=error.hint,
                ) from error
        touched = _with_heirs(policies.roles, retriever.list_roles())
        progress(f"Reading the tools of {len(touched):,} roles ...")
        before = [_tools(retriever, role) for role in touched]
        progress(f"Storing {len(policies.rules):,} rules ...")
        try:
            changes = retriever.store_rules(
                [
                    {
                        "role": rule.role,
                        "server_pattern": rule.server_pattern,
                        "tool_pattern": rule.tool_pattern,
                        "effect": rule.effect,
                        "valid_from": rule.valid_from,
                        "valid_until": rule.valid_until,
                        "hours": rule.hours,
                    }
                    for rule in policies.rules
                ],
                replaced_roles=list(policies.roles) if replace else [],
            )
        except InvalidArgument as error:
            raise _with_position(error, policies) from error
        progress("Comparing ...")
        after = [_tools(retriever, role) for role in touched]
    effects = [
        RoleEffect(role=role, gained=len(new - old), lost=len(old - new))
        for role, old, new in zip(touched, before, after, strict=True)
    ]
    stored = sum(change.change != "removed" for change in changes)
    return ImportedRules(
        created_roles=tuple(unknown),
        changes=tuple(changes),
        unchanged=len(policies.rules) - stored,
        effects=tuple(effect for effect in effects if effect.gained or effect.lost),
    )


def _with_position(error: InvalidArgument, policies: Policies) -> ToolRagError:
    """Return an error about a rule with its place in the file."""
    fault = _FAULT.fullmatch(error.message)
    if fault is None:
        return error
    rule = policies.rules[int(fault[1])]
    position, key = rule.position, fault[2]
    if key == "hours" and rule.hours_position is not None:
        position = rule.hours_position
    elif key is not None:
        position = at(position, key)
    return SourceError(
        f"{key or 'this rule'} {fault[3]}",
        path=policies.path,
        position=position,
        hint="correct it there; hours are written 'Mon-Fri 09:00-17:00 Europe/Berlin'"
        if key == "hours"
        else error.hint,
    )


def _with_heirs(names: Iterable[str], roles: Sequence[ListedRole]) -> list[str]:
    """Return the roles and all that inherit from them, in order."""
    found = set(names)
    while heirs := {role.name for role in roles if found & set(role.parents)} - found:
        found |= heirs
    return sorted(found)


def _tools(retriever: ToolRetriever, role: str) -> set[tuple[str, str]]:
    return {(tool.server, tool.name) for tool in retriever.permitted_tools(roles=[role])}


def write_csv(rules: Sequence[AccessRule]) -> str:
    """Return rules as CSV with a header."""
    rows = [[value or "" for value in _values(rule).values()] for rule in rules]
    text = io.StringIO(newline="")
    # A carriage return is a line's end to some readers, wherever it stands without quotes.
    dangerous = any("\r" in cell for row in rows for cell in row)
    writer = csv.writer(
        text,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if dangerous else csv.QUOTE_MINIMAL,
    )
    writer.writerows([_COLUMNS, *rows])
    return text.getvalue()


class _Dumper(yaml.SafeDumper):
    """Quotes what any version of YAML could take for something else than a text."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if _PLAIN.fullmatch(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def write_yaml(rules: Sequence[AccessRule]) -> str:
    """Return rules as a YAML list."""
    values = [
        {key: value for key, value in _values(rule).items() if value is not None} for rule in rules
    ]
    dumped: str = yaml.dump(
        values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")
    )
    return dumped


def _values(rule: AccessRule) -> dict[str, str | None]:
    start, until = rule.valid_from, rule.valid_until
    return {
        "role": rule.rule_role,
        "server_pattern": rule.server_pattern,
        "tool_pattern": rule.tool_pattern,
        "effect": rule.effect,
        "valid_from": None if start is None else start.astimezone(UTC).isoformat(),
        "valid_until": None if until is None else until.astimezone(UTC).isoformat(),
        "hours": rule.hours,
    }


def write_gatekeeper(rules: Sequence[AccessRule], held: Mapping[str, Sequence[AccessRule]]) -> str:
    """Return rules as `{"ROLE": {"SERVER": {"tools": [...]}}}`; see also `unmapped_rules`.

    Args:
        rules: what to write.
        held: all that each role of these holds, inherited rules too.

    Raises:
        ToolRagError: a role holds a deny; without it the file would allow more than the role may.
    """
    document: dict[str, dict[str, dict[str, list[str]]]] = {}
    for role, all_held in held.items():
        document[role] = {}
        for rule in all_held:
            if rule.effect == "deny" and (rule.valid or _is_to_come(rule)):
                raise ToolRagError(
                    f"{role!r} holds the rule deny {_named(rule)!r}, which this format can't "
                    "say: the file would allow more than the role may",
                    hint="export as csv or yaml, or name other roles with --role",
                )
    for rule in rules:
        if _is_mapped(rule):
            entry = document[rule.rule_role].setdefault(rule.server_pattern, {"tools": []})
            entry["tools"].append(rule.tool_pattern)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def unmapped_rules(rules: Iterable[AccessRule], roles: Sequence[ListedRole]) -> list[str]:
    """Return, in words, what `write_gatekeeper` leaves out of some roles and their rules."""
    left = []
    for rule in rules:
        if not _is_mapped(rule):
            start = "" if rule.valid_from is None else f" from {rule.valid_from.isoformat()}"
            until = "" if rule.valid_until is None else f" until {rule.valid_until.isoformat()}"
            hours = "" if rule.hours is None else f", {rule.hours}"
            left.append(f"{rule.rule_role}: {rule.effect} {_named(rule)}{start}{until}{hours}")
    left += [f"{role.name}: inherits from {parent}" for role in roles for parent in role.parents]
    return left


def _is_mapped(rule: AccessRule) -> bool:
    return (
        rule.effect == "allow"
        and rule.valid_from is None
        and rule.valid_until is None
        and rule.hours is None
        and "*" not in rule.server_pattern
        and (rule.tool_pattern == "*" or "*" not in rule.tool_pattern)
    )


def _is_to_come(rule: AccessRule) -> bool:
    return (rule.valid_from is not None or rule.hours is not None) and (
        rule.valid_until is None or rule.valid_until > datetime.now(UTC)
    )


def _named(rule: AccessRule) -> str:
    return f"{rule.server_pattern}/{rule.tool_pattern}"
