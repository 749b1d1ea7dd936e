"""The interfaces through which a transport uses a fake and its exchanges, and the code that refuses calls."""

from __future__ import annotations

from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from converse_harness.errors import BlockedConnection

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call, CallOutcome
    from converse_harness.recordings.capture import CapturedExchange
    from converse_harness.recordings.write import AnyExchange
    from converse_harness.stream.delivery import SentChunks
    from converse_harness.stream.http import HttpResponse, Request


class TransportExchange(Protocol):
    """One call that a fake answers or forwards."""

    @property
    def response(self) -> HttpResponse:
        """The response that the transport must send; it is empty if the transport must forward the call."""
        ...

    @property
    def captured(self) -> CapturedExchange | None:
        """The record of a forwarded call; the transport fills it. None if the fake answers the call itself."""
        ...

    @property
    def taken(self) -> SentChunks:
        """The record of the chunks that the client received; the transport adds each chunk."""
        ...

    def ended(self, outcome: CallOutcome) -> None:
        """Report the outcome of the call: "complete", "closed by client" or "cut". Transports call this exactly once.

        A finalizer may call this method, in any thread and between any two lines of code. Therefore the method must use
        only re-entrant locks.
        """


class OpenFake(Protocol):
    """The interface of a fake that answers or refuses calls. Any thread may call its methods."""

    @property
    def sleeps(self) -> bool:
        """Whether clients really sleep between retries; if not, these waits are skipped."""
        ...

    @property
    def attempts(self) -> int | None:
        """The maximum number of attempts of a botocore client for one call; None keeps the client's own setting."""
        ...

    @property
    def records(self) -> bool:
        """Whether calls may go to the real service. If so, connections are allowed; keys and retry waits are real."""
        ...

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """Report that a wait before a retry was skipped: its seconds, and the failed `call` (None if unknown)."""

    def block(self, error: BlockedConnection) -> None:
        """Record a refused connection, so that the test fails even if other code catches the error."""

    def exchange(self, request: Request, *, service: str, operation: str) -> AnyExchange:
        """Answer one request, or return an exchange with which the transport forwards the request.

        The method may run scripted functions of the user. `service` is botocore's endpoint prefix. `operation` is the
        name of the operation, or "" if the call began before the fake was opened.
        """
        ...


class RefusingFake:
    """Refuses every call with the same message, for example in place of a fake that cannot answer boto clients.

    `behind` is the fake to which refusals are reported. It is None if this process has no such fake, as in a forked
    child; then a refusal is only raised.
    """

    def __init__(self, message: str, behind: OpenFake | None = None) -> None:
        self.message = message
        self.behind = behind

    def message_for(self, library: str, host: str) -> str:
        """Return the message for a refused connection. It is the same message for all libraries and hosts."""
        return self.message

    @property
    def records(self) -> bool:
        """Whether the fake `behind` records calls. If so, the transport of `behind` forwards the calls."""
        return self.behind is not None and self.behind.records

    @property
    def sleeps(self) -> bool:
        """The property `sleeps` of `behind`: whether clients really sleep between retries. False without `behind`."""
        return self.behind is not None and self.behind.sleeps

    @property
    def attempts(self) -> int | None:
        """The property `attempts` of `behind`: the maximum number of attempts for one call. None without `behind`."""
        return None if self.behind is None else self.behind.attempts

    def exchange(self, request: Request, *, service: str, operation: str) -> NoReturn:
        """Refuse the call: report a BlockedConnection to `behind`, and raise it."""
        raise refuse(self, self.message)

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """Report a skipped retry wait to `behind`."""
        if self.behind is not None:
            self.behind.waited(seconds, call)

    def block(self, error: BlockedConnection) -> None:
        """Report a refused connection to `behind`."""
        if self.behind is not None:
            self.behind.block(error)


GIVE_ENVIRON: Final = (
    "A fake answers in its own process only. Give the child the loopback server: use the fixture `converse_server` and "
    "put `fake.environ` into the child's environment.   More: converse-harness docs guard children"
)
FORKED = (
    "a call to Bedrock from process {child}, which was forked from process {parent} while a converse-harness fake was "
    f"open there. A forked copy of a fake cannot report to the test, so it refuses. {GIVE_ENVIRON}"
)
CLOSED_MEANWHILE = (
    "a call to Bedrock that began while a converse-harness fake was open made another attempt after that fake had "
    "closed. It is refused, because the next stop would be the network. Let the call end inside the `with` block (join "
    "its thread, await its task), or open the fake around all of it.   More: converse-harness docs guard"
)
OUTLIVED = (
    "thread {name!r} made a call to Bedrock after the converse-harness fake under which it was started (or called) had "
    "closed, and no other fake is open. It is refused, because the next stop would be the network. Join the thread "
    "inside the `with` block or the test, or open a new fake for what it still does.   More: converse-harness docs "
    "guard children"
)


def refuse(fake: OpenFake, message: str) -> BlockedConnection:
    """Make a BlockedConnection with this message, report it to `fake`, and return it."""
    error = BlockedConnection(message)
    fake.block(error)
    return error


def headers(exchange: TransportExchange) -> list[tuple[str, str]]:
    """Return the response headers, after a `Date` header with the current time.

    Clients compute their clock skew from `Date`.
    """
    return [("Date", http_date()), *exchange.response.headers]


def http_date() -> str:
    """Return the current time as the value of a Date header; the text is cached for one second."""
    return _date(int(time()))


@lru_cache(1)
def _date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)
