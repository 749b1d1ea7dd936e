"""An agent of Google's Agent Development Kit, tested as its users test one. It asks through litellm, over aiohttp."""

import asyncio

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, Part
from litellm import ContextWindowExceededError

from converse_harness import reply

pytestmark = pytest.mark.converse(environ=True)
GUARDRAIL = {"guardrailIdentifier": "gr1234567890", "guardrailVersion": "1"}
MODEL = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


async def events_of(question, *tools, mode=StreamingMode.NONE, **settings):
    runner = InMemoryRunner(LlmAgent(name="guide", model=LiteLlm(MODEL, **settings), tools=[*tools]), app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    said = Content(role="user", parts=[Part(text=question)])
    run = runner.run_async(
        user_id="u", session_id=session.id, new_message=said, run_config=RunConfig(streaming_mode=mode)
    )
    return [event async for event in run]


def texts(events):
    return [part.text for event in events for part in event.content.parts if part.text]


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert texts(asyncio.run(events_of("Where to?"))) == ["Zürich"]
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_stream(converse):
    converse.script(reply.text("One fine day in May."))
    *pieces, last = texts(asyncio.run(events_of("When?", mode=StreamingMode.SSE)))
    assert len(pieces) > 1
    assert "".join(pieces) == last == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert texts(asyncio.run(events_of("How warm is it in Bern?", get_weather)))[-1] == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert "18 °C in Bern" in str(answered.tool_results)


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert texts(asyncio.run(events_of("Are you there?", num_retries=1))) == ["ok"]
    assert [call.status for call in converse.calls] == [429, 200]


def test_streamed_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    events = asyncio.run(events_of("How warm is it in Bern?", get_weather, mode=StreamingMode.SSE))
    assert texts(events)[-1] == "18 °C"
    assert [call.operation for call in converse.calls] == ["ConverseStream"] * 2


def test_overflow(converse):
    converse.script(reply.context_overflow())
    with pytest.raises(ContextWindowExceededError):
        asyncio.run(events_of("Read all of this."))


def test_guardrail(converse):
    converse.script(reply.guardrail_blocked("I may not say.", trace=False))
    assert texts(asyncio.run(events_of("Tell me a secret.", guardrailConfig=GUARDRAIL))) == ["I may not say."]
