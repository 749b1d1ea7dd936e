"""A recording as a script: its exchanges answer the calls that match them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from converse_harness.calls import Call
from converse_harness.errors import ReplyError
from converse_harness.recordings.answers import reply_of
from converse_harness.recordings.exchange import Exchange, Session
from converse_harness.recordings.matching import MATCHES, RULES, Match
from converse_harness.recordings.reading import read
from converse_harness.script import Queue, Slot

Pace = float | str

RECORDED: Final = "recorded"


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A recorded session, made by `recording`: goes wherever replies go, and can be played any number of times.

    `match` and `pace` as for `recording`; `must` says whether an exchange that is not played fails the test.
    """

    path: Path
    session: Session = field(repr=False)
    match: Match = "shape"
    pace: float = 0.0
    must: bool = True

    def queue(self, name: str) -> Queue:
        """A queue with all of its exchanges, none of them played."""
        return Playing(self, name)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What was recorded, in its order."""
        return self.session.exchanges


class Playing(Queue):
    """The exchanges of one recording on their way through one script."""

    def __init__(self, recording: Recording, name: str) -> None:
        super().__init__(name)
        self.recording = recording
        self.exchanges: dict[int, Exchange] = {}
        for number, exchange in enumerate(recording.exchanges):
            slot = Slot(reply_of(exchange, recording.pace), f"{name}.{number}", 1, must=recording.must)
            self.exchanges[id(slot)] = exchange
            self.slots.append(slot)

    def next(self, call: Call) -> Slot | None:
        """The first exchange that was not played and matches; of those of the same shape one that is the same."""
        fits = RULES[self.recording.match]
        left = [slot for slot in self.slots if slot.left]
        if self.recording.match == "order":
            left = left[:1]
        found = [slot for slot in left if fits(self.exchanges[id(slot)], call)]
        same = (slot for slot in found if RULES["exact"](self.exchanges[id(slot)], call))
        return next(same, found[0]) if found else None


def recording(path: str | Path, *, match: Match = "shape", pace: float | str = 0.0) -> Recording:
    """A recorded session, to be given wherever replies are: `fake.script(recording("recordings/weather.jsonl"))`.

    `match` says which exchange answers a call: "order", "exact" or "shape". `pace` is "recorded", or what the recorded
    pauses are multiplied by; 0 is no pause. Raises DamagedRecording for a file that is none, ReplyError for a file that
    is not there.
    """
    if match not in MATCHES:
        raise ReplyError(f"recording(match={match!r}): one of {', '.join(map(repr, MATCHES))}.")
    where = Path(path)
    try:
        session = read(where)
    except OSError as error:
        raise ReplyError(f"recording({str(path)!r}): {error.strerror or error}.") from error
    return Recording(where, session, match, _pace(pace))


def _pace(pace: Any) -> float:
    if pace == RECORDED:
        return 1.0
    if type(pace) not in (int, float) or not 0 <= pace < float("inf"):
        raise ReplyError(f'recording(pace={pace!r}): "recorded", or a number that the pauses are multiplied by.')
    return float(pace)
