"""`--converse-report`: a page of HTML with the calls of the tests that failed.

The process that runs a test makes the HTML of its calls, and pytest's report of the test carries it, also from a worker
of xdist. The controller writes the file, once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

import pytest

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.stage import Stage
from converse_harness.features.report.calls import views_of
from converse_harness.features.report.view.call import call_html, overview_html
from converse_harness.features.report.view.html import Html
from converse_harness.features.report.view.page import FailedTest, ShownFake, ShownTest, report_html
from converse_harness.intercept.observers import watching
from converse_harness.plugin.report import masked
from converse_harness.plugin.settings import own_fakes
from converse_harness.recordings.record.write import write
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.removal import value_without_secrets
from converse_harness.words import and_more, counted

_CALLS: Final = "converse_calls"
"""The name of the attribute in which pytest's report carries the number of calls and the fakes. A user property would
also appear in other reports, such as JUnit's XML."""

_Carried = tuple[int, list[tuple[str, str]]]
"""The value of the attribute `_CALLS`: the number of calls, and a title and HTML for each fake."""

_FIRST_LINES: Final = 12
"""The page shows at most this number of lines of a failure above the calls. The reader can open the rest."""

_CLIENTS: Final[Mapping[str, str]] = {
    "boto": "this process",
    "httpx": "httpx",
    "server": "server",
    "asgi": "ASGI",
}
"""Maps each transport to the name that the page gives to its clients."""


def _check(path: Path, file: str) -> None:
    if not file or path.is_dir():
        raise pytest.UsageError(f"--converse-report={file}: it must be a file, such as report.html.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"its folder cannot be made: {error.strerror or error}"
        raise pytest.UsageError(f"--converse-report={file}: {why}. Name a file in another folder.") from error


class _Watched(Stage):
    """Notes the calls of a fake."""

    def __init__(self, hooks: ReportHooks, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._watch = partial(hooks.watch, endpoint)

    def received(self, call: Call) -> None:
        """Note a call."""
        self._watch(call)


class ReportHooks:
    """The hooks that note the calls of each test, and that write the HTML file.

    The folder of the file is made. Raises UsageError if the folder cannot be made, or if the file is "" or a folder.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._given = str(config.getoption("converse_report"))
        self._path = config.invocation_params.dir / self._given
        if not hasattr(config, "workerinput"):
            _check(self._path, self._given)
        self._is_worker = hasattr(config, "workerinput")
        self._firsts: dict[Endpoint, int] | None = None
        """Maps each fake to the number of the running test's first call to it. Between tests, there is no dict."""
        self._has_failed = False
        """Whether a phase of the running test has failed. Only the report of the first failed phase carries the calls.
        """
        self._failed: dict[str, FailedTest] = {}
        """Maps the node id of each failed test to its failure and its calls."""
        self._ran: dict[str, tuple[str, int]] = {}
        """Maps the node id of each test to its outcome and the number of its calls."""
        self._unordered = False
        """Whether workers of xdist run the tests, so that the tests end in a different order in each run."""
        self._result: tuple[str, bool] = "", False
        """The line for pytest's summary, and whether the file was written."""
        self._watching = ExitStack()
        self._watching.enter_context(watching(partial(_Watched, self)))

    def pytest_unconfigure(self) -> None:
        """Stop watching the calls."""
        self._watching.close()

    def watch(self, endpoint: Endpoint, call: Call) -> None:
        """Note the number of the running test's first call to each fake. Every call to a fake calls this method."""
        if self._firsts is not None:
            self._firsts.setdefault(endpoint, call.number)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Note the calls of one test and of its fixtures."""
        self._firsts, self._has_failed = {}, False
        try:
            return (yield)
        finally:
            self._firsts = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the calls to the report of the first failed phase, and their number also to the teardown report."""
        report = yield
        if self._firsts is None:
            return report
        for fake in own_fakes(item):
            if fake.endpoint.calls:
                self._firsts.setdefault(fake.endpoint, fake.endpoint.calls[0].number)
        fails_first = report.failed and not self._has_failed
        if fails_first or report.when == "teardown":
            self._has_failed |= fails_first
            count = sum(len(calls) for _, calls in self._calls())
            setattr(report, _CALLS, (count, [*self._fakes(report.nodeid)] if fails_first else []))
        return report

    def _calls(self) -> Iterator[tuple[Endpoint, list[Call]]]:
        for endpoint, first in [*(self._firsts or {}).items()]:
            yield endpoint, [call for call in [*endpoint.calls] if call.number >= first]

    def _fakes(self, nodeid: str) -> Iterator[tuple[str, str]]:
        """Yield the title and the HTML of each fake that the test has called."""
        clean = partial(value_without_secrets, own=own_secrets())
        test = sha256(nodeid.encode("utf-8", "replace")).hexdigest()[:10]
        for position, (endpoint, calls) in enumerate(self._calls(), 1):
            views = views_of(calls, clean)
            prefix = f"t{test}-{position}-"
            shown = [call_html(view, views[:at], prefix=prefix) for at, view in enumerate(views)]
            title = f"Fake for {_CLIENTS.get(str(endpoint.transport), 'calls without a transport')}"
            yield title, "".join((overview_html(views, prefix=prefix), *shown))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome, the calls and the failure of a test, unless this process is an xdist worker."""
        if self._is_worker:
            return
        # The attribute is removed from the report, because other plugins keep all reports to the end of the run.
        count, fakes = cast("_Carried", vars(report).pop(_CALLS, (0, [])))
        self._unordered |= hasattr(report, "node")
        before, calls = self._ran.get(report.nodeid, ("", 0))
        outcome: str = "xfailed" if report.skipped and hasattr(report, "wasxfail") else report.outcome
        if before == "failed" or (before and outcome == "passed"):
            outcome = before
        self._ran[report.nodeid] = outcome, max(count, calls)
        if report.failed:
            self._add_failure(report, [ShownFake(title, Html(html)) for title, html in fakes])

    def _add_failure(self, report: pytest.TestReport, fakes: list[ShownFake]) -> None:
        if report.nodeid in self._failed:  # an earlier phase has failed as well: keep its fakes
            fakes = [*self._failed[report.nodeid].fakes, *fakes]
        crash: Any = getattr(report.longrepr, "reprcrash", None)
        whole = masked(report.longreprtext)
        first = whole if crash is None else masked(f"{crash.message}\n\n{crash.path}:{crash.lineno}")
        short = "\n".join(and_more(first.splitlines(), _FIRST_LINES, "... ({} more lines)"))
        test = masked(report.nodeid)
        self._failed[report.nodeid] = FailedTest(test, str(report.when), short, whole, fakes)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the HTML file, also after Ctrl-C."""
        if self._is_worker:
            return
        tests = sorted(self._ran) if self._unordered else [*self._ran]
        rows = [ShownTest(masked(test), *self._ran[test]) for test in tests]
        failed = [self._failed[test] for test in tests if test in self._failed]
        page = report_html(failed, rows, interrupted=exitstatus == pytest.ExitCode.INTERRUPTED)
        count = counted(len(failed), "failed test")
        self._result = f"converse-harness: wrote {self._given} ({count}, {len(page.encode()):,} bytes)", True
        try:
            write(self._path, page)
        except OSError as error:
            self._result = f"--converse-report={self._given}: not written: {error.strerror or error}", False

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the path of the file, or the reason why the file was not written."""
        line, written = self._result
        if line:
            terminalreporter.write_line(line, red=not written)
