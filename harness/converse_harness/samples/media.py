"""Media: a small image, document, video and audio, whose bytes are of their format."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

RULES: Final = """\
Baggage rules

One bag of up to 8 kg may be taken into the cabin. Skis are carried in the hold and count as one bag.

Umbrellas are allowed in the cabin.
"""
"""The text of the sample document; the citations quote it."""

DOCUMENT_NAME: Final = "Baggage rules"


def document() -> dict[str, Any]:
    """The baggage rules, to be cited."""
    return {"format": document_format(), "name": DOCUMENT_NAME, "source": document_source(), "citations": citations_config()}


def document_format() -> str:
    """Its format."""
    return "txt"


def document_source() -> dict[str, Any]:
    """Its bytes."""
    return {"bytes": RULES.encode()}


def citations_config() -> dict[str, Any]:
    """Citations are asked for."""
    return {"enabled": True}


def image() -> dict[str, Any]:
    """A PNG image."""
    return {"format": image_format(), "source": image_source()}


def image_format() -> str:
    """Its format."""
    return "png"


def image_source() -> dict[str, Any]:
    """A sky of 8 x 8 pixels: grey above, blue below."""
    return {"bytes": png([color * 8 for color in [b"\x9a\xa0\xa6"] * 4 + [b"\x4a\x90\xd9"] * 4])}


def png(rows: Sequence[bytes]) -> bytes:
    r"""A PNG of rows of pixels, 3 bytes each: red, green and blue.

    >>> png([b"\0\0\0"])[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks: Mapping[bytes, bytes] = {b"IHDR": header, b"IDAT": pixels, b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(_png_chunk(kind, data) for kind, data in chunks.items())


def video() -> dict[str, Any]:
    """An MP4 video."""
    return {"format": video_format(), "source": video_source()}


def video_format() -> str:
    """Its format."""
    return "mp4"


def video_source() -> dict[str, Any]:
    """The boxes that an MP4 file begins with; there is no picture in it."""
    brands = b"isom" + struct.pack(">I", 512) + b"isomiso2mp41"
    return {"bytes": b"".join(struct.pack(">I", 8 + len(data)) + kind + data for kind, data in _mp4(brands).items())}


def audio() -> dict[str, Any]:
    """A WAV file."""
    return {"format": "wav", "source": {"bytes": wav()}}


def wav() -> bytes:
    """10 ms of silence, 8 kHz, 16 bit, one channel."""
    data = bytes(160)
    form = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _mp4(brands: bytes) -> Mapping[bytes, bytes]:
    return {b"ftyp": brands, b"free": b"", b"mdat": b""}


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
