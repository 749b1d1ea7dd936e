"""Open and save the session of a test. Its record mode decides whether the session is played, recorded, or both."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Missed, Queue
from converse_harness.errors import ConverseHarnessError, DamagedData, ReplyError, SecretFound
from converse_harness.recordings.format import media
from converse_harness.recordings.names import USED_FILES, Failed, Mode, failed_path, identity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from converse_harness.recordings.play.matching import Match, MatchFunction
    from converse_harness.recordings.play.play import Recording
    from converse_harness.recordings.record.write import SessionWriter
    from converse_harness.recordings.redaction import Redaction


class MissingRecording(ReplyError):
    """Raised if the recording that should be played does not exist; `path` is the expected file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is no recording {path}.")
        self.path = path


class OpenedRecording(NamedTuple):
    """An opened session: the recording that a fake plays, the writer that records the other calls, or both."""

    recording: Recording | None
    writer: SessionWriter | None


def open_session(
    path: Path,
    mode: Mode,
    *,
    match: Match | MatchFunction = "shape",
    pace: float | str = 0.0,
    ignore: Collection[str] = (),
    required: bool = False,
    again: str = "",
    redaction: Redaction | None = None,
    keep_files: bool = False,
) -> OpenedRecording:
    """Open the session with the file `path`: return a recording to play, a writer that records other calls, or both.

    If `required` is true, the test fails if an exchange is not played. `again` is the command that records the session
    again, for error messages. `redaction` has the user's replacements, which are made in what is recorded. If
    `keep_files` is true, the files in requests are kept beside the recording. No file is written before
    `SessionWriter.save` is called. Raises MissingRecording if the mode only plays and the file is
    missing, DamagedRecording for a file that is not a recording, and ReplyError for an invalid `match`, `pace`,
    `ignore` or `keep_files`.
    """
    from converse_harness.recordings.play.ignored_parts import IgnoredParts
    from converse_harness.recordings.play.play import check_how, recording
    from converse_harness.recordings.record.write import SessionWriter
    from converse_harness.recordings.redaction import Redaction

    redaction = redaction or Redaction()
    check_how(match, pace)
    if type(keep_files) is not bool:
        raise ReplyError(f"recording(keep_files={keep_files!r}): True or False.")
    IgnoredParts.of(ignore)
    USED_FILES.add(identity(path))
    is_there = path.exists() or path.is_symlink()  # a link of git-annex without its file: reading it says what to do
    if mode == "none" and not is_there:
        raise MissingRecording(path)
    if mode == "all" or not is_there:
        return OpenedRecording(None, SessionWriter(path, redaction=redaction, keep_files=keep_files))
    found = recording(path, match=match, pace=pace, ignore=ignore, redaction=redaction)
    found = replace(found, required=required, again=again)
    if mode == "new_episodes":
        found.check()  # the old exchanges are written again, so all of them must be valid
        writer = SessionWriter(path, found.exchanges, keeps=True, redaction=redaction, keep_files=keep_files)
        return OpenedRecording(found, writer)
    return OpenedRecording(found, None)


_OVERTAKEN: Final = "another recorder of this process wrote it while this one recorded"


def begin_journal(writer: SessionWriter) -> tuple[str, ...]:
    """Make the journal of a recorder that opens, and return what the user must be told; often nothing.

    `save_or_set_aside` removes it. Raises ReplyError if another process records the same file.
    """
    from converse_harness.recordings.record.journal import Journal

    writer.journal = Journal(writer)
    return writer.journal.said


class Unrecorded(Queue):
    """The queue of replies in place of a missing recording.

    It fails only when a call arrives, so a test without calls needs no recording. `why` has the two parts of the error
    about a call: its first line and the rest. `more(call)` returns a text that is added to the end.
    """

    def __init__(self, name: str, why: tuple[str, str], more: Callable[[Call], str]) -> None:
        super().__init__(name)
        self._why, self._more = why, more

    def next(self, call: Call) -> None:
        """Return None (no reply), because a missing recording answers no call."""

    def explain(self, call: Call) -> Missed:
        """Return the error about a call. It names the missing recording and the command that records it."""
        first, rest = self._why
        return Missed(f"call {call.number} {first}", f"{rest}{self._more(call)}")

    def answers(self, call: Call) -> bool:
        """Return True for any call, because the missing recording might have answered it."""
        del call
        return True


