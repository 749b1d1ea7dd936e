"""Cases of answers with a message: its text, reasoning, citations and metadata, and members that AWS may add later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from converse_harness import faults, reply
from converse_harness.bedrock.citations import citing
from converse_harness.cases.case import MODEL, RECORDED, RECORDED_WHOLE, Case, snake
from converse_harness.reply.reply import Reply

ANSWER: Final = "18 °C and sunny in Zürich."
_THOUGHT: Final = "They ask for the weather. I know it already."
SIGNED: Final = {"text": _THOUGHT, "signature": "EqQBCgIYAhIkMDAwMDAwMDAtMDAwMC00MDAwLTgwMDA="}
USAGE: Final = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}

_KEEP_REASONING: Final = "Send the reasoning back in the next request exactly as it came, and show none of it as text."
_KEEP_METADATA: Final = "Keep the known members of the metadata, and ignore the rest."


def _text(**options: Any) -> Reply:
    """Make a plain text answer; `options` are further arguments of `reply.message`."""
    return reply.message({"text": ANSWER}, **options)


def reasoned(**content: Any) -> Reply:
    """Make an answer with reasoning and text; `content` is the only member of the ReasoningContentBlock."""
    return reply.message({"reasoningContent": content}, {"text": ANSWER})


TEXT_CASES: Final = (
    Case(
        "text_basic",
        "One text in several deltas.",
        "Join the deltas of a block unchanged to one text.",
        RECORDED,
        lambda: _text(usage=USAGE),
    ),
    Case(
        "text_bytewise",
        "A text that is not ASCII arrives byte by byte, an HTTP chunk for each.",
        "Read the same text as if it had come in one piece.",
        "measured on clients; networks can cut like this",
        lambda: reply.text("Grüezi! 18 °C 🌤 in Zürich.").broken(faults.one_byte_chunks),
    ),
    Case(
        "text_empty_delta",
        "An empty delta precedes the text.",
        "Ignore the empty delta, and read the text.",
        RECORDED,
        lambda: reply.text(ANSWER, pieces=["", ANSWER]),
    ),
    Case(
        "text_empty_block",
        "A block with an empty text precedes the answer, as gpt-oss sends it.",
        "Leave the empty block out of the next request: Bedrock refuses empty texts.",
        RECORDED,
        lambda: reply.message({"text": ""}, {"text": ANSWER}),
    ),
    Case(
        "content_empty",
        "The answer has no content at all.",
        "End the turn without a text, and send no empty message back: Bedrock refuses it.",
        MODEL,
        reply.message,
    ),
    Case(
        "reasoning_then_text",
        "Signed reasoning, then the text.",
        _KEEP_REASONING,
        RECORDED,
        lambda: reasoned(reasoningText=SIGNED),
    ),
    Case(
        "reasoning_unsigned",
        "Reasoning without a signature, then the text.",
        "Read the text, and treat the reasoning as unsigned.",
        RECORDED,
        lambda: reasoned(reasoningText={"text": _THOUGHT}),
    ),
    Case(
        "reasoning_omitted",
        "A signature with no reasoning text before it, then the text: this is the default of Claude from 4.7 on.",
        _KEEP_REASONING,
        "reported by users (strands-agents/harness-sdk#2704)",
        lambda: reasoned(reasoningText={**SIGNED, "text": ""}),
    ),
    Case(
        "reasoning_redacted_utf8",
        "Redacted reasoning whose bytes happen to be UTF-8, then the text.",
        _KEEP_REASONING,
        RECORDED,
        lambda: reasoned(redactedContent=b"EroBCkYIBBgCKkA="),
    ),
    Case(
        "reasoning_redacted_binary",
        "Redacted reasoning whose bytes are not UTF-8, then the text.",
        _KEEP_REASONING,
        MODEL,
        lambda: reasoned(redactedContent=b"\xff\xfe\x00"),
    ),
    Case(
        "image_block",
        "The answer is an image.",
        "Keep the image, or ignore it; never fail.",
        MODEL,
        lambda: reply.message({"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}}),
        ("ContentBlockDelta.image",),
    ),
)


_CACHED: Final = {**USAGE, "totalTokens": 115, "cacheReadInputTokens": 60, "cacheWriteInputTokens": 40}
_DETAILS: Final = {**_CACHED, "cacheDetails": [{"ttl": "5m", "inputTokens": 40}]}
_FAST: Final = {"latency": "optimized"}
_PRIORITY: Final = {"type": "priority"}
_PROFILE: Final = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0"
_ROUTER: Final = {"promptRouter": {"invokedModelId": _PROFILE}}
_TIER: Final = "ConverseStreamMetadataEvent.serviceTier"
_OF_CACHE: Final = "TokenUsage.cacheDetails"

METADATA_CASES: Final = (
    Case(
        "metadata_full",
        "Usage with cache reads, writes and their details, performance, service tier, prompt router.",
        "Count 110 input tokens, 60 of them read from the cache and 40 written to it.",
        "each member recorded, or from AWS's API model",
        lambda: _text(usage=_DETAILS, performance_config=_FAST, service_tier=_PRIORITY, trace=_ROUTER),
        (_TIER, _OF_CACHE),
    ),
    Case(
        "metadata_missing",
        "The stream ends with messageStop; there is no metadata.",
        "Accept the answer, and report its usage as unknown, not as 0.",
        "measured on clients; AWS is not known to leave it out",
        lambda: reply.text(ANSWER).broken(faults.no_metadata),
    ),
    Case(
        "metadata_cache",
        "The usage has tokens that were read from the cache and written to it.",
        "Count them as input with another price: 10 + 60 + 40.",
        RECORDED,
        lambda: _text(usage=_CACHED),
    ),
    Case(
        "metadata_cache_details",
        "The usage shows how long the written tokens stay in the cache.",
        _KEEP_METADATA,
        RECORDED_WHOLE,
        lambda: _text(usage=_DETAILS),
        (_OF_CACHE,),
    ),
    Case(
        "metadata_performance_config",
        "The metadata names the latency with which the request was served.",
        _KEEP_METADATA,
        RECORDED_WHOLE,
        lambda: _text(performance_config=_FAST),
    ),
    Case(
        "metadata_service_tier",
        "The metadata names the service tier of the request.",
        _KEEP_METADATA,
        RECORDED_WHOLE,
        lambda: _text(service_tier=_PRIORITY),
        (_TIER,),
    ),
    Case(
        "metadata_prompt_router",
        "The trace names the model that a prompt router chose.",
        _KEEP_METADATA,
        MODEL,
        lambda: _text(trace=_ROUTER),
    ),
    Case(
        "additional_fields",
        "The answer has additionalModelResponseFields, which the request asked for.",
        "Keep them, or ignore them.",
        RECORDED_WHOLE,
        lambda: _text(stop_reason="stop_sequence", additional={"stop_sequence": "\n\nHuman:"}),
    ),
)


_GROWS: Final = "what AWS's API allows itself: it grows without notice"
_IGNORE: Final = "Ignore the unknown part, and read the rest."


def _future_text(*before: Mapping[str, Any], **metadata: Any) -> Reply:
    """Make a text answer with the events `before` in front of its text; `metadata` are extra metadata members."""
    events: Sequence[Mapping[str, Any]] = [
        {"messageStart": {"role": "assistant"}},
        *before,
        {"contentBlockDelta": {"contentBlockIndex": len(before) // 2, "delta": {"text": ANSWER}}},
        {"contentBlockStop": {"contentBlockIndex": len(before) // 2}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 300}, **metadata}},
    ]
    return reply.events(events, strict=False)


def _future_block(event: str, **member: Any) -> Reply:
    start = {event: {"contentBlockIndex": 0, **member}}
    return _future_text(start, {"contentBlockStop": {"contentBlockIndex": 0}})


FUTURE_CASES: Final = (
    Case(
        "unknown_delta",
        "A block has a delta of a kind that is not in AWS's API model; a text follows.",
        _IGNORE,
        _GROWS,
        lambda: _future_block("contentBlockDelta", delta={"hologram": {"frames": 24}}),
    ),
    Case(
        "unknown_start",
        "A block starts as a kind that is not in AWS's API model; a text follows.",
        _IGNORE,
        _GROWS,
        lambda: _future_block("contentBlockStart", start={"hologram": {"name": "globe"}}),
    ),
    Case(
        "unknown_reasoning",
        "Reasoning is of a kind that is not in AWS's API model; a text follows.",
        _IGNORE,
        _GROWS,
        lambda: _future_block("contentBlockDelta", delta={"reasoningContent": {"sketch": "They ask for the weather."}}),
    ),
    Case(
        "unknown_member",
        "The metadata has a member that is not in AWS's API model.",
        _IGNORE,
        _GROWS,
        lambda: _future_text(carbon={"grams": 0.3}),
    ),
)
"""Cases with members that AWS's API model lacks. An event of an unknown type is among the fault cases instead."""


