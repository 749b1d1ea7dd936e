"""The transports of httpx through which a fake is asked: its own for one client, and the replaced ones of a library.

What the fake does not answer goes on to another transport, whatever that is, and is written down on its way back.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from time import monotonic
from types import ModuleType
from typing import Any, Final

from converse_harness.doors.fake import Fake
from converse_harness.doors.httpx_bodies import answer, answer_async, of_library
from converse_harness.doors.httpx_passing import forward, forward_async
from converse_harness.doors.httpx_recording import exchange_of, fake_for
from converse_harness.errors import ReplyError

LIBRARIES: Final = ("httpx", "httpx2")
"""The libraries whose transports can be wrapped."""


def recording_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """A transport of a library, over which one client asks a fake.

    What is passed on goes to `inner`, any other transport of that library, or to the network.
    """
    return of_library(Transport, library, "BaseTransport")(library, fake, _checked(inner, "handle_request"))


def recording_async_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """The same for an asynchronous client."""
    return of_library(AsyncTransport, library, "AsyncBaseTransport")(
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

    loaded = [sys.modules[name] for name in LIBRARIES if name in sys.modules]
    kinds = ((library, (library.BaseTransport, library.AsyncBaseTransport)) for library in loaded)
    return next((library for library, kind in kinds if isinstance(inner, kind)), httpx)


class Transport:
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


class AsyncTransport:
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
    exchange = exchange_of(fake, request)
    if exchange.heard is not None:
        return forward(httpx, exchange, exchange.heard, request, send)
    return answer(httpx, exchange, request, started)


async def ask_async(httpx: Any, fake: Fake, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    """The same without blocking the event loop where a function of the script may take its time."""
    await request.aread()
    started = monotonic()
    if fake.runs_functions:
        from anyio.to_thread import run_sync  # httpx needs anyio itself

        exchange = await run_sync(partial(exchange_of, fake, request))
    else:
        exchange = exchange_of(fake, request)
    if exchange.heard is not None:
        return await forward_async(httpx, exchange, exchange.heard, request, send)
    return await answer_async(httpx, exchange, request, started)


# What is replaced in the libraries: see `points`


def heard(library: str) -> Callable[[Any], Any]:
    """`HTTPTransport.handle_request`: what Bedrock is asked goes to the newest fake, which answers or hears it."""

    def replace(original: Any) -> Any:
        @functools.wraps(original)
        def handle_request(self: Any, request: Any) -> Any:
            fake = fake_for(request, library)
            if fake is None:
                return original(self, request)
            return ask(sys.modules[library], fake, request, partial(original, self))

        return handle_request

    return replace


def heard_async(library: str) -> Callable[[Any], Any]:
    """The same for `AsyncHTTPTransport.handle_async_request`."""

    def replace(original: Any) -> Any:
        @functools.wraps(original)
        async def handle_async_request(self: Any, request: Any) -> Any:
            fake = fake_for(request, library)
            if fake is None:
                return await original(self, request)
            return await ask_async(sys.modules[library], fake, request, partial(original, self))

        return handle_async_request

    return replace
