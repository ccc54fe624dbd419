from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tool_rag_pg.embedding import pairs
from tool_rag_pg.embedding.train import (
    base_words,
    frequent_words,
    is_held_out,
    read_exports,
    read_labelled,
    read_material,
    split_name,
    tool_text,
)

SCHEMA = {
    "type": "object",
    "properties": {
        "orderId": {"type": "string", "description": "The order."},
        "how": {"type": "string", "enum": ["storeCredit", "card"]},
        "lines": {
            "type": "array",
            "items": {"properties": {"sku": {"description": "Stock number."}}},
        },
    },
}


def write_set(folder: Path, count: int) -> None:
    folder.mkdir()
    tools = [
        {"name": f"tool_{n}", "description": f"Does {n}.", "server": "s"} for n in range(count)
    ]
    requests = [{"query": f"do {n}", "expected": [f"tool_{n}"]} for n in range(count)]
    requests.append({"query": "faulty", "expected": ["tool_0"], "label_problem": "x"})
    for name, rows in (("catalog", tools), ("requests", requests)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getUserInfo_v2", "get User Info v 2"),
        ("HTTPServer.start", "HTTP Server start"),
        ("repos/list-for--org", "repos list for org"),
        ("", ""),
    ],
)
def test_names_split_into_words(name: str, words: str) -> None:
    assert split_name(name) == words


def test_the_texts_of_a_tool_hold_nested_parameters_and_values() -> None:
    tool = tool_text("refundOrder", "Give it back.", SCHEMA, server="shop_api", title="Refund")
    assert tool.short == "refund Order. Refund. Give it back."
    assert tool.parameters == "order Id how lines sku The order. Stock number. store Credit card"
    assert tool.full == f"{tool.short} {tool.parameters} shop api"
    assert tool.parameter_descriptions == ("The order.", "Stock number.")


def test_a_schema_without_end_is_read_to_some_depth() -> None:
    loop: dict[str, object] = {"type": "object"}
    loop["properties"] = {"child": loop}
    assert tool_text("t", None, loop).parameters.split() == ["child"] * 9


def test_faulty_requests_are_left_out(tmp_path: Path) -> None:
    write_set(tmp_path / "one", 3)
    tools, requests = read_labelled(tmp_path / "one")
    assert [tool.key for tool in tools] == ["tool_0", "tool_1", "tool_2"]
    assert [request.text for request in requests] == ["do 0", "do 1", "do 2"]


def test_held_out_tools_leave_no_trace_in_the_material(tmp_path: Path) -> None:
    for name in ("sealtools", "stabletoolbench", "metatool"):
        write_set(tmp_path / name, 50)
    material = read_material(tmp_path, held_out=0.2, left_out=["metatool"], per_tool=9, pairs=None)
    unseen = {n for n in range(50) if is_held_out(f"tool_{n}", 0.2)}
    assert 0 < len(unseen) < 25
    assert len(material.tools) == 2 * (50 - len(unseen))
    assert set(material.requests) == {"sealtools", "stabletoolbench"}
    assert not {f"do {n}" for n in unseen} & set(material.texts)
    assert not {f"Does {n}." for n in unseen} & set(material.texts)


def test_exports_of_several_formats_are_read(tmp_path: Path) -> None:
    (tmp_path / "mcp_exports").mkdir()
    (tmp_path / "mcp_exports" / "snap-git.json").write_text(
        json.dumps({"tools": [{"name": "commit", "inputSchema": SCHEMA}]})
    )
    for name, document in {
        "openai/a.json": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
        "anthropic/b.json": [{"name": "g", "description": "G.", "input_schema": SCHEMA}],
        "openapi/c_v1.json": {
            "paths": {
                "/x": {
                    "parameters": [],
                    "post": {
                        "operationId": "makeX",
                        "summary": "Make",
                        "parameters": [{"name": "dry", "description": "Only try."}],
                        "requestBody": {
                            "content": {"application/json": {"schema": {"$ref": "#/b/X"}}}
                        },
                    },
                }
            },
            "b": {"X": {"properties": {"size": {"description": "How large."}}}},
        },
    }.items():
        path = tmp_path / "exports" / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document))
    tools = {tool.key: tool for tool in read_exports(tmp_path)}
    assert set(tools) == {"commit", "f", "g", "makeX"}
    assert tools["commit"].full.endswith("git")
    assert tools["makeX"].full == "make X. Make dry size Only try. How large. c"


