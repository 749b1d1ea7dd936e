"""Send one answer over a socket: write each chunk when it is due, together with other chunks that are due."""

from __future__ import annotations

import math
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Final, Protocol, cast

from converse_harness.endpoint.call import CallOutcome
from converse_harness.intercept.exchange import TransportExchange, http_date
from converse_harness.stream.delivery import SentChunks, StreamChunks, to_send
from converse_harness.stream.http import Chunk
from converse_harness.stream.http1 import Http1
from converse_harness.stream.http_protocol import Event

if TYPE_CHECKING:
    from converse_harness.server.http.h2 import Http2

_BATCH: Final = 32_768
"""Number of bytes that a delivery writes before it lets other tasks of the event loop run."""

WAITING: Final = Chunk(b"", math.inf)
"""Placeholder for a chunk that has not arrived yet."""


class Arriving(Iterator[Chunk]):
    """Iterates over the pieces of a body that arrive while the answer is being sent.

    Yields WAITING if the next piece has not arrived. Another thread appends to `pieces` and then calls `came`. If
    WAITING was yielded before, `came` calls `waker`.
    """

    def __init__(self, pieces: Sequence[tuple[bytes, float]]) -> None:
        self.waker: Callable[[], None] | None = None
        self._pieces = pieces
        self._next = 0
        self._over = False
        self._asleep = False

    def __next__(self) -> Chunk:
        while True:
            # Read `_over` before the pieces: the last piece is appended before `_over` is set, so none is missed.
            over = self._over
            data = self._piece()
            if data is not None:
                return Chunk(data)
            if over:
                raise StopIteration
            if self._asleep:
                return WAITING
            self._asleep = True  # look again: a piece that arrived before this line did not call `waker`

    def _piece(self) -> bytes | None:
        """Return the next piece; None if it has not arrived."""
        if self._next == len(self._pieces):
            return None
        self._next += 1
        return self._pieces[self._next - 1][0]

    def came(self, *, end: bool = False) -> None:
        """Note that a piece has arrived, or the end of the body (`end`). Call `waker` if WAITING was yielded."""
        self._over = self._over or end
        if self._asleep and self.waker is not None:
            self._asleep = False
            self.waker()


class Link(Protocol):
    """The members of a Connection that a SocketDelivery uses."""

    loop: AbstractEventLoop
    http: Http1 | Http2
    writable: bool

    def flush(self) -> None:
        """Send the bytes that `http` has ready."""

    def finished(self, delivery: SocketDelivery, arrived: list[Event], *, stale: bool = False) -> None:
        """Remove a delivery that is written in full or whose stream was reset. Then handle the events in `arrived`.

        If `stale` is true, the next request on this connection causes a reset.
        """

    def hang_up(self) -> None:
        """Close the connection normally (FIN) once everything is written."""

    def reset(self) -> None:
        """Reset the connection (RST) once everything is written."""


_SHORT: Final = 128
"""Maximum number of frames that are written together without checking whether the client reads."""


def _in_runs(stream: StreamChunks) -> Iterator[Chunk | list[bytes]]:
    """Yield the frames of `stream`, which has no pauses, in lists of at most _SHORT frames.

    The last chunk of the stream, if any, follows as a Chunk of its own.
    """
    sent = 0
    for run in stream.runs:
        sent += len(run)
        yield from [run] if len(run) <= _SHORT else (run[at : at + _SHORT] for at in range(0, len(run), _SHORT))
    last = stream.last(sent)
    if last is not None:
        yield last


