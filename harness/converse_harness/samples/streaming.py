"""The sample conversation's events, metadata, and citations of passages."""

from __future__ import annotations

from typing import Final

from converse_harness.samples import content, guardrails
from converse_harness.samples.content import DOCUMENT_NAME, RULES

_PASSAGE: Final = "One bag of up to 8 kg may be taken into the cabin."
_START: Final = RULES.index(_PASSAGE)

WEB: Final = {"url": "https://www.example.com/baggage", "domain": "www.example.com"}
DOCUMENT_CHAR: Final = {"documentIndex": 0, "start": _START, "end": _START + len(_PASSAGE)}
DOCUMENT_PAGE: Final = {"documentIndex": 0, "start": 1, "end": 2}
DOCUMENT_CHUNK: Final = {"documentIndex": 0, "start": 1, "end": 2}  # the second paragraph
SEARCH_RESULT_LOCATION: Final = {"searchResultIndex": 0, "start": 0, "end": 1}

SOURCE: Final = {"text": _PASSAGE}
GENERATED: Final = {"text": "You may take one bag of up to 8 kg with you."}
LOCATION: Final = {"documentChar": DOCUMENT_CHAR}
CITATION: Final = {"location": LOCATION, "sourceContent": [SOURCE], "title": DOCUMENT_NAME}
"""A citation; a citation delta of a stream has the same members."""

CITED: Final = {"citations": [CITATION], "content": [GENERATED]}
SEARCH_RESULT: Final = {
    "source": WEB["url"],
    "title": DOCUMENT_NAME,
    "content": [SOURCE],
    "citations": {"enabled": True},
}

USAGE: Final = {
    "inputTokens": 97,
    "outputTokens": 58,
    "totalTokens": 1179,
    "cacheReadInputTokens": 1024,
    "cacheWriteInputTokens": 0,
}
USAGE_BY_AGE: Final = {
    **USAGE,
    "cacheReadInputTokens": 0,
    "cacheWriteInputTokens": 1024,
    "cacheDetails": [{"inputTokens": 1024, "ttl": "1h"}],
}
METRICS: Final = {"latencyMs": 1184}

MESSAGE_START: Final = {"role": "assistant"}
TEXT_DELTA: Final = {"text": content.LOOK_FIRST[:15]}
TOOL_USE_DELTA: Final = {"input": '{"city":"Zür'}
REASONING_DELTA: Final = {"text": "They did not say"}
DELTA_EVENT: Final = {"contentBlockIndex": 0, "delta": TEXT_DELTA}
BLOCK_STOP: Final = {"contentBlockIndex": 0}
MESSAGE_STOP: Final = {"stopReason": "tool_use"}
METADATA: Final = {"usage": USAGE, "metrics": METRICS, "trace": {"guardrail": guardrails.TRACE}}
THROTTLED: Final = {"message": "Too many tokens, please wait before trying again."}
MODEL_STREAM_ERROR: Final = {
    "message": "The model stopped unexpectedly.",
    "originalMessage": "upstream connect error",
    "originalStatusCode": 503,
}
