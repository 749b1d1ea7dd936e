"""The boto transport: every boto3 and botocore client of the process is answered where it would open a connection.

All of a client's own work still runs: parameter validation, endpoint rules, hooks, signing (with dummy keys, see
`credentials`), retries, parsing. Only `Endpoint._send`, the last step before urllib3, is ours. Services whose endpoint
prefix starts with `bedrock` go to the fake, all others to where they went before. `aioboto` has the asynchronous
counterparts; `passing` has what happens to a call that the fake passes on to the real service.

The functions here make a replacement out of an original, for the table in `patch_points`. With no fake open, each of
them does exactly what the original does.
"""

from __future__ import annotations

import errno
import functools
import inspect
import io
import math
import os
import time
from collections.abc import Iterator
from time import monotonic
from typing import Any, cast

from converse_harness.intercept import registry
from converse_harness.intercept.exchange import CallExchange, OpenFake, TransportExchange, headers
from converse_harness.intercept.forward_boto import forward
from converse_harness.intercept.guard import raise_blocked
from converse_harness.intercept.keys_and_waits import is_bedrock
from converse_harness.intercept.reader import ResponseReader
from converse_harness.intercept.registry import CURRENT_CALL
from converse_harness.stream.http import HttpResponse, Request

_FAILURES = {
    "connection refused": "EndpointConnectionError",
    "connect timeout": "ConnectTimeoutError",
    "read timeout": "ReadTimeoutError",
    "connection closed": "ConnectionClosedError",
}
"""What botocore raises for each failure; its own retry rules then apply."""


def hold_call(original: Any) -> Any:
    """`Endpoint._send_request`: all attempts of one call belong to the fake under which it began."""

    @functools.wraps(original)
    def _send_request(self: Any, request_dict: Any, operation_model: Any) -> Any:
        held = registry.begin_call(operation_model.name, self.host) if is_bedrock(self._endpoint_prefix) else None
        if held is None:
            return original(self, request_dict, operation_model)
        before = CURRENT_CALL.get()
        try:
            CURRENT_CALL.set(held)
            return original(self, request_dict, operation_model)
        finally:
            CURRENT_CALL.set(before)
            registry.end_call(held)

    return _send_request


def answer(original: Any) -> Any:
    """`Endpoint._send`: the fake answers instead of the network, or hears what that answers."""
    from botocore.awsrequest import AWSResponse

    @functools.wraps(original)
    def _send(self: Any, request: Any) -> Any:
        fake = registry.fake_for_call(self.host) if is_bedrock(self._endpoint_prefix) else None
        if fake is None:
            try:
                return original(self, request)
            except Exception as error:
                raise_blocked(error)
                raise
        started = monotonic()
        exchange = ask(fake, self, request)
        if exchange.captured is not None:
            return forward(exchange, exchange.captured, self, functools.partial(original, self, request))
        response = exchange.response
        if response.wait:
            time.sleep(wait_for(exchange, self, request.url))
        failure, waits = _broken_body(response, request.url), patience(self)
        body = BotoBody(exchange, started, failure, waits, request.url)
        if not request.stream_output and (failure is not None or outlasts(response, waits)):
            _read_to_the_break(body, request.url)
        return AWSResponse(request.url, response.status, headers(exchange), body)

    return _send


def wait_for(exchange: TransportExchange, endpoint: Any, url: str) -> float:
    """Seconds before the head. Raises botocore's ReadTimeoutError, at once, where the client waits less long."""
    if exchange.response.wait <= patience(endpoint):
        return exchange.response.wait
    import botocore.exceptions

    exchange.ended("closed by client")
    raise botocore.exceptions.ReadTimeoutError(endpoint_url=url, error="Read timed out.")


def outlasts(response: HttpResponse, patience: float) -> bool:
    """Whether a whole body has a pause for which the client does not wait."""
    return any(chunk.delay > patience for chunk in response.chunks)


def patience(endpoint: Any) -> float:
    """How many seconds a client waits for the next byte: its read timeout, as urllib3, aiohttp or httpx keep it."""
    timeout: Any = endpoint.http_session._timeout
    for name in ("read_timeout", "sock_read", "read"):
        timeout = getattr(timeout, name, timeout)
    return float(timeout) if isinstance(timeout, int | float) else math.inf


def _broken_body(response: HttpResponse, url: str) -> Exception | None:
    """What urllib3 raises to whoever reads a body that breaks; None where it does not, or boto takes no notice."""
    from urllib3.exceptions import ProtocolError

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


