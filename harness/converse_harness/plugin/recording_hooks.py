"""pytest: the recording of a test with the marker `converse_recording`, from its setup to its end.

`recording` loads this module when it may be needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from converse_harness.errors import ConverseHarnessError, ReplyError, UnexpectedCall, one_of
from converse_harness.plugin.recording_reports import TALLY, Reports, tell
from converse_harness.plugin.settings import (
    MARKER,
    mode_of_run,
    own_fakes,
    path_of,
    refuse_inside_given,
    setting_of_run,
    settings_of,
    settings_of_recording,
    shown,
)
from converse_harness.recordings.choices import FAILED, MODES, failed_path
from converse_harness.recordings.modes import MissingRecording, open_session, save_or_set_aside

if TYPE_CHECKING:
    from converse_harness.endpoint.script import Queue, Slot
    from converse_harness.intercept.fake import Fake
    from converse_harness.recordings.play import Recording
    from converse_harness.recordings.redaction import Redaction
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
    _fakes: list[Fake] = field(default_factory=list["Fake"])
    _queue: Queue | None = None

    def queue(self, name: str) -> Queue:
        """The single queue that all fakes of the test play."""
        if self._queue is None and self.recording is not None:
            self._queue = self.recording.queue(name)
        elif self._queue is None:
            from converse_harness.recordings.modes import Unrecorded

            self._queue = Unrecorded(name, self.refused or ("", ""))
        return self._queue

    def give(self, fake: Fake) -> None:
        """Connect a fake: it plays and records for this test."""
        if self._fakes:
            fake.take_turns_with(self._fakes[0])
        self._fakes.append(fake)
        if self.recording is not None or self.refused is not None:
            fake.endpoint.script.add([self])
        fake.writer = self.writer

    @property
    def answers(self) -> bool:
        """Whether any fake plays and records for the test already."""
        return bool(self._fakes)

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

_REDACTION: Final = pytest.StashKey["Redaction"]()
"""What the ini file says is replaced in recordings, on the config."""

_RUNNING: Final = pytest.StashKey[list[RecordingRun]]()
"""The same, on the config: an interrupted test has no end of its own."""


def begin_run(config: pytest.Config) -> None:
    """Start the hooks for a run. Raises UsageError for invalid replacements."""
    replaced: list[str] = config.getini("converse_redact")
    if replaced:
        config.stash[_REDACTION] = _redaction(replaced)
    config.stash[_RUNNING] = []
    config.pluginmanager.register(sys.modules[__name__], "converse_recording_hooks")
    config.pluginmanager.register(Reports(config), "converse_recording_reports")


def _redaction(lines: list[str]) -> Redaction:
    from converse_harness.recordings.redaction import Redaction

    try:
        return Redaction.of_lines(lines)
    except ReplyError as error:
        raise pytest.UsageError(f"converse_redact: {error}") from error


# The recording begins before the test's own first fixture and ends after its last: calls of wider fixtures are not the
# test's own. Problems with the recording itself are raised before any fixture, but after skip marks.


def begin(item: pytest.Item) -> None:
    """Open the recording of a test with the marker."""
    refuse_inside_given(item, MARKER)
    try:
        session, problem = _session(item, **settings_of_recording(item) or {}), ""
    except ConverseHarnessError as error:
        session, problem = None, str(error)
    if session is None:
        pytest.fail(problem, pytrace=False)
    item.stash[_SESSION] = session
    item.config.stash[_RUNNING].append(session)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(request: Any) -> None:
    """Start to answer before the first function-scoped fixture."""
    if request.scope == "function":
        _answer(request.node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Start to answer in a test without function-scoped fixtures."""
    __tracebackhide__ = True
    _answer(item)
    return (yield)


def _answer(item: pytest.Item) -> None:
    """Open a fake for the test: the marker needs no fixture, and calls of other fixtures are answered too."""
    session = item.stash.get(_SESSION, None)
    if session is None or session.answers:
        return
    from converse_harness.intercept.httpx_transports import capturing
    from converse_harness.intercept.in_process import BotoFake

    fake, transports = BotoFake(**settings_of(item)), ExitStack()
    own_fakes(item).append(fake)
    session.give(fake)

    def close() -> None:
        transports.close()
        fake.check_problems()  # of what other fixtures did after the test

    item.addfinalizer(close)
    transports.callback(fake.close)
    fake.open()
    transports.enter_context(capturing(fake))


