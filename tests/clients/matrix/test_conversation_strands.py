"""Strands Agents sends back what the model said."""

from __future__ import annotations

import pytest
from strands import Agent, tool
from strands.models import BedrockModel

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
    model = BedrockModel(model_id=three_turns.MODEL, streaming=streaming, region_name="us-east-1")
    agent = Agent(model=model, tools=[get_weather], callback_handler=None)
    agent(three_turns.QUESTION)
    agent(three_turns.THANKS)
    three_turns.check(converse)
