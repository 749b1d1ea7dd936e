"""Collect facts about the recordings of a run, and print them in pytest's summary.

If workers of xdist run the tests, each worker sends its facts to the controller, which merges them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator
from typing import Any, Final, cast

import pytest

from converse_harness.errors import ReplyError
from converse_harness.plugin.recording.facts import RunFacts
from converse_harness.plugin.recording.owners import Owners, arguments_of, shown
from converse_harness.plugin.recording.unused import Unused
from converse_harness.plugin.settings import MARKER, OF_RUN, chosen, record_setting
from converse_harness.recordings import names
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets.mask import mask
from converse_harness.words import counted

_OUTPUT: Final = "converse_recordings"
"""The key of a worker's facts in xdist's `workeroutput`, which the worker sends to the controller."""

_PREFIX: Final = "converse-harness: "

TALLY: Final = "converse_tally"
"""The name under which a run's Tally is registered as a plugin of pytest."""


class Tally:
    """The hooks that collect facts about recordings."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        try:  # `redaction` holds the replacements in recordings that the ini file defines
            self.redaction = Redaction.of_lines(config.getini("converse_redact"))
        except ReplyError as error:
            raise pytest.UsageError(f"converse_redact: {error}") from error
        self.owners = Owners()
        self.noted = RunFacts()
        """The facts that hooks and tests of this process noted, and those of the workers that have ended."""
        self._opened_before = names.OPENED.copy()
        self.outcomes: defaultdict[str, set[str]] = defaultdict(set)
        """Maps the node id of each test that ran, here or in a worker, to the outcomes of its phases."""
        self._workers = 0
        """The number of xdist workers that have sent no facts yet."""

    def facts(self) -> RunFacts:
        """Return all facts until now: `noted`, and the recordings that any code of this process used."""
        return self.noted.merge(RunFacts(used=names.USED_FILES, opened=names.OPENED - self._opened_before))

    def unused(self) -> Unused:
        """Return what is known until now about unused recordings."""
        return Unused(self._config, self.facts(), len(self.outcomes), waits=self._workers > 0)

    # Hooks while tests are collected

    def pytest_report_header(self, config: pytest.Config) -> str | None:
        """Add the record mode to pytest's header if this run can record."""
        mode = chosen(config, "record")
        if mode == "none":
            return None
        return f"{_PREFIX}{record_setting(config)} ({OF_RUN['record'][1][mode]})"

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Register whether a module was skipped or failed to import, because then its tests are unknown.

        Also register the paths of recordings for all tests of a module or class, including the tests that a command
        line such as `test_a.py::test_x` leaves out.
        """
        report = yield
        self.noted.whole &= report.passed
        for item in report.result or ():
            if isinstance(item, pytest.Item) and item.get_closest_marker(MARKER) is not None:
                self.owners.add(item)
        return report

    def pytest_itemcollected(self) -> None:
        """Count each collected test, before options and plugins deselect tests."""
        self.noted.collected += 1

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Assign recordings to tests before the first test runs, so that all workers assign them in the same way."""
        self.noted.whole &= self.noted.collected == len(session.items)
        self.noted.collected = len({item.nodeid for item in session.items})
        for item in (item for item in session.items if item.get_closest_marker(MARKER) is not None):
            try:
                path = self.owners.path_of(item, arguments_of(item).get("name"))
            except ReplyError:
                continue  # the setup of this test raises the error again
            self.noted.used.add(names.identity(path))
            self.owners.assign(item, path)

    # Hooks while tests run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Register the outcome of a phase of a test, which ran in this process or in a worker."""
        self.outcomes[report.nodeid].add(report.outcome)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """In an xdist worker, send the facts to the controller, after the recordings are finished."""
        try:
            return (yield)
        finally:
            output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
            if output is not None:
                output[_OUTPUT] = self.facts().as_json()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        """Count an xdist worker that starts."""
        self._workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Merge the facts that an ended xdist worker has sent. A worker that crashed has sent none."""
        # The facts are removed from the node, because xdist reports an interrupted worker twice.
        sent = getattr(node, "workeroutput", {}).pop(_OUTPUT, None)
        if sent is not None:
            self.noted = self.noted.merge(RunFacts.from_json(sent))
            self._workers -= 1

    # The summary

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which recordings were written, which exchanges were not played, and which recordings no test uses."""
        for line in self._lines():
            # A recording made elsewhere, or by hand, may have a secret in its name.
            terminalreporter.write_line(mask(line))

    def _lines(self) -> Iterator[str]:
        facts, unknown = self.facts(), self.unused()
        for line in (*sorted(facts.written), *sorted(facts.remarks)):
            yield f"{_PREFIX}{line}"
        if any(f"{names.FAILED_SUFFIX} (" in line for line in facts.written) and not self._ignores_failed():
            pattern = f"*{names.FAILED_SUFFIX}"
            yield f"{_PREFIX}a line {pattern} in .gitignore keeps what failed tests recorded out of commits"
        unused = [] if unknown.why_unknown() else unknown.recordings(failed=True)
        if unused:
            yield f"{_PREFIX}{counted(len(unused), 'recording is', 'recordings are')} not used by any test:"
        commands = set[str]()
        for path in unused:
            why = names.why_not_played(path)
            aside = f" ({why})" if why else ""
            test, command = facts.moves.get(shown(self._config, path), ("", ""))
            how = "by the same command" if command in commands else f"if that was renamed: {command}"
            moved = f": it matches {test}, which has none; {how}" if test else ""
            commands.add(command)
            yield f"    {shown(self._config, path)}{aside}{moved}"

    def _ignores_failed(self) -> bool:
        """Whether the project's `.gitignore` excludes the recordings of failed tests."""
        file = self._config.rootpath / ".gitignore"
        try:
            return names.FAILED_SUFFIX in file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False


def tally_of(config: pytest.Config) -> Tally:
    """Return the Tally of this run; the first call registers its hooks. Raises UsageError for a wrong redaction."""
    plugins = config.pluginmanager
    if not plugins.has_plugin(TALLY):
        plugins.register(Tally(config), TALLY)
    return cast("Tally", plugins.get_plugin(TALLY))
