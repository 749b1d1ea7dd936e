"""Calls of other Bedrock services are recorded by their names, and their answers replay as they came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from converse_harness import ConverseServer, bedrock, fake_converse, record, recording, reply
from converse_harness.bedrock.api.example import input_example, output_example
from tests.intercept.operations.asking import OPERATIONS, ask

SOME = [
    ("bedrock-agent-runtime", "Retrieve"),
    ("bedrock-agent-runtime", "InvokeAgent"),
    ("bedrock-agent-runtime", "ListTagsForResource"),
    ("bedrock-agentcore", "CreateEvent"),
    ("bedrock-agentcore", "InvokeAgentRuntime"),
    ("bedrock-agentcore", "InvokeCodeInterpreter"),
    ("bedrock-data-automation-runtime", "GetDataAutomationStatus"),
    ("bedrock-runtime", "InvokeModel"),
    ("bedrock-runtime", "InvokeModelWithResponseStream"),
]


@pytest.fixture(scope="module")
def server() -> Any:
    with ConverseServer() as running:
        yield running


def recorded(server: ConverseServer, file: Path, outputs: dict[tuple[str, str], Any]) -> list[Any]:
    """Record a call of each operation, which the server answers with its output. Return what the client got."""
    with server.script() as upstream:
        for (service, name), output in outputs.items():
            upstream.on_operation(name, output, service=service)
        with record(file):
            return [
                ask(service, name, input_example(name, service), endpoint_url=upstream.url) for service, name in outputs
            ]


def replayed(file: Path, operations: Any) -> list[Any]:
    with fake_converse(recording(file)):
        return [ask(service, name, input_example(name, service)) for service, name in operations]


@pytest.mark.needs_os
def test_calls_are_recorded_by_their_names_and_replay(server: ConverseServer, tmp_path: Path) -> None:
    file = tmp_path / "agent.jsonl"
    outputs = {(service, name): output_example(name, service) for service, name in SOME}
    outputs[SOME[1]]["completion"] = [{"chunk": {"bytes": b"half "}}, {"chunk": {"bytes": b"an answer"}}]
    got = recorded(server, file, outputs)
    assert replayed(file, SOME) == got
    with server.script(recording(file)) as fake:
        assert [ask(s, n, input_example(n, s), endpoint_url=fake.url) for s, n in SOME] == got
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    calls = [line for line in lines if "call" in line]
    assert [(line.get("service", "bedrock-runtime"), line["operation"]) for line in calls] == SOME
    assert calls[0]["knowledgeBaseId"] == input_example("Retrieve", SOME[0][0])["knowledgeBaseId"]
    assert {"$text": "an answer"} in [line["chunk"]["bytes"] for line in lines if "chunk" in line]


@pytest.mark.needs_os
def test_an_error_of_another_service_is_no_fault(server: ConverseServer, tmp_path: Path) -> None:
    file = tmp_path / "errors.jsonl"
    asked = input_example("Rerank", SOME[0][0])
    with server.script() as upstream:
        upstream.on_operation("Rerank", reply.error("DependencyFailedException"))
        with record(file), pytest.raises(ClientError, match="DependencyFailedException"):
            ask(SOME[0][0], "Rerank", asked, endpoint_url=upstream.url)
    assert "faults" not in file.read_text(encoding="utf-8")
    with fake_converse(recording(file)), pytest.raises(ClientError, match="DependencyFailedException"):
        ask(SOME[0][0], "Rerank", asked)


@pytest.mark.needs_os
def test_a_recording_of_paths_is_read_as_the_operations_they_are(server: ConverseServer, tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"
    got = recorded(server, file, {SOME[0]: output_example("Retrieve", SOME[0][0])})
    header, call, *rest = file.read_text(encoding="utf-8").splitlines()
    request = json.loads(call)["request"]
    of_path = {"call": 1, "method": "POST", "path": "/knowledgebases/aaaaaaaaaa/retrieve", "request": request}
    file.write_text("\n".join([header, json.dumps(of_path), *rest]) + "\n", encoding="utf-8")
    assert replayed(file, SOME[:1]) == got


@pytest.mark.needs_os
@pytest.mark.slow
@pytest.mark.parametrize("service", bedrock.services())
def test_every_operation_of_a_service_replays(server: ConverseServer, tmp_path: Path, service: str) -> None:
    outputs = {each: output_example(each[1], service) for each in OPERATIONS if each[0] == service}
    file = tmp_path / "all.jsonl"
    got = recorded(server, file, outputs)
    assert replayed(file, outputs) == got
