"""What the harness adds to a boto3 stream in process: to the whole of it, and to its first event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.floor import Exchange, kept_patches, planning, read_first, story, telling
from benchmarks.measure import Rounds, milliseconds, timed
from benchmarks.rows import Row
from converse_harness import fake_converse
from converse_harness.intercept.clients import create_client


def rows() -> Iterator[Row]:
    """Shares of streams of two lengths, first events, and what it takes to write the reply."""
    client = create_client()
    writing = Rounds(12, {"write": lambda: timed(lambda: story(1000))})
    with kept_patches():
        yield from _shares(client, telling(1000), 40, "share cached", "share fresh")
        yield from _shares(client, planning(1000), 40, "share cached tools", "share fresh tools")
        yield from _shares(client, telling(50), 150, "share cached 50", "share fresh 50")
        yield _first(client, telling(50), "first")
        yield _first(client, telling(1000), "first 1000")
        yield _first(client, planning(50), "first tools")
    yield Row("write", 1000 * writing.of("write"))


def _shares(client: Any, exchange: Exchange, rounds: int, cached: str, fresh: str) -> list[Row]:
    """Each fake answers one call that is timed; the one of `cached` has sent the reply once before."""
    bare = exchange.floor()
    events = exchange.call(bare)()

    def sent_before() -> float:
        with fake_converse() as fake:
            fake.always(exchange.answer())
            if exchange.call(client)() != events:
                raise RuntimeError("the floor sends another number of events")
            return timed(exchange.call(client))

    def new() -> float:
        with fake_converse(exchange.answer()):
            return timed(exchange.call(client))

    contestants: dict[str, Callable[[], float]] = {
        "floor": lambda: timed(exchange.call(bare)),
        cached: sent_before,
        fresh: new,
    }
    measured = Rounds(rounds, contestants)
    return [
        Row(name, measured.share(name, "floor"), f"{events} events, {measured.against(name, 'floor')}")
        for name in (cached, fresh)
    ]


def _first(client: Any, exchange: Exchange, name: str) -> Row:
    bare = exchange.floor()

    def until_first(of: Any) -> float:
        first, close = read_first(of, exchange)
        try:
            return timed(first)
        finally:
            close()

    def ours() -> float:
        with fake_converse(exchange.answer()):
            return until_first(client)

    measured = Rounds(120, {"ours": ours, "floor": lambda: until_first(bare)})
    return Row(name, 1000 * measured.over("ours", "floor"), f"the client alone {milliseconds(measured.of('floor'))}")
