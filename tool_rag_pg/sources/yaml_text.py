"""YAML, read into JSON values: by the event, since events neither recurse nor expand aliases.

Plain scalars follow the core schema of YAML 1.2, as OpenAPI asks: `on`, `no`, `12:30` and
`2024-01-01` are texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from .context import Origin, shorten
from .json_text import MAX_DEPTH, MAX_DIGITS

__all__ = ["MAX_ALIAS_WEIGHT", "parse_yaml"]

# Characters plus values that all aliases of a file may stand for. It bounds what a "billion laughs"
# file costs to about a second, since later steps walk an aliased value at each of its places.
MAX_ALIAS_WEIGHT = 5_000_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TAG = "tag:yaml.org,2002:"
_CORRECT = "correct it there, or export the document again"


@dataclass(slots=True)
class _Node:
    """A value under construction, or finished; weight and height count what aliases repeat."""

    value: Any
    anchor: str | None = None
    weight: int = 1
    height: int = 0
    key: str | None = None
    merges: list[Any] = field(default_factory=list)


def parse_yaml(text: str, origin: Origin) -> Any:
    """Return the one document of `text` as JSON values; keys become texts as they are written.

    Raises:
        SourceError: with line and column: syntax, duplicate keys, aliases that expand without
            end, more than one document, values that JSON does not have.
    """
    builder = _Builder(origin)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.add(event)
    except yaml.MarkedYAMLError as error:
        reason = " ".join(part for part in (error.context, error.problem) if part)
        raise origin.error(
            _position(error.problem_mark or error.context_mark),
            f"it is not valid YAML: {reason}",
            hint=_CORRECT,
        ) from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise origin.error(None, f"it is not valid YAML: {reason}", hint=_CORRECT) from error
    return builder.document


def _position(mark: Any) -> str | None:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else None


class _Builder:
    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.document: Any = None
        self.documents = 0
        self.open: list[_Node] = []
        self.anchors: dict[str, _Node] = {}
        self.alias_weight = 0

    def add(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            frame = self.open[-1] if self.open else None
            if frame and isinstance(frame.value, dict) and frame.key is None:
                self._set_key(frame, event.value, event)
                if event.anchor:
                    weight = len(event.value) + 1
                    self.anchors[event.anchor] = _Node(event.value, weight=weight)
            else:
                value = self._scalar(event)
                self._place(_Node(value, event.anchor, len(event.value) + 1), event)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            self._start(event)
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            node = self.open.pop()
            for merged in node.merges:
                for key, value in merged.items():
                    node.value.setdefault(key, value)
            self._place(node, event)
        elif isinstance(event, yaml.AliasEvent):
            self._place(self._alias(event), event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self._error(event, "a second document begins", "keep one document per file")

    def _start(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent) -> None:
        if len(self.open) >= MAX_DEPTH:
            reason = f"values nest more than {MAX_DEPTH} levels deep"
            raise self._error(event, reason, "flatten the schema")
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.open.append(_Node(value, event.anchor))

    def _set_key(self, frame: _Node, key: Any, event: yaml.Event) -> None:
        if not isinstance(key, str):
            raise self._error(event, "a key is not a text", "write a plain text as the key")
        if key in frame.value:
            reason = f"the key {shorten(key)!r} stands twice in one mapping"
            raise self._error(event, reason, "remove or rename one of the two")
        frame.key = key
        frame.weight += len(key) + 1

    def _alias(self, event: yaml.AliasEvent) -> _Node:
        name = event.anchor or ""
        if any(frame.anchor == name for frame in self.open):
            reason = f"the alias {shorten(name)!r} stands inside its own value"
            raise self._error(event, reason, "use a $ref for recursion")
        node = self.anchors.get(name)
        if node is None:
            reason = f"the alias {shorten(name)!r} has no anchor"
            raise self._error(event, reason, "define the anchor before it")
        self.alias_weight += node.weight
        if self.alias_weight > MAX_ALIAS_WEIGHT or len(self.open) + node.height > MAX_DEPTH:
            raise self._error(event, "aliases expand without reasonable end", "use $ref instead")
        return _Node(node.value, None, node.weight, node.height)

    def _place(self, node: _Node, event: yaml.Event) -> None:
        if node.anchor:
            self.anchors[node.anchor] = node
        if not self.open:
            self.document = node.value
            return
        frame = self.open[-1]
        if isinstance(frame.value, dict) and frame.key is None:
            self._set_key(frame, node.value, event)
            return
        frame.weight += node.weight
        frame.height = max(frame.height, node.height + 1)
        if isinstance(frame.value, list):
            frame.value.append(node.value)
            return
        key, frame.key = frame.key, None
        if key == "<<":
            self._merge(frame, node.value, event)
        else:
            frame.value[key] = node.value

    def _merge(self, frame: _Node, value: Any, event: yaml.Event) -> None:
        merged = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in merged):
            raise self._error(event, "'<<' merges something that is no mapping", _CORRECT)
        frame.merges.extend(merged)

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if event.tag == "!":
            return text
        if event.tag:
            kind = event.tag.removeprefix(_TAG)
            if kind not in ("str", "int", "float", "bool", "null", "timestamp", "binary"):
                reason = f"the tag {shorten(event.tag)!r} is not known"
                raise self._error(event, reason, "remove the tag")
            if kind in ("str", "timestamp", "binary"):
                return text
        elif not event.implicit[0]:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _NOT_FINITE.fullmatch(text):
            raise self._error(event, f"{text} is no JSON value", "write a number, or null")
        if _BASED.fullmatch(text) and len(text) <= MAX_DIGITS:
            return int(text, 0)
        if not _DECIMAL.fullmatch(text):
            return text
        number = float(text)
        if len(text) > MAX_DIGITS or abs(number) == float("inf"):
            raise self._error(event, "the number is too large to be stored", "write it as a text")
        return int(text) if _INTEGER.fullmatch(text) else number

    def _error(self, event: yaml.Event, reason: str, hint: str) -> Exception:
        return self.origin.error(_position(event.start_mark), reason, hint=hint)
