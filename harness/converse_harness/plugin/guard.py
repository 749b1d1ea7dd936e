"""The hooks of the guard: those of the setting `guard = session`, and in every run, what becomes of late refusals."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import pytest

from converse_harness import refusals
from converse_harness.plugin.outcome import Check, Step
from converse_harness.plugin.settings import of_test


class GuardHooks:
    """The hooks that fail what called Bedrock, even if other code caught the guard's error. They open the guard."""

    def __init__(self, config: pytest.Config) -> None:
        from converse_harness.intercept.guard.session import SessionGuard  # only runs with this setting need it

        self._guard = SessionGuard()
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

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Step:
        """Keep the error of a connection outside of tests and imports, so that the run fails."""
        try:
            self._guard.check()
        except AssertionError as stopped:
            refusals.is_late(str(stopped), "")
        return (yield)


_OUTPUT: Final = "converse_late_refusals"
"""The key of the refusals in xdist's `workeroutput`, which a worker sends to the controller."""


class LateRefusals:
    """The hooks for calls that were refused after their fake had closed, and for those of workers that nobody asked.

    A call of a thread whose test still runs fails this test. All other calls fail the run.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: list[str] = []
        self._session: pytest.Session | None = None
        run = ExitStack()
        run.enter_context(refusals.of_a_run())
        config.add_cleanup(run.close)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Step:
        """Set the running test."""
        with refusals.during(item.nodeid):
            return (yield)

    def checks(self, item: pytest.Item, error: BaseException | None) -> Iterable[Check]:
        """Return the check that raises the first late refusal of the running test. It follows those of the fakes."""
        yield partial(_check_late, item.nodeid)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Step:
        """Fail the run if a call was refused that has failed no test."""
        output: dict[str, object] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = self._told
        self._session = session
        self._take()
        return (yield)

    def _take(self) -> None:
        self._told += [*refusals.pop_late(), *refusals.of_others()]
        passed = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self._told and self._session is not None and self._session.exitstatus in passed:
            self._session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the refusals from the output of an xdist worker that has ended."""
        self._told += getattr(node, "workeroutput", {}).pop(_OUTPUT, [])

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the refused calls that have failed no test, also those that came while the summary was printed."""
        self._take()
        if self._told:
            terminalreporter.section("converse guard")
            for message in dict.fromkeys(self._told):
                terminalreporter.line(message)


def _check_late(test: str, error: BaseException | None) -> None:
    __tracebackhide__ = True
    if refusals.forget(str(error)):
        return
    late = refusals.pop_late(test)
    if late:
        from converse_harness.errors import BlockedConnection

        raise BlockedConnection(late[0]) from error
