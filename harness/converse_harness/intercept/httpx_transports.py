"""Which requests of httpx belong to a fake, and the transports that ask it.

While a fake that records is open, whatever a client of this process asks a host of Bedrock is forwarded and captured;
so is what it asks the address that the environment names as Bedrock's, or the test as `upstream`. Any other host, and a
transport that is not httpx's own, is captured through `recorder.httpx_transport` only.
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
    """A fake that hears what httpx asks, and its process.

    `upstream` is the address that is asked in place of Bedrock, if there is one. `respx`: it answers clients of httpx
    through that, and is asked at the transport only while it records.
    """

    fake: Fake
    upstream: str
    respx: bool
    process: int


_open: tuple[_HttpxRegistration, ...] = ()
"""Newest first; never changed but replaced, as other threads look at it meanwhile."""


@contextmanager
def capturing(fake: Fake, upstream: str = "", *, respx: bool = False) -> Generator[None, None, None]:
    """For a `with` block the clients of httpx and httpx2 are this fake's, for what they ask Bedrock or `upstream`.

    Raises ReplyError for an `upstream` that is no URL.
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
        # Again, for an interrupt at the transport of the first one: forgetting twice does nothing.
        registry.locked(lambda: _forget(entry))


def _listen(entry: _HttpxRegistration) -> None:
    global _open
    _open = (entry, *_open)


def _forget(entry: _HttpxRegistration) -> None:
    global _open
    _open = tuple(opened for opened in _open if opened is not entry)


def recording_is_on() -> bool:
    """Whether the newest fake passes on: then no older one answers."""
    opened = next(iter(_open), None)
    return opened is not None and opened.fake.records


class _Destination(NamedTuple):
    """Where a URL leads, with the path below which everything is Bedrock."""

    scheme: str
    host: str
    port: int | None
    path: str


def _address_of(url: str) -> _Destination:
    """The parts of a URL that stands for Bedrock. Raises ReplyError for what is none."""
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
    """What a fake says to a request whose body is read. Raises BlockedConnection where the fake is not open."""
    opened = next((opened for opened in _open if opened.fake is fake), None)
    if opened is None:
        raise exchange.refuse(fake, _NOT_OPEN)
    if opened.process != os.getpid():
        raise exchange.refuse(fake, exchange.FORKED.format(child=os.getpid(), parent=opened.process))
    return fake.exchange(read(request))


def _fake_for(request: Any, library: str) -> Fake | None:
    """The fake to which a request of a library belongs at its transport: the newest, if it is one of Bedrock's."""
    opened = next(iter(_open), None)
    if opened is None or not _is_for_bedrock(request.url, opened):
        return None
    if opened.fake.records:
        # What a transport passes on, or the boto transport, is written down there.
        return None if FORWARDING_HTTPX.get() or registry.CURRENT_CALL.get() is not None else opened.fake
    return None if opened.respx and library == _RESPX_SEES else opened.fake


_LIBRARIES: Final = ("httpx", "httpx2")
"""The libraries whose transports can be wrapped."""


def recording_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """A transport of a library, over which one client asks a fake.

    What is passed on goes to `inner`, any other transport of that library, or to the network.
    """
    return of_library(_HttpxTransport, library, "BaseTransport")(library, fake, _checked(inner, "handle_request"))


def recording_async_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """The same for an asynchronous client."""
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
    """The library that a transport is of: httpx, if not of another."""
    import httpx

    loaded = [sys.modules[name] for name in _LIBRARIES if name in sys.modules]
    kinds = ((library, (library.BaseTransport, library.AsyncBaseTransport)) for library in loaded)
    return next((library for library, kind in kinds if isinstance(inner, kind)), httpx)


class _HttpxTransport:
    """Asks one fake, whatever the host; what that does not answer goes on to another transport."""

    def __init__(self, httpx: Any, fake: Fake, inner: Any) -> None:
        self._httpx = httpx
        self._fake = fake
        self._given = inner

    @cached_property
    def _inner(self) -> Any:
        return self._httpx.HTTPTransport() if self._given is None else self._given

    def handle_request(self, request: Any) -> Any:
        """What httpx calls."""

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
        """Close what it goes on to."""
        if self._given is not None or "_inner" in vars(self):
            self._inner.close()


class _AsyncHttpxTransport:
    """The same for an asynchronous client."""

    def __init__(self, httpx: Any, fake: Fake, inner: Any) -> None:
        self._httpx = httpx
        self._fake = fake
        self._given = inner

    @cached_property
    def _inner(self) -> Any:
        return self._httpx.AsyncHTTPTransport() if self._given is None else self._given

    async def handle_async_request(self, request: Any) -> Any:
        """What httpx calls."""

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
        """Close what it goes on to."""
        if self._given is not None or "_inner" in vars(self):
            await self._inner.aclose()


def ask(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Any]) -> Any:
    """The response to a request: the fake's, or what `send` gives. Raises httpx's exception for no connection."""
    request.read()
    started = monotonic()
    exchange = _exchange_of(fake, request)
    if exchange.captured is not None:
        return forward(httpx, exchange, exchange.captured, request, send)
    return answer(httpx, exchange, request, started)


async def ask_async(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    """The same without blocking the event loop where a function of the script may take its time."""
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


# What is replaced in the libraries: see `patch_points`


def _handle(library: str) -> Callable[[Any], Any]:
    """`HTTPTransport.handle_request`: what Bedrock is asked goes to the newest fake, which answers or hears it."""

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
    """The same for `AsyncHTTPTransport.handle_async_request`."""

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
