"""A table of named faults in the bytes of frames, in the HTTP response and of the connection.

Each fault changes a response before it is sent: `on_stream` changes a streaming response, `on_body` any other response.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Final

from converse_harness.faults import model
from converse_harness.faults.model import IN_PROCESS, Change, Fault, FaultPlacement, Place, Reaction, Transport
from converse_harness.stream.frames import PRELUDE_LENGTH
from converse_harness.stream.http import JSON_HEADERS, STREAM_HEADERS, Break, Chunk, ConnectionFailure, HttpResponse

_NOT_ASGI: Final[frozenset[Transport]] = frozenset({"boto", "httpx", "server"})
_ON_A_SOCKET: Final[frozenset[Transport]] = frozenset({"server"})


@dataclass(frozen=True, slots=True, repr=False)
class ResponseFault(Fault):
    """A fault of any level except "events"; `on_stream` applies it to a streaming response."""

    on_stream: Change = field(kw_only=True)


GARBAGE: Final = b"\r\n<!-- served by a proxy -->\r\n"
JSON: Final = b'{"message":"This is JSON, and a stream of events is due."}'

_ORDINARY_HEADERS: Final = frozenset({*JSON_HEADERS, *STREAM_HEADERS})
"""The names of the headers of successful responses. The function `_send_nothing` drops all other headers."""

_HEADERS_LENGTH: Final = slice(4, 8)


def _on_frames(change: Callable[[Iterator[Chunk], FaultPlacement], Iterator[Chunk]]) -> Change:
    """Return a Change that replaces the chunks of a stream by the result of `change`. Each chunk contains one frame."""
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


def _cut(length: Callable[[bytes], int]) -> Change:
    """Return a Change that cuts the first frame after the fault's position, and drops all later frames.

    `length` takes the frame, and returns how many of its bytes remain. The HTTP response ends normally.
    """
    return _on_next(lambda chunk, _: Chunk(chunk.data[: length(chunk.data)], chunk.delay), is_last=True)


_cut_in_middle: Final = _cut(lambda frame: len(frame) // 2)


def _flip(place: int) -> Change:
    """Return a Change that flips the lowest bit of one byte in the first frame after the fault's position.

    `place` is the index of the byte in the frame.
    """

    def flipped(chunk: Chunk, _: FaultPlacement) -> Chunk:
        data = bytearray(chunk.data)
        data[place] ^= 1
        return chunk._replace(data=bytes(data))

    return _on_next(flipped)


def _bytewise(chunks: Iterator[Chunk], placement: FaultPlacement) -> Iterator[Chunk]:
    for chunk in chunks:
        last = len(chunk.data) - 1
        for place in range(last):
            yield Chunk(chunk.data[place : place + 1], 0.0 if place else chunk.delay)
        yield chunk._replace(data=chunk.data[-1:], delay=0.0 if last > 0 else chunk.delay)


def _together(chunks: Iterator[Chunk], placement: FaultPlacement) -> Iterator[Chunk]:
    listed = list(chunks)
    events = [event for chunk in listed for event in (chunk.event, *chunk.more) if event is not None]
    data = b"".join(chunk.data for chunk in listed)
    if data:
        yield Chunk(data, sum(chunk.delay for chunk in listed), events[0] if events else None, tuple(events[1:]))


def _send_nothing(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Return a 200 response without a body. For a stream, the header `Transfer-Encoding: chunked` remains."""
    ordinary = [(name, value) for name, value in response.headers if name in _ORDINARY_HEADERS]
    kept = tuple((name, "0" if name == "Content-Length" else value) for name, value in ordinary)
    return replace(response, status=200, headers=kept, chunks=())


