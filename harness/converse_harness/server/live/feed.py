"""What a browser is sent while it shows the calls of a server: the newest state of each fake and of each call.

Nothing is noted when a call comes. While somebody reads, a thread looks at the open fakes ten times a second, and gives
each change a revision, a number that grows. A reader gets what changed after its own revision, in that order. Of a call
that has changed several times, a reader gets only the newest state, and nothing before it has taken the events that it
was given. So a slow reader costs no memory.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import scripted_in_short
from converse_harness.intercept import registry
from converse_harness.server.delivery import Arriving
from converse_harness.server.mounts import ServerFake

_LOG: Final = logging.getLogger(__name__)

MOST_READERS: Final = 20
"""At most this number of browsers read at a time."""

SHOWN_CALLS: Final = 200
"""Of each fake, at most this number of calls is sent: the last ones."""

_LOOK_EVERY: Final = 0.1
KEEP_ALIVE: Final = 15.0
"""Seconds without an event after which a reader gets a comment, so that the connection does not seem dead."""

_BATCH: Final = 256 * 1024
"""After this number of bytes, a reader gets nothing more until it has taken them."""

_KEPT_FAKES: Final = 50
_KEPT_CALLS: Final = 500
"""Of the fakes that were closed, the last ones are kept, with at most this number of calls together."""

Progress = tuple[object, ...]
"""Values that change while the answer to a call is being sent."""


class Shown(NamedTuple):
    """Something on the page: the head of a fake (`kind` is "fake"), a call of it ("call"), or its end ("closed").

    `fake` is the number of the fake, `call` that of the call.
    """

    kind: str
    fake: int
    call: int = 0


@dataclass(slots=True, eq=False)
class LiveFake:
    """What is known of one fake. `number` tells apart fakes that had the same URL one after the other."""

    fake: ServerFake
    number: int
    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    """The calls that are shown, by their numbers."""
    running: dict[int, Progress] = field(default_factory=dict[int, Progress])
    """The progress of the calls whose answers have not ended, at the last look."""
    received: int = 0
    head: tuple[object, ...] = ()
    """What the head of the fake was made of."""

    closed: bool = False


class Snapshot(NamedTuple):
    """A fake at one moment, for the thread that makes the events: the calls that are shown, in their order."""

    fake: ServerFake
    number: int
    calls: Sequence[Call]
    closed: bool


Render = Callable[[Shown, Snapshot], Mapping[str, object]]
"""A function that returns the data of the event for a fake or a call. The feed's thread calls it."""


