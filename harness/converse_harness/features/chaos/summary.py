"""The summary that a chaos run prints at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from converse_harness.features.chaos.damage import damages
from converse_harness.features.chaos.verdict import LISTED, Survival
from converse_harness.plugin.reruns.watch import Watch
from converse_harness.reply.reply import Reply
from converse_harness.reply.source import script_code
from converse_harness.words import and_more, counted

if TYPE_CHECKING:
    import pytest

_ALIKE: Final = 3
"""The maximum number of listed reruns with the same fault and the same verdict; `-v` lists all reruns."""

_WIDEST: Final = max(len(each.word) for each in Survival)

_TESTS: Final = 5
"""The summary names at most this number of tests whose rerun without changes failed or made other calls."""


@dataclass(slots=True)
class JudgedRerun:
    """One rerun with a damaged reply: the test, the number of the reply, the fault, the verdict and its reason.

    `script` is the line of code to paste into a test. `asleep` is the number of seconds that this rerun slept longer
    than the rerun without a fault.
    """

    test: str
    reply: int
    fault: str
    verdict: str
    why: str
    script: str
    asleep: float


@dataclass(slots=True)
class ChaosResults:
    """The results of a chaos run.

    `left_out` counts the tests that were not rerun, by reason. `unrepeatable` maps the node ids of other tests to the
    reason why they cannot be repeated. `not_reached` is the number of reruns for which no time was left.
    """

    tried: list[JudgedRerun] = field(default_factory=list[JudgedRerun])
    left_out: Counter[str] = field(default_factory=Counter[str])
    unrepeatable: dict[str, str] = field(default_factory=dict[str, str])
    not_reached: int = 0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the results as values that xdist can send."""
        return {**asdict(self), "left_out": dict(self.left_out)}

    def add(self, other: Mapping[str, Any]) -> None:
        """Add the results of another process; `other` is the value that `as_json` returned in that process."""
        self.tried += [JudgedRerun(**each) for each in other["tried"]]
        self.left_out.update(other["left_out"])
        self.unrepeatable |= other["unrepeatable"]
        self.not_reached += other["not_reached"]
        self.seconds = max(self.seconds, other["seconds"])

    @property
    def bad(self) -> list[JudgedRerun]:
        """The reruns with a verdict in `LISTED`, those with the worst verdict first.

        Among the reruns with the same verdict, one rerun for each fault and test file comes before similar reruns.
        """
        order = [each.word for each in LISTED]
        before: Counter[tuple[str, str, str]] = Counter()
        ranked: list[tuple[int, int, JudgedRerun]] = []
        for each in sorted(self.tried, key=lambda each: (each.test, each.reply, each.fault)):
            if each.verdict in order:
                alike = each.verdict, each.fault, each.test.partition("::")[0]
                ranked.append((order.index(each.verdict), before[alike], each))
                before[alike] += 1
        return [each for *_, each in sorted(ranked, key=lambda each: each[:2])]


def lines_of(results: ChaosResults, option: str) -> list[str]:
    """Return the lines of the summary; `option` is the value of `--converse-chaos`."""
    counts = Counter(each.verdict for each in results.tried)
    found = ", ".join(f"{counts[each.word]} {each.word}" for each in reversed(Survival) if counts[each.word])
    tests = counted(len({each.test for each in results.tried}), "test")
    total = f"{counted(len(results.tried), 'rerun')} of {tests} in {results.seconds:.0f} s: {found or 'none'}"
    if results.unrepeatable:
        many = len(results.unrepeatable)
        total += f"; {counted(many, 'test is', 'tests are')} not repeatable"
    lines = [total]
    shown: Counter[tuple[str, str]] = Counter()
    for each in results.bad:
        shown[each.verdict, each.fault] += 1
        if shown[each.verdict, each.fault] <= _ALIKE:
            came = damages()[each.fault].sentence + (", and" if each.verdict == Survival.NOT_NOTICED.word else ";")
            lines.append(f"{_heading(each.verdict)} {_rerun(each, f'{came} {each.why}')}")
            lines.append(f"   try it     {each.script}")
    for (verdict, fault), many in shown.items():
        if many > _ALIKE:
            lines.append(f"{_heading(verdict)} and {many - _ALIKE} more with {fault}; -v lists every rerun")
    slow = sum(each.asleep for each in results.tried if each.asleep >= 1)
    if slow:
        lines.append(f"waited for    {slow:.0f} s in sleeps of the code under test")
    named = [f"{test}: {why}" for test, why in sorted(results.unrepeatable.items())]
    lines += [f"not repeatable {each}" for each in and_more(named, _TESTS)]
    open_ = Counter(each.fault for each in results.tried if each.verdict == Survival.NOT_SHOWN.word)
    if open_:
        faults = ", ".join(f"{many} with {fault}" for fault, many in open_.items())
        lines.append(f"not shown     {faults}: assert what your code tells its caller about such an answer")
    if results.left_out:
        reasons = ", ".join(f"{many} {reason}" for reason, many in sorted(results.left_out.items()))
        lines.append(f"left out      {reasons}")
    if results.not_reached:
        missing = counted(results.not_reached, "rerun")
        lines.append(f"not reached   {missing} within --converse-chaos={option}; give it more seconds")
    return lines


def _rerun(each: JudgedRerun, result: str) -> str:
    asleep = f" ({each.asleep:.0f} s asleep)" if each.asleep >= 1 else ""
    return f"{each.test}   reply {each.reply}  {each.fault}: {result}{asleep}"


def _heading(verdict: str) -> str:
    """Return the first two words of the verdict, in capitals, padded to the width of a column."""
    return f"{' '.join(verdict.split()[:2]).upper():<13}"


def print_summary(terminal: pytest.TerminalReporter, results: ChaosResults, option: str) -> None:
    """Print the summary as a section of pytest's report; with `-v`, also one line for each rerun."""
    terminal.section("converse chaos")
    for line in lines_of(results, option):
        terminal.write_line(line)
    if terminal.config.get_verbosity() > 0:
        for each in sorted(results.tried, key=lambda each: (each.test, each.reply)):
            terminal.write_line(f"{each.verdict:<{_WIDEST}} {_rerun(each, each.why)}")
    terminal.write_line("Verdicts and how to leave a test out: converse-harness docs chaos")


_LONGEST: Final = 200
"""The maximum length, in characters, of a text in the line of code. The rest of the text is left out."""


def script_of(watch: Watch, own: Sequence[Reply]) -> str:
    """Return the line of code that scripts what was sent in a rerun, and what corrected code needs that asks again.

    `own` are the test's own replies. If the rerun did not ask again, the undamaged reply stands behind the damaged one,
    and is optional; so are the replies that the rerun did not use.
    """
    first = watch.first
    sent = [replace(each, uses=1, may_be_unused=False) for each in watch.given]
    if first is not None and not watch.asked_again:
        plan = first.call.reply and first.call.reply.plan
        behind = max((at for at, each in enumerate(sent, 1) if each.plan is plan), default=len(sent))
        sent.insert(behind, first.reply.times(1).optional())
    sent += [each.times(1).optional() for each in own[len(watch.replies) :]]
    return script_code(sent, longest=_LONGEST)
