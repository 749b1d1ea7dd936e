"""What a door sees of a fake, and what stands in for one where it cannot answer."""

from __future__ import annotations

from email.utils import formatdate
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from converse_harness.errors import BlockedConnection
from converse_harness.stream.http import Chunk

if TYPE_CHECKING:
    from converse_harness.recordings.capture import Heard
    from converse_harness.stream.http import Chunk, Request, Response


class Exchange(Protocol):
    """One call being answered."""

    @property
    def response(self) -> Response:
        """What to send; nothing where the call is to be passed on."""
        ...

    @property
    def heard(self) -> Heard | None:
        """Where the door writes what comes back, if it is to pass the request on; None if it is to answer."""
        ...

    @property
    def taken(self) -> list[tuple[Chunk, float]]:
        """Where the door appends each chunk that the client took, with the seconds since the request arrived."""
        ...

    def ended(self, outcome: str) -> None:
        """Called exactly once: "complete", "closed by client" or "cut".

        It may come from a finalizer, in any thread and between any two lines: take no lock that is not re-entrant.
        """


class Guarding(Protocol):
    """What of a fake is needed where it does not answer boto clients."""

    @property
    def sleeps(self) -> bool:
        """True: retry waits are really slept."""
        ...

    @property
    def records(self) -> bool:
        """Whether calls may be passed on to the real service: the way there is open, with real keys and real waits."""
        ...

    def waited(self, seconds: float) -> None:
        """A retry wait of this length was skipped."""

    def block(self, error: BlockedConnection) -> None:
        """Record a refused connection, so that the test fails even where the error is swallowed."""


class OpenFake(Guarding, Protocol):
    """What a door sees of a fake that answers. All methods are called from any thread."""

    def exchange(self, request: Request, *, service: str, operation: str) -> Exchange:
        """Answer one request, running scripted callables.

        `service` is botocore's endpoint prefix; `operation` is "" where the call began before the fake was open.
        """
        ...


class RefusingFake:
    """What stands in for a fake where it cannot answer boto clients: every call is refused with one message.

    `behind` is the fake that must know; None in another process, where the error itself is all that can be done.
    """

    def __init__(self, message: str, behind: Guarding | None = None) -> None:
        self.message = message
        self.behind = behind

    @property
    def records(self) -> bool:
        """As the fake behind says: its own door passes calls on."""
        return self.behind is not None and self.behind.records

    @property
    def sleeps(self) -> bool:
        """As the fake behind says."""
        return self.behind is not None and self.behind.sleeps

    def exchange(self, request: Request, *, service: str, operation: str) -> Exchange:
        """Raises BlockedConnection."""
        raise refuse(self, self.message)

    def waited(self, seconds: float) -> None:
        """Tell the fake behind."""
        if self.behind is not None:
            self.behind.waited(seconds)

    def block(self, error: BlockedConnection) -> None:
        """Tell the fake behind."""
        if self.behind is not None:
            self.behind.block(error)


FORKED = (
    "a call to Bedrock from process {child}, which was forked from process {parent} while a converse-harness fake was "
    "open there. A forked copy of a fake cannot report to the test, so it refuses. Give the child the loopback server: "
    "use the fixture `converse_server` and put `fake.environ` into the child's environment"
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


def refuse(fake: Guarding, message: str) -> BlockedConnection:
    """A BlockedConnection that `fake` knows of."""
    error = BlockedConnection(message)
    fake.block(error)
    return error


def headers(exchange: Exchange) -> list[tuple[str, str]]:
    """The response headers with the real `Date` first: clients compute their clock skew from it."""
    return [("Date", formatdate(usegmt=True)), *exchange.response.headers]


class Delivery:
    """The chunks of one response on their way to a client that reads in process, and how that ended.

    It looks one chunk ahead: an answer is complete when the last byte is taken, whether or not the client asks again.
    What the script raises waits until everything before it is taken.
    """

    __slots__ = ("chunk", "chunks", "exchange", "failure", "over", "regular_end", "started")

    def __init__(self, exchange: Exchange, started: float, failure: Exception | None = None) -> None:
        self.exchange = exchange
        self.started = started
        self.over = False
        self.failure = failure
        """What the client sees in place of an end."""
        self.regular_end = "complete" if exchange.response.broken is None else "cut"
        self.chunks = iter(exchange.response.chunks)
        self.chunk: Chunk | None = None
        """The one that is due next; None at the end."""
        self.advance()

    def advance(self) -> None:
        """Look at the next chunk."""
        try:
            self.chunk = next(self.chunks, None)
        except Exception as error:  # noqa: BLE001 - whatever a script raises, the reader must see
            self.chunk, self.failure = None, error

    def take(self, chunk: Chunk) -> bytes:
        """The client takes the chunk that is due."""
        self.exchange.taken.append((chunk, monotonic() - self.started))
        self.advance()
        if self.chunk is None:
            self.last()
        return chunk.data

    def last(self) -> None:
        """The client has taken the last chunk."""
        if self.failure is None:
            self.end(self.regular_end)

    def finish(self) -> None:
        """The client asks for more than there is. Raises what the script raised."""
        if self.failure is not None:
            self.end("cut")
            raise self.failure
        self.end(self.regular_end)

    def end(self, outcome: str) -> None:
        """The first end counts."""
        if not self.over:
            self.over = True
            self.exchange.ended(outcome)

    def close(self) -> None:
        """The client closes, or drops it unread."""
        self.chunk = self.failure = None
        self.end("closed by client")
