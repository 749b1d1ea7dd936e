"""Answers at the limits of what ConverseStream sends: long answers, large numbers, and texts cut at unusual positions.

Hypothesis draws such answers too seldom. All of these answers are legal. The longest ones are longer than every
recorded answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from converse_harness import bedrock, reply
from converse_harness.contract.running import TOOL
from converse_harness.reply.reply import Reply

_BLOCKS: Final = 12
_DELTAS: Final = 300
_CHARACTERS: Final = 6000

_USAGE: Final[Mapping[str, int]] = {
    "inputTokens": 2000,
    "outputTokens": 300,
    "totalTokens": 2500,
    "cacheReadInputTokens": 0,
    "cacheWriteInputTokens": 200,
}


def _stream(*blocks: Iterable[Mapping[str, Any]], stop: str = "end_turn", **metadata: Any) -> Reply:
    """Make an answer from blocks. Each block is given as its start and deltas: events without `contentBlockIndex`.

    `metadata` contains additional members of the metadata event.
    """
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    ended: Mapping[str, Any] = {"contentBlockStop": {}}
    for index, block in enumerate(blocks):
        for event in (*block, ended):
            ((name, members),) = event.items()
            events.append({name: {"contentBlockIndex": index, **members}})
    last = {"usage": dict(_USAGE), "metrics": {"latencyMs": 900}, **metadata}
    return reply.events([*events, {"messageStop": {"stopReason": stop}}, {"metadata": last}])


def _delta(**delta: Any) -> Mapping[str, Any]:
    return {"contentBlockDelta": {"delta": delta}}


def _text(*pieces: str) -> list[Mapping[str, Any]]:
    return [_delta(text=piece) for piece in pieces]


def _tool(number: int, *pieces: str) -> list[Mapping[str, Any]]:
    start = {"toolUse": {"toolUseId": f"tooluse_extreme{number:015}", "name": TOOL}}
    return [{"contentBlockStart": {"start": start}}, *(_delta(toolUse={"input": piece}) for piece in pieces)]


def _thought(text: str, signature: str | None = None) -> list[Mapping[str, Any]]:
    signed = [] if signature is None else [_delta(reasoningContent={"signature": signature})]
    return [_delta(reasoningContent={"text": text}), *signed]


def _cited(*deltas: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the events of a block: two citations of sources with the same title, then these deltas."""
    places = ({"documentIndex": 0, "start": start, "end": start + 9} for start in (0, 20))
    sources = ({"title": "Weather", "location": {"documentChar": place}} for place in places)
    return [*(_delta(citation=source) for source in sources), *deltas]


def _served(status: str) -> list[list[Mapping[str, Any]]]:
    """Return two blocks: a tool use that the service runs, and the result of the tool in deltas of two items each."""
    name, used = "nova_code_interpreter", "tooluse_extreme000000000served"
    begun = {"toolUseId": used, "name": name, "type": "server_tool_use"}
    done = {"toolUseId": used, "type": f"{name}_result", "status": status}
    results = [_delta(toolResult=[{"text": first}, {"text": second}]) for first, second in (("1", "2"), ("", "3"))]
    return [
        [{"contentBlockStart": {"start": {"toolUse": begun}}}, _delta(toolUse={"input": '{"snippet": "1"}'})],
        [{"contentBlockStart": {"start": {"toolResult": done}}}, *results],
    ]


_TEXT: Final = frozenset({"text"})
_TOOL: Final = frozenset({"toolUse"})
_LONG: Final = "".join(f"{number} " for number in range(_CHARACTERS // 4))
_LONG_INPUT: Final = json.dumps({"city": _LONG})
_NUMBERS: Final = (2**53 + 1, 2**63, -(2**63) - 1, 2**64 + 1, 0.1 + 0.2, 1e-9, 123456789.123456789)

_TRACE: Final[Mapping[str, Any]] = {
    "guardrail": {"inputAssessment": {"abcdefghijkl": {"topicPolicy": {"topics": list[Any]()}}}},
    "promptRouter": {"invokedModelId": "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0"},
}
"""The trace of a stream's metadata, with both of its members."""

_EXTREMES: Final[Sequence[tuple[frozenset[str], Callable[[], Reply]]]] = (
    (_TEXT, lambda: _stream(_text("ha", "ha", "!", "!"))),
    (
        _TEXT,
        lambda: _stream(_text("one\r", "\ntwo\n", "\n", "three\r", "four \u2028", "five "), _text(" \n"), _text("six")),
    ),
    (_TEXT, lambda: _stream(_text("routed"), trace=_TRACE)),
    (_TEXT, lambda: _stream(*(_text(f"{number} ") for number in range(_BLOCKS)))),
    (_TEXT, lambda: _stream(_text(*(chr(ord("a") + number % 26) for number in range(_DELTAS))))),
    (_TEXT, lambda: _stream(_text(_LONG, "the end"))),
    (_TOOL, lambda: _stream(_tool(0, '{"city": "\\ud83c', "\\udfd4 ", " ", 'A"}'), stop="tool_use")),
    (_TOOL, lambda: _stream(_tool(0, json.dumps({"city": "Zürich", "numbers": _NUMBERS})), stop="tool_use")),
    (
        _TOOL,
        lambda: _stream(
            *(_tool(number, json.dumps({"city": str(number)})) for number in range(_BLOCKS)), stop="tool_use"
        ),
    ),
    (_TOOL, lambda: _stream(_tool(0, *_LONG_INPUT[:_DELTAS], _LONG_INPUT[_DELTAS:]), stop="tool_use")),
    (
        _TEXT | {"citationsContent"},
        lambda: _stream(_cited(_delta(text="")), _cited(), _cited(*_text("It ", "rains")), _text(".")),
    ),
    (_TEXT | _TOOL | {"toolResult"}, lambda: _stream(*_served("success"), _text("Done."))),
    (_TEXT | _TOOL | {"toolResult"}, lambda: _stream(*_served("error"), _text("Done."))),
    (
        _TEXT | {"reasoningContent"},
        lambda: _stream(_thought("first", "c2lnbmVk"), _thought("second"), _text("done")),
    ),
)
"""The kinds of the blocks of each extreme answer, with the function that makes the answer."""


@cache
def _made() -> Sequence[tuple[frozenset[str], Reply]]:
    """Make the answers of _EXTREMES, except those with blocks that the installed botocore does not have."""
    lacking: set[str] = set() if bedrock.has_member("ContentBlockDelta", "toolResult") else {"toolResult"}
    return [(kinds, make()) for kinds, make in _EXTREMES if not kinds & lacking]


def extremes(kinds: Iterable[str]) -> list[Reply]:
    """Return the extreme answers that contain only blocks of these kinds."""
    chosen = {*kinds}
    return [answer for needed, answer in _made() if needed <= chosen]
