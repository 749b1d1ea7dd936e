"""An agent of Haystack, tested as its users test one."""

import asyncio

import pytest
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack_integrations.components.generators.amazon_bedrock import AmazonBedrockChatGenerator

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


@pytest.fixture
def generator(converse):
    return AmazonBedrockChatGenerator(model=MODEL)


def test_text(converse, generator):
    converse.script(reply.text("Zürich"))
    assert generator.run([ChatMessage.from_user("Where to?")])["replies"][0].text == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_stream(converse, generator):
    pieces = []
    converse.script(reply.text("One fine day in May."))
    generator.run([ChatMessage.from_user("When?")], streaming_callback=lambda chunk: pieces.append(chunk.content))
    assert "".join(pieces) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse, generator):
    agent = Agent(chat_generator=generator, tools=[create_tool_from_function(get_weather)])
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert agent.run([ChatMessage.from_user("How warm is it in Bern?")])["last_message"].text == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert answered.tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_throttled(converse, generator):
    converse.script(reply.throttled(), reply.text("ok"))
    assert generator.run([ChatMessage.from_user("Are you there?")])["replies"][0].text == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_async(converse, generator):
    converse.script(reply.text("Zürich"))
    assert asyncio.run(generator.run_async([ChatMessage.from_user("Where to?")]))["replies"][0].text == "Zürich"
