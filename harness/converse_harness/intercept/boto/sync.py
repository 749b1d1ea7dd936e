"""The boto transport: a fake answers the Bedrock requests of all boto3 and botocore clients of the process.

All of a client's own work still runs: parameter validation, endpoint rules, hooks, signing (with dummy keys, see
`credentials`), retries, parsing. The fake answers in place of botocore's `Endpoint._send`, the last step before
urllib3. Requests to services whose endpoint prefix starts with `bedrock` go to the fake; all other requests go to their
normal destination. The module `aio` has the asynchronous counterparts, and `forward` captures the answers to forwarded
calls.

`hold_call`, `answer` and `leave_bedrock` take a method and return its replacement; the table in `patch_points` lists
all replacements. While no fake is open, a replacement calls the original method. Two kinds of calls are refused
nevertheless: calls that began under a fake that has closed since then, and calls of a thread that outlived its fake.
"""

from __future__ import annotations

import errno
import functools
import inspect
import io
import math
import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import botocore.exceptions
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session
from urllib3.exceptions import HTTPError, ProtocolError, ReadTimeoutError

from converse_harness.intercept.boto.credentials import is_bedrock
from converse_harness.intercept.boto.forward import check_captured
from converse_harness.intercept.capture import CapturingBody, forwarding
from converse_harness.intercept.exchange import OpenFake, ResponseReader, TransportExchange, headers
from converse_harness.intercept.guard.connections import raise_blocked, refuse_unsigned
from converse_harness.intercept.patches import replacement
from converse_harness.intercept.registry import CURRENT_CALL, OPEN_FAKES
from converse_harness.stream.http import HttpResponse, Request

if TYPE_CHECKING:
    from converse_harness.recordings.record.write import AnyExchange

_CODEC = ("utf-8", "surrogateescape")

_FAILURES = {
    "connection refused": "EndpointConnectionError",
    "connect timeout": "ConnectTimeoutError",
    "read timeout": "ReadTimeoutError",
    "connection closed": "ConnectionClosedError",
}
"""Maps each scripted connection failure to the name of botocore's exception for it, which botocore retries."""


def hold_call(original: Any) -> Any:
    """Replace `Endpoint._send_request`: the fake chosen when a call begins also answers the call's retries."""

    @functools.wraps(original)
    def _send_request(self: Any, request_dict: Any, operation_model: Any) -> Any:
        if not is_bedrock(self._endpoint_prefix):
            return original(self, request_dict, operation_model)
        with OPEN_FAKES.one_call(operation_model.name, self.host, refuse_unsigned):
            return original(self, request_dict, operation_model)

    return _send_request


def answer(original: Any) -> Any:
    """Replace botocore's `Endpoint._send`: a fake answers a Bedrock request, or captures the real service's answer."""

    @functools.wraps(original)
    def _send(self: Any, request: Any) -> Any:
        fake = OPEN_FAKES.answerer(self.host) if is_bedrock(self._endpoint_prefix) else None
        if fake is None:
            try:
                return original(self, request)
            except Exception as error:
                raise_blocked(error)
                raise
        started = time.monotonic()
        exchange = ask(fake, self, request)
        if exchange.captured is not None:
            with forwarding(exchange, exchange.captured, CapturingBody) as capture:
                return check_captured(capture, self, original(self, request))
        response = exchange.response
        if response.wait:
            time.sleep(wait_for(exchange, self, request.url))
        waits = patience(self)
        failure = None if response.broken is None else _broken_body(response, request.url)
        body = BotoBody(exchange, started, failure, waits, request.url)
        if not request.stream_output and (failure is not None or outlasts(response, waits)):
            with errors_of_botocore(request.url, ReadTimeoutError, HTTPError):
                body.read()
        return AWSResponse(request.url, response.status, headers(exchange), body)

    return _send


def wait_for(exchange: TransportExchange, endpoint: Any, url: str) -> float:
    """Return the scripted wait before the response head, in seconds.

    Raises botocore's ReadTimeoutError at once if the client's read timeout is shorter than this wait.
    """
    if exchange.response.wait <= patience(endpoint):
        return exchange.response.wait
    exchange.ended("closed by client")
    raise botocore.exceptions.ReadTimeoutError(endpoint_url=url, error="Read timed out.")


def outlasts(response: HttpResponse, patience: float) -> bool:
    """Whether the body of a response has a pause that is longer than the client's read timeout."""
    return any(chunk.delay > patience for chunk in response.chunks)


def patience(endpoint: Any) -> float:
    """Return the client's read timeout in seconds, infinity if it has none.

    urllib3, aiohttp and httpx store the timeout in different attributes.
    """
    timeout: Any = endpoint.http_session._timeout
    for name in ("read_timeout", "sock_read", "read"):
        timeout = getattr(timeout, name, timeout)
    return float(timeout) if isinstance(timeout, int | float) else math.inf


def _broken_body(response: HttpResponse, url: str) -> Exception | None:
    """Return urllib3's error for a body that breaks off; None if it is complete, or if botocore raises no error."""
    match response.broken:
        case "connection reset":
            cause = ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
            return ProtocolError(f"Connection broken: {cause!r}", cause)
        case "connection closed" if any(name == "Transfer-Encoding" for name, _ in response.headers):
            return ProtocolError("Response ended prematurely")
        case "connection closed" if holds_bodies_to_their_length():
            return ProtocolError("Connection broken: IncompleteRead")
        case "stalled":
            return _timed_out(url)
        case _:
            return None


