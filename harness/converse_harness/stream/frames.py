"""Frames of `application/vnd.amazon.eventstream`, the body of a ConverseStream answer.

    frame = total length (u32), headers length (u32), CRC-32 of these two lengths (u32),
            headers, payload, CRC-32 of all preceding bytes (u32)

All numbers are big-endian. The total length is that of the whole frame. Encoding a decoded frame gives the same bytes.
Reading raises `FrameError`, and writing raises `UnwritableFrame`. Both use the same limits.

>>> sent = Frame((Header(":event-type", HeaderType.STRING, "messageStop"),), b'{"stopReason":"end_turn"}')
>>> decode(encode(sent)).get(":event-type")
'messageStop'
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from zlib import crc32

from converse_harness.stream.headers import (
    MAX_NAME_LENGTH,
    MAX_VALUE_LENGTH,
    FrameError,
    Header,
    HeaderType,
    UnwritableFrame,
    decode_headers,
    encode_headers,
)

__all__ = [
    "MAX_HEADERS_LENGTH",
    "MAX_NAME_LENGTH",
    "MAX_PAYLOAD_LENGTH",
    "MAX_VALUE_LENGTH",
    "Decoder",
    "Frame",
    "FrameError",
    "Header",
    "HeaderType",
    "UnwritableFrame",
    "decode",
    "encode",
    "encode_headers",
    "frame_bytes",
]

MAX_HEADERS_LENGTH = 128 * 1024
"""The maximum length of all headers of a frame together, in bytes."""
MAX_PAYLOAD_LENGTH = 24 * 1024 * 1024
"""The maximum length of a payload in bytes; botocore 1.44 has the same limit."""
PRELUDE_LENGTH = 12
_CHECKSUM_LENGTH = 4
_MIN_FRAME_LENGTH = PRELUDE_LENGTH + _CHECKSUM_LENGTH

_LENGTHS = struct.Struct(">II")
_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_HEADERS_LENGTH_AT = 4
_pack_lengths, _pack_prelude, _pack_checksum = _LENGTHS.pack, _PRELUDE.pack, _CHECKSUM.pack


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: headers in wire order, and a payload that this module does not parse."""

    headers: tuple[Header, ...]
    payload: bytes

    def get(self, name: str) -> str | None:
        """Return the value of the STRING header `name`; None if the frame has no such header."""
        for header in self.headers:
            if header.name == name and isinstance(header.value, str):
                return header.value
        return None


def frame_bytes(header_block: bytes, payload: bytes) -> bytes:
    """Build a frame from an already encoded header block. This is the fast path for callers that cache header blocks.

    Only the length limits are checked, so that an injected fault can contain a broken header block.
    """
    start, checksum = _frame_start(header_block, len(payload))
    return start + payload + _pack_checksum(crc32(payload, checksum))


def run_of_frames(header_block: bytes, start: bytes, rests: list[bytes]) -> list[bytes]:
    """Build one frame per item of `rests`.

    All frames have the same headers; a frame's payload is `start` plus the item. This is fast for the many deltas of a
    stream: for items of the same length, the bytes before the item and the CRC of these bytes are computed only once.
    """
    beginnings = _beginnings(header_block, start)
    return [
        beginning + rest + _pack_checksum(crc32(rest, checksum))
        for rest, (beginning, checksum) in zip(rests, map(beginnings.__getitem__, map(len, rests)), strict=True)
    ]


class _Beginnings(dict[int, tuple[bytes, int]]):
    """Maps the number of payload bytes after `start` to (the frame's bytes up to the end of `start`, the CRC of these
    bytes).
    """

    def __init__(self, header_block: bytes, start: bytes) -> None:
        super().__init__()
        self._header_block = header_block
        self._start = start

    def __missing__(self, rest: int) -> tuple[bytes, int]:
        beginning, checksum = _frame_start(self._header_block, len(self._start) + rest)
        found = beginning + self._start, crc32(self._start, checksum)
        if len(self) < _KEPT_BEGINNINGS:
            self[rest] = found
        return found


_KEPT_BEGINNINGS: Final = 512


@lru_cache(maxsize=64)
def _beginnings(header_block: bytes, start: bytes) -> _Beginnings:
    return _Beginnings(header_block, start)


@lru_cache(maxsize=512)
def _frame_start(header_block: bytes, payload_length: int) -> tuple[bytes, int]:
    """Return prelude and headers as bytes, and the CRC of these bytes. The result is cached."""
    headers_length = len(header_block)
    if headers_length > MAX_HEADERS_LENGTH:
        raise UnwritableFrame(
            f"headers of {headers_length} bytes; a frame has at most {MAX_HEADERS_LENGTH}: shorten them"
        )
    if payload_length > MAX_PAYLOAD_LENGTH:
        raise UnwritableFrame(
            f"a payload of {payload_length} bytes; a frame has at most {MAX_PAYLOAD_LENGTH}: split it"
        )
    total_length = headers_length + payload_length + _MIN_FRAME_LENGTH
    prelude = _pack_prelude(total_length, headers_length, crc32(_pack_lengths(total_length, headers_length)))
    start = prelude + header_block
    return start, crc32(start)


def encode(frame: Frame) -> bytes:
    """Encode a frame. Raises `UnwritableFrame` for headers or a payload that no frame can contain."""
    return frame_bytes(encode_headers(frame.headers), frame.payload)


