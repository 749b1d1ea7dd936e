"""How costs grow with sizes: the power of the size, 1 where twice the size costs twice as much.

The client is left out: its own linear part would hide a part of ours that grows faster.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.agent import Conversation, asked_in_process, tools, uses_tool
from benchmarks.floor import MODEL, asked, exchanged, request_of, story
from benchmarks.in_process.recordings import many_exchanges
from benchmarks.measure import Rounds, exponent, milliseconds, timed
from benchmarks.rows import Row
from converse_harness import fake_converse, recording, reply

ROUNDS: Final = 3


def rows() -> Iterator[Row]:
    """An exponent for each thing that there can be many of."""
    with tempfile.TemporaryDirectory() as folder:
        yield _row("growth events", (500, 1_000, 2_000, 4_000, 8_000), _stream)
        yield _row("growth calls", (250, 500, 1_000, 2_000, 4_000), _calls)
        yield _row("growth conditions", (250, 500, 1_000, 2_000, 4_000), _conditions)
        yield _row("growth exchanges", (250, 500, 1_000, 2_000, 4_000), _opening(Path(folder)))
        yield _row("growth messages", (50, 100, 200, 400, 800), _conversation)
        yield _row("growth turns", (25, 50, 100, 200), _turns)
        yield _row("growth tools", (20, 50, 100, 200, 400), _tools)


def _row(name: str, sizes: Sequence[int], cost: Callable[[int], float]) -> Row:
    contestants = {str(size): (lambda size=size: cost(size)) for size in sizes}
    measured = Rounds(ROUNDS, contestants)
    costs = {size: measured.of(str(size)) for size in sizes}
    first, last = sizes[0], sizes[-1]
    note = f"{first:,}: {milliseconds(costs[first])}, {last:,}: {milliseconds(costs[last])}"
    return Row(name, exponent(costs), note)


def _stream(events: int) -> float:
    """A new reply, its stream, and the events that were sent."""
    with fake_converse() as fake:

        def work() -> None:
            fake.script(story(events))
            exchanged(fake.core, request_of(asked(), "converse-stream"))
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
            exchanged(fake.core, request)
        fake.close()

    return timed(work)


def _conditions(conditions: int) -> float:
    """One call for which none of them holds, after another one."""
    with fake_converse(unused="allow") as fake:
        for number in range(conditions):
            fake.when(last_user_text=f"*weather {number}*").always(reply.text("never"))
        fake.always(reply.text("Hello!"))
        exchanged(fake.core, request_of(asked(), "converse"))
        request = request_of(asked(), "converse")
        return timed(lambda: exchanged(fake.core, request))


def _opening(folder: Path) -> Callable[[int], float]:
    """A recording that is opened, and its first answer."""

    def cost(exchanges: int) -> float:
        path = folder / f"{exchanges}.jsonl"
        if not path.exists():
            many_exchanges(path, exchanges)
        request = request_of({"modelId": MODEL, "messages": [_user("Tell me the story number 0.")]}, "converse")

        def work() -> None:
            with fake_converse(recording(path), unused="allow") as fake:
                exchanged(fake.core, request)

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
        exchanged(fake.core, request_of({"modelId": MODEL, "messages": told[:-1]}, "converse"))
        request = request_of({"modelId": MODEL, "messages": [*told, _user("And now?")]}, "converse")
        return timed(lambda: exchanged(fake.core, request))


def _turns(turns: int) -> float:
    """The last call of an agent with 20 tools."""
    conversation = Conversation(20)
    with fake_converse(*(uses_tool(turn) for turn in range(turns))) as fake:
        conversation.run(asked_in_process(fake.core), turns - 1)
        request = request_of(conversation.arguments(), "converse")
        return timed(lambda: exchanged(fake.core, request))


def _tools(number: int) -> float:
    """Ten calls with that many tools, each the only one of its fake."""
    requests = [request_of({**asked(), "toolConfig": tools(number)}, "converse") for _ in range(10)]
    seconds = 0.0
    for request in requests:
        with fake_converse(reply.text("Hello!")) as fake:
            seconds += timed(partial(exchanged, fake.core, request))
    return seconds / len(requests)


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}
