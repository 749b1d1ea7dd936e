"""What a run with `--converse-shrink` prints at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from converse_harness.features.shrink.parts import count_of
from converse_harness.plugin.reruns.finished import ScriptTurn
from converse_harness.words import counted

if TYPE_CHECKING:
    import pytest


@dataclass(slots=True)
class ShrunkTest:
    """The result for one test: its node id, and lines of text. `script` is the code to paste; "" if nothing is smaller.

    `remarks` are the lines behind the code, for example that the time was over.
    """

    test: str
    told: str
    script: str = ""
    remarks: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class ShrinkResults:
    """The results of a run. `left` is the number of tests for which there was no room."""

    tests: list[ShrunkTest] = field(default_factory=list[ShrunkTest])
    left: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the results as values that xdist can send."""
        return asdict(self)

    def add(self, other: dict[str, Any]) -> None:
        """Add the results of another process; `other` is the value that `as_json` returned there."""
        self.tests += [ShrunkTest(**each) for each in other["tests"]]
        self.left += other["left"]


def sizes(before: Sequence[ScriptTurn], after: Sequence[ScriptTurn]) -> str:
    """Return what became less: `31 calls -> 2 calls, 40 blocks -> 3, 2310 characters -> 1`."""
    old, new = _counts(before), _counts(after)
    calls = f"{counted(len(before), 'call')} -> {counted(len(after), 'call')}"
    return f"{calls}, {counted(old[0], 'block')} -> {new[0]}, {counted(old[1], 'character')} -> {new[1]}"


def _counts(turns: Sequence[ScriptTurn]) -> tuple[int, int]:
    found = [count_of(each.reply) for each in turns]
    return sum(blocks for blocks, _ in found), sum(characters for _, characters in found)


def lines_of(results: ShrinkResults) -> list[str]:
    """Return the lines of the summary."""
    lines: list[str] = []
    for each in results.tests:
        lines.append(f"{each.test}: {each.told}")
        if each.script:
            lines += [f"    {each.script}"]
        lines += each.remarks
    if results.left:
        more = counted(results.left, "more was", "more were")
        lines.append(f"{more} not shrunk: name a test, as in pytest --converse-shrink FILE::TEST")
    if not results.tests:
        lines.append("Nothing was shrunk: no test failed with an exception.")
    return lines


def print_summary(terminal: pytest.TerminalReporter, results: ShrinkResults) -> None:
    """Print the summary as a section of pytest's report."""
    terminal.section("converse shrink")
    for line in lines_of(results):
        terminal.write_line(line)
