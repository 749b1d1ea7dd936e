"""Deliberate breaches of the protocol, by name: `reply.text("a").broken(faults.reset)`.

Those of the order of events are the rows of `order.ORDER_FAULTS` that can be sent; the others are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converse_harness.faults import model
from converse_harness.faults.model import (
    DURATIONS,
    EVERY_TRANSPORT,
    Change,
    EventOrderFault,
    Fault,
    Place,
    ResponseFault,
    Transport,
)
from converse_harness.faults.order import ORDER_FAULTS
from converse_harness.stream.http import ConnectionFailure

__all__ = [
    "bad_crc",
    "bad_prelude_crc",
    "block_without_delta",
    "blocks_interleaved",
    "citation_after_text",
    "closed",
    "connect_timeout",
    "connection_refused",
    "cut_in_headers",
    "cut_in_prelude",
    "cut_in_tool_input",
    "cut_off",
    "delta_after_block",
    "delta_of_two_members",
    "delta_without_member",
    "empty_200",
    "event_after_exception",
    "garbage_after_end",
    "index_of_another_block",
    "index_repeated",
    "index_skipped",
    "json_for_stream",
    "message_stop_in_block",
    "metadata_early",
    "no_block_start",
    "no_block_stop",
    "no_index",
    "no_message_start",
    "no_message_stop",
    "no_metadata",
    "one_byte_chunks",
    "one_chunk",
    "read_timeout",
    "reasoning_after_redacted",
    "reasoning_after_signature",
    "reasoning_without_member",
    "reset",
    "second_block_start",
    "second_block_stop",
    "second_message_start",
    "second_message_stop",
    "second_metadata",
    "slow_first_byte",
    "stale_connection",
    "stall",
    "start_without_member",
    "text_in_tool_use",
    "tool_input_in_text",
    "truncated_frame",
    "unknown_event",
    "wrong_content_length",
]

NOT_SENDABLE: Final[Mapping[str, str]] = {
    "no_events": "empty_200 is the same on the wire",
    "event_of_two_types": "a frame has one type",
    "event_without_type": "a frame has a type",
}
"""Breaches of the order that a list of events can have and a stream of frames cannot."""

IN_PROCESS: Final[frozenset[Transport]] = frozenset({"boto", "httpx"})
NOT_ASGI: Final[frozenset[Transport]] = frozenset({"boto", "httpx", "server"})
ON_A_SOCKET: Final[frozenset[Transport]] = frozenset({"server"})

HANDS_OUT: Final = "hands out the events as they come"
SKIPS: Final = "skips the event"
ENDS: Final = "ends without an error"
FAILS: Final = "raises EventStreamError"
PARSER: Final = "raises ResponseParserError"
CHECKSUM: Final = "raises ChecksumMismatch"
PROTOCOL: Final = "raises urllib3's ProtocolError"
TIMEOUT: Final = "raises urllib3's ReadTimeoutError"
NO_NOTICE: Final = f"{HANDS_OUT}; 1.40 {PROTOCOL}"
"""What botocore does with a fault in a stream; after a semicolon what an older one does."""


def _order(name: str, botocore: str = HANDS_OUT) -> Fault:
    placement = ORDER_FAULTS[name]
    return EventOrderFault(name, placement.sentence, "events", "position", botocore, order=placement)


def _frames(name: str, sentence: str, place: Place, botocore: str, change: Change) -> Fault:
    return ResponseFault(name, sentence, "frames", place, botocore, on_stream=change)


def _no_answer(failure: ConnectionFailure, sentence: str, botocore: str, transports: frozenset[Transport]) -> Fault:
    change = model.give_no_answer(failure)
    name = failure.replace(" ", "_")
    return ResponseFault(
        name,
        sentence,
        "connection",
        "whole answer",
        botocore,
        on_stream=change,
        on_body=change,
        transports=transports,
        no_answer=True,
    )


# The order of events, and unions.

no_message_start: Final = _order("no_message_start")
second_message_start: Final = _order("second_message_start")
no_message_stop: Final = _order("no_message_stop")
second_message_stop: Final = _order("second_message_stop")
message_stop_in_block: Final = _order("message_stop_in_block")
no_metadata: Final = _order("no_metadata")
second_metadata: Final = _order("second_metadata")
metadata_early: Final = _order("metadata_early")
cut_off: Final = _order("cut_off")
cut_in_tool_input: Final = _order("cut_in_tool_input")
no_block_start: Final = _order("no_block_start")
second_block_start: Final = _order("second_block_start")
no_block_stop: Final = _order("no_block_stop")
second_block_stop: Final = _order("second_block_stop")
block_without_delta: Final = _order("block_without_delta")
blocks_interleaved: Final = _order("blocks_interleaved")
index_skipped: Final = _order("index_skipped")
index_repeated: Final = _order("index_repeated")
index_of_another_block: Final = _order("index_of_another_block")
no_index: Final = _order("no_index")
delta_after_block: Final = _order("delta_after_block")
text_in_tool_use: Final = _order("text_in_tool_use")
tool_input_in_text: Final = _order("tool_input_in_text")
citation_after_text: Final = _order("citation_after_text")
reasoning_after_signature: Final = _order("reasoning_after_signature")
reasoning_after_redacted: Final = _order("reasoning_after_redacted")
event_after_exception: Final = _order("event_after_exception", FAILS)
unknown_event: Final = _order("unknown_event", SKIPS)
start_without_member: Final = _order("start_without_member", PARSER)
delta_without_member: Final = _order("delta_without_member", PARSER)
delta_of_two_members: Final = _order("delta_of_two_members", PARSER)
reasoning_without_member: Final = _order("reasoning_without_member", PARSER)

# The bytes of frames.

bad_crc: Final = _frames("bad_crc", "A frame does not match its CRC.", "in event", CHECKSUM, model.flip(None))
bad_prelude_crc: Final = _frames(
    "bad_prelude_crc",
    "The lengths at the start of a frame do not match their CRC.",
    "in event",
    CHECKSUM,
    model.flip(model.PRELUDE_CRC),
)
truncated_frame: Final = _frames(
    "truncated_frame",
    "The last frame is cut off, and the HTTP response ends as it should.",
    "in event",
    ENDS,
    model.cut(model.in_middle),
)
cut_in_prelude: Final = _frames(
    "cut_in_prelude",
    "The last frame is cut off in its prelude, and the HTTP response ends as it should.",
    "in event",
    ENDS,
    model.cut(model.in_prelude),
)
cut_in_headers: Final = _frames(
    "cut_in_headers",
    "The last frame is cut off in its headers, and the HTTP response ends as it should.",
    "in event",
    ENDS,
    model.cut(model.in_headers),
)
garbage_after_end: Final = _frames(
    "garbage_after_end", "Bytes that are no frame follow the last one.", "whole answer", CHECKSUM, model.add_garbage
)

# HTTP.

one_byte_chunks: Final[Fault] = ResponseFault(
    "one_byte_chunks",
    "Every byte travels in an HTTP chunk of its own; nothing else is wrong.",
    "HTTP",
    "whole answer",
    HANDS_OUT,
    on_stream=model.send_bytewise,
)
one_chunk: Final[Fault] = ResponseFault(
    "one_chunk",
    "All frames travel in one HTTP chunk; nothing else is wrong.",
    "HTTP",
    "whole answer",
    HANDS_OUT,
    on_stream=model.send_together,
)
empty_200: Final[Fault] = ResponseFault(
    "empty_200",
    "The answer is a 200 without a body.",
    "HTTP",
    "whole answer",
    ENDS,
    on_stream=model.send_nothing,
    on_body=model.send_nothing,
)
json_for_stream: Final[Fault] = ResponseFault(
    "json_for_stream",
    "The answer is a 200 with JSON where a stream is due.",
    "HTTP",
    "whole answer",
    CHECKSUM,
    on_stream=model.send_json,
)
wrong_content_length: Final[Fault] = ResponseFault(
    "wrong_content_length",
    "The Content-Length says more than is sent before the connection is closed.",
    "HTTP",
    "whole answer",
    NO_NOTICE,
    on_stream=model.promise_too_much,
    on_body=model.promise_too_much,
    transports=NOT_ASGI,
)

# The connection.

reset: Final[Fault] = ResponseFault(
    "reset",
    "The peer resets the connection (RST) between two frames.",
    "connection",
    "between",
    PROTOCOL,
    on_stream=model.break_stream("connection reset"),
    on_body=model.break_body("connection reset"),
    transports=NOT_ASGI,
)
closed: Final[Fault] = ResponseFault(
    "closed",
    "The peer closes the connection (FIN) in the middle of a frame.",
    "connection",
    "in event",
    PROTOCOL,
    on_stream=model.break_stream("connection closed", model.cut(model.in_middle)),
    on_body=model.break_body("connection closed"),
)
stall: Final[Fault] = ResponseFault(
    "stall",
    "Nothing more is sent, and the connection stays open; `.lasting(seconds)` goes on after that time.",
    "connection",
    "between",
    TIMEOUT,
    on_stream=model.stall_stream,
    on_body=model.stall_body,
    seconds=DURATIONS["stall"],
)
slow_first_byte: Final[Fault] = ResponseFault(
    "slow_first_byte",
    "Nothing is sent for a second, not even the head; `.lasting(seconds)` for another time.",
    "connection",
    "whole answer",
    HANDS_OUT,
    on_stream=model.wait,
    on_body=model.wait,
    seconds=DURATIONS["slow_first_byte"],
)
stale_connection: Final[Fault] = ResponseFault(
    "stale_connection",
    "The answer comes whole, and the next request on its connection gets a reset (RST) instead of one.",
    "connection",
    "whole answer",
    HANDS_OUT,
    on_stream=model.leave_stale,
    on_body=model.leave_stale,
    transports=ON_A_SOCKET,
)
connection_refused: Final = _no_answer(
    "connection refused", "The connection is refused.", "raises EndpointConnectionError", IN_PROCESS
)
connect_timeout: Final = _no_answer(
    "connect timeout",
    "The connection cannot be made in time; in process the error comes at once.",
    "raises ConnectTimeoutError",
    IN_PROCESS,
)
read_timeout: Final = _no_answer(
    "read timeout",
    "No answer comes in time; in process the error comes at once.",
    "raises ReadTimeoutError",
    EVERY_TRANSPORT,
)

FAULTS: Final[Mapping[str, Fault]] = {each.name: each for each in list(globals().values()) if isinstance(each, Fault)}
"""Every fault by its name."""
