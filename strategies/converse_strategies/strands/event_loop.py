"""Strategies for `converse_harness.types.event_loop`: usages, metrics and stop reasons."""

from __future__ import annotations

from typing import Final, get_args

from hypothesis import strategies as st

from converse_harness.types.event_loop import StopReason
from converse_strategies.basics import RARELY, Value, Values, cached, composite, made, sampled
from converse_strategies.message.metadata import token_usages

_MILLISECONDS: Final = st.integers(0, 60_000)


_COUNTS: Final = ("inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens")


@cached
def usages() -> Values:
    """Usages: the total is the sum of all other counts. Some usages also have counts of the prompt cache.

    >>> from hypothesis import find
    >>> find(usages(), lambda usage: usage["totalTokens"] > 2)
    {'inputTokens': 1, 'outputTokens': 2, 'totalTokens': 3}
    """
    return made(token_usages(), lambda usage: {name: usage[name] for name in usage if name in _COUNTS})


@composite
def metrics(draw: st.DrawFn) -> Value:
    """Metrics: dicts with a latency; one in four has a time to the first byte, which is at most the latency.

    >>> from hypothesis import find
    >>> find(metrics(), lambda metrics: True)
    {'latencyMs': 0}
    """
    latency = draw(_MILLISECONDS)
    return {"latencyMs": latency, **({"timeToFirstByteMs": latency * draw(_SHARES) // 100} if draw(RARELY) else {})}


_SHARES: Final = st.integers(0, 100)


def stop_reasons() -> st.SearchStrategy[str]:
    """StopReasons of a model's answer or of an agent's event loop. Hypothesis shrinks them to `end_turn` or `tool_use`.

    >>> from hypothesis import find
    >>> find(stop_reasons(), lambda reason: reason.startswith("i"))
    'interrupt'
    """
    first = ("end_turn", "tool_use")
    return sampled((*first, *(reason for reason in get_args(StopReason) if reason not in first)))
