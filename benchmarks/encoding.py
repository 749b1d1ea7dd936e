"""A frame's encoding here against its decoding and parsing in botocore, which every client pays anyway."""

from __future__ import annotations

from typing import Any

from benchmarks.budgets import Row
from benchmarks.floor import answered, story
from benchmarks.measure import Rounds, per_call
from converse_harness.intercept.clients import create_client
from converse_harness.stream.events import decode_event, encode_event
from converse_harness.stream.frames import decode

ROUNDS = 60
EVENTS = 500
CLOSING = ("messageStart", "contentBlockStop", "messageStop", "metadata")


def rows() -> list[Row]:
    """The deltas of a text, and the events around them."""
    _, frames = answered(story(EVENTS), "converse-stream")
    decoded = [(frame, *decode_event(decode(frame))) for frame in frames]
    deltas = [row for row in decoded if "contentBlockDelta" in row[1]]
    others = [row for row in decoded if "contentBlockDelta" not in row[1]] * 50
    return [_row("encode", deltas), _row("encode other", others)]


def _row(name: str, decoded: list[tuple[bytes, dict[str, Any], int | None]]) -> Row:
    if any(encode_event(event, padding) != frame for frame, event, padding in decoded):
        raise RuntimeError("what is encoded here is not what was decoded")
    events = [(event, padding) for _, event, padding in decoded]
    frames = [frame for frame, _, _ in decoded]

    def encode() -> None:
        for event, padding in events:
            encode_event(event, padding)

    parse = _botocore_reader()

    def read() -> None:
        for frame in frames:
            parse(frame)

    rounds = Rounds(ROUNDS, encode=lambda: per_call(encode, 10), read=lambda: per_call(read))
    each = 1e6 / len(events)
    note = f"{each * rounds.median('encode'):.2f} us against {each * rounds.median('read'):.1f} us"
    return Row(name, rounds.ratio("encode", "read"), note)


def _botocore_reader() -> Any:
    """Reads one frame as botocore's EventStream does: buffer, then the parser of ConverseStream's output."""
    from botocore.eventstream import EventStreamBuffer
    from botocore.parsers import EventStreamJSONParser

    operation: Any = create_client().meta.service_model.operation_model("ConverseStream")
    shape = operation.get_event_stream_output()
    parser: Any = EventStreamJSONParser()
    buffer: Any = EventStreamBuffer()

    def read(frame: bytes) -> None:
        buffer.add_data(frame)
        for message in buffer:
            parser.parse(message.to_response_dict(), shape)

    return read
