"""A program of DSPy, tested as its users test one. It asks through litellm, over httpx and aiohttp."""

import asyncio

import dspy
import pytest

from converse_harness import reply

pytestmark = pytest.mark.converse(environ=True)
dspy.configure(lm=dspy.LM("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", cache=False))


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


def fields(**fields):
    """An answer as DSPy asks the model to write it."""
    return reply.text("\n\n".join(f"[[ ## {name} ## ]]\n{text}" for name, text in {**fields, "completed": ""}.items()))


def test_text(converse):
    converse.script(fields(answer="Zürich"))
    assert dspy.Predict("question -> answer")(question="Where to?").answer == "Zürich"
    (call,) = converse.calls
    assert "Where to?" in call.last_user_text


def test_tool_loop(converse):
    converse.script(
        fields(next_thought="Look.", next_tool_name="get_weather", next_tool_args='{"city": "Bern"}'),
        fields(next_thought="Done.", next_tool_name="finish", next_tool_args="{}"),
        fields(reasoning="I looked.", answer="18 °C"),
    )
    agent = dspy.ReAct("question -> answer", tools=[get_weather])
    assert agent(question="How warm is it in Bern?").answer == "18 °C"
    assert [call.status for call in converse.calls] == [200] * 3
    assert "18 °C in Bern" in converse.calls[1].last_user_text


def test_throttled(converse):
    converse.script(reply.throttled(), fields(answer="ok"))
    assert dspy.Predict("question -> answer")(question="Are you there?").answer == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_tool_use(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}))
    with dspy.context(adapter=dspy.ChatAdapter(use_native_function_calling=True)):
        choose = dspy.Predict("question, tools: list[dspy.Tool] -> calls: dspy.ToolCalls")
        (call,) = choose(question="How warm is it in Bern?", tools=[dspy.Tool(get_weather)]).calls.tool_calls
    assert (call.name, call.args) == ("get_weather", {"city": "Bern"})
    assert converse.calls[0].tool_names == ["get_weather"]


def test_stream(converse):
    async def ask():
        heard = dspy.streaming.StreamListener(signature_field_name="answer")
        answer = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=[heard])
        return [piece async for piece in answer(question="When?")]

    converse.script(fields(answer="One fine day in May."))
    *pieces, last = asyncio.run(ask())
    assert "".join(piece.chunk for piece in pieces) == last.answer == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]
