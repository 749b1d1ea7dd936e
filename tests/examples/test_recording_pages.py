"""The tables of the pages on recordings are those of the code; run as a script, this file writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from converse_harness.plugin.settings import OF_RUN
from converse_harness.recordings.chance import CHANCE, VIEWS
from converse_harness.recordings.format.lines import KINDS, TYPES
from converse_harness.recordings.names import FAILED, MODES
from converse_harness.recordings.play.matching import MATCHES, PARTS
from converse_harness.secrets.kinds import KINDS as SECRETS
from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write
from tests.secrets.shapes.seen import table as shapes


def lines() -> Iterator[Row]:
    """Every kind of line with its keys."""
    yield "line", "key", "value", ""
    for kind in KINDS.values():
        for number, (name, key) in enumerate(kind.keys.items()):
            must = "" if key.required else ", if there"
            yield "" if number else kind.called, code(name), TYPES[key.type].words + must, key.meaning


def modes() -> Iterator[Row]:
    """The modes of recording."""
    yield "`--converse-record=`", ""
    for number, (name, meaning) in enumerate(MODES.items()):
        yield code(name) + ("" if number else " (the default)"), meaning


def failed() -> Iterator[Row]:
    """What becomes of the recording of a test that failed."""
    yield "`--converse-record-failed=`", ""
    for number, (name, meaning) in enumerate(FAILED.items()):
        yield code(name) + ("" if number else " (the default)"), meaning


def stale() -> Iterator[Row]:
    """What becomes of requests that differ from what was recorded."""
    _, choices = OF_RUN["stale"]
    yield "`--converse-stale=`", ""
    for number, (name, meaning) in enumerate(choices.items()):
        yield code(name) + ("" if number else " (the default)"), meaning


def matching() -> Iterator[Row]:
    """What must be equal for each rule."""
    yield "must be equal for", *(f'`"{rule}"`' for rule in MATCHES)
    for part in PARTS.values():
        yield part.what, *("yes" if rule in part.rules else "" for rule in MATCHES)


def chance() -> Iterator[Row]:
    """What differs by chance, and which commands and rules leave it out."""
    yield "what", "why it differs", "left out by"
    rows: dict[tuple[str, str], list[str]] = {}
    for name, row in CHANCE.items():
        if row.where != "HTTP":
            rows.setdefault((row.kind, row.why), []).append(code(name))
    for (kind, why), found in rows.items():
        yield ", ".join(found), why, ", ".join(code(view) for view, hidden in VIEWS.items() if kind in hidden)


def secrets() -> Iterator[Row]:
    """What is looked for, by how it is found."""
    yield "found", "kinds"
    found: dict[str, dict[str, None]] = {
        "where it is expected; it is masked without a warning": {},
        "anywhere": {},
        "next to the name of its service, as in `COHERE_API_KEY=...`": {},
    }
    expected, anywhere, beside = found.values()
    for kind in SECRETS:
        (expected if kind.masked else beside if kind.beside_name else anywhere)[kind.name] = None
    for how, kinds in found.items():
        yield how, ", ".join(kinds)


TABLES: Final[Tables] = {
    "lines": lines,
    "modes": modes,
    "failed": failed,
    "stale": stale,
    "matching": matching,
    "chance": chance,
    "secrets": secrets,
    "shapes": shapes,
}

PAGES: Final = ("recording.md", "recording-format.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_of_a_page_are_those_of_the_code(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text == with_tables(text, TABLES), (
        f"docs/{page} is behind; write it with: python -m tests.examples.test_recording_pages"
    )


def test_every_table_is_on_a_page() -> None:
    assert sorted(name for page in PAGES for name in names((DOCS / page).read_text(encoding="utf-8"))) == sorted(TABLES)


if __name__ == "__main__":
    for page in PAGES:
        write(page, TABLES)
