"""What hypothesis' statistics and its search are told about drawn values."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.statistics import collector

from converse_strategies import (
    chunked_messages,
    converse_requests,
    converse_responses,
    errors,
    faulty_replies,
    replies,
    stream_errors,
    stream_events,
)
from tests.planted.finding import EVERY_CHECK
from tests.profiles import examples


def statistics(*strategies: st.SearchStrategy[Any]) -> dict[str, Any]:
    """The statistics of a test that draws from each of the strategies."""
    found: list[dict[str, Any]] = []

    @settings(
        max_examples=examples(3),
        database=None,
        phases=[Phase.generate, Phase.target],
        suppress_health_check=EVERY_CHECK,
    )
    @given(st.tuples(*strategies))
    def draw(drawn: Any) -> None:
        pass

    with cast("Any", collector).with_value(found.append):
        draw()
    return found[0]


def told(strategy: st.SearchStrategy[Any]) -> set[str]:
    cases = statistics(strategy)["generate-phase"]["test-cases"]
    events = (event for case in cases for event in case["events"])
    return {event.split(":")[0] for event in events if not event.startswith("Retried draw")}  # hypothesis' own


ANSWER = {"block", "characters of a text", "arguments of a tool"}


@pytest.mark.parametrize(
    ("strategy", "labels"),
    [
        (stream_events(), {*ANSWER, "stop reason"}),
        (replies(), {*ANSWER, "stop reason"}),
        (converse_responses(), {*ANSWER, "stop reason"}),
        (chunked_messages(), ANSWER),
        (errors(), {"error", "retry-after"}),
        (stream_errors(), {*ANSWER, "stop reason", "error in the stream", "events before the error"}),
        (faulty_replies(), {*ANSWER, "stop reason", "level of the fault"}),
        (faulty_replies(names=["reset", "cut_off"]), {*ANSWER, "stop reason", "level of the fault", "fault"}),
        (converse_requests(), {"messages", "member"}),
    ],
    ids=lambda value: None if isinstance(value, set) else "",
)
def test_the_statistics_say_what_was_drawn(strategy: st.SearchStrategy[Any], labels: set[str]) -> None:
    assert told(strategy) == labels


def test_the_labels_are_few() -> None:
    cases = statistics(stream_events())["generate-phase"]["test-cases"]
    assert len({event for case in cases for event in case["events"]}) <= 30


@pytest.mark.parametrize("target", ["events", "blocks", "characters"])
@pytest.mark.parametrize("strategy", [stream_events, replies])
def test_hypothesis_searches_for_more_of_a_target(strategy: Any, target: str) -> None:
    assert statistics(strategy(target=target), strategy(target=target))["targets"][f"{target} of a stream"] > 0
    assert "targets" not in statistics(strategy())
