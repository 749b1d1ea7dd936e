"""The tables of docs/chaos.md are those of the code; run as a script, this file writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converse_harness.features.chaos.damage import USUAL, damages
from converse_harness.features.chaos.verdict import Survival
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "chaos.md"


def faults() -> Iterator[Row]:
    """The faults that are tried unless others are named."""
    yield "fault", "what came"
    for name in USUAL:
        yield code(name), damages()[name].sentence


def verdicts() -> Iterator[Row]:
    """What became of a test with a damaged reply."""
    yield "verdict", "meaning"
    for each in Survival:
        yield each.word, each.meaning


TABLES: Final[Tables] = {"faults": faults, "verdicts": verdicts}


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert sorted(names(page)) == sorted(TABLES)
    assert with_tables(page, TABLES) == page, f"python -m tests.features.chaos.test_chaos_page writes docs/{PAGE}"


if __name__ == "__main__":
    write(PAGE, TABLES)
