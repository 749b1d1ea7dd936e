"""Calls of aiobotocore that are passed on: `passing` for what it sends with, aiohttp or httpx."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final

from converse_harness.doors.contract import Exchange
from converse_harness.doors.hearing import Hearing
from converse_harness.doors.httpx_bodies import of_library
from converse_harness.doors.httpx_passing import AsyncTee
from converse_harness.doors.passing import become, check_heard, class_of, passing
from converse_harness.recordings.heard import Heard

WHOLE: Final = 65_536
"""Parts of one HTTP chunk are put together up to this many bytes."""


async def forward_async(exchange: Exchange, heard: Heard, endpoint: Any, send: Callable[[], Awaitable[Any]]) -> Any:
    """Send one attempt as aiobotocore would. What is raised is what the client sees."""
    with passing(exchange, heard, tee_async) as hearing:
        return check_heard(hearing, endpoint, await send())


def tee_async(raw: Any, hearing: Hearing) -> None:
    """A response of httpx or of aiohttp tells what is taken of it. Raises DoorError for one of another kind."""
    if hasattr(raw, "aiter_raw"):
        library = sys.modules[class_of(raw).__module__.partition(".")[0]]
        raw.stream = of_library(AsyncTee, library, "AsyncByteStream")(raw.stream, hearing)
    else:
        chunked = raw.headers.get("Transfer-Encoding", "").lower() == "chunked"
        become(raw, _CapturedAsyncResponse, content=HeardContent(raw.content, hearing, chunked=chunked))


class _CapturedAsyncResponse:
    """What aiohttp's response class does otherwise: it sees when the client leaves."""

    content: HeardContent

    def close(self) -> None:
        self.content.left()
        above: Any = super()
        above.close()

    def release(self) -> Any:
        self.content.left()
        above: Any = super()
        return above.release()

    def __del__(self, *args: Any) -> None:
        self.content.left()
        above: Any = super()
        above.__del__(*args)


class HeardContent:
    """In place of aiohttp's StreamReader, which has no room for more: what takes bytes from it goes through here."""

    def __init__(self, content: Any, hearing: Hearing, *, chunked: bool) -> None:
        self._content = content
        self._hearing = hearing
        self._chunked = chunked
        self._in_chunk = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    def left(self) -> None:
        """The client closes the response, or drops it."""
        self._hearing.left()

    async def read(self, n: int = -1) -> Any:
        """As aiohttp's, as all the others here."""
        return self._took(await self._taken(self._content.read(n)))

    async def readany(self) -> Any:
        """What is there."""
        return self._took(await self._taken(self._content.readany()))

    async def readexactly(self, n: int) -> Any:
        """Exactly so many bytes."""
        return self._took(await self._taken(self._content.readexactly(n)))

    async def readline(self, **limits: Any) -> Any:
        """Up to the end of a line."""
        return self._took(await self._taken(self._content.readline(**limits)))

    async def readuntil(self, *args: Any, **limits: Any) -> Any:
        """Up to a separator."""
        return self._took(await self._taken(self._content.readuntil(*args, **limits)))

    def read_nowait(self, n: int = -1) -> Any:
        """What is there, without waiting."""
        return self._took(self._content.read_nowait(n))

    async def readchunk(self) -> Any:
        """A part of an HTTP chunk, and whether that ends with it."""
        data, ends = await self._taken(self._content.readchunk())
        pieces = self._hearing.pieces
        if data and self._in_chunk and len(pieces[-1][0]) < WHOLE:
            pieces[-1] = (pieces[-1][0] + data, monotonic() - self._hearing.started)
            self._took(b"")
        else:
            self._took(data)
        self._in_chunk = self._chunked and not ends and bool(data or self._in_chunk)
        return data, ends

    def iter_chunks(self) -> Any:
        """By HTTP chunks."""
        return class_of(self._content).iter_chunks(self)

    def iter_chunked(self, n: int) -> Any:
        """By so many bytes."""
        return class_of(self._content).iter_chunked(self, n)

    def iter_any(self) -> Any:
        """By what is there."""
        return class_of(self._content).iter_any(self)

    def __aiter__(self) -> Any:
        return class_of(self._content).__aiter__(self)

    async def _taken(self, coming: Awaitable[Any]) -> Any:
        try:
            return await coming
        except Exception as error:  # not where it is cancelled: a client that gives up waiting may ask again
            self._hearing.took(getattr(error, "partial", b""))
            self._hearing.broke(error)
            raise

    def _took(self, data: Any) -> Any:
        self._hearing.took(data)
        if self._content.at_eof():
            self._hearing.complete()
        return data
