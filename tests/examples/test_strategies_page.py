"""The tables of docs/strategies.md are the docstrings and tables of the code."""

import inspect
import re
from pathlib import Path

import pytest

import converse_strategies
from converse_harness.faults.order import ORDER_FAULTS
from converse_strategies.json_schema.reading import KEYWORDS, TAKES
from tests.planted.bugs import BUGS
from tests.planted.finding import SEARCHES
from tests.strategies.figures import RECORDED

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "strategies.md").read_text(encoding="utf-8")


def first_sentence(name: str) -> str:
    text = " ".join((inspect.getdoc(getattr(converse_strategies, name)) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", text)[0]


FUNCTIONS = [name for name in dir(converse_strategies) if name.islower()]
TABLES = {
    "strategy": [(name, first_sentence(name)) for name in FUNCTIONS],
    "keyword": [(name, TAKES[keyword.takes][0]) for name, keyword in KEYWORDS.items()],
    "breach": [(placement.name, placement.sentence) for placement in ORDER_FAULTS.values()],
}


def table(head: str) -> list[str]:
    """The lines of the table whose first column is headed so."""
    found = re.search(rf"^\| {head} \|.*\n\|---\|---\|\n((?:\|.*\n)*)", PAGE, re.MULTILINE)
    assert found
    return found[1].splitlines()


@pytest.mark.parametrize("head", TABLES)
def test_a_table_of_the_page_is_that_of_the_code(head: str) -> None:
    assert table(head) == [f"| `{name}` | {what} |" for name, what in TABLES[head]]


def test_the_figures_of_recorded_streams_stand_beside_the_drawn_ones() -> None:
    rows = re.findall(r"^\| ([^|`]+?) \| ([\d, %]+) \| ([\d, %]+) \|$", PAGE, re.MULTILINE)
    assert {name: recorded for name, _, recorded in rows} == RECORDED
    drawn = {name: [int(each) for each in re.findall(r"\d+", ours)] for name, ours, _ in rows}
    for name in list(RECORDED)[:2] + list(RECORDED)[3:4]:
        assert drawn[name][-1] >= int(RECORDED[name].split(", ")[-1])


def test_the_table_of_planted_bugs_has_them_all() -> None:
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| (.+?) \| (\d) \| (\d) \| (\d) \|$", PAGE, re.MULTILINE)
    assert [row[:3] for row in rows] == [(bug.consumer, bug.name, bug.about) for bug in BUGS]
    assert f"| what goes wrong | {' | '.join(SEARCHES)} |" in PAGE
