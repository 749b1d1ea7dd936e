"""A frame's encoding here against its decoding and parsing in botocore, which every client pays anyway."""

from __future__ import annotations

from typing import Any, Final, cast

from benchmarks.budgets import Row
from benchmarks.floor import answered, plan, story
from benchmarks.measure import Rounds, timed
from converse_harness import Reply
from converse_harness.intercept.clients import create_client
from converse_harness.stream.chunk import Deltas
from converse_harness.stream.events import decode_event, encode_deltas, encode_event
from converse_harness.stream.frames import decode
from converse_harness.stream.grammar import CARRIED

ROUNDS: Final = 100
EVENTS: Final = 500


def rows() -> list[Row]:
    """The deltas of a text, those of a tool's input, and the events around them."""
    text, tools = _decoded(story(EVENTS)), _decoded(plan(2 * EVENTS))
    others = [row for row in text if "contentBlockDelta" not in row[1]] * 20
    return [
        _deltas("encode", text, "text"),
        _deltas("encode tools", tools, "toolUse"),
        _row("encode other", [frame for frame, _, _ in others], lambda: [encode_event(*row[1:]) for row in others]),
    ]


def _decoded(scripted: Reply) -> list[tuple[bytes, dict[str, Any], int]]:
    """Frame, event and padding of each event of a stream."""
    _, frames = answered(scripted, "converse-stream")
    return [cast("tuple[bytes, dict[str, Any], int]", (frame, *decode_event(decode(frame)))) for frame in frames]


def _deltas(name: str, decoded: list[tuple[bytes, dict[str, Any], int]], member: str) -> Row:
    """As an endpoint encodes them: in one run."""
    inner = CARRIED.get(member)
    frames, pieces, paddings = list[bytes](), list[str](), list[int]()
    block = 0
    for frame, event, padding in decoded:
        if member in event.get("contentBlockDelta", {}).get("delta", {}):
            delta = event["contentBlockDelta"]["delta"][member]
            block = event["contentBlockDelta"]["contentBlockIndex"]
            frames.append(frame)
            pieces.append(delta if inner is None else delta[inner])
            paddings.append(padding)
    run = Deltas(block, member, pieces)
    return _row(name, frames, lambda: encode_deltas(run, bytes(paddings)))


def _row(name: str, frames: list[bytes], encode: Any) -> Row:
    if encode() != frames:
        raise RuntimeError("what is encoded here is not what was decoded")
    parse = _botocore_reader()

    def read() -> None:
        for frame in frames:
            parse(frame)

    measured = Rounds(ROUNDS, {"encode": lambda: timed(encode), "read": lambda: timed(read)})
    each = 1e6 / len(frames)
    note = f"{each * measured.of('encode'):.2f} us against {each * measured.of('read'):.1f} us"
    return Row(name, 100 * measured.ratio("encode", "read"), note)


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
