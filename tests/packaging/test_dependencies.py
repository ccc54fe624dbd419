"""What is imported is declared, and what is declared is accounted for."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OWN = {"tool_rag_pg", "tests", "benchmarks"}


def declared(*requirements: list[str]) -> set[str]:
    """Return the names of required distributions, normalised."""
    names = (re.match(r"[\w.-]+", line) for group in requirements for line in group)
    return {name[0].lower().replace("_", "-") for name in names if name}


def imported(*folders: str) -> dict[str, str]:
    """Return the top-level modules that files import, each with one file that does."""
    found: dict[str, str] = {}
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module or ""]
                else:
                    continue
                found |= {name.split(".")[0]: str(path.relative_to(ROOT)) for name in names}
    return {
        name: where
        for name, where in found.items()
        if name not in sys.stdlib_module_names and name not in OWN
    }


@pytest.mark.parametrize(
    ("folders", "groups"),
    [
        (("tool_rag_pg", "cli", "migrations", "sql"), [g for n, g in EXTRAS.items() if n != "dev"]),
        (("tests",), list(EXTRAS.values())),
    ],
)
def test_what_is_imported_is_declared(folders: tuple[str, ...], groups: list[list[str]]) -> None:
    known = declared(PROJECT["dependencies"], *groups)
    distributions = packages_distributions()
    undeclared = {
        f"{module} ({where})"
        for module, where in imported(*folders).items()
        if not known
        & {name.lower().replace("_", "-") for name in distributions.get(module, [module])}
    }
    assert undeclared == set()


def test_every_dependency_is_accounted_for() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()
    listed = {name.split("[")[0] for name in re.findall(r"`([\w.\[\]-]+)`", text)}
    assert declared(PROJECT["dependencies"], *EXTRAS.values()) - listed == set()
