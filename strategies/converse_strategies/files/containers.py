"""Sounds and moving pictures: a sound WAV and PCM, and for the rest the container that its format is known by.

What is inside of a container is arbitrary: nobody who only passes it on decodes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

Container = Callable[[bytes], bytes]
"""(payload) -> a file that holds these bytes where its format holds its media; the payload may be empty."""

_EBML: Final = (
    ("4286", b"\1"),
    ("42f7", b"\1"),
    ("42f2", b"\4"),
    ("42f3", b"\x08"),
    ("4287", b"\4"),
    ("4285", b"\2"),
)
"""Versions, and the most bytes of ids and sizes."""

_RATE: Final = 8000
"""Samples a second, one channel of 16 bits."""


def mp4(payload: bytes, *, brand: bytes = b"isom") -> bytes:
    """An ISO base media file: a box with its brand, and one with the payload.

    >>> mp4(b"")[4:12]
    b'ftypisom'
    """
    return _box(b"ftyp", brand + struct.pack(">I", 512) + brand) + _box(b"mdat", payload)


def _box(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(data), name) + data


def matroska(payload: bytes, *, kind: bytes = b"matroska") -> bytes:
    """A Matroska or WebM file: its EBML head, and a segment that is void but for the payload.

    >>> matroska(b"", kind=b"webm")[:4].hex()
    '1a45dfa3'
    """
    head = b"".join(_element(name, value) for name, value in _EBML) + _element("4282", kind)
    return _element("1a45dfa3", head) + _element("18538067", _element("ec", payload))


def _element(name: str, data: bytes) -> bytes:
    size = bytes([0x80 | len(data)]) if len(data) < 0x7F else ((1 << 56) | len(data)).to_bytes(8)
    return bytes.fromhex(name) + size + data


def flv(payload: bytes) -> bytes:
    r"""A Flash video of one tag with a script's data.

    >>> flv(b"")[:4]
    b'FLV\x01'
    """
    tag = b"\x12" + len(payload).to_bytes(3) + bytes(7) + payload
    return b"FLV\1\1" + struct.pack(">II", 9, 0) + tag + struct.pack(">I", len(tag))


def mpeg_video(payload: bytes) -> bytes:
    """An MPEG program stream: a pack, a private packet with the payload, the end.

    >>> mpeg_video(b"")[:4].hex()
    '000001ba'
    """
    pack = bytes.fromhex("000001ba 440004000401 000003 f8")
    return pack + struct.pack(">4sH", b"\0\0\1\xbf", len(payload)) + payload + b"\0\0\1\xb9"


def wmv(payload: bytes) -> bytes:
    """An ASF file: its head, and a data object with the payload.

    >>> wmv(b"")[:4].hex()
    '3026b275'
    """
    head = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c") + struct.pack("<QIBB", 30, 0, 1, 2)
    data = bytes.fromhex("3626b2758e66cf11a6d900aa0062ce6c")
    return head + data + struct.pack("<Q", 24 + len(payload)) + payload


def mp3(payload: bytes) -> bytes:
    """One frame of MPEG-1 layer III at 32 kbit/s and 48 kHz, in which the payload is cut to 92 bytes.

    >>> len(mp3(b""))
    96
    """
    return (bytes.fromhex("fffb14c4") + payload).ljust(96, b"\0")[:96]


def aac(payload: bytes) -> bytes:
    """One ADTS frame of AAC, 8 kHz and one channel.

    >>> aac(b"")[:2].hex()
    'fff1'
    """
    size = 7 + len(payload)
    return ((0xFFF1 << 40) | (1 << 38) | (11 << 34) | (1 << 30) | (size << 13) | (0x7FF << 2)).to_bytes(7) + payload


def wav(payload: bytes) -> bytes:
    """A WAVE file whose samples are the payload.

    >>> wav(b"")[:4]
    b'RIFF'
    """
    samples = pcm(payload)
    form = struct.pack("<HHIIHH", 1, 1, _RATE, 2 * _RATE, 2, 16)
    chunks = b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def pcm(payload: bytes) -> bytes:
    r"""Bare samples of 16 bits, at least one.

    >>> pcm(b"")
    b'\x00\x00'
    """
    return payload + b"\0" * (len(payload) % 2 or 2 * (not payload))


def flac(payload: bytes) -> bytes:
    """A FLAC file of a head and the payload as an application's data, without samples.

    >>> flac(b"")[:4]
    b'fLaC'
    """
    rate = (_RATE << 44) | (15 << 36)
    head = struct.pack(">HH6xQ16x", 4096, 4096, rate)
    data = b"test" + payload
    return b"fLaC" + struct.pack(">I", len(head)) + head + struct.pack(">I", (0x82 << 24) | len(data)) + data


def opus(payload: bytes) -> bytes:
    """An Ogg file of the two pages that an Opus stream starts with; the payload is a comment's vendor.

    >>> opus(b"")[:4], opus(b"")[28:36]
    (b'OggS', b'OpusHead')
    """
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48000, 0, 0)
    vendor = payload[:200]
    tags = b"OpusTags" + struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", 0)
    return _ogg_page(2, 0, head) + _ogg_page(4, 1, tags)


def _ogg_page(kind: int, number: int, packet: bytes) -> bytes:
    head = struct.pack("<4sBBQII", b"OggS", 0, kind, 0, 1, number)
    tail = bytes([1, len(packet)]) + packet
    return head + struct.pack("<I", _ogg_sum(head + bytes(4) + tail)) + tail


def _ogg_sum(data: bytes) -> int:
    """The checksum of Ogg: zlib's polynomial, but from the highest bit on."""
    value = 0
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1) ^ (0x104C11DB7 if value & 0x80000000 else 0)
    return value


_webm = partial(matroska, kind=b"webm")

VIDEOS: Final[Mapping[str, Container]] = {
    "mp4": mp4,
    "mov": partial(mp4, brand=b"qt  "),
    "three_gp": partial(mp4, brand=b"3gp4"),
    "mkv": matroska,
    "webm": _webm,
    "flv": flv,
    "mpeg": mpeg_video,
    "mpg": mpeg_video,
    "wmv": wmv,
}
"""By the formats of AWS's VideoFormat."""

AUDIOS: Final[Mapping[str, Container]] = {
    "wav": wav,
    "pcm": pcm,
    "mp3": mp3,
    "mpeg": mp3,
    "mpga": mp3,
    "aac": aac,
    "x-aac": aac,
    "flac": flac,
    "ogg": opus,
    "opus": opus,
    "mp4": partial(mp4, brand=b"M4A "),
    "m4a": partial(mp4, brand=b"M4A "),
    "mkv": matroska,
    "mka": matroska,
    "webm": _webm,
}
"""By the formats of AWS's AudioFormat; the simplest first."""
