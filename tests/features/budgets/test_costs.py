"""`converse-harness costs OLD NEW`: what costs more, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness.cli import main
from converse_harness.features.budgets.costs import CostsCompared, CostsOfTest
from converse_harness.features.budgets.limits import KEYS

Amounts = dict[str, float]

ZERO: Final = dict.fromkeys(KEYS, 0)
TOKENS: Final = {"input": 100, "output": 5, "cache_read": 0, "cache_write": 0}


def written(path: Path, tests: dict[str, Any], **others: Any) -> str:
    costs = {
        name: {**ZERO, **{key: each for key, each in amounts.items() if key != "tokens"}}
        | {"estimated_tokens": {**TOKENS, "input": amounts.get("tokens", 100)}}
        for name, amounts in tests.items()
    }
    made = {"format": "converse-costs", "version": 1, "tests": costs, **others}
    path.write_text(json.dumps(made), encoding="utf-8")
    return str(path)


def compare(capsys: pytest.CaptureFixture[str], old: str, new: str, code: int) -> list[str]:
    assert main(["costs", old, new]) == code
    out, err = capsys.readouterr()
    return (out if code < 2 else err).splitlines()


def test_tests_that_changed_are_listed_with_the_totals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(
        tmp_path / "old.json",
        {
            "test_a.py::test_more": {"calls": 4, "characters": 1200},
            "test_a.py::test_less": {"calls": 4, "waited": 0.3},
            "test_a.py::test_same": {"calls": 1},
            "test_a.py::test_gone": {"calls": 7},
        },
    )
    new = written(
        tmp_path / "new.json",
        {
            "test_a.py::test_more": {"calls": 5, "characters": 900, "tokens": 250},
            "test_a.py::test_less": {"calls": 2, "waited": 0.1},
            "test_a.py::test_same": {"calls": 1},
            "test_a.py::test_new": {"calls": 3, "characters": 1000},
        },
    )
    assert compare(capsys, old, new, 1) == [
        "more test_a.py::test_more  calls 4 -> 5, characters 1,200 -> 900",
        "less test_a.py::test_less  calls 4 -> 2, waited 0.3 -> 0.1",
        "new  test_a.py::test_new   calls 3, characters 1,000",
        "gone test_a.py::test_gone  calls 7",
        "total of the tests in both: calls 9 -> 8, characters 1,200 -> 900, waited 0.3 -> 0.1",
        "tokens, estimated, which decide nothing: input 300 -> 450",
        "1 test costs more.",
    ]


def test_estimates_and_new_tests_do_not_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(tmp_path / "old.json", {"test_a.py::test": {"calls": 1, "tokens": 1}})
    new = written(
        tmp_path / "new.json", {"test_a.py::test": {"calls": 1, "tokens": 9}, "test_b.py::test": {"calls": 9}}
    )
    assert compare(capsys, old, new, 0) == [
        "new  test_b.py::test  calls 9",
        "total of the tests in both: no change",
        "tokens, estimated, which decide nothing: input 1 -> 9",
        "No test costs more.",
    ]


amounts: Final = st.fixed_dictionaries({key: st.integers(0, 3) for key in KEYS})
runs: Final = st.dictionaries(st.sampled_from("abcd"), amounts, max_size=4)


@given(runs, runs)
def test_something_costs_more_if_one_exact_amount_of_one_test_is_more(
    old: dict[str, Amounts], new: dict[str, Amounts]
) -> None:
    compared = CostsCompared(*[{name: CostsOfTest(each, TOKENS) for name, each in run.items()} for run in (old, new)])
    more = [name for name in new if name in old and any(new[name][key] > old[name][key] for key in KEYS)]
    assert compared.more == more
    listed = {line[5:].split()[0] for line in compared.lines() if not line.startswith(("total", "tokens"))}
    assert listed == {name for name in {*old, *new} if old.get(name) != new.get(name)}


WRONG: Final = {
    "not json": ("{", "is not what `pytest --converse-costs="),
    "another format": ('{"format": "converse-use"}', "is not what `pytest --converse-costs="),
    "a later version": (
        '{"format": "converse-costs", "version": 2}',
        "has version 2, and this release reads version 1.",
    ),
    "changed": ('{"format": "converse-costs", "version": 1, "tests": {"a": {}}}', "was changed after `pytest"),
    "an array": ("[]", "is not what"),
}


@pytest.mark.parametrize(("text", "problem"), WRONG.values(), ids=WRONG)
def test_a_file_that_cannot_be_read_is_trouble(
    text: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = written(tmp_path / "good.json", {"a": {}}), tmp_path / "bad.json"
    bad.write_text(text, encoding="utf-8")
    for pair in ((str(bad), good), (good, str(bad))):
        (line,) = compare(capsys, *pair, 2)
        assert line.startswith(f"converse-harness costs: {bad} {problem}")


def test_runs_of_other_tests_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = written(tmp_path / "old.json", {"a": {"calls": 1}}), written(tmp_path / "new.json", {"b": {"calls": 9}})
    (line,) = compare(capsys, old, new, 2)
    assert line.startswith(f"converse-harness costs: no test is in both {old} (1 test) and {new} (1 test): run ")


def test_a_missing_file_and_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, missing = written(tmp_path / "good.json", {}), str(tmp_path / "missing.json")
    assert compare(capsys, good, missing, 2) == [f"converse-harness costs: {missing}: No such file or directory"]
    with pytest.raises(SystemExit) as ended:
        main(["costs", good])
    assert ended.value.code == 2
    assert "the following arguments are required: NEW" in capsys.readouterr().err
