"""What it costs to look whether earlier answers came back as they were: tool loops with and without it."""

from __future__ import annotations

from typing import Any

from benchmarks.budgets import Row
from benchmarks.floor import MODEL
from benchmarks.measure import Rounds, per_call
from converse_harness import fake_converse, reply
from converse_harness.endpoint.conversation import HistoryLevel
from converse_harness.intercept.clients import create_client

ROUNDS = 60
TURNS = 3
LONG = 40

TEXT = {"text": "I look it up, and then I say what it is like there today and tomorrow. " * 4}
USE = {"toolUse": {"name": "get_weather", "input": {"city": "Zürich", "days": 2, "units": ["celsius", "hPa"]}}}
TOOLS = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]}


def rows() -> list[Row]:
    """A tool loop of three turns, and the calls of a long one."""
    client = create_client()
    return [
        _row(client, "history", TURNS, calls=10),
        _row(client, "history long", LONG, calls=1),
    ]


def _row(client: Any, name: str, turns: int, calls: int) -> Row:
    rounds = Rounds(
        ROUNDS,
        on=lambda: per_call(lambda: _loop(client, turns, "note"), calls) / turns,
        off=lambda: per_call(lambda: _loop(client, turns, "off"), calls) / turns,
    )
    each = {level: f"{1e6 * rounds.median(level):.0f} us a call" for level in ("on", "off")}
    return Row(name, rounds.ratio("on", "off") / 100, ours=each["on"], theirs=each["off"])


def _loop(client: Any, turns: int, history: HistoryLevel) -> None:
    uses, answer = reply.message(TEXT, USE), reply.text("Sunny.")
    with fake_converse(*([uses] * (turns - 1)), answer, history=history) as fake:
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
