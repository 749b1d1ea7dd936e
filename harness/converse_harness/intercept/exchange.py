"""The interfaces through which a transport uses a fake and its exchanges, and the code that refuses calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import lru_cache
from itertools import chain
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from converse_harness import refusals
from converse_harness.errors import BlockedConnection
from converse_harness.stream.delivery import StreamChunks, to_send

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call, CallOutcome
    from converse_harness.recordings.record.captured import CapturedExchange
    from converse_harness.recordings.record.write import AnyExchange
    from converse_harness.stream.delivery import SentChunks
    from converse_harness.stream.http import Chunk, HttpResponse, Request


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

    @property
    def runs_functions(self) -> bool:
        """Whether answering a call may run a user's function, which may be slow."""
        ...

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """Report that a wait before a retry was skipped: its seconds, and the failed `call` (None if unknown)."""

    def block(self, error: BlockedConnection) -> None:
        """Record a refused connection, so that the test fails even if other code catches the error."""

    def exchange(self, request: Request, *, service: str = ..., operation: str = ...) -> AnyExchange:
        """Answer one request, or return an exchange with which the transport forwards the request.

        The method may run scripted functions of the user. `service` is botocore's endpoint prefix. `operation` is the
        name of the operation, or "" if it is unknown.
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

    @property
    def runs_functions(self) -> bool:
        """False, because no function of a user runs to refuse a call."""
        return False

    def exchange(self, request: Request, *, service: str = "", operation: str = "") -> NoReturn:
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


class RefusingInWorker(RefusingFake):
    """Refuses the calls of a worker, and reports each of them to the process for which it works.

    So the test fails there, whatever the worker makes of the error. `template` is the message, with a field `{host}`.
    """

    def __init__(self, template: str) -> None:
        super().__init__(template.format(host=""))
        self._template = template

    def message_for(self, library: str, host: str) -> str:
        """Return the message for a refused connection, with the host."""
        return self._template.format(host=f" ({host})")

    def asked_for(self, endpoint: str) -> RefusingFake:
        """Return an object that refuses in the same way, and names the host of a client's endpoint URL."""
        host = endpoint.partition("://")[2].partition("/")[0]
        return RefusingInWorker(self.message_for("", host).replace("{", "{{").replace("}", "}}"))

    def exchange(self, request: Request, *, service: str = "", operation: str = "") -> NoReturn:
        """Refuse the call, and name the host in its Host header."""
        host = next((value for name, value in request.headers if name.lower() == "host"), "")
        raise refuse(self, self.message_for("", host) if host else self.message)

    def block(self, error: BlockedConnection) -> None:
        """Report the refused connection to the other process."""
        refusals.report(str(error))


class RefusingLate(RefusingFake):
    """Refuses the calls of a thread that outlived a fake which is gone. `test` is the test in which it closed."""

    def __init__(self, message: str, test: str) -> None:
        super().__init__(message)
        self._test = test

    def block(self, error: BlockedConnection) -> None:
        """Keep the message, so that the test fails if it still runs, and otherwise the run of pytest."""
        refusals.is_late(str(error), self._test)


