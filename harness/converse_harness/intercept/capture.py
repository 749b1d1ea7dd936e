"""Capture a forwarded call: record each piece of the answer when the client reads it, and the end of the answer.

The forwarding code is in `boto.forward` for boto clients, in `httpx.transports` for httpx, and in the server's proxy.
It gives the client a body that passes each piece to the call's `Capture` when the client reads the piece. So the client
gets the same bytes at the same times as without the recorder.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self

from converse_harness.intercept.registry import assigned

if TYPE_CHECKING:
    from converse_harness.endpoint.call import CallOutcome
    from converse_harness.intercept.exchange import TransportExchange
    from converse_harness.recordings.format.lines import End
    from converse_harness.recordings.record.captured import CapturedExchange
    from converse_harness.stream.http import Break, ConnectionFailure

_FAILURES: Final[Mapping[str, ConnectionFailure]] = {
    "EndpointConnectionError": "connection refused",
    "ConnectError": "connection refused",
    "ConnectTimeoutError": "connect timeout",
    "ConnectTimeout": "connect timeout",
    "ReadTimeoutError": "read timeout",
    "ReadTimeout": "read timeout",
    "ConnectionClosedError": "connection closed",
    "RemoteProtocolError": "connection closed",
    "ReadError": "connection closed",
    "WriteError": "connection closed",
}
"""Maps names of exceptions to connection failures. botocore and httpx raise these exceptions if no answer arrives. Any
other exception counts as "connection refused"."""


_LARGE: Final = 65_536
"""Parts of one HTTP chunk are joined to one captured piece, until the piece has at least this number of bytes."""


@dataclass(slots=True, eq=False)
class Capture:
    """Records the answer to a forwarded call. After the first report of the call's end, other such reports are ignored.

    An exception in the `with` block of a Capture is passed to `broke`. `started` is the time of the monotonic clock
    when the Capture was made, in seconds. To save time, code that iterates over a long stream appends
    `(data, monotonic() - started)` directly to `captured.pieces`. `wrap` wraps the raw response of botocore or
    aiobotocore: the wrapper reports the bytes that the client reads. For other libraries, `wrap` is None.
    """

    exchange: TransportExchange
    captured: CapturedExchange
    wrap: Callable[[Any, Capture], Any] | None = None
    started: float = field(default_factory=monotonic, init=False)
    _over: bool = field(default=False, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.broke(error)

    def began(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Report that the head of the answer arrived."""
        captured = self.captured
        captured.headers, captured.head_at, captured.status = tuple(headers), monotonic() - self.started, status

    def took(self, data: bytes, *, goes_on: bool = False) -> None:
        """Report that the client read a piece of the body.

        If it `goes_on` with the HTTP chunk of the piece before, both become one piece, unless that is large already.
        """
        pieces = self.captured.pieces
        if data and goes_on and len(pieces[-1][0]) < _LARGE:
            data = pieces.pop()[0] + data
        if data:
            pieces.append((data, monotonic() - self.started))

    def complete(self) -> None:
        """Report that the client has the whole body."""
        self._end("complete")

    def left(self) -> None:
        """Report that the client closed or dropped the response. Finalizers call this, even after the call's end."""
        if self._over:
            return
        if self.captured.is_complete():
            self.complete()
        elif self.captured.status:
            self._end("closed by client", end="closed by client")
        else:
            # The client waited and got no answer. Therefore a replay must raise a read timeout.
            self._end("closed by client", failure="read timeout")

    def broke(self, error: BaseException) -> None:
        """Report that the library raised this error before the answer arrived, or while the client read the body."""
        if not isinstance(error, Exception):
            self.left()  # CancelledError or KeyboardInterrupt: the client gave up, the connection is intact
        elif self.captured.status:
            self._end("cut", end=end_of(error))
        else:
            names = (type(each).__name__ for each in _causes(error))
            known: list[ConnectionFailure] = [_FAILURES[name] for name in names if name in _FAILURES]
            self._end("cut", failure=known[0] if known else "connection refused")

    def _end(self, outcome: CallOutcome, *, end: End | None = None, failure: ConnectionFailure | None = None) -> None:
        if not self._over:
            self._over = True
            self.captured.failure, self.captured.ended = failure, end
            self.captured.ended_at = monotonic() - self.started
            self.exchange.ended(outcome)


