"""What a client makes of the cases of the catalogue, in words that are the same for every client.

`made` and `made_whole` put what a client handed out into words; `case_outcomes` says what botocore makes of each case,
and every suite has a table of how its client is known to differ.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

import pytest

from converse_harness import Fake
from converse_harness.cases import CASES
from converse_harness.cases.catalogue import FAMILIES
from converse_harness.faults.model import Transport
from tests.clients.scenarios import CONVERSE, STREAM, canonical


@dataclass(frozen=True, slots=True)
class Made:
    """What a client handed out for one answer.

    `tools` are names with the input, as canonical JSON where it is JSON and as it came where it is not; `usage` input
    and output tokens; `marks` everything else that is in the answer, a few words each; `flow` the events of a stream as
    `FLOW` abbreviates them, each with its index and how often it comes in a row. `error` is the name of AWS's error
    shape, CONNECTION, or the class of any other exception; `raised` the class, where the client is built on botocore;
    `again` how often it asks again, or UNTIL_IT_GIVES_UP.
    """

    text: str = ""
    reasoning: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    stop: str | None = None
    usage: tuple[int, int] | None = None
    marks: tuple[str, ...] = ()
    error: str | None = None
    raised: str | None = None
    flow: str = ""
    again: int = 0


UNTIL_IT_GIVES_UP: Final = -1

FLOW: Final[Mapping[str, str]] = {
    "messageStart": "MS",
    "contentBlockStart": "CS",
    "contentBlockDelta": "D",
    "contentBlockStop": "CE",
    "messageStop": "ST",
    "metadata": "MD",
}


@dataclass(slots=True)
class Fold:
    """Puts a Made together from ContentBlockDeltas, ContentBlockStarts and what is around them, as dicts."""

    text: str = ""
    reasoning: str = ""
    stop: str | None = None
    usage: tuple[int, int] | None = None
    tools: list[tuple[object, str, str]] = field(default_factory=list[tuple[object, str, str]])
    marks: list[str] = field(default_factory=list[str])
    flow: list[str] = field(default_factory=list[str])

    def take(self, event: Mapping[str, Any]) -> None:
        """Add an event of a stream."""
        ((name, members),) = event.items()
        has_index = name.startswith("contentBlock")
        self.flow.append(FLOW.get(name, name) + (str(members.get("contentBlockIndex", "?")) if has_index else ""))
        match event:
            case {"contentBlockStart": {"start": start, **rest}}:
                self._start(rest.get("contentBlockIndex"), start)
            case {"contentBlockDelta": {"delta": delta, **rest}}:
                self._delta(rest.get("contentBlockIndex"), delta)
            case {"messageStop": stop}:
                self.stop = stop["stopReason"]
                self.mark_all(stop, "additionalModelResponseFields")
            case {"metadata": metadata}:
                self.metadata(metadata)
            case _:
                pass

    def _start(self, index: object, start: Mapping[str, Any]) -> None:
        match start:
            case {"toolUse": use}:
                self.tools.append((index, use["name"], ""))
                self.marks += _marked(use)
            case _:
                self.marks += [f"start {name}" for name in _names(start)]

    def _delta(self, index: object, delta: Mapping[str, Any]) -> None:
        match delta:
            case {"text": text}:
                self.text += text
            case {"toolUse": {"input": part}}:
                self._input(index, part)
            case {"reasoningContent": reasoning}:
                self.reason(reasoning)
            case {"citation": citation}:
                self.cite(citation)
            case _:
                self.marks += _names(delta)

    def _input(self, index: object, part: str) -> None:
        for place, (at, name, before) in reversed(list(enumerate(self.tools))):
            if at == index:
                self.tools[place] = (at, name, before + part)
                return
        self.tools.append((index, "", part))  # no contentBlockStart said whose it is

    def reason(self, reasoning: Mapping[str, Any]) -> None:
        """Add a ReasoningContentBlockDelta, or a reasoningText."""
        match reasoning:
            case {"redactedContent": redacted}:
                size = len(redacted if isinstance(redacted, bytes) else b64decode(redacted))
                self.marks.append(f"redacted {size} bytes")
            case {"text": _} | {"signature": _}:
                self.reasoning += reasoning.get("text", "")
                self.marks += ["signature"] if reasoning.get("signature") else []
            case _:
                self.marks += _names(reasoning)

    def cite(self, citation: Mapping[str, Any]) -> None:
        """Add a citation."""
        self.marks.append(" ".join(("cites", *citation.get("location", {}))))

    def block(self, block: Mapping[str, Any]) -> None:
        """Add a ContentBlock of a whole answer."""
        match block:
            case {"text": text}:
                self.text += text
            case {"toolUse": use}:
                self.tools.append((None, use["name"], canonical(use["input"])))
                self.marks += _marked(use)
            case {"reasoningContent": reasoning}:
                self.reason(reasoning.get("reasoningText", reasoning))
            case {"citationsContent": cited}:
                self.text += "".join(part["text"] for part in cited.get("content", ()))
                for citation in cited.get("citations", ()):
                    self.cite(citation)
            case _:
                self.marks += _names(block)

    def metadata(self, metadata: Mapping[str, Any]) -> None:
        """Add the metadata event, or the same members of a whole answer."""
        usage = metadata.get("usage")
        if usage is not None:
            self.usage = (usage["inputTokens"], usage["outputTokens"])
            cached = [usage.get(f"cache{what}InputTokens") for what in ("Read", "Write")]
            if any(cached):
                self.marks.append("cache {}+{}".format(*cached))
            self.mark_all(usage, "cacheDetails")
        for kind, told in metadata.get("trace", {}).items():
            self.marks.append(f"trace {kind}")
            for side in ("inputAssessment", "outputAssessments"):
                self.marks += [f"{side} {action}" for action in dict.fromkeys(_actions(told.get(side)))]
        self.mark_all(metadata, "performanceConfig", "serviceTier")

    def mark_all(self, members: Mapping[str, Any], *names: str) -> None:
        """Mark the members that are there."""
        self.marks += [name for name in names if members.get(name) is not None]

    def made(self, error: str | None = None, raised: str | None = None) -> Made:
        """Everything so far, in words."""
        return Made(
            text=self.text,
            reasoning=self.reasoning,
            tools=tuple((name, _readable(text)) for _, name, text in self.tools),
            stop=self.stop,
            usage=self.usage,
            marks=tuple(self.marks),
            error=error,
            raised=raised,
            flow=" ".join(_times(name, len(list(run))) for name, run in groupby(self.flow)),
        )


def _marked(use: Mapping[str, Any]) -> list[str]:
    """The type of a tool use that no client runs; "tool_use" depends on the model, and an old botocore drops it."""
    return [f"tool is {use['type']}"] if use.get("type", "tool_use") != "tool_use" else []


def _names(union: Mapping[str, Any]) -> list[str]:
    """The members of a union, as botocore tells of one that it does not know."""
    match union:
        case {"SDK_UNKNOWN_MEMBER": {"name": name}}:
            return [f"unknown {name}"]
        case _:
            return list(union) or ["nothing"]


def _actions(assessment: Any) -> Iterator[str]:
    """What was done about each finding of an assessment."""
    if isinstance(assessment, Mapping):
        action = assessment.get("action")
        if action is not None:
            yield action
        for member in assessment.values():
            yield from _actions(member)
    elif isinstance(assessment, list):
        for each in assessment:
            yield from _actions(each)


def _times(name: str, times: int) -> str:
    return name if times == 1 else f"{name}x{times}"


def _readable(text: str) -> str:
    try:
        return canonical(json.loads(text))
    except ValueError:
        return text


def made(events: Iterable[Mapping[str, Any]], error: str | None = None, raised: str | None = None) -> Made:
    """What the events of a stream amount to, and the error that ended it."""
    fold = Fold()
    for event in events:
        fold.take(event)
    return fold.made(error, raised)


def made_whole(answer: Mapping[str, Any]) -> Made:
    """What a whole answer amounts to."""
    fold = Fold()
    for block in answer.get("output", {}).get("message", {}).get("content", ()):
        fold.block(block)
    fold.stop = answer.get("stopReason")
    fold.mark_all(answer, "additionalModelResponseFields")
    fold.metadata(answer)
    return fold.made()


@dataclass(frozen=True, slots=True)
class Row:
    """What botocore makes of a case: of the stream, and of the whole body (None: only a stream can be so)."""

    stream: Made
    whole: Made | None

    def made(self, operation: str) -> Made:
        """Of one operation."""
        expected = self.stream if operation == STREAM else self.whole
        assert expected is not None
        return expected


@dataclass(frozen=True, slots=True)
class Differs:
    """How one client makes something else of a case than botocore, and why: members of the Made of each operation.

    `at_times` is what it makes of it at other times, where that is not for us to decide.
    """

    why: str
    stream: Mapping[str, Any] = field(default_factory=dict[str, Any])
    whole: Mapping[str, Any] = field(default_factory=dict[str, Any])
    at_times: Differs | None = None

    def made(self, operation: str, usual: Made) -> Made:
        """What this client makes of it; it must really differ."""
        changes = self.stream if operation == STREAM else self.whole
        own = replace(usual, **changes)
        assert own != usual or not changes, f"nothing differs: {self.why}"
        return own


Differences = Mapping[str, Differs]
"""By name of the case."""

NONE: Final[Differences] = MappingProxyType({})


def expected_of(name: str, operation: str, row: Row, differences: Differences = NONE) -> list[Made]:
    """What a client that differs from botocore in these may make of a case."""
    usual = row.made(operation)
    differs = differences.get(name)
    if differs is None:
        return [usual]
    others = [] if differs.at_times is None else [differs.at_times.made(operation, usual)]
    return [differs.made(operation, usual), *others]


def unraised(expected: list[Made]) -> list[Made]:
    """The same for a client that is not built on botocore: its exceptions have other classes."""
    return [replace(each, raised=None) for each in expected]


ASKED: Final = [
    (name, operation)
    for name, case in CASES.items()
    for operation in (STREAM, CONVERSE)
    if operation == STREAM or not case.stream_only
]
"""Names and operations, for `pytest.mark.parametrize`."""


def can_pass(name: str, transport: Transport) -> bool:
    """Whether a transport can express the case."""
    return all(
        transport in placement.fault.transports for reply in CASES[name].replies for placement in reply.plan.placements
    )


def asked_at(transport: Transport) -> list[tuple[str, str]]:
    """Those of ASKED that a transport can express."""
    return [(name, operation) for name, operation in ASKED if can_pass(name, transport)]


FAMILY: Final[Mapping[str, str]] = {case.name: family for family, make in FAMILIES.items() for case in make()}


def sampled(transport: Transport) -> list[Any]:
    """Those that a transport can express, for a client that gets the same bytes elsewhere: of each kind the first.

    A kind is a family of cases, the levels and places of their faults, and an operation. The others are slow:
    test_cases_boto3.py has every case in process, and tests/intercept/test_faults.py that every way brings the same.
    """
    kinds: set[object] = set()
    sample: list[Any] = []
    for name, operation in asked_at(transport):
        case = CASES[name]
        struck = frozenset(
            (placement.fault.level, placement.fault.place)
            for reply in case.replies
            for placement in reply.plan.placements
        )
        kind = (FAMILY[name], struck, case.stream_only, operation)
        sample.append(pytest.param(name, operation, marks=[pytest.mark.slow] if kind in kinds else []))
        kinds.add(kind)
    return sample


def answer(fake: Fake, name: str) -> None:
    """Answer as the case says, the last of its replies as often as it is asked for."""
    *first, last = CASES[name].replies
    if first:
        fake.script(*first)
    fake.always(last.times(1))


PATIENCE: Final[Mapping[str, float]] = {"read_timeout": 0.1, "stall": 0.5}
"""Seconds after which a client gives up, in the cases in which it must: nothing comes at all; something came before."""


def patience(name: str) -> float:
    """The same for any case: few where it must give up, many where a slow machine may not matter."""
    return PATIENCE.get(name, 30.0)


LOSSY: Final = frozenset({"reset", "again_lost_connection"})
"""Cases of which the socket may lose the last events: what a client has not read yet is gone when a reset comes."""


def check(fake: Fake, name: str, result: Made, expected: list[Made], attempts: int) -> None:
    """Compare what a client made of a case, and how often it asked, with what it is known to make of it."""
    asked = len(fake.calls) - 1
    allowed = [replace(each, again=attempts - 1) if each.again == UNTIL_IT_GIVES_UP else each for each in expected]
    found = replace(result, again=asked)
    if name in LOSSY and allowed[0].text.startswith(found.text):
        found = replace(found, text=allowed[0].text, flow=allowed[0].flow)
    assert found in allowed, f"{found}\nand not {' or '.join(map(str, allowed))}"
