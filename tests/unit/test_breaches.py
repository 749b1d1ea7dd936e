"""Every breach of the order of events, on one stream that has a site for each."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from converse_harness import ReplyError, StreamOrderError, chunk
from converse_harness.faults.order import BREACHES, OrderFault
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
breaches = pytest.mark.parametrize("breach", BREACHES.values(), ids=lambda breach: breach.name)


@breaches
def test_every_site_is_refused_with_the_breachs_own_error(breach: OrderFault) -> None:
    check_order(EVENTS)
    before = repr(EVENTS)
    sites = breach.sites(EVENTS)
    assert sites
    for site in sites:
        with pytest.raises(StreamOrderError) as caught:
            check_order(breach.break_at(EVENTS, site))
        assert breach.refuses(str(caught.value)), (site, str(caught.value))
    assert repr(EVENTS) == before


@breaches
def test_the_bare_stream_has_a_site_or_says_so(breach: OrderFault) -> None:
    events = chunk({"role": "assistant", "content": []})
    with pytest.raises(ReplyError) as caught:
        breach.break_at(events, len(events))
    sites = ", ".join(map(str, breach.sites(events))) or "no event of this stream"
    assert str(caught.value) == f"{breach.name} cannot be made at events[3]. It can be made at: {sites}."


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


@breaches
@settings(max_examples=examples(0.5))
@given(events=st.lists(st.sampled_from([*EVENTS, *ODD]), max_size=8))
@example(events=EVENTS[:3])
@example(events=EVENTS[-3:])
@example(events=EVENTS[::-1])
def test_any_list_of_events_has_sites_or_none(breach: OrderFault, events: list[dict[str, Any]]) -> None:
    before = repr(events)
    for site in range(-1, len(events) + 1):
        if site in breach.sites(events):
            assert breach.break_at(events, site) != events
        else:
            with pytest.raises(ReplyError, match="cannot be made at"):
                breach.break_at(events, site)
    assert repr(events) == before
