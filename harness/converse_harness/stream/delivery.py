"""The HTTP chunks of an event stream, encoded while the stream is sent, and the record of the chunks that a client
received.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, repeat
from typing import Any, NamedTuple

from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import decode
from converse_harness.stream.http import Chunk

Event = Mapping[str, Any]


class SentEvent(NamedTuple):
    """An event that the client received: the AWS event dict and the seconds since the request arrived."""

    event: Event
    at: float


def in_chunks(frames: Iterable[bytes]) -> bytes:
    """Encode frames in HTTP's transfer encoding `chunked`, one chunk per frame."""
    return b"".join([b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames])


class Frames(list[bytes]):
    """The frames of a stream except the last one. The list is complete and final once the stream was sent."""

    def __init__(self, events: Callable[[], Iterable[Event]], frames: Iterable[bytes] = ()) -> None:
        super().__init__(frames)
        self.events = events
        """Function that returns the events of these frames; each call makes new events."""

    @cached_property
    def chunked(self) -> bytes:
        """The frames in HTTP's transfer encoding `chunked`, as one byte string."""
        return in_chunks(self)


@dataclass(slots=True, eq=False)
class StreamChunks(Iterable[Chunk]):
    """The chunks of a stream without faults. Each chunk is one frame.

    `first` is the pause in seconds before the first chunk, `each` the pause before each further chunk. `runs` yields
    all frames except the last one, in lists. Frames are encoded on demand, at most once, and are also appended to
    `frames`. `last` takes the number of frames before the final chunk; it returns the final chunk, or None.
    """

    frames: Frames
    runs: Iterable[list[bytes]]
    last: Callable[[int], Chunk | None]
    first: float
    each: float

    @property
    def is_paced(self) -> bool:
        """Whether the stream has any pause."""
        return bool(self.first or self.each)

    def __iter__(self) -> Iterator[Chunk]:
        return self.with_events(iter(self.frames.events()))

    def with_events(self, events: Iterator[Event | None]) -> Iterator[Chunk]:
        """Iterate over the chunks. Each gets the next item of `events`; only the last chunk keeps its own event."""
        sent, delay = 0, self.first
        for run in self.runs:
            for frame in run:
                yield Chunk(frame, delay, next(events))
                delay = self.each
            sent += len(run)
        last = self.last(sent)
        if last is not None:
            yield last


def to_send(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Return an iterator over chunks. In the chunks of StreamChunks, `event` is None, except in the last chunk."""
    return chunks.with_events(repeat(None)) if isinstance(chunks, StreamChunks) else iter(chunks)


@dataclass(slots=True, eq=False)
class SentChunks:
    """The chunks of an answer that a client received, with their times.

    The sender calls `begin` once, and then `add` for each chunk that the client received. For StreamChunks, only times
    and frames are stored; the property `events` creates the events from the frames.
    """

    started: float = 0.0
    """The arrival time of the request, on the same clock as `times`."""
    times: array[float] = field(default_factory=lambda: array("d"))
    """The times of the received chunks: first the chunks in `_frames`, then the chunks in `chunks`."""
    chunks: list[Chunk] = field(default_factory=list[Chunk])
    endless: bool = False
    """Whether the answer stalled for a client in this process without a read timeout, which would wait for ever.
    """
    _frames: Frames | None = None

    def begin(self, chunks: Iterable[Chunk], started: float) -> None:
        """Store which chunks will be sent; `started` is the arrival time of the request."""
        self.started = started
        if isinstance(chunks, StreamChunks):
            self._frames = chunks.frames

    def add(self, chunk: Chunk, at: float) -> None:
        """Store a chunk that the client has received; `at` is its time, on the same clock as `started`."""
        self.times.append(at)  # changed before `chunks`, so that a concurrent reader misses only this chunk
        if self._frames is None:
            self.chunks.append(chunk)
        elif chunk.event is not None:
            self.chunks.append(Chunk(chunk.data) if "metadata" in chunk.event else chunk)

    def extend(self, chunks: Iterable[Chunk], at: float = 0.0) -> None:
        """Store several chunks that the client has received at the same time."""
        for chunk in chunks:
            self.add(chunk, at)

    def __bool__(self) -> bool:
        return bool(self.times)

    @property
    def _framed(self) -> int:
        return len(self.times) - len(self.chunks)

    @property
    def events(self) -> Iterator[SentEvent]:
        """The events in the received chunks, with their times."""
        ats = iter(self.times[:])
        made = self._frames.events() if self._frames is not None else ()
        for event, at in zip(islice(made, self._framed), ats, strict=False):
            yield SentEvent(event, at - self.started)
        for chunk, at in zip(self.chunks, ats, strict=False):
            for event in self._events_in(chunk):
                yield SentEvent(event, at - self.started)

    def _events_in(self, chunk: Chunk) -> Iterable[Event]:
        if chunk.event is not None:
            return chunk.event, *chunk.more
        return () if self._frames is None else (decode_event(decode(chunk.data))[0],)

    @property
    def data(self) -> list[bytes]:
        """The bytes of each received chunk."""
        return [*(self._frames or ())[: self._framed], *(chunk.data for chunk in self.chunks)]

    @property
    def ends_with_metadata(self) -> bool:
        """Whether the last received chunk is the metadata event."""
        if not self.chunks:
            return False
        last = self.chunks[-1]
        if last.event is None:
            return self._frames is not None
        return "metadata" in (last.event, *last.more)[-1]

    @property
    def last_at(self) -> float | None:
        """Seconds from the request to the last received chunk; None if no chunk was received."""
        return self.times[-1] - self.started if self.times else None
