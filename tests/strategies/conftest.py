"""At the end of a run: how the installed botocore's model differs from the one that these tests were written with.

A report that never fails, since AWS adds shapes at any time and the strategies follow by themselves.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from converse_harness import model

Drawn = TypeVar("Drawn")

SNAPSHOT = Path(__file__).with_name("shape_names.txt")


def drift(installed: Iterable[str], pinned: Iterable[str]) -> list[str]:
    """What one model has more and less than another, a line each."""
    here, there = set(installed), set(pinned)
    sides = {"more": here - there, "less": there - here}
    return [f"{side}: {', '.join(sorted(names))}" for side, names in sides.items() if names]


class _AllSeen(Exception):
    """There is nothing left to look for."""


def draw_until(strategy: st.SearchStrategy[Drawn], all_seen: Callable[[Drawn], bool], *, most: int = 10_000) -> None:
    """Draw until a function that collects what it sees has seen all, or so often that the rest is unreachable."""

    @settings(max_examples=most, database=None, deadline=None, phases=[Phase.generate])
    @given(strategy)
    def draw(value: Drawn) -> None:
        if all_seen(value):
            raise _AllSeen

    with suppress(_AllSeen):
        draw()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell it."""
    lines = drift(model.service().shape_names, SNAPSHOT.read_text(encoding="utf-8").split())
    if lines:
        terminalreporter.section(f"shapes of botocore {model.botocore_version()} that differ from the snapshot")
        for line in lines:
            terminalreporter.line(line)
