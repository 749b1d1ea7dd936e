"""The event-stream conformance vectors of smithy-go and smithy-rs, in `../shared/vectors`."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from converse_harness.stream.frames import (
    Decoder,
    Frame,
    FrameError,
    FrameProblem,
    HeaderType,
    decode,
    encode,
)
from tests.typed_headers import header

VALID = [
    "smithy-go/encoded/positive/all_headers",
    "smithy-go/encoded/positive/empty_message",
    "smithy-go/encoded/positive/int32_header",
    "smithy-go/encoded/positive/payload_no_headers",
    "smithy-go/encoded/positive/payload_one_str_header",
    "smithy-rs/valid_empty_payload",
    "smithy-rs/valid_no_headers",
    "smithy-rs/valid_with_all_headers_and_payload",
]

# Each with the words that only this violation's message has. Most of the invalid vectors of smithy-rs break the frame's
# CRC too, and count as what their names say.
INVALID: dict[str, tuple[FrameProblem, str]] = {
    "smithy-go/encoded/negative/corrupted_header_len": ("prelude_checksum_mismatch", "lengths 61 and 33"),
    "smithy-go/encoded/negative/corrupted_headers": (
        "message_checksum_mismatch",
        "frame of 61 .* not 0x8d9c08b1",
    ),
    "smithy-go/encoded/negative/corrupted_length": ("prelude_checksum_mismatch", "lengths 62 and 32"),
    "smithy-go/encoded/negative/corrupted_payload": (
        "message_checksum_mismatch",
        "frame of 29 .* not 0xc3653936",
    ),
    "smithy-rs/invalid_header_name_length": ("header_name_cut_off", "name of 255 bytes"),
    # smithy-rs reads this name on into the bytes behind the frame and stumbles over their UTF-8; here a frame ends.
    "smithy-rs/invalid_header_name_length_too_long": ("header_name_cut_off", "name of 102 bytes"),
    "smithy-rs/invalid_header_string_length_cut_off": ("header_value_cut_off", "'str' needs 2 bytes; 1 bytes"),
    "smithy-rs/invalid_header_string_value_length": ("header_value_too_long", "'str' has 65535 bytes"),
    "smithy-rs/invalid_header_value_type": ("unknown_header_type", "'byte' of type 96"),
    "smithy-rs/invalid_headers_length": ("headers_overrun", "headers of 77 bytes in a frame of 89"),
    "smithy-rs/invalid_message_checksum": ("message_checksum_mismatch", "not 0xdeadbeef"),
    "smithy-rs/invalid_prelude_checksum": ("prelude_checksum_mismatch", "not 0xdeadbeef"),
}


def test_the_tables_name_every_vector(shared: Path) -> None:
    folder = shared / "vectors"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    decoded = {name for name in files if name.startswith("smithy-go/decoded/")}
    assert {*VALID, *INVALID} == files - decoded
    assert {name.replace("/encoded/", "/decoded/") for name in {*VALID, *INVALID} if "/encoded/" in name} == decoded


@pytest.mark.parametrize("name", VALID)
def test_a_valid_vector_decodes_and_encodes_byte_for_byte(shared: Path, name: str) -> None:
    data = (shared / "vectors" / name).read_bytes()
    assert encode(decode(data)) == data
    decoder = Decoder()
    assert decoder.feed(data) == [decode(data)]
    decoder.close()


@pytest.mark.parametrize("name", [name for name in VALID if name.startswith("smithy-go/")])
def test_a_valid_vector_means_what_smithy_go_says(shared: Path, name: str) -> None:
    written = json.loads((shared / "vectors" / name.replace("/encoded/", "/decoded/")).read_text())
    headers = tuple(
        header(each["name"], HeaderType(each["type"]), value_of(each["type"], each["value"]))
        for each in written["headers"]
    )
    frame = Frame(headers, base64.b64decode(written["payload"]))
    data = (shared / "vectors" / name).read_bytes()
    assert decode(data) == frame
    assert encode(frame) == data


def value_of(type_: int, value: Any) -> Any:
    """smithy-go writes everything that is not a number or bool in base64."""
    from_bytes: dict[int, Callable[[bytes], Any]] = {
        HeaderType.BYTE_ARRAY: bytes,
        HeaderType.STRING: bytes.decode,
        HeaderType.UUID: lambda data: UUID(bytes=data),
    }
    return from_bytes[type_](base64.b64decode(value)) if type_ in from_bytes else value


def test_all_ten_types_as_smithy_rs_means_them(shared: Path) -> None:
    data = (shared / "vectors/smithy-rs/valid_with_all_headers_and_payload").read_bytes()
    assert decode(data) == Frame(
        (
            header("true", HeaderType.BOOL_TRUE, True),
            header("false", HeaderType.BOOL_FALSE, False),
            header("byte", HeaderType.BYTE, 50),
            header("short", HeaderType.SHORT, 20_000),
            header("int", HeaderType.INTEGER, 500_000),
            header("long", HeaderType.LONG, 50_000_000_000),
            header("bytes", HeaderType.BYTE_ARRAY, b"some bytes"),
            header("str", HeaderType.STRING, "some str"),
            header("time", HeaderType.TIMESTAMP, 5_000_000_000),
            header("uuid", HeaderType.UUID, UUID("b79bc914-de21-4e13-b8b2-bc47e85b7f0b")),
        ),
        b"some payload",
    )


@pytest.mark.parametrize(("name", "kind", "words"), [(name, *expected) for name, expected in INVALID.items()])
def test_an_invalid_vector_raises_the_error_of_its_violation(
    shared: Path, name: str, kind: FrameProblem, words: str
) -> None:
    data = (shared / "vectors" / name).read_bytes()
    with pytest.raises(FrameError, match=words) as from_decode:
        decode(data)
    with pytest.raises(FrameError, match=words) as from_decoder:
        Decoder().feed(data)
    assert from_decode.value.kind == from_decoder.value.kind == kind
    assert from_decode.value.offset == from_decoder.value.offset
