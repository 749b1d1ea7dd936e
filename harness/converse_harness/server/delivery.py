"""The sending of one answer: chunks are written when they are due, as many together as are due."""

from __future__ import annotations

import math
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Protocol

from converse_harness.endpoint.call import CallOutcome
from converse_harness.intercept.exchange import TransportExchange
from converse_harness.server.protocol import Event, HttpProtocol
from converse_harness.stream.delivery import StreamChunks
from converse_harness.stream.http import Chunk

_BATCH: Final = 32_768
"""Bytes that are written before others get their turn."""

WAITING: Final = Chunk(b"", math.inf)
"""What stands in place of a chunk that is not there yet."""


class Arriving(Iterator[Chunk]):
    """Chunks that arrive from elsewhere while the answer is being sent; WAITING in place of a chunk that is not there
    yet.
    """

    def set_waker(self, waker: Callable[[], None]) -> None:
        """Set a function that is called, in any thread, when a new attempt after WAITING is useful."""
        raise NotImplementedError


class Link(Protocol):
    """The interface of a connection for deliveries."""

    loop: AbstractEventLoop
    http: HttpProtocol
    writable: bool

    def date(self) -> str:
        """The value of the Date header."""
        ...

    def flush(self) -> None:
        """Write the protocol's pending bytes."""

    def finished(self, delivery: SocketDelivery, arrived: list[Event]) -> None:
        """Note that an answer was written in full, or its stream reset, and handle requests that arrived meanwhile."""

    def hang_up(self) -> None:
        """Close the connection normally (FIN) once everything is written."""

    def reset(self) -> None:
        """Reset the connection once everything is written (RST)."""


class SocketDelivery:
    """Sends one exchange without a task or thread of its own: `run` continues until it has to wait.

    It waits for a timer, for the socket (`Link.writable`), for the client's window or for chunks from elsewhere; the
    code that notices the change calls `run` again. `owner` is the fake that answers, which may cut the delivery.
    """

    __slots__ = (
        "_at",
        "_batch",
        "_chunk",
        "_chunks",
        "_due",
        "_headed",
        "_ripe",
        "_started",
        "_timer",
        "exchange",
        "link",
        "over",
        "owner",
        "stream",
    )

    def __init__(self, link: Link, stream: int, exchange: TransportExchange, owner: object, started: float) -> None:
        self.link = link
        self.stream = stream
        self.exchange = exchange
        self.owner = owner
        self.over = False
        self._started = self._due = started
        self._timer: TimerHandle | None = None
        self._headed = False
        self._chunks: Iterator[Chunk] = iter(())
        self._chunk: Chunk | None = None
        self._ripe = False
        """Whether the delay of the chunk has passed."""
        self._at = 0
        """How much of the chunk is written."""
        self._batch = 0

    def start(self) -> None:
        """Send the head: a stream's at once, a whole body's together with the body; then continue."""
        response = self.exchange.response
        if response.failure is not None:
            # The two failures that are possible after the connection was accepted: silence, and hanging up.
            self.exchange.ended("cut")
            self.over = True
            if response.failure == "connection closed":
                self.link.hang_up()
            return
        if response.wait:
            self._due += response.wait
            self._timer = self.link.loop.call_at(self._due, self._begin)
        else:
            self._begin()

    def _begin(self) -> None:
        self._timer = None
        response = self.exchange.response
        if (
            isinstance(response.chunks, StreamChunks)
            and response.chunks.is_ready
            and self._write_whole(response.chunks)
        ):
            return
        if isinstance(response.chunks, Arriving):
            response.chunks.set_waker(self._wake)
        self._chunks = self.exchange.taken.begin(response.chunks, self._started)
        self._advance()
        if not self._headed and any(name == "Transfer-Encoding" for name, _ in response.headers):
            self._head()
        self.run()

    def _write_whole(self, stream: StreamChunks) -> bool:
        """Write a stream that is ready in one piece, if the protocol can and there is nothing to wait for."""
        link, taken = self.link, self.exchange.taken
        if self.exchange.response.broken is not None or not link.writable:
            return False
        self._head()
        if not link.http.frames(self.stream, stream.frames):
            return False
        taken.begin(stream, self._started)
        at = link.loop.time()
        taken.times.extend([at] * len(stream.frames))
        last = stream.last(len(stream.frames))
        if last is not None:
            link.http.body(self.stream, last.data)
            taken.add(last, at)
        self._finish()
        return True

    def run(self) -> None:
        """Write until something has to be waited for, or until the end."""
        link = self.link
        while not self.over and self._timer is None:
            chunk = self._chunk
            if chunk is WAITING:
                self._advance()
                if self._chunk is WAITING:
                    break
                continue
            if chunk is None:
                self._finish()
                return
            if not link.writable or (chunk.delay and not self._at and self._waits(chunk)):
                break
            if self._batch > _BATCH:
                self._batch = 0
                link.loop.call_soon(self.run)
                break
            if not self._headed:
                self._head()
            room = link.http.room(self.stream)
            if room >= len(chunk.data) - self._at:
                self._write_due(chunk, min(room, _BATCH))
            elif room > 0:
                self._write_part(chunk, room)
            else:
                break  # at -1 the connection says that the stream is gone
        link.flush()

    def _write_part(self, chunk: Chunk, size: int) -> None:
        self.link.http.body(self.stream, chunk.data[self._at : self._at + size])
        self._at += size
        self._batch += size

    def _write_due(self, chunk: Chunk, room: int) -> None:
        """Write the rest of a chunk, and following chunks without a delay while there is room."""
        body, stream = self.link.http.body, self.stream
        body(stream, chunk.data[self._at :])
        size = len(chunk.data) - self._at
        self._at = 0
        written = [chunk]
        self._advance()
        while (after := self._chunk) is not None and not after.delay:
            size += len(after.data)
            if size > room:
                break
            body(stream, after.data)
            written.append(after)
            self._advance()
        self._batch += size
        self.exchange.taken.extend(written, self.link.loop.time())

    def _head(self) -> None:
        self._headed = True
        self.link.http.head(self.stream, self.exchange.response, self.link.date())

    def _waits(self, chunk: Chunk) -> bool:
        """Whether the chunk is not due yet; its delay starts when the previous chunk was due."""
        if self._ripe:
            return False
        self._due += chunk.delay
        if self._due <= self.link.loop.time():
            self._ripe = True
            return False
        self._timer = self.link.loop.call_at(self._due, self._on_timer)
        return True

    def _on_timer(self) -> None:
        self._timer, self._ripe = None, True
        self.run()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the server has stopped meanwhile
            self.link.loop.call_soon_threadsafe(self.run)

    def _advance(self) -> None:
        self._ripe = False
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
        broken = self.exchange.response.broken
        self.exchange.ended("complete" if broken is None else "cut")
        self.over = True
        if broken is None:
            link.finished(self, http.end(self.stream))
        elif broken == "connection closed":
            link.hang_up()
        elif broken == "connection reset" and http.reset(self.stream):
            link.finished(self, [])
        elif broken == "connection reset":
            link.reset()
        link.flush()

    def drop(self, outcome: CallOutcome) -> None:
        """The client has disconnected or the fake was closed: write nothing more."""
        self.over = True
        self._chunks, self._chunk = iter(()), None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.exchange.ended(outcome)
