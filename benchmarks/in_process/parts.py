"""Parts that nobody feels: the encoding of an event, and the guard beside a request to another host."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from benchmarks.floor import answered, kept_patches, plan, story
from benchmarks.measure import Rounds, timed
from benchmarks.rows import Row
from converse_harness import Reply, fake_converse
from converse_harness.intercept.clients import create_client
from converse_harness.stream.chunk import Deltas
from converse_harness.stream.events import decode_event, encode_deltas, encode_event
from converse_harness.stream.frames import decode
from converse_harness.stream.grammar import CARRIED

EVENTS: Final = 500
ENCODING_ROUNDS: Final = 100
GUARD_ROUNDS: Final = 60
REQUESTS: Final = 400
HEADERS: Final = {"Authorization": f"AWS4-HMAC-SHA256 Credential={'x' * 120}", "Content-Type": "application/json"}


def rows() -> Iterator[Row]:
    """The deltas of a text, those of a tool's input, and the events around them; the guard."""
    text, tools = _decoded(story(EVENTS)), _decoded(plan(2 * EVENTS))
    others = [row for row in text if "contentBlockDelta" not in row[1]] * 20
    yield _deltas("encode", text, "text")
    yield _deltas("encode tools", tools, "toolUse")
    yield _row("encode other", [frame for frame, _, _ in others], lambda: [encode_event(*row[1:]) for row in others])
    with kept_patches():
        yield _guard()


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

    measured = Rounds(ENCODING_ROUNDS, {"encode": lambda: timed(encode), "read": lambda: timed(read)})
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


def _guard() -> Row:
    """A request of http.client, head and body, written to a socket that takes it all."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ask = _request(ours, theirs)

        def free() -> float:
            return timed(lambda: [ask() for _ in range(REQUESTS)]) / REQUESTS

        def guarded() -> float:
            with fake_converse():
                return free()

        measured = Rounds(GUARD_ROUNDS, {"free": free, "guarded": guarded})
    return Row("guard", 1e6 * measured.over("guarded", "free"), f"of {1e6 * measured.of('free'):.0f} us without")


def _request(ours: socket.socket, theirs: socket.socket) -> Callable[[], None]:
    connection: Any = http.client.HTTPConnection("api.example.com")
    connection.sock = ours

    def ask() -> None:
        connection.request("POST", "/v1/messages", b'{"text": "hello"}', HEADERS)
        theirs.recv(65_536)
        connection._HTTPConnection__state = "Idle"  # as after an answer

    return ask
