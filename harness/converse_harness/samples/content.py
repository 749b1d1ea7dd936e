"""The content of the sample conversation: tool, tool use and result, messages, media, events, citations."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from converse_harness.samples import guardrails

NAME: Final = "get_weather"
ID: Final = "tooluse_8Kf2mXq0RtWvY3hNcLbP5A"
TRAVELLER: Final = "Judith Foster"
LOOK_FIRST: Final = "Let me look at the forecast for Zürich."
_QUESTION: Final = "What should I pack for two days in Zürich?"

SCHEMA: Final = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Name of the city"},
        "days": {"type": "integer", "description": "Days from today", "minimum": 1, "maximum": 7},
    },
    "required": ["city"],
}
SPEC: Final = {
    "name": NAME,
    "description": "Get the weather forecast for a city.",
    "inputSchema": {"json": SCHEMA},
}
TOOL_CONFIG: Final[Mapping[str, Any]] = {"tools": [{"toolSpec": SPEC}], "toolChoice": {"auto": {}}}
REFERENCE: Final = {"tool": {"type": "tool_reference", "name": NAME}}
"""The content of a `toolAddition` or `toolRemoval` block. It names the tool that is added or removed."""

START_TOOL_USE: Final = {"toolUseId": ID, "name": NAME}
TOOL_USE: Final = {**START_TOOL_USE, "input": {"city": "Zürich", "days": 2}}
RESULT_CONTENT: Final = {
    "json": {
        "city": "Zürich",
        "forecast": [{"day": "Saturday", "high": 12, "sky": "rain"}, {"day": "Sunday", "high": 17, "sky": "sunny"}],
    }
}
RESULT: Final = {"toolUseId": ID, "content": [RESULT_CONTENT], "status": "success"}

QUESTION: Final = {"role": "user", "content": [{"text": _QUESTION}]}
MESSAGE: Final = {"role": "assistant", "content": [{"text": LOOK_FIRST}, {"toolUse": TOOL_USE}]}
"""The answer to QUESTION. All blocks of this answer can be streamed."""

MESSAGES: Final = [
    QUESTION,
    MESSAGE,
    {"role": "user", "content": [{"toolResult": RESULT}]},
    {
        "role": "assistant",
        "content": [{"text": "Pack a rain jacket: it rains on Saturday, at 12 °C. Sunday will be sunny, at 17 °C."}],
    },
]
SYSTEM: Final = {"text": "You help travellers. Look at the forecast before you tell them what to pack."}
GUARD_TEXT: Final = {"text": _QUESTION, "qualifiers": ["query"]}
CACHE_POINT: Final = {"type": "default"}
REASONING_TEXT: Final = {
    "text": "They did not say which days. I take the weekend.",
    "signature": "RXhhbXBsZVNpZ25hdHVyZQ==",
}

DOCUMENT_NAME: Final = "Baggage rules"
RULES: Final = """\
Baggage rules

One bag of up to 8 kg may be taken into the cabin. Skis are carried in the hold and count as one bag.

Umbrellas are allowed in the cabin.
"""
"""The text of the sample document, from which the sample citations quote."""

DOCUMENT: Final = {
    "format": "txt",
    "name": DOCUMENT_NAME,
    "source": {"bytes": RULES.encode()},
    "citations": {"enabled": True},
}


def png(rows: Sequence[bytes]) -> bytes:
    r"""Encode rows of pixels as a PNG; each pixel has 3 bytes: red, green and blue.

    >>> png([b"\0\0\0"])[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks: Mapping[bytes, bytes] = {b"IHDR": header, b"IDAT": pixels, b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(f">I4s{len(data)}sI", len(data), kind, data, zlib.crc32(kind + data))
        for kind, data in chunks.items()
    )


WAV: Final = struct.pack("<4sI8sIHHIIHH4sI160x", b"RIFF", 196, b"WAVEfmt ", 16, 1, 1, 8000, 16000, 2, 16, b"data", 160)
"""10 ms of silence: 8 kHz, 16 bit, one channel."""

_MP4: Final = b"\0\0\0\x1cftypisom\0\0\x02\0isomiso2mp41\0\0\0\x08free\0\0\0\x08mdat"
"""The first boxes (parts) of an MP4 file. The video contains no pictures."""

IMAGE: Final = {
    "format": "png",
    # 8 x 8 pixels: the upper half is grey, the lower half blue
    "source": {"bytes": png([color * 8 for color in [b"\x9a\xa0\xa6"] * 4 + [b"\x4a\x90\xd9"] * 4])},
}
VIDEO: Final = {"format": "mp4", "source": {"bytes": _MP4}}
AUDIO: Final = {"format": "wav", "source": {"bytes": WAV}}

# The samples below are events of a stream, metadata, and citations of passages.

_PASSAGE: Final = "One bag of up to 8 kg may be taken into the cabin."
_START: Final = RULES.index(_PASSAGE)

WEB: Final = {"url": "https://www.example.com/baggage", "domain": "www.example.com"}
DOCUMENT_CHAR: Final = {"documentIndex": 0, "start": _START, "end": _START + len(_PASSAGE)}
DOCUMENT_PAGE: Final = {"documentIndex": 0, "start": 1, "end": 2}
DOCUMENT_CHUNK: Final = {"documentIndex": 0, "start": 1, "end": 2}  # the second paragraph of RULES
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
TEXT_DELTA: Final = {"text": LOOK_FIRST[:15]}
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
