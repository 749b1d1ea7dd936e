"""Published sessions, played in their order through one fake each: what is said of them is nothing.

Compared with: 378 published recordings of Converse and ConverseStream, in 266 sessions.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from converse_harness import Endpoint, recording
from converse_harness.endpoint.history.compare import HISTORY_CHANGES
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import header, text_of, write
from converse_harness.stream.frames import Decoder, encode
from converse_harness.stream.http import Request
from tests.oracle.conftest import body_with_media, shared

__all__ = ["shared"]

Session = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sessions(shared: Path) -> list[Session]:
    """What was published in one file, in the order in which it was recorded; requests of which all is known."""
    corpus = shared / "corpus"
    found: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}
    for entry in json.loads((corpus / "index.json").read_text()):
        source = entry["source"]
        known = json.loads((corpus / entry["file"]).read_text())
        if isinstance(known["request"]["body"], dict):
            found.setdefault((source["repo"], source["path"]), []).append((source["interaction"], known))
    return [[known for _, known in sorted(rows, key=lambda row: row[0])] for rows in found.values()]


def request_of(known: dict[str, Any]) -> Request:
    return Request("POST", known["request"]["path"], (), body_with_media(known["request"]["body"]))


def play(session: Session, file: Path) -> Endpoint:
    """A fake that was asked what was asked, and answered what was answered."""
    lines = [header()]
    for number, known in enumerate(session, 1):
        response = known["response"]
        body = base64.b64decode(response["body_base64"])
        streams = response["is_event_stream"]
        pieces = [encode(frame) for frame in Decoder().feed(body)] if streams else [body]
        kind = "application/vnd.amazon.eventstream" if streams else "application/json"
        captured = CapturedExchange(
            request_of(known),
            known["operation"],
            response["status"],
            (("Content-Type", kind),),
            0.0,
            [(piece, 0.0) for piece in pieces],
        )
        lines += exchange_lines(captured, number)
    write(file, text_of(lines))
    endpoint = Endpoint(recording(file, match="order"))
    for known in session:
        exchange = endpoint.exchange(request_of(known))
        exchange.taken.extend(exchange.response.chunks)
        exchange.ended("complete")
    return endpoint


def test_of_published_sessions_nothing_is_said(sessions: list[Session], tmp_path: Path) -> None:
    calls: Counter[str] = Counter()
    said: dict[str, str] = {}
    for number, session in enumerate(sessions):
        endpoint = play(session, tmp_path / f"{number}.jsonl")
        said |= {session[note.call - 1]["id"]: note.kind for note in endpoint.notes if note.kind in HISTORY_CHANGES}
        for call in endpoint.calls:
            calls["all"] += 1
            calls["with an answer"] += call.turn > 1
            calls["with a parent"] += call.parent is not None
    assert said == {}
    assert calls["all"] > 350
    assert calls["with a parent"] > 90, calls
