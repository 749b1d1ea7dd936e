"""Find the differences between two recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from converse_harness.json_values import canonical
from converse_harness.recordings.chance import EVERY, VIEWS, Kind, corresponding, normalised, numbered, outline
from converse_harness.recordings.differences import ABSENT, Difference, aligned, differences
from converse_harness.recordings.differences import outline as kind_of_value
from converse_harness.recordings.format.exchanges import RecordedExchange, RecordedSession
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.play.matching import Match, asked_in, key


class Compared(NamedTuple):
    """Two corresponding exchanges and their differences, or one exchange without a counterpart."""

    old: RecordedExchange | None
    new: RecordedExchange | None
    found: tuple[Difference, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both exchanges exist and do not differ."""
        return self.old is not None and self.new is not None and not self.found


def compare(old: RecordedSession, new: RecordedSession, *, times: bool = False, chance: bool = False) -> list[Compared]:
    """Return the exchanges of two sessions in pairs, with the differences within each pair.

    What differs by chance is left out: the kinds that VIEWS lists for `diff`, for `diff --times` if `times` is true,
    and for `diff --bytes` if `chance` is true. Exchanges that differ only by chance are paired first. The others are
    paired by equal request and status or failure, then by equal request, then by equal shape of the request (rule
    "shape"), then by equal operation and model.
    """
    hidden = VIEWS["diff"]
    if times:
        hidden &= VIEWS["diff --times"]
    if chance:
        hidden &= VIEWS["diff --bytes"]
    before, after = ([each.lines() for each in session.exchanges] for session in (old, new))
    pairs = aligned(old.exchanges, new.exchanges, *_LIKENESS, leftovers=False)
    names = corresponding(before, after, pairs) if "link" in hidden else {}
    found: list[Compared] = []
    for pair in pairs:
        one, other = pair.items(old.exchanges, new.exchanges)
        differing = () if one is None or other is None else _differences(one.lines(), other.lines(), hidden, names)
        found.append(Compared(one, other, tuple(differing)))
    return found


def _request(rule: Match) -> Callable[[RecordedExchange], str]:
    def of(exchange: RecordedExchange) -> str:
        asked = asked_in(exchange)
        return key(rule, replace(asked, request=numbered(asked.request)))

    return of


_LIKENESS: Final[tuple[Callable[[RecordedExchange], str], ...]] = (
    lambda exchange: outline(exchange.lines()),
    lambda exchange: f"{_request('exact')(exchange)} {[*map(exchange.head.get, ('status', 'type', 'failed'))]}",
    _request("exact"),
    _request("shape"),
    _request("order"),
)


def _differences(
    old: Sequence[Line], new: Sequence[Line], hidden: frozenset[Kind], names: Mapping[str, str]
) -> Iterator[Difference]:
    found = _of_exchange(old, new, hidden - {"cut"}, names)
    if found and "cut" in hidden:  # whole texts are shown if they have fewer differences than their deltas
        found = min(found, _of_exchange(old, new, hidden, names), key=len)
    yield from found


def _of_exchange(
    old: Sequence[Line], new: Sequence[Line], hidden: frozenset[Kind], names: Mapping[str, str]
) -> list[Difference]:
    before, after = _Parts.of(normalised(old, hidden)), _Parts.of(normalised(new, hidden, names))
    found = [*differences(before.call, after.call), *differences(before.head, after.head, ("answer",), ("answer",))]
    same = EVERY if "cut" in hidden else EVERY - {"cut"}  # each event is compared with the event of equal content
    fixed, fixed_now = _Parts.of(normalised(old, same)).events, _Parts.of(normalised(new, same, names)).events
    for pair in aligned(fixed, fixed_now, canonical, kind_of_value):
        found += differences(*pair.items(before.events, after.events, ABSENT), ("events", pair.indexes[1]))
    return [*found, *differences(before.end, after.end, ("answer",), ("answer",))]


class _Parts(NamedTuple):
    call: Line
    head: Line
    events: Sequence[Line]
    end: Any

    @classmethod
    def of(cls, lines: Sequence[Line]) -> _Parts:
        call, head, *events = lines
        return cls(call, head, events, events.pop() if events and "end" in events[-1] else ABSENT)
