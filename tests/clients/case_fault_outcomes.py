"""What botocore makes of the cases of faults: each is one in the answer that its name stands beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.clients.case_rows import (
    ANSWER,
    ASKED,
    PART,
    THOUGHT,
    USED,
    WEATHER,
    WORDS,
    alike,
    breaks,
    cut,
    in_stream,
    said,
)
from tests.clients.case_runs import UNTIL_IT_GIVES_UP, Differences, Differs, Made, Row
from tests.clients.scenarios import CONNECTION

OF_THE_ORDER: Final[Mapping[str, Row]] = {
    # Most are handed out as they come: the flow shows them, and nothing else does.
    "no_message_start": in_stream(flow="D0x6 CE0 ST MD"),
    "second_message_start": in_stream(flow="MS D0x5 MS D0 CE0 ST MD"),
    "no_message_stop": in_stream(stop=None, flow="MS D0x6 CE0 MD"),
    "second_message_stop": in_stream(flow="MS D0x6 CE0 STx2 MD"),
    "message_stop_in_block": in_stream(flow="MS D0x4 ST D0x2 CE0 MD"),
    "no_metadata": in_stream(usage=None, flow="MS D0x6 CE0 ST"),
    "second_metadata": in_stream(flow="MS D0x6 CE0 ST MDx2"),
    "metadata_early": in_stream(flow="MS D0x4 MD D0x2 CE0 ST"),
    "cut_off": cut(),
    "cut_in_tool_input": cut("", tools=(("get_weather", '{"city": '),), flow="MS CS0 D0"),
    "no_block_start": in_stream(
        "", tools=(("", WEATHER[1]),), stop="tool_use", usage=(ASKED, 19), flow="MS D0x2 CE0 ST MD"
    ),
    "second_block_start": in_stream(
        "",
        tools=(("get_weather", ""), WEATHER),
        stop="tool_use",
        usage=(ASKED, 19),
        flow="MS CS0x2 D0x2 CE0 ST MD",
    ),
    "no_block_stop": in_stream(flow="MS D0x6 ST MD"),
    "second_block_stop": in_stream(flow="MS D0x6 CE0x2 ST MD"),
    "block_without_delta": in_stream(usage=(ASKED, 16), flow="MS CE0 D1x6 CE1 ST MD"),
    "blocks_interleaved": in_stream(
        "Let me look.",
        tools=(WEATHER,),
        stop="tool_use",
        usage=(ASKED, 23),
        flow="MS D0x3 CS1 CE0 D1x8 CE1 ST MD",
    ),
    "index_skipped": in_stream(flow="MS D1x6 CE1 ST MD"),
    "index_repeated": in_stream(
        "Let me look.",
        tools=(WEATHER,),
        stop="tool_use",
        usage=(ASKED, 23),
        flow="MS D0x3 CE0 CS0 D0x8 CE0 ST MD",
    ),
    "index_of_another_block": in_stream(flow="MS D0x4 D1 D0 CE0 ST MD"),
    "no_index": in_stream(flow="MS D0x3 D? D0x2 CE0 ST MD"),
    "delta_after_block": in_stream(f"{ANSWER}x", flow="MS D0x6 CE0 D0 ST MD"),
    "text_in_tool_use": in_stream(
        "x", tools=(WEATHER,), stop="tool_use", usage=(ASKED, 19), flow="MS CS0 D0x3 CE0 ST MD"
    ),
    "tool_input_in_text": in_stream(tools=(("", ""),), flow="MS D0x7 CE0 ST MD"),
    "citation_after_text": in_stream(marks=("cites",), flow="MS D0x7 CE0 ST MD"),
    "reasoning_after_signature": in_stream(
        reasoning=f"{THOUGHT}x", marks=("signature",), usage=(ASKED, 40), flow="MS D0x11 CE0 D1x6 CE1 ST MD"
    ),
    "reasoning_after_redacted": in_stream(
        reasoning="x", marks=("redacted 16 bytes",), usage=(ASKED, 16), flow="MS D0x2 CE0 D1x6 CE1 ST MD"
    ),
    # An exception is raised where it stands, whatever follows.
    "event_after_exception": cut(error="ThrottlingException", raised="EventStreamError"),
    # Skipped without a word.
    "unknown_event": in_stream(flow="MS D0x6 CE0 ST MD"),
    # What is no union is an error of the parser, and what came before it was handed out.
    "start_without_member": breaks("", "ResponseParserError", flow="MS"),
    "delta_without_member": breaks("18 °C and", "ResponseParserError", flow="MS D0x3"),
    "delta_of_two_members": breaks("18 °C and", "ResponseParserError", flow="MS D0x3"),
    "reasoning_without_member": breaks(
        "", "ResponseParserError", reasoning="They ask for the weather.", flow="MS D0x5"
    ),
}

BROKEN: Final = {"error": CONNECTION, "raised": "ProtocolError"}
GONE: Final = Made(error=CONNECTION, raised="ConnectionClosedError", again=UNTIL_IT_GIVES_UP)
SILENCE: Final = Made(error=CONNECTION, raised="ReadTimeoutError", again=UNTIL_IT_GIVES_UP)


def no_answer(raised: str) -> Row:
    """No answer at all, which botocore repeats."""
    return alike(Made(error=CONNECTION, raised=raised, again=UNTIL_IT_GIVES_UP))


OF_BYTES: Final[Mapping[str, Row]] = {
    "bad_crc": breaks(PART, "ChecksumMismatch", flow="MS D0x4"),
    "bad_prelude_crc": breaks(PART, "ChecksumMismatch", flow="MS D0x4"),
    # A frame that is not complete when the response ends is forgotten: the answer looks whole, but for its stop reason.
    "truncated_frame": cut(),
    "cut_in_prelude": cut(),
    "cut_in_headers": cut(),
    "garbage_after_end": in_stream(error="ChecksumMismatch", raised="ChecksumMismatch", flow=WORDS),
    "one_byte_chunks": in_stream(flow=WORDS),
    "one_chunk": in_stream(flow=WORDS),
    "empty_200": alike(Made()),
    "json_for_stream": breaks("", "ChecksumMismatch"),
    # The one byte that is missing is missed by nobody.
    "wrong_content_length": said(),
    "reset": Row(cut(**BROKEN).stream, GONE),
    "closed": Row(cut(**BROKEN).stream, Made()),
    "stall": Row(cut(error=CONNECTION, raised="ReadTimeoutError").stream, SILENCE),
    "slow_first_byte": said(),
    "connection_refused": no_answer("EndpointConnectionError"),
    "connect_timeout": no_answer("ConnectTimeoutError"),
    "read_timeout": no_answer("ReadTimeoutError"),
}

FAULTS: Final[Mapping[str, Row]] = {**OF_THE_ORDER, **OF_BYTES}

TAKEN: Final = {"stop": "end_turn", "usage": USED, "error": None, "flow": "MS D0x6 CE0 ST MD"}
_UNIONS: Final = "it hands out what is in a union, be it nothing or two members"

ANY_UNION: Final[Differences] = {
    "start_without_member": Differs(
        _UNIONS,
        stream={
            **TAKEN,
            "tools": (("", WEATHER[1]),),
            "stop": "tool_use",
            "usage": (ASKED, 19),
            "marks": ("start nothing",),
            "flow": "MS CS0 D0x2 CE0 ST MD",
        },
    ),
    "delta_without_member": Differs(_UNIONS, stream={**TAKEN, "text": "18 °C and in Zürich.", "marks": ("nothing",)}),
    "delta_of_two_members": Differs(_UNIONS, stream={**TAKEN, "text": ANSWER}),
    "reasoning_without_member": Differs(
        _UNIONS,
        stream={
            **TAKEN,
            "text": ANSWER,
            "reasoning": "They ask for the weather. know it already.",
            "usage": (ASKED, 40),
            "marks": ("nothing", "signature"),
            "flow": "MS D0x10 CE0 D1x6 CE1 ST MD",
        },
    ),
}
"""What clients make of broken unions that do not look at how many members there are."""
