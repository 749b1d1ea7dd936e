"""Frames of the event stream: round trips, damage, limits, and botocore as the judge of what we write."""

import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack
from typing import Any, get_args
from uuid import UUID
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import example, given
from hypothesis import strategies as st

from converse_harness.errors import DamagedData, ReplyError
from converse_harness.stream.frames import (
    MAX_HEADERS_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PAYLOAD_LENGTH,
    MAX_VALUE_LENGTH,
    Decoder,
    Frame,
    FrameError,
    FrameProblem,
    Header,
    HeaderType,
    UnwritableFrame,
    decode,
    encode,
    encode_headers,
    frame_bytes,
)
from tests.typed_headers import header, meaning

NUMBER_BITS = {
    HeaderType.BYTE: 8,
    HeaderType.SHORT: 16,
    HeaderType.INTEGER: 32,
    HeaderType.LONG: 64,
    HeaderType.TIMESTAMP: 64,
}
# The least and the greatest of each length in UTF-8; to list all of Unicode takes hypothesis a second at first use.
ALPHABET = "\0a:\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff"
TEXT = st.text(ALPHABET)
VALUES: dict[HeaderType, st.SearchStrategy[Any]] = {
    HeaderType.BOOL_TRUE: st.just(True),
    HeaderType.BOOL_FALSE: st.just(False),
    HeaderType.BYTE_ARRAY: st.binary(),
    HeaderType.STRING: TEXT,
    HeaderType.UUID: st.uuids(),
    **{type_: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for type_, bits in NUMBER_BITS.items()},
}
NAMES = st.text(ALPHABET, min_size=1, max_size=63)
HEADERS = st.sampled_from(HeaderType).flatmap(lambda type_: st.builds(header, NAMES, st.just(type_), VALUES[type_]))
FRAMES = st.builds(
    Frame, st.lists(HEADERS, unique_by=lambda each: each.name, max_size=12).map(tuple), st.binary(max_size=300)
)
EVERY_TYPE = Frame(
    (
        header("true", HeaderType.BOOL_TRUE, True),
        header("false", HeaderType.BOOL_FALSE, False),
        header("byte", HeaderType.BYTE, -1),
        header("short", HeaderType.SHORT, -2),
        header("integer", HeaderType.INTEGER, -3),
        header("long", HeaderType.LONG, -4),
        header("bytes", HeaderType.BYTE_ARRAY, b"\xff\x00"),
        header("string", HeaderType.STRING, "Zürich"),
        header("timestamp", HeaderType.TIMESTAMP, -62_135_596_800_001),
        header("uuid", HeaderType.UUID, UUID(int=1)),
    ),
    b'{"p":"ab"}',
)


def event(event_type: str, payload: bytes = b"{}") -> Frame:
    return Frame(
        (
            Header(":event-type", HeaderType.STRING, event_type),
            Header(":content-type", HeaderType.STRING, "application/json"),
            Header(":message-type", HeaderType.STRING, "event"),
        ),
        payload,
    )


def raw_prelude(total_length: int, headers_length: int) -> bytes:
    """A prelude with a sound CRC, whatever its lengths."""
    lengths = pack(">II", total_length, headers_length)
    return lengths + pack(">I", crc32(lengths))


def read_all(data: bytes) -> list[Frame]:
    decoder = Decoder()
    frames = decoder.feed(data)
    decoder.close()
    return frames


# Round trips


@given(FRAMES)
@example(EVERY_TYPE)
@example(Frame((), b""))
def test_what_is_written_is_read_again(frame: Frame) -> None:
    data = encode(frame)
    assert decode(data) == frame
    assert encode(decode(data)) == data


@given(st.lists(FRAMES, max_size=5), st.data())
def test_any_split_of_a_stream_gives_the_same_frames(frames: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(map(encode, frames))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=30), label="cuts"))
    decoder = Decoder()
    found: list[Frame] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += decoder.feed(stream[start:end])
    decoder.close()
    assert found == frames


def test_a_stream_may_come_byte_by_byte_and_frames_are_handed_out_with_their_last_byte() -> None:
    frames = [EVERY_TYPE, Frame((), b""), event("messageStop")]
    decoder = Decoder()
    for frame in frames:
        data = encode(frame)
        assert [decoder.feed(data[at : at + 1]) for at in range(len(data))] == [[]] * (len(data) - 1) + [[frame]]
    decoder.close()