@dataclass(slots=True, eq=False)
class SocketDelivery:
    """Sends the answer of one exchange without a task or thread of its own: `run` continues until it has to wait.

    So 500 streams are 500 objects and one heap of timers, and the server stops them without cancelling tasks.

    The delivery waits for the exchange, a timer, the socket (`Link.writable`), the client's flow-control window, or
    chunks from another thread. The code that notices the change calls `run` again. `owner` is the fake that answers;
    closing the fake breaks off the answer.
    """

    link: Link
    stream: int
    owner: object
    outcome: CallOutcome = "still running"
    _exchange: TransportExchange = field(init=False)
    _taken: SentChunks = field(init=False)
    _started: bool = False
    _asked: float = field(init=False)
    _due: float = field(init=False)
    _timer: TimerHandle | None = None
    _headed: bool = False
    _chunks: Iterator[Chunk | list[bytes]] = field(default_factory=lambda: repeat(WAITING))
    _chunk: Chunk | list[bytes] | None = WAITING
    _is_due: bool = False
    """Whether the delay of `_chunk` has passed."""
    _at: int = 0
    """The number of bytes of `_chunk` that are already written."""
    _batch: int = 0

    def __post_init__(self) -> None:
        self._asked = self._due = self.link.loop.time()

    @property
    def taken(self) -> SentChunks:
        """The record of the chunks that were written. The delivery must have started."""
        return self._taken

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of events. The delivery must have started."""
        return any(name == "Transfer-Encoding" for name, _ in self._exchange.response.headers)

    def start(self, exchange: TransportExchange) -> None:
        """Start to send the answer of an exchange.

        The head of a chunked answer is sent immediately, any other head together with the body.
        """
        if self.outcome != "still running":
            exchange.ended(self.outcome)
            self.link.flush()
            return
        self._started = True
        self._exchange, self._taken, response = exchange, exchange.taken, exchange.response
        if response.failure is not None:
            # An accepted connection can fail in two ways: the server sends nothing, or it closes the connection.
            self._end("cut")
            if response.failure == "connection closed":
                self.link.hang_up()
        elif response.wait:
            self._due += response.wait
            self._timer = self.link.loop.call_at(self._due, self._begin)
        else:
            self._begin()

    def _end(self, outcome: CallOutcome) -> None:
        """Set `self.outcome` to `outcome`, unless it was set before.

        If sending has started, report `self.outcome` to the exchange.
        """
        if self.outcome == "still running":
            self.outcome = outcome
        if self._started:
            self._exchange.ended(self.outcome)
            self._taken.pack()

    def _begin(self) -> None:
        self._timer = None
        response = self._exchange.response
        chunks = response.chunks
        if isinstance(chunks, Arriving):
            chunks.waker = self._wake
        self._taken.begin(chunks, self._asked)
        if isinstance(chunks, StreamChunks) and not chunks.is_paced and isinstance(self.link.http, Http1):
            self._chunks = _in_runs(chunks)
        else:
            self._chunks = to_send(chunks)
        self._advance()
        if not self._headed and any(name == "Transfer-Encoding" for name, _ in response.headers):
            self._head()
        self.run()

    def run(self) -> None:
        """Write chunks until the delivery has to wait or is complete."""
        link = self.link
        while self.outcome == "still running" and self._timer is None:
            chunk = self._chunk
            if chunk is WAITING:
                self._advance()
                if self._chunk is WAITING:
                    break
                continue
            if chunk is None:
                self._finish()
                return
            if not link.writable or (isinstance(chunk, Chunk) and chunk.delay and not self._at and self._waits(chunk)):
                break
            if self._batch > _BATCH:
                self._batch = 0
                link.loop.call_soon(self.run)
                break
            if not self._headed:
                self._head()
            if isinstance(chunk, list):
                self._batch += cast("Http1", link.http).frames(chunk)
                self._taken.times.extend(repeat(link.loop.time(), len(chunk)))
                if len(self._taken) == 1:  # the first event of a new reply: send it before the others are encoded
                    link.flush()
                self._advance()
                continue
            room = link.http.room(self.stream)
            if room >= len(chunk.data) - self._at:
                self._write_due(chunk, min(room, _BATCH))
            elif room > 0:
                link.http.body(self.stream, chunk.data[self._at : self._at + room])
                self._at += room
                self._batch += room
            else:
                break  # `room` is 0 if the flow-control window is full, -1 if the stream has ended
        link.flush()

    def _write_due(self, chunk: Chunk, room: int) -> None:
        """Write the rest of `chunk`, then further chunks without a delay, as long as all fit in `room` bytes."""
        body, stream = self.link.http.body, self.stream
        body(stream, chunk.data[self._at :])
        size = len(chunk.data) - self._at
        self._at = 0
        written = [chunk]
        self._advance()
        while isinstance(after := self._chunk, Chunk) and not after.delay:
            size += len(after.data)
            if size > room:
                break
            body(stream, after.data)
            written.append(after)
            self._advance()
        self._batch += size
        self._taken.extend(written, self.link.loop.time())

    def _head(self) -> None:
        self._headed = True
        self.link.http.head(self.stream, self._exchange.response, http_date())

    def _waits(self, chunk: Chunk) -> bool:
        """Return whether `chunk` is not due yet; if so, set a timer.

        The delay of a chunk starts when the previous chunk was due.
        """
        if self._is_due:
            return False
        self._due += chunk.delay
        if self._due <= self.link.loop.time():
            self._is_due = True
            return False
        self._timer = self.link.loop.call_at(self._due, self._on_timer)
        return True

    def _on_timer(self) -> None:
        self._timer, self._is_due = None, True
        self.run()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the event loop is closed: the server has stopped
            self.link.loop.call_soon_threadsafe(self.run)

    def _advance(self) -> None:
        self._is_due = False
        try:
            self._chunk = next(self._chunks, None)
        except Exception as error:  # noqa: BLE001 - whatever a script raises, the client must see an end
            problem = {"message": "converse-harness could not go on with an answer", "exception": error}
            self.link.loop.call_exception_handler(problem)
            self.drop("cut")
            self.link.reset()

    def _finish(self) -> None:
        link, http = self.link, self.link.http
        if not self._headed:
            self._head()
        response = self._exchange.response
        broken = response.broken
        self._end("complete" if broken is None else "cut")
        if broken is None:
            link.finished(self, http.end(self.stream), stale=response.stale)
        elif broken == "connection closed":
            link.hang_up()
        elif broken == "connection reset" and http.reset(self.stream):
            link.finished(self, [])
        elif broken == "connection reset":
            link.reset()
        link.flush()

    def drop(self, outcome: CallOutcome) -> None:
        """Stop writing, and set the outcome: the client has disconnected, the fake was closed, or a script failed."""
        if self._timer is not None:
            self._timer.cancel()
        self._chunks, self._chunk = iter(()), None
        self._end(outcome)
