"""Guardrails through aiobotocore: the trace in a stream, and ApplyGuardrail."""

from __future__ import annotations

import asyncio
from typing import Any

import aiobotocore.session

from converse_harness import fake_converse, reply

KEYS = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
GUARDRAIL = {"guardrailIdentifier": "abc", "guardrailVersion": "7"}


def test_a_blocked_stream_and_apply_guardrail() -> None:
    async def ask() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        async with aiobotocore.session.get_session().create_client("bedrock-runtime", **KEYS) as client:
            answer = await client.converse_stream(
                modelId="us.amazon.nova-lite-v1:0",
                messages=[{"role": "user", "content": [{"text": "hello"}]}],
                guardrailConfig={**GUARDRAIL, "trace": "enabled"},
            )
            events = [event async for event in answer["stream"]]
            content = [{"text": {"text": "hello"}}]
            verdicts = [await client.apply_guardrail(**GUARDRAIL, source="INPUT", content=content)]
            return events, verdicts

    with fake_converse(reply.guardrail_blocked("No.")) as fake:
        fake.when(operation="ApplyGuardrail").script(reply.guardrail_masked("I am {NAME}."))
        events, (masked,) = asyncio.run(ask())
    (assessment,) = events[-1]["metadata"]["trace"]["guardrail"]["inputAssessment"].values()
    assert assessment["topicPolicy"]["topics"][0]["detected"] is True
    assert [event["messageStop"]["stopReason"] for event in events if "messageStop" in event] == [
        "guardrail_intervened"
    ]
    assert (masked["action"], masked["outputs"]) == ("GUARDRAIL_INTERVENED", [{"text": "I am {NAME}."}])
