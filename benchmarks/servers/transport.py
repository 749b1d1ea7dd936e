"""The server transport beside the transport in process: whole streams, and first events.

Two threads take turns here, so the clock is the one on the wall.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from benchmarks.floor import Exchange, kept_patches, read_first, story, telling
from benchmarks.measure import Rounds, milliseconds, timed, wall
from benchmarks.rows import Row
from converse_harness import ConverseServer, fake_converse
from converse_harness.intercept.clients import create_client

PACE: Final = 0.005
"""Seconds between the events of a stream in which a stall would show."""


def rows() -> Iterator[Row]:
    """Whole streams and first events with boto3."""
    with ConverseServer() as server, kept_patches():
        client = create_client(endpoint_url=server.url)
        yield _stream(server, client, telling(50), 150, "loopback 50")
        yield _stream(server, client, telling(1000), 30, "loopback 1000")
        yield _first(server, client)
        yield _stall(server, client)


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
