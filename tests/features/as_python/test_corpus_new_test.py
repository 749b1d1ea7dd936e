"""What AWS sent, written as the source of a test by `new-test` and run: the same events, bodies and errors.

Compared with: 378 published recordings of Converse and ConverseStream, 67 of them streams.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from converse_harness import Endpoint
from converse_harness.features.as_python.script import module_source, script_source
from converse_harness.json_values import member_of, parsed_json
from converse_harness.recordings.format.read import read
from converse_harness.stream.assemble import assemble
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import is_exception, kind
from converse_harness.stream.http import Request
from tests.oracle.conftest import SOME_AND_ALL
from tests.oracle.corpus.test_corpus_recordings import Interaction, interactions

__all__ = ["interactions"]

ASKED = b'{"messages":[{"role":"user","content":[{"text":"?"}]}]}'


class Scripted:
    """What the source of a test holds as the fixture `converse`: it keeps the replies."""

    def __init__(self) -> None:
        self.replies: tuple[Any, ...] = ()
        self.calls: list[None] = []

    def script(self, *replies: Any) -> None:
        self.replies += replies
        self.calls = [None] * len(replies)


def source_of(of: Interaction, *, short: bool) -> str:
    exchanges = read(of.file).exchanges
    script = script_source(exchanges, short=short)
    assert script.left_out == ()
    return module_source(exchanges, script, "test_it", of.name)


def answered(source: str, of: Interaction) -> tuple[int, bytes]:
    """The status and the body that a fake sends that the source scripts."""
    names: dict[str, Any] = {}
    exec(compile(source, "test_it.py", "exec"), names)
    scripted = Scripted()
    names["test_it"](scripted)
    # Some recorders kept no request, half of one, or no media.
    whole = parsed_json(of.request) is not None and b'"messages"' in of.request and b"ELIDED" not in of.request
    request = of.request if whole else ASKED
    exchange = Endpoint(*scripted.replies, rules="off").exchange(Request("POST", of.target, (), request))
    return exchange.response.status, b"".join(chunk.data for chunk in exchange.response.chunks)


def events(body: bytes) -> list[dict[str, Any]]:
    """The events of a stream without padding and latency."""
    made = [decode_event(frame)[0] for frame in Decoder().feed(body)]
    for event in made:
        event.get("metadata", {}).get("metrics", {}).pop("latencyMs", None)
    return made


def answer(body: bytes) -> Any:
    """A body without latency."""
    made = json.loads(body)
    made.get("metrics", {}).pop("latencyMs", None)
    return made


def message(body: bytes, *, streams: bool) -> Any:
    """What was said, without ids of tool uses and what AWS writes beside them."""
    if streams:
        said: Iterable[Any] = assemble(decode_event(frame)[0] for frame in Decoder().feed(body)).message["content"]
    else:
        said = member_of(json.loads(body), "output", "message", "content")
    hidden = ("toolUseId", "type")
    return [
        {"toolUse": {name: value for name, value in block["toolUse"].items() if name not in hidden}}
        if "toolUse" in block
        else block
        for block in said
    ]


@SOME_AND_ALL
def test_each_stream_is_sent_again_event_for_event(interactions: list[Interaction], step: int) -> None:
    streams = [each for each in interactions if each.streams]
    assert len(streams) == 67
    wrong: list[str] = []
    for each in streams[::step]:
        status, body = answered(source_of(each, short=False), each)
        if status != 200 or events(body) != events(each.body):
            wrong.append(each.name)
    assert wrong == []


@SOME_AND_ALL
def test_each_body_and_error_is_sent_again(interactions: list[Interaction], step: int) -> None:
    wrong: list[str] = []
    for each in [each for each in interactions if not each.streams][::step]:
        status, body = answered(source_of(each, short=False), each)
        if status != each.status or answer(body) != answer(each.body):
            wrong.append(each.name)
    assert wrong == []


@SOME_AND_ALL
def test_a_short_source_says_the_same(interactions: list[Interaction], step: int) -> None:
    wrong: list[str] = []
    for each in interactions[::step]:
        if each.status == 200 and not (each.streams and is_exception(kind(events(each.body)[-1]))):
            source = source_of(each, short=True)
            assert not any(word in source for word in ("pieces=", "usage=", "toolUseId", "latencyMs")), source
            _, body = answered(source, each)
            if message(body, streams=each.streams) != message(each.body, streams=each.streams):
                wrong.append(each.name)
    assert wrong == []
