"""The kinds of body that a Reply can have: a message, exact events, an HTTP error, or another recorded answer."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import shake_256
from itertools import chain, repeat
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock.families import UNNAMED_TOOL_USE, USUAL_SIGNATURE, Family
from converse_harness.faults.model import FaultPlacement
from converse_harness.secrets.mask import mask_encoded
from converse_harness.stream.chunk import default_stop_reason, estimate_tokens
from converse_harness.stream.grammar import ERROR_FRAME, is_exception, kind
from converse_harness.stream.http import HttpResponse
from converse_harness.words import counted, cut, shown

METADATA: Final = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")
"""The members of ConverseResponse that ConverseStream sends in its metadata event."""


@dataclass(frozen=True, eq=False)
class MessageBody:
    """An answer that is one message.

    In a stream, it is cut into events as the model family of the request cuts messages. `content` has the ContentBlocks
    of the message. `pieces` maps the index of a block to its exact deltas. `options` has other members of
    ConverseResponse: usage, metrics, trace, additionalModelResponseFields, performanceConfig, serviceTier. If `strict`
    is false, members and values that are not in AWS's API model are allowed. If `as_given` is true, the message is a
    copy of a real answer: its tool uses get no type that they lack.
    """

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    role: str = "assistant"
    pieces: Mapping[int, Sequence[str]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    strict: bool = True
    as_given: bool = False

    def said_by(self, family: Family) -> tuple[Mapping[str, Any], ...]:
        """The `content` as models of this family send it: a signature replaces USUAL_SIGNATURE, or none is sent."""
        return tuple(_signed(block, family) for block in self.content) if self._has_usual_signature else self.content

    @cached_property
    def _has_usual_signature(self) -> bool:
        return any(_usual_signature(block) for block in self.content)

    @cached_property
    def tokens(self) -> int:
        """The estimated number of tokens of `content`."""
        return estimate_tokens(self.content)


@dataclass(frozen=True, slots=True, eq=False)
class EventsBody:
    """An answer that is a list of exact stream events.

    If `strict` is true, the events and their order were checked against AWS's API model. If they are only the beginning
    of a stream, `unfinished` is the text of the error that is raised unless `fails_after` or `error_frame_after` ends
    the stream.
    """

    events: tuple[Mapping[str, Any], ...]
    strict: bool = True
    unfinished: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBody:
    """An answer that is an HTTP error: the name of the error's shape, HTTP status, members and additional headers.

    With the status 200, it is the answer UNKNOWN_OPERATION, which has no members.
    """

    name: str
    status: int
    members: Mapping[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class OutputBody:
    """The output of an operation other than Converse and ConverseStream, as a boto3 client returns it.

    `service` is the service that has the operation, `members` are the members of the output. In the output of an
    operation that answers with a stream, one member is the list of the events. If `strict` is false, the members were
    not checked against AWS's API model.
    """

    operation: str
    service: str
    members: Mapping[str, Any]
    strict: bool = True

    @property
    def stream(self) -> bedrock.EventStream | None:
        """The event stream of the operation; None if it does not answer with one."""
        return bedrock.event_stream(self.operation, self.service)

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        """The events of the stream; empty if the operation does not answer with one."""
        stream = self.stream
        return () if stream is None else tuple(self.members.get(stream.member, ()))


@dataclass(frozen=True, slots=True, eq=False)
class BareBody:
    """A recorded answer that is neither a message, nor events, nor a named error.

    For example, it is damaged, is of an operation other than Converse, or is a connection failure. `summary` describes
    it in a few words.
    """

    summary: str


WrittenBody = MessageBody | EventsBody | ErrorBody | OutputBody
"""The types of the bodies that the functions of `reply` create."""

Body = WrittenBody | BareBody


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The recorded bytes of a real answer. They are sent unchanged in answer to a call of the same operation.

    For everything else (another operation, faults, the transcript), the message beside them is used. So a recorded
    answer is matched, broken and paced like a scripted one.

    The chunks of `response` are sent with the recorded pauses, or with none. If `partial` is true, the client
    disconnected during the recording, so the rest of the answer is unknown.
    """

    operation: str
    response: HttpResponse
    partial: bool = False

    def paced(self, first: float, each: float) -> Recorded:
        """Return a copy with other pauses, in seconds: `first` before the first chunk, `each` before later chunks."""
        delays = chain((first,), repeat(each))
        chunks = tuple(chunk._replace(delay=delay) for chunk, delay in zip(self.response.chunks, delays, strict=False))
        return replace(self, response=replace(self.response, chunks=chunks, wait=0.0))


