"""The recording of a test with the marker `converse_recording`, from its setup to its end."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from converse_harness.errors import ConverseHarnessError, ReplyError, UnexpectedCall, one_of
from converse_harness.plugin.settings import MARKER, chosen, own_fakes, record_setting, refuse_inside_given, settings_of
from converse_harness.plugin.tally import Tally, arguments_of, number, path_of, shown
from converse_harness.recordings.choices import FAILED, MODES, failed_path, identity
from converse_harness.recordings.modes import MissingRecording, Unrecorded, open_session, save_or_set_aside
from converse_harness.recordings.redaction import Redaction

if TYPE_CHECKING:
    from converse_harness.endpoint.script import Queue, Slot
    from converse_harness.intercept.fake import Fake
    from converse_harness.recordings.play import Recording
    from converse_harness.recordings.write import SessionWriter

_MISSING: Final = """
{test} has no recording. Record it, with the credentials and the region of a real account:

    pytest --converse-record=once {quoted}
{aside}"""

_ASIDE: Final = """
{failed} is what it recorded when it did not pass; rename it if it is good after all."""

_SECOND: Final = """
{test} has the same recording as {first}. Any number of tests may play one,
each from its beginning, but only one records it. Record it with that test:

    pytest --converse-record={mode} {quoted}

