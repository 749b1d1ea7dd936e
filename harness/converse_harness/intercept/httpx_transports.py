"""Assign httpx requests to fakes, and the transports that send them there.

While a recording fake is open, the process's requests to Bedrock hosts are forwarded and captured; so are those to the
endpoint URL from the environment, or to the test's `upstream`. Requests to other hosts, or over transports that are not
httpx's own, are captured only through `recorder.httpx_transport`.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from time import monotonic
from types import ModuleType
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from converse_harness.errors import ReplyError
from converse_harness.intercept import exchange, registry
from converse_harness.intercept.clients import ENDPOINTS
from converse_harness.intercept.fake import Fake
from converse_harness.intercept.hosts import is_bedrock_host
from converse_harness.intercept.httpx_bodies import (
    FORWARDING_HTTPX,
    answer,
    answer_async,
    forward,
    forward_async,
    of_library,
    read,
)
from converse_harness.recordings.write import AnyExchange

_NOT_OPEN: Final = (
    "a client asked Bedrock over the transport of a fake that is not open. Its test is over, or its `with` block "
    "has not begun: make the client anew for each fake, with the transport of that fake"
)

_RESPX_SEES: Final = "httpx"
"""The library whose clients an HttpxFake answers through respx."""

_PORTS: Final = {"http": 80, "https": 443}
"""Where a URL without a port leads."""


class _HttpxRegistration(NamedTuple):
    """A fake that captures httpx requests, and its process id.

    `upstream` is the address used in place of Bedrock, if any. `respx`: the fake answers httpx clients through respx,
    and the transport asks it only while it records.
    """

    fake: Fake
    upstream: str
    respx: bool
    process: int


_open: tuple[_HttpxRegistration, ...] = ()
"""Newest first; never changed but replaced, as other threads look at it meanwhile."""


@contextmanager
def capturing(fake: Fake, upstream: str = "", *, respx: bool = False) -> Generator[None, None, None]:
    """In a `with` block, send requests of httpx and httpx2 to Bedrock or `upstream` to this fake.

    Raises ReplyError if `upstream` is not a URL.
    """
    if upstream:
        _address_of(upstream)
    entry = _HttpxRegistration(fake, upstream, respx, os.getpid())
    try:
        try:
            registry.locked(lambda: _listen(entry))
            yield
        finally:
            registry.locked(lambda: _forget(entry))
    finally:
        # Repeated in case the first one is interrupted; unregistering twice does nothing.
        registry.locked(lambda: _forget(entry))


def _listen(entry: _HttpxRegistration) -> None:
    global _open
    _open = (entry, *_open)


def _forget(entry: _HttpxRegistration) -> None:
    global _open
    _open = tuple(opened for opened in _open if opened is not entry)


def recording_is_on() -> bool:
    """Whether the newest fake forwards calls; then no older fake answers."""
    opened = next(iter(_open), None)
    return opened is not None and opened.fake.records


class _Destination(NamedTuple):
    """The address of a URL, and the path prefix under which all requests are Bedrock's."""

    scheme: str
    host: str
    port: int | None
    path: str


def _address_of(url: str) -> _Destination:
    """The parts of a URL that replaces Bedrock. Raises ReplyError if it is not a URL."""
    try:
        parts = urlsplit(url)
        found = _Destination(parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme), parts.path)
    except ValueError:
        found = _Destination("", "", None, "")
    if not found.host or found.scheme not in _PORTS:
        raise ReplyError(
            f"upstream={url!r}: the URL of what answers in place of Bedrock, http://127.0.0.1:8080 perhaps."
        )
    return found


def _is_for_bedrock(url: Any, opened: _HttpxRegistration) -> bool:
    """Whether a request to this URL belongs to the fake."""
    return is_bedrock_host(url.host) or any(_leads_to(url, address) for address in _upstreams(opened))


def _upstreams(opened: _HttpxRegistration) -> Iterator[_Destination]:
    if opened.upstream:
        yield _address_of(opened.upstream)
    if opened.fake.records:
        for name in ENDPOINTS:
            with suppress(ReplyError):  # one that makes no sense is not for us to judge
                yield _address_of(os.environ.get(name, ""))


def _leads_to(url: Any, address: _Destination) -> bool:
    place = (url.scheme, url.host, url.port or _PORTS.get(url.scheme))
    path: str = url.raw_path.decode("ascii").partition("?")[0]
    return place == address[:3] and f"{path}/".startswith(f"{address.path.rstrip('/')}/")


def _exchange_of(fake: Fake, request: Any) -> AnyExchange:
    """The fake's exchange for a fully read request. Raises BlockedConnection if the fake is not open."""
    opened = next((opened for opened in _open if opened.fake is fake), None)
    if opened is None:
        raise exchange.refuse(fake, _NOT_OPEN)
    if opened.process != os.getpid():
        raise exchange.refuse(fake, exchange.FORKED.format(child=os.getpid(), parent=opened.process))
    return fake.exchange(read(request))


def _fake_for(request: Any, library: str) -> Fake | None:
    """The fake that a transport asks: the newest one, if the request is for Bedrock and not captured elsewhere."""
    opened = next(iter(_open), None)
    if opened is None or not _is_for_bedrock(request.url, opened):
        return None
    if opened.fake.records:
        # A call that another transport of ours forwards is captured there.
        return None if FORWARDING_HTTPX.get() or registry.CURRENT_CALL.get() is not None else opened.fake
    return None if opened.respx and library == _RESPX_SEES else opened.fake


