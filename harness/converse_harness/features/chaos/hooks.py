"""Chaos: after the last test, tests that passed run again with one fault in one of their own replies.

Reruns do not change the outcome of any test.
"""

from __future__ import annotations

import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from converse_harness import reply as replies
from converse_harness.endpoint.call import Call
from converse_harness.features.chaos.damage import (
    USUAL,
    damaged,
    damages,
    fits,
    is_sent_by,
    is_sound,
    kind_of,
    meets_at_once,
)
from converse_harness.features.chaos.summary import ChaosResults, JudgedRerun, print_summary, script_of
from converse_harness.features.chaos.verdict import FOR_EVER, LISTED, Survival, judge
from converse_harness.plugin.report import masked
from converse_harness.plugin.reruns.finished import (
    Find,
    OwnReply,
    PassedTest,
    ScriptTurn,
    finished_tests,
    request_of,
    tools_of,
)
from converse_harness.plugin.reruns.other_script import OtherScript
from converse_harness.plugin.reruns.rerun import Rerun, unseen
from converse_harness.plugin.reruns.watch import Mending, Watch, WatchedReply
from converse_harness.reply.reply import Reply


class DamagePair(NamedTuple):
    """One planned rerun, in which the reply `planned` gets the fault. `test` is the test's position in the session."""

    test: int
    planned: OwnReply
    fault: str


def plan(tests: Iterable[PassedTest], names: Sequence[str], seed: str) -> list[DamagePair]:
    """Return all pairs of a reply of `tests` and a fault in `names`, in waves, so that similar pairs are far apart.

    A wave has at most one pair for each combination of fault, kind of reply and operation. `seed` decides which pair of
    a combination comes in which wave. Within a wave, tests keep their order, so that fixtures of wider scopes are
    seldom set up again. A pair is left out if the reply cannot have the fault, or if the client did not read far enough
    to meet it. What the model does not answer is left out, and of the usual faults what does not fit
    the request, such as a guardrail's block where the request names no guardrail.
    """
    drawn: list[tuple[int, int, DamagePair, tuple[str, str, str]]] = []
    usual = [*names] == [*USUAL]
    for test in tests:
        for planned in test.replies:
            kind, operation = kind_of(planned.reply), planned.asked[0]
            for rank, name in enumerate(names):
                if not is_sent_by(name, planned.asked[1]):
                    continue
                changed = damaged(planned.reply, name, operation, planned.transport, planned.needed.tools)
                if changed is None or (usual and not fits(changed, planned.reply, planned.needed)):
                    continue
                if planned.read_whole or meets_at_once(changed):
                    chance = zlib.crc32(f"{seed} {test.item.nodeid} {planned.number} {name}".encode())
                    drawn.append((chance, rank, DamagePair(test.position, planned, name), (name, kind, operation)))
    drawn.sort(key=lambda each: each[:2])
    waves: Counter[tuple[str, str, str]] = Counter()
    placed: list[tuple[tuple[int, int, int, int], DamagePair]] = []
    for _, rank, pair, combination in drawn:
        waves[combination] += 1
        placed.append(((waves[combination], pair.test, pair.planned.number, rank), pair))
    return [pair for _, pair in sorted(placed, key=lambda each: each[0])]


_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)s")

_BUDGET: Final = 60.0
"""The default time for all reruns, in seconds. With xdist, each worker has this time."""


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    """The options of a chaos run. `paths` are files and folders of tests; without `paths`, all tests are rerun."""

    seconds: float = _BUDGET
    paths: tuple[Path, ...] = ()
    faults: tuple[str, ...] = USUAL

    def covers(self, path: Path) -> bool:
        """Whether the tests in the file `path` are rerun."""
        return not self.paths or any(path == each or each in path.parents for each in self.paths)


