"""How small counterexamples get: `python -m tests.strategies.smallest` searches bugs with several seeds, and shrinks.

The bugs are those of tests/planted, and properties of one answer. A counterexample is measured by its events and by
the characters of its longest text or tool input. It is large if another one of the same bug has two events less, or if
one with as few events is shorter by more than `SLACK` characters and a tenth: a word that shows a bug is as readable as
a letter.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from hypothesis import Phase, given, seed, settings

from converse_harness import assemble
from converse_strategies import stream_events
from tests.planted.answers import Event
from tests.planted.bugs import BUGS, Bug, agrees, load
from tests.planted.finding import EVERY_CHECK

SLACK: Final = 24

Events = Sequence[Mapping[str, Any]]
IsWrong = Callable[[Events], bool]


def _content(events: Events) -> list[dict[str, Any]]:
    return list(assemble(events).message["content"])


def _texts(events: Events) -> list[str]:
    return [block["text"] for block in _content(events) if "text" in block]


def _uses(events: Events) -> list[dict[str, Any]]:
    return [block["toolUse"] for block in _content(events) if "toolUse" in block]


def _depth(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner: list[Any] = list(
        cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("Sequence[Any]", value)
    )
    return 1 + max(map(_depth, inner), default=0)


PROPERTIES: Final[Mapping[str, IsWrong]] = {
    "a return in a text": lambda events: any("\r\n" in text for text in _texts(events)),
    "five blocks": lambda events: len(_content(events)) > 4,
    "two tools of one name": lambda events: len(_uses(events)) > len({use["name"] for use in _uses(events)}),
    "three arguments": lambda events: any(len(use["input"]) > 2 for use in _uses(events)),
    "an empty text": lambda events: "" in _texts(events),
    "a text of 100 characters": lambda events: any(len(text) > 99 for text in _texts(events)),
    "a text of 5,000 characters": lambda events: any(len(text) > 4999 for text in _texts(events)),
    "a list of ten": lambda events: any(
        isinstance(value, list) and len(cast("Sequence[Any]", value)) > 9
        for use in _uses(events)
        for value in use["input"].values()
    ),
    "an input three levels deep": lambda events: any(_depth(use["input"]) > 2 for use in _uses(events)),
    "a text before a tool use": lambda events: bool(_texts(events) and _uses(events)),
    "reasoning and a tool use": lambda events: (
        any("reasoningContent" in block for block in _content(events)) and bool(_uses(events))
    ),
    "an input that is not ASCII": lambda events: (
        not all(json.dumps(use["input"], ensure_ascii=False).isascii() for use in _uses(events))
    ),
    "twenty deltas": lambda events: sum("contentBlockDelta" in event for event in events) > 19,
    "max_tokens after a tool use": lambda events: bool(_uses(events)) and assemble(events).stop_reason == "max_tokens",
}
"""Name of a property -> whether an answer has it."""


class _Wrong(Exception):
    """The answer shows the bug."""


def searched(is_wrong: IsWrong, number: int) -> list[Event] | None:
    """The smallest answer that shows the bug, as hypothesis finds it with its usual settings; None if there is none."""
    last: list[Event] | None = None

    @seed(number)
    @settings(
        max_examples=100,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=EVERY_CHECK,
    )
    @given(stream_events())
    def search(events: list[Event]) -> None:
        nonlocal last
        if is_wrong(events):
            last = events
            raise _Wrong

    try:
        search()
    except _Wrong:
        return last
    return None


def size(events: Events) -> tuple[int, int]:
    """The number of events, and of characters of the longest text or tool input."""
    inputs = [json.dumps(use["input"], ensure_ascii=False) for use in _uses(events)]
    return len(events), max(map(len, (*_texts(events), *inputs)), default=0)


def _is_smaller(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[0] - 1 or (one[0] <= other[0] and one[1] + SLACK < 0.9 * other[1])


def _disagrees(bug: Bug) -> IsWrong:
    read = load(bug.consumer, bug)
    return lambda events: not agrees(read, map(dict, events))


def every_bug() -> dict[str, IsWrong]:
    """The properties, and the planted bugs that whole answers can show, by their names."""
    return {**PROPERTIES, **{bug.name: _disagrees(bug) for bug in BUGS if bug.name != "unfinished_input"}}


def main() -> None:
    """Print a row for each bug: its smallest counterexample, and those that are larger."""
    parser = argparse.ArgumentParser(prog="python -m tests.strategies.smallest", description=__doc__)
    parser.add_argument("names", nargs="*", help="the bugs (all)")
    parser.add_argument("--seeds", type=int, default=3, help="how often each bug is searched (3)")
    arguments = parser.parse_args()
    all_found, all_large = 0, 0
    for name, is_wrong in every_bug().items():
        if arguments.names and name not in arguments.names:
            continue
        found = [search for number in range(arguments.seeds) if (search := searched(is_wrong, number)) is not None]
        sizes = [size(events) for events in found]
        large = [each for each in sizes if any(_is_smaller(other, each) for other in sizes)]
        least = min(sizes, default=None)
        all_found += len(sizes)
        all_large += len(large)
        print(f"{name}: {len(sizes)} found, smallest {least}, larger: {large or 'none'}", flush=True)
    print(f"{all_found} counterexamples, {all_large} larger than the smallest known")


if __name__ == "__main__":
    main()
