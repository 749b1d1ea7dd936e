"""Rules about Claude's thinking: its settings, conflicting parameters, and reasoning that must be sent back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import takewhile
from typing import Final

from converse_harness.bedrock.rules.request import (
    FIELDS,
    Finder,
    RuleRequest,
    RuleViolation,
    at,
    in_contents,
    in_request,
    needs,
)
from converse_harness.json_values import member_of

_LEAST_BUDGET: Final = 1024

_CALLED: Final = {"text": "text", "toolUse": "tool_use"}
"""Maps the names of two kinds of content block in Converse to their names in Anthropic's API."""


def while_thinking(path: str, types: Collection[str], breaks: Callable[[RuleRequest], bool] = lambda _: True) -> Finder:
    """Make a Finder that yields `path` if the request's thinking has one of `types` and `breaks(request)` is true."""
    return in_request(
        path, lambda asked: asked.thinking.get("type") in types and breaks(asked), "additionalModelRequestFields"
    )


def has_a_forced_tool(asked: RuleRequest) -> bool:
    """Whether toolChoice forces a tool."""
    return not {"any", "tool"}.isdisjoint(asked.tool_config.get("toolChoice", {}))


def has_a_temperature(asked: RuleRequest) -> bool:
    """Whether the request sets a temperature. A temperature of 1 with adaptive thinking does not count."""
    temperature = asked.inference.get("temperature")
    return temperature is not None and not (temperature == 1 and asked.thinking.get("type") == "adaptive")


@needs("inferenceConfig", "additionalModelRequestFields")
def other_samplings(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find the parameters topP and top_k, which choose among tokens, as the temperature does."""
    if "topP" in asked.inference:
        yield RuleViolation("inferenceConfig.topP", {"name": "top_p"})
    for name in ("top_p", "top_k"):
        if name in asked.fields:
            yield RuleViolation(f"{FIELDS}.{name}", {"name": name})


def has_a_small_budget(asked: RuleRequest) -> bool:
    """Whether the thinking budget is below the minimum."""
    budget = asked.thinking.get("budget_tokens")
    return isinstance(budget, int) and budget < _LEAST_BUDGET


def has_a_budget_beyond_the_answer(asked: RuleRequest) -> bool:
    """Whether the thinking budget is not smaller than `maxTokens`."""
    budget = asked.thinking.get("budget_tokens")
    most = asked.inference.get("maxTokens")
    return isinstance(budget, int) and isinstance(most, int) and most <= budget


_HIGH_EFFORTS: Final = ("xhigh", "max")


@needs(FIELDS, "outputConfig")
def high_efforts_without_thinking(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find an effort above "high" in a request that disables thinking."""
    if asked.thinking.get("type") == "disabled":
        for path in (("outputConfig", "effort"), (FIELDS, "output_config", "effort")):
            effort = member_of(asked.body, *path)
            if effort in _HIGH_EFFORTS:
                yield RuleViolation(".".join(path), {"effort": effort})


@needs("additionalModelRequestFields")
def tools_used_without_a_thought(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find the last message with tool uses if thinking is enabled and the tool loop has no reasoning.

    The tool loop is the sequence of messages with tool uses and tool results at the end of the conversation. Only
    reasoning at the start of a message counts.
    """
    if asked.thinking.get("type") != "enabled":
        return
    with_results = {n for n, _, _ in asked.blocks("toolResult")}
    last = len(asked.messages) - 1
    uses = [n - 1 for n in takewhile(with_results.__contains__, range(last, 0, -2))]
    if uses and not any("reasoningContent" in asked.block(n, 0) for n in uses):
        for kind, called in _CALLED.items():
            if kind in asked.block(last - 1, 0):
                yield RuleViolation(at(last - 1, 0), {"n": last - 1, "found": called})


nothing_but_thoughts: Final = in_contents("reasoningContent", lambda kinds: kinds == {"reasoningContent"})
"""Finds messages that contain reasoning and nothing else."""
