"""Strategies for `converse_harness.types.event_loop`."""

from __future__ import annotations

from typing import Final, get_args

from hypothesis import strategies as st

from converse_harness.types.event_loop import StopReason
from converse_strategies.leaves import cached, composite
from converse_strategies.strands.making import RARELY, Value

_TOKENS: Final = st.integers(0, 200_000)
_MILLISECONDS: Final = st.integers(0, 60_000)


@composite
def usages(draw: st.DrawFn) -> Value:
    """Usages: the total is the sum; cache counts are rare.

    >>> from hypothesis import find
    >>> find(usages(), lambda usage: usage["totalTokens"] > 0)
    {'inputTokens': 0, 'outputTokens': 1, 'totalTokens': 1}
    """
    came, went = draw(_TOKENS), draw(_TOKENS)
    usage: Value = {"inputTokens": came, "outputTokens": went, "totalTokens": came + went}
    if draw(RARELY):
        usage["cacheReadInputTokens"] = read = draw(_TOKENS)
        usage["cacheWriteInputTokens"] = written = draw(_TOKENS)
        # Bedrock counts cache tokens in the total, but not as input tokens.
        usage["totalTokens"] += read + written
    return usage


@composite
def metrics(draw: st.DrawFn) -> Value:
    """Metrics: the time to the first byte, if present, is not longer than the whole time.

    >>> from hypothesis import find
    >>> find(metrics(), lambda metrics: True)
    {'latencyMs': 0}
    """
    latency = draw(_MILLISECONDS)
    return {"latencyMs": latency, **({"timeToFirstByteMs": latency * draw(_SHARES) // 100} if draw(RARELY) else {})}


_SHARES: Final = st.integers(0, 100)


@cached
def stop_reasons() -> st.SearchStrategy[str]:
    """StopReasons of an answer or an agent's loop: those of models first, then those that only agents have.

    >>> from hypothesis import find
    >>> find(stop_reasons(), lambda reason: reason.startswith("i"))
    'interrupt'
    """
    first = ("end_turn", "tool_use")
    return st.sampled_from((*first, *(reason for reason in get_args(StopReason) if reason not in first)))