# Lengths as in recordings of the service.
@pytest.mark.parametrize(
    ("event_type", "length"),
    [
        ("messageStart", 82),
        ("contentBlockStart", 87),
        ("contentBlockDelta", 87),
        ("contentBlockStop", 86),
        ("messageStop", 81),
        ("metadata", 78),
    ],
)
def test_event_headers_have_the_recorded_length(event_type: str, length: int) -> None:
    assert len(encode_headers(event(event_type).headers)) == length


def test_a_cached_header_block_gives_the_same_frame() -> None:
    assert frame_bytes(encode_headers(EVERY_TYPE.headers), EVERY_TYPE.payload) == encode(EVERY_TYPE)


def test_a_string_header_is_found_by_name() -> None:
    assert EVERY_TYPE.get("string") == "Zürich"
    assert EVERY_TYPE.get("bytes") is None
    assert EVERY_TYPE.get("nowhere") is None


# botocore as the judge


def read_by_botocore(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    buffer: Any = EventStreamBuffer()
    buffer.add_data(data)
    return [(message.headers, message.payload) for message in buffer]


def as_botocore_gives(frame: Frame) -> tuple[dict[str, Any], bytes]:
    """Types dropped, a UUID left as its bytes."""
    values = {each.name: each.value if each.type is HeaderType.UUID else meaning(each) for each in frame.headers}
    return values, frame.payload


@given(st.lists(FRAMES, min_size=1, max_size=3))
@example([EVERY_TYPE])
def test_botocore_reads_what_we_write(frames: list[Frame]) -> None:
    stream = b"".join(map(encode, frames))
    by_botocore = read_by_botocore(stream)
    assert by_botocore == [as_botocore_gives(frame) for frame in frames]
    assert [list(headers) for headers, _ in by_botocore] == [[each.name for each in f.headers] for f in frames]
    assert read_all(stream) == frames


@given(FRAMES.map(lambda frame: encode_headers(frame.headers)).filter(bool), st.data())
def test_headers_that_we_accept_mean_the_same_to_botocore(block: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(block) - 1), label="at")
    changed = block[:at] + data.draw(st.binary(max_size=2), label="instead") + block[at + 1 :]
    frame_data = frame_bytes(changed, b"{}")
    try:
        frame = decode(frame_data)
    except FrameError:
        return
    assert read_by_botocore(frame_data) == [as_botocore_gives(frame)]
    assert encode(frame) == frame_data


# Damage


@contextmanager
def damage(kind: FrameProblem, match: str | None = None) -> Iterator[pytest.ExceptionInfo[FrameError]]:
    with pytest.raises(FrameError, match=match) as caught:
        yield caught
    assert caught.value.kind == kind


def assert_damage_is_found(data: bytes) -> None:
    with pytest.raises(FrameError):
        decode(data)
    with pytest.raises(FrameError):
        read_all(data)


def test_every_flipped_bit_of_a_frame_is_found() -> None:
    data = encode(EVERY_TYPE)
    for at in range(len(data)):
        for bit in range(8):
            assert_damage_is_found(data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :])


