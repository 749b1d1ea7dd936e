"""Rules about Claude's thinking: its settings, parameters that conflict with it, and reasoning that must come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Final

from converse_harness.bedrock.rules.asked import RuleRequest, RuleViolation, at, needs

_LEAST_BUDGET: Final = 1024

_LEAST_TOP_P: Final = 0.95
"""What Claude from 4.6 on may be left to choose from while it thinks."""

_CALLED: Final = {"text": "text", "toolUse": "tool_use"}
"""What Anthropic calls content blocks."""


@needs("additionalModelRequestFields")
def thinking_with_a_forced_tool(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Thinking is enabled, and toolChoice forces a tool."""
    if asked.thinking.get("type") == "enabled" and _is_forced(asked):
        yield RuleViolation("toolConfig.toolChoice")


@needs("additionalModelRequestFields")
def adapting_with_a_forced_tool(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Adaptive thinking is enabled, and toolChoice forces a tool."""
    if asked.thinking.get("type") == "adaptive" and _is_forced(asked):
        yield RuleViolation("toolConfig.toolChoice")


def _is_forced(asked: RuleRequest) -> bool:
    return not {"any", "tool"}.isdisjoint(asked.tool_config.get("toolChoice", {}))


@needs("inferenceConfig")
def temperatures(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A temperature is given that is not 1 under adaptive thinking."""
    temperature = asked.inference.get("temperature")
    if temperature is not None and not (temperature == 1 and asked.thinking.get("type") == "adaptive"):
        yield RuleViolation("inferenceConfig.temperature")


@needs("additionalModelRequestFields")
def thinking_with_a_temperature(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Thinking is enabled, and the temperature is not 1."""
    temperature = asked.inference.get("temperature", 1)
    if asked.thinking.get("type") == "enabled" and temperature != 1:
        yield RuleViolation("inferenceConfig.temperature")


@needs("additionalModelRequestFields")
def small_budgets(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The thinking budget is below the minimum."""
    budget = asked.thinking.get("budget_tokens")
    if isinstance(budget, int) and budget < _LEAST_BUDGET:
        yield RuleViolation("additionalModelRequestFields.thinking.budget_tokens")


@needs("additionalModelRequestFields")
def budgets_beyond_the_answer(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The thinking budget is not smaller than `maxTokens`."""
    budget = asked.thinking.get("budget_tokens")
    most = asked.inference.get("maxTokens")
    if isinstance(budget, int) and isinstance(most, int) and most <= budget:
        yield RuleViolation("inferenceConfig.maxTokens")


@needs("additionalModelRequestFields")
def thinking_with_top_p(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Thinking is enabled, and `topP` is given."""
    if asked.thinking.get("type") == "enabled" and "topP" in asked.inference:
        yield RuleViolation("inferenceConfig.topP")


@needs("additionalModelRequestFields")
def thinking_with_a_low_top_p(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Thinking is enabled, and `topP` is too low."""
    top_p = asked.inference.get("topP", 1)
    if asked.thinking.get("type") in ("enabled", "adaptive") and top_p < _LEAST_TOP_P:
        yield RuleViolation("inferenceConfig.topP")


@needs("additionalModelRequestFields")
def tools_used_without_a_thought(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Thinking is enabled, and the reasoning before the tool uses of the last tool results is missing."""
    if asked.thinking.get("type") != "enabled":
        return
    with_results = {n for n, _, _ in asked.blocks("toolResult")}
    last = len(asked.messages) - 1
    uses = [n - 1 for n in takewhile(with_results.__contains__, range(last, 0, -2))]
    if uses and not any("reasoningContent" in asked.block(n, 0) for n in uses):
        for kind, called in _CALLED.items():
            if kind in asked.block(last - 1, 0):
                yield RuleViolation(at(last - 1, 0), {"n": last - 1, "found": called})


@needs("reasoningContent")
def nothing_but_thoughts(asked: RuleRequest) -> Iterator[RuleViolation]:
    """An assistant message contains reasoning and nothing more."""
    thought = {n for n, _, _ in asked.blocks("reasoningContent")}
    for n in sorted(thought):
        if all("reasoningContent" in block for block in asked.messages[n]["content"]):
            yield RuleViolation(at(n, None, "content"))


@needs("reasoningContent")
def thoughts_without_signature(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A reasoning block came back without its signature."""
    for n, m, thought in asked.blocks("reasoningContent"):
        if "reasoningText" in thought and not thought["reasoningText"].get("signature"):
            yield RuleViolation(at(n, m, "reasoningContent.reasoningText.signature"), {"n": n, "m": m})


@needs("inferenceConfig")
def temperature_and_top_p(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Both `temperature` and `topP` are given."""
    if {"temperature", "topP"} <= asked.inference.keys():
        yield RuleViolation("inferenceConfig.topP")


def thinking_so(kind: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """Thinking has this type."""

    @needs("additionalModelRequestFields")
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        if asked.thinking.get("type") == kind:
            yield RuleViolation("additionalModelRequestFields.thinking.type")

    return find
