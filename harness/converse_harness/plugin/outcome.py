"""The life of a test in four phases: setup, call, teardown, report. Only this module decides a test's outcome.

A test fails once, in the phase in which the problem occurs: the call phase ends with the checks, and a problem that a
fixture causes later is a teardown error. So the order in which hooks are registered does not matter.

All else that happens in a phase is in the hooks of other objects, each a plugin of pytest:

- `fakes`: the fakes of the running test, and what they must be asked.
- `reporting`: masks, notes and calls in reports.
- `guard`, if the setting `guard` is "session": fails each phase in which it blocked a connection.
- `recording/hooks`, from the first test with a recording on: plays and records.

Such an object is imported by the first hook that needs it, if not every run needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from typing import Final, Protocol

import pytest

from converse_harness.plugin import settings

Step = Generator[None, object, object]
"""The return type of a hook wrapper. The wrapped hooks run at its `yield`."""

Check = Callable[[BaseException | None], object]
"""A check at the end of the call phase: it gets the earlier error, and raises the problem that must fail the test."""


class HasChecks(Protocol):
    """An object or a module that is asked for checks when the test function has ended."""

    def checks(self, item: pytest.Item, error: BaseException | None) -> Iterable[Check]:
        """Return the checks for a test whose function raised `error`; None if it returned."""
        ...


ASKED: Final = pytest.StashKey[list[HasChecks]]()
"""The key under which the stash of the pytest config holds the objects with checks, in the order of the checks."""


class Phases:
    """The hooks of the four phases of a test, in the order in which pytest calls them."""

    # 1. Setup

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Check the test's marker `converse`, and open the test's recording, before any fixture is set up.

        pytest has already skipped tests with a skip marker, and a conftest.py those that its own hook skips.
        """
        __tracebackhide__ = True
        if item.get_closest_marker("converse") is not None:
            settings.marked_with(item)
        if item.get_closest_marker(settings.MARKER) is not None:
            from converse_harness.plugin.recording.hooks import recorded

            recorded(item.config).begin(item)

    # 2. Call

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Step:
        """Run the checks after the test function. A problem fails the call phase, but not the teardown."""
        __tracebackhide__ = True
        try:
            result = yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            self._check(item, error)
            raise
        self._check(item, settings.kept_error(item))
        return result

    def _check(self, item: pytest.Item, error: BaseException | None) -> None:
        """Run all checks, and raise the last problem that one of them raised.

        All are run even after a problem, so that no fake reports a problem later. A check may also skip the test.
        """
        __tracebackhide__ = True
        problem: Exception | None = None
        for check in [check for each in item.config.stash[ASKED] for check in each.checks(item, error)]:
            try:
                check(problem or error)
            except Exception as found:  # noqa: BLE001 - any exception fails the test
                problem = found.with_traceback(None)
        if problem is not None and not isinstance(error, pytest.xfail.Exception):
            from converse_harness.plugin.frames import fail

            fail(problem, error, full=bool(item.config.getoption("fulltrace", False)), test=getattr(item, "obj", None))

    # 3. Teardown: no check. An error of a fixture, of the guard, or of a recording that cannot be written, fails it.

    # 4. Report, after each of the three phases

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show the problem of a failed phase without the frames of this package."""
        if call.excinfo is not None and "converse_harness.errors" in sys.modules:
            from converse_harness.plugin.frames import hide_own, replace_kept_error

            hide_own(call.excinfo, item)
            replace_kept_error(item, call)
        return (yield)
