"""Play or make the recording of a test with the marker `converse_recording`, from the setup to the end of the test."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Queue
from converse_harness.errors import ConverseHarnessError, DamagedData, UnexpectedCall, one_of
from converse_harness.intercept.fake import Fake
from converse_harness.plugin.frames import hide_clients, with_causes
from converse_harness.plugin.recording.owners import arguments_of, relative, shown
from converse_harness.plugin.recording.tally import Tally
from converse_harness.plugin.settings import (
    MARKER,
    chosen,
    own_fakes,
    record_setting,
    refuse_inside_given,
    set_environ,
    settings_of,
)
from converse_harness.recordings import names
from converse_harness.recordings.play.play import Recording
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.recordings.session import (
    MissingRecording,
    Unrecorded,
    begin_journal,
    open_session,
    save_or_set_aside,
)
from converse_harness.shell import quoted
from converse_harness.words import counted

_MISSING: Final = """
{test} has no recording. Record it, with the credentials and the region of a real account:

    pytest --converse-record=once {quoted}
{aside}"""

_ASIDE: Final = """
{file}: {why}. Rename it if it is good after all.
A line *{suffix} in .gitignore keeps such files out of commits."""

_SECOND: Final = """
{test} has the same recording as {first}. Any number of tests may play one,
each from its beginning, but only one records it. Record it with that test:

    pytest --converse-record={mode} {quoted}

or give this one a file of its own: @pytest.mark.converse_recording("another/name")."""

_DAMAGED: Final = "\nTo record it again:\n\n    {again}"

_NOT_RECORDED: Final = "\nNothing is recorded for this test: {first} is the one that records {path}."

_NO_ACCOUNT: Final = """
This test is being recorded ({setting}): its calls go to the real service as any client's do, with
credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK) and a region
(AWS_REGION and AWS_DEFAULT_REGION). What is recorded already is played without {setting}, and needs neither.
AWS_ENDPOINT_URL_BEDROCK_RUNTIME sends the calls elsewhere, to a gateway for instance; it needs keys all the same."""

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
"""The names of botocore's exceptions for a missing or invalid account: credentials, profile or region."""


@dataclass(slots=True, eq=False)
class RecordingRun:
    """The recording of a running test: exchanges to play, new exchanges, and whether the test has passed so far.

    The recording contains the calls of the test and of its function-scoped fixtures, but not the calls of fixtures with
    a wider scope. If the test can neither play nor record, `refused` contains a short and a full text with the reason;
    otherwise `refused` is None. `note` is a text that `advise` adds to errors, and `again` is the command that records
    the test again. `may_be_renamed` is true until the first call if the test has no recording file.
    """

    item: pytest.Item
    tally: Tally
    path: Path
    recording: Recording | None = None
    writer: SessionWriter | None = None
    refused: tuple[str, str] | None = None
    note: str = ""
    again: str = ""
    passed: bool = True
    may_be_renamed: bool = False
    _fakes: list[Fake] = field(default_factory=list[Fake])
    _queue: Queue | None = None

    def queue(self, name: str) -> Queue:
        """Return the queue of recorded replies, which all fakes of the test share."""
        if self._queue is None:
            unrecorded = Unrecorded(name, self.refused or ("", ""), self._old_recording)
            self._queue = unrecorded if self.recording is None else self.recording.queue(name)
        return self._queue

    def _old_recording(self, call: Call) -> str:
        """Return advice for a renamed test: the unused recording that matches `call`; "" if no recording matches."""
        if not self.may_be_renamed:
            return ""
        self.may_be_renamed = False  # only the first call is compared
        from converse_harness.plugin.recording.renamed import old_recording

        old = old_recording(self.item.config, self.tally.unused(), self.path, call)
        if old is None:
            return ""
        self.tally.noted.moves[shown(self.item.config, old.path)] = [self.item.nodeid, old.command]
        return old.advice

    def give(self, fake: Fake) -> None:
        """Make a fake play the recorded exchanges of this test, and record new exchanges."""
        if self._fakes:
            fake.core.take_turns_with(self._fakes[0].core)
        self._fakes.append(fake)
        if self.recording is not None or self.refused is not None:
            fake.endpoint.script.add([self])
        fake.core.writer = self.writer

    def answer(self) -> None:
        """Open a fake if the test has none, so that `converse_recording` works without the fixture `converse`.

        The fake also answers the calls of the test's function-scoped fixtures.
        """
        if self._fakes:
            return
        from converse_harness.intercept.in_process import InProcessFake

        fake = InProcessFake(**settings_of(self.item))
        own_fakes(self.item).append(fake)
        self.give(fake)
        set_environ(self.item, fake)
        self.item.addfinalizer(fake.core.check_problems)  # the teardown of other fixtures may cause problems
        self.item.addfinalizer(fake.close)
        fake.open()

    def advise(self, call: pytest.CallInfo[None], error: BaseException) -> None:
        """Add advice to an error of the test, and shorten the traceback of a fixture's error.

        While playing, an UnexpectedCall gets `note`; while recording, an error about credentials or region gets it.
        DamagedData gets the command `again`. The error of a fixture's call that is not recorded shows only the
        user's frames.
        """
        full = self.item.config.getoption("fulltrace", False)
        if call.when == "setup" and not full and self.refused is not None and self.refused[0] in str(error):
            hide_clients(error)
            kind: Any = pytest.ExceptionInfo
            call.excinfo = kind.from_exception(error)
        if self.writer is None:
            helps = isinstance(error, UnexpectedCall)
        else:
            helps = any(type(each).__name__ in _NO_ACCOUNT_ERRORS for each in with_causes(error))
        if helps and self.note:
            error.add_note(self.note)
        if self.again and isinstance(error, DamagedData):
            error.add_note(_DAMAGED.format(again=self.again))

    def forget(self) -> None:
        """Discard the new exchanges: the test ran once more, and its first run is what was recorded."""
        if self.writer is not None and self.writer.journal is not None:
            self.writer.journal.close()

    def end(self, *, failed: bool) -> None:
        """Save the new exchanges, and add lines to pytest's summary.

        If saving fails, the test fails. `failed` is true if the teardown of the test has failed already or the run was
        interrupted; then a problem with saving is only added to the summary.
        """
        config, noted, nodeid = self.item.config, self.tally.noted, self.item.nodeid
        passed = self.passed and not failed
        left = self._unplayed()
        if passed and left:
            places = ", ".join(f"{shown(config, self.path)}:{line}" for line in left)
            many = counted(len(self.queue("").slots), "recorded exchange")
            noted.remarks.append(f"{nodeid} left {len(left)} of {many} unplayed: {places}")
        if passed and self.recording is not None:
            noted.left.setdefault(names.identity(self.path), []).append(left)
        if self.writer is None:
            return
        policy = one_of("failed", chosen(config, "record_failed"), names.FAILED)
        kept = save_or_set_aside(self.writer, passed=passed, failed=policy)
        many = counted(kept.exchanges, "exchange")
        if kept.exchanges and kept.path is None and not kept.problem:
            noted.written.append(f"dropped {many} of {nodeid}, which did not pass")
        elif kept.path is not None and (kept.path == self.path or not kept.problem):
            noted.used.add(names.identity(kept.path))
            but = "" if passed else f": {nodeid} did not pass"
            noted.written.append(f"wrote {shown(config, kept.path)} ({many}){but}")
        said = (kept.problem, kept.masked, kept.unsearched)
        problem, masked, unsearched = (text.replace(f"{config.rootpath}{os.sep}", "") for text in said)
        noted.remarks += filter(None, [masked, unsearched, problem if failed else ""])
        if problem and not failed:
            pytest.fail(problem, pytrace=False)

    def _unplayed(self) -> list[int]:
        """Return the line numbers of the recorded exchanges that were not played."""
        exchanges = () if self.recording is None else self.recording.exchanges
        slots = () if self._queue is None else self._queue.slots
        return [exchange.at for exchange, slot in zip(exchanges, slots, strict=False) if slot.left]


