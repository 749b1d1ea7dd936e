"""Find the differences between two recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from converse_harness.json_values import Steps, canonical, is_array, is_object
from converse_harness.recordings.differences import ABSENT, Difference, aligned, differences, outline
from converse_harness.recordings.format.exchanges import RecordedExchange, RecordedSession
from converse_harness.recordings.format.lines import Line, event_of
from converse_harness.recordings.play.matching import asked_in, key

_TIMES: Final = frozenset({"t"})
"""The keys of a recording's line whose values are times."""

_DURATIONS: Final = frozenset({"latencyMs", "guardrailProcessingLatency"})
"""The members of an answer whose values are durations in milliseconds."""

_CHANCE: Final = frozenset({"p", "joined", "requestId", "payload", "frame"})
"""The keys of a recording's line whose values differ by chance in each recording, such as padding and request ids."""


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

    Times are compared only if `times` is true, the keys of _CHANCE only if `chance` is true. If both are false,
    successive deltas of a text are joined before the comparison, where this gives fewer differences. Exchanges with
    equal request and status or failure are paired first. The others are paired by equal request, then by equal shape of
    the request (rule "shape"), then by equal operation and model.
    """
    hidden = (frozenset[str]() if times else _TIMES) | (frozenset[str]() if chance else _CHANCE)
    pairs = aligned(old.exchanges, new.exchanges, *_LIKENESS, leftovers=False)
    matched = [pair.items(old.exchanges, new.exchanges) for pair in pairs]
    return [Compared(*each, () if None in each else tuple(_differences(*each, hidden))) for each in matched]


_LIKENESS: Final[tuple[Callable[[RecordedExchange], str], ...]] = (
    lambda exchange: f"{key('exact', asked_in(exchange))} {[*map(exchange.head.get, ('status', 'type', 'failed'))]}",
    lambda exchange: key("exact", asked_in(exchange)),
    lambda exchange: key("shape", asked_in(exchange)),
    lambda exchange: key("order", asked_in(exchange)),
)


def _differences(old: RecordedExchange, new: RecordedExchange, hidden: frozenset[str]) -> Iterator[Difference]:
    yield from differences(old.call | {"call": 0}, new.call | {"call": 0})  # the calls may have different numbers
    yield from differences(_line(old.head, hidden), _line(new.head, hidden), ("answer",), ("answer",))
    found = list(_of_events(old.events, new.events, hidden))
    if found and hidden >= _TIMES | _CHANCE:
        found = min(found, list(_of_events(_joined(old.events), _joined(new.events), hidden)), key=len)
    yield from found
    before_end, after_end = (ABSENT if each.end is None else _line(each.end, hidden) for each in (old, new))
    yield from differences(before_end, after_end, ("answer",), ("answer",))


def _of_events(old: Sequence[Line], new: Sequence[Line], hidden: frozenset[str]) -> Iterator[Difference]:
    fixed, fixed_now = ([_line(line, _TIMES | _CHANCE) for line in each] for each in (old, new))
    before, after = ([_line(line, hidden) for line in each] for each in (old, new))
    for pair in aligned(fixed, fixed_now, canonical, outline):
        yield from differences(*pair.items(before, after, ABSENT), ("events", pair.indexes[1]))


def _line(line: Line, hidden: frozenset[str]) -> dict[str, Any]:
    """Return a copy of a line without the keys in `hidden`.

    `frame` is kept if the line has no event, since it is then the content. If times are hidden, durations in the body
    or metadata are left out, too.
    """
    alone = "frame" in line and event_of(line) is None
    kept = {name: value for name, value in line.items() if name not in hidden or (name == "frame" and alone)}
    if hidden >= _TIMES:
        kept |= {name: _without_durations(kept[name]) for name in ("body", "metadata") if name in kept}
    return kept


def _without_durations(value: Any) -> Any:
    if is_object(value):
        return {name: _without_durations(each) for name, each in value.items() if name not in _DURATIONS}
    return [_without_durations(each) for each in value] if is_array(value) else value


def _joined(events: Sequence[Line]) -> list[Line]:
    """Return the events of a stream, with consecutive deltas of the same text joined into one delta."""
    made: list[Line] = []
    for line in events:
        before = _text_of(made[-1]) if made else None
        text = _text_of(line)
        if before is None or text is None or before[:-1] != text[:-1]:
            made.append(line)
            continue
        index, path, piece = text
        delta: Any = before[-1] + piece
        for step in reversed(path):
            delta = {step: delta}
        made[-1] = {**made[-1], "contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}
    return made


def _text_of(line: Line) -> tuple[Any, Steps, str] | None:
    """Return the block's index, the path in the delta, and the text, if a line is a delta with one text only.

    Return None for other lines.
    """
    event = line.get("contentBlockDelta")
    if not is_object(event) or event.keys() != {"contentBlockIndex", "delta"}:
        return None
    value, path = event["delta"], list[str]()
    while is_object(value) and len(value) == 1:
        (name, value), *_ = value.items()
        path.append(name)
    return (event["contentBlockIndex"], tuple(path), value) if isinstance(value, str) and path else None
