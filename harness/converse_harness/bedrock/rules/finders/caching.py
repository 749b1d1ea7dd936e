"""Rules about cache points: their number, places and lifetimes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from converse_harness.bedrock.rules.finders.media import becomes_a_text
from converse_harness.bedrock.rules.request import RuleRequest, RuleViolation, alone, at, block_in, in_messages, needs

_MOST_POINTS: Final = 4


@needs("cachePoint")
def too_many_points(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a request with more cache points than Claude accepts."""
    places = [path for path, _, _ in _points(asked)]
    if len(places) > _MOST_POINTS:
        yield RuleViolation(places[_MOST_POINTS], {"count": len(places)})


points_after_a_file: Final = in_messages(
    "cachePoint", breaks=lambda message, m: becomes_a_text(block_in(message, m - 1).get("document", {}))
)
"""Finds cache points directly after a document that Claude receives as text."""

points_after_a_thought: Final = in_messages(
    "cachePoint", breaks=lambda message, m: "reasoningContent" in block_in(message, m - 1)
)
"""Finds cache points directly after reasoning."""

points_after_nothing: Final = in_messages("cachePoint", breaks=lambda _, m: m == 0)
"""Finds cache points at the beginning of a message."""


@alone("toolConfig", "toolConfig")
def points_among_tools(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find cache points in the list of tools. `k`, the index in Nova's message, is that of the tool before."""
    for k, tool in enumerate(asked.tools):
        if "cachePoint" in tool:
            yield RuleViolation(f"toolConfig.tools[{k}].cachePoint", {"k": max(k - 1, 0)})


@alone("messages", "cachePoint")
def points_after_a_result(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find cache points directly after a tool result. `m`, the index in Nova's message, is that of the result."""
    for n, m, _ in asked.blocks("cachePoint"):
        if "toolResult" in asked.block(n, m - 1):
            yield RuleViolation(at(n, m, "cachePoint"), {"n": n, "m": m - 1})


@needs("cachePoint")
def any_point(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find all cache points."""
    yield from (RuleViolation(path) for path, _, _ in _points(asked))


@needs("cachePoint")
def long_times(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find cache points with a lifetime of one hour."""
    for path, told, point in _points(asked):
        if point.get("ttl", _SHORT) != _SHORT:
            yield RuleViolation(f"{path}.ttl", {"place": told})


@needs("cachePoint")
def growing_times(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find cache points with a lifetime of one hour that follow a cache point with five minutes (the default)."""
    short = False
    for path, told, point in _points(asked):
        if point.get("ttl", _SHORT) == _SHORT:
            short = True
        elif short:
            yield RuleViolation(f"{path}.ttl", {"place": told})


_SHORT: Final = "5m"


def _points(asked: RuleRequest) -> Iterator[tuple[str, str, Any]]:
    """Yield (path, path of the block before, value) for each cache point: first in tools, then in system, then in
    messages.

    The path of the block before has the form of the model's error messages, in which cache points do not count as
    blocks.
    """
    sections: list[tuple[str, str, Sequence[Mapping[str, Any]]]] = [
        ("toolConfig.tools", "tools", asked.tools),
        ("system", "system", asked.system),
        *(
            (at(n) + ".content", f"messages.{n}.content", asked.messages[n]["content"])
            for n in dict.fromkeys(n for n, _, _ in asked.blocks("cachePoint"))
        ),
    ]
    for path, told, blocks in sections:
        count = 0
        for k, block in enumerate(blocks):
            if "cachePoint" in block:
                yield f"{path}[{k}].cachePoint", f"{told}.{count - 1}", block["cachePoint"]
            else:
                count += 1
