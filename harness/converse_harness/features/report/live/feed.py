"""The events for browsers that show the calls of a server: the newest state of each fake and of each call.

Nothing is recorded when a call arrives. While a browser reads, a thread looks at the fakes ten times a second. It gives
each change a revision, a number that grows. A reader (the body of the response to one browser) gets the changes after
its own revision, in their order. Of a call that has changed several times, a reader gets only the newest state. A
reader gets no new events before the browser has taken the earlier ones, so that no events pile up for a slow browser.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, NamedTuple

from converse_harness.endpoint.call import Call, ForwardedAnswer
from converse_harness.endpoint.script import scripted_in_short
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.server.delivery import Arriving
from converse_harness.server.mounts import ServerFake

_LOG: Final = logging.getLogger(__name__)

MOST_READERS: Final = 20
"""The maximum number of browsers that read at the same time."""

SHOWN_CALLS: Final = 200
"""The maximum number of calls of one fake that a browser gets. Earlier calls are left out."""

_LOOK_EVERY: Final = 0.1
"""Seconds between two searches for changes in the fakes."""

KEEP_ALIVE: Final = 15.0
"""Seconds without an event after which a reader gets a comment, so that the connection does not seem dead."""

_BATCH: Final = 256 * 1024
"""The approximate number of bytes of events that a reader gets at once; more only after the browser has taken them."""

_KEPT_FAKES: Final = 50
_KEPT_CALLS: Final = 500
"""Limits for the closed fakes that are kept: the latest _KEPT_FAKES, with at most _KEPT_CALLS calls in all."""


class Shown(NamedTuple):
    """Something on the page: the head of a fake (`kind` is "fake"), one of its calls ("call"), or its end ("closed").

    `fake` is the number of the fake. `call` is the number of the call; 0 if `kind` is not "call".
    """

    kind: str
    fake: int
    call: int = 0


@dataclass(slots=True, eq=False)
class LiveFake:
    """The state of one fake when the feed last looked at it.

    `number` identifies the fake: a later fake with the same URL has another number. `calls` are the calls that are
    shown, and `running` is the progress of each answer that has not ended, both by the number of the call. `received`
    is the number of the newest call. `head` has the values from which the head of the fake is made.
    """

    fake: ServerFake
    number: int
    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    running: dict[int, tuple[object, ...]] = field(default_factory=dict[int, tuple[object, ...]])
    received: int = 0
    head: tuple[object, ...] = ()
    closed: bool = False


Render = Callable[[Shown, LiveFake], Mapping[str, object]]
"""A function that returns the data of the event for a fake or a call. The feed's thread calls it."""


class Reader(Arriving):
    """The body of the response to one browser: the events that the feed gives to this reader.

    `revision` is that of the last change that the reader got. `wants_more` is called when all events were sent.
    """

    def __init__(self, revision: int, wants_more: Callable[[], None]) -> None:
        super().__init__(())
        self.revision = revision
        self.given_at = 0.0
        self._given: deque[bytes] = deque()
        self._wants_more = wants_more

    @property
    def is_waiting(self) -> bool:
        """Whether all events that the feed gave to this reader were sent."""
        return not self._given

    def give(self, pieces: Iterable[bytes]) -> None:
        """Send `pieces` after all earlier events."""
        self._given.extend(pieces)
        self.given_at = time.monotonic()
        self.came()

    def _piece(self) -> bytes | None:
        if not self._given:
            return None
        piece = self._given.popleft()
        if not self._given:
            self._wants_more()
        return piece


