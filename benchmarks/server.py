"""The server transport: against the transport in process, its start and stop, its CPU under load, and a crowd.

Two threads or two processes take turns here, so the clock is the one on the wall; where it says CPU, the server is a
process of its own that counts its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Any, Final

from benchmarks.budgets import Row
from benchmarks.floor import Exchange, read_first, story, telling
from benchmarks.measure import ROOT, Rounds, milliseconds, timed, wall
from benchmarks.servers import IN_PYTHON, Child, in_process_of_its_own, missing_aimock
from converse_harness import ConverseServer, fake_converse
from converse_harness.intercept.clients import create_client

START_ROUNDS: Final = 20
LOAD_ROUNDS: Final = 5
LOAD_SECONDS: Final = 0.7
CONNECTIONS: Final = 8
CROWD_ROUNDS: Final = 3

CROWD: Final = 500
EVENTS: Final = 20
PAUSE: Final = 0.05
"""Streams at a time; events of each, and seconds before each of them."""

PACE: Final = 0.005
"""Seconds between the events of a stream in which a stall would show."""


def rows() -> list[Row]:
    """Whole streams and first events with boto3, start and stop, load, a crowd."""
    with ConverseServer() as server:
        client = create_client(endpoint_url=server.url)
        return [
            _stream(server, client, telling(50), 150, "loopback 50"),
            _stream(server, client, telling(1000), 30, "loopback 1000"),
            _first(server, client),
            _stall(server, client),
            *_starts(),
            *_loads(),
            *_crowds(),
        ]


def _stream(server: ConverseServer, client: Any, exchange: Exchange, rounds: int, name: str) -> Row:
    """Of a reply that the fake has sent once before."""
    here = create_client()

    def in_process() -> float:
        with fake_converse() as fake:
            fake.always(exchange.answer())
            exchange.call(here)()
            return timed(exchange.call(here), wall)

    def over_the_socket() -> float:
        with server.answer_all() as fake:
            fake.always(exchange.answer())
            exchange.call(client)()
            return timed(exchange.call(client), wall)

    measured = Rounds(rounds, {"here": in_process, "there": over_the_socket})
    return Row(name, measured.ratio("there", "here"), measured.against("there", "here"))


def _first(server: ConverseServer, client: Any) -> Row:
    """Of a new reply; the connection is open, since the call before it was read to its end."""
    exchange = telling(50)
    bare = exchange.floor()

    def ours() -> float:
        with server.answer_all(story(5), exchange.answer()):
            exchange.call(client)()
            return _until_first(client, exchange)

    measured = Rounds(150, {"ours": ours, "floor": lambda: _until_first(bare, exchange)})
    return Row(
        "first loopback",
        1000 * measured.over("ours", "floor"),
        f"the client alone {milliseconds(measured.of('floor'))}",
    )


def _until_first(client: Any, exchange: Exchange) -> float:
    first, close = read_first(client, exchange)
    seconds = timed(first, wall)
    close()
    return seconds


def _stall(server: ConverseServer, client: Any) -> Row:
    exchange = Exchange("converse_stream", telling(10).ask, lambda: story(10).paced(first=PACE, each=PACE))

    def paced() -> float:
        with server.answer_all(exchange.answer()):
            return timed(exchange.call(client), wall)

    measured = Rounds(20, {"paced": paced})
    return Row("stall", 1000 * (measured.of("paced") - 10 * PACE), "10 events 5 ms apart")


def _starts() -> list[Row]:
    """Start and stop with a fake on it; a server was started before."""
    stopping: list[float] = []

    def started() -> float:
        begun = wall()
        with IN_PYTHON["ours"](50, 0.0):
            running = wall()
        stopping.append(wall() - running)
        return running - begun

    measured = Rounds(START_ROUNDS, {"start": started})
    return [Row("start", 1000 * measured.of("start")), Row("stop", 1000 * median(stopping))]


def _loads() -> Iterator[Row]:
    """CPU of each server for one stream of 50 events, asked on 8 connections by another process."""
    missing = {"aimock": missing_aimock()}
    others = ("aimock", "http.server")
    names = ["ours", *(name for name in others if not missing.get(name))]
    with ExitStack() as stack:
        children = {name: stack.enter_context(in_process_of_its_own(name, 50)) for name in names}
        measured = Rounds(LOAD_ROUNDS, {name: partial(_load, child) for name, child in children.items()})
    for name in others:
        if name in names:
            yield Row(f"load / {name}", measured.ratio("ours", name), measured.against("ours", name))
        else:
            yield Row(f"load / {name}", None, missing[name])


def _load(child: Child) -> float:
    """CPU seconds of one answer."""
    before = child.cpu()
    answers = int(_output("benchmarks.load", child.url, LOAD_SECONDS, CONNECTIONS))
    return (child.cpu() - before) / answers


def _crowds() -> Iterator[Row]:
    """500 slow streams at once, read by another process."""
    with _counted_threads() as threads, IN_PYTHON["ours"](EVENTS, PAUSE) as url:
        crowds: list[dict[str, list[float]]] = [
            json.loads(_output("benchmarks.crowd", url, CROWD)) for _ in range(CROWD_ROUNDS)
        ]
    ideal = EVENTS * PAUSE
    slowest = median(max(crowd["streams"]) for crowd in crowds)
    usual = median(median(crowd["streams"]) for crowd in crowds)
    first = median(median(crowd["first"]) for crowd in crowds)
    yield Row("crowd", slowest / ideal)
    yield Row("crowd stream", usual / ideal, f"first event after {1000 * first:.0f} ms, {1000 * PAUSE:.0f} are due")
    yield Row("crowd threads", threads[0])


@contextmanager
def _counted_threads() -> Generator[list[int], None, None]:
    """How many threads more there are at most than before, looked at every 50 ms."""
    before, most, over = threading.active_count(), [0], threading.Event()

    def look() -> None:
        while not over.wait(PAUSE):
            most[0] = max(most[0], threading.active_count() - before - 1)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield most
    finally:
        over.set()
        looking.join()


def _output(module: str, *arguments: object) -> str:
    """Of a module of the benchmarks in a process of its own."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    return done.stdout