def _timed_out(url: str) -> Exception:
    """What urllib3 raises to whoever waits too long for the next byte."""
    from urllib3.exceptions import ReadTimeoutError

    pool: Any = None  # there is none, and its message does not name it
    return ReadTimeoutError(pool, url, "Read timed out.")


@functools.cache
def holds_bodies_to_their_length() -> bool:
    """Whether a body that ends before its Content-Length says is an error for the installed botocore.

    It is for 1.40; 1.44 tells urllib3 not to look, and gives a response without the members that are missing.
    """
    from botocore.httpsession import URLLib3Session

    send: Any = cast("Any", URLLib3Session).send
    constants: tuple[object, ...] = inspect.unwrap(send).__code__.co_consts
    # Alone, or among the names of keyword arguments.
    return not any("enforce_content_length" in each for each in constants if isinstance(each, str | tuple))


def _read_to_the_break(body: BotoBody, url: str) -> None:
    """Raises what botocore makes of a whole body that breaks: its own retry rules then apply."""
    import botocore.exceptions
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    try:
        body.read()
    except ReadTimeoutError as error:
        raise botocore.exceptions.ReadTimeoutError(endpoint_url=url, error=error) from error
    except HTTPError as error:
        raise botocore.exceptions.ConnectionClosedError(endpoint_url=url, request=None, error=error) from error


def ask(fake: OpenFake, endpoint: Any, request: Any) -> CallExchange:
    """Ask the fake. Raises botocore's exception for a scripted connection failure."""
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
        import botocore.exceptions

        exchange.ended("cut")
        raise getattr(botocore.exceptions, _FAILURES[failure])(endpoint_url=request.url, error=failure)
    return exchange


def _read_request(request: Any, host: str) -> Request:
    """A prepared request of botocore as Bedrock would get it: without the path that an `endpoint_url` may have."""
    target = _target(request.url)
    base = _target(host).rstrip("/")
    body = request.body
    if hasattr(body, "read"):
        start = body.tell()
        body = body.read()
        request.body.seek(start)
    return Request(
        method=request.method,
        target=target.removeprefix(base) if target.startswith(f"{base}/") else target,
        headers=tuple(
            [(str(name), value if type(value) is str else _text(value)) for name, value in _items(request.headers)]
        ),
        body=body.encode() if isinstance(body, str) else bytes(body or b""),
    )


def _items(headers: Any) -> Any:
    """The headers of a prepared request. Those that botocore keeps by lower-case name are slow to walk over."""
    return getattr(headers, "_dict", headers).items()


def _target(url: str) -> str:
    _, _, rest = url.partition("://")
    _, slash, path = rest.partition("/")
    return slash + path or "/"


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


class BotoBody(io.RawIOBase):
    """The raw response of a botocore client, read chunk by chunk; pauses are slept when the client asks for more."""

    def __init__(
        self, exchange: TransportExchange, started: float, failure: Exception | None, patience: float, url: str
    ) -> None:
        timed_out = functools.partial(_timed_out, url)
        self._reader = ResponseReader(exchange, started, failure, patience=patience, timed_out=timed_out)
        self._left = b""

    def stream(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
        """One HTTP chunk at a time, as urllib3 does it for a chunked response."""
        return iter(self._reader)

    def read(self, size: int | None = -1) -> bytes | None:
        """Up to `size` bytes, b"" at the end; all that is left for a negative number or None."""
        return super().read(-1 if size is None else size)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what is there, waiting only where nothing is; 0 at the end."""
        if not self._left:
            self._left = next(self._reading, b"")
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    @functools.cached_property
    def _reading(self) -> Iterator[bytes]:
        return (data for data in self.stream() if data)

    def close(self) -> None:
        """Close early, or drop it unread (the garbage collector calls this too)."""
        # One whose making was interrupted has nothing to close.
        if not self.closed and hasattr(self, "_reader"):
            self._reader.close()
        super().close()


def leave_bedrock(original: Any) -> Any:
    """`BotocoreStubber.__call__` of moto, a before-send hook that would win over us: here Bedrock is ours."""

    @functools.wraps(original)
    def answer_the_rest(self: Any, event_name: str, request: Any, **kwargs: Any) -> Any:
        _, _, service = event_name.partition(".")
        # A call that is held and not guarded is passed on, to the real Bedrock and no other fake.
        if is_bedrock(service) and (CURRENT_CALL.get() is not None or registry.blocking_fake() is not None):
            return None
        return original(self, event_name, request, **kwargs)

    return answer_the_rest
