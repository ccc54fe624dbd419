"""A server to stand behind the gateway in tests: a process of its own, made with the SDK.

What its tools do is written to a ledger, one line each, so that tests can count what was carried
out and not only what was answered.

    python -m tests.gateway.peer --ledger FILE                  # standard input and output
    python -m tests.gateway.peer --ledger FILE --port 9000      # streamable HTTP
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]
PAGE = 4


def tool(
    name: str,
    description: str,
    properties: dict[str, Any] | None = None,
    *,
    required: list[str] | None = None,
    read_only: bool = True,
    meta: dict[str, Any] | None = None,
) -> types.Tool:
    properties = properties or {}
    return types.Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(properties) if required is None else required,
        },
        annotations=types.ToolAnnotations(read_only_hint=read_only),
        _meta=meta,
    )


NUMBER = {"type": "number"}
TEXT = {"type": "string"}

TOOLS = [
    tool("add_numbers", "Add two numbers and return their sum.", {"a": NUMBER, "b": NUMBER}),
    tool("book_room", "Book a meeting room.", {"room": TEXT}, read_only=False),
    tool("wait_and_look", "Look something up slowly.", {"mark": TEXT, "seconds": NUMBER}),
    tool(
        "wait_and_write",
        "Write something down slowly.",
        {"mark": TEXT, "seconds": NUMBER},
        read_only=False,
    ),
    tool("report_progress", "Count slowly and report progress.", {"steps": {"type": "integer"}}),
    tool("make_text", "Return a text of so many characters.", {"length": {"type": "integer"}}),
    tool("show_picture", "Return a small picture and its size."),
    tool("always_fail", "Fail with an error of the tool."),
    tool("break_protocol", "Fail with an error of the protocol."),
    tool("show_headers", "Return the headers of this very request."),
    tool("show_environment", "Return a variable of the environment.", {"name": TEXT}),
    tool(
        "list_my_orders",
        "List the orders of the customer who asks.",
        {"customer_id": TEXT, "year": {"type": "integer", "minimum": 2000}},
        required=["customer_id"],
        meta={"tool-rag/identity_parameters": ["customer_id"]},
    ),
    tool("learn_a_tool", "Make this server offer another tool.", {"name": TEXT}, read_only=False),
]
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)


class Peer(Server[Any]):
    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger
        self.tools = list(TOOLS)
        self.events = InMemorySubscriptionBus()
        super().__init__(
            "peer",
            title="A peer for tests",
            version="1",
            on_list_tools=self.list_tools,
            on_call_tool=self.call,
            on_subscriptions_listen=ListenHandler(self.events),
        )

    def create_initialization_options(self, *arguments: Any, **named: Any) -> InitializationOptions:
        return super().create_initialization_options(NotificationOptions(tools_changed=True))

    def note(self, line: str) -> None:
        with self.ledger.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        start = int(params.cursor) if params and params.cursor else 0
        end = start + PAGE
        more = str(end) if end < len(self.tools) else None
        return types.ListToolsResult(tools=self.tools[start:end], next_cursor=more)

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        given = params.arguments or {}
        match params.name:
            case "add_numbers":
                total = given["a"] + given["b"]
                return types.CallToolResult(
                    content=[types.TextContent(type="text", text=str(total))],
                    structured_content={"sum": total},
                )
            case "book_room":
                self.note(f"booked {given['room']}")
                return said(f"booked {given['room']}")
            case "wait_and_look" | "wait_and_write":
                self.note(f"begun {given['mark']}")
                try:
                    await anyio.sleep(given["seconds"])
                except anyio.get_cancelled_exc_class():
                    self.note(f"cancelled {given['mark']}")
                    raise
                self.note(f"done {given['mark']}")
                return said(f"done {given['mark']}")
            case "report_progress":
                for step in range(given["steps"]):
                    await context.session.report_progress(step + 1, given["steps"], f"step {step}")
                    await anyio.sleep(0.01)
                return said("counted")
            case "make_text":
                return said("x" * given["length"])
            case "show_picture":
                return types.CallToolResult(
                    content=[
                        types.ImageContent(type="image", data=PIXEL, mime_type="image/png"),
                        types.TextContent(type="text", text="1 by 1"),
                    ]
                )
            case "always_fail":
                return types.CallToolResult(
                    content=[types.TextContent(type="text", text="the tool says no")],
                    is_error=True,
                )
            case "break_protocol":
                raise MCPError(-32007, "the server says no")
            case "show_headers":
                headers = {} if context.request is None else dict(context.request.headers)
                return said(str(sorted(headers.items())))
            case "show_environment":
                return said(os.environ.get(given["name"], "(not set)"))
            case "list_my_orders":
                return said(f"orders of {given['customer_id']} in {given.get('year', 'all years')}")
            case "learn_a_tool":
                self.tools.append(tool(given["name"], f"Do {given['name']} at last."))
                if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    await self.events.publish(ToolsListChanged())
                else:
                    await context.session.send_tool_list_changed()
                return said(f"learnt {given['name']}")
        raise MCPError(types.INVALID_PARAMS, f"no tool {params.name}")


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def serve_stdio(peer: Peer) -> None:
    async with stdio_server() as (read, write):
        await peer.run(read, write, peer.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--port", type=int)
    chosen = parser.parse_args()
    peer = Peer(chosen.ledger)
    if chosen.port is None:
        anyio.run(serve_stdio, peer)
    else:
        uvicorn.run(
            peer.streamable_http_app(),
            port=chosen.port,
            log_level="warning",
            timeout_graceful_shutdown=1,
        )


if __name__ == "__main__":
    main()
