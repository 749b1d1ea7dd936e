"""Find requests that were answered from a recording although their texts differ from the recorded request.

While a recording is played, pairs of unequal requests are only stored; `take` compares them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from converse_harness.json_values import canonical, path_text
from converse_harness.recordings.differences import ABSENT, Difference, lines_of, shown
from converse_harness.recordings.play.matching import MatchKey, as_recorded
from converse_harness.recordings.play.request_differences import in_words
from converse_harness.secrets.mask import mask
from converse_harness.words import counted, first_few, plural

_COMPARED: Final = 50
"""The maximum number of unequal requests that are stored for one recording, which limits the cost."""

_SHORT: Final = 30
"""The maximum number of characters of a value in the one-line report on a recording."""

_PLACES: Final = 10
"""The maximum number of places that a failure message lists."""


class UnequalRequests(NamedTuple):
    """A recorded request, and the unequal request of the call that got the recorded answer.

    `call` is the number of the call. `own` contains the secrets of this process at the time of the call, because a test
    may set secrets temporarily. `is_masked` is true if the secrets in both requests are already masked.
    """

    call: int
    recorded: MatchKey
    asked: MatchKey
    own: frozenset[str]
    is_masked: bool

    def differences(self) -> list[Difference]:
        """Return the places where the requests differ, after the secrets in both were masked."""
        found = in_words(self.recorded, self.asked)
        if not found or self.is_masked:  # masking is slow, so the requests are first compared without it
            return found
        return in_words(*(as_recorded(each, own=self.own) for each in (self.recorded, self.asked)))

    def places(self) -> str:
        """Return the first place where the requests differ and the number of other places; "" if they are equal."""
        return first_few([path_text(each.path) for each in self.differences()], 1)


class _Place(NamedTuple):
    """A difference, and the numbers of the calls with this difference."""

    difference: Difference
    calls: list[int]


@dataclass(eq=False)
class StaleRecording:
    """The requests that one recording answered since the last `take`: their number, and the unequal ones in `pairs`.

    `again` is the command that records the session again; it is empty for a recording that the test opened itself.
    """

    path: Path
    again: str
    requests: int = 0
    pairs: list[UnequalRequests] = field(default_factory=list[UnequalRequests])
    has_more: bool = False
    """Whether there were more unequal requests than `pairs` contains."""

    @cached_property
    def _found(self) -> tuple[int, Sequence[_Place]]:
        """The number of requests that differ, and the places where they differ; the place with most calls is first."""
        places: dict[tuple[str, ...], _Place] = {}
        differing = 0
        for pair in self.pairs:
            found = pair.differences()
            differing += bool(found)
            for each in found:
                key = tuple("" if value is ABSENT else canonical(value) for value in (each.path, each.old, each.new))
                places.setdefault(key, _Place(each, [])).calls.append(pair.call)
        return differing, sorted(places.values(), key=lambda place: -len(place.calls))

    @property
    def differs(self) -> bool:
        """Whether any request differs."""
        return self._found[0] > 0

    @property
    def counted(self) -> str:
        """The number of requests that differ, for example `2 of 4 requests`."""
        least = "at least " if self.has_more else ""
        return f"{least}{self._found[0]} of {counted(self.requests, 'request')}"

    @property
    def _verdict(self) -> str:
        return f"{self.counted} {plural(self._found[0], 'differs', 'differ')}"

    @property
    def line(self) -> str:
        """One line with the number of requests that differ, and the place where most of them differ."""
        _, (first, *others) = self._found
        old, new = shown(first.difference.old, first.difference.new, _SHORT)
        change = f"{old} -> {new}" if old and new else f"{old} is gone" if old else f"{new} is new"
        more = f", and {counted(len(others), 'more place')}" if others else ""
        return mask(f"{self._verdict}: {path_text(first.difference.path)} {change}{more}")

    @property
    def told(self) -> str:
        """All differences as text, for a failure message."""
        return mask("\n".join(self._rows()))

    def _rows(self) -> Iterator[str]:
        _, places = self._found
        yield f"{self._verdict} from {self.path}, which answered them."
        yield f"\n{'differs':<10}- recorded, + arrived"
        for difference, calls in places[:_PLACES]:
            yield f"{'':<10}{plural(len(calls), 'call')} {', '.join(map(str, calls))}"
            yield from (f"{'':<10}{line}" for line in lines_of(difference))
        if len(places) > _PLACES:
            yield f"{'':<10}and {counted(len(places) - _PLACES, 'more place')}"
        yield f"\nIf that is meant, record it again:\n{self.again or f'with record({str(self.path)!r}): ...'}"
        yield f"or leave out what need not be equal: ignore={[*dict.fromkeys(map(_ignorable, places))][:3]!r}"


def _ignorable(place: _Place) -> str:
    """Return the path of a difference as the argument `ignore` takes it, with `[*]` for each list index."""
    return path_text([0 if isinstance(step, int) else step for step in place.difference.path]).replace("[0]", "[*]")


_inbox: Final[dict[str, StaleRecording]] = {}
_lock: Final = threading.Lock()


def played(path: Path, again: str, unequal: Callable[[], UnequalRequests] | None) -> None:
    """Register that the recording at `path` answered a call; `again` is the command that records the session again.

    `unequal` is None if the call's request is equal to the recorded one. Otherwise it returns both requests; it is
    called only for the first _COMPARED unequal requests of a recording.
    """
    with _lock:
        kept = _inbox.setdefault(str(path), StaleRecording(path, again))
        kept.requests += 1
        if unequal is not None:
            kept.has_more = len(kept.pairs) >= _COMPARED
            if not kept.has_more:
                kept.pairs.append(unequal())


def take() -> list[StaleRecording]:
    """Return the recordings that answered differing requests, and forget all requests registered so far."""
    with _lock:
        taken = [*_inbox.values()]
        _inbox.clear()
    return [each for each in taken if each.differs]