_FORECAST: Final = "Zürich: 18 °C, sunny. Bern: 16 °C, rain."
_DOCUMENT: Final[Mapping[str, Any]] = {"name": "forecast", "format": "txt", "source": {"text": _FORECAST}}
_PDF: Final[Mapping[str, Any]] = {"name": "forecast", "format": "pdf", "source": {"bytes": b"%PDF-1.7"}}
_CHUNKS: Final[Mapping[str, Any]] = {"name": "forecast", "source": {"content": [{"text": _FORECAST}]}}
_FOUND: Final[Mapping[str, Any]] = {
    "source": "https://example.com/forecast",
    "title": "Forecast",
    "content": [{"text": _FORECAST}],
}
_QUOTE: Final = "18 °C, sunny"
_KEEP: Final = "Keep each citation with the text that follows it in its block, or drop all citations; keep the text."


def _located(kind: str, words: str, source: str, *cited: Any, **where: Any) -> Case:
    """Make the case for one kind of citation location; `cited` and `where` are passed to `citing`."""
    return Case(
        f"citation_{snake(kind)}",
        f"A text cites {words} ({kind}).",
        _KEEP,
        source,
        lambda: reply.cited("It is ", "18 °C and sunny", citing(*cited, **where), " in Zürich."),
        (f"CitationLocation.{kind}",),
    )