@given(FRAMES, st.data())
def test_a_flipped_bit_of_any_frame_is_found(frame: Frame, data: st.DataObject) -> None:
    flipped = bytearray(encode(frame))
    at = data.draw(st.integers(0, len(flipped) * 8 - 1), label="bit")
    flipped[at // 8] ^= 1 << at % 8
    assert_damage_is_found(bytes(flipped))


@given(FRAMES, FRAMES, st.data())
def test_a_truncated_stream_gives_the_whole_frames_and_then_says_so(
    first: Frame, second: Frame, data: st.DataObject
) -> None:
    before, cut = encode(first), encode(second)
    left = data.draw(st.integers(1, len(cut) - 1), label="left")
    decoder = Decoder()
    assert decoder.feed(before + cut[:left]) == [first]
    with damage("truncated_frame", match=f"ends after {left} bytes") as caught:
        decoder.close()
    assert caught.value.offset == len(before) + left
    with damage("truncated_frame") as caught:
        decode(cut[:left])
    assert caught.value.offset == left


def test_an_empty_stream_is_whole_but_no_frame() -> None:
    assert read_all(b"") == []
    with damage("truncated_frame", match="after 0 bytes of a prelude"):
        decode(b"")


BAD_CHECKSUM = encode(Frame((), b"{}"))[:-4] + b"\0\0\0\0"


def test_frames_before_a_damaged_one_are_handed_out_before_it_raises() -> None:
    good = encode(EVERY_TYPE)
    decoder = Decoder()
    assert decoder.feed(good + good + BAD_CHECKSUM + good) == [EVERY_TYPE, EVERY_TYPE]
    with damage("message_checksum_mismatch") as caught:
        decoder.feed(good)
    for again in (lambda: decoder.feed(good), decoder.close):
        with damage("message_checksum_mismatch"):
            again()
    assert caught.value.offset == 2 * len(good) + len(BAD_CHECKSUM) - 4


def test_damage_with_no_frame_before_it_raises_at_once() -> None:
    decoder = Decoder()
    assert decoder.feed(encode(EVERY_TYPE)) == [EVERY_TYPE]
    with damage("message_checksum_mismatch"):
        decoder.feed(BAD_CHECKSUM)


def test_a_wrong_length_is_not_waited_for() -> None:
    decoder = Decoder()
    with damage("payload_too_long"):
        decoder.feed(raw_prelude(0xFFFF_FFFF, 0))


# One row for each kind of violation: the bytes, where the error points, what it says.
DAMAGED: list[tuple[FrameProblem, bytes, int, str]] = [
    ("truncated_frame", raw_prelude(20, 0), 12, "ends after 12 bytes of a frame of 20"),
    ("trailing_bytes", encode(EVERY_TYPE) + b"x", len(encode(EVERY_TYPE)), "1 bytes follow a frame"),
    ("prelude_checksum_mismatch", bytes(16), 8, "lengths 0 and 0 have CRC 0x.{8}, not 0x00000000"),
    ("message_checksum_mismatch", BAD_CHECKSUM, 14, "frame of 18 bytes has CRC 0x.{8}, not 0x00000000"),
    ("frame_too_short", raw_prelude(15, 0) + bytes(3), 0, "frame of 15 bytes; it has at least 16"),
    ("headers_overrun", raw_prelude(16, 1) + bytes(4), 4, "headers of 1 bytes in a frame of 16"),
    ("headers_too_long", raw_prelude(200_000, 131_073), 4, "131073 bytes; at most 131072"),
    ("payload_too_long", raw_prelude(25_165_841, 0), 0, "25165825 bytes; at most 25165824"),
    ("empty_header_name", frame_bytes(b"\x00\x00", b""), 12, "no bytes; it has 1 to 255"),
    ("header_name_cut_off", frame_bytes(b"\x01n", b"payload"), 12, "of 1 bytes and its type; 1 bytes"),
    ("unknown_header_type", frame_bytes(b"\x01n\x0a", b""), 14, "'n' of type 10; it is 0 to 9"),
    (
        "header_value_cut_off",
        frame_bytes(b"\x01n\x05" + bytes(7), b"payload"),
        15,
        "'n' needs 8 bytes; 7 bytes",
    ),
    (
        "header_value_too_long",
        frame_bytes(b"\x01n\x06\x80\x00" + bytes(32768), b""),
        15,
        "32768 bytes; at most 32767",
    ),
    ("invalid_utf8", frame_bytes(b"\x01n\x07\x00\x02a\xff", b""), 18, "the value of header 'n' is not UTF-8"),
    ("duplicate_header", frame_bytes(b"\x01n\x00\x01n\x01", b""), 15, "second header 'n'"),
]


@pytest.mark.parametrize(("kind", "data", "offset", "words"), DAMAGED, ids=[row[0] for row in DAMAGED])
def test_each_kind_of_damage_has_its_kind_place_and_words(
    kind: FrameProblem, data: bytes, offset: int, words: str
) -> None:
    with damage(kind, f"byte {offset} of the stream: .*{words}.*") as caught:
        decode(data)
    assert caught.value.offset == offset
    if kind != "trailing_bytes":
        with damage(kind, words):
            read_all(data)


IN_HEADERS = [
    (kind, data[12 : 12 + int.from_bytes(data[4:8])], offset - 12)
    for kind, data, offset, _ in DAMAGED
    if ("header" in kind and offset >= 12) or kind == "invalid_utf8"
]


@given(FRAMES, FRAMES, st.sampled_from(IN_HEADERS))
def test_damage_in_headers_is_placed_by_all_that_is_before_it(
    first: Frame, second: Frame, damaged: tuple[FrameProblem, bytes, int]
) -> None:
    kind, block, offset = damaged
    before, headers = encode(first), encode_headers(second.headers)
    decoder = Decoder()
    assert decoder.feed(before) == [first]
    with damage(kind) as caught:
        decoder.feed(frame_bytes(headers + block, second.payload))
    assert caught.value.offset == len(before) + 12 + len(headers) + offset


@given(FRAMES, st.sampled_from([row for row in DAMAGED if row[0] not in ("truncated_frame", "trailing_bytes")]))
def test_damage_is_placed_by_the_frames_before_it(first: Frame, damaged: tuple[FrameProblem, bytes, int, str]) -> None:
    kind, data, offset, _ = damaged
    before = encode(first)
    decoder = Decoder()
    assert decoder.feed(before) == [first]
    with damage(kind) as caught:
        decoder.feed(data)
    assert caught.value.offset == len(before) + offset


def test_every_kind_of_damage_is_in_that_table() -> None:
    assert [row[0] for row in DAMAGED] == list(get_args(FrameProblem))
    assert issubclass(FrameError, DamagedData)


@pytest.mark.parametrize(
    ("block", "type_name"),
    [
        (b"\x01n\x02", "BYTE"),
        (b"\x01n\x03\x00", "SHORT"),
        (b"\x01n\x04" + bytes(3), "INTEGER"),
        (b"\x01n\x06\x00", "the length of a BYTE_ARRAY"),
        (b"\x01n\x07\x00\x02a", "STRING"),
        (b"\x01n\x08" + bytes(7), "TIMESTAMP"),
        (b"\x01n\x09" + bytes(15), "UUID"),
    ],
)
def test_no_value_reaches_into_the_payload(block: bytes, type_name: str) -> None:
    with damage("header_value_cut_off"):
        decode(frame_bytes(block, b"payload"))


def test_a_name_that_is_not_utf8_is_refused() -> None:
    with damage("invalid_utf8", match="byte 13 of the stream: a header's name is not UTF-8"):
        decode(frame_bytes(b"\x01\xff\x00", b""))


def test_broken_headers_in_a_frame_that_was_changed_say_both() -> None:
    data = bytearray(encode(event("metadata")))
    data[12 + 12] = 0x60
    with damage("unknown_header_type") as caught:
        decode(bytes(data))
    assert caught.value.__notes__ == [
        "The CRC of the frame does not match either: it was changed after it was written."
    ]


def test_an_error_survives_pickling() -> None:
    with pytest.raises(FrameError) as caught:
        decode(BAD_CHECKSUM)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy), copy.offset) == (type(caught.value), str(caught.value), caught.value.offset)


