"""LangChain sends back what the model said."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import cast

import pytest
from langchain_aws import ChatBedrockConverse
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.tools import tool

from converse_harness import Fake
from tests.clients import three_turns


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    del city
    return three_turns.WEATHER


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("first", three_turns.ANSWERS)
def test_a_tool_loop(converse: Fake, first: str, streaming: bool) -> None:
    three_turns.answer(converse, first)
    model = ChatBedrockConverse(model=three_turns.MODEL, region_name="us-east-1").bind_tools([get_weather])
    messages: list[BaseMessage] = []
    for text in (three_turns.QUESTION, three_turns.THANKS):
        messages.append(HumanMessage(text))
        uses = True
        while uses:
            if streaming:
                answer: AIMessage = reduce(add, cast("list[AIMessageChunk]", [*model.stream(messages)]))
            else:
                answer = model.invoke(messages)
            messages.append(answer)
            uses = bool(answer.tool_calls)
            messages += [get_weather.invoke(call) for call in answer.tool_calls]
    three_turns.check(converse)
