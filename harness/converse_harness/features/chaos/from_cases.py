"""Make a fault of chaos from a case of the catalogue: what the case changes in its answer is changed in a test's reply.

Most cases have the catalogue's usual text among their content. What stands beside this text is added to the test's own
content; the stop reason and the other members replace the test's own. Without the usual text, the case's answer came
instead. An error replaces the reply, and an exception frame stands in it at the same place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from converse_harness import bedrock, faults, reply
from converse_harness.cases.again import again_cases
from converse_harness.cases.case import Case
from converse_harness.cases.messages import ANSWER, USAGE
from converse_harness.cases.tools import ANY_INPUT
from converse_harness.endpoint.call import SCRIPTED
from converse_harness.errors import ReplyError
from converse_harness.faults.model import Fault
from converse_harness.json_schema.checking import holds
from converse_harness.json_schema.parts import SchemaPart, Unsatisfied
from converse_harness.reply.answer import meant
from converse_harness.reply.body import METADATA, ErrorBody, EventsBody, MessageBody, StreamFailure
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import assemble
from converse_harness.stream.chunk import default_stop_reason

Tools = Sequence[Mapping[str, Any]]
"""The `toolConfig.tools` of a request."""

Make = Callable[[Reply, Tools], Reply]

CodeReaction = Literal["fail", "ignore", "tell"]
"""What the code under test must do after a fault, as `Damage` describes it."""

Lasting = Literal["once", "attempts", "ever"]
"""Which repetitions of a request fail too, as `Damage` describes it."""

STREAM: Final = ("ConverseStream",)


@dataclass(frozen=True, slots=True)
class Damage:
    """A fault of a reply: its name, a sentence that describes it, and a function that returns the reply with the fault.

    The function raises ReplyError if the reply cannot have the fault. `operations` are the operations whose answers can
    have it. `reaction` is what the code under test must do: "fail" (raise, report, or ask again), "ignore" (it may
    continue as if there were no fault), or "tell" (tell its caller, in data that the test may not read). `lasts` tells
    which repetitions of the request fail too: none ("once"), those until the code gives up or waits ("attempts"), or
    all ("ever"). `mistake` is true if the model made a mistake that it corrects when it is told. `replaces` is true if
    the answer says something else than the test's reply.
    """

    name: str
    sentence: str
    make: Make
    operations: tuple[str, ...] = SCRIPTED
    reaction: CodeReaction = "fail"
    lasts: Lasting = "once"
    mistake: bool = False
    replaces: bool = False


MAY_BE_IGNORED: Final = frozenset(name for name, fault in faults.FAULTS.items() if fault.reaction != "fail")
"""The names of faults after which a client may use what it has read."""


def breach(name: str, sentence: str, fault: Fault) -> Damage:
    """Return the damage that breaks the protocol with `fault`."""
    operations = STREAM if fault.on_body is None else SCRIPTED
    reaction: CodeReaction = "ignore" if fault.name in MAY_BE_IGNORED else "fail"
    in_tool = fault.name == "cut_in_tool_input"
    return Damage(name, sentence, lambda own, _: own.broken(fault), operations, reaction, mistake=in_tool)


NO_FAULTS: Final = frozenset(
    (
        *("text_basic", "stop_end_turn", "stop_tool_use", "tool_one_delta"),  # an answer as it usually comes
        *("tool_no_input", "tool_empty_delta", "tool_parallel", "tool_for_ever", "tool_raises"),  # another question
        "tool_interleaved",  # as the fault blocks_interleaved
        *(case.name for case in again_cases()),  # as the faults and the frames that their first answers have
        "image_block",  # no model is known to answer so, and Bedrock refuses an image that code keeps
    )
)
"""The cases that change nothing of a reply, or that are about more than one reply."""

_WHOLE: Final = ("end_turn", "tool_use", "stop_sequence")
"""The stop reasons of an answer that is whole."""

_PASSES: Final = (408, 424, 429, 500, 503)
"""The statuses of errors that may be over when the same request comes again."""

_KEEP_THE_TEXT: Final = ("guardrail_masked",)
"""Cases with a text of their own, in whose place the test's text stands."""


