"""A Fault is a deliberate breach of the protocol. A FaultPlacement adds the position of the fault in an answer.

The named faults are in `converse_harness.faults`. A Reply stores each of its faults as a FaultPlacement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args

from converse_harness.bedrock.api.checks import is_object
from converse_harness.errors import Advice, Argument, ReplyError, StreamOrderError, quoted_whole
from converse_harness.stream.grammar import BLOCK_EVENTS, symbol
from converse_harness.stream.http import HttpResponse
from converse_harness.words import counted

FaultLevel = Literal["events", "frames", "connection", "HTTP"]
"""The level at which a fault breaks the protocol. A reply has at most one fault per level.

The faults of a reply are applied in the order in which the levels are listed. Connection faults come before HTTP
faults: the position of a connection fault is a number of events, and an HTTP fault may distribute the events over other
chunks.
"""


Place = Literal["position", "between", "in event", "whole answer"]
"""How the position of a fault is counted: the meaning of `after` in a FaultPlacement.

With `position`, it is the index of the event at which the order is broken. With `between` and `in event`, it is the
number of whole events before the fault. With `whole answer`, it has no meaning.
"""

Reaction = Literal["ignore", "fail", "either", "either_without_tools"]
"""What a consumer must do after a fault.

With `ignore`, its result is the same as without the fault. With `fail`, it must fail, unless the complete answer came
before the fault. With `either`, it may fail or return the answer, and with `either_without_tools`, it may also return
the answer without the tool calls, because the fault makes them unclear.
"""

Transport = Literal["boto", "httpx", "server", "asgi"]
"""The ways in which a client reaches a fake."""


HANDS_OUT: Final = "returns the events as they come"
SKIPS: Final = "skips the event"
ENDS: Final = "ends without an error"
FAILS: Final = "raises EventStreamError"
PARSER: Final = "raises ResponseParserError"
CHECKSUM: Final = "raises ChecksumMismatch"
PROTOCOL: Final = "raises urllib3's ProtocolError"
TIMEOUT: Final = "raises urllib3's ReadTimeoutError"
NO_NOTICE: Final = f"{HANDS_OUT}; 1.40 {PROTOCOL}"
"""NO_NOTICE and the constants above describe how botocore reacts to a fault in a stream.

A text after a semicolon is about the older botocore release with that number.
"""

FAULT_LEVELS: Final[tuple[FaultLevel, ...]] = get_args(FaultLevel)
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
EVERY_TRANSPORT: Final = frozenset(TRANSPORTS)
IN_PROCESS: Final[frozenset[Transport]] = frozenset({"boto", "httpx"})

Change = Callable[[HttpResponse, "FaultPlacement"], HttpResponse]


@dataclass(frozen=True, slots=True)
class Fault:
    """A deliberate breach of the protocol; either an OrderFault or a ResponseFault.

    `botocore` describes how botocore reacts to the fault in a stream. `on_body` applies the fault to the body of a
    response that is not a stream; None if only a stream can have the fault. `seconds` is the duration of timed faults
    (`stall`, `slow_first_byte`). `no_answer` is true if the fault replaces the whole answer. `reaction` is what a
    consumer must do after the fault.
    """

    name: str
    sentence: str
    level: FaultLevel
    place: Place
    botocore: str
    on_body: Change | None = field(default=None, kw_only=True)
    transports: frozenset[Transport] = field(default=EVERY_TRANSPORT, kw_only=True)
    seconds: float | None = field(default=None, kw_only=True)
    no_answer: bool = field(default=False, kw_only=True)
    reaction: Reaction = field(default="either", kw_only=True)

    def lasting(self, seconds: float) -> Fault:
        """Return the fault with this duration in seconds.

        Raises ReplyError for a fault that has no duration, and for an invalid duration.

        >>> from converse_harness import faults
        >>> faults.stall.lasting(0.5)
        faults.stall.lasting(0.5)
        """
        if self.seconds is None:
            raise ReplyError(f"{self.name} has no duration. Those that last: {', '.join(DURATIONS)}.")
        if type(seconds) not in (int, float) or not 0 < seconds < float("inf"):
            given = Argument(f"{self.name}.lasting", "seconds", value=quoted_whole(seconds))
            raise ReplyError(given, ": a number of seconds, more than 0.")
        return replace(self, seconds=seconds)

    def __repr__(self) -> str:
        lasts = self.seconds not in (None, DURATIONS.get(self.name))
        return f"faults.{self.name}" + (f".lasting({self.seconds!r})" if lasts else "")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the repr for hypothesis, whose reports would otherwise contain all fields of the dataclass."""
        del cycle  # a fault cannot contain itself, so `cycle` is ignored
        printer.text(repr(self))


DURATIONS = {"stall": float("inf"), "slow_first_byte": 1.0}
"""The default durations of the timed faults, in seconds."""


@dataclass(frozen=True, slots=True)
class FaultPlacement:
    """A fault at its position in an answer with `events` events. The fault's `place` defines the meaning of `after`."""

    fault: Fault
    after: int
    events: int

    @property
    def part(self) -> float:
        """The fraction of a non-streaming body that is sent before the fault, from 0 to 1."""
        return (self.after + (0.5 if self.fault.place == "in event" else 0)) / max(self.events, 1)

    @property
    def summary(self) -> str:
        """The fault's name and its position."""
        name, place = self.fault.name, self.fault.place
        if place == "whole answer":
            return name
        at = f"at event {self.after}" if place == "position" else f"after {counted(self.after, 'event')}"
        return f"{name} {at}"


def in_broken(fault: Fault, after: int | None = None) -> Argument:
    """Return the argument of a call of `broken`, for errors about this fault; `after` is the wrong argument if given.

    >>> in_broken(Fault("reset", "", "connection", "between", ""), 50).python
    'broken(reset, after=50)'
    """
    if after is None:
        return Argument("broken", "fault", value=Advice(fault.name, f'"{fault.name}"'))
    return Argument("broken", "after", value=after, beside=fault.name)


def place(fault: Fault, after: int | None, events: int) -> FaultPlacement:
    """Return the placement of a fault in an answer with `events` events. `after` is its position, by default the
    middle.

    Raises ReplyError if this position is not possible.
    """
    if fault.place == "whole answer":
        if after is not None:
            raise ReplyError(
                in_broken(fault, after), ": it is of the whole answer; leave out ", Advice("after=.", "after.")
            )
        return FaultPlacement(fault, 0, events)
    most = events - 1 if fault.place == "in event" else events
    if most < 0:
        raise ReplyError(in_broken(fault), ": this reply has no event that could be so broken.")
    chosen = events // 2 if after is None else after
    if type(chosen) is not int or not 0 <= chosen <= most:
        raise ReplyError(in_broken(fault, after), f": this reply has {events} events; 0 to {most}.")
    return FaultPlacement(fault, chosen, events)


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
