"""Deliberate breaches of the protocol, by name: `reply.text("a").broken(faults.reset)`.

They are defined in two tables: `order.ORDER_FAULTS`, except those in NOT_SENDABLE, and `response.RESPONSE_FAULTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from converse_harness.faults.model import Fault as Fault
from converse_harness.faults.order import ORDER_FAULTS
from converse_harness.faults.response import RESPONSE_FAULTS
from converse_harness.imports import no_such_name

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


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # hidden from type checkers, so that they report unknown names of this module

    def __getattr__(name):
        raise no_such_name(__name__, name, __dir__)


NOT_SENDABLE: Final[Mapping[str, str]] = {
    "no_events": "empty_200 is the same on the wire",
    "event_of_two_types": "a frame has one type",
    "event_without_type": "a frame has a type",
}
"""The faults of `order.ORDER_FAULTS` that a fake cannot send, each with the reason. This module leaves them out."""

FAULTS: Final[Mapping[str, Fault]] = {
    **{name: fault for name, fault in ORDER_FAULTS.items() if name not in NOT_SENDABLE},
    **RESPONSE_FAULTS,
}
"""Maps each fault's name to the fault."""

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

# Faults in the bytes of frames, in the HTTP response and of the connection.

bad_crc: Final = RESPONSE_FAULTS["bad_crc"]
bad_prelude_crc: Final = RESPONSE_FAULTS["bad_prelude_crc"]
truncated_frame: Final = RESPONSE_FAULTS["truncated_frame"]
cut_in_prelude: Final = RESPONSE_FAULTS["cut_in_prelude"]
cut_in_headers: Final = RESPONSE_FAULTS["cut_in_headers"]
garbage_after_end: Final = RESPONSE_FAULTS["garbage_after_end"]
one_byte_chunks: Final = RESPONSE_FAULTS["one_byte_chunks"]
one_chunk: Final = RESPONSE_FAULTS["one_chunk"]
empty_200: Final = RESPONSE_FAULTS["empty_200"]
json_for_stream: Final = RESPONSE_FAULTS["json_for_stream"]
wrong_content_length: Final = RESPONSE_FAULTS["wrong_content_length"]
reset: Final = RESPONSE_FAULTS["reset"]
closed: Final = RESPONSE_FAULTS["closed"]
stall: Final = RESPONSE_FAULTS["stall"]
slow_first_byte: Final = RESPONSE_FAULTS["slow_first_byte"]
stale_connection: Final = RESPONSE_FAULTS["stale_connection"]
connection_refused: Final = RESPONSE_FAULTS["connection_refused"]
connect_timeout: Final = RESPONSE_FAULTS["connect_timeout"]
read_timeout: Final = RESPONSE_FAULTS["read_timeout"]