def read_options(value: str, start: Path) -> ChaosOptions:
    """Parse the value of `--converse-chaos`; paths in it are relative to `start`.

    Raises UsageError for a part that is neither a number of seconds, nor an existing path, nor the name of a fault.

    >>> read_options("5s,reset", Path()).seconds
    5.0
    """
    seconds, paths, names = _BUDGET, list[Path](), list[str]()
    for part in (part.strip() for part in value.split(",")):
        timed = _SECONDS.fullmatch(part)
        if timed is not None and float(timed[1]) > 0:
            seconds = float(timed[1])
        elif part in damages():
            names.append(part)
        elif part and (start / part).exists():
            paths.append((start / part).resolve())
        else:
            near = get_close_matches(part, damages(), n=3) or [name for name in damages() if part and part in name][:3]
            hint = f"Did you mean {' or '.join(near)}? " if near else ""
            raise pytest.UsageError(
                f"--converse-chaos={value}: {part!r} is no number of seconds (60s), no file or folder of tests that is "
                f"there, and no fault. {hint}The usual faults: {', '.join(USUAL)}. Name one, or several with commas "
                "between them; each case that changes one reply is one. More: converse-harness docs chaos"
            )
    return ChaosOptions(seconds, tuple(paths), tuple(dict.fromkeys(names)) or USUAL)


_ASIDE: Final = "This is what was said before."
"""The answer to a call that code makes only after a lasting fault: it asks the model to summarise the conversation."""


_GIVES_UP: Final = 12
"""Code that asks for an answer more often than this, while it is throttled, gets the answer: it may rightly go on."""

_SLEEPS: Final = 0.5
"""Code that was idle for this number of seconds before it asks again gets the answer, so that no rerun takes long."""


class _UntilGivenUp:
    """Decides whether a throttled request is throttled again.

    It is, at each attempt of the client (botocore counts them in a header), and when the code itself asks again.
    """

    def __init__(self) -> None:
        self._asked = 1
        self._at = time.monotonic(), time.process_time()

    def __call__(self, call: Call, _: int) -> bool:
        (then, worked), self._at = self._at, (time.monotonic(), time.process_time())
        if call.attempt > 1:
            return True
        self._asked += 1
        idle = (self._at[0] - then) - (self._at[1] - worked)
        return self._asked <= _GIVES_UP and idle < _SLEEPS


_REPEATS: Final[Mapping[str, Callable[[], Callable[[Call, int], bool]]]] = {
    "once": lambda: lambda _, __: False,
    "attempts": _UntilGivenUp,
    "ever": lambda: lambda _, times: times < FOR_EVER,
}
"""Maps `Damage.lasts` to a function that makes, for a rerun, what decides whether a repetition fails too."""

_OUTPUT: Final = "converse_chaos"
"""The key in `workeroutput` under which an xdist worker sends its results to the controller."""


