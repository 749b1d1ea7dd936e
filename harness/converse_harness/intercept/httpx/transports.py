"""The transports of httpx and httpx2 that send requests to fakes: those of single clients, and the patched ones.

A client whose transport is not one of httpx's own reaches a fake only through a transport of the fake.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache, partial
from types import ModuleType
from typing import Any, Final, cast

from converse_harness.errors import ReplyError
from converse_harness.intercept.capture import Capture, CapturingBody, forwarding
from converse_harness.intercept.exchange import OpenFake, ResponseReader, TransportExchange, headers, refuse
from converse_harness.intercept.http.requests import PORTS, fake_for, from_operation_on
from converse_harness.intercept.patches import replacement
from converse_harness.intercept.registry import OPEN_FAKES
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
    """Convert an httpx request, whose body must have been read, to a Request."""
    target = request.url.raw_path.decode("ascii")
    return from_operation_on(Request(request.method, target, tuple(_pairs(request.headers)), request.content))


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


_NOT_OPEN: Final = (
    "a client asked Bedrock over the transport of a fake that is not open. Its test is over, or its `with` block "
    "has not begun: make the client anew for each fake, with the transport of that fake"
)


def responder(fake: OpenFake) -> OpenFake:
    """Return what answers the requests over a transport of `fake`. Raises BlockedConnection if it is not open."""
    answers = OPEN_FAKES.http_responder(fake)
    if answers is None:
        raise refuse(fake, _NOT_OPEN)
    return answers


def _fake_for(request: Any, transport: Any) -> OpenFake | None:
    """Return the fake that must get a request of the patched httpx transport `transport`; None for the network."""
    url = request.url
    port = url.port or PORTS.get(url.scheme)
    return fake_for(library_of(transport).__name__, url.scheme, url.host, port, url.raw_path.decode("ascii"))


LIBRARIES: Final = frozenset({"httpx", "httpx2"})
"""The libraries whose transports can be wrapped."""


def recording_transport(library: ModuleType, fake: OpenFake, inner: Any = None, method: str = "handle_request") -> Any:
    """Make a transport of the library for one client. The transport sends every request to the fake.

    A forwarded request goes to the transport `inner`, or to the network if `inner` is None. Raises ReplyError if
    `inner` lacks the method named `method`, which is "handle_async_request" for an asynchronous client.
    """
    if inner is not None and not callable(getattr(inner, method, None)):
        raise ReplyError(
            f"{inner!r} is no transport to record over: it has no {method}(). Give the transport that the client would "
            "have without recording, httpx.HTTPTransport() or httpx.AsyncHTTPTransport() for instance."
        )
    return of_library(_HttpxTransport, library, "BaseTransport", "AsyncBaseTransport")(library, fake, inner)


def library_of(inner: object) -> ModuleType:
    """Return the library (httpx or httpx2) to which the transport `inner` belongs; httpx if neither matches."""
    import httpx

    loaded = [sys.modules[name] for name in LIBRARIES if name in sys.modules]
    kinds = ((library, (library.BaseTransport, library.AsyncBaseTransport)) for library in loaded)
    return next((library for library, kind in kinds if isinstance(inner, kind)), httpx)


class _HttpxTransport:
    """A transport that sends every request to one fake, whatever the host of the request is.

    The fake may forward the request over the transport `inner`. If `inner` is None, a transport of httpx is created for
    the first forwarded request. The class works in blocking and asynchronous clients.
    """

    def __init__(self, httpx: Any, fake: OpenFake, inner: Any) -> None:
        self._httpx = httpx
        self._fake = fake
        self._inner = inner

    def handle_request(self, request: Any) -> Any:
        """Handle one request. httpx calls this method in a blocking client."""

        def send(request: Any) -> Any:
            self._inner = self._inner or self._httpx.HTTPTransport()
            return self._inner.handle_request(request)

        return ask(self._httpx, responder(self._fake), request, send)

    async def handle_async_request(self, request: Any) -> Any:
        """Handle one request. httpx calls this method in an asynchronous client."""

        async def send(request: Any) -> Any:
            self._inner = self._inner or self._httpx.AsyncHTTPTransport()
            return await self._inner.handle_async_request(request)

        return await ask_async(self._httpx, responder(self._fake), request, send)

    def __enter__(self) -> Any:
        if self._inner is not None:
            self._inner.__enter__()
        return self

    async def __aenter__(self) -> Any:
        if self._inner is not None:
            await self._inner.__aenter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._inner is not None:
            self._inner.__exit__(*error)

    async def __aexit__(self, *error: Any) -> None:
        if self._inner is not None:
            await self._inner.__aexit__(*error)

    def close(self) -> None:
        """Close the inner transport, if there is one."""
        if self._inner is not None:
            self._inner.close()

    async def aclose(self) -> None:
        """Close the inner transport, if there is one."""
        if self._inner is not None:
            await self._inner.aclose()


def ask(httpx: Any, fake: OpenFake, request: Any, send: Callable[[Any], Any]) -> Any:
    """Return the fake's response to a request, or the response of `send` if the call is forwarded.

    Raises httpx's exception for a scripted connection failure.
    """
    request.read()
    started = time.monotonic()
    exchange = fake.exchange(read(request))
    if exchange.captured is not None:
        with forwarding(exchange, exchange.captured) as capture:
            return with_capture(httpx, send(request), capture)
    if exchange.response.wait:
        time.sleep(wait_for(httpx, exchange, request))
    return response_of(httpx, exchange, request, started)


async def ask_async(httpx: Any, fake: OpenFake, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    """Answer or forward a request of an asynchronous client, as `ask` does for a blocking client.

    Scripted functions run in a worker thread.
    """
    await request.aread()
    started = time.monotonic()
    if fake.runs_functions:
        from anyio.to_thread import run_sync  # httpx depends on anyio

        exchange = await run_sync(fake.exchange, read(request))
    else:
        exchange = fake.exchange(read(request))
    if exchange.captured is not None:
        with forwarding(exchange, exchange.captured) as capture:
            return with_capture(httpx, await send(request), capture)
    if exchange.response.wait:
        from anyio import sleep

        await sleep(wait_for(httpx, exchange, request))
    return response_of(httpx, exchange, request, started)


# Replacements for methods of httpx and httpx2. The table in `patch_points` lists these methods.


@replacement
def handle_request(original: Any, self: Any, request: Any) -> Any:
    """Replace httpx's `HTTPTransport.handle_request`: the newest fake answers or captures requests to Bedrock."""
    fake = _fake_for(request, self)
    if fake is None:
        return original(self, request)
    return ask(library_of(self), fake, request, partial(original, self))


@replacement
async def handle_async_request(original: Any, self: Any, request: Any) -> Any:
    """Replace httpx's `AsyncHTTPTransport.handle_async_request`: the newest fake answers or captures requests to
    Bedrock.
    """
    fake = _fake_for(request, self)
    if fake is None:
        return await original(self, request)
    return await ask_async(library_of(self), fake, request, partial(original, self))
