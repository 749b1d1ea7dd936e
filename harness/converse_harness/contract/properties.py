"""The properties of a contract: conditions that must hold for all answers that hypothesis draws."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import converse_strategies as strategies
from converse_harness import bedrock, reply
from converse_harness.contract.expectations import STOP_REASONS
from converse_harness.contract.running import TOOL
from converse_harness.faults import FAULTS
from converse_harness.reply.body import ErrorBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.grammar import ERROR_FRAME
from converse_harness.words import is_blank
from converse_strategies.values.decoding import MISTAKEN
from converse_strategies.values.lookalikes import LOOK_ALIKES
from converse_strategies.values.prose import NAMES, ODD_NAMES

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

_WIDE: Final[Mapping[str, Any]] = {
    "city": "Zürich",
    "none": None,
    "yes": True,
    "no": False,
    "zero": 0,
    "seven": 7,
    "seven as float": 7.0,
    "half": 0.5,
    "empty": "",
    "nobody": [],
    "nothing": {},
    "one": ["item"],
    "many": list(range(12)),
    " spaced ": "key",
    "deep": {"2": {"3": {"4": [{"6": "end"}]}}},
    "mixed": [None, False, True, 0, 1, 1.0, "", "1", [], {}],
    "lists": [[1], [1, 2], [], [[3]]],
    "twice": [{"a": 1}, {"a": 1}, "b", "b", 7, 7],
    "unsorted": [3, 1, 2],
}
"""An input with as many arguments, items and levels as tools have, and with a value of each type in each container."""

_NAMED: Final[Mapping[str, Any]] = {
    "city": "Bern",
    **{name: name for name in (*NAMES, *ODD_NAMES)},
    "alone": [{name: name} for name in ODD_NAMES],
}
"""An input with names of arguments that consumers confuse with something of their own."""

_LOOKS: Final = [each.text for each in LOOK_ALIKES]
"""Texts that look like a literal, a number, JSON, markup or an escape."""

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
    (_TEXT, lambda: _stream(_text(*(f"{text} " for text in (*_LOOKS, *MISTAKEN))))),
    (_TEXT, lambda: _stream(*(_text(text) for text in _LOOKS))),
    (_TOOL, lambda: _stream(_tool(0, json.dumps({"city": "Bern", "looks": _LOOKS})), stop="tool_use")),
    (_TOOL, lambda: _stream(_tool(0, json.dumps({f"look {text}": text for text in _LOOKS})), stop="tool_use")),
    (_TOOL, lambda: _stream(_tool(0, json.dumps(_WIDE)), stop="tool_use")),
    (_TOOL, lambda: _stream(_tool(0, json.dumps(_NAMED)), stop="tool_use")),
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


class DrawSettings(Protocol):
    """The settings of a contract that say what is drawn."""

    operation: ClassVar[str]
    transport: ClassVar[str]
    kinds: ClassVar[Sequence[str] | None]
    stop_reasons: ClassVar[Sequence[str] | None]
    without: ClassVar[Sequence[str]]
    examples: ClassVar[int]
    seed: ClassVar[int | None]


@dataclass(frozen=True, slots=True)
class PropertyDraw:
    """The arguments for generating the answers of a property.

    `kinds` are the kinds of blocks, and `stop_reasons` the stop reasons of legal answers (None: all). `without` are the
    names of errors, faults and stop reasons that are left out. `examples` is the number of answers. `seed` determines
    the answers (None: hypothesis chooses a seed). The database of hypothesis stores the answers that were not handled
    under `key`.
    """

    operation: str
    transport: str
    kinds: Sequence[str] | None
    stop_reasons: Sequence[str] | None
    without: Sequence[str]
    examples: int
    seed: int | None
    key: str

    @classmethod
    def of(cls, contract: DrawSettings, key: str) -> PropertyDraw:
        """Take the arguments from the settings of a contract."""
        return cls(**{name: getattr(contract, name) for name in DrawSettings.__annotations__}, key=key)

    def answers(self) -> SearchStrategy[Reply]:
        """Any legal answers."""
        answers = strategies.replies(kinds=self.kinds)
        left_out = {*self.without}
        if self.stop_reasons is None and left_out.isdisjoint(STOP_REASONS):
            return answers
        wanted = {*(STOP_REASONS if self.stop_reasons is None else self.stop_reasons)} - left_out
        return answers.filter(lambda answer: stop_reason_of(answer) in wanted)

    def failures(self) -> SearchStrategy[Reply]:
        """Errors before the stream, and inside it after any part of any legal answer."""
        return self._left(strategies.errors() | strategies.stream_errors(replies=self.answers()))

    def faults(self, names: Sequence[str] | None = None) -> SearchStrategy[Reply]:
        """Legal answers with one fault (None: any fault), as far as the transport and the operation can have it."""
        drawn = strategies.faulty_replies(
            replies=None if self.stop_reasons is None else self.answers(),
            kinds=self.kinds,
            names=names,
            transports=[self.transport],
            operations=[self.operation],
        )
        return self._left(drawn.map(lambda case: case.reply))

    def _left(self, drawn: SearchStrategy[Reply]) -> SearchStrategy[Reply]:
        left_out = {*self.without}
        return drawn.filter(lambda answer: left_out.isdisjoint(names_in(answer))) if left_out else drawn


def stop_reason_of(answer: Reply) -> str | None:
    """Return the stop reason of an answer; None if it has none."""
    stops = (event["messageStop"] for event in answer.events() if "messageStop" in event)
    return next((stop["stopReason"] for stop in stops), None)


def names_in(answer: Reply) -> Iterator[str]:
    """Yield the names of the errors and faults of an answer, as the setting `without` has them."""
    plan = answer.plan
    yield from (placement.fault.name for placement in plan.placements)
    if isinstance(plan.body, ErrorBody):
        yield plan.body.name
    if plan.failure is not None:
        (name,) = plan.failure.event
        yield "error_frame" if name == ERROR_FRAME else name


def names_of_draws() -> tuple[str, ...]:
    """Return what the setting `without` may name: stop reasons, errors before and in the stream, and faults."""
    return (*STOP_REASONS, *bedrock.all_errors(), *bedrock.stream_exceptions(), "error_frame", *FAULTS)


@dataclass(frozen=True, slots=True)
class Property:
    """A property that a consumer must have for all generated answers.

    `sentence` describes the answers, `required` describes how the consumer must react. `draws` returns the hypothesis
    strategy for the replies to the calls of one question.
    """

    name: str
    sentence: str
    required: str
    draws: Callable[[PropertyDraw], SearchStrategy[tuple[Reply, ...]]]

    def check(self, put: Callable[[Sequence[Reply]], None], drawing: PropertyDraw, *, shrink: bool = True) -> None:
        """Call `put` with all generated replies. Raises the error of `put` for the smallest replies that fail.

        If `put` raises errors of several types, an ExceptionGroup with one error of each type is raised. If `shrink` is
        false, answers that failed in an earlier run are not tried again, and the first answer that fails is not made
        smaller.
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
            report_multiple_bugs=True,  # it tells errors apart by their type
            # The health checks are off, because the consumer is slow and the strategies may draw large or rare answers.
            suppress_health_check=(
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
                HealthCheck.large_base_example,
                HealthCheck.too_slow,
            ),
        )

        def consumer(replies: Sequence[Reply]) -> None:
            put(replies)

        test = quietly(given(replies=self.draws(drawing))(consumer))
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


