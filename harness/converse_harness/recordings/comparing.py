"""Two recordings, exchange by exchange: which belong together, and what differs in their requests and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from converse_harness.recordings.differences import ABSENT, Difference, aligned, differences, outline
from converse_harness.recordings.exchange import Exchange, Session
from converse_harness.recordings.lines import Line, event_of
from converse_harness.recordings.playing.matching import asked_in, key
from converse_harness.recordings.playing.shapes import canonical

TIMES: Final = frozenset({"t"})
"""The keys of a line that say when it happened."""

CHANCE: Final = frozenset({"p", "joined", "requestId", "payload", "frame"})
"""The keys of a line that are others each time a session is recorded, and say nothing of it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two exchanges that belong together, or one that is alone, and what differs."""

    old: Exchange | None
    new: Exchange | None
    found: tuple[Difference, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether there are two and nothing differs."""
        return self.old is not None and self.new is not None and not self.found


def compare(old: Session, new: Session, *, times: bool = False, chance: bool = False) -> list[Compared]:
    """The exchanges of two sessions in their order, and what differs; `times` and `chance` as well, if asked for.

    Those belong together that have the same request and the same outcome; then those of the same request, of the same
    shape, of the same operation and model.
    """
    hidden = (frozenset[str]() if times else TIMES) | (frozenset[str]() if chance else CHANCE)
    pairs = aligned(old.exchanges, new.exchanges, *_LIKENESS, leftovers=False)
    return [
        _compared(
            None if pair.old is None else old.exchanges[pair.old],
            None if pair.new is None else new.exchanges[pair.new],
            hidden,
        )
        for pair in pairs
    ]


def _outcome(exchange: Exchange) -> str:
    return f"{exchange.head.get('status')} {exchange.head.get('type')} {exchange.head.get('failed')}"


_LIKENESS: Final[tuple[Callable[[Exchange], str], ...]] = (
    lambda exchange: f"{key('exact', asked_in(exchange))} {_outcome(exchange)}",
    lambda exchange: key("exact", asked_in(exchange)),
    lambda exchange: key("shape", asked_in(exchange)),
    lambda exchange: key("order", asked_in(exchange)),
)


def _compared(old: Exchange | None, new: Exchange | None, hidden: frozenset[str]) -> Compared:
    if old is None or new is None:
        return Compared(old, new)
    return Compared(old, new, tuple(_differences(old, new, hidden)))


def _differences(old: Exchange, new: Exchange, hidden: frozenset[str]) -> Iterator[Difference]:
    number = frozenset({"call"})
    yield from differences(_line(old.call, number), _line(new.call, number))
    yield from differences(_line(old.head, hidden), _line(new.head, hidden), ("answer",), ("answer",))
    before, after = ([_line(line, TIMES | CHANCE) for line in each.events] for each in (old, new))
    for pair in aligned(before, after, canonical, outline):
        yield from differences(
            ABSENT if pair.old is None else _line(old.events[pair.old], hidden),
            ABSENT if pair.new is None else _line(new.events[pair.new], hidden),
            ("events", pair.new if pair.new is not None else pair.old or 0),
        )
    before_end, after_end = (ABSENT if each.end is None else _line(each.end, hidden) for each in (old, new))
    yield from differences(before_end, after_end, ("answer",), ("answer",))


def _line(line: Line, hidden: frozenset[str]) -> dict[str, Any]:
    """A line without what is not to be compared. A frame that stands for no event is all that is known of it."""
    alone = "frame" in line and event_of(line) is None
    return {name: value for name, value in line.items() if name not in hidden or (name == "frame" and alone)}
