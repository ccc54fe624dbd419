"""`tool-rag serve`: one MCP server in front of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tool_rag_pg.cli._context import connect, database_url
from tool_rag_pg.cli._live import gateway_module
from tool_rag_pg.cli._output import note

if TYPE_CHECKING:
    from tool_rag_pg.gateway.config import GatewayConfig, Secrets

__all__ = ["app"]

app = typer.Typer()


@app.command(
    "serve",
    help="Serve one MCP server in front of those of a configuration.",
    epilog="Example: tool-rag serve gateway.json",
)
def serve(
    ctx: typer.Context,
    config_path: Annotated[
        str, typer.Argument(metavar="CONFIG", help="The configuration, as docs/gateway.md has it.")
    ],
    stdio: Annotated[
        bool,
        typer.Option(
            "--stdio", help="Serve the client at standard input and output instead of HTTP."
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether the configuration is right.")
    ] = False,
) -> None:
    """Read the configuration, then serve until told to stop."""
    run = gateway_module("run")
    config, secrets = gateway_module("config").read_config(config_path)
    if not stdio:
        run.check_exposure(config)
    run.check_key_secret(config, secrets)
    if check:
        note(f"{config_path} is right: {len(config.servers)} servers.")
        return
    import anyio

    gateway_module("logs").configure(config.log.level, arguments=config.log.arguments)
    database, refresh_database = _databases(ctx, config, secrets)
    if stdio:
        anyio.run(run.serve_stdio, config, secrets, database, refresh_database)
        return

    def on_started(address: str) -> None:
        note(f"Serving {config.name} at {address}")

    async def main() -> None:
        await run.serve_http(config, secrets, database, refresh_database, on_started=on_started)

    anyio.run(main)


def _databases(ctx: typer.Context, config: GatewayConfig, secrets: Secrets) -> tuple[str, str]:
    if config.database is not None:
        database = secrets.resolve(config.database)
    else:
        # Brings the embedded database up to date, where that is the one.
        connect(ctx).close()
        database = database_url(ctx)
    refresh = config.refresh_database
    return database, database if refresh is None else secrets.resolve(refresh)
