"""Fault: its positions in an answer, the transports that can express it, and its effect on a response.

The named faults are in `converse_harness.faults`; a Reply stores each of its faults as a FaultPlacement.
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
"""The level at which a fault breaks the protocol, in the order in which a reply's faults are applied, one per level.

The connection comes before HTTP, because its faults count events, which HTTP faults may spread over other chunks."""


Place = Literal["position", "between", "in event", "whole answer"]
"""The meaning of a fault's `after`: the index of an event at which an order fault is possible (`position`), the number
of whole events before the fault (`between`, `in event`), or nothing for a fault of the `whole answer`."""

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
"""The reactions of botocore to a fault in a stream; the text after a semicolon is for the older release named there."""

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
        """Print the repr; otherwise hypothesis would print the dataclass's fields in its counterexamples."""
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
    """A fault at its position in an answer of `events` events; `Place` defines the meaning of `after`."""

    fault: Fault
    after: int
    events: int

    @property
    def part(self) -> float:
        """The fraction of a whole body that precedes the fault, from 0 to 1."""
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
    """Place a fault in an answer of this many events, by default in the middle.

    Raises ReplyError if the fault cannot be placed there.
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
    """Return a Change that applies `change` to the chunks of a stream, each of which is one frame."""
    return lambda response, placement: replace(response, chunks=change(iter(response.chunks), placement))


def _on_next(change: Callable[[Chunk, FaultPlacement], Chunk], *, is_last: bool = False) -> Change:
    """Return a Change of the first frame after the fault's position; with `is_last` that frame ends the stream."""

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
    """Flip the lowest bit of the byte at `place` in the next frame; None is the frame's last byte."""

    def flipped(chunk: Chunk, _: FaultPlacement) -> Chunk:
        data = bytearray(chunk.data)
        data[-1 if place is None else place] ^= 1
        return chunk._replace(data=bytes(data))

    return _on_next(flipped)


PRELUDE_CRC: Final = PRELUDE_LENGTH - 1
"""The offset in a frame of the last byte of the prelude's CRC."""


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
    """Return a 200 response without a body; for a stream, its headers still contain `Transfer-Encoding: chunked`."""
    changes = {"Content-Length": "0"}
    kept = tuple((name, changes.get(name, value)) for name, value in response.headers if name in _ORDINARY_HEADERS)
    return replace(response, status=200, headers=kept, chunks=())


def send_json(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Return a 200 response with a JSON body instead of the stream."""
    changes = {"Content-Type": "application/json", "Transfer-Encoding": str(len(JSON))}
    return replace(response, headers=_with_length(response.headers, changes), chunks=(Chunk(JSON),))


def promise_too_much(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Return the response with a Content-Length one byte larger than its body; then the connection is closed."""
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
    """Return a Change that breaks the connection after `change`, which by default ends the stream at the fault."""
    return lambda response, placement: replace(change(response, placement), broken=broken)


def break_body(broken: Break) -> Change:
    """Return a Change that breaks the connection within a whole body, whose Content-Length stays the full length."""

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
    """Stall a whole body at the fault's position, for the fault's duration or for ever."""
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
    """Send the whole answer, but let the client's next request on this connection fail."""
    return replace(response, stale=True)


def give_no_answer(failure: ConnectionFailure) -> Change:
    """Return a Change that replaces the whole answer by this failure of the connection."""
    return lambda response, placement: HttpResponse(0, (), (), failure)