CITATION_CASES: Final = (
    Case(
        "citation_document",
        "A text cites a passage of a document; the citation comes before its text, as AWS sends it.",
        _KEEP,
        RECORDED,
        lambda: reply.cited("18 °C and sunny in Zürich.", citing(_DOCUMENT, _QUOTE)),
    ),
    Case(
        "citation_several",
        "A text cites two passages, and a later one on a third.",
        _KEEP,
        MODEL,
        lambda: reply.cited(
            "It is 18 °C in Zürich and 16 °C in Bern",
            citing(_DOCUMENT, "18 °C"),
            citing(_DOCUMENT, "16 °C"),
            ", ",
            "with rain",
            citing(_DOCUMENT, "rain"),
            " in Bern.",
        ),
    ),
    Case(
        "citation_without_text",
        "A block has citations and no text, as Nova's web grounding sends it.",
        "Keep the citations with the text before them, or leave them out.",
        "recorded answers of Nova, with pages of the web",
        lambda: reply.message({"text": ANSWER}, {"citationsContent": {"citations": [citing(_DOCUMENT, _QUOTE)]}}),
    ),
    _located("documentChar", "characters of a document", RECORDED, _DOCUMENT, _QUOTE),
    _located("documentPage", "pages of a document", RECORDED, _PDF, _QUOTE, pages=2),
    _located("documentChunk", "chunks of a document", RECORDED, _CHUNKS, _QUOTE),
    _located("searchResultLocation", "blocks of a search result", MODEL, _FOUND, _QUOTE),
    _located("web", "a page of the web", RECORDED, "https://example.com/forecast"),
)
