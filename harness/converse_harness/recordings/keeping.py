"""What becomes of what a test recorded: written, put aside, dropped; and where it is when it could not be written."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from converse_harness.errors import ConverseHarnessError, DamagedData
from converse_harness.recordings.choices import FAILED
from converse_harness.recordings.names import failed_path

if TYPE_CHECKING:
    from converse_harness.recordings.tape import Tape


class Failed(Enum):
    """What becomes of what a test recorded that did not pass; `FAILED_MEANINGS` says it in words."""

    ASIDE = "aside"
    WRITE = "write"
    DROP = "drop"


FAILED_MEANINGS: Final[Mapping[Failed, str]] = {failed: FAILED[failed.value] for failed in Failed}


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of the exchanges on a tape.

    `path` is the file that has them now, None where none has; `problem` says what went wrong, and where they are.
    """

    exchanges: int
    path: Path | None = None
    problem: str = ""


def keep(tape: Tape, *, passed: bool, failed: Failed = Failed.ASIDE) -> Kept:
    """Write what is on a tape, as its test ended. A tape without an answer writes nothing; what was there stays."""
    exchanges = _answered(tape)
    if not exchanges or (failed is Failed.DROP and not passed):
        return Kept(exchanges)
    aside = not passed and failed is Failed.ASIDE
    path = failed_path(tape.path) if aside else tape.path
    try:
        tape.save(path)
    except (OSError, DamagedData) as error:
        return _elsewhere(tape, path, error)
    except ConverseHarnessError as error:
        return Kept(exchanges, problem=f"{error}\n{_lost(exchanges)}")
    return Kept(exchanges, path)


def _elsewhere(tape: Tape, path: Path, error: Exception) -> Kept:
    """A folder of its own among the temporary files takes what its place would not."""
    exchanges = _answered(tape)
    refused = f"{path} could not be written ({_reason(error)}); what was there is as it was."
    try:
        other = Path(tempfile.mkdtemp(prefix="converse-recording-"), path.name)
        try:
            tape.save(other)
        except BaseException:
            with suppress(OSError):
                other.parent.rmdir()
            raise
    except (OSError, ConverseHarnessError) as second:
        nowhere = f"Nor could a temporary file ({_reason(second)})."
        return Kept(exchanges, problem=f"{refused} {nowhere} {_lost(exchanges)}")
    return Kept(exchanges, other, f"{refused} {_number(exchanges)} kept in {other}: move it there, or record again.")


def _answered(tape: Tape) -> int:
    return sum(heard.answered for heard in tape.heard)


def _lost(exchanges: int) -> str:
    return f"{_number(exchanges)} lost: record again once that is mended."


def _number(exchanges: int) -> str:
    return "The recorded exchange is" if exchanges == 1 else f"The {exchanges} recorded exchanges are"


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
