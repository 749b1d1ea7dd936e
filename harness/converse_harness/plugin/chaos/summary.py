"""The summary that a chaos run prints at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from converse_harness.plugin.chaos.verdict import LISTED, Survival

if TYPE_CHECKING:
    import pytest

_ALIKE: Final = 3
"""The maximum number of listed reruns with the same fault and the same verdict; `-v` lists all reruns."""

_WIDEST: Final = max(len(each.word) for each in Survival)

_TESTS: Final = 5
"""The maximum number of unrepeatable tests whose names are printed."""


@dataclass(slots=True)
class JudgedRerun:
    """One rerun with a damaged reply: the test, the number of the reply, the fault, the verdict and its reason.

    `came` is a sentence that describes the damage, `script` is the line to paste. `asleep` is the number of seconds
    that the rerun slept beyond those of the run without damage.
    """

    test: str
    reply: int
    fault: str
    verdict: str
    why: str
    came: str
    script: str
    asleep: float


@dataclass(slots=True)
class ChaosResults:
    """The results of one process: reruns, left-out tests by reason, and pairs that the budget did not reach."""

    tried: list[JudgedRerun] = field(default_factory=list[JudgedRerun])
    left_out: Counter[str] = field(default_factory=Counter[str])
    unrepeatable: dict[str, str] = field(default_factory=dict[str, str])
    not_reached: int = 0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The results as values that xdist can send."""
        return {**asdict(self), "tried": [asdict(each) for each in self.tried], "left_out": dict(self.left_out)}

    def add(self, told: Mapping[str, Any]) -> None:
        """Add the results of another process, from `as_json`."""
        self.tried += [JudgedRerun(**each) for each in told["tried"]]
        self.left_out.update(told["left_out"])
        self.unrepeatable |= told["unrepeatable"]
        self.not_reached += told["not_reached"]
        self.seconds = max(self.seconds, told["seconds"])

    @property
    def bad(self) -> list[JudgedRerun]:
        """The reruns with a listed verdict, worst first; for each verdict, one per fault and test file comes first."""
        order = [each.word for each in LISTED]
        found = [each for each in self.tried if each.verdict in order]
        found.sort(key=lambda each: (order.index(each.verdict), each.test, each.reply, each.fault))
        before: Counter[tuple[str, str, str]] = Counter()
        ranks: dict[int, int] = {}
        for each in found:
            alike = (each.verdict, each.fault, each.test.partition("::")[0])
            ranks[id(each)] = before[alike]
            before[alike] += 1
        return sorted(found, key=lambda each: (order.index(each.verdict), ranks[id(each)]))


def lines_of(results: ChaosResults, option: str) -> list[str]:
    """Return the lines of the summary; `option` is the value of `--converse-chaos`."""
    counts = Counter(each.verdict for each in results.tried)
    found = ", ".join(f"{counts[each.word]} {each.word}" for each in reversed(Survival) if counts[each.word])
    tests = len({each.test for each in results.tried})
    total = (
        f"{_many(len(results.tried), 'rerun')} of {_many(tests, 'test')} in {results.seconds:.0f} s: {found or 'none'}"
    )
    if results.unrepeatable:
        many = len(results.unrepeatable)
        total += f"; {_many(many, 'test')} {'is' if many == 1 else 'are'} not repeatable"
    lines = [total]
    shown: Counter[tuple[str, str]] = Counter()
    for each in results.bad:
        shown[each.verdict, each.fault] += 1
        if shown[each.verdict, each.fault] <= _ALIKE:
            lines += _told(each)
    for (verdict, fault), many in shown.items():
        if many > _ALIKE:
            lines.append(f"{_heading(verdict)} and {many - _ALIKE} more with {fault}; -v lists every rerun")
    slow = sum(each.asleep for each in results.tried if each.asleep >= 1)
    if slow:
        lines.append(f"waited for    {slow:.0f} s in sleeps of the code under test")
    named = [f"{test} ({why})" for test, why in sorted(results.unrepeatable.items())]
    more = [f"and {len(named) - _TESTS} more"] if len(named) > _TESTS else []
    if named:
        lines.append(f"not repeatable: {', '.join([*named[:_TESTS], *more])}")
    if results.left_out:
        reasons = ", ".join(f"{many} {reason}" for reason, many in sorted(results.left_out.items()))
        lines.append(f"left out      {reasons}")
    if results.not_reached:
        missing = _many(results.not_reached, "rerun")
        lines.append(f"not reached   {missing} within --converse-chaos={option}; give it more seconds")
    return lines


def _told(each: JudgedRerun) -> list[str]:
    """Return the lines about one rerun: the damage, the result, and the line to paste."""
    between = ", and " if each.verdict == Survival.NOT_NOTICED.word else "; "
    what = f"{each.test}   reply {each.reply}  {each.fault}: {each.came}{between}{each.why}{_asleep(each)}"
    return [f"{_heading(each.verdict)} {what}", f"   try it     {each.script}"]


def _asleep(each: JudgedRerun) -> str:
    return f" ({each.asleep:.0f} s asleep)" if each.asleep >= 1 else ""


def _heading(verdict: str) -> str:
    """Return the first two words of the verdict, in capitals, padded to the width of a column."""
    return f"{' '.join(verdict.split()[:2]).upper():<13}"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_summary(terminal: pytest.TerminalReporter, results: ChaosResults, option: str) -> None:
    """Print the section."""
    terminal.section("converse chaos")
    for line in lines_of(results, option):
        terminal.write_line(line)
    if terminal.config.get_verbosity() > 0:
        for each in sorted(results.tried, key=lambda each: (each.test, each.reply)):
            what = f"{each.test}   reply {each.reply}  {each.fault}: {each.why}{_asleep(each)}"
            terminal.write_line(f"{each.verdict:<{_WIDEST}} {what}")
    terminal.write_line("Verdicts and how to leave a test out: converse-harness docs chaos")
