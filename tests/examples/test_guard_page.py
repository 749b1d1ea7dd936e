"""The tables of docs/guard.md are those of the code; run as a script, this file writes them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from converse_harness.intercept.patch_points import POINTS
from tests.clients.pinned.network import ways
from tests.examples.tables import DOCS, Row, Tables, code, with_tables, write

PAGE: Final = "guard.md"
STACKS: Final[dict[str, str]] = tomllib.loads(Path(ways.__file__).with_name("stacks.toml").read_text())["stacks"]


def every_way() -> Iterator[Row]:
    """The ways that are tried."""
    yield "way", "tried with", ""
    for name, (_, needed, outcome) in ways.WAYS.items():
        yield name.replace("_", " "), _tried_with(needed), outcome


def every_library() -> Iterator[Row]:
    """The libraries, and what was tried with each of them, so that one sees what was not."""
    yield "library", *ways.CELLS.values()
    found: dict[str, dict[str, str]] = {}
    for name, (_, needed, outcome) in ways.WAYS.items():
        words = name.replace("_", " ")
        end = next((each for each in ways.CELLS if words.endswith(f" {each}")), None)
        if end is not None and needed and "subprocess" not in words:
            found.setdefault(words.removesuffix(f" {end}"), {})[end] = outcome
    for library, tried in found.items():
        yield library, *(tried.get(end, "not tried") for end in ways.CELLS)


def _tried_with(needed: str) -> str:
    package = {"OpenSSL": "pyopenssl", "dns": "dnspython", "grpc": "grpcio"}.get(needed, needed)
    return f"{package} {STACKS.get(package, '')}".strip() or "Python"


def places() -> Iterator[Row]:
    """Where hosts are read."""
    yield "attribute", "which host is read there"
    for point in POINTS:
        if point.reads:
            yield code(str(point)), point.reads


TABLES: Final[Tables] = {"libraries": every_library, "ways": every_way, "places": places}


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), f"docs/{PAGE} is behind: python -m tests.examples.test_guard_page"


if __name__ == "__main__":
    write(PAGE, TABLES)
