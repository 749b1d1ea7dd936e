"""Whether a session is played, recorded, or both: the four modes that users of vcrpy know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from converse_harness.errors import ReplyError
from converse_harness.recordings.choices import MODES
from converse_harness.recordings.opened import OPENED, identity

if TYPE_CHECKING:  # pytest asks this module for its modes when it starts
    from converse_harness.recordings.playing.matching import Match
    from converse_harness.recordings.playing.recording import Recording
    from converse_harness.recordings.secrecy.redaction import Redaction
    from converse_harness.recordings.tape import Tape


class Mode(Enum):
    """Whether a session is played or recorded; `MEANINGS` says it in words."""

    NONE = "none"
    ONCE = "once"
    NEW_EPISODES = "new_episodes"
    ALL = "all"


MEANINGS: Final[Mapping[Mode, str]] = {mode: MODES[mode.value] for mode in Mode}


class MissingRecording(ReplyError):
    """A recording is to be played and there is none: `path` is where it was looked for."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is no recording {path}.")
        self.path = path


class Opened(NamedTuple):
    """What a fake is given: a recording to play, a tape for what that does not answer, or both."""

    recording: Recording | None
    tape: Tape | None


def mode_of(value: Mode | str) -> Mode:
    """A mode by its name. Raises ReplyError that lists them."""
    try:
        return Mode(value)
    except ValueError:
        known = ", ".join(f'"{mode.value}" ({meaning})' for mode, meaning in MEANINGS.items())
        raise ReplyError(f"{value!r} is no mode of recording. One of: {known}.") from None


def open_session(
    path: Path,
    mode: Mode,
    *,
    match: Match = "shape",
    pace: float | str = 0.0,
    must: bool = False,
    again: str = "",
    redaction: Redaction | None = None,
) -> Opened:
    """What is there to be played at `path`, and where the rest is recorded, as the mode says.

    `must` says whether an exchange that is not played fails the test, `again` how it is recorded again, `redaction`
    what is replaced in what is recorded. Nothing is written before `Tape.save`. Raises MissingRecording where only a
    file could answer and none is there, DamagedRecording for one that is none, and ReplyError for a `match` or a `pace`
    that is none.
    """
    from converse_harness.recordings.playing.recording import check_how, recording
    from converse_harness.recordings.secrecy.redaction import Redaction
    from converse_harness.recordings.tape import Tape

    redaction = redaction or Redaction()
    check_how(match, pace)
    OPENED.add(identity(path))
    if mode is Mode.ALL:
        return Opened(None, Tape(path, redaction=redaction))
    if not path.exists():
        if mode is Mode.NONE:
            raise MissingRecording(path)
        return Opened(None, Tape(path, redaction=redaction))
    found = replace(recording(path, match=match, pace=pace, redaction=redaction), must=must, again=again)
    if mode is Mode.NEW_EPISODES:
        return Opened(found, Tape(path, found.exchanges, keeps=True, redaction=redaction))
    return Opened(found, None)
