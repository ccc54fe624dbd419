"""A server with the tools that the conformance suite calls, to stand behind the gateway.

Names, arguments and results are the suite's own. It calls them by their bare names, which the
gateway resolves as it does a model's.

    python -m tests.gateway.suite_peer                  # standard input and output
    python -m tests.gateway.suite_peer --port 9000      # streamable HTTP
"""

from __future__ import annotations

import argparse
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from .peer import PIXEL, said

Context = ServerRequestContext[Any, Any]

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
#: The shortest WAV file there is.
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
RESOURCE = types.EmbeddedResource(
    type="resource",
    resource=types.TextResourceContents(
        uri="test://embedded-resource",
        mime_type="text/plain",
        text="This is an embedded resource content.",
    ),
)
IMAGE = types.ImageContent(type="image", data=PIXEL, mime_type="image/png")

#: What each tool returns; they change nothing, so nobody is asked.
RESULTS: dict[str, types.CallToolResult] = {
    "test_simple_text": said("This is a simple text response for testing."),
    "test_image_content": types.CallToolResult(content=[IMAGE]),
    "test_audio_content": types.CallToolResult(
        content=[types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")]
    ),
    "test_embedded_resource": types.CallToolResult(content=[RESOURCE]),
    "test_multiple_content_types": types.CallToolResult(
        content=[
            types.TextContent(type="text", text="Multiple content types test:"),
            IMAGE,
            RESOURCE,
        ]
    ),
    "test_error_handling": types.CallToolResult(
        content=[
            types.TextContent(
                type="text", text="This tool intentionally returns an error for testing"
            )
        ],
        is_error=True,
    ),
    "test_tool_with_progress": said("done"),
    "json_schema_2020_12_tool": said("done"),
}
#: Its argument stands in a header too, which this server wants to see.
MIRRORED = "test_custom_headers"
#: It answers with an error of the code that it is given.
REFUSING = "refuse_with_code"
#: These may change something, so that the gateway has its own question first.
CONFIRMED = (
    "test_elicitation",
    "test_input_required_result_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
)


def tools() -> list[types.Tool]:
    text = {"type": "string"}
    schemas = {
        "json_schema_2020_12_tool": SCHEMA,
        MIRRORED: {
            "type": "object",
            "properties": {"region": {**text, "x-mcp-header": "Region"}, "x-mcp-header": text},
            "required": ["region"],
        },
        REFUSING: {"type": "object", "properties": {"code": {"type": "integer"}}},
        "test_elicitation": {"type": "object", "properties": {"message": text}},
    }
    return [
        types.Tool(
            name=name,
            description=f"Conformance: {name}.",
            input_schema=schemas.get(name, NOTHING),
            annotations=types.ToolAnnotations(read_only_hint=name not in CONFIRMED),
        )
        for name in (*RESULTS, MIRRORED, REFUSING, *CONFIRMED)
    ]


async def list_tools(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=tools())


async def call(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "test_tool_with_progress":
        for progress in (0, 50, 100):
            await context.session.report_progress(progress, 100)
            await anyio.sleep(0.05)
    if params.name == REFUSING:
        raise MCPError((params.arguments or {})["code"], "not now")
    if params.name == MIRRORED and context.request is not None:
        return said(f"header: {context.request.headers.get('mcp-param-region')}")
    return RESULTS.get(params.name) or said("state-ok")


SERVER: Server[Any] = Server("suite", version="1", on_list_tools=list_tools, on_call_tool=call)


async def serve_stdio() -> None:
    async with stdio_server() as (read, write):
        await SERVER.run(read, write, SERVER.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    port = parser.parse_args().port
    if port is None:
        anyio.run(serve_stdio)
    else:
        app = SERVER.streamable_http_app()
        uvicorn.run(app, port=port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
