"""AWS's protocol tests of event streams: every frame with its bytes, and what a reader must refuse."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness.errors import DamagedData
from converse_harness.stream.events import decode_event, read_event
from converse_harness.stream.frames import Decoder, Frame, Header, HeaderType, decode, encode
from converse_harness.stream.grammar import ERROR_FRAME
from tests import typed_headers
from tests.oracle.smithy import vectors_of

Vectors = Mapping[str, Mapping[str, Any]]

DIRECTIONS: Final = ("{}Input", "{}Output", "Duplex{}Input", "Duplex{}Output")
"""Where AWS repeats each of its tests: in a request, in an answer, and in those of an operation that has both."""

HEADERS_ONLY: Final = (
    *("BooleanHeader", "ByteHeader", "ShortHeader", "IntegerHeader", "LongHeader"),
    *("BlobHeader", "StringHeader", "TimestampHeader", "MultipleHeader"),
)
NO_JSON: Final = ("StringPayload", "BlobPayload")
JSON: Final = ("StructurePayload", "UnionPayload", "HeadersAndExplicitPayload", "HeadersAndImplicitPayload")
EXCEPTIONS: Final = ("ServerError", "ClientError")

REFUSED: Final[Mapping[str, str]] = {
    "MissingMessageType": "A frame without :message-type as a text: ",
    "MalformedMessageType": "A frame without :message-type as a text: ",
    "MissingEventType": "A frame of the message type event without :event-type as a text: ",
    "MalformedEventType": "A frame of the message type event without :event-type as a text: ",
}
"""What no reader may take for an event, and our words for it."""

UNMODELLED: Final = (
    *("ServerUnexpectedErrorInput", "ClientUnexpectedErrorOutput"),
    *("DuplexServerUnexpectedErrorInput", "DuplexClientUnexpectedErrorOutput"),
)

BESIDE_THE_FRAME: Final = (
    *("MissingRequiredInitialRequestInput", "DuplexMissingRequiredInitialRequestInput"),
    *("MissingRequiredInitialResponseOutput", "DuplexMissingRequiredInitialResponseOutput"),
)
"""What is wrong is not in the frame, but that a member is missing in the head of the request or answer before it."""

WITHOUT_FRAME: Final[Mapping[str, str]] = {
    "InitialRequestInput": "a member in the header of a request: Converse has none",
    "DuplexInitialRequestInput": "the same",
    "InitialResponseOutput": "a member in the header of an answer: ConverseStream has none",
    "DuplexInitialResponseOutput": "the same",
    "ModeledProtocolError": "an error before the stream, by HTTP: this project writes such, and reads none",
    "DuplexModeledProtocolError": "the same",
    "UnmodeledProtocolError": "the same, of an error that is no JSON",
    "DuplexUnmodeledProtocolError": "the same",
}


FAILURE: Final[Mapping[str, object]] = {"failure": {}}
"""What AWS expects of a test that is to fail with no error of the model."""


def in_all_directions(*names: str) -> list[str]:
    return [direction.format(name) for name in names for direction in DIRECTIONS]


EXPECTED: Final = [
    *in_all_directions(*HEADERS_ONLY, *NO_JSON, *JSON, *EXCEPTIONS, *REFUSED),
    *UNMODELLED,
    *BESIDE_THE_FRAME,
]


@pytest.fixture(scope="module")
def vectors(shared: Path) -> Vectors:
    return vectors_of(shared / "protocol-tests" / "event-stream.smithy", "eventStreamTests")


def in_milliseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)


HEADERS: Final[Mapping[str, Callable[[Any], tuple[HeaderType, Any]]]] = {
    "boolean": lambda value: (HeaderType.BOOL_TRUE if value else HeaderType.BOOL_FALSE, value),
    "byte": lambda value: (HeaderType.BYTE, value),
    "short": lambda value: (HeaderType.SHORT, value),
    "integer": lambda value: (HeaderType.INTEGER, value),
    "long": lambda value: (HeaderType.LONG, value),
    "blob": lambda value: (HeaderType.BYTE_ARRAY, base64.b64decode(value)),
    "string": lambda value: (HeaderType.STRING, value),
    "timestamp": lambda value: (HeaderType.TIMESTAMP, in_milliseconds(value)),
}
"""The type of a header in a test -> ours, and its value."""


def header(name: str, typed: Mapping[str, Any]) -> Header:
    ((kind, value),) = typed.items()
    return typed_headers.header(name, *HEADERS[kind](value))


def told(vectors: Vectors, name: str) -> tuple[Frame, bytes]:
    """The frame that a test tells of, its headers in their order, and its bytes."""
    (event,) = vectors[name]["events"]
    headers = tuple(header(*each) for each in event["headers"].items())
    return Frame(headers, event.get("body", "").encode()), base64.b64decode(event["bytes"])


def test_the_tables_name_every_vector(vectors: Vectors) -> None:
    assert sorted([*EXPECTED, *WITHOUT_FRAME]) == sorted(vectors)
    assert sorted(name for name, test in vectors.items() if "events" not in test) == sorted(WITHOUT_FRAME)
    assert (len(EXPECTED), len(in_all_directions(*REFUSED))) == (92, 16)


def test_the_tables_say_of_each_frame_whether_it_is_to_fail(vectors: Vectors) -> None:
    failing = {name for name, test in vectors.items() if "events" in test and test.get("expectation") == FAILURE}
    assert failing == {*in_all_directions(*REFUSED), *UNMODELLED, *BESIDE_THE_FRAME}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_frame_means_what_aws_says_and_has_its_bytes(vectors: Vectors, name: str) -> None:
    frame, data = told(vectors, name)
    assert decode(data) == frame
    assert Decoder().feed(data) == [frame]
    assert encode(frame) == data


@pytest.mark.parametrize("name", in_all_directions(*JSON, *EXCEPTIONS))
def test_an_event_or_exception_is_read(vectors: Vectors, name: str) -> None:
    frame, data = told(vectors, name)
    ((kind, _),) = vectors[name]["events"][0]["params"].items()
    assert read_event(decode(data)) == (kind, json.loads(frame.payload), None)


@pytest.mark.parametrize("name", UNMODELLED)
def test_an_unmodelled_error_is_read(vectors: Vectors, name: str) -> None:
    error = {"code": "internal-error", "message": "An unknown error occurred."}
    assert read_event(decode(told(vectors, name)[1])) == (ERROR_FRAME, error, None)


@pytest.mark.parametrize("name", in_all_directions(*REFUSED))
def test_a_frame_of_no_kind_is_refused(vectors: Vectors, name: str) -> None:
    _, data = told(vectors, name)
    words = next(words for part, words in REFUSED.items() if part in name)
    for read in (read_event, decode_event):
        with pytest.raises(DamagedData) as caught:
            read(decode(data))
        assert str(caught.value).startswith(words)


@pytest.mark.parametrize("name", [*in_all_directions(*HEADERS_ONLY, *NO_JSON), *BESIDE_THE_FRAME])
def test_an_event_that_bedrock_cannot_send_is_refused(vectors: Vectors, name: str) -> None:
    """Bedrock's events are JSON objects; these have their members in headers, or a payload of another type."""
    with pytest.raises(DamagedData, match=r"The payload of a \w+ frame is not JSON"):
        read_event(decode(told(vectors, name)[1]))
