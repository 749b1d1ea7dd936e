"""Forward calls of botocore and aiobotocore to the real service, and capture the answers while the client reads them.

botocore makes an `AWSResponse` around the raw response as soon as the head is there, and reads a whole body at once
after that. At this point the raw response object is changed to a capturing subclass of its class; it stays the same
object.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import currentframe
from time import monotonic
from typing import Any, Final, cast

from converse_harness.errors import TransportError
from converse_harness.intercept.exchange import Capture, TransportExchange
from converse_harness.intercept.httpx_bodies import AsyncTee, of_library
from converse_harness.recordings.capture import CapturedExchange

Tee = Callable[[Any, Capture], None]
"""Makes a raw response tell a Hearing what is taken of it."""

_FORWARDING_BOTO: ContextVar[tuple[Capture, Tee] | None] = ContextVar("converse_harness_passing", default=None)
"""The attempt that is being sent in this context, until it has an answer."""

_NOT_CAPTURED: Final = (
    "cannot record a call to Bedrock: {what}, of which nothing can be heard. Record with an HTTP session of botocore's "
    "or aiobotocore's own, or through the recording proxy: `converse-harness record`"
)


def forward(exchange: TransportExchange, captured: CapturedExchange, endpoint: Any, send: Callable[[], Any]) -> Any:
    """Send one attempt as botocore would. Its exceptions reach the client unchanged."""
    with forwarding_response(exchange, captured, _tee) as capture:
        return _check_captured(capture, endpoint, send())


@contextmanager
def forwarding_response(
    exchange: TransportExchange, captured: CapturedExchange, how: Tee
) -> Generator[Capture, None, None]:
    """Capture the response to the attempt that is sent in the `with` block."""
    capture = Capture(exchange, captured)
    before = _FORWARDING_BOTO.get()
    try:
        try:
            _FORWARDING_BOTO.set((capture, how))
            yield capture
        except BaseException as error:
            capture.broke(error)
            raise
        finally:
            _FORWARDING_BOTO.set(before)
    finally:
        # Repeated in case the first one is interrupted: a later response must never count as the answer to this
        # attempt.
        _FORWARDING_BOTO.set(before)


def _check_captured(capture: Capture, endpoint: Any, response: Any) -> Any:
    """Return the response. Raises TransportError if it came in a way that cannot be captured."""
    if not capture.captured.status:
        session = type(endpoint.http_session).__qualname__
        raise TransportError(
            _NOT_CAPTURED.format(what=f"the HTTP session {session} answered with a response made elsewhere")
        )
    return response


def capture_response(original: Any) -> Any:
    """`AWSResponse.__init__`, also aiobotocore's: called when the head has arrived and nothing of the body was read."""

    @functools.wraps(original)
    def __init__(self: Any, url: Any, status_code: Any, headers: Any, raw: Any) -> None:  # noqa: N807 - it stands for it
        original(self, url, status_code, headers, raw)
        forwarding_response = _FORWARDING_BOTO.get()
        if forwarding_response is not None:
            capture, how = forwarding_response
            capture.began(status_code, self.headers.items())
            how(raw, capture)

    return __init__


def _tee(raw: Any, capture: Capture) -> None:
    """Make a urllib3 response report the bytes that are taken from it. Raises TransportError for another type."""
    _become(raw, _CapturedResponse, _converse_harness=capture)


def _become(raw: Any, methods: type, **attributes: object) -> None:
    """Put these methods before those of a library's response. Raises TransportError if its class does not allow it."""
    kind = _captured_class(raw)
    try:
        for name, value in attributes.items():
            setattr(raw, name, value)
        raw.__class__ = _subclass(kind, methods)
    except (AttributeError, TypeError) as error:
        raise TransportError(_NOT_CAPTURED.format(what=f"a raw response is a {kind.__qualname__}")) from error


def _captured_class(thing: object) -> Any:
    """The class of an object, as Any: the libraries have no types."""
    return type(thing)


@functools.cache
def _subclass(kind: Any, methods: type) -> Any:
    names = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    return type(kind.__name__, (methods, kind), names)


