"""What botocore makes of every case of the catalogue: written from runs of it, checked against what is known of it.

Suites of other clients say how theirs differ. Where nothing else is said a whole answer gives the same as the stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.clients.case_fault_outcomes import FAULTS
from tests.clients.case_rows import (
    ANSWER,
    ASKED,
    BLOCKED,
    IN_BERN,
    PART,
    SAID,
    THOUGHT,
    USED,
    WEATHER,
    WORDS,
    alike,
    asks,
    breaks,
    cut,
    fails,
    in_stream,
    refused,
    repeated,
    said,
    unmodelled,
)
from tests.clients.case_runs import UNTIL_IT_GIVES_UP, Made, Row

MESSAGES: Final[Mapping[str, Row]] = {
    "text_basic": said(usage=SAID),
    "text_bytewise": in_stream("Grüezi! 18 °C 🌤 in Zürich.", flow=WORDS),
    "text_empty_delta": said(flow="MS D0x2 CE0 ST MD"),
    "text_empty_block": said(flow="MS D0 CE0 D1x2 CE1 ST MD"),
    "content_empty": said("", flow="MS ST MD", usage=(ASKED, 1)),
    "reasoning_then_text": said(
        reasoning=THOUGHT, marks=("signature",), flow="MS D0x6 CE0 D1x2 CE1 ST MD", usage=(ASKED, 40)
    ),
    "reasoning_unsigned": said(reasoning=THOUGHT, flow="MS D0x5 CE0 D1x2 CE1 ST MD", usage=(ASKED, 27)),
    "reasoning_omitted": said(marks=("signature",), flow="MS D0 CE0 D1x2 CE1 ST MD", usage=(ASKED, 29)),
    "reasoning_redacted_utf8": said(marks=("redacted 16 bytes",), flow="MS D0 CE0 D1x2 CE1 ST MD", usage=(ASKED, 16)),
    "reasoning_redacted_binary": said(marks=("redacted 3 bytes",), flow="MS D0 CE0 D1x2 CE1 ST MD", usage=(ASKED, 12)),
    "image_block": alike(
        Made(stop="end_turn", usage=(ASKED, 1506), marks=("start image", "image"), flow="MS CS0 D0 CE0 ST MD"),
        marks=("image",),
    ),
    "metadata_full": said(
        usage=SAID, marks=("cache 60+40", "cacheDetails", "trace promptRouter", "performanceConfig", "serviceTier")
    ),
    "metadata_missing": in_stream(usage=None, flow="MS D0x6 CE0 ST"),
    "metadata_cache": said(usage=SAID, marks=("cache 60+40",)),
    "metadata_cache_details": said(usage=SAID, marks=("cache 60+40", "cacheDetails")),
    "metadata_performance_config": said(marks=("performanceConfig",)),
    "metadata_service_tier": said(marks=("serviceTier",)),
    "metadata_prompt_router": said(marks=("trace promptRouter",)),
    "additional_fields": said(stop="stop_sequence", marks=("additionalModelResponseFields",)),
}

TOOLS: Final[Mapping[str, Row]] = {
    "tool_fragments": asks(WEATHER, flow="MS CS0 D0x3 CE0 ST MD", usage=SAID),
    "tool_one_delta": asks(WEATHER, flow="MS CS0 D0 CE0 ST MD"),
    "tool_no_input": asks(("get_weather", ""), flow="MS CS0 CE0 ST MD", usage=SAID, whole=(("get_weather", "{}"),)),
    "tool_empty_delta": asks(
        ("get_weather", ""), flow="MS CS0 D0 CE0 ST MD", usage=SAID, whole=(("get_weather", "{}"),)
    ),
    "tool_truncated_json_max_tokens": in_stream(
        "", tools=(("get_weather", '{"city": "Zür'),), stop="max_tokens", usage=SAID, flow="MS CS0 D0x2 CE0 ST MD"
    ),
    "tool_input_not_json": in_stream(
        "", tools=(("get_weather", "{city: Zürich}"),), stop="tool_use", usage=SAID, flow="MS CS0 D0 CE0 ST MD"
    ),
    "tool_typed": asks(WEATHER, flow="MS CS0 D0x2 CE0 ST MD", usage=SAID),
    "tool_parallel": asks(
        WEATHER,
        IN_BERN,
        text="Let me look at both.",
        usage=(ASKED, 44),
        flow="MS D0x2 CE0 CS1 D1x4 CE1 CS2 D2x4 CE2 ST MD",
    ),
    "tool_interleaved": in_stream(
        "",
        tools=(WEATHER, IN_BERN),
        stop="tool_use",
        usage=SAID,
        flow="MS CS0 CS1 D0 D1 D0 D1 CE0 CE1 ST MD",
    ),
    "tool_but_end_turn": asks(WEATHER, stop="end_turn", flow="MS CS0 D0x4 CE0 ST MD"),
    "tool_raises": asks(("get_weather", '{"city": "Atlantis"}'), usage=(ASKED, 20), flow="MS CS0 D0x4 CE0 ST MD"),
    "tool_for_ever": asks(WEATHER, flow="MS CS0 D0x4 CE0 ST MD"),
    "tool_unknown": asks(("delete_everything", '{"sure": true}'), usage=(ASKED, 20), flow="MS CS0 D0x4 CE0 ST MD"),
    "server_tool_nova": alike(
        Made(
            ANSWER,
            tools=(("nova_code_interpreter", '{"snippet": "print(9 * 2)"}'),),
            stop="end_turn",
            usage=(ASKED, 71),
            marks=("tool is server_tool_use", "start toolResult", "toolResult"),
            flow="MS CS0 D0x5 CE0 CS1 D1 CE1 D2x2 CE2 ST MD",
        ),
        marks=("tool is server_tool_use", "toolResult"),
    ),
}


def cites(location: str, tokens: int) -> Row:
    """A text whose middle leans on one passage; the citation comes before it, in its block."""
    return said(
        f"It is {PART} in Zürich.",
        marks=(f"cites {location}",),
        usage=(ASKED, tokens),
        flow="MS D0x2 CE0 D1x3 CE1 D2x2 CE2 ST MD",
    )


CITATIONS: Final[Mapping[str, Row]] = {
    "citation_document": said(marks=("cites documentChar",), usage=(ASKED, 38), flow="MS D0x3 CE0 ST MD"),
    "citation_several": said(
        "It is 18 °C in Zürich and 16 °C in Bern, with rain in Bern.",
        marks=("cites documentChar",) * 3,
        usage=(ASKED, 96),
        flow="MS D0x5 CE0 D1 CE1 D2x3 CE2 D3x2 CE3 ST MD",
    ),
    "citation_without_text": said(marks=("cites documentChar",), usage=(ASKED, 36), flow="MS D0x2 CE0 D1 CE1 ST MD"),
    "citation_document_char": cites("documentChar", 41),
    "citation_document_page": cites("documentPage", 41),
    "citation_document_chunk": cites("documentChunk", 48),
    "citation_search_result_location": cites("searchResultLocation", 60),
    "citation_web": cites("web", 34),
}


def guarded(text: str, *found: str, **members: Any) -> Row:
    """An answer in which a guardrail intervened."""
    return said(text, stop="guardrail_intervened", marks=("trace guardrail", *found), **members)


INPUT_BLOCKED: Final = guarded(BLOCKED, "inputAssessment BLOCKED", usage=(0, 0), flow="MS D0 CE0 ST MD")
OUTPUT_BLOCKED: Final = guarded(BLOCKED, "outputAssessments BLOCKED", usage=(ASKED, 12), flow="MS D0 CE0 ST MD")

GUARDRAILS: Final[Mapping[str, Row]] = {
    "guardrail_input_blocked": INPUT_BLOCKED,
    "guardrail_output_blocked": OUTPUT_BLOCKED,
    "guardrail_blocked_late": guarded(
        f"Buy crypto, and {BLOCKED}", "outputAssessments BLOCKED", usage=(ASKED, 16), flow="MS D0x5 CE0 ST MD"
    ),
    "guardrail_masked": guarded(
        "Write to {EMAIL}.", "outputAssessments ANONYMIZED", usage=(ASKED, 5), flow="MS D0x2 CE0 ST MD"
    ),
    "guardrail_input_masked": guarded(ANSWER, "inputAssessment ANONYMIZED"),
    "guardrail_no_trace": said(BLOCKED, stop="guardrail_intervened", usage=(0, 0), flow="MS D0 CE0 ST MD"),
    "guardrail_without_detected": INPUT_BLOCKED,
    "guardrail_passed": said(marks=("trace guardrail",)),
    "guardrail_topic": INPUT_BLOCKED,
    "guardrail_content": INPUT_BLOCKED,
    "guardrail_word": INPUT_BLOCKED,
    "guardrail_managed_word": INPUT_BLOCKED,
    "guardrail_pii": INPUT_BLOCKED,
    "guardrail_regex": INPUT_BLOCKED,
    "guardrail_grounding": OUTPUT_BLOCKED,
    "guardrail_automated_reasoning": said(marks=("trace guardrail",)),
}

STOPS: Final[Mapping[str, Row]] = {
    "stop_end_turn": said(),
    "stop_tool_use": asks(WEATHER, flow="MS CS0 D0x4 CE0 ST MD"),
    "stop_max_tokens": said(stop="max_tokens"),
    "stop_stop_sequence": said(stop="stop_sequence"),
    "stop_guardrail_intervened": said(stop="guardrail_intervened"),
    "stop_content_filtered": said(stop="content_filtered"),
    "stop_malformed_model_output": said(stop="malformed_model_output"),
    "stop_malformed_tool_use": said(stop="malformed_tool_use"),
    "stop_model_context_window_exceeded": said(stop="model_context_window_exceeded"),
    "stop_unknown": said(stop="reason_of_the_future", usage=SAID, flow="MS D0x2 CE0 ST MD"),
}

ERRORS: Final[Mapping[str, Row]] = {
    "access_denied": refused("AccessDeniedException"),
    "expired_token": unmodelled("ExpiredTokenException"),
    "internal_server_error": repeated("InternalServerException"),
    "invalid_model_id": refused("ValidationException"),
    "invalid_signature": unmodelled("InvalidSignatureException"),
    "model_error": refused("ModelErrorException"),
    "model_not_ready": repeated("ModelNotReadyException"),
    "model_timeout": refused("ModelTimeoutException"),
    "overflow_input_tokens_exceeded": refused("ValidationException"),
    "overflow_max_tokens_exceed_context": refused("ValidationException"),
    "overflow_maximum_context_length": refused("ValidationException"),
    "overflow_pre": refused("ValidationException"),
    "overflow_prompt_too_long": refused("ValidationException"),
    "overflow_too_many_input_tokens": refused("ValidationException"),
    "overflow_too_many_text_bytes": refused("ValidationException"),
    "resource_not_found": refused("ResourceNotFoundException"),
    "serialization": unmodelled("SerializationException"),
    "service_quota_exceeded": refused("ServiceQuotaExceededException"),
    "service_unavailable": repeated("ServiceUnavailableException"),
    "throttle_pre": alike(Made(ANSWER, stop="end_turn", usage=USED, flow=WORDS, again=2)),
    "throttled": repeated("ThrottlingException"),
    "throttled_retry_after": repeated("ThrottlingException"),
    "throttled_tokens": repeated("ThrottlingException"),
    "throttled_tokens_per_day": repeated("ThrottlingException"),
    "unknown_error": unmodelled("FutureException"),
    "unknown_operation": Row(breaks("", "ChecksumMismatch").stream, Made()),
    "unrecognized_client": unmodelled("UnrecognizedClientException"),
    "validation_error": refused("ValidationException"),
}

AGAIN: Final = UNTIL_IT_GIVES_UP
OF_FRAMES: Final[Mapping[str, tuple[tuple[str, str, str, str], str, int]]] = {
    "InternalServerException": (
        (
            "internal_server_exception_first_frame",
            "internal_server_exception_mid",
            "internal_server_exception_in_tool_input",
            "internal_server_exception_at_end",
        ),
        "InternalServerException",
        AGAIN,
    ),
    "ModelStreamErrorException": (
        (
            "model_stream_error_exception_first_frame",
            "model_stream_error",
            "model_stream_error_exception_in_tool_input",
            "model_stream_error_exception_at_end",
        ),
        "ModelErrorException",
        0,
    ),
    "ServiceUnavailableException": (
        (
            "service_unavailable_exception_first_frame",
            "service_unavailable_exception_mid",
            "service_unavailable_exception_in_tool_input",
            "service_unavailable_exception_at_end",
        ),
        "ServiceUnavailableException",
        AGAIN,
    ),
    "ThrottlingException": (
        (
            "throttle_first_frame",
            "throttle_mid",
            "throttling_exception_in_tool_input",
            "throttling_exception_at_end",
        ),
        "ThrottlingException",
        AGAIN,
    ),
    "ValidationException": (
        (
            "validation_exception_first_frame",
            "validation_exception_mid",
            "validation_exception_in_tool_input",
            "validation_exception_at_end",
        ),
        "ValidationException",
        0,
    ),
}
"""Of every exception frame the cases: first, in the text, in a tool's input, after messageStop. And what a whole answer
is instead: which HTTP error, and how often botocore asks again for it."""


def of_frame(error: str) -> dict[str, Row]:
    """The rows of one exception."""
    (first, middle, in_tool, at_end), name, again = OF_FRAMES[error]
    instead = Made(error=name, raised=name, again=again)
    # The second call of the first case is answered; a whole answer gets there where botocore asks again.
    recovered = Made(ANSWER, stop="end_turn", usage=USED, again=1) if again else instead
    return {
        first: fails("", error, recovered),
        middle: fails("18 °C", error, instead, flow="MS D0x2"),
        in_tool: fails("", error, instead, flow="MS CS0 D0", tools=(("get_weather", '{"city": '),)),
        at_end: fails(ANSWER, error, instead, flow="MS D0x6 CE0 ST", stop="end_turn"),
    }


FRAMES: Final[Mapping[str, Row]] = {
    **{name: row for error in OF_FRAMES for name, row in of_frame(error).items()},
    "overflow_first_frame": fails(
        "", "ValidationException", Made(error="ValidationException", raised="ValidationException")
    ),
    "overflow_mid": fails(
        "18 °C", "ValidationException", Made(error="ValidationException", raised="ValidationException"), flow="MS D0x2"
    ),
    "unknown_exception": fails(
        "18 °C", "", Made(error="FutureException", raised="ClientError", again=AGAIN), flow="MS D0x2"
    ),
    "error_frame": fails(
        "18 °C", "InternalFailure", Made(error="InternalFailure", raised="ClientError", again=AGAIN), flow="MS D0x2"
    ),
    "unknown_delta": in_stream(usage=SAID, marks=("unknown hologram",), flow="MS D0 CE0 D1 CE1 ST MD"),
    "unknown_start": in_stream(usage=SAID, marks=("start unknown hologram",), flow="MS CS0 CE0 D1 CE1 ST MD"),
    "unknown_reasoning": in_stream(usage=SAID, marks=("unknown sketch",), flow="MS D0 CE0 D1 CE1 ST MD"),
    "unknown_member": said(usage=SAID, flow="MS D0 CE0 ST MD"),
}

LATER: Final = Made("20 °C and cloudy in Zürich.", stop="end_turn", usage=USED, again=1)

SECOND_TRIES: Final[Mapping[str, Row]] = {
    # botocore does not ask again after a part of a stream; a whole answer gets there where botocore asks again.
    "again_unfinished": FAULTS["no_message_stop"],
    "again_half_text": FAULTS["cut_off"],
    "again_half_frame": FAULTS["truncated_frame"],
    "again_lost_connection": Row(FAULTS["reset"].stream, LATER),
    "again_busy": Row(FRAMES["throttle_mid"].stream, LATER),
    "again_model_failed": FRAMES["model_stream_error"],
    "again_half_input": cut("Let me look.", tools=(("get_weather", '{"city": '),), flow="MS D0x3 CE0 CS1 D1x4"),
    "again_after_tool": in_stream(
        "Let me look.", tools=(WEATHER,), stop=None, usage=(ASKED, 23), flow="MS D0x3 CE0 CS1 D1x8 CE1 MD"
    ),
}

OUTCOMES: Final[Mapping[str, Row]] = {
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

NEWER: Final = frozenset(
    {
        "citation_search_result_location",
        "citation_web",
        "guardrail_automated_reasoning",
        "image_block",
        "metadata_cache_details",
        "metadata_full",
        "metadata_service_tier",
        "server_tool_nova",
        "stop_malformed_model_output",
        "stop_malformed_tool_use",
        "stop_model_context_window_exceeded",
    }
)
"""Cases that the oldest supported botocore has not got: its model lacks a shape that they need."""
