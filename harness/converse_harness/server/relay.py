"""One call that is passed on: its answer comes in a thread and goes to the client as it comes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from converse_harness.endpoint.call import Call
from converse_harness.intercept import registry
from converse_harness.intercept.capture import Hearing, end_of
from converse_harness.recordings.capture import Heard
from converse_harness.recordings.lines import End
from converse_harness.recordings.tape import PassedExchange
from converse_harness.secrets import mask
from converse_harness.server.delivery import WAITING, Arriving
from converse_harness.server.upstream import Answer, Upstream
from converse_harness.stream.http import NO_REQUEST_ID, Break, Chunk, Request, Response, error_response

THREAD: Final = "converse-harness recording"

BREAKS: Final = {End.RESET: Break.RESET, End.CLOSED: Break.CLOSED, End.STALLED: Break.STALLED}
"""What the client sees where the service breaks off: the same."""

BETWEEN_TWO: Final = frozenset(
    {
        "connection",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that concern the connection to the service, and not the one to the client."""

UNAVAILABLE: Final = "ServiceUnavailableException"
NOT_REACHED: Final = "converse-harness passes calls on to {url}, and no answer came from there: {error}"


class Pieces(Arriving):
    """The pieces of a body as they are heard. What a slow client has not taken yet is kept by the recording anyway."""

    def __init__(self, pieces: list[tuple[bytes, float]]) -> None:
        self._pieces = pieces
        self._next = 0
        self._over = False
        self._asleep = False
        self._woken: Callable[[], None] | None = None

    def wakes(self, woken: Callable[[], None]) -> None:
        """Call this after WAITING, when there is something."""
        self._woken = woken

    def __next__(self) -> Chunk:
        while True:
            over = self._over  # asked before the pieces are, as the last of them comes before the end
            if self._next < len(self._pieces):
                data, _ = self._pieces[self._next]
                self._next += 1
                return Chunk(data)
            if over:
                raise StopIteration
            if self._asleep:
                return WAITING
            self._asleep = True  # and look again: what came in between has woken nobody

    def came(self) -> None:
        """There is one more."""
        if self._asleep and self._woken is not None:
            self._asleep = False
            self._woken()

    def end(self) -> None:
        """There will be no more."""
        self._over = True
        self.came()


class Relay:
    """One call on its way to the service and back."""

    def __init__(self, passed: PassedExchange, over: Callable[[Call], None]) -> None:
        self._call = passed.call
        self._heard: Heard = passed.heard
        self._hearing = Hearing(passed, passed.heard)
        self._over = over
        self._lock = threading.RLock()
        self._answer: Answer | None = None
        self._whole = False
        """Whether all of the answer is there, taken or not."""
        self._pieces = Pieces(passed.heard.pieces)
        self.response = Response(0, (), ())

    @property
    def heard(self) -> None:
        """Nothing: this one answers."""
        return

    @property
    def taken(self) -> list[tuple[Chunk, float]]:
        """Nothing: what came is heard."""
        return []

    def ask(self, upstream: Upstream, request: Request) -> None:
        """Ask, until there is a head; a body that comes in pieces is then read on in a thread.

        Raises DoorError where the credentials of the proxy are lost: then nobody was asked.
        """
        from botocore.exceptions import BotoCoreError

        try:
            with registry.passing_on():
                answer = upstream.ask(request)
        except BotoCoreError as error:
            self._end(partial(self._hearing.broke, error))
            said = mask(NOT_REACHED.format(url=upstream.url, error=error))
            body = json.dumps({"message": said}, ensure_ascii=False).encode()
            self.response = error_response(UNAVAILABLE, 503, body, NO_REQUEST_ID)
            return
        self._hearing.began(answer.status, answer.headers)
        self.response = Response(answer.status, tuple(_for_the_client(answer)), self._pieces)
        self._answer = answer
        if answer.chunked:
            reader = threading.Thread(target=self._read, args=(answer,), name=THREAD, daemon=True)
            registry.exempt(reader)
            reader.start()
        else:
            self._read(answer)
            self._give_length()

    def ended(self, outcome: str) -> None:
        """The client has it all, or is gone, or the proxy stops."""
        self._end(self._hearing.complete if outcome == "complete" or self._whole else self._hearing.left)
        with self._lock:
            if self._answer is not None:
                self._answer.hang_up()

    def _read(self, answer: Answer) -> None:
        try:
            for data in answer.pieces():
                with self._lock:
                    if not self._heard.running:
                        return
                    self._hearing.took(data)
                self._pieces.came()
            self._whole = True
        except Exception as error:  # noqa: BLE001 - urllib3's, ssl's, whatever breaks it off
            self.response = replace(self.response, broken=BREAKS[end_of(error)])
            self._end(partial(self._hearing.broke, error))
        finally:
            with self._lock:
                self._answer = None
                answer.close()
            self._pieces.end()

    def _end(self, end: Callable[[], None]) -> None:
        """The first end counts."""
        with self._lock:
            ran = self._heard.running
            end()
        if ran and not self._heard.running:
            self._over(self._call)

    def _give_length(self) -> None:
        """A body that ended with its connection gets one, as that of the client goes on."""
        headers = self.response.headers
        if not any(name.lower() == "content-length" for name, _ in headers):
            length = str(sum(len(data) for data, _ in self._heard.pieces))
            self.response = replace(self.response, headers=(*headers, ("Content-Length", length)))


def _for_the_client(answer: Answer) -> Iterator[tuple[str, str]]:
    for name, value in answer.headers:
        if name.lower() not in BETWEEN_TWO:
            yield name, value
    if answer.chunked:
        yield "Transfer-Encoding", "chunked"
    yield "Connection", "keep-alive"
