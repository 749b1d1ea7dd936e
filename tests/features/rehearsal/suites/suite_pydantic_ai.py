"""A suite written for Claude Sonnet 4.5 through pydantic-ai."""

import asyncio

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.providers.bedrock import BedrockProvider

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


class Person(BaseModel):
    """A person."""

    name: str


def clock(city: str) -> str:
    """Look at the clock."""
    return f"12:00 in {city}"


def agent(**options):
    model = BedrockConverseModel(MODEL, provider=BedrockProvider(region_name="us-east-1"))
    return Agent(model, instructions="Be short.", **options)


def streamed(made, text):
    async def read():
        async with made.run_stream(text) as answer:
            return await answer.get_output()

    return asyncio.run(read())


def test_greets(converse):
    converse.script(reply.text("hi"))
    agent(model_settings={"max_tokens": 500}).run_sync("hello")


def test_streams(converse):
    converse.script(reply.text("hi"))
    streamed(agent(), "hello")


def test_temperature(converse):
    converse.script(reply.text("hi"))
    agent(model_settings={"temperature": 0.2}).run_sync("hello")


def test_top_p(converse):
    converse.script(reply.text("hi"))
    agent(model_settings={"top_p": 0.9}).run_sync("hello")


def test_thinks(converse):
    converse.script(reply.text("42"))
    fields = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    settings = {"max_tokens": 4000, "bedrock_additional_model_requests_fields": fields}
    agent(model_settings=settings).run_sync("6 x 7?")


def test_long_answer(converse):
    converse.script(reply.text("..."))
    agent(model_settings={"max_tokens": 32_000}).run_sync("Tell me all.")


def test_cached_tools(converse):
    converse.script(reply.text("12:00"))
    agent(tools=[clock], model_settings={"bedrock_cache_tool_definitions": True}).run_sync("When?")


def test_uses_a_tool(converse):
    converse.script(reply.tool_use("clock", {"city": "Bern"}), reply.text("12:00"))
    agent(tools=[clock]).run_sync("When?")


def test_speaks_and_uses_a_tool(converse):
    uses = {"toolUse": {"toolUseId": "tooluse_1", "name": "clock", "input": {"city": "Bern"}}}
    converse.script(reply.message({"text": "Let me look."}, uses, stop_reason="tool_use"), reply.text("12:00"))
    agent(tools=[clock]).run_sync("When?")


def test_streams_with_tools(converse):
    converse.script(reply.text("12:00"))
    streamed(agent(tools=[clock]), "When?")


def test_structured(converse):
    converse.script(reply.tool_use("final_result", {"name": "Ada"}))
    assert agent(output_type=Person).run_sync("Who?").output.name == "Ada"
