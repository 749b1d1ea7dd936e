"""Convert requests and responses of httpx and httpx2. The argument `httpx` is always one of these two modules."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final, cast

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
"""Maps each scripted connection failure to the name and the message of httpx's exception for it."""

BREAKS: Final = {
    "connection reset": ("ReadError", "[Errno 104] Connection reset by peer"),
    "connection closed": ("RemoteProtocolError", "peer closed connection without sending complete message body"),
    "stalled": ("ReadTimeout", "timed out"),
    "closed by client": ("ReadError", "[Errno 9] Bad file descriptor"),
}
"""Maps each scripted break of a response body to the name and the message of httpx's exception for it.

"closed by client" is for a client that closes the response and reads on.
"""


def wait_for(httpx: Any, exchange: TransportExchange, request: Any) -> float:
    """Return the scripted wait before the response head, in seconds.

    Raises httpx's ReadTimeout at once if the client's read timeout is shorter than the wait.
    """
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
    return cast("Exception", getattr(httpx, name)(message, request=request))


def read(request: Any) -> Request:
    """Convert an httpx request, whose body must have been read, to a Request.

    A path prefix before the path of the Bedrock operation, for example that of a gateway, is removed.
    """
    target = request.url.raw_path.decode("ascii")
    whole = Request(request.method, target, tuple(_pairs(request.headers)), request.content)
    starts = (at for at, character in enumerate(target.partition("?")[0]) if character == "/")
    below = (replace(whole, target=target[at:]) for at in starts)
    return next((each for each in below if route(each) is not None), whole)


def response_of(httpx: Any, exchange: TransportExchange, request: Any, started: float) -> Any:
    """Build the httpx response to a request. Raises httpx's exception for a scripted connection failure.

    `started` is the time of the monotonic clock, in seconds, when the call began.
    """
    response, broken = exchange.response, exchange.response.broken
    if response.failure is not None:
        exchange.ended("cut")
        raise _error(httpx, _FAILURES[response.failure], request)
    failure = None if broken is None else _error(httpx, BREAKS[broken], request)
    timed_out, closed = (partial(_error, httpx, BREAKS[each], request) for each in ("stalled", "closed by client"))
    reader = ResponseReader(exchange, started, failure, patience=_patience(request), timed_out=timed_out, closed=closed)
    body = of_library(_HttpxBody, httpx, "SyncByteStream", "AsyncByteStream")(reader)
    extensions = {"http_version": b"HTTP/1.1"}
    return httpx.Response(response.status, headers=headers(exchange), stream=body, extensions=extensions)


class _HttpxBody:
    """A response body for httpx. It yields one chunk at a time, after the scripted pause."""

    def __init__(self, reader: ResponseReader) -> None:
        self._reader = reader

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reader)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        from anyio import sleep  # anyio works on asyncio and trio, and httpx depends on it

        reader = self._reader
        while (chunk := reader.chunk) is not None:
            if chunk.delay:
                await sleep(reader.pause())
            if reader.over:
                break  # another task has closed the response
            yield reader.take(chunk)
        reader.finish()

    def close(self) -> None:
        """Report that the client stopped reading."""
        self._reader.close()

    async def aclose(self) -> None:
        """Report that the client stopped reading."""
        self._reader.close()

    __del__ = close


@cache
def of_library(kind: type, httpx: Any, *bases: str) -> Any:
    """Return a subclass of `kind` and of the `bases` in `httpx`, because httpx checks types with isinstance()."""
    return type(kind.__name__, (kind, *(getattr(httpx, base) for base in bases)), {})


_OF_THE_ENCODED: Final = ("content-encoding", "content-length")
"""Headers that describe the compressed body. They are wrong for the decoded body."""


def with_capture(httpx: Any, response: Any, capture: Capture) -> Any:
    """Return the real response to a forwarded request. `capture` gets each piece of the body that the client reads.

    If the body was already read, `capture` gets the whole body at once.
    """
    pairs, whole = _pairs(response.headers), None
    if isinstance(response.stream, httpx.ByteStream):  # the body is complete: the client will not read the stream
        whole = b"".join(response.stream)
    elif response.is_stream_consumed:  # the stream was already read: only the decoded bytes are available
        whole = response.content
        pairs = [(name, value) for name, value in pairs if name.lower() not in _OF_THE_ENCODED]
    capture.began(response.status_code, pairs)
    if whole is None:
        kind = of_library(CapturingBody, httpx, "SyncByteStream", "AsyncByteStream")
        response.stream = kind(response.stream, capture)
    else:
        capture.took(whole)
        capture.complete()
    return response


def _pairs(headers: Any) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw]
