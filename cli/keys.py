"""`tool-rag keys`: keys of callers, shown once."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from tool_rag_pg.cli._context import connect
from tool_rag_pg.cli._names import join, read_duration, read_until
from tool_rag_pg.cli._output import note, print_json, print_table
from tool_rag_pg.errors import InvalidArgument

__all__ = ["app"]

app = typer.Typer()
keys = typer.Typer(no_args_is_help=True, help="Manage keys of callers.")
app.add_typer(keys, name="keys", epilog="Example: tool-rag keys add asha --role support")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Whom or what the key is for.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@keys.command(
    "add",
    help="Make a key and print it: the only time that it can be read.",
    epilog="Example: tool-rag keys add asha --role support --identity agent_id=a-17 --expires 90d",
)
def add(
    ctx: typer.Context,
    name: NameArgument,
    role: Annotated[list[str], typer.Option(help="What it asks with; repeat it for several.")],
    identity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="An identity parameter's value, as JSON or else as text; repeat it for several.",
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="Its end: 90d, 2031-01-31, ...")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key."""
    from tool_rag_pg.keys import key_secrets, new_key
    from tool_rag_pg.retriever import ToolRetriever

    key = new_key(key_secrets()[0])
    with connect(ctx) as connection:
        ToolRetriever(connection).add_api_key(
            name,
            key.public_id,
            key.digest,
            role,
            identity=_read_identity(identity or ()),
            expires_at=None if expires is None else read_until(expires),
        )
    _show(name, key.text, as_json=as_json)


@keys.command(
    "rotate",
    help="Replace a key by another with the same roles and identity, and print it.",
    epilog="Example: tool-rag keys rotate asha --grace 1d",
)
def rotate(
    ctx: typer.Context,
    name: NameArgument,
    grace: Annotated[
        str, typer.Option(metavar="TIME", help="How long the former key is good yet.")
    ] = "0m",
    as_json: JsonOption = False,
) -> None:
    """Replace a key."""
    from tool_rag_pg.keys import key_secrets, new_key
    from tool_rag_pg.retriever import ToolRetriever

    secret = key_secrets()[0]
    with connect(ctx) as connection:
        retriever = ToolRetriever(connection)
        known = retriever.list_api_keys(name)
        # Of a key that does not exist the next call says so.
        key = new_key(secret, known[0].public_id if known else None)
        retriever.rotate_api_key(name, key.digest, grace=read_duration(grace))
    _show(name, key.text, as_json=as_json)


@keys.command(
    "revoke",
    help="Make a key worthless at once and for good.",
    epilog="Example: tool-rag keys revoke asha",
)
def revoke(ctx: typer.Context, name: NameArgument) -> None:
    """Revoke a key."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        ToolRetriever(connection).revoke_api_key(name)
    note(f"Key {name} is revoked.")


@keys.command(
    "list",
    help="List keys with their roles and state; never the keys themselves.",
    epilog="Example: tool-rag keys list --json",
)
def list_(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List keys."""
    from tool_rag_pg.retriever import ToolRetriever

    with connect(ctx) as connection:
        rows = ToolRetriever(connection).list_api_keys()
    if as_json:
        print_json([asdict(row) for row in rows])
    elif rows:
        print_table(
            ["name", "id", "state", "roles", "identity", "expires", "last used"],
            [
                (
                    r.name,
                    r.public_id,
                    r.state,
                    join(r.roles),
                    json.dumps(r.identity, ensure_ascii=False) if r.identity else None,
                    r.expires_at,
                    r.last_used_at,
                )
                for r in rows
            ],
        )
    if not rows:
        note("There is no key. Make one: tool-rag keys add NAME --role ROLE")


def _show(name: str, key: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, "key": key})
    else:
        print(key)
    note(f"This is the key of {name}. It is not stored and can't be shown again.")


def _read_identity(pairs: tuple[str, ...] | list[str]) -> dict[str, Any]:
    identity: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not (name and sign):
            raise InvalidArgument(
                f"{pair!r} is not of the form NAME=VALUE", hint="as in: --identity customer_id=c-17"
            )
        try:
            identity[name] = json.loads(value)
        except ValueError:
            identity[name] = value
    return identity
