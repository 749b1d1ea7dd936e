"""At the end of a run: how the installed botocore's model differs from the one that these tests were written with.

A report that never fails, since AWS adds shapes at any time and the strategies follow by themselves.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from converse_harness import model

SNAPSHOT = Path(__file__).with_name("shape_names.txt")


def drift(installed: Iterable[str], pinned: Iterable[str]) -> list[str]:
    """What one model has more and less than another, a line each."""
    here, there = set(installed), set(pinned)
    sides = {"more": here - there, "less": there - here}
    return [f"{side}: {', '.join(sorted(names))}" for side, names in sides.items() if names]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell it."""
    lines = drift(model.service().shape_names, SNAPSHOT.read_text(encoding="utf-8").split())
    if lines:
        terminalreporter.section(f"shapes of botocore {model.botocore_version()} that differ from the snapshot")
        for line in lines:
            terminalreporter.line(line)
