"""Compute which results of a consumer are right for given replies. A consumer is code that reads answers of Bedrock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice, takewhile
from math import inf
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock.families import OVERFLOW_IN_STREAM, OVERFLOWS
from converse_harness.bedrock.guardrails import actions_in
from converse_harness.contract.running import TOOL
from converse_harness.endpoint.render import STREAM_ERRORS
from converse_harness.faults import FAULTS
from converse_harness.faults.model import Fault, FaultPlacement, Reaction
from converse_harness.faults.order import OrderFault
from converse_harness.json_values import is_object, object_of, parsed_json
from converse_harness.reply.body import ErrorBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.grammar import BLOCK_EVENTS, ERROR_FRAME, UNIONS, is_exception, kind
from converse_harness.words import is_blank

BETWEEN: Final = ("", "\n", "\n\n", " ")
"""The texts with which consumers join the texts of several blocks, or of several answers."""

OVERFLOW: Final = "ContextOverflow"
"""In the setting `errors` of a contract, this name means that the conversation is too long."""


def _with(reaction: Reaction) -> frozenset[str]:
    return frozenset(name for name, fault in FAULTS.items() if fault.reaction == reaction)


HARMLESS: Final = _with("ignore")
"""Faults that the consumer must ignore: its result must be the same as without the fault.

A stall that ends (see `is_endless`) is harmless as well.
"""

FATAL: Final = _with("fail")
"""Faults after which the consumer must fail, unless the complete answer was sent before the fault.

After a fault that is neither HARMLESS nor FATAL, the consumer may fail or return the answer.
"""

OBSCURE: Final = _with("either_without_tools")
"""Faults that make a tool call ambiguous, so that the consumer may leave out the call."""


class StopClass(Enum):
    """What a stop reason says of its answer; the value says it in words."""

    WHOLE = "a whole answer"
    CUT_SHORT = "an answer that is not finished"
    BLOCKED = "a guardrail's words in place of an answer, or an answer with parts masked"


STOP_REASONS: Final[Mapping[str, StopClass]] = {
    "end_turn": StopClass.WHOLE,
    "stop_sequence": StopClass.WHOLE,
    "tool_use": StopClass.WHOLE,
    "content_filtered": StopClass.CUT_SHORT,
    "malformed_model_output": StopClass.CUT_SHORT,
    "malformed_tool_use": StopClass.CUT_SHORT,
    "max_tokens": StopClass.CUT_SHORT,
    "model_context_window_exceeded": StopClass.CUT_SHORT,
    "guardrail_intervened": StopClass.BLOCKED,
}
"""Every stop reason of AWS's API model. An answer with another stop reason counts as whole."""


def stop_errors(reason: str | None) -> frozenset[str]:
    """Return the names, in the setting `errors` of a contract, of errors that a consumer may raise for a stop reason.

    The result is empty for the stop reasons of whole answers.

    >>> sorted(stop_errors("model_context_window_exceeded"))
    ['ContextOverflow', 'ModelContextWindowExceeded']
    """
    if reason is None or STOP_REASONS.get(reason, StopClass.WHOLE) is StopClass.WHOLE:
        return frozenset()
    name = "".join(word.capitalize() for word in reason.split("_"))
    return frozenset({name, OVERFLOW} if reason == "model_context_window_exceeded" else {name})


