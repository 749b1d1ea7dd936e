"""Rules about Claude's thinking: its settings, parameters that conflict with it, and reasoning that must come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Final

from converse_harness.bedrock.rules.asked import Finder, RuleRequest, RuleViolation, at, in_blocks, in_request, needs

_LEAST_BUDGET: Final = 1024

_LEAST_TOP_P: Final = 0.95
"""What Claude from 4.6 on may be left to choose from while it thinks."""

_CALLED: Final = {"text": "text", "toolUse": "tool_use"}
"""What Anthropic calls content blocks."""


@in_request("toolConfig.toolChoice", "additionalModelRequestFields")
def thinking_with_a_forced_tool(asked: RuleRequest) -> bool:
    """Thinking is enabled, and toolChoice forces a tool."""
    return asked.thinking.get("type") == "enabled" and _is_forced(asked)


@in_request("toolConfig.toolChoice", "additionalModelRequestFields")
def adapting_with_a_forced_tool(asked: RuleRequest) -> bool:
    """Adaptive thinking is enabled, and toolChoice forces a tool."""
    return asked.thinking.get("type") == "adaptive" and _is_forced(asked)


def _is_forced(asked: RuleRequest) -> bool:
    return not {"any", "tool"}.isdisjoint(asked.tool_config.get("toolChoice", {}))


@in_request("inferenceConfig.temperature", "inferenceConfig")
def temperatures(asked: RuleRequest) -> bool:
    """A temperature is given that is not 1 under adaptive thinking."""
    temperature = asked.inference.get("temperature")
    return temperature is not None and not (temperature == 1 and asked.thinking.get("type") == "adaptive")


@in_request("inferenceConfig.temperature", "additionalModelRequestFields")
def thinking_with_a_temperature(asked: RuleRequest) -> bool:
    """Thinking is enabled, and the temperature is not 1."""
    return asked.thinking.get("type") == "enabled" and asked.inference.get("temperature", 1) != 1


@in_request("additionalModelRequestFields.thinking.budget_tokens", "additionalModelRequestFields")
def small_budgets(asked: RuleRequest) -> bool:
    """The thinking budget is below the minimum."""
    budget = asked.thinking.get("budget_tokens")
    return isinstance(budget, int) and budget < _LEAST_BUDGET


@in_request("inferenceConfig.maxTokens", "additionalModelRequestFields")
def budgets_beyond_the_answer(asked: RuleRequest) -> bool:
    """The thinking budget is not smaller than `maxTokens`."""
    budget = asked.thinking.get("budget_tokens")
    most = asked.inference.get("maxTokens")
    return isinstance(budget, int) and isinstance(most, int) and most <= budget


@in_request("inferenceConfig.topP", "additionalModelRequestFields")
def thinking_with_top_p(asked: RuleRequest) -> bool:
    """Thinking is enabled, and `topP` is given."""
    return asked.thinking.get("type") == "enabled" and "topP" in asked.inference


@in_request("inferenceConfig.topP", "additionalModelRequestFields")
def thinking_with_a_low_top_p(asked: RuleRequest) -> bool:
    """Thinking is enabled, and `topP` is too low."""
    thinks = asked.thinking.get("type") in ("enabled", "adaptive")
    return thinks and asked.inference.get("topP", 1) < _LEAST_TOP_P


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


@in_blocks("reasoningContent", ".reasoningText.signature")
def thoughts_without_signature(thought: Mapping[str, Any]) -> bool:
    """A reasoning block came back without its signature."""
    return "reasoningText" in thought and not thought["reasoningText"].get("signature")


@in_request("inferenceConfig.topP", "inferenceConfig")
def temperature_and_top_p(asked: RuleRequest) -> bool:
    """Both `temperature` and `topP` are given."""
    return {"temperature", "topP"} <= asked.inference.keys()


def thinking_so(kind: str) -> Finder:
    """Thinking has this type."""
    path = "additionalModelRequestFields.thinking.type"
    return in_request(path, "additionalModelRequestFields")(lambda asked: asked.thinking.get("type") == kind)
