"""From paths to exports: finding, parsing, detecting, naming, and what to do with faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, TextIO

from tool_rag_pg.errors import InvalidArgument, SourceError

from . import anthropic, jsonl, langchain, mcp, openai
from .context import NotAnExport, Origin
from .detect import FORMATS, choose_format, is_openapi, is_tool
from .document import Document, parse
from .envelope import Entry, Group, unwrap
from .files import Source, find, read_bytes
from .model import ReadResult, ServerExport, Skipped, Tool
from .naming import check_server, default_server, own_server
from .openapi import read_description
from .text import decode

__all__ = ["read_exports", "read_text"]

_READERS: Mapping[str, Callable[[Origin, Entry], Tool | None]] = MappingProxyType(
    {
        "mcp": mcp.read_tool,
        "openai": openai.read_tool,
        "anthropic": anthropic.read_tool,
        "langchain": langchain.read_tool,
        "jsonl": jsonl.read_tool,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One server of a file, before it has its final name."""

    server: str | None
    title: str | None
    description: str | None
    tools: tuple[tuple[Tool, str], ...]
    format: str
    origin: Origin


def read_exports(
    paths: Sequence[str | Path],
    *,
    server: str | None = None,
    format: str | None = None,
    stdin: TextIO | BinaryIO | None = None,
) -> ReadResult:
    """Read tools from files, folders and standard input.

    A file is read whole or not at all, and faults of one file leave the others alone.

    Args:
        paths: files, folders (searched through all levels for `*.json`, `*.jsonl`, `*.ndjson`,
            `*.yaml`, `*.yml`), or "-" for standard input.
        server: name of the server, for files that name none or a single one.
        format: one of `FORMATS`; by default each file's structure tells.
        stdin: what "-" reads, by default `sys.stdin`.

    Returns:
        The exports, the errors, and the files of folders that hold no tools.

    Raises:
        InvalidArgument: no paths, an unknown format, or an impossible server name.
    """
    if isinstance(paths, str | Path) or not paths:
        raise InvalidArgument("no list of paths was given", hint='name files, folders or "-"')
    if format is not None and format not in FORMATS:
        raise InvalidArgument(
            f"the format {format!r} is not known", hint=f"use one of {', '.join(FORMATS)}"
        )
    wanted = check_server(server) if server is not None else None
    exports: list[ServerExport] = []
    errors: list[SourceError] = []
    skipped: list[Skipped] = []
    # Per folder: whether anything in it was an export or a fault.
    folders: dict[str, bool] = {}
    for source in find(paths):
        if isinstance(source, SourceError):
            errors.append(source)
            continue
        if source.folder is not None:
            folders.setdefault(source.folder, False)
        try:
            exports.extend(_read_source(source, wanted, format, stdin))
        except SourceError as error:
            errors.append(error)
        except NotAnExport as reason:
            if source.folder is not None:
                skipped.append(Skipped(path=source.shown, reason=str(reason)))
                continue
            errors.append(_not_an_export(source, reason))
        if source.folder is not None:
            folders[source.folder] = True
    errors.extend(_empty_folder(folder) for folder, fruitful in folders.items() if not fruitful)
    kept, clashes = _one_file_per_server(exports)
    return ReadResult(exports=tuple(kept), errors=(*errors, *clashes), skipped=tuple(skipped))


def read_text(text: str, *, server: str, format: str, shown: str) -> ServerExport:
    """Read the tools of one server from a text that is no file's.

    Args:
        text: an export.
        server: name of the server.
        format: one of `FORMATS`.
        shown: what messages call the text.

    Raises:
        SourceError: the text is no export, or holds no tool, or several servers.
        InvalidArgument: an impossible server name.
    """
    origin = Origin(shown)
    document = parse(text, ".json", origin)
    try:
        parts = _parts(document, origin, format, named=True)
    except NotAnExport as reason:
        raise _not_an_export(Source(shown=shown, path=None), reason) from None
    (export,) = _name_parts(parts, origin, None, check_server(server))
    return export


def _read_source(
    source: Source, server: str | None, format: str | None, stdin: TextIO | BinaryIO | None
) -> list[ServerExport]:
    origin = Origin(source.shown)
    text = decode(read_bytes(source, origin, stdin), origin)
    suffix = source.path.suffix.lower() if source.path else ""
    document = parse(text, suffix, origin)
    parts = _parts(document, origin, format, named=source.folder is None)
    return _name_parts(parts, origin, source.path, server)


