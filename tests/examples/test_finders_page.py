"""The table of docs/what-finds-what.md is made from the last measurement; run as a script, this file writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.examples.tables import DOCS, Row, Tables, code, with_tables, write
from tests.planted.agents.measure import WAYS, stored
from tests.planted.agents.mistakes import MISTAKES

PAGE: Final = "what-finds-what.md"


def mistakes() -> Iterator[Row]:
    """What found each mistake, and of how many mistakes each way found something."""
    found = stored()
    yield ("planted mistake", *WAYS)
    for mistake in MISTAKES:
        yield (mistake.about, *(_cell(found[mistake.name][way]) for way in WAYS))
    total = [sum(bool(found[each.name][way]) for each in MISTAKES) for way in WAYS]
    yield (f"**found, of {len(MISTAKES)}**", *map(str, total))
    alone = {
        way: sum([way] == [each for each in WAYS if found[mistake.name][each]] for mistake in MISTAKES) for way in WAYS
    }
    yield ("**found by nothing else**", *(str(alone[way]) for way in WAYS))


def _cell(finders: list[str]) -> str:
    return code(finders[0]) if len(finders) == 1 else str(len(finders) or "")


TABLES: Final[Tables] = {"mistakes": mistakes}


def test_the_table_of_the_page_is_that_of_the_measurement() -> None:
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert with_tables(page, TABLES) == page, "write it with: python -m tests.examples.test_finders_page"


if __name__ == "__main__":
    write(PAGE, TABLES)
