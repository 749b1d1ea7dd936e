"""The content of the sample conversation: tool, tool use and result, messages, media, events, citations."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

_ID: Final = "gr1example7x"

PII: Final[Mapping[str, str]] = {
    "ADDRESS": "33959 Lisa Way, North Jerry, PA 93033",
    "AGE": "42 years",
    # AWS's own documentation uses this key and the next one as examples.
    "AWS_ACCESS_KEY": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "CA_HEALTH_NUMBER": "9628-797-293",
    # The Canadian government uses this number in specimens; numbers that begin with 0 are not issued to persons.
    "CA_SOCIAL_INSURANCE_NUMBER": "046 454 286",
    "CREDIT_DEBIT_CARD_CVV": "355",
    "CREDIT_DEBIT_CARD_EXPIRY": "04/32",
    # Payment providers use this number for tests.
    "CREDIT_DEBIT_CARD_NUMBER": "4111 1111 1111 1111",
    "DRIVER_ID": "D1268686",
    "EMAIL": "veronica00@example.com",
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER": "GB30IHOL33463044201689",
    "IP_ADDRESS": "192.0.2.105",  # reserved for documentation, RFC 5737
    "LICENSE_PLATE": "N80-81D",
    "MAC_ADDRESS": "00:00:5E:00:53:43",  # reserved for documentation, RFC 7042
    "NAME": "Mark Hines",
    "PASSWORD": "c8*s$7qt$7TZdB",
    "PHONE": "(206) 555-0120",
    "PIN": "0967",
    "SWIFT_CODE": "RQQOGBEB",
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": "999 726 5262",  # 999 is reserved for tests
    "UK_NATIONAL_INSURANCE_NUMBER": "QQ 12 34 56 C",  # no number is issued with the prefix QQ
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER": "1123456789",
    "URL": "https://www.example.com/categories/wp-content/wp-content",
    "USERNAME": "jonathanwarner",
    "US_BANK_ACCOUNT_NUMBER": "000107594886",
    "US_BANK_ROUTING_NUMBER": "123456780",  # its check digit is correct, but no bank uses it
    "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER": "906-90-9984",
    "US_PASSPORT_NUMBER": "C77581201",
    "US_SOCIAL_SECURITY_NUMBER": "987-65-4325",  # reserved for advertisements
    "VEHICLE_IDENTIFICATION_NUMBER": "1P32GEL97UK936896",
}
"""Maps each kind of personal data (AWS enum GuardrailPiiEntityType) to a made-up value in the correct format.

Numbers are from ranges reserved for documentation, tests or advertising, if such a range exists; check digits are
correct.
"""


CONFIG: Final = {
    "guardrailIdentifier": _ID,
    "guardrailVersion": "1",
    "streamProcessingMode": "sync",
    "trace": "enabled",
}

TOPIC: Final = {"name": "Investment advice", "type": "DENY", "action": "BLOCKED"}

CONTENT_FILTER: Final = {"type": "INSULTS", "confidence": "HIGH", "action": "BLOCKED"}

CUSTOM_WORD: Final = {"match": "crypto", "action": "BLOCKED"}

MANAGED_WORD: Final = {"match": "damn", "type": "PROFANITY", "action": "BLOCKED"}

EMAIL: Final = {"type": "EMAIL", "match": PII["EMAIL"], "action": "ANONYMIZED"}

REGEX: Final = {"name": "Booking", "match": "BK-482913", "regex": "BK-[0-9]{6}", "action": "ANONYMIZED"}

GROUNDING_FILTER: Final = {"type": "GROUNDING", "threshold": 0.75, "score": 0.25, "action": "BLOCKED"}

ASSESSMENT: Final = {
    "topicPolicy": {"topics": [TOPIC]},
    "contentPolicy": {"filters": [CONTENT_FILTER]},
    "wordPolicy": {"customWords": [CUSTOM_WORD], "managedWordLists": [MANAGED_WORD]},
    "sensitiveInformationPolicy": {"piiEntities": [EMAIL], "regexes": [REGEX]},
    "contextualGroundingPolicy": {"filters": [GROUNDING_FILTER]},
}
"""A sample assessment: findings of every policy of a guardrail except automated reasoning."""

TRACE: Final = {
    "modelOutput": ["Buy crypto, damn it."],
    "inputAssessment": {_ID: ASSESSMENT},
    "outputAssessments": {_ID: [ASSESSMENT]},
}
"""A sample trace of a guardrail: findings in the question and in the answer, and the model's original answer."""

DETECTED_TRACE: Final = {
    "inputAssessment": {
        _ID: {
            "topicPolicy": {
                "topics": [{"name": "Investment advice", "type": "DENY", "action": "NONE", "detected": True}]
            },
            "invocationMetrics": {
                "guardrailProcessingLatency": 214,
                "usage": {
                    "topicPolicyUnits": 1,
                    "contentPolicyUnits": 0,
                    "wordPolicyUnits": 0,
                    "sensitiveInformationPolicyUnits": 0,
                    "sensitiveInformationPolicyFreeUnits": 0,
                    "contextualGroundingPolicyUnits": 0,
                },
                "guardrailCoverage": {"textCharacters": {"guarded": 42, "total": 42}},
            },
        }
    },
    "actionReason": "No action.",
}
"""The trace that AWS sends for a guardrail in detect mode: every finding has `detected` True and the action NONE."""


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
METADATA: Final = {"usage": USAGE, "metrics": METRICS, "trace": {"guardrail": TRACE}}
THROTTLED: Final = {"message": "Too many tokens, please wait before trying again."}
MODEL_STREAM_ERROR: Final = {
    "message": "The model stopped unexpectedly.",
    "originalMessage": "upstream connect error",
    "originalStatusCode": 503,
}