STOP_ERRORS: Final = frozenset[str]().union(*map(stop_errors, STOP_REASONS))
"""All names of `stop_errors`."""


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """The content of an answer: the text of each block, tool calls with parsed inputs, reasoning, and stop reason.

    An input that is not a JSON object stays a string. `masked` is true if, by its trace, a guardrail masked parts of
    the answer or of the question and blocked nothing.
    """

    texts: tuple[str, ...] = ()
    tool_calls: tuple[tuple[str, Any], ...] = ()
    reasoning: str = ""
    stop_reason: str | None = None
    masked: bool = field(default=False, compare=False)  # the trace comes after the content

    @property
    def readings(self) -> frozenset[str]:
        """The texts that a consumer may return: consumers join the texts of the blocks with different separators.

        A consumer may leave out blank texts before it joins the others, since Bedrock refuses them.
        """
        chosen = ([text for text in self.texts if text], [text for text in self.texts if not is_blank(text)])
        return frozenset(between.join(said) for between in BETWEEN for said in chosen)

    @property
    def calls_for_more(self) -> bool:
        """Whether the consumer has a reason to call again: the answer has tool calls, or it has no text."""
        return bool(self.tool_calls) or not any(self.texts)

    @property
    def cut_short(self) -> bool:
        """Whether the stop reason says that the answer is not finished."""
        return self.stop_reason is not None and STOP_REASONS.get(self.stop_reason) is StopClass.CUT_SHORT

    @property
    def blocked(self) -> bool:
        """Whether the text is, as far as a consumer can know, a guardrail's and not the model's."""
        stopped = self.stop_reason is not None and STOP_REASONS.get(self.stop_reason) is StopClass.BLOCKED
        return stopped and not self.masked

    @property
    def may_leave_tools(self) -> bool:
        """Whether the consumer may leave its tool calls to the caller, if it tells the stop reason.

        The model asks for tools with the stop reason `tool_use`, and some answers that do so end with `end_turn`. After
        the other stop reasons of AWS, the answer may lack something that the tool calls depend on.
        """
        return self.stop_reason in STOP_REASONS and self.stop_reason not in ("end_turn", "tool_use")

    @property
    def unreadable(self) -> bool:
        """Whether the input of a tool is not a JSON object. For such an answer, the consumer may fail."""
        return any(isinstance(given, str) for _, given in self.tool_calls)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The results of a consumer that are right for one reply, or for several replies in a row.

    The consumer may return any of the `answers` as a complete answer. If `failure` is true, it may also raise an error.
    `names` are the names that this error may have, of AWS's errors or in the setting `errors` (empty: any name). If
    `failure` is false, it may only raise an error that has one of `names`. If `obscure` is true, tool calls may be
    missing. `said` is the content that the consumer may have received before a failure.
    """

    answers: tuple[ExpectedAnswer, ...]
    failure: bool
    names: frozenset[str] = frozenset()
    obscure: bool = False
    said: ExpectedAnswer = field(default_factory=ExpectedAnswer)

    @property
    def tools(self) -> list[tuple[str, Any]]:
        """The tool calls in all of `answers`: the consumer may run these calls and no others."""
        return [call for answer in self.answers for call in answer.tool_calls]


def _answer_of(events: Iterable[Mapping[str, Any]]) -> ExpectedAnswer:
    """Assemble an answer from its events, which may be in any order: deltas are grouped by contentBlockIndex.

    Tool uses of the type server_tool_use are left out, since the consumer must not run them.
    """
    texts: dict[object, str] = {}
    inputs: dict[object, str] = {}
    tools: dict[object, str] = {}
    reasoning = ""
    stop_reason: str | None = None
    masked = False
    for event in events:
        index = object_of(next(iter(event.values()), None)).get("contentBlockIndex")
        match event:
            case {"contentBlockStart": {"start": {"toolUse": {"name": name, **rest}}}}:
                if rest.get("type") != "server_tool_use":
                    tools[index], inputs[index] = name, ""
            case {"contentBlockDelta": {"delta": {"toolUse": {"input": part}}}}:
                inputs[index] = inputs.get(index, "") + part
            case {"contentBlockDelta": {"delta": {"text": text}}}:
                texts[index] = texts.get(index, "") + text
            case {"contentBlockDelta": {"delta": {"reasoningContent": {"text": text}}}}:
                reasoning += text
            case {"messageStop": {"stopReason": reason}}:
                stop_reason = reason
            case {"metadata": {"trace": trace}}:
                done = actions_in(object_of(trace))
                masked = "ANONYMIZED" in done and "BLOCKED" not in done
            case _:
                pass
    calls = tuple((name, parsed(inputs[index])) for index, name in tools.items())
    return ExpectedAnswer(tuple(texts.values()), calls, reasoning, stop_reason, masked)


def parsed(text: str) -> Any:
    """Parse the text of a tool's input, and return {} for an empty text.

    A text that is not a JSON object is returned unchanged.
    """
    value = parsed_json(text or "{}")
    return value if is_object(value) else text


def expectation_of(replies: Sequence[Reply], asked: int | None = None) -> Expectation:
    """Return the results of a consumer that are right for several replies in a row.

    `asked` is the number of the consumer's requests: the replies that it did not ask for are no part of its result. If
    `asked` is None, the number is not known. The consumer may return the answer of any of the replies that it got. It
    may fail if the last one is a failure, or if it may have left out the last one.
    """
    parts = [_of_one(answer) for answer in _in_turn(replies, asked)]
    first, *later = parts
    if not later:
        return first
    fails = [each for each in parts if each.failure]
    last = parts[-1]
    if asked is None or last.failure:
        failure, names = bool(fails), _of_any(fails)
    else:
        failure, names = False, last.names  # the consumer got the whole answer that it asked for
    answers = tuple(answer for each in parts for answer in each.answers)
    if not fails and all(answer.tool_calls for answer in answers):
        # Each answer asks for tools. The consumer may return all of them as one, or stop and raise an error.
        answers, failure = (*answers, _joined(answers)), True
    # A stream may break after a whole answer that asks for tools. The next answer is then the one to their results.
    asking = [answer for each in parts[:-1] for answer in each.answers if answer.tool_calls]
    went_on = [_joined((run, answer)) for each in asking for run in _runs(each) for answer in last.answers]
    return replace(first, answers=(*answers, *went_on), failure=failure, names=names)


def _runs(answer: ExpectedAnswer) -> list[ExpectedAnswer]:
    """Return the answer with all its tool calls, and with those alone that a consumer can run: it may not show others.

    >>> [len(each.tool_calls) for each in _runs(ExpectedAnswer(tool_calls=((TOOL, {}), ("other", {}))))]
    [2, 1]
    """
    return [answer, replace(answer, tool_calls=tuple(call for call in answer.tool_calls if call[0] == TOOL))]


def _joined(answers: Sequence[ExpectedAnswer]) -> ExpectedAnswer:
    texts = tuple(text for each in answers for text in each.texts)
    calls = tuple(call for each in answers for call in each.tool_calls)
    return ExpectedAnswer(texts, calls, "".join(each.reasoning for each in answers), answers[-1].stop_reason)


def _in_turn(replies: Sequence[Reply], asked: int | None) -> list[Reply]:
    """Return the replies in the order in which they are sent, each as often as it is used, but at most `asked`.

    There is at least one.
    """
    if asked is None:
        return [*replies]
    each = (answer for answer in replies for _ in range(answer.uses))
    return [*islice(each, max(1, asked))]


def _of_any(fails: Sequence[Expectation]) -> frozenset[str]:
    """Return the names that an error may have after these failures; empty, for any name, if one of them allows any."""
    names = [each.names for each in fails]
    return frozenset(name for each in names for name in each) if all(names) else frozenset()


def _of_one(reply: Reply) -> Expectation:
    if isinstance(reply.plan.body, ErrorBody):
        return Expectation((), True, _names(reply.plan.body.name, reply.plan.body.members.get("message")))
    if reply.plan.no_answer:
        return Expectation((), True)
    whole = _answer_of(reply.plan.unbroken_events())
    as_sent = _answer_of(reply.events())
    if reply.plan.failure is not None:
        return _failing(reply, whole)
    placements = [each for each in reply.plan.placements if each.fault.name != "stall" or is_endless(each.fault)]
    broken = {placement.fault.name for placement in placements}
    if broken & FATAL:
        complete = all(_is_complete(reply, each, whole) for each in placements if each.fault.name in FATAL)
        return Expectation((whole,) if complete else (), True, said=whole)
    if broken <= HARMLESS:
        if whole.unreadable or not _in_order(reply):
            return Expectation((whole,), True)
        return Expectation((whole,), whole.cut_short, stop_errors(whole.stop_reason))
    readings = [*([whole] if _came(reply) else []), as_sent, _answer_of(_in_time(reply.events()))]
    return Expectation(tuple(readings), True, obscure=bool(broken & OBSCURE), said=whole)


def _came(reply: Reply) -> bool:
    """Whether all starts and deltas of the unbroken answer are sent, wherever they stand in the broken one.

    Otherwise no consumer can know the whole answer.
    """
    return not Counter(_contents(reply.plan.unbroken_events())) - Counter(_contents(reply.events()))


def _contents(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each member of each start and delta, with its value."""
    for event in events:
        for name, union in UNIONS.items():
            if name in event:
                yield from (f"{member} {value!r}" for member, value in object_of(event[name][union]).items())