@dataclass(frozen=True, slots=True)
class SavedRecording:
    """The result of saving a session. `exchanges` counts its exchanges, without those left out because of a secret.

    `path` is the file that contains them; None if no file does. `problem` describes an error, and says where the
    exchanges are or that they are lost. `masked` lists the places in the file where `***` replaces a secret.
    `unsearched` says that files in requests are kept, which could not be searched completely.
    """

    exchanges: int
    path: Path | None = None
    problem: str = ""
    masked: str = ""
    unsearched: str = ""


def save_or_set_aside(writer: SessionWriter, *, passed: bool, failed: Failed = "aside") -> SavedRecording:
    """Save the session of a test: to its usual file if the test passed, otherwise as `failed` says.

    `names.FAILED` describes the values of `failed`. A session without answers is not saved, and the old file stays
    unchanged. If the test passed, the file that an earlier failed run saved beside the recording is removed. The
    journal is removed, unless the session could be saved nowhere.
    """
    try:
        kept = _save_or_set_aside(writer, passed=passed, failed=failed)
    except BaseException:
        if writer.journal is not None:
            writer.journal.close(keep=True)
        raise
    if writer.journal is not None:
        if kept.path in (writer.path, failed_path(writer.path)):
            writer.journal.wrote = kept.path.name
        writer.journal.close()
    return kept


def _save_or_set_aside(writer: SessionWriter, *, passed: bool, failed: Failed) -> SavedRecording:
    from converse_harness.recordings.record.write import said_of_kept_files, said_of_masked

    exchanges = len(writer.answered)
    if not exchanges or (failed == "drop" and not passed):
        return SavedRecording(exchanges)
    aside = not passed and failed == "aside"
    path = failed_path(writer.path) if aside else writer.path
    if writer.journal is not None and not writer.keeps and writer.journal.is_overtaken(path):
        return _elsewhere(writer, path, ReplyError(_OVERTAKEN))
    try:
        writer.save(path)
    except (OSError, DamagedData) as error:
        return _elsewhere(writer, path, error)
    except SecretFound as error:
        written = exchanges - len(writer.written.left_out)
        problem = f"{error}\n{_lost(exchanges - written)}"
        return SavedRecording(written, path if written else None, problem, said_of_masked(writer.written.masked, path))
    except ConverseHarnessError as error:
        return SavedRecording(exchanges, problem=f"{error}\n{_lost(exchanges)}")
    old = failed_path(writer.path)
    if passed and old.is_file():
        # The new recording is saved, so it does no harm if the file of an earlier failure remains.
        with suppress(OSError):
            remove_recording(old, old.parent)
    masked, unsearched = said_of_masked(writer.written.masked, path), said_of_kept_files(writer, path)
    return SavedRecording(exchanges, path, masked=masked, unsearched=unsearched)


def _elsewhere(writer: SessionWriter, path: Path, error: Exception) -> SavedRecording:
    """Write the session to a new temporary folder, because `error` was raised when it was written to `path`."""
    exchanges = len(writer.answered)
    refused = f"{path} could not be written ({_reason(error)}); what was there is as it was."
    try:
        other = Path(tempfile.mkdtemp(prefix="converse-recording-"), path.name)
        try:
            writer.save(other)
        finally:
            with suppress(OSError):  # raised if the session was written, because the folder is then not empty
                other.parent.rmdir()
    except (OSError, ConverseHarnessError) as second:
        nowhere = f"Nor could a temporary file ({_reason(second)})."
        journal = None if writer.journal is None else writer.journal.close(keep=True)
        left = _lost(exchanges) if journal is None else f"The calls that had ended are in {journal}: rename it."
        return SavedRecording(exchanges, problem=f"{refused} {nowhere} {left}")
    return SavedRecording(
        exchanges, other, f"{refused} {_number(exchanges)} kept in {other}: move it there, or record again."
    )


def _lost(exchanges: int) -> str:
    return f"{_number(exchanges)} lost: record again once that is mended."


def _number(exchanges: int) -> str:
    return "The recorded exchange is" if exchanges == 1 else f"The {exchanges} recorded exchanges are"


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def remove_recording(path: Path, within: Path) -> None:
    """Remove a recording and its media, then the folders inside `within` that this leaves empty. Raises OSError."""
    folder = path.parent / media.folder_of(path)
    path.unlink()
    if folder.is_dir():
        for each in sorted(folder.iterdir()):
            each.unlink()
        folder.rmdir()
    with suppress(OSError):  # `rmdir` fails for a folder that is not empty
        for parent in path.parents:
            if parent == within or not parent.is_relative_to(within):
                break
            parent.rmdir()