or give this one a file of its own: @pytest.mark.converse_recording("another/name")."""

_NOT_RECORDED: Final = "\nNothing is recorded for this test: {first} is the one that records {path}."

_NO_ACCOUNT: Final = """
This test is being recorded ({setting}): its calls go to the real service as any client's do, with
credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK) and a region
(AWS_REGION and AWS_DEFAULT_REGION). What is recorded already is played without {setting}, and needs neither."""

_NO_ACCOUNT_ERRORS: Final = frozenset(
    {
        "ConfigNotFound",
        "CredentialRetrievalError",
        "NoAuthTokenError",
        "NoCredentialsError",
        "NoRegionError",
        "PartialCredentialsError",
        "ProfileNotFound",
        "SSOTokenLoadError",
        "TokenRetrievalError",
        "UnauthorizedSSOTokenError",
    }
)
"""What botocore raises where it finds no account to call Bedrock with."""


@dataclass(slots=True, eq=False)
class RecordingRun:
    """The recording of a running test: the exchanges to play, the new exchanges, and whether the test has passed so
    far.

    `refused` is the reason why it can neither play nor record, `note` a text to add to an error.
    """

    nodeid: str
    path: Path
    recording: Recording | None = None
    writer: SessionWriter | None = None
    refused: tuple[str, str] | None = None
    note: str = ""
    passed: bool = True
    fakes: list[Fake] = field(default_factory=list["Fake"])
    _queue: Queue | None = None

    def queue(self, name: str) -> Queue:
        """The single queue that all fakes of the test play."""
        if self._queue is None and self.recording is not None:
            self._queue = self.recording.queue(name)
        elif self._queue is None:
            self._queue = Unrecorded(name, self.refused or ("", ""))
        return self._queue

    def give(self, fake: Fake) -> None:
        """Connect a fake: it plays and records for this test."""
        if self.fakes:
            fake.take_turns_with(self.fakes[0])
        self.fakes.append(fake)
        if self.recording is not None or self.refused is not None:
            fake.endpoint.script.add([self])
        fake.writer = self.writer

    @property
    def slots(self) -> Sequence[Slot]:
        """The recorded exchanges as slots of a script."""
        return () if self._queue is None else self._queue.slots

    def unplayed(self) -> list[int]:
        """The line numbers of the recorded exchanges that were not played."""
        exchanges = () if self.recording is None else self.recording.exchanges
        return [exchange.at for exchange, slot in zip(exchanges, self.slots, strict=False) if slot.left]


_SESSION: Final = pytest.StashKey[RecordingRun]()
"""The recording of a test while it runs, on the test item."""


class Recordings:
    """The recordings of a run of pytest. Raises UsageError for invalid replacements.

    A recording begins before the test's own first fixture and ends after its last: calls of wider fixtures are not the
    test's own. Problems with the recording itself are raised before any fixture, but after skip marks.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        try:
            self._redaction = Redaction.of_lines(config.getini("converse_redact"))
        except ReplyError as error:
            raise pytest.UsageError(f"converse_redact: {error}") from error
        self._running: list[RecordingRun] = []
        """Those of tests that have not ended: an interrupted test has no end of its own."""
        self.tally = Tally(config)
        config.pluginmanager.register(self.tally, "converse_tally")

    def begin(self, item: pytest.Item) -> None:
        """Open the recording of a test with the marker."""
        refuse_inside_given(item, MARKER)
        try:
            session, problem = self._opened(item), ""
        except ConverseHarnessError as error:
            session, problem = None, str(error)
        if session is None:
            pytest.fail(problem, pytrace=False)
        item.stash[_SESSION] = session
        self._running.append(session)

    def _opened(self, item: pytest.Item) -> RecordingRun:
        config, how = self._config, arguments_of(item)
        path, mode = path_of(item, how.pop("name", None)), one_of("mode", chosen(config, "record"), MODES)
        first, was_there = self.tally.owner(path, item)
        second = first != item.nodeid and mode != "none"
        quoted, here = _quoted(config, first), _from_here(config, path)
        if second and (mode == "all" or not was_there):
            told = _SECOND.format(test=item.nodeid, first=first, mode=mode, quoted=quoted)
            return RecordingRun(item.nodeid, path, refused=(f"is not recorded: {first} is what records {here}.", told))
        try:
            again = f"pytest --converse-record=all {quoted}"
            opened = open_session(path, "once" if second else mode, again=again, redaction=self._redaction, **how)
        except MissingRecording:
            return RecordingRun(
                item.nodeid, path, refused=(f"has no reply: {here} is not there.", _missing(item, path))
            )
        note = _NOT_RECORDED.format(first=first, path=here) if second and mode == "new_episodes" else ""
        if opened.writer is not None:
            note = _NO_ACCOUNT.format(setting=record_setting(config))
        played = None if opened.recording is None else replace(opened.recording, path=here)
        return RecordingRun(item.nodeid, path, played, opened.writer, note=note)

    def answer(self, item: pytest.Item) -> None:
        """Open a fake for the test: the marker needs no fixture, and calls of other fixtures are answered too."""
        session = item.stash.get(_SESSION, None)
        if session is None or session.fakes:
            return
        from converse_harness.intercept.httpx_transports import capturing
        from converse_harness.intercept.in_process import BotoFake

        fake, transports = BotoFake(**settings_of(item)), ExitStack()
        own_fakes(item).append(fake)
        session.give(fake)
        item.addfinalizer(fake.check_problems)  # of what other fixtures did after the test
        item.addfinalizer(transports.close)
        transports.callback(fake.close)
        fake.open()
        transports.enter_context(capturing(fake))

    def give(self, item: pytest.Item, fake: Fake) -> None:
        """Connect a fake from a fixture to the test's recording."""
        session = item.stash.get(_SESSION, None)
        if session is not None:
            session.give(fake)

    def advise(self, item: pytest.Item, error: BaseException) -> None:
        """Add to an error the advice that it cannot give itself."""
        session = item.stash.get(_SESSION, None)
        if session is None or not session.note:
            return
        if session.writer is None:
            helps = isinstance(error, UnexpectedCall)
        else:
            helps = any(type(each).__name__ in _NO_ACCOUNT_ERRORS for each in _chain(error))
        if helps:
            error.add_note(session.note)

    def failed(self, item: pytest.Item) -> None:
        """Remember that a phase of the test did not pass."""
        session = item.stash.get(_SESSION, None)
        if session is not None:
            session.passed = False

    def end(self, item: pytest.Item, *, failed: bool = False) -> None:
        """Write the recording of a test whose last fixture has ended; if that goes wrong, an error is not hidden."""
        session = item.stash.get(_SESSION, None)
        if session is not None:
            del item.stash[_SESSION]
            problem = self._keep(session, passed=session.passed and not failed)
            if problem and not failed:
                pytest.fail(problem, pytrace=False)
            self.tally.told += filter(None, [problem])

    def finish(self) -> None:
        """Set aside the recordings of tests that were interrupted, whose fakes are closed by now."""
        while self._running:
            self.tally.told += filter(None, [self._keep(self._running[-1], passed=False)])
        self.tally.tell()

    def _keep(self, session: RecordingRun, *, passed: bool) -> str:
        """Save a session's recording and tell of it in the summary; returns the error if saving failed."""
        told, problem = self.tally.told, ""
        self._running.remove(session)
        if session.writer is not None:
            failed = one_of("failed", chosen(self._config, "record_failed"), FAILED)
            kept = save_or_set_aside(session.writer, passed=passed, failed=failed)
            many = number(kept.exchanges, "exchange")
            if kept.exchanges and kept.path is None and not kept.problem:
                self.tally.written.append(f"dropped {many} of {session.nodeid}, which did not pass")
            elif kept.exchanges and kept.path is not None and (kept.path == session.path or not kept.problem):
                self.tally.used.add(identity(kept.path))
                but = "" if passed else f": {session.nodeid} did not pass"
                self.tally.written.append(f"wrote {shown(self._config, kept.path)} ({many}){but}")
            root = f"{self._config.rootpath}{os.sep}"
            problem = kept.problem.replace(root, "")
            told += [kept.masked.replace(root, "")] if kept.masked else []
        left = session.unplayed()
        if left and passed:
            places = ", ".join(f"{shown(self._config, session.path)}:{line}" for line in left)
            many = number(len(session.slots), "recorded exchange")
            told.append(f"{session.nodeid} left {len(left)} of {many} unplayed: {places}")
        return problem


def _missing(item: pytest.Item, path: Path) -> str:
    aside = failed_path(path)
    return _MISSING.format(
        test=item.nodeid,
        quoted=_quoted(item.config, item.nodeid),
        aside=_ASIDE.format(failed=_from_here(item.config, aside)) if aside.exists() else "",
    )


def _from_here(config: pytest.Config, path: Path) -> Path:
    """A path as messages show it: relative to the folder in which this run started."""
    try:
        return Path(os.path.relpath(path, config.invocation_params.dir))
    except ValueError:  # another drive of Windows
        return path


def _quoted(config: pytest.Config, nodeid: str) -> str:
    """A node id quoted for a shell in the folder in which this run started."""
    file, *names = nodeid.split("::", 1)
    text = "::".join([_from_here(config, config.rootpath / file).as_posix(), *names])
    if not set(text) & set('"$`\\!'):
        return f'"{text}"'
    from shlex import quote

    return quote(text)


def _chain(error: BaseException | None) -> Generator[BaseException, None, None]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
