"""A suite as users write one; test_pyodide.py runs it in a pytest of its own. Its last two tests must fail."""

import asyncio
import json
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError
from hypothesis import given

from converse_harness import Fake, HttpxFake, assemble, reply
from converse_strategies import stream_events

MODEL = "us.amazon.nova-lite-v1:0"
TOOLS: Any = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]}
QUESTION: Any = {"role": "user", "content": [{"text": "What is it like in Zürich?"}]}


def client() -> Any:
    return boto3.client("bedrock-runtime", region_name="us-east-1")


def agent() -> str:
    messages = [QUESTION]
    while True:
        answer = client().converse(modelId=MODEL, messages=messages, toolConfig=TOOLS)
        message = answer["output"]["message"]
        if answer["stopReason"] != "tool_use":
            return str(message["content"][0]["text"])
        found = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        results = [
            {"toolResult": {"toolUseId": tool["toolUseId"], "content": [{"text": f"18 °C in {tool['input']['city']}"}]}}
            for tool in found
        ]
        messages += [message, {"role": "user", "content": results}]


def test_tool_loop(converse: Fake) -> None:
    converse.script(reply.tool_use("get_weather", {"city": "Zürich"}), reply.text("18 °C and sunny."))
    assert agent() == "18 °C and sunny."
    assert "18 °C in Zürich" in json.dumps(converse.calls[1].messages, ensure_ascii=False)


def test_stream(converse: Fake) -> None:
    converse.script(reply.text("Sunny all day."))
    stream = client().converse_stream(modelId=MODEL, messages=[QUESTION])["stream"]
    assert assemble(stream).message["content"] == [{"text": "Sunny all day."}]


@pytest.mark.converse(attempts=1)
def test_throttle(converse: Fake) -> None:
    converse.script(reply.throttled(), reply.text("ok"))
    with pytest.raises(ClientError, match="ThrottlingException"):
        agent()
    assert agent() == "ok"


def ask() -> dict[str, Any]:
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{MODEL}/converse"
    return {"url": url, "json": {"messages": [QUESTION]}}


def test_httpx(converse_httpx: HttpxFake) -> None:
    converse_httpx.script(reply.text("hi"))
    answer = httpx.post(**ask()).json()
    assert answer["output"]["message"]["content"] == [{"text": "hi"}]


def test_httpx_asynchronously(converse_httpx: HttpxFake) -> None:
    async def both() -> list[int]:
        async with httpx.AsyncClient() as asked:
            return [answer.status_code for answer in await asyncio.gather(asked.post(**ask()), asked.post(**ask()))]

    converse_httpx.script(reply.text("hi").times(2))
    assert asyncio.run(both()) == [200, 200]


@given(stream_events())
def test_any_stream(events: list[dict[str, Any]]) -> None:
    assert assemble(events).stop_reason


def test_one_call_too_many(converse: Fake) -> None:
    converse.script(reply.tool_use("get_weather", {"city": "Zürich"}))
    agent()


def test_server(converse_server: object) -> None:
    """What a user tries first, where there are no sockets."""
