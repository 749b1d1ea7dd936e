"""Functions that draw values, and a report at the end of a run: shapes that the installed botocore added or removed.

The report never fails a run: AWS adds shapes at any time, and the strategies adapt to them without a change.
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
    """Return one line with the names that only `installed` has, and one line with those that only `pinned` has."""
    here, there = set(installed), set(pinned)
    sides = {"more": here - there, "less": there - here}
    return [f"{side}: {', '.join(sorted(names))}" for side, names in sides.items() if names]


class _AllSeen(Exception):
    """Raised to stop drawing early, because all wanted values were seen."""


def as_drawn(times: float) -> settings:
    """Return settings with `times` times the profile's number of examples, and without shrinking."""
    return settings(max_examples=examples(times), database=None, phases=[Phase.generate])


def found(strategy: st.SearchStrategy[Drawn], condition: Callable[[Drawn], Any] = lambda value: True) -> Drawn:
    """Return a value that meets the condition, not necessarily the smallest; without a condition the simplest value."""
    return find(strategy, condition, settings=as_drawn(250))


def smallest(strategy: st.SearchStrategy[Drawn], condition: Callable[[Drawn], Any] = lambda value: True) -> Drawn:
    """Return the smallest value that meets the condition."""
    shrinking = settings(as_drawn(250), phases=[Phase.generate, Phase.shrink])
    return find(strategy, condition, settings=shrinking)


def drawn(strategy: st.SearchStrategy[Drawn], times: float = 1) -> list[Drawn]:
    """Return `times` times the profile's number of drawn values."""
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
    """Return the elements of `wanted` that `seen` returns for none of many drawn values."""
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
"""Members of `usage` that AWS sends, but botocore removes because they are not in its model."""


def as_botocore_reads(value: Any) -> Any:
    """Return events or a response without the members of `usage` that botocore removes."""
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
    """Print the report."""
    lines = drift(bedrock.service().shape_names, SNAPSHOT.read_text(encoding="utf-8").split())
    if lines:
        terminalreporter.section(f"shapes of botocore {bedrock.botocore_version()} that differ from the snapshot")
        for line in lines:
            terminalreporter.line(line)
