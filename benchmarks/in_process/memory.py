"""What the calls of a fake keep until it is closed, and what a request of 25 MB takes."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, Final

from benchmarks.agent import Conversation, uses_tool
from benchmarks.floor import MODEL, Exchange, asked, story, telling
from benchmarks.measure import Rounds, milliseconds, timed
from benchmarks.rows import Row
from converse_harness import fake_converse, reply
from converse_harness.intercept.clients import create_client

STREAMS: Final = 10
EVENTS: Final = 1_000
CALLS: Final = 500
AGENT_CALLS: Final = 200
DOCUMENTS: Final = 5
DOCUMENT: Final = 3_750_000
"""Bytes of each, which base64 makes a third longer."""


def rows() -> Iterator[Row]:
    """Of a long stream, of short ones, of an agent, of a long request."""
    client = create_client()
    yield _events(client)
    yield _short_calls(client)
    yield _agent(client)
    yield from _long_request(client)


def _kept(work: Callable[[], object]) -> int:
    """Bytes that are there afterwards and were not before."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def _events(client: Any) -> Row:
    """Streams of replies that were not sent before; what a reply itself keeps counts."""
    exchange = telling(EVENTS)
    with fake_converse(unused="allow") as fake:
        fake.script(story(EVENTS - 1))
        exchange.call(client)()

        def work() -> None:
            for more in range(1, STREAMS + 1):
                fake.script(story(EVENTS + more))  # equal replies would share their frames
                exchange.call(client)()

        kept = _kept(work)
    return Row("memory event", kept / STREAMS / EVENTS, f"{STREAMS} streams of {EVENTS:,} events")


def _short_calls(client: Any) -> Row:
    exchange = Exchange("converse_stream", asked, lambda: reply.text("Hello"))
    with fake_converse() as fake:
        fake.always(exchange.answer())
        if (events := exchange.call(client)()) != 5:
            raise RuntimeError(f"the stream has {events} events")
        kept = _kept(lambda: [exchange.call(client)() for _ in range(CALLS)])
    return Row("memory call", kept / CALLS / 1000, f"{CALLS} calls")


def _agent(client: Any) -> Row:
    """What the fake keeps of an agent's calls; the agent and its messages are gone by then."""
    with fake_converse(*(uses_tool(turn) for turn in range(AGENT_CALLS + 1))) as fake:

        def run(calls: int) -> None:
            Conversation(20).run(lambda arguments: client.converse(**arguments)["output"]["message"], calls)

        run(1)
        kept = _kept(lambda: run(AGENT_CALLS))
        if len(fake.calls) != AGENT_CALLS + 1:
            raise RuntimeError(f"the agent made {len(fake.calls)} calls")
    return Row("memory agent", kept / 1e6, "20 tools; without what the agent itself keeps")


def _long_request(client: Any) -> list[Row]:
    data = random.Random(1).randbytes(DOCUMENT)

    def ask() -> dict[str, Any]:
        arguments = asked()
        arguments["messages"][0]["content"] += [
            {"document": {"name": f"part {number}", "format": "pdf", "source": {"bytes": data}}}
            for number in range(DOCUMENTS)
        ]
        return {**arguments, "modelId": MODEL}

    exchange = Exchange("converse", ask, lambda: reply.text("Long."))
    bare = exchange.floor()

    def ours() -> float:
        with fake_converse(exchange.answer()):
            return timed(exchange.call(client))

    measured = Rounds(7, {"ours": ours, "floor": lambda: timed(exchange.call(bare))})
    with fake_converse(exchange.answer()):
        kept = _kept(exchange.call(client))
    note = f"the client alone {milliseconds(measured.of('floor'))}"
    return [
        Row("long request", 1000 * measured.over("ours", "floor"), note),
        Row("long request kept", kept / 1e6),
    ]
