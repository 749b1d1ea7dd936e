"""At the end of a run: how the installed botocore's model differs from the one that these tests were written with.

A report that never fails, since AWS adds shapes at any time and the strategies follow by themselves.
"""

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock.rules import NOTING, RULES
from tests.profiles import examples

Drawn = TypeVar("Drawn")

NOTED = {rule.name for rule in RULES if rule.verdict in NOTING}
"""The rules that a drawn request may break: what Bedrock is not known to refuse is only noted."""

SNAPSHOT = Path(__file__).with_name("shape_names.txt")


def drift(installed: Iterable[str], pinned: Iterable[str]) -> list[str]:
    """What one model has more and less than another, a line each."""
    here, there = set(installed), set(pinned)
    sides = {"more": here - there, "less": there - here}
    return [f"{side}: {', '.join(sorted(names))}" for side, names in sides.items() if names]


class _AllSeen(Exception):
    """There is nothing left to look for."""


def as_drawn(times: float) -> settings:
    """So many times the examples of the profile, and what is found is left as it was drawn."""
    return settings(max_examples=examples(times), database=None, phases=[Phase.generate])


def found(strategy: st.SearchStrategy[Drawn], condition: Callable[[Drawn], Any] = lambda value: True) -> Drawn:
    """A value of which the condition holds, not the smallest; without a condition the simplest."""
    return find(strategy, condition, settings=as_drawn(250))


def smallest(strategy: st.SearchStrategy[Drawn], condition: Callable[[Drawn], Any] = lambda value: True) -> Drawn:
    """The smallest value of which the condition holds; hypothesis need not explain it."""
    shrinking = settings(as_drawn(250), phases=[Phase.generate, Phase.shrink])
    return find(strategy, condition, settings=shrinking)


def drawn(strategy: st.SearchStrategy[Drawn], times: float = 1) -> list[Drawn]:
    """Many values."""
    values: list[Drawn] = []

    @as_drawn(times)
    @given(strategy)
    def draw(value: Drawn) -> None:
        values.append(value)

    draw()
    return values


def never(
    strategy: st.SearchStrategy[Drawn],
    wanted: Iterable[Hashable],
    seen: Callable[[Drawn], Iterable[Hashable]],
    times: float = 500,
) -> set[Hashable]:
    """What is wanted and not seen in any value, however many are drawn."""
    missing = set(wanted)

    @as_drawn(times)
    @given(strategy)
    def draw(value: Drawn) -> None:
        missing.difference_update(seen(value))
        if not missing:
            raise _AllSeen

    with suppress(_AllSeen):  # raised above, to stop early
        draw()
    return missing


UNDOCUMENTED = ("serverToolUsage", "cacheReadInputTokenCount", "cacheWriteInputTokenCount")
"""Members of a usage that AWS sends and botocore drops, as its model does not have them."""


def as_botocore_reads(value: Any) -> Any:
    """Events, or a response, without those members of a usage."""
    if isinstance(value, list):
        items: list[Any] = value
        return [as_botocore_reads(item) for item in items]
    whole: dict[str, Any] = dict(value)
    if "metadata" in whole:
        return {**whole, "metadata": as_botocore_reads(whole["metadata"])}
    usage: dict[str, Any] = whole.get("usage") or {}
    documented = {name: count for name, count in usage.items() if name not in UNDOCUMENTED}
    return {**whole, "usage": documented} if "usage" in whole else whole


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """Tell it."""
    lines = drift(bedrock.service().shape_names, SNAPSHOT.read_text(encoding="utf-8").split())
    if lines:
        terminalreporter.section(f"shapes of botocore {bedrock.botocore_version()} that differ from the snapshot")
        for line in lines:
            terminalreporter.line(line)
