"""The hooks that complete pytest's reports and mask secrets in them. They import `report` when there is a fake."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, Final

import pytest

from converse_harness.plugin import settings
from converse_harness.plugin.outcome import Check, Step

REPORTING: Final = "converse_reporting"
"""The name under which a run's Reporting is registered as a plugin of pytest."""

_TEXTS: Final = ("longrepr", "sections", "user_properties", "wasxfail", "context")
"""The attributes of a report that may contain a secret. Only the report of a subtest has `context`."""


_NOWHERE: Final = os.path.abspath(os.devnull)
"""The file of pytest's handler for log_file if the run has no such file."""


class Reporting:
    """The hooks that add notes, mask secrets, explain values, and print the summary of notes and verdicts."""

    def __init__(self) -> None:
        self._closed = _closed_fakes()
        """The number of fakes that had been closed when the latest test began."""

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Mask secrets in the live log (log_cli) and in the file log_file, if the run has them."""
        plugin: Any = session.config.pluginmanager.get_plugin("logging-plugin")
        # The two handlers are not public in pytest. Without them, these logs are as pytest writes them.
        handlers: list[Any] = [getattr(plugin, name, None) for name in ("log_cli_handler", "log_file_handler")]
        for handler in handlers:
            is_off = isinstance(handler, logging.NullHandler) or getattr(handler, "baseFilename", "") == _NOWHERE
            if isinstance(handler, logging.Handler) and not is_off:
                inner = handler.formatter or logging.Formatter()
                handler.setFormatter(_MaskedLog(inner, self._fakes_were_open))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> Step:
        """Mask secrets in the ids of a test's parameters, after all other hooks have added parameters."""
        result = yield
        # `_calls` is not public in pytest. The public hook pytest_make_parametrize_id does not see ids that the user
        # gave.
        calls: list[Any] = getattr(metafunc, "_calls", [])
        if calls:
            from converse_harness.plugin.names import mask_ids

            mask_ids(metafunc, calls)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Step:
        """Forget the fakes and the secrets of earlier tests."""
        self._closed = _closed_fakes()
        if (secrets := sys.modules.get("converse_harness.secrets.process")) is not None:
            secrets.forget_environ()
        return (yield)

    def checks(self, item: pytest.Item, error: BaseException | None) -> Iterable[Check]:
        """Return the check of the test's notes. It follows those of the fakes, which hand in the notes."""
        if "converse_harness.notes" in sys.modules:
            from converse_harness.plugin.report import check_notes

            yield partial(check_notes, item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the notes of every test to the teardown report."""
        report = yield
        if "converse_harness.intercept.fake" in sys.modules:
            from converse_harness.plugin.report import add_notes

            add_notes(report, item)
        return report

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Explain a failed `==` on a value that has an explanation, where pytest would show a difference of tuples."""
        errors: Any = sys.modules.get("converse_harness.errors")
        if errors is None or op != "==":
            return None
        found: Any = next((each for each in (left, right) if isinstance(each, errors.Explained)), None)
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

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print notes, verdicts of contracts, and requests that differ from recordings."""
        reports = [report for each in terminalreporter.stats.values() for report in each]
        properties = {name for report in reports for name, _ in getattr(report, "user_properties", ())}
        if not properties.isdisjoint({settings.NOTE, settings.STALE, settings.UNKNOWN, settings.VERDICT}):
            from converse_harness.plugin.report import summarise

            summarise(terminalreporter, reports)

    def _fakes_were_open(self) -> bool:
        """Whether a fake was open during the latest test."""
        module = sys.modules.get("converse_harness.intercept.fake")
        return module is not None and module.times_opened() > self._closed


class _MaskedLog(logging.Formatter):
    """The formatter of a log that is written at once: it masks secrets while `is_asked` holds, in the whole line.

    Captured logs are masked in the report of their test. These logs are no part of any report.
    """

    def __init__(self, inner: logging.Formatter, is_asked: Callable[[], bool]) -> None:
        super().__init__()
        self._inner = inner
        self._is_asked = is_asked

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record as the inner formatter makes it, without secrets."""
        text = self._inner.format(record)
        if self._is_asked():
            from converse_harness.plugin.report import masked

            return masked(text)
        return text


def _closed_fakes() -> int:
    """Return the number of fakes that were opened in this process and are closed now."""
    module = sys.modules.get("converse_harness.intercept.fake")
    return 0 if module is None else module.times_opened() - len(module.open_fakes())
