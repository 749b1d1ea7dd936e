"""A Fault is a deliberate breach of the protocol. A FaultPlacement adds the position of the fault in an answer.

The named faults are in `converse_harness.faults`. A Reply stores each of its faults as a FaultPlacement.
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
"""The level at which a fault breaks the protocol. A reply has at most one fault per level.

The faults are applied in the order of the levels. Connection faults are applied before HTTP faults, because the
position of a connection fault is a number of events, and an HTTP fault may move the events to other chunks."""


Place = Literal["position", "between", "in event", "whole answer"]
"""The meaning of a placement's `after`.

With `position`, it is the index of the event at which the order is broken. With `between` and `in event`, it is the
number of whole events before the fault. With `whole answer`, it has no meaning."""

Transport = Literal["boto", "httpx", "server", "asgi"]
"""The ways in which a client reaches a fake."""


HANDS_OUT: Final = "hands out the events as they come"
SKIPS: Final = "skips the event"
ENDS: Final = "ends without an error"
FAILS: Final = "raises EventStreamError"
PARSER: Final = "raises ResponseParserError"
CHECKSUM: Final = "raises ChecksumMismatch"
PROTOCOL: Final = "raises urllib3's ProtocolError"
TIMEOUT: Final = "raises urllib3's ReadTimeoutError"
NO_NOTICE: Final = f"{HANDS_OUT}; 1.40 {PROTOCOL}"
"""NO_NOTICE and the constants above it describe botocore's reaction to a fault in a stream. The text after a semicolon
is about the older release with that number."""

FAULT_LEVELS: Final[tuple[FaultLevel, ...]] = get_args(FaultLevel)
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
EVERY_TRANSPORT: Final = frozenset(TRANSPORTS)

Change = Callable[[HttpResponse, "FaultPlacement"], HttpResponse]


@dataclass(frozen=True, slots=True)
class Fault:
    """A deliberate breach of the protocol; either an OrderFault or a ResponseFault.

    `botocore` describes botocore's reaction in a stream. `on_body` applies the fault to the body of a response that is
    not a stream; None if only a stream can have the fault. `seconds` is the duration of timed faults (`stall`,
    `slow_first_byte`). `no_answer`: the fault replaces the whole answer.
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
        """Print the repr. Without this method, hypothesis would print all fields of the dataclass in its reports."""
        del cycle  # a fault cannot hold itself
        printer.text(repr(self))


@dataclass(frozen=True, slots=True, repr=False)
class ResponseFault(Fault):
    """A fault of any level except the order of events; `on_stream` applies it to a streaming response."""

    on_stream: Change = field(kw_only=True)


DURATIONS = {"stall": float("inf"), "slow_first_byte": 1.0}
"""The default durations of the timed faults, in seconds."""


@dataclass(frozen=True, slots=True)
class FaultPlacement:
    """A fault at its position in an answer with `events` events. `Place` defines the meaning of `after`."""

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
        match self.fault.place:
            case "position":
                return f"{self.fault.name} at event {self.after}"
            case "whole answer":
                return self.fault.name
            case _:
                return f"{self.fault.name} after {self.after} events"