def _one(drawn: SearchStrategy[Reply]) -> SearchStrategy[tuple[Reply, ...]]:
    from hypothesis.strategies import tuples

    return tuples(drawn)


def _at_the_edge(drawing: PropertyDraw) -> SearchStrategy[tuple[Reply, ...]]:
    from hypothesis.strategies import sampled_from

    kinds = block_kinds() if drawing.kinds is None else drawing.kinds
    wanted = drawing.stop_reasons
    answers = [each for each in extremes(kinds) if wanted is None or stop_reason_of(each) in wanted]
    return _one(sampled_from(answers) if answers else drawing.answers())


_ENDS: Final = tuple(
    name for name, fault in FAULTS.items() if fault.reaction == "fail" and fault.seconds is None and not fault.no_answer
)
"""The faults that end an answer before its end, and that need no patience of the client."""


def _then_whole(drawing: PropertyDraw) -> SearchStrategy[tuple[Reply, ...]]:
    from hypothesis.strategies import tuples

    ends = [
        name
        for name in _ENDS
        if drawing.transport in FAULTS[name].transports
        and (drawing.operation == "ConverseStream" or FAULTS[name].on_body is not None)
        and name not in drawing.without
    ]
    failing = drawing.failures() | drawing.faults(ends) if ends else drawing.failures()
    # After two answers without a text, a consumer may give up.
    return tuples(failing, drawing.answers().filter(_has_text))


def _has_text(answer: Reply) -> bool:
    deltas = (event["contentBlockDelta"]["delta"] for event in answer.events() if "contentBlockDelta" in event)
    return any(not is_blank(delta.get("text", "")) for delta in deltas)


_ALL: Final = (
    Property(
        "any_answer",
        "Any legal answer, cut into deltas anywhere.",
        "Return the same text, tool calls and reasoning, however they are cut.",
        lambda drawing: _one(drawing.answers()),
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
        lambda drawing: _one(drawing.failures()),
    ),
    Property(
        "any_fault",
        "Any answer with exactly one breach of the protocol, anywhere.",
        "Fail, or read the clear parts; never treat a part as whole, never run an unclear tool, never hang.",
        lambda drawing: _one(drawing.faults()),
    ),
    Property(
        "any_second_try",
        "Any answer that fails or breaks off; the next call gets any whole answer.",
        "Fail, or ask again and return exactly the second answer: no text of the first one, and each tool once.",
        _then_whole,
    ),
)

PROPERTIES: Final[Mapping[str, Property]] = {each.name: each for each in _ALL}
"""Every property by its name."""
