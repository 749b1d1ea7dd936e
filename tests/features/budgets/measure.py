"""What a budget costs: `python -m tests.features.budgets.measure` prints the milliseconds of CPU of a call.

An agent with 20 tools and three cache points asks 200 times.
"""

from __future__ import annotations

import gc
import time
from typing import Any, Final

from converse_harness import fake_converse, reply
from converse_harness.features.budgets.counts import BudgetCount
from converse_harness.features.budgets.limits import KEYS
from converse_harness.intercept.clients import create_client

CALLS: Final = 200
ROUNDS: Final = 5
POINT: Final[dict[str, Any]] = {"cachePoint": {"type": "default"}}


def counted() -> BudgetCount:
    """The count of an agent whose every call but the last is answered with a tool."""
    schema = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(5)}}
    tools: list[dict[str, Any]] = [
        {"toolSpec": {"name": f"tool_{number}", "description": "Looks up. " * 20, "inputSchema": {"json": schema}}}
        for number in range(20)
    ]
    asked = {
        "modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "toolConfig": {"tools": [*tools, POINT]},
        "system": [{"text": "You plan trips. " * 100}, POINT],
    }
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "Where to? " * 40}]}]
    client, count = create_client(), BudgetCount()
    with fake_converse(cache_minimum=0) as fake:
        fake.endpoint.add(count.stage)
        fake.script(*[reply.tool_use("tool_1", {"page": page, "q": "x" * 50}) for page in range(CALLS - 1)])
        fake.script(reply.text("Done."))
        for _ in range(CALLS):
            *before, last = messages
            pointed = {**last, "content": [*last["content"], POINT]}
            answer = client.converse(messages=[*before, pointed], **asked)["output"]["message"]
            uses = [block["toolUse"] for block in answer["content"] if "toolUse" in block]
            results = [{"toolUseId": use["toolUseId"], "content": [{"text": "08:32 " * 100}]} for use in uses]
            messages += [answer, {"role": "user", "content": [{"toolResult": each} for each in results]}]
        return count


def main() -> None:
    count = counted()
    gc.collect()
    gc.freeze()
    rounds: list[dict[str, float]] = []
    for _ in range(ROUNDS):
        spent: dict[str, float] = {}
        for key in KEYS:
            started = time.process_time()
            count.spent(key)
            spent[key] = 1000 * (time.process_time() - started) / CALLS
        rounds.append(spent)
        count = counted()
    best = min(rounds, key=lambda spent: sum(spent.values()))
    for key, milliseconds in {**best, "all keys": sum(best.values())}.items():
        print(f"{key:16} {milliseconds:.4f} ms a call")


if __name__ == "__main__":
    main()
