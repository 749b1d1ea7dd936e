"""Requests and responses of httpx, answered or forwarded; the library is a parameter, since httpx2 has the same API."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from converse_harness.endpoint.operations import route
from converse_harness.intercept.capture import Capture, CapturingBody
from converse_harness.intercept.exchange import TransportExchange, headers
from converse_harness.intercept.reader import ResponseReader
from converse_harness.stream.http import Request

_FAILURES: Final = {
    "connection refused": ("ConnectError", "[Errno 111] Connection refused"),
    "connect timeout": ("ConnectTimeout", "timed out"),
    "read timeout": ("ReadTimeout", "timed out"),
    "connection closed": ("RemoteProtocolError", "Server disconnected without sending a response."),
}
"""What httpx raises in place of a response."""

BREAKS: Final = {
    "connection reset": ("ReadError", "[Errno 104] Connection reset by peer"),
    "connection closed": ("RemoteProtocolError", "peer closed connection without sending complete message body"),
    "stalled": ("ReadTimeout", "timed out"),
}
"""What httpx raises to whoever reads a body that breaks."""


def wait_for(httpx: Any, exchange: TransportExchange, request: Any) -> float:
    """Wait these seconds before the head. Raises httpx's ReadTimeout, at once, if the client's timeout is shorter."""
    wait = exchange.response.wait
    if wait > _patience(request):
        exchange.ended("closed by client")
        raise _error(httpx, BREAKS["stalled"], request)
    return wait


def _patience(request: Any) -> float:
    patience: float | None = request.extensions.get("timeout", {}).get("read")
    return math.inf if patience is None else patience


def _error(httpx: Any, named: tuple[str, str], request: Any) -> Exception:
    name, message = named
    made: Exception = getattr(httpx, name)(message, request=request)
    return made


def read(request: Any) -> Request:
    """Convert a fully read httpx request to one as Bedrock would get it, without a gateway's path prefix."""
    target = request.url.raw_path.decode("ascii")
    whole = Request(request.method, target, tuple(_pairs(request.headers)), request.content)
    starts = (at for at, character in enumerate(target.partition("?")[0]) if character == "/")
    below = (replace(whole, target=target[at:]) for at in starts)
    return next((each for each in below if route(each) is not None), whole)


def response_of(httpx: Any, exchange: TransportExchange, request: Any, started: float) -> Any:
    """The response to a request. Raises httpx's exception for a scripted connection failure."""
    response, broken = exchange.response, exchange.response.broken
    if response.failure is not None:
        exchange.ended("cut")
        raise _error(httpx, _FAILURES[response.failure], request)
    failure = None if broken is None else _error(httpx, BREAKS[broken], request)
    timed_out = partial(_error, httpx, BREAKS["stalled"], request)
    reader = ResponseReader(exchange, started, failure, patience=_patience(request), timed_out=timed_out)
    body = of_library(_HttpxBody, httpx, "SyncByteStream", "AsyncByteStream")(reader)
    extensions = {"http_version": b"HTTP/1.1"}
    return httpx.Response(response.status, headers=headers(exchange), stream=body, extensions=extensions)


class _HttpxBody:
    """The response body: one chunk at a time, with pauses when the client asks for more."""

    def __init__(self, reader: ResponseReader) -> None:
        self._reader = reader

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reader)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        from anyio import sleep  # asyncio or trio: httpx needs anyio itself

        reader = self._reader
        while (chunk := reader.chunk) is not None:
            if chunk.delay:
                await sleep(reader.pause())
            yield reader.take(chunk)
        reader.finish()

    def close(self) -> None:
        """Note that the client stops reading."""
        self._reader.close()

    async def aclose(self) -> None:
        """Note that the client stops reading."""
        self._reader.close()

    __del__ = close


@cache
def of_library(kind: type, httpx: Any, *bases: str) -> Any:
    """Derive a class of ours from the library's base class, because the library checks with isinstance."""
    return type(kind.__name__, (kind, *(getattr(httpx, base) for base in bases)), {})


_OF_THE_ENCODED: Final = ("content-encoding", "content-length")
"""Headers that are not true of a body that was decoded."""


def with_capture(httpx: Any, response: Any, capture: Capture) -> Any:
    """The response to a forwarded request, with a body that is captured while it is read."""
    pairs = _pairs(response.headers)
    if isinstance(response.stream, httpx.ByteStream):  # made whole: nobody will read its stream
        whole = b"".join(response.stream)
    elif response.is_stream_consumed:  # read before: the encoded bytes are gone
        whole = response.content
        pairs = [(name, value) for name, value in pairs if name.lower() not in _OF_THE_ENCODED]
    else:
        capture.began(response.status_code, pairs)
        response.stream = of_library(CapturingBody, httpx, "SyncByteStream", "AsyncByteStream")(
            response.stream, capture
        )
        return response
    capture.began(response.status_code, pairs)
    capture.took(whole)
    capture.complete()
    return response


def _pairs(headers: Any) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw]