def _send_json(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Return a 200 response with a JSON body instead of the stream."""
    changes = {"Content-Type": "application/json", "Transfer-Encoding": str(len(JSON))}
    return replace(response, headers=_with_length(response.headers, changes), chunks=(Chunk(JSON),))


def _promise_too_much(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Return the response with a Content-Length of one byte more than its body.

    The connection closes after the body.
    """
    chunks = tuple(response.chunks)
    promised = str(sum(len(chunk.data) for chunk in chunks) + 1)
    headers = _with_length(response.headers, {"Content-Length": promised, "Transfer-Encoding": promised})
    return replace(response, headers=headers, chunks=chunks, broken=response.broken or "connection closed")


def _with_length(headers: Iterable[tuple[str, str]], changes: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the headers with the values in `changes`, and with Transfer-Encoding renamed to Content-Length.

    The keys of `changes` are the names before the renaming.
    """
    names = {"Transfer-Encoding": "Content-Length"}
    return tuple((names.get(name, name), changes.get(name, value)) for name, value in headers)


_end_here: Final = _on_frames(lambda chunks, placement: islice(chunks, placement.after))


def _break_stream(broken: Break, change: Change = _end_here) -> Change:
    """Return a Change that applies `change` and then breaks the connection.

    The default `change` drops all frames after the fault's position.
    """
    return lambda response, placement: replace(change(response, placement), broken=broken)


def _halves(response: HttpResponse, placement: FaultPlacement, later: float = 0.0) -> tuple[Chunk, Chunk]:
    """Return the part of a body before the fault, and the part after it; the body is not a stream.

    `later` is the pause between the two parts in seconds.
    """
    (chunk,) = response.chunks
    at = int(len(chunk.data) * placement.part)
    return Chunk(chunk.data[:at], chunk.delay), Chunk(chunk.data[at:], later)


def _break_body(broken: Break) -> Change:
    """Return a Change that breaks the connection within a body that is not a stream, at the fault's position.

    The Content-Length remains the length of the whole body.
    """
    return lambda response, placement: replace(response, chunks=_halves(response, placement)[:1], broken=broken)


def _stall_stream(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Stall a stream at the fault's position, for the fault's duration or for ever."""
    seconds = placement.fault.seconds or math.inf
    later = _on_next(lambda chunk, _: chunk._replace(delay=chunk.delay + seconds))
    return (_break_stream("stalled") if seconds == math.inf else later)(response, placement)


def _stall_body(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Stall a body that is not a stream at the fault's position, for the fault's duration or for ever."""
    seconds = placement.fault.seconds or math.inf
    if seconds == math.inf:
        return _break_body("stalled")(response, placement)
    return replace(response, chunks=tuple(part for part in _halves(response, placement, seconds) if part.data))


def _wait(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Delay the whole response, including its head, by the fault's duration."""
    return replace(response, wait=response.wait + (placement.fault.seconds or 0.0))


def _leave_stale(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
    """Mark the response as stale: it is sent completely, but the client's next request on this connection fails."""
    return replace(response, stale=True)


def _frames(
    name: str, sentence: str, place: Place, botocore: str, change: Change, *, reaction: Reaction = "either"
) -> ResponseFault:
    return ResponseFault(name, sentence, "frames", place, botocore, on_stream=change, reaction=reaction)


def _no_answer(
    failure: ConnectionFailure, sentence: str, botocore: str, transports: frozenset[Transport]
) -> ResponseFault:
    def change(response: HttpResponse, placement: FaultPlacement) -> HttpResponse:
        return HttpResponse(0, (), (), failure)

    return ResponseFault(
        failure.replace(" ", "_"),
        sentence,
        "connection",
        "whole answer",
        botocore,
        on_stream=change,
        on_body=change,
        transports=transports,
        reaction="fail",
        no_answer=True,
    )


_TABLE: Final = (
    _frames(
        "bad_crc",
        "A frame does not match its CRC.",
        "in event",
        model.CHECKSUM,
        _flip(-1),
        reaction="fail",
    ),
    _frames(
        "bad_prelude_crc",
        "The lengths at the start of a frame do not match their CRC.",
        "in event",
        model.CHECKSUM,
        _flip(PRELUDE_LENGTH - 1),
        reaction="fail",
    ),
    _frames(
        "truncated_frame",
        "The last frame is cut off, and the HTTP response ends correctly.",
        "in event",
        model.ENDS,
        _cut_in_middle,
        reaction="fail",
    ),
    _frames(
        "cut_in_prelude",
        "The last frame is cut off in its prelude, and the HTTP response ends correctly.",
        "in event",
        model.ENDS,
        _cut(lambda frame: PRELUDE_LENGTH // 2),
        reaction="fail",
    ),
    _frames(
        "cut_in_headers",
        "The last frame is cut off in its headers, and the HTTP response ends correctly.",
        "in event",
        model.ENDS,
        _cut(lambda frame: PRELUDE_LENGTH + int.from_bytes(frame[_HEADERS_LENGTH]) // 2),
        reaction="fail",
    ),
    _frames(
        "garbage_after_end",
        "Bytes that are not a frame follow the last frame.",
        "whole answer",
        model.CHECKSUM,
        _on_frames(lambda chunks, _: chain(chunks, [Chunk(GARBAGE)])),
    ),
    ResponseFault(
        "one_byte_chunks",
        "Every byte travels in an HTTP chunk of its own; nothing else is wrong.",
        "HTTP",
        "whole answer",
        model.HANDS_OUT,
        on_stream=_on_frames(_bytewise),
        reaction="ignore",
    ),
    ResponseFault(
        "one_chunk",
        "All frames travel in one HTTP chunk; nothing else is wrong.",
        "HTTP",
        "whole answer",
        model.HANDS_OUT,
        on_stream=_on_frames(_together),
        reaction="ignore",
    ),
    ResponseFault(
        "empty_200",
        "The answer is a 200 without a body.",
        "HTTP",
        "whole answer",
        model.ENDS,
        on_stream=_send_nothing,
        on_body=_send_nothing,
        reaction="fail",
    ),
    ResponseFault(
        "json_for_stream",
        "The answer is a 200 with JSON where a stream is expected.",
        "HTTP",
        "whole answer",
        model.CHECKSUM,
        on_stream=_send_json,
        reaction="fail",
    ),
    ResponseFault(
        "wrong_content_length",
        "The Content-Length is larger than the body that is sent before the connection is closed.",
        "HTTP",
        "whole answer",
        model.NO_NOTICE,
        on_stream=_promise_too_much,
        on_body=_promise_too_much,
        transports=_NOT_ASGI,
    ),
    ResponseFault(
        "reset",
        "The peer resets the connection (RST) between two frames.",
        "connection",
        "between",
        model.PROTOCOL,
        on_stream=_break_stream("connection reset"),
        on_body=_break_body("connection reset"),
        transports=_NOT_ASGI,
        reaction="fail",
    ),
    ResponseFault(
        "closed",
        "The peer closes the connection (FIN) in the middle of a frame.",
        "connection",
        "in event",
        model.PROTOCOL,
        on_stream=_break_stream("connection closed", _cut_in_middle),
        on_body=_break_body("connection closed"),
        reaction="fail",
    ),
    ResponseFault(
        "stall",
        "Nothing more is sent, and the connection stays open; `.lasting(seconds)` goes on after that time.",
        "connection",
        "between",
        model.TIMEOUT,
        on_stream=_stall_stream,
        on_body=_stall_body,
        seconds=model.DURATIONS["stall"],
        reaction="fail",
    ),
    ResponseFault(
        "slow_first_byte",
        "Nothing is sent for a second, not even the head; `.lasting(seconds)` for another time.",
        "connection",
        "whole answer",
        model.HANDS_OUT,
        on_stream=_wait,
        on_body=_wait,
        seconds=model.DURATIONS["slow_first_byte"],
        reaction="ignore",
    ),
    ResponseFault(
        "stale_connection",
        "The answer is whole; the next request on its connection gets a reset (RST) in place of an answer.",
        "connection",
        "whole answer",
        model.HANDS_OUT,
        on_stream=_leave_stale,
        on_body=_leave_stale,
        transports=_ON_A_SOCKET,
    ),
    _no_answer("connection refused", "The connection is refused.", "raises EndpointConnectionError", IN_PROCESS),
    _no_answer(
        "connect timeout",
        "The connection cannot be made in time; in process the error comes at once.",
        "raises ConnectTimeoutError",
        IN_PROCESS,
    ),
    _no_answer(
        "read timeout",
        "No answer comes in time; in process the error comes at once.",
        "raises ReadTimeoutError",
        model.EVERY_TRANSPORT,
    ),
)

RESPONSE_FAULTS: Final[Mapping[str, Fault]] = {fault.name: fault for fault in _TABLE}
"""All faults by name, except the faults in the order of events, which are in ORDER_FAULTS."""
