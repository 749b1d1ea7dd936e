"""Let a fake answer the Bedrock requests of aiobotocore clients, which use aiohttp or httpx, on asyncio or trio.

aiobotocore overrides botocore's methods for sending and parsing with coroutine functions. Therefore this module has its
own counterparts of the replacements in the module `sync`. The modules `credentials`, `retries` and `forward` work for
both libraries.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from importlib import import_module
from time import monotonic
from typing import Any, Final, cast

from converse_harness.intercept.boto.credentials import is_bedrock
from converse_harness.intercept.boto.forward import check_captured, with_capturing_content
from converse_harness.intercept.boto.sync import ask, errors_of_botocore, outlasts, patience, wait_for
from converse_harness.intercept.capture import forwarding
from converse_harness.intercept.exchange import ResponseReader, TransportExchange, headers
from converse_harness.intercept.guard.connections import raise_blocked, refuse_unsigned
from converse_harness.intercept.httpx.transports import BREAKS
from converse_harness.intercept.patches import replacement
from converse_harness.intercept.registry import OPEN_FAKES


@replacement
async def hold_call(original: Any, self: Any, request_dict: Any, operation_model: Any) -> Any:
    """Replace `AioEndpoint._send_request`: the fake chosen when a call begins also answers the call's retries."""
    if not is_bedrock(self._endpoint_prefix):
        return await original(self, request_dict, operation_model)
    with OPEN_FAKES.one_call(operation_model.name, self.host, refuse_unsigned):
        return await original(self, request_dict, operation_model)


@replacement
async def answer(original: Any, self: Any, request: Any) -> Any:
    """Replace `AioEndpoint._send`: a fake answers a Bedrock request, or captures the answer of the real service."""
    fake = OPEN_FAKES.answerer(self.host) if is_bedrock(self._endpoint_prefix) else None
    if fake is None:
        try:
            return await original(self, request)
        except Exception as error:
            raise_blocked(error)
            raise
    started = monotonic()
    exchange = ask(fake, self, request)
    if exchange.captured is not None:
        with forwarding(exchange, exchange.captured, with_capturing_content) as capture:
            return check_captured(capture, self, await original(self, request))
    response = exchange.response
    if response.wait:
        await _sleep_of(self)(wait_for(exchange, self, request.url))
    body = AioBody(exchange, started, self, request.url)
    if not request.stream_output and (response.broken is not None or outlasts(response, patience(self))):
        with errors_of_botocore(request.url, type(_broken_stream(self, "stalled")), Exception):
            await body.read()
    response_class = import_module("aiobotocore.awsrequest").AioAWSResponse
    return response_class(request.url, response.status, headers(exchange), body)


_AIOHTTP_BREAKS: Final = {
    "connection reset": ("ClientPayloadError", "Response payload is not completed: connection reset"),
    "connection closed": ("ClientPayloadError", "Response payload is not completed: connection closed"),
    "stalled": ("SocketTimeoutError", "Timeout on reading data from socket"),
    "closed by client": ("ClientConnectionError", "Connection closed"),
}
"""Maps each scripted break of a response body to the name and the message of aiohttp's exception for it.

"closed by client" is for a client that closes the response and reads on.
"""


def _broken_stream(endpoint: Any, broken: str) -> Exception:
    """Return the exception that the endpoint's HTTP library raises for the break `broken` of a response body."""
    session = type(endpoint.http_session).__module__
    is_httpx = session.endswith("httpxsession")
    # In aiobotocore's module, the name `httpx` refers to httpx2 if httpx2 is installed.
    library: Any = import_module(session).httpx if is_httpx else import_module("aiohttp")
    name, message = (BREAKS if is_httpx else _AIOHTTP_BREAKS)[broken]
    return cast("Exception", getattr(library, name)(message))


def _sleep_of(endpoint: Any) -> Callable[[float], Awaitable[Any]]:
    """Return the unpatched sleep function for the event loop in which this endpoint runs."""
    # Only AnyioEndpoint has a method `_sleep`. Our replacement of this method skips retry waits, so the original method
    # is used here. All other endpoints run on asyncio.
    real: Any = getattr(getattr(endpoint, "_sleep", None), "__wrapped__", None)
    return asyncio.sleep if real is None else functools.partial(real, endpoint)


class AioBody:
    """The raw HTTP response that a fake gives to an aiobotocore client. The same object is the stream of the body.

    This class uses no asynchronous generator, because event loops report generators that are dropped before their end.
    """

    def __init__(self, exchange: TransportExchange, started: float, endpoint: Any, url: str) -> None:
        broken = exchange.response.broken
        failure = None if broken is None else _broken_stream(endpoint, broken)
        timed_out, closed = (
            functools.partial(_broken_stream, endpoint, each) for each in ("stalled", "closed by client")
        )
        self._reader = ResponseReader(
            exchange, started, failure, patience=patience(endpoint), timed_out=timed_out, closed=closed
        )
        self._endpoint = endpoint
        self._due = 0.0
        self._left = b""
        self.url = url

    @property
    def content(self) -> AioBody:
        """The stream of the body: this object, under the name that aiohttp's responses use."""
        return self

    async def _take(self) -> bytes | None:
        reader = self._reader
        chunk = reader.chunk
        if chunk is not None and chunk.delay:
            # The client's timeout may cancel this wait. A second read then waits only until the same `_due` time.
            self._due = self._due or monotonic() + reader.pause()
            await _sleep_of(self._endpoint)(max(0.0, self._due - monotonic()))
            self._due = 0.0
            chunk = reader.chunk
        if chunk is None:
            reader.finish()
            return None
        return reader.take(chunk)

    def iter_chunks(self) -> AioBody:
        """Iterate over HTTP chunks. Each item is a pair (data, True): True means that the data ends an HTTP chunk."""
        return self

    def __aiter__(self) -> AioBody:
        return self

    async def __anext__(self) -> tuple[bytes, bool]:
        data = await self._take()
        if data is None:
            raise StopAsyncIteration
        return data, True

    async def read(self, amt: int = -1) -> bytes:
        """Return up to `amt` bytes, or all remaining bytes if `amt` is negative; b"" at the end of the body."""
        parts = [self._left]
        while (amt < 0 or not parts[-1]) and (data := await self._take()) is not None:
            parts.append(data)
        everything = b"".join(parts)
        size = len(everything) if amt < 0 else amt
        self._left = everything[size:]
        return everything[:size]

    def at_eof(self) -> bool:
        """Whether nothing is left to read."""
        return self._reader.chunk is None and not self._left

    def close(self) -> None:
        """Close the response. If the client has not read the whole body, the call's outcome is "closed by client".

        If a KeyboardInterrupt stopped `__init__`, there is no reader to close, and this method does nothing.
        """
        if hasattr(self, "_reader"):
            self._reader.close()

    __del__ = close
