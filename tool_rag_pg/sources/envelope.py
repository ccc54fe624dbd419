"""What stands around the tools: wrappers, JSON-RPC answers, pages, maps and lists of servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .context import NotAnExport, Origin, at, describe, shorten
from .document import Document

__all__ = ["Entry", "Group", "unwrap"]

WRAPPERS = ("tools", "functions")
SERVER_COLLECTIONS = ("servers", "mcpServers")
# Entries of a provider's list that have a "tools" of their own: the format's reader decides.
NESTING_TYPES = ("namespace", "mcp_toolset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value that should be a tool, and where it stands (`result.tools[4]`, `line 7`)."""

    value: Any
    position: str


@dataclass(slots=True, kw_only=True)
class Group:
    """The entries of one server, in file order.

    Attributes:
        server: as the file names it, or None.
        title: of the server, or None.
        description: of the server, or None.
        wrapper: key above the entries ("tools", "functions"), or None for a bare list.
        entries: tools to be.
        open_page: position of a page that says that another one follows, or None.
        complete: whether some page says that it is the last one.
    """

    server: str | None
    title: str | None = None
    description: str | None = None
    wrapper: str | None = None
    entries: list[Entry] = field(default_factory=list)
    open_page: str | None = None
    complete: bool = False


def unwrap(document: Document, origin: Origin, is_tool: Callable[[Any], bool]) -> list[Group]:
    """Return the servers of a document with their entries.

    Args:
        document: the file's values.
        origin: the file.
        is_tool: whether a value is itself shaped like a tool.

    Raises:
        SourceError: an answer that is an error, or pages of which one is missing.
        NotAnExport: nothing in the document can hold tools.
    """
    collector = _Collector(origin, is_tool)
    for value, position in document.values:
        collector.collect(value, position, None)
    groups = [group for group in collector.groups.values() if group.wrapper or group.entries]
    if not groups:
        raise NotAnExport(collector.reason or "it holds no tools")
    for group in groups:
        if group.open_page is not None and not group.complete:
            raise origin.error(
                at(group.open_page, "nextCursor"),
                "it says that another page of tools follows, and that page is missing",
                hint="put all pages into one file, one JSON document per line",
            )
    return groups


