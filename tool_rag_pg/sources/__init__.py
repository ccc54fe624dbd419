"""Exports of tools, in whatever format, as `Tool`s grouped by server.

This part needs no database: `read_exports` reads, and `tool_rag.upsert_tools` takes what
`ServerExport.as_payload` returns.
"""

from __future__ import annotations

from .detect import FORMATS
from .model import ReadResult, ServerExport, Skipped, Tool
from .reader import read_exports

__all__ = ["FORMATS", "ReadResult", "ServerExport", "Skipped", "Tool", "read_exports"]
