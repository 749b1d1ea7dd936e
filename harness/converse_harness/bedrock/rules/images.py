"""Rules about images, and functions that read an image's format and its size in pixels from its bytes."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from converse_harness.bedrock.rules.asked import Finder, RuleRequest, RuleViolation, needs

_BEGINNINGS: Final[Mapping[str, bytes]] = {
    "png": b"\x89PNG\r\n\x1a\n",
    "jpeg": b"\xff\xd8\xff",
    "gif": b"GIF8",
}

_MOST_BYTES: Final = 5 * 1024 * 1024
"""The largest size of an image that Claude accepts, in characters of base64 text."""

_MANY: Final = 20
"""If a request has more images than this, Claude limits the width and height of each image. In the past, Claude
accepted at most this number of images and documents in total."""

_SMALL: Final = 2000
"""The longest side, in pixels, that Claude accepts for an image in a request with more than `_MANY` images."""

_HEAD: Final = 4096
"""The number of base64 characters that are decoded to find an image's format."""


def of_another_format(kind_of: Callable[[bytes], str | None]) -> Finder:
    """Make a Finder that yields the images whose bytes do not have the format that the request declares.

    `kind_of` takes the first bytes of an image and returns the name of the format that they have. The error message
    contains this name. An image for which `kind_of` returns None is not yielded.
    """

    @needs("image")
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


@needs("image")
def too_large(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find images whose base64 text is longer than Claude accepts."""
    for path, n, m, _, text in _images(asked):
        if len(text) > _MOST_BYTES:
            yield RuleViolation(path, {"n": n, "m": m, "size": len(text), "most": _MOST_BYTES})


@needs("image", "document")
def too_many(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a request with more images and documents than Claude accepted in the past."""
    images, documents = ([*asked.shown(kind)] for kind in ("image", "document"))
    if len(images) + len(documents) > _MANY:
        path, *_ = (*images, *documents)[_MANY]
        yield RuleViolation(path, {"images": len(images), "documents": len(documents)})


@needs("image")
def too_wide_among_many(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find images with a longer side than Claude accepts, in a request with more than `_MANY` images."""
    images = [*_images(asked)]
    for path, _, _, _, text in images if len(images) > _MANY else ():
        size = size_of(_decoded(text))
        if size is not None and max(size) > _SMALL:
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
