"""The events of a streamed answer: the model looks at the forecast."""

from __future__ import annotations

from typing import Any

from converse_harness.samples import citations, content, guardrails


def usage() -> dict[str, Any]:
    """Tokens of the answer; a part of the question came from a cache."""
    return {
        "inputTokens": 97,
        "outputTokens": 58,
        "totalTokens": 1179,
        "cacheReadInputTokens": 1024,
        "cacheWriteInputTokens": 0,
    }


def usage_by_age() -> dict[str, Any]:
    """Tokens of an answer whose question was written into a cache, by how long that keeps it."""
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
    """How long the answer took."""
    return {"latencyMs": 1184}


def measured_metrics() -> dict[str, Any]:
    """The same, and how long it was to the first content block."""
    return {**metrics(), "timeToFirstByteMs": 327}


def stop_reason() -> str:
    """Why the model stopped."""
    return "tool_use"


def message_start() -> dict[str, Any]:
    """The answer begins."""
    return {"role": "assistant"}


def block_start() -> dict[str, Any]:
    """The tool use begins."""
    return {"contentBlockIndex": 1, "start": content.start()}


def tool_use_delta() -> dict[str, Any]:
    """A piece of the JSON of the tool's input."""
    return {"input": '{"city":"Zür'}


def citation_source_delta() -> dict[str, Any]:
    """The cited passage."""
    return {"text": citations.PASSAGE}


def citation_delta() -> dict[str, Any]:
    """The citation as it is streamed."""
    return {**citations.citation(), "sourceContent": [citation_source_delta()]}


def reasoning_delta() -> dict[str, Any]:
    """A piece of reasoning."""
    return {"text": "They did not say"}


def delta_event() -> dict[str, Any]:
    """The text goes on."""
    return {"contentBlockIndex": 0, "delta": content.delta()}


def block_stop() -> dict[str, Any]:
    """The text is complete."""
    return {"contentBlockIndex": 0}


def message_stop() -> dict[str, Any]:
    """The content is complete."""
    return {"stopReason": stop_reason()}


def metadata() -> dict[str, Any]:
    """What the answer cost, how long it took, and what the guardrail found."""
    return {"usage": usage(), "metrics": metrics(), "trace": guardrails.trace()}


def exception() -> dict[str, Any]:
    """The stream fails: too many requests."""
    return {"message": "Too many tokens, please wait before trying again."}


def model_stream_error() -> dict[str, Any]:
    """The stream fails because the model did."""
    return {
        "message": "The model stopped unexpectedly.",
        "originalMessage": "upstream connect error",
        "originalStatusCode": 503,
    }


def redact_content() -> dict[str, Any]:
    """A guardrail stepped in: what the traveller and the model wrote gives way."""
    return {
        "redactUserContentMessage": "[User input redacted.]",
        "redactAssistantContentMessage": "[Assistant output redacted.]",
    }


def event() -> dict[str, Any]:
    """The text goes on, under its tag."""
    return {"contentBlockDelta": delta_event()}


def events() -> list[dict[str, Any]]:
    """All events of the answer, messageStart to metadata."""
    from converse_harness.stream.chunk import chunk

    return chunk(content.message(), usage=usage(), metrics=metrics())
