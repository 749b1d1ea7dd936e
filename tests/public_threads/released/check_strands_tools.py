"""What strands-agents did wrong with tools that use tools; its oldest versions of the table have no ToolContext."""

from __future__ import annotations

from strands import Agent, ToolContext, tool
from strands.models import BedrockModel

from converse_harness import reply
from converse_harness.intercept.fake import Fake


@tool
def clock(city: str) -> str:
    """The time in a city."""
    return "12:31"


@tool(context=True)
def asks_the_clock(tool_context: ToolContext) -> str:
    """Use another tool of the agent directly."""
    tool_context.agent.tool.clock(city="Bern")
    return "done"


def test_tool_used_by_a_tool(converse: Fake) -> None:
    converse.script(reply.tool_use("asks_the_clock"), reply.text("ok"))
    agent = Agent(
        BedrockModel(model_id="us.amazon.nova-lite-v1:0"), tools=[asks_the_clock, clock], callback_handler=None
    )
    assert "ok" in str(agent("Go."))
