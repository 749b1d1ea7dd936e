"""Every hostile stream is refused with the breach's own error, and no legal one is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.errors import InvalidArgument
from hypothesis.vendor.pretty import pretty

from converse_harness import StreamOrderError, chunk, faults
from converse_harness.faults.order import ORDER_FAULTS
from converse_harness.stream.grammar import check_order
from converse_strategies import HostileStream, hostile_stream_events
from converse_strategies.broken_streams import with_blocks, witness
from converse_strategies.message.blocks import streamable
from tests.profiles import examples
from tests.strategies.conftest import found, never


@given(case=hostile_stream_events())
def test_every_hostile_stream_is_refused_with_its_breachs_error(case: HostileStream) -> None:
    with pytest.raises(StreamOrderError) as caught:
        check_order(case.events)
    assert case.fault.refuses(str(caught.value))


def test_every_breach_comes() -> None:
    assert never(hostile_stream_events(), ORDER_FAULTS, lambda case: [case.fault.name]) == set()


@pytest.mark.parametrize("name", ORDER_FAULTS)
def test_a_breach_can_be_asked_for(name: str) -> None:
    @given(case=hostile_stream_events(faults=[name]))
    @settings(max_examples=examples(0.25))
    def only_this(case: HostileStream) -> None:
        assert case.fault is ORDER_FAULTS[name]
        with pytest.raises(StreamOrderError):
            check_order(case.events)

    only_this()


@pytest.mark.parametrize("kind", streamable())
def test_every_kind_of_block_has_breaches(kind: str) -> None:
    @given(case=hostile_stream_events(kinds=[kind]))
    @settings(max_examples=examples(0.5))
    def is_refused(case: HostileStream) -> None:
        with pytest.raises(StreamOrderError) as caught:
            check_order(case.events)
        assert case.fault.refuses(str(caught.value))

    is_refused()


def test_a_stream_with_blocks_more_still_asks_for_its_tools() -> None:
    for name in ("no_block_start", "cut_in_tool_input"):
        blocks = witness(name, streamable())
        assert blocks
        events = with_blocks(chunk({"role": "assistant", "content": [{"text": "a b"}]}), blocks)
        check_order(events)
        assert events[-2] == {"messageStop": {"stopReason": "tool_use"}}
        assert ORDER_FAULTS[name].applicable_at(events)


@given(case=hostile_stream_events())
def test_what_is_printed_makes_the_same_stream(case: HostileStream) -> None:
    names = {"HostileStream": HostileStream, "ORDER_FAULTS": ORDER_FAULTS, "faults": faults}
    assert eval(pretty(case), names) == case


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"faults": ["no_mesage_stop"]},
            "hostile_stream_events(faults=['no_mesage_stop']): 'no_mesage_stop' is no ",
        ),
        (
            {"faults": ["no_block_start"], "kinds": ["text"]},
            "hostile_stream_events: no stream of text can have the fault no_block_start.",
        ),
    ],
)
def test_wrong_arguments_are_refused_when_drawn(arguments: dict[str, Any], message: str) -> None:
    strategy = hostile_stream_events(**arguments)
    with pytest.raises(InvalidArgument) as caught:
        found(strategy)
    assert str(caught.value).startswith(message)
