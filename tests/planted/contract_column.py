"""The column "contract" of the table of planted bugs: what finds each of them first, with the default seed.

`python -m tests.planted.by_contract` measures it anew. What an Outcome cannot show is in `by_contract.NOT_SHOWN`.
"""

from collections.abc import Mapping
from typing import Final

FOUND_BY: Final[Mapping[str, str]] = {
    "index_as_text": "any_extreme",
    "input_of_4096": "any_extreme",
    "no_arguments": "any_answer",
    "blank_delta": "any_answer",
    "signature_alone": "reasoning_omitted",
    "redacted_as_text": "any_answer",
    "last_citation": "any_answer",
    "first_item": "any_answer",
    "integers_as_floats": "any_extreme",
    "total_without_cache": "any_extreme",
    "signature_stays": "any_extreme",
    "items_cleared": "any_answer",
    "cited_text_empty": "any_answer",
    "return_at_end": "any_extreme",
    "pair_of_surrogates": "any_extreme",
    "deltas_200": "any_extreme",
    "additional_at_end_turn": "any_answer",
    "trace_of_one": "any_answer",
    "type_lost": "any_answer",
    "status_lost": "any_answer",
    "line_separators": "any_answer",
    "index_of_one_digit": "any_extreme",
    "input_is_none": "any_answer",
    "newlines_changed": "any_extreme",
    "numbers_rounded": "any_extreme",
    "other_alphabet": "any_answer",
    "said_nothing": "any_answer",
    "thoughts_stripped": "any_fault",
    "text_of_4096": "any_extreme",
    "queue_of_64": "any_extreme",
    "no_delta_no_block": "any_answer",
    "last_item": "any_answer",
    "nothing_thought": "any_answer",
    "citations_by_title": "any_answer",
    "usage_as_documented": "text_bytewise",
    "input_stripped": "any_extreme",
    "stop_from_blocks": "any_answer",
    "integers_of_64_bits": "any_extreme",
    "nothing_read": "any_extreme",
    "usage_closed": "metadata_full",
    "title_required": "any_answer",
    "pieces_shared": "any_answer",
    "unfinished_input": "tool_truncated_json_max_tokens",
    "delta_twice": "any_extreme",
    "empty_items": "any_answer",
    "one_call_by_name": "any_answer",
    "blank_text": "any_extreme",
}
"""The name of a bug, and of the property or case that finds it."""
