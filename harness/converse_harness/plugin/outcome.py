"""The life of a test in four phases: setup, call, teardown, report. Only this module decides a test's outcome.

A test fails once, in the phase in which the problem occurs. So the order in which hooks are registered does not matter:

1. Setup: the test's marker is checked and its recording opened, before any fixture. The fixtures make the test's fakes.
2. Call: the test function runs. Then everything in the list ASKED is asked for checks, and a check fails the test.
3. Teardown: the fixtures end, then the recording is written. An error of a fixture or of the recording fails the phase.
4. Report, after each phase: the problem of a failed phase is shown at the user's line, with calls and notes.

In phases 1 to 3, the setting `guard` fails a phase that called Bedrock, even if other code caught the guard's error.
All but the hooks below is in other plugins of pytest, each in its module: `fakes` and `reporting` in every run, `guard`
with its setting, `recording.hooks` from the first test with a recording on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from typing import Final

import pytest

from converse_harness.features import functions_marked
from converse_harness.plugin import settings

Step = Generator[None, object, object]
"""The return type of a hook wrapper. The wrapped hooks run at its `yield`."""

Check = Callable[[BaseException | None], object]
"""A check at the end of the call phase: it gets the earlier error, and raises the problem that must fail the test."""

Checks = Callable[[pytest.Item, BaseException | None], Iterable[Check]]
"""Returns the checks for a test whose function raised an error; None if it returned."""

ASKED: Final = pytest.StashKey[list[Checks]]()
"""The key under which the stash of the pytest config holds the functions that are asked for checks, in this order: the
test's fakes, its notes, and whether it needed the stream that its case is about."""


_ENDINGS: Final = (pytest.skip.Exception, pytest.xfail.Exception)
"""The exceptions with which a test ends neither passed nor failed."""


class Phases:
    """The hooks of the four phases of a test, in the order in which pytest calls them."""

    # 1. Setup

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Check the test's marker `converse`, and open the test's recording, before any fixture is set up.

        pytest has already skipped tests with a skip marker, and a conftest.py those that its own hook skips.
        """
        __tracebackhide__ = True
        if item.get_closest_marker("converse") is not None:
            for function in functions_marked(settings.marked_with(item)):
                function(item)
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
        except (Exception, pytest.fail.Exception, pytest.skip.Exception, SystemExit) as error:
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
        for check in [check for checks in item.config.stash[ASKED] for check in checks(item, error)]:
            try:
                check(problem or error)
            except Exception as found:  # noqa: BLE001 - any exception fails the test
                problem = found.with_traceback(None)
        if error is None and problem is not None and isinstance(problem.__cause__, _ENDINGS):
            raise problem.__cause__  # a function of the script skipped the test, and the code under test caught that
        if problem is not None and not isinstance(error, pytest.xfail.Exception):
            from converse_harness.plugin.frames import fail

            fail(problem, error, full=bool(item.config.getoption("fulltrace", False)), test=getattr(item, "obj", None))

    # 3. Teardown: nothing is asked. A problem that a fixture causes now is an error of this fixture.

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
