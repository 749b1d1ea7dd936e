"""The tables of docs/answers.md are those of the code; run as a script, this file writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converse_harness.bedrock.fit import FITS, LIKELIHOODS
from converse_harness.settings import ANSWER_LEVELS
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "answers.md"


def levels() -> Iterator[Row]:
    """The levels, the laxest first."""
    yield "`answers=`", ""
    for level, meaning in ANSWER_LEVELS.items():
        yield code(level), meaning


def likelihoods() -> Iterator[Row]:
    """How often Bedrock answers so."""
    yield "kind", ""
    for likelihood, meaning in LIKELIHOODS.items():
        yield code(likelihood), meaning


def rows() -> Iterator[Row]:
    """The rows about answers."""
    yield "row", "an answer with", "needs in its request", "otherwise", "who saw it, and when"
    for fit in FITS:
        yield code(fit.name), fit.has, fit.needs, fit.likelihood, fit.source


TABLES: Final[Tables] = {"levels": levels, "likelihoods": likelihoods, "rows": rows}


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_answers_page"
    assert names(text) == list(TABLES)


if __name__ == "__main__":
    write(PAGE, TABLES)