def _parts(document: Document, origin: Origin, format: str | None, *, named: bool) -> list[_Part]:
    first = document.values[0][0] if len(document.values) == 1 else None
    if format == "openapi" or (format is None and is_openapi(first)):
        described = read_description(first, origin)
        return [
            _Part(
                server=None,
                title=described.title,
                description=described.description,
                tools=described.tools,
                format="openapi",
                origin=origin,
            )
        ]
    parts: list[_Part] = []
    for group in unwrap(document, origin, is_tool):
        chosen = choose_format(group, origin, lines=document.lines, format=format, named=named)
        split = jsonl.split_by_server(origin, group) if chosen == "jsonl" else [group]
        parts.extend(_read_group(part, chosen, origin) for part in split)
    return parts


def _read_group(group: Group, format: str, origin: Origin) -> _Part:
    fork = origin.fork()
    read = _READERS[format]
    tools: list[tuple[Tool, str]] = []
    for entry in group.entries:
        tool = read(fork, entry)
        if tool is not None:
            tools.append((tool, entry.position))
    return _Part(
        server=group.server,
        title=group.title,
        description=group.description,
        tools=tuple(tools),
        format=format,
        origin=fork,
    )


def _name_parts(
    parts: list[_Part], origin: Origin, path: Path | None, server: str | None
) -> list[ServerExport]:
    """Return the exports of one file under their servers' final names."""
    named = [part.server for part in parts if part.server is not None]
    if server is not None and len(parts) > 1 and len(named) == len(parts):
        raise origin.error(
            None,
            f"it holds several servers ({', '.join(named[:3])}{', …' if named[3:] else ''}), "
            "so one name does not fit",
            hint="leave out --server, or split the file",
        )
    exports: dict[str, ServerExport] = {}
    file_warnings = origin.warnings()
    for part in parts:
        own = part.server
        if own is None or (server is not None and len(parts) == 1):
            name = server or default_server(origin, path)
        else:
            name = own_server(part.origin, own)
        if name in exports:
            raise origin.error(
                None,
                f"two of its servers end up with the name {name!r}",
                hint="rename one of them in the file, or change --server",
            )
        if not part.tools:
            raise origin.error(
                None,
                f"the server {name!r} has no tools in it, and storing that would remove all it has",
                hint="export the tools again",
            )
        _check_duplicates(part, name)
        warnings = part.origin.warnings() if part.origin is not origin else ()
        exports[name] = ServerExport(
            server=name,
            title=part.title,
            description=part.description,
            tools=tuple(tool for tool, _ in part.tools),
            path=origin.path,
            format=part.format,
            warnings=(*file_warnings, *warnings),
        )
    return list(exports.values())


def _check_duplicates(part: _Part, server: str) -> None:
    positions: dict[str, str] = {}
    for tool, position in part.tools:
        known = positions.setdefault(tool.name, position)
        if known is not position:
            raise part.origin.error(
                position,
                f"the tool {tool.name!r} of {server!r} stands at {known} already",
                hint="rename or remove one of the two",
            )


def _one_file_per_server(
    exports: list[ServerExport],
) -> tuple[list[ServerExport], list[SourceError]]:
    """Return the exports whose server no other file names, and an error for each of the others.

    Neither of two files wins: whichever did would remove the other's tools from the database.
    """
    by_server: dict[str, list[ServerExport]] = {}
    for export in exports:
        by_server.setdefault(export.server, []).append(export)
    clashing = {export.path for same in by_server.values() if len(same) > 1 for export in same}
    errors = [
        SourceError(
            f"its server {server!r} is also that of {same[0].path}",
            path=other.path,
            hint="put their tools into one file, or give each file its own name with --server",
        )
        for server, same in by_server.items()
        for other in same[1:]
    ]
    return [export for export in exports if export.path not in clashing], errors


def _not_an_export(source: Source, reason: NotAnExport) -> SourceError:
    return SourceError(
        f"it holds no tools in a known format: {reason}",
        path=source.shown,
        hint=f"name its format with --format ({', '.join(FORMATS)}), or export the tools again",
    )


def _empty_folder(folder: str) -> SourceError:
    return SourceError(
        "no file in the folder holds tools",
        path=folder,
        hint="name a folder with exports, or the files themselves",
    )
