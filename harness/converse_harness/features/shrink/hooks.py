"""Shrink: after the last test, tests that failed run again with ever smaller scripts, as long as they fail so too.

Reruns do not change the outcome of any test.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from converse_harness.bedrock.fit import misfits_of
from converse_harness.errors import ConverseHarnessError
from converse_harness.features.shrink.confirming import failure_with
from converse_harness.features.shrink.scripts import replies_in
from converse_harness.features.shrink.search import ScriptSearch
from converse_harness.features.shrink.summary import ShrinkResults, ShrunkTest, print_summary, sizes
from converse_harness.plugin.report import masked
from converse_harness.plugin.reruns.failure import HANGS, Failure, failure_of, hang_of
from converse_harness.plugin.reruns.finished import FailingTest, Find, ScriptTurn, finished_tests, request_of, tools_of
from converse_harness.plugin.reruns.other_script import OtherScript
from converse_harness.plugin.reruns.rerun import Rerun, unseen
from converse_harness.plugin.reruns.watch import WatchedReply
from converse_harness.reply.answer import answer_of
from converse_harness.reply.body import BareBody
from converse_harness.reply.reply import Reply
from converse_harness.reply.source import script_code

_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)s?")

_BUDGET: Final = 60.0
"""The default time for all tests of a run, in seconds. With xdist, each worker has this time."""

_MOST: Final = 3
"""At most this number of tests is shrunk."""

_PATIENCE: Final = 50
"""A test that asks this number of times in a row without a reply counts as one that asks without end."""

_HANGING: Final = 1.0
"""The time limit, in seconds, of a rerun of a test that fails since it hangs."""

_LONGER: Final = 4.0
_AT_LEAST: Final = 2.0
"""The time limit of another rerun, in seconds, is _AT_LEAST plus _LONGER times the duration of the unchanged rerun."""

_FIRST: Final = 30.0
"""The time limit of the first rerun, in seconds."""

_QUIET: Final = 2.0
"""Progress is shown after this number of seconds."""

_OUTPUT: Final = "converse_shrink"
"""The key in `workeroutput` under which an xdist worker sends its results to the controller."""


class Trial(NamedTuple):
    """What became of a test that ran again: how it failed (None if it did not), and what Bedrock would not do.

    `refusals` counts the requests that Bedrock refuses, and `misfits` the answers that it does not give, by the names
    of the rules and rows.
    """

    failure: Failure | None
    refusals: Counter[str]
    misfits: Counter[str]

    def is_as_good(self, first: Trial) -> bool:
        """Whether this run fails as `first` did, and is as legal."""
        same = self.failure is not None and self.failure.is_same(first.failure)
        return same and self.refusals <= first.refusals and self.misfits <= first.misfits


def trial_of(run: Rerun) -> Trial:
    """Return what became of a test that ran again."""
    hang = hang_of(run.error, run.watch, stopped=run.stopped)
    failure = None
    if run.error is not None or hang:
        failure = failure_of(run.error or TimeoutError(), run.when, hang)
    refusals = Counter(call.refusal.rule.name for call in run.watch.all_refused if call.refusal is not None)
    return Trial(failure, refusals, Counter(name for seen in run.watch.replies for name in _misfits(seen)))


def _misfits(seen: WatchedReply) -> Iterator[str]:
    plan = seen.reply.plan
    answer = None if plan.no_answer else answer_of(plan.body)
    for misfit in () if answer is None else misfits_of(request_of(seen.call), answer):
        if misfit.fit.name not in plan.misfits:
            yield misfit.fit.name


class ShrinkHooks:
    """The hooks of `--converse-shrink`. Raises UsageError for an invalid value."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds = _seconds_of(config)
        self._given = _script_given(config)
        self._results = ShrinkResults()
        self._finished = finished_tests(config)
        self._finished.patience = _PATIENCE
        self._shows_until = 0.0
        self._confirming = 0.0
        """The seconds that a fresh process has taken."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Answer a test from the file of `--converse-shrink-from`."""
        script = None if self._given is None else OtherScript(self._given)
        with self._finished.answered_from(script):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Shrink after the last test, also after `-x`; with xdist, each worker shrinks its own tests."""
        try:
            result = yield
        except session.Failed:
            self._shrink_all(session)
            raise
        self._shrink_all(session)
        return result

    def _shrink_all(self, session: pytest.Session) -> None:
        failed = [*self._finished.failed_among([*session.items])]
        finds = [*self._finished.finds]
        if not failed and not finds:
            return
        deadline = time.monotonic() + self._seconds
        able = [each for each in failed if not _why_not(each)]
        work: list[Callable[[float], ShrunkTest]] = [partial(self._shrink_test, each) for each in able]
        work += [partial(self._shrink_find, each) for each in finds]
        self._results.left = len(work[_MOST:])
        with unseen(self._config):
            try:
                for number, shrink in enumerate(work[:_MOST]):
                    now = time.monotonic()
                    share = max(0.0, deadline - now) / (len(work[:_MOST]) - number)
                    self._results.tests.append(shrink(now + share))
                    deadline += self._confirming  # the fresh process takes no time from the next tests
                    self._confirming = 0.0
            finally:
                self._finished.close()
        for test in [each for each in failed if _why_not(each)][:_MOST]:
            self._results.tests.append(ShrunkTest(test.item.nodeid, f"not shrunk: {_why_not(test)}."))

    def _shrink_test(self, test: FailingTest, until: float) -> ShrunkTest:
        item, nodeid = test.item, test.item.nodeid
        limit = _HANGING if test.failure.hang == HANGS else _FIRST
        given = None if self._given is None else OtherScript(self._given)
        plain = self._finished.run_with(item, given, limit)
        why = _differs(trial_of(plain).failure, test.failure, self._config.rootpath)
        if why:
            return ShrunkTest(nodeid, f"not shrunk: run again without a change, {why}. Is it repeatable?")
        replies = [*(seen.reply for seen in plain.watch.replies), *plain.watch.unused]
        turns = [ScriptTurn(at, _once(each)) for at, each in enumerate(replies)]
        if not turns:
            return ShrunkTest(nodeid, f"not shrunk: {_NO_REPLY}.")
        limit = _HANGING if test.failure.hang == HANGS else _AT_LEAST + _LONGER * plain.seconds
        if plain.watch.fakes > 1:
            asks = f"it asks {plain.watch.fakes} fakes, and one script has the replies of one"
            return ShrunkTest(nodeid, f"not shrunk: {asks}.")
        if test.failure.hang and len(turns) > _PATIENCE:
            asks = f"it asks without end, and got {len(turns)} replies: a reply of `always` never runs out"
            return ShrunkTest(nodeid, f"not shrunk: {asks}. Limit what it may ask, and that failure is shrunk.")
        first = trial_of(self._finished.run_with(item, _script(turns), limit))
        why = _differs(first.failure, test.failure, self._config.rootpath)
        if why:
            return ShrunkTest(nodeid, f"not shrunk: with the same replies in one script, in this order, {why}.")

        latest = [test.failure]

        def is_found(smaller: Sequence[ScriptTurn]) -> bool:
            trial = trial_of(self._finished.run_with(item, _script(smaller), limit))
            found = trial.is_as_good(first)
            latest.extend([trial.failure] if found and trial.failure is not None else [])
            return found

        def same() -> str:  # the message of an assertion may be another one with the smaller script
            return f"same failure ({latest[-1].told(self._config.rootpath)})"

        schemas = tools_of(plain.watch.replies)
        with self._searching(ShrunkTest(nodeid, ""), turns, is_found, schemas, until, same) as (search, shrunk):
            if not search.tried and not search.finished:
                shrunk.told = "not shrunk: the time was over before the first smaller script."
                return shrunk
            code = _code(search.turns)
            shrunk.script = masked(code)
            if shrunk.script != code:
                shrunk.remarks.append("    *** stands for a secret of the script: put it back before you run the line")
            shrunk.remarks += self._remarks(item, search.turns, shrunk.script, test.failure, plain.seconds)
        return shrunk

    def _shrink_find(self, find: Find, until: float) -> ShrunkTest:
        found: list[str] = []

        def is_found(smaller: Sequence[ScriptTurn]) -> bool:
            line = find.script_if_found(smaller)
            if line:
                found.append(line)
            return bool(line)

        if not is_found(find.turns):
            return ShrunkTest(find.item.nodeid, f"not shrunk: {find.said}: it is not found again.")
        with self._searching(
            ShrunkTest(find.item.nodeid, ""), find.turns, is_found, find.tools, until, lambda: f"still {find.said}"
        ) as (_, shrunk):
            shrunk.script = found[-1]
        return shrunk

    @contextmanager
    def _searching(
        self,
        shrunk: ShrunkTest,
        turns: Sequence[ScriptTurn],
        is_found: Callable[[Sequence[ScriptTurn]], bool],
        schemas: Any,
        until: float,
        same: Callable[[], str],
    ) -> Generator[tuple[ScriptSearch, ShrunkTest], None, None]:
        """Search, and tell the result after the block. After Ctrl-C, the best so far is told before pytest ends."""
        started = time.monotonic()
        search = ScriptSearch(
            turns, is_found, schemas=schemas, until=until, told=self._show(shrunk.test, started, len(turns))
        )
        interrupted = False
        try:
            search.run()
        except KeyboardInterrupt:
            interrupted = True
        self._hide()
        took = time.monotonic() - started
        shrunk.told = f"{sizes(turns, search.turns)}, {same()}, {took:.0f} s. Paste:"
        if interrupted:
            shrunk.script = masked(_code(search.turns))
            shrunk.remarks += ["    not finished: interrupted after this script, which is not confirmed"]
            self._results.tests.append(shrunk)
            raise KeyboardInterrupt
        if not search.finished:
            told = (
                f"    not finished: the time was over after {search.tried} reruns; --converse-shrink=SECONDS gives more"
            )
            shrunk.remarks.append(told)
        yield search, shrunk

    def _remarks(
        self, item: pytest.Item, turns: Sequence[ScriptTurn], code: str, failure: Failure, seconds: float
    ) -> Iterator[str]:
        """Run the printed code in a fresh process; yield a line if the test does not fail in the same way there."""
        if any(isinstance(each.reply.plan.body, BareBody) for each in turns):
            yield "    not confirmed: `...` stands for an answer that only its recording has"
            return
        started = time.monotonic()
        try:
            found = failure_with(item, code, _PATIENCE, seconds)
        except (OSError, ValueError) as error:
            yield f"    not confirmed: a fresh process did not run the test ({masked(str(error))})"
            return
        finally:
            self._confirming += time.monotonic() - started
        if why := _differs(found, failure, self._config.rootpath):
            yield f"    not confirmed: in a fresh process, {why}. No smaller script is confirmed."

    def _show(self, test: str, started: float, before: int) -> Callable[[ScriptSearch], object]:
        terminal: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if terminal is None or not getattr(terminal, "isatty", False):
            return lambda _: None

        def show(search: ScriptSearch) -> None:
            now = time.monotonic()
            if now - started > _QUIET and now > self._shows_until:
                self._shows_until = now + 0.2
                terminal.rewrite(
                    f"shrinking {test}: {before} calls -> {len(search.turns)}, {now - started:.0f} s", erase=True
                )

        return show

    def _hide(self) -> None:
        if self._shows_until:
            self._shows_until = 0.0
            terminal: Any = self._config.pluginmanager.getplugin("terminalreporter")
            terminal.rewrite("", erase=True)

    def pytest_sessionfinish(self) -> None:
        """In an xdist worker, send the results to the controller."""
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = self._results.as_json()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the results of an xdist worker that ended."""
        results = getattr(node, "workeroutput", {}).pop(_OUTPUT, None)
        if results is not None:
            self._results.add(results)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the results."""
        print_summary(terminalreporter, self._results)


_NO_REPLY: Final = "it got no scripted or recorded reply of a fake"


def _why_not(test: FailingTest) -> str:
    """Return why a test is not even run again; "" if it is."""
    if test.why_not:
        return f"a test {test.why_not} does not run again"
    return "" if test.got_replies else _NO_REPLY


def _once(reply: Reply) -> Reply:
    return replace(reply, uses=1, may_be_unused=False)


def _script(turns: Sequence[ScriptTurn]) -> OtherScript:
    return OtherScript([each.reply for each in turns])


def _code(turns: Sequence[ScriptTurn]) -> str:
    return script_code([each.reply for each in turns])


def _differs(found: Failure | None, wanted: Failure, root: Path) -> str:
    """Return how the failure of a run differs from another one, as the end of a sentence; "" if it is the same."""
    if found is None:
        return "the test passes"
    return "" if wanted.is_same(found) else f"the test fails otherwise ({found.told(root)})"


def _seconds_of(config: pytest.Config) -> float:
    """Return the seconds of the option.

    A value that is no number is a test: so `pytest --converse-shrink tests/test_trip.py` runs this file.
    """
    value = config.getoption("converse_shrink")
    if value is None:
        return _BUDGET
    timed = _SECONDS.fullmatch(str(value))
    if timed is not None:
        if float(timed[1]) > 0:
            return float(timed[1])
        raise pytest.UsageError(f"--converse-shrink={value}: give a number of seconds above 0, as 60.")
    if not (config.invocation_params.dir / str(value).partition("::")[0]).exists():
        raise pytest.UsageError(
            f"--converse-shrink={value}: give a number of seconds, as 60, or a file or folder of tests that is there."
        )
    if not hasattr(config, "workerinput"):
        named = config.args_source is pytest.Config.ArgsSource.ARGS
        config.args[:] = [*(config.args if named else ()), str(value)]
        config.args_source = pytest.Config.ArgsSource.ARGS
    return _BUDGET


def _script_given(config: pytest.Config) -> list[Reply] | None:
    """Return the replies of `--converse-shrink-from`; None without this option. Raises UsageError for a wrong file."""
    value = config.getoption("converse_shrink_from")
    if value is None:
        return None
    try:
        path = config.invocation_params.dir / str(value)
        # of the answers of a session, a test may need a part
        return [each if path.suffix == ".py" else each.optional() for each in replies_in(path)]
    except (ConverseHarnessError, OSError) as error:
        raise pytest.UsageError(f"--converse-shrink-from={value}: {error}") from error
