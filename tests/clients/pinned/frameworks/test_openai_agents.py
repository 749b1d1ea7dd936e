"""A program of the OpenAI Agents SDK, tested as its users test one. It asks through litellm, over aiohttp."""

import asyncio

import pytest
from agents import Agent, ModelRetrySettings, ModelSettings, Runner, function_tool, retry_policies, set_tracing_disabled
from agents.extensions.models.litellm_model import LitellmModel
from litellm import ContextWindowExceededError

from converse_harness import reply

pytestmark = pytest.mark.converse(environ=True)

set_tracing_disabled(True)


@function_tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


GUARDRAIL = {"guardrailIdentifier": "gr1234567890", "guardrailVersion": "1"}
DELTA = "response.output_text.delta"


def agent(*tools):
    model = LitellmModel(model="bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    return Agent(name="Guide", model=model, tools=[*tools])


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert Runner.run_sync(agent(), "Where to?").final_output == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_async(converse):
    converse.script(reply.text("Zürich"))
    assert asyncio.run(Runner.run(agent(), "Where to?")).final_output == "Zürich"


def test_stream(converse):
    async def ask():
        streamed = Runner.run_streamed(agent(), "When?")
        events = [event async for event in streamed.stream_events()]
        return events, streamed.final_output

    converse.script(reply.text("One fine day in May."))
    events, answer = asyncio.run(ask())
    pieces = [event.data.delta for event in events if event.type == "raw_response_event" and event.data.type == DELTA]
    assert len(pieces) > 1
    assert "".join(pieces) == answer == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert Runner.run_sync(agent(get_weather), "How warm is it in Bern?").final_output == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert "18 °C in Bern" in str(answered.tool_results)


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    again = ModelRetrySettings(max_retries=1, backoff={"initial_delay": 0}, policy=retry_policies.http_status([429]))
    patient = agent().clone(model_settings=ModelSettings(retry=again))
    assert Runner.run_sync(patient, "Are you there?").final_output == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_streamed_tool_loop(converse):
    async def ask():
        streamed = Runner.run_streamed(agent(get_weather), "How warm is it in Bern?")
        return [event async for event in streamed.stream_events()], streamed.final_output

    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert asyncio.run(ask())[1] == "18 °C"
    assert [call.operation for call in converse.calls] == ["ConverseStream"] * 2
    assert "18 °C in Bern" in str(converse.calls.last.tool_results)


def test_overflow(converse):
    converse.script(reply.context_overflow())
    with pytest.raises(ContextWindowExceededError):
        Runner.run_sync(agent(), "Read all of this.")


def test_guardrail(converse):
    converse.script(reply.guardrail_blocked("I may not say.", trace=False))
    guarded = agent().clone(model_settings=ModelSettings(extra_args={"guardrailConfig": GUARDRAIL}))
    assert Runner.run_sync(guarded, "Tell me a secret.").final_output == "I may not say."
