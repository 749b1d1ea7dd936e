"""Drawn outputs of operations: on_operation takes each, and botocore returns it as it was drawn."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import bedrock, fake_converse
from converse_strategies import operation_outputs
from tests.strategies.conftest import as_drawn, found

ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "Retrieve": ("bedrock-agent-runtime", {"knowledgeBaseId": "KB12345678", "retrievalQuery": {"text": "?"}}),
    "GetSession": ("bedrock-agent-runtime", {"sessionIdentifier": "s"}),
    "InvokeModel": ("bedrock-runtime", {"modelId": "m", "body": b"{}"}),
    "InvokeModelWithResponseStream": ("bedrock-runtime", {"modelId": "m", "body": b"{}"}),
    "GetDataAutomationStatus": ("bedrock-data-automation-runtime", {"invocationArn": "arn"}),
}


def kinds(output: dict[str, Any]) -> list[str]:
    """The types of the events in an output of InvokeModelWithResponseStream."""
    return [next(iter(each)) for each in output["body"]]


@pytest.mark.parametrize("name", ASKED)
def test_a_drawn_output_is_what_the_client_returns(name: str) -> None:
    service, arguments = ASKED[name]
    client = botocore.session.get_session().create_client(service, region_name="us-east-1")
    stream = bedrock.event_stream(name, service)
    outputs = operation_outputs(name, service=service)
    if stream is not None:
        outputs = outputs.filter(lambda output: not set(kinds(output)) & set(stream.exceptions))

    @as_drawn(1)
    @given(outputs)
    def holds(output: dict[str, Any]) -> None:
        with fake_converse(rules="off") as fake:
            fake.on_operation(name, output, service=service)
            answer = getattr(client, bedrock.method_of(name))(**arguments)
            del answer["ResponseMetadata"]
            if name == "InvokeModel":
                answer["body"] = answer["body"].read()
            elif stream is not None:
                answer["body"] = list(answer["body"])
                answer["contentType"] = output["contentType"]  # botocore reads that of the stream
        assert answer == output

    holds()


def test_a_stream_may_be_empty_full_and_end_with_an_exception() -> None:
    drawn: st.SearchStrategy[dict[str, Any]] = operation_outputs("InvokeModelWithResponseStream")
    assert found(drawn, lambda output: not output["body"])
    assert found(drawn, lambda output: len(output["body"]) == 8)
    assert found(drawn, lambda output: kinds(output)[:1] == ["chunk"] and kinds(output)[-1] != "chunk")
