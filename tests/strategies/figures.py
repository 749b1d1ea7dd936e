"""How drawn streams compare with recorded ones: `python -m tests.strategies.figures` prints the table of the page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings

from converse_strategies import stream_events

Event = Mapping[str, Any]
TESTS: Final = 20
DRAWS: Final = 100
"""As many tests, each with as many draws as a test has by default: within one test, hypothesis varies what it drew."""

RECORDED: Final[Mapping[str, str]] = {
    "blocks of a stream: median, 90 %, most": "1, 3, 4",
    "deltas of a block": "5, 62, 170",
    "characters of a text delta": "7, 23, 285",
    "characters of a tool's input": "33, 114, 114",
    "characters of a text": "90, 594, 3037",
    "members of a tool's input": "1, 1, 2",
    "streams with a text": "94 %",
    "text, of all blocks": "71 %",
    "toolUse": "15 %",
    "reasoningContent": "6 %",
    "citationsContent": "8 %",
    "end_turn, of all stop reasons": "55 %",
    "tool_use": "18 %",
    "max_tokens": "15 %",
    "guardrail_intervened": "12 %",
    "others": "0 %",
    "usage with serverToolUsage": "24 %",
    "usage with counts of the cache": "3 %",
    "trace": "12 %",
}
"""What 66 recorded streams have; a test with the recordings compares."""


def spread(numbers: Iterable[int]) -> str:
    """The median, what 90 % are at most, and the most."""
    found = sorted(numbers) or [0]
    return f"{found[len(found) // 2]}, {found[int(len(found) * 0.9)]}, {found[-1]}"


def figures(streams: Sequence[Sequence[Event]]) -> dict[str, str]:
    """The figures of some streams, by the names of RECORDED."""
    blocks: list[int] = []
    deltas: list[int] = []
    texts: list[int] = []
    inputs: list[int] = []
    whole_texts: list[int] = []
    members: list[int] = []
    kinds, stops, ends = Counter[str](), Counter[str](), Counter[str]()
    for events in streams:
        kind: dict[int, str] = {}
        of_block, written, said = Counter[int](), Counter[int](), Counter[int]()
        given: dict[int, str] = {}
        for event in events:
            match event:
                case {"contentBlockStart": {"contentBlockIndex": index, "start": start}}:
                    kind[index] = next(iter(start))
                case {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}:
                    of_block[index] += 1
                    kind.setdefault(index, {"citation": "citationsContent"}.get(name := next(iter(delta)), name))
                    if "text" in delta:
                        texts.append(len(delta["text"]))
                    said[index] += len(delta.get("text", ""))
                    given[index] = given.get(index, "") + delta.get("toolUse", {}).get("input", "")
                    written[index] = len(given[index])
                case {"messageStop": {"stopReason": reason}}:
                    stops[reason] += 1
                case {"metadata": end}:
                    ends.update({"trace": "trace" in end, **usage_of(end["usage"])})
                case _:
                    pass
        blocks.append(len(kind))
        deltas += [of_block[index] for index in kind]
        inputs += [written[index] for index, name in kind.items() if name == "toolUse"]
        members += [len(json.loads(given.get(index) or "{}")) for index, name in kind.items() if name == "toolUse"]
        whole_texts += [said[index] for index, name in kind.items() if name == "text"]
        ends["text"] += any(said[index] for index, name in kind.items() if name == "text")
        kinds.update(kind.values())
    usual = ("end_turn", "tool_use", "max_tokens", "guardrail_intervened")
    shares = {
        "streams with a text": ends["text"] / len(streams),
        "text, of all blocks": kinds["text"] / kinds.total(),
        **{name: kinds[name] / kinds.total() for name in ("toolUse", "reasoningContent", "citationsContent")},
        "end_turn, of all stop reasons": stops["end_turn"] / stops.total(),
        **{name: stops[name] / stops.total() for name in usual[1:]},
        "others": sum(count for name, count in stops.items() if name not in usual) / stops.total(),
        "usage with serverToolUsage": ends["serverToolUsage"] / len(streams),
        "usage with counts of the cache": ends["cache"] / len(streams),
        "trace": ends["trace"] / len(streams),
    }
    numbers = (blocks, deltas, texts, inputs, whole_texts, members)
    spreads = dict(zip(RECORDED, map(spread, numbers), strict=False))
    return {**spreads, **{name: f"{share:.0%}".replace("%", " %") for name, share in shares.items()}}


def usage_of(usage: Mapping[str, Any]) -> dict[str, int]:
    """Which members that are not always there a usage has."""
    return {"serverToolUsage": "serverToolUsage" in usage, "cache": "cacheReadInputTokens" in usage}


def drawn() -> list[list[Event]]:
    """Streams, the same ones each time."""
    found: list[list[Event]] = []
    for number in range(TESTS):

        @seed(number)
        @settings(
            max_examples=DRAWS,
            derandomize=False,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(stream_events())
        def draw(events: list[Event]) -> None:
            found.append(events)

        draw()
    return found


def table() -> str:
    """The rows of the page."""
    ours = figures(drawn())
    rows = [f"| {name} | {ours[name]} | {recorded} |" for name, recorded in RECORDED.items()]
    return "\n".join(["| figure | drawn | recorded |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(table())
