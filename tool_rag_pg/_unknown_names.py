"""Finding names in a text that look like tools but are none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

__all__ = ["NameChecker", "UnknownName", "find_unknown_tool_names"]

_NEAREST = 3
_SIMILAR = 0.8
_MENTIONED = 0.5
_MAX_COMPARED = 400

# Not prose: blocks of code, addresses, mail, markup.
_MASKED = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|\b\w+://\S+|\bwww\.\S+|[\w.+-]+@[\w-]+\.[\w.-]+|<[^<>]{1,200}>",
    re.DOTALL,
)
_TOKEN = re.compile(r"(?<![\w@#$%&{<\\/.~=+-])[A-Za-z](?:[\w./-]|\\(?=_))*[A-Za-z0-9](?![\w@\\])")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CAMEL = re.compile(r"[a-z]{2,}[a-z0-9]*(?:[A-Z][a-z0-9]+)+")
_BEFORE = re.compile(
    r"\b(?:tools?|functions?|call(?:ed|ing|s)?|invok(?:e|ed|es|ing))[\s`\"'*:]*$", re.I
)
_AFTER = re.compile(r"^[`\"'*]*\s+(?:tool|function)\b", re.I)
# The number of a record, like "ord_20931" or "ch_3PqX9a".
_RECORD = re.compile(r"^[a-zA-Z]+_(?:\d{3,}|(?=\w*\d)(?=\w*[a-zA-Z])[a-zA-Z0-9]{5,})$")
_KEY = re.compile(r"^[\"']?\s*=(?!=)|^[\"']\s*:")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EXTENSIONS = _words(
    """
    bat bmp c cfg conf cpp cs css csv db dll doc docx env exe gif go gz h htm html ico ini
    ipynb java jpeg jpg js json jsonl jsx kt lock log md mp3 mp4 odt parquet pdf php png ppt
    pptx ps1 py rb rs rst sh sql svg tar toml ts tsv tsx txt wav xls xlsx xml yaml yml zip
    """
)
_DOMAINS = _words(
    """
    ai app biz ca ch cloud co com de dev edu es eu fr gov info io it jp me net nl org ru uk us
    xyz
    """
)
# Names begin with these; the second kind begins those of fields, too, like "order_number".
_VERBS = _words(
    """
    add apply approve archive assign attach calculate call cancel change clear close compute
    confirm convert create deactivate delete deploy disable dispatch edit enable escalate
    execute extract fetch fill find generate get grant insert install invite invoke list make
    merge move notify pay publish read rebook refund register reject remove rename reopen
    replace reserve reset resolve restart restore resume retrieve revoke run save schedule
    search send show submit subscribe summarize translate unlock unsubscribe update upload
    validate verify write
    """
)
_NOUN_VERBS = _words(
    """
    book buy charge check copy count download email export filter flag format import issue
    load lock log lookup mark open order place post print process pull push query release
    reply report request return select set share ship sort start stop sync track transfer
    trigger void
    """
)
# Names of things come before these, like "calendar_create".
_LAST_VERBS = _words("add cancel create delete fetch get insert remove send submit update")
# Names of fields end with these.
_FIELDS = _words("at id ids key uuid")
_PHRASES = _words(
    "call_back log_in log_out read_only read_write set_up sign_in sign_out write_only"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownName:
    """A name in a text that looks like a tool's and is none.

    Attributes:
        name: as the text has it.
        position: where it stands first, in characters from the start.
        nearest: up to three known names, the nearest first.
    """

    name: str
    position: int
    nearest: tuple[str, ...]


def find_unknown_tool_names(
    text: str, known_names: Iterable[str], *, argument_names: Iterable[str] = ()
) -> list[UnknownName]:
    """Return the names in a model's final text that look like tools but do not exist.

    A name counts that is written like an identifier and besides is said to be a tool or is called,
    begins or ends with a verb, belongs to a known server, or is much like a known name. So it
    misses invented names of one word, and names of nouns only that are like no known one; and it
    may take another program's function for a tool. Blocks of code, addresses, files, placeholders,
    and keys with a value are never names. Words joined by dots, hyphens or capitals count only
    where known names are written so, or in backticks.

    Args:
        text: what the model says to the user.
        known_names: all that it may call, as it was shown them; "server/tool" is known as "tool",
            too.
        argument_names: names of parameters and fields, which are no tools.
    """
    return NameChecker(known_names, argument_names=argument_names).find_unknown(text)


class NameChecker:
    """Checks many texts against the same names, which are read once."""

    def __init__(self, known_names: Iterable[str], *, argument_names: Iterable[str] = ()) -> None:
        self._names = tuple(dict.fromkeys(known_names))
        self._known: set[str] = set()
        self._servers: set[str] = set()
        self._of_part: dict[str, list[str]] = defaultdict(list)
        self._styles: set[str] = set()
        for name in self._names:
            self._read(name)
        self._arguments = {name.lower() for name in argument_names}

    def find_unknown(self, text: str) -> list[UnknownName]:
        """Return what `find_unknown_tool_names` does."""
        masked = _MASKED.sub(lambda match: " " * len(match.group()), text)
        found: dict[str, UnknownName] = {}
        for match in _TOKEN.finditer(masked):
            name = match.group().replace("\\_", "_")
            lower = name.lower()
            if lower in self._known or lower in self._arguments or name in found:
                continue
            before = masked[max(0, match.start() - 40) : match.start()]
            after = masked[match.end() : match.end() + 20]
            nearest = self._judge(name, before, after)
            if nearest is not None:
                found[name] = UnknownName(name=name, position=match.start(), nearest=nearest)
        return list(found.values())

    def _read(self, name: str) -> None:
        server, _, tool = name.partition("/") if "/" in name else name.partition("__")
        if tool:
            self._servers.add(server.lower())
            self._known |= {f"{server}{mark}{tool}".lower() for mark in ("/", "__", ".")}
            self._known.add(tool.lower())
        self._known.add(name.lower())
        own = tool or name
        parts = _parts(own)
        if len(parts) > 1:
            self._styles.add(_style(own) or "")
        for part in dict.fromkeys(parts):
            self._of_part[part].append(name)

    def _judge(self, name: str, before: str, after: str) -> tuple[str, ...] | None:
        """Return the nearest known names of what looks like a tool; None for anything else."""
        style = _style(name)
        if style is None or _is_other(name) or _KEY.match(after):
            return None
        quoted = before.endswith("`") and after.startswith(("`", "("))
        named = bool(_BEFORE.search(before) or _AFTER.match(after))
        parts = _parts(name)
        first = re.split(r"__|[./]", name, maxsplit=1)[0].lower()
        of_server = first in self._servers and first != name.lower()
        ratios = self._compare(name)
        best = ratios[0][0] if ratios else 0.0
        is_field = parts[-1] in _FIELDS and "by" not in parts
        if not (named or of_server) and (is_field or _RECORD.search(name)):
            return None
        acts = parts[0] in _VERBS or parts[-1] in _LAST_VERBS
        acts = acts or (parts[0] in _NOUN_VERBS and quoted and best >= _MENTIONED)
        alike = best >= _SIMILAR
        match style:
            case "snake":
                counts = named or of_server or acts or alike or after.startswith("(")
            case "path":
                counts = of_server
            case "camel":
                counts = named or ((quoted or style in self._styles) and (acts or alike))
            case "dotted":
                usual = quoted or style in self._styles
                counts = of_server or (usual and (named or alike or acts))
            case _:
                usual = quoted or style in self._styles
                called = named or after.startswith("(")
                counts = of_server or (quoted and (named or acts))
                counts = counts or (usual and (alike or (acts and called)))
        if not counts:
            return None
        return tuple(known for ratio, known in ratios[:_NEAREST] if ratio >= _MENTIONED)

    def _compare(self, name: str) -> list[tuple[float, str]]:
        """Return known names that share a part, or else begin alike, by similarity."""
        shared: dict[str, int] = defaultdict(int)
        for part in dict.fromkeys(_parts(name)):
            for known in self._of_part.get(part, ()):
                shared[known] += 1
        pool = sorted(
            shared, key=lambda known: (-shared[known], abs(len(known) - len(name)), known)
        )
        if not pool:
            pool = [
                known
                for known in self._names
                if known[:1].lower() == name[:1].lower() and abs(len(known) - len(name)) <= 3
            ]
        compared = pool[:_MAX_COMPARED]
        ratios = [(_similarity(name, known), known) for known in compared]
        return sorted(ratios, key=lambda each: (-each[0], each[1]))


def _similarity(name: str, known: str) -> float:
    """Return how alike two names are, 0 to 1; marks between words and a server don't count."""
    own = re.split(r"/|__", known, maxsplit=1)[-1]
    texts = ["".join(_parts(each)) for each in (name, known, own)]
    matcher = SequenceMatcher(None, texts[0], autojunk=False)
    best = 0.0
    for text in texts[1:]:
        matcher.set_seq2(text)
        best = max(best, matcher.ratio())
    return best


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _PART.findall(name)] or [name.lower()]


def _style(name: str) -> str | None:
    """Return how the words of a name are joined; None for one word."""
    if "/" in name:
        return "path"
    if "_" in name:
        return "snake"
    if "." in name:
        return "dotted"
    if "-" in name:
        return "kebab"
    return "camel" if _CAMEL.fullmatch(name) else None


def _is_other(name: str) -> bool:
    """Whether a name is a file's, a site's, a version, a constant or a common word."""
    pieces = [piece for piece in re.split(r"[./-]", name) if piece]
    last = pieces[-1].lower()
    if "." in name and (last in _EXTENSIONS or last in _DOMAINS):
        return True
    if "." in name and any(len(piece) < 2 or piece[0].isupper() for piece in pieces[1:]):
        return True
    if any(piece.isdecimal() or re.fullmatch(r"v\d+", piece) for piece in pieces):
        return True
    joined = name.replace("-", "").replace(".", "").replace("/", "")
    return name.lower() in _PHRASES or joined.upper() == joined or "__" in (name[:2], name[-2:])