class _Collector:
    def __init__(self, origin: Origin, is_tool: Callable[[Any], bool]) -> None:
        self.origin = origin
        self.is_tool = is_tool
        self.groups: dict[str | None, Group] = {}
        self.reason: str | None = None
        # What an `initialize` answer in a recorded session says of the pages that follow it.
        self.session: Group | None = None

    def collect(self, value: Any, where: str, server: str | None) -> None:
        """Add all tools inside `value`, which stands at `where` and belongs to `server`."""
        if isinstance(value, list):
            self._collect_list(value, where, server)
        elif not isinstance(value, dict):
            self._refuse(value, where, server, f"it holds {describe(value)}")
        elif self.is_tool(value):
            self._group(server).entries.append(Entry(value=value, position=where))
        elif "jsonrpc" in value or isinstance(value.get("result"), dict):
            self._collect_answer(value, where, server)
        elif wrapper := next((key for key in WRAPPERS if key in value), None):
            self._collect_wrapper(value, wrapper, where, server)
        elif key := next((key for key in SERVER_COLLECTIONS if key in value), None):
            self._collect_servers(value[key], at(where, key))
        elif self._is_map_of_servers(value):
            self._collect_servers(value, where)
        else:
            reason = f"its keys are {_listed(value)}" if value else "it is an empty object"
            self._refuse(value, where, server, reason)

    def _collect_list(self, items: list[Any], where: str, server: str | None) -> None:
        for index, item in enumerate(items):
            position = at(where, index)
            if isinstance(item, dict) and not self.is_tool(item) and self._holds_tools(item):
                self.collect(item, position, server)
            else:
                self._group(server).entries.append(Entry(value=item, position=position))
        if not items:
            self.reason = self.reason or "it is an empty list"

    def _collect_answer(self, value: dict[str, Any], where: str, server: str | None) -> None:
        if "error" in value:
            error = value["error"]
            text = error.get("message") if isinstance(error, dict) else error
            raise self.origin.error(
                at(where, "error"),
                f"the server answered with an error ({shorten(str(text))})",
                hint="export the tools again",
            )
        result = value.get("result")
        if isinstance(result, dict) and "tools" in result:
            self._collect_wrapper(result, "tools", at(where, "result"), server)
        elif isinstance(result, dict) and isinstance(result.get("serverInfo"), dict):
            info = result["serverInfo"]
            name = _text(info, "name")
            self.session = Group(server=name, title=_text(info, "title")) if name else None
        else:
            # Recorded sessions hold other messages too, so this one is no fault of a row.
            self.reason = self.reason or "its JSON-RPC messages answer no tools/list"

    def _collect_wrapper(
        self, value: dict[str, Any], wrapper: str, where: str, server: str | None
    ) -> None:
        items = value[wrapper]
        if not isinstance(items, list):
            reason = f"its {wrapper!r} is {describe(items)} where a list belongs"
            self._refuse(value, where, server, reason)
            return
        info = value.get("serverInfo")
        source = info if isinstance(info, dict) else value
        name = server or _text(value, "server") or _text(source, "name")
        if name is None and self.session:
            name, source = self.session.server, {"title": self.session.title}
        group = self._group(name)
        group.title = group.title or _text(source, "title")
        group.description = group.description or _text(source, "description")
        group.wrapper = wrapper
        if value.get("nextCursor"):
            group.open_page = where
        else:
            group.complete = True
        base = at(where, wrapper)
        group.entries.extend(
            Entry(value=item, position=f"{base}[{index}]") for index, item in enumerate(items)
        )

    def _collect_servers(self, servers: Any, where: str) -> None:
        if isinstance(servers, list):
            self._collect_list(servers, where, None)
            return
        if not isinstance(servers, dict):
            self._refuse(servers, where, None, f"its servers are {describe(servers)}")
            return
        if not any(self._holds_tools(item) for item in servers.values()):
            self._refuse(servers, where, None, "it lists how servers are started, not their tools")
            return
        for name, item in servers.items():
            if self._holds_tools(item):
                self.collect(item, at(where, name), name)
            elif isinstance(item, dict):
                self.origin.warn(at(where, name), "this server lists no tools and was left out")

    def _is_map_of_servers(self, value: dict[str, Any]) -> bool:
        # A record with other fields, such as a request and the tools it chose from, is none.
        holding = [self._holds_tools(item) for item in value.values()]
        return any(holding) and all(
            holds or isinstance(item, dict)
            for holds, item in zip(holding, value.values(), strict=True)
        )

    def _holds_tools(self, value: Any) -> bool:
        if isinstance(value, list):
            return bool(value) and self.is_tool(value[0])
        if not isinstance(value, dict) or value.get("type") in NESTING_TYPES:
            return False
        return (
            any(isinstance(value.get(key), list) for key in WRAPPERS)
            or "jsonrpc" in value
            or (isinstance(value.get("result"), dict) and "tools" in value["result"])
        )

    def _group(self, server: str | None) -> Group:
        return self.groups.setdefault(server, Group(server=server))

    def _refuse(self, value: Any, where: str, server: str | None, reason: str) -> None:
        self.reason = self.reason or reason
        # Whether a row of JSON Lines had to be a tool is judged with all rows in sight.
        if where.startswith("line "):
            self._group(server).entries.append(Entry(value=value, position=where))


def _text(value: dict[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found.strip() or None if isinstance(found, str) else None


def _listed(value: dict[str, Any]) -> str:
    keys = [shorten(str(key)) for key in value][:5]
    return ", ".join(map(repr, keys)) + (", …" if len(value) > len(keys) else "")
