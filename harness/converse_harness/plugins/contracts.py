"""pytest: the table of verdicts of `converse_harness.contract` at the end of a run; also under xdist."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

VERDICT: Final = "converse_contract"
"""The user property of a test report that holds a verdict, as JSON."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A count of verdicts for each contract, then each case that was not handled, with why."""
    contracts: dict[str, list[Mapping[str, Any]]] = {}
    for verdict in _verdicts(terminalreporter.stats):
        contracts.setdefault(verdict["contract"], []).append(verdict)
    if not contracts:
        return
    terminalreporter.section("converse contract")
    for name, verdicts in contracts.items():
        for line in _lines(name, verdicts):
            terminalreporter.write_line(line)


def _verdicts(stats: Mapping[str, Iterable[object]]) -> Iterator[Mapping[str, Any]]:
    for reports in stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, value in getattr(report, "user_properties", ()):
                    if name == VERDICT:
                        yield {**json.loads(value), "known": hasattr(report, "wasxfail")}


def _lines(name: str, verdicts: list[Mapping[str, Any]]) -> Iterator[str]:
    levels = Counter(verdict["verdict"].partition(":")[0] for verdict in verdicts)
    known = sum(verdict["known"] for verdict in verdicts)
    counts = ", ".join(f"{count} {level}" for level, count in levels.items())
    yield f"{name}: {counts}" + (f"; {known} known" if known else "")
    wrong = [verdict for verdict in verdicts if verdict["verdict"] != "handled"]
    width = max((len(verdict["test"]) for verdict in wrong), default=0)
    for verdict in wrong:
        known_word = "known, " if verdict["known"] else ""
        why = f"  {verdict['why']}" if verdict["why"] else ""
        yield f"  {verdict['test']:{width}}  {known_word}{verdict['verdict']}{why}"