def test_pairs_are_read_from_what_their_command_writes(tmp_path: Path) -> None:
    wordnet = tmp_path / "wordnet"
    wordnet.mkdir()
    (wordnet / "data.verb").write_text(
        "  1 This software and database is provided\n"
        "00001 41 v 02 lodge 0 lodge_a_claim 1 001 @ 00002 v 0000"
        ' | bring to court; "He lodged it"\n',
        encoding="latin-1",
    )
    packages = tmp_path / "Packages"
    packages.write_text(
        "Package: docker.io\nSection: admin\nDescription: Linux container runtime\n\n"
        "Package: x-dbg\nSection: debug\nDescription: debugging symbols for x\n",
        encoding="utf-8",
    )
    service = tmp_path / "botocore" / "s3" / "2006-03-01"
    service.mkdir(parents=True)
    (service / "service-2.json").write_text(
        json.dumps(
            {
                "metadata": {"serviceId": "S3"},
                "operations": {
                    "DeleteBucket": {
                        "documentation": "<p>Deletes the bucket. It must be empty. Mind.</p>",
                        "input": {"shape": "Request"},
                    }
                },
                "shapes": {"Request": {"members": {"B": {"documentation": "Which bucket."}}}},
            }
        )
    )
    discovery = tmp_path / "discovery"
    discovery.mkdir()
    method = {"id": "drive.files.copyTo", "description": "Copies a file. Twice. Thrice."}
    document = {"resources": {"files": {"methods": {"copy": method}}}}
    for name in ("drive.v3.json", "drive.v3beta.json"):
        (discovery / name).write_text(json.dumps(document))
    out = tmp_path / "pairs.jsonl"
    names = {
        "--wordnet": wordnet,
        "--packages": packages,
        "--botocore": tmp_path / "botocore",
        "--discovery": discovery,
        "--out": out,
    }
    assert pairs.main([str(part) for pair in names.items() for part in pair]) == 0
    assert [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] == [
        ["lodge, lodge a claim", "bring to court", "wordnet"],
        ["He lodged it", "bring to court", "wordnet"],
        ["lodge", "lodge a claim", "wordnet"],
        ["docker io", "Linux container runtime", "packages"],
        ["S3 Delete Bucket", "Deletes the bucket. It must be empty.", "botocore"],
        ["Which bucket.", "Deletes the bucket.", "botocore"],
        ["drive files copy To", "Copies a file. Twice.", "discovery"],
    ]
    for name in ("sealtools", "stabletoolbench", "metatool"):
        write_set(tmp_path / name, 2)
    material = read_material(tmp_path, held_out=0, left_out=[], per_tool=9, pairs=out)
    assert ("lodge", "lodge a claim") in material.pairs
    assert len(material.pairs) == 7


def test_words_that_the_vocabulary_cuts_up_are_found() -> None:
    known = frozenset({"the", "pay"})
    texts = ["Refund the pay, refund", "the REFUND deletes", "x1 e-mail deletes"]
    assert frequent_words(texts, known, 2) == ["deletes", "refund"]
    assert base_words(["refund", "refunds", "refunded", "o'clock", "pay"], known) == ["refund"]


def test_the_command_explains_itself_without_its_extra() -> None:
    code = (
        "import sys; sys.modules['torch'] = sys.modules['sentence_transformers'] = None; "
        "from tool_rag_pg.embedding.train import main; main(['--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--data" in done.stdout
