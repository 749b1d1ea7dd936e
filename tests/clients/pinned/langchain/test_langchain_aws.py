"""langchain-aws, unchanged: ChatBedrockConverse with tools, structured output, streams."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, EventStreamError
from langchain_aws import ChatBedrockConverse
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from converse_harness import Fake, reply

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6"
BASE = "anthropic.claude-haiku-4-5-20251001-v1:0"

Attempts = Callable[[Any], int]


@tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C, sunny in {city}"


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def chat(**options: Any) -> ChatBedrockConverse:
    """A model as its users make it: no region, no keys."""
    return ChatBedrockConverse(**{"model": MODEL, **options})


def joined(chunks: list[Any]) -> AIMessageChunk:
    return cast("AIMessageChunk", reduce(add, chunks))


def weather_agent(question: str, *, streaming: bool) -> str:
    """Somebody's tool loop."""
    model = chat().bind_tools([get_weather])
    messages: list[BaseMessage] = [SystemMessage("You know the weather."), HumanMessage(question)]
    while True:
        answer = joined(list(model.stream(messages))) if streaming else model.invoke(messages)
        messages.append(answer)
        if not answer.tool_calls:
            return str(answer.text)
        messages += [
            ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]) for call in answer.tool_calls
        ]


# invoke and stream


def test_invoke(converse: Fake) -> None:
    converse.script(reply.message({"text": "hi"}, usage={"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}))
    answer = chat(temperature=0.5, max_tokens=99).invoke([("system", "Be brief."), ("human", "hello")])
    assert answer.content == "hi"
    assert answer.usage_metadata is not None
    assert [answer.usage_metadata[key] for key in ("input_tokens", "output_tokens", "total_tokens")] == [7, 3, 10]
    assert answer.response_metadata["stopReason"] == "end_turn"
    (call,) = converse.calls
    assert (call.operation, call.model_id) == ("Converse", MODEL)
    assert (call.system_text, call.last_user_text) == ("Be brief.", "hello")
    assert call.inference == {"temperature": 0.5, "maxTokens": 99}


def test_stream(converse: Fake) -> None:
    converse.script(reply.text("one two three", pieces=["one", " two", " three"]))
    chunks = list(chat().stream("count"))
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert texts == ["one", " two", " three"]
    whole = joined(chunks)
    assert whole.response_metadata["stopReason"] == "end_turn"
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["total_tokens"] > 0
    (call,) = converse.calls
    assert (call.operation, call.outcome) == ("ConverseStream", "complete")


@pytest.mark.any_answer
def test_both_give_the_same_message(converse: Fake) -> None:
    converse.script(
        reply.message(
            {"reasoningContent": {"reasoningText": {"text": "Let me think.", "signature": "c2lnbmF0dXJl"}}},
            {"text": "Let me look."},
            {"toolUse": {"name": "get_weather", "input": {"city": "Zürich"}}},
        ).times(2)
    )
    model = chat().bind_tools([get_weather])
    whole, streamed = model.invoke("Zürich?"), joined(list(model.stream("Zürich?")))
    assert isinstance(whole, AIMessage)
    assert whole.text == streamed.text == "Let me look."
    assert whole.tool_calls == streamed.tool_calls
    assert whole.tool_calls[0]["args"] == {"city": "Zürich"}
    assert [block["type"] for block in whole.content_blocks] == [block["type"] for block in streamed.content_blocks]


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "invoke"])
def test_the_tool_loop(streaming: bool, converse: Fake) -> None:
    converse.script(reply.tool_use("get_weather", {"city": "Zürich"}), reply.text("18 °C and sunny."))
    assert weather_agent("What is it like in Zürich?", streaming=streaming) == "18 °C and sunny."
    ask, answer = converse.calls
    assert ask.operation == ("ConverseStream" if streaming else "Converse")
    assert ask.tool_names == ["get_weather"]
    assert answer.tool_results[0]["content"] == [{"text": "18 °C, sunny in Zürich"}]
    assert answer.turn == 2


def test_structured_output(converse: Fake) -> None:
    converse.script(reply.tool_use("Person", {"name": "Ada", "age": 36}))
    assert chat().with_structured_output(Person).invoke("Ada is 36") == Person(name="Ada", age=36)
    assert converse.calls[0].tool_choice == {"tool": {"name": "Person"}}


# Asynchronous: the same clients in threads


@pytest.mark.asyncio
async def test_ainvoke(converse: Fake) -> None:
    converse.script(reply.text("hi"))
    assert (await chat().ainvoke("hello")).content == "hi"


@pytest.mark.asyncio
async def test_astream(converse: Fake) -> None:
    converse.script(reply.text("one two three", pieces=["one", " two", " three"]))
    chunks = [chunk async for chunk in chat().astream("count")]
    assert [chunk.text for chunk in chunks if chunk.text] == ["one", " two", " three"]


@pytest.mark.asyncio
async def test_abatch(converse: Fake) -> None:
    converse.always(lambda call: reply.text(f"you said: {call.last_user_text}"))
    answers = await chat().abatch([str(number) for number in range(6)])
    assert [answer.content for answer in answers] == [f"you said: {number}" for number in range(6)]


# Trouble


def test_throttling_is_survived(converse: Fake) -> None:
    converse.script(reply.throttled().times(2), reply.text("ok"))
    assert chat().invoke("hi").content == "ok"
    assert [call.status for call in converse.calls] == [429, 429, 200]


def test_as_many_attempts_as_are_configured(converse: Fake, attempts: Attempts) -> None:
    model = chat(max_retries=1)
    converse.always(reply.error("ServiceUnavailableException"))
    with pytest.raises(ClientError, match="ServiceUnavailable"):
        model.invoke("hi")
    assert len(converse.calls) == attempts(model.client) == 2


def test_a_stream_that_breaks(converse: Fake) -> None:
    converse.script(reply.text("The answer is forty-two.").fails_after(3, "modelStreamErrorException", "upstream died"))
    got: list[str] = []
    with pytest.raises(EventStreamError, match="upstream died"):
        got.extend(chunk.text for chunk in chat().stream("hi") if chunk.text)
    assert got == ["The", " answer"]
    assert len(converse.calls) == 1


def test_a_stream_that_is_left_early_is_closed(converse: Fake) -> None:
    converse.script(reply.text("one two three"))
    stream = chat().stream("hi")
    next(stream)
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert converse.calls[0].outcome == "closed by client"


# Inference profiles: langchain asks the control plane what is behind them


def test_an_inference_profile_with_its_base_model(converse: Fake) -> None:
    converse.script(reply.text("hi").times(2))
    model = chat(model=PROFILE, provider="anthropic", base_model_id=BASE)
    answer = model.invoke("hello")
    assert answer.response_metadata["inference_profile_id"] == PROFILE
    assert joined(list(model.stream("hello"))).text == "hi"
    assert [(call.operation, call.model_id) for call in converse.calls] == [
        ("Converse", PROFILE),
        ("ConverseStream", PROFILE),
    ]


def test_an_inference_profile_that_is_looked_up(converse: Fake) -> None:
    arn = f"arn:aws:bedrock:us-east-1::foundation-model/{BASE}"
    converse.on_operation("GetInferenceProfile", reply.output({"models": [{"modelArn": arn}]}, strict=False))
    converse.script(reply.text("hi"))
    model = chat(model=PROFILE, provider="anthropic")
    assert model.base_model_id == BASE
    assert joined(list(model.stream("hello"))).text == "hi"
    assert [call.operation for call in converse.calls.all] == ["GetInferenceProfile", "ConverseStream"]


@pytest.mark.converse(models={"arn:*": BASE})
def test_an_inference_profile_whose_model_the_test_names(converse: Fake) -> None:
    converse.script(reply.text("hi"))
    model = chat(model=PROFILE, provider="anthropic")
    assert model.base_model_id == BASE
    assert model.invoke("hello").content == "hi"
    assert len(converse.calls) == 1


def test_tokens_are_counted_by_bedrock(converse: Fake) -> None:
    assert chat().get_num_tokens_from_messages([HumanMessage("hello")]) > 0
    assert [call.operation for call in converse.calls.all] == ["CountTokens"]