@dataclass(frozen=True, slots=True)
class StreamFailure:
    """An exception or unmodelled error frame that replaces the event with the index `after` and ends the stream."""

    after: int
    event: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The type of the exception, or the `code` of an unmodelled error frame (`:message-type: error`)."""
        name = kind(self.event)
        return str(self.event[name]["code"]) if name == ERROR_FRAME else name


@dataclass(frozen=True, slots=True)
class Pace:
    """The pauses in seconds: `first` before the first event, and `each` before every later event."""

    first: float = 0.0
    each: float = 0.0


UNPACED: Final = Pace()


_LOOKED_AT: Final = 4000
"""To save time, a text is cut to this number of characters before its secrets are masked. Far fewer characters are
shown.
"""


def shorten(text: str, width: int = 60) -> str:
    """Return a text in quotes on one line, cut to `width` characters.

    Secrets are masked before the cut, because a cut secret could not be recognised.

    >>> shorten("It was a dark and stormy night", 16)
    '"It was a da..."'
    """
    flat = json.dumps(mask_encoded(text[:_LOOKED_AT]), ensure_ascii=False)
    return flat if len(flat) <= width else flat[: width - 4] + '..."'


def summarize_block(block: Mapping[str, Any]) -> str:
    """Describe one content block in a few words."""
    match block:
        case {"text": str(text)}:
            return f"text {shorten(text)}"
        case {"toolUse": {"name": name, "input": value}}:
            text = mask_encoded(json.dumps(value, ensure_ascii=False, default=str)[:_LOOKED_AT])
            return f"tool_use {name} {cut(text, 60)}"
        case {"toolResult": {"toolUseId": str(use_id), **result}}:
            known = cut(use_id, 16)
            status = f" ({result['status']})" if result.get("status") else ""
            match result.get("content"):
                case [{"text": str(text)}, *_]:
                    return f"toolResult {known}{status} {shorten(text)}"
                case _:
                    return f"toolResult {known}{status}"
        case {"reasoningContent": {"reasoningText": {"text": str(text)}}}:
            return f"reasoning {shorten(text)}"
        case _:
            return next(iter(block), "empty block")


def summarize_body(body: Body) -> str:
    """Describe a whole answer in one line."""
    match body:
        case MessageBody(content, stop_reason):
            usual = default_stop_reason(content)
            blocks = " + ".join(map(summarize_block, content)) or "no content block"
            return blocks + (f", {stop_reason}" if stop_reason != usual else "")
        case EventsBody(events):
            last = kind(events[-1]) if events else ""
            ending = f", the last one {last}" if is_exception(last) else ""
            return f"{counted(len(events), 'event')}{ending}"
        case ErrorBody(name, status, members):
            return f"{name} ({status}) {shorten(str(members.get('message', '')))}" if members else f"{name} ({status})"
        case OutputBody(members=members):
            return f"output {shown(dict(members))}"
        case BareBody(summary):
            return summary


KEYWORDS: Final[Mapping[str, str]] = {
    "additionalModelResponseFields": "additional",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
}
"""Maps members of ConverseResponse to the parameters of `reply.message` that set them, where their names differ."""

Call = tuple[str, Sequence[Any], Mapping[str, Any]]
"""A call in source code: the name of a function of `reply` or of a method of Reply, its positional arguments, and its
keyword arguments.
"""


def written(
    body: WrittenBody, failure: StreamFailure | None, placements: Sequence[FaultPlacement], pace: Pace, uses: int
) -> Iterator[Call]:
    """Yield the calls that create a Reply with these parts. Hypothesis and IPython print these calls as source code."""
    alone = next((placement.fault.name for placement in placements if placement.fault.no_answer), None)
    yield _written_body(body) if alone is None else (alone, (), {})
    if isinstance(body, ErrorBody) and body.headers:
        waits = dict(body.headers)
        given = {"seconds": waits.get("retry-after"), "ms": waits.get("retry-after-ms")}
        yield "retry_after", (), {name: int(value) for name, value in given.items() if value is not None}
    # A failure's position counts the events that an order fault leaves. So the call for the order fault comes first.
    for placement in placements:
        if placement.fault.level == "events":
            yield _written_breach(placement)
    if failure is not None:
        yield _written_failure(failure)
    for placement in placements:
        if placement.fault.level != "events" and not placement.fault.no_answer:
            yield _written_breach(placement)
    if pace != UNPACED:
        yield "paced", (), {"first": pace.first, "each": pace.each}
    if uses > 1:
        yield "times", (uses,), {}


def _written_breach(placement: FaultPlacement) -> Call:
    options = {} if placement.fault.place == "whole answer" else {"after": placement.after}
    return "broken", (placement.fault,), options


def _written_failure(failure: StreamFailure) -> Call:
    name = kind(failure.event)
    members = dict(failure.event[name])
    if name == ERROR_FRAME:
        return "error_frame_after", (failure.after, members["code"], members["message"]), {}
    lax = {} if name in bedrock.stream_exceptions() else {"strict": False}
    return "fails_after", (failure.after, name, members.pop("message")), {**members, **lax}


def _written_body(body: WrittenBody) -> Call:
    match body:
        case EventsBody(events, strict):
            return "events", (list(events),), {} if strict else {"strict": False}
        case OutputBody(members=members, strict=strict):
            return "output", (dict(members),), {} if strict else {"strict": False}
        case ErrorBody(status=200):
            return "unknown_operation", (), {}
        case ErrorBody(name, status, members):
            known = bedrock.all_errors().get(name)
            others = {key: value for key, value in members.items() if key != "message"}
            given = {} if known is not None and known.status == status else {"status": status}
            return "error", (name, members["message"]), {**given, **others}
        case MessageBody(({"text": text},), "end_turn", pieces=None, options={}, strict=True) if not body.options:
            return "text", (text,), {}
        case MessageBody((block, *rest)) if _usual_signature(block):
            return _written_reasoning(body, block["reasoningContent"]["reasoningText"]["text"], tuple(rest))
        case MessageBody(as_given=True) if any("type" not in block.get("toolUse", ("type",)) for block in body.content):
            message = {"role": body.role, "content": [dict(block) for block in body.content]}
            response = {"output": {"message": message}, "stopReason": body.stop_reason, **body.options}
            return "response", (response,), {} if body.strict else {"strict": False}
        case MessageBody():
            options = {KEYWORDS.get(name, name): value for name, value in body.options.items()}
            if body.stop_reason != default_stop_reason(body.content):
                options = {"stop_reason": body.stop_reason, **options}
            if body.pieces is not None:
                options["pieces"] = {index: list(pieces) for index, pieces in body.pieces.items()}
            if not body.strict:
                options["strict"] = False
            return "message", [_without_placeholder(block) for block in body.content], options


def _written_reasoning(body: MessageBody, text: str, rest: tuple[Mapping[str, Any], ...]) -> Call:
    """Return the call `reasoning(text, then)` for a message: no printed block may contain USUAL_SIGNATURE."""
    pieces = body.pieces or {}
    options = {"pieces": list(pieces[0])} if 0 in pieces else {}
    moved = {index - 1: each for index, each in pieces.items() if index}
    then = replace(body, content=rest, pieces=moved or None)
    plain = not rest and then.stop_reason == "end_turn" and not then.options and then.strict
    return "reasoning", (text,) if plain else (text, then), options


def _usual_signature(block: Mapping[str, Any]) -> bool:
    match block:
        case {"reasoningContent": {"reasoningText": {"signature": signature}}}:
            return bool(signature == USUAL_SIGNATURE)
        case _:
            return False


def _signed(block: Mapping[str, Any], family: Family) -> Mapping[str, Any]:
    if not _usual_signature(block):
        return block
    text = block["reasoningContent"]["reasoningText"]["text"]
    # Recorded signatures begin with these characters. The 51 bytes after them give 68 characters of base64, without
    # padding.
    generated = {"signature": f"EqQBCgIYAhIk{b64encode(shake_256(text.encode()).digest(51)).decode()}"}
    return {"reasoningContent": {"reasoningText": {"text": text, **(generated if family.signs else {})}}}


def _without_placeholder(block: Mapping[str, Any]) -> Mapping[str, Any]:
    match block:
        case {"toolUse": {"toolUseId": str(use_id), **tool}} if use_id == UNNAMED_TOOL_USE:
            return {"toolUse": tool}
        case _:
            return block
