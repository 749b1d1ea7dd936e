"""What faults do to an answer on its way to the door: a Response in, the broken Response out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from converse_harness.faults.model import Breach, Change
from converse_harness.stream.frames import PRELUDE_LENGTH
from converse_harness.stream.http import JSON_HEADERS, STREAM_HEADERS, Break, Chunk, ConnectionFailure, Response

Cut = Callable[[bytes], int]

GARBAGE: Final = b"\r\n<!-- served by a proxy -->\r\n"
JSON: Final = b'{"message":"This is JSON, and a stream of events is due."}'

ORDINARY_HEADERS: Final = frozenset({*JSON_HEADERS, *STREAM_HEADERS})
"""The headers that are not those of an error."""

_HEADERS_LENGTH: Final = slice(4, 8)


def in_prelude(frame: bytes) -> int:
    """Half of the prelude."""
    return PRELUDE_LENGTH // 2


def in_headers(frame: bytes) -> int:
    """The prelude and half of the headers."""
    return PRELUDE_LENGTH + int.from_bytes(frame[_HEADERS_LENGTH]) // 2


def in_middle(data: bytes) -> int:
    """Half."""
    return len(data) // 2


def on_frames(change: Callable[[Iterator[Chunk], Breach], Iterator[Chunk]]) -> Change:
    """A change of a stream's frames, each in a chunk of its own."""
    return lambda response, breach: replace(response, chunks=change(iter(response.chunks), breach))


def cut(cut: Cut) -> Change:
    """Cut the frame that follows and send nothing more; the HTTP response ends as it should."""

    def cut_frames(chunks: Iterator[Chunk], breach: Breach) -> Iterator[Chunk]:
        yield from islice(chunks, breach.after)
        for following in islice(chunks, 1):
            yield Chunk(following.data[: cut(following.data)], following.delay)

    return on_frames(cut_frames)


def flip(place: int | None) -> Change:
    """Flip the lowest bit of one byte of the frame that follows; of its last if None."""

    def flip_frame(chunks: Iterator[Chunk], breach: Breach) -> Iterator[Chunk]:
        yield from islice(chunks, breach.after)
        for following in islice(chunks, 1):
            data = bytearray(following.data)
            data[-1 if place is None else place] ^= 1
            yield following._replace(data=bytes(data))
        yield from chunks

    return on_frames(flip_frame)


PRELUDE_CRC: Final = PRELUDE_LENGTH - 1
"""The last byte of the CRC in the prelude."""


def _with_garbage(chunks: Iterator[Chunk], breach: Breach) -> Iterator[Chunk]:
    return chain(chunks, [Chunk(GARBAGE)])


def _bytewise(chunks: Iterator[Chunk], breach: Breach) -> Iterator[Chunk]:
    for chunk in chunks:
        delay = chunk.delay
        for place in range(len(chunk.data) - 1):
            yield Chunk(chunk.data[place : place + 1], delay)
            delay = 0.0
        yield chunk._replace(data=chunk.data[-1:], delay=delay)


def _together(chunks: Iterator[Chunk], breach: Breach) -> Iterator[Chunk]:
    listed = list(chunks)
    events = [event for chunk in listed for event in (chunk.event, *chunk.more) if event is not None]
    data = b"".join(chunk.data for chunk in listed)
    if data:
        yield Chunk(data, sum(chunk.delay for chunk in listed), events[0] if events else None, tuple(events[1:]))


add_garbage: Final = on_frames(_with_garbage)
send_bytewise: Final = on_frames(_bytewise)
send_together: Final = on_frames(_together)


def send_nothing(response: Response, breach: Breach) -> Response:
    """200 and no body; a stream is chunked all the same."""
    changes = {"Content-Length": "0"}
    kept = tuple((name, changes.get(name, value)) for name, value in response.headers if name in ORDINARY_HEADERS)
    return replace(response, status=200, headers=kept, chunks=())


def send_json(response: Response, breach: Breach) -> Response:
    """200 with JSON where a stream is due."""
    changes = {"Content-Type": "application/json", "Transfer-Encoding": str(len(JSON))}
    return replace(response, headers=_with_length(response.headers, changes), chunks=(Chunk(JSON),))


def promise_too_much(response: Response, breach: Breach) -> Response:
    """A Content-Length of one byte more than there is; then the connection is closed."""
    chunks = tuple(response.chunks)
    promised = str(sum(len(chunk.data) for chunk in chunks) + 1)
    changes = {"Content-Length": promised, "Transfer-Encoding": promised}
    return replace(
        response,
        headers=_with_length(response.headers, changes),
        chunks=chunks,
        broken=response.broken or Break.CLOSED,
    )


def _with_length(headers: Iterable[tuple[str, str]], changes: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers with other values, and with a Content-Length in the place of what says that the body is chunked."""
    names = {"Transfer-Encoding": "Content-Length"}
    return tuple((names.get(name, name), changes.get(name, value)) for name, value in headers)


def break_stream(broken: Break, *, cut: Cut | None = None) -> Change:
    """What happens to the connection after some events, or in the middle of the one that follows."""

    def breaking(response: Response, breach: Breach) -> Response:
        chunks = iter(response.chunks)
        sent: Iterator[Chunk] = islice(chunks, breach.after)
        if cut is not None:
            rest = (Chunk(each.data[: cut(each.data)], each.delay) for each in islice(chunks, 1))
            sent = chain(sent, rest)
        return replace(response, chunks=sent, broken=broken)

    return breaking


def break_body(broken: Break) -> Change:
    """The same at that part of a whole body; its Content-Length still says all of it."""

    def breaking(response: Response, breach: Breach) -> Response:
        (chunk,) = response.chunks
        data = chunk.data[: int(len(chunk.data) * breach.part)]
        return replace(response, chunks=(Chunk(data, chunk.delay),), broken=broken)

    return breaking


def stall_stream(response: Response, breach: Breach) -> Response:
    """Silence after some events: for ever, or for some seconds."""
    seconds = breach.fault.seconds or math.inf
    if seconds == math.inf:
        return break_stream(Break.STALLED)(response, breach)

    def later(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        yield from islice(chunks, breach.after)
        for following in islice(chunks, 1):
            yield following._replace(delay=following.delay + seconds)
        yield from chunks

    return replace(response, chunks=later(iter(response.chunks)))


def stall_body(response: Response, breach: Breach) -> Response:
    """Silence at that part of a whole body."""
    seconds = breach.fault.seconds or math.inf
    if seconds == math.inf:
        return break_body(Break.STALLED)(response, breach)
    (chunk,) = response.chunks
    at = int(len(chunk.data) * breach.part)
    parts = (Chunk(chunk.data[:at], chunk.delay), Chunk(chunk.data[at:], seconds))
    return replace(response, chunks=tuple(part for part in parts if part.data))


def wait(response: Response, breach: Breach) -> Response:
    """Nothing is sent for some seconds, not even the head."""
    return replace(response, wait=response.wait + (breach.fault.seconds or 0.0))


def give_no_answer(failure: ConnectionFailure) -> Change:
    """No answer at all."""
    return lambda response, breach: Response(0, (), (), failure)
