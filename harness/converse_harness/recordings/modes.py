"""Open the session of a test in a record mode, which decides whether it is played, recorded, or both; and save it."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Missed, Queue
from converse_harness.errors import ConverseHarnessError, DamagedData, ReplyError, SecretFound
from converse_harness.recordings.choices import USED_FILES, Failed, Mode, failed_path, identity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from converse_harness.recordings.matching import Match, MatchFunction
    from converse_harness.recordings.play import Recording
    from converse_harness.recordings.redaction import Redaction
    from converse_harness.recordings.write import SessionWriter


class MissingRecording(ReplyError):
    """The recording to be played does not exist; `path` is the expected file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is no recording {path}.")
        self.path = path


class OpenedRecording(NamedTuple):
    """The recording that a fake plays, the writer for calls that no recording answers, or both."""

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
) -> OpenedRecording:
    """Open the session at `path`: return a recording to play, a writer that records other calls, or both.

    If `required` is true, an exchange that is not played fails the test. `again` is the command that records the
    session again. `redaction` makes the replacements in recorded calls. Nothing is written before `SessionWriter.save`.
    Raises MissingRecording if the mode only plays and the file is missing, DamagedRecording for a file that is not a
    recording, and ReplyError for an invalid `match`, `pace` or `ignore`.
    """
    from converse_harness.recordings.ignoring import IgnoredParts
    from converse_harness.recordings.play import check_how, recording
    from converse_harness.recordings.redaction import Redaction
    from converse_harness.recordings.write import SessionWriter

    redaction = redaction or Redaction()
    check_how(match, pace)
    IgnoredParts.of(ignore)
    USED_FILES.add(identity(path))
    is_there = path.exists()
    if mode == "none" and not is_there:
        raise MissingRecording(path)
    if mode == "all" or not is_there:
        return OpenedRecording(None, SessionWriter(path, redaction=redaction))
    found = recording(path, match=match, pace=pace, ignore=ignore, redaction=redaction)
    found = replace(found, required=required, again=again)
    if mode == "new_episodes":
        found.check()  # the whole file is written again, so every exchange must be valid
        return OpenedRecording(found, SessionWriter(path, found.exchanges, keeps=True, redaction=redaction))
    return OpenedRecording(found, None)


class Unrecorded(Queue):
    """The queue of a missing recording. It answers no call, so a test that makes no call needs no recording.

    `why` has the beginning and the rest of the error about a call; `more` returns a text to add to this error.
    """

    def __init__(self, name: str, why: tuple[str, str], more: Callable[[Call], str]) -> None:
        super().__init__(name)
        self._why, self._more = why, more

    def next(self, call: Call) -> None:
        """Return None, because a missing recording answers no call."""

    def explain(self, call: Call) -> Missed:
        """Return the error about a call; it names the missing recording and the command that records it."""
        first, rest = self._why
        return Missed(f"call {call.number} {first}", f"{rest}{self._more(call)}")

    def answers(self, call: Call) -> bool:
        """Return True, because the recording could answer any call if it existed."""
        del call
        return True


@dataclass(frozen=True, slots=True)
class SavedRecording:
    """The result of saving the exchanges of a session.

    `path` is the file that contains the exchanges, or None if they are in no file. `problem` describes an error and
    where the exchanges are now. `masked` lists the places in the file where `***` replaces a secret.
    """

    exchanges: int
    path: Path | None = None
    problem: str = ""
    masked: str = ""


def save_or_set_aside(writer: SessionWriter, *, passed: bool, failed: Failed = "aside") -> SavedRecording:
    """Save the session of a test: to its file if the test passed, otherwise as `failed` names it (see `FAILED`).

    A session without answers is not saved; the old file stays unchanged. If the test passed, the recording of an
    earlier failure is removed.
    """
    from converse_harness.recordings.safe import said_of_masked

    exchanges = len(writer.answered)
    if not exchanges or (failed == "drop" and not passed):
        return SavedRecording(exchanges)
    aside = not passed and failed == "aside"
    path = failed_path(writer.path) if aside else writer.path
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
        from converse_harness.recordings.pruning import remove_recording

        with suppress(OSError):  # the new recording is saved, so an old file that remains does no harm
            remove_recording(old, old.parent)
    return SavedRecording(exchanges, path, masked=said_of_masked(writer.written.masked, path))


def _elsewhere(writer: SessionWriter, path: Path, error: Exception) -> SavedRecording:
    """Write the session to a new temporary folder, because `path` could not be written."""
    exchanges = len(writer.answered)
    refused = f"{path} could not be written ({_reason(error)}); what was there is as it was."
    try:
        other = Path(tempfile.mkdtemp(prefix="converse-recording-"), path.name)
        try:
            writer.save(other)
        finally:
            with suppress(OSError):  # the folder is not empty, because it contains the session
                other.parent.rmdir()
    except (OSError, ConverseHarnessError) as second:
        nowhere = f"Nor could a temporary file ({_reason(second)})."
        return SavedRecording(exchanges, problem=f"{refused} {nowhere} {_lost(exchanges)}")
    return SavedRecording(
        exchanges, other, f"{refused} {_number(exchanges)} kept in {other}: move it there, or record again."
    )


def _lost(exchanges: int) -> str:
    return f"{_number(exchanges)} lost: record again once that is mended."


def _number(exchanges: int) -> str:
    return "The recorded exchange is" if exchanges == 1 else f"The {exchanges} recorded exchanges are"


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
