"""Searches for planted bugs: a property of hypothesis with its usual 100 examples, and a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from converse_harness import Reply
from converse_strategies import ChunkedMessage, chunked_messages, replies, stream_events
from tests.planted.answers import Event
from tests.planted.bugs import Bug, Read, agrees, load

Streams = st.SearchStrategy[Iterable[Event]]

EVERY_CHECK: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)

SEARCHES: Final[Mapping[str, Callable[[], st.SearchStrategy[Any]]]] = {
    "stream_events": stream_events,
    "chunked_messages": chunked_messages,
    "replies": replies,
}
"""The strategies that are compared, each with the arguments that it has by default."""


def events_of(drawn: Any) -> list[Event]:
    """The events of what one of the strategies draws: a stream, a ChunkedMessage or a Reply."""
    if isinstance(drawn, Reply):
        return [dict(event) for event in drawn.events()]
    found: list[Event] = drawn.events if isinstance(drawn, ChunkedMessage) else drawn
    return found


def finds(strategy: st.SearchStrategy[Any], bug: Bug, number: int, examples: int = 100) -> bool:
    """Whether a property finds the bug with this seed."""
    return counterexample(strategy, load(bug.consumer, bug), number, examples) is not None


def first_example(strategy: st.SearchStrategy[Any], bug: Bug, number: int, examples: int) -> int | None:
    """How many examples a property needs to find the bug with this seed; None if `examples` are too few."""
    read, drawn = load(bug.consumer, bug), 0

    def counted(events: Iterable[Event]) -> Any:
        nonlocal drawn
        drawn += 1
        return read(events)

    return None if counterexample(strategy, counted, number, examples) is None else drawn


class _Found(Exception):
    """The consumer disagrees with the reference."""


def counterexample(
    strategy: st.SearchStrategy[Any], read: Read, number: int, examples: int = 100, *, shrink: bool = False
) -> list[Event] | None:
    """The stream with which a consumer is wrong, None if none was found; the smallest one with `shrink`."""
    last: list[Event] | None = None

    @seed(number)
    @settings(
        max_examples=examples,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=EVERY_CHECK,
    )
    @given(strategy)
    def search(drawn: Any) -> None:
        nonlocal last
        events = events_of(drawn)
        if not agrees(read, events):
            last = events
            raise _Found

    try:
        search()
    except _Found:
        return last
    return None


EXAMPLES: Final = (10, 30, 100, 300, 1000)


def when(needed: Mapping[Bug, Sequence[int | None]]) -> str:
    """Rows of a Markdown table: numbers of examples, and how many of the bugs most seeds find with as many."""
    often = {
        examples: sum(
            sum(each is not None and each <= examples for each in counts) * 2 > len(counts)
            for counts in needed.values()
        )
        for examples in EXAMPLES
    }
    rows = [f"| {examples:,} | {count} of {len(needed)} |" for examples, count in often.items()]
    return "\n".join(["| examples | bugs found by most seeds |", "|---|---|", *rows])


def table(found: Mapping[Bug, Mapping[str, int]], seeds: int) -> str:
    """Rows of a Markdown table: the bug, and by strategy with how many of the seeds it was found."""
    searches = list(next(iter(found.values())))
    lines = [f"| consumer | bug | what goes wrong | {' | '.join(searches)} |", "|---|---|---|" + "---|" * len(searches)]
    for bug, counts in found.items():
        lines.append(
            f"| {bug.consumer} | `{bug.name}` | {bug.about} | {' | '.join(str(counts[name]) for name in searches)} |"
        )
    often = {name: sum(counts[name] * 2 > seeds for counts in found.values()) for name in searches}
    lines.append(f"| all | | found with most seeds | {' | '.join(str(often[name]) for name in searches)} |")
    return "\n".join(lines)
