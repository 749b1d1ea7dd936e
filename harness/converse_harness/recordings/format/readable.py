"""Write the bytes in the events of other operations than ConverseStream as people read them.

Such an event may carry bytes in base64, as the chunks of InvokeModelWithResponseStream do: each has a JSON object of
the model. In a recording, `{"$json": {...}}` stands in place of this base64, or `{"$text": "..."}` if the bytes are a
text whose exact spelling is not that of compact JSON. So people, and the search for secrets, read what was sent. Base64
stays where neither can be made into the same bytes again.
"""

from __future__ import annotations

import base64
import json
import re
from contextlib import suppress
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.json_values import is_array, is_deeper, is_object, mapped

JSON: Final = "$json"
TEXT: Final = "$text"

BYTES: Final = "bytes"
"""The member of events that has bytes in base64."""

_DEEPEST: Final = 100
"""JSON in bytes with more levels than this is written as a text."""

_BINARY: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Matches the characters that are in no text."""


def is_other(name: str) -> bool:
    """Whether an event or exception is of another operation than ConverseStream, by its name."""
    return name not in bedrock.stream_events() and name not in bedrock.stream_exceptions()


def compact(value: object) -> bytes:
    """Return the bytes of a JSON value as Bedrock sends it: without spaces, and with the keys in their given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def readable(members: Any) -> Any:
    """Return the members of an event with JSON or a text in place of the base64 of its bytes.

    >>> readable({"bytes": "eyJ0eXBlIjoicGluZyJ9"}), readable({"bytes": "R3LDvGV6aQ=="}), readable({"bytes": "/w=="})
    ({'bytes': {'$json': {'type': 'ping'}}}, {'bytes': {'$text': 'Grüezi'}}, {'bytes': '/w=='})
    """
    return mapped(members, lambda name, each: _readable(each) if _is_base64(name, each) else readable(each))


def as_sent(members: Any) -> Any:
    """Return the members of an event as they are sent, with the base64 of its bytes.

    >>> as_sent({"bytes": {"$json": {"type": "ping"}}})
    {'bytes': 'eyJ0eXBlIjoicGluZyJ9'}
    """
    return mapped(members, _sent)


def _is_base64(name: str, value: object) -> bool:
    return name == BYTES and type(value) is str


def _readable(text: str) -> Any:
    try:
        data = base64.b64decode(text, validate=True)
        words = data.decode()
    except ValueError:
        return text
    if not text or base64.b64encode(data).decode() != text or _BINARY.search(words):
        return text
    with suppress(ValueError, RecursionError):  # raised if the bytes are not JSON, or JSON that has no compact form
        parsed = json.loads(words)
        if (is_object(parsed) or is_array(parsed)) and not is_deeper(parsed, _DEEPEST) and compact(parsed) == data:
            return {JSON: parsed}
    return {TEXT: words}


def _sent(name: str, value: Any) -> Any:
    if name == BYTES and is_object(value) and len(value) == 1:
        ((kind, inner),) = value.items()
        if kind == JSON:
            return base64.b64encode(compact(inner)).decode()
        if kind == TEXT and isinstance(inner, str):
            return base64.b64encode(inner.encode()).decode()
    return as_sent(value)