# Limits, the same for reading and writing


def headers_of(length: int) -> tuple[Header, ...]:
    """Byte arrays that fill a header block of so many bytes."""
    overhead = 5
    headers: list[Header] = []
    while length:
        size = min(length, MAX_VALUE_LENGTH + overhead)
        headers.append(Header(chr(ord("a") + len(headers)), HeaderType.BYTE_ARRAY, bytes(size - overhead)))
        length -= size
    return tuple(headers)


@pytest.mark.parametrize("length", [MAX_HEADERS_LENGTH - 1, MAX_HEADERS_LENGTH])
def test_headers_up_to_their_limit(length: int) -> None:
    frame = Frame(headers_of(length), b"{}")
    assert len(encode_headers(frame.headers)) == length
    assert decode(encode(frame)) == frame


def test_headers_above_their_limit() -> None:
    block = encode_headers(headers_of(MAX_HEADERS_LENGTH + 1))
    with pytest.raises(UnwritableFrame, match="headers of 131073 bytes; a frame has at most 131072"):
        frame_bytes(block, b"")
    total_length = len(block) + 16
    start = raw_prelude(total_length, len(block)) + block
    with damage("headers_too_long"):
        decode(start + pack(">I", crc32(start)))


@pytest.mark.parametrize("length", [0, 1, MAX_PAYLOAD_LENGTH - 1, MAX_PAYLOAD_LENGTH])
def test_a_payload_up_to_its_limit(length: int) -> None:
    payload = bytes(length)
    data = encode(Frame((), payload))
    assert decode(data).payload == payload
    assert read_all(data)[0].payload == payload


def test_a_payload_above_its_limit() -> None:
    with pytest.raises(UnwritableFrame, match="payload of 25165825 bytes; a frame has at most 25165824"):
        frame_bytes(b"", bytes(MAX_PAYLOAD_LENGTH + 1))
    with damage("payload_too_long"):
        decode(raw_prelude(MAX_PAYLOAD_LENGTH + 17, 0) + bytes(MAX_PAYLOAD_LENGTH + 5))


@pytest.mark.parametrize("name", ["n", "n" * MAX_NAME_LENGTH, "é" * 127 + "n"])
def test_names_up_to_their_limit(name: str) -> None:
    frame = Frame((Header(name, HeaderType.BOOL_TRUE, b""),), b"")
    assert decode(encode(frame)) == frame


