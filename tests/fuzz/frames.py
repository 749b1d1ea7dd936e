"""Event streams: what decodes encodes to the same bytes, however it is cut; all else is a `FrameError`."""

from collections.abc import Iterator
from itertools import pairwise
from struct import pack, unpack_from
from uuid import UUID
from zlib import crc32

from converse_harness.errors import DamagedData
from converse_harness.recordings.format.lines import event_as_sent, frame_bytes_of, frame_line
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder, Frame, FrameError, HeaderType, decode, encode
from tests.fuzz.target import Target, answers, body_of
from tests.typed_headers import header

Read = tuple[list[Frame], tuple[str, int] | None]
"""The frames of a stream, and what is wrong behind them and where."""

EVERY_TYPE = Frame(
    (
        header("a", HeaderType.BOOL_TRUE, True),
        header("b", HeaderType.BOOL_FALSE, False),
        header("c", HeaderType.BYTE, -1),
        header("d", HeaderType.SHORT, 2),
        header("e", HeaderType.INTEGER, 3),
        header("f", HeaderType.LONG, 4),
        header("g", HeaderType.BYTE_ARRAY, b"ab"),
        header("ä", HeaderType.STRING, "ö"),
        header("i", HeaderType.TIMESTAMP, 5),
        header("j", HeaderType.UUID, UUID(int=6)),
    ),
    b"{}",
)


def check(data: bytes) -> None:
    """Read the bytes as they are, and with the checksums that their lengths ask for: chance never finds those."""
    for stream in dict.fromkeys((data, with_checksums(data))):
        _check_stream(stream)
        _check_frame(stream)


def with_checksums(data: bytes) -> bytes:
    """The bytes with right checksums in each frame that lies in them by its lengths, one after the other."""
    stream = bytearray(data)
    start = 0
    while start + 16 <= len(stream):
        (length,) = unpack_from(">I", stream, start)
        if length < 16:
            break
        stream[start + 8 : start + 12] = pack(">I", crc32(stream[start : start + 8]))
        if start + length > len(stream):
            break
        end = start + length
        stream[end - 4 : end] = pack(">I", crc32(stream[start : end - 4]))
        start = end
    return bytes(stream)


def _check_stream(stream: bytes) -> None:
    whole = _read([stream])
    frames, wrong = whole
    sent = b"".join(map(encode, frames))
    assert stream.startswith(sent)
    assert (wrong is None) is (sent == stream)
    size = 1 + stream[-1] % 23 if stream else 1
    cuts = [*range(0, len(stream), max(size, len(stream) // 20)), len(stream)]
    assert _read([stream[start:end] for start, end in pairwise(cuts)]) == whole
    for frame in frames:
        _check_event(frame)


def _read(pieces: list[bytes]) -> Read:
    decoder = Decoder()
    frames: list[Frame] = []
    try:
        for piece in pieces:
            frames += decoder.feed(piece)
        decoder.close()
    except FrameError as error:
        return frames, (error.kind, error.offset)
    return frames, None


def _check_frame(data: bytes) -> None:
    """One frame and nothing else is what the stream's reader finds as well."""
    frames, wrong = _read([data])
    try:
        alone: Read = ([decode(data)], None)
    except FrameError as error:
        alone = ([], None if error.kind == "trailing_bytes" else (error.kind, error.offset))
    if alone[0]:
        assert alone == (frames, wrong)
        assert [data] == [encode(frame) for frame in frames]
    elif data:
        assert frames or wrong == alone[1]


def _check_event(frame: Frame) -> None:
    """A recording keeps each frame to the byte, whether it is an event or not."""
    data = encode(frame)
    try:
        event, _ = decode_event(frame)
    except DamagedData:
        event = None
    line = frame_line(frame, data, 0, joined=False)
    assert frame_bytes_of(line, event_as_sent(line)) == data
    if event is not None and "frame" not in line:
        assert frame_bytes_of(line, event) == data


def seeds() -> Iterator[bytes]:
    """Every stream of the catalogue, and a frame with a header of each type."""
    yield encode(EVERY_TYPE)
    for answer in answers():
        if answer.operation == "ConverseStream" and answer.response.status == 200:
            yield body_of(answer.response)


WORDS = (
    *(":event-type", ":exception-type", ":message-type", ":error-code", ":error-message", ":content-type"),
    *("event", "exception", "error", "messageStart", "contentBlockDelta", "metadata", "throttlingException"),
    *('{"p":"ab"}', '"contentBlockIndex":0', '"delta":{"text":"a"}', '"redactedContent":"YQ=="', '{"bytes":"YQ=="}'),
)

TARGET = Target(check, seeds, WORDS)