def _in_time(events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the events without those of a block that has ended: a consumer may leave out what comes after the stop."""
    ended: set[object] = set()
    for event in events:
        name = next(iter(event), "")
        index = object_of(event.get(name)).get("contentBlockIndex")
        if name in BLOCK_EVENTS and index in ended:
            continue
        if name == "contentBlockStop":
            ended.add(index)
        yield event


def uses_tool(reply: Reply) -> bool:
    """Whether an answer has a tool use, of a tool of the request or of the service, apart from the answer's faults."""
    if isinstance(reply.plan.body, ErrorBody) or reply.plan.no_answer:
        return False
    events = reply.plan.unbroken_events()
    return any("toolUse" in event.get("contentBlockStart", {}).get("start", {}) for event in events)


def is_endless(fault: Fault) -> bool:
    """Whether a fault is a stall that never ends, so that the rest of the answer never arrives."""
    return fault.seconds == inf


def _in_order(reply: Reply) -> bool:
    """Whether each block of the answer ends before the next block begins. This is always so in answers of AWS.

    A consumer may treat any other stream as broken.
    """
    unfinished: object = None
    for event in reply.plan.unbroken_events():
        name = kind(event)
        if not name.startswith("contentBlock"):
            continue
        index = event[name].get("contentBlockIndex")
        if unfinished not in (None, index):
            return False
        unfinished = None if name == "contentBlockStop" else index
    return True


def _is_complete(reply: Reply, placement: FaultPlacement, whole: ExpectedAnswer) -> bool:
    """Whether the whole answer, including messageStop, was sent before the fault. `whole` is the answer without the
    fault.
    """
    if placement.fault.place == "whole answer":
        return False
    came = list(islice(reply.events(), placement.after))
    if isinstance(placement.fault, OrderFault):
        came = list(takewhile(lambda event: not is_exception(kind(event)), reply.events()))
    stop = next((number for number, event in enumerate(came) if "messageStop" in event), None)
    return stop is not None and _answer_of(came[: stop + 1]) == whole


def _failing(reply: Reply, whole: ExpectedAnswer) -> Expectation:
    assert reply.plan.failure is not None
    ((name, members),) = reply.plan.failure.event.items()
    came = list(islice(reply.events(), reply.plan.failure.after))
    complete = any("messageStop" in event for event in came)
    names: frozenset[str] = frozenset()
    if name != ERROR_FRAME and (names := _names(name[:1].upper() + name[1:], members.get("message"))):
        names |= {STREAM_ERRORS.get(name, name)}
        if complete:  # a consumer that raises at the stop reason has not read the exception
            names |= stop_errors(whole.stop_reason)
    return Expectation((whole,) if complete else (), True, names, said=_answer_of(came))


def _names(name: str, message: object) -> frozenset[str]:
    """Return the names by which a consumer may report the AWS error `name`.

    The result is empty, which accepts every name, if AWS's API model does not contain the error.
    """
    if name not in bedrock.all_errors():
        return frozenset()
    overflows = any(message == wording.message for wording in (*OVERFLOWS.values(), OVERFLOW_IN_STREAM))
    return frozenset({name, OVERFLOW} if overflows else {name})
