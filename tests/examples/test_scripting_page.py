"""The table of what a test leaves behind, in docs/scripting.md, is that of the code; as a script, it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converse_harness.left_behind import LEFT_BEHIND
from tests.examples.tables import DOCS, Row, Tables, names, with_tables, write

PAGE: Final = "scripting.md"


def left_behind() -> Iterator[Row]:
    """The kinds of what a test leaves behind."""
    yield "what is left behind", "verdict", "name", "if the test means it"
    for name, row in LEFT_BEHIND.items():
        yield row.what, row.verdict, f"`{name}`" if row.text else "", row.meant


TABLES: Final[Tables] = {"left_behind": left_behind}


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_scripting_page"
    assert names(text) == list(TABLES)


if __name__ == "__main__":
    write(PAGE, TABLES)
