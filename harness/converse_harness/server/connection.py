"""One client connection. It detects the HTTP version, and passes bytes between the socket and Http1 or Http2."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from converse_harness.endpoint.call import CallOutcome
from converse_harness.intercept.exchange import TransportExchange
from converse_harness.server.delivery import SocketDelivery
from converse_harness.server.mounts import Mounts, PlainExchange
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.http import Request
from converse_harness.stream.http1 import Http1
from converse_harness.stream.http_protocol import PREFACE, Arrived, Event, HttpRefused, Left, Limits

if TYPE_CHECKING:
    from converse_harness.server.http.h2 import Http2

_TWO: Final = "hh" if sys.platform == "win32" else "ii"
_LINGER: Final = struct.pack(_TWO, 0, 0)
"""SO_LINGER switched off: closing the socket then ends the connection normally (FIN)."""
_LINGER_NOT: Final = struct.pack(_TWO, 1, 0)
"""SO_LINGER with a time of 0 s: closing the socket then resets the connection (RST)."""

_LOOK_AGAIN: Final = 0.005
"""Seconds between two checks for bytes that the peer has not acknowledged."""

InThread = Callable[[Callable[[], TransportExchange], Callable[[TransportExchange], None], bool], None]
"""A function that calls its first argument in a thread, and then, in the event loop, its second with the result.

