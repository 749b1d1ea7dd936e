"""Forward a call of aiohttp over a real connection, and capture the answer as its bytes arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import h11

from converse_harness.intercept.capture import FORWARDED, Capture
from converse_harness.intercept.registry import assigned

if TYPE_CHECKING:
    from converse_harness.intercept.exchange import TransportExchange
    from converse_harness.recordings.record.captured import CapturedExchange

Dial = Callable[[], Awaitable[Any]]
"""A function that opens a real connection. It returns aiohttp's protocol object, whose transport is the connection."""


class _Client(Protocol):
    """The members of an InMemoryTransport that a Forwarded uses."""

    def fail(self, error: Exception) -> None: ...

    def lose(self, error: Exception | None) -> None: ...


class Forwarded(asyncio.Protocol):
    """One forwarded call: it passes the bytes of the client on, and the bytes of the service back to the client.

    `client` is the client's transport in memory, `protocol` is the object of aiohttp that reads the answer.
    """

    def __init__(self, exchange: TransportExchange, captured: CapturedExchange, client: _Client, protocol: Any) -> None:
        self._capture = Capture(exchange, captured)
        self._client = client
        self._protocol = protocol
        self._answer = h11.Connection(h11.CLIENT)
        self._in_chunk = False
        self._task: asyncio.Task[None] | None = None
        self._transport: Any = None
        """The real connection; None until it is open."""

    def send(self, dial: Dial, method: str, request: bytes) -> None:
        """Open a connection, and send the bytes of a request."""
        self._answer.send(h11.Request(method=method, target="/", headers=[("Host", "")]))  # only the method matters
        self._answer.send(h11.EndOfMessage())
        with assigned(FORWARDED, self._capture):
            self._task = asyncio.ensure_future(self._send(dial, request))

    async def _send(self, dial: Dial, request: bytes) -> None:
        try:
            real = await dial()
        except Exception as error:  # noqa: BLE001 - the client gets whatever prevented the connection
            self._capture.broke(error)
            self._client.fail(error)
            return
        self._transport = real.transport
        self._transport.set_protocol(self)
        self._transport.write(request)

    def leave(self) -> None:
        """End the call: the client has closed its connection, or has the whole answer."""
        self._capture.left()
        with suppress(RuntimeError):  # the event loop is closed
            if self._task is not None:
                self._task.cancel()
            if self._transport is not None:
                self._transport.abort()

    def pause(self) -> None:
        """Stop reading, because the client reads too slowly."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None:
            self._transport.resume_reading()

    # asyncio calls the following methods.

    def data_received(self, data: bytes) -> None:
        """Capture bytes of the answer, then give them to the client."""
        self._read(data)
        self._protocol.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The service has closed the connection, or the connection broke."""
        self._read(b"", exc)
        self._client.lose(exc)

    def _read(self, data: bytes, lost: Exception | None = None) -> None:
        capture = self._capture
        try:
            self._answer.receive_data(data)
            while (event := self._answer.next_event()) is not h11.NEED_DATA and event is not h11.PAUSED:
                if isinstance(event, h11.Response):
                    pairs = [
                        (name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()
                    ]
                    capture.began(event.status_code, pairs)
                elif isinstance(event, h11.Data):
                    capture.took(bytes(event.data), goes_on=self._in_chunk)
                    self._in_chunk = not event.chunk_end
                elif isinstance(event, h11.EndOfMessage):
                    capture.complete()
                elif isinstance(event, h11.ConnectionClosed):
                    break
        except (h11.RemoteProtocolError, RuntimeError) as error:
            capture.broke(lost or error)
