"""The server transport against the transport in process, and beside other servers that say the same.

Two threads or two processes take turns here, so the clock is the one on the wall.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Any, Final

from benchmarks.budgets import Row
from benchmarks.crowd import QUESTION
from benchmarks.floor import ASKED, floor_client, read_stream, story
from benchmarks.measure import Rounds, per_call, wall
from benchmarks.servers import IN_PYTHON, in_process_of_its_own, missing_aimock
from converse_harness import ConverseServer, Reply, fake_converse
from converse_harness.intercept.clients import create_client

ROUNDS = 40
FIRST_ROUNDS = 40
FIRST_CALLS = 5
START_ROUNDS = 15
READER_ROUNDS = 30
CROWD_ROUNDS = 3

CROWD: Final = 500
EVENTS: Final = 20
PAUSE: Final = 0.05
"""Streams at a time; events of each, and seconds before each of them."""

PACE: Final = 0.005
"""Seconds between the events of a stream in which a stall would show."""

RIVALS: Final = ("http.server", "pytest-httpserver")
OTHERS: Final = (*RIVALS, "aimock")


def rows() -> list[Row]:
    """Whole streams and first events with boto3, start and stop, a crowd; then the same of others."""
    with ExitStack() as stack:
        server = stack.enter_context(ConverseServer())
        client = create_client(endpoint_url=server.url)
        return [
            *_streams(stack, server, client, 50, calls=10),
            *_streams(stack, server, client, 1000, calls=1),
            *_first(stack, server, client),
            _stall(server, client),
            *_starts(),
            *_readers(),
            *_crowds(),
        ]


def _always(server: ConverseServer, scripted: Reply, work: Callable[[], float]) -> float:
    """What `work` gives while a fake answers so; the journal of the fake goes with it."""
    with server.answer_all() as fake:
        fake.always(scripted)
        return work()


def _streams(stack: ExitStack, server: ConverseServer, client: Any, events: int, calls: int) -> Iterator[Row]:
    scripted = story(events)
    here, read = create_client(), read_stream(client)
    read_here, read_floor = read_stream(here), read_stream(floor_client(scripted, "converse-stream"))

    def warm(work: Callable[[], object]) -> float:
        work()
        return per_call(work, calls, wall)

    def in_process() -> float:
        with fake_converse() as fake:
            fake.always(scripted)
            return warm(read_here)

    contestants: dict[str, Callable[[], float]] = {
        "in process": in_process,
        "ours": lambda: _always(server, scripted, lambda: warm(read)),
        "floor": lambda: warm(read_floor),
    }
    for name in RIVALS:
        url = stack.enter_context(IN_PYTHON[name](events, 0.0))
        other = read_stream(create_client(endpoint_url=url))
        if (got := other()) != events:
            raise RuntimeError(f"{name} sends {got} events, not {events}")
        contestants[name] = partial(warm, other)
    rounds = Rounds(ROUNDS, **contestants)
    note = f"the client alone {1000 * rounds.median('floor'):.2f} ms"
    yield _compared(f"loopback {events}", rounds, "in process", note)
    for name in RIVALS:
        yield _compared(f"loopback {events} {name}", rounds, name)


def _first(stack: ExitStack, server: ConverseServer, client: Any) -> Iterator[Row]:
    """Of replies that were never sent before; the rest of each is read off the clock, so its connection stays open."""
    read_all = read_stream(client)
    floor = floor_client(story(50), "converse-stream")
    other = create_client(endpoint_url=stack.enter_context(IN_PYTHON["http.server"](50, 0.0)))

    def fresh() -> float:
        replies = [story(50) for _ in range(FIRST_CALLS)]
        with server.answer_all(story(50), *replies):
            read_all()
            return _until_first(client)

    contestants = {"ours": fresh, "floor": lambda: _until_first(floor), "http.server": lambda: _until_first(other)}
    rounds = Rounds(FIRST_ROUNDS, **contestants)
    note = f"the client alone {1000 * rounds.median('floor'):.2f} ms"
    yield Row("first loopback", 1000 * rounds.over("ours", "floor"), note)
    yield _compared("first loopback http.server", rounds, "http.server", "whose bytes are made before")


def _until_first(client: Any) -> float:
    """Seconds until the first event, the median of some calls."""
    took: list[float] = []
    gc.collect()
    for _ in range(FIRST_CALLS):
        started = wall()
        events = iter(client.converse_stream(**ASKED)["stream"])
        next(events)
        took.append(wall() - started)
        for _ in events:
            pass
    return median(took)


def _stall(server: ConverseServer, client: Any) -> Row:
    paced = story(10).paced(first=PACE, each=PACE)
    read = read_stream(client)
    rounds = Rounds(20, ours=lambda: _always(server, paced, lambda: per_call(read, 1, wall)))
    return Row("stall", 1000 * (rounds.median("ours") - 10 * PACE), "10 events 5 ms apart")


def _starts() -> list[Row]:
    """Start and stop, of ours and of others; each was started before."""
    stopping: dict[str, list[float]] = {name: [] for name in IN_PYTHON}

    def started(name: str) -> float:
        begun = wall()
        with IN_PYTHON[name](50, 0.0):
            running = wall()
        stopping[name].append(wall() - running)
        return running - begun

    rounds = Rounds(START_ROUNDS, **{name: partial(started, name) for name in IN_PYTHON})
    rows = [Row("start", 1000 * rounds.median("ours")), Row("stop", 1000 * median(stopping["ours"]))]
    for name in RIVALS:
        rows.append(_compared(f"start {name}", rounds, name))
        mine, theirs = (median(stopping[each]) for each in ("ours", name))
        rows.append(Row(f"stop {name}", mine / theirs, ours=_ms(mine), theirs=_ms(theirs)))
    return rows


def _readers() -> Iterator[Row]:
    """A stream of 50 events from a process of its own, read by urllib3: boto3 cannot read aimock's."""
    missing = missing_aimock()
    names = [name for name in ("ours", *OTHERS) if not (missing and name == "aimock")]
    with ExitStack() as stack:
        readers = {name: _reader(stack.enter_context(in_process_of_its_own(name, 50))) for name in names}
        sizes = {name: read() for name, read in readers.items()}
        rounds = Rounds(READER_ROUNDS, **{name: partial(per_call, read, 10, wall) for name, read in readers.items()})
        for name in OTHERS:
            if name not in names:
                yield Row(f"process {name}", None, missing)
                continue
            yield _compared(f"process {name}", rounds, name, f"{sizes['ours']:,} bytes against {sizes[name]:,}")


