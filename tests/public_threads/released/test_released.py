"""The table of released versions, and that what was seen of them is what it says."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from converse_harness import faults, reply
from converse_harness.bedrock.families import OVERFLOWS
from converse_harness.bedrock.rules import RULES
from converse_harness.cases import CASES
from tests.public_threads.released.table import HERE, Thread, problems, read_seen, threads

OURS = {
    "case": set(CASES),
    "fault": set(dir(faults)),
    "overflow": set(OVERFLOWS),
    "reply": set(reply.__all__),
    "rule": {rule.name for rule in RULES},
}
"""What `shown_by` may name."""

ROWS = threads()
ROW = replace(ROWS[0], red="1", green="2", error="ValidationException", says="too long")


def test_all_was_seen_as_the_table_says() -> None:
    kept = [{name: text for name, text in row.items() if name not in ("old", "date")} for row in read_seen()]
    assert kept == [row.shared for row in ROWS], "`nox -s history` writes what is seen"


def test_the_old_failed_as_the_table_says() -> None:
    found = [problem for row, seen in zip(ROWS, read_seen(), strict=True) for problem in problems(row, seen["old"], "")]
    assert not found


def test_there_are_enough() -> None:
    assert len({row.thread for row in ROWS}) == len({row.check for row in ROWS}) == len(ROWS) >= 12


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.thread)
def test_what_a_row_names_is_there(row: Thread) -> None:
    kind, _, name = row.shown_by.partition(" ")
    assert name in OURS[kind]
    module, _, function = row.check.partition("::")
    tree = ast.parse((HERE / module).read_text(encoding="utf-8"))
    assert function.partition("[")[0] in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("botocore.errorfactory.ValidationException: prompt is too long", "", []),
        ("", "", ["1 should fail, and passes"]),
        ("ImportError: prompt is too long", "", ["1 should fail with ValidationException"]),
        ("x.ValidationException: Input is blank", "", ["1 should fail with ValidationException"]),
        ("ValidationException: too long", "TypeError: no", ["2 should pass; it says TypeError"]),
        ("", "TypeError: no", ["1 should fail", "2 should pass"]),
    ],
)
def test_what_is_not_as_the_table_says(before: str, after: str, said: list[str]) -> None:
    found = list(problems(ROW, before, after))
    assert len(found) == len(said)
    assert all(problem.startswith(start) for problem, start in zip(found, said, strict=True))
