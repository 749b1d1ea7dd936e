"""Every wording of a context overflow: whether Pydantic AI recognises it, as `wordings.OVERFLOWS` says."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest
from pydantic_ai import Agent, ModelSettings
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelRequestRejectedError

from converse_harness import Fake
from converse_harness.bedrock.families import OVERFLOWS
from converse_harness.contract.running import PATIENT
from tests.clients.matrix.test_pydantic_ai import make_model
from tests.clients.overflows import overflow, places, wordings


async def run(agent: Agent[None, str]) -> None:
    await agent.run("hi")


async def run_stream(agent: Agent[None, str]) -> None:
    async with agent.run_stream("hi") as answer:
        await answer.get_output()


async def run_stream_events(agent: Agent[None, str]) -> None:
    async with agent.run_stream_events("hi") as events:
        async for _ in events:
            pass


WAYS: Final[dict[str, tuple[Any, str]]] = {
    "run": (run, "Converse"),
    "run_stream": (run_stream, "ConverseStream"),
    "run_stream_events": (run_stream_events, "ConverseStream"),
}


@pytest.mark.parametrize("way", WAYS)
@places
@wordings
def test_pydantic_ai_raises_its_own_error_where_it_recognises_it(
    name: str, place: str, way: str, converse: Fake
) -> None:
    ask, operation = WAYS[way]
    # With a limit of its own `run` calls Converse.
    agent = Agent(make_model(PATIENT), model_settings=ModelSettings(max_tokens=1000))
    converse.script(overflow(name, place))
    with pytest.raises(ModelRequestRejectedError) as caught:
        asyncio.run(ask(agent))
    known = "pydantic-ai" in OVERFLOWS[name].recognised_by
    assert isinstance(caught.value, ModelContextWindowExceededError) is known
    assert OVERFLOWS[name].message in str(caught.value)
    assert [call.operation for call in converse.calls] == [operation]
