"""Servers and clients from npm, where `make peers` has installed them, and a node for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WANTED = ROOT / "tests" / "gateway" / "peers"
INSTALLED = ROOT / ".peers"
MODULES = INSTALLED / "node_modules"
#: What the inspector asks for; the others ask for less.
OLDEST_NODE = (22, 19)


@cache
def node() -> str | None:
    """Return a node that is new enough: npm's package of it, or else the machine's own."""
    of_machine = shutil.which("node")
    found = [
        *map(str, sorted(MODULES.glob("node-*/bin/node"))),
        *([of_machine] if of_machine else []),
    ]
    for path in found:
        try:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30)
        except OSError:
            # A package for another kind of machine.
            continue
        version = re.match(r"v(\d+)\.(\d+)", said.stdout)
        if version and (int(version[1]), int(version[2])) >= OLDEST_NODE:
            return path
    return None


def _missing() -> str | None:
    if not (INSTALLED / ".installed").exists():
        return "the peers from npm are not installed: make peers"
    lock = "package-lock.json"
    if (INSTALLED / lock).read_bytes() != (WANTED / lock).read_bytes():
        return "the peers from npm are of other versions: make peers"
    if node() is None:
        return f"there is no node {'.'.join(map(str, OLDEST_NODE))} or newer"
    return None


needs_npm = pytest.mark.skipif(_missing() is not None, reason=_missing() or "they are there")


def script(package: str, path: str) -> list[str]:
    """Return the command that runs a program of a package."""
    program = MODULES / package / path
    assert program.is_file(), program
    return [str(node()), str(program)]


def run_node(
    command: list[str], folder: Path, *, environment: dict[str, str] | None = None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with a home folder of its own: what it keeps stays in there."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        command,
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": str(home), "NO_COLOR": "1", **(environment or {})},
    )


def as_server(name: str, command: list[str], **more: Any) -> dict[str, Any]:
    """Return the configuration of a server that the gateway starts itself."""
    return {"name": name, "command": command[0], "args": command[1:], **more}
