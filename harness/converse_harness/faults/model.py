"""Fault: its positions in an answer, the transports that can express it, and its effect on a response.

The named ones are in `converse_harness.faults`; a Reply keeps each as a FaultPlacement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Final, Literal, get_args

from converse_harness.errors import ReplyError
from converse_harness.stream.frames import PRELUDE_LENGTH
from converse_harness.stream.http import JSON_HEADERS, STREAM_HEADERS, Break, Chunk, ConnectionFailure, HttpResponse

FaultLevel = Literal["events", "frames", "connection", "HTTP"]
"""What a fault is a breach of, in the order in which those of one reply are made; each reply has one of each.

The connection comes before HTTP: it breaks after some events, in whatever chunks they travel."""


Place = Literal["position", "between", "in event", "whole answer"]
"""What a fault's `after` is counted to: one of the positions at which the order can be broken so, the place between two
events, the event that follows, or nothing, as the answer as a whole is broken."""

Transport = Literal["boto", "httpx", "server", "asgi"]
"""The ways for a client to reach a fake."""


HANDS_OUT: Final = "hands out the events as they come"
SKIPS: Final = "skips the event"
ENDS: Final = "ends without an error"
FAILS: Final = "raises EventStreamError"
PARSER: Final = "raises ResponseParserError"
CHECKSUM: Final = "raises ChecksumMismatch"
PROTOCOL: Final = "raises urllib3's ProtocolError"
TIMEOUT: Final = "raises urllib3's ReadTimeoutError"
NO_NOTICE: Final = f"{HANDS_OUT}; 1.40 {PROTOCOL}"
"""What botocore does with a fault in a stream; after a semicolon what an older one does."""

FAULT_LEVELS: Final[tuple[FaultLevel, ...]] = get_args(FaultLevel)
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
EVERY_TRANSPORT: Final = frozenset(TRANSPORTS)

Change = Callable[[HttpResponse, "FaultPlacement"], HttpResponse]


@dataclass(frozen=True, slots=True)
class Fault:
    """A deliberate breach of the protocol; the named ones are in `faults`. It is an OrderFault or a ResponseFault.

    `botocore` describes botocore's reaction in a stream. `on_body` applies the fault to a whole body; None if only a
    stream can have it. `seconds` is the duration of timed faults (`stall`, `slow_first_byte`). `no_answer`: the fault
    replaces the whole answer.
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
        """Return the fault with this duration in seconds. Raises ReplyError for an untimed fault or an invalid
        duration.

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
        """Print the repr: hypothesis, in counterexamples, would otherwise print a dataclass's fields."""
        del cycle  # a fault cannot hold itself
        printer.text(repr(self))


@dataclass(frozen=True, slots=True, repr=False)
class ResponseFault(Fault):
    """A fault of every other level: `on_stream` changes a response that streams."""

    on_stream: Change = field(kw_only=True)


DURATIONS = {"stall": float("inf"), "slow_first_byte": 1.0}
"""How long those faults last that last, unless a test says it: seconds."""


@dataclass(frozen=True, slots=True)
class FaultPlacement:
    """A fault at a position: after `after` of the stream's `events` events."""

    fault: Fault
    after: int
    events: int

    @property
    def part(self) -> float:
        """The share of a whole body that precedes the fault, from 0 to 1."""
        return (self.after + (0.5 if self.fault.place == "in event" else 0)) / max(self.events, 1)

    @property
    def summary(self) -> str:
        """The fault and its position in a few words."""
        match self.fault.place:
            case "position":
                return f"{self.fault.name} at event {self.after}"
            case "whole answer":
                return self.fault.name
            case _:
                return f"{self.fault.name} after {self.after} events"


def place(fault: Fault, after: int | None, events: int) -> FaultPlacement:
    """Place a fault in an answer of this many events, by default in the middle. Raises ReplyError."""
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


Cut = Callable[[bytes], int]

GARBAGE: Final = b"\r\n<!-- served by a proxy -->\r\n"
JSON: Final = b'{"message":"This is JSON, and a stream of events is due."}'

_ORDINARY_HEADERS: Final = frozenset({*JSON_HEADERS, *STREAM_HEADERS})
"""The headers that are not those of an error."""

_HEADERS_LENGTH: Final = slice(4, 8)


def in_prelude(frame: bytes) -> int:
    """Half of the prelude."""
    return PRELUDE_LENGTH // 2


def in_headers(frame: bytes) -> int:
    """The number of bytes up to the middle of the headers."""
    return PRELUDE_LENGTH + int.from_bytes(frame[_HEADERS_LENGTH]) // 2


def in_middle(data: bytes) -> int:
    """The number of bytes up to the middle of the frame."""
    return len(data) // 2


def _on_frames(change: Callable[[Iterator[Chunk], FaultPlacement], Iterator[Chunk]]) -> Change:
    """Make a change that works on a stream's frames, one per chunk."""
    return lambda response, placement: replace(response, chunks=change(iter(response.chunks), placement))


