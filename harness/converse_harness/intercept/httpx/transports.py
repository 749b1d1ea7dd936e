"""Choose the fake for each httpx request, and make the transports that send requests to fakes.

While a recording fake is open, a request is forwarded and captured if it goes to a Bedrock host, to an endpoint URL
from the environment, or to the fake's `upstream`. A request to another host is captured only if its client uses
`recorder.httpx_transport`. The same is true for a client whose transport is not one of httpx's own.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from converse_harness.endpoint.operations import route
from converse_harness.errors import ReplyError
from converse_harness.intercept import exchange
from converse_harness.intercept.capture import FORWARDED, Capture, CapturingBody, forwarding
from converse_harness.intercept.clients import ENDPOINTS
from converse_harness.intercept.exchange import ResponseReader, TransportExchange, headers
from converse_harness.intercept.fake import Fake
from converse_harness.intercept.guard.hosts import is_bedrock_host
from converse_harness.intercept.patches import replacement
from converse_harness.intercept.registry import CURRENT_CALL
from converse_harness.stream.http import Request

if TYPE_CHECKING:
    from converse_harness.recordings.record.write import AnyExchange

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


_NOT_OPEN: Final = (
    "a client asked Bedrock over the transport of a fake that is not open. Its test is over, or its `with` block "
    "has not begun: make the client anew for each fake, with the transport of that fake"
)

_PORTS: Final = {"http": 80, "https": 443}
"""Maps each URL scheme to its default port."""


class _HttpxRegistration(NamedTuple):
    """An open fake that gets httpx requests, and the id of the process that opened it.

    `upstream` is the URL that replaces Bedrock, or "". `respx`: the fake answers httpx clients through respx. The
    patched transports of httpx then use this fake only while it records.
    """

    fake: Fake
    upstream: str
    respx: bool
    process: int


_open: list[_HttpxRegistration] = []
"""The open fakes for httpx, newest first. Loops iterate over a copy, because other threads may change the list."""


@contextmanager
def capturing(fake: Fake, upstream: str = "", *, respx: bool = False) -> Generator[None, None, None]:
    """During the `with` block, give the fake the requests of httpx and httpx2 that go to Bedrock or to `upstream`.

    Raises ReplyError if `upstream` is not a URL.
    """
    entry = _HttpxRegistration(fake, _address_of(upstream), respx, os.getpid())
    if upstream and not entry.upstream:
        raise ReplyError(
            f"upstream={upstream!r}: the URL of what answers in place of Bedrock, http://127.0.0.1:8080 perhaps."
        )
    try:
        _open.insert(0, entry)
        yield
    finally:
        _open.remove(entry)


def recording_is_on() -> bool:
    """Whether the newest fake for httpx forwards calls to the real service. If so, older fakes do not answer."""
    return any(opened.fake.core.records for opened in _open[:1])


def _address_of(url: str) -> str:
    """Return an HTTP URL with its port and a final slash, so that prefixes can be compared; "" for any other text."""
    with suppress(ValueError):  # urlsplit cannot parse the URL
        parts = urlsplit(url)
        if parts.hostname and parts.scheme in _PORTS:
            port = parts.port or _PORTS[parts.scheme]
            return f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}/"
    return ""


def _is_for_bedrock(url: Any, opened: _HttpxRegistration) -> bool:
    """Whether the URL has a Bedrock host, or begins with the fake's `upstream`.

    For a recording fake, this is also true of a URL that begins with an endpoint URL from the environment.
    """
    path: str = url.raw_path.decode("ascii").partition("?")[0]
    address = f"{url.scheme}://{url.host}:{url.port or _PORTS.get(url.scheme)}{path}/"
    from_environment = (_address_of(os.environ.get(name, "")) for name in ENDPOINTS if opened.fake.core.records)
    upstreams = filter(None, (opened.upstream, *from_environment))  # a variable that is unset or invalid is ignored
    return is_bedrock_host(url.host) or any(map(address.startswith, upstreams))


def _exchange_of(fake: Fake, request: Any) -> AnyExchange:
    """Send a request to the fake and return the exchange. The request's body must have been read.

    Raises BlockedConnection if the fake is not open in this process.
    """
    opened = next((opened for opened in tuple(_open) if opened.fake is fake), None)
    if opened is None:
        raise exchange.refuse(fake.core, _NOT_OPEN)
    if opened.process != os.getpid():
        raise exchange.refuse(fake.core, exchange.FORKED.format(child=os.getpid(), parent=opened.process))
    return fake.core.exchange(read(request))


def _fake_for(request: Any, transport: Any) -> Fake | None:
    """Return the fake that must get a request of the patched httpx transport `transport`: the newest fake.

    Return None if the request is not for Bedrock, or if respx or another transport of the harness handles the request.
    """
    opened = next(iter(_open), None)
    if opened is None or not _is_for_bedrock(request.url, opened):
        return None
    if opened.fake.core.records:
        # If another transport of ours is forwarding this call, that transport captures the call.
        return opened.fake if FORWARDED.get() is None and CURRENT_CALL.get() is None else None
    # If `respx` is set, respx answers the clients of httpx, but not those of httpx2.
    return None if opened.respx and library_of(transport).__name__ == "httpx" else opened.fake


_LIBRARIES: Final = ("httpx", "httpx2")
"""The libraries whose transports can be wrapped."""


def recording_transport(library: ModuleType, fake: Fake, inner: Any = None, method: str = "handle_request") -> Any:
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

    loaded = [sys.modules[name] for name in _LIBRARIES if name in sys.modules]
    kinds = ((library, (library.BaseTransport, library.AsyncBaseTransport)) for library in loaded)
    return next((library for library, kind in kinds if isinstance(inner, kind)), httpx)


class _HttpxTransport:
    """A transport that sends every request to one fake, whatever the host of the request is.

    The fake may forward the request over the transport `inner`. If `inner` is None, a transport of httpx is created for
    the first forwarded request. The class works in blocking and asynchronous clients.
    """

    def __init__(self, httpx: Any, fake: Fake, inner: Any) -> None:
        self._httpx = httpx
        self._fake = fake
        self._inner = inner

    def handle_request(self, request: Any) -> Any:
        """Handle one request. httpx calls this method in a blocking client."""

        def send(request: Any) -> Any:
            self._inner = self._inner or self._httpx.HTTPTransport()
            return self._inner.handle_request(request)

        return ask(self._httpx, self._fake, request, send)

    async def handle_async_request(self, request: Any) -> Any:
        """Handle one request. httpx calls this method in an asynchronous client."""

        async def send(request: Any) -> Any:
            self._inner = self._inner or self._httpx.AsyncHTTPTransport()
            return await self._inner.handle_async_request(request)

        return await ask_async(self._httpx, self._fake, request, send)

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


def ask(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Any]) -> Any:
    """Return the fake's response to a request, or the response of `send` if the call is forwarded.

    Raises httpx's exception for a scripted connection failure.
    """
    request.read()
    started = time.monotonic()
    exchange = _exchange_of(fake, request)
    if exchange.captured is not None:
        with forwarding(exchange, exchange.captured) as capture:
            return with_capture(httpx, send(request), capture)
    if exchange.response.wait:
        time.sleep(wait_for(httpx, exchange, request))
    return response_of(httpx, exchange, request, started)


async def ask_async(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    """Answer or forward a request of an asynchronous client, as `ask` does for a blocking client.

    Scripted functions run in a worker thread.
    """
    await request.aread()
    started = time.monotonic()
    if fake.core.runs_functions:
        from anyio.to_thread import run_sync  # httpx depends on anyio

        exchange = await run_sync(_exchange_of, fake, request)
    else:
        exchange = _exchange_of(fake, request)
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
