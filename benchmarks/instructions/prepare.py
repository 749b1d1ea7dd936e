"""What makes the calls of a loop: each function here returns a Prepare, which makes arguments and replies before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.agent import Conversation, step, uses_tool
from benchmarks.floor import Exchange, read_first, telling
from converse_harness import ConverseServer, fake_converse, record, recording
from converse_harness.intercept.clients import create_client

Prepare = Callable[[int], Callable[[], None]]
"""Makes what is needed for so many calls, and returns what makes them."""

AGENT_CALLS: Final = 200
LEFT_EVENTS: Final = 200


def plain_calls(client: Any, exchange: Exchange) -> Prepare:
    def prepare(number: int) -> Callable[[], None]:
        calls = [exchange.call(client) for _ in range(number)]
        return lambda: _each(calls)

    return prepare


def _each(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        call()


def in_fakes(client: Any, exchange: Exchange) -> Prepare:
    """Each call is the only one of its fake."""

    def prepare(number: int) -> Callable[[], None]:
        calls = [(exchange.answer(), exchange.call(client)) for _ in range(number)]

        def work() -> None:
            for answer, call in calls:
                with fake_converse(answer):
                    call()

        return work

    return prepare


def first_events(client: Any, exchange: Exchange, *, opens: bool = False) -> Prepare:
    """First events, and closing the stream after each of them."""

    def prepare(number: int) -> Callable[[], None]:
        calls = [(exchange.answer(), *read_first(client, exchange)) for _ in range(number)]

        def work() -> None:
            for answer, first, close in calls:
                with ExitStack() as stack:
                    if opens:
                        stack.enter_context(fake_converse(answer))
                    first()
                    close()

        return work

    return prepare


def repeated(work: Callable[[], object]) -> Prepare:
    return lambda number: lambda: _each([work] * number)


def opened() -> None:
    """Open and close a fake without a reply, because closing one with an unused reply takes longer."""
    with fake_converse():
        pass


def replayed(path: Path, client: Any, exchange: Exchange) -> None:
    with fake_converse(recording(path)):
        exchange.call(client)()


def leaving(folder: Path, streams: int) -> Callable[[], None]:
    """Leaving `record()` after that many streams."""
    exchange = telling(LEFT_EVENTS)
    stack = ExitStack()
    with ConverseServer() as server, server.script(unused="allow") as upstream:
        upstream.always(exchange.answer())
        client = create_client(endpoint_url=upstream.url)
        stack.enter_context(record(folder / "left.jsonl"))
        _each([exchange.call(client) for _ in range(streams)])
    return stack.close


def agents_calls(client: Any, conversation: Conversation, calls: int) -> Callable[[], None]:
    return lambda: conversation.run(lambda arguments: client.converse(**arguments)["output"]["message"], calls)


def agent_alone() -> Prepare:
    conversation = Conversation(20)
    for turn in range(AGENT_CALLS - 5):
        text, use = step(turn)
        used = {"toolUse": {**use["toolUse"], "toolUseId": f"tooluse_{turn:022d}"}}
        conversation.answered({"role": "assistant", "content": [text, used]})
    bare = Exchange("converse", conversation.arguments, lambda: uses_tool(AGENT_CALLS)).floor()
    return partial(agents_calls, bare, conversation)
