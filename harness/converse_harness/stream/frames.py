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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache, partial
from typing import Any, Final, Literal
from zlib import crc32

from converse_harness.errors import DamagedData, ReplyError

MAX_NAME_LENGTH = 255
"""The maximum length of a header's name in bytes of UTF-8; the minimum is 1."""

MAX_VALUE_LENGTH = 32 * 1024 - 1
"""The maximum length in bytes of a header's value if it is a string (in UTF-8) or a byte array. The minimum is 0."""


FrameProblem = Literal[
    "truncated_frame",
    "trailing_bytes",
    "prelude_checksum_mismatch",
    "message_checksum_mismatch",
    "frame_too_short",
    "headers_overrun",
    "headers_too_long",
    "payload_too_long",
    "empty_header_name",
    "header_name_cut_off",
    "unknown_header_type",
    "header_value_cut_off",
    "header_value_too_long",
    "invalid_utf8",
    "duplicate_header",
]
"""The kinds of mistakes in the bytes of a frame; see `FrameError.kind`."""

_SAYING: Final[Mapping[FrameProblem, str]] = {
    "truncated_frame": "the stream ends after {available} bytes of {expected}",
    "trailing_bytes": "{more} bytes follow a frame of {length}; none may",
    "prelude_checksum_mismatch": "the lengths {length} and {headers} have CRC 0x{actual:08x}, not 0x{checksum:08x}",
    "message_checksum_mismatch": "a frame of {length} bytes has CRC 0x{actual:08x}, not 0x{checksum:08x}",
    "frame_too_short": "a frame of {length} bytes; it has at least {least}",
    "headers_overrun": "headers of {headers} bytes in a frame of {length}, which has room for {room}",
    "headers_too_long": "headers of {headers} bytes; at most {most}",
    "payload_too_long": "a payload of {payload} bytes; at most {most}",
    "empty_header_name": "a header's name has no bytes; it has 1 to {most}",
    "header_name_cut_off": "a header's name of {length} bytes and its type; {left} bytes of headers are left",
    "unknown_header_type": "header {name!r} of type {type}; it is 0 to {most}",
    "header_value_cut_off": "header {name!r} needs {length} bytes; {left} bytes of headers are left",
    "header_value_too_long": "header {name!r} has {length} bytes; at most {most}",
    "invalid_utf8": "{what} is not UTF-8 ({reason}): {data!r:.80}",
    "duplicate_header": "a second header {name!r}; a name may be used once in a frame",
}
"""Maps each kind of mistake to the message of the FrameError."""

_ADVICE: Final[Mapping[FrameProblem, str]] = {
    "truncated_frame": "The stream was cut: keep the frames before this one, and treat the answer as incomplete.",
    "trailing_bytes": "Read a stream of several frames with Decoder.",
    "prelude_checksum_mismatch": "A length was changed, or these bytes are not the start of a frame.",
    "message_checksum_mismatch": "Headers or payload were changed after they were written.",
}
"""Maps a kind of mistake to the advice in the message. For all other kinds, the advice is to mend the program that
wrote the bytes."""


class UnwritableFrame(ReplyError):
    """Raised when a frame is written, for headers or a payload that no frame can contain."""


class FrameError(DamagedData):
    """Raised for bytes that are not a valid frame. `kind` is the mistake, `offset` its position in the stream."""

    def __init__(self, kind: FrameProblem, offset: int, **values: Any) -> None:
        super().__init__(_SAYING[kind].format(**values))
        self.kind: FrameProblem = kind
        self.offset = offset
        self._values = values

    def __reduce__(self) -> tuple[Callable[..., FrameError], tuple[FrameProblem, int]]:
        return partial(FrameError, **self._values), (self.kind, self.offset)

    def __str__(self) -> str:
        advice = _ADVICE.get(self.kind, "Mend what wrote these bytes.")
        return f"byte {self.offset} of the stream: {super().__str__()}. {advice}"


class HeaderType(IntEnum):
    """The type of a header's value; the number is the type byte."""

    BOOL_TRUE = 0
    BOOL_FALSE = 1
    BYTE = 2
    SHORT = 3
    INTEGER = 4
    LONG = 5
    BYTE_ARRAY = 6
    STRING = 7
    TIMESTAMP = 8
    UUID = 9


_VALUE_LENGTH = struct.Struct(">H")

_VALUE_LENGTHS: Final[Mapping[HeaderType, int | None]] = {
    HeaderType.BOOL_TRUE: 0,
    HeaderType.BOOL_FALSE: 0,
    HeaderType.BYTE: 1,
    HeaderType.SHORT: 2,
    HeaderType.INTEGER: 4,
    HeaderType.LONG: 8,
    HeaderType.BYTE_ARRAY: None,
    HeaderType.STRING: None,
    HeaderType.TIMESTAMP: 8,
    HeaderType.UUID: 16,
}
"""Maps a header's type to the length of its value in bytes; None if the encoded header contains the length."""

_TYPES = {member.value: member for member in HeaderType}


@dataclass(frozen=True, slots=True)
class Header:
    """One header: `value` is a str for the type STRING, otherwise the encoded bytes without a length prefix.

    `encode_headers` checks the values; this class does not.
    """

    name: str
    type: HeaderType
    value: str | bytes


