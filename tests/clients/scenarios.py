"""What every client must make of an answer, through every transport that can carry it, as one table.

A suite brings an `Ask`, what one client gives for a question, told in neutral words as a `Result`; and a table of how
that client is known to differ.
"""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Final

import pytest

from converse_harness import Call, Fake, Reply, faults, reply
from converse_harness.endpoint.call import CallOutcome
from converse_harness.server.mounts import ServerFake

MODEL: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
QUESTION: Final = "What is it like in Zürich?"
TOOL_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
REQUEST: Final[dict[str, Any]] = {
    "modelId": MODEL,
    "messages": [{"role": "user", "content": [{"text": QUESTION}]}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": TOOL_SCHEMA}}}]},
}

CONVERSE: Final = "Converse"
STREAM: Final = "ConverseStream"

CONNECTION: Final = "connection"
"""The error of a client whose connection broke, whatever its class is called."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a client made of one answer.

    `tools` are names with the canonical JSON of their parsed input, `stop` is a StopReason of the AWS API, `usage`
    input and output tokens, `error` the name of AWS's error shape or CONNECTION, `said` its text.
    """

    text: str = ""
    reasoning: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    stop: str | None = None
    usage: tuple[int, int] | None = None
    error: str | None = None
    said: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Order:
    """What a client is to do.

    Call `operation` of `fake` with REQUEST, call `on_piece` for each piece of the text that a stream brings, and leave
    the stream when the text so far is `leave_at`.
    """

    operation: str
    fake: Fake
    on_piece: Callable[[], None] = lambda: None
    leave_at: str | None = None


Ask = Callable[[Order], Result]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One answer and what clients make of it: of the stream, and of the whole body (None: only a stream can be so).

    `leave_at` is the text at which the client leaves; a stream that is `paced` must be seen while it is being sent; of
    one that is `lossy` the last events may get lost. `outcomes` are what the Call may say of its end.
    """

    reply: Reply
    stream: Result
    whole: Result | None
    leave_at: str | None = None
    paced: bool = False
    lossy: bool = False
    outcomes: tuple[CallOutcome, ...] = ("complete",)


SENTENCE: Final = "Grüezi! 18 °C 🌤 and sunny."
USAGE: Final = {"inputTokens": 12, "outputTokens": 7, "totalTokens": 19}
USED: Final = (12, 7)
PIECES: Final = ("one", " two", " three", " four", " five", " six", " seven", " eight")
LONG_PIECES: Final = ("la ",) * 400
COUNT: Final = "".join(PIECES)
TWO_DELTAS: Final = "one two"
"""The text in the first three events of COUNT: messageStart and two deltas of a word each."""


def canonical(value: object) -> str:
    """JSON in one form, for comparison."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def counted() -> Reply:
    """An answer that counts, one word a delta where it fails."""
    return reply.message({"text": COUNT}, usage=USAGE, pieces={0: PIECES})


def alike(answer: Reply, result: Result, *, paced: bool = False) -> Scenario:
    """A scenario with the same Result for both operations."""
    return Scenario(answer, result, result, paced=paced)


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "text": alike(
        reply.message({"text": SENTENCE}, usage=USAGE),
        Result(text=SENTENCE, stop="end_turn", usage=USED),
    ),
    "tool": alike(
        reply.message(
            {"text": "Let me look."},
            {"toolUse": {"name": "get_weather", "input": {"city": "Zürich", "days": 2}}},
            usage=USAGE,
        ),
        Result(
            text="Let me look.",
            tools=(("get_weather", '{"city": "Zürich", "days": 2}'),),
            stop="tool_use",
            usage=USED,
        ),
    ),
    "reasoning": alike(
        reply.message(
            {"reasoningContent": {"reasoningText": {"text": "Föhn, so it is warm.", "signature": "c2lnbmVk"}}},
            {"text": "Warm."},
            usage=USAGE,
        ),
        Result(text="Warm.", reasoning="Föhn, so it is warm.", stop="end_turn", usage=USED),
    ),
    "max tokens": alike(
        reply.message({"text": COUNT}, usage=USAGE, stop_reason="max_tokens"),
        Result(text=COUNT, stop="max_tokens", usage=USED),
    ),
    "error before the stream": alike(
        reply.error("ValidationException", "The model does not like it."),
        Result(error="ValidationException", said="The model does not like it."),
    ),
    "throttled": alike(
        reply.throttled("Too many of you."),
        Result(error="ThrottlingException", said="Too many of you."),
    ),
    "exception inside the stream": Scenario(
        counted().fails_after(3, "modelStreamErrorException", "The model fell over."),
        stream=Result(text=TWO_DELTAS, error="ModelStreamErrorException", said="The model fell over."),
        whole=Result(error="ModelErrorException", said="The model fell over."),
    ),
    "pauses": alike(
        counted().paced(first=0.1, each=0.04),
        Result(text=COUNT, stop="end_turn", usage=USED),
        paced=True,
    ),
    "reset": Scenario(
        counted().paced(each=0.04).broken(faults.reset, after=4),
        stream=Result(text="one two three", error=CONNECTION),
        whole=Result(error=CONNECTION),
        lossy=True,
        outcomes=("cut",),
    ),
    "closed in the middle of a frame": Scenario(
        counted().broken(faults.closed, after=3),
        stream=Result(text=TWO_DELTAS, error=CONNECTION),
        whole=Result(error=CONNECTION),
        outcomes=("cut",),
    ),
    "a stream that stands still": Scenario(
        counted().broken(faults.stall, after=3),
        stream=Result(text=TWO_DELTAS),
        whole=None,
        leave_at=TWO_DELTAS,
        outcomes=("cut", "closed by client"),  # as the fake sees it; or as the client, if it left before that
    ),
    "the client leaves": Scenario(
        reply.text("".join(LONG_PIECES), pieces=LONG_PIECES).paced(each=0.05),
        stream=Result(text="la la "),
        whole=None,
        leave_at="la la ",
        outcomes=("closed by client",),
    ),
}

