"""Every breach of the order of events, on one stream that has a site for each."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from converse_harness import ReplyError, StreamOrderError, chunk
from converse_harness.faults.order import ORDER_FAULTS, OrderFault
from converse_harness.stream.grammar import check_order
from tests.profiles import examples

CITATION = {"title": "Alps", "location": {"web": {"url": "https://example.com"}}}
MESSAGE = {
    "role": "assistant",
    "content": [
        {"reasoningContent": {"reasoningText": {"text": "so", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": b"x"}},
        {"text": "a b"},
        {"text": "c"},
        {"citationsContent": {"citations": [CITATION], "content": [{"text": "d"}]}},
        {"toolUse": {"toolUseId": "t1", "name": "n", "input": {"a": 1}}},
        {"toolUse": {"toolUseId": "t2", "name": "n", "input": {}}},
    ],
}
EVENTS = chunk(MESSAGE)
placements = pytest.mark.parametrize("placement", ORDER_FAULTS.values(), ids=lambda placement: placement.name)


@placements
def test_every_site_is_refused_with_the_breachs_own_error(placement: OrderFault) -> None:
    check_order(EVENTS)
    before = repr(EVENTS)
    applicable_at = placement.applicable_at(EVENTS)
    assert applicable_at
    for position in applicable_at:
        with pytest.raises(StreamOrderError) as caught:
            check_order(placement.apply_at(EVENTS, position))
        assert placement.refuses(str(caught.value)), (position, str(caught.value))
    assert repr(EVENTS) == before


@placements
def test_the_bare_stream_has_a_site_or_says_so(placement: OrderFault) -> None:
    events = chunk({"role": "assistant", "content": []})
    with pytest.raises(ReplyError) as caught:
        placement.apply_at(events, len(events))
    applicable_at = ", ".join(map(str, placement.applicable_at(events))) or "no event of this stream"
    assert str(caught.value) == f"{placement.name} cannot be made at events[3]. It can be made at: {applicable_at}."


ODD: list[dict[str, Any]] = [
    {},
    {"ping": {}},
    {"messageStart": {}, "metadata": {}},
    {"contentBlockDelta": {}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {}}},
    {"contentBlockDelta": {"delta": {"text": "no index"}}},
    {"contentBlockStop": {"contentBlockIndex": "0"}},
    {"contentBlockStop": None},
    {"throttlingException": {"message": "x"}},
    {":error": {"code": "x", "message": "y"}},
]


@placements
@settings(max_examples=examples(0.5))
@given(events=st.lists(st.sampled_from([*EVENTS, *ODD]), max_size=8))
@example(events=EVENTS[:3])
@example(events=EVENTS[-3:])
@example(events=EVENTS[::-1])
def test_any_list_of_events_has_sites_or_none(placement: OrderFault, events: list[dict[str, Any]]) -> None:
    before = repr(events)
    for position in range(-1, len(events) + 1):
        if position in placement.applicable_at(events):
            assert placement.apply_at(events, position) != events
        else:
            with pytest.raises(ReplyError, match="cannot be made at"):
                placement.apply_at(events, position)
    assert repr(events) == before
