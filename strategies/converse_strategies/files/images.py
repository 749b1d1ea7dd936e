"""Images of one colour: PNG, JPEG, GIF and WebP that every decoder takes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Final

Image = Callable[[int, int, int], bytes]
"""(width, height, colour) -> a file; width and height are pixels from 1, the colour is 0xRRGGBB."""


def png(width: int, height: int, colour: int) -> bytes:
    r"""A PNG of 8 bit RGB.

    >>> png(1, 1, 0)[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    rows = (b"\0" + colour.to_bytes(3) * width) * height
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )


def gif(width: int, height: int, colour: int) -> bytes:
    """A GIF whose palette is the colour, four times.

    >>> gif(1, 1, 0)[:6]
    b'GIF89a'
    """
    clear, end = 4, 5
    # A clear code after every two pixels keeps all codes 3 bits wide, so that nothing has to be compressed.
    codes = [code for at in range(0, width * height, 2) for code in (clear, *[0] * min(2, width * height - at))]
    data = _little_endian((code, 3) for code in (*codes, end))
    blocks = b"".join(bytes([len(part)]) + part for part in (data[at : at + 255] for at in range(0, len(data), 255)))
    screen = struct.pack("<HHBBB", width, height, 0b1000_0001, 0, 0)
    frame = struct.pack("<cHHHHB", b",", 0, 0, width, height, 0)
    return b"GIF89a" + screen + colour.to_bytes(3) * 4 + frame + b"\x02" + blocks + b"\0;"


def webp(width: int, height: int, colour: int) -> bytes:
    """A lossless WebP, whose pixels take no bits: each of the five prefix codes has one symbol.

    >>> webp(1, 1, 0)[8:16]
    b'WEBPVP8L'
    """
    red, green, blue = colour.to_bytes(3)
    head = [(width - 1, 14), (height - 1, 14), (0, 1), (0, 3), (0, 1), (0, 1), (0, 1)]
    symbols = [
        (field, bits) for value in (green, red, blue, 255, 0) for field, bits in ((1, 1), (0, 1), (1, 1), (value, 8))
    ]
    data = b"\x2f" + _little_endian((*head, *symbols))
    padded = data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", 12 + len(padded)) + b"WEBPVP8L" + struct.pack("<I", len(data)) + padded


def jpeg(width: int, height: int, colour: int) -> bytes:
    """A baseline JPEG without subsampling; the colour is as near as YCbCr comes to it.

    >>> jpeg(1, 1, 0)[6:10]
    b'JFIF'
    """
    first = "".join(_dc(level) + "0" for level in _ycbcr(colour))
    blocks = -(-width // 8) * -(-height // 8)
    bits = first + "00000" * 3 * (blocks - 1)
    bits += "1" * (-len(bits) % 8)
    scan = int(bits, 2).to_bytes(len(bits) // 8).replace(b"\xff", b"\xff\0")
    channels = b"".join(struct.pack("BBB", number, 0x11, 0) for number in (1, 2, 3))
    segments = (
        (0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"),
        (0xDB, b"\0" + b"\x08" * 64),
        (0xC0, struct.pack(">BHHB", 8, height, width, 3) + channels),
        (0xC4, b"\0" + bytes([0, 0, 0, _DC_CODES, *[0] * 12]) + bytes(range(_DC_CODES))),
        (0xC4, b"\x10" + bytes([1, *[0] * 15]) + b"\0"),
        (0xDA, b"\x03" + b"".join(bytes([number, 0]) for number in (1, 2, 3)) + b"\0\x3f\0"),
    )
    head = b"".join(struct.pack(">BBH", 0xFF, marker, 2 + len(data)) + data for marker, data in segments)
    return b"\xff\xd8" + head + scan + b"\xff\xd9"


_DC_CODES: Final = 9
"""Categories of a DC value, each coded in 4 bits as itself. Quantised by 8, the DC of a block is its level."""


def _dc(level: int) -> str:
    if not level:
        return "0000"
    size = abs(level).bit_length()
    return f"{size:04b}{level if level > 0 else level + (1 << size) - 1:0{size}b}"


def _ycbcr(colour: int) -> tuple[int, int, int]:
    red, green, blue = colour.to_bytes(3)
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    return _level(luma - 128), _level((blue - luma) * 0.564), _level((red - luma) * 0.713)


def _level(value: float) -> int:
    return max(-128, min(127, round(value)))


def _little_endian(fields: Iterable[tuple[int, int]]) -> bytes:
    """Numbers of so many bits each, packed from the lowest bit on."""
    value = at = 0
    for number, bits in fields:
        value |= number << at
        at += bits
    return value.to_bytes(-(-at // 8), "little")


IMAGES: Final[Mapping[str, Image]] = {"png": png, "jpeg": jpeg, "gif": gif, "webp": webp}
"""By the formats of AWS's ImageFormat."""