GIVE_ENVIRON: Final = (
    "A fake answers in its own process only. Give the child the loopback server: use the fixture `converse_server` and "
    "put `fake.environ` into the child's environment.   More: converse-harness docs guard children"
)
FORKED = (
    "a call to Bedrock{{host}} from process {child}, which was forked from process {parent} while a converse-harness "
    f"fake was open there. A forked copy of a fake cannot answer for the test, so it refuses. {GIVE_ENVIRON}"
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
    return _date(int(time.time()))


@lru_cache(1)
def _date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


_FRAME: Final = itemgetter(0)


class ResponseReader:
    """Gives the chunks of one response to a client in this process, and reports the outcome to the exchange.

    The reader fetches one chunk ahead: a response is complete when the client has the last byte, even if the client
    never reads again. `failure` is an exception that the client gets in place of a normal end. If a scripted function
    raises an exception, the client gets it after all earlier chunks. If a pause is longer than `patience` (the client's
    timeout in seconds), the reader raises the error that `timed_out` returns. If the client closes the response and
    reads on, the reader raises the error that `closed` returns. Blocking clients iterate over the reader; asynchronous
    clients read the property `chunk`, wait for `pause()` seconds, and call `take`.
    """

    __slots__ = (
        "_begun",
        "_chunks",
        "_closed",
        "_due",
        "_handed",
        "_patience",
        "_stream",
        "_timed_out",
        "exchange",
        "failure",
        "over",
        "regular_end",
        "started",
        "taken",
    )

    def __init__(
        self,
        exchange: TransportExchange,
        started: float,
        failure: Exception | None = None,
        *,
        patience: float = inf,
        timed_out: Callable[[], Exception] = TimeoutError,
        closed: Callable[[], Exception] = ValueError,
    ) -> None:
        self.exchange = exchange
        self.started = started
        self.over = False
        self.failure = failure
        self._patience = patience
        self._timed_out = timed_out
        self._closed = closed
        response = exchange.response
        self.regular_end: CallOutcome = "complete" if response.broken is None else "cut"
        chunks = response.chunks
        whole = failure is None and response.broken is None
        self._stream = chunks if isinstance(chunks, StreamChunks) and whole and not chunks.is_paced else None
        """The chunks if there are no pauses and failures, so that whole lists of frames can be read; otherwise None."""
        self._handed: list[bytes] = []
        self.taken = exchange.taken
        self.taken.begin(chunks, started)
        self._chunks: Iterator[Chunk] | None = None
        """The iterator over the chunks that are not fetched yet; None before the first chunk is fetched."""
        self._due: Chunk | None = None
        self._begun = False

    @property
    def chunk(self) -> Chunk | None:
        """The next chunk; None at the end."""
        if not self._begun:
            self._advance()
        return self._due

    def _advance(self) -> None:
        self._begun = True
        try:
            if self._chunks is None:
                self._chunks = to_send(self.exchange.response.chunks)
            self._due = next(self._chunks, None)
        except Exception as error:  # noqa: BLE001 - any exception of a script is raised to the reader
            self._due, self.failure = None, error

    def __iter__(self) -> Iterator[bytes]:
        """Yield each chunk after its pause, for a blocking client. If the answer is incomplete, raise the cause."""
        stream = self._stream
        if stream is None or self._begun:
            return self._one_by_one()
        self._begun = True
        # To save time, this iteration calls no Python function for a single frame.
        moments = map(self.taken.times.append, iter(time.monotonic, None))
        frames = zip(chain.from_iterable(self._runs(stream)), moments, strict=False)
        return chain(map(_FRAME, frames), self._last(stream))

    def _one_by_one(self) -> Iterator[bytes]:
        try:
            while (chunk := self.chunk) is not None:
                if chunk.delay:
                    time.sleep(self.pause())
                if self.over:
                    break  # another thread has closed the reader
                yield self.take(chunk)
            self.finish()
        except BaseException:
            # The generator was dropped or closed, or the wait was interrupted.
            self.close()
            raise

    def _runs(self, stream: StreamChunks) -> Iterator[list[bytes]]:
        try:
            for run in stream.runs:
                if self.over:
                    return
                self._handed = run[:]  # a copy, which `close` empties
                yield self._handed
        except Exception:
            self.end("cut")
            raise

    def _last(self, stream: StreamChunks) -> Iterator[bytes]:
        try:
            last = None if self.over else stream.last(len(self.taken))
        except Exception:
            self.end("cut")
            raise
        if last is not None:
            self.taken.add(last, time.monotonic())
        self.end(self.regular_end)
        if last is not None:
            yield last.data
        self.finish()

    def pause(self) -> float:
        """Return the pause before the next chunk in seconds.

        If the pause exceeds `patience`, the response is closed, and the client's timeout error is raised at once.
        """
        delay = self._due.delay if self._due is not None else 0.0
        if delay > self._patience:
            self.close()
            raise self._timed_out()
        return delay

    def take(self, chunk: Chunk) -> bytes:
        """Record that the client received the next chunk, and return the chunk's bytes."""
        self.taken.add(chunk, time.monotonic())
        self._advance()
        if self._due is None and self.failure is None:
            self.end(self.regular_end)
        return chunk.data

    def finish(self) -> None:
        """Handle a read after the last chunk. Raises `failure` or the script's exception, if there is one."""
        if self.failure is not None:
            if not self.over:
                self.taken.endless = self.exchange.response.broken == "stalled" and self._patience == inf
                self.end("cut")
            raise self.failure
        self.end(self.regular_end)

    def end(self, outcome: CallOutcome) -> None:
        """Report the outcome to the exchange; only the first report counts."""
        if not self.over:
            self.over = True
            self.exchange.ended(outcome)
            self.taken.pack()

    def close(self) -> None:
        """Report that the client closed or dropped the response."""
        self.failure = self._closed()
        self._due = None
        self._begun = True
        self._handed.clear()
        self.end("closed by client")