@pytest.mark.parametrize(("name", "length"), [("", 0), ("n" * 256, 256), ("é" * 128, 256)])
def test_names_beyond_their_limit_cannot_be_written(name: str, length: int) -> None:
    with pytest.raises(UnwritableFrame, match=f"a header's name of {length} bytes; it has 1 to 255"):
        encode_headers([Header(name, HeaderType.BOOL_TRUE, b"")])


@pytest.mark.parametrize("length", [0, 1, MAX_VALUE_LENGTH - 1, MAX_VALUE_LENGTH])
def test_strings_and_byte_arrays_up_to_their_limit(length: int) -> None:
    frame = Frame(
        (Header("s", HeaderType.STRING, "s" * length), Header("b", HeaderType.BYTE_ARRAY, bytes(length))), b""
    )
    assert decode(encode(frame)) == frame


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (HeaderType.STRING, "s" * (MAX_VALUE_LENGTH + 1)),
        (HeaderType.STRING, "é" * (MAX_VALUE_LENGTH // 2 + 1)),
        (HeaderType.BYTE_ARRAY, bytes(MAX_VALUE_LENGTH + 1)),
    ],
)
def test_strings_and_byte_arrays_above_their_limit_cannot_be_written(type_: HeaderType, value: str | bytes) -> None:
    with pytest.raises(UnwritableFrame, match="'n' has 32768 bytes; at most 32767"):
        encode_headers([Header("n", type_, value)])


@pytest.mark.parametrize(("type_", "bits"), NUMBER_BITS.items())
def test_numbers_at_their_limits(type_: HeaderType, bits: int) -> None:
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    frame = Frame((header("lowest", type_, lowest), header("highest", type_, highest)), b"")
    assert [meaning(each) for each in decode(encode(frame)).headers] == [lowest, highest]


# What the writer got wrong


WRONG_VALUES: dict[HeaderType, list[Any]] = {
    HeaderType.BOOL_TRUE: [b"\x01", ""],
    HeaderType.BOOL_FALSE: [b"\x00", ""],
    HeaderType.BYTE: [b"", b"\0\0", "1"],
    HeaderType.SHORT: [b"\0", "12"],
    HeaderType.INTEGER: [bytes(3), bytes(8), "1234"],
    HeaderType.LONG: [bytes(4), "12345678"],
    HeaderType.BYTE_ARRAY: ["text"],
    HeaderType.STRING: [b"bytes"],
    HeaderType.TIMESTAMP: [bytes(7), "2024-01-01"],
    HeaderType.UUID: [bytes(15), "b79bc914-de21-4e"],
}


@pytest.mark.parametrize("type_", HeaderType)
def test_a_value_that_is_not_of_its_type_cannot_be_written(type_: HeaderType) -> None:
    for value in WRONG_VALUES[type_]:
        with pytest.raises(
            UnwritableFrame, match=f"header 'n' of type <HeaderType.{type_.name}: {type_}> has the value"
        ):
            encode_headers([Header("n", type_, value)])


@pytest.mark.parametrize("broken", [Header("\ud800", HeaderType.BYTE, b"1"), Header("n", HeaderType.STRING, "\udfff")])
def test_a_lone_surrogate_cannot_be_written(broken: Header) -> None:
    with pytest.raises(UnwritableFrame, match="cannot be UTF-8"):
        encode_headers([broken])


def test_two_headers_of_one_name_cannot_be_written() -> None:
    with pytest.raises(UnwritableFrame, match="two headers have the name 'n'"):
        encode_headers([Header("n", HeaderType.BYTE, b"1"), Header("n", HeaderType.STRING, "1")])


def test_a_mistake_of_the_writer_is_a_reply_error() -> None:
    assert issubclass(UnwritableFrame, ReplyError)
    assert not issubclass(UnwritableFrame, DamagedData)


# Work


def test_the_work_is_linear_in_the_bytes_fed() -> None:
    """The bound is far above what it takes (half a second) and far below what moving the rest for each piece takes."""
    small = encode(event("contentBlockDelta"))
    large = encode(Frame((), bytes(8 * 1024 * 1024)))
    started = time.process_time()
    assert len(read_all(small * 30_000)) == 30_000
    decoder = Decoder()
    frames = [frame for at in range(0, len(large), 128) for frame in decoder.feed(large[at : at + 128])]
    decoder.close()
    assert len(frames) == 1
    assert time.process_time() - started < 10
