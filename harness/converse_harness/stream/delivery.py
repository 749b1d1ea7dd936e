"""The HTTP chunks of an event stream, encoded while the stream is sent, and the record of the chunks that a client
received.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, repeat
from typing import Any, Final, NamedTuple

from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import decode
from converse_harness.stream.http import Chunk

Event = Mapping[str, Any]


class SentEvent(NamedTuple):
    """An event that the client received: the AWS event dict and the seconds since the request arrived."""

    event: Event
    at: float


def in_chunks(frames: Iterable[bytes]) -> bytes:
    """Encode frames in HTTP's transfer encoding `chunked`: each frame becomes one HTTP chunk."""
    return b"".join([b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames])


class Frames(list[bytes]):
    """The frames of a stream except the last one. The list is complete and final once the stream was sent."""

    def __init__(self, events: Callable[[], Iterable[Event]], frames: Iterable[bytes] = ()) -> None:
        super().__init__(frames)
        self.events = events
        """A function that returns the events of these frames. Each call creates the events anew."""

    @cached_property
    def chunked(self) -> bytes:
        """The frames in HTTP's transfer encoding `chunked`, as one byte string."""
        return in_chunks(self)


@dataclass(slots=True, eq=False)
class StreamChunks(Iterable[Chunk]):
    """The chunks of a stream without faults. Each chunk is one frame.

    `first` is the pause in seconds before the first chunk, `each` the pause before each further chunk. `runs` yields
    lists of frames: all frames except the last one. Frames are encoded on demand, at most once, and are also appended
    to `frames`. `last(number of frames so far)` returns the last chunk, or None if the stream has no further chunk.
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
        """Yield the chunks. The `event` of a chunk is the next item of `events`; only the last chunk has an event of
        its own.
        """
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
    """Return an iterator over `chunks`.

    If `chunks` is a StreamChunks, `event` is None in every chunk except the last, so that no events are created.
    """
    return chunks.with_events(repeat(None)) if isinstance(chunks, StreamChunks) else iter(chunks)


@dataclass(slots=True, eq=False)
class SentChunks:
    """The chunks of an answer that a client received, with the times at which it received them.

    The sender calls `begin` once, then `add` for each chunk that the client received, and `pack` at the end of the
    answer. For StreamChunks, only times and frames are stored; the property `events` creates the events from the
    frames. The length is the number of the received chunks.
    """

    started: float = 0.0
    """The arrival time of the request, on the same clock as `times`."""
    endless: bool = False
    """Whether the answer stalled for an intercepted client (one without a socket) that has no read timeout. With a
    socket, this client would wait for ever."""
    unread: bool = False
    """Whether the client closed its connection before it had read everything that was sent to it over a socket."""
    _times: array[float] | bytes = field(default_factory=lambda: array("d"))
    """The times of the received chunks, and after `pack` the bytes of this array."""
    _chunks: list[Chunk] | tuple[Chunk | bytes, ...] = field(default_factory=list[Chunk])
    """The received chunks that are not in `_frames`. After `pack`, a chunk without an event is only its bytes."""
    _frames: Frames | None = None

    @property
    def times(self) -> array[float]:
        """The times of the received chunks: first the chunks in the frames, then the others. A sender may extend it."""
        return self._unpacked()[0]

    def _unpacked(self) -> tuple[array[float], list[Chunk]]:
        times, chunks = self._times, self._chunks
        if isinstance(times, bytes) or isinstance(chunks, tuple):
            times = array("d", times)
            chunks = [each if isinstance(each, Chunk) else Chunk(each) for each in chunks]
            self._times, self._chunks = times, chunks
        return times, chunks

    def pack(self) -> None:
        """Store the chunks in as few objects as possible, because the answer has ended.

        A server keeps thousands of calls, and Python's garbage collector stops it for as long as it visits them all. It
        does not visit bytes, nor a tuple that contains nothing but bytes. A chunk that is added later unpacks all.
        """
        times, chunks = self._unpacked()
        packed = tuple([each if each.event is not None else each.data for each in chunks])
        seconds = times.tobytes()
        # No function is called between these two steps: a reader in another thread gets both packed, or none.
        self._times, self._chunks = seconds, packed

    def begin(self, chunks: Iterable[Chunk], started: float) -> None:
        """Store the arrival time of the request, `started`, and the frames of the chunks that will be sent."""
        self.started = started
        if isinstance(chunks, StreamChunks):
            self._frames = chunks.frames

    def add(self, chunk: Chunk, at: float) -> None:
        """Store a chunk that the client has received; `at` is its time, on the same clock as `started`."""
        times, chunks = self._unpacked()
        times.append(at)  # before `chunks`, so that another thread that reads now misses only this chunk
        if self._frames is None:
            chunks.append(chunk)
        elif chunk.event is not None:
            chunks.append(Chunk(chunk.data) if "metadata" in chunk.event else chunk)

    def extend(self, chunks: Iterable[Chunk], at: float = 0.0) -> None:
        """Store several chunks that the client has received at the same time."""
        for chunk in chunks:
            self.add(chunk, at)

    def __len__(self) -> int:
        times = self._times
        return len(times) // _SIZE if isinstance(times, bytes) else len(times)

    @property
    def _framed(self) -> int:
        return len(self) - len(self._chunks)

    @property
    def events(self) -> Iterator[SentEvent]:
        """The events in the received chunks. The time of each event is in seconds since the request arrived."""
        ats = iter(array("d", self._times))
        made = self._frames.events() if self._frames is not None else ()
        for event, at in zip(islice(made, self._framed), ats, strict=False):
            yield SentEvent(event, at - self.started)
        for chunk, at in zip(self._chunks, ats, strict=False):
            for event in self._events_in(chunk):
                yield SentEvent(event, at - self.started)

    def _events_in(self, chunk: Chunk | bytes) -> Iterable[Event]:
        if isinstance(chunk, Chunk) and chunk.event is not None:
            return chunk.event, *chunk.more
        return () if self._frames is None else (decode_event(decode(_data(chunk)))[0],)

    @property
    def data(self) -> list[bytes]:
        """The bytes of each received chunk."""
        return [*(self._frames or ())[: self._framed], *map(_data, self._chunks)]

    @property
    def ends_with_metadata(self) -> bool:
        """Whether the last received chunk is the metadata event."""
        if not self._chunks:
            return False
        last = self._chunks[-1]
        if not isinstance(last, Chunk) or last.event is None:
            return self._frames is not None
        return "metadata" in (last.event, *last.more)[-1]

    @property
    def last_at(self) -> float | None:
        """The number of seconds from the request to the last received chunk; None if no chunk was received."""
        times = array("d", self._times[-_SIZE:])
        return times[-1] - self.started if times else None


_SIZE: Final = array("d").itemsize


def _data(chunk: Chunk | bytes) -> bytes:
    return chunk.data if isinstance(chunk, Chunk) else chunk
