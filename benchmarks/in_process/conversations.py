"""Long conversations: looking whether earlier answers came back as they were, and following the prompt cache."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from statistics import fmean
from typing import Any, Final
from unittest.mock import patch

from benchmarks.agent import Conversation, uses_tool
from benchmarks.floor import MODEL, Exchange, kept_patches
from benchmarks.measure import Rounds, clock, milliseconds, timed
from benchmarks.rows import Row
from converse_harness import Endpoint, fake_converse, reply
from converse_harness.endpoint.history.stage import History
from converse_harness.endpoint.prompt_cache.rewrites import CacheSummary
from converse_harness.endpoint.stages import STAGES
from converse_harness.intercept.clients import create_client
from converse_harness.stream.http import Request

ROUNDS: Final = 30
AGENT_ROUNDS: Final = 5
AGENT_CALLS: Final = 200
LAST: Final = 10
"""The calls of an agent, and how many of them are timed."""
LONG_ROUNDS: Final = 5
TURNS: Final = 3
LONG: Final = 40
CACHED_TURNS: Final = 20
REWRITTEN: Final = 200
"""Calls that are asked what was written again."""

PATH: Final = "/model/us.anthropic.claude-sonnet-4-6/converse"
POINT: Final = {"cachePoint": {"type": "default"}}
PROMPT: Final = "You are a planner of trips. " * 300

TEXT = {"text": "I look it up, and then I say what it is like there today and tomorrow. " * 4}
USE = {"toolUse": {"name": "get_weather", "input": {"city": "Zürich", "days": 2, "units": ["celsius", "hPa"]}}}
TOOLS = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]}


def rows() -> Iterator[Row]:
    """The last calls of an agent; a tool loop of three turns, and the calls of a long one; the prompt cache."""
    client = create_client()
    with kept_patches():
        yield _agent(client)
        yield _history(client, "history", TURNS, ROUNDS, 3)
        yield _history(client, "history long", LONG, LONG_ROUNDS, 1)
    yield from _cache()


def _agent(client: Any) -> Row:
    """The mean of the last calls; the floor makes only these, with the messages of the first agent."""
    asked: list[dict[str, Any]] = []

    def ours() -> float:
        spent: list[float] = []
        asked.clear()

        def ask(arguments: dict[str, Any]) -> dict[str, Any]:
            started = clock()
            answer = client.converse(**arguments)
            spent.append(clock() - started)
            asked.append(arguments)
            message: dict[str, Any] = answer["output"]["message"]
            return message

        with fake_converse(*(uses_tool(turn) for turn in range(AGENT_CALLS))):
            Conversation(20).run(ask, AGENT_CALLS)
        del asked[:-LAST]
        return fmean(spent[-LAST:])

    bare = Exchange("converse", dict, lambda: uses_tool(AGENT_CALLS)).floor()

    def floor() -> float:
        return fmean(timed(partial(bare.converse, **arguments)) for arguments in asked)

    measured = Rounds(AGENT_ROUNDS, {"ours": ours, "floor": floor})
    note = f"the client alone {milliseconds(measured.of('floor'))}"
    return Row("agent", 1000 * measured.over("ours", "floor"), note)


def _history(client: Any, name: str, turns: int, rounds: int, loops: int) -> Row:
    def each() -> float:
        def work() -> None:
            for _ in range(loops):
                _loop(client, turns)

        return timed(work) / turns / loops

    def without() -> float:
        others = tuple(stage for stage in STAGES if stage is not History)
        with patch("converse_harness.endpoint.STAGES", others):
            return each()

    measured = Rounds(rounds, {"on": each, "off": without})
    return Row(name, measured.ratio("on", "off"), measured.against("on", "off"))


def _loop(client: Any, turns: int) -> None:
    uses, answer = reply.message(TEXT, USE), reply.text("Sunny.")
    with fake_converse(*([uses] * (turns - 1)), answer) as fake:
        messages: list[Any] = [{"role": "user", "content": [{"text": "What is it like?"}]}]
        for _ in range(turns):
            message = client.converse(modelId=MODEL, messages=messages, toolConfig=TOOLS)["output"]["message"]
            result = {
                "toolUseId": message["content"][-1].get("toolUse", {}).get("toolUseId"),
                "content": [{"text": "18"}],
            }
            messages += [message, {"role": "user", "content": [{"toolResult": result}]}]
        if fake.notes or len(fake.calls) != turns:
            raise RuntimeError(f"{len(fake.calls)} calls were made and {len(fake.notes)} notes")


def _body(turns: int, points: list[Any], clock: str = "") -> bytes:
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": [{"text": f"Step {turn}: " + "what next? " * 20}]})
        messages.append({"role": "assistant", "content": [{"text": "Then this. " * 20}]})
    messages.append({"role": "user", "content": [{"text": "And now?"}, *points]})
    return json.dumps({"messages": messages, "system": [{"text": clock + PROMPT}, *points]}).encode()


def _endpoint() -> Endpoint:
    endpoint = Endpoint(rules="off")
    endpoint.script.fallback.add([reply.text("ok")], endless=True)
    return endpoint


def _ask(endpoint: Endpoint, body: bytes) -> None:
    exchange = endpoint.exchange(Request("POST", PATH, (), body))
    exchange.taken.extend(exchange.response.chunks)
    exchange.ended("complete")


def _cache() -> list[Row]:
    """A conversation of 20 turns with and without cache points; 200 calls of 10 conversations with a clock in front."""
    pointed, plain = _body(CACHED_TURNS, [POINT]), _body(CACHED_TURNS, [])
    measured = Rounds(ROUNDS, {"pointed": _asking(pointed), "plain": _asking(plain)})
    asked = Rounds(3, {"rewrites": _rewrites}, warm=False)
    note = f"of {1e6 * measured.of('plain'):.0f} us without points"
    return [
        Row("cache", 1e6 * measured.over("pointed", "plain"), note),
        Row("cache rewrites", 1000 * asked.of("rewrites")),
    ]


def _asking(body: bytes) -> Callable[[], float]:
    endpoint = _endpoint()
    return lambda: timed(lambda: _ask(endpoint, body))


def _rewrites() -> float:
    endpoint = _endpoint()
    for number in range(REWRITTEN):
        _ask(endpoint, _body(number % CACHED_TURNS, [POINT], f"Now: {number}. "))
    return timed(lambda: CacheSummary(endpoint.calls).rewrites)
