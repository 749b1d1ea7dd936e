"""strands-agents, unchanged: the real Agent with BedrockModel and a real tool."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import EventStreamError
from pydantic import BaseModel
from strands import Agent, tool
from strands.models import BedrockModel
from strands.types.content import Messages
from strands.types.exceptions import (
    MaxTokensReachedException,
)
from strands.vended_plugins.steering import Guide, ModelSteeringAction, Proceed, SteeringHandler

from converse_harness import Fake, reply

pytestmark = pytest.mark.any_answer

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


@tool
def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Where.
    """
    return f"18 °C, sunny in {city}"


@tool
def fail(reason: str) -> str:
    """Fail.

    Args:
        reason: Why.
    """
    raise RuntimeError(reason)


def make_agent(streaming: bool = True, **options: Any) -> Agent:
    """An agent as its users make it: no session, no region, no keys."""
    config = options.pop("config", {})
    model = BedrockModel(model_id=MODEL, streaming=streaming, **config)
    return Agent(model=model, tools=[get_weather, fail], callback_handler=None, **options)


def text_of(result: Any) -> str:
    return str(result).strip()


@pytest.fixture(params=[True, False], ids=["streaming", "not streaming"])
def streaming(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


# The tool loop


def test_the_tool_loop(converse: Fake, streaming: bool) -> None:
    converse.script(reply.tool_use("get_weather", {"city": "Zürich"}), reply.text("18 °C and sunny."))
    agent = make_agent(streaming, system_prompt="You know the weather.")
    result = agent("What is it like in Zürich?")

    assert text_of(result) == "18 °C and sunny."
    assert result.stop_reason == "end_turn"
    ask, answer = converse.calls
    assert {call.operation for call in converse.calls} == {"ConverseStream" if streaming else "Converse"}
    assert ask.tool_names == ["get_weather", "fail"]
    assert ask.system_text == "You know the weather."
    assert ask.last_user_text == "What is it like in Zürich?"
    assert answer.tool_results[0]["content"] == [{"text": "18 °C, sunny in Zürich"}]
    assert answer.tool_results[0]["status"] == "success"
    assert ask.response is not None
    assert ask.response.message["content"][0]["toolUse"]["toolUseId"] == answer.tool_results[0]["toolUseId"]
    assert [message["role"] for message in agent.messages] == ["user", "assistant", "user", "assistant"]


def test_usage_adds_up(converse: Fake, streaming: bool) -> None:
    usage = {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}
    converse.script(
        reply.message({"toolUse": {"name": "get_weather", "input": {"city": "Bern"}}}, usage=usage),
        reply.message({"text": "18 °C"}, usage=usage),
    )
    total = make_agent(streaming)("Bern?").metrics.accumulated_usage
    assert (total["inputTokens"], total["outputTokens"], total["totalTokens"]) == (14, 6, 20)


def test_two_tools_at_once_and_text_before_them(converse: Fake, streaming: bool) -> None:
    converse.script(
        reply.message(
            {"text": "Let me look."},
            {"toolUse": {"name": "get_weather", "input": {"city": "Bern"}}},
            {"toolUse": {"name": "get_weather", "input": {"city": "Chur"}}},
        ),
        reply.text("18 °C in both."),
    )
    assert text_of(make_agent(streaming)("Bern and Chur?")) == "18 °C in both."
    results = converse.calls[1].tool_results
    assert [result["content"][0]["text"] for result in results] == ["18 °C, sunny in Bern", "18 °C, sunny in Chur"]


def test_a_tool_that_fails_is_reported_to_the_model(converse: Fake, streaming: bool) -> None:
    converse.script(reply.tool_use("fail", {"reason": "city not found"}), reply.text("Sorry."))
    assert text_of(make_agent(streaming)("Atlantis?")) == "Sorry."
    (result,) = converse.calls[1].tool_results
    assert result["status"] == "error"
    assert "city not found" in result["content"][0]["text"]


def test_reasoning_goes_back_to_the_model(converse: Fake, streaming: bool) -> None:
    reasoning = {"reasoningContent": {"reasoningText": {"text": "Let me think.", "signature": "c2lnbmF0dXJl"}}}
    redacted = {"reasoningContent": {"redactedContent": b"\xff\xfe"}}
    look = {"toolUse": {"name": "get_weather", "input": {"city": "Bern"}}}
    converse.script(reply.message(reasoning, redacted, look), reply.text("18 °C"))
    make_agent(streaming)("Bern?")
    assert converse.calls[1].messages[1]["content"][:2] == [reasoning, redacted]


# Asynchronous


@pytest.mark.asyncio
async def test_invoke_async(converse: Fake, streaming: bool) -> None:
    converse.script(reply.tool_use("get_weather", {"city": "Zürich"}), reply.text("18 °C and sunny."))
    assert text_of(await make_agent(streaming).invoke_async("Zürich?")) == "18 °C and sunny."
    assert converse.calls[1].tool_results[0]["content"] == [{"text": "18 °C, sunny in Zürich"}]


@pytest.mark.asyncio
async def test_stream_async(converse: Fake) -> None:
    converse.script(reply.text("one two three", pieces=["one", " two", " three"]))
    pieces = [event["data"] async for event in make_agent().stream_async("count") if "data" in event]
    assert pieces == ["one", " two", " three"]


# Trouble


def test_a_stream_that_breaks(converse: Fake) -> None:
    converse.script(reply.text("The answer is").fails_after(2, "modelStreamErrorException", "upstream died"))
    with pytest.raises(EventStreamError, match="upstream died"):
        make_agent()("hi")


def test_an_access_that_is_denied(converse: Fake, streaming: bool) -> None:
    converse.script(reply.error("AccessDeniedException"))
    agent = make_agent(streaming)
    client = boto3.client("bedrock-runtime")
    with pytest.raises(Exception, match="You don't have access to the model") as caught:
        agent("hi")
    assert type(caught.value).__name__ == client.exceptions.AccessDeniedException.__name__
    assert any("required-iam-permissions" in note for note in caught.value.__notes__)


def test_max_tokens(converse: Fake, streaming: bool) -> None:
    converse.script(reply.text("The answer", stop_reason="max_tokens"))
    agent = make_agent(streaming)
    with pytest.raises(MaxTokensReachedException):
        agent("hi")
    assert agent.messages[-1]["content"] == [{"text": "The answer"}]


# Guardrails


def guardrail(action: str) -> dict[str, Any]:
    topic = {"name": "money", "type": "DENY", "action": action, "detected": True}
    return {"guardrail": {"inputAssessment": {"gr1": {"topicPolicy": {"topics": [topic]}}}}}


def guarded(streaming: bool) -> Agent:
    config = {"guardrail_id": "gr1", "guardrail_version": "1", "guardrail_trace": "enabled"}
    return make_agent(streaming, config=config)


@pytest.mark.parametrize(
    ("trace", "remembered"),
    [
        (guardrail("BLOCKED"), "[User input redacted.]"),
        (None, "[User input redacted.]"),
        (guardrail("NONE"), "my pin is 1234"),
    ],
    ids=["blocked", "no trace", "not blocked"],
)
def test_a_guardrail_redacts_what_the_user_said(
    trace: dict[str, Any] | None, remembered: str, converse: Fake, streaming: bool
) -> None:
    converse.script(reply.message({"text": "I cannot."}, stop_reason="guardrail_intervened", trace=trace))
    agent = guarded(streaming)
    result = agent("my pin is 1234")
    assert result.stop_reason == "guardrail_intervened"
    assert agent.messages[0]["content"] == [{"text": remembered}]
    (call,) = converse.calls
    assert call.guardrail is not None
    assert call.guardrail["guardrailIdentifier"] == "gr1"


# Structured output


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def test_structured_output(converse: Fake, streaming: bool) -> None:
    converse.script(reply.tool_use("Person", {"name": "Ada", "age": 36}))
    result = make_agent(streaming)("Ada is 36", structured_output_model=Person)
    assert result.structured_output == Person(name="Ada", age=36)
    assert "Person" in converse.calls[0].tool_names


# Two messages of the user in a row: stock features send them, and strands' live tests of them pass on Bedrock


def roles(fake: Fake) -> list[str]:
    return [message["role"] for message in fake.calls[-1].messages]


@pytest.mark.parametrize("model", [{}, {"model_id": "us.amazon.nova-lite-v1:0"}], ids=["default", "nova"])
def test_a_question_after_structured_output(converse: Fake, model: dict[str, Any]) -> None:
    converse.script(reply.tool_use("Person", {"name": "Ada", "age": 36}), reply.text("I noted her age."))
    agent = Agent(model=BedrockModel(**model), callback_handler=None)
    agent("Ada is 36", structured_output_model=Person)
    assert text_of(agent("What did you just do?")) == "I noted her age."
    assert roles(converse) == ["user", "assistant", "user", "user"]


def test_an_answer_that_is_steered(converse: Fake) -> None:
    class MoreDetail(SteeringHandler):
        async def steer_after_model(self, **context: Any) -> ModelSteeringAction:
            say_more = len(converse.calls) == 1
            return Guide(reason="Say more.") if say_more else Proceed(reason="Enough.")

    converse.script(reply.text("Paris."), reply.text("Paris, on the Seine."))
    agent = Agent(plugins=[MoreDetail()], callback_handler=None)
    assert text_of(agent("What is the capital of France?")) == "Paris, on the Seine."
    assert roles(converse) == ["user", "user"]


@pytest.mark.asyncio
async def test_tokens_are_counted_by_bedrock(converse: Fake) -> None:
    model = BedrockModel(model_id=MODEL.removeprefix("us."), use_native_token_count=True)
    converse.on_operation("CountTokens", {"inputTokens": 4711})
    asked: Messages = [{"role": "user", "content": [{"text": "hello"}]}]
    assert await model.count_tokens(asked, system_prompt="Be brief.") == 4711
    (call,) = converse.calls.all
    assert (call.operation, call.last_user_text, call.system_text) == ("CountTokens", "hello", "Be brief.")


@pytest.mark.asyncio
async def test_strands_counts_by_itself_where_bedrock_refuses(converse: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """By these words it knows that the id of a profile is not counted for: it remembers the id, and asks only once."""
    monkeypatch.setattr("strands.models.bedrock._SKIP_COUNT_TOKENS_MODELS", set())
    model = BedrockModel(model_id=MODEL, use_native_token_count=True)
    asked: Messages = [{"role": "user", "content": [{"text": "a" * 400}]}]
    assert [await model.count_tokens(asked) for _ in range(2)] == [100, 100]
    (call,) = converse.calls.all
    assert (call.operation, call.status) == ("CountTokens", 400)
    assert call.refusal is not None
    assert call.refusal.rule.name == "model_counts_tokens"
    assert [note.kind for note in converse.notes] == ["model_counts_tokens"]
