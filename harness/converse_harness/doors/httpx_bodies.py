"""Requests, responses and transports of httpx; it is a parameter, because httpx2 has the same under its own name."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache, partial
from time import monotonic
from typing import Any, Final, NamedTuple

from converse_harness.doors.contract import Exchange
from converse_harness.doors.delivery import Delivery, headers
from converse_harness.doors.fake import Fake
from converse_harness.wire.http import Break, Chunk, ConnectionFailure, Request

FAILURES: Final = {
    ConnectionFailure.REFUSED: ("ConnectError", "[Errno 111] Connection refused"),
    ConnectionFailure.CONNECT_TIMEOUT: ("ConnectTimeout", "timed out"),
    ConnectionFailure.READ_TIMEOUT: ("ReadTimeout", "timed out"),
}
"""What httpx raises in place of a response."""

BREAKS: Final = {
    Break.RESET: ("ReadError", "[Errno 104] Connection reset by peer"),
    Break.CLOSED: ("RemoteProtocolError", "peer closed connection without sending complete message body"),
    Break.STALLED: ("ReadTimeout", "timed out"),
}
"""What httpx raises to whoever reads a body that breaks."""


class Classes(NamedTuple):
    """The classes for one library."""

    body: Any
    transport: Any
    async_transport: Any


def answer(httpx: Any, fake: Fake, request: Any) -> Any:
    """The response to a request whose body is read. Raises httpx's exception for a scripted connection failure."""
    started = monotonic()
    exchange = fake.exchange(_read(request))
    if exchange.response.wait:
        time.sleep(_wait(httpx, exchange, request))
    return _response(httpx, exchange, request, started)


async def answer_async(httpx: Any, fake: Fake, request: Any) -> Any:
    """The same without blocking the event loop where a function of the script may take its time."""
    started = monotonic()
    if fake.runs_functions:
        from anyio.to_thread import run_sync  # httpx needs anyio itself

        exchange = await run_sync(partial(fake.exchange, _read(request)))
    else:
        exchange = fake.exchange(_read(request))
    if exchange.response.wait:
        from anyio import sleep

        await sleep(_wait(httpx, exchange, request))
    return _response(httpx, exchange, request, started)


def _wait(httpx: Any, exchange: Exchange, request: Any) -> float:
    """Seconds before the head. Raises httpx's ReadTimeout, at once, where the client does not wait that long."""
    wait = exchange.response.wait
    if wait > _patience(request):
        exchange.ended("closed by client")
        raise _error(httpx, BREAKS[Break.STALLED], request)
    return wait


def _patience(request: Any) -> float:
    patience: float | None = request.extensions.get("timeout", {}).get("read")
    return math.inf if patience is None else patience


def _error(httpx: Any, named: tuple[str, str], request: Any) -> Exception:
    name, message = named
    made: Exception = getattr(httpx, name)(message, request=request)
    return made


def _read(request: Any) -> Request:
    pairs = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
    return Request(request.method, request.url.raw_path.decode("ascii"), pairs, request.content)


def _response(httpx: Any, exchange: Exchange, request: Any, started: float) -> Any:
    response = exchange.response
    if response.failure is not None:
        exchange.ended("cut")
        raise _error(httpx, FAILURES[response.failure], request)
    broken = response.broken
    delivery = Delivery(exchange, started, None if broken is None else _error(httpx, BREAKS[broken], request))
    give_up = partial(_error, httpx, BREAKS[Break.STALLED], request)
    body = classes(httpx).body(delivery, _patience(request), give_up)
    extensions = {"http_version": b"HTTP/1.1"}
    return httpx.Response(response.status, headers=headers(exchange), stream=body, extensions=extensions)


class Body:
    """One chunk at a time; pauses are waited for when the client asks for more.

    One that is longer than the client's read timeout is its timeout, at once.
    """

    def __init__(self, delivery: Delivery, patience: float, give_up: Callable[[], Exception]) -> None:
        self._delivery = delivery
        self._patience = patience
        self._give_up = give_up

    def __iter__(self) -> Iterator[bytes]:
        delivery = self._delivery
        while (chunk := delivery.chunk) is not None:
            if chunk.delay:
                time.sleep(self._pause(chunk))
            yield delivery.take(chunk)
        delivery.finish()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        from anyio import sleep  # asyncio or trio: httpx needs anyio itself

        delivery = self._delivery
        while (chunk := delivery.chunk) is not None:
            if chunk.delay:
                await sleep(self._pause(chunk))
            yield delivery.take(chunk)
        delivery.finish()

    def _pause(self, chunk: Chunk) -> float:
        if chunk.delay > self._patience:
            raise self._give_up()
        return chunk.delay

    def close(self) -> None:
        """The client has read enough."""
        self._delivery.close()

    async def aclose(self) -> None:
        """The client has read enough."""
        self._delivery.close()

    __del__ = close


class Transport:
    """Answers whatever a client asks from one fake."""

    def __init__(self, httpx: Any, fake: Fake) -> None:
        self._httpx = httpx
        self._fake = fake

    def handle_request(self, request: Any) -> Any:
        """What httpx calls."""
        request.read()
        return answer(self._httpx, self._fake, request)


class AsyncTransport:
    """The same for an asynchronous client."""

    def __init__(self, httpx: Any, fake: Fake) -> None:
        self._httpx = httpx
        self._fake = fake

    async def handle_async_request(self, request: Any) -> Any:
        """What httpx calls."""
        await request.aread()
        return await answer_async(self._httpx, self._fake, request)


@cache
def classes(httpx: Any) -> Classes:
    """The classes above as those of a library: it looks at what they are derived from."""
    return Classes(
        type("Body", (Body, httpx.SyncByteStream, httpx.AsyncByteStream), {}),
        type("Transport", (Transport, httpx.BaseTransport), {}),
        type("AsyncTransport", (AsyncTransport, httpx.AsyncBaseTransport), {}),
    )
