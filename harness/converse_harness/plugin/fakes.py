"""The fakes of the running test: those of its fixtures, those on the server, and those of a wider scope."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from converse_harness.plugin import settings
from converse_harness.plugin.outcome import Check, Step

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake
    from converse_harness.plugin.recording.hooks import RecordedTests
    from converse_harness.server.listener import ConverseServer

FAKES: Final = "converse_fakes"
"""The name under which a run's FakesOfTests is registered as a plugin of pytest."""


_PATCHING: Final = frozenset({"converse", "converse_httpx"})
"""The fixtures whose fakes answer the clients of this process."""


class FakesOfTests:
    """The hooks that give fakes their settings, and the checks of a test's fakes."""

    def __init__(self) -> None:
        self.server: ConverseServer | None = None
        """The server of the fixture `converse_server`; None while it does not run."""
        self._before: Mapping[Fake, int] = {}
        """Maps each fake that was open before the test function began to its number of problems at that time."""
        self._keeps_patches = False

    def adopt(self, item: pytest.Item, fake: Fake) -> None:
        """Register the fake that a fixture made for a test, so that the problems of the fake fail the test.

        If the test has the marker `converse_recording`, the fake also plays or records.
        """
        settings.own_fakes(item).append(fake)
        recorded: RecordedTests | None = item.config.pluginmanager.get_plugin(settings.RECORDED)
        if recorded is not None:
            recorded.give(fake)
        settings.set_environ(item, fake)
        self._keep_patches(item, eager=fake.transport == "boto")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Patch the libraries before the fixtures of the first test that uses a fake.

        So a mock of a fixture is always above the patches, and answers first, whatever the order of the fixtures is.
        """
        for name in _PATCHING.intersection(getattr(item, "fixturenames", ())):
            self._keep_patches(item, eager=name == "converse")

    def _keep_patches(self, item: pytest.Item, *, eager: bool) -> None:
        if not self._keeps_patches and settings.chosen(item.config, "patches") == "session":
            from converse_harness.intercept.registry import OPEN_FAKES

            self._keeps_patches = True
            OPEN_FAKES.keep_patches(self)
            OPEN_FAKES.patch(eager=eager)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, request: Any) -> None:
        """Choose the settings of fakes that a fixture opens on the server."""
        if self.server is not None:
            self.server.settings = settings.settings_of(request.node)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Step:
        """Choose the settings of fakes that the test opens on the server, and note which fakes are open already."""
        __tracebackhide__ = True
        self._before = _open_fakes()
        if self.server is not None:
            self.server.settings = settings.settings_of(item)
            self.server.recent.clear()
        return (yield)

    def checks(self, item: pytest.Item, error: BaseException | None) -> Iterable[Check]:
        """Return the checks of all fakes, after closing the fakes that the test left open on the server.

        The fakes of the test's fixtures, and those left open, are checked completely. Fakes of a wider scope are
        checked only for problems with this test's calls, because their replies may be for other tests.
        """
        own = settings.own_fakes(item)
        left = [] if self.server is None else [fake for fake in self.server.fakes if fake not in self._before]
        for fake in left:
            fake.close()
        if not isinstance(error, pytest.skip.Exception | pytest.xfail.Exception):
            yield from (fake.check for fake in (*own, *left))
        for wider, had in self._before.items():
            if wider not in own:
                yield partial(wider.core.check_problems, since=had)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Step:
        """Forget the test's fakes after the last fixture has ended. A rerun of the test makes new ones."""
        __tracebackhide__ = True
        try:
            return (yield)
        finally:
            settings.own_fakes(item).clear()
            self._before = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the calls to the report of a test whose call phase failed."""
        report = yield
        if report.when == "call" and report.failed and "converse_harness.intercept.fake" in sys.modules:
            from converse_harness.plugin.report import add_calls

            # The calls of the last fake on the server are shown even if the test has closed it.
            add_calls(report, settings.own_fakes(item) + ([] if self.server is None else [*self.server.recent]))
        return report

    def pytest_unconfigure(self) -> None:
        """Restore botocore, if its patches were kept during the run."""
        if self._keeps_patches:
            from converse_harness.intercept.registry import OPEN_FAKES

            OPEN_FAKES.drop_patches(self)


def fakes_of_tests(config: pytest.Config) -> FakesOfTests:
    """Return the FakesOfTests of this run."""
    return cast("FakesOfTests", config.pluginmanager.get_plugin(FAKES))


def _open_fakes() -> Mapping[Fake, int]:
    """Return every open fake with its number of problems so far; {} if the module of fakes was never loaded."""
    module = sys.modules.get("converse_harness.intercept.fake")
    return {} if module is None else module.open_fakes()