class Feed:
    """Finds the changes of all fakes, and gives them to the readers, one per browser. Its methods are thread-safe."""

    def __init__(self, fakes: Callable[[], Iterable[ServerFake]], render: Render) -> None:
        self._fakes = fakes
        self._render = render
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._readers: list[Reader] = []
        self._shown: dict[int, LiveFake] = {}
        """The state of each fake, by the id() of the fake; the state refers to the fake, so its id() is not reused."""
        self._closed: deque[ServerFake] = deque()
        """The closed fakes that are kept."""
        self._forgotten: deque[int] = deque()
        """The numbers of fakes that were closed and are not kept any more, at most _KEPT_FAKES of them."""
        self._revisions: dict[Shown, int] = {}
        """The revision (number) of the last change of each thing on the page. The newest revision is the last entry."""
        self._revision = self._numbered = 0
        self._epoch = secrets.token_hex(4)
        """A random part of the ids of events. A browser may still send an id of an earlier server on the same port."""

    # The following methods add and remove readers.

    def join(self, last_id: str) -> Reader | None:
        """Return a new reader of all changes after the event with the id `last_id`; None if there are too many readers.

        If the id is not one of this feed, the reader gets everything that is shown.
        """
        epoch, _, digits = last_id.partition("-")
        known = epoch == self._epoch and digits.isascii() and digits.isdecimal() and len(digits) < len(str(2**63))
        reader = Reader(int(digits) if known else 0, self._wake.set)
        with self._lock:
            if len(self._readers) == MOST_READERS:
                return None
            reader.give([b"retry: 1000\n\n"] if reader.revision else [b"retry: 1000\n\n", as_event("reset", "", {})])
            self._readers.append(reader)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="converse-harness page", daemon=True)
                OPEN_FAKES.exempt(self._thread)
                self._thread.start()
        self._wake.set()
        return reader

    def leave(self, reader: Reader) -> None:
        """Forget a reader. The thread ends when no reader is left."""
        with self._lock:
            if reader in self._readers:
                self._readers.remove(reader)
        self._wake.set()

    def stop(self) -> None:
        """Forget all readers and all fakes, and wait for the end of the thread."""
        with self._lock:
            thread = self._thread
            for each in (self._readers, self._closed, self._forgotten, self._shown, self._revisions):
                each.clear()
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    # The following methods register closed fakes and changed objects.

    def closed(self, fake: ServerFake) -> None:
        """Keep a closed fake until too many other fakes and calls are kept."""
        with self._lock:
            if id(fake) in self._shown:
                self._look_at(fake, closed=True)
            self._closed.append(fake)
            while (
                len(self._closed) > _KEPT_FAKES or sum(len(each.endpoint.calls) for each in self._closed) > _KEPT_CALLS
            ):
                self._forget(self._closed.popleft())

    def _forget(self, fake: ServerFake) -> None:
        """Stop keeping a closed fake. Browsers that show it still get the event that it was closed."""
        shown = self._shown.pop(id(fake), None)
        if shown is not None:
            for call in shown.calls:
                self._revisions.pop(Shown("call", shown.number, call), None)
            self._revisions.pop(Shown("fake", shown.number), None)
            self._forgotten.append(shown.number)
            if len(self._forgotten) > _KEPT_FAKES:
                self._revisions.pop(Shown("closed", self._forgotten.popleft()), None)

    def _changed(self, shown: Shown) -> None:
        self._revision += 1
        self._revisions.pop(shown, None)  # so that the new entry becomes the last one
        self._revisions[shown] = self._revision

    # The thread that looks for changes runs the following methods.

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._readers:
                    self._thread = None
                    return
                for fake in self._closed:
                    self._look_at(fake, closed=True)
                for fake in self._fakes():
                    self._look_at(fake)
                due = [(reader, self._after(reader.revision)) for reader in self._readers if reader.is_waiting]
                changed = {shown.fake for _, changes in due for shown, _ in changes}
                shown = (each for each in self._shown.values() if each.number in changed)
                # Copies, because `_give` reads them after the lock is released.
                fakes = {each.number: replace(each, calls={**each.calls}) for each in shown}
            self._give(due, fakes)
            self._wake.wait(_LOOK_EVERY)
            self._wake.clear()

    def _give(self, due: Sequence[tuple[Reader, Sequence[tuple[Shown, int]]]], fakes: Mapping[int, LiveFake]) -> None:
        made: dict[Shown, bytes] = {}
        for reader, changes in due:
            pieces: list[bytes] = []
            size = 0
            for shown, revision in changes:
                if shown not in made:
                    made[shown] = self._event(shown, revision, fakes)
                pieces.append(made[shown])
                size += len(made[shown])
                reader.revision = revision
                if size > _BATCH:
                    break
            if pieces:
                reader.give(pieces)
            elif time.monotonic() - reader.given_at > KEEP_ALIVE:
                reader.give([b": still here\n\n"])

    def _event(self, shown: Shown, revision: int, fakes: Mapping[int, LiveFake]) -> bytes:
        data: dict[str, object] = {"fake": shown.fake, "call": shown.call}
        try:
            if shown.kind != "closed":
                data |= self._render(shown, fakes[shown.fake])
        except Exception:  # noqa: BLE001 - one call that cannot be shown must not end the page
            _LOG.exception("converse-harness cannot show a call")
        return as_event(shown.kind, f"{self._epoch}-{revision}", data)

    def _after(self, revision: int) -> list[tuple[Shown, int]]:
        """Return what has changed after `revision`, with the revision of each change, in the order of the changes."""
        newer = takewhile(lambda change: change[1] > revision, reversed(self._revisions.items()))
        return [*newer][::-1]

    def _look_at(self, fake: ServerFake, *, closed: bool = False) -> None:
        """Find what has changed in a fake since the last look, and give each change a new revision."""
        shown = self._shown.get(id(fake))
        if shown is None:
            self._numbered += 1
            shown = self._shown[id(fake)] = LiveFake(fake, self._numbered)
        for call in (call for call in fake.endpoint.calls[-SHOWN_CALLS:] if call.number > shown.received):
            shown.calls[call.number] = call
            shown.running[call.number] = ()
            shown.received = call.number
        for number, before in [*shown.running.items()]:
            call = shown.calls[number]
            # Read before the progress: the progress of an answer that is over does not change any more.
            over = call.outcome != "still running"
            forwarded = call.of(ForwardedAnswer)
            sent = len(call.answered.taken) if forwarded is None else len(forwarded.so_far().taken)
            progress = call.outcome, call.answered.status, sent
            if progress != before:
                self._changed(Shown("call", shown.number, number))
                shown.running[number] = progress
            if over:
                del shown.running[number]
        for number in [*shown.calls][:-SHOWN_CALLS]:
            del shown.calls[number]
            shown.running.pop(number, None)
            self._revisions.pop(Shown("call", shown.number, number), None)
        script = scripted_in_short(fake.endpoint.script)
        # `closed` is one of the values, because the head shows unused replies as a problem once the fake is closed.
        head = shown.received, {**shown.running}, len(fake.endpoint.problems), script, closed
        if head != shown.head:
            shown.head = head
            self._changed(Shown("fake", shown.number))
        if closed and not shown.closed:
            shown.closed = True
            self._changed(Shown("closed", shown.number))


def as_event(kind: str, id: str, data: Mapping[str, object]) -> bytes:
    r"""Return a server-sent event. The data is JSON in one line of ASCII, so no text in it can end the event.

    >>> as_event("call", "7", {"html": "a\nb"})
    b'id: 7\nevent: call\ndata: {"html": "a\\nb"}\n\n'
    """
    return f"id: {id}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()
