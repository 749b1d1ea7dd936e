"""An agent of AG2, tested as its users test one. It asks through aiobotocore."""

import asyncio

from ag2 import Agent
from ag2.config.bedrock import BedrockConfig

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


def run(question, **options):
    agent = Agent("guide", prompt="Be brief.", config=BedrockConfig(MODEL, **options), tools=[get_weather])
    return asyncio.run(agent.ask(question)).body


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert run("Where to?") == "Zürich"
    (call,) = converse.calls
    assert (call.operation, call.system_text, call.last_user_text) == ("Converse", "Be brief.", "Where to?")


def test_stream(converse):
    converse.script(reply.text("One fine day in May."))
    assert run("When?", streaming=True) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert run("How warm is it in Bern?") == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert "18 °C in Bern" in str(answered.tool_results[0]["content"])


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert run("Are you there?") == "ok"
    assert [call.status for call in converse.calls] == [429, 200]