class _CapturedResponse:
    """Methods that replace those of urllib3's response class; every read of the body goes through them."""

    _converse_harness: Capture

    def read(self, *args: Any, **kwargs: Any) -> Any:
        above: Any = super()
        return self._converse_harness_take(above.read, args, kwargs)

    def read1(self, *args: Any, **kwargs: Any) -> Any:
        above: Any = super()
        return self._converse_harness_take(above.read1, args, kwargs)

    def _converse_harness_take(self, read: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        capture = self._converse_harness
        try:
            data = read(*args, **kwargs)
        except BaseException as error:
            capture.broke(error)
            raise
        capture.took(data)
        if cast("Any", self).closed:
            capture.complete()
        return data

    def read_chunked(self, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        above: Any = super()
        capture = self._converse_harness
        took, started = capture.pieces.append, capture.started
        try:
            for data in above.read_chunked(*args, **kwargs):
                took((data, monotonic() - started))
                yield data
        except BaseException as error:
            capture.broke(error)
            raise
        capture.complete()

    def close(self) -> None:
        # urllib3 itself closes a response that breaks off, and the error is raised only afterwards.
        frame = currentframe()
        caller = None if frame is None or frame.f_back is None else frame.f_back.f_globals.get("__name__")
        if caller != type(self).__module__:
            self._converse_harness.left()
        above: Any = super()
        above.close()

    def __del__(self) -> None:
        # If the connection below was finalized first, the response already looks closed and is never closed explicitly.
        self._converse_harness.left()
        above: Any = super()
        above.__del__()


_WHOLE: Final = 65_536
"""Parts of one HTTP chunk are put together up to this many bytes."""


async def forward_async(
    exchange: TransportExchange, captured: CapturedExchange, endpoint: Any, send: Callable[[], Awaitable[Any]]
) -> Any:
    """Send one attempt as aiobotocore would. Its exceptions reach the client unchanged."""
    with forwarding_response(exchange, captured, _tee_async) as capture:
        return _check_captured(capture, endpoint, await send())


def _tee_async(raw: Any, capture: Capture) -> None:
    """Make a response of httpx or aiohttp report the bytes that are taken from it. Raises TransportError for another
    type.
    """
    if hasattr(raw, "aiter_raw"):
        library = sys.modules[_captured_class(raw).__module__.partition(".")[0]]
        raw.stream = of_library(AsyncTee, library, "AsyncByteStream")(raw.stream, capture)
    else:
        chunked = raw.headers.get("Transfer-Encoding", "").lower() == "chunked"
        _become(raw, _CapturedAsyncResponse, content=_CapturedContent(raw.content, capture, chunked=chunked))


class _CapturedAsyncResponse:
    """Methods that replace those of aiohttp's response class, to notice that the client leaves."""

    content: _CapturedContent

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


class _CapturedContent:
    """Wraps aiohttp's StreamReader, which cannot get more attributes; every read goes through its methods."""

    def __init__(self, content: Any, capture: Capture, *, chunked: bool) -> None:
        self._content = content
        self._hearing = capture
        self._chunked = chunked
        self._in_chunk = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    def left(self) -> None:
        """Note that the client closed or dropped the response."""
        self._hearing.left()

    async def read(self, n: int = -1) -> Any:
        """Read up to `n` bytes, as aiohttp's method does; the other methods too work like aiohttp's."""
        return self._took(await self._taken(self._content.read(n)))

    async def readany(self) -> Any:
        """Read the bytes that are available."""
        return self._took(await self._taken(self._content.readany()))

    async def readexactly(self, n: int) -> Any:
        """Read exactly `n` bytes."""
        return self._took(await self._taken(self._content.readexactly(n)))

    async def readline(self, **limits: Any) -> Any:
        """Read up to the end of the line."""
        return self._took(await self._taken(self._content.readline(**limits)))

    async def readuntil(self, *args: Any, **limits: Any) -> Any:
        """Read up to and including a separator."""
        return self._took(await self._taken(self._content.readuntil(*args, **limits)))

    def read_nowait(self, n: int = -1) -> Any:
        """Return the available bytes without waiting."""
        return self._took(self._content.read_nowait(n))

    async def readchunk(self) -> Any:
        """Read a part of an HTTP chunk, with a flag for the chunk's end."""
        data, ends = await self._taken(self._content.readchunk())
        pieces = self._hearing.pieces
        if data and self._in_chunk and len(pieces[-1][0]) < _WHOLE:
            pieces[-1] = (pieces[-1][0] + data, monotonic() - self._hearing.started)
            self._took(b"")
        else:
            self._took(data)
        self._in_chunk = self._chunked and not ends and bool(data or self._in_chunk)
        return data, ends

    def iter_chunks(self) -> Any:
        """Iterate over HTTP chunks."""
        return _captured_class(self._content).iter_chunks(self)

    def iter_chunked(self, n: int) -> Any:
        """Iterate in pieces of `n` bytes."""
        return _captured_class(self._content).iter_chunked(self, n)

    def iter_any(self) -> Any:
        """Iterate over the bytes as they become available."""
        return _captured_class(self._content).iter_any(self)

    def __aiter__(self) -> Any:
        return _captured_class(self._content).__aiter__(self)

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
