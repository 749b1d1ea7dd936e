"""A pytest plugin: print at the end how many tests were skipped because the folder `../shared` does not exist."""

from __future__ import annotations

from typing import Final

import pytest

LACKS: Final = "the folder ../shared (seen from the project's root) is not there: this test compares with what it holds"
"""Why such a test is skipped."""


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count in the main process, to which pytest-xdist sends the reasons of all workers."""
    skipped = terminalreporter.stats.get("skipped", [])
    if count := sum(LACKS in str(report.longrepr) for report in skipped):
        compare = "1 test compares" if count == 1 else f"{count} tests compare"
        terminalreporter.write_line(f"Skipped: {compare} with the folder ../shared, which is not there.")