def _closed() -> Exception:
    """Return the error that urllib3 raises if its response is closed while a stream of it is read."""
    return AttributeError("'NoneType' object has no attribute 'readline'")


def _timed_out(url: str) -> Exception:
    pool: Any = None  # the fake has no connection pool, and the message does not name one
    return ReadTimeoutError(pool, url, "Read timed out.")


@functools.cache
def holds_bodies_to_their_length() -> bool:
    """Whether the installed botocore raises for a body that is shorter than its Content-Length.

    botocore 1.40 raises. botocore 1.44 disables urllib3's check and returns an incomplete response.
    """
    send: Any = cast("Any", URLLib3Session).send
    constants: tuple[object, ...] = inspect.unwrap(send).__code__.co_consts
    # Code that mentions `enforce_content_length` has this name among its constants, or in a constant tuple of keywords.
    return not any("enforce_content_length" in each for each in constants if isinstance(each, str | tuple))


@contextmanager
def errors_of_botocore(url: str, timed_out: type[Exception], broken: type[Exception]) -> Generator[None, None, None]:
    """Convert exceptions of the HTTP library that the `with` block raises to botocore's exceptions.

    Exceptions of type `timed_out` become ReadTimeoutError, those of type `broken` ConnectionClosedError. botocore
    itself does the same when it reads a body that is not streamed, and then applies its retry rules.
    """
    try:
        yield
    except timed_out as error:
        raise botocore.exceptions.ReadTimeoutError(endpoint_url=url, error=error) from error
    except broken as error:
        raise botocore.exceptions.ConnectionClosedError(endpoint_url=url, request=None, error=error) from error


def ask(fake: OpenFake, endpoint: Any, request: Any) -> AnyExchange:
    """Pass the request to the fake and return the exchange. Raises botocore's error for a scripted failure."""
    held = CURRENT_CALL.get()
    exchange = fake.exchange(
        _read_request(request, endpoint.host),
        service=endpoint._endpoint_prefix,
        operation="" if held is None else held.operation,
    )
    if held is not None:
        held.call = exchange.call
    failure = exchange.response.failure
    if failure is not None:
        exchange.ended("cut")
        raise getattr(botocore.exceptions, _FAILURES[failure])(endpoint_url=request.url, error=failure)
    return exchange


def _read_request(request: Any, host: str) -> Request:
    """Convert botocore's prepared request to a Request. The path prefix of the client's `endpoint_url` is removed."""
    target = _target(request.url)
    base = _target(host).rstrip("/")
    body = request.body
    if hasattr(body, "read"):
        start = body.tell()
        body = body.read()
        request.body.seek(start)
    # botocore's HeadersDict is slow to iterate over; its `_dict` is fast.
    items = getattr(request.headers, "_dict", request.headers).items()
    return Request(
        method=request.method,
        target=target.removeprefix(base) if target.startswith(f"{base}/") else target,
        headers=tuple(
            [(str(name), str(value, *_CODEC) if isinstance(value, bytes) else str(value)) for name, value in items]
        ),
        body=body.encode() if isinstance(body, str) else bytes(body or b""),
    )


@functools.lru_cache(maxsize=256)
def _target(url: str) -> str:
    _, _, rest = url.partition("://")
    _, slash, path = rest.partition("/")
    return slash + path or "/"


class BotoBody(io.RawIOBase):
    """The raw HTTP response that a fake gives to a botocore client. A read waits for the chunk's scripted pause."""

    def __init__(
        self, exchange: TransportExchange, started: float, failure: Exception | None, patience: float, url: str
    ) -> None:
        timed_out = functools.partial(_timed_out, url)
        self._reader = ResponseReader(
            exchange, started, failure, patience=patience, timed_out=timed_out, closed=_closed
        )
        self._left = b""

    def stream(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
        """Yield one HTTP chunk at a time, as urllib3 does for a chunked response."""
        return iter(() if self.closed else self._reader)

    def read(self, size: int | None = -1) -> bytes | None:
        """Return up to `size` bytes, or all remaining bytes if `size` is negative or None; b"" at the end."""
        return super().read(-1 if size is None else size)

    def readable(self) -> bool:
        """True: the body can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Copy available bytes to the buffer; wait only if no bytes are available.

        Return the number of copied bytes; 0 at the end of the body, or if the response is closed.
        """
        if self.closed:
            return 0
        if not self._left:
            self._left = next(self._reading, b"")
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    @functools.cached_property
    def _reading(self) -> Iterator[bytes]:
        return (data for data in self.stream() if data)

    def close(self) -> None:
        """Close the response. The call's outcome is "closed by client" if the client has not read the whole body.

        The garbage collector also calls this method.
        """
        # If a KeyboardInterrupt stopped the constructor, there is no reader to close.
        if not self.closed and hasattr(self, "_reader"):
            self._reader.close()
        super().close()


@replacement
def leave_bedrock(original: Any, self: Any, event_name: str, request: Any, **kwargs: Any) -> Any:
    """Replace moto's `BotocoreStubber.__call__`, so that an open fake answers requests to Bedrock instead of moto."""
    service = event_name.partition(".")[2]
    # CURRENT_CALL is also set for a call that is forwarded to the real Bedrock. moto must not answer such a call.
    if is_bedrock(service) and (CURRENT_CALL.get() is not None or OPEN_FAKES.fake_that_blocks() is not None):
        return None
    return original(self, event_name, request, **kwargs)
