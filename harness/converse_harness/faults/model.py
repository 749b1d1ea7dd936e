"""What a fault is: a deliberate breach of the protocol, where it strikes an answer and which doors can express it.

The named ones are in `faults`; what a Reply keeps of one is a Breach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from converse_harness.errors import ReplyError
from converse_harness.faults.order import OrderBreach
from converse_harness.faults.positions import Event
from converse_harness.stream.grammar import kind
from converse_harness.stream.http import Response


class Level(Enum):
    """What a fault is a breach of, in the order in which those of one reply are made; each reply has one of each.

    The connection comes before HTTP: it breaks after some events, in whatever chunks they travel.
    """

    EVENTS = "events"
    FRAMES = "frames"
    CONNECTION = "connection"
    HTTP = "HTTP"


class Place(Enum):
    """What a fault's `after` is counted to."""

    SITE = "one of the events at which the order can be broken so"
    BETWEEN = "between two events"
    IN_EVENT = "in the event that follows"
    NOWHERE = "the answer as a whole"


class Door(Enum):
    """The ways for a client to reach a fake."""

    BOTO = "boto"
    HTTPX = "httpx"
    SERVER = "server"
    ASGI = "asgi"


EVERY_DOOR = frozenset(Door)

Change = Callable[[Response, "Breach"], Response]


@dataclass(frozen=True, slots=True)
class Fault:
    """A deliberate breach of the protocol; the named ones are in `faults`.

    `botocore` says what botocore does with it in a stream. `order` makes one of the level EVENTS, `on_stream` one of
    every other level, and `on_body` the same of a whole body; None where only a stream can have it. `seconds` is how
    long one lasts that lasts.
    """

    name: str
    sentence: str
    level: Level
    place: Place
    botocore: str
    order: OrderBreach | None = None
    on_stream: Change | None = None
    on_body: Change | None = None
    doors: frozenset[Door] = EVERY_DOOR
    seconds: float | None = None

    @property
    def no_answer(self) -> bool:
        """Whether it stands in the place of any answer."""
        return self.level is Level.CONNECTION and self.place is Place.NOWHERE and self.seconds is None

    def lasting(self, seconds: float) -> Fault:
        """The same for that many seconds. Raises ReplyError for a fault that does not last, and for no duration.

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
        """Print the same: hypothesis, for counterexamples, would print the fields of a dataclass."""
        del cycle  # a fault cannot hold itself
        printer.text(repr(self))


DURATIONS = {"stall": float("inf"), "slow_first_byte": 1.0}
"""How long those faults last that last, unless a test says it: seconds."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A fault in its place: after `after` of the `events` events that the stream would have."""

    fault: Fault
    after: int
    events: int

    @property
    def part(self) -> float:
        """How much of a whole body comes before it, from 0 to 1."""
        return (self.after + (0.5 if self.fault.place is Place.IN_EVENT else 0)) / max(self.events, 1)

    @property
    def summary(self) -> str:
        """A few words for people."""
        match self.fault.place:
            case Place.SITE:
                return f"{self.fault.name} at event {self.after}"
            case Place.NOWHERE:
                return self.fault.name
            case _:
                return f"{self.fault.name} after {self.after} events"


def place(fault: Fault, after: int | None, events: int) -> Breach:
    """The fault in an answer of that many events; in the middle if nothing is said. Raises ReplyError."""
    if fault.place is Place.NOWHERE:
        if after is not None:
            raise ReplyError(f"broken({fault.name}, after={after!r}): it is of the whole answer; leave out after=.")
        return Breach(fault, 0, events)
    most = events - 1 if fault.place is Place.IN_EVENT else events
    if most < 0:
        raise ReplyError(f"broken({fault.name}): this reply has no event that could be so broken.")
    chosen = events // 2 if after is None else after
    if type(chosen) is not int or not 0 <= chosen <= most:
        raise ReplyError(f"broken({fault.name}, after={after!r}): this reply has {events} events; 0 to {most}.")
    return Breach(fault, chosen, events)


def rearranged(breach: Breach, events: Iterable[Event]) -> list[dict[str, Any]]:
    """The events with the order broken; all of them, if the breach is not one of the order."""
    listed = list(events)
    order = breach.fault.order
    return [dict(event) for event in listed] if order is None else order.break_at(listed, breach.after)


def place_in_order(fault: Fault, order: OrderBreach, after: int | None, events: Sequence[Event]) -> Breach:
    """The fault at one of its sites in these events; at the middle one if nothing is said. Raises ReplyError."""
    sites = order.sites(events)
    if not sites:
        kinds = ", ".join(map(kind, events)) or "none"
        raise ReplyError(
            f"broken({fault.name}): no event of this reply can be so broken. Its events: {kinds}. "
            "Break a reply that has such an event, or break this one otherwise."
        )
    chosen = sites[len(sites) // 2] if after is None else after
    if type(chosen) is not int or chosen not in sites:
        raise ReplyError(
            f"broken({fault.name}, after={after!r}): in this reply it can be at event {', '.join(map(str, sites))}."
        )
    return Breach(fault, chosen, len(events))
