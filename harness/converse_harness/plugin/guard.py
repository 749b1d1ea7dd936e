"""pytest: the guard of the whole session, for `converse_guard = session`."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

import pytest

from converse_harness.plugin.settings import GROUP, guard_of

if TYPE_CHECKING:
    from converse_harness.intercept.guard import SessionGuard

_GUARD: Final = pytest.StashKey["SessionGuard"]()

_MEANING: Final = "session: no host of Bedrock is reached without a fake or a recording, from the first conftest.py on"
_OUTSIDE: Final = pytest.StashKey[str]()
"""What was stopped outside of all tests and modules."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option and its ini setting."""
    group = parser.getgroup(*GROUP)
    group.addoption("--converse-guard", choices=("session", "off"), default=None, help=f"{_MEANING} (default: off)")
    parser.addini("converse_guard", _MEANING, default="off")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Open the guard before any conftest.py is imported."""
    _switch_on(early_config, early_config.known_args_namespace.converse_guard)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Open the guard if the plugin was loaded after the first conftest.py; workers check it from now on."""
    _switch_on(config, config.getoption("--converse-guard"))
    from converse_harness.intercept import pools

    pools.arm()


def _switch_on(config: pytest.Config, option: str | None) -> None:
    chosen = option or config.getini("converse_guard")
    if chosen not in ("session", "off"):
        raise pytest.UsageError(f"converse_guard = {chosen}: it is session or off.")
    if chosen == "session" and _GUARD not in config.stash:
        from converse_harness.intercept import guard as guards

        guard = config.stash[_GUARD] = guards.SessionGuard()
        guard.open()


def _guard(config: pytest.Config) -> SessionGuard | None:
    return config.stash.get(_GUARD, None)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the guard."""
    if _GUARD in config.stash:
        config.stash[_GUARD].close()
        del config.stash[_GUARD]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test through, with its fixtures, if its marker says so."""
    guard = _guard(item.config)
    if guard is None:
        return (yield)
    with guard.during(item.nodeid, off=guard_of(item) == "off"):
        return (yield)


def _checked(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the phase in which a connection was blocked, even if the error was swallowed."""
    __tracebackhide__ = True
    guard = _guard(item.config)
    try:
        result = yield
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
        if guard is not None:
            guard.check(error)
        raise
    if guard is not None:
        guard.check()
    return result


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_checked)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_checked)
pytest_runtest_teardown = pytest.hookimpl(wrapper=True)(_checked)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail the collection of a module that calls Bedrock during import."""
    report = yield
    guard = _guard(collector.config)
    if guard is not None:
        try:
            guard.check()
        except AssertionError as stopped:
            if report.passed:
                report.outcome, report.longrepr, report.result = "failed", str(stopped), []
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run for connections that were blocked outside of tests and modules."""
    guard = _guard(session.config)
    if guard is None:
        return
    try:
        guard.check()
    except AssertionError as stopped:
        session.config.stash[_OUTSIDE] = str(stopped)
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report these connections in the summary."""
    stopped = config.stash.get(_OUTSIDE, None)
    if stopped is not None:
        terminalreporter.section("converse guard")
        terminalreporter.line(stopped)
