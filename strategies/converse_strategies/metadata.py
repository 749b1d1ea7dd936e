"""Strategies for an answer's metadata: token usage, times, traces, service tier."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies.guardrails import guardrail_traces
from converse_strategies.leaves import composite, sampled

_MOST_TOKENS: Final = 2_000_000
_TOKENS: Final = st.integers(1, _MOST_TOKENS)
_CACHED_TOKENS: Final = st.integers(0, _MOST_TOKENS)
_CACHE_KEYS: Final = ("none", "counts", "details", "undocumented")

USAGE_SIZE: Final = 10
"""The number of bytes that `read_usage` reads."""

_CONTEXT: Final = 1_000_000

ROUTED: Final = (
    "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
    "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama3-1-8b-instruct-v1:0",
)
"""Targets of a prompt router: models and an inference profile. The account number is from AWS's examples."""


@composite
def token_usages(draw: st.DrawFn, *, cached: bool | None = None) -> dict[str, Any]:
    """AWS TokenUsages that add up: the total is the sum of input, output, cache read and cache write tokens.

    With `cached=True` every usage has counts of the prompt cache, with `cached=False` no usage has them; by default
    some usages have them. The entries of `cacheDetails`, one per time to live, add up to `cacheWriteInputTokens`; older
    versions of botocore have no `cacheDetails`. Some usages have `serverToolUsage` and the cache's counts a second
    time, as recorded: AWS's model does not have these members, and botocore drops them. Source: the usage of all 356
    recorded answers adds up like this, and no count of input or output is 0. Each count except the total is at most two
    million, the longest context of a model.

    >>> from hypothesis import find
    >>> find(token_usages(), lambda usage: True)
    {'inputTokens': 1, 'outputTokens': 1, 'totalTokens': 2}
    >>> find(token_usages(), lambda usage: usage.get("cacheWriteInputTokens", 0) >= 9)["totalTokens"]
    11
    """
    keys = "none" if cached is False else draw(sampled(_CACHE_KEYS[1:] if cached else _CACHE_KEYS))
    given, answered = draw(_TOKENS), draw(_TOKENS)
    if keys == "none":
        return _usage(given, answered)
    read, written = draw(_CACHED_TOKENS), draw(_CACHED_TOKENS)
    details = _cache_details(draw, written) if keys == "details" and written and _has_details() else None
    return _usage(given, answered, (read, written), details, undocumented=keys == "undocumented")


def read_usage(drawn: bytes) -> dict[str, Any]:
    """Read ten drawn bytes as a TokenUsage of a recorded shape; half of them have only the three usual members."""
    given, answered = 1 + int.from_bytes(drawn[1:4], "big") % _CONTEXT, 1 + int.from_bytes(drawn[4:6], "big")
    shape = drawn[0] >> 5
    if shape < 4:
        return _usage(given, answered)
    if shape == 4:
        return _usage(given, answered, undocumented=True)
    read, written = (int.from_bytes(pair, "big") if pair[0] >= 128 else 0 for pair in (drawn[6:8], drawn[8:10]))
    details = None
    if shape == 7 and written and _has_details():
        times_to_live = bedrock.enum("CacheTTL")
        details = [{"ttl": times_to_live[written % len(times_to_live)], "inputTokens": written}]
    return _usage(given, answered, (read, written), details, undocumented=shape == 6)


def _has_details() -> bool:
    return bedrock.has_member("TokenUsage", "cacheDetails")


def _usage(
    given: int,
    answered: int,
    cache: tuple[int, int] | None = None,
    details: list[dict[str, Any]] | None = None,
    *,
    undocumented: bool = False,
) -> dict[str, Any]:
    usage: dict[str, Any] = {"inputTokens": given, "outputTokens": answered}
    if cache is not None:
        usage["cacheReadInputTokens"], usage["cacheWriteInputTokens"] = cache
    usage["totalTokens"] = sum(usage.values())
    if details is not None:
        usage["cacheDetails"] = details
    if undocumented:
        usage["serverToolUsage"] = {}
        if cache is not None:
            usage["cacheReadInputTokenCount"], usage["cacheWriteInputTokenCount"] = cache
    return usage


def _cache_details(draw: st.DrawFn, written: int) -> list[dict[str, Any]]:
    """Draw the `cacheDetails` for `written` cache write tokens: one entry per time to live, with a number of tokens."""
    times_to_live = draw(st.lists(sampled(bedrock.enum("CacheTTL")), min_size=1, max_size=2, unique=True))
    first = written if len(times_to_live) == 1 else draw(st.integers(1, written))
    counts = (first, written - first)
    return [{"ttl": ttl, "inputTokens": count} for ttl, count in zip(times_to_live, counts, strict=False) if count]


@composite
def performance_configs(draw: st.DrawFn) -> dict[str, Any]:
    """AWS PerformanceConfigurations: dicts with one of the latencies in botocore's model.

    >>> from hypothesis import find
    >>> find(performance_configs(), lambda config: True)
    {'latency': 'standard'}
    """
    return {"latency": draw(sampled(bedrock.enum("PerformanceConfigLatency")))}


@composite
def service_tiers(draw: st.DrawFn) -> dict[str, Any]:
    """AWS ServiceTiers. Raises NotInModel, when drawn, if the installed botocore has no ServiceTier.

    >>> from hypothesis import find
    >>> find(service_tiers(), lambda tier: tier["type"] == "flex")
    {'type': 'flex'}
    """
    return {"type": draw(sampled(bedrock.enum("ServiceTierType")))}


@composite
def traces(draw: st.DrawFn, *, guardrails: st.SearchStrategy[dict[str, Any]] | None = None) -> dict[str, Any]:
    """AWS ConverseTraces and ConverseStreamTraces: a prompt router's choice, a guardrail's findings, or both.

    `guardrails` is a strategy for GuardrailTraceAssessments; if given, every trace contains one. By default, some
    traces contain one that `guardrail_traces()` draws.

    >>> from hypothesis import find
    >>> find(traces(), lambda trace: True)
    {'promptRouter': {'invokedModelId': 'arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0'}}
    """
    members = draw(_TRACED) if guardrails is None else draw(_GUARDED)
    trace: dict[str, Any] = {}
    if "guardrail" in members:
        trace["guardrail"] = draw(guardrail_traces() if guardrails is None else guardrails)
    if "promptRouter" in members:
        trace["promptRouter"] = {"invokedModelId": draw(_ROUTED)}
    return trace


_BOTH: Final = ("guardrail", "promptRouter")
_TRACED: Final = st.sampled_from((("promptRouter",), ("guardrail",), _BOTH, _BOTH))
_GUARDED: Final = st.sampled_from((("guardrail",), _BOTH))
_ROUTED: Final = st.sampled_from(ROUTED)
