"""Assign httpx requests to fakes, and the transports that send them there.

While a recording fake is open, the process's requests to Bedrock hosts are forwarded and captured; so are those to the
endpoint URL from the environment, or to the test's `upstream`. Requests to other hosts, or over transports that are not
httpx's own, are captured only through `recorder.httpx_transport`.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from types import ModuleType
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from converse_harness.errors import ReplyError
from converse_harness.intercept import exchange, registry
from converse_harness.intercept.capture import FORWARDED, forwarding
from converse_harness.intercept.clients import ENDPOINTS
from converse_harness.intercept.fake import Fake
from converse_harness.intercept.hosts import is_bedrock_host
from converse_harness.intercept.httpx_bodies import of_library, read, response_of, wait_for, with_capture
from converse_harness.recordings.write import AnyExchange

_NOT_OPEN: Final = (
    "a client asked Bedrock over the transport of a fake that is not open. Its test is over, or its `with` block "
    "has not begun: make the client anew for each fake, with the transport of that fake"
)

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


_open: list[_HttpxRegistration] = []
"""Newest first; copied where it is iterated over, as other threads change it meanwhile."""


@contextmanager
def capturing(fake: Fake, upstream: str = "", *, respx: bool = False) -> Generator[None, None, None]:
    """In a `with` block, send requests of httpx and httpx2 to Bedrock or `upstream` to this fake.

    Raises ReplyError if `upstream` is not a URL.
    """
    entry = _HttpxRegistration(fake, upstream and _address_of(upstream), respx, os.getpid())
    try:
        _open.insert(0, entry)
        yield
    finally:
        _open.remove(entry)


def recording_is_on() -> bool:
    """Whether the newest fake forwards calls; then no older fake answers."""
    opened = next(iter(_open), None)
    return opened is not None and opened.fake.records


def _address_of(url: str) -> str:
    """A URL with a port and a slash at its end: what begins with it is Bedrock's. Raises ReplyError if it is none."""
    with suppress(ValueError):  # no URL at all
        parts = urlsplit(url)
        if parts.hostname and parts.scheme in _PORTS:
            port = parts.port or _PORTS[parts.scheme]
            return f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}/"
    raise ReplyError(f"upstream={url!r}: the URL of what answers in place of Bedrock, http://127.0.0.1:8080 perhaps.")


def _is_for_bedrock(url: Any, opened: _HttpxRegistration) -> bool:
    """Whether a request to this URL belongs to the fake."""
    path: str = url.raw_path.decode("ascii").partition("?")[0]
    address = f"{url.scheme}://{url.host}:{url.port or _PORTS.get(url.scheme)}{path}/"
    return is_bedrock_host(url.host) or any(map(address.startswith, _upstreams(opened)))


def _upstreams(opened: _HttpxRegistration) -> Iterator[str]:
    if opened.upstream:
        yield opened.upstream
    if opened.fake.records:
        for name in ENDPOINTS:
            with suppress(ReplyError):  # one that makes no sense is not for us to judge
                yield _address_of(os.environ.get(name, ""))


def _exchange_of(fake: Fake, request: Any) -> AnyExchange:
    """The fake's exchange for a fully read request. Raises BlockedConnection if the fake is not open."""
    opened = next((opened for opened in tuple(_open) if opened.fake is fake), None)
    if opened is None:
        raise exchange.refuse(fake, _NOT_OPEN)
    if opened.process != os.getpid():
        raise exchange.refuse(fake, exchange.FORKED.format(child=os.getpid(), parent=opened.process))
    return fake.exchange(read(request))


def _fake_for(request: Any, transport: Any) -> Fake | None:
    """The fake that a transport asks: the newest one, if the request is for Bedrock and not captured elsewhere."""
    opened = next(iter(_open), None)
    if opened is None or not _is_for_bedrock(request.url, opened):
        return None
    if opened.fake.records:
        # A call that another transport of ours forwards is captured there.
        return opened.fake if FORWARDED.get() is None and registry.CURRENT_CALL.get() is None else None
    # Clients of httpx are answered through respx.
    return None if opened.respx and library_of(transport).__name__ == "httpx" else opened.fake


