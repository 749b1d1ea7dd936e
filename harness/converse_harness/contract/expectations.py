"""Compute which results of a consumer are right for given replies. A consumer is code that reads answers of Bedrock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice, takewhile
from math import inf
from typing import Any, Final, cast

from converse_harness import bedrock
from converse_harness.bedrock.families import OVERFLOW_IN_STREAM, OVERFLOWS
from converse_harness.bedrock.guardrails import actions_in, in_json
from converse_harness.bedrock.rules import Refusal, RuleRequest, refusal_of
from converse_harness.contract.outcome import Outcome
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.render import STREAM_ERRORS
from converse_harness.faults import FAULTS
from converse_harness.faults.model import Fault, FaultPlacement, Reaction
from converse_harness.faults.order import OrderFault
from converse_harness.json_values import is_array, is_object, member_of, object_of, parsed_json
from converse_harness.reply.body import ErrorBody, is_blank
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import Response
from converse_harness.stream.grammar import ERROR_FRAME, is_exception, kind
from converse_harness.words import cut

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
        """The texts that a consumer may return: consumers join the texts of the blocks with different separators."""
        said = [text for text in self.texts if text]
        return frozenset(between.join(said) for between in ("", "\n", "\n\n", " "))

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


def expectation_of(replies: Sequence[Reply]) -> Expectation:
    """Return the results of a consumer that are right for several replies in a row.

    The consumer may return the answer of any of the replies, or an error that fits the first reply.
    """
    first, *later = map(_of_one, replies)
    for each in later:
        first = Expectation((*first.answers, *each.answers), True, first.names, first.obscure, first.said)
    return first


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
    return Expectation((whole, as_sent), True, obscure=bool(broken & OBSCURE), said=whole)


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


def _blocks(response: Response) -> list[Mapping[str, Any]]:
    blocks: list[Mapping[str, Any]] = response.message["content"]
    return blocks


def _held(response: Response, *path: str) -> list[Any]:
    """Return the value at a path of keys in each content block that has this path."""
    found = (member_of(block, *path) for block in _blocks(response))
    return [value for value in found if value is not None]


@dataclass(frozen=True, slots=True)
class _OutcomePlace:
    """A member of the Outcome: `sent` reads its value from an answer of the fake.

    `shape` is the name of the AWS shape of the value or, for a list, of its items. It is None if AWS's API model does
    not restrict the value. `whole` is true if the value does not come from content blocks: a consumer that called again
    may return the sum of several answers. `in_json` converts a value from a stream to its form in a Converse answer.
    `compared` returns the part of a value that is compared.
    """

    sent: Callable[[Response], Any]
    shape: str | None
    whole: bool = False
    in_json: Callable[[Any], Any] = lambda sent: sent
    compared: Callable[[Any], Any] = lambda value: value


def _without_blanks(content: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [block for block in content if not is_blank(block)]


PLACES: Final[Mapping[str, _OutcomePlace]] = {
    "signatures": _OutcomePlace(lambda answer: _held(answer, "reasoningContent", "reasoningText", "signature"), None),
    "redacted": _OutcomePlace(lambda answer: _held(answer, "reasoningContent", "redactedContent"), None),
    "citations": _OutcomePlace(
        lambda answer: [each for some in _held(answer, "citationsContent", "citations") for each in some], "Citation"
    ),
    "images": _OutcomePlace(lambda answer: _held(answer, "image"), "ImageBlock"),
    "tool_results": _OutcomePlace(lambda answer: _held(answer, "toolResult"), "ToolResultBlock"),
    "usage": _OutcomePlace(lambda answer: answer.usage or {}, "TokenUsage", whole=True),
    "trace": _OutcomePlace(lambda answer: answer.trace or {}, "ConverseTrace", whole=True, in_json=in_json),
    "additional": _OutcomePlace(
        lambda answer: {} if answer.additional is None else answer.additional, None, whole=True
    ),
    "content": _OutcomePlace(_blocks, "ContentBlock", whole=True, compared=_without_blanks),
}
"""The members of an Outcome that are compared with the answer that the fake sent."""

SHOWN_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "toolUse": ("tool_calls",),
    "reasoningContent": ("reasoning", "signatures", "redacted", "content"),
    "citationsContent": ("citations", "content"),
    "toolResult": ("tool_results", "content"),
    "image": ("images", "content"),
}
"""Maps each kind of block to the members of an Outcome that show it. A kind is compared if one of them is not None."""


def _responses(calls: Iterable[Call]) -> list[Response]:
    """Return the answers that the fake sent completely."""
    return [response for call in calls if (response := call.response) is not None]


def difference(outcome: Outcome, calls: Iterable[Call], *, went_on: bool) -> tuple[str, bool] | None:
    """Return how the outcome differs from the sent answer in the first member that differs.

    The result is a description, and True if a part of the member is missing but the rest is right. The result is None
    if no member differs, or if no call got a whole answer. If the fake sent several answers, the outcome may agree with
    any of them.

    If `went_on` is true, the outcome may combine several answers. Then only the members whose values come from content
    blocks are compared. They may agree with any one answer, or with an answer that has the blocks of all answers.
    """
    responses = _responses(calls)
    if responses and went_on:
        blocks = [block for response in responses for block in _blocks(response)]
        responses.append(Response({"role": "assistant", "content": blocks}, "end_turn"))
    found = [_first(outcome, response, whole=not went_on) for response in responses]
    return None if None in found or not found else found[0]


def _first(outcome: Outcome, response: Response, *, whole: bool) -> tuple[str, bool] | None:
    for name, place in PLACES.items():
        given = getattr(outcome, name)
        if given is None or (place.whole and not whole):
            continue
        sent, got = (place.compared(_plain(value)) for value in (place.sent(response), given))
        if all(got not in (form, _modelled(place.shape, form)) for form in (sent, place.in_json(sent))):
            return f"{name} {_shown(got)}; it was {_shown(sent)}", _is_part(got, sent)
    return None


def refusal_of_kept(content: Iterable[Mapping[str, Any]], call: Call) -> Refusal | None:
    """Return how Bedrock would refuse the texts in `content` as a message of the next request; None if it would not.

    `call` is the call whose model the next request asks.
    """
    texts = [{"text": str(block["text"])} for block in content if "text" in block]
    asked = {"role": "user", "content": [{"text": "?"}]}
    body = {"messages": [asked, {"role": "assistant", "content": texts}, asked] if texts else [asked]}
    return refusal_of(RuleRequest(call.operation or "", call.model_id, body, call.stands_for))


def unshown(outcome: Outcome, calls: Iterable[Call], kinds: Iterable[str]) -> str | None:
    """Return the first kind in `kinds` of which the fake sent a block, but which no member of the outcome shows.

    Return None if there is no such kind.
    """
    sent = {name for response in _responses(calls) for block in _blocks(response) for name in block}
    for name in kinds:
        if name in sent and all(getattr(outcome, place) is None for place in SHOWN_BY.get(name, ())):
            return name
    return None


def _plain(value: Any) -> Any:
    """Copy a value with a dict for each mapping, a list for each tuple and bytes for each bytearray.

    Two such copies are equal if their contents are equal.
    """
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {name: _plain(member) for name, member in members.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return bytes(value) if isinstance(value, bytearray) else value


def _modelled(shape_name: str | None, value: Any) -> Any:
    """Return the value as botocore would parse it: without members that AWS's API model does not have.

    `shape_name` is the name of the AWS shape of the value, or of the items of a list.
    """
    if shape_name is None or not bedrock.has_shape(shape_name):
        return value
    shape = bedrock.shape(shape_name)
    return [_known(shape, item) for item in value] if is_array(value) else _known(shape, value)


def _known(shape: Any, value: Any) -> Any:
    if is_object(value) and shape.type_name == "structure" and not bedrock.is_document(shape):
        return {name: _known(shape.members[name], member) for name, member in value.items() if name in shape.members}
    if is_object(value) and shape.type_name == "map":
        return {name: _known(shape.value, member) for name, member in value.items()}
    if is_array(value) and shape.type_name == "list":
        return [_known(shape.member, item) for item in value]
    return value


def _is_part(got: Any, sent: Any) -> bool:
    """Whether `got` is `sent`, or a part of it: fewer members, fewer items in the same order, or a piece of a text."""
    if is_object(got) and is_object(sent):
        return all(name in sent and (sent[name] == each or _is_part(each, sent[name])) for name, each in got.items())
    if is_array(got) and is_array(sent):
        left = iter(sent)
        return all(any(item == each or _is_part(each, item) for item in left) for each in got)
    return isinstance(got, str) and isinstance(sent, str) and got in sent


_MOST: Final = 80


def _shown(value: object) -> str:
    return cut(repr(value), _MOST)
