"""What `citing` and `reply.cited` build equals what AWS sent: every recorded answer with citations, in all fields.

A Citation is built from the document of the recorded request and the passage alone. A stream is cut as recorded, by
`pieces`; only the latency, the padding and the bytes of a PDF, which the corpus leaves out, are not compared.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from converse_harness import Endpoint, assemble, citing, reply
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import check_order
from converse_harness.stream.http import Request
from tests.oracle.conftest import body_with_media

LOCATIONS = {"documentChar", "documentChunk", "documentPage"}
"""The locations that are recorded; of the others the corpus has no bytes."""

Part = str | dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """A recorded answer with citations, and its request."""

    name: str
    operation: str
    request: Request
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The one document of the request, in the place of a PDF one of a page."""
        conversation = json.loads(self.request.body)
        blocks = [block for message in conversation["messages"] for block in message["content"]]
        (document,) = (block["document"] for block in blocks if "document" in block)
        if "bytes" in document["source"]:
            document["source"]["bytes"] = b"%PDF-1.4 << /Type /Page >>"
        return {"document": document}

    @property
    def answer(self) -> dict[str, Any]:
        """The members of ConverseResponse, also where it is a stream."""
        if self.operation == "Converse":
            body = json.loads(self.body)
            return {"content": body["output"]["message"]["content"], **body}
        whole = assemble(self.events)
        return {"content": whole.message["content"], "stopReason": whole.stop_reason, "usage": whole.usage}

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of a stream."""
        return events_of(self.body)

    @property
    def pieces(self) -> dict[int, list[str]] | None:
        """The deltas of the texts of a stream."""
        if self.operation == "Converse":
            return None
        found: dict[int, list[str]] = {}
        for event in self.events:
            delta = event.get("contentBlockDelta")
            if delta and "text" in delta["delta"]:
                found.setdefault(delta["contentBlockIndex"], []).append(delta["delta"]["text"])
        return found


def events_of(stream: bytes) -> list[dict[str, Any]]:
    return [decode_event(frame)[0] for frame in Decoder().feed(stream)]


def without_latency(value: Any) -> Any:
    if isinstance(value, list):
        return [without_latency(item) for item in value]
    if isinstance(value, dict):
        return {key: without_latency(item) for key, item in value.items() if key != "metrics"}
    return value


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[Recorded]:
    """Every answer of the corpus that has a citation."""
    return list(_recorded(shared / "corpus"))


def _recorded(corpus: Path) -> Iterator[Recorded]:
    for entry in json.loads((corpus / "index.json").read_text()):
        recording = json.loads((corpus / entry["file"]).read_text())
        body = base64.b64decode(recording["response"]["body_base64"])
        if b'"citation' in body:
            asked = recording["request"]
            request = Request(asked["method"], asked["path"], (), body_with_media(asked["body"]))
            yield Recorded(entry["file"], recording["operation"], request, body)


def rebuilt(document: dict[str, Any], citation: dict[str, Any]) -> dict[str, Any]:
    """The citation of the passage that a recorded one cites."""
    (passage,) = citation["sourceContent"]
    return citing(document, passage["text"])


def parts_of(answer: Recorded) -> Iterator[Part]:
    for block in answer.answer["content"]:
        if "text" in block:
            yield block["text"]
            continue
        (generated,) = block["citationsContent"]["content"]
        yield generated["text"]
        yield from (rebuilt(answer.document, citation) for citation in block["citationsContent"]["citations"])


def test_the_recorded_locations_are_all_there(recorded: list[Recorded]) -> None:
    blocks = [block["citationsContent"] for each in recorded for block in each.answer["content"] if "text" not in block]
    assert (len(recorded), len(blocks)) == (9, 13)
    assert {kind for block in blocks for citation in block["citations"] for kind in citation["location"]} == LOCATIONS
    assert sum(each.operation == "ConverseStream" for each in recorded) == 4


def test_a_citation_is_built_from_the_document_of_the_request(recorded: list[Recorded]) -> None:
    for each in recorded:
        for block in each.answer["content"]:
            for citation in block.get("citationsContent", {}).get("citations", ()):
                assert rebuilt(each.document, citation) == citation, each.name


def test_an_answer_is_built_from_its_texts_and_passages(recorded: list[Recorded]) -> None:
    for each in recorded:
        written = reply.cited(
            *parts_of(each), stop_reason=each.answer["stopReason"], usage=each.answer["usage"], pieces=each.pieces
        )
        exchange = Endpoint(written).exchange(each.request)
        sent = b"".join(chunk.data for chunk in exchange.response.chunks)
        if each.operation == "Converse":
            assert without_latency(json.loads(sent)) == without_latency(json.loads(each.body)), each.name
        else:
            check_order(events_of(sent))
            assert without_latency(events_of(sent)) == without_latency(each.events), each.name