def damage_of(case: Case) -> Damage | None:
    """Return the damage that a case describes; None if the case changes nothing of a reply.

    The answer of a case with several replies is the first one.
    """
    answer = replace(case.reply, uses=1)
    plan, sentence = answer.plan, case.sentence.rstrip(".").replace(";", ",")
    if case.name in NO_FAULTS:
        return None
    if case.name in _TOOLS:
        return replace(_meaning(_TOOLS[case.name], case.misfits), name=case.name, sentence=sentence)
    if plan.placements:
        return breach(case.name, sentence, plan.placements[0].fault)
    match plan.body:
        case ErrorBody(status=status):
            lasts: Lasting = "once" if status in _PASSES or status == 200 else "ever"
            return Damage(case.name, sentence, lambda _, __: answer, lasts=lasts)
        case _ if plan.failure is not None:
            return _failing(case.name, sentence, answer, plan.failure)
        case MessageBody() as body:
            return _other_message(case.name, sentence, body)
        case EventsBody() as body:
            make: Make = lambda own, _: _with_more_events(body.events, own)  # noqa: E731
            return Damage(case.name, sentence, make, STREAM, "ignore")
        case _:
            return None


def _meaning(damage: Damage, misfits: tuple[str, ...]) -> Damage:
    """Return a damage whose replies are meant not to fit their requests by these rows."""

    def make(own: Reply, tools: Tools) -> Reply:
        return meant(damage.make(own, tools), misfits)

    return replace(damage, make=make) if misfits else damage


def _failing(name: str, sentence: str, answer: Reply, failure: StreamFailure) -> Damage:
    before = [*answer.events()]
    in_tool = any("toolUse" in str(kind_of_start(event)) for event in before)
    is_last = failure.after == len(before) - 1

    def make(own: Reply, _: Tools) -> Reply:
        events = [*own.events()]
        inputs = [at for at, event in enumerate(events) if "toolUse" in _delta(event)]
        if in_tool and len(inputs) < 2:
            raise ReplyError("the reply has no input of a tool in several parts")
        after = inputs[1] if in_tool else len(events) - 1 if is_last else len(events) // 2 if failure.after else 0
        return replace(own, plan=replace(own.plan, failure=replace(failure, after=after), recorded=None))

    lasts: Lasting = "ever" if failure.name == "validationException" else "once"
    return Damage(name, sentence, make, STREAM, "ignore" if is_last else "fail", lasts)


def kind_of_start(event: Mapping[str, Any]) -> str:
    """Return the kind of block that an event starts, for example "toolUse"; "" for any other event."""
    return next(iter(event.get("contentBlockStart", {}).get("start", {})), "")


def _delta(event: Mapping[str, Any]) -> Mapping[str, Any]:
    delta: Mapping[str, Any] = event.get("contentBlockDelta", {}).get("delta", {})
    return delta


def _message_of(own: Reply) -> MessageBody:
    """Return a whole answer as a message."""
    if isinstance(own.plan.body, MessageBody):
        return own.plan.body
    answer = assemble(own.events())
    members = {
        "usage": answer.usage,
        "metrics": answer.metrics,
        "trace": answer.trace,
        "performanceConfig": answer.performance_config,
        "serviceTier": answer.service_tier,
        "additionalModelResponseFields": answer.additional,
    }
    options = {name: value for name, value in members.items() if value is not None}
    return MessageBody(tuple(answer.message["content"]), answer.stop_reason, options=options, strict=False)


def _with_body(own: Reply, body: MessageBody | EventsBody) -> Reply:
    return replace(own, plan=replace(own.plan, body=body, recorded=None))


def _tool_at(body: MessageBody) -> int:
    """Return the index of the first use of a tool that the client runs. Raises ReplyError if there is none."""
    for index, block in enumerate(body.content):
        if block.get("toolUse", {"type": "server_tool_use"}).get("type") != "server_tool_use":
            return index
    raise ReplyError("the reply asks for no tool")


