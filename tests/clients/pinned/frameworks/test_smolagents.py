"""An agent of smolagents, tested as its users test one."""

import pytest
from smolagents import AgentGenerationError, AmazonBedrockModel, ToolCallingAgent, tool

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@tool
def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Where.
    """
    return f"18 °C in {city}"


def test_text_is_an_error(converse):
    converse.script(reply.text("Zürich"))
    with pytest.raises(KeyError, match="tool_calls"):
        AmazonBedrockModel(MODEL).generate([{"role": "user", "content": [{"type": "text", "text": "Where to?"}]}])
    (call,) = converse.calls
    assert (call.status, call.last_user_text) == (200, "Where to?")


def test_tools_are_an_error(converse):
    agent = ToolCallingAgent(tools=[get_weather], model=AmazonBedrockModel(MODEL), verbosity_level=0)
    with pytest.raises(AgentGenerationError, match='Unknown parameter in input: "tools"'):
        agent.run("How warm is it in Bern?")
    assert not converse.calls
