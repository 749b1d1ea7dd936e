"""What clients of a model did wrong in public threads: each as it was released, against our fake.

Each check imports its client itself: it is the only one that is installed.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from converse_harness import ConverseServer, reply
from converse_harness.cases import CASES
from converse_harness.intercept.fake import Fake

NOVA = "us.amazon.nova-lite-v1:0"
CLAUDE = "us.anthropic.claude-sonnet-4-20250514-v1:0"
DEEPSEEK = "us.deepseek.r1-v1:0"

BERN = {"toolUseId": "t1", "name": "get_weather", "input": {"city": "Bern"}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


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


def langchain(model: str) -> Any:
    """ChatBedrockConverse."""
    from langchain_aws import ChatBedrockConverse

    return ChatBedrockConverse(model=model, region_name="us-east-1")


def test_langchain_keeps_used_tools_without_tools(converse: Fake) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    converse.script(reply.text("ok"))
    call = {"id": "t1", "name": "get_weather", "args": {"city": "Bern"}}
    result = ToolMessage("sunny", tool_call_id="t1")
    messages: Any = [HumanMessage("Bern?"), AIMessage("", tool_calls=[call]), result, HumanMessage("Sum it up.")]
    assert "ok" in str(langchain(NOVA).invoke(messages).content)


def test_langchain_does_not_send_thoughts_to_deepseek(converse: Fake) -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
    converse.script(reply.message(thought, {"text": "hi"}), reply.text("ok"))
    model = langchain(DEEPSEEK)
    said = model.invoke("Hello?")
    assert "ok" in str(model.invoke([("user", "Hello?"), said, ("user", "And now?")]).content)


def test_litellm_sends_a_result_once(converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    import litellm

    # It brings its tokenizer, and some versions forget to say where it is: then tiktoken would fetch it.
    tokenizers = Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokenizers))
    call = {"id": "t1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Bern"}'}}
    result = {"role": "tool", "tool_call_id": "t1", "content": "sunny"}
    messages: Any = [{"role": "user", "content": "Bern?"}, {"role": "assistant", "tool_calls": [call]}, result, result]
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    with converse_server.script(reply.text("ok")) as fake:
        said: Any = litellm.completion(
            f"bedrock/converse/{NOVA}", messages, tools=tools, aws_bedrock_runtime_endpoint=fake.url
        )
    assert said.choices[0].message.content == "ok"


def pydantic_agent(model: str = CLAUDE) -> Any:
    """An agent that thinks, with a tool."""
    from pydantic_ai import Agent
    from pydantic_ai.models.bedrock import BedrockConverseModel, BedrockModelSettings

    settings = BedrockModelSettings(max_tokens=2048, bedrock_additional_model_requests_fields=THINKING)
    return Agent(BedrockConverseModel(model), tools=[get_weather], model_settings=settings)


def test_pydantic_sends_reasoning_back(converse: Fake) -> None:
    converse.script(reply.message(THOUGHT, {"toolUse": BERN}), reply.text("ok"))
    assert pydantic_agent().run_sync("Bern?").output == "ok"
    assert THOUGHT in converse.calls[1].messages[1]["content"], "the signed reasoning did not go back"


def test_pydantic_streams_reasoning_back(converse: Fake) -> None:
    converse.script(reply.message(THOUGHT, {"toolUse": BERN}), reply.text("ok"))

    async def ask() -> str:
        async with pydantic_agent().run_stream("Bern?") as answer:
            said: str = await answer.get_output()
            return said

    assert asyncio.run(ask()) == "ok"
    assert THOUGHT in converse.calls[1].messages[1]["content"], "the signed reasoning did not go back"


def test_any_llm_says_that_a_guardrail_intervened(converse: Fake) -> None:
    from any_llm import completion

    converse.script(CASES["guardrail_output_blocked"].reply)
    said: Any = completion(f"bedrock:{NOVA}", [{"role": "user", "content": "Hello?"}])
    reason = said.choices[0].finish_reason
    assert reason == "content_filter", f"it says {reason!r}"


def test_inspect_reads_every_stop_reason(converse: Fake) -> None:
    from inspect_ai.model import get_model

    converse.script(CASES["stop_model_context_window_exceeded"].reply)
    said = asyncio.run(get_model(f"bedrock/{NOVA}").generate("Hello?"))
    assert said.stop_reason == "model_length"
