"""A suite written for Claude Sonnet 4.5 through strands-agents."""

from pydantic import BaseModel
from strands import Agent, tool
from strands.models import BedrockModel, CacheConfig

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@tool
def clock(city: str) -> str:
    """Look at the clock.

    Args:
        city: Where.
    """
    return f"12:00 in {city}"


class Person(BaseModel):
    """A person."""

    name: str


def agent(tools=(), messages=None, **config):
    model = BedrockModel(model_id=MODEL, **config)
    return Agent(model=model, tools=[*tools], messages=messages, callback_handler=None, system_prompt="Be short.")


def test_greets(converse):
    converse.script(reply.text("hi"))
    agent()("hello")


def test_greets_at_once(converse):
    converse.script(reply.text("hi"))
    agent(streaming=False, max_tokens=500)("hello")


def test_uses_a_tool_at_once(converse):
    converse.script(reply.tool_use("clock", {"city": "Bern"}), reply.text("12:00"))
    agent([clock], streaming=False)("When?")


def test_temperature(converse):
    converse.script(reply.text("hi"))
    agent(temperature=0.2)("hello")


def test_thinks(converse):
    converse.script(reply.text("42"))
    agent(additional_request_fields={"thinking": {"type": "enabled", "budget_tokens": 2000}}, max_tokens=4000)("6 x 7?")


def test_long_answer(converse):
    converse.script(reply.text("..."))
    agent(max_tokens=32_000)("Tell me all.")


def test_cached_tools(converse):
    converse.script(reply.text("12:00"))
    agent([clock], cache_tools="default")("When?")


def test_cached_by_itself(converse):
    converse.script(reply.text("12:00"))
    agent([clock], cache_config=CacheConfig(strategy="auto"))("When?")


def test_uses_a_tool(converse):
    converse.script(reply.tool_use("clock", {"city": "Bern"}), reply.text("12:00"))
    agent([clock])("When?")


def test_speaks_and_uses_a_tool_at_once(converse):
    uses = {"toolUse": {"toolUseId": "tooluse_1", "name": "clock", "input": {"city": "Bern"}}}
    converse.script(reply.message({"text": "Let me look."}, uses, stop_reason="tool_use"), reply.text("12:00"))
    agent([clock], streaming=False)("When?")


def test_structured(converse):
    converse.script(reply.tool_use("Person", {"name": "Ada"}))
    assert agent(streaming=False)("Who?", structured_output_model=Person).structured_output.name == "Ada"


def test_structured_after_a_text(converse):
    converse.script(reply.text("Ada."), reply.tool_use("Person", {"name": "Ada"}))
    assert agent(streaming=False)("Who?", structured_output_model=Person).structured_output.name == "Ada"