def _reader(url: str) -> Callable[[], int]:
    """Reads a whole stream over a connection that stays open, and counts its bytes."""
    import urllib3

    pool = urllib3.PoolManager()
    headers = {"Content-Type": "application/json"}

    def read() -> int:
        target = f"{url}/model/m/converse-stream"
        answer = pool.request("POST", target, body=QUESTION, headers=headers, preload_content=False)
        parts = [len(part) for part in answer.stream(None, decode_content=False)]
        if answer.status != 200 or len(parts) != 50:
            raise RuntimeError(f"{url} answers {answer.status} with {len(parts)} chunks")
        return sum(parts)

    return read


def _crowds() -> Iterator[Row]:
    """500 slow streams at once, read by another process."""
    with _counted_threads() as threads, IN_PYTHON["ours"](EVENTS, PAUSE) as url:
        crowds = [_crowd(url) for _ in range(CROWD_ROUNDS)]
    whole, last, each, first = (median(crowd[index] for crowd in crowds) for index in range(4))
    ideal = EVENTS * PAUSE
    yield Row("crowd", last / ideal)
    yield Row("crowd stream", each / ideal, f"first event after {1000 * first:.0f} ms, of which {1000 * PAUSE:.0f} due")
    yield Row("crowd whole", whole / ideal)
    yield Row("crowd threads", threads[0])
    missing = missing_aimock()
    for name in OTHERS:
        if name == "aimock" and missing:
            yield Row(f"crowd {name}", None, missing)
            continue
        with in_process_of_its_own("ours", EVENTS, PAUSE) as url, in_process_of_its_own(name, EVENTS, PAUSE) as other:
            pairs = [(_crowd(url)[1], _crowd(other)[1]) for _ in range(CROWD_ROUNDS)]
        mine, theirs = map(median, zip(*pairs, strict=True))
        yield Row(f"crowd {name}", mine / theirs, ours=_ms(mine), theirs=_ms(theirs))


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


def _crowd(url: str) -> tuple[float, float, float, float]:
    """Seconds: of the whole crowd, of its slowest stream, of the median one and until the median one's first event."""
    command = [sys.executable, "-m", "benchmarks.crowd", url, str(CROWD)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    told = json.loads(done.stdout)
    return told["whole"], max(told["streams"]), median(told["streams"]), median(told["first"])


def _compared(name: str, rounds: Rounds, other: str, note: str = "") -> Row:
    """Ours against another, as the ratio of neighbours."""
    ours, theirs = rounds.median("ours"), rounds.median(other)
    return Row(name, rounds.ratio("ours", other) / 100, note, ours=_ms(ours), theirs=_ms(theirs))


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.2f} ms"
