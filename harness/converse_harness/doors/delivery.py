"""An answer that a client of this process reads: the same for every library that it reads with."""

from __future__ import annotations

from email.utils import formatdate
from time import monotonic

from converse_harness.doors.contract import Exchange
from converse_harness.wire.http import Chunk


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
