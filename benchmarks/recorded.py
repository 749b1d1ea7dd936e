"""Recordings: loading one, replaying it beside vcrpy, and what recording adds to a stream."""

from __future__ import annotations

import json
import random
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.budgets import Row
from benchmarks.floor import ASKED, MODEL, answered, read_stream, story
from benchmarks.measure import Rounds, per_call, wall
from converse_harness import ConverseServer, fake_converse, record, recording
from converse_harness.intercept.clients import create_client
from converse_harness.recordings.capture import CapturedExchange, exchange_lines
from converse_harness.recordings.lines import Line
from converse_harness.recordings.read import read
from converse_harness.recordings.write import header, store, text_of, write
from converse_harness.stream.http import Request

EVENTS = 50
LOADED = 5_000
RECORDED = 1_000
MEDIA = 20 * 1024 * 1024


def rows() -> list[Row]:
    """Loading, replaying, recording; and the size of a file."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_loaded(Path(folder)), *_replayed(Path(folder)), *_recorded(Path(folder))]


def _file(path: Path, events: int) -> tuple[Path, int]:
    """A recording of one stream of that many events, and the bytes of its request and answer."""
    headers, chunks = answered(story(events), "converse-stream")
    body = json.dumps({"messages": ASKED["messages"]}).encode()
    request = Request("POST", f"/model/{MODEL.replace(':', '%3A')}/converse-stream", (), body)
    pieces = [(chunk, 0.4 + number / 50) for number, chunk in enumerate(chunks)]
    captured = CapturedExchange(request, "ConverseStream", 200, tuple(headers.items()), 0.4, pieces)
    write(path, text_of([header(), *exchange_lines(captured, 1)]))
    return path, len(body) + sum(map(len, chunks))


def _loaded(folder: Path) -> Iterator[Row]:
    path, sent = _file(folder / "long.jsonl", LOADED)
    rounds = Rounds(20, ours=lambda: per_call(lambda: read(path)))
    yield Row("load", 1000 * rounds.median("ours"))
    yield Row("recording size", path.stat().st_size / sent)
    lines = [line for exchange in read(path).exchanges for line in exchange.lines()]
    yield Row("store", 1000 * per_call(lambda: store(folder / "stored.jsonl", lines)))
    photo = b64encode(random.Random(1).randbytes(MEDIA)).decode()
    image = {"image": {"format": "png", "source": {"bytes": photo}}}
    asked: Line = {
        "call": 1,
        "operation": "Converse",
        "modelId": MODEL,
        "request": {"messages": [{"content": [image]}]},
    }
    answer: Line = {"t": 1, "status": 200, "body": {}}
    yield Row("store media", per_call(lambda: store(folder / "media.jsonl", [header(), asked, answer])))


def _replayed(folder: Path) -> Iterator[Row]:
    """One stream, from its file to the last event, by the same client."""
    vcr: Any = import_module("vcr")  # it has no types
    ours, _ = _file(folder / "ours.jsonl", EVENTS)
    theirs = folder / "theirs.yaml"
    read_ours = read_stream(create_client())
    with ConverseServer() as server, server.script(story(EVENTS)) as fake:
        client = create_client(endpoint_url=fake.url)
        read_theirs = read_stream(client)
        with vcr.use_cassette(str(theirs), record_mode="all"):
            read_theirs()

    def replay_ours() -> object:
        with fake_converse(recording(ours)):
            return read_ours()

    def replay_theirs() -> object:
        with vcr.use_cassette(str(theirs), record_mode="none", match_on=["method", "path"]):
            return read_theirs()

    if (replay_ours(), replay_theirs()) != (EVENTS, EVENTS):
        raise RuntimeError("both must replay the whole stream")
    rounds = Rounds(60, ours=lambda: per_call(replay_ours, 5), theirs=lambda: per_call(replay_theirs, 5))
    ratio = rounds.ratio("ours", "theirs") / 100
    ours_ms, theirs_ms = (f"{1000 * rounds.median(name):.2f} ms" for name in ("ours", "theirs"))
    yield Row("replay / vcrpy", ratio, ours=ours_ms, theirs=theirs_ms)


def _recorded(folder: Path) -> Iterator[Row]:
    """The time of a stream from another server, recorded and not; the file is written afterwards."""
    with ConverseServer() as server, server.script(unused="allow") as upstream:
        upstream.always(story(RECORDED))
        read = read_stream(create_client(endpoint_url=upstream.url))
        rounds = Rounds(40, recorded=lambda: _within(folder, read), plain=lambda: per_call(read, clock=wall))
    yield Row("recording", rounds.share("recorded", "plain"))


def _within(folder: Path, read: Callable[[], object]) -> float:
    with record(folder / "made.jsonl"):
        return per_call(read, clock=wall)
