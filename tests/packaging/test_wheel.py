"""The wheel: all that git has and nothing else, and it works away from the checkout."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import MakeDatabase, Postgres
from tool_rag_pg import _assets

ROOT = Path(__file__).resolve().parents[2]
# Top-level folder of the repository -> package inside the wheel.
PLACES = {
    "tool_rag_pg": "tool_rag_pg",
    "cli": "tool_rag_pg/cli",
    "migrations": "tool_rag_pg/migrations",
    "sql": "tool_rag_pg/sql",
}
NOT_SHIPPED = {"migrations/frozen.txt"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the working tree, built as `pip wheel` does."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in repository_files():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, source],
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def repository_files() -> list[str]:
    """Return the files that git has, or will have: not those that it ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_the_wheel_holds_what_the_repository_holds(wheel: Path) -> None:
    expected = set()
    for name in set(repository_files()) - NOT_SHIPPED:
        folder, _, rest = name.partition("/")
        if folder in PLACES:
            expected.add(f"{PLACES[folder]}/{rest}")
    with zipfile.ZipFile(wheel) as bundle:
        names = {name for name in bundle.namelist() if ".dist-info/" not in name}
    assert names == expected


def test_the_wheel_brings_one_package_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as bundle:
        names = bundle.namelist()
        metadata = next(name for name in names if name.endswith("METADATA"))
        fields = bundle.read(metadata).decode()
    assert {name.split("/")[0] for name in names} == {"tool_rag_pg", Path(metadata).parts[0]}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "License-Expression: Apache-2.0" in fields


def test_packages_are_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    present = {
        PLACES[Path(name).parts[0]].replace("/", ".")
        + "".join(f".{part}" for part in Path(name).parts[1:-1])
        for name in repository_files()
        if Path(name).parts[0] in PLACES and len(Path(name).parts) > 1
    }
    assert listed == present


def test_the_installed_wheel_upgrades_a_database_from_anywhere(
    wheel: Path, postgres: Postgres, make_database: MakeDatabase, tmp_path: Path
) -> None:
    url = make_database()
    home = tmp_path / "installed"
    venv.create(home, with_pip=False)
    (packages,) = home.glob("lib/python*/site-packages")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            home / "bin" / "python",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            wheel,
        ],
        check=True,
    )
    # Dependencies come from the environment of the tests; this package's editable link does not,
    # since .pth files in a folder that a .pth file names are not read.
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    environment["TOOL_RAG_DATABASE_URL"] = url

    def run(*command: str | Path) -> str:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    where = "import json, tool_rag_pg.cli, tool_rag_pg.sql; from tool_rag_pg import _assets; "
    where += "print(json.dumps([str(_assets.migrations_dir()), tool_rag_pg.__file__]))"
    for path in json.loads(run(home / "bin" / "python", "-c", where)):
        assert Path(path).is_relative_to(packages)
    tool_rag = home / "bin" / "tool-rag"
    run(tool_rag, "db", "upgrade")
    assert run(tool_rag, "db", "verify") == ""
    assert _assets.head_revision() in run(tool_rag, "db", "sql")
    assert run(tool_rag, "search", "x", "--json") == "[]\n"