def give(item: pytest.Item, fake: Fake) -> None:
    """Connect a fake from a fixture to the test's recording."""
    session = item.stash.get(_SESSION, None)
    if session is not None:
        session.give(fake)


def _session(item: pytest.Item, name: object = None, **how: Any) -> RecordingRun:
    config, path = item.config, path_of(item, name)
    mode, redaction = one_of("mode", mode_of_run(config), MODES), config.stash.get(_REDACTION, None)
    first, was_there = config.stash[TALLY].owner(path, item)
    second = first != item.nodeid and mode != "none"
    quoted, here = _quoted(config, first), _from_here(config, path)
    if second and (mode == "all" or not was_there):
        told = _SECOND.format(test=item.nodeid, first=first, mode=mode, quoted=quoted)
        return RecordingRun(item.nodeid, path, refused=(f"is not recorded: {first} is what records {here}.", told))
    try:
        again = f"pytest --converse-record={'all'} {quoted}"
        opened = open_session(path, "once" if second else mode, again=again, redaction=redaction, **how)
    except MissingRecording:
        return RecordingRun(item.nodeid, path, refused=(f"has no reply: {here} is not there.", _missing(item, path)))
    note = _NOT_RECORDED.format(first=first, path=here) if second and mode == "new_episodes" else ""
    if opened.writer is not None:
        note = _NO_ACCOUNT.format(setting=setting_of_run(config))
    played = None if opened.recording is None else replace(opened.recording, path=here)
    return RecordingRun(item.nodeid, path, played, opened.writer, note=note)


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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember the outcome of each phase; and give advice if there are no credentials to record with."""
    session = item.stash.get(_SESSION, None)
    if session is not None and call.excinfo is not None:
        _advise(session, call.excinfo.value)
    report = yield
    # An expected failure is a success here: its recording is valid.
    if session is not None and not report.passed and not hasattr(report, "wasxfail"):
        session.passed = False
    return report


def _advise(session: RecordingRun, error: BaseException) -> None:
    """Add advice that the error itself cannot give."""
    no_account = session.writer is not None and any(type(each).__name__ in _NO_ACCOUNT_ERRORS for each in _chain(error))
    if session.note and (no_account or (session.writer is None and isinstance(error, UnexpectedCall))):
        error.add_note(session.note)


def _chain(error: BaseException | None) -> Generator[BaseException, None, None]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Write the recording after the last fixture has ended; if it cannot be written, the test gets an error."""
    session = item.stash.get(_SESSION, None)
    try:
        result = yield
    except Exception:
        if session is not None:
            session.passed = False
            item.config.stash[TALLY].problems += _settle(item, session)
        raise
    problems = () if session is None else _settle(item, session)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
    return result


def _settle(item: pytest.Item, session: RecordingRun) -> list[str]:
    del item.stash[_SESSION]
    return _keep(item.config, session)


def _keep(config: pytest.Config, session: RecordingRun) -> list[str]:
    """Save a session's recording and note the result for the summary; returns the error if saving failed."""
    tally = config.stash[TALLY]
    config.stash[_RUNNING].remove(session)
    left = session.unplayed()
    if left and session.passed:
        tally.unplayed.append((session.nodeid, shown(config, session.path), len(session.slots), left))
    if session.writer is None:
        return []
    kept = save_or_set_aside(
        session.writer,
        passed=session.passed,
        failed=one_of("failed", config.getoption("--converse-record-failed"), FAILED),
    )
    dropped = kept.path is None and not kept.problem
    if kept.exchanges and (dropped or kept.path == session.writer.path or not kept.problem):
        path = "" if kept.path is None else shown(config, kept.path)
        tally.kept.append((path, kept.exchanges, session.nodeid, session.passed))
    problem, masked = (text.replace(f"{config.rootpath}{os.sep}", "") for text in (kept.problem, kept.masked))
    tally.problems += [masked] if masked else []
    return [problem] if problem else []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Set aside recordings of interrupted tests, whose fakes are closed by now; an xdist worker then reports."""
    config = session.config
    interrupted = config.stash[_RUNNING]
    while interrupted:
        interrupted[-1].passed = False
        config.stash[TALLY].problems += _keep(config, interrupted[-1])
    tell(config)
