"""The table of docs/budgets.md is that of the code; run as a script, this file writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converse_harness.features.budgets.limits import KEYS
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "budgets.md"


def keys() -> Iterator[Row]:
    """What can be limited."""
    yield "key", "counts", "does not count"
    for name, key in KEYS.items():
        yield code(name), key.counts, key.leaves_out


TABLES: Final[Tables] = {"keys": keys}


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert sorted(names(page)) == sorted(TABLES)
    assert with_tables(page, TABLES) == page, f"python -m tests.features.budgets.test_budgets_page writes docs/{PAGE}"


if __name__ == "__main__":
    write(PAGE, TABLES)
