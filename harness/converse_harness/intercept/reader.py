"""The class ResponseReader gives the chunks of a response to a client in this process, with all pauses and failures.

All in-process transports use this class. It also reports which chunks the client received, and the call's outcome.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from converse_harness.stream.delivery import StreamChunks, to_send

if TYPE_CHECKING:
    from converse_harness.endpoint.call import CallOutcome
    from converse_harness.intercept.exchange import TransportExchange
    from converse_harness.stream.http import Chunk

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
        last = None if self.over else stream.last(len(self.taken.times))
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

    def close(self) -> None:
        """Report that the client closed or dropped the response."""
        self.failure = self._closed()
        self._due = None
        self._begun = True
        self._handed.clear()
        self.end("closed by client")
