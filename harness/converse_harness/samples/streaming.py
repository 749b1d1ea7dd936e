"""Streams of the sample conversation: every event, citations of passages, exceptions."""

from __future__ import annotations

from typing import Any, Final

from converse_harness.samples import content, guardrails
from converse_harness.samples.content import DOCUMENT_NAME, RULES

_PASSAGE: Final = "One bag of up to 8 kg may be taken into the cabin."
_ANSWER: Final = "You may take one bag of up to 8 kg with you."
_WEB: Final = "www.example.com"


def document_char() -> dict[str, Any]:
    """The passage's first character in the document, and the one after its last."""
    start = RULES.index(_PASSAGE)
    return {"documentIndex": 0, "start": start, "end": start + len(_PASSAGE)}


def document_page() -> dict[str, Any]:
    """The document's only page."""
    return {"documentIndex": 0, "start": 1, "end": 2}


def document_chunk() -> dict[str, Any]:
    """The second paragraph, where the paragraphs are the chunks."""
    return {"documentIndex": 0, "start": 1, "end": 2}


def search_result_location() -> dict[str, Any]:
    """The first block of the first search result."""
    return {"searchResultIndex": 0, "start": 0, "end": 1}


def web() -> dict[str, Any]:
    """The page on the web."""
    return {"url": f"https://{_WEB}/baggage", "domain": _WEB}


def location() -> dict[str, Any]:
    """Characters of the document."""
    return {"documentChar": document_char()}


def source_content() -> dict[str, Any]:
    """The passage as the document has it."""
    return {"text": _PASSAGE}


def generated_content() -> dict[str, Any]:
    """What the model makes of it."""
    return {"text": _ANSWER}


def citation() -> dict[str, Any]:
    """The passage, where it stands, and in what."""
    return {"location": location(), "sourceContent": [source_content()], "title": DOCUMENT_NAME}


def block() -> dict[str, Any]:
    """An answer with its citation; it can be streamed."""
    return {"citations": [citation()], "content": [generated_content()]}


def search_result() -> dict[str, Any]:
    """A search result that holds the passage."""
    return {
        "source": web()["url"],
        "title": DOCUMENT_NAME,
        "content": [source_content()],
        "citations": {"enabled": True},
    }


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
    return {"text": _PASSAGE}


def citation_delta() -> dict[str, Any]:
    """The citation as it is streamed."""
    return {**citation(), "sourceContent": [citation_source_delta()]}


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


def context_window_overflow() -> Exception:
    """The conversation is too long."""
    from converse_harness.types.exceptions import ContextWindowOverflowException

    return ContextWindowOverflowException("Input is too long for requested model.")


def event_loop() -> Exception:
    """The agent's loop failed since its tool did."""
    from converse_harness.types.exceptions import EventLoopException

    state: dict[str, Any] = {"booking": "BK-482913"}
    return EventLoopException(ConnectionError("the weather service does not answer"), state)


def mcp_client_initialization() -> Exception:
    """The tool's server did not start."""
    from converse_harness.types.exceptions import MCPClientInitializationError

    return MCPClientInitializationError("the client initialization failed")


def model_throttled() -> Exception:
    """Too many requests."""
    from converse_harness.types.exceptions import ModelThrottledException

    return ModelThrottledException("Too many requests, please wait before trying again.")


def session() -> Exception:
    """The session is not there."""
    from converse_harness.types.exceptions import SessionException

    return SessionException("there is no session with this id")
