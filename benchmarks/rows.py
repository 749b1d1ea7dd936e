"""Measured values: a Row for each budget, a whole subject of them, and the printed table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.budgets import ALL, BUDGETS
from benchmarks.limits import Budget

HEAD: Final = ("what", "measured", "budget", "verdict", "")


@dataclass(frozen=True, slots=True)
class Row:
    """A measured value, with what else is worth knowing about it.

    None: it could not be measured, and the note says why.
    """

    name: str
    value: float | None
    note: str = ""

    @property
    def budget(self) -> Budget:
        """What it is held against."""
        return ALL[self.name]

    @property
    def verdict(self) -> str:
        """Of the budget."""
        return self.budget.verdict(self.value)

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """What, measured, budget, verdict and note."""
        budget = self.budget
        return budget.what, budget.shown(self.value), budget.bound, self.verdict, self.note

    def as_json(self) -> dict[str, Any]:
        """The row and its budget, for a file."""
        return {**asdict(self.budget), **asdict(self), "verdict": self.verdict or None}


@dataclass(frozen=True, slots=True)
class Subject:
    """The rows of a subject in the order of the table, and why it failed; empty if it did not."""

    name: str
    rows: list[Row]
    failure: str = ""


def measure(name: str, rows: Callable[[], Iterable[Row]]) -> Subject:
    """Measure a subject. If it fails, it has the rows that came before, and the others are not measured.

    A subject that measures something without a budget, or not all that has one, failed as well.
    """
    found: dict[str, Row] = {}
    failure = ""
    try:
        for row in rows():
            found[row.name] = row
    except Exception as error:  # noqa: BLE001 - the other subjects are to be measured
        failure = f"{type(error).__name__}: {error}"
    else:
        if found.keys() != BUDGETS[name].keys():
            failure = f"{name} measures {sorted(found)}; the table has {sorted(BUDGETS[name])}"
    reason = failure.partition("\n")[0]
    return Subject(name, [found.get(each, Row(each, None, reason)) for each in BUDGETS[name]], failure)


def table(rows: Iterable[Row]) -> str:
    """The rows as text."""
    cells = [HEAD, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place == 1 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )
