"""The hooks of budgets: they count the calls of a test that has a budget, and write the file of `--converse-costs`."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import pytest

from converse_harness.errors import Argument, ReplyError
from converse_harness.features.budgets.budget import OF_TEST, check_budget
from converse_harness.features.budgets.costs import CostsOfTest, write_costs
from converse_harness.features.budgets.counts import BudgetCount
from converse_harness.features.budgets.limits import BudgetLimits, check_limits, limits_in
from converse_harness.intercept.observers import watching
from converse_harness.notes import hand_in
from converse_harness.plugin.outcome import ASKED, Check, Step
from converse_harness.plugin.report import masked
from converse_harness.plugin.settings import CHANGED

_PLUGIN: Final = "converse_budgets"
"""The name under which BudgetHooks is registered as a plugin of pytest."""

_COSTS: Final = "converse_costs"
"""The name of the user property in a test's teardown report that contains what the test costs."""

_LIMITS: Final = pytest.StashKey[BudgetLimits]()
"""The key under which the stash of a test contains the limits of its markers."""

_COUNT: Final = pytest.StashKey[BudgetCount]()
"""The key under which the stash of a test contains its count, from its call phase to the end of its teardown."""

_MARKER: Final = Argument("@pytest.mark.converse", "budget")

_ENDINGS: Final = (pytest.skip.Exception, pytest.xfail.Exception)


def limit_test(item: pytest.Item) -> None:
    """Read the budgets in the markers of a test, and see that its calls are counted.

    A marker that is closer to the test has priority, key by key. Raises UsageError for a wrong budget.
    """
    __tracebackhide__ = True
    found: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("converse"))):
        if "budget" in marker.kwargs:
            try:
                found |= check_limits(marker.kwargs["budget"], _MARKER)
            except ReplyError as error:
                raise pytest.UsageError(str(error)) from None
    item.stash[_LIMITS] = cast("BudgetLimits", found)
    plugins = item.config.pluginmanager
    if not plugins.has_plugin(_PLUGIN):
        plugins.register(BudgetHooks(item.config), _PLUGIN)


class BudgetHooks:
    """The hooks that count the calls of tests. Raises UsageError for a wrong ini setting or option."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._costs: dict[str, object] = {}
        option = config.getoption("converse_costs")
        self._path: Path | None = config.invocation_params.dir / str(option) if option else None
        if self._path is not None and (self._path.is_dir() or not self._path.parent.is_dir()):
            raise pytest.UsageError(f"--converse-costs={option}: it names a file, in a folder that is there.")
        try:
            self._limits = limits_in(config.getini("converse_budget"))
        except ReplyError as error:
            raise pytest.UsageError(f"converse_budget: {error}") from None
        config.stash[ASKED].append(self.checks)

    def _limits_of(self, item: pytest.Item) -> BudgetLimits:
        own = item.stash.get(_LIMITS, BudgetLimits())
        return cast("BudgetLimits", {**self._limits, **own})

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Step:
        """Count the calls while the test function runs.

        `trylast` makes this the innermost wrapper, so that a note comes before the checks of the test's notes.
        """
        __tracebackhide__ = True
        limits = self._limits_of(item)
        # A rerun with a fault is another test: its agent may ask more.
        if not (limits or self._path) or item.config.stash.get(CHANGED, False):
            return (yield)
        count = item.stash[_COUNT] = BudgetCount()
        try:
            with watching(count.stage):
                return (yield)
        finally:
            if limits.get("rewrites") is not None:
                hand_in(count.cache_notes)

    def checks(self, item: pytest.Item, error: BaseException | None) -> Iterable[Check]:
        """Return the check of the test's budget. A test that was skipped has none."""
        count, limits = item.stash.get(_COUNT, None), self._limits_of(item)
        if count is not None and limits and not isinstance(error, _ENDINGS):
            yield partial(check_budget, count, limits, OF_TEST)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add what the test costs to its teardown report, and forget its calls."""
        report = yield
        if call.when == "teardown" and (count := item.stash.get(_COUNT, None)) is not None:
            del item.stash[_COUNT]
            if self._path is not None and count.calls:
                report.user_properties.append((_COSTS, CostsOfTest.of(count).as_json))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test costs; with xdist, it comes from a worker."""
        for name, value in report.user_properties:
            if (name, report.when) == (_COSTS, "teardown"):
                self._costs[masked(report.nodeid)] = value

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the file, also if tests failed. A worker of xdist writes none."""
        if self._path is not None and not hasattr(self._config, "workerinput"):
            try:
                write_costs(self._path, self._costs)
            except OSError as error:
                raise pytest.UsageError(f"--converse-costs={self._path}: {error.strerror or error}") from error
