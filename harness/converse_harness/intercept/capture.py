"""A call that is passed on: what comes back is written down while the client gets it, and how it ended."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Final

from converse_harness.intercept.exchange import Exchange
from converse_harness.recordings.capture import Heard
from converse_harness.recordings.lines import End
from converse_harness.stream.http import ConnectionFailure

FAILURES: Final = {
    "EndpointConnectionError": ConnectionFailure.REFUSED,
    "ConnectError": ConnectionFailure.REFUSED,
    "ConnectTimeoutError": ConnectionFailure.CONNECT_TIMEOUT,
    "ConnectTimeout": ConnectionFailure.CONNECT_TIMEOUT,
    "ReadTimeoutError": ConnectionFailure.READ_TIMEOUT,
    "ReadTimeout": ConnectionFailure.READ_TIMEOUT,
    "ConnectionClosedError": ConnectionFailure.CLOSED,
    "RemoteProtocolError": ConnectionFailure.CLOSED,
    "ReadError": ConnectionFailure.CLOSED,
    "WriteError": ConnectionFailure.CLOSED,
}
"""What botocore and httpx raise in place of an answer; everything else is a connection that did not come about."""


class Hearing:
    """Fills in what a fake hears of one call. The first end counts.

    Where each piece of a long stream passes, append `(data, monotonic() - started)` to `pieces` itself.
    """

    __slots__ = ("_exchange", "_over", "heard", "pieces", "started")

    def __init__(self, exchange: Exchange, heard: Heard) -> None:
        self._exchange = exchange
        self._over = False
        self.heard = heard
        self.pieces = heard.pieces
        self.started = monotonic()

    def began(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """The head of the answer came."""
        heard = self.heard
        heard.headers, heard.head_at, heard.status = tuple(headers), monotonic() - self.started, status

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
        if self.heard.is_whole():
            self.complete()
        elif self.heard.status:
            self._end(End.CLOSED_BY_CLIENT, "closed by client")
        else:
            # For whoever replays it: no answer came for as long as the client waited.
            self._fail(ConnectionFailure.READ_TIMEOUT, "closed by client")

    def broke(self, error: BaseException) -> None:
        """This was raised in place of the rest of the answer, or of all of it."""
        if not isinstance(error, Exception):
            self.left()  # it was cancelled or interrupted
        elif self.heard.status:
            self._end(end_of(error), "cut")
        else:
            self._fail(failure_of(error), "cut")

    def _fail(self, failure: ConnectionFailure, outcome: str) -> None:
        if not self._over:
            self.heard.failure = failure
            self._end(None, outcome)

    def _end(self, end: End | None, outcome: str) -> None:
        if not self._over:
            self._over = True
            self.heard.ended, self.heard.ended_at = end, monotonic() - self.started
            self._exchange.ended(outcome)


def failure_of(error: BaseException) -> ConnectionFailure:
    """What happened in place of an answer."""
    names = (type(each).__name__ for each in _causes(error))
    return next((FAILURES[name] for name in names if name in FAILURES), ConnectionFailure.REFUSED)


def end_of(error: BaseException) -> End:
    """What happened in the middle of an answer, by what the library raised that read it."""
    causes = list(_causes(error))
    if any(isinstance(each, TimeoutError) or "Timeout" in type(each).__name__ for each in causes):
        return End.STALLED
    return End.RESET if any(map(_is_reset, causes)) else End.CLOSED


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