The third argument is whether the answer comes from an upstream service.
"""


if sys.platform == "linux":
    import fcntl
    import termios

    def _on_its_way(number: int) -> int:
        """Return how many sent bytes the peer has not acknowledged. `number` is the file descriptor of the socket."""
        return int.from_bytes(fcntl.ioctl(number, termios.TIOCOUTQ, bytes(4)), sys.byteorder)

else:

    def _on_its_way(number: int) -> int:
        """Return 0: this system does not tell how many sent bytes the peer has not acknowledged."""
        return 0


class Connection(asyncio.Protocol):
    """Reads requests from one client, gets answers from `mounts` (the fakes of the server), and sends them."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        mounts: Mounts,
        limits: Limits,
        open_ones: set[Connection],
        slow: InThread,
    ) -> None:
        self.loop = loop
        self.writable = True
        self.http: Http1 | Http2
        self._chosen = False
        self._first = b""
        self._mounts = mounts
        self._limits = limits
        self._open_ones = open_ones
        self._slow = slow
        self._deliveries: dict[int, SocketDelivery] = {}
        """By stream number: the object that sends the answer. It exists even while a thread still computes the answer.
        """
        self._events: deque[Event] = deque()
        self._handling = False
        self._heard = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport
        self._resetting = False
        self._stale = False
        self._latest: tuple[int, SentChunks] | None = None
        """The id of the fake whose stream was the latest answer, and what was sent; None if it was no stream."""
        self._linger = _LINGER
        self._draining = False
        """Whether all answers are written, and the connection only waits for the client to read them.

        Input is then discarded. If the connection were closed while the client still sends, the answers would be lost.
        """

    # asyncio calls the following methods.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when a client has connected."""
        self._transport = cast("asyncio.Transport", transport)
        self._open_ones.add(self)
        self._heard = self.loop.time()
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Called when bytes have arrived."""
        if self._draining:
            return  # discard input until `_watch` closes the connection
        self._heard = self.loop.time()
        if not self._chosen:
            data = self._first = self._first + data
            if PREFACE.startswith(data) and len(data) < len(PREFACE):
                return
            self._choose(data)
        self._handle(self.http.receive(data))
        for delivery in [*self._deliveries.values()]:
            delivery.run()  # a flow-control window may have opened
        self.flush()
        if self.http.backlog > self._limits.ahead:
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """Called when the client closes its sending side. asyncio then closes the whole connection.

        This loses no answer: no known client still reads after it has closed its sending side.
        """
        if self._chosen:
            self.http.receive(b"")

    def pause_writing(self) -> None:
        """Called when the client reads too slowly: stop writing answers, and stop reading further requests."""
        self.writable = False
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Called when the client has read enough: continue to write answers and to read requests, or to reset."""
        self.writable = True
        if self._resetting:
            self._reset_when_sent()
            return
        self._transport.resume_reading()
        for delivery in [*self._deliveries.values()]:
            delivery.run()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection has ended, whichever side ended it."""
        self._open_ones.discard(self)
        self.writable = False
        if self._timer is not None:
            self._timer.cancel()
        if self._latest is not None and isinstance(exc, OSError) and not (self._deliveries or self._resetting):
            # A client that closes with bytes that it has not read resets the connection. One that has read all ends it.
            self._latest[1].unread = True
        self._drop_all("closed by client")

    def _drop_all(self, outcome: CallOutcome) -> None:
        for delivery in self._deliveries.values():
            delivery.drop(outcome)
        self._deliveries.clear()

    # A SocketDelivery calls the following methods; some are helpers of the others.

    def flush(self) -> None:
        """Send the bytes that `http` has ready. If no answer can follow on this connection, close it."""
        out = self.http.take()
        if out and not (self._draining or self._transport.is_closing()):
            self._transport.write(out)
        if self.http.done and not (self._deliveries or self._resetting):
            self._close_by(_LINGER)
            if self.http.unread or self._draining:
                self._drain()
            else:
                self._transport.close()

    def _drain(self) -> None:
        """Close the sending side, and discard input until the connection closes.

        If the connection were closed while the client still sends, it would be reset, and the answer would be lost.
        """
        if not (self._draining or self._transport.is_closing()):
            self._draining = True
            self._transport.write_eof()
            self._transport.resume_reading()

    def finished(self, delivery: SocketDelivery, arrived: list[Event], *, stale: bool = False) -> None:
        """Remove a delivery that is written in full or whose stream was reset. Then handle the events in `arrived`.

        If `stale` is true, the next request on this connection causes a reset.
        """
        self._heard = self.loop.time()
        self._stale = self._stale or stale
        self._deliveries.pop(delivery.stream, None)
        self._latest = (id(delivery.owner), delivery.taken) if delivery.is_stream else None
        if not self._deliveries:
            self._close_by(_LINGER)
        self._handle(arrived)
        if self.writable and self.http.backlog <= self._limits.ahead:
            self._transport.resume_reading()

    def hang_up(self) -> None:
        """Close the connection normally (FIN) once everything is written; the connection's other streams end, too."""
        self.flush()
        self._drop_all("cut")
        self._close_by(_LINGER)
        self._drain()

    def reset(self) -> None:
        """Reset the connection (RST) once all bytes are written and, on Linux, the client has acknowledged them."""
        self.flush()
        self._resetting = True
        if self._transport.get_write_buffer_size():
            self._transport.set_write_buffer_limits(0)
        else:
            self._reset_when_sent()

    def _reset_when_sent(self) -> None:
        """Reset the connection once the client has acknowledged all bytes, because a reset discards unsent bytes."""
        if self._transport.is_closing():
            return
        if _on_its_way(self.fileno()):
            self.loop.call_later(_LOOK_AGAIN, self._reset_when_sent)
        else:
            self._reset_now()

    # The following methods break off answers, or close the socket.

    def cut(self, owner: object = None) -> None:
        """Break off all running answers of the fake `owner` by resets; without an owner, reset the whole connection."""
        for stream, delivery in [*self._deliveries.items()]:
            if owner is None or delivery.owner is owner:
                delivery.drop("cut")
                del self._deliveries[stream]
                if self.http.reset(stream):
                    self._heard = self.loop.time()
                    self.flush()
                else:
                    self._reset_now()
        if owner is None:
            self._transport.abort()

    def answers_for(self, owner: object) -> bool:
        """Return whether an answer of the fake `owner` is in progress, even if nothing of the answer is sent yet.

        Any thread may call this method.
        """
        return any(delivery.owner is owner for delivery in [*self._deliveries.values()])

    def streamed_for(self, owner: object) -> bool:
        """Return whether the latest answer on this connection was a stream of the fake `owner`, and is sent in full.

        Any thread may call this method.
        """
        latest = self._latest
        return latest is not None and latest[0] == id(owner)

    def fileno(self) -> int:
        """Return the file descriptor of the socket; -1 if the socket is closed."""
        connected: socket.socket | None = self._transport.get_extra_info("socket")
        return -1 if connected is None else connected.fileno()

    def _reset_now(self) -> None:
        self._close_by(_LINGER_NOT)
        self._transport.abort()

    def _close_by(self, linger: bytes) -> None:
        """Set how the connection ends when this process or the kernel closes the socket.

        `linger` is `_LINGER` for a normal end (FIN), or `_LINGER_NOT` for a reset (RST).
        """
        connected: socket.socket | None = self._transport.get_extra_info("socket")
        if linger is not self._linger and connected is not None and not self._transport.is_closing():
            self._linger = linger
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    # The following methods handle requests.

    def _choose(self, first: bytes) -> None:
        self._chosen, self._first = True, b""
        if first.startswith(PREFACE):
            from converse_harness.server.http.h2 import (
                Http2,  # this import takes 50 ms; most connections need no HTTP/2
            )

            self.http = Http2(self._limits)
        else:
            self.http = Http1(self._limits)

    def _handle(self, events: list[Event]) -> None:
        # Without this loop, the end of each answer would call this method recursively for the next of many requests.
        self._events += events
        if self._handling:
            return
        self._handling = True
        try:
            while self._events:
                if self._resetting or self._draining or self._transport.is_closing():
                    self._events.clear()
                    break
                self._handle_one(self._events.popleft())
        finally:
            self._handling = False

    def _handle_one(self, event: Event) -> None:
        match event:
            case Arrived() if self._stale:
                self.reset()
            case Arrived(stream, request):
                self._ask(stream, request)
            case HttpRefused(stream, response):
                self._deliveries[stream] = delivery = SocketDelivery(self, stream, self)
                self._give(delivery, PlainExchange(response))
            case Left(stream) if stream in self._deliveries:
                self._deliveries.pop(stream).drop("closed by client")
            case _:
                pass

    def _ask(self, stream: int, request: Request) -> None:
        owner, give, slow, forwards = self._mounts.answer(request)
        self._deliveries[stream] = delivery = SocketDelivery(self, stream, owner)
        if slow:
            self._slow(give, partial(self._give, delivery), forwards)
        else:
            self._give(delivery, give())

    def _give(self, delivery: SocketDelivery, exchange: TransportExchange) -> None:
        if self._transport.is_closing():
            delivery.drop("closed by client")
        delivery.start(exchange)
        if delivery.stream in self._deliveries:
            # If this process is killed during the answer, the kernel closes the socket. A normal close of an HTTP/2
            # connection would look to Node.js like the regular end of the answer, so let the close be a reset.
            self._close_by(_LINGER_NOT)

    # The following method checks the timeouts of the connection.

    def _watch(self) -> None:
        """Close the connection if the client was silent for too long; otherwise check again later.

        A client that stopped in the middle of a request first gets the error 408.
        """
        mid_request = not self._chosen or self.http.mid_request
        limit = self._limits.silence if mid_request or self._draining else self._limits.idle
        if self._deliveries:
            self._heard = self.loop.time()
        left = self._heard + limit - self.loop.time()
        if left > 0:
            self._timer = self.loop.call_later(min(left, self._limits.silence), self._watch)
            return
        if mid_request and not self._draining:
            if not self._chosen:
                if not self._first:
                    self._transport.close()
                    return
                self._choose(self._first)
            self._handle(self.http.time_out())
            self.flush()
        self._transport.close()
