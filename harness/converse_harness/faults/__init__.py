"""Deliberate breaches of the protocol, by name: `reply.text("a").broken(faults.reset)`.

The faults in the order of events come from `order.ORDER_FAULTS`, except those in NOT_SENDABLE. All other faults are
defined here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converse_harness.faults import model
from converse_harness.faults.model import (
    DURATIONS,
    EVERY_TRANSPORT,
    Change,
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
"""The faults of `order.ORDER_FAULTS` that a fake cannot send, each with the reason. This module leaves them out."""

IN_PROCESS: Final[frozenset[Transport]] = frozenset({"boto", "httpx"})
NOT_ASGI: Final[frozenset[Transport]] = frozenset({"boto", "httpx", "server"})
ON_A_SOCKET: Final[frozenset[Transport]] = frozenset({"server"})


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


# Faults in the order of events and in unions.

no_message_start: Final = ORDER_FAULTS["no_message_start"]
second_message_start: Final = ORDER_FAULTS["second_message_start"]
no_message_stop: Final = ORDER_FAULTS["no_message_stop"]
second_message_stop: Final = ORDER_FAULTS["second_message_stop"]
message_stop_in_block: Final = ORDER_FAULTS["message_stop_in_block"]
no_metadata: Final = ORDER_FAULTS["no_metadata"]
second_metadata: Final = ORDER_FAULTS["second_metadata"]
metadata_early: Final = ORDER_FAULTS["metadata_early"]
cut_off: Final = ORDER_FAULTS["cut_off"]
cut_in_tool_input: Final = ORDER_FAULTS["cut_in_tool_input"]
no_block_start: Final = ORDER_FAULTS["no_block_start"]
second_block_start: Final = ORDER_FAULTS["second_block_start"]
no_block_stop: Final = ORDER_FAULTS["no_block_stop"]
second_block_stop: Final = ORDER_FAULTS["second_block_stop"]
block_without_delta: Final = ORDER_FAULTS["block_without_delta"]
blocks_interleaved: Final = ORDER_FAULTS["blocks_interleaved"]
index_skipped: Final = ORDER_FAULTS["index_skipped"]
index_repeated: Final = ORDER_FAULTS["index_repeated"]
index_of_another_block: Final = ORDER_FAULTS["index_of_another_block"]
no_index: Final = ORDER_FAULTS["no_index"]
delta_after_block: Final = ORDER_FAULTS["delta_after_block"]
text_in_tool_use: Final = ORDER_FAULTS["text_in_tool_use"]
tool_input_in_text: Final = ORDER_FAULTS["tool_input_in_text"]
citation_after_text: Final = ORDER_FAULTS["citation_after_text"]
reasoning_after_signature: Final = ORDER_FAULTS["reasoning_after_signature"]
reasoning_after_redacted: Final = ORDER_FAULTS["reasoning_after_redacted"]
event_after_exception: Final = ORDER_FAULTS["event_after_exception"]
unknown_event: Final = ORDER_FAULTS["unknown_event"]
start_without_member: Final = ORDER_FAULTS["start_without_member"]
delta_without_member: Final = ORDER_FAULTS["delta_without_member"]
delta_of_two_members: Final = ORDER_FAULTS["delta_of_two_members"]
reasoning_without_member: Final = ORDER_FAULTS["reasoning_without_member"]

# Faults in the bytes of frames.

bad_crc: Final = _frames("bad_crc", "A frame does not match its CRC.", "in event", model.CHECKSUM, model.flip(None))
bad_prelude_crc: Final = _frames(
    "bad_prelude_crc",
    "The lengths at the start of a frame do not match their CRC.",
    "in event",
    model.CHECKSUM,
    model.flip(model.PRELUDE_CRC),
)
truncated_frame: Final = _frames(
    "truncated_frame",
    "The last frame is cut off, and the HTTP response ends as it should.",
    "in event",
    model.ENDS,
    model.cut(model.in_middle),
)
cut_in_prelude: Final = _frames(
    "cut_in_prelude",
    "The last frame is cut off in its prelude, and the HTTP response ends as it should.",
    "in event",
    model.ENDS,
    model.cut(model.in_prelude),
)
cut_in_headers: Final = _frames(
    "cut_in_headers",
    "The last frame is cut off in its headers, and the HTTP response ends as it should.",
    "in event",
    model.ENDS,
    model.cut(model.in_headers),
)
garbage_after_end: Final = _frames(
    "garbage_after_end",
    "Bytes that are no frame follow the last one.",
    "whole answer",
    model.CHECKSUM,
    model.add_garbage,
)

# Faults in the HTTP response.

one_byte_chunks: Final[Fault] = ResponseFault(
    "one_byte_chunks",
    "Every byte travels in an HTTP chunk of its own; nothing else is wrong.",
    "HTTP",
    "whole answer",
    model.HANDS_OUT,
    on_stream=model.send_bytewise,
)
one_chunk: Final[Fault] = ResponseFault(
    "one_chunk",
    "All frames travel in one HTTP chunk; nothing else is wrong.",
    "HTTP",
    "whole answer",
    model.HANDS_OUT,
    on_stream=model.send_together,
)
empty_200: Final[Fault] = ResponseFault(
    "empty_200",
    "The answer is a 200 without a body.",
    "HTTP",
    "whole answer",
    model.ENDS,
    on_stream=model.send_nothing,
    on_body=model.send_nothing,
)
json_for_stream: Final[Fault] = ResponseFault(
    "json_for_stream",
    "The answer is a 200 with JSON where a stream is due.",
    "HTTP",
    "whole answer",
    model.CHECKSUM,
    on_stream=model.send_json,
)
wrong_content_length: Final[Fault] = ResponseFault(
    "wrong_content_length",
    "The Content-Length says more than is sent before the connection is closed.",
    "HTTP",
    "whole answer",
    model.NO_NOTICE,
    on_stream=model.promise_too_much,
    on_body=model.promise_too_much,
    transports=NOT_ASGI,
)

# Faults of the connection.

reset: Final[Fault] = ResponseFault(
    "reset",
    "The peer resets the connection (RST) between two frames.",
    "connection",
    "between",
    model.PROTOCOL,
    on_stream=model.break_stream("connection reset"),
    on_body=model.break_body("connection reset"),
    transports=NOT_ASGI,
)
closed: Final[Fault] = ResponseFault(
    "closed",
    "The peer closes the connection (FIN) in the middle of a frame.",
    "connection",
    "in event",
    model.PROTOCOL,
    on_stream=model.break_stream("connection closed", model.cut(model.in_middle)),
    on_body=model.break_body("connection closed"),
)
stall: Final[Fault] = ResponseFault(
    "stall",
    "Nothing more is sent, and the connection stays open; `.lasting(seconds)` goes on after that time.",
    "connection",
    "between",
    model.TIMEOUT,
    on_stream=model.stall_stream,
    on_body=model.stall_body,
    seconds=DURATIONS["stall"],
)
slow_first_byte: Final[Fault] = ResponseFault(
    "slow_first_byte",
    "Nothing is sent for a second, not even the head; `.lasting(seconds)` for another time.",
    "connection",
    "whole answer",
    model.HANDS_OUT,
    on_stream=model.wait,
    on_body=model.wait,
    seconds=DURATIONS["slow_first_byte"],
)
stale_connection: Final[Fault] = ResponseFault(
    "stale_connection",
    "The answer comes whole, and the next request on its connection gets a reset (RST) instead of one.",
    "connection",
    "whole answer",
    model.HANDS_OUT,
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
"""Maps each fault's name to the fault."""