def begin(item: pytest.Item, tally: Tally) -> RecordingRun:
    """Open the recording of a test that has the marker `converse_recording`.

    If an argument of the marker is wrong, or the recording is damaged, fail the test.
    """
    refuse_inside_given(item, MARKER)
    try:
        return _opened(item, tally)
    except ConverseHarnessError as error:
        notes: list[str] = getattr(error, "__notes__", [])
        text = re.sub(r"^recording\((?=\w+=)", f"@pytest.mark.{MARKER}(", str(error))
        raise pytest.fail.Exception("\n".join([text, *notes]), pytrace=False) from None


def _opened(item: pytest.Item, tally: Tally) -> RecordingRun:
    config = item.config
    how = {"keep_files": config.getini("converse_keep_files"), **arguments_of(item)}
    path = tally.owners.path_of(item, how.pop("name", None))
    mode = one_of("mode", chosen(config, "record"), names.MODES)
    first, was_there = tally.owners.owner(path, item)
    second = first != item.nodeid and mode != "none"
    named, here = _quoted(config, first), relative(path, config.invocation_params.dir)
    run = RecordingRun(item, tally, path)
    if second and (mode == "all" or not was_there):
        text = _SECOND.format(test=item.nodeid, first=first, mode=mode, quoted=named)
        run.refused = f"is not recorded: {first} is what records {here}.", text
        return run
    run.again = again = f"pytest --converse-record=all {named}"
    try:
        opened = open_session(path, "once" if second else mode, again=again, redaction=tally.redaction, **how)
    except MissingRecording:
        aside = "".join(
            _ASIDE.format(file=relative(file, config.invocation_params.dir), why=why, suffix=suffix)
            for suffix, why in names.NOT_PLAYED.items()
            if (file := path.with_name(path.name.removesuffix(names.SUFFIX) + suffix)).exists()
        )
        text = _MISSING.format(test=item.nodeid, quoted=_quoted(config, item.nodeid), aside=aside)
        run.refused, run.may_be_renamed = (f"has no reply: {here} is not there.", text), True
        return run
    except DamagedData as error:
        error.add_note(_DAMAGED.format(again=again))
        raise
    if opened.writer is not None:
        said = begin_journal(opened.writer)
        tally.noted.remarks += (text.replace(f"{config.rootpath}{os.sep}", "") for text in said)
        run.note = _NO_ACCOUNT.format(setting=record_setting(config))
    elif second and mode == "new_episodes":
        run.note = _NOT_RECORDED.format(first=first, path=here)
    run.recording = None if opened.recording is None else replace(opened.recording, path=here)
    run.writer = opened.writer
    return run


def _quoted(config: pytest.Config, nodeid: str) -> str:
    """Return a node id, quoted for a shell, with a path relative to the folder in which this run started."""
    file, *rest = nodeid.split("::", 1)
    text = "::".join([relative(config.rootpath / file, config.invocation_params.dir).as_posix(), *rest])
    return quoted(text, always=True)