CASES: Final = [
    (name, operation)
    for name, scenario in SCENARIOS.items()
    for operation in (STREAM, CONVERSE)
    if operation == STREAM or scenario.whole is not None
]
"""Names and operations, for `pytest.mark.parametrize`."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """How one client is known to differ in one scenario, and why.

    `changes` are members of the Result, `calls` is how often it asks; what it does only `sometimes` it need not do.
    """

    why: str
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    calls: int = 1
    sometimes: bool = False


Deviations = Mapping[tuple[str, str], Deviation]
"""By name of the scenario and operation."""


def run(
    name: str,
    operation: str,
    transport: Callable[[Reply], Fake],
    ask: Ask,
    deviations: Deviations = MappingProxyType({}),
) -> None:
    """Open a fake, ask it with a client that finds it by its variables if it has any, and compare with the table."""
    scenario = SCENARIOS[name]
    expected = scenario.stream if operation == STREAM else scenario.whole
    assert expected is not None
    deviation = deviations.get((name, operation), Deviation("it does not"))
    allowed = [replace(expected, **deviation.changes), *([expected] if deviation.sometimes else [])]
    sent: list[int] = []
    with transport(scenario.reply.times(deviation.calls)) as fake, pytest.MonkeyPatch.context() as patch:
        if isinstance(fake, ServerFake):
            for variable, value in fake.environ.items():
                patch.setenv(variable, value)
        result = ask(Order(operation, fake, lambda: sent.append(len(fake.calls[-1].events)), scenario.leave_at))
        if scenario.lossy:
            assert expected.text.startswith(result.text)
            assert result.text or operation == CONVERSE
            result = replace(result, text=expected.text)
        assert result in allowed, result
        assert allowed[allowed.index(result)].said in result.said
        assert len(fake.calls) == deviation.calls
        call = fake.calls[-1]
        assert (call.operation, call.model_id, call.last_user_text) == (operation, MODEL, QUESTION)
        wait_until(lambda: _ended(call))
        assert call.outcome in scenario.outcomes
        if scenario.paced and operation == STREAM:
            _check_pace(sent, len(call.events))


def _ended(call: Call) -> bool:
    if call.outcome == "still running":
        gc.collect()  # litellm's plain streams have no close(), and hold themselves
    return call.outcome != "still running"


def _check_pace(sent: list[int], total: int) -> None:
    """Whoever keeps back what arrived sees its first piece when everything was sent."""
    early = sum(1 for _ in takewhile(lambda count: count < total, sent))
    assert sent[0] < total, "the client saw nothing before everything was sent"
    assert early > 1, sent


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for what another thread or process is about to do; fails after `seconds`."""
    pause = threading.Event()
    for _ in range(round(seconds / 0.005)):
        if holds():
            return
        pause.wait(0.005)
    raise AssertionError("waited in vain")


@dataclass(slots=True)
class Fold:
    """Puts a Result together from AWS events, or from a whole answer, as plain dicts with wire names."""

    order: Order
    result: Result = field(default_factory=Result)
    inputs: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])

    def take(self, event: Mapping[str, Any]) -> bool:
        """Add an event; whether the client is to leave now."""
        now = self.result
        match event:
            case {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": {"name": name}}}}:
                self.inputs[index] = (name, "")
            case {"contentBlockDelta": {"delta": {"text": text}}}:
                self.result = replace(now, text=now.text + text)
                self.order.on_piece()
            case {"contentBlockDelta": {"delta": {"reasoningContent": {"text": text}}}}:
                self.result = replace(now, reasoning=now.reasoning + text)
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": part}}}}:
                name, before = self.inputs[index]
                self.inputs[index] = (name, before + part)
            case {"messageStop": {"stopReason": reason}}:
                tools = tuple((name, canonical(json.loads(text))) for name, text in self.inputs.values())
                self.result = replace(now, stop=reason, tools=tools)
            case {"metadata": {"usage": usage}}:
                self.result = replace(now, usage=(usage["inputTokens"], usage["outputTokens"]))
            case _:
                pass
        return self.order.leave_at is not None and self.result.text == self.order.leave_at

    def fail(self, error: str, said: object) -> Result:
        """The Result so far, with an error."""
        return replace(self.result, error=error, said=str(said))


def shape_name(code: str) -> str:
    """The error shape of a code: the member of a stream begins in lower case, its shape does not."""
    return code[:1].upper() + code[1:]


def whole(answer: Mapping[str, Any]) -> Result:
    """The Result of a plain Converse answer as a dict with wire names."""
    content = answer["output"]["message"]["content"]
    reasoning = [block["reasoningContent"]["reasoningText"]["text"] for block in content if "reasoningContent" in block]
    uses = [block["toolUse"] for block in content if "toolUse" in block]
    return Result(
        text="".join(block["text"] for block in content if "text" in block),
        reasoning="".join(reasoning),
        tools=tuple((use["name"], canonical(use["input"])) for use in uses),
        stop=answer["stopReason"],
        usage=(answer["usage"]["inputTokens"], answer["usage"]["outputTokens"]),
    )
