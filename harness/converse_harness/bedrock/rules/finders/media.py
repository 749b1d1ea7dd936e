"""Rules about images, documents, videos and audio: their places, formats and sizes."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from converse_harness.bedrock.models import IMAGE_LIMITS
from converse_harness.bedrock.rules.request import (
    Finder,
    RuleRequest,
    RuleViolation,
    alone,
    at,
    in_messages,
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


without_text: Final = in_messages(
    "document", breaks=lambda message, _: all("text" not in block for block in message["content"])
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


@alone("messages", "document")
def files_beside_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages with both a tool result and a document that Claude receives as text."""
    files = {n for n, _, document in asked.blocks("document") if becomes_a_text(document)}
    for n in sorted(files):
        ids = [result.get("toolUseId", "") for each, _, result in asked.blocks("toolResult") if each == n]
        if ids:
            yield RuleViolation(at(n, None, "content"), {"n": n, "ids": ", ".join(ids)})


_BEGINNINGS: Final[Mapping[str, bytes]] = {
    "png": b"\x89PNG\r\n\x1a\n",
    "jpeg": b"\xff\xd8\xff",
    "gif": b"GIF8",
}

_HEAD: Final = 4096
"""The number of base64 characters that are decoded to find an image's format."""


def of_another_format(kind_of: Callable[[bytes], str | None]) -> Finder:
    """Make a Finder that yields the images whose bytes do not have the format that the request declares.

    `kind_of` takes the first bytes of an image and returns the name of the format that they have. The error message
    contains this name. An image for which `kind_of` returns None is not yielded.
    """

    @alone("messages", "image")
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for path, n, m, image, text in _images(asked):
            head, said = _decoded(text[:_HEAD]), str(image.get("format"))
            found = kind_of(head)
            if found is not None and format_of(head) != said:
                yield RuleViolation(path, {"n": n, "m": m, "said": said, "found": found})

    return find


def media_type_of(head: bytes) -> str | None:
    """Return the media type of an image or a text, determined from its first bytes; None for other data."""
    found = format_of(head)
    return f"image/{found}" if found is not None else "text/plain" if _is_text(head) else None


@alone("messages", "image")
def too_large(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find images whose base64 text is longer than Claude accepts."""
    most = IMAGE_LIMITS.most_bytes
    for path, n, m, _, text in _images(asked):
        if len(text) > most:
            yield RuleViolation(path, {"n": n, "m": m, "size": len(text), "most": most})


@needs("image", "document")
def too_many_images(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a request with more images and documents than Claude accepted in the past."""
    images, documents = ([*asked.shown(kind)] for kind in ("image", "document"))
    if len(images) + len(documents) > IMAGE_LIMITS.many:
        path, *_ = (*images, *documents)[IMAGE_LIMITS.many]
        yield RuleViolation(path, {"images": len(images), "documents": len(documents)})


@needs("image")
def too_wide_among_many(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find images with a longer side than Claude accepts, in a request with many images."""
    images = [*_images(asked)]
    for path, _, _, _, text in images if len(images) > IMAGE_LIMITS.many else ():
        size = size_of(_decoded(text))
        if size is not None and max(size) > IMAGE_LIMITS.small:
            yield RuleViolation(path)


def _images(asked: RuleRequest) -> Iterator[tuple[str, int, int, Mapping[str, Any], str]]:
    """Yield each image whose bytes are in the request, not in S3.

    The tuple contains the path of the bytes, the indexes of message and block, the ImageBlock, and the base64 text.
    """
    for path, n, m, image in asked.shown("image"):
        text = image.get("source", {}).get("bytes")
        if isinstance(text, str):
            yield f"{path}.source.bytes", n, m, image, text


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text[: len(text) // 4 * 4])
    except ValueError:
        return b""


def _is_text(head: bytes) -> bool:
    return bool(head) and all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head)


def format_of(head: bytes) -> str | None:
    """Return the format of an image, determined from its first bytes; None if Bedrock does not accept the format.

    >>> format_of(bytes.fromhex("ffd8ffe0"))
    'jpeg'
    """
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    return next((name for name, beginning in _BEGINNINGS.items() if head.startswith(beginning)), None)


def size_of(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a PNG, GIF or JPEG in pixels; None for other images and for truncated ones."""
    match format_of(data):
        case "png" if len(data) >= 24:
            return struct.unpack(">II", data[16:24])
        case "gif" if len(data) >= 10:
            return struct.unpack("<HH", data[6:10])
        case "jpeg":
            return _size_of_jpeg(data)
        case _:
            return None


def _size_of_jpeg(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a JPEG from its first frame header; all segments before the header are skipped."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None