def decode(data: bytes) -> Frame:
    """Decode `data`, which must be exactly one frame. Raises `FrameError` for the first mistake."""
    if len(data) < PRELUDE_LENGTH:
        raise _truncated(len(data), None, 0)
    total_length, headers_length = _read_prelude(data[:PRELUDE_LENGTH], 0)
    if len(data) < total_length:
        raise _truncated(len(data), total_length, 0)
    frame = _read_frame(data[:total_length], headers_length, 0)
    if len(data) > total_length:
        raise FrameError("trailing_bytes", total_length, more=len(data) - total_length, length=total_length)
    return frame


class Decoder:
    """Decodes a stream of frames that arrives in pieces of any size, in time linear in the number of bytes.

    >>> decoder = Decoder()
    >>> data = encode(Frame((), b"{}"))
    >>> decoder.feed(data[:5]), decoder.feed(data[5:])
    ([], [Frame(headers=(), payload=b'{}')])
    >>> decoder.close()
    """

    __slots__ = ("_buffer", "_damage", "_lengths", "_offset")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._offset = 0
        self._lengths: tuple[int, int] | None = None
        self._damage: FrameError | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete.

        A damaged frame raises `FrameError`, but only after all earlier frames were returned: at once if these bytes
        complete no earlier frame, otherwise at the next `feed` or `close`. The bytes after a damaged frame cannot be
        decoded, so every later call raises the same error.
        """
        if self._damage is not None:
            raise self._damage
        self._buffer += data
        frames: list[Frame] = []
        start = 0
        try:
            while (found := self._next(start)) is not None:
                frame, start = found
                frames.append(frame)
        except FrameError as damage:
            self._damage = damage
            self._buffer.clear()
            if not frames:
                raise
        # Delete once per feed instead of once per frame, so that the remaining bytes are moved only once.
        del self._buffer[:start]
        return frames

    def close(self) -> None:
        """End the stream. Raises a `FrameError` that `feed` postponed, or one if the last frame is incomplete."""
        if self._damage is None and self._buffer:
            self._damage = _truncated(len(self._buffer), self._lengths[0] if self._lengths else None, self._offset)
        if self._damage is not None:
            raise self._damage

    def _next(self, start: int) -> tuple[Frame, int] | None:
        """Return the frame that begins at index `start` of the buffer, and the index of its end.

        Return None if the buffer does not contain the whole frame yet.
        """
        available = len(self._buffer) - start
        if self._lengths is None:
            if available < PRELUDE_LENGTH:
                return None
            self._lengths = _read_prelude(bytes(self._buffer[start : start + PRELUDE_LENGTH]), self._offset)
        total_length, headers_length = self._lengths
        if available < total_length:
            return None
        end = start + total_length
        frame = _read_frame(bytes(self._buffer[start:end]), headers_length, self._offset)
        self._lengths = None
        self._offset += total_length
        return frame, end


def _truncated(available: int, total_length: int | None, offset: int) -> FrameError:
    expected = f"a frame of {total_length}" if total_length else f"a prelude, which has {PRELUDE_LENGTH}"
    return FrameError("truncated_frame", offset + available, available=available, expected=expected)


def _read_prelude(prelude: bytes, offset: int) -> tuple[int, int]:
    """Check the prelude of a frame, and return the total length of the frame and the length of its headers.

    The prelude is checked before the rest of the frame arrives, so that a decoder never waits for a wrong number of
    bytes.
    """
    length, headers, checksum = _PRELUDE.unpack(prelude)
    actual = crc32(prelude[: _LENGTHS.size])
    if checksum != actual:
        at = offset + _LENGTHS.size
        raise FrameError(
            "prelude_checksum_mismatch", at, length=length, headers=headers, actual=actual, checksum=checksum
        )
    room = length - _MIN_FRAME_LENGTH
    if room < 0:
        raise FrameError("frame_too_short", offset, length=length, least=_MIN_FRAME_LENGTH)
    if headers > room:
        raise FrameError("headers_overrun", offset + _HEADERS_LENGTH_AT, headers=headers, length=length, room=room)
    if headers > MAX_HEADERS_LENGTH:
        raise FrameError("headers_too_long", offset + _HEADERS_LENGTH_AT, headers=headers, most=MAX_HEADERS_LENGTH)
    if room - headers > MAX_PAYLOAD_LENGTH:
        raise FrameError("payload_too_long", offset, payload=room - headers, most=MAX_PAYLOAD_LENGTH)
    return length, headers


def _read_frame(frame: bytes, headers_length: int, offset: int) -> Frame:
    """Decode the bytes of exactly one frame. The prelude must already be checked."""
    checksum_at = len(frame) - _CHECKSUM_LENGTH
    (checksum,) = _CHECKSUM.unpack_from(frame, checksum_at)
    actual = crc32(frame[:checksum_at])
    headers_end = PRELUDE_LENGTH + headers_length
    # As in smithy-rs, headers are decoded before the CRC is checked: an error about a header is more precise.
    try:
        headers = decode_headers(frame[PRELUDE_LENGTH:headers_end], offset + PRELUDE_LENGTH)
    except FrameError as damage:
        if checksum != actual:
            damage.add_note("The CRC of the frame does not match either: it was changed after it was written.")
        raise
    if checksum != actual:
        raise FrameError(
            "message_checksum_mismatch", offset + checksum_at, length=len(frame), actual=actual, checksum=checksum
        )
    return Frame(headers, frame[headers_end:checksum_at])
