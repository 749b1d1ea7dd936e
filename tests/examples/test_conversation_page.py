"""The tables of docs/conversation.md are those of the code; run as a script, this file writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args

from converse_harness.endpoint.history.compare import HISTORY_CHANGES, HistoryChangeKind
from converse_harness.settings import HISTORY_LEVELS
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "conversation.md"


def levels() -> Iterator[Row]:
    """What can become of it."""
    yield "`history=`", ""
    for level, meaning in HISTORY_LEVELS.items():
        yield code(level), meaning


def kinds() -> Iterator[Row]:
    """The kinds of changes."""
    yield "kind", "meaning", "message"
    for kind, (means, words) in HISTORY_CHANGES.items():
        yield code(kind), means, f"call 2 {words.format(name='NAME', number=1)}"


TABLES: Final[Tables] = {"levels": levels, "kinds": kinds}


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_conversation_page"
    assert names(text) == list(TABLES)


def test_every_kind_has_its_words() -> None:
    assert tuple(HISTORY_CHANGES) == get_args(HistoryChangeKind)


if __name__ == "__main__":
    write(PAGE, TABLES)
