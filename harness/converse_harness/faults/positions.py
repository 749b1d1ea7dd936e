"""Conditions for the positions at which a fault can break the order of events.

A condition is a function of a list of events and the index `place` of one of them. It returns whether the fault is
possible at this event. The list may contain events that another fault has already broken, and the event before or
after `place` may be missing. A broken or missing event is of no type: the conditions of `is_a` are false for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from converse_harness.bedrock.findings import is_object
from converse_harness.errors import StreamOrderError
from converse_harness.stream.grammar import BLOCK_EVENTS, symbol

Event = Mapping[str, Any]
Events = Sequence[Event]
Where = Callable[[Events, int], bool]


def _symbol(events: Events, place: int) -> str:
    """Return `stream.grammar.symbol` of the event at the index `place`; "" if it is missing or already broken."""
    if place not in range(len(events)) or not one_type(events, place):
        return ""
    ((name, members),) = events[place].items()
    if not is_object(members) or (name in BLOCK_EVENTS and type(members.get("contentBlockIndex")) is not int):
        return ""
    try:
        return symbol(events[place])
    except StreamOrderError:
        return ""


def is_a(*types: str) -> Where:
    """Return the condition that the symbol of the event is one of `types`, or begins with one of them and a dot."""

    def at(events: Events, place: int) -> bool:
        name = _symbol(events, place)
        return any(name == each or name.startswith(f"{each}.") for each in types)

    return at


START: Final = is_a("contentBlockStart")
DELTA: Final = is_a("contentBlockDelta")
CLOSE: Final = is_a("contentBlockStop")
IN_BLOCK: Final = is_a("contentBlockStart", "contentBlockDelta")
"""The condition that the event is a contentBlockStart or contentBlockDelta, so that a block is open after it."""

OF_BLOCK: Final = is_a(*BLOCK_EVENTS)
_END: Final = is_a("messageStop", "metadata")
_TOOL_INPUT: Final = is_a("contentBlockDelta.toolUse")


def anywhere(events: Events, place: int) -> bool:
    """Return true: the fault is possible at every event."""
    return True


def one_type(events: Events, place: int) -> bool:
    """Whether the event has exactly one key, its type."""
    return len(events[place]) == 1


def first(events: Events, place: int) -> bool:
    """Whether the event is the first one."""
    return place == 0


def not_last(events: Events, place: int) -> bool:
    """Whether another event follows."""
    return place + 1 < len(events)


def before_the_end(events: Events, place: int) -> bool:
    """Whether another event follows and the event is neither messageStop nor metadata."""
    return not_last(events, place) and not _END(events, place)


def before_the_one(name: str, where: Where) -> Where:
    """Return the condition that `where` is true and that the stream's only event of type `name` is at least two places
    later.
    """

    def at(events: Events, place: int) -> bool:
        later = [number > place + 1 for number, event in enumerate(events) if name in event]
        return later == [True] and where(events, place)

    return at


def opening(events: Events, place: int) -> bool:
    """Whether the event is the first one of a block."""
    return IN_BLOCK(events, place) and not IN_BLOCK(events, place - 1)


def opening_later(events: Events, place: int) -> bool:
    """Whether the event is the first one of a block that follows another block."""
    return opening(events, place) and CLOSE(events, place - 1)


def in_open_block(events: Events, place: int) -> bool:
    """Whether the event belongs to a block and is not the first one of that block."""
    return OF_BLOCK(events, place) and not opening(events, place)


def only_delta(events: Events, place: int) -> bool:
    """Whether the event is a delta whose block consists only of this delta and a contentBlockStop."""
    return DELTA(events, place) and opening(events, place) and CLOSE(events, place + 1)


def between_blocks(events: Events, place: int) -> bool:
    """Whether the event is a contentBlockStop and the next event belongs to another block."""
    return CLOSE(events, place) and IN_BLOCK(events, place + 1)


def inside_tool_input(events: Events, place: int) -> bool:
    """Whether the event and the next event are both deltas of a tool's input."""
    return _TOOL_INPUT(events, place) and _TOOL_INPUT(events, place + 1)
