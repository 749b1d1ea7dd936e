"""Streams of the sample conversation: every event, citations of passages, exceptions."""

from __future__ import annotations

from typing import Any, Final

from converse_harness.samples import content, guardrails
from converse_harness.samples.content import DOCUMENT_NAME, RULES

_PASSAGE: Final = "One bag of up to 8 kg may be taken into the cabin."
_ANSWER: Final = "You may take one bag of up to 8 kg with you."
_WEB: Final = "www.example.com"


def document_char() -> dict[str, Any]:
    """A DocumentCharLocation of the cited passage, from its first character to one after its last."""
    start = RULES.index(_PASSAGE)
    return {"documentIndex": 0, "start": start, "end": start + len(_PASSAGE)}


def document_page() -> dict[str, Any]:
    """A DocumentPageLocation of the document's only page."""
    return {"documentIndex": 0, "start": 1, "end": 2}


def document_chunk() -> dict[str, Any]:
    """A DocumentChunkLocation of the second paragraph, with paragraphs as chunks."""
    return {"documentIndex": 0, "start": 1, "end": 2}


def search_result_location() -> dict[str, Any]:
    """A SearchResultLocation of the first block of the first search result."""
    return {"searchResultIndex": 0, "start": 0, "end": 1}


def web() -> dict[str, Any]:
    """A WebLocation of the cited web page."""
    return {"url": f"https://{_WEB}/baggage", "domain": _WEB}


def location() -> dict[str, Any]:
    """A CitationLocation of characters of the document."""
    return {"documentChar": document_char()}


def source_content() -> dict[str, Any]:
    """A CitationSourceContent with the cited passage."""
    return {"text": _PASSAGE}


def generated_content() -> dict[str, Any]:
    """A CitationGeneratedContent: the model's own words for the passage."""
    return {"text": _ANSWER}


def citation() -> dict[str, Any]:
    """A Citation with passage, location and title."""
    return {"location": location(), "sourceContent": [source_content()], "title": DOCUMENT_NAME}


def block() -> dict[str, Any]:
    """A ContentBlock with an answer and its citation; it can be streamed."""
    return {"citations": [citation()], "content": [generated_content()]}


def search_result() -> dict[str, Any]:
    """A search result that contains the passage."""
    return {
        "source": web()["url"],
        "title": DOCUMENT_NAME,
        "content": [source_content()],
        "citations": {"enabled": True},
    }


def usage() -> dict[str, Any]:
    """The Usage of the answer; part of the question was read from a cache."""
    return {
        "inputTokens": 97,
        "outputTokens": 58,
        "totalTokens": 1179,
        "cacheReadInputTokens": 1024,
        "cacheWriteInputTokens": 0,
    }


def usage_by_age() -> dict[str, Any]:
    """A TokenUsage with cache writes itemised by ttl."""
    written = {"inputTokens": 1024, "ttl": "1h"}
    return {
        "inputTokens": 97,
        "outputTokens": 58,
        "totalTokens": 1179,
        "cacheReadInputTokens": 0,
        "cacheWriteInputTokens": 1024,
        "cacheDetails": [written],
    }


def metrics() -> dict[str, Any]:
    """The Metrics of the answer."""
    return {"latencyMs": 1184}


def measured_metrics() -> dict[str, Any]:
    """Metrics with the time to the first content block."""
    return {**metrics(), "timeToFirstByteMs": 327}


def stop_reason() -> str:
    """The answer's stop reason."""
    return "tool_use"


def message_start() -> dict[str, Any]:
    """A MessageStartEvent."""
    return {"role": "assistant"}


def block_start() -> dict[str, Any]:
    """A ContentBlockStartEvent of a tool use."""
    return {"contentBlockIndex": 1, "start": content.start()}


def tool_use_delta() -> dict[str, Any]:
    """A ContentBlockDeltaToolUse with a piece of the input's JSON."""
    return {"input": '{"city":"Zür'}


def citation_source_delta() -> dict[str, Any]:
    """A CitationSourceContentDelta with the cited passage."""
    return {"text": _PASSAGE}


def citation_delta() -> dict[str, Any]:
    """A CitationsDelta, the streamed form of the citation."""
    return {**citation(), "sourceContent": [citation_source_delta()]}


def reasoning_delta() -> dict[str, Any]:
    """A ReasoningContentBlockDelta with a piece of reasoning."""
    return {"text": "They did not say"}


def delta_event() -> dict[str, Any]:
    """A ContentBlockDeltaEvent with a piece of the text."""
    return {"contentBlockIndex": 0, "delta": content.delta()}


def block_stop() -> dict[str, Any]:
    """A ContentBlockStopEvent of the text."""
    return {"contentBlockIndex": 0}


def message_stop() -> dict[str, Any]:
    """A MessageStopEvent."""
    return {"stopReason": stop_reason()}


def metadata() -> dict[str, Any]:
    """A MetadataEvent: usage, metrics, and the guardrail's trace."""
    return {"usage": usage(), "metrics": metrics(), "trace": guardrails.trace()}


def exception() -> dict[str, Any]:
    """An ExceptionEvent for too many requests."""
    return {"message": "Too many tokens, please wait before trying again."}


def model_stream_error() -> dict[str, Any]:
    """A ModelStreamErrorEvent with the model's own error."""
    return {
        "message": "The model stopped unexpectedly.",
        "originalMessage": "upstream connect error",
        "originalStatusCode": 503,
    }


def redact_content() -> dict[str, Any]:
    """A RedactContentEvent: a guardrail replaced the messages of user and model."""
    return {
        "redactUserContentMessage": "[User input redacted.]",
        "redactAssistantContentMessage": "[Assistant output redacted.]",
    }


def event() -> dict[str, Any]:
    """A StreamEvent with a piece of the text."""
    return {"contentBlockDelta": delta_event()}


def events() -> list[dict[str, Any]]:
    """All events of the answer, messageStart to metadata."""
    from converse_harness.stream.chunk import chunk

    return chunk(content.message(), usage=usage(), metrics=metrics())


def context_window_overflow() -> Exception:
    """A ContextWindowOverflowException."""
    from converse_harness.types.exceptions import ContextWindowOverflowException

    return ContextWindowOverflowException("Input is too long for requested model.")


def event_loop() -> Exception:
    """An EventLoopException whose cause is a failed tool."""
    from converse_harness.types.exceptions import EventLoopException

    state: dict[str, Any] = {"booking": "BK-482913"}
    return EventLoopException(ConnectionError("the weather service does not answer"), state)


def mcp_client_initialization() -> Exception:
    """An MCPClientInitializationError: the tool's server did not start."""
    from converse_harness.types.exceptions import MCPClientInitializationError

    return MCPClientInitializationError("the client initialization failed")


def model_throttled() -> Exception:
    """A ModelThrottledException for too many requests."""
    from converse_harness.types.exceptions import ModelThrottledException

    return ModelThrottledException("Too many requests, please wait before trying again.")


def session() -> Exception:
    """A SessionException for a missing session."""
    from converse_harness.types.exceptions import SessionException

    return SessionException("there is no session with this id")