class ChaosHooks:
    """The hooks of `--converse-chaos`. Raises UsageError for an invalid value, or none."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        value = config.getoption("converse_chaos")
        if value is None:
            raise pytest.UsageError("--converse-chaos-strict came without --converse-chaos. Give both options.")
        self._value = str(value)
        self._options = read_options(self._value, config.invocation_params.dir)
        self._strict = bool(config.getoption("converse_chaos_strict"))
        self._results = ChaosResults()
        self._finished = finished_tests(config)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Rerun tests after the last test; with xdist, each worker reruns its own tests."""
        result = yield
        if self._finished.replies:
            started, items = time.monotonic(), [*session.items]
            pairs = self._plan(items)
            with unseen(self._config):
                self._run_all(items, pairs, started + self._options.seconds)
                self._finished.close()
            self._results.seconds = time.monotonic() - started
        return result

    def _plan(self, items: list[pytest.Item]) -> list[DamagePair]:
        tests: list[PassedTest] = []
        for test in self._finished.among(items):
            sound = all(is_sound(each.reply) for each in test.replies)
            why = test.why_not or ("" if sound else "with faults or errors of their own")
            if self._options.covers(test.item.path):
                if why:
                    self._results.left_out[why] += 1
                else:
                    tests.append(test)
        seed = str(self._config.getoption("converse_seed") or self._config.getini("converse_seed"))
        return plan(tests, self._options.faults, seed)

    def _run_all(self, items: list[pytest.Item], pairs: list[DamagePair], deadline: float) -> None:
        """Run each test once without a fault, and then once for each of its pairs of a reply and a fault.

        No rerun begins after `deadline`, which is a time of `time.monotonic()`.
        """
        plain: dict[int, Rerun | str] = {}
        for number, pair in enumerate(pairs):
            if time.monotonic() >= deadline:
                self._results.not_reached = sum(not isinstance(plain.get(each.test), str) for each in pairs[number:])
                break
            item = items[pair.test]
            if pair.test not in plain:
                plain[pair.test] = self._finished.run_plain(item)
            undamaged = plain[pair.test]
            if isinstance(undamaged, str):
                self._results.unrepeatable[item.nodeid] = undamaged
            else:
                self._try(item, pair, undamaged)

    def _try(self, item: pytest.Item, pair: DamagePair, plain: Rerun) -> None:
        target = pair.planned

        def is_target(seen: WatchedReply) -> bool:
            return (seen.asked, seen.occurrence) == (target.asked, target.occurrence)

        found = self._damaged_run(item, pair.fault, plain, is_target)
        if found is None:
            return  # the rerun did not make the call whose reply gets the fault
        watch, run = found
        verdict, why = judge(plain, run, pair.fault, item)
        own = [each.reply for each in self._finished.replies[item.nodeid]]
        script = masked(script_of(watch, own))
        asleep = max(0.0, run.asleep - plain.asleep)
        judged = JudgedRerun(item.nodeid, target.number, pair.fault, verdict.word, why, script, asleep)
        self._results.tried.append(judged)
        if verdict in LISTED:
            self._finished.finds.append(self._find(item, pair, plain, verdict, own))

    def _find(self, item: pytest.Item, pair: DamagePair, plain: Rerun, verdict: Survival, own: Sequence[Reply]) -> Find:
        """Return a bad verdict as something that can be found with smaller scripts too."""
        target = pair.planned.number - 1
        turns = [ScriptTurn(at, each.times(1)) for at, each in enumerate(own)]

        def script_if_found(smaller: Sequence[ScriptTurn]) -> str:
            at = next((at for at, turn in enumerate(smaller, 1) if turn.origin == target), None)
            if at is None:
                return ""
            replies = [turn.reply for turn in smaller]
            unchanged = self._finished.run_with(item, OtherScript(replies), self._finished.limit_after(plain))
            if not unchanged.passed:
                return ""
            with self._finished.answered_from(OtherScript(replies)):
                found = self._damaged_run(item, pair.fault, unchanged, lambda seen: seen.number == at)
            if found is None or judge(unchanged, found[1], pair.fault, item)[0] != verdict:
                return ""
            return masked(script_of(found[0], replies))

        said = f"{verdict.word}: {pair.fault} in reply {pair.planned.number}"
        return Find(item, said, turns, tools_of(plain.watch.replies), script_if_found)

    def _damaged_run(
        self, item: pytest.Item, fault: str, plain: Rerun, is_target: Callable[[WatchedReply], bool]
    ) -> tuple[Watch, Rerun] | None:
        """Run a test with a fault in the first reply that is the target; None if no reply is, or cannot have it."""
        damage = damages()[fault]
        sent: list[Reply] = []

        def replace(seen: WatchedReply) -> Reply:
            if sent or not is_target(seen):
                return seen.reply
            changed = damaged(seen.reply, fault, seen.asked[0], seen.transport, request_of(seen.call).tools)
            sent.append(changed or seen.reply)
            return sent[0]

        calls = [seen.call for seen in plain.watch.replies]
        aside = replies.text(_ASIDE) if damage.lasts == "ever" else None
        watch = Watch(replace, Mending(calls, _REPEATS[damage.lasts](), damage.mistake, aside))
        run = self._finished.run_changed(item, watch, plain)
        return None if watch.first is None else (watch, run)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In an xdist worker, send the results to the controller. Elsewhere, apply `--converse-chaos-strict`.

        With this option, the run fails if a rerun has a verdict in `LISTED`.
        """
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = self._results.as_json()
        elif self._strict and self._results.bad and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the results of an xdist worker that ended."""
        results = getattr(node, "workeroutput", {}).pop(_OUTPUT, None)
        if results is not None:
            self._results.add(results)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the results of the reruns."""
        print_summary(terminalreporter, self._results, self._value)
