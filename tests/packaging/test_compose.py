"""The compose file: a pinned image, no password of its own, nothing open to the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

COMPOSE = Path(__file__).resolve().parents[2] / "docker-compose.yml"


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    return found


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    found = services()["postgres"]
    assert isinstance(found, dict)
    return found


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


def test_they_listen_on_this_machine_only() -> None:
    ports = [port for service in services().values() for port in service["ports"]]
    assert len(ports) == 2
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_gateway_is_there_on_request_and_holds_no_secret() -> None:
    gateway = services()["gateway"]
    assert gateway["profiles"] == ["gateway"]
    assert gateway["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert gateway["environment"]["TOOL_RAG_KEY_SECRET"] == "${TOOL_RAG_KEY_SECRET:-}"
    assert "${TOOL_RAG_DB_PASSWORD}" in gateway["environment"]["TOOL_RAG_DATABASE_URL"]
    assert (COMPOSE.parent / gateway["build"]["dockerfile"]).is_file()
    (mount,) = gateway["volumes"]
    path = mount.split(":")[1]
    assert mount.endswith(":ro")
    assert path in gateway["entrypoint"][-1]
    assert gateway["cap_drop"] == ["ALL"]


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
