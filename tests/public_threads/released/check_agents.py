"""What agent frameworks did wrong in public threads: each as it was released, against our fake.

Each check imports its framework itself: it is the only one that is installed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from converse_harness import reply
from converse_harness.cases import CASES
from converse_harness.intercept.fake import Fake

NOVA = "us.amazon.nova-lite-v1:0"
CLAUDE = "us.anthropic.claude-sonnet-4-20250514-v1:0"

BERN = {"toolUseId": "t1", "name": "get_weather", "input": {"city": "Bern"}}

FUNCTION = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some look for credentials and a region before they make a client."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")


def test_agno_sends_parallel_results_together(converse: Fake) -> None:
    from agno.agent import Agent
    from agno.models.aws import AwsBedrock

    converse.script(CASES["tool_parallel"].reply, reply.text("ok"))
    agent = Agent(model=AwsBedrock(id=NOVA, aws_region="us-east-1"), tools=[get_weather])
    assert "ok" in str(agent.run("Go.").content)


def test_crewai_sends_parallel_results_together(converse: Fake) -> None:
    from crewai import LLM

    calls = [
        {"id": name, "type": "function", "function": {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'}}
        for name, city in (("t1", "Bern"), ("t2", "Rome"))
    ]
    messages: list[Any] = [
        {"role": "user", "content": "The weather in Bern and Rome?"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "t1", "name": "get_weather", "content": "sunny"},
        {"role": "tool", "tool_call_id": "t2", "name": "get_weather", "content": "rainy"},
    ]
    converse.script(reply.text("ok"))
    tools = [{"type": "function", "function": FUNCTION}]
    assert "ok" in LLM(model=f"bedrock/{NOVA}").call(messages, tools=tools)


def test_crewai_streams_the_input_of_a_tool(converse: Fake) -> None:
    from crewai import LLM

    ran: list[Any] = []

    def look(**given: Any) -> str:
        ran.append(given)
        return "sunny"

    converse.script(CASES["tool_fragments"].reply, reply.text("ok"))
    llm = LLM(model=f"bedrock/{NOVA}", stream=True)
    with suppress(ConnectionError):  # what it asks next is refused as well
        llm.call(
            "The weather in Bern?",
            tools=[{"type": "function", "function": FUNCTION}],
            available_functions={"get_weather": look},
        )
    assert ran == [{"city": "Zürich"}], f"the tool ran with {ran}"


def test_llama_index_sends_the_signature_back(converse: Fake) -> None:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.bedrock_converse import BedrockConverse

    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    converse.script(reply.message(thought, {"toolUse": BERN}), reply.text("ok"))
    settings: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "temperature": 1.0}
    client = BedrockConverse(model=CLAUDE, region_name="us-east-1", max_tokens=2048, **settings)
    tool = FunctionTool.from_defaults(get_weather)
    asked = ChatMessage(role="user", content="The weather in Bern?")
    *_, used = client.stream_chat_with_tools([tool], chat_history=[asked])
    result = ChatMessage(role="tool", content="sunny", additional_kwargs={"tool_call_id": "t1"})
    *_, last = client.stream_chat_with_tools([tool], chat_history=[asked, used.message, result])
    assert last.message.content == "ok"
    assert converse.calls[1].messages[1]["content"][0] == thought