def place(fault: Fault, after: int | None, events: int) -> FaultPlacement:
    """Return the placement of a fault after the first `after` of an answer's `events` events, by default in the middle.

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


Cut = Callable[[bytes], int]

GARBAGE: Final = b"\r\n<!-- served by a proxy -->\r\n"
JSON: Final = b'{"message":"This is JSON, and a stream of events is due."}'

_ORDINARY_HEADERS: Final = frozenset({*JSON_HEADERS, *STREAM_HEADERS})
"""The names of the headers of successful responses; `send_nothing` drops all others."""

_HEADERS_LENGTH: Final = slice(4, 8)


def in_prelude(frame: bytes) -> int:
    """Return the number of bytes up to the middle of the prelude."""
    return PRELUDE_LENGTH // 2


def in_headers(frame: bytes) -> int:
    """Return the number of bytes up to the middle of the headers."""
    return PRELUDE_LENGTH + int.from_bytes(frame[_HEADERS_LENGTH]) // 2


def in_middle(data: bytes) -> int:
    """Return the number of bytes up to the middle of the frame."""
    return len(data) // 2


def _on_frames(change: Callable[[Iterator[Chunk], FaultPlacement], Iterator[Chunk]]) -> Change:
    """Return a Change that applies `change` to the chunks of a stream. Each chunk contains one frame."""
    return lambda response, placement: replace(response, chunks=change(iter(response.chunks), placement))


def _on_next(change: Callable[[Chunk, FaultPlacement], Chunk], *, is_last: bool = False) -> Change:
    """Return a Change that applies `change` to the first frame after the fault's position.

    If `is_last` is true, all frames after the changed frame are dropped.
    """

    def changed(chunks: Iterator[Chunk], placement: FaultPlacement) -> Iterator[Chunk]:
        yield from islice(chunks, placement.after)
        for following in islice(chunks, 1):
            yield change(following, placement)
        if not is_last:
            yield from chunks

    return _on_frames(changed)


def cut(cut: Cut) -> Change:
    """Return a Change that cuts the first frame after the fault's position and drops all later frames.

    The HTTP response ends normally.
    """
    return _on_next(lambda chunk, _: Chunk(chunk.data[: cut(chunk.data)], chunk.delay), is_last=True)


def flip(place: int | None) -> Change:
    """Return a Change that flips the lowest bit of one byte in the first frame after the fault's position.

    `place` is the index of the byte in the frame; None is the last byte.
    """

    def flipped(chunk: Chunk, _: FaultPlacement) -> Chunk:
        data = bytearray(chunk.data)
        data[-1 if place is None else place] ^= 1
        return chunk._replace(data=bytes(data))

    return _on_next(flipped)


PRELUDE_CRC: Final = PRELUDE_LENGTH - 1
"""The index of the last byte of the prelude's CRC in a frame."""


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
    """Return a 200 response without a body. A streaming response keeps its header `Transfer-Encoding: chunked`."""
    changes = {"Content-Length": "0"}
    kept = tuple((name, changes.get(name, value)) for name, value in response.headers if name in _ORDINARY_HEADERS)
    return replace(response, status=200, headers=kept, chunks=())


def send_json(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Return a 200 response with a JSON body instead of the stream."""
    changes = {"Content-Type": "application/json", "Transfer-Encoding": str(len(JSON))}
    return replace(response, headers=_with_length(response.headers, changes), chunks=(Chunk(JSON),))


def promise_too_much(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Return the response with a Content-Length one byte larger than its body. The connection closes after the body."""
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
    """Return the headers with these values replaced, and with Transfer-Encoding renamed to Content-Length."""
    names = {"Transfer-Encoding": "Content-Length"}
    return tuple((names.get(name, name), changes.get(name, value)) for name, value in headers)


_end_here: Final = _on_frames(lambda chunks, placement: islice(chunks, placement.after))


def break_stream(broken: Break, change: Change = _end_here) -> Change:
    """Return a Change that applies `change` and then breaks the connection.

    The default `change` drops all frames after the fault's position.
    """
    return lambda response, placement: replace(change(response, placement), broken=broken)


def break_body(broken: Break) -> Change:
    """Return a Change that breaks the connection in the middle of a body that is not a stream.

    The Content-Length remains the length of the whole body.
    """

    def breaking(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
        (chunk,) = response.chunks
        data = chunk.data[: int(len(chunk.data) * placement.part)]
        return replace(response, chunks=(Chunk(data, chunk.delay),), broken=broken)

    return breaking


def stall_stream(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Stall a stream at the fault's position, for the fault's duration or for ever."""
    seconds = placement.fault.seconds or math.inf
    if seconds == math.inf:
        return break_stream("stalled")(response, placement)

    later = _on_next(lambda chunk, _: chunk._replace(delay=chunk.delay + seconds))
    return later(response, placement)


def stall_body(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Stall a body that is not a stream at the fault's position, for the fault's duration or for ever."""
    seconds = placement.fault.seconds or math.inf
    if seconds == math.inf:
        return break_body("stalled")(response, placement)
    (chunk,) = response.chunks
    at = int(len(chunk.data) * placement.part)
    parts = (Chunk(chunk.data[:at], chunk.delay), Chunk(chunk.data[at:], seconds))
    return replace(response, chunks=tuple(part for part in parts if part.data))


def wait(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Delay the whole response, including its head, by the fault's duration."""
    return replace(response, wait=response.wait + (placement.fault.seconds or 0.0))


def leave_stale(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Mark the response as stale: the whole response is sent, but the next request on the same connection fails."""
    return replace(response, stale=True)


def give_no_answer(failure: ConnectionFailure) -> Change:
    """Return a Change that replaces the whole answer with this connection failure."""
    return lambda response, placement: HttpResponse(0, (), (), failure)
