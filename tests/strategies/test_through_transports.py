"""What is drawn goes through the transports unchanged, and both operations give the same response."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from hypothesis import given, settings

from converse_harness import ConverseServer, Reply, assemble, fake_converse, reply
from converse_harness.bedrock.guardrails import in_json
from converse_strategies import replies, stream_events
from tests.profiles import examples
from tests.strategies.conftest import as_botocore_reads

pytestmark = pytest.mark.any_answer

Event = dict[str, Any]
ASKED: dict[str, Any] = {
    "modelId": "us.amazon.nova-lite-v1:0",
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
}
KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
OF_RESPONSE = {
    "usage": "usage",
    "metrics": "metrics",
    "trace": "trace",
    "additionalModelResponseFields": "additional",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
}


@pytest.fixture(scope="module")
def client() -> Any:
    with fake_converse():
        return boto3.client("bedrock-runtime", **KEYS)


@given(events=stream_events())
def test_streams_come_through_boto_unchanged(client: Any, events: list[Event]) -> None:
    with fake_converse(reply.events(events)):
        assert list(client.converse_stream(**ASKED)["stream"]) == as_botocore_reads(events)


@pytest.mark.needs_os
@given(events=stream_events())
@settings(max_examples=examples(0.5))
def test_streams_come_through_the_server_unchanged(converse_server: ConverseServer, events: list[Event]) -> None:
    with converse_server.script(reply.events(events)) as fake:
        client = boto3.client("bedrock-runtime", endpoint_url=fake.url, **KEYS)
        assert list(client.converse_stream(**ASKED)["stream"]) == as_botocore_reads(events)


@given(answer=replies())
def test_both_operations_give_the_same_response(client: Any, answer: Reply) -> None:
    with fake_converse(answer.times(2)):
        whole = client.converse(**ASKED)
        streamed = assemble(client.converse_stream(**ASKED)["stream"])
    assert whole["output"]["message"] == streamed.message
    assert whole["stopReason"] == streamed.stop_reason
    in_stream = {member: getattr(streamed, attribute) for member, attribute in OF_RESPONSE.items()}
    if in_stream["trace"] is not None:
        in_stream["trace"] = in_json(in_stream["trace"])  # recorded: only JSON has an empty modelOutput
    assert {member: whole.get(member) for member in OF_RESPONSE} == in_stream