_LIBRARIES: Final = ("httpx", "httpx2")
"""The libraries whose transports can be wrapped."""


def recording_transport(library: ModuleType, fake: Fake, inner: Any = None, method: str = "handle_request") -> Any:
    """A transport of a library, for one client, that sends requests to a fake.

    Forwarded requests go to `inner` (any transport of that library, which has this method) or to the network.
    """
    if inner is not None and not callable(getattr(inner, method, None)):
        raise ReplyError(
            f"{inner!r} is no transport to record over: it has no {method}(). Give the transport that the client would "
            "have without recording, httpx.HTTPTransport() or httpx.AsyncHTTPTransport() for instance."
        )
    return of_library(_HttpxTransport, library, "BaseTransport", "AsyncBaseTransport")(library, fake, inner)


def recording_async_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """The same over an asynchronous transport."""
    return recording_transport(library, fake, inner, "handle_async_request")


def library_of(inner: object) -> ModuleType:
    """The library of a transport; httpx if no other matches."""
    import httpx

    loaded = [sys.modules[name] for name in _LIBRARIES if name in sys.modules]
    kinds = ((library, (library.BaseTransport, library.AsyncBaseTransport)) for library in loaded)
    return next((library for library, kind in kinds if isinstance(inner, kind)), httpx)


class _HttpxTransport:
    """Sends every request, whatever the host, to one fake; unanswered ones are forwarded to another transport.

    It serves blocking and asynchronous clients; what it forwards to serves one of them, unless nothing was given.
    """

    def __init__(self, httpx: Any, fake: Fake, inner: Any) -> None:
        self._httpx = httpx
        self._fake = fake
        self._inner = inner

    def handle_request(self, request: Any) -> Any:
        """Handle one request; httpx calls this."""

        def send(request: Any) -> Any:
            self._inner = self._inner or self._httpx.HTTPTransport()
            return self._inner.handle_request(request)

        return ask(self._httpx, self._fake, request, send)

    async def handle_async_request(self, request: Any) -> Any:
        """Handle one request; httpx calls this."""

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
        """Close the transport to which it forwards."""
        if self._inner is not None:
            self._inner.close()

    async def aclose(self) -> None:
        """Close the transport to which it forwards."""
        if self._inner is not None:
            await self._inner.aclose()


def ask(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Any]) -> Any:
    """The response to a request: the fake's, or that of `send`. Raises httpx's exception for a connection failure."""
    request.read()
    started = monotonic()
    exchange = _exchange_of(fake, request)
    if exchange.captured is not None:
        with forwarding(exchange, exchange.captured) as capture:
            response = send(request)
        return with_capture(httpx, response, capture)
    if exchange.response.wait:
        time.sleep(wait_for(httpx, exchange, request))
    return response_of(httpx, exchange, request, started)


async def ask_async(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    """As `ask`, without blocking the event loop: a scripted function that may be slow runs outside of it."""
    await request.aread()
    started = monotonic()
    if fake.runs_functions:
        from anyio.to_thread import run_sync  # httpx needs anyio itself

        exchange = await run_sync(_exchange_of, fake, request)
    else:
        exchange = _exchange_of(fake, request)
    if exchange.captured is not None:
        with forwarding(exchange, exchange.captured) as capture:
            response = await send(request)
        return with_capture(httpx, response, capture)
    if exchange.response.wait:
        from anyio import sleep

        await sleep(wait_for(httpx, exchange, request))
    return response_of(httpx, exchange, request, started)


# The replacements in the libraries: see `patch_points`


def handle_request(original: Any) -> Any:
    """`HTTPTransport.handle_request`: requests to Bedrock go to the newest fake, which answers or captures them."""

    @functools.wraps(original)
    def handle_request(self: Any, request: Any) -> Any:
        fake = _fake_for(request, self)
        if fake is None:
            return original(self, request)
        return ask(library_of(self), fake, request, partial(original, self))

    return handle_request


def handle_async_request(original: Any) -> Any:
    """`AsyncHTTPTransport.handle_async_request`, the same."""

    @functools.wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        fake = _fake_for(request, self)
        if fake is None:
            return await original(self, request)
        return await ask_async(library_of(self), fake, request, partial(original, self))

    return handle_async_request
