# The declarations of the named faults for type checkers. Made by `python -m tests.faults.test_fault_names`.

from collections.abc import Mapping
from typing import Final

from converse_harness.faults.model import Fault as Fault
from converse_harness.faults.order import OrderFault

FAULTS: Final[Mapping[str, Fault]]
NOT_SENDABLE: Final[Mapping[str, str]]

# Faults in the order of events and in unions.

no_message_start: Final[OrderFault]
second_message_start: Final[OrderFault]
no_message_stop: Final[OrderFault]
second_message_stop: Final[OrderFault]
message_stop_in_block: Final[OrderFault]
no_metadata: Final[OrderFault]
second_metadata: Final[OrderFault]
metadata_early: Final[OrderFault]
cut_off: Final[OrderFault]
cut_in_tool_input: Final[OrderFault]
no_block_start: Final[OrderFault]
second_block_start: Final[OrderFault]
no_block_stop: Final[OrderFault]
second_block_stop: Final[OrderFault]
block_without_delta: Final[OrderFault]
blocks_interleaved: Final[OrderFault]
index_skipped: Final[OrderFault]
index_repeated: Final[OrderFault]
index_of_another_block: Final[OrderFault]
no_index: Final[OrderFault]
delta_after_block: Final[OrderFault]
text_in_tool_use: Final[OrderFault]
tool_input_in_text: Final[OrderFault]
citation_after_text: Final[OrderFault]
reasoning_after_signature: Final[OrderFault]
reasoning_after_redacted: Final[OrderFault]
event_after_exception: Final[OrderFault]
unknown_event: Final[OrderFault]
start_without_member: Final[OrderFault]
delta_without_member: Final[OrderFault]
delta_of_two_members: Final[OrderFault]
reasoning_without_member: Final[OrderFault]

# Faults in the bytes of frames, in the HTTP response and of the connection.

bad_crc: Final[Fault]
bad_prelude_crc: Final[Fault]
truncated_frame: Final[Fault]
cut_in_prelude: Final[Fault]
cut_in_headers: Final[Fault]
garbage_after_end: Final[Fault]
one_byte_chunks: Final[Fault]
one_chunk: Final[Fault]
empty_200: Final[Fault]
json_for_stream: Final[Fault]
wrong_content_length: Final[Fault]
reset: Final[Fault]
closed: Final[Fault]
stall: Final[Fault]
slow_first_byte: Final[Fault]
stale_connection: Final[Fault]
connection_refused: Final[Fault]
connect_timeout: Final[Fault]
read_timeout: Final[Fault]
