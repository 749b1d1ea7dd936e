"""Run a test once more without traces: reports, cache, junit.xml, durations, recordings and exit code do not change.

`unseen(config)` surrounds a series of reruns. `rerun(item, watch)` runs one test with fresh function-scoped fixtures
and returns a Rerun. Fixtures of wider scopes stay set up until `close(item)`, or until a test outside of their scope.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from types import FrameType
from typing import Any, Final, Literal, cast

import pytest

from converse_harness import notes
from converse_harness.intercept.observers import replacing
from converse_harness.plugin.reruns.watch import Watch
from converse_harness.plugin.settings import ONCE_MORE

_When = Literal["setup", "call", "teardown"]

LogLine = tuple[str, int, str]
"""A logger's name, the level of a log line as a number, and its message without arguments."""

_NOT_REPORTS: Final = ("asyncio", "py.warnings")
"""Loggers that are ignored, because their messages come from the interpreter, for example about a task never awaited.
"""

_EVERY: Final = 0.5
"""The number of seconds after which Stopped is raised again in a test that caught it."""


class Stopped(BaseException):
    """Raised in a test that takes longer than its limit."""


@dataclass(slots=True, eq=False)
class Rerun:
    """The result of a rerun.

    `error` ended the run in the phase `when` ("setup", "call" or "teardown"); it is None if the test passed or was
    skipped. `logs` contains the log lines at WARNING and above, warnings of the category UserWarning, and exceptions
    that ended a thread. `seconds` is the duration of the run, and `asleep` is the number of seconds in which this
    process was idle. `stopped` is true if the run exceeded its limit and was ended.
    """

    watch: Watch
    error: BaseException | None = None
    when: str = ""
    skipped: bool = False
    stopped: bool = False
    seconds: float = 0.0
    asleep: float = 0.0
    logs: list[LogLine] = field(default_factory=list[LogLine])

    @property
    def passed(self) -> bool:
        """Whether the test passed in all phases."""
        return self.error is None and not self.skipped and not self.stopped


class _LogLines(logging.Handler):
    """Appends each log line at WARNING or above to a list, except those of `_NOT_REPORTS`."""

    def __init__(self, lines: list[LogLine]) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Append the logger's name, the level, and the message without arguments, since these may be ids and times."""
        if record.name not in _NOT_REPORTS:
            self._lines.append((record.name, record.levelno, str(record.msg)))


@contextmanager
def unseen(config: pytest.Config) -> Generator[None, None, None]:
    """Context manager for reruns: no calls are recorded, and pytest's live log and junit.xml get nothing."""
    with pytest.MonkeyPatch.context() as patch, notes.set_aside():
        patch.setattr(config.option, "converse_record", "none")
        live: Any = getattr(config.pluginmanager.getplugin("logging-plugin"), "log_cli_handler", None)
        if isinstance(live, logging.Handler):
            patch.setattr(live, "filters", [_refuse])
        for plugin in config.pluginmanager.get_plugins():
            # fixtures of tests, such as record_property, change the data of this plugin
            if type(plugin).__module__ == "_pytest.junitxml":
                _use_copies(patch, plugin, "global_properties", "node_reporters", "node_reporters_ordered")
        yield


def _refuse(_: logging.LogRecord) -> bool:
    return False


def _use_copies(patch: pytest.MonkeyPatch, owner: Any, *names: str) -> None:
    """Replace the lists and dicts `names` of `owner` by copies until `patch` is undone. Reruns change the copies."""
    for name in names:
        if hasattr(owner, name):
            patch.setattr(owner, name, getattr(owner, name).copy())


def rerun(item: pytest.Item, watch: Watch, *, limit: float | None = None) -> Rerun:
    """Run a test once more, with fresh function-scoped fixtures, and return what happened.

    After `limit` seconds the test is ended, if the platform has the signal SIGALRM. Raises KeyboardInterrupt and
    pytest's own exit.
    """
    run = Rerun(watch)
    started, worked = time.monotonic(), time.process_time()
    with ExitStack() as stack:
        stack.enter_context(item.config.stash[ONCE_MORE](item))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        _use_copies(patch, item, "user_properties", "_report_sections")
        for name in ("repr_failure", "_repr_failure_py"):  # to make the text of a failure is slow, and nobody reads it
            patch.setitem(vars(item), name, _no_text)
        _skip_waits_of_tenacity(patch)
        _collect_logs(run.logs, stack)
        stack.enter_context(_warnings(item, run.logs))
        stack.enter_context(replacing(*watch.stages))
        _run_phases(item, run, limit)
    run.seconds = time.monotonic() - started
    run.asleep = max(0.0, run.seconds - (time.process_time() - worked))
    notes.take()
    return run


def _no_text(*_: object, **__: object) -> str:
    return ""


