"""Chaos: after the last test, tests that passed run again with one fault in one of their own replies.

`Chaos` has the hooks, and is registered by `--converse-chaos` alone. It decides no test's outcome.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, Final

import pytest

from converse_harness.intercept.observers import replacing
from converse_harness.plugin import settings
from converse_harness.plugin.chaos.damage import DAMAGES, damaged, is_sound
from converse_harness.plugin.chaos.options import read_options
from converse_harness.plugin.chaos.paste import script_of
from converse_harness.plugin.chaos.plan import DamagePair, PlannedReply, plan
from converse_harness.plugin.chaos.summary import ChaosResults, JudgedRerun, print_summary
from converse_harness.plugin.chaos.verdict import judge
from converse_harness.plugin.report import masked
from converse_harness.plugin.rerun import Rerun, close, rerun, unseen
from converse_harness.plugin.watch import Watch, WatchedReply
from converse_harness.reply.reply import Reply

_OUTPUT: Final = "converse_chaos"
"""The key in `workeroutput` under which an xdist worker sends its results to the controller."""

_LONGER: Final = 10.0
_AT_LEAST: Final = 5.0
"""A rerun is ended after `_LONGER` times the test's own time and `_AT_LEAST` seconds."""


_XFAIL: Final = "with xfail"


class Chaos:
    """The hooks of `--converse-chaos`. `value` is what follows the option. Raises UsageError for an unknown value."""

    def __init__(self, config: pytest.Config, value: str) -> None:
        self._config = config
        self._value = value
        self._options = read_options(value, config.invocation_params.dir)
        self._strict = bool(config.getoption("converse_chaos_strict"))
        self._results = ChaosResults()
        self._watch = Watch()
        self._passed: set[str] = set()
        self._spoiled: dict[str, str] = {}
        """Node id -> why the test is left out, found while it ran."""
        self._replies: dict[str, list[PlannedReply]] = {}

    # While the tests run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Observe the replies of a test."""
        self._watch = Watch()
        with replacing(self._watch):
            result = yield
        watch, self._watch = self._watch, Watch()
        seen = watch.replies
        if seen and self._options.covers(item.path):
            self._replies[item.nodeid] = [_planned(each) for each in seen]
            if not all(is_sound(each.reply) for each in seen):
                self._spoiled.setdefault(item.nodeid, "with faults or errors of their own")
            if watch.unanswered:
                self._spoiled.setdefault(item.nodeid, "with calls that are refused or not scripted")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, request: Any) -> Generator[None, object, object]:
        """Leave the replies to fixtures of wider scopes as they are."""
        if request.scope == "function":
            return (yield)
        with self._watch.paused():
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep which tests passed."""
        if hasattr(report, "context"):
            self._spoiled.setdefault(report.nodeid, "with subtests")
        elif not report.passed or hasattr(report, "wasxfail"):
            self._passed.discard(report.nodeid)
        elif report.when == "call":
            self._passed.add(report.nodeid)

    # After the last test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Rerun tests after the last one, on each worker of xdist its own."""
        result = yield
        if self._replies:
            self._begin_round(session)
        return result

    def _begin_round(self, session: pytest.Session) -> None:
        started = time.monotonic()
        items = [*session.items]
        tests: list[tuple[int, str, list[PlannedReply]]] = []
        for position, item in enumerate(items):
            replies = self._replies.get(item.nodeid)
            why = _reason_to_leave(item) or self._spoiled.get(item.nodeid)
            if not replies or not (item.nodeid in self._passed or why == _XFAIL):
                continue
            if why is None:
                tests.append((position, item.nodeid, replies))
            else:
                self._results.left_out[why] += 1
        seed = str(self._config.getoption("converse_seed") or self._config.getini("converse_seed"))
        pairs = plan(tests, self._options.faults, seed)
        with unseen(self._config):
            self._run_round(items, pairs, started + self._options.seconds)
        self._results.seconds = time.monotonic() - started

    def _run_round(self, items: list[pytest.Item], pairs: list[DamagePair], deadline: float) -> None:
        plain: dict[int, Rerun | None] = {}
        last: pytest.Item | None = None
        for number, pair in enumerate(pairs):
            if time.monotonic() >= deadline:
                self._results.not_reached = sum(plain.get(each.test, True) is not None for each in pairs[number:])
                break
            item = items[pair.test]
            if last is not None and last is not item:
                close(last, item)
            last = item
            if pair.test not in plain:
                plain[pair.test] = self._run_plain(item)
            undamaged = plain[pair.test]
            if undamaged is not None:
                self._try(item, pair, undamaged)
        if last is not None:
            close(last, None)

    def _run_plain(self, item: pytest.Item) -> Rerun | None:
        """Run a test once more without damage; None if it is not repeatable."""
        run = self._rerun(item, Watch(), None)
        before = sorted(each.asked for each in self._replies[item.nodeid])
        why = ""
        if not run.passed:
            why = f"{run.when or 'it'} {'failed' if run.error is not None else 'was skipped'}"
        elif sorted(each.asked for each in run.watch.replies) != before:
            why = "other calls"
        if why:
            self._results.unrepeatable[item.nodeid] = why
            return None
        return run

    def _try(self, item: pytest.Item, pair: DamagePair, plain: Rerun) -> None:
        target = pair.planned
        sent: list[Reply] = []

        def replace(seen: WatchedReply) -> Reply:
            if (seen.asked, seen.occurrence) != (target.asked, target.occurrence) or sent:
                return seen.reply
            made = damaged(seen.reply, pair.fault, seen.operation, seen.transport)
            sent.append(made or seen.reply)
            return made or seen.reply

        run = self._rerun(item, Watch(replace, mends=True), _LONGER * plain.seconds + _AT_LEAST)
        if run.watch.first is None:
            return  # the call did not come this time
        verdict, why = judge(plain, run, pair.fault, item)
        before = [each.reply for each in self._replies[item.nodeid][: target.number - 1]]
        self._results.tried.append(
            JudgedRerun(
                test=item.nodeid,
                reply=target.number,
                fault=pair.fault,
                verdict=verdict.word,
                why=why,
                came=DAMAGES[pair.fault].sentence,
                script=masked(script_of(before, sent[0]), set()),
                asleep=max(0.0, run.asleep - plain.asleep),
            )
        )

    def _rerun(self, item: pytest.Item, watch: Watch, limit: float | None) -> Rerun:
        self._watch = watch
        try:
            return rerun(item, watch, limit=limit)
        finally:
            self._watch = Watch()

    # The end of the run

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the results to the controller, or fail a strict run."""
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = self._results.as_json()
        elif self._strict and self._results.bad and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the results of an xdist worker that ended."""
        told = getattr(node, "workeroutput", {}).pop(_OUTPUT, None)
        if told is not None:
            self._results.add(told)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what became of the damaged replies."""
        print_summary(terminalreporter, self._results, self._value)


def _planned(seen: WatchedReply) -> PlannedReply:
    whole = seen.call.outcome == "complete"
    return PlannedReply(seen.number, seen.asked, seen.occurrence, seen.reply, seen.transport, whole)


def _reason_to_leave(item: pytest.Item) -> str | None:
    """The reason why a test is never rerun; None if it may be."""
    if not settings.reruns(item):
        return "with rerun=False"
    if item.get_closest_marker("xfail") is not None:
        return _XFAIL
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return "with @given"
    if "subtests" in getattr(item, "fixturenames", ()):
        return "with subtests"
    return None
