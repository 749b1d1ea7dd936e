"""The column "contract" of the table of planted bugs: what finds each of them first, with the default seed.

`python -m tests.planted.by_contract` measures it anew. What an Outcome cannot show is in `by_contract.NOT_SHOWN`.
"""

from collections.abc import Mapping
from typing import Final

FOUND_BY: Final[Mapping[str, str]] = {
    "index_as_text": "any_answer",
    "input_of_4096": "any_extreme",
    "no_arguments": "any_answer",
    "blank_delta": "any_answer",
    "signature_alone": "any_answer",
    "redacted_as_text": "any_answer",
    "last_citation": "any_answer",
    "first_item": "any_answer",
    "integers_as_floats": "any_answer",
    "total_without_cache": "any_answer",
    "signature_stays": "any_extreme",
    "items_cleared": "any_answer",
    "cited_text_empty": "any_answer",
    "return_at_end": "any_answer",
    "pair_of_surrogates": "any_extreme",
    "deltas_200": "any_extreme",
    "additional_at_end_turn": "any_answer",
    "trace_of_one": "any_answer",
    "type_lost": "any_answer",
    "status_lost": "any_answer",
    "line_separators": "any_answer",
    "index_of_one_digit": "any_answer",
    "input_is_none": "any_answer",
    "newlines_changed": "any_answer",
    "numbers_rounded": "any_answer",
    "other_alphabet": "any_answer",
    "said_nothing": "any_answer",
    "thoughts_stripped": "any_answer",
    "text_of_4096": "any_answer",
    "queue_of_64": "any_answer",
    "no_delta_no_block": "any_answer",
    "last_item": "any_answer",
    "nothing_thought": "any_answer",
    "citations_by_title": "any_answer",
    "usage_as_documented": "any_answer",
    "input_stripped": "any_answer",
    "stop_from_blocks": "any_answer",
    "integers_of_64_bits": "any_answer",
    "nothing_read": "any_answer",
    "usage_closed": "any_answer",
    "title_required": "any_answer",
    "pieces_shared": "any_answer",
    "unfinished_input": "tool_truncated_json_max_tokens",
    "delta_twice": "any_answer",
    "empty_items": "any_answer",
    "one_call_by_name": "any_answer",
    "blank_text": "any_extreme",
}
"""The name of a bug, and of the property or case that finds it."""
