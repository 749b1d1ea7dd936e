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
from types import FrameType, ModuleType
from typing import Any, Final, Literal, cast

import pytest

from converse_harness import notes
from converse_harness.intercept.observers import replacing
from converse_harness.plugin.quick import without_waits_of_tenacity
from converse_harness.plugin.settings import ONCE_MORE
from converse_harness.plugin.watch import Watch

_When = Literal["setup", "call", "teardown"]

LogLine = tuple[str, int, str]
"""A logger's name, a level, and a message without its arguments."""

_NOT_REPORTS: Final = ("asyncio", "py.warnings")
"""Loggers whose messages come from the interpreter, for example about a task that was never awaited."""

_EVERY: Final = 0.5
"""Seconds between two attempts to end a test that catches the first exception."""


class Stopped(BaseException):
    """Raised in a test that takes longer than its limit."""


@dataclass(slots=True, eq=False)
class Rerun:
    """The result of a rerun.

    `error` ended the run in the phase `when` ("setup", "call" or "teardown"); it is None if the test passed or was
    skipped. `logs` contains the log lines at WARNING and above, warnings of the category UserWarning, and exceptions
    that ended a thread. `seconds` is the duration of the run, and `asleep` is the part of it in which this process was
    idle. `stopped`: the run exceeded its limit and was ended.
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


class _Lines(logging.Handler):
    """Collects log lines."""

    def __init__(self, lines: list[LogLine]) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, without its arguments: they may contain ids and times."""
        if record.name not in _NOT_REPORTS:
            self._lines.append((record.name, record.levelno, str(record.msg)))


@contextmanager
def unseen(config: pytest.Config) -> Generator[None, None, None]:
    """Context manager for reruns: nothing in its block is recorded, reported live, or written into junit.xml."""
    option = config.option
    record, option.converse_record = option.converse_record, "none"
    with ExitStack() as stack:
        stack.callback(setattr, option, "converse_record", record)
        stack.enter_context(notes.set_aside())
        live: Any = getattr(config.pluginmanager.getplugin("logging-plugin"), "log_cli_handler", None)
        if isinstance(live, logging.Handler):
            live.addFilter(_nothing)
            stack.callback(live.removeFilter, _nothing)
        for plugin in config.pluginmanager.get_plugins():
            if type(plugin).__module__ == "_pytest.junitxml":  # fixtures of tests change its data
                stack.enter_context(_kept(plugin, "global_properties", "node_reporters", "node_reporters_ordered"))
        yield


def _nothing(_: logging.LogRecord) -> bool:
    return False


@contextmanager
def _kept(owner: Any, *names: str) -> Generator[None, None, None]:
    """Context manager: restores the owner's lists and dicts of these names at the end of its block."""
    before = {name: getattr(owner, name).copy() for name in names if hasattr(owner, name)}
    try:
        yield
    finally:
        for name, value in before.items():
            getattr(owner, name).clear()
            if isinstance(value, list):
                getattr(owner, name).extend(value)
            else:
                getattr(owner, name).update(value)


def rerun(item: pytest.Item, watch: Watch, *, limit: float | None = None) -> Rerun:
    """Run a test once more, with fresh function-scoped fixtures, and return what happened.

    After `limit` seconds the test is ended, if the platform has the signal SIGALRM. Raises KeyboardInterrupt and
    pytest's own exit.
    """
    run = Rerun(watch)
    started, worked = time.monotonic(), time.process_time()
    with ExitStack() as stack:
        stack.enter_context(item.config.stash[ONCE_MORE](item))
        stack.enter_context(_kept(item, "user_properties", "_report_sections"))
        stack.enter_context(_without_tracebacks(item))
        stack.enter_context(_logs(run.logs))
        stack.enter_context(_warnings(item, run.logs))
        stack.enter_context(replacing(watch))
        stack.enter_context(without_waits_of_tenacity())
        _run_phases(item, run, limit)
    run.seconds = time.monotonic() - started
    run.asleep = max(0.0, run.seconds - (time.process_time() - worked))
    notes.take()
    return run


def close(item: pytest.Item, following: pytest.Item | None) -> None:
    """Tear down the fixtures of wider scopes that the test `following` does not share; all of them if it is None."""
    state: Any = getattr(item.session, "_setupstate", None)
    if state is not None:
        with suppress(Exception, pytest.fail.Exception, pytest.skip.Exception):  # the normal runs report them
            state.teardown_exact(following)


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
    """Run one phase; return whether it passed. An earlier phase's error is kept."""
    calls: type[pytest.CallInfo[object]] = pytest.CallInfo
    call = calls.from_call(
        lambda: hook(item=item, **more), when=when, reraise=(KeyboardInterrupt, pytest.exit.Exception)
    )
    if call.excinfo is not None and isinstance(call.excinfo.value, Stopped):
        run.stopped = True
        return False
    # unittest's tests keep their errors until a report is made.
    report: pytest.TestReport = _report_of_pytest(item)(item=item, call=call)
    if report.skipped:
        run.skipped = True
    elif report.failed and run.error is None:
        run.error, run.when = call.excinfo and call.excinfo.value, when
    return report.passed


def _report_of_pytest(item: pytest.Item) -> Any:
    """Return the hook that makes a report, with pytest's own implementations only: pytest's fixtures need them."""
    plugins = item.config.pluginmanager
    others = [each for each in plugins.get_plugins() if not _name_of(each).startswith("_pytest.")]
    return plugins.subset_hook_caller("pytest_runtest_makereport", others)


def _name_of(plugin: object) -> str:
    return plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__


@contextmanager
def _without_tracebacks(item: pytest.Item) -> Generator[None, None, None]:
    """Context manager: reports of the item contain no text, because making the text is slow and nobody reads it."""
    names = ("repr_failure", "_repr_failure_py")
    vars(item).update(dict.fromkeys(names, _no_text))
    try:
        yield
    finally:
        for name in names:
            vars(item).pop(name, None)


def _no_text(*_: object, **__: object) -> str:
    return ""


@contextmanager
def _logs(lines: list[LogLine]) -> Generator[None, None, None]:
    handler = _Lines(lines)
    loggers = [logging.getLogger()]
    loggers += [
        each
        for each in logging.Logger.manager.loggerDict.values()
        if isinstance(each, logging.Logger) and not each.propagate
    ]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


@contextmanager
def _warnings(item: pytest.Item, lines: list[LogLine]) -> Generator[None, None, None]:
    """Apply the warning filters of the run and of the test, as pytest does around a test; store the shown warnings."""
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
    """Whether a warning is about the code under test; of pytest's own, only the one about an exception in a thread."""
    ours = issubclass(category, pytest.PytestWarning)
    return not ours or issubclass(category, pytest.PytestUnhandledThreadExceptionWarning)


@contextmanager
def _limited(seconds: float | None) -> Generator[None, None, None]:
    """Context manager: raises Stopped in its block after this time, repeatedly until the block ends."""
    timer = getattr(signal, "setitimer", None)
    if seconds is None or timer is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def stop(_: int, __: FrameType | None) -> None:
        if armed:
            raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, _EVERY)
    try:
        yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
