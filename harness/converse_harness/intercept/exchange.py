"""One call in progress: the fake's interface for transports, and refusals."""

from __future__ import annotations

from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import TYPE_CHECKING, Final, Protocol

from converse_harness.errors import BlockedConnection

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call, CallOutcome
    from converse_harness.recordings.capture import CapturedExchange
    from converse_harness.stream.delivery import SentChunks
    from converse_harness.stream.http import HttpResponse, Request


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
