"""Strategies for streams with exactly one fault in the order of events."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.bedrock.families import NEUTRAL
from converse_harness.faults import NOT_SENDABLE
from converse_harness.faults.order import ORDER_FAULTS, OrderFault
from converse_harness.json_values import print_whole
from converse_harness.stream.chunk import ByFamily, chunk, cut_message, default_stop_reason
from converse_strategies.basics import Texts, chosen, composite, sampled
from converse_strategies.message.blocks import Block, streamable
from converse_strategies.streams import Event, stream_events

PLACES: Final = st.integers(0, 2**16)
"""Strategy for numbers that select a position in a list, modulo its length. They shrink to the first position."""


@dataclass(frozen=True)
class HostileStream:
    """A stream that ConverseStream never sends, with the fault in the stream and the position of the fault.

    >>> from converse_harness import chunk, faults
    >>> events = chunk({"role": "assistant", "content": [{"text": "hi"}]})
    >>> HostileStream(events[1:], faults.no_message_start, 0).fault
    faults.no_message_start
    """

    events: list[Event]
    fault: OrderFault
    position: int

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print this object as code that makes it. Without this method, hypothesis would also print every field of the
        fault.
        """
        del cycle  # not needed, because a HostileStream cannot contain itself
        with printer.group(14, "HostileStream(", ")"):
            printer.text("events=")
            print_whole(printer, self.events)
            printer.text(",")
            printer.breakable()
            name = self.fault.name
            fault = f"ORDER_FAULTS[{name!r}]" if name in NOT_SENDABLE else repr(self.fault)
            printer.text(f"fault={fault}, position={self.position}")


@composite
def hostile_stream_events(
    draw: st.DrawFn,
    *,
    faults: Collection[str] | None = None,
    kinds: Collection[str] | None = None,
    max_blocks: int = 3,
    texts: Texts | None = None,
) -> HostileStream:
    """Streams with exactly one fault in the order of events, each together with the fault, as HostileStream.

    `faults` are names from `converse_harness.faults.order.ORDER_FAULTS`, by default all that a stream with blocks of
    `kinds` can have. The other arguments mean the same as in `stream_events`. A consumer should raise, or keep the
    received part and report that the stream is broken; it should never report success. Raises InvalidArgument, when
    drawn, for an unknown fault, and for a fault that no stream with blocks of `kinds` can have.

    >>> from hypothesis import find
    >>> hostile = find(hostile_stream_events(faults=["no_message_stop"]), lambda case: True)
    >>> hostile.fault, [next(iter(event)) for event in hostile.events]
    (faults.no_message_stop, ['messageStart', 'metadata'])
    """
    wanted = chosen("hostile_stream_events", "kinds", kinds, streamable())
    names = chosen("hostile_stream_events", "faults", faults, tuple(ORDER_FAULTS))
    if faults is None:
        names = tuple(name for name in names if witness(name, wanted) is not None)
    fault = ORDER_FAULTS[draw(sampled(names))]
    events = draw(stream_events(kinds=wanted, max_blocks=max_blocks, texts=texts))
    if not fault.applicable_at(events):
        blocks = witness(fault.name, wanted)
        if blocks is None:
            raise InvalidArgument(
                f"hostile_stream_events: no stream of {', '.join(wanted)} can have the fault {fault.name}."
            )
        events = with_blocks(events, blocks)
    positions = fault.applicable_at(events)
    position = positions[draw(PLACES) % len(positions)]
    return HostileStream(fault.apply_at(events, position), fault, position)


@cache
def witness(name: str, kinds: tuple[str, ...]) -> tuple[Block, ...] | None:
    """Return as few blocks as possible, of some of `kinds`, with which a stream can have the fault `name`.

    Return None if there are no such blocks.
    """
    known = [block for kind, blocks in _WITNESSES.items() if kind in kinds for block in blocks]
    for more in ((), *((block,) for block in known), *pairwise([*known[:1], *known])):
        if ORDER_FAULTS[name].applicable_at(with_blocks(_BARE, more)):
            return more
    return None


def with_blocks(events: Sequence[Event], blocks: Sequence[Block]) -> list[Event]:
    """Return a copy of the complete stream `events` in which `blocks` come after the last block.

    The new blocks are cut into deltas as for a model of no known family.
    """
    offset = sum("contentBlockStop" in event for event in events)
    added = list(cut_message({"role": "assistant", "content": copy.deepcopy(blocks)}, ByFamily(NEUTRAL, {})))[1:]
    for event in added:
        (members,) = event.values()
        members["contentBlockIndex"] += offset
    stop = dict(events[-2]["messageStop"])
    if stop["stopReason"] == "end_turn":
        # this is tool_use if one of the new blocks is a tool use for the client
        stop["stopReason"] = default_stop_reason(blocks)
    return [*events[:-2], *added, {"messageStop": stop}, events[-1]]


_BARE: Final[Sequence[Event]] = chunk({"role": "assistant", "content": []})

_WITNESSES: Final[Mapping[str, tuple[Block, ...]]] = {
    "text": ({"text": "0"},),
    "toolUse": (
        {"toolUse": {"toolUseId": "tooluse_0", "name": "0", "input": {}}},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "0", "input": {"0": 0}}},
    ),
    "reasoningContent": (
        {"reasoningContent": {"reasoningText": {"text": "0", "signature": "MA=="}}},
        {"reasoningContent": {"redactedContent": b"0"}},
    ),
    "citationsContent": ({"citationsContent": {"citations": [{"title": "0"}], "content": [{"text": "0"}]}},),
    "toolResult": ({"toolResult": {"toolUseId": "tooluse_0", "content": [{"text": "0"}]}},),
    "image": ({"image": {"format": "png", "source": {"bytes": b"0"}}},),
}
"""Kind of block -> the simplest blocks of this kind. To make a fault possible, at most two successive blocks are
needed.
"""
