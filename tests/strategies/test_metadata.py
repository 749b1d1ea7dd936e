"""What an answer says about itself: usage adds up, traces and tiers are those that the model knows."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock import NotInModel
from converse_strategies import converse_responses
from converse_strategies.message.metadata import (
    USAGE_SIZE,
    performance_configs,
    read_usage,
    service_tiers,
    token_usages,
    traces,
)
from tests.strategies.conftest import found, never

GUARDRAIL: dict[str, Any] = {"inputAssessment": {"g": {}}}
COUNTED = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
has_details = pytest.mark.skipif(not bedrock.has_member("TokenUsage", "cacheDetails"), reason="of a later botocore")
has_tiers = bedrock.has_shape("ServiceTierType")


@given(token_usages())
def test_the_total_of_a_usage_is_the_sum_of_its_counts(usage: dict[str, Any]) -> None:
    bedrock.check("TokenUsage", usage)
    assert usage["totalTokens"] == sum(usage.get(name, 0) for name in COUNTED)
    assert ("cacheReadInputTokens" in usage) == ("cacheWriteInputTokens" in usage)


@given(token_usages(cached=True))
def test_details_of_the_cache_add_up_to_what_was_written(usage: dict[str, Any]) -> None:
    details = usage.get("cacheDetails", [])
    assert not details or sum(detail["inputTokens"] for detail in details) == usage["cacheWriteInputTokens"]
    assert len({detail["ttl"] for detail in details}) == len(details)


@has_details
def test_every_time_to_live_is_reached_and_both_together() -> None:
    for ttl in bedrock.enum("CacheTTL"):
        usage = found(token_usages(), lambda usage: _ttls(usage) == [ttl])  # noqa: B023 - it is called at once
        assert usage["totalTokens"] >= usage["cacheWriteInputTokens"] >= 1
    assert found(token_usages(cached=True), lambda usage: len(_ttls(usage)) == 2)["totalTokens"] >= 2


def _ttls(usage: dict[str, Any]) -> list[str]:
    return [detail["ttl"] for detail in usage.get("cacheDetails", [])]


@given(token_usages(cached=False))
def test_a_usage_without_cache_says_nothing_of_one(usage: dict[str, Any]) -> None:
    assert set(usage) == {"inputTokens", "outputTokens", "totalTokens"}


def test_bytes_are_read_as_a_usage_with_no_more_than_its_total_half_of_the_time() -> None:
    """Of the rest, a quarter each has what AWS's API model lacks, the counts of the cache, both, and their details."""
    plain, cache = {"inputTokens", "outputTokens", "totalTokens"}, {"cacheReadInputTokens", "cacheWriteInputTokens"}
    undocumented = {"cacheReadInputTokenCount", "cacheWriteInputTokenCount", "serverToolUsage"}
    details = {"cacheDetails"} if bedrock.has_member("TokenUsage", "cacheDetails") else set[str]()
    expected = [plain] * 4
    expected += [plain | {"serverToolUsage"}, plain | cache, plain | cache | undocumented, plain | cache | details]
    usages = [read_usage(bytes([first]) + b"\xff" * (USAGE_SIZE - 1)) for first in range(256)]
    assert [set(usage) for usage in usages] == [each for each in expected for _ in range(32)]
    assert all(usage["totalTokens"] == sum(usage.get(name, 0) for name in COUNTED) for usage in usages)


@given(converse_responses(), traces())
def test_metrics_and_traces_are_valid_for_both_operations(response: dict[str, Any], trace: dict[str, Any]) -> None:
    bedrock.check("ConverseMetrics", response["metrics"])
    bedrock.check("ConverseStreamMetrics", response["metrics"])
    bedrock.check("ConverseTrace", trace)
    bedrock.check("ConverseStreamTrace", trace)
    assert trace


def test_traces_have_a_prompt_router_a_guardrail_or_both() -> None:
    wanted = [("promptRouter",), ("guardrail",), ("guardrail", "promptRouter")]
    assert never(traces(), wanted, lambda trace: [tuple(trace)]) == set()


@given(traces(guardrails=st.just(GUARDRAIL)))
def test_given_guardrails_are_in_every_trace(trace: dict[str, Any]) -> None:
    assert trace["guardrail"] is GUARDRAIL


@pytest.mark.parametrize("latency", bedrock.enum("PerformanceConfigLatency"))
def test_every_latency_is_reached(latency: str) -> None:
    bedrock.check("PerformanceConfiguration", found(performance_configs(), lambda config: config["latency"] == latency))


if has_tiers:

    @pytest.mark.parametrize("name", bedrock.enum("ServiceTierType"))
    def test_every_tier_is_reached(name: str) -> None:
        bedrock.check("ServiceTier", found(service_tiers(), lambda tier: tier["type"] == name))

else:  # no skip: under CI every test runs

    def test_tiers_that_the_installed_botocore_lacks_say_so() -> None:
        with pytest.raises(NotInModel, match=r"botocore 1\.\S+ has no shape 'ServiceTierType'"):
            found(service_tiers())


def test_what_is_drawn_is_fresh() -> None:
    for strategy in (token_usages(), performance_configs(), traces()):
        first, second = found(strategy), found(strategy)
        assert first == second
        assert first is not second
