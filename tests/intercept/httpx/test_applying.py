"""ApplyGuardrail through httpx, as a client without botocore asks."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from converse_harness import HttpxFake, reply

ARN = "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aguardrail%2Fabc"
URL = f"https://bedrock-runtime.us-east-1.amazonaws.com/guardrail/{ARN}/version/DRAFT/apply"
BODY: dict[str, Any] = {"source": "OUTPUT", "content": [{"text": {"text": "I am Ada."}}]}


async def post(transport: httpx.AsyncBaseTransport) -> dict[str, Any]:
    async with httpx.AsyncClient(transport=transport) as client:
        answer: dict[str, Any] = (await client.post(URL, json=BODY)).json()
        return answer


def test_apply_guardrail_through_httpx() -> None:
    with HttpxFake() as fake:
        masks = fake.when(lambda call: call.body["source"] == "OUTPUT", operation="ApplyGuardrail")
        masks.script(reply.guardrail_masked("I am {NAME}.").times(2))
        with httpx.Client(transport=fake.httpx_transport) as client:
            masked = client.post(URL, json=BODY).json()
            assert asyncio.run(post(fake.httpx_async_transport)) == masked
            passed = client.post(URL, json={**BODY, "source": "INPUT"}).json()
    assert masked["assessments"][0]["sensitiveInformationPolicy"]["piiEntities"][0]["match"] == "Ada Lovelace"
    assert (masked["outputs"], passed["outputs"]) == ([{"text": "I am {NAME}."}], [])
    assert [call.params["guardrailIdentifier"].rpartition("/")[2] for call in fake.calls.of("ApplyGuardrail")] == [
        "abc"
    ] * 3
