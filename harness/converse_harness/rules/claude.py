"""How Claude thinks: what goes with that, and what must come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from converse_harness.rules.conversation import at
from converse_harness.rules.rule import Asked, Breach

CACHE_POINTS: Final = 4

LEAST_BUDGET: Final = 1024


def thinking_with_a_forced_tool(asked: Asked) -> Iterator[Breach]:
    """Claude is to think, and must use a tool."""
    choice = asked.tool_config.get("toolChoice", {})
    if asked.thinking.get("type") == "enabled" and ("any" in choice or "tool" in choice):
        yield Breach("toolConfig.toolChoice")


def thinking_with_a_temperature(asked: Asked) -> Iterator[Breach]:
    """Claude is to think at another temperature than 1."""
    temperature = asked.body.get("inferenceConfig", {}).get("temperature", 1)
    if asked.thinking.get("type") == "enabled" and temperature != 1:
        yield Breach("inferenceConfig.temperature")


def small_budgets(asked: Asked) -> Iterator[Breach]:
    """Claude may think less than the least."""
    budget = asked.thinking.get("budget_tokens")
    if isinstance(budget, int) and budget < LEAST_BUDGET:
        yield Breach("additionalModelRequestFields.thinking.budget_tokens")


def budgets_beyond_the_answer(asked: Asked) -> Iterator[Breach]:
    """Claude may think more tokens than it may answer."""
    budget = asked.thinking.get("budget_tokens")
    most = asked.body.get("inferenceConfig", {}).get("maxTokens")
    if isinstance(budget, int) and isinstance(most, int) and most <= budget:
        yield Breach("inferenceConfig.maxTokens")


def thoughts_without_signature(asked: Asked) -> Iterator[Breach]:
    """What Claude thought before is given back without the signature that came with it."""
    for n, m, thought in asked.blocks("reasoningContent"):
        if "reasoningText" in thought and not thought["reasoningText"].get("signature"):
            yield Breach(at(n, m, "reasoningContent.reasoningText.signature"), {"n": n, "m": m})


def too_many_cache_points(asked: Asked) -> Iterator[Breach]:
    """The request has more cache points than Claude takes."""
    places = list(_cache_points(asked))
    if len(places) > CACHE_POINTS:
        yield Breach(places[CACHE_POINTS], {"count": len(places)})


def _cache_points(asked: Asked) -> Iterator[str]:
    for k, tool in enumerate(asked.tool_config.get("tools", ())):
        if "cachePoint" in tool:
            yield f"toolConfig.tools[{k}].cachePoint"
    for k, block in enumerate(asked.body.get("system", ())):
        if "cachePoint" in block:
            yield f"system[{k}].cachePoint"
    for n, m, _ in asked.blocks("cachePoint"):
        yield at(n, m, "cachePoint")


def temperature_and_top_p(asked: Asked) -> Iterator[Breach]:
    """Both ways to choose the next token are given."""
    if {"temperature", "topP"} <= asked.body.get("inferenceConfig", {}).keys():
        yield Breach("inferenceConfig.topP")


def thinking(kind: str) -> Callable[[Asked], Iterator[Breach]]:
    """Claude is to think in this way."""

    def find(asked: Asked) -> Iterator[Breach]:
        if asked.thinking.get("type") == kind:
            yield Breach("additionalModelRequestFields.thinking.type")

    return find
