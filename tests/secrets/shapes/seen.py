"""What the search finds of the corpus: measured, kept in `not_found.json`, and shown on docs/recording.md."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

from tests.secrets.shapes.kinds import KINDS_OF_SECRETS
from tests.secrets.shapes.rows import (
    CUTS,
    FIRST,
    PLAINLY,
    CorpusRow,
    kinds_in,
    place_rows,
    rows,
    shape_rows,
    verdict,
)
from tests.secrets.shapes.shapes import HIDINGS, TEMPLATES

FILE: Final = Path(__file__).with_name("not_found.json")
SEED: Final = 20261127

Lacking = Mapping[str, Sequence[str]]
"""The kinds that are not found, by the shape, or by the cut and the place of a plain text."""


def claim_of(row: CorpusRow) -> tuple[str, str]:
    """What a row is an example of: its shape, or its cut and place; and its kind."""
    return (f"{row.cut}: {row.place}" if row.shape == PLAINLY else row.shape), row.kind


def measured() -> dict[str, list[str]]:
    """Try all rows of SEED, on all cores; return what is not found."""
    parts = os.cpu_count() or 1
    with ProcessPoolExecutor(parts) as pool:
        found = {each for part in pool.map(_written, range(parts), [parts] * parts) for each in part}
    lacking: dict[str, list[str]] = defaultdict(list)
    for name, kind in dict.fromkeys(map(claim_of, all_rows())):
        if (name, kind) in found:
            lacking[name].append(kind)
    together = (each for each in rows(SEED, TOGETHER) if is_claimed(each, lacking) and is_written(each))
    return {**lacking, ALSO: [*map(repr, together)]}


ALSO: Final = "also"
"""Under this name stand the rows that are not found although their shape is found, and their place."""
TOGETHER: Final = 400
"""So many rows in other places and cuts are tried for this."""


def _written(part: int, parts: int) -> set[tuple[str, str]]:
    return {claim_of(each) for number, each in enumerate(all_rows()) if number % parts == part and is_written(each)}


def all_rows() -> Iterator[CorpusRow]:
    """The rows that were measured."""
    yield from shape_rows(SEED)
    yield from place_rows(SEED)


def is_written(row: CorpusRow) -> bool:
    """Whether the secret of a row gets into a file, or into pytest's output."""
    return verdict(row) == "written"


@cache
def stored() -> Lacking:
    """What was not found when it was last measured."""
    lacking: dict[str, list[str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return lacking


def is_claimed(row: CorpusRow, lacking: Lacking | None = None) -> bool:
    """Whether the page says that a row is found: its kind in its shape and in its place, and each kind if it is cut so.

    If a cut hides some kinds, it depends on chance, namely on the place of the cut, which ones these are.
    """
    lacking = stored() if lacking is None else lacking
    place, cut = FIRST
    names = (row.shape, f"{row.cut}: {row.place}", f"{cut}: {place}")
    sure = row.cut in CERTAIN or not any(lacking.get(f"{row.cut}: {each}") for each in CUTS[row.cut])
    return sure and not any(row.kind in lacking.get(name, ()) for name in names)


CERTAIN: Final = ("whole", "over many deltas")


def write() -> None:
    """Measure all rows and write the file."""
    lines = (f"{json.dumps(name)}: {json.dumps(kinds)}" for name, kinds in measured().items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


# The table of the page

GROUPS: Final[Mapping[str, str]] = {
    "token line": "a token, a URL or a connection string",
    "named token": "a value next to its name",
    "header": "a header",
    "block": "a key of several lines",
    "cookie": "a cookie outside a header",
    "hidden": "any kind, hidden in",
    PLAINLY: "any kind",
}
"""How the page calls the groups of shapes."""


def _names(group: str) -> list[str]:
    """The names of a group's shapes, or of all cuts and places, as `claim_of` has them."""
    if group == PLAINLY:
        return [f"{cut}: {place}" for cut, places in CUTS.items() for place in places]
    return [f"{group}: {shape}" for shape in (TEMPLATES.get(group) or HIDINGS)]


def _kinds(group: str) -> list[str]:
    return [kind.title for kind in (kinds_in(group) if group in TEMPLATES else KINDS_OF_SECRETS)]


def table() -> Iterator[tuple[str, ...]]:
    """By group of shapes: shapes with the same kinds that are not found stand together."""
    found = {
        kind
        for group in GROUPS
        for name in _names(group)
        for kind in _kinds(group)
        if kind not in stored().get(name, ())
    }
    never = [kind.title for kind in KINDS_OF_SECRETS if kind.title not in found]
    yield "what", "shapes and places", "not found, or not always"
    yield "any kind", "all", ", ".join(never) or "-"
    for group, called in GROUPS.items():
        every = [kind for kind in _kinds(group) if kind in found]
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for name in _names(group):
            alike[tuple(kind for kind in every if kind in stored().get(name, ()))].append(_plain(name))
        for kinds, together in sorted(alike.items(), key=lambda item: (len(item[0]), item[1])):
            yield called, "; ".join(together), _listed(kinds, every)
    for each in stored()[ALSO]:
        kind, shape, place, cut, _ = each.split(" | ")
        yield GROUPS[shape.partition(": ")[0]], f"{_plain(shape)}, in {_plain(f'{cut}: {place}')}", kind


def _plain(name: str) -> str:
    before, _, after = name.partition(": ")
    return f"{after}, {before}" if before in CUTS and before != "whole" else after


def _listed(kinds: Sequence[str], every: Sequence[str]) -> str:
    others = [kind for kind in every if kind not in kinds]
    if len(others) < len(kinds):
        return f"all but {', '.join(others)}" if others else "all"
    return ", ".join(kinds) or "-"


# Single rows


def chosen(kind: str, shape: str) -> Iterator[CorpusRow]:
    """The rows of SEED whose kind and shape, or place, have these words in their names."""
    return (each for each in all_rows() if kind in each.kind and shape in claim_of(each)[0])
