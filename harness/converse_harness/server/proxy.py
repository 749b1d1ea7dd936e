"""A fake that forwards calls to the real service instead of answering them, and saves the calls in a recording."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, TypedDict

from converse_harness.endpoint.call import Call, CallOutcome
from converse_harness.errors import JournalWarning, ReplyError, SecretFound, TransportError, one_of
from converse_harness.intercept.capture import Capture, end_of
from converse_harness.intercept.exchange import TransportExchange
from converse_harness.intercept.registry import OPEN_FAKES, forwarding
from converse_harness.recordings.names import MODES, Mode
from converse_harness.recordings.play.matching import Match, MatchFunction
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.record.journal import Journal
from converse_harness.recordings.record.write import ForwardedExchange, SessionWriter
from converse_harness.recordings.redaction import Redaction
from converse_harness.recordings.session import MissingRecording, open_session, save_or_set_aside
from converse_harness.secrets.mask import mask
from converse_harness.server.delivery import Arriving
from converse_harness.server.http.upstream import Upstream, UpstreamAnswer
from converse_harness.server.mounts import EndedAnswers, Mount, ServerFake
from converse_harness.settings import Settings
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.http import NO_REQUEST_ID, HttpResponse, Request, error_response

_THREAD: Final = "converse-harness recording"

_BETWEEN_TWO: Final = frozenset(
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
"""Headers of the connection between proxy and service (hop-by-hop); they are not sent to the client."""

_NOT_REACHED: Final = "converse-harness passes calls on to {url}, and no answer came from there: {error}"


class _Relay:
    """The exchange of one forwarded call. It records the service's answer and passes the answer on to the client.

    `on_end` is called with the Call once the recording of the call has ended. `captured` is None, because this object
    forwards the call itself. `taken` is never read, because this object records the body itself.
    """

    captured: None = None

    def __init__(self, forwarded: ForwardedExchange, on_end: Callable[[Call], None]) -> None:
        self._call = forwarded.call
        self._capture = Capture(forwarded, forwarded.captured)
        self._on_end = on_end
        self._lock = threading.RLock()
        self._answer: UpstreamAnswer | None = None
        """The answer of the service while its body is being read, otherwise None."""
        self._whole = False
        """Whether the whole body has arrived from the service, even if the client has not read it yet."""
        self._pieces = Arriving(forwarded.captured.pieces)
        self.response = HttpResponse(0, (), ())
        self.taken = SentChunks()

    def ask(self, upstream: Upstream, request: Request) -> None:
        """Forward the request and wait for the response headers; a chunked body is then read in a thread.

        If the service cannot be reached, the response is an error 503. Raises TransportError if the proxy's credentials
        cannot be renewed; the request is then not sent.
        """
        from botocore.exceptions import BotoCoreError

        try:
            with forwarding():
                answer = upstream.ask(request)
        except BotoCoreError as error:
            self._end(partial(self._capture.broke, error))
            message = mask(_NOT_REACHED.format(url=upstream.url, error=error))
            body = json.dumps({"message": message}, ensure_ascii=False).encode()
            self.response = error_response("ServiceUnavailableException", 503, body, NO_REQUEST_ID)
            return
        self._capture.began(answer.status, answer.headers)
        headers = [(name, value) for name, value in answer.headers if name.lower() not in _BETWEEN_TWO]
        ends = [("Transfer-Encoding", "chunked")] if answer.chunked else []
        self.response = HttpResponse(answer.status, (*headers, *ends, ("Connection", "keep-alive")), self._pieces)
        self._answer = answer
        if answer.chunked:
            reader = threading.Thread(target=self._read, args=(answer,), name=_THREAD, daemon=True)
            OPEN_FAKES.exempt(reader)
            reader.start()
        else:
            self._read(answer)
            if not any(name.lower() == "content-length" for name, _ in headers):
                # The service ended the body by closing its connection. The client's stays open, so send the length.
                length = str(sum(len(data) for data, _ in self._capture.captured.pieces))
                self.response = replace(self.response, headers=(*self.response.headers, ("Content-Length", length)))

    def ended(self, outcome: CallOutcome) -> None:
        """End the recording: the client has received the whole answer or has disconnected, or the proxy stops."""
        self._end(self._capture.complete if outcome == "complete" or self._whole else self._capture.left)
        with self._lock:
            if self._answer is not None:
                self._answer.hang_up()

    def _read(self, answer: UpstreamAnswer) -> None:
        """Read the body of the answer to its end, or until the recording of the call has ended."""
        try:
            for data in answer.pieces():
                with self._lock:
                    if not self._capture.captured.running:
                        return
                    self._capture.took(data)
                self._pieces.came()
            self._whole = True
        except Exception as error:  # noqa: BLE001 - an error of urllib3, ssl or another library
            self.response = replace(self.response, broken=end_of(error))
            self._end(partial(self._capture.broke, error))
        finally:
            with self._lock:
                self._answer = None
                answer.close()
            self._pieces.came(end=True)

    def _end(self, end: Callable[[], None]) -> None:
        """End the recording of the call by calling `end`. Only the first call of this method has an effect."""
        with self._lock:
            was_running = self._capture.captured.running
            end()
        if was_running and not self._capture.captured.running:
            self._on_end(self._call)


OnSaved = Callable[[Call, Exception | None], None]
"""A function that is called with each call that has ended. The function must not block.

