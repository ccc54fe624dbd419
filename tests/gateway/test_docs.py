"""The page on the gateway: its configurations are right, and no setting is missing."""

from __future__ import annotations

import configparser
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tool_rag_pg.gateway import config as module
from tool_rag_pg.gateway.config import GatewayConfig, Secrets, read_config
from tool_rag_pg.gateway.metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/gateway.md").read_text(encoding="utf-8")
BLOCKS = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S)]
CONFIGS = [block for block in BLOCKS if isinstance(block.get("servers"), list)]


def test_there_are_configurations() -> None:
    assert len(CONFIGS) >= 2


@pytest.mark.parametrize("document", CONFIGS, ids=lambda document: document.get("name", "-"))
def test_configurations_are_right(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "gateway.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    variables = dict.fromkeys(re.findall(r"env:(\w+)", json.dumps(document)), "x")
    config, secrets = read_config(path, variables)
    assert config.servers
    assert isinstance(secrets, Secrets)


def test_every_setting_is_listed() -> None:
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    models = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel) and value.model_fields
    ]
    assert GatewayConfig in models
    missing = {
        f"{model.__name__}.{name}"
        for model in models
        for name in model.model_fields
        if f"`{name}`" not in table
    }
    assert missing == set()


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"`requests_per_minute` \| ([\d,]+)", "requests_per_minute"),
        (r"`call_seconds` \| (\d+)", "call_seconds"),
        (r"`connect_seconds` \| (\d+)", "connect_seconds"),
        (r"`shutdown_seconds` \| (\d+)", "shutdown_seconds"),
        (r"`database_connections` \| (\d+)", "database_connections"),
        (r"`sessions` \| ([\d,]+)", "sessions"),
    ],
)
def test_defaults_are_as_listed(pattern: str, value: str) -> None:
    found = re.search(pattern, PAGE)
    assert found is not None
    assert float(found[1].replace(",", "")) == float(getattr(module.Limits(), value))


def test_every_metric_is_listed() -> None:
    metrics = Metrics()
    names = {
        name
        for family in metrics.registry.collect()
        for name in [family.name if family.type != "counter" else f"{family.name}_total"]
    }
    assert len(names) >= 8
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


def test_the_unit_starts_what_there_is() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(ROOT / "deploy/tool-rag-gateway.service")
    service = unit["Service"]
    assert service["ExecStart"].endswith("tool-rag serve %d/gateway.json")
    assert service["ExecStartPre"].endswith("tool-rag serve %d/gateway.json --check")
    assert int(service["TimeoutStopSec"]) > module.Limits().shutdown_seconds
    assert service["NoNewPrivileges"] == "yes"
