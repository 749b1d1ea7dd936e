"""A Fault is a deliberate breach of the protocol. A FaultPlacement adds the position of the fault in an answer.

The named faults are in `converse_harness.faults`. A Reply stores each of its faults as a FaultPlacement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args

from converse_harness.errors import ReplyError
from converse_harness.stream.http import HttpResponse

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
    (`stall`, `slow_first_byte`). `no_answer` is true if the fault replaces the whole answer.
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
            raise ReplyError(f"{self.name}.lasting({seconds!r}): a number of seconds, more than 0.")
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
        at = f"at event {self.after}" if place == "position" else f"after {self.after} event{'s' * (self.after != 1)}"
        return f"{name} {at}"


def place(fault: Fault, after: int | None, events: int) -> FaultPlacement:
    """Return the placement of a fault in an answer with `events` events. `after` is its position, by default the
    middle.

    Raises ReplyError if this position is not possible.
    """
    if fault.place == "whole answer":
        if after is not None:
            raise ReplyError(f"broken({fault.name}, after={after!r}): it is of the whole answer; leave out after=.")
        return FaultPlacement(fault, 0, events)
    most = events - 1 if fault.place == "in event" else events
    if most < 0:
        raise ReplyError(f"broken({fault.name}): this reply has no event that could be so broken.")
    chosen = events // 2 if after is None else after
    if type(chosen) is not int or not 0 <= chosen <= most:
        raise ReplyError(f"broken({fault.name}, after={after!r}): this reply has {events} events; 0 to {most}.")
    return FaultPlacement(fault, chosen, events)
