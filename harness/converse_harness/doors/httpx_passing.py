"""Calls of httpx that are passed on: what comes back is written down on its way, and goes to the client as it comes.

The client sees each piece when it arrives, and the same exception where it breaks. What is written down are the bytes
as they travel: what has a Content-Encoding is still encoded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, Final

from converse_harness.doors.contract import Exchange
from converse_harness.doors.hearing import Hearing
from converse_harness.doors.httpx_bodies import of_library
from converse_harness.recordings.heard import Heard

PASSING: ContextVar[bool] = ContextVar("converse_harness_passing", default=False)
"""Whether a transport passes a call on in this context: one that it is made of must not write it down again."""

OF_THE_ENCODED: Final = ("content-encoding", "content-length")
"""Headers that are not true of a body that was decoded."""


def forward(httpx: Any, exchange: Exchange, heard: Heard, request: Any, send: Callable[[Any], Any]) -> Any:
    """The response that `send` gives, whose body is written down while the client reads it."""
    hearing = Hearing(exchange, heard)
    with _passing(hearing):
        response = send(request)
    return _overheard(httpx, response, hearing, of_library(SyncTee, httpx, "SyncByteStream"))


async def forward_async(
    httpx: Any, exchange: Exchange, heard: Heard, request: Any, send: Callable[[Any], Awaitable[Any]]
) -> Any:
    """The same for an asynchronous client."""
    hearing = Hearing(exchange, heard)
    with _passing(hearing):
        response = await send(request)
    return _overheard(httpx, response, hearing, of_library(AsyncTee, httpx, "AsyncByteStream"))


@contextmanager
def _passing(hearing: Hearing) -> Generator[None, None, None]:
    # Set to what it was and not reset with a token: an interrupt may come before there is one.
    before = PASSING.get()
    try:
        PASSING.set(True)
        yield
    except BaseException as error:
        hearing.broke(error)
        raise
    finally:
        PASSING.set(before)


def _overheard(httpx: Any, response: Any, hearing: Hearing, tee: Callable[[Any, Hearing], Any]) -> Any:
    """The response, with a body that is written down as it is read."""
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
    whole = _whole(httpx, response)
    if whole is None:
        hearing.began(response.status_code, pairs)
        response.stream = tee(response.stream, hearing)
        return response
    if not isinstance(response.stream, httpx.ByteStream):
        pairs = [(name, value) for name, value in pairs if name.lower() not in OF_THE_ENCODED]
    hearing.began(response.status_code, pairs)
    hearing.took(whole)
    hearing.complete()
    return response


def _whole(httpx: Any, response: Any) -> bytes | None:
    """The body of a response that came whole, whose stream nobody will read: made so, or read by the transport below.

    Of one that was read, the bytes are gone that travelled; what they meant is there.
    """
    if isinstance(response.stream, httpx.ByteStream):
        return b"".join(response.stream)
    try:
        content: bytes = response.content
    except httpx.ResponseNotRead:
        return None
    return content


class Tee:
    """The body of a response on its way from another transport to a client."""

    def __init__(self, stream: Any, hearing: Hearing) -> None:
        self._stream = stream
        self._hearing = hearing

    def __del__(self) -> None:
        self._hearing.left()


class SyncTee(Tee):
    """For a client that blocks while it waits."""

    def __iter__(self) -> Iterator[bytes]:
        took, started = self._hearing.pieces.append, self._hearing.started
        try:
            for piece in self._stream:
                took((piece, monotonic() - started))
                yield piece
        except BaseException as error:
            self._hearing.broke(error)
            raise
        self._hearing.complete()

    def close(self) -> None:
        """The client has read enough."""
        self._hearing.left()
        self._stream.close()


class AsyncTee(Tee):
    """For an asynchronous client."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        took, started = self._hearing.pieces.append, self._hearing.started
        try:
            async for piece in self._stream:
                took((piece, monotonic() - started))
                yield piece
        except BaseException as error:
            self._hearing.broke(error)
            raise
        self._hearing.complete()

    async def aclose(self) -> None:
        """The client has read enough."""
        self._hearing.left()
        await self._stream.aclose()
