"""The tables of docs/census.md are made from the recorded answers; run as a script, this file writes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write
from tests.oracle.census.holes import EXPLAINED, Census, explained
from tests.oracle.census.reading import Observation, Seen
from tests.oracle.census.sources import What
from tests.oracle.conftest import ROOT, shared

__all__ = ["shared"]

PAGE: Final = "census.md"


def holes(given: Census) -> Iterator[Row]:
    """The known holes, with their reasons."""
    found = list(given.holes())
    yield "hole", "models", "what", "observations", "why"
    for row in EXPLAINED:
        count = sum(row in explained(kind, each) for kind, each in found)
        yield row.kind, row.family, code(row.what), str(count), row.why


def table(given: Census, kind: str) -> Iterator[Row]:
    """All that is recorded of one kind."""
    yield "what", "operation", "recorded, answers", "months", "here"
    found: defaultdict[What, dict[str, Seen]] = defaultdict(dict)
    for each, seen in given.recorded.items():
        if each.kind == kind:
            found[each.kind, each.operation, each.what][each.family] = seen
    for what, families in sorted(found.items(), key=lambda item: (item[0][2], item[0][1])):
        months = sorted({month for seen in families.values() for month in seen.months})
        span = months[0] if len(months) == 1 else f"{months[0]} to {months[-1]}" if months else "not known"
        counts = ", ".join(f"{family} {seen.count}" for family, seen in sorted(families.items()))
        yield code(what[2]), what[1], counts, span, _here(given, what, sorted(families))


def _here(given: Census, what: What, families: list[str]) -> str:
    sent = [family for family in families if given.is_sent(Observation(what[0], family, what[1], what[2]))]
    if sent == families:
        return "sent"
    some = [f"sent to {', '.join(sent)}"] if sent else []
    if what in given.cases:
        return "; ".join([*some, f"case {code(given.cases[what])}"])
    return "; ".join([*some, "drawn" if what in given.drawn else "no"])


def tables(given: Census) -> Tables:
    """The tables of the page."""
    return {
        "holes": partial(holes, given),
        "exceptions": partial(table, given, "exception"),
        "headers": partial(table, given, "header"),
        "ids": partial(table, given, "form of an id"),
        "orders": partial(table, given, "order of keys"),
        "unions": partial(table, given, "member of a union"),
        "members": partial(table, given, "member"),
        "values": partial(table, given, "value"),
    }


def test_the_tables_of_the_page_are_those_of_the_census(shared: Path) -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    made = tables(Census.read(shared))
    assert names(text) == list(made)
    assert text == with_tables(text, made), f"docs/{PAGE} is behind: python -m tests.examples.test_census_page"


if __name__ == "__main__":
    write(PAGE, tables(Census.read(ROOT.parent / "shared")))
