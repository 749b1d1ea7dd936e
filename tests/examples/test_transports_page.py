"""The table of docs/transports.md is that of the guard's advice; run as a script, this file writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converse_harness.intercept.guard.advice import CLIENTS
from tests.examples.tables import DOCS, Row, Tables, code, with_tables, write

PAGE: Final = "transports.md"


def clients() -> Iterator[Row]:
    """Who is answered by what."""
    yield "client", "fixture", "what it needs"
    for row in CLIENTS:
        yield row.who, "none" if row.fixture is None else code(row.fixture), row.how


TABLES: Final[Tables] = {"clients": clients}


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_transports_page"


if __name__ == "__main__":
    write(PAGE, TABLES)