_LIBRARIES: Final = ("httpx", "httpx2")
"""The libraries whose transports can be wrapped."""


def recording_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """A transport of a library, for one client, that sends requests to a fake.

    Forwarded requests go to `inner` (any transport of that library) or to the network.
    """
    return of_library(_HttpxTransport, library, "BaseTransport")(library, fake, _checked(inner, "handle_request"))


def recording_async_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """The asynchronous counterpart of `recording_transport`."""
    return of_library(_AsyncHttpxTransport, library, "AsyncBaseTransport")(
        library, fake, _checked(inner, "handle_async_request")
    )


def _checked(inner: Any, method: str) -> Any:
    if inner is not None and not callable(getattr(inner, method, None)):
        raise ReplyError(
            f"{inner!r} is no transport to record over: it has no {method}(). Give the transport that the client would "
            "have without recording, httpx.HTTPTransport() or httpx.AsyncHTTPTransport() for instance."
        )
    return inner


def library_of(inner: object) -> ModuleType:
    """The library of a transport; httpx if no other matches."""
    import httpx

    loaded = [sys.modules[name] for name in _LIBRARIES if name in sys.modules]
    kinds = ((library, (library.BaseTransport, library.AsyncBaseTransport)) for library in loaded)
    return next((library for library, kind in kinds if isinstance(inner, kind)), httpx)


class _HttpxTransport:
    """Sends every request, whatever the host, to one fake; unanswered ones are forwarded to another transport."""

    def __init__(self, httpx: Any, fake: Fake, inner: Any) -> None:
        self._httpx = httpx
        self._fake = fake
        self._given = inner

    @cached_property
    def _inner(self) -> Any:
        return self._httpx.HTTPTransport() if self._given is None else self._given

    def handle_request(self, request: Any) -> Any:
        """Handle one request; httpx calls this."""

        def send(request: Any) -> Any:
            return self._inner.handle_request(request)

        return ask(self._httpx, self._fake, request, send)

    def __enter__(self) -> Any:
        if self._given is not None:
            self._given.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._given is not None:
            self._given.__exit__(*error)
        else:
            self.close()

    def close(self) -> None:
        """Close the transport to which it forwards."""
        if self._given is not None or "_inner" in vars(self):
            self._inner.close()


class _AsyncHttpxTransport:
    """The asynchronous counterpart of `_HttpxTransport`."""

    def __init__(self, httpx: Any, fake: Fake, inner: Any) -> None:
        self._httpx = httpx
        self._fake = fake
        self._given = inner

    @cached_property
    def _inner(self) -> Any:
        return self._httpx.AsyncHTTPTransport() if self._given is None else self._given

    async def handle_async_request(self, request: Any) -> Any:
        """Handle one request; httpx calls this."""

        async def send(request: Any) -> Any:
            return await self._inner.handle_async_request(request)

        return await ask_async(self._httpx, self._fake, request, send)

    async def __aenter__(self) -> Any:
        if self._given is not None:
            await self._given.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        if self._given is not None:
            await self._given.__aexit__(*error)
        else:
            await self.aclose()

    async def aclose(self) -> None:
        """Close the transport to which it forwards."""
        if self._given is not None or "_inner" in vars(self):
            await self._inner.aclose()


def ask(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Any]) -> Any:
    """The response to a request: the fake's, or that of `send`. Raises httpx's exception for a connection failure."""
    request.read()
    started = monotonic()
    exchange = _exchange_of(fake, request)
    if exchange.captured is not None:
        return forward(httpx, exchange, exchange.captured, request, send)
    return answer(httpx, exchange, request, started)


async def ask_async(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    """As `ask`, but a scripted function that may be slow runs outside the event loop."""
    await request.aread()
    started = monotonic()
    if fake.runs_functions:
        from anyio.to_thread import run_sync  # httpx needs anyio itself

        exchange = await run_sync(partial(_exchange_of, fake, request))
    else:
        exchange = _exchange_of(fake, request)
    if exchange.captured is not None:
        return await forward_async(httpx, exchange, exchange.captured, request, send)
    return await answer_async(httpx, exchange, request, started)


# The replacements in the libraries: see `patch_points`


def _handle(library: str) -> Callable[[Any], Any]:
    """`HTTPTransport.handle_request`: requests to Bedrock go to the newest fake, which answers or captures them."""

    def replace(original: Any) -> Any:
        @functools.wraps(original)
        def handle_request(self: Any, request: Any) -> Any:
            fake = _fake_for(request, library)
            if fake is None:
                return original(self, request)
            return ask(sys.modules[library], fake, request, partial(original, self))

        return handle_request

    return replace


def _handle_async(library: str) -> Callable[[Any], Any]:
    """`AsyncHTTPTransport.handle_async_request`: requests to Bedrock go to the newest fake, as in `_handle`."""

    def replace(original: Any) -> Any:
        @functools.wraps(original)
        async def handle_async_request(self: Any, request: Any) -> Any:
            fake = _fake_for(request, library)
            if fake is None:
                return await original(self, request)
            return await ask_async(sys.modules[library], fake, request, partial(original, self))

        return handle_async_request

    return replace


handle_httpx, handle_httpx_async = _handle("httpx"), _handle_async("httpx")
handle_httpx2, handle_httpx2_async = _handle("httpx2"), _handle_async("httpx2")
