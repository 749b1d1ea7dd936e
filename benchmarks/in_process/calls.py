"""What a test pays: a client, a fake, one call, and conditions that do not match."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from benchmarks.agent import tools
from benchmarks.floor import MODEL, Exchange, asked, asked_with_tools, kept_patches, planning
from benchmarks.measure import Rounds, milliseconds, timed
from benchmarks.rows import Row
from converse_harness import Fake, fake_converse, reply
from converse_harness.intercept.clients import create_client

ROUNDS: Final = 200
LATER: Final = 3
"""Calls of a fake whose first one is not timed."""

CONDITIONS: Final = 1_000


def rows() -> Iterator[Row]:
    """A client, a fake, calls, conditions."""
    yield from _clients()
    with kept_patches():
        yield from _calls()
        yield from _tool_use()
        for number in (20, 100):
            yield _with_tools(number)
        yield _conditions()


def greeting() -> Exchange:
    """A Converse call with one short message."""
    return Exchange("converse", asked, lambda: reply.text("Hello!"))


def tool_use() -> Exchange:
    """A ConverseStream call with a tool, answered by a text and a use of the tool."""
    return Exchange("converse_stream", asked_with_tools, planning(20).answer)


def with_tools(number: int) -> Exchange:
    """A Converse call with that many tools."""
    configured = tools(number)
    return Exchange("converse", lambda: {**asked(), "toolConfig": configured}, lambda: reply.text("Hello!"))


def _clients() -> list[Row]:
    session: Any = import_module("botocore.session").get_session()  # botocore has no types of its own

    def own() -> float:
        keys = {"aws_access_key_id": "fake", "aws_secret_access_key": "fake"}
        return timed(lambda: session.create_client("bedrock-runtime", region_name="us-east-1", **keys))

    def ours() -> float:
        with fake_converse():
            return timed(create_client)

    measured = Rounds(60, {"ours": ours, "own": own})
    return [Row("client", measured.ratio("ours", "own"), measured.against("ours", "own"))]


def _calls() -> list[Row]:
    """The fake is opened and closed between calls of the floor, so that caches of the processor are cold."""
    exchange = greeting()
    client, bare = create_client(), exchange.floor()

    def opened() -> float:
        fake = fake_converse(exchange.answer())
        opening = timed(fake.open)
        exchange.call(client)()
        return opening + timed(fake.close)

    measured = Rounds(
        ROUNDS,
        {
            "ours": lambda: _first(client, exchange),
            "floor": lambda: timed(exchange.call(bare)),
            "later": lambda: _later(client, exchange),
            "opened": opened,
        },
    )
    return [
        Row("open", 1e6 * measured.of("opened")),
        _beyond("call", "ours", measured),
        _beyond("call later", "later", measured),
    ]


def _tool_use() -> list[Row]:
    exchange = tool_use()
    client, bare = create_client(), exchange.floor()
    measured = Rounds(
        ROUNDS,
        {
            "ours": lambda: _first(client, exchange),
            "floor": lambda: timed(exchange.call(bare)),
            "later": lambda: _later(client, exchange),
        },
    )
    return [_beyond("call tools", "ours", measured), _beyond("call tools later", "later", measured)]


def _with_tools(number: int) -> Row:
    exchange = with_tools(number)
    client, bare = create_client(), exchange.floor()
    contestants = {"ours": lambda: _first(client, exchange), "floor": lambda: timed(exchange.call(bare))}
    return _beyond(f"call {number} tools", "ours", Rounds(ROUNDS // 2, contestants))


def _first(client: Any, exchange: Exchange) -> float:
    """The only call of a fake."""
    with fake_converse(exchange.answer()):
        return timed(exchange.call(client))


def _later(client: Any, exchange: Exchange) -> float:
    """A later call of a fake; the reply was not sent before."""
    with fake_converse(*(exchange.answer() for _ in range(LATER))):
        return [timed(exchange.call(client)) for _ in range(LATER)][-1]


def _beyond(name: str, ours: str, measured: Rounds) -> Row:
    note = f"{milliseconds(measured.of(ours))}, {measured.share(ours, 'floor'):.0f} % of it ours"
    return Row(name, 1000 * measured.over(ours, "floor"), note)


def _conditions() -> Row:
    """A thousand of four kinds, none of which matches."""
    exchange = Exchange("converse", asked_with_tools, lambda: reply.text("Hello!"))
    client = create_client()

    def called(conditions: int) -> float:
        with fake_converse(unused="allow") as fake:
            add_misses(fake, conditions)
            fake.always(exchange.answer())
            exchange.call(client)()
            return timed(exchange.call(client))

    measured = Rounds(20, {"many": lambda: called(CONDITIONS), "none": lambda: called(0)})
    return Row("condition", 1e6 * measured.over("many", "none") / CONDITIONS, "by text, pattern, model and tool")


def add_misses(fake: Fake, conditions: int) -> None:
    """Add that many `when`s of four kinds that match no call."""
    never = reply.text("never")
    for number in range(conditions):
        match number % 4:
            case 0:
                fake.when(last_user_text=f"*weather {number}*").always(never)
            case 1:
                fake.when(last_user_text=re.compile(f"weather {number}")).always(never)
            case 2:
                fake.when(model=f"*{MODEL}-{number}").always(never)
            case _:
                fake.when(tool=f"tool_{number}").always(never)
