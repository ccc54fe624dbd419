"""The gateway's configuration: one JSON file, checked as a whole.

Secrets stand in the environment only. Where a value may be one, the file says `env:NAME`, or
`Bearer env:NAME`; a literal where a secret belongs is refused, so that none is committed.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from tool_rag_pg.errors import InvalidArgument
from tool_rag_pg.sources.naming import check_server

__all__ = [
    "AuditPolicy",
    "ConfigError",
    "ConfirmationPolicy",
    "GatewayConfig",
    "HttpSettings",
    "IdentityProvider",
    "Limits",
    "Permissions",
    "Secrets",
    "UpstreamConfig",
    "is_loopback",
    "read_config",
    "read_upstream",
    "reads_like_secret",
    "without",
]

_REFERENCE = re.compile(r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9-]*) )?env:(?P<name>[A-Za-z_]\w*)")
_SECRET = re.compile(
    "auth|token|secret|passw|passphrase|cookie|credential|session|signature|(api|access|private).?key"
    "|^key$|_key$|-key$",
    re.IGNORECASE,
)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# What a request's own line and the protocol set; a configured one would break or impersonate.
_OWN_HEADERS = frozenset({"host", "content-length", "content-type", "accept", "connection"})


class ConfigError(InvalidArgument):
    """A configuration that can't be used.

    Attributes:
        faults: every fault, each a sentence that begins with its place in the file.
    """

    def __init__(
        self,
        path: str,
        faults: tuple[str, ...],
        hint: str = "correct the file; docs/gateway.md lists all settings",
    ) -> None:
        first = faults[0] if len(faults) == 1 else f"{len(faults)} faults"
        listed = "" if len(faults) == 1 else "".join(f"\n  {fault}" for fault in faults)
        super().__init__(f"{path}: {first}{listed}", hint=hint)
        self.faults = faults


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, strict=True)


def without(text: str, secrets: Sequence[str]) -> str:
    """Return a text with every secret in it replaced."""
    for secret in secrets:
        text = text.replace(secret, "(secret)")
    return text


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reads_like_secret(name: str) -> bool:
    """Whether a header, variable or argument is called like a secret."""
    return _SECRET.search(name) is not None


def _server_name(name: str) -> str:
    try:
        checked = check_server(name)
    except InvalidArgument as error:
        raise ValueError(f"{error.message}: {error.hint}") from error
    if checked != name or "*" in name:
        raise ValueError("a server's name has no space around it and no '*' in it")
    return name


def _http_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it is no http:// or https:// address")
    if parts.username or parts.password:
        raise ValueError("it holds a user or a password: send them as a header, from env:NAME")
    for key, _ in parse_qsl(parts.query, keep_blank_values=True):
        if reads_like_secret(key):
            raise ValueError(
                f"its query holds {key!r}, which reads like a secret: addresses end in logs. Send "
                "it as a header, from env:NAME"
            )
    return url


def _headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise ValueError(f"{name!r} is no header that a configuration may set")
        if not value.isprintable() or not value.isascii():
            raise ValueError(f"the value of {name!r} is no text of printable ASCII characters")
        _no_literal_secret(name, value)
    return headers


def _environment(environment: dict[str, str]) -> dict[str, str]:
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"{name!r} is no name of an environment variable")
        _no_literal_secret(name, value)
    return environment


def _no_literal_secret(name: str, value: str) -> None:
    if value and reads_like_secret(name) and not _REFERENCE.fullmatch(value):
        raise ValueError(
            f"{name!r} reads like a secret, and its value is written out: put the value into "
            "an environment variable and write env:NAME (or Bearer env:NAME)"
        )


def _path(path: str) -> str:
    if not re.fullmatch(r"/[A-Za-z0-9._~/-]*", path) or path.rstrip("/") in (
        "/healthz",
        "/readyz",
        "/metrics",
    ):
        raise ValueError("it is no path such as /mcp, or one that the gateway serves itself")
    return path


def _tool_name(name: str) -> str:
    if not 1 < name.find("/") + 1 < len(name):
        raise ValueError(f"{name!r} is not of the form SERVER/TOOL")
    return name


def _reference(value: str) -> str:
    if not value.startswith("env:") or not _REFERENCE.fullmatch(value):
        raise ValueError("it is a secret: put it into an environment variable and write env:NAME")
    return value


def _database(value: str) -> str:
    if _REFERENCE.fullmatch(value):
        return value
    if re.search(r"password\s*=|://[^/@]*:[^/@]*@", value):
        raise ValueError("it holds a password: put all of it into a variable and write env:NAME")
    return value


def _number(value: object) -> object:
    # JSON has one kind of number; 60 and 60.0 mean the same.
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


Seconds = Annotated[float, BeforeValidator(_number), Field(gt=0, le=86_400)]
ServerName = Annotated[str, AfterValidator(_server_name)]
ToolName = Annotated[str, AfterValidator(_tool_name)]
Database = Annotated[str, AfterValidator(_database)]


class UpstreamConfig(_Model):
    """One server behind the gateway: an address, or a command to start.

    Attributes:
        name: what the catalogue, grants and models call it.
        description: a few words for the model on what it is for. It is yours, not the server's own.
        url: its endpoint of streamable HTTP.
        headers: sent with each request to it.
        forward_key: whether calls carry the caller's own key, as `Authorization: Bearer`, instead
            of such a header of `headers`, with which the tools are listed.
        command: the program to start, which speaks over its standard input and output.
        args: its arguments.
        env: its environment, beside the few variables that every program gets.
        cwd: the folder that it starts in.
        call_seconds: how long a call may take; None for that of all.
        refresh_seconds: how often its tools are listed again, whether it tells of changes or not.
        confirm: which of its calls a person confirms; None for the rule of all.
    """

    name: ServerName
    description: Annotated[str, Field(max_length=200)] | None = None
    url: Annotated[str, AfterValidator(_http_url)] | None = None
    headers: Annotated[dict[str, str], AfterValidator(_headers)] = {}
    forward_key: bool = False
    command: Annotated[str, Field(min_length=1)] | None = None
    args: list[str] = []
    env: Annotated[dict[str, str], AfterValidator(_environment)] = {}
    cwd: str | None = None
    call_seconds: Seconds | None = None
    refresh_seconds: Seconds = 300.0
    confirm: Literal["actions", "always", "never"] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> UpstreamConfig:
        if (self.url is None) == (self.command is None):
            raise ValueError("it needs either a url or a command")
        if self.url is None and (self.headers or self.forward_key):
            raise ValueError("headers and forward_key are for a url: a command has args and env")
        if self.url is not None and (self.args or self.env or self.cwd):
            raise ValueError("args, env and cwd are for a command: a url has headers")
        return self


class IdentityProvider(_Model):
    """Who issues the tokens of permissions mode "oauth", and how they are read.

    Attributes:
        issuer: the authorization server, as the tokens name it.
        audience: this gateway, as the tokens name it: its public address.
        jwks_url: where the issuer's keys are; None for its `.well-known/jwks.json`.
        roles_claim: where in the claims the caller's roles are, as a path with dots.
        identity: identity parameters by the claim that says them.
        scopes: what a token needs to have.
    """

    issuer: Annotated[str, AfterValidator(_http_url)]
    audience: Annotated[str, AfterValidator(_http_url)]
    jwks_url: Annotated[str, AfterValidator(_http_url)] | None = None
    roles_claim: Annotated[str, Field(min_length=1)] = "roles"
    identity: dict[str, str] = {}
    scopes: list[str] = []


class Permissions(_Model):
    """Who may use what.

    Attributes:
        mode: "none": everyone with access to the address asks with `roles`; "keys": keys of
            `tool-rag keys`; "gatekeeper": what `store` lists for a key; "oauth": tokens of
            `provider`.
        roles: of mode "none".
        store: of mode "gatekeeper": a file, or a Postgres address.
        query: of a Postgres store: what returns a key's policy for %(sha256)s.
        ignore: keys of a policy that the gateway does not enforce and may disregard.
        provider: of mode "oauth".
    """

    mode: Literal["none", "keys", "gatekeeper", "oauth"] = "keys"
    roles: Annotated[list[str], Field(min_length=1)] = ["everyone"]
    store: str | None = None
    query: str = "select policy from gatekeeper_policy where key_sha256 = %(sha256)s"
    ignore: list[str] = []
    provider: IdentityProvider | None = None

    @model_validator(mode="after")
    def _store_of_mode(self) -> Permissions:
        if self.mode == "gatekeeper" and self.store is None:
            raise ValueError('mode "gatekeeper" needs a store: a file or a Postgres address')
        if self.mode != "gatekeeper" and self.store is not None:
            raise ValueError(f'mode "{self.mode}" has no store; it is for "gatekeeper"')
        if (self.mode == "oauth") != (self.provider is not None):
            raise ValueError('mode "oauth" needs a provider, and no other mode has one')
        if self.store is not None and self.store_is_database:
            _database(self.store)
        return self

    @property
    def store_is_database(self) -> bool:
        """Whether the store is a Postgres address and not a file."""
        return self.store is not None and (
            self.store.startswith(("postgres://", "postgresql://", "env:"))
        )


class ConfirmationPolicy(_Model):
    """Which calls a person confirms.

    Attributes:
        calls: "actions": those that may change something; "always"; "never".
        without_elicitation: what happens where the client can't ask its user.
        seconds: how long a confirmation is good, and how long a question may stay open.
    """

    calls: Literal["actions", "always", "never"] = "actions"
    without_elicitation: Literal["refuse", "allow"] = "refuse"
    seconds: Seconds = 300.0


class Limits(_Model):
    """What one caller, one call, and all of them together may use.

    Attributes:
        requests_per_minute: of one caller; more are answered with status 429.
        request_bytes: of one HTTP request.
        result_bytes: of one answer of an upstream.
        call_seconds: of one call, confirmation not included.
        connect_seconds: for connecting to an upstream, and for waiting while it is restarted.
        calls_at_once: of all callers; further ones wait.
        calls_per_server: at the same time to one upstream; further ones wait.
        sessions: of clients of the revisions that have sessions.
        shutdown_seconds: for calls to end after the gateway was told to.
        database_connections: at most.
    """

    requests_per_minute: Annotated[int, Field(ge=1)] = 1200
    request_bytes: Annotated[int, Field(ge=1024)] = 4 * 1024 * 1024
    result_bytes: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    call_seconds: Seconds = 60.0
    connect_seconds: Seconds = 10.0
    calls_at_once: Annotated[int, Field(ge=1)] = 256
    calls_per_server: Annotated[int, Field(ge=1)] = 64
    sessions: Annotated[int, Field(ge=1)] = 10_000
    shutdown_seconds: Seconds = 30.0
    database_connections: Annotated[int, Field(ge=1)] = 8


class HttpSettings(_Model):
    """Where HTTP is served.

    Attributes:
        host: loopback unless something else is meant.
        port: 0 for any that is free.
        path: of the MCP endpoint.
        allowed_hosts: values of the header Host beside those of the address itself.
        allowed_origins: values of the header Origin beside those of the address itself.
        metrics_key: what /metrics wants as a bearer token, as env:NAME; without it /metrics is
            served on loopback alone.
    """

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8808
    path: Annotated[str, AfterValidator(_path)] = "/mcp"
    allowed_hosts: list[str] = []
    allowed_origins: list[str] = []
    metrics_key: Annotated[str, AfterValidator(_reference)] | None = None


class AuditPolicy(_Model):
    """What the log says.

    Attributes:
        level: of the log on standard error.
        arguments: whether lines about calls have their arguments, without those that are called
            like secrets. Off, since arguments are people's data.
    """

    level: Literal["debug", "info", "warning", "error"] = "info"
    arguments: bool = False


class GatewayConfig(_Model):
    """All settings of a gateway.

    Attributes:
        name: what clients call this server.
        servers: what is behind it.
        permissions: who may use what.
        limit: how many tools a search returns where it does not say.
        min_relevance: less relevant tools are left out of answers; None for no such bound.
        instructions: a text for the model, beside what the gateway says of itself.
        always_on: tools that are offered without a search, as SERVER/TOOL.
        offer_found: whether tools that a search found are listed as tools of this server.
        unavailable: whether searches "hide" tools of an upstream that is down, or "offer" them,
            marked.
        confirmation: which calls a person confirms.
        limits: bounds.
        http: where HTTP is served.
        log: what the log says.
        database: of the catalogue; None for that of the command line.
        refresh_database: the same with another login, which may store tools; None for `database`.
    """

    name: Annotated[str, Field(min_length=1, max_length=100)] = "tool-rag"
    servers: Annotated[list[UpstreamConfig], Field(min_length=1)]
    permissions: Permissions = Permissions()
    limit: Annotated[int, Field(ge=1, le=50)] = 8
    min_relevance: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None, BeforeValidator(_number)
    ] = 0.05
    instructions: str | None = None
    always_on: list[ToolName] = []
    offer_found: bool = False
    unavailable: Literal["hide", "offer"] = "hide"
    confirmation: ConfirmationPolicy = ConfirmationPolicy()
    limits: Limits = Limits()
    http: HttpSettings = HttpSettings()
    log: AuditPolicy = AuditPolicy()
    database: Database | None = None
    refresh_database: Database | None = None


class _Reference(NamedTuple):
    place: str
    value: str


@dataclass(frozen=True, slots=True)
class Secrets:
    """Values of the environment that a configuration refers to."""

    environment: Mapping[str, str]

    def resolve(self, value: str) -> str:
        """Return a value as it is sent: with the variable's value for its `env:NAME`.

        Raises:
            KeyError: the variable is not set; `read_config` has checked that.
        """
        match = _REFERENCE.fullmatch(value)
        if match is None:
            return value
        secret = self.environment[match["name"]]
        return f"{match['scheme']} {secret}" if match["scheme"] else secret

    def of(self, server: UpstreamConfig) -> list[str]:
        """Return the values that a server is given, which are in no log and no answer."""
        found = []
        for value in (*server.headers.values(), *server.env.values()):
            match = _REFERENCE.fullmatch(value)
            secret = self.environment.get(match["name"], "") if match else ""
            # Shorter ones would be found in any text.
            if len(secret) >= 6:
                found.append(secret)
        return sorted(found, key=len, reverse=True)

    def missing(self, value: str) -> str | None:
        """Return the variable that a value refers to and that is not set, or empty; else None."""
        match = _REFERENCE.fullmatch(value)
        return match["name"] if match and not self.environment.get(match["name"]) else None

    def __repr__(self) -> str:
        """Leave out the values, which would end in a log."""
        return "Secrets(...)"


def read_config(
    path: str | Path, environment: Mapping[str, str] | None = None
) -> tuple[GatewayConfig, Secrets]:
    """Read a configuration and find the variables that it refers to.

    Args:
        path: the file.
        environment: where `env:NAME` is looked up; None for that of the process.

    Raises:
        ConfigError: the file can't be read, or lists every fault in it: with its place in the file,
            never with a value that may be a secret.
    """
    secrets = Secrets(os.environ if environment is None else environment)
    shown = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(shown, ("the file does not exist",)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(shown, (f"the file can't be read: {_reason(error)}",)) from error
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(shown, (f"{place}: {error.msg}: this is no JSON",)) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(shown, (str(error),)) from None
    if not isinstance(document, dict):
        raise ConfigError(shown, ("it holds no JSON object",))
    try:
        config = GatewayConfig.model_validate_json(text)
    except ValidationError as error:
        raise ConfigError(shown, tuple(_faults(error))) from None
    if faults := [*_clashes(config), *_unset(config, secrets)]:
        raise ConfigError(shown, tuple(faults))
    return config, secrets


def read_upstream(document: Mapping[str, Any], environment: Mapping[str, str]) -> UpstreamConfig:
    """Return the settings of one server that stand in no file.

    Raises:
        ConfigError: lists every fault.
    """
    hint = "correct the options"
    try:
        server = UpstreamConfig.model_validate_json(json.dumps(document))
    except ValidationError as error:
        raise ConfigError("the server", tuple(_faults(error)), hint) from None
    secrets = Secrets(environment)
    values = [*server.headers.values(), *server.env.values()]
    missing = [name for value in values if (name := secrets.missing(value)) is not None]
    if missing:
        faults = tuple(f"the environment variable {name} is not set" for name in missing)
        raise ConfigError("the server", faults, hint)
    return server


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return value


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error.strerror)


def _faults(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False, include_context=False):
        place = _place(fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            message = "there is no such setting"
        elif fault["type"] == "missing":
            message = "this setting is missing"
        yield f"{place}: {message[0].lower()}{message[1:]}"


def _place(steps: tuple[int | str, ...]) -> str:
    place = ""
    for step in steps:
        if isinstance(step, int):
            place += f"[{step}]"
            continue
        key = step if step.isidentifier() else ascii(step)
        place += f".{key}" if place else key
    return place or "the file"


def _clashes(config: GatewayConfig) -> Iterator[str]:
    seen: dict[str, int] = {}
    for place, server in enumerate(config.servers):
        if server.name in seen:
            yield (
                f"servers[{place}].name: {server.name!r} is also the name of "
                f"servers[{seen[server.name]}]"
            )
        seen.setdefault(server.name, place)
        if server.forward_key and config.permissions.mode == "none":
            yield f'servers[{place}].forward_key: in permissions mode "none" no caller has a key'
    for place, tool in enumerate(config.always_on):
        if tool.partition("/")[0] not in seen:
            yield f"always_on[{place}]: {tool.partition('/')[0]!r} is none of the servers"


def _references(config: GatewayConfig) -> Iterator[_Reference]:
    for place, server in enumerate(config.servers):
        for kind, values in (("headers", server.headers), ("env", server.env)):
            for name, value in values.items():
                yield _Reference(f"servers[{place}].{kind}.{name}", value)
    for name in ("database", "refresh_database"):
        if (value := getattr(config, name)) is not None:
            yield _Reference(name, value)
    if config.http.metrics_key is not None:
        yield _Reference("http.metrics_key", config.http.metrics_key)
    if config.permissions.store is not None:
        yield _Reference("permissions.store", config.permissions.store)


def _unset(config: GatewayConfig, secrets: Secrets) -> Iterator[str]:
    for place, value in _references(config):
        if (name := secrets.missing(value)) is not None:
            yield f"{place}: the environment variable {name} is not set"