def _other_message(name: str, sentence: str, body: MessageBody) -> Damage:
    usual: Mapping[str, Any] = {"text": ANSWER}
    content: Sequence[Mapping[str, Any]] = (usual,) if name in _KEEP_THE_TEXT else body.content
    citations: list[Mapping[str, Any]] = [block["citationsContent"] for block in content if "citationsContent" in block]
    cited = next((each for each in citations if each.get("content")), None)
    stop = None if body.stop_reason == default_stop_reason(content) else body.stop_reason
    masked = stop == "guardrail_intervened" and "trace" in body.options
    known = body.stop_reason in bedrock.enum("StopReason")
    keeps = usual in content or cited is not None
    whole = keeps and (body.stop_reason in _WHOLE or masked or not known)

    def make(own: Reply, _: Tools) -> Reply:
        if not keeps:
            return _with_body(own, body)
        mine = _message_of(own)
        before, after = _around(content, usual) if usual in content else ((), ())
        pieces = {index + len(before): each for index, each in (mine.pieces or {}).items()}
        said = [*before, *mine.content, *after]
        uses_tools = any("toolUse" in block for block in mine.content)
        if stop is not None and (uses_tools or not mine.content):
            raise ReplyError("only the end of an answer in words has this stop reason")
        if body.pieces is not None or cited is not None:
            at = next((at for at, block in enumerate(said) if "text" in block), None)
            if at is None:
                raise ReplyError("the reply has no text")
            if cited is not None:
                said[at] = {"citationsContent": {**cited, "content": [said[at]]}}
                pieces.pop(at, None)
            else:
                pieces[at] = ["", said[at]["text"]]
        return _with_body(
            own,
            replace(
                mine,
                content=tuple(said),
                stop_reason=mine.stop_reason if stop is None else stop,
                pieces=pieces or None,
                options={**mine.options, **body.options},
                strict=mine.strict and body.strict,
            ),
        )

    reaction: CodeReaction = "ignore" if whole else "tell"
    return Damage(name, sentence, make, reaction=reaction, replaces=not keeps or "usage" in body.options)


