"""A connection in memory between a client of aiohttp and a fake: it reads requests and writes answers as bytes.

It works with callbacks of the event loop. So nothing is left over if the event loop stops.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from converse_harness.intercept.exchange import OpenFake, ResponseReader, http_date
from converse_harness.intercept.http.requests import from_operation_on
from converse_harness.stream.http1 import Http1
from converse_harness.stream.http_protocol import Arrived, Event, HttpRefused

if TYPE_CHECKING:
    from converse_harness.intercept.aiohttp.forward import Dial, Forwarded
    from converse_harness.recordings.record.write import AnyExchange
    from converse_harness.stream.http import ConnectionFailure, HttpResponse, Request


class _Closed(Exception):
    """The service closed the connection in the middle of an answer."""


def _reset() -> Exception:
    return ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))


_BREAKS: Final[dict[str, Callable[[], Exception]]] = {
    "connection reset": _reset,
    "connection closed": _Closed,
    "stalled": TimeoutError,
}
"""Maps each scripted break of a response body to a function that makes the exception for `InMemoryTransport._break`."""


class InMemoryTransport(asyncio.Transport):
    """The transport of one connection in memory, which carries one request and its answer.

    `request` is aiohttp's ClientRequest, `protocol` aiohttp's ResponseHandler. `fake` answers. If the fake forwards the
    call, `dial` opens a real connection.
    """

    def __init__(self, protocol: Any, request: Any, fake: OpenFake, dial: Dial) -> None:
        super().__init__()
        self._protocol = protocol
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._fake = fake
        self._dial = dial
        self._http = Http1()
        self._written = bytearray()
        """What the client has written; a forwarded call sends it on."""
        self._asked = 0.0
        """When the request was complete: the time of the monotonic clock, in seconds."""
        self._reader: ResponseReader | None = None
        self._forwarded: Forwarded | None = None
        self._next: asyncio.Handle | None = None
        """The next step of the answer; None if it waits for the client, or for a thread."""
        self._is_due = False
        """Whether the pause before the next chunk is over."""
        self._in_steps = False
        """Whether the client reads each chunk before the next one comes, not the whole answer at once."""
        self._paused = False
        self._closing = False

    # aiohttp calls the following methods.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Read bytes of the request. The answer begins in a later step of the event loop."""
        if not self._closing:
            self._written += data
            self._handle(self._http.receive(bytes(data)))

    def writelines(self, list_of_data: Any) -> None:
        """Read bytes of the request."""
        self.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        """Whether the connection is closed, or will be at the next step of the event loop."""
        return self._closing

    def close(self) -> None:
        """Close the connection, because the client wants it. The outcome of the call shows a partial answer."""
        self.lose(None)

    abort = close

    def pause_reading(self) -> None:
        """Stop the answer, because the client reads too slowly."""
        self._paused = True
        if self._forwarded is not None:
            self._forwarded.pause()

    def resume_reading(self) -> None:
        """Continue the answer."""
        self._paused = False
        if self._forwarded is not None:
            self._forwarded.resume()
        elif self._reader is not None and self._next is None:
            self._later(self._send)

    def is_reading(self) -> bool:
        """Whether the client reads."""
        return not (self._paused or self._closing)

    def get_write_buffer_size(self) -> int:
        """Return 0, because the bytes of a request are read at once."""
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: there is no write buffer."""

    def can_write_eof(self) -> bool:
        """Return False: a client of HTTP does not close its side alone."""
        return False

    # The steps of an answer

    def _later(self, step: Callable[..., object], *arguments: object, delay: float = 0.0) -> None:
        soon = partial(self._loop.call_later, delay) if delay else self._loop.call_soon
        self._next = soon(step, *arguments)

    def _handle(self, events: list[Event]) -> None:
        if out := self._http.take():  # "100 Continue"; the client is in its own `write` now
            self._loop.call_soon(self._protocol.data_received, out)
        for event in events:
            if isinstance(event, Arrived):
                self._later(self._ask, from_operation_on(event.request))
            elif isinstance(event, HttpRefused):
                self._later(self._refuse, event.response)
        if self._http.done and not events:  # the client wants another protocol than HTTP
            self.lose(None)

    def _feed(self) -> bool:
        """Give the client the bytes that are ready. Return whether there were any."""
        out = self._http.take()
        if out:
            self._protocol.data_received(out)
        return bool(out)

    def _refuse(self, response: HttpResponse) -> None:
        """Answer bytes that are no request, or too long."""
        self._http.head(1, response, http_date())
        for chunk in response.chunks:
            self._http.body(1, chunk.data)
        self._finish()

    def _ask(self, request: Request) -> None:
        """Ask the fake. If it may run functions of the user, they run in a thread."""
        self._next = None
        self._asked = monotonic()
        if self._fake.runs_functions:
            coming = asyncio.ensure_future(asyncio.to_thread(self._fake.exchange, request))
            # The task is cancelled if the event loop stops first.
            coming.add_done_callback(lambda done: None if done.cancelled() else self._answer(done.result))
        else:
            self._answer(partial(self._fake.exchange, request))

    def _answer(self, ask: Callable[[], AnyExchange]) -> None:
        try:
            exchange = ask()
        except Exception as error:  # noqa: BLE001 - the client gets what the fake raises, such as BlockedConnection
            self.fail(error)
            return
        if exchange.captured is not None:
            from converse_harness.intercept.aiohttp.forward import Forwarded

            self._forwarded = Forwarded(exchange, exchange.captured, self, self._protocol)
            if self._closing:
                self._forwarded.leave()
            else:
                self._forwarded.send(self._dial, self._request.method, bytes(self._written))
            return
        response, patience = exchange.response, self._patience()
        failure = None if response.broken is None else _BREAKS[response.broken]()
        self._reader = ResponseReader(exchange, self._asked, failure, patience=patience)
        if self._closing:
            self._drop()
        elif response.failure is not None:
            self._reader.end("cut")
            self._fail_to_connect(response.failure)
        elif response.wait > patience:
            self._drop()
            self._time_out()
        elif response.wait:
            self._later(self._begin, delay=response.wait)
        else:
            self._begin()

    def _begin(self) -> None:
        assert self._reader is not None  # `_answer` has set it
        response = self._reader.exchange.response
        self._http.head(1, response, http_date())
        chunked = any(name == "Transfer-Encoding" for name, _ in response.headers)
        self._in_steps = chunked or response.broken is not None  # what aiohttp has not read is lost if an answer breaks
        if self._in_steps:
            self._feed()
        self._send()

    def _send(self) -> None:
        """Send chunks until the client is not ready, or the next chunk is not due."""
        self._next = None
        try:
            while self._reader is not None and not self._paused and self._send_one(self._reader):
                pass
        except Exception as error:  # noqa: BLE001 - the scripted break, or what a function of the user has raised
            self._feed()
            self._break(error)

    def _send_one(self, reader: ResponseReader) -> bool:
        """Send the next chunk, or the end. Return False if the chunk is not due yet."""
        chunk = reader.chunk
        if chunk is None:
            reader.finish()
            self._finish()
        elif chunk.delay and not self._is_due:
            self._later(self._send_due, delay=reader.pause())
            return False
        else:
            self._is_due = False
            self._http.body(1, reader.take(chunk))
            if reader.over and reader.exchange.response.broken is None:
                self._finish()
            elif self._in_steps and self._feed():
                self._wait_for_the_reader()
        return True

    def _send_due(self) -> None:
        """The pause before the next chunk is over."""
        self._is_due = True
        self._send()

    def _wait_for_the_reader(self) -> None:
        """Pause until the client has read what it has got.

        So the call shows what the client has read, and a client may leave a stream before its next event, as with the
        other transports of this process. aiohttp resumes a paused connection at the next read. Its own `pause_reading`
        would also stop its parser, but only in the middle of the next chunk.
        """
        self._protocol._reading_paused = True
        self._protocol._drop_timeout()
        self._paused = True

    def _finish(self) -> None:
        self._reader = None
        self._http.end(1)
        self._feed()
        if self._http.done:
            self.lose(None)

    # The ways in which a connection fails

    def _break(self, error: Exception) -> None:
        self._reader = None
        if isinstance(error, TimeoutError):
            self._time_out()
        else:
            self.lose(None if isinstance(error, _Closed) else error)

    def _fail_to_connect(self, failure: ConnectionFailure) -> None:
        import aiohttp

        self._reader = None
        url, key = self._request.url, self._request.connection_key
        match failure:
            case "connection refused":
                refused = ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {(url.host, url.port)}")
                self.fail(aiohttp.ClientConnectorError(key, refused))
            case "connect timeout":
                self.fail(aiohttp.ConnectionTimeoutError(f"Connection timeout to host {url}"))
            case "read timeout":
                self._time_out()
            case "connection closed":
                self.lose(None)

    def fail(self, error: Exception) -> None:
        """Raise an error to the client, which waits for the head of an answer."""
        self._protocol.set_exception(error)

    def _time_out(self) -> None:
        """Raise the error of aiohttp's timeout for the next bytes, in place of a wait without an end."""
        self._protocol._on_read_timeout()

    def _patience(self) -> float:
        """Return the client's timeout for the next bytes, in seconds; infinity if it has none."""
        timeout: float | None = self._protocol.read_timeout
        return timeout or math.inf

    def _drop(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def lose(self, error: Exception | None) -> None:
        """Close the connection; `error` is the reason if the client did not want it, None for a normal end."""
        if self._closing:
            return
        self._closing = True
        if self._next is not None:
            self._next.cancel()
        self._drop()
        if self._forwarded is not None:
            self._forwarded.leave()
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon(self._protocol.connection_lost, error)
