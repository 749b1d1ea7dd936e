"""The properties of a contract: conditions that must hold for all answers that hypothesis draws."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import converse_strategies as strategies
from converse_harness import bedrock, reply
from converse_harness.contract.running import TOOL
from converse_harness.reply.reply import Reply

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase
    from hypothesis.strategies import SearchStrategy


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


class Unending(BaseException):
    """Raised if the consumer had to be stopped; `error` is the exception that the test raises instead.

    The class is a BaseException, so that hypothesis does not shrink the answer: each attempt would take the whole time
    limit.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


@dataclass(frozen=True, slots=True)
class PropertyDraw:
    """The arguments for generating the answers of a property.

    `kinds` are the kinds of blocks (None: all) and `examples` is the number of answers. `seed` determines the answers
    (None: hypothesis chooses a seed). The database of hypothesis stores the answers that were not handled under `key`.
    """

    operation: str
    transport: str
    kinds: Sequence[str] | None
    examples: int
    seed: int | None
    key: str


@dataclass(frozen=True, slots=True)
class Property:
    """A property that a consumer must have for all generated answers.

    `sentence` describes the answers, `required` describes how the consumer must react. `draws` takes the kinds of
    blocks, the operation and the transport, and returns the hypothesis strategy for the answers.
    """

    name: str
    sentence: str
    required: str
    draws: Callable[[Sequence[str], str, str], SearchStrategy[Reply]]

    def check(self, put: Callable[[Reply], None], drawing: PropertyDraw, *, shrink: bool = True) -> None:
        """Call `put` with each generated answer. Raises the error of `put` for the smallest answer that fails.

        If `shrink` is false, answers that failed in an earlier run are not tried again, and the first answer that fails
        is not made smaller.
        """
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import seed as seeded

        phases = (Phase.reuse, Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
        database = settings.default.database if settings.default is not None else None
        quietly = settings(
            max_examples=drawing.examples,
            deadline=None,
            derandomize=False,  # not needed, because `seed` determines the answers
            database=None if database is None or not shrink else _own_part(database, f"{drawing.key}:{self.name}"),
            phases=phases,  # without the phase `explain`, which would run the consumer again
            report_multiple_bugs=False,
            # The health checks are off, because the consumer is slow and the strategies may draw large or rare answers.
            suppress_health_check=(
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
                HealthCheck.large_base_example,
                HealthCheck.too_slow,
            ),
        )

        def consumer(answer: Reply) -> None:
            put(answer)

        kinds = block_kinds() if drawing.kinds is None else drawing.kinds
        test = quietly(given(answer=self.draws(kinds, drawing.operation, drawing.transport))(consumer))
        try:
            # If a long answer fails, hypothesis warns about the length of its representation, which is never printed.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Generating overly large repr")
                (test if drawing.seed is None else seeded(drawing.seed)(test))()
        except Unending as unending:
            raise unending.error from None


def _own_part(database: ExampleDatabase, key: str) -> ExampleDatabase:
    """Return a part of `database` that has its own keys and stores the answers of one property of one contract.

    Otherwise all properties would share one key, because hypothesis derives the key from the source of the test
    function.
    """
    from hypothesis.database import ExampleDatabase

    class OwnPart(ExampleDatabase):
        def fetch(self, key: bytes) -> Iterable[bytes]:
            return database.fetch(_of(key))

        def save(self, key: bytes, value: bytes) -> None:
            database.save(_of(key), value)

        def delete(self, key: bytes, value: bytes) -> None:
            database.delete(_of(key), value)

    def _of(given: bytes) -> bytes:
        return hashlib.sha384(key.encode() + given).digest()

    return OwnPart()


def block_kinds() -> tuple[str, ...]:
    """Return the kinds of content blocks that generated answers may have."""
    from converse_strategies.message.blocks import streamable

    return tuple(streamable())


def _at_the_edge(kinds: Sequence[str], operation: str, transport: str) -> SearchStrategy[Reply]:
    from hypothesis.strategies import sampled_from

    return sampled_from(answers) if (answers := extremes(kinds)) else strategies.replies(kinds=kinds)


_ALL: Final = (
    Property(
        "any_answer",
        "Any legal answer, cut into deltas anywhere.",
        "Return the same text, tool calls and reasoning, however they are cut.",
        lambda kinds, operation, transport: strategies.replies(kinds=kinds),
    ),
    Property(
        "any_extreme",
        "An answer at the edge: many blocks or deltas, long texts and inputs, large numbers, cut in odd places.",
        "Return the same text, tool calls and reasoning, however long they are.",
        _at_the_edge,
    ),
    Property(
        "any_failure",
        "Any error before the stream or inside it, after any part of any answer.",
        "Fail, or ask again; never treat the part as whole, and run none of its tools.",
        lambda kinds, operation, transport: (
            strategies.errors() | strategies.stream_errors(replies=strategies.replies(kinds=kinds))
        ),
    ),
    Property(
        "any_fault",
        "Any answer with exactly one breach of the protocol, anywhere.",
        "Fail, or read the clear parts; never treat a part as whole, never run an unclear tool, never hang.",
        lambda kinds, operation, transport: strategies.faulty_replies(
            kinds=kinds, transports=[transport], operations=[operation]
        ).map(lambda case: case.reply),
    ),
)

PROPERTIES: Final[Mapping[str, Property]] = {each.name: each for each in _ALL}
"""Every property by its name."""
