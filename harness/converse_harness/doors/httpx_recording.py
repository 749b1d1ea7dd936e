"""What of httpx is recorded: which clients and requests are heard, and the transports that pass on.

While a fake that records is open, whatever a client of this process asks a host of Bedrock is passed on and written
down; so is what it asks the address that the environment names as Bedrock's, or the test as `upstream`. Every other
host, and a transport that is not httpx's own, is heard through `recording_transport` only.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import cached_property, partial
from time import monotonic
from types import ModuleType
from typing import Any, Final, NamedTuple

from converse_harness.doors import contract, registry
from converse_harness.doors.environ import ENDPOINTS
from converse_harness.doors.fake import Fake
from converse_harness.doors.guard import is_bedrock_host
from converse_harness.doors.httpx_bodies import answer, answer_async, of_library, read
from converse_harness.doors.httpx_passing import PASSING, pass_on, pass_on_async
from converse_harness.recordings.tape import AnyExchange

NOT_OPEN: Final = (
    "a client asked Bedrock over the transport of a fake that is not open. Its test is over, or its `with` block "
    "has not begun: make the client anew for each fake, with the transport of that fake"
)

LIBRARIES: Final = ("httpx", "httpx2")
"""The libraries whose transports can be wrapped."""


class Opened(NamedTuple):
    """A fake that hears what httpx asks: the address that is asked in place of Bedrock, if any, and its process."""

    fake: Fake
    upstream: str
    process: int


OPEN: list[Opened] = []
"""Newest first."""


@contextmanager
def listening(fake: Fake, upstream: str = "") -> Generator[None, None, None]:
    """For a `with` block the clients of httpx and httpx2 are this fake's.

    `upstream` is a URL that stands for Bedrock while the fake records.
    """
    entry = Opened(fake, upstream, os.getpid())
    try:
        try:
            registry.alone(lambda: OPEN.insert(0, entry))
            yield
        finally:
            registry.alone(lambda: forget(fake))
    finally:
        # Again, for an interrupt at the door of the first one: forgetting twice does nothing.
        registry.alone(lambda: forget(fake))


def forget(fake: Fake) -> None:
    """It hears nothing more."""
    OPEN[:] = [opened for opened in OPEN if opened.fake is not fake]


def newest_for(url: Any) -> Fake | None:
    """The fake to which a request to this URL belongs."""
    opened = next(iter(OPEN), None)
    if opened is None:
        return None
    if is_bedrock_host(url.host) or (opened.fake.records and _is_upstream(url, opened.upstream)):
        return opened.fake
    return None


def recording_is_on() -> bool:
    """Whether the newest fake passes on: then no older one answers."""
    return bool(OPEN) and OPEN[0].fake.records


def _is_upstream(url: Any, named: str) -> bool:
    asked = str(url)
    known = (named, *(os.environ.get(name, "") for name in ENDPOINTS))
    return any(f"{asked}/".startswith(f"{base.rstrip('/')}/") for base in known if base)


# Transports


def recording_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """A transport of a library, over which one client asks a fake.

    What is passed on goes to `inner`, any other transport of that library, or to the network.
    """
    return of_library(Transport, library, "BaseTransport")(library, fake, inner)


def recording_async_transport(library: ModuleType, fake: Fake, inner: Any = None) -> Any:
    """The same for an asynchronous client."""
    return of_library(AsyncTransport, library, "AsyncBaseTransport")(library, fake, inner)


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
        return pass_on(httpx, exchange, exchange.heard, request, send)
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
        return await pass_on_async(httpx, exchange, exchange.heard, request, send)
    return await answer_async(httpx, exchange, request, started)


def exchange_of(fake: Fake, request: Any) -> AnyExchange:
    """What a fake says to a request whose body is read. Raises BlockedConnection where the fake is not open."""
    opened = next((opened for opened in OPEN if opened.fake is fake), None)
    if opened is None:
        raise contract.refuse(fake, NOT_OPEN)
    if opened.process != os.getpid():
        raise contract.refuse(fake, contract.FORKED.format(child=os.getpid(), parent=opened.process))
    return fake.exchange(read(request))


# What is replaced in the libraries: see `points`


def heard(library: str, *, answers: bool) -> Callable[[Any], Any]:
    """`HTTPTransport.handle_request`: a fake that records hears what Bedrock is asked; any fake, if this `answers`."""

    def replace(original: Any) -> Any:
        @functools.wraps(original)
        def handle_request(self: Any, request: Any) -> Any:
            fake = _fake_for(request, answers=answers)
            if fake is None:
                return original(self, request)
            return ask(sys.modules[library], fake, request, partial(original, self))

        return handle_request

    return replace


def heard_async(library: str, *, answers: bool) -> Callable[[Any], Any]:
    """The same for `AsyncHTTPTransport.handle_async_request`."""

    def replace(original: Any) -> Any:
        @functools.wraps(original)
        async def handle_async_request(self: Any, request: Any) -> Any:
            fake = _fake_for(request, answers=answers)
            if fake is None:
                return await original(self, request)
            return await ask_async(sys.modules[library], fake, request, partial(original, self))

        return handle_async_request

    return replace


def _fake_for(request: Any, *, answers: bool) -> Fake | None:
    fake = newest_for(request.url) if OPEN else None
    if fake is None or not fake.records:
        return fake if answers else None
    # What a transport passes on, or the boto door, is written down there.
    return None if PASSING.get() or registry.HELD.get() is not None else fake
