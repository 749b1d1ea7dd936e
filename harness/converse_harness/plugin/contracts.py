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

_NARROWEST: Final = 20
"""The least room, in characters, that is left for why."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of verdicts for each contract, then each case that was not handled, with the reason."""
    contracts: dict[str, list[Mapping[str, Any]]] = {}
    for verdict in _verdicts(terminalreporter.stats):
        contracts.setdefault(verdict["contract"], []).append(verdict)
    if not contracts:
        return
    width = terminalreporter.config.get_terminal_writer().fullwidth
    terminalreporter.section("converse contract")
    for name, verdicts in sorted(contracts.items()):
        wrong = sorted(filter(_is_told, verdicts), key=lambda verdict: str(verdict["test"]))
        colour = {"red": True} if any(not _as_known(verdict) for verdict in wrong) else {"green": True}
        terminalreporter.write_line(f"{name}: {_counts(verdicts)}", bold=True, **colour)
        for verdict, line in zip(wrong, _lines(wrong, width), strict=True):
            terminalreporter.write_line(line, **({"yellow": True} if _as_known(verdict) else {"red": True}))


def _verdicts(stats: Mapping[str, Iterable[object]]) -> Iterator[Mapping[str, Any]]:
    for reports in stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, value in getattr(report, "user_properties", ()):
                    if name == VERDICT:
                        yield json.loads(value)


def _is_handled(verdict: Mapping[str, Any]) -> bool:
    return str(verdict["level"]) == "handled"


def _is_told(verdict: Mapping[str, Any]) -> bool:
    """Whether a verdict gets a line: not handled, or handled although `known` lists the case."""
    return not _is_handled(verdict) or verdict["known"] is not None


def _as_known(verdict: Mapping[str, Any]) -> bool:
    return verdict["known"] is not None and not _is_handled(verdict)


def _counts(verdicts: Iterable[Mapping[str, Any]]) -> str:
    levels = Counter(str(verdict["level"]) for verdict in verdicts)
    known = Counter(str(verdict["level"]) for verdict in verdicts if _as_known(verdict))
    return ", ".join(
        f"{levels[level]} {level}{f' ({known[level]} known)' if known[level] else ''}" for level in sorted(levels)
    )


def _lines(verdicts: Iterable[Mapping[str, Any]], width: int) -> Iterator[str]:
    """The test, its verdict, and as much of the reason as fits on the line."""
    rows = [(verdict["test"], _word(verdict), verdict["why"]) for verdict in verdicts]
    first, second = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    for test, word, why in rows:
        line = f"  {test:{first}}  {word:{second}}  "
        room = max(width - len(line) - 1, _NARROWEST)
        said = " ".join(why.split())
        yield (line + (said if len(said) <= room else f"{said[: room - 3]}...")).rstrip()


def _word(verdict: Mapping[str, Any]) -> str:
    if _is_handled(verdict):
        return "handled, but in `known`"
    return f"{verdict['flaw'] or verdict['level']}{', known' if verdict['known'] is not None else ''}"