def encode_headers(headers: Iterable[Header]) -> bytes:
    """Encode the header block of a frame; raises `UnwritableFrame` for a value beyond a limit, a wrong type or a
    duplicate name.
    """
    block = bytearray()
    names: set[str] = set()
    for header in headers:
        if header.name in names:
            raise UnwritableFrame(f"two headers have the name {header.name!r}; botocore refuses such a frame: keep one")
        names.add(header.name)
        name = _utf8(header.name, "a header's name")
        if not 1 <= len(name) <= MAX_NAME_LENGTH:
            raise UnwritableFrame(
                f"a header's name of {len(name)} bytes; it has 1 to {MAX_NAME_LENGTH}: {header.name!r:.80}"
            )
        value = _encode_value(header)
        block += bytes((len(name),)) + name + bytes((header.type,)) + value
    return bytes(block)


def decode_headers(block: bytes, offset: int = 0) -> tuple[Header, ...]:
    """Decode a block of headers that starts at `offset` of the stream. Raises FrameError if the block is malformed."""
    headers: dict[str, Header] = {}
    at = 0
    while at < len(block):
        header, end = _read_header(block, at, offset)
        if header.name in headers:
            raise FrameError("duplicate_header", offset + at, name=header.name)
        headers[header.name] = header
        at = end
    return tuple(headers.values())


def _read_header(block: bytes, start: int, offset: int) -> tuple[Header, int]:
    """Decode the header at `start` of the block. Return the header, and the position in the block at which it ends.

    `offset` is the position of the block in the stream, for error messages.
    """
    name_length = block[start]
    if not name_length:
        raise FrameError("empty_header_name", offset + start, most=MAX_NAME_LENGTH)
    type_at = start + 1 + name_length
    if type_at >= len(block):
        raise FrameError("header_name_cut_off", offset + start, length=name_length, left=len(block) - start - 1)
    name = _text(block[start + 1 : type_at], "a header's name", offset + start + 1)
    type_ = _TYPES.get(block[type_at])
    if type_ is None:
        raise FrameError("unknown_header_type", offset + type_at, name=name, type=block[type_at], most=max(_TYPES))
    value_at = data_at = type_at + 1
    length = _VALUE_LENGTHS[type_]
    if length is None:
        data_at = _value_end(block, name, value_at, _VALUE_LENGTH.size, offset)
        (length,) = _VALUE_LENGTH.unpack_from(block, value_at)
        if length > MAX_VALUE_LENGTH:
            raise FrameError(
                "header_value_too_long", offset + value_at, name=name, length=length, most=MAX_VALUE_LENGTH
            )
    end = _value_end(block, name, data_at, length, offset)
    data = block[data_at:end]
    value = _text(data, f"the value of header {name!r}", offset + data_at) if type_ is HeaderType.STRING else data
    return Header(name, type_, value), end


def _value_end(block: bytes, name: str, start: int, length: int, offset: int) -> int:
    if start + length > len(block):
        raise FrameError("header_value_cut_off", offset + start, name=name, length=length, left=len(block) - start)
    return start + length


def _text(data: bytes, what: str, offset: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FrameError("invalid_utf8", offset + error.start, what=what, reason=error.reason, data=data) from None


def _encode_value(header: Header) -> bytes:
    name, type_, value = header.name, header.type, header.value
    data = _utf8(value, f"the value of header {name!r}") if isinstance(value, str) else value
    length = _VALUE_LENGTHS[type_]
    if isinstance(value, str) is not (type_ is HeaderType.STRING) or length not in (None, len(data)):
        raise UnwritableFrame(
            f"header {name!r} of type {type_!r} has the value {value!r:.80}; give str to STRING, and to the others the "
            f"bytes of their value{'' if length is None else f', {length} of them'}"
        )
    if len(data) > MAX_VALUE_LENGTH:
        raise UnwritableFrame(f"header {name!r} has {len(data)} bytes; at most {MAX_VALUE_LENGTH}: shorten it")
    return data if length is not None else _VALUE_LENGTH.pack(len(data)) + data


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UnwritableFrame(f"{what} cannot be UTF-8 ({error.reason}): {text!r:.80}; take surrogates out") from None


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
_NUMBER = struct.Struct(">I")
_HEADERS_LENGTH_AT = 4
_pack_lengths, _pack_prelude, _pack_checksum = _LENGTHS.pack, _PRELUDE.pack, _NUMBER.pack


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
    (checksum,) = _NUMBER.unpack_from(frame, checksum_at)
    actual = crc32(frame[:checksum_at])
    headers_end = PRELUDE_LENGTH + headers_length
    # As in smithy-rs, headers are decoded before the CRC is checked: an error about a header is more precise.
    block = frame[PRELUDE_LENGTH:headers_end]
    headers = _usual_headers(block) if headers_length <= _USUAL_LENGTH else None
    try:
        headers = decode_headers(block, offset + PRELUDE_LENGTH) if headers is None else headers
    except FrameError as damage:
        if checksum != actual:
            damage.add_note("The CRC of the frame does not match either: it was changed after it was written.")
        raise
    if checksum != actual:
        raise FrameError(
            "message_checksum_mismatch", offset + checksum_at, length=len(frame), actual=actual, checksum=checksum
        )
    return Frame(headers, frame[headers_end:checksum_at])


_USUAL_LENGTH: Final = 256


@lru_cache(maxsize=64)
def _usual_headers(block: bytes) -> tuple[Header, ...] | None:
    """Return what `decode_headers` returns; None for a malformed block. Most frames of a stream have the same block."""
    try:
        return decode_headers(block)
    except FrameError:
        return None


def frame_at(data: bytes, start: int) -> bytes:
    """Return the bytes of the frame that begins at index `start` of `data`. A Decoder must already have returned it."""
    (length,) = _NUMBER.unpack_from(data, start)
    return data[start : start + length]
