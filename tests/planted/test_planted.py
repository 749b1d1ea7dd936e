"""The consumers of this folder are right, each bug makes one wrong, and the strategies find what they should."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from converse_harness import chunk
from converse_strategies import chunked_messages, hostile_stream_events, replies, stream_errors, stream_events
from tests.planted.answers import Event
from tests.planted.bugs import BUGS, CONSUMERS, agrees, load
from tests.planted.finding import SEARCHES, events_of, finds
from tests.profiles import examples

SEEDS = 3
FOUND = {"stream_events": 40, "replies": 40}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_consumer_without_a_bug_agrees_with_the_reference(consumer: str) -> None:
    @settings(max_examples=examples(2), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(drawn=stream_events() | chunked_messages() | replies())
    def right(drawn: Any) -> None:
        assert agrees(load(consumer), events_of(drawn))

    right()


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_consumer_without_a_bug_refuses_a_stream_that_failed(consumer: str) -> None:
    @settings(max_examples=examples(1), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(answer=stream_errors(names=["throttlingException"]))
    def refused(answer: Any) -> None:
        assert agrees(load(consumer), [*answer.events(), {"throttlingException": {"message": "0"}}])

    refused()


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_consumer_without_a_bug_refuses_half_a_stream(consumer: str) -> None:
    @settings(max_examples=examples(1), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(case=hostile_stream_events(faults=["cut_off", "no_message_stop", "cut_in_tool_input"]))
    def refused(case: Any) -> None:
        assert agrees(load(consumer), case.events)

    refused()


def test_there_are_ten_bugs_in_each_consumer_and_their_names_differ() -> None:
    assert Counter(bug.consumer for bug in BUGS) == dict.fromkeys(CONSUMERS, 10)
    assert len({bug.name for bug in BUGS}) == 50


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_a_change_of_what_stands_there(bug: Any) -> None:
    hello: list[Event] = chunk({"role": "assistant", "content": [{"text": "Hello, world"}]})
    assert load(bug.consumer, bug)(hello).message["content"] == [{"text": "Hello, world"}]


@pytest.mark.nightly
@pytest.mark.parametrize("search", FOUND)  # chunked_messages draws no usage, trace or fields
def test_a_strategy_finds_most_bugs_at_its_default_settings(search: str) -> None:
    found = [bug for bug in BUGS if sum(finds(SEARCHES[search](), bug, seed) for seed in range(SEEDS)) * 2 > SEEDS]
    assert len(found) >= FOUND[search], sorted(bug.name for bug in {*BUGS} - {*found})
