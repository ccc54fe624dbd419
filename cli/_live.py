"""Servers that run, as sources of tools: options that name one, and its list."""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from tool_rag_pg.errors import InvalidArgument

if TYPE_CHECKING:
    from types import ModuleType

    from tool_rag_pg.gateway.catalogue import Listing

__all__ = [
    "CommandOption",
    "EnvironmentOption",
    "HeaderOption",
    "UrlOption",
    "gateway_module",
    "read_live",
]

UrlOption = Annotated[
    str | None, typer.Option("--mcp", metavar="URL", help="A server that runs, by its address.")
]
CommandOption = Annotated[
    str | None,
    typer.Option("--command", metavar="COMMAND", help="A server to start, as in a shell."),
]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="NAME:VALUE",
        help="Sent to --mcp; secrets as env:NAME or 'Bearer env:NAME'. Repeat it for several.",
    ),
]
EnvironmentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="A variable for --command; secrets as env:NAME. Repeat it for several.",
    ),
]


def gateway_module(name: str) -> ModuleType:
    """Import a module of the gateway, or say which extra it needs."""
    try:
        return importlib.import_module(f"tool_rag_pg.gateway.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("tool_rag_pg"):
            raise
        raise InvalidArgument(
            f"what speaks to MCP servers needs the package {error.name}",
            hint="install it: pip install 'tool-rag-pg[gateway]'",
        ) from error


def read_live(
    url: str | None,
    command: str | None,
    headers: Sequence[str],
    environment: Sequence[str],
    server: str | None,
) -> Listing:
    """Return what a server that runs, or is started for that, lists.

    Raises:
        InvalidArgument: options that do not fit together, or a secret that stands in one.
        UpstreamUnavailable: the server can't be reached.
        SourceError: it does not list its tools.
    """
    from tool_rag_pg.sources.text import slug

    config = gateway_module("config")
    document: dict[str, Any] = {"name": server or "server"}
    if url is not None:
        document["url"] = url
    if command is not None:
        document["command"], *document["args"] = _split(command)
    if server is None:
        # For messages, until the server has said its own name.
        place = urlsplit(url or "").netloc or Path(document.get("command", "")).name
        document["name"] = slug(place) or "server"
    if headers:
        document["headers"] = dict(_pair(each, ":", "--header") for each in headers)
    if environment:
        document["env"] = dict(_pair(each, "=", "--env") for each in environment)
    upstream = config.read_upstream(document, os.environ)
    listing: Listing = gateway_module("catalogue").fetch_listing(
        upstream, config.Secrets(os.environ), named=server is not None
    )
    return listing


def _split(command: str) -> list[str]:
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise InvalidArgument(
            f"--command can't be read: {error}", hint="quote it as in a shell"
        ) from error
    if not parts:
        raise InvalidArgument("--command is empty", hint="name the program that is the server")
    return parts


def _pair(text: str, separator: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found or not name.strip():
        # Not quoted: it may hold a secret.
        raise InvalidArgument(
            f"{option} is not of the form NAME{separator}VALUE", hint="repeat it for several"
        )
    return name.strip(), value.strip()
