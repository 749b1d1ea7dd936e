"""Rules about images, documents, videos and audio: their places, formats and sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from converse_harness.bedrock.rules.asked import RuleRequest, RuleViolation, at, needs

_MEDIA: Final = ("image", "document", "video", "audio")


@needs("image", "document", "video", "audio")
def media_of_the_assistant(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message of the assistant contains an image, a document, a video or audio."""
    for kind in _MEDIA:
        for n, m, _ in asked.blocks(kind):
            if asked.messages[n].get("role") == "assistant":
                yield RuleViolation(at(n, m, kind), {"n": n, "m": m, "kind": kind})


def any_of(kind: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """A message or tool result contains a block of this kind."""

    @needs(kind)
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for path, _ in asked.shown(kind):
            yield RuleViolation(path)

    return find


def in_results(kind: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """A tool result contains a block of this kind."""

    @needs("toolResult")
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for n, m, result in asked.blocks("toolResult"):
            for k, inner in enumerate(result.get("content", ())):
                if kind in inner:
                    yield RuleViolation(at(n, m, f"toolResult.content[{k}].{kind}"))

    return find


_MAX_DOCUMENTS: Final = 5

_CITED_SOURCES: Final = ("text", "content")
"""Sources that are only for documents with citations."""

_NAME: Final = re.compile(r"(?: ?[A-Za-z0-9_\-()\[\]])* ?")
"""What was tried at the service: an underscore is accepted, a tab or a wide space is not."""


@needs("document")
def names_with_other_characters(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A document's name has a forbidden character, or two spaces in a row."""
    for path, document in asked.shown("document"):
        if not _NAME.fullmatch(document.get("name", "")):
            yield RuleViolation(f"{path}.name")


@needs("document")
def names_twice(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Two documents of the request have the same name."""
    seen: set[str] = set()
    for path, document in asked.shown("document"):
        name = document.get("name", "")
        if name in seen:
            yield RuleViolation(f"{path}.name")
        seen.add(name)


@needs("document")
def too_many(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The request has more than five documents."""
    for path, _ in list(asked.shown("document"))[_MAX_DOCUMENTS:]:
        yield RuleViolation(path)


@needs("document")
def without_text(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message has a document and no text."""
    with_text = {n for n, _, _ in asked.blocks("text")}
    for n, m, _ in asked.blocks("document"):
        if n not in with_text:
            yield RuleViolation(at(n, m, "document"))


@needs("document")
def sources_for_citations(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A document of text or content blocks has no citations enabled."""
    for n, m, document in asked.blocks("document"):
        cited = document.get("citations", {}).get("enabled", False)
        if not cited and any(name in document.get("source", {}) for name in _CITED_SOURCES):
            yield RuleViolation(at(n, m, "document.source"), {"n": n, "m": m})


@needs("image")
def images_in_s3(asked: RuleRequest) -> Iterator[RuleViolation]:
    """An image is given as an S3 location."""
    for path, image in asked.shown("image"):
        if "s3Location" in image.get("source", {}):
            yield RuleViolation(f"{path}.source.s3Location")


@needs("toolResult")
def results_with_files_in_s3(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A tool result contains a document or a video in S3."""
    for n, m, result in asked.blocks("toolResult"):
        for k, inner in enumerate(result.get("content", ())):
            for kind in ("document", "video"):
                if "s3Location" in inner.get(kind, {}).get("source", {}):
                    yield RuleViolation(at(n, m, f"toolResult.content[{k}].{kind}.source.s3Location"), {"n": n, "m": m})


@needs("document")
def documents_in_s3(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message contains a document in S3."""
    for n, m, document in asked.blocks("document"):
        if "s3Location" in document.get("source", {}):
            yield RuleViolation(at(n, m, "document.source.s3Location"), {"n": n, "m": m})


@needs("document")
def files_beside_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message contains both a tool result and a document that Claude receives as text."""
    files = {n for n, _, document in asked.blocks("document") if document.get("format", "pdf") != "pdf"}
    for n in sorted(files):
        ids = [result.get("toolUseId", "") for each, _, result in asked.blocks("toolResult") if each == n]
        if ids:
            yield RuleViolation(at(n, None, "content"), {"n": n, "ids": ", ".join(ids)})
