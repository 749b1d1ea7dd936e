"""The server under load: its longest pause, and without budgets its start, its CPU beside others, and a crowd.

Each server is a process of its own that counts its own CPU; the others are measured by the clock on the wall.
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
from typing import Final

from benchmarks.measure import ROOT, Rounds, wall
from benchmarks.rows import Row
from benchmarks.servers.others import IN_PYTHON, Child, in_process_of_its_own, missing_aimock

START_ROUNDS: Final = 20
LOAD_ROUNDS: Final = 5
LOAD_SECONDS: Final = 0.7
CONNECTIONS: Final = 8
PAUSE_ROUNDS: Final = 3
PAUSE_SECONDS: Final = 6.0
CROWD_ROUNDS: Final = 3

CROWD: Final = 500
EVENTS: Final = 20
PAUSE: Final = 0.05
"""Streams at a time; events of each, and seconds before each of them."""


def rows() -> Iterator[Row]:
    """The longest pause; start and stop, CPU, a crowd."""
    yield _longest_pause()
    yield from _starts()
    yield from _loads()
    yield from _crowds()


def _longest_pause() -> Row:
    """Of one server and one fake, which answer thousands of requests in each round."""
    with in_process_of_its_own("ours", 50) as child:
        rounds = [_asked(child, PAUSE_SECONDS) for _ in range(PAUSE_ROUNDS)]
    note = f"the slowest of some {median(count for count, _ in rounds):,.0f} answers; median of {PAUSE_ROUNDS} rounds"
    return Row("pause", 1000 * median(slowest for _, slowest in rounds), note)


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
    answers, _ = _asked(child, LOAD_SECONDS)
    return (child.cpu() - before) / answers


def _asked(child: Child, seconds: float) -> tuple[int, float]:
    """How many answers came on 8 connections, and the seconds of the slowest one."""
    answers, slowest = _output("benchmarks.servers.asker", child.url, seconds, CONNECTIONS).split()
    return int(answers), float(slowest)


def _crowds() -> Iterator[Row]:
    """500 slow streams at once, read by another process."""
    with _counted_threads() as threads, IN_PYTHON["ours"](EVENTS, PAUSE) as url:
        crowds: list[dict[str, list[float]]] = [
            json.loads(_output("benchmarks.servers.crowd", url, CROWD)) for _ in range(CROWD_ROUNDS)
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
