"""Unpack compressed bodies and files within limits: a megabyte can expand to gigabytes."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

GZIP: Final = b"\x1f\x8b"
"""The first two bytes of gzip data."""

MAX_BODY: Final = 64 * 1024 * 1024
MAX_FILE: Final = 512 * 1024 * 1024
"""The maximum number of bytes of a decompressed body, and of a decompressed file."""

_STEP: Final = 64 * 1024
"""The maximum number of bytes that the Brotli decoder returns per call."""


class CannotUnpack(ValueError):
    """Compressed data is damaged or too long, or the package that decompresses such data is not installed."""


def unpack(coding: str, data: bytes, most: int = MAX_BODY) -> bytes:
    """Decompress data in an HTTP content coding of CODINGS. Raises CannotUnpack, also for more than `most` bytes."""
    try:
        made = CODINGS[coding](data, most)
    except ModuleNotFoundError as error:
        raise CannotUnpack(
            f"is encoded as {coding}, and the package {error.name}, which reads it, is not installed. Install it: pip "
            "install 'converse-harness[import]'"
        ) from None
    except (zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise CannotUnpack(f"is no {coding} ({error})") from error
    if len(made) > most:
        raise CannotUnpack(f"is longer than {most // (1024 * 1024)} MB once it is unpacked, and no more is")
    return made


def _gzip(data: bytes, most: int) -> bytes:
    made = b""
    while data and len(made) <= most:
        part, data = _inflated(data, 31, most - len(made))
        made += part
        data = data.lstrip(b"\0")  # padding after a member
    return made


def _deflate(data: bytes, most: int) -> bytes:
    try:
        return _inflated(data, zlib.MAX_WBITS, most)[0]
    except zlib.error:
        return _inflated(data, -zlib.MAX_WBITS, most)[0]  # some servers send the data without the header of zlib


def _inflated(data: bytes, bits: int, most: int) -> tuple[bytes, bytes]:
    """The content of one stream, at most `most` + 1 bytes, and the data after it."""
    stream = zlib.decompressobj(bits)
    made = stream.decompress(data, most + 1)
    if len(made) <= most and not stream.eof:
        raise EOFError("it stops in the middle")
    return made, stream.unused_data


def _brotli(data: bytes, most: int) -> bytes:
    package: Any = import_module("brotli")
    decoder = package.Decompressor()
    made = bytearray()
    try:
        while True:
            part: bytes = decoder.process(data, output_buffer_limit=_STEP)
            made += part
            if len(made) > most or decoder.is_finished() or not (part or data):
                break
            data = b""
    except package.error as error:
        raise ValueError(str(error)) from error
    if len(made) <= most and not decoder.is_finished():
        raise EOFError("it stops in the middle")
    return bytes(made)


def _zstd(data: bytes, most: int) -> bytes:
    package: Any = import_module("zstandard")
    try:
        with package.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
            made: bytes = reader.read(most + 1)
    except package.ZstdError as error:
        raise ValueError(str(error)) from error
    return made


CODINGS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
"""Content coding -> its decoder, called with the data and the limit in bytes."""
