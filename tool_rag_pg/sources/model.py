"""What reading an export yields: tools, grouped by server, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tool_rag_pg.errors import SourceError

__all__ = ["ReadResult", "ServerExport", "Skipped", "Tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool, whatever the format it was exported in.

    Attributes:
        name: 1 to 256 characters, unique within its server, exactly as a caller must give it.
        title: a name for people, or None.
        description: what the tool does; empty when the export says nothing.
        input_schema: JSON Schema of the arguments, an object schema.
        output_schema: JSON Schema of the structured result, or None.
        annotations: the hints of the Model Context Protocol, as exported.
        is_action: whether a call may change something; None leaves it to the database, which
            derives it from the annotations and takes a tool without hints for an action.
        identity_parameters: parameters that stand for the calling user.
    """

    name: str
    title: str | None = None
    description: str = ""
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    is_action: bool | None = None
    identity_parameters: tuple[str, ...] = ()

    def as_row(self) -> dict[str, Any]:
        """Return the tool as `tool_rag.upsert_tools` takes it: the keys are SQL column names."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": self.annotations,
            "is_action": self.is_action,
            "identity_parameters": list(self.identity_parameters),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerExport:
    """All tools of one server, read from one file.

    Attributes:
        server: name of the server; never empty, never with a "/".
        title: a name for people, or None.
        description: what the server is for, or None.
        tools: at least one tool, in the order of the file.
        path: the file as it was named, or "-" for standard input.
        format: one of `tool_rag_pg.sources.FORMATS`.
        warnings: one sentence each, for what was changed, cut or left out.
    """

    server: str
    title: str | None
    description: str | None
    tools: tuple[Tool, ...]
    path: str
    format: str
    warnings: tuple[str, ...]

    def as_payload(self) -> dict[str, Any]:
        """Return the argument of `tool_rag.upsert_tools`, ready for `json.dumps`.

        It is an export of our own shape too: `read_exports` reads it back.
        """
        return {
            "server": self.server,
            "title": self.title,
            "description": self.description,
            "tools": [tool.as_row() for tool in self.tools],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file of a folder that evidently holds no tools; `reason` is a clause without full stop."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """What `read_exports` found.

    Attributes:
        exports: one per server, ordered by path, then by first appearance in the file; no two of
            them name the same server.
        errors: one per file that could not be read; nothing of such a file is in `exports`.
        skipped: files met in a folder that are no exports.
    """

    exports: tuple[ServerExport, ...] = ()
    errors: tuple[SourceError, ...] = ()
    skipped: tuple[Skipped, ...] = ()
