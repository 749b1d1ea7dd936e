"""The benchmarks measure what their table has, and docs/benchmarks.md shows all of it. Nothing here takes a time."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from benchmarks.__main__ import SUBJECTS, main, page, summary
from benchmarks.agent import Conversation, asked_in_process, uses_tool
from benchmarks.budgets import ALL, BUDGETS
from benchmarks.instructions import count
from benchmarks.instructions.loops import CALLS
from benchmarks.limits import Budget
from benchmarks.measure import ROOT, Rounds, exponent
from benchmarks.rows import Row, Subject, measure, table

from converse_harness import fake_converse
from tests.examples.tables import DOCS, names

PAGE = DOCS / "benchmarks.md"


def written(subject: str) -> re.Pattern[str]:
    """What the texts in a module match: those that are written out, and those with variables in them."""
    module = sys.modules[SUBJECTS[subject].__module__]
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    forms = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr([ast.Constant(), *_] as parts):
                texts = (re.escape(str(each.value)) if isinstance(each, ast.Constant) else ".+" for each in parts)
                forms.add("".join(texts))
            case ast.Constant(str(text)):
                forms.add(re.escape(text))
            case _:
                pass
    return re.compile("|".join(forms))


def test_each_subject_has_budgets_and_each_name_is_there_once() -> None:
    assert list(SUBJECTS) == list(BUDGETS)
    assert len(ALL) == sum(map(len, BUDGETS.values()))


@pytest.mark.parametrize("subject", [name for name in BUDGETS if name != "instructions"])
def test_each_budget_is_filled_by_its_subject(subject: str) -> None:
    forms = written(subject)
    assert [name for name in BUDGETS[subject] if not forms.fullmatch(name)] == []


def test_a_folder_of_benchmarks_has_few_files() -> None:
    files = [file for file in (ROOT / "benchmarks").rglob("*.py") if "node" not in file.parts]
    counts = {folder: [file.parent for file in files].count(folder) for folder in {file.parent for file in files}}
    assert [folder.name for folder, number in counts.items() if number > 12] == []


def test_a_subject_has_all_rows_in_the_order_of_the_table() -> None:
    rows = [Row(name, 1.0) for name in BUDGETS["parts"]]
    assert measure("parts", lambda: rows[::-1]) == Subject("parts", rows)


@pytest.mark.parametrize("rows", [[], [Row("client", 1.0), *(Row(name, 1.0) for name in BUDGETS["parts"])]])
def test_what_is_missing_or_has_no_budget_fails_a_subject(rows: list[Row]) -> None:
    failure = measure("parts", lambda: rows).failure
    assert failure.startswith("parts measures [")


def fails_after_one() -> Iterator[Row]:
    """A subject that measures one thing, and cannot go on."""
    yield Row("encode", 5.0)
    raise ValueError("no room\nat all")


def test_a_subject_that_fails_keeps_its_rows_and_says_why() -> None:
    subject = measure("parts", fails_after_one)
    assert subject.failure == "ValueError: no room\nat all"
    assert subject.rows[0] == Row("encode", 5.0)
    assert {(row.value, row.note) for row in subject.rows[1:]} == {(None, "ValueError: no room")}
    assert [row.name for row in subject.rows] == list(BUDGETS["parts"])


def measured(subject: str, value: float) -> Iterable[Row]:
    """The rows of a subject, all with one value."""
    return [Row(name, value) for name in BUDGETS[subject]]


def test_each_subject_is_shown_when_it_is_done_and_one_that_fails_ends_the_run_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def after_the_first() -> Iterable[Row]:
        assert "\nparts\n" in capsys.readouterr().out
        raise OSError("the loopback is gone")

    subjects = {
        "parts": lambda: measured("parts", 1.0),
        "load": after_the_first,
        "memory": lambda: measured("memory", 1),
    }
    monkeypatch.setattr("benchmarks.__main__.SUBJECTS", subjects)
    file = tmp_path / "results.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--json", str(file)])
    with pytest.raises(SystemExit, match=r"failed: load\nnot measured: longest pause"):
        main()
    shown = capsys.readouterr().out
    assert "load failed: OSError: the loopback is gone" in shown
    assert "\nmemory\n" in shown
    assert "3 of 4 budgets hold" in shown
    assert '"name": "memory agent", "value": 1' in re.sub(r"\s+", " ", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("instructions call", 1e9, "missed: a Converse call, the only one of its fake"),
        ("instructions call", 0.0, ""),
        ("instructions replay", 0.69, ""),
        ("instructions replay", 0.71, "missed: a stream of 50 events from a file / from vcrpy"),
        ("call", 1e9, ""),
        ("call", None, "not measured: a Converse call, the only one of its fake, beyond the client's own"),
    ],
)
def test_a_gate_that_does_not_hold_ends_a_run_with_1(name: str, value: float | None, why: str) -> None:
    assert summary([Subject("any", [Row(name, value)])])[1] == why


def test_without_valgrind_no_instructions_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    subject = measure("instructions", count.rows)
    assert (subject.failure, {(row.value, row.note) for row in subject.rows}) == (
        "",
        {(None, "valgrind is not installed")},
    )


def test_instructions_are_the_difference_to_the_floor() -> None:
    floor = {**dict.fromkeys((*CALLS, "first"), 100.0), "share fresh": 1_000.0, "agent": 10.0, "replay": 8.0}
    ours = dict.fromkeys((*CALLS, "first"), 170.0)
    ours |= {"open": 20.0, "share fresh": 1_120.0, "share cached": 1_030.0, "all stages": 165.0, "needed stages": 160.0}
    ours |= {"conditions": 2_500.0, "no conditions": 500.0, "leave": 40.0, "replay": 4.0}
    assert count.beyond({"floor": floor, "ours": ours, "agent": {"agent": 12.0}}) == {
        **dict.fromkeys((*CALLS, "first"), (50.0, 100.0)),
        "share fresh": (100.0, 1_000.0),
        "share cached": (30.0, 1_000.0),
        "agent": (2.0, 10.0),
        "condition": (2.0, 100.0),
        "stages": (5.0, 100.0),
        "leave": (0.2, 1.0),
        "replay": (4.0, 8.0),
    }


def test_every_budget_in_instructions_is_a_gate_and_gets_a_row() -> None:
    assert all(budget.gate and budget.limit is not None for budget in BUDGETS["instructions"].values())
    keys = [name.removeprefix("instructions ") for name in BUDGETS["instructions"]]
    some = dict.fromkeys(keys, (1e6, 2e6))
    assert [row.name for row in count.rows_of(some)] == [f"instructions {key}" for key in keys if key != "start"]


def test_an_agent_sends_its_whole_history_without_a_note() -> None:
    conversation = Conversation(20)
    with fake_converse(*(uses_tool(turn) for turn in range(4))) as fake:
        conversation.run(asked_in_process(fake.core), 4)
    assert [len(call.messages) for call in fake.calls] == [1, 3, 5, 7]
    assert [len(call.tool_names) for call in fake.calls] == [20] * 4
    assert [call.tool_results[-1]["status"] for call in fake.calls[1:]] == ["success"] * 3
    assert fake.notes == []


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
    rows = [Subject(subject, [Row(name, 1234.5, "because") for name in BUDGETS[subject]]) for subject in BUDGETS]
    page(copy, {"date": "today"}, rows)
    text = copy.read_text(encoding="utf-8")
    assert "| date | today |" in text
    assert text.count("| because |") == len(ALL)
    outside = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if not line.startswith("|")]
    assert [line for line in text.splitlines() if not line.startswith("|")] == outside


def test_the_printed_table_has_a_line_for_each_row() -> None:
    lines = table([Row("call", 6.0, "why"), Row("first", None, "not here")]).splitlines()
    assert [line.split()[-1] for line in lines] == ["verdict", "why", "here"]
    assert "MISSES" in lines[1]
    assert "not measured" in lines[2]
