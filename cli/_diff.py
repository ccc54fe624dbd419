"""What differs between two versions of a tool, word by word, with nothing hidden in it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Literal

from tool_rag_pg._visible import visible

__all__ = ["Part", "differences", "print_parts", "word_diff"]

Kind = Literal["same", "removed", "added"]
Part = tuple[Kind, str]

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_STYLES = {"same": "", "removed": "red strike", "added": "green"}
# Longer texts are shown whole, the old one and the new one: comparing words takes its square.
_COMPARED_WORDS = 20_000


def word_diff(old: str, new: str) -> list[Part]:
    """Return how one text becomes another: runs of words that stay, go or come."""
    before, after = _WORD.findall(visible(old)), _WORD.findall(visible(new))
    if len(before) + len(after) > _COMPARED_WORDS:
        return [("removed", visible(old)), ("added", visible(new))]
    parts: list[Part] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for operation, i, j, m, n in matcher.get_opcodes():
        if operation == "equal":
            parts.append(("same", "".join(before[i:j])))
            continue
        if i < j:
            parts.append(("removed", "".join(before[i:j])))
        if m < n:
            parts.append(("added", "".join(after[m:n])))
    return parts


def differences(
    old: Mapping[str, Any] | None, new: Mapping[str, Any]
) -> list[tuple[str, list[Part]]]:
    """Return the fields in which two definitions differ, each with its words.

    Args:
        old: the definition as it is; None for a tool that is new.
        new: as it would be.

    Returns:
        (field, parts), in the order of the new definition; the fields are named as the linter
        names them: `input_schema.properties.path.description`.
    """
    before = {} if old is None else dict(_leaves("", old))
    after = dict(_leaves("", new))
    fields = [*after, *(field for field in before if field not in after)]
    found: list[tuple[str, list[Part]]] = []
    for field in fields:
        was, is_ = before.get(field), after.get(field)
        if was == is_ or _is_filled(field, was, after) or _is_filled(field, is_, before):
            continue
        if was is None:
            found.append((visible(field), [("added", visible(is_ or ""))]))
        elif is_ is None:
            found.append((visible(field), [("removed", visible(was))]))
        else:
            found.append((visible(field), word_diff(was, is_)))
    return found


def _is_filled(field: str, value: str | None, other: Mapping[str, str]) -> bool:
    """Return whether an empty object or list has members in the other version."""
    return value in ("{}", "[]") and any(
        each.startswith((f"{field}.", f"{field}[")) for each in other
    )


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts and other values of a document, each with its path."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}" if path else key, item)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(f"{path}[{number}]", item)
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def print_parts(parts: list[Part]) -> None:
    """Print parts, marked as [-removed-] and {+added+}, and coloured on a terminal."""
    marked = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    lines = [(kind, marked[kind].format(text)) for kind, text in parts]
    if not sys.stdout.isatty():
        print("".join(text for _, text in lines))
        return
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False, soft_wrap=True).print(
        Text.assemble(*((text, _STYLES[kind]) for kind, text in lines))
    )
