"""Cases of answers that are messages: text, reasoning, citations, metadata, and possible additions to AWS's model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from converse_harness import faults, reply
from converse_harness.bedrock.citations import citing, locations
from converse_harness.cases.case import MODEL, RECORDED, RECORDED_WHOLE, Case, Made, snake

ANSWER: Final = "18 °C and sunny in Zürich."
THOUGHT: Final = "They ask for the weather. I know it already."
SIGNATURE: Final = "EqQBCgIYAhIkMDAwMDAwMDAtMDAwMC00MDAwLTgwMDA="
USAGE: Final = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}

_JOIN: Final = "Join the deltas of a block, as they are, to one text."
_KEEP_REASONING: Final = "Send the reasoning back in the next request exactly as it came, and show none of it as text."
_KEEP_METADATA: Final = "Keep what it knows of the metadata, and ignore the rest."


def _text(**options: Any) -> Made:
    """The plain text answer on which other cases build, with further members."""
    return reply.message({"text": ANSWER}, **options)


def _redacted(data: bytes) -> Made:
    return reply.message({"reasoningContent": {"redactedContent": data}}, {"text": ANSWER})


def _image() -> Made:
    return reply.message({"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}})


def cases() -> Iterator[Case]:
    """The cases of text, reasoning and other content."""
    yield Case("text_basic", "One text in several deltas.", _JOIN, RECORDED, lambda: _text(usage=USAGE))
    yield Case(
        "text_bytewise",
        "A text that is not ASCII arrives byte by byte, an HTTP chunk for each.",
        "Read the same text as if it came at once.",
        "measured on clients; networks do cut so",
        lambda: reply.text("Grüezi! 18 °C 🌤 in Zürich.").broken(faults.one_byte_chunks),
    )
    yield Case(
        "text_empty_delta",
        "An empty delta precedes the text.",
        "Read the text without minding it.",
        RECORDED,
        lambda: reply.text(ANSWER, pieces=["", ANSWER]),
    )
    yield Case(
        "text_empty_block",
        "A block with an empty text precedes the answer, as gpt-oss sends it.",
        "Leave the empty block out of the next request: Bedrock refuses empty texts.",
        RECORDED,
        lambda: reply.message({"text": ""}, {"text": ANSWER}),
    )
    yield Case(
        "content_empty",
        "The answer has no content at all.",
        "End the turn without a text, and send no empty message back: Bedrock refuses it.",
        MODEL,
        reply.message,
    )
    yield Case(
        "reasoning_then_text",
        "Signed reasoning, then the text.",
        _KEEP_REASONING,
        RECORDED,
        lambda: reply.message(
            {"reasoningContent": {"reasoningText": {"text": THOUGHT, "signature": SIGNATURE}}}, {"text": ANSWER}
        ),
    )
    yield Case(
        "reasoning_unsigned",
        "Reasoning without a signature, then the text.",
        "Read the text, and the reasoning as not signed.",
        RECORDED,
        lambda: reply.message({"reasoningContent": {"reasoningText": {"text": THOUGHT}}}, {"text": ANSWER}),
    )
    yield Case(
        "reasoning_omitted",
        "A signature with no reasoning text before it, then the text: Claude from 4.7 on tells no more by default.",
        _KEEP_REASONING,
        "reported by users (strands-agents/harness-sdk#2704)",
        lambda: reply.message(
            {"reasoningContent": {"reasoningText": {"text": "", "signature": SIGNATURE}}}, {"text": ANSWER}
        ),
    )
    yield Case(
        "reasoning_redacted_utf8",
        "Redacted reasoning whose bytes happen to be UTF-8, then the text.",
        _KEEP_REASONING,
        RECORDED,
        lambda: _redacted(b"EroBCkYIBBgCKkA="),
    )
    yield Case(
        "reasoning_redacted_binary",
        "Redacted reasoning whose bytes are no UTF-8, then the text.",
        _KEEP_REASONING,
        MODEL,
        lambda: _redacted(b"\xff\xfe\x00"),
    )
    yield Case(
        "image_block",
        "The answer is an image.",
        "Keep the image, or ignore it; never fail.",
        MODEL,
        _image,
        ("ContentBlockDelta.image",),
    )


def metadata_cases() -> Iterator[Case]:
    """The cases of metadata."""
    cached = {**USAGE, "totalTokens": 115, "cacheReadInputTokens": 60, "cacheWriteInputTokens": 40}
    details = {**cached, "cacheDetails": [{"ttl": "5m", "inputTokens": 40}]}
    router: dict[str, Any] = {
        "promptRouter": {
            "invokedModelId": "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0"
        }
    }
    fast, priority = {"latency": "optimized"}, {"type": "priority"}
    tier, of_cache = "ConverseStreamMetadataEvent.serviceTier", "TokenUsage.cacheDetails"
    yield Case(
        "metadata_full",
        "Usage with cache reads, writes and their details, performance, service tier, prompt router.",
        "Count 110 input tokens, 60 of them read from the cache and 40 written to it.",
        "each member recorded, or from AWS's model",
        lambda: _text(usage=details, performance_config=fast, service_tier=priority, trace=router),
        (tier, of_cache),
    )
    yield Case(
        "metadata_missing",
        "The stream ends with messageStop; there is no metadata.",
        "Accept the answer, and say that its usage is unknown instead of 0.",
        "measured on clients; AWS is not known to leave it out",
        lambda: reply.text(ANSWER).broken(faults.no_metadata),
    )
    yield Case(
        "metadata_cache",
        "The usage has tokens that were read from the cache and written to it.",
        "Count them as input that is paid differently: 10 + 60 + 40.",
        RECORDED,
        lambda: _text(usage=cached),
    )
    yield Case(
        "metadata_cache_details",
        "The usage says for how long what was written stays in the cache.",
        _KEEP_METADATA,
        RECORDED_WHOLE,
        lambda: _text(usage=details),
        (of_cache,),
    )
    yield Case(
        "metadata_performance_config",
        "The metadata says which latency the request was served with.",
        _KEEP_METADATA,
        RECORDED_WHOLE,
        lambda: _text(performance_config=fast),
    )
    yield Case(
        "metadata_service_tier",
        "The metadata says which service tier the request was served in.",
        _KEEP_METADATA,
        RECORDED_WHOLE,
        lambda: _text(service_tier=priority),
        (tier,),
    )
    yield Case(
        "metadata_prompt_router",
        "The trace says which model a prompt router chose.",
        _KEEP_METADATA,
        MODEL,
        lambda: _text(trace=router),
    )
    yield Case(
        "additional_fields",
        "The answer has additionalModelResponseFields, as a request asked for.",
        "Keep them, or ignore them.",
        RECORDED_WHOLE,
        lambda: _text(stop_reason="stop_sequence", additional={"stop_sequence": "\n\nHuman:"}),
    )


_GROWS: Final = "what AWS's API allows itself: it grows without notice"
_IGNORE: Final = "Ignore what is not known, and read the rest."


def _future_text(*before: Mapping[str, Any], **metadata: Any) -> Made:
    """A text answer with other events before it."""
    events: Sequence[Mapping[str, Any]] = [
        {"messageStart": {"role": "assistant"}},
        *before,
        {"contentBlockDelta": {"contentBlockIndex": len(before) // 2, "delta": {"text": ANSWER}}},
        {"contentBlockStop": {"contentBlockIndex": len(before) // 2}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 300}, **metadata}},
    ]
    return reply.events(events, strict=False)


_STOP: Final = {"contentBlockStop": {"contentBlockIndex": 0}}
_BLOCKS: Final[Mapping[str, tuple[Mapping[str, Any], str]]] = {
    "unknown_delta": (
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"hologram": {"frames": 24}}}},
        "A block has a delta of a kind that is not in AWS's model; a text follows.",
    ),
    "unknown_start": (
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"hologram": {"name": "globe"}}}},
        "A block starts as a kind that is not in AWS's model; a text follows.",
    ),
    "unknown_reasoning": (
        {
            "contentBlockDelta": {
                "contentBlockIndex": 0,
                "delta": {"reasoningContent": {"sketch": "They ask for the weather."}},
            }
        },
        "Reasoning is of a kind that is not in AWS's model; a text follows.",
    ),
}


def future_cases() -> Iterator[Case]:
    """The cases of unknown members and unions; `faults.unknown_event` covers an event of an unknown type."""
    for name, (event, sentence) in _BLOCKS.items():
        yield Case(name, sentence, _IGNORE, _GROWS, partial(_future_text, event, _STOP))
    yield Case(
        "unknown_member",
        "The metadata has a member that is not in AWS's model.",
        _IGNORE,
        _GROWS,
        lambda: _future_text(carbon={"grams": 0.3}),
    )


_FORECAST: Final = "Zürich: 18 °C, sunny. Bern: 16 °C, rain."
_TEXT: Final[Mapping[str, Any]] = {"name": "forecast", "format": "txt", "source": {"text": _FORECAST}}


@dataclass(frozen=True, slots=True)
class Cited:
    """A source of the request, a passage of it to cite, and a description in words."""

    source: Mapping[str, Any] | str
    words: str
    known: str
    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    quote: str | None = None

    def citation(self) -> dict[str, Any]:
        """The AWS Citation of the passage."""
        return citing(self.source, self.quote, **self.where)


_CITED: Final[Mapping[str, Cited]] = {
    "documentChar": Cited(_TEXT, "characters of a document", RECORDED, quote="18 °C, sunny"),
    "documentPage": Cited(
        {"name": "forecast", "format": "pdf", "source": {"bytes": b"%PDF-1.7"}},
        "pages of a document",
        RECORDED,
        {"pages": 2},
        "18 °C, sunny",
    ),
    "documentChunk": Cited(
        {"name": "forecast", "source": {"content": [{"text": _FORECAST}]}},
        "chunks of a document",
        RECORDED,
        quote="18 °C, sunny",
    ),
    "searchResultLocation": Cited(
        {"source": "https://example.com/forecast", "title": "Forecast", "content": [{"text": _FORECAST}]},
        "blocks of a search result",
        MODEL,
        quote="18 °C, sunny",
    ),
    "web": Cited("https://example.com/forecast", "a page of the web", RECORDED),
}
"""What is cited in the case of each location."""

_KEEP: Final = "Keep each citation with the text that follows it in its block, or leave all out; the text stays."


def _cite(kind: str) -> Made:
    return reply.cited("It is ", "18 °C and sunny", _CITED[kind].citation(), " in Zürich.")


def citation_cases() -> Iterator[Case]:
    """One case per citation location of the installed botocore, and one with several citations."""
    yield Case(
        "citation_document",
        "A text leans on a passage of a document; the citation comes before its text, as AWS sends it.",
        _KEEP,
        RECORDED,
        lambda: reply.cited("18 °C and sunny in Zürich.", _CITED["documentChar"].citation()),
    )
    yield Case(
        "citation_several",
        "A text leans on two passages, and a later one on a third.",
        _KEEP,
        MODEL,
        lambda: reply.cited(
            "It is 18 °C in Zürich and 16 °C in Bern",
            citing(_TEXT, "18 °C"),
            citing(_TEXT, "16 °C"),
            ", ",
            "with rain",
            citing(_TEXT, "rain"),
            " in Bern.",
        ),
    )
    yield Case(
        "citation_without_text",
        "A block has citations and no text, as Nova's web grounding sends it.",
        "Keep the citations with the text before them, or leave them out.",
        "recorded answers of Nova, with pages of the web",
        lambda: reply.message(
            {"text": ANSWER}, {"citationsContent": {"citations": [_CITED["documentChar"].citation()]}}
        ),
    )
    for kind in locations():
        if kind in _CITED:
            yield Case(
                f"citation_{snake(kind)}",
                f"A text leans on {_CITED[kind].words} ({kind}).",
                _KEEP,
                _CITED[kind].known,
                partial(_cite, kind),
            )
