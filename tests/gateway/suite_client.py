"""The gateway's side towards its servers, as the conformance suite runs clients: with an address.

    python -m tests.gateway.suite_client http://localhost:3000/mcp

It lists the tools and calls them: as the suite asks for it, or else each once with numbers.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
from mcp import MCPError

from tool_rag_pg.gateway.config import Limits, Secrets, UpstreamConfig
from tool_rag_pg.gateway.upstream import Upstream


def wanted(schemas: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls that the suite wants of the tools that were listed."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if calls := context.get("toolCalls"):
        return [(call["name"], call["arguments"]) for call in calls]
    if "json_schema_echo" in schemas:
        return [("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})]
    return [
        (name, {key: 2 for key in schema.get("properties", {})}) for name, schema in schemas.items()
    ]


async def main() -> None:
    config = UpstreamConfig(name="suite", url=sys.argv[1])
    async with Upstream(config, Secrets({}), Limits(call_seconds=20)) as upstream:
        schemas = {tool.name: tool.input_schema for tool in await upstream.list_tools()}
        for name, arguments in wanted(schemas):
            try:
                result = await upstream.call(name, arguments, key=None, may_repeat=False)
            except MCPError as error:
                # Some scenarios are about the list alone, and know no calls.
                print(f"{name}: {error.message}")
            else:
                print(f"{name}: {len(result.content)} parts")


if __name__ == "__main__":
    anyio.run(main)
