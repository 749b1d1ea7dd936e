"""Pydantic AI sends back what the model said."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent, AgentRunResultEvent, ModelSettings
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.providers.bedrock import BedrockProvider

from converse_harness import Fake
from tests.clients import three_turns


def get_weather(city: str) -> str:
    """The weather in a city."""
    del city
    return three_turns.WEATHER


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("first", three_turns.ANSWERS)
@pytest.mark.asyncio
async def test_a_tool_loop(converse: Fake, first: str, streaming: bool) -> None:
    three_turns.answer(converse, first)
    model = BedrockConverseModel(three_turns.MODEL, provider=BedrockProvider(region_name="us-east-1"))
    # Without a limit of its own `run` calls ConverseStream as well.
    agent = Agent(model, tools=[get_weather], model_settings=ModelSettings(max_tokens=1000))
    history: list[ModelMessage] = []
    for text in (three_turns.QUESTION, three_turns.THANKS):
        if streaming:
            async with agent.run_stream_events(text, message_history=history) as events:
                ended = [event async for event in events if isinstance(event, AgentRunResultEvent)]
            history = ended[0].result.all_messages()
        else:
            history = (await agent.run(text, message_history=history)).all_messages()
    three_turns.check(converse)
