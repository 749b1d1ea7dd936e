"""Answers by what is asked: several agents of plain boto3, one fake."""

from __future__ import annotations

import json
import re
from typing import Any

import boto3
import pytest

from converse_harness import Call, Fake, UnusedReplies, fake_converse, reply

HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
NOVA = "us.amazon.nova-pro-v1:0"
TOOLS = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]}


class Agent:
    """Somebody's agent: a system prompt, a conversation, and a tool loop over ConverseStream."""

    def __init__(self, model: str = NOVA, system: str = "You help.") -> None:
        self.client = boto3.client("bedrock-runtime")
        self.model = model
        self.system = [{"text": system}]
        self.messages: list[dict[str, Any]] = []

    def __call__(self, text: str) -> str:
        self.messages.append({"role": "user", "content": [{"text": text}]})
        while True:
            tool, answer = self._turn()
            if tool is None:
                self.messages.append({"role": "assistant", "content": [{"text": answer}]})
                return answer
            result = {"toolUseId": tool["toolUseId"], "content": [{"text": f"sunny in {tool['input']['city']}"}]}
            self.messages.append({"role": "assistant", "content": [{"toolUse": tool}]})
            self.messages.append({"role": "user", "content": [{"toolResult": result}]})

    def _turn(self) -> tuple[dict[str, Any] | None, str]:
        stream = self.client.converse_stream(
            modelId=self.model, messages=self.messages, system=self.system, toolConfig=TOOLS
        )["stream"]
        tool: dict[str, Any] | None = None
        text, arguments = "", ""
        for event in stream:
            if "contentBlockStart" in event:
                tool = event["contentBlockStart"]["start"]["toolUse"]
            delta = event.get("contentBlockDelta", {}).get("delta", {})
            text += delta.get("text", "")
            arguments += delta.get("toolUse", {}).get("input", "")
        return (None if tool is None else {**tool, "input": json.loads(arguments)}), text


def test_each_agent_gets_what_is_meant_for_it(converse: Fake) -> None:
    converse.when(model="*haiku*").always(reply.text("cheap"))
    converse.when(last_user_text="*weather*").script(
        reply.tool_use("get_weather", {"city": "Bern"}), reply.text("18 °C")
    )
    converse.when(system="*critic*").always(reply.json({"score": 7}))
    converse.when(lambda call: len(call.messages) > 2).script(reply.text("that is enough"))
    converse.always(lambda call: reply.text(f"you said: {call.last_user_text}"))

    helper, critic, cheap = Agent(), Agent(system="You are a critic."), Agent(HAIKU)
    assert helper("How is the weather?") == "18 °C"
    assert json.loads(critic("18 °C")) == {"score": 7}
    assert [cheap("hi"), cheap("again")] == ["cheap", "cheap"]
    assert helper("and now?") == "that is enough"
    assert [helper("really?"), Agent()("hello")] == ["you said: really?", "you said: hello"]

    weather = converse.calls[1]
    assert (weather.turn, weather.tool_results[0]["content"]) == (2, [{"text": "sunny in Bern"}])


def test_the_first_condition_that_was_written_wins_and_passes_on_when_it_is_used_up(converse: Fake) -> None:
    converse.when(tool="get_*").script(reply.text("first"))
    converse.when(last_user_text=re.compile("h[ae]llo")).script(reply.text("second"))
    converse.script(reply.text("third"))
    converse.always(reply.text("rest"))
    assert [Agent()("hello") for _ in range(5)] == ["first", "second", "third", "rest", "rest"]


def test_a_turn_of_the_conversation(converse: Fake) -> None:
    converse.when(turn=2).always(reply.text("the second answer"))
    converse.always(reply.text("another"))
    agent = Agent()
    assert [agent("a"), agent("b"), agent("c")] == ["another", "the second answer", "another"]


def test_only_one_of_the_operations(converse: Fake) -> None:
    converse.when(operation="Converse").script(reply.text("whole"))
    converse.script(reply.text("streamed"))
    assert Agent()("hi") == "streamed"
    answer = boto3.client("bedrock-runtime").converse(
        modelId=NOVA, messages=[{"role": "user", "content": [{"text": "hi"}]}]
    )
    assert answer["output"]["message"]["content"] == [{"text": "whole"}]


def test_a_reply_computed_from_a_tool_result(converse: Fake) -> None:
    def answer(call: Call) -> Any:
        return reply.text(call.tool_results[0]["content"][0]["text"].upper())

    converse.script(reply.tool_use("get_weather", {"city": "Chur"}), answer)
    assert Agent()("Chur?") == "SUNNY IN CHUR"


def test_an_error_for_one_kind_of_call(converse: Fake) -> None:
    converse.when(lambda call: len(call.messages) > 2).script(reply.context_overflow())
    converse.always(reply.text("ok"))
    agent = Agent()
    assert agent("a") == "ok"
    with pytest.raises(agent.client.exceptions.ValidationException, match="Input is too long"):
        agent("b")


def test_replies_of_one_part_of_a_test(converse: Fake) -> None:
    converse.always(reply.text("always"))
    with converse.script(reply.tool_use("get_weather", {"city": "Chur"}), reply.text("18 °C")) as weather:
        assert Agent()("Chur?") == "18 °C"
    assert Agent()("hi") == "always"
    assert [call.number for call in weather.calls] == [1, 2]
    with (
        pytest.raises(UnusedReplies, match=r"1 scripted reply was not used\."),
        converse.script(reply.text("a")) as left,
    ):
        assert left.unused == 1
    assert Agent()("hi") == "always"  # what was not used has been taken back


def test_a_fake_within_a_fake(converse: Fake) -> None:
    converse.script(reply.text("outer").times(2))
    agent = Agent()
    assert agent("a") == "outer"
    with fake_converse(reply.text("inner")) as inner:
        assert agent("b") == "inner"
    assert agent("c") == "outer"
    assert [call.last_user_text for call in converse.calls] == ["a", "c"]
    assert [call.last_user_text for call in inner.calls] == ["b"]
