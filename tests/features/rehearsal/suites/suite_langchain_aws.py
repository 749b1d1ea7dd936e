"""A suite written for Claude Sonnet 4.5 through langchain-aws."""

from langchain_aws import ChatBedrockConverse
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
CALL = {"id": "tooluse_1", "name": "clock", "args": {"city": "Bern"}}


@tool
def clock(city: str) -> str:
    """Look at the clock."""
    return f"12:00 in {city}"


class Person(BaseModel):
    """A person."""

    name: str


def chat(**options):
    return ChatBedrockConverse(model=MODEL, region_name="us-east-1", **options)


def test_greets(converse):
    converse.script(reply.text("hi"))
    chat(max_tokens=500).invoke([("system", "Be short."), ("human", "hello")])


def test_streams(converse):
    converse.script(reply.text("hi"))
    list(chat().stream("hello"))


def test_temperature(converse):
    converse.script(reply.text("hi"))
    chat(temperature=0.2).invoke("hello")


def test_prefill(converse):
    converse.script(reply.text('"a": 1}'))
    chat().invoke([("human", "Answer in JSON."), ("ai", "{")])


def test_thinks(converse):
    converse.script(reply.text("42"))
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    chat(additional_model_request_fields=thinking, max_tokens=4000).invoke("6 x 7?")


def test_long_answer(converse):
    converse.script(reply.text("..."))
    chat(max_tokens=32_000).invoke("Tell me all.")


def test_cached_tools(converse):
    converse.script(reply.text("12:00"))
    chat().bind_tools([clock, ChatBedrockConverse.create_cache_point()]).invoke("When?")


def test_uses_a_tool(converse):
    converse.script(reply.tool_use("clock", {"city": "Bern"}))
    chat().bind_tools([clock]).invoke("When?")


def test_must_use_a_tool(converse):
    converse.script(reply.tool_use("clock", {"city": "Bern"}))
    chat().bind_tools([clock], tool_choice="any").invoke("When?")


def test_must_use_the_clock(converse):
    converse.script(reply.tool_use("clock", {"city": "Bern"}))
    chat().bind_tools([clock], tool_choice="clock").invoke("When?")


def test_structured(converse):
    converse.script(reply.tool_use("Person", {"name": "Ada"}))
    assert chat().with_structured_output(Person).invoke("Who?").name == "Ada"


def test_streams_with_tools(converse):
    converse.script(reply.text("12:00"))
    list(chat().bind_tools([clock]).stream("When?"))


def test_speaks_and_uses_a_tool(converse):
    converse.script(reply.text("At noon."))
    spoken = AIMessage("Let me look.", tool_calls=[CALL])
    chat().bind_tools([clock]).invoke([HumanMessage("When?"), spoken, ToolMessage("12:00", tool_call_id="tooluse_1")])
