"""The tables of docs/contract.md are those of the code; run as a script, this file writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import pytest

from converse_harness.cases import CASES
from converse_harness.contract import ConsumerContract, Flaw, VerdictLevel
from converse_harness.contract.expectations import FATAL, HARMLESS, OBSCURE, STOP_REASONS, stop_errors
from converse_harness.contract.judging import ACCIDENTS, FRAMEWORK_WORDS
from converse_harness.contract.outcome import OPTIONAL
from converse_harness.contract.properties import PROPERTIES
from converse_harness.contract.settings import SETTINGS
from converse_harness.faults import FAULTS
from converse_harness.faults.order import ORDER_FAULTS
from converse_strategies import faulty_replies
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write

PAGE: Final = "contract.md"


def settings() -> Iterator[Row]:
    """What a contract can be set to."""
    yield "setting", "default", "what it is"
    for name, meaning in SETTINGS.items():
        default = getattr(ConsumerContract, name)
        yield code(name), code(repr(list(default) if isinstance(default, tuple) else default)), meaning


def places() -> Iterator[Row]:
    """What an Outcome may have besides."""
    yield "place", "what it is"
    for name, meaning in OPTIONAL.items():
        yield code(name), meaning


def levels() -> Iterator[Row]:
    """What an outcome amounts to."""
    yield "verdict", "meaning"
    for level in VerdictLevel:
        yield level.word, level.meaning


def flaws() -> Iterator[Row]:
    """How an answer is mishandled."""
    yield "flaw", "meaning"
    for flaw in Flaw:
        yield flaw.word, flaw.meaning


def reasons() -> Iterator[Row]:
    """What stop reasons say, and the names of errors for them."""
    yield "stop reason", "the answer is", "names in `errors`"
    for reason, each in STOP_REASONS.items():
        yield code(reason), each.value, _codes(stop_errors(reason))


def words() -> Iterator[Row]:
    """Words of frameworks and of Python that decide."""
    yield "", ""
    yield "stop reasons of frameworks for a whole answer", f"{_codes(FRAMEWORK_WORDS)}, and none at all"
    yield "accidents of code", _codes(ACCIDENTS)


def faults() -> Iterator[Row]:
    """What faults leave."""
    yield "the answer", "after"
    yield (
        "is read as if nothing were wrong",
        f"{_codes(HARMLESS)}, and a `stall` that ends, such as `stall.lasting(0.01)`",
    )
    yield "is never treated as whole, unless all of it came before", _codes(FATAL)
    yield "may be given or not, with its tools or without", _codes(OBSCURE)
    yield "may be given or not", _codes(({*FAULTS} & {*CASES}) - HARMLESS - FATAL - OBSCURE)


def properties() -> Iterator[Row]:
    """What holds for any answer."""
    yield "property", "what is drawn", "a correct consumer must"
    for each in PROPERTIES.values():
        yield code(each.name), each.sentence, each.required


def _codes(words: Iterable[str]) -> str:
    return ", ".join(code(word) for word in sorted(words))


TABLES: Final[Tables] = {
    "places": places,
    "settings": settings,
    "levels": levels,
    "flaws": flaws,
    "reasons": reasons,
    "words": words,
    "faults": faults,
    "properties": properties,
}


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_contract_page"


def test_every_table_is_on_the_page() -> None:
    assert names((DOCS / PAGE).read_text(encoding="utf-8")) == list(TABLES)


@pytest.mark.parametrize("where", ["docstring", "page"])
def test_faulty_replies_promise_no_more_than_the_contract(where: str) -> None:
    """Where the order is broken, the faults after which a consumer raises, or gives the same."""
    page = (DOCS / "property-testing.md").read_text(encoding="utf-8").partition("### Faults of the order")[2]
    text = str(faulty_replies.__doc__) if where == "docstring" else page
    listed = text.partition("`cut_in")[2].partition("unknown_event")[0]
    assert {"cut_in_tool_input", "unknown_event", *re.findall(r"`(\w+)`", listed)} == {*ORDER_FAULTS} & (
        HARMLESS | FATAL
    )


if __name__ == "__main__":
    write(PAGE, TABLES)
