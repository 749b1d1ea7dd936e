"""One call on its way: what a transport sees of a fake, how a client reads the answer, how a forwarded one is kept."""

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
    """One call being answered."""

    @property
    def response(self) -> HttpResponse:
        """What to send; nothing where the call is to be passed on."""
        ...

    @property
    def captured(self) -> CapturedExchange | None:
        """Where the transport writes what comes back, if it is to pass the request on; None if it is to answer."""
        ...

    @property
    def taken(self) -> SentChunks:
        """Where the transport puts down each chunk that the client took."""
        ...

    def ended(self, outcome: CallOutcome) -> None:
        """Called exactly once: "complete", "closed by client" or "cut".

        It may come from a finalizer, in any thread and between any two lines: take no lock that is not re-entrant.
        """


class CallExchange(TransportExchange, Protocol):
    """The same with its call, on which the waits after it are booked; None where nobody is interested."""

    @property
    def call(self) -> Call | None:
        """The attempt that is answered."""
        ...


class BlockingFake(Protocol):
    """What of a fake is needed where it does not answer boto clients."""

    @property
    def sleeps(self) -> bool:
        """True: retry waits are really slept."""
        ...

    @property
    def records(self) -> bool:
        """Whether calls may be passed on to the real service: the way there is open, with real keys and real waits."""
        ...

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """A retry wait of this length was skipped, after that attempt; None where nobody knows which."""

    def block(self, error: BlockedConnection) -> None:
        """Record a refused connection, so that the test fails even where the error is swallowed."""


class OpenFake(BlockingFake, Protocol):
    """What a transport sees of a fake that answers. All methods are called from any thread."""

    def exchange(self, request: Request, *, service: str, operation: str) -> CallExchange:
        """Answer one request, running scripted callables.

        `service` is botocore's endpoint prefix; `operation` is "" where the call began before the fake was open.
        """
        ...


class RefusingFake:
    """What stands in for a fake where it cannot answer boto clients: every call is refused with one message.

    `behind` is the fake that must know; None in another process, where the error itself is all that can be done.
    """

    def __init__(self, message: str, behind: BlockingFake | None = None) -> None:
        self.message = message
        self.behind = behind

    def message_for(self, library: str, host: str) -> str:
        """What is said where a library asks a host in another way."""
        return self.message

    @property
    def records(self) -> bool:
        """As the fake behind says: its own transport passes calls on."""
        return self.behind is not None and self.behind.records

    @property
    def sleeps(self) -> bool:
        """As the fake behind says."""
        return self.behind is not None and self.behind.sleeps

    def exchange(self, request: Request, *, service: str, operation: str) -> CallExchange:
        """Raises BlockedConnection."""
        raise refuse(self, self.message)

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """Tell the fake behind."""
        if self.behind is not None:
            self.behind.waited(seconds, call)

    def block(self, error: BlockedConnection) -> None:
        """Tell the fake behind."""
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
    """A BlockedConnection that `fake` knows of."""
    error = BlockedConnection(message)
    fake.block(error)
    return error


def headers(exchange: TransportExchange) -> list[tuple[str, str]]:
    """The response headers with the real `Date` first: clients compute their clock skew from it."""
    return [("Date", http_date()), *exchange.response.headers]


def http_date() -> str:
    """The value of a Date header, now; made once a second."""
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
    """Fills in what a fake hears of one call. The first end counts.

    Where each piece of a long stream passes, append `(data, monotonic() - started)` to `pieces` itself.
    """

    __slots__ = ("_exchange", "_over", "captured", "pieces", "started")

    def __init__(self, exchange: TransportExchange, captured: CapturedExchange) -> None:
        self._exchange = exchange
        self._over = False
        self.captured = captured
        self.pieces = captured.pieces
        self.started = monotonic()

    def began(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """The head of the answer came."""
        captured = self.captured
        captured.headers, captured.head_at, captured.status = tuple(headers), monotonic() - self.started, status

    def took(self, data: bytes) -> None:
        """The client takes a piece of the body."""
        if data:
            self.pieces.append((data, monotonic() - self.started))

    def complete(self) -> None:
        """The client has all of it."""
        self._end(None, "complete")

    def left(self) -> None:
        """The client closes it, or drops it; this may come from a finalizer, and after the end."""
        if self._over:
            return
        if self.captured.is_complete():
            self.complete()
        elif self.captured.status:
            self._end("closed by client", "closed by client")
        else:
            # For whoever replays it: no answer came for as long as the client waited.
            self._fail("read timeout", "closed by client")

    def broke(self, error: BaseException) -> None:
        """This was raised in place of the rest of the answer, or of all of it."""
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
    """What happened in place of an answer."""
    for each in _causes(error):
        if type(each).__name__ in _FAILURES:
            return _FAILURES[type(each).__name__]
    return "connection refused"


def end_of(error: BaseException) -> Break:
    """What happened in the middle of an answer, by what the library raised that read it."""
    causes = list(_causes(error))
    if any(isinstance(each, TimeoutError) or "Timeout" in type(each).__name__ for each in causes):
        return "stalled"
    return "connection reset" if any(map(_is_reset, causes)) else "connection closed"


def _is_reset(error: BaseException) -> bool:
    # aiohttp has it in the text alone, where the body was chunked.
    return getattr(error, "errno", 0) == errno.ECONNRESET or ConnectionResetError.__name__ in f"{error!r}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it was raised from, or that it carries, as urllib3's and botocore's do.

    Not its context: that may be an earlier failure, which the client was handling when it called again.
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
