"""An agent of LlamaIndex, tested as its users test one."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.llms.bedrock_converse import BedrockConverse

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


def run(question):
    async def ask():
        return await FunctionAgent(tools=[get_weather], llm=BedrockConverse(model=MODEL)).run(question)

    return str(asyncio.run(ask()))


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert BedrockConverse(model=MODEL).chat([ChatMessage("Where to?")]).message.content == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_stream(converse):
    converse.script(reply.text("One fine day in May."))
    pieces = BedrockConverse(model=MODEL).stream_chat([ChatMessage("When?")])
    assert "".join(piece.delta for piece in pieces) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert run("How warm is it in Bern?") == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert answered.tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert BedrockConverse(model=MODEL).chat([ChatMessage("Are you there?")]).message.content == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_async(converse):
    async def ask():
        pieces = await BedrockConverse(model=MODEL).astream_chat([ChatMessage("When?")])
        return [piece.delta async for piece in pieces]

    converse.script(reply.text("One fine day in May."))
    assert "".join(asyncio.run(ask())) == "One fine day in May."
