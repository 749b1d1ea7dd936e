"""Recordings: opening one, replaying it beside vcrpy, its size, and what recording adds to a stream."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from benchmarks.budgets import Row
from benchmarks.floor import MODEL, Exchange, answered, story, telling
from benchmarks.measure import Rounds, timed, wall
from converse_harness import ConverseServer, fake_converse, record, recording, reply
from converse_harness.intercept.clients import create_client
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.read import read
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import header, store, text_of, write
from converse_harness.stream.http import Request

EVENTS: Final = 50
STORED: Final = 5_000
RECORDED: Final = 1_000
EXCHANGES: Final = 5_000


def rows() -> list[Row]:
    """Opening, replaying, recording; and the size of a file."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_opened(Path(folder)), *_replayed(Path(folder)), *_stored(Path(folder)), *_recorded(Path(folder))]


def request_of(arguments: dict[str, Any], operation: str) -> Request:
    """The request of such a call."""
    body = json.dumps({name: value for name, value in arguments.items() if name != "modelId"}).encode()
    return Request("POST", f"/model/{arguments['modelId'].replace(':', '%3A')}/{operation}", (), body)


def many_exchanges(path: Path, exchanges: int) -> None:
    """Write a recording of that many Converse calls, each with a prompt of its own."""
    headers, chunks = answered(reply.text("Once upon a time there was a test."), "converse")
    pieces = [(chunk, 0.4) for chunk in chunks]
    lines: list[Line] = [header()]
    for number in range(exchanges):
        request = request_of(_asked(number), "converse")
        captured = CapturedExchange(request, "Converse", 200, tuple(headers.items()), 0.4, pieces)
        lines += exchange_lines(captured, number + 1)
    write(path, text_of(lines))


def _asked(number: int) -> dict[str, Any]:
    prompt = f"Tell me the story number {number}."
    return {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": prompt}]}]}


def _opened(folder: Path) -> Iterator[Row]:
    """From the path to the first answer, which is the first of the file or the last."""
    path = folder / "many.jsonl"
    many_exchanges(path, EXCHANGES)
    client = create_client()

    def first(number: int) -> None:
        with fake_converse(recording(path), unused="allow"):
            client.converse(**_asked(number))

    measured = Rounds(
        3, {"first": lambda: timed(lambda: first(0)), "last": lambda: timed(lambda: first(EXCHANGES - 1))}
    )
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    yield Row("open recording", measured.of("first"), size)
    yield Row("open recording last", measured.of("last"))


def _stream_file(path: Path, events: int) -> tuple[Path, int]:
    """A recording of one stream of that many events, and the bytes of its request and answer."""
    headers, chunks = answered(story(events), "converse-stream")
    request = request_of(_asked(0), "converse-stream")
    pieces = [(chunk, 0.4 + number / 50) for number, chunk in enumerate(chunks)]
    captured = CapturedExchange(request, "ConverseStream", 200, tuple(headers.items()), 0.4, pieces)
    write(path, text_of([header(), *exchange_lines(captured, 1)]))
    return path, len(request.body) + sum(map(len, chunks))


def _stored(folder: Path) -> Iterator[Row]:
    path, sent = _stream_file(folder / "long.jsonl", STORED)
    lines = [line for exchange in read(path).exchanges for line in exchange.lines()]
    measured = Rounds(3, {"store": lambda: timed(lambda: store(folder / "stored.jsonl", lines))}, warm=False)
    yield Row("recording size", path.stat().st_size / sent)
    yield Row("store", 1000 * measured.of("store"))


def _replayed(folder: Path) -> Iterator[Row]:
    """One stream, from its file to the last event, by the same client."""
    try:
        vcr: Any = import_module("vcr")  # it has no types
    except ImportError:
        yield Row("replay / vcrpy", None, "vcrpy is not installed")
        return
    exchange = Exchange("converse_stream", lambda: _asked(0), lambda: story(EVENTS))
    ours, _ = _stream_file(folder / "ours.jsonl", EVENTS)
    theirs = folder / "theirs.yaml"
    here = create_client()
    with ConverseServer() as server, server.script(story(EVENTS)) as fake:
        there = create_client(endpoint_url=fake.url)
        with vcr.use_cassette(str(theirs), record_mode="all"):
            exchange.call(there)()

    def replay_ours() -> object:
        with fake_converse(recording(ours)):
            return exchange.call(here)()

    def replay_theirs() -> object:
        with vcr.use_cassette(str(theirs), record_mode="none", match_on=["method", "path"]):
            return exchange.call(there)()

    if (replay_ours(), replay_theirs()) != (EVENTS, EVENTS):
        raise RuntimeError("both must replay the whole stream")
    measured = Rounds(80, {"ours": lambda: timed(replay_ours), "theirs": lambda: timed(replay_theirs)})
    yield Row("replay / vcrpy", measured.ratio("ours", "theirs"), measured.against("ours", "theirs"))


def _recorded(folder: Path) -> Iterator[Row]:
    """The time of a stream from another server, recorded and not; the file is written afterwards."""
    exchange = telling(RECORDED)
    with ConverseServer() as server, server.script(unused="allow") as upstream:
        upstream.always(story(RECORDED))
        client = create_client(endpoint_url=upstream.url)
        measured = Rounds(
            20,
            {
                "recorded": lambda: _within(folder, exchange.call(client)),
                "plain": lambda: timed(exchange.call(client), wall),
            },
        )
    yield Row("recording", measured.share("recorded", "plain"), measured.against("recorded", "plain"))


def _within(folder: Path, read_stream: Callable[[], object]) -> float:
    with record(folder / "made.jsonl"):
        return timed(read_stream, wall)