def _skip_waits_of_tenacity(patch: pytest.MonkeyPatch) -> None:
    """Let tenacity sleep 0 seconds between attempts, in threads and in event loops.

    Before it sleeps, tenacity makes a `DoSleep`, a float of seconds. This class gets a `__new__` that returns 0
    seconds. Open fakes skip the waits of botocore and strands in the same way as in any test.
    """
    sleep: Any = getattr(sys.modules.get("tenacity"), "DoSleep", None)

    def no_seconds(kind: type[float], *_: object) -> float:
        return float.__new__(kind, 0.0)

    if isinstance(sleep, type):
        patch.setattr(sleep, "__new__", no_seconds)


def close(item: pytest.Item, following: pytest.Item | None) -> None:
    """Tear down the fixtures of wider scopes that the test `following` does not share; if it is None, tear down all."""
    session: Any = item.session
    # the normal run of the tests reports such errors
    with suppress(Exception, pytest.fail.Exception, pytest.skip.Exception):
        session._setupstate.teardown_exact(following)


def _run_phases(item: Any, run: Rerun, limit: float | None) -> None:
    if hasattr(item, "_request") and not item._request:
        item._initrequest()  # pytest does the same for a test that runs again
    if isinstance(item.parent, pytest.Class) and item.__dict__.pop("_instance", None) is not None:
        item._obj = None  # a class-based test gets a fresh object
    hook = item.ihook
    with _limited(limit):
        if _phase(item, run, "setup", hook.pytest_runtest_setup):
            _phase(item, run, "call", hook.pytest_runtest_call)
    # The parent is passed in place of the next test, so that all fixtures with a scope wider than the test stay set up.
    with _limited(limit):
        _phase(item, run, "teardown", hook.pytest_runtest_teardown, nextitem=item.parent)
    if hasattr(item, "_request"):
        item._request, item.funcargs = False, None


def _phase(item: pytest.Item, run: Rerun, when: _When, hook: Callable[..., object], **more: Any) -> bool:
    """Run one phase, and return whether it passed. If an earlier phase failed, `run.error` remains its error."""
    kind: type[pytest.CallInfo[object]] = pytest.CallInfo
    ends_all = KeyboardInterrupt, pytest.exit.Exception
    call = kind.from_call(lambda: hook(item=item, **more), when=when, reraise=ends_all)
    if call.excinfo is not None and isinstance(call.excinfo.value, Stopped):
        run.stopped = True
        return False
    # A unittest test hands its errors over only when a report is made. Only plugins of pytest make this report, because
    # other plugins must not see a rerun.
    plugins = item.config.pluginmanager
    named = [(getattr(each, "__name__", type(each).__module__), each) for each in plugins.get_plugins()]
    others = [plugin for name, plugin in named if not name.startswith("_pytest.")]
    report: Any = plugins.subset_hook_caller("pytest_runtest_makereport", others)(item=item, call=call)
    if report.skipped:
        run.skipped = True
    elif report.failed and run.error is None:
        run.error, run.when = call.excinfo and call.excinfo.value, when
    return bool(report.passed)


def _collect_logs(lines: list[LogLine], until: ExitStack) -> None:
    """Append the log lines of all loggers to `lines` until the stack `until` is closed."""
    handler = _LogLines(lines)
    for logger in (logging.getLogger(), *logging.Logger.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger) and (logger.parent is None or not logger.propagate):
            logger.addHandler(handler)
            until.callback(logger.removeHandler, handler)


@contextmanager
def _warnings(item: pytest.Item, lines: list[LogLine]) -> Generator[None, None, None]:
    """Apply the warning filters of the run and of the test, as pytest does; append each UserWarning to `lines`."""
    config, pytest_config = item.config, cast("Any", import_module("_pytest.config"))
    with warnings.catch_warnings(record=True) as shown:
        if not sys.warnoptions:
            warnings.filterwarnings("always", category=DeprecationWarning)
            warnings.filterwarnings("always", category=PendingDeprecationWarning)
        given: list[str] = config.known_args_namespace.pythonwarnings or []
        pytest_config.apply_warning_filters(config.getini("filterwarnings"), given)
        for mark in item.iter_markers("filterwarnings"):
            for text in mark.args:
                warnings.filterwarnings(*pytest_config.parse_warning_filter(text, escape=False))
        yield
    lines += [
        (each.category.__name__, logging.WARNING, str(each.message))
        for each in shown or ()
        if issubclass(each.category, UserWarning) and _reports(each.category)
    ]


def _reports(category: type[Warning]) -> bool:
    """Whether a warning is about the code under test.

    Of pytest's own warnings, only the warning about an exception in a thread is about this code.
    """
    ours = issubclass(category, pytest.PytestWarning)
    return not ours or issubclass(category, pytest.PytestUnhandledThreadExceptionWarning)


@contextmanager
def _limited(seconds: float | None) -> Generator[None, None, None]:
    """Context manager that raises Stopped in its block after `seconds`, and then every `_EVERY` seconds.

    It does nothing if `seconds` is None, on Windows, which has no SIGALRM, and outside of the main thread.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def stop(_: int, __: FrameType | None) -> None:
        if armed:
            raise Stopped

    if sys.platform == "win32":
        yield
    else:
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds, _EVERY)
        try:
            yield
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
