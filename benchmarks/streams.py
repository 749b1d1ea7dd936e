"""What the harness adds to a boto3 stream in process: to the whole of it, and to its first event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.budgets import Row
from benchmarks.floor import floor_client, read_first, read_stream, story
from benchmarks.measure import Rounds, per_call
from converse_harness import Reply, fake_converse
from converse_harness.intercept.clients import create_client

ROUNDS = 80
FIRST_ROUNDS = 150


def rows() -> list[Row]:
    """Shares of streams of two lengths, first events, and what it takes to write the reply."""
    client = create_client()
    return [
        *_shares(client, 1000, calls=1, suffix=""),
        *_shares(client, 50, calls=10, suffix=" 50"),
        _first(client, 50, "first"),
        _first(client, 1000, "first 1000"),
        Row("write", 1000 * Rounds(20, write=lambda: per_call(lambda: story(1000))).median("write")),
    ]


def _shares(client: Any, events: int, calls: int, suffix: str) -> list[Row]:
    read = read_stream(client)
    read_floor = read_stream(floor_client(story(events), "converse-stream"))
    if read_floor() != events:
        raise RuntimeError(f"the floor sends {read_floor()} events, not {events}")

    def cached() -> float:
        with fake_converse() as fake:
            fake.always(story(events))
            read()
            return per_call(read, calls)

    rounds = Rounds(
        ROUNDS,
        cached=cached,
        floor=lambda: per_call(read_floor, calls),
        fresh=lambda: _fresh(read, [story(events) for _ in range(calls)]),
    )
    note = f"client alone {1000 * rounds.median('floor'):.2f} ms"
    return [Row(f"share {name}{suffix}", rounds.share(name, "floor"), note) for name in ("cached", "fresh")]


def _first(client: Any, events: int, name: str) -> Row:
    read = read_first(client)
    read_floor = read_first(floor_client(story(events), "converse-stream"))
    rounds = Rounds(FIRST_ROUNDS, fresh=lambda: _fresh(read, [story(events)]), floor=lambda: per_call(read_floor))
    note = f"client alone {1000 * rounds.median('floor'):.2f} ms"
    return Row(name, 1000 * rounds.over("fresh", "floor"), note)


def _fresh(read: Callable[[], object], replies: list[Reply]) -> float:
    """Seconds for one call, each answered with a reply that was never sent before."""
    with fake_converse(*replies):
        return per_call(read, len(replies))
