"""The benchmarks measure what their table has, and docs/benchmarks.md shows all of it. Nothing here takes a time."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from benchmarks.__main__ import SUBJECTS, page
from benchmarks.budgets import ALL, BUDGETS, Budget, Row, check_rows, table
from benchmarks.measure import ROOT, Rounds, exponent

from tests.examples.tables import DOCS, names

PAGE = DOCS / "benchmarks.md"


def written(subject: str) -> re.Pattern[str]:
    """What the texts in a module match: those that are written out, and those that begin so and end with a variable."""
    tree = ast.parse((ROOT / "benchmarks" / f"{subject}.py").read_text(encoding="utf-8"))
    forms = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr([ast.Constant(str(start)), ast.FormattedValue()]):
                forms.add(re.escape(start) + ".+")
            case ast.Constant(str(text)):
                forms.add(re.escape(text))
            case _:
                pass
    return re.compile("|".join(forms))


def test_each_subject_has_budgets_and_each_name_is_there_once() -> None:
    assert list(SUBJECTS) == list(BUDGETS)
    assert len(ALL) == sum(map(len, BUDGETS.values()))


@pytest.mark.parametrize("subject", BUDGETS)
def test_each_budget_is_filled_by_its_subject(subject: str) -> None:
    forms = written(subject)
    assert [name for name in BUDGETS[subject] if not forms.fullmatch(name)] == []


def test_what_is_not_measured_or_has_no_budget_ends_a_run() -> None:
    assert check_rows("guard", [Row("guard", 1.0)]) == [Row("guard", 1.0)]
    for rows in ([], [Row("guard", 1.0), Row("client", 1.0)]):
        with pytest.raises(RuntimeError, match="guard measures"):
            check_rows("guard", rows)


@pytest.mark.parametrize(
    ("budget", "value", "verdict"),
    [
        (Budget("a", "ms", 2), 2.0, "ok"),
        (Budget("a", "ms", 2), 2.01, "MISSES"),
        (Budget("a", "/s", 2, least=True), 2.0, "ok"),
        (Budget("a", "/s", 2, least=True), 1.99, "MISSES"),
        (Budget("a", "ms"), 9.0, ""),
        (Budget("a", "ms", 2), None, "not measured"),
    ],
)
def test_the_verdict(budget: Budget, value: float | None, verdict: str) -> None:
    assert budget.verdict(value) == verdict


def test_the_quiet_rounds_are_compared() -> None:
    ours = iter([0.0, 3.0, 30.0, 3.0, 30.0, 3.0])
    floor = iter([0.0, 2.0, 1.0, 2.0, 2.0, 2.0])
    measured = Rounds(5, {"ours": lambda: next(ours), "floor": lambda: next(floor)})
    assert (measured.of("ours"), measured.over("ours", "floor"), measured.ratio("ours", "floor")) == (3.0, 1.0, 1.5)
    assert measured.share("ours", "floor") == pytest.approx(100 / 3)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_power_of_a_growth_is_found(power: float) -> None:
    assert exponent({size: 3 * size**power for size in (10, 20, 40, 80)}) == pytest.approx(power)


def test_the_page_shows_every_budget() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert names(text) == ["run", *BUDGETS]
    lines = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    shown = [(line[0], line[2]) for line in lines if len(line) > 2 and line[0] not in ("what", "---")]
    assert shown == [(budget.what, budget.bound) for budget in ALL.values()]


def test_a_run_writes_the_tables_anew_and_nothing_else(tmp_path: Path) -> None:
    copy = tmp_path / PAGE.name
    copy.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    rows = {subject: [Row(name, 1234.5, "because") for name in BUDGETS[subject]] for subject in BUDGETS}
    page(copy, {"date": "today"}, rows)
    text = copy.read_text(encoding="utf-8")
    assert "| date | today |" in text
    assert text.count("| because |") == len(ALL)
    outside = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if not line.startswith("|")]
    assert [line for line in text.splitlines() if not line.startswith("|")] == outside


def test_the_printed_table_has_a_line_for_each_row() -> None:
    lines = table([Row("guard", 6.0, "why"), Row("first", None, "not here")]).splitlines()
    assert [line.split()[-1] for line in lines] == ["verdict", "why", "here"]
    assert "MISSES" in lines[1]
    assert "not measured" in lines[2]
