"""Headers of frames by the values that their bytes mean, for all types that the format has."""

from __future__ import annotations

from struct import pack, unpack
from typing import Any, Final
from uuid import UUID

from converse_harness.stream.frames import Header, HeaderType

NUMBERS: Final = {
    HeaderType.BYTE: ">b",
    HeaderType.SHORT: ">h",
    HeaderType.INTEGER: ">i",
    HeaderType.LONG: ">q",
    HeaderType.TIMESTAMP: ">q",
}


def header(name: str, type_: HeaderType, value: Any) -> Header:
    """A header of a bool, an int (milliseconds for a TIMESTAMP), bytes, a str or a UUID."""
    if type_ in NUMBERS:
        value = pack(NUMBERS[type_], value)
    elif type_ is HeaderType.UUID:
        value = value.bytes
    elif isinstance(value, bool):
        assert value is (type_ is HeaderType.BOOL_TRUE)
        value = b""
    return Header(name, type_, value)


def meaning(header: Header) -> Any:
    """What the bytes of a header's value mean; the inverse of `header`."""
    match header.type, header.value:
        case (HeaderType.BOOL_TRUE | HeaderType.BOOL_FALSE) as type_, _:
            return type_ is HeaderType.BOOL_TRUE
        case HeaderType.UUID, bytes(value):
            return UUID(bytes=value)
        case type_, bytes(value) if type_ in NUMBERS:
            return unpack(NUMBERS[type_], value)[0]
        case _, value:
            return value
