"""What a strands Agent makes of every case of the catalogue, of the stream and of the whole body, seen by running it.

It is what strands does, not what it should: LOSES says where a consumer must not do so, and why it comes to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.clients.case_rows import ANSWER, BLOCKED


@dataclass(frozen=True, slots=True)
class Lived:
    """What an Agent made of a case.

    `text` and `stop` are what it returned, `raised` the class of what it raised instead; `tools` the names, inputs and
    outcomes of the tools that it was asked to run; `history` what it remembers: of each message the first letter of its
    role and the kinds of its blocks; `requests` how many it sent.
    """

    text: str = ""
    stop: str | None = None
    raised: str | None = None
    tools: tuple[tuple[str, str, str], ...] = ()
    history: str = ""
    requests: int = 1


Pair = tuple[Lived, Lived | None]
"""Of the stream, and of the whole body, which some cases have not got."""

DONE: Final = "Done."
"""What the model says when it has the results of tools."""

ATTEMPTS: Final = 3
"""How often botocore asks for what it repeats."""

CALLS: Final = 6
"""How often strands asks botocore while it is throttled."""


def both(lived: Lived, **whole: Any) -> Pair:
    """The same of the whole body, but for these members."""
    return lived, replace(lived, **whole)


def says(text: str = ANSWER, stop: str = "end_turn", history: str = "u[text] a[text]", **members: Any) -> Lived:
    """It returned an answer."""
    return Lived(text, stop, history=history, **members)


def runs(*tools: tuple[str, str, str], history: str = "u[text] a[toolUse] u[toolResult] a[text]") -> Lived:
    """It ran tools and was told that it is done."""
    return Lived(DONE, "end_turn", None, tools, history, requests=2)


def raises(name: str, requests: int = 1, history: str = "u[text]") -> Lived:
    """It raised an exception, and remembers no more than the question."""
    return Lived(raised=name, requests=requests, history=history)


WEATHER: Final = ("get_weather", '{"city": "Zürich"}', "success")
IN_BERN: Final = ("get_weather", '{"city": "Bern"}', "success")
NO_CITY: Final = ("get_weather", "{}", "success")

EMPTY: Final = says("", history="u[text] a[]")
"""It returned nothing, as a regular end: whatever text there was is lost."""

REDACTED: Final = says(BLOCKED, "guardrail_intervened", "u[redacted] a[text]")
THROTTLED: Final = raises("ModelThrottledException", CALLS * ATTEMPTS)
OVERFLOW: Final = raises("ContextWindowOverflowException")

MESSAGES: Final[Mapping[str, Pair]] = {
    **dict.fromkeys(
        (
            "text_basic",
            "text_empty_delta",
            "text_empty_block",
            "stop_end_turn",
            "metadata_full",
            "metadata_cache",
            "metadata_cache_details",
            "metadata_performance_config",
            "metadata_service_tier",
            "metadata_prompt_router",
            "unknown_member",
        ),
        both(says()),
    ),
    "text_bytewise": (says("Grüezi! 18 °C 🌤 in Zürich."), None),
    "content_empty": both(EMPTY),
    "reasoning_then_text": both(says(history="u[text] a[reasoningContent text]")),
    "reasoning_omitted": both(says(history="u[text] a[reasoningContent text]")),
    "reasoning_unsigned": both(says(history="u[text] a[reasoningContent text]")),
    "reasoning_redacted_utf8": both(says(history="u[text] a[redactedContent text]")),
    "reasoning_redacted_binary": both(says(history="u[text] a[redactedContent text]")),
    "image_block": both(EMPTY),
    "metadata_missing": (says(), None),
    "additional_fields": both(says(stop="stop_sequence")),
    **dict.fromkeys(("unknown_delta", "unknown_start", "unknown_reasoning"), (says(), None)),
}

TOOLS: Final[Mapping[str, Pair]] = {
    **dict.fromkeys(
        ("tool_fragments", "tool_one_delta", "tool_typed", "tool_but_end_turn", "tool_for_ever", "stop_tool_use"),
        both(runs(WEATHER)),
    ),
    **dict.fromkeys(("tool_no_input", "tool_empty_delta"), both(runs(NO_CITY))),
    "tool_truncated_json_max_tokens": (raises("MaxTokensReachedException", history="u[text] a[text]"), None),
    "tool_input_not_json": (runs(NO_CITY), None),
    "tool_parallel": both(
        runs(WEATHER, IN_BERN, history="u[text] a[text toolUse toolUse] u[toolResult toolResult] a[text]")
    ),
    "tool_interleaved": (runs(NO_CITY), None),
    "tool_raises": both(runs(("get_weather", '{"city": "Atlantis"}', "success"))),
    "tool_unknown": both(runs(("delete_everything", '{"sure": true}', "error"))),
    "server_tool_nova": both(
        runs(
            ("nova_code_interpreter", '{"snippet": "print(9 * 2)"}', "error"),
            history="u[text] a[toolUse text] u[toolResult] a[text]",
        )
    ),
}


def cites(location: str) -> Pair:
    """Each block is a line of the text that the result is printed as."""
    return both(says("It is \n18 °C and sunny\n in Zürich.", history=f"u[text] a[text {location} text]"))


CITATIONS: Final[Mapping[str, Pair]] = {
    "citation_document": both(says(history="u[text] a[documentChar]")),
    "citation_several": both(
        says(
            "It is 18 °C in Zürich and 16 °C in Bern\n, \nwith rain\n in Bern.",
            history="u[text] a[documentChar+documentChar text documentChar text]",
        )
    ),
    "citation_without_text": both(says()),
    "citation_document_char": cites("documentChar"),
    "citation_document_page": cites("documentPage"),
    "citation_document_chunk": cites("documentChunk"),
    "citation_search_result_location": cites("searchResultLocation"),
    "citation_web": cites("web"),
}

GUARDRAILS: Final[Mapping[str, Pair]] = {
    **dict.fromkeys(
        (
            "guardrail_input_blocked",
            "guardrail_output_blocked",
            "guardrail_no_trace",
            "guardrail_topic",
            "guardrail_content",
            "guardrail_word",
            "guardrail_managed_word",
            "guardrail_pii",
            "guardrail_regex",
            "guardrail_grounding",
        ),
        both(REDACTED),
    ),
    "guardrail_blocked_late": both(replace(REDACTED, text=f"Buy crypto, and {BLOCKED}")),
    "guardrail_masked": both(says("Write to {EMAIL}.", "guardrail_intervened")),
    "guardrail_input_masked": both(says(stop="guardrail_intervened")),
    "guardrail_without_detected": both(says(BLOCKED, "guardrail_intervened")),
    "guardrail_passed": both(says()),
    "guardrail_automated_reasoning": both(says()),
    "stop_guardrail_intervened": both(replace(REDACTED, text=ANSWER)),
}

STOPS: Final[Mapping[str, Pair]] = {
    "stop_max_tokens": both(raises("MaxTokensReachedException", history="u[text] a[text]")),
    "stop_stop_sequence": both(says(stop="stop_sequence")),
    "stop_content_filtered": both(says(stop="content_filtered")),
    "stop_malformed_model_output": both(says(stop="malformed_model_output")),
    "stop_malformed_tool_use": both(says(stop="malformed_tool_use")),
    "stop_model_context_window_exceeded": both(says(stop="model_context_window_exceeded")),
    "stop_unknown": both(says(stop="reason_of_the_future")),
}

ERRORS: Final[Mapping[str, Pair]] = {
    "access_denied": both(raises("AccessDeniedException")),
    "expired_token": both(raises("ClientError")),
    "internal_server_error": both(raises("InternalServerException", ATTEMPTS)),
    "invalid_model_id": both(raises("ValidationException")),
    "invalid_signature": both(raises("ClientError")),
    "model_error": both(raises("ModelErrorException")),
    "model_not_ready": both(raises("ModelNotReadyException", ATTEMPTS)),
    "model_timeout": both(raises("ModelTimeoutException")),
    "overflow_first_frame": (raises("EventStreamError"), raises("ValidationException")),
    "overflow_input_tokens_exceeded": both(raises("ValidationException")),
    "overflow_max_tokens_exceed_context": both(OVERFLOW),
    "overflow_maximum_context_length": both(OVERFLOW),
    "overflow_mid": both(OVERFLOW),
    "overflow_pre": both(OVERFLOW),
    "overflow_prompt_too_long": both(OVERFLOW),
    "overflow_too_many_input_tokens": both(raises("ValidationException")),
    "overflow_too_many_text_bytes": both(OVERFLOW),
    "resource_not_found": both(raises("ResourceNotFoundException")),
    "serialization": both(raises("ClientError")),
    "service_quota_exceeded": both(raises("ServiceQuotaExceededException")),
    "service_unavailable": both(raises("ServiceUnavailableException", ATTEMPTS)),
    "throttle_pre": both(says(requests=3)),
    "throttled": both(THROTTLED),
    "throttled_retry_after": both(THROTTLED),
    "throttled_tokens": both(THROTTLED),
    "throttled_tokens_per_day": both(THROTTLED),
    "unknown_error": both(raises("ClientError")),
    "unknown_operation": (raises("ChecksumMismatch"), raises("KeyError")),
    "unrecognized_client": both(raises("ClientError")),
    "validation_error": both(raises("ValidationException")),
}

FRAME: Final = raises("EventStreamError")


def of_frame(raised: str, requests: int = 1) -> Pair:
    """An exception frame, and the HTTP error that a whole answer is instead."""
    return FRAME, raises(raised, requests)


THROTTLED_IN_STREAM: Final[Pair] = (replace(THROTTLED, requests=CALLS), THROTTLED)

FRAMES: Final[Mapping[str, Pair]] = {
    "internal_server_exception_first_frame": (FRAME, says(requests=2)),
    "internal_server_exception_mid": of_frame("InternalServerException", ATTEMPTS),
    "internal_server_exception_in_tool_input": of_frame("InternalServerException", ATTEMPTS),
    "internal_server_exception_at_end": of_frame("InternalServerException", ATTEMPTS),
    "model_stream_error_exception_first_frame": of_frame("ModelErrorException"),
    "model_stream_error": of_frame("ModelErrorException"),
    "model_stream_error_exception_in_tool_input": of_frame("ModelErrorException"),
    "model_stream_error_exception_at_end": of_frame("ModelErrorException"),
    "validation_exception_first_frame": of_frame("ValidationException"),
    "validation_exception_mid": of_frame("ValidationException"),
    "validation_exception_in_tool_input": of_frame("ValidationException"),
    "validation_exception_at_end": of_frame("ValidationException"),
    "service_unavailable_exception_first_frame": (FRAME, says(requests=2)),
    "service_unavailable_exception_mid": of_frame("ServiceUnavailableException", ATTEMPTS),
    "service_unavailable_exception_in_tool_input": of_frame("ServiceUnavailableException", ATTEMPTS),
    "service_unavailable_exception_at_end": of_frame("ServiceUnavailableException", ATTEMPTS),
    "throttle_first_frame": both(says(requests=2)),
    "throttle_mid": THROTTLED_IN_STREAM,
    "throttling_exception_in_tool_input": THROTTLED_IN_STREAM,
    "throttling_exception_at_end": THROTTLED_IN_STREAM,
    "unknown_exception": of_frame("ClientError", ATTEMPTS),
    "error_frame": of_frame("ClientError", ATTEMPTS),
}

FAULTS: Final[Mapping[str, Pair]] = {
    **dict.fromkeys(
        (
            "no_message_start",
            "second_message_start",
            "no_message_stop",
            "second_message_stop",
            "message_stop_in_block",
            "no_metadata",
            "second_metadata",
            "metadata_early",
            "second_block_stop",
            "block_without_delta",
            "index_skipped",
            "index_of_another_block",
            "no_index",
            "delta_after_block",
            "unknown_event",
            "one_byte_chunks",
            "one_chunk",
        ),
        (says(), None),
    ),
    **dict.fromkeys(
        (
            "cut_off",
            "cut_in_tool_input",
            "no_block_stop",
            "tool_input_in_text",
            "truncated_frame",
            "cut_in_prelude",
            "cut_in_headers",
        ),
        (EMPTY, None),
    ),
    "no_block_start": (runs(history="u[text] a[] u[] a[text]"), None),
    "second_block_start": (runs(WEATHER), None),
    "blocks_interleaved": (runs(NO_CITY, history="u[text] a[toolUse text] u[toolResult] a[text]"), None),
    "index_repeated": (runs(WEATHER, history="u[text] a[text toolUse] u[toolResult] a[text]"), None),
    "text_in_tool_use": (runs(WEATHER, history="u[text] a[toolUse text] u[toolResult] a[text]"), None),
    "citation_after_text": (says(history="u[text] a[nowhere]"), None),
    "reasoning_after_signature": (says(history="u[text] a[reasoningContent text]"), None),
    "reasoning_after_redacted": (says(history="u[text] a[reasoningContent redactedContent text]"), None),
    "event_after_exception": (raises("ModelThrottledException", CALLS), None),
    **dict.fromkeys(
        ("start_without_member", "delta_without_member", "delta_of_two_members", "reasoning_without_member"),
        (raises("ResponseParserError"), None),
    ),
    **dict.fromkeys(
        ("bad_crc", "bad_prelude_crc", "garbage_after_end", "json_for_stream"), (raises("ChecksumMismatch"), None)
    ),
    "empty_200": (EMPTY, raises("KeyError")),
    "wrong_content_length": both(says()),
    "slow_first_byte": both(says()),
    "reset": (raises("ProtocolError"), raises("ConnectionClosedError", ATTEMPTS)),
    "closed": (raises("ProtocolError"), raises("KeyError")),
    "stall": both(raises("ReadTimeoutError"), requests=ATTEMPTS),
    "connection_refused": both(raises("EndpointConnectionError", ATTEMPTS)),
    "connect_timeout": both(raises("ConnectTimeoutError", ATTEMPTS)),
    "read_timeout": both(raises("ReadTimeoutError", ATTEMPTS)),
}

LATER: Final = says("20 °C and cloudy in Zürich.", requests=2)

SECOND_TRIES: Final[Mapping[str, Pair]] = {
    "again_unfinished": FAULTS["no_message_stop"],
    "again_half_text": FAULTS["cut_off"],
    "again_half_frame": FAULTS["truncated_frame"],
    "again_lost_connection": (FAULTS["reset"][0], LATER),
    "again_busy": both(LATER),
    "again_model_failed": FRAMES["model_stream_error"],
    "again_half_input": (says("Let me look."), None),
    "again_after_tool": (says("Let me look.", history="u[text] a[text toolUse]"), None),
}

LIVES: Final[Mapping[str, Pair]] = {
    **MESSAGES,
    **TOOLS,
    **CITATIONS,
    **GUARDRAILS,
    **STOPS,
    **ERRORS,
    **FRAMES,
    **FAULTS,
    **SECOND_TRIES,
}
"""Every row by the name of its case."""

_LOST: Final = (
    "a block counts when its contentBlockStop comes; botocore ends without an error, and strands without a text"
)
_ENDED: Final = "without a messageStop the stop reason is end_turn, and nobody learns that the answer broke off"

LOSES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("no_message_stop", "again_unfinished", "again_half_input"), _ENDED),
    **dict.fromkeys(("again_half_text", "again_half_frame"), f"{_LOST}; {_ENDED}"),
    "again_after_tool": f"a tool that came is remembered and not run; {_ENDED}",
    "cut_off": f"{_LOST}; {_ENDED}",
    "cut_in_tool_input": f"{_LOST}; {_ENDED}",
    "truncated_frame": f"{_LOST}; {_ENDED}",
    "cut_in_prelude": f"{_LOST}; {_ENDED}",
    "cut_in_headers": f"{_LOST}; {_ENDED}",
    "empty_200": _ENDED,
    "no_block_stop": _LOST,
    "tool_input_in_text": "an input makes a tool use of the block, which has no name, so that the text is lost with it",
    "tool_input_not_json": "an input that cannot be parsed is taken for {}, and the tool runs",
    "tool_interleaved": "the index of a block is not read: what alternates is one input, and one tool runs with {}",
    "blocks_interleaved": "the same: the tool runs with {}",
    "no_block_start": "a tool use without a name is dropped, and the stop reason stays: it sends an empty message",
    "server_tool_nova": "what the service ran itself is looked for among the tools of the agent, and asked again",
    "image_block": "an image of the model's is dropped, and an empty message is remembered",
    "citation_without_text": "citations without a text are dropped",
    "stop_model_context_window_exceeded": "it is no overflow to it: the part is returned",
    "guardrail_without_detected": "a finding that leaves out `detected` is none to it: what was blocked stays",
    "overflow_first_frame": "this wording is not known to it",
    "overflow_input_tokens_exceeded": "the wording of Nova is not known to it",
    "overflow_too_many_input_tokens": "this wording is not known to it",
    "closed": "botocore reads a body that is cut for {}, in which it looks for the answer (KeyError)",
}
"""Where it does what a consumer must not, and how it comes to that."""
