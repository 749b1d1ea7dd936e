"""How costs grow with sizes: the power of the size, 1 where twice the size costs twice as much.

The client is left out: its own linear part would hide a part of ours that grows faster.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.budgets import Row
from benchmarks.floor import MODEL, asked, story
from benchmarks.measure import Rounds, exponent, milliseconds, timed
from benchmarks.recordings import many_exchanges, request_of
from converse_harness import fake_converse, recording, reply
from converse_harness.stream.http import Request

ROUNDS: Final = 3


def rows() -> list[Row]:
    """An exponent for each thing that there can be many of."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            _row("growth events", (500, 1_000, 2_000, 4_000, 8_000), _stream),
            _row("growth calls", (250, 500, 1_000, 2_000, 4_000), _calls),
            _row("growth conditions", (250, 500, 1_000, 2_000, 4_000), _conditions),
            _row("growth exchanges", (250, 500, 1_000, 2_000, 4_000), _opening(Path(folder))),
            _row("growth messages", (50, 100, 200, 400, 800), _conversation),
        ]


def _row(name: str, sizes: Sequence[int], cost: Callable[[int], float]) -> Row:
    contestants = {str(size): (lambda size=size: cost(size)) for size in sizes}
    measured = Rounds(ROUNDS, contestants)
    costs = {size: measured.of(str(size)) for size in sizes}
    first, last = sizes[0], sizes[-1]
    note = f"{first:,}: {milliseconds(costs[first])}, {last:,}: {milliseconds(costs[last])}"
    return Row(name, exponent(costs), note)


def _answer(fake: Any, request: Request) -> None:
    exchange = fake.core.exchange(request)
    exchange.taken.extend(exchange.response.chunks)
    exchange.ended("complete")


def _stream(events: int) -> float:
    """A new reply, its stream, and the events that were sent."""
    with fake_converse() as fake:

        def work() -> None:
            fake.script(story(events))
            _answer(fake, request_of(asked(), "converse-stream"))
            if len(fake.calls[0].events) != events:
                raise RuntimeError("not all events came")

        return timed(work)


def _calls(calls: int) -> float:
    """All of the calls of a fake, and closing it."""
    requests = [request_of(asked(), "converse") for _ in range(calls)]
    fake = fake_converse()
    fake.open()
    fake.always(reply.text("Hello!"))

    def work() -> None:
        for request in requests:
            _answer(fake, request)
        fake.close()

    return timed(work)


def _conditions(conditions: int) -> float:
    """One call for which none of them holds, after another one."""
    with fake_converse(unused="allow") as fake:
        for number in range(conditions):
            fake.when(last_user_text=f"*weather {number}*").always(reply.text("never"))
        fake.always(reply.text("Hello!"))
        _answer(fake, request_of(asked(), "converse"))
        request = request_of(asked(), "converse")
        return timed(lambda: _answer(fake, request))


def _opening(folder: Path) -> Callable[[int], float]:
    """A recording that is opened, and its first answer."""

    def cost(exchanges: int) -> float:
        path = folder / f"{exchanges}.jsonl"
        if not path.exists():
            many_exchanges(path, exchanges)
        request = request_of({"modelId": MODEL, "messages": [_user("Tell me the story number 0.")]}, "converse")

        def work() -> None:
            with fake_converse(recording(path), unused="allow") as fake:
                _answer(fake, request)

        return timed(work)

    return cost


def _conversation(messages: int) -> float:
    """The last turn of a long conversation; the turn before it was answered by the same fake."""
    told = [
        _user(f"Question {number}?") if number % 2 == 0 else {"role": "assistant", "content": [{"text": "Yes."}]}
        for number in range(messages)
    ]
    with fake_converse() as fake:
        fake.always(reply.text("Yes."))
        _answer(fake, request_of({"modelId": MODEL, "messages": told[:-1]}, "converse"))
        request = request_of({"modelId": MODEL, "messages": [*told, _user("And now?")]}, "converse")
        return timed(lambda: _answer(fake, request))


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}
