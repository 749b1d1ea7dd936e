"""An agent of CrewAI, tested as its users test one."""

import asyncio

from crewai import LLM, Agent
from crewai.tools import tool

from converse_harness import reply

MODEL = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


def agent():
    return Agent(role="guide", goal="Help.", backstory="Lives here.", llm=LLM(MODEL), tools=[get_weather])


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert LLM(MODEL).call("Where to?") == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_stream(converse):
    converse.script(reply.text("One fine day in May."))
    assert LLM(MODEL, stream=True).call("When?") == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert agent().kickoff("How warm is it in Bern?").raw == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert "18 °C in Bern" in str(answered.tool_results[0]["content"])


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert LLM(MODEL).call("Are you there?") == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_async(converse):
    converse.script(reply.text("Zürich"))
    assert asyncio.run(LLM(MODEL).acall("Where to?")) == "Zürich"
