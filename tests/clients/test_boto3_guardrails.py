"""Guardrails through boto3, in process and from the server: blocked, masked or let through; and ApplyGuardrail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from converse_harness import ConverseServer, Fake, Reply, bedrock, reply

pytestmark = pytest.mark.any_answer

MODEL = "us.amazon.nova-lite-v1:0"
GUARDRAIL = {"guardrailIdentifier": "abc", "guardrailVersion": "7", "trace": "enabled"}
HELLO: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "Should I buy crypto?"}]}]

REPLIES = {
    "input blocked": reply.guardrail_blocked(),
    "output blocked": reply.guardrail_blocked(policy="word", side="output", original="Buy crypto."),
    "grounding": reply.guardrail_blocked(policy="grounding"),
    "streamed": reply.guardrail_blocked("No.", policy="word", streamed="Buy cry"),
    "masked": reply.guardrail_masked("I am {NAME}, booking {Booking}."),
    "input masked": reply.guardrail_masked("Hello!", side="input"),
    "no trace": reply.guardrail_blocked(trace=False),
    "passed": reply.guardrail_passed("18 °C and sunny."),
    "told": reply.guardrail_passed("18 °C and sunny.", policy="pii", side="output"),
}


@pytest.fixture(params=["in process", "server"])
def asked(request: pytest.FixtureRequest) -> Iterator[tuple[Fake, Any]]:
    """A fake, and a client that reaches it."""
    config = Config(retries={"mode": "standard", "total_max_attempts": 1})
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    options: dict[str, Any] = {"region_name": "us-east-1", "config": config, **keys}
    if request.param == "in process":
        fake: Fake = request.getfixturevalue("converse")
        yield fake, boto3.client("bedrock-runtime", **options)
    else:
        server: ConverseServer = request.getfixturevalue("converse_server")
        with server.script() as fake:
            yield fake, boto3.client("bedrock-runtime", endpoint_url=fake.url, **options)


def whole(client: Any, streaming: bool) -> dict[str, Any]:
    """Text, stop reason and guardrail's trace, as an application sees them."""
    if not streaming:
        answer = client.converse(modelId=MODEL, messages=HELLO, guardrailConfig=GUARDRAIL)
        text, stop = answer["output"]["message"]["content"][0]["text"], answer["stopReason"]
        return {"text": text, "stop": stop, "usage": answer["usage"], **answer.get("trace", {})}
    config = {**GUARDRAIL, "streamProcessingMode": "async"}
    events = list(client.converse_stream(modelId=MODEL, messages=HELLO, guardrailConfig=config)["stream"])
    *_, stop, last = events
    text = "".join(each["contentBlockDelta"]["delta"]["text"] for each in events if "contentBlockDelta" in each)
    metadata = last["metadata"]
    reason = stop["messageStop"]["stopReason"]
    return {"text": text, "stop": reason, "usage": metadata["usage"], **metadata.get("trace", {})}


@pytest.mark.needs_os
@pytest.mark.parametrize("says", REPLIES.values(), ids=REPLIES)
def test_a_stream_and_a_whole_answer_say_the_same(asked: tuple[Fake, Any], says: Reply) -> None:
    fake, client = asked
    fake.script(says.times(2))
    streamed, answered = (whole(client, streaming) for streaming in (True, False))
    if "guardrail" in answered and "modelOutput" not in streamed["guardrail"]:
        assert answered["guardrail"].pop("modelOutput") == []
    assert {**streamed, "usage": None} == {**answered, "usage": None}
    intervened = says not in (REPLIES["passed"], REPLIES["told"])
    assert streamed["stop"] == ("guardrail_intervened" if intervened else "end_turn")
    if says in (REPLIES["input blocked"], REPLIES["no trace"]):
        assert set(streamed["usage"].values()) == set(answered["usage"].values()) == {0}
    else:
        assert streamed["usage"]["totalTokens"] == answered["usage"]["totalTokens"] > 0
    if "guardrail" in streamed:
        bedrock.check("GuardrailTraceAssessment", streamed["guardrail"])
        assert list(streamed["guardrail"]["inputAssessment"]) == ["abc"]
    assert fake.calls[0].guardrail == {**GUARDRAIL, "streamProcessingMode": "async"}


def apply(client: Any) -> dict[str, Any]:
    """What the application asks about a text."""
    content = [{"text": {"text": "May I have your account number?"}}]
    answer: dict[str, Any] = client.apply_guardrail(
        guardrailIdentifier="arn:aws:bedrock:us-east-1:123456789012:guardrail/abc",
        guardrailVersion="7",
        source="INPUT",
        content=content,
    )
    return answer


@pytest.mark.needs_os
def test_apply_guardrail(asked: tuple[Fake, Any]) -> None:
    fake, client = asked
    fake.when(operation="ApplyGuardrail").script(
        reply.guardrail_blocked("No."), reply.guardrail_masked("I am {NAME}."), reply.throttled()
    )
    blocked, masked = apply(client), apply(client)
    assert (blocked["action"], blocked["actionReason"]) == ("GUARDRAIL_INTERVENED", "Guardrail blocked.")
    assert blocked["outputs"] == [{"text": "No."}]
    assert blocked["assessments"][0]["topicPolicy"]["topics"][0]["detected"] is True
    assert (masked["outputs"], masked["usage"]["sensitiveInformationPolicyUnits"]) == ([{"text": "I am {NAME}."}], 1)
    with pytest.raises(ClientError, match="ThrottlingException"):
        apply(client)
    assert [call.operation for call in fake.calls.all] == ["ApplyGuardrail"] * 3
    assert fake.calls.all[0].params["source"] == "INPUT"
