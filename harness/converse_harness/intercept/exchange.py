"""One call in progress: the fake's interface for transports, and the capture of forwarded answers."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping
from email.utils import formatdate
from functools import lru_cache
from time import monotonic, time
from typing import TYPE_CHECKING, Final, Protocol

from converse_harness.errors import BlockedConnection

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call, CallOutcome
    from converse_harness.recordings.capture import CapturedExchange
    from converse_harness.recordings.lines import End
    from converse_harness.stream.delivery import SentChunks
    from converse_harness.stream.http import Break, ConnectionFailure, HttpResponse, Request


class TransportExchange(Protocol):
    """One call that a fake answers or forwards."""

    @property
    def response(self) -> HttpResponse:
        """The response to send; None if the call is to be forwarded."""
        ...

    @property
    def captured(self) -> CapturedExchange | None:
        """Where the transport records a forwarded call; None if the fake answers itself."""
        ...

    @property
    def taken(self) -> SentChunks:
        """The list to which the transport appends each chunk that the client took."""
        ...

    def ended(self, outcome: CallOutcome) -> None:
        """Report the end, exactly once: "complete", "closed by client" or "cut".

        A finalizer may call it, in any thread and between any two lines, so it must only take re-entrant locks.
        """


class CallExchange(TransportExchange, Protocol):
    """An exchange with its Call, to which later retry waits are added; `call` is None if nobody needs it."""

    @property
    def call(self) -> Call | None:
        """The Call for this attempt."""
        ...


class BlockingFake(Protocol):
    """The interface of a fake for calls that it does not answer."""

    @property
    def sleeps(self) -> bool:
        """Whether retry waits are really slept."""
        ...

    @property
    def records(self) -> bool:
        """Whether calls may go to the real service; the network is then open, with real keys and real waits."""
        ...

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """Report a skipped retry wait of this many seconds after `call`; None if the call is unknown."""

    def block(self, error: BlockedConnection) -> None:
        """Record a refused connection, so that the test fails even where the error is swallowed."""


class OpenFake(BlockingFake, Protocol):
    """The interface of a fake that answers calls. Any thread may call its methods."""

    def exchange(self, request: Request, *, service: str, operation: str) -> CallExchange:
        """Answer one request; may run scripted functions.

        `service` is botocore's endpoint prefix; `operation` is "" if the call began before the fake was opened.
        """
        ...


class RefusingFake:
    """Replaces a fake that cannot answer boto clients: refuses every call with one message.

    `behind` is the fake to which refusals are reported; None in another process, where raising the error must suffice.
    """

    def __init__(self, message: str, behind: BlockingFake | None = None) -> None:
        self.message = message
        self.behind = behind

    def message_for(self, library: str, host: str) -> str:
        """The message for a library that contacts a host in another way."""
        return self.message

    @property
    def records(self) -> bool:
        """Whether the fake behind records: its own transport then forwards calls."""
        return self.behind is not None and self.behind.records

    @property
    def sleeps(self) -> bool:
        """Whether the fake behind sleeps retry waits."""
        return self.behind is not None and self.behind.sleeps

    def exchange(self, request: Request, *, service: str, operation: str) -> CallExchange:
        """Refuse the call. Raises BlockedConnection."""
        raise refuse(self, self.message)

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """Forward the report to the fake behind."""
        if self.behind is not None:
            self.behind.waited(seconds, call)

    def block(self, error: BlockedConnection) -> None:
        """Forward the refusal to the fake behind."""
        if self.behind is not None:
            self.behind.block(error)


GIVE_ENVIRON: Final = (
    "A fake answers in its own process only. Give the child the loopback server: use the fixture `converse_server` and "
    "put `fake.environ` into the child's environment"
)
FORKED = (
    "a call to Bedrock from process {child}, which was forked from process {parent} while a converse-harness fake was "
    f"open there. A forked copy of a fake cannot report to the test, so it refuses. {GIVE_ENVIRON}"
)
CLOSED_MEANWHILE = (
    "a call to Bedrock that began while a converse-harness fake was open made another attempt after that fake had "
    "closed. It is refused, because the next stop would be the network. Let the call end inside the `with` block (join "
    "its thread, await its task), or open the fake around all of it"
)
OUTLIVED = (
    "thread {name!r} made a call to Bedrock after the converse-harness fake under which it was started (or called) had "
    "closed, and no other fake is open. It is refused, because the next stop would be the network. Join the thread "
    "inside the `with` block or the test, or open a new fake for what it still does"
)


def refuse(fake: BlockingFake, message: str) -> BlockedConnection:
    """Report a refusal to `fake` and return it as a BlockedConnection."""
    error = BlockedConnection(message)
    fake.block(error)
    return error


def headers(exchange: TransportExchange) -> list[tuple[str, str]]:
    """The response headers with the current `Date` first: clients compute their clock skew from it."""
    return [("Date", http_date()), *exchange.response.headers]


def http_date() -> str:
    """The current time as the value of a Date header; computed once per second."""
    return _date(int(time()))


@lru_cache(1)
def _date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


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
"""What botocore and httpx raise in place of an answer; everything else is a connection that did not come about."""


class Capture:
    """Records a forwarded call for a fake. Only the first report of an end counts.

    Code on the hot path of a long stream appends `(data, monotonic() - started)` to `pieces` directly.
    """

    __slots__ = ("_exchange", "_over", "captured", "pieces", "started")

    def __init__(self, exchange: TransportExchange, captured: CapturedExchange) -> None:
        self._exchange = exchange
        self._over = False
        self.captured = captured
        self.pieces = captured.pieces
        self.started = monotonic()

    def began(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Report that the head of the answer arrived."""
        captured = self.captured
        captured.headers, captured.head_at, captured.status = tuple(headers), monotonic() - self.started, status

    def took(self, data: bytes) -> None:
        """Report that the client took a piece of the body."""
        if data:
            self.pieces.append((data, monotonic() - self.started))

    def complete(self) -> None:
        """Report that the client has the whole body."""
        self._end(None, "complete")

    def left(self) -> None:
        """Report that the client closed or dropped the response; may come from a finalizer, also after the end."""
        if self._over:
            return
        if self.captured.is_complete():
            self.complete()
        elif self.captured.status:
            self._end("closed by client", "closed by client")
        else:
            # For replay: during this time the client waited and no answer came.
            self._fail("read timeout", "closed by client")

    def broke(self, error: BaseException) -> None:
        """Report that this error was raised instead of the answer, or of the rest of it."""
        if not isinstance(error, Exception):
            self.left()  # it was cancelled or interrupted
        elif self.captured.status:
            self._end(end_of(error), "cut")
        else:
            self._fail(_failure_of(error), "cut")

    def _fail(self, failure: ConnectionFailure, outcome: CallOutcome) -> None:
        if not self._over:
            self.captured.failure = failure
            self._end(None, outcome)

    def _end(self, end: End | None, outcome: CallOutcome) -> None:
        if not self._over:
            self._over = True
            self.captured.ended, self.captured.ended_at = end, monotonic() - self.started
            self._exchange.ended(outcome)


def _failure_of(error: BaseException) -> ConnectionFailure:
    """The connection failure that an exception represents, if there was no answer."""
    for each in _causes(error):
        if type(each).__name__ in _FAILURES:
            return _FAILURES[type(each).__name__]
    return "connection refused"


def end_of(error: BaseException) -> Break:
    """The way in which an answer broke off, from the exception of the library that read it."""
    causes = list(_causes(error))
    if any(isinstance(each, TimeoutError) or "Timeout" in type(each).__name__ for each in causes):
        return "stalled"
    return "connection reset" if any(map(_is_reset, causes)) else "connection closed"


def _is_reset(error: BaseException) -> bool:
    # For chunked bodies, only the text of aiohttp's error shows the cause.
    return getattr(error, "errno", 0) == errno.ECONNRESET or ConnectionResetError.__name__ in f"{error!r}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its `__cause__` chain, and the errors that urllib3's and botocore's exceptions carry.

    `__context__` is ignored: it may be an earlier failure that the client was handling when it retried.
    """
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop(0)
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            carried = (*each.args, *getattr(each, "kwargs", {}).values(), each.__cause__)
            waiting += [other for other in carried if isinstance(other, BaseException)]
