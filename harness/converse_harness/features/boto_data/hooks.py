"""The hooks of `converse_boto_data = off`: the summary states what it costs that each session reads botocore's data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any, Final

import pytest

from converse_harness.features.boto_data.loading import MEASURED
from converse_harness.words import counted

_SECONDS: Final = "converse_boto_data"
"""The name of the user property in a test's teardown report with the seconds in which botocore read its data."""

_LEAST: Final = 1.0
"""Seconds. If all tests but the slowest one took less, nothing is printed."""


class BotoDataHooks:
    """The hooks that add up the time in which botocore read its data files, by test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logstart(self) -> None:
        """Forget what was read before the test, such as for a client of a module."""
        self._take()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, pytest.TestReport]:
        """Add the seconds of a test to its teardown report."""
        report: pytest.TestReport = yield
        if call.when == "teardown" and (seconds := self._take()):
            report.user_properties.append((_SECONDS, seconds))
        return report

    def _take(self) -> float:
        reading = self._config.stash.get(MEASURED, None)
        return 0.0 if reading is None else reading.take()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the sum, if it is worth a line."""
        seconds = Counter[str]()
        for report in (report for each in terminalreporter.stats.values() for report in each):
            for name, value in getattr(report, "user_properties", ()):
                if name == _SECONDS and report.when == "teardown":
                    seconds[report.nodeid] += value
        total = sum(seconds.values())
        # One test has to read the data in any case.
        if self._config.get_verbosity() >= 0 and total - max(seconds.values(), default=0) >= _LEAST:
            terminalreporter.write_line(
                f"converse-harness: in {counted(len(seconds), 'test')}, new sessions of botocore read its data files: "
                f"{total:.1f} s of CPU. With `converse_boto_data = session`, they are read once in a run."
            )
