"""The fakes of the running test: those of its fixtures, those on the server, and those of a wider scope."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from converse_harness.plugin import settings
from converse_harness.plugin.examples import told_of_examples
from converse_harness.plugin.outcome import Check, Step

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake
    from converse_harness.notes import Note
    from converse_harness.plugin.recording.hooks import RecordedTests
    from converse_harness.server.listener import ConverseServer

FAKES: Final = "converse_fakes"
"""The name under which a run's FakesOfTests is registered as a plugin of pytest."""


_MODULE: Final = "converse_harness.intercept.fake"
"""The module of fakes. It is loaded by the first test module or fixture that needs it."""

_SERVERS: Final = "converse_harness.server.listener"
"""The module of servers."""

_ENDINGS: Final = (pytest.skip.Exception, pytest.xfail.Exception)
"""A test that ends with one of these may leave replies unused."""

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
        self._test_runs = False
        self._servers: tuple[str, ...] = ()
        """The URLs of the servers that ran before the test function began."""
        self._of_fixtures: set[Fake] = set()
        """The fakes that the setup of a fixture, a class or a module has opened, and that are still open."""
        self._between: Note | None = None
        """The note about replies that an example of `@given` has left to the next one."""

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

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> Step:
        """Choose the settings of fakes that a fixture opens on the server, and close at its end what it leaves open.

        pytest sets up classes and modules as fixtures. A fixture of which a test asks while it runs may have a wider
        scope: its fake stays open, and awaits no call.
        """
        __tracebackhide__ = True
        if self.server is not None:
            self.server.settings = settings.settings_of(request.node)
        opened: dict[Fake, int] = {}
        fixturedef.addfinalizer(partial(self._close_left, opened))  # as the first one, so it runs after the others
        module, before = sys.modules.get(_MODULE), _open_fakes()
        awaited = module.await_calls(False) if module is not None and self._test_runs else None
        try:
            return (yield)
        finally:
            if module is not None and awaited is not None:
                module.await_calls(awaited)
            now = _open_fakes()
            if now.keys() != before.keys():
                # A fixture that was set up for this one may have a wider scope, and closes its own fakes.
                known = before.keys() | self._of_fixtures
                opened |= {fake: had for fake, had in now.items() if fake not in known}
                self._of_fixtures.update(opened)
                if self._test_runs:
                    self._before = {**self._before, **opened}

    def _close_left(self, opened: Mapping[Fake, int]) -> None:
        """Close and check the fakes that a fixture has opened and left open."""
        __tracebackhide__ = True
        self._of_fixtures.difference_update(opened)
        for fake in opened.keys() & _open_fakes().keys():
            if not self._is_closed_by_others(fake):
                _note([_left_open(repr(fake))], [], None)
                _close(fake, None, None)
                fake.check()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Step:
        """Choose the settings of fakes that the test opens on the server, and note which fakes are open already."""
        __tracebackhide__ = True
        self._before = _open_fakes()
        servers = sys.modules.get(_SERVERS)
        self._servers = () if servers is None else servers.urls_of_servers()
        if self.server is not None:
            self.server.settings = settings.settings_of(item)
            self.server.recent.clear()
        module = sys.modules.get(_MODULE)
        awaited = False if module is None else module.await_calls(_may_await_calls(item))
        self._test_runs = True
        self._between = None
        try:
            with told_of_examples(item, self._examples_left):
                return (yield)
        finally:
            self._test_runs = False
            if module is not None:
                module.await_calls(awaited)

    def _examples_left(self, note: Note) -> None:
        self._between = note

    def checks(self, item: pytest.Item, error: BaseException | None) -> Iterable[Check]:
        """Return the checks of all fakes, after closing the fakes that the test left open.

        The fakes of the test's fixtures, and those left open, are checked completely. Fakes of a wider scope are
        checked only for problems with this test's calls, because their replies may be for other tests.
        """
        own = settings.own_fakes(item)
        on_server = [] if self.server is None else self.server.fakes
        opened = [fake for fake in _open_fakes() if fake not in self._before and fake not in own]
        left = [fake for fake in opened if fake in on_server or not self._is_closed_by_others(fake)]
        texts = {fake: repr(fake) for fake in left if fake not in on_server}
        skipped = isinstance(error, _ENDINGS)
        yield from (partial(_close, fake, error) for fake in left)
        if not skipped:
            yield from (fake.check for fake in (*own, *left))
        for wider, had in self._before.items():
            if wider not in own:
                yield partial(wider.core.check_problems, since=had)
        yield partial(_note, [*map(_left_open, texts.values())], [self._between] if self._between else [])

    def _is_closed_by_others(self, fake: Fake) -> bool:
        """Whether others close a fake of a server: the fixture of the server, or the program that opened it over HTTP.

        Until then it answers only at its own URL.
        """
        return getattr(fake, "in_json", False) or getattr(fake, "url", "-").startswith(self._servers)

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


def is_asked_for(item: pytest.Item, fixture: str | None) -> bool:
    """Whether the test itself has this fixture as a parameter, or the client of its fake. So it expects a call."""
    asked: tuple[str, ...] = getattr(getattr(item, "_fixtureinfo", None), "argnames", ())
    return fixture in asked or (fixture == "converse" and "converse_client" in asked)


def _may_await_calls(item: pytest.Item) -> bool:
    """Whether each fake that opens while the test runs is opened by the test function, and once.

    In a unittest class, setUp may open it for all tests. Under `@given`, some examples need no call.
    """
    given = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return isinstance(item, pytest.Function) and not hasattr(item, "_excinfo") and not given


def _close(fake: Fake, error: BaseException | None, found: BaseException | None) -> None:
    """Close a fake that the test has left open, as the end of its `with` block would have done; do not check it."""
    finish: Any = getattr(fake, "_finish", None)  # a recorder writes what it has, according to the test's outcome
    if finish is None:
        fake.close()
    else:
        finish(error)


def _left_open(fake: str) -> Note:
    from converse_harness.left_behind import LEFT_BEHIND
    from converse_harness.notes import Note

    return Note("left_open", LEFT_BEHIND["left_open"].told(fake=fake), 0)


def _note(always: list[Note], if_passed: list[Note], error: BaseException | None) -> None:
    """Hand in notes: some in any case, the others only if nothing has failed."""
    if always or if_passed:
        from converse_harness.notes import hand_in

        hand_in([*always, *([] if error is not None else if_passed)])


def fakes_of_tests(config: pytest.Config) -> FakesOfTests:
    """Return the FakesOfTests of this run."""
    return cast("FakesOfTests", config.pluginmanager.get_plugin(FAKES))


def _open_fakes() -> Mapping[Fake, int]:
    """Return every open fake with its number of problems so far; {} if the module of fakes was never loaded."""
    module = sys.modules.get(_MODULE)
    return {} if module is None else module.open_fakes()