FORWARDED: ContextVar[Capture | None] = ContextVar("converse_harness_forwarded", default=None)
"""The capture of the call that this context is sending to the real service; None if there is no such call."""


@contextmanager
def forwarding(
    exchange: TransportExchange, captured: CapturedExchange, wrap: Callable[[Any, Capture], Any] | None = None
) -> Generator[Capture, None, None]:
    """Yield a new Capture for the call that the `with` block sends. In the block, this Capture is in FORWARDED."""
    with Capture(exchange, captured, wrap) as capture, assigned(FORWARDED, capture):
        yield capture


def _reading(name: str) -> Any:
    """Return a method that calls the wrapped body's method `name` and reports the returned bytes to the capture."""

    def read(self: CapturingBody, *args: Any, **kwargs: Any) -> bytes:
        with self.capture:
            data: bytes = getattr(self.body, name)(*args, **kwargs)
        self.capture.took(data)
        if self.body.closed:
            self.capture.complete()
        return data

    return read


class CapturingBody:
    """Wraps a response body (urllib3's response or an httpx stream). It reports the bytes that the client reads."""

    def __init__(self, body: Any, capture: Capture) -> None:
        self.capture = capture
        self.body = body

    __class__: Any = property(attrgetter("body.__class__"))  # so that isinstance() accepts the wrapper

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["body"], name)

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces(self.body)

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        """Iterate over the body. Each method of this class works like the wrapped body's method of the same name."""
        return self._pieces(self.body.stream(*args, **kwargs))

    def read_chunked(self, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        """Iterate over the HTTP chunks of the body."""
        return self._pieces(self.body.read_chunked(*args, **kwargs))

    def _pieces(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        took, started = self.capture.captured.pieces.append, self.capture.started
        with self.capture:
            for piece in pieces:
                took((piece, monotonic() - started))
                yield piece
        self.capture.complete()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        took, started = self.capture.captured.pieces.append, self.capture.started
        with self.capture:
            async for piece in self.body:
                took((piece, monotonic() - started))
                yield piece
        self.capture.complete()

    read, read1, readline = map(_reading, ("read", "read1", "readline"))

    def readlines(self) -> list[bytes]:
        """Return all remaining lines of the body."""
        return list(iter(self.readline, b""))

    def readinto(self, buffer: Any) -> int:
        """Read bytes of the body into `buffer`, and return their number."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Report that the client stops reading, and close the body."""
        self.capture.left()
        self.body.close()

    async def aclose(self) -> None:
        """Report that the client stops reading, and close the body."""
        self.capture.left()
        await self.body.aclose()

    def __del__(self) -> None:
        if "capture" in vars(self):  # the attribute is missing if a KeyboardInterrupt stopped __init__
            self.capture.left()


def end_of(error: BaseException) -> Break:
    """Return the kind of break (stall, reset or close) that an exception of an HTTP library represents."""
    causes = _causes(error)
    if any(isinstance(each, TimeoutError) or "Timeout" in type(each).__name__ for each in causes):
        return "stalled"
    # For chunked bodies, aiohttp's error contains the cause only in its text.
    texts = "".join(map(repr, causes))
    is_reset = ConnectionResetError.__name__ in texts or errno.ECONNRESET in [getattr(e, "errno", 0) for e in causes]
    return "connection reset" if is_reset else "connection closed"


def _causes(error: BaseException) -> list[BaseException]:
    """Return the error and its causes: every `__cause__`, and every exception that an error has as an argument.

    Causes of causes are included. `__context__` is ignored, because it may be the failure of an earlier attempt.
    """
    causes = [error]
    for each in causes:  # the list grows during the loop
        carried = (*each.args, *getattr(each, "kwargs", {}).values(), each.__cause__)
        errors = [other for other in carried if isinstance(other, BaseException)]
        causes += [other for other in errors if all(other is not known for known in causes)]
    return causes
