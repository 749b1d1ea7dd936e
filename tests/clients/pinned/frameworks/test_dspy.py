"""A program of DSPy, tested as its users test one. It asks through litellm, over httpx."""

import asyncio
import os
from unittest.mock import patch

import dspy
import pytest

from converse_harness import reply

dspy.configure(lm=dspy.LM("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", cache=False))


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


@pytest.fixture(autouse=True)
def dummy_keys(converse_httpx):
    with patch.dict(os.environ, converse_httpx.environ):
        yield


def fields(**fields):
    """An answer as DSPy asks the model to write it."""
    return reply.text("\n\n".join(f"[[ ## {name} ## ]]\n{text}" for name, text in {**fields, "completed": ""}.items()))


def test_text(converse_httpx):
    converse_httpx.script(fields(answer="Zürich"))
    assert dspy.Predict("question -> answer")(question="Where to?").answer == "Zürich"
    (call,) = converse_httpx.calls
    assert "Where to?" in call.last_user_text


def test_tool_loop(converse_httpx):
    converse_httpx.script(
        fields(next_thought="Look.", next_tool_name="get_weather", next_tool_args='{"city": "Bern"}'),
        fields(next_thought="Done.", next_tool_name="finish", next_tool_args="{}"),
        fields(reasoning="I looked.", answer="18 °C"),
    )
    agent = dspy.ReAct("question -> answer", tools=[get_weather])
    assert agent(question="How warm is it in Bern?").answer == "18 °C"
    assert [call.status for call in converse_httpx.calls] == [200] * 3
    assert "18 °C in Bern" in converse_httpx.calls[1].last_user_text


def test_throttled(converse_httpx):
    converse_httpx.script(reply.throttled(), fields(answer="ok"))
    assert dspy.Predict("question -> answer")(question="Are you there?").answer == "ok"
    assert [call.status for call in converse_httpx.calls] == [429, 200]


def test_tool_use(converse_httpx):
    converse_httpx.script(reply.tool_use("get_weather", {"city": "Bern"}))
    with dspy.context(adapter=dspy.ChatAdapter(use_native_function_calling=True)):
        choose = dspy.Predict("question, tools: list[dspy.Tool] -> calls: dspy.ToolCalls")
        (call,) = choose(question="How warm is it in Bern?", tools=[dspy.Tool(get_weather)]).calls.tool_calls
    assert (call.name, call.args) == ("get_weather", {"city": "Bern"})
    assert converse_httpx.calls[0].tool_names == ["get_weather"]


def test_stream(converse_server):
    async def ask():
        heard = dspy.streaming.StreamListener(signature_field_name="answer")
        answer = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=[heard])
        return [piece async for piece in answer(question="When?")]

    with converse_server.script(fields(answer="One fine day in May.")) as fake, patch.dict(os.environ, fake.environ):
        *pieces, last = asyncio.run(ask())
    assert "".join(piece.chunk for piece in pieces) == last.answer == "One fine day in May."
    assert [call.operation for call in fake.calls] == ["ConverseStream"]
