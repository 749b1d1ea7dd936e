"""The hooks that play or make the recording of each test with the marker `converse_recording`."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

import pytest

from converse_harness.intercept.fake import Fake
from converse_harness.plugin.recording.run import RecordingRun, begin
from converse_harness.plugin.recording.tally import tally_of
from converse_harness.plugin.settings import RECORDED, RERUNS


class RecordedTests:
    """The hooks around a test's recording, from the setup to the end of the test."""

    def __init__(self, config: pytest.Config) -> None:
        self._tally = tally_of(config)
        self._run: RecordingRun | None = None
        """The recording of the running test; None if the test has none."""

    def begin(self, item: pytest.Item) -> None:
        """Open the recording of a test. If it is damaged, or an argument of the marker is wrong, fail the test."""
        __tracebackhide__ = True
        self._run = begin(item, self._tally)

    def give(self, fake: Fake) -> None:
        """Make the fake of a fixture play and record, if the running test has a recording."""
        if self._run is not None:
            self._run.give(fake)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, request: Any) -> None:
        """Play or record from the test's first function-scoped fixture on."""
        if self._run is not None and request.scope == "function":
            self._run.answer()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Open a fake for a test without function-scoped fixtures."""
        __tracebackhide__ = True
        if self._run is not None:
            self._run.answer()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Write the recording after the last fixture has ended. If it cannot be written, the teardown fails."""
        __tracebackhide__ = True
        written = not item.config.stash.get(RERUNS, False)
        try:
            result = yield
        except Exception:
            self._end(failed=True, written=written)
            raise
        self._end(written=written)
        return result

    def _end(self, *, failed: bool = False, written: bool = True) -> None:
        __tracebackhide__ = True
        run, self._run = self._run, None
        if run is not None and written:
            run.end(failed=failed)
        elif run is not None:
            run.forget()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note that a phase failed, and add advice to errors such as missing credentials."""
        run = self._run
        if run is not None and call.excinfo is not None:
            run.advise(call, call.excinfo.value)
        report = yield
        # The recording of a test that fails as expected (xfail) is valid.
        if run is not None and not report.passed and not hasattr(report, "wasxfail"):
            run.passed = False
        return report

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Finish the recording of an interrupted test, after pytest has torn down the last fixtures."""
        try:
            return (yield)
        finally:
            self._end(failed=True)


def recorded(config: pytest.Config) -> RecordedTests:
    """Return the RecordedTests of this run; the first call registers its hooks."""
    plugins = config.pluginmanager
    if not plugins.has_plugin(RECORDED):
        plugins.register(RecordedTests(config), RECORDED)
    return cast("RecordedTests", plugins.get_plugin(RECORDED))
