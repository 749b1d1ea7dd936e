"""What AWS sent, pasted into `reply.response`, is what a client gets: answers, streams and errors of the corpus."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from converse_harness import Endpoint, ReplyError, StreamOrderError, assemble, bedrock, reply
from converse_harness.stream.http import Request
from tests.oracle.corpus.test_corpus_streams import decode

ASKED = json.dumps({"messages": [{"role": "user", "content": [{"text": "?"}]}]}).encode()


class Pasted(NamedTuple):
    """A recorded answer as boto3 returns it: the response of Converse, the events of a stream, or an error."""

    name: str
    kind: str
    value: Any


@pytest.fixture(scope="module")
def pasted(shared: Path) -> list[Pasted]:
    """Every answer of the corpus."""
    return list(_pasted(shared / "corpus"))


def _pasted(corpus: Path) -> Iterator[Pasted]:
    for row in json.loads((corpus / "index.json").read_text()):
        response = json.loads((corpus / row["file"]).read_text())["response"]
        body = base64.b64decode(response["body_base64"])
        if response["is_event_stream"]:
            yield Pasted(row["file"], "stream", [event for event, _ in decode(body)])
        elif row["status"] == 200 and row["operation"] == "Converse":
            value = bedrock.from_json("ConverseResponse", json.loads(body))
            yield Pasted(row["file"], "whole", {"ResponseMetadata": {"HTTPStatusCode": 200}, **value})


def answered(written: Any, operation: str) -> bytes:
    exchange = Endpoint(written).exchange(Request("POST", f"/model/m/{operation}", (), ASKED))
    return b"".join(chunk.data for chunk in exchange.response.chunks)


def test_every_recorded_answer_can_be_pasted(pasted: list[Pasted]) -> None:
    wholes = [each for each in pasted if each.kind == "whole"]
    assert len(wholes) > 100
    refused = []
    for name, _, value in wholes:
        try:
            written = reply.response(value)
        except ReplyError as error:
            refused.append(f"{name}: {error}")
            continue
        got = json.loads(answered(written, "converse"))
        kept = json.loads(
            bedrock.to_json("ConverseResponse", {k: v for k, v in value.items() if k != "ResponseMetadata"})
        )
        assert {member: got[member] for member in kept if member != "usage"} == {
            member: kept[member] for member in kept if member != "usage"
        }, name
        assert got["usage"] | kept["usage"] == got["usage"], name
    assert refused == []


def test_every_recorded_stream_can_be_pasted(pasted: list[Pasted]) -> None:
    streams = [each for each in pasted if each.kind == "stream"]
    assert len(streams) > 60
    for name, _, events in streams:
        try:
            written = reply.response({"stream": events})
        except StreamOrderError as error:
            pytest.fail(f"{name}: {error}")
        assert [event for event, _ in decode(answered(written, "converse-stream"))] == events, name
        try:
            message = assemble(events).message
        except StreamOrderError:
            continue
        again = reply.response(assemble(events))
        assert assemble(again.events()).message == message, name