def _on_next(change: Callable[[Chunk, FaultPlacement], Chunk], *, is_last: bool = False) -> Change:
    """Make a change of the frame that follows the place of the fault; with `is_last` nothing is sent after it."""

    def changed(chunks: Iterator[Chunk], placement: FaultPlacement) -> Iterator[Chunk]:
        yield from islice(chunks, placement.after)
        for following in islice(chunks, 1):
            yield change(following, placement)
        if not is_last:
            yield from chunks

    return _on_frames(changed)


def cut(cut: Cut) -> Change:
    """Cut the next frame and send nothing more; the HTTP response ends normally."""
    return _on_next(lambda chunk, _: Chunk(chunk.data[: cut(chunk.data)], chunk.delay), is_last=True)


def flip(place: int | None) -> Change:
    """Flip the lowest bit of one byte of the next frame; of its last byte if `place` is None."""

    def flipped(chunk: Chunk, _: FaultPlacement) -> Chunk:
        data = bytearray(chunk.data)
        data[-1 if place is None else place] ^= 1
        return chunk._replace(data=bytes(data))

    return _on_next(flipped)


PRELUDE_CRC: Final = PRELUDE_LENGTH - 1
"""The last byte of the CRC in the prelude."""


def _bytewise(chunks: Iterator[Chunk], placement: FaultPlacement) -> Iterator[Chunk]:
    for chunk in chunks:
        delay = chunk.delay
        for place in range(len(chunk.data) - 1):
            yield Chunk(chunk.data[place : place + 1], delay)
            delay = 0.0
        yield chunk._replace(data=chunk.data[-1:], delay=delay)


def _together(chunks: Iterator[Chunk], placement: FaultPlacement) -> Iterator[Chunk]:
    listed = list(chunks)
    events = [event for chunk in listed for event in (chunk.event, *chunk.more) if event is not None]
    data = b"".join(chunk.data for chunk in listed)
    if data:
        yield Chunk(data, sum(chunk.delay for chunk in listed), events[0] if events else None, tuple(events[1:]))


add_garbage: Final = _on_frames(lambda chunks, _: chain(chunks, [Chunk(GARBAGE)]))
send_bytewise: Final = _on_frames(_bytewise)
send_together: Final = _on_frames(_together)


def send_nothing(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """A 200 response without a body; a stream is still declared as chunked."""
    changes = {"Content-Length": "0"}
    kept = tuple((name, changes.get(name, value)) for name, value in response.headers if name in _ORDINARY_HEADERS)
    return replace(response, status=200, headers=kept, chunks=())


def send_json(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """A 200 response with JSON instead of a stream."""
    changes = {"Content-Type": "application/json", "Transfer-Encoding": str(len(JSON))}
    return replace(response, headers=_with_length(response.headers, changes), chunks=(Chunk(JSON),))


def promise_too_much(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """A Content-Length one byte larger than the body; then the connection is closed."""
    chunks = tuple(response.chunks)
    promised = str(sum(len(chunk.data) for chunk in chunks) + 1)
    changes = {"Content-Length": promised, "Transfer-Encoding": promised}
    return replace(
        response,
        headers=_with_length(response.headers, changes),
        chunks=chunks,
        broken=response.broken or "connection closed",
    )


def _with_length(headers: Iterable[tuple[str, str]], changes: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers with some values replaced, and Content-Length in place of `transfer-encoding: chunked`."""
    names = {"Transfer-Encoding": "Content-Length"}
    return tuple((names.get(name, name), changes.get(name, value)) for name, value in headers)


_end_here: Final = _on_frames(lambda chunks, placement: islice(chunks, placement.after))


def break_stream(broken: Break, change: Change = _end_here) -> Change:
    """Make a fault of the connection after some events, or after what a change leaves of the stream."""
    return lambda response, placement: replace(change(response, placement), broken=broken)


def break_body(broken: Break) -> Change:
    """Make a fault at this share of a whole body, whose Content-Length still announces all of it."""

    def breaking(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
        (chunk,) = response.chunks
        data = chunk.data[: int(len(chunk.data) * placement.part)]
        return replace(response, chunks=(Chunk(data, chunk.delay),), broken=broken)

    return breaking


def stall_stream(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Silence after some events, for some seconds or for ever."""
    seconds = placement.fault.seconds or math.inf
    if seconds == math.inf:
        return break_stream("stalled")(response, placement)

    later = _on_next(lambda chunk, _: chunk._replace(delay=chunk.delay + seconds))
    return later(response, placement)


def stall_body(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Silence at this share of a whole body."""
    seconds = placement.fault.seconds or math.inf
    if seconds == math.inf:
        return break_body("stalled")(response, placement)
    (chunk,) = response.chunks
    at = int(len(chunk.data) * placement.part)
    parts = (Chunk(chunk.data[:at], chunk.delay), Chunk(chunk.data[at:], seconds))
    return replace(response, chunks=tuple(part for part in parts if part.data))


def wait(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Wait some seconds before sending anything, even the head."""
    return replace(response, wait=response.wait + (placement.fault.seconds or 0.0))


def leave_stale(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Send the whole answer, but leave a connection that fails at its next use."""
    return replace(response, stale=True)


def give_no_answer(failure: ConnectionFailure) -> Change:
    """Send no answer at all."""
    return lambda response, placement: HttpResponse(0, (), (), failure)