class Reader(Arriving):
    """The body of the response to one browser that reads the feed: the events, as the feed gives them."""

    def __init__(self, revision: int, wants_more: Callable[[], None]) -> None:
        super().__init__(())
        self.revision = revision
        """Whatever has changed after this revision is still to be sent."""
        self.given_at = 0.0
        self._given: deque[bytes] = deque()
        self._wants_more = wants_more

    @property
    def is_waiting(self) -> bool:
        """Whether everything was taken that was given."""
        return not self._given

    def give(self, pieces: Iterable[bytes]) -> None:
        """Send these bytes next."""
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
    """Finds out what has changed, and gives it to the readers. Any thread may call its methods."""

    def __init__(self, fakes: Callable[[], Iterable[ServerFake]], render: Render) -> None:
        self._fakes = fakes
        self._render = render
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._readers: list[Reader] = []
        self._shown: dict[int, LiveFake] = {}
        """By the id() of the fake, which is in the value and so cannot be another's."""
        self._closed: deque[ServerFake] = deque()
        self._forgotten: deque[int] = deque()
        """The numbers of the fakes that were let go of last."""
        self._revisions: OrderedDict[Shown, int] = OrderedDict()
        """The revision of the last change, for all that is shown; the newest is last."""
        self._revision = self._numbered = 0
        self._epoch = secrets.token_hex(4)
        """Part of the ids of events, as a browser may come back with one of an earlier server on the same port."""

    # Readers

    def join(self, last_id: str) -> Reader | None:
        """Return a new reader of all that changed after the event with the id `last_id`; None if there are too many."""
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
                registry.exempt(self._thread)
                self._thread.start()
        self._wake.set()
        return reader

    def leave(self, reader: Reader) -> None:
        """Forget a reader; the thread ends after the last one."""
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

    # Fakes

    def closed(self, fake: ServerFake) -> None:
        """Keep a fake that was closed for a while, if it has few calls."""
        with self._lock:
            shown = self._shown.get(id(fake))
            if shown is not None:
                self._look_at(shown)
                self._close(shown)
            self._closed.append(fake)
            while len(self._closed) > _KEPT_FAKES or _calls_of(self._closed) > _KEPT_CALLS:
                self._forget(self._closed.popleft())

    def _forget(self, fake: ServerFake) -> None:
        """Let go of a closed fake. A browser that shows it goes on to show it, and is still sent that it was closed."""
        shown = self._shown.pop(id(fake), None)
        if shown is not None:
            for call in shown.calls:
                self._revisions.pop(Shown("call", shown.number, call), None)
            self._revisions.pop(Shown("fake", shown.number), None)
            self._forgotten.append(shown.number)
            if len(self._forgotten) > _KEPT_FAKES:
                self._revisions.pop(Shown("closed", self._forgotten.popleft()), None)

    def _close(self, shown: LiveFake) -> None:
        shown.closed = True
        self._changed(Shown("fake", shown.number))  # replies that are not used now are a problem
        self._changed(Shown("closed", shown.number))

    def _changed(self, shown: Shown) -> None:
        self._revision += 1
        self._revisions[shown] = self._revision
        self._revisions.move_to_end(shown)

    # The thread

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._readers:
                    self._thread = None
                    return
                self._look()
                due = [(reader, [*self._after(reader.revision)]) for reader in self._readers if reader.is_waiting]
                changed = {shown.fake for _, changes in due for shown, _ in changes}
                fakes = {
                    each.number: Snapshot(each.fake, each.number, (*each.calls.values(),), each.closed)
                    for each in self._shown.values()
                    if each.number in changed
                }
            self._give(due, fakes)
            self._wake.wait(_LOOK_EVERY)
            self._wake.clear()

    def _give(self, due: Sequence[tuple[Reader, Sequence[tuple[Shown, int]]]], fakes: Mapping[int, Snapshot]) -> None:
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

    def _event(self, shown: Shown, revision: int, fakes: Mapping[int, Snapshot]) -> bytes:
        data: dict[str, object] = {"fake": shown.fake, "call": shown.call}
        try:
            if shown.kind != "closed":
                data |= self._render(shown, fakes[shown.fake])
        except Exception:  # noqa: BLE001 - one call that cannot be shown must not end the page
            _LOG.exception("converse-harness cannot show a call")
        return as_event(shown.kind, f"{self._epoch}-{revision}", data)

    def _after(self, revision: int) -> Iterator[tuple[Shown, int]]:
        """Yield what has changed after a revision, in the order of the changes."""
        newer: list[tuple[Shown, int]] = []
        for shown, changed in reversed(self._revisions.items()):
            if changed <= revision:
                break
            newer.append((shown, changed))
        return reversed(newer)

    def _look(self) -> None:
        """Note all that has changed since the last look."""
        open_now = [*self._fakes()]
        for fake in (*self._closed, *open_now):
            shown = self._shown.get(id(fake))
            if shown is None:
                self._numbered += 1
                shown = self._shown[id(fake)] = LiveFake(fake, self._numbered)
                self._look_at(shown)
                if fake in self._closed:
                    self._close(shown)
            else:
                self._look_at(shown)

    def _look_at(self, shown: LiveFake) -> None:
        endpoint = shown.fake.endpoint
        calls = [call for call in reversed(endpoint.calls[-SHOWN_CALLS:]) if call.number > shown.received]
        for call in reversed(calls):
            shown.calls[call.number] = call
            shown.running[call.number] = ()
            shown.received = call.number
        for number, before in [*shown.running.items()]:
            call = shown.calls[number]
            over = call.outcome != "still running"  # read before the progress, which is complete once the answer ends
            progress = _progress(call)
            if progress != before:
                self._changed(Shown("call", shown.number, number))
                shown.running[number] = progress
            if over:
                del shown.running[number]
        for number in [*shown.calls][:-SHOWN_CALLS]:
            del shown.calls[number]
            shown.running.pop(number, None)
            self._revisions.pop(Shown("call", shown.number, number), None)
        head = _head(shown)
        if head != shown.head:
            shown.head = head
            self._changed(Shown("fake", shown.number))


def _calls_of(fakes: Iterable[ServerFake]) -> int:
    return sum(len(each.endpoint.calls) for each in fakes)


def as_event(kind: str, id: str, data: Mapping[str, object]) -> bytes:
    r"""Encode a server-sent event. The data is JSON in one line of ASCII, so that no text ends the event.

    >>> as_event("call", "7", {"html": "a\nb"})
    b'id: 7\nevent: call\ndata: {"html": "a\\nb"}\n\n'
    """
    return f"id: {id}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def _progress(call: Call) -> Progress:
    passed_on = call.answered.passed_on
    count = len(call.answered.taken.times) if passed_on is None else len(passed_on().taken)
    return call.outcome, call.answered.status, count


def _head(shown: LiveFake) -> tuple[object, ...]:
    endpoint = shown.fake.endpoint
    return shown.received, {**shown.running}, len(endpoint.problems), scripted_in_short(endpoint.script)
