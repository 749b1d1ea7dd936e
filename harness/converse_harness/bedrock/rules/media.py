"""Rules about images, documents, videos and audio: their places, formats and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from converse_harness.bedrock.rules.asked import (
    Finder,
    RuleRequest,
    RuleViolation,
    at,
    in_places,
    in_results,
    in_shown,
    needs,
)


def is_in_s3(block: Mapping[str, Any]) -> bool:
    """Whether the source of an image, document or video is an S3 location."""
    return "s3Location" in block.get("source", {})


def any_of(kind: str) -> Finder:
    """Make a Finder that yields all blocks of the given `kind` in messages and tool results."""
    return in_shown(kind, lambda _: True)


_MAX_DOCUMENTS: Final = 5

_CITED_SOURCES: Final = ("text", "content")
"""Members of DocumentSource that Bedrock accepts only if the document's citations are enabled."""

_NAME: Final = re.compile(r"(?: ?[A-Za-z0-9_\-()\[\]])* ?")
"""Matches valid document names. Source: trials with the service, which accepts underscores, but no tabs and no wide
spaces.
"""


def has_other_characters(document: Mapping[str, Any]) -> bool:
    """Whether a document's name has a forbidden character, or two spaces in a row."""
    return not _NAME.fullmatch(document.get("name", ""))


@needs("document")
def names_twice(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find documents with the name of an earlier document in the request."""
    seen: set[str] = set()
    for path, _, _, document in asked.shown("document"):
        name = document.get("name", "")
        if name in seen:
            yield RuleViolation(f"{path}.name")
        seen.add(name)


@needs("document")
def too_many(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find the documents after the request's fifth document."""
    for path, *_ in islice(asked.shown("document"), _MAX_DOCUMENTS, None):
        yield RuleViolation(path)


without_text: Final = in_places(
    "document", breaks=lambda asked, n, m: all("text" not in block for block in asked.messages[n]["content"])
)
"""Finds documents in messages that have no text block."""


def is_cited(document: Mapping[str, Any]) -> bool:
    """Whether a document's citations are enabled."""
    return bool(document.get("citations", {}).get("enabled", False))


def becomes_a_text(document: Mapping[str, Any]) -> bool:
    """Whether Claude receives a document as text: one of another format than PDF, without citations."""
    return document.get("format", "pdf") != "pdf" and not is_cited(document)


def is_cited_but_no_text(document: Mapping[str, Any]) -> bool:
    """Whether a document's citations are enabled, although it is a file of another format than PDF and plain text."""
    is_file = document.get("source", {}).keys().isdisjoint(_CITED_SOURCES)
    return is_file and is_cited(document) and document.get("format", "pdf") not in ("pdf", "txt")


def is_for_citations(document: Mapping[str, Any]) -> bool:
    """Whether a document has a source that is allowed only with citations, although its citations are not enabled."""
    return not is_cited(document) and not document.get("source", {}).keys().isdisjoint(_CITED_SOURCES)


results_with_files_in_s3: Final = in_results("document", "video", breaks=is_in_s3, path=".source.s3Location")
"""Finds documents and videos in S3 inside tool results."""


@needs("document")
def files_beside_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages with both a tool result and a document that Claude receives as text."""
    files = {n for n, _, document in asked.blocks("document") if becomes_a_text(document)}
    for n in sorted(files):
        ids = [result.get("toolUseId", "") for each, _, result in asked.blocks("toolResult") if each == n]
        if ids:
            yield RuleViolation(at(n, None, "content"), {"n": n, "ids": ", ".join(ids)})
