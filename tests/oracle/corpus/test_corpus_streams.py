"""What AWS really sent, through our own codec and back: byte for byte."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from converse_harness import StreamOrderError, assemble, chunk
from converse_harness.stream.events import decode_event, encode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import check_order


@pytest.fixture(scope="module")
def streams(shared: Path) -> list[tuple[str, bytes]]:
    """Every event-stream body of the corpus whose bytes are AWS's own, with its name."""
    return list(_streams(shared / "corpus"))


def _streams(corpus: Path) -> Iterator[tuple[str, bytes]]:
    for row in json.loads((corpus / "index.json").read_text()):
        if row["event_stream"] and row["fidelity"] == "raw":
            recorded = json.loads((corpus / row["file"]).read_text())
            yield row["file"], base64.b64decode(recorded["response"]["body_base64"])


def decode(body: bytes) -> list[tuple[dict[str, Any], int | None]]:
    decoder = Decoder()
    frames = decoder.feed(body)
    decoder.close()
    return [decode_event(frame) for frame in frames]


def test_every_recorded_stream_is_encoded_again_byte_for_byte(streams: list[tuple[str, bytes]]) -> None:
    assert len(streams) == 67
    for name, body in streams:
        assert b"".join(encode_event(event, padding) for event, padding in decode(body)) == body, name


def test_every_padding_has_a_length(streams: list[tuple[str, bytes]]) -> None:
    lengths = [padding for _, body in streams for event, padding in decode(body) if "validationException" not in event]
    assert all(length is not None and 2 <= length <= 61 for length in lengths)


def test_every_recorded_stream_is_in_an_order_that_the_grammar_allows(streams: list[tuple[str, bytes]]) -> None:
    for name, body in streams:
        try:
            check_order(event for event, _ in decode(body))
        except StreamOrderError as error:
            pytest.fail(f"{name}: {error}")


def test_every_recorded_message_can_be_cut_and_put_together_again(streams: list[tuple[str, bytes]]) -> None:
    for name, body in streams:
        events = [event for event, _ in decode(body)]
        message = assemble(events).message
        assert assemble(chunk(message)).message == message, name
