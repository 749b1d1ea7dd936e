"""A program on any-llm, tested as its users test one."""

import asyncio
import json

import pytest
from any_llm import acompletion, completion

from converse_harness import reply

pytestmark = pytest.mark.converse(environ=True)
MODEL = "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Look up the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def ask(question):
    """Ask, and run the tools that the model asks for."""
    messages = [{"role": "user", "content": question}]
    while True:
        message = completion(MODEL, messages, tools=[TOOL]).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": f"18 °C in {city}"})


def test_text(converse):
    converse.script(reply.text("Zürich"))
    assert ask("Where to?") == "Zürich"
    (call,) = converse.calls
    assert call.last_user_text == "Where to?"


def test_stream(converse):
    converse.script(reply.text("One fine day in May."))
    chunks = completion(MODEL, [{"role": "user", "content": "When?"}], stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C"))
    assert ask("How warm is it in Bern?") == "18 °C"
    asked, answered = converse.calls
    assert asked.tool_names == ["get_weather"]
    assert answered.tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_throttled(converse):
    converse.script(reply.throttled(), reply.text("ok"))
    assert ask("Are you there?") == "ok"
    assert [call.status for call in converse.calls] == [429, 200]


def test_async(converse):
    converse.script(reply.text("Zürich"))
    said = asyncio.run(acompletion(MODEL, [{"role": "user", "content": "Where to?"}]))
    assert said.choices[0].message.content == "Zürich"
