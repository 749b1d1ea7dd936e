"""What others recorded with vcrpy is imported: every answer is the one that AWS sent.

Compared with: 378 published recordings of Converse and ConverseStream, put back into cassettes as their owners have
them: the headers dropped or masked as they were, a cassette for each project, half of them compressed.
"""

import base64
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from converse_harness import recording
from converse_harness.features.cassettes.convert import Hosts, import_cassette
from converse_harness.intercept.guard.hosts import is_bedrock_host
from tests.oracle.conftest import SOME_AND_ALL


@pytest.fixture
def cassettes(shared: Path, tmp_path: Path, step: int) -> dict[Path, list[dict[str, Any]]]:
    """The cassettes, and what each holds."""
    corpus = shared / "corpus"
    known: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in json.loads((corpus / "index.json").read_text())[::step]:
        known[entry["file"].partition("/")[0]].append(json.loads((corpus / entry["file"]).read_text()))
    made: dict[Path, list[dict[str, Any]]] = {}
    for number, (name, entries) in enumerate(known.items()):
        text = yaml.dump({"interactions": [*map(_interaction, entries)], "version": 1}, Dumper=yaml.CSafeDumper)
        path = tmp_path / (f"{name}.yaml.gz" if number % 2 else f"{name}.yaml")
        path.write_bytes(gzip.compress(text.encode()) if number % 2 else text.encode())
        made[path] = entries
    return made


def _interaction(entry: dict[str, Any]) -> dict[str, Any]:
    request, response = entry["request"], entry["response"]
    body = request["body"] if isinstance(request["body"], str) else json.dumps(request["body"])
    answer = base64.b64decode(response["body_base64"])
    return {
        "request": {
            "method": request["method"],
            "uri": f"https://{request['host']}{request['path']}",
            "body": body,
            "headers": {name: [value] for name, value in request["headers"]},
        },
        "response": {
            "status": {"code": response["status"], "message": response.get("reason")},
            "headers": {name: [value] for name, value in response["headers"]},
            "body": {"string": answer if response["is_event_stream"] else answer.decode()},
        },
    }


@SOME_AND_ALL
def test_every_answer_is_imported_as_it_was(
    cassettes: dict[Path, list[dict[str, Any]]], tmp_path: Path, step: int
) -> None:
    assert sum(map(len, cassettes.values())) == len(range(0, 378, step))
    for path, entries in cassettes.items():
        target = tmp_path / f"{path.name}.jsonl"
        imported = import_cassette(path, target, Hosts(is_bedrock_host))
        assert imported.verdicts == ("equal byte for byte",) * len(entries), path
        assert imported.alone == {}
        exchanges = recording(target).exchanges
        found = [(each.operation, each.head["status"]) for each in exchanges]
        assert found == [(entry["operation"], entry["response"]["status"]) for entry in entries]
        # Nothing about the headers of any answer is unusual, and what was masked has left no trace.
        assert [each.head for each in exchanges if "headers" in each.head] == []
        assert not [each for each in exchanges if "REDACTED" in str(each.head.get("requestId"))]
