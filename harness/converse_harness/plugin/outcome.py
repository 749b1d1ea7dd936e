"""The hooks of the plugin that every run needs, in the order in which pytest calls them.

A test fails once, in the phase in which the problem occurs: `pytest_runtest_call` checks the test's fakes, and a
problem that a fixture causes later is a teardown error. Only this module decides a test's outcome, so that the order in
which hooks are registered does not matter: other objects count, renew values or rerun tests afterwards. A module that
only some runs need is imported by the first hook that needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from converse_harness.plugin import settings
from converse_harness.plugin.attached import attach

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake
    from converse_harness.intercept.guard.session import SessionGuard
    from converse_harness.plugin.recording.run import RecordingRun
    from converse_harness.plugin.recording.tally import Tally
    from converse_harness.server.listener import ConverseServer

HOOKS: Final = pytest.StashKey["Hooks"]()
"""The key of the run's Hooks in the stash of the pytest config."""

Step = Generator[None, object, object]
"""The return type of a hook wrapper. The wrapped hooks run at its `yield`."""

_Report = Generator[None, pytest.TestReport, pytest.TestReport]
_Collected = Generator[None, pytest.CollectReport, pytest.CollectReport]


class Hooks:
    """The hooks of one pytest run, and their state."""

    def __init__(self) -> None:
        self.server: ConverseServer | None = None
        """The server of the fixture `converse_server`; None while it does not run."""
        self.config: pytest.Config
        self._stack = ExitStack()
        """Resources that are closed when the run ends."""
        self._guard: SessionGuard | None = None
        self._outside = ""
        """The guard's error text about a connection outside of tests and imports; "" if it blocked none there."""
        self._tally: Tally | None = None
        self._recording: RecordingRun | None = None
        """The recording of the running test; None if the test has none."""
        self._keeps_patches = False
        self._closed = settings.closed_fakes()
        """The number of fakes that had been closed when the latest test began."""
        self._reruns = False

    # pytest calls the following hooks at the beginning of the run.

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        """If the setting `guard` is "session", block calls to Bedrock before pytest imports any conftest.py."""
        self._begin(early_config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Check the settings, and register the markers and further hooks. Raises UsageError for an invalid setting."""
        self._begin(config)  # needed if pytest loaded this plugin too late for the hook above
        from converse_harness.intercept.guard import workers

        workers.arm()
        notes = sys.modules.get("converse_harness.notes")  # None unless a pytest run around this one loaded the module
        if notes is not None:
            self._stack.enter_context(notes.set_aside())
        settings.check_run(config)
        for marker in settings.MARKERS:
            config.addinivalue_line("markers", marker)
        # The Tally registers the recordings of all tests. It is needed if tests may record, or if unused recordings may
        # exist.
        records = settings.chosen(config, "record") != "none"
        if records or config.getini("converse_redact") or settings.folder(config).is_dir():
            self._count_recordings()
        attach(config)

    def _begin(self, config: pytest.Config) -> None:
        self.config = config
        config.stash[HOOKS], config.stash[settings.ONCE_MORE] = self, self.once_more
        if self._guard is None and settings.chosen(config, "guard") == "session":
            from converse_harness.intercept.guard.session import SessionGuard

            self._guard = SessionGuard()
            self._guard.open()
            self._stack.callback(self._guard.close)
            config.add_cleanup(self._stack.close)  # closes the stack also if the run ends before pytest_configure

    def _count_recordings(self) -> Tally:
        if self._tally is None:
            from converse_harness.plugin.recording.tally import TALLY, Tally

            self._tally = Tally(self.config)
            self.config.pluginmanager.register(self._tally, TALLY)
        return self._tally

    def pytest_report_header(self, config: pytest.Config) -> str | None:
        """Add the record mode to pytest's header if this run can record."""
        mode = settings.chosen(config, "record")
        if mode == "none":
            return None
        return f"converse-harness: {settings.record_setting(config)} ({settings.OF_RUN['record'][1][mode]})"

    # pytest calls the following hooks while it collects tests.

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> _Collected:
        """Fail the collection of a module that calls Bedrock while pytest imports it."""
        report = yield
        try:
            self._check_guard()
        except AssertionError as stopped:
            if report.passed:
                report.outcome, report.longrepr, report.result = "failed", str(stopped), []
        return report

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """If a test uses a fixture `converse_each_...`, run the test once for each case or variant of this fixture."""
        if any(name.startswith("converse_each_") for name in metafunc.fixturenames):
            from converse_harness.plugin.parameters import parametrize

            parametrize(metafunc)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """If pytest-run-parallel is loaded, keep a test in one thread if its fake serves the whole process."""
        if any(map(config.pluginmanager.hasplugin, settings.PARALLEL)):
            from converse_harness.plugin.parameters import in_one_thread

            in_one_thread(items)

    # pytest calls the following hooks for the setup, the call (with the check of the fakes) and the teardown of a test.

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Step:
        """Let a test and its fixtures call the real Bedrock if the test's marker `converse` has `guard="off"`."""
        self._closed = settings.closed_fakes()
        if (secrets := sys.modules.get("converse_harness.secrets.process")) is not None:
            secrets.forget_environ()
        if self._guard is None:
            return (yield)
        with self._guard.during(item.nodeid, off=settings.of_test(item, "guard", None) == "off"):
            return (yield)

    @contextmanager
    def once_more(self, item: pytest.Item) -> Generator[None, None, None]:
        """Context manager in which a test runs again, outside of pytest's protocol and without writing a recording."""
        self._reruns = True
        try:
            yield from self.pytest_runtest_protocol(item)
        finally:
            self._reruns = False

    @pytest.hookimpl(wrapper=True, specname="pytest_runtest_setup")
    def pytest_guarded_phase(self) -> Step:
        """Fail a phase of a test if the guard blocked a connection in it, even if other code caught the guard's error.

        pytest calls this method as the hook `pytest_runtest_setup`. The hooks of the other phases call it themselves.
        """
        __tracebackhide__ = True
        try:
            result = yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            self._check_guard(error)
            raise
        self._check_guard()
        return result

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Check the test's marker `converse`, and open the test's recording, before any fixture is set up.

        pytest has already skipped tests with a skip marker.
        """
        __tracebackhide__ = True
        if item.get_closest_marker("converse") is not None:
            settings.marked_with(item)
        if item.get_closest_marker(settings.MARKER) is not None:
            from converse_harness.plugin.recording.run import begin

            self._recording = begin(item, self._count_recordings())

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, request: Any) -> None:
        """Play or record from a test's first function-scoped fixture on. Choose the settings of fakes on the server."""
        if self._recording is not None and request.scope == "function":
            self._recording.answer()
        if self.server is not None:
            self.server.settings = settings.settings_of(request.node)

    def adopt(self, item: pytest.Item, fake: Fake) -> None:
        """Register the fake that a fixture made for a test, so that the problems of the fake fail the test.

        If the test has the marker `converse_recording`, the fake also plays or records.
        """
        settings.own_fakes(item).append(fake)
        if self._recording is not None:
            self._recording.give(fake)
        if not self._keeps_patches and settings.chosen(self.config, "patches") == "session":
            from converse_harness.intercept.registry import OPEN_FAKES

            self._keeps_patches = True
            OPEN_FAKES.keep_patches(self)
            self._stack.callback(OPEN_FAKES.drop_patches, self)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Step:
        """Check the fakes after the test function. A problem fails the call phase, but not the teardown."""
        __tracebackhide__ = True
        if self._recording is not None:
            self._recording.answer()  # opens a fake for a test without function-scoped fixtures
        before = settings.open_fakes()
        if self.server is not None:
            self.server.settings = settings.settings_of(item)
            self.server.recent.clear()
        try:
            result = yield from self.pytest_guarded_phase()
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            self._check_fakes(item, before, error)
            raise
        self._check_fakes(item, before, settings.kept_error(item))
        return result

    def _check_fakes(self, item: pytest.Item, before: Mapping[Fake, int], error: BaseException | None) -> None:
        """Raise the problem that the fakes found, if any.

        Skip the test if it called only Converse, and its case of `converse_each_case` needs a stream.
        """
        __tracebackhide__ = True
        problem = self._problem(item, before, error)
        if "converse_each_case" in getattr(item, "fixturenames", ()):
            from converse_harness.errors import UnusedReplies
            from converse_harness.plugin.parameters import skip_where_only_streams

            if isinstance(problem or error, UnusedReplies | None):
                skip_where_only_streams(item)
        if problem is not None and not isinstance(error, pytest.xfail.Exception):
            from converse_harness.plugin.frames import fail

            fail(problem, error, full=bool(item.config.getoption("fulltrace", False)), test=getattr(item, "obj", None))

    def _problem(self, item: pytest.Item, before: Mapping[Fake, int], error: BaseException | None) -> Exception | None:
        """Check all fakes, and return the last problem that must fail the test; None if there is none.

        All fakes are checked even after a problem, so that no fake reports a problem later. The fakes of the test's
        fixtures, and the fakes that the test left open on the server, are checked completely. Fakes of a wider scope
        are checked only for problems with this test's calls, because their replies may be for other tests.
        """
        own = settings.own_fakes(item)
        left = [] if self.server is None else [fake for fake in self.server.fakes if fake not in before]
        for fake in left:
            fake.close()
        left_early = isinstance(error, pytest.skip.Exception | pytest.xfail.Exception)
        checking: list[Callable[[BaseException | None], None]] = []
        checking += [fake.check for fake in (*own, *left) if not left_early]
        checking += [partial(fake.core.check_problems, since=had) for fake, had in before.items() if fake not in own]
        if "converse_harness.notes" in sys.modules:
            from converse_harness.plugin.report import check_notes

            checking.append(partial(check_notes, item))
        last: Exception | None = None
        for check in checking:
            try:
                check(last or error)
            except Exception as problem:  # noqa: BLE001 - any exception fails the test
                last = problem.with_traceback(None)
        return last

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Step:
        """Write the recording after the last fixture has ended. If it cannot be written, the teardown fails."""
        __tracebackhide__ = True
        try:
            result = yield from self.pytest_guarded_phase()
        except Exception:
            self._end_recording(failed=True)
            raise
        finally:
            settings.own_fakes(item).clear()  # the fakes are not needed any more; a rerun of the test makes new ones
        self._end_recording()
        return result

    def _end_recording(self, *, failed: bool = False) -> None:
        recording, self._recording = self._recording, None
        if recording is not None and not self._reruns:
            recording.end(failed=failed)

    def _check_guard(self, error: BaseException | None = None) -> None:
        __tracebackhide__ = True
        if self._guard is not None:
            self._guard.check(error)

    # pytest calls the following hooks for the reports of a test's phases.

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_runtest_makereport")
    def pytest_runtest_makereport_of_recording(self, call: pytest.CallInfo[None]) -> _Report:
        """Note in the RecordingRun that a phase failed, and add advice to errors such as missing credentials."""
        recording = self._recording
        if recording is not None and call.excinfo is not None:
            recording.advise(call, call.excinfo.value)
        report = yield
        # The recording of a test that fails as expected (xfail) is valid.
        if recording is not None and not report.passed and not hasattr(report, "wasxfail"):
            recording.passed = False
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> _Report:
        """Add the calls to the report of a failed test, and the notes of every test to the teardown report."""
        if call.excinfo is not None and "converse_harness.errors" in sys.modules:
            from converse_harness.plugin.frames import hide_own, replace_kept_error

            hide_own(call.excinfo, item)
            replace_kept_error(item, call)
        report = yield
        if "converse_harness.intercept.fake" in sys.modules:
            from converse_harness.plugin.report import complete

            complete(report, item, [] if self.server is None else [*self.server.recent])
        return report

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Explain a failed `==` on a fake's cache rewrites, where pytest would show the difference of two tuples."""
        module: Any = sys.modules.get("converse_harness.endpoint.prompt_cache.rewrites")
        if module is None or op != "==":
            return None
        found: Any = next((each for each in (left, right) if isinstance(each, module.Rewrites)), None)
        return [f"{left!r} == {right!r}", *found.explain()] if found else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Mask secrets in a test's report, after other plugins have added to it. With xdist, the worker does this."""
        if self._fakes_were_open() and any(getattr(report, part, None) for part in _TEXTS):
            from converse_harness.plugin.report import mask

            mask(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: Any) -> None:
        """Mask secrets in a warning from the latest test."""
        if self._fakes_were_open():
            from converse_harness.plugin.report import masked

            text = str(warning_message.message)
            without_secrets = masked(text)
            if without_secrets != text:
                warning_message.message = without_secrets

    def _fakes_were_open(self) -> bool:
        """Whether a fake was open during the latest test."""
        module = sys.modules.get("converse_harness.intercept.fake")
        return module is not None and module.times_opened() > self._closed

    # pytest calls the following hooks at the end of the run.

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Step:
        """Fail the run if the guard blocked a connection outside of tests and imports. Then finish the recordings.

        The recordings are finished after pytest has torn down the last fixtures.
        """
        try:
            self._check_guard()
        except AssertionError as stopped:
            self._outside = str(stopped)
            if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        try:
            return (yield)
        finally:
            self._end_recording(failed=True)  # an interrupted test has left its recording open
            if self._tally is not None:
                self._tally.send_facts()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print notes, verdicts of contracts, requests that differ from recordings, and the guard's error text."""
        reports = [report for each in terminalreporter.stats.values() for report in each]
        properties = {name for report in reports for name, _ in getattr(report, "user_properties", ())}
        if not properties.isdisjoint({settings.NOTE, settings.STALE, settings.VERDICT}):
            from converse_harness.plugin.report import summarise

            summarise(terminalreporter, reports)
        if self._outside:
            terminalreporter.section("converse guard")
            terminalreporter.line(self._outside)

    def pytest_unconfigure(self) -> None:
        """Close the guard, restore botocore, and restore the notes of an outer pytest run."""
        self._stack.close()


_TEXTS: Final = ("longrepr", "sections", "user_properties", "wasxfail", "context")
"""The attributes of a report that may contain a secret. Only the report of a subtest has `context`."""
