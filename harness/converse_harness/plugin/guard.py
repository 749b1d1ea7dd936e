"""The hooks of the setting `guard = session`: no test, import or fixture reaches Bedrock without a fake."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from converse_harness.intercept.guard.session import SessionGuard
from converse_harness.plugin.outcome import Step
from converse_harness.plugin.settings import of_test


class GuardHooks:
    """The hooks that fail what called Bedrock, even if other code caught the guard's error. They open the guard."""

    def __init__(self, config: pytest.Config) -> None:
        self._guard = SessionGuard()
        self._outside = ""
        """The guard's error text about a connection outside of tests and imports; "" if it blocked none there."""
        self._guard.open()
        config.add_cleanup(self._guard.close)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Fail the collection of a module that calls Bedrock while pytest imports it."""
        report = yield
        try:
            self._guard.check()
        except AssertionError as stopped:
            if report.passed:
                report.outcome, report.longrepr, report.result = "failed", str(stopped), []
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Step:
        """Let a test and its fixtures call the real Bedrock if the test's marker `converse` has `guard="off"`."""
        with self._guard.during(item.nodeid, off=of_test(item, "guard", None) == "off"):
            return (yield)

    # The wrappers of the three phases are the innermost ones, so that the checks of a test's fakes get the guard's
    # error, and the recording of a test sees that its teardown failed.

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Step:
        """Fail the setup if the guard blocked a connection in it."""
        __tracebackhide__ = True
        return (yield from self._guarded())

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Step:
        """Fail the test function if the guard blocked a connection in it."""
        __tracebackhide__ = True
        return (yield from self._guarded())

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Step:
        """Fail the teardown if the guard blocked a connection in it."""
        __tracebackhide__ = True
        return (yield from self._guarded())

    def _guarded(self) -> Step:
        __tracebackhide__ = True
        try:
            result = yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            self._guard.check(error)
            raise
        self._guard.check()
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Step:
        """Fail the run if the guard blocked a connection outside of tests and imports."""
        try:
            self._guard.check()
        except AssertionError as stopped:
            self._outside = str(stopped)
            if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the guard's error text about a connection outside of tests and imports."""
        if self._outside:
            terminalreporter.section("converse guard")
            terminalreporter.line(self._outside)
