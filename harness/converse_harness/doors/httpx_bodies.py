"""Requests and responses of httpx; it is a parameter, because httpx2 has the same under its own name."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from converse_harness.doors.contract import Exchange
from converse_harness.doors.delivery import Delivery, headers
from converse_harness.wire.http import Break, Chunk, ConnectionFailure, Request
from converse_harness.wire.routes import route

FAILURES: Final = {
    ConnectionFailure.REFUSED: ("ConnectError", "[Errno 111] Connection refused"),
    ConnectionFailure.CONNECT_TIMEOUT: ("ConnectTimeout", "timed out"),
    ConnectionFailure.READ_TIMEOUT: ("ReadTimeout", "timed out"),
    ConnectionFailure.CLOSED: ("RemoteProtocolError", "Server disconnected without sending a response."),
}
"""What httpx raises in place of a response."""

BREAKS: Final = {
    Break.RESET: ("ReadError", "[Errno 104] Connection reset by peer"),
    Break.CLOSED: ("RemoteProtocolError", "peer closed connection without sending complete message body"),
    Break.STALLED: ("ReadTimeout", "timed out"),
}
"""What httpx raises to whoever reads a body that breaks."""


def answer(httpx: Any, exchange: Exchange, request: Any, started: float) -> Any:
    """The response to a request. Raises httpx's exception for a scripted connection failure."""
    if exchange.response.wait:
        time.sleep(_wait(httpx, exchange, request))
    return _response(httpx, exchange, request, started)


async def answer_async(httpx: Any, exchange: Exchange, request: Any, started: float) -> Any:
    """The same without blocking the event loop."""
    if exchange.response.wait:
        from anyio import sleep  # httpx needs anyio itself

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


def read(request: Any) -> Request:
    """A request of httpx, whose body is read, as Bedrock would get it: without the path of a gateway before it."""
    pairs = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
    whole = Request(request.method, request.url.raw_path.decode("ascii"), pairs, request.content)
    return _below_gateway(whole) or whole


def _below_gateway(request: Request) -> Request | None:
    """The request whose target is the end of this one's, from some `/` on, where that is an operation's."""
    if route(request) is not None:
        return None
    target = request.target
    starts = [at for at, character in enumerate(target.partition("?")[0]) if character == "/" and at]
    shorter = (replace(request, target=target[at:]) for at in starts)
    return next((each for each in shorter if route(each) is not None), None)


def _response(httpx: Any, exchange: Exchange, request: Any, started: float) -> Any:
    response, broken = exchange.response, exchange.response.broken
    if response.failure is not None:
        exchange.ended("cut")
        raise _error(httpx, FAILURES[response.failure], request)
    delivery = Delivery(exchange, started, None if broken is None else _error(httpx, BREAKS[broken], request))
    give_up = partial(_error, httpx, BREAKS[Break.STALLED], request)
    body = of_library(Body, httpx, "SyncByteStream", "AsyncByteStream")(delivery, _patience(request), give_up)
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


@cache
def of_library(kind: type, httpx: Any, *bases: str) -> Any:
    """A class of ours as one of a library: it looks at what a class is derived from."""
    return type(kind.__name__, (kind, *(getattr(httpx, base) for base in bases)), {})
