"""The headers of an event-stream frame; each header is a name, a type and a value.

    header = name length (u8), name (UTF-8), type (u8), value

A bool has no value bytes: the type byte is the value. Numbers are signed and big-endian, a UUID has 16 bytes, and the
length (u16) precedes a string or byte array. Bedrock sends only strings, so values of other types are kept as bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any, Final, Literal

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
_LENGTHS: Final[Mapping[HeaderType, int | None]] = {
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
    length = _LENGTHS[type_]
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
    length = _LENGTHS[type_]
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
