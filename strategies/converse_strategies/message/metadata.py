"""Strategies for an answer's metadata: token usage, times, traces, service tier."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies.basics import composite, sampled
from converse_strategies.message.guardrails import guardrail_traces

_MOST_TOKENS: Final = 2_000_000
_TOKENS: Final = st.integers(1, _MOST_TOKENS)
_CACHED_TOKENS: Final = st.integers(0, _MOST_TOKENS)
_CACHE_KEYS: Final = ("none", "counts", "details", "undocumented")

USAGE_SIZE: Final = 10
"""The number of bytes in the argument of `read_usage`."""

_CONTEXT: Final = 1_000_000

ROUTED: Final = (
    "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
    "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama3-1-8b-instruct-v1:0",
)
"""Models to which a prompt router may send a request; one is an inference profile. The account number is from AWS's
examples.
"""


@composite
def token_usages(draw: st.DrawFn, *, cached: bool | None = None) -> dict[str, Any]:
    """AWS TokenUsages that add up: the total is the sum of input, output, cache read and cache write tokens.

    If `cached` is true, every usage has counts of the prompt cache; if `cached` is false, none has. By default, some
    have. The entries of `cacheDetails`, one per time to live, add up to `cacheWriteInputTokens`; older versions of
    botocore have no `cacheDetails`. Some usages have the member `serverToolUsage`, and the counts of the cache under a
    second name. Such members occur in recorded answers, but not in AWS's API model, so botocore drops them. Each count
    except the total is at most two million, the longest context of a model. Source: the usages of all 356 recorded
    answers add up like this, and none has an input or output of 0.

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
    """Convert ten drawn bytes to a TokenUsage, with the same members as one of the recorded usages.

    Half of the usages have only the input, output and total tokens.
    """
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
    """Draw the member `cacheDetails`: one entry per time to live. The numbers of tokens in the entries add up to
    `written`.
    """
    times_to_live = draw(st.lists(sampled(bedrock.enum("CacheTTL")), min_size=1, max_size=2, unique=True))
    first = written if len(times_to_live) == 1 else draw(st.integers(1, written))
    counts = (first, written - first)
    return [{"ttl": ttl, "inputTokens": count} for ttl, count in zip(times_to_live, counts, strict=False) if count]


@composite
def performance_configs(draw: st.DrawFn) -> dict[str, Any]:
    """AWS PerformanceConfigurations: dicts with `latency`, whose value is one of those in the installed botocore's
    model.

    >>> from hypothesis import find
    >>> find(performance_configs(), lambda config: True)
    {'latency': 'standard'}
    """
    return {"latency": draw(sampled(bedrock.enum("PerformanceConfigLatency")))}


@composite
def service_tiers(draw: st.DrawFn) -> dict[str, Any]:
    """AWS ServiceTiers: dicts with the type of a tier. Raises NotInModel, when drawn, if the installed botocore has no
    ServiceTier.

    >>> from hypothesis import find
    >>> find(service_tiers(), lambda tier: tier["type"] == "flex")
    {'type': 'flex'}
    """
    return {"type": draw(sampled(bedrock.enum("ServiceTierType")))}


@composite
def traces(draw: st.DrawFn, *, guardrails: st.SearchStrategy[dict[str, Any]] | None = None) -> dict[str, Any]:
    """AWS ConverseTraces, which are also ConverseStreamTraces: a prompt router's choice, a guardrail's findings, or
    both.

    `guardrails` is a strategy for GuardrailTraceAssessments; if it is given, every trace contains one. By default, some
    traces contain one from `guardrail_traces()`.

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
