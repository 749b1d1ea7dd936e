"""A program of aiobedrock, tested as its users test one. It signs its requests itself, and sends them over aiohttp."""

import asyncio
import json

import pytest
from aiobedrock import Client

from converse_harness import UnexpectedCall, reply

pytestmark = pytest.mark.converse(environ=True)

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
WEATHER = {"name": "get_weather", "inputSchema": {"json": {"type": "object", "properties": {"city": {}}}}}


def user(text):
    return {"role": "user", "content": [{"text": text}]}


def answer_to(*messages, model=MODEL, **options):
    async def ask():
        async with Client("us-east-1", retry_backoff=0) as client:
            return await client.converse(model, messages, **options)

    return json.loads(asyncio.run(ask()))["output"]["message"]


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert answer_to(user("Where to?"))["content"] == [{"text": "Zürich"}]
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_async(converse):
    async def ask():
        async with Client("us-east-1") as client:
            return await client.converse_many([{"modelId": MODEL, "messages": [user(question)]} for question in "abc"])

    converse.script(*[reply.text("ok")] * 3)
    answers = [json.loads(answer)["output"]["message"] for answer in asyncio.run(ask())]
    assert [answer["content"] for answer in answers] == [[{"text": "ok"}]] * 3
    assert sorted(call.last_user_text for call in converse.calls) == ["a", "b", "c"]


def test_stream(converse):
    async def ask():
        async with Client("us-east-1") as client:
            return [event async for event in client.converse_stream(MODEL, [user("When?")])]

    converse.script(reply.text("One fine day in May."))
    deltas = [event["contentBlockDelta"]["delta"] for event in asyncio.run(ask()) if "contentBlockDelta" in event]
    assert len(deltas) > 1
    assert "".join(delta["text"] for delta in deltas) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_use(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}))
    (block,) = answer_to(user("How warm is it in Bern?"), toolConfig={"tools": [{"toolSpec": WEATHER}]})["content"]
    assert (block["toolUse"]["name"], block["toolUse"]["input"]) == ("get_weather", {"city": "Bern"})
    (call,) = converse.calls
    assert call.tool_names == ["get_weather"]


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert answer_to(user("Are you there?"))["content"] == [{"text": "ok"}]
    assert [call.status for call in converse.calls] == [429, 200]


def test_an_arn_gets_no_answer(converse):
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcdefghijkl"
    with pytest.raises(KeyError, match="output"):
        answer_to(user("Where to?"), model=arn)
    with pytest.raises(UnexpectedCall, match="Send it as %2F"):
        converse.check()
