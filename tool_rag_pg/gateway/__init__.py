"""One MCP server in front of many: search for tools, and calls of them, for each person its own.

It needs the extra `tool-rag-pg[gateway]`. `config.read_config` reads the file that `tool-rag serve`
takes; `run.serve_http` and `run.serve_stdio` serve it.
"""

from __future__ import annotations

__all__: list[str] = []