The second argument is None if the call is saved (or was replayed), otherwise the exception that prevented saving.
"""

_REST: Final = 4.0
"""Factor for the pause after a write: the pause takes this many times as long as the write."""


class _Saver:
    """Rewrites the recording in a thread after calls have ended, so that a killed process loses only the latest calls.

    Each write contains the whole file, which is slow in a long session. So the thread pauses after each write, and the
    next write saves all calls that have ended meanwhile.
    """

    def __init__(self, writer: SessionWriter, on_saved: OnSaved) -> None:
        self._writer = writer
        self._on_saved = on_saved
        self._unsaved: list[Call] = []
        self._failure: Exception | None = None
        """The error of the last write; None if the write succeeded."""
        self._changed, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=_THREAD, daemon=True)
        OPEN_FAKES.exempt(self._thread)

    def ended(self, call: Call) -> None:
        """Let the next write save a call that has ended."""
        self._unsaved.append(call)
        self._changed.set()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Stop the thread and save the remaining calls.

        Raises ReplyError if the file cannot be written; the message names the file that was written instead.
        """
        self._over.set()
        self._changed.set()
        self._thread.join()
        if self._unsaved or self._failure:
            kept = save_or_set_aside(self._writer, passed=True)
            problem = ReplyError(kept.problem) if kept.problem else None
            self._report(self._unsaved, problem)
            if problem is not None:
                raise problem

    def _run(self) -> None:
        while self._changed.wait():
            self._changed.clear()  # before the check: `__exit__` may set both events at any time
            if self._over.is_set():
                return
            calls = self._unsaved[:]
            started = monotonic()
            self._failure = None
            try:
                self._writer.save()
            except Exception as error:  # noqa: BLE001 - passed to on_saved; __exit__ tries again and raises
                self._failure = error
            del self._unsaved[: len(calls)]
            self._report(calls, self._failure)
            self._over.wait(_REST * (monotonic() - started))

    def _report(self, calls: Sequence[Call], failure: Exception | None) -> None:
        """Call `on_saved` for each of these calls.

        A `failure` that is a SecretFound is passed on only for the calls that the recording leaves out.
        """
        left_out = [*map(id, self._writer.left_out)]
        for call in calls:
            of_others = isinstance(failure, SecretFound) and id(call.of(CapturedExchange)) not in left_out
            self._on_saved(call, None if of_others else failure)


@contextmanager
def _held(writer: SessionWriter) -> Generator[None, None, None]:
    """Let no other process record the same file meanwhile. The journal stays empty, as the file itself has the calls.

    Raises ReplyError if another process records it.
    """
    journal = Journal(writer)
    try:
        # Without a journal nothing is lost here, and the first save says why the folder cannot be written.
        for text in journal.said if journal.path is not None else ():
            warnings.warn(text, JournalWarning, stacklevel=2)
        yield
    finally:
        journal.close()


class Options(TypedDict, total=False):
    """The options of a recording: `on_saved`, and those that `ConverseServer.record` describes."""

    upstream: str | None
    region: str | None
    mode: Mode | str
    match: Match | MatchFunction
    pace: float | str
    ignore: Collection[str]
    redaction: Redaction | None
    keep_files: bool
    on_saved: OnSaved


class RecordingFake(ServerFake):
    """A fake that forwards its calls to the real service and records them.

    The recording is rewritten after each call and when the fake closes. If an answer is still running when the fake
    closes, the bytes received so far are saved. Closing raises ReplyError if the file cannot be written.
    """

    def __init__(self, url: str, mount: Mount, settings: Settings, path: str | Path, options: Options) -> None:
        """Open the recording. Raises TransportError without credentials or region, and the errors of `open_session`.

        A MissingRecording is raised as a ReplyError that also suggests how to make the recording.
        """
        # The default may ignore failures: closing the fake tries again to save the calls, and raises an error.
        on_saved: OnSaved = options.get("on_saved", lambda call, failure: None)
        try:
            played, writer = open_session(
                Path(path),
                one_of("mode", options.get("mode", "all"), MODES),
                match=options.get("match", "shape"),
                pace=options.get("pace", 0.0),
                ignore=options.get("ignore", ()),
                again=f"ConverseServer.record({str(path)!r})",
                redaction=options.get("redaction"),
                keep_files=options.get("keep_files", False),
            )
        except MissingRecording as error:
            raise ReplyError(f'{error} Make it: ConverseServer.record({str(path)!r}, mode="once").') from error
        self._upstream: Upstream | None = None
        self._saver: _Saver | None = None
        if writer is not None:
            with forwarding():
                self._upstream = Upstream(options.get("upstream"), options.get("region"))
            self._saver = _Saver(writer, on_saved)

        @contextmanager
        def saved(fake: ServerFake) -> Generator[None, None, None]:
            fake.core.writer = writer
            fake.endpoint.add(partial(EndedAnswers, lambda call: on_saved(call, None)))
            with nullcontext() if writer is None else _held(writer), self._saver or nullcontext(), mount(fake):
                yield

        super().__init__(url, saved, *() if played is None else (played,), **settings)

    @property
    def upstream(self) -> str:
        """The URL to which calls are forwarded; empty if calls are only replayed."""
        return "" if self._upstream is None else self._upstream.url

    @property
    def environ(self) -> dict[str, str]:
        """Like `ServerFake.environ`, with the region of the service, because some clients choose models by region."""
        region = "" if self._upstream is None else self._upstream.region
        regions = dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_REGION_NAME"), region) if region else {}
        return {**super().environ, **regions}

    def answer(self, request: Request) -> TransportExchange:
        """Answer a request from the recording, or forward the request and wait for the real service."""
        exchange = self.core.exchange(request)
        if self._upstream is None or self._saver is None or not isinstance(exchange, ForwardedExchange):
            return exchange
        relay = _Relay(exchange, self._saver.ended)
        try:
            relay.ask(self._upstream, request)
        except TransportError as error:
            return self.endpoint.fail(exchange.call, error)
        return relay
