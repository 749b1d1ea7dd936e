"""Recordings: opening one, replaying it beside vcrpy, its size, and what recording adds to a stream."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from benchmarks.floor import MODEL, Exchange, answered, kept_patches, request_of, story, telling
from benchmarks.measure import Rounds, milliseconds, timed, wall
from benchmarks.rows import Row
from converse_harness import ConverseServer, fake_converse, record, recording, reply
from converse_harness.intercept.clients import create_client
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import header, text_of, write

EVENTS: Final = 50
STORED: Final = 5_000
RECORDED: Final = 1_000
EXCHANGES: Final = 5_000
LEFT_STREAMS: Final = 5
LEFT_EVENTS: Final = 500


def rows() -> Iterator[Row]:
    """Opening, replaying, recording; and the size of a file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with kept_patches():
            yield from _opened(folder)
            yield from _replayed(folder)
        path, sent = stream_file(folder / "long.jsonl", STORED)
        yield Row("recording size", path.stat().st_size / sent)
        yield _left(folder)
        yield from _recorded(folder)


def many_exchanges(path: Path, exchanges: int) -> None:
    """Write a recording of that many Converse calls, each with a prompt of its own."""
    headers, chunks = answered(reply.text("Once upon a time there was a test."), "converse")
    pieces = [(chunk, 0.4) for chunk in chunks]
    lines: list[Line] = [header()]
    for number in range(exchanges):
        request = request_of(asked_number(number), "converse")
        captured = CapturedExchange(request, "Converse", 200, tuple(headers.items()), 0.4, pieces)
        lines += exchange_lines(captured, number + 1)
    write(path, text_of(lines))


def asked_number(number: int) -> dict[str, Any]:
    """The arguments of the call with that number."""
    prompt = f"Tell me the story number {number}."
    return {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": prompt}]}]}


def _opened(folder: Path) -> Iterator[Row]:
    """From the path to the first answer, which is the first of the file or the last."""
    path = folder / "many.jsonl"
    many_exchanges(path, EXCHANGES)
    client = create_client()

    def first(number: int) -> None:
        with fake_converse(recording(path), unused="allow"):
            client.converse(**asked_number(number))

    measured = Rounds(
        3, {"first": lambda: timed(lambda: first(0)), "last": lambda: timed(lambda: first(EXCHANGES - 1))}
    )
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    yield Row("open recording", measured.of("first"), size)
    yield Row("open recording last", measured.of("last"))


def stream_file(path: Path, events: int) -> tuple[Path, int]:
    """A recording of one stream of that many events, and the bytes of its request and answer."""
    headers, chunks = answered(story(events), "converse-stream")
    request = request_of(asked_number(0), "converse-stream")
    pieces = [(chunk, 0.4 + number / 50) for number, chunk in enumerate(chunks)]
    captured = CapturedExchange(request, "ConverseStream", 200, tuple(headers.items()), 0.4, pieces)
    write(path, text_of([header(), *exchange_lines(captured, 1)]))
    return path, len(request.body) + sum(map(len, chunks))


def _left(folder: Path) -> Row:
    """Leaving `record()` after the calls, as users leave it: what was sent is searched for secrets and written."""
    exchange = telling(LEFT_EVENTS)
    with ConverseServer() as server, server.script(unused="allow") as upstream:
        upstream.always(story(LEFT_EVENTS))
        client = create_client(endpoint_url=upstream.url)

        def leaving() -> float:
            recorder = record(folder / "left.jsonl")
            with ExitStack() as stack:
                stack.enter_context(recorder)
                for _ in range(LEFT_STREAMS):
                    exchange.call(client)()
                return timed(stack.close)

        measured = Rounds(5, {"leaving": leaving})
    whole = measured.of("leaving")
    note = f"{LEFT_STREAMS} streams of {LEFT_EVENTS} events: {milliseconds(whole)}"
    return Row("leave", 1e6 * whole / LEFT_STREAMS / LEFT_EVENTS, note)


def _replayed(folder: Path) -> Iterator[Row]:
    """One stream, from its file to the last event, by the same client."""
    exchange = Exchange("converse_stream", lambda: asked_number(0), lambda: story(EVENTS))
    ours, _ = stream_file(folder / "ours.jsonl", EVENTS)
    here = create_client()

    def replay_ours() -> object:
        with fake_converse(recording(ours)):
            return exchange.call(here)()

    replays: dict[str, Callable[[], object]] = {"ours": replay_ours, **cassettes(folder, exchange)}
    if [name for name, replay in replays.items() if replay() != EVENTS]:
        raise RuntimeError("each must replay the whole stream")
    measured = Rounds(80, {name: partial(timed, replay) for name, replay in replays.items()})
    for name in ("vcrpy", "cassetter"):
        if name in replays:
            yield Row(f"replay / {name}", measured.ratio("ours", name), measured.against("ours", name))
        else:
            yield Row(f"replay / {name}", None, f"{name} is not installed")


def cassettes(folder: Path, exchange: Exchange) -> dict[str, Callable[[], object]]:
    """What replays the exchange from a cassette, for each tool that is installed."""
    replays: dict[str, Callable[[], object]] = {}
    with ConverseServer() as server, server.script() as fake:
        fake.always(exchange.answer())
        client = create_client(endpoint_url=fake.url)
        for name, module in (("vcrpy", "vcr"), ("cassetter", "cassetter")):
            if find_spec(module) is None:
                continue
            use: Any = import_module(module).use_cassette  # vcrpy has no types
            path = str(folder / f"{name}.yaml")
            with use(path, record_mode="all"):
                exchange.call(client)()
            replays[name] = partial(_replay, partial(use, path, record_mode="none"), exchange, client)
    return replays


def _replay(cassette: Callable[[], AbstractContextManager[object]], exchange: Exchange, client: Any) -> object:
    with cassette():
        return exchange.call(client)()


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
