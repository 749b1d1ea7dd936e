"""Answer requests in the pools of httpcore, which are below the transports of httpx.

A tool that replaces httpx's transport (vcrpy, pytest-httpx) passes requests on to the function that it has replaced,
which may be httpx's own. Programs may also use httpcore alone. The guard checks all requests that no fake answers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from converse_harness.intercept.exchange import OpenFake
from converse_harness.intercept.guard.host_readers import httpcore_pool, is_of_httpcore
from converse_harness.intercept.guard.hosts import text
from converse_harness.intercept.http.requests import PORTS, fake_for
from converse_harness.intercept.httpx.transports import ask, ask_async

_ABOVE: Final = {"httpcore": "httpx", "httpcore2": "httpx2"}
"""Maps each library of pools to the library of clients that stands on it."""

_Pairs = list[tuple[str, str]]


class _Sync: ...


class _Async: ...


class _LikeHttpx:
    """Gives httpcore the form of httpx, in which `ask` and `ask_async` use it."""

    SyncByteStream = _Sync
    AsyncByteStream = _Async

    def __init__(self, core: ModuleType) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Callable[..., Exception]:
        error: Callable[[str], Exception] = getattr(self._core, name)

        def make(message: str, request: object) -> Exception:
            return error(message)

        return make

    def Response(self, status: int, *, headers: _Pairs, stream: Any, extensions: Any) -> Any:  # noqa: N802 - as in httpx
        return self._core.Response(status, headers=_encoded(headers), content=stream, extensions=extensions)


def _encoded(headers: _Pairs) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


class _PoolRequest:
    """A request of httpcore in the form of one of httpx."""

    def __init__(self, request: Any) -> None:
        self._stream = request.stream
        self.method = text(request.method)
        self.url = self
        self.raw_path: bytes = request.url.target
        self.headers = self
        self.raw = request.headers
        self.extensions = request.extensions
        self.content = b""

    def read(self) -> None:
        self.content = b"".join(self._stream)

    async def aread(self) -> None:
        self.content = b"".join([part async for part in self._stream])


def _fake_of(library: str, request: Any) -> OpenFake | None:
    """Return the fake that answers a request of a pool. A recording fake captures calls in the transports of httpx."""
    scheme, host = text(request.url.scheme), text(request.url.host)
    port = request.url.port or PORTS.get(scheme)
    fake = fake_for(_ABOVE[library], scheme, host, port, text(request.url.target))
    return None if fake is None or fake.records else fake


def handle_request(original: Any) -> Any:
    """Replace `ConnectionPool.handle_request` of httpcore and httpcore2."""
    guarded, library = httpcore_pool(original), is_of_httpcore(original)
    if not library:
        return guarded  # the function of another tool, which answers first

    @functools.wraps(original)
    def _handle_request(self: Any, request: Any) -> Any:
        fake = _fake_of(library, request)
        return (
            guarded(self, request) if fake is None else ask(_like_httpx(library), fake, _PoolRequest(request), _never)
        )

    return _handle_request


def handle_async_request(original: Any) -> Any:
    """Replace `AsyncConnectionPool.handle_async_request` of httpcore and httpcore2."""
    guarded, library = httpcore_pool(original), is_of_httpcore(original)
    if not library:
        return guarded

    @functools.wraps(original)
    async def _handle_async_request(self: Any, request: Any) -> Any:
        fake = _fake_of(library, request)
        if fake is None:
            return await guarded(self, request)
        return await ask_async(_like_httpx(library), fake, _PoolRequest(request), _never)

    return _handle_async_request


def _never(request: object) -> Any:
    raise AssertionError("only a fake that records forwards a call, and it answers no pool")


@functools.cache
def _like_httpx(library: str) -> _LikeHttpx:
    import importlib

    return _LikeHttpx(importlib.import_module(library))