def _around(content: Sequence[Mapping[str, Any]], block: Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    at = content.index(block)
    return content[:at], content[at + 1 :]


def _with_more_events(events: Sequence[Mapping[str, Any]], own: Reply) -> Reply:
    """Return a reply with the blocks before the usual text of `events`, and with the members of their metadata."""
    first = next(at for at, event in enumerate(events) if _delta(event).get("text") == ANSWER)
    added = _delta_index(events[first])
    metadata = {name: value for name, value in events[-1]["metadata"].items() if name not in METADATA}
    start, *rest = own.events()
    moved = [_moved(event, added) for event in rest]
    moved[-1] = {"metadata": {**_counted(moved[-1]["metadata"]), **metadata}}
    return _with_body(own, EventsBody((start, *events[1:first], *moved), strict=False))


def _delta_index(event: Mapping[str, Any]) -> int:
    return int(event["contentBlockDelta"]["contentBlockIndex"])


def _moved(event: Mapping[str, Any], by: int) -> Mapping[str, Any]:
    ((name, member),) = event.items()
    if "contentBlockIndex" not in member:
        return event
    return {name: {**member, "contentBlockIndex": member["contentBlockIndex"] + by}}


def _counted(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"usage": USAGE, "metrics": {"latencyMs": 300}, **metadata}


# The code below changes the first use of a tool that the client runs.


def _with_input(parts: Callable[[Mapping[str, Any]], Sequence[str]]) -> Make:
    """Return the function that sends other parts of a tool's input; `parts` are made from the input."""

    def make(own: Reply, _: Tools) -> Reply:
        body = _message_of(own)
        at = _tool_at(body)
        events = list[Mapping[str, Any]]()
        for event in own.events():
            here = "toolUse" in _delta(event) and _delta_index(event) == at
            if not here:
                events.append(event)
            if kind_of_start(event) == "toolUse" and event["contentBlockStart"]["contentBlockIndex"] == at:
                deltas = parts(body.content[at]["toolUse"]["input"])
                events += [
                    {"contentBlockDelta": {"contentBlockIndex": at, "delta": {"toolUse": {"input": each}}}}
                    for each in deltas
                ]
        events[-1] = {"metadata": _counted(events[-1]["metadata"])}
        return _with_body(own, EventsBody(tuple(events)))

    return make


def _without_quotes(given: Mapping[str, Any]) -> Sequence[str]:
    return ["{" + ", ".join(f"{name}: {value}" for name, value in given.items() or [("all", "yes")]) + "}"]


def _in_fragments(given: Mapping[str, Any]) -> Sequence[str]:
    text = json.dumps(given)
    middle = len(text) // 2
    return ["", text[:middle], text[middle:]]


def _cut_at_max_tokens(own: Reply, _: Tools) -> Reply:
    body = _message_of(own)
    at = _tool_at(body)
    text = json.dumps(body.content[at]["toolUse"]["input"], ensure_ascii=False)
    if len(text) < 3 or at < len(body.content) - 1:
        raise ReplyError("the reply does not end with a tool's input")
    pieces = {**(body.pieces or {}), at: [text[: len(text) // 2]]}
    return _with_body(own, replace(body, stop_reason="max_tokens", pieces=pieces))


def _changed_tool(change: Callable[[Mapping[str, Any], Tools], Mapping[str, Any]]) -> Make:
    """Return the function that replaces members of the first tool use by those that `change` returns."""

    def make(own: Reply, tools: Tools) -> Reply:
        body = _message_of(own)
        at = _tool_at(body)
        use = body.content[at]["toolUse"]
        content = (*body.content[:at], {"toolUse": {**use, **change(use, tools)}}, *body.content[at + 1 :])
        pieces = {index: each for index, each in (body.pieces or {}).items() if index != at}
        return _with_body(own, replace(body, content=content, pieces=pieces or None))

    return make


def _unknown(use: Mapping[str, Any], tools: Tools) -> Mapping[str, Any]:
    del use, tools
    return {"name": "delete_everything"}


def _unfit(use: Mapping[str, Any], tools: Tools) -> Mapping[str, Any]:
    """Return an input that breaks the tool's schema: without its members, or with values of a wrong type."""
    specs = [tool["toolSpec"] for tool in tools if tool.get("toolSpec", {}).get("name") == use["name"]]
    schema = specs[0].get("inputSchema", {}).get("json", True) if specs else True
    for given in ({}, {name: [{"not": "expected"}] for name in use["input"]}):
        try:
            fits = holds(SchemaPart("#", schema, schema), given)
        except (Unsatisfied, RecursionError):
            break
        if not fits:
            return {"input": given}
    raise ReplyError("no input is known that breaks the tool's schema")


def _end_turn(own: Reply, _: Tools) -> Reply:
    body = _message_of(own)
    _tool_at(body)
    return _with_body(own, replace(body, stop_reason="end_turn"))


_NOT_FITTING: Final = Damage(
    "tool_input_unfit",
    "the model left out what a tool needs, or gave it in a wrong type",
    lambda own, tools: meant(_changed_tool(_unfit)(own, tools), ANY_INPUT),
    mistake=True,
)

_TOOLS: Final[Mapping[str, Damage]] = {
    each.name: each
    for each in (
        Damage("tool_input_not_json", "", _with_input(_without_quotes), STREAM, mistake=True),
        Damage("tool_unknown", "", _changed_tool(_unknown), mistake=True),
        Damage("tool_truncated_json_max_tokens", "", _cut_at_max_tokens, STREAM, "tell", mistake=True),
        Damage("tool_fragments", "", _with_input(_in_fragments), STREAM, "ignore"),
        Damage("tool_typed", "", _changed_tool(lambda _, __: {"type": "tool_use"}), reaction="ignore"),
        Damage("tool_but_end_turn", "", _end_turn, reaction="ignore"),
    )
}
"""The cases that are about the use of a tool. Their names and sentences come from the catalogue."""

OWN: Final = (
    _NOT_FITTING,
    Damage(
        "throttled_until_given_up",
        "429 ThrottlingException came, and again whenever it was asked again",
        lambda _, __: reply.throttled(),
        lasts="attempts",
    ),
)
"""Faults of a reply that no case describes."""
