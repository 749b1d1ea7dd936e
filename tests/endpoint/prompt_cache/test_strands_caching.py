"""The prompt cache under a real agent of Strands, as its users turn it on: six steps, with a clock and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest
from strands import Agent, tool
from strands.hooks import BeforeModelCallEvent
from strands.models import BedrockModel
from strands.models.model import CacheConfig

from converse_harness import Fake, reply
from tests.clients.conftest import _no_network

__all__ = ["_no_network"]

MODEL: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
RULES: Final = "You plan trips by train, and you say what each of them costs. " * 200
STEPS: Final = 6

pytestmark = pytest.mark.filterwarnings("ignore:cache_(prompt|tools) is deprecated")


@tool
def look(where: str) -> str:
    """Look for a train.

    Args:
        where: Where it goes.
    """
    return f"There is a train to {where}."


@tool
def book(where: str) -> str:
    """Book a train. It is booked once, and there is no way back: ask before you do, and say what it costs.

    Args:
        where: Where it goes.
    """
    return f"Booked: {where}."


book.tool_spec["description"] *= 40

WAYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "cache_prompt": {"cache_prompt": "default"},
    "cache_tools": {"cache_tools": "default"},
    "auto": {"cache_config": CacheConfig(strategy="auto")},
    "all": {"cache_prompt": "default", "cache_tools": "default", "cache_config": CacheConfig(strategy="auto")},
}


def run(fake: Fake, way: str, prompts: Sequence[str]) -> None:
    """An agent that uses a tool in each step but the last; each step has a system prompt of its own."""
    uses = [reply.tool_use("look", {"where": f"town {step}"}) for step in range(STEPS - 1)]
    fake.script(*uses, reply.text("There are trains."))
    model = BedrockModel(model_id=MODEL, **WAYS[way])
    agent = Agent(model=model, tools=[look, book], system_prompt=prompts[0], callback_handler=None)
    left = iter(prompts)

    def tell(event: BeforeModelCallEvent) -> None:
        agent.system_prompt = next(left)

    agent.hooks.add_callback(BeforeModelCallEvent, tell)
    agent("Where can I go by train?")


@pytest.mark.parametrize("way", WAYS)
def test_a_prompt_that_stays_is_read_in_each_step(converse: Fake, way: str) -> None:
    run(converse, way, [RULES] * STEPS)
    assert converse.cache.rewrites == ()
    assert [call.cache.read > 1000 for call in converse.calls] == [False] + [True] * (STEPS - 1)
    assert converse.cache.hit_rate > 0.7


@pytest.mark.parametrize("way", ["cache_prompt", "auto"])
def test_a_prompt_with_a_clock_is_never_read(converse: Fake, way: str) -> None:
    run(converse, way, [f"It is 05:00:0{step}. {RULES}" for step in range(STEPS)])
    assert [call.cache.read for call in converse.calls] == [0] * STEPS
    assert [(each.call.number, each.path, each.character) for each in converse.cache.rewrites] == [
        (number, "system[0].text", 6) for number in range(2, STEPS + 1)
    ]


def test_before_the_clock_the_tools_are_read(converse: Fake) -> None:
    run(converse, "cache_tools", [f"It is 05:00:0{step}. {RULES}" for step in range(STEPS)])
    assert converse.cache.rewrites == ()
    assert converse.cache.read == (STEPS - 1) * converse.cache.written
