"""The protocol's conformance suite against a gateway: as a server, and as a client of servers.

Tools that the suite calls are those of a server behind the gateway, so what passes has passed
through it. What can't pass is listed with the reason; a scenario that newly fails, or newly passes,
fails the test.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from . import npm
from .conftest import Running, Serve, run
from .suite_peer import SCHEMA

pytestmark = npm.needs_npm

RELEASED, NEXT = "@modelcontextprotocol/conformance", "conformance-next"
#: By revision: the package and what it is asked for.
RUNS: dict[str, tuple[str, list[str]]] = {
    "latest release": (RELEASED, ["--suite", "all"]),
    "2025-06-18": (NEXT, ["--suite", "all", "--spec-version", "2025-06-18"]),
    "2025-11-25": (NEXT, ["--requirements", "2025-11-25"]),
    "2026-07-28": (NEXT, ["--requirements", "2026-07-28"]),
}
#: By reason: what the gateway does not do, or does otherwise.
ELSEWHERE: dict[str, set[str]] = {
    "it has tools, and no prompts": {
        "prompts-list",
        "prompts-get-simple",
        "prompts-get-with-args",
        "prompts-get-embedded-resource",
        "prompts-get-with-image",
        "input-required-result-non-tool-request",
    },
    "it has tools, and no resources": {
        "resources-list",
        "resources-read-text",
        "resources-read-binary",
        "resources-templates-read",
        "resources-subscribe",
        "resources-unsubscribe",
        "sep-2164-resource-not-found",
    },
    "it completes no arguments": {"completion-complete"},
    "it sends no log messages, and passes none on": {
        "logging-set-level",
        "tools-call-with-logging",
    },
    "it asks for confirmation, and for nothing else": {
        "tools-call-sampling",
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "input-required-result-basic-elicitation",
        "input-required-result-basic-sampling",
        "input-required-result-basic-list-roots",
        "input-required-result-multiple-input-requests",
        "input-required-result-multi-round",
        "input-required-result-capability-check",
    },
    "an answer without the question's sealed state is no confirmation": {
        "input-required-result-ignore-extra-params",
    },
    "it does not speak the extension of tasks": {
        "tasks-lifecycle",
        "tasks-capability-negotiation",
        "tasks-wire-fields",
        "tasks-request-state-removal",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-dispatch-and-envelope",
        "tasks-status-notifications",
        "tasks-required-task-error",
        "tasks-mrtr-composition",
    },
    "it lists tools under their server's name": {"json-schema-2020-12"},
    "arguments in headers are between the gateway and its upstreams": {
        "http-custom-header-server-validation",
    },
    "streams are not resumed": {"server-sse-polling"},
}
#: Scenarios of which most applies, with the checks that do not.
PARTLY: dict[str, set[str]] = {
    # These want prompts and resources.
    "caching": {
        "sep-2549-prompts-list-caching-hints",
        "sep-2549-resources-list-caching-hints",
        "sep-2549-resources-templates-list-caching-hints",
    },
    # These want tools by which a server asks the client's model, and changes its own list.
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
        "sep-2575-server-sends-tools-list-changed-on-subscription",
    },
}
WITH_SESSIONS = {
    "ping",
    "server-initialize",
    "tools-call-audio",
    "tools-call-elicitation",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-simple-text",
    "tools-call-with-progress",
    "tools-list",
}
PASSED: dict[str, set[str]] = {
    "latest release": WITH_SESSIONS | {"dns-rebinding-protection", "server-sse-multiple-streams"},
    "2025-06-18": WITH_SESSIONS | {"server-session-lifecycle"},
    "2025-11-25": WITH_SESSIONS
    | {"dns-rebinding-protection", "server-session-lifecycle", "server-sse-multiple-streams"},
    "2026-07-28": WITH_SESSIONS - {"ping", "server-initialize", "tools-call-elicitation"}
    | {
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-missing-input-response",
        "input-required-result-request-state",
        "input-required-result-result-type",
        "input-required-result-tampered-state",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "server-sse-multiple-streams",
    },
}
#: The messages of every scenario are checked against the protocol's schema beside.
WIRE = "wire-schema-valid"


@pytest.fixture(scope="module")
def gateway(serve: Serve) -> Running:
    return serve(
        {
            "servers": [
                npm.as_server(
                    "suite",
                    [sys.executable, "-m", "tests.gateway.suite_peer"],
                    cwd=str(npm.ROOT),
                )
            ],
            "permissions": {"mode": "none"},
            "always_on": ["suite/test_simple_text", "suite/json_schema_2020_12_tool"],
            "offer_found": True,
            "limits": {"requests_per_minute": 100_000},
        },
        tools_of=("suite",),
    )


def checks_of(folder: Path) -> dict[str, dict[str, set[str]]]:
    """Return by scenario and status the checks that the suite has made."""
    found: dict[str, dict[str, set[str]]] = {}
    for path in sorted(folder.glob("*/checks.json")):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.name)
        statuses = found.setdefault(scenario.removeprefix("server-"), {})
        for check in json.loads(path.read_text(encoding="utf-8")):
            statuses.setdefault(check["status"], set()).add(check["id"])
    return found


def failed(statuses: dict[str, set[str]]) -> set[str]:
    return statuses.get("FAILURE", set()) | statuses.get("WARNING", set())


@pytest.mark.parametrize("revision", RUNS)
def test_the_suite_passes_as_far_as_it_applies(
    gateway: Running, tmp_path: Path, revision: str
) -> None:
    package, asked = RUNS[revision]
    results = tmp_path / "results"
    command = [*npm.script(package, "dist/index.js"), "server", "--url", gateway.url]
    done = npm.run_node([*command, *asked, "--output-dir", str(results)], tmp_path)
    print(done.stdout[-8000:], done.stderr)
    found = checks_of(results)

    passed = {
        scenario
        for scenario, statuses in found.items()
        if not failed(statuses) and statuses.get("SUCCESS", set()) - {WIRE}
    }
    partly = {scenario: failed(found[scenario]) for scenario in PARTLY.keys() & found}
    assert passed == PASSED[revision]
    assert partly == (PARTLY if revision == "2026-07-28" else {})
    assert found.keys() - passed - partly.keys() <= set().union(*ELSEWHERE.values())
    # Whether a scenario applies or not, what was said was said as the protocol has it.
    assert not [scenario for scenario, statuses in found.items() if WIRE in failed(statuses)]


def test_a_schema_keeps_all_its_keywords(gateway: Running) -> None:
    """What the scenario json-schema-2020-12 checks, under the name that the gateway lists."""

    async def main() -> dict[str, Any]:
        async with gateway.client() as client:
            listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            return listed["suite__json_schema_2020_12_tool"]

    assert run(main) == SCHEMA


#: By revision: scenarios of clients, apart from those of OAuth and of skills, which it does not
#: speak, and sep-2322-client-request-state: questions of servers do not pass the gateway.
AS_CLIENT = {
    "2025-06-18": ["initialize", "tools_call"],
    "2025-11-25": ["initialize", "tools_call", "sse-retry", "json-schema-2020-12-preservation"],
    "2026-07-28": [
        "tools_call",
        "request-metadata",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ],
}


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [(revision, each) for revision, scenarios in AS_CLIENT.items() for each in scenarios],
)
def test_the_side_towards_servers(tmp_path: Path, revision: str, scenario: str) -> None:
    results = tmp_path / "results"
    command = [*npm.script(NEXT, "dist/index.js"), "client", "--scenario", scenario]
    client = f"{sys.executable} -m tests.gateway.suite_client"
    done = npm.run_node(
        [*command, "--spec-version", revision, "--command", client, "--output-dir", str(results)],
        tmp_path,
        environment={"PYTHONPATH": str(npm.ROOT)},
    )
    print(done.stdout[-4000:], done.stderr)
    statuses: dict[str, set[str]] = {}
    for path in results.rglob("checks.json"):
        for check in json.loads(path.read_text(encoding="utf-8")):
            statuses.setdefault(check["status"], set()).add(check["id"])
    assert not failed(statuses)
    assert statuses["SUCCESS"] - {WIRE}
    assert done.returncode == 0
