"""How Claude thinks: what goes with that, and what must come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from converse_harness.rules.conversation import at
from converse_harness.rules.rule import Asked, Breach

CACHE_POINTS: Final = 4

LEAST_BUDGET: Final = 1024

LEAST_TOP_P: Final = 0.95
"""What Claude from 4.6 on may be left to choose from while it thinks."""

CALLED: Final = {"text": "text", "toolUse": "tool_use"}
"""What Anthropic calls content blocks."""


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


def thinking_with_top_p(asked: Asked) -> Iterator[Breach]:
    """Claude is to think, and to choose from the likeliest tokens only."""
    if asked.thinking.get("type") == "enabled" and "topP" in asked.body.get("inferenceConfig", {}):
        yield Breach("inferenceConfig.topP")


def thinking_with_a_low_top_p(asked: Asked) -> Iterator[Breach]:
    """Claude is to think, and to choose from too few tokens."""
    top_p = asked.body.get("inferenceConfig", {}).get("topP", 1)
    if asked.thinking.get("type") in ("enabled", "adaptive") and top_p < LEAST_TOP_P:
        yield Breach("inferenceConfig.topP")


def tools_used_without_a_thought(asked: Asked) -> Iterator[Breach]:
    """Claude is to think, and what it thought before it used the tools whose results come last is not given back."""
    if asked.thinking.get("type") != "enabled":
        return
    with_results = {n for n, _, _ in asked.blocks("toolResult")}
    last = len(asked.messages) - 1
    uses = [n - 1 for n in takewhile(with_results.__contains__, range(last, 0, -2))]
    if uses and not any("reasoningContent" in _block(asked, n, 0) for n in uses):
        for kind, called in CALLED.items():
            if kind in _block(asked, last - 1, 0):
                yield Breach(at(last - 1, 0), {"n": last - 1, "found": called})


def files_beside_results(asked: Asked) -> Iterator[Breach]:
    """A message has the result of a tool and a document that Claude gets as text."""
    files = {n for n, _, document in asked.blocks("document") if document.get("format", "pdf") != "pdf"}
    for n in sorted(files):
        ids = [result.get("toolUseId", "") for each, _, result in asked.blocks("toolResult") if each == n]
        if ids:
            yield Breach(at(n, None, "content"), {"n": n, "ids": ", ".join(ids)})


def nothing_but_thoughts(asked: Asked) -> Iterator[Breach]:
    """Claude thought, and said nothing."""
    thought = {n for n, _, _ in asked.blocks("reasoningContent")}
    for n in sorted(thought):
        if all("reasoningContent" in block for block in asked.messages[n]["content"]):
            yield Breach(at(n, None, "content"))


def cache_points_after_a_file(asked: Asked) -> Iterator[Breach]:
    """A cache point comes right after a document that Claude gets as text."""
    for n, m, _ in asked.blocks("cachePoint"):
        if m and _block(asked, n, m - 1).get("document", {}).get("format", "pdf") != "pdf":
            yield Breach(at(n, m, "cachePoint"), {"n": n, "m": m})


def _block(asked: Asked, n: int, m: int) -> Mapping[str, Any]:
    """A content block; an empty one where there is none."""
    content: Sequence[Mapping[str, Any]] = asked.messages[n].get("content", ())
    return content[m] if m < len(content) else {}


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
