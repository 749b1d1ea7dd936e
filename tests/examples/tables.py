"""Tables of pages, made from the code: rows become Markdown between `<!-- table: name -->` and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"

TABLE: Final = re.compile(r"(?<=<!-- table: )(\w+)( -->\n)(?:.*?)(?=<!-- end -->)", re.DOTALL)

Row = tuple[str, ...]

Tables = Mapping[str, Callable[[], Iterable[Row]]]
"""The tables of a page by the names in the comments before them; the first row is the head."""


def code(text: str) -> str:
    """In a fixed width."""
    return f"`{text}`"


def markdown(rows: Iterable[Row]) -> str:
    """A table."""
    head, *others = rows
    cells = [head, ("---",) * len(head), *others]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in cells)


def with_tables(page: str, tables: Tables) -> str:
    """The page with every table as it should be."""

    def written(found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}\n{markdown(tables[found[1]]())}\n"

    return TABLE.sub(written, page)


def names(page: str) -> list[str]:
    """The tables that a page has."""
    return [found[1] for found in TABLE.finditer(page)]


def write(page: str, tables: Tables) -> None:
    """Bring a page of the docs up to date."""
    path = DOCS / page
    path.write_text(with_tables(path.read_text(encoding="utf-8"), tables), encoding="utf-8")
