"""What following the prompt cache costs a call, and what it costs to ask what was written again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from benchmarks.budgets import Row
from benchmarks.measure import Rounds, per_call
from converse_harness import Endpoint, reply
from converse_harness.endpoint.rewrites import CacheSummary
from converse_harness.stream.http import Request

ROUNDS: Final = 40
TURNS: Final = 20
CALLS: Final = 200
PATH: Final = "/model/us.anthropic.claude-sonnet-4-6/converse"
POINT: Final = {"cachePoint": {"type": "default"}}
PROMPT: Final = "You are a planner of trips. " * 300


def rows() -> list[Row]:
    """A conversation of 20 turns with a tool's results, with and without cache points."""
    pointed, plain = _body(TURNS, [POINT]), _body(TURNS, [])
    rounds = Rounds(
        ROUNDS,
        pointed=lambda: per_call(_asking(pointed), 10),
        plain=lambda: per_call(_asking(plain), 10),
        rewrites=_rewrites,
    )
    return [
        Row("cache", 1e6 * rounds.over("pointed", "plain"), f"of {1e6 * rounds.median('plain'):.0f} us without points"),
        Row("cache rewrites", 1e3 * rounds.median("rewrites"), f"{CALLS} calls of 10 conversations"),
    ]


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


def _asking(body: bytes) -> Callable[[], None]:
    endpoint = _endpoint()
    return lambda: _ask(endpoint, body)


def _rewrites() -> float:
    endpoint = _endpoint()
    for number in range(CALLS):
        _ask(endpoint, _body(number % TURNS, [POINT], f"Now: {number}. "))
    return per_call(lambda: CacheSummary(endpoint.calls).rewrites)
