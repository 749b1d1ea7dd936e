"""An agent of Agno, tested as its users test one."""

import asyncio

import pytest
from agno.agent import Agent
from agno.models.aws import AwsBedrock

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


@pytest.fixture
def agent():
    return Agent(model=AwsBedrock(id=MODEL), tools=[get_weather])


def test_text(converse, agent):
    converse.script(reply.text("Zürich"))
    assert agent.run("Where to?").content == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_stream(converse, agent):
    converse.script(reply.text("One fine day in May."))
    pieces = agent.run("When?", stream=True)
    assert "".join(piece.content or "" for piece in pieces) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse, agent):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert agent.run("How warm is it in Bern?").content == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert "18 °C in Bern" in str(answered.tool_results[0]["content"])


def test_throttled(converse, agent):
    converse.script(reply.throttled(), reply.text("ok"))
    assert agent.run("Are you there?").content == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_async(converse, agent):
    converse.script(reply.text("Zürich"))
    assert asyncio.run(agent.arun("Where to?")).content == "Zürich"
