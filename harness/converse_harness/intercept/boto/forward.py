"""Capture the answers to forwarded calls of botocore and aiobotocore while the client reads them.

botocore creates an `AWSResponse` around the raw response as soon as the response head has arrived; after that, it reads
the body. When the `AWSResponse` is created, a capturing body replaces the raw response, or the stream in it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Awaitable
from typing import Any, Final

from converse_harness.errors import TransportError
from converse_harness.intercept.capture import FORWARDED, Capture, CapturingBody
from converse_harness.intercept.httpx.transports import of_library

_MADE_ELSEWHERE: Final = (
    "cannot record a call to Bedrock: the HTTP session {session} answered with a response made elsewhere, of which "
    "nothing can be heard. Record with an HTTP session of botocore's or aiobotocore's own, or through the recording "
    "proxy: `converse-harness record`"
)


def check_captured(capture: Capture, endpoint: Any, response: Any) -> Any:
    """Return the response unchanged.

    Raises TransportError if the response is not captured, because the patched `AWSResponse.__init__` did not create it.
    """
    if not capture.captured.status:
        raise TransportError(_MADE_ELSEWHERE.format(session=type(endpoint.http_session).__qualname__))
    return response


def capture_response(original: Any) -> Any:
    """Replace botocore's `AWSResponse.__init__`: wrap the raw response of a forwarded call before its body is read."""

    @functools.wraps(original)
    def __init__(self: Any, url: Any, status_code: Any, headers: Any, raw: Any) -> None:  # noqa: N807 - it replaces one
        original(self, url, status_code, headers, raw)
        capture = FORWARDED.get()
        if capture is not None and capture.wrap is not None:
            capture.began(status_code, self.headers.items())
            self.raw = capture.wrap(raw, capture)

    return __init__


def with_capturing_content(raw: Any, capture: Capture) -> Any:
    """Replace the stream in a raw response of httpx or aiohttp, and return the response.

    The new stream reports the bytes that the client reads.
    """
    if hasattr(raw, "aiter_raw"):
        library = sys.modules[type(raw).__module__.partition(".")[0]]
        raw.stream = of_library(CapturingBody, library, "AsyncByteStream")(raw.stream, capture)
    else:
        raw.content = _CapturingContent(raw.content, capture)
    return raw


def _reading(name: str) -> Any:
    """Return a method that calls the StreamReader's method `name` and reports the returned bytes to the capture."""

    async def read(self: _CapturingContent, *args: Any, **kwargs: Any) -> bytes:
        return self.took(await self.reading(getattr(self.content, name)(*args, **kwargs)))

    return read


class _CapturingContent:
    """Wraps aiohttp's StreamReader. It reports the bytes that the reader's methods return, and the end of the body.

    A wrapper is needed, because the methods of a StreamReader instance cannot be replaced.
    """

    def __init__(self, content: Any, capture: Capture) -> None:
        self.content = content
        self._capture = capture
        self._is_chunked = (capture.captured.header("transfer-encoding") or "").lower() == "chunked"
        self._in_chunk = False

    read, readany, readexactly, readline, readuntil = map(
        _reading, ("read", "readany", "readexactly", "readline", "readuntil")
    )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("iter_"):  # the iterators that these methods return read through this wrapper
            return functools.partial(getattr(self.content.__class__, name), self)
        return getattr(self.content, name)

    def __aiter__(self) -> Any:
        return self.content.__class__.__aiter__(self)

    def read_nowait(self, n: int = -1) -> bytes:
        """Return the available bytes without waiting."""
        return self.took(self.content.read_nowait(n))

    async def readchunk(self) -> tuple[bytes, bool]:
        """Return a part of an HTTP chunk, and whether the part ends the chunk."""
        data, ends = await self.reading(self.content.readchunk())
        self.took(data, goes_on=self._in_chunk)
        self._in_chunk = self._is_chunked and not ends and bool(data or self._in_chunk)
        return data, ends

    async def reading(self, coming: Awaitable[Any]) -> Any:
        """Await a read and return its result. If it fails, report the error and the partial data in the error."""
        try:
            return await coming
        except Exception as error:  # CancelledError is not caught: after a cancelled read, the client may read again
            self._capture.took(getattr(error, "partial", b""))
            self._capture.broke(error)
            raise

    def took(self, data: bytes, *, goes_on: bool = False) -> bytes:
        """Report bytes that the client read, and the end of the body if it is reached; return the bytes."""
        self._capture.took(data, goes_on=goes_on)
        if self.content.at_eof():
            self._capture.complete()
        return data

    def set_exception(self, *error: Any) -> None:
        """Report that the client stops reading; aiohttp calls this method when its response is closed."""
        self._capture.left()
        self.content.set_exception(*error)

    def __del__(self) -> None:
        if "_capture" in vars(self):
            self._capture.left()
