"""The compose file: a pinned image, no password of its own, nothing open to the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

COMPOSE = Path(__file__).resolve().parents[2] / "docker-compose.yml"


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    document = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    (only,) = document["services"].values()
    assert isinstance(only, dict)
    return only


def test_the_image_is_pinned_to_versions_that_will_do(service: dict[str, Any]) -> None:
    image = re.fullmatch(r"pgvector/pgvector:(\d+)\.(\d+)\.\d+-pg(\d+)", service["image"])
    assert image is not None
    major, minor, postgres = map(int, image.groups())
    assert (major, minor) >= (0, 8)
    assert postgres >= 16


def test_without_a_password_it_refuses_with_a_sentence(service: dict[str, Any]) -> None:
    password = service["environment"]["POSTGRES_PASSWORD"]
    assert re.fullmatch(r"\$\{TOOL_RAG_DB_PASSWORD:\?[a-z].+\}", password)
    assert "POSTGRES_HOST_AUTH_METHOD" not in service["environment"]


def test_it_listens_on_this_machine_only(service: dict[str, Any]) -> None:
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_its_health_is_checked_by_the_database_itself(service: dict[str, Any]) -> None:
    check = service["healthcheck"]
    assert "pg_isready" in check["test"][-1]
    assert service["environment"]["POSTGRES_DB"] in check["test"][-1]


def test_its_data_are_in_a_named_volume(service: dict[str, Any]) -> None:
    document = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    (volume,) = service["volumes"]
    name, _, target = volume.partition(":")
    assert name in document["volumes"]
    # Where the image of this version keeps its data; from Postgres 18 on it is one level up.
    assert target == "/var/lib/postgresql/data"
    assert "-pg17" in service["image"] or "-pg16" in service["image"]
