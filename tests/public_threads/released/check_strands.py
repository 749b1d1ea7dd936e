"""What strands-agents did wrong in public threads: the client as it was released, against our fake."""

from __future__ import annotations

from typing import Any

from strands import Agent, tool
from strands.agent.conversation_manager import SummarizingConversationManager
from strands.models import BedrockModel

from converse_harness import reply
from converse_harness.intercept.fake import Fake

NOVA = "us.amazon.nova-lite-v1:0"
CLAUDE = "us.anthropic.claude-opus-4-7"
GPT_OSS = "openai.gpt-oss-20b-1:0"

USED = {"toolUseId": "t1", "name": "clock", "input": {"city": "New York"}}
RESULT = {"toolUseId": "t1", "status": "success", "content": [{"text": "12:31"}]}
TOOLS_USED: list[Any] = [
    {"role": "user", "content": [{"text": "What is the time in New York?"}]},
    {"role": "assistant", "content": [{"toolUse": USED}]},
    {"role": "user", "content": [{"toolResult": RESULT}]},
    {"role": "assistant", "content": [{"text": "It is 12:31."}]},
]


def long_history(length: int) -> list[Any]:
    """Messages of user and assistant by turns."""
    return [{"role": ("user", "assistant")[number % 2], "content": [{"text": "..."}]} for number in range(length)]


def agent(model_id: str = NOVA, *, messages: Any = None, tools: Any = None, **settings: Any) -> Agent:
    """An agent that prints nothing."""
    model = BedrockModel(model_id=model_id, **settings)
    return Agent(model, messages=messages, tools=tools, callback_handler=None)


@tool
def clock(city: str) -> str:
    """The time in a city."""
    return "12:31"


def test_prompt_is_too_long(converse: Fake) -> None:
    converse.script(reply.context_overflow("prompt_too_long"), reply.text("ok"))
    assert "ok" in str(agent(messages=long_history(30))("And now?"))
    before, after = converse.calls
    assert len(after.messages) < len(before.messages)


def test_maximum_context_length(converse: Fake) -> None:
    converse.script(reply.context_overflow("maximum_context_length"), reply.text("ok"))
    assert "ok" in str(agent(messages=long_history(30))("And now?"))


def test_window_starts_with_the_user(converse: Fake) -> None:
    converse.script(reply.context_overflow("input_too_long"), reply.text("ok"))
    assert "ok" in str(agent(messages=long_history(60))("And now?"))


def test_summary_of_used_tools(converse: Fake) -> None:
    converse.always(reply.text("A summary."))
    manager = SummarizingConversationManager(summary_ratio=0.5, preserve_recent_messages=1)
    asked = agent(messages=[*TOOLS_USED, *TOOLS_USED])
    manager.reduce_context(asked)
    assert "A summary." in str(asked.messages[0])


def test_unsigned_reasoning_goes_back_unsigned(converse: Fake) -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
    converse.script(reply.message(thought, {"text": "hi"}), reply.text("ok"))
    asked = agent(GPT_OSS)
    asked("Hello?")
    assert "ok" in str(asked("And now?"))


def test_signature_without_text_goes_back(converse: Fake) -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}}
    converse.script(reply.message(thought, {"toolUse": USED}), reply.text("ok"))
    assert "ok" in str(agent(CLAUDE, tools=[clock])("What time is it?"))
    assert thought in converse.calls[1].messages[1]["content"], "the signature did not go back"


def test_blocked_input_is_redacted_without_a_trace(converse: Fake) -> None:
    converse.script(reply.guardrail_blocked("I do not talk about that.", trace=False))
    asked = agent(guardrail_id="abcdefghijkl", guardrail_version="1", guardrail_trace="disabled")
    asked("What do I invest in?")
    kept = asked.messages[0]["content"][0]["text"]
    assert kept == "[User input redacted.]", f"{kept!r} stays in the conversation"
