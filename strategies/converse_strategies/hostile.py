"""Streams with exactly one breach of the order of events."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.breaches import BREACHES, OrderBreach
from converse_harness.chunking import ByFamily, cut_message
from converse_harness.families import NEUTRAL
from converse_strategies.blocks import Block, Texts, streamable
from converse_strategies.choices import chosen
from converse_strategies.chunking import Event
from converse_strategies.streams import stream_events

_SITES: Final = st.integers(0, 2**16)


@dataclass(frozen=True)
class HostileStream:
    """A stream that ConverseStream never sends, what is wrong with it, and at which of its events it was put in."""

    events: list[Event]
    breach: OrderBreach
    site: int


@st.composite
def hostile_stream_events(
    draw: st.DrawFn,
    *,
    breaches: Collection[str] | None = None,
    kinds: Collection[str] | None = None,
    max_blocks: int = 3,
    texts: Texts | None = None,
) -> HostileStream:
    """Streams with exactly one breach of the order of events, the breach returned with the stream.

    `breaches` are names from `converse_harness.breaches.BREACHES`, all of them if not given; the other arguments are
    those of `stream_events`. A consumer should raise, or keep what it has and say that the stream is broken; it should
    never report success. Raises InvalidArgument, when drawn, for an unknown breach, and for one that no stream of these
    kinds can have.

    >>> from hypothesis import find
    >>> hostile = find(hostile_stream_events(breaches=["no_message_stop"]), lambda case: True)
    >>> hostile.breach, [next(iter(event)) for event in hostile.events]
    (<OrderBreach no_message_stop>, ['messageStart', 'metadata'])
    """
    names = chosen("hostile_stream_events", "breaches", breaches, tuple(BREACHES))
    wanted = chosen("hostile_stream_events", "kinds", kinds, streamable())
    breach = BREACHES[draw(st.sampled_from(names))]
    events = draw(stream_events(kinds=wanted, max_blocks=max_blocks, texts=texts))
    if not breach.sites(events):
        events = _with_site(breach, events, wanted)
    sites = breach.sites(events)
    site = sites[draw(_SITES) % len(sites)]
    return HostileStream(breach.break_at(events, site), breach, site)


def _with_site(breach: OrderBreach, events: list[Event], kinds: tuple[str, ...]) -> list[Event]:
    """The stream, with the fewest blocks more that give the breach a site."""
    known = [block for kind, blocks in _WITNESSES.items() if kind in kinds for block in blocks]
    for more in (*([block] for block in known), *(list(pair) for pair in pairwise([*known[:1], *known]))):
        longer = _longer(events, more)
        if breach.sites(longer):
            return longer
    raise InvalidArgument(f"hostile_stream_events: no stream of {', '.join(kinds)} can have the breach {breach.name}.")


def _longer(events: list[Event], blocks: list[Block]) -> list[Event]:
    """A stream with some blocks more; they are cut as the simplest stream has them."""
    offset = sum("contentBlockStop" in event for event in events)
    added = list(cut_message({"role": "assistant", "content": blocks}, ByFamily(NEUTRAL, {})))[1:]
    for event in added:
        (members,) = event.values()
        members["contentBlockIndex"] += offset
    return [*events[:-2], *added, *events[-2:]]


_WITNESSES: Final[Mapping[str, tuple[Block, ...]]] = {
    "text": ({"text": "0"},),
    "toolUse": ({"toolUse": {"toolUseId": "tooluse_0", "name": "0", "input": {}}},),
    "reasoningContent": (
        {"reasoningContent": {"reasoningText": {"text": "0", "signature": "MA=="}}},
        {"reasoningContent": {"redactedContent": b"0"}},
    ),
    "citationsContent": ({"citationsContent": {"citations": [{"title": "0"}], "content": [{"text": "0"}]}},),
    "toolResult": ({"toolResult": {"toolUseId": "tooluse_0", "content": [{"text": "0"}]}},),
    "image": ({"image": {"format": "png", "source": {"bytes": b"0"}}},),
}
"""The simplest blocks of each kind: between them, two in a row, every breach finds a site."""
