"""The server door as a proxy that records: what is asked is passed on to the real service, live, and written down."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Final, TypedDict, Unpack

from converse_harness.endpoint.call import Call
from converse_harness.errors import DoorError, ReplyError
from converse_harness.intercept import registry
from converse_harness.intercept.exchange import Exchange
from converse_harness.intercept.fake import Settings
from converse_harness.recordings.matching import Match
from converse_harness.recordings.modes import MissingRecording, Mode, Opened, keep, mode_of, open_session
from converse_harness.recordings.redaction import Redaction
from converse_harness.recordings.tape import PassedExchange, Tape
from converse_harness.server.relay import THREAD, Relay
from converse_harness.server.site import Mount, ServerFake
from converse_harness.server.upstream import Upstream, find
from converse_harness.stream.http import Request

Told = Callable[[Call, Exception | None], None]
"""Is called when a call is over and on disk, or with what kept it from being written; it must not wait."""


REST: Final = 4.0
"""How much longer than it took to write the file nothing is written."""


class Saver:
    """Writes a tape anew whenever a call has ended, in a thread: if the process is killed, what ended is on disk.

    All of it is written each time, so in a long session that takes a while; then others get most of the time, and the
    calls that end meanwhile are written together.
    """

    def __init__(self, tape: Tape, told: Told) -> None:
        self._tape = tape
        self._told = told
        self._ended: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._unsaved: list[Call] = []
        self._failed = False
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
        registry.exempt(self._thread)

    def ended(self, call: Call) -> None:
        """A call has ended."""
        self._ended.put(call)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Write what is not written yet. Raises ReplyError where that cannot be, and says where it is instead."""
        self._ended.put(None)
        self._thread.join()
        if self._unsaved or self._failed:
            kept = keep(self._tape, passed=True)
            problem = ReplyError(kept.problem) if kept.problem else None
            self._tell(problem)
            if problem is not None:
                raise problem

    def _run(self) -> None:
        rested = 0.0
        while self._collect(rested):
            started = monotonic()
            self._save()
            rested = monotonic() + REST * (monotonic() - started)

    def _collect(self, until: float) -> bool:
        """Wait for a call that ended, and for more until then; whether the tape goes on."""
        self._unsaved = []
        wait: float | None = None
        while True:
            try:
                call = self._ended.get(timeout=wait)
            except queue.Empty:
                return True
            if call is None:
                return False
            self._unsaved.append(call)
            wait = max(0.0, until - monotonic())

    def _save(self) -> None:
        failure: Exception | None = None
        try:
            self._tape.save()
        except Exception as error:  # noqa: BLE001 - whoever is told knows it; it is tried again, and raised in the end
            failure = error
        self._failed = failure is not None
        self._tell(failure)

    def _tell(self, failure: Exception | None) -> None:
        for call in self._unsaved:
            self._told(call, failure)


class RecordingFake(ServerFake):
    """A fake whose calls are passed on to the real service, and recorded.

    Its file is written anew after each call that ended, and when it closes; of what is still coming then it keeps what
    came. Closing raises ReplyError where the file cannot be written.
    """

    def __init__(
        self, url: str, mount: Mount, opened: Opened, upstream: Upstream | None, told: Told, settings: Settings
    ) -> None:
        self._upstream = upstream
        self._saver = None if opened.tape is None else Saver(opened.tape, told)

        @contextmanager
        def saved(fake: ServerFake) -> Generator[None, None, None]:
            fake.tape = opened.tape
            fake.endpoint.on_ended = lambda call: told(call, None)
            with self._saver or nullcontext(), mount(fake):
                yield

        super().__init__(url, saved, *() if opened.recording is None else (opened.recording,), **settings)

    @property
    def upstream(self) -> str:
        """The URL that calls are passed on to; empty where none is."""
        return "" if self._upstream is None else self._upstream.url

    @property
    def environ(self) -> dict[str, str]:
        """As of any fake, with the region in which it records: clients choose models by it."""
        region = "" if self._upstream is None else self._upstream.region
        regions = dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), region) if region else {}
        return {**super().environ, **regions}

    def answer(self, request: Request) -> Exchange:
        """Answer one request with what was recorded, or pass it on, which takes as long as the real service does."""
        exchange = self.exchange(request)
        if self._upstream is None or self._saver is None or not isinstance(exchange, PassedExchange):
            return exchange
        relay = Relay(exchange, self._saver.ended)
        try:
            relay.ask(self._upstream, request)
        except DoorError as error:
            return self.endpoint.fail(exchange.call, error)
        return relay


class Options(TypedDict, total=False):
    """How it is recorded: see `ConverseServer.record`."""

    upstream: str | None
    region: str | None
    mode: Mode | str
    match: Match
    pace: float | str
    redaction: Redaction | None
    told: Told


def nobody_is_told(call: Call, failure: Exception | None) -> None:
    """What failed is raised when the fake closes."""


def open_recording(
    url: str, mount: Mount, settings: Settings, path: str | Path, **options: Unpack[Options]
) -> RecordingFake:
    """A fake at a URL that records. Raises DoorError without credentials or a region, and what `open_session` does."""
    try:
        opened = open_session(
            Path(path),
            mode_of(options.get("mode", Mode.ALL)),
            match=options.get("match", "shape"),
            pace=options.get("pace", 0.0),
            again=f"ConverseServer.record({str(path)!r})",
            redaction=options.get("redaction"),
        )
    except MissingRecording as error:
        raise ReplyError(f'{error} Make it: ConverseServer.record({str(path)!r}, mode="once").') from error
    with registry.passing_on():
        found = None if opened.tape is None else find(options.get("upstream"), options.get("region"))
    return RecordingFake(url, mount, opened, found, options.get("told", nobody_is_told), settings)
