"""Documents in a request: their names, how many they are, and the text beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from converse_harness.rules.conversation import at, shown
from converse_harness.rules.rule import Asked, Breach

MOST: Final = 5

CITED_SOURCES: Final = ("text", "content")
"""Sources that are only for documents with citations."""

_NAME: Final = re.compile(r"(?: ?[A-Za-z0-9_\-()\[\]])* ?")
"""What was tried at the service: an underscore is accepted, a tab or a wide space is not."""


def names_with_other_characters(asked: Asked) -> Iterator[Breach]:
    """A name has a character that it may not have, or two spaces in a row."""
    for path, document in shown(asked, "document"):
        if not _NAME.fullmatch(document.get("name", "")):
            yield Breach(f"{path}.name")


def names_twice(asked: Asked) -> Iterator[Breach]:
    """Two documents of the request have one name."""
    seen: set[str] = set()
    for path, document in shown(asked, "document"):
        name = document.get("name", "")
        if name in seen:
            yield Breach(f"{path}.name")
        seen.add(name)


def too_many(asked: Asked) -> Iterator[Breach]:
    """The request has more than five documents."""
    for path, _ in list(shown(asked, "document"))[MOST:]:
        yield Breach(path)


def without_text(asked: Asked) -> Iterator[Breach]:
    """A message has a document and no text."""
    with_text = {n for n, _, _ in asked.blocks("text")}
    for n, m, _ in asked.blocks("document"):
        if n not in with_text:
            yield Breach(at(n, m, "document"))


def sources_for_citations(asked: Asked) -> Iterator[Breach]:
    """A document is a text or blocks, and is not to be cited."""
    for n, m, document in asked.blocks("document"):
        cited = document.get("citations", {}).get("enabled", False)
        if not cited and any(name in document.get("source", {}) for name in CITED_SOURCES):
            yield Breach(at(n, m, "document.source"), {"n": n, "m": m})
