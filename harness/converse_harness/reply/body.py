"""The kinds of content that a Reply can have: a message, exact events, an HTTP error, or raw bytes."""

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
from converse_harness.bedrock.families import Family
from converse_harness.faults.model import FaultPlacement
from converse_harness.secrets import mask_encoded
from converse_harness.stream.chunk import default_stop_reason, estimate_tokens
from converse_harness.stream.grammar import ERROR_FRAME, is_exception, kind
from converse_harness.stream.http import HttpResponse

USUAL_SIGNATURE: Final = "signature_00000000000000000000"
"""Placeholder for the signature of reasoning. A family that signs sends a generated signature, other families send
none.
"""

UNNAMED_TOOL_USE: Final = "tooluse_0000000000000000000000"
"""Placeholder for a missing toolUseId in a toolUse block; the Endpoint replaces the placeholder with a generated id."""


METADATA: Final = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")
"""The members that ConverseStream sends in its metadata event."""


@dataclass(frozen=True, eq=False)
class MessageBody:
    """An answer as one message; the model family of the request decides how the message is cut into events.

    `content` holds the ContentBlocks, `pieces` maps the index of a block to its exact deltas, and `options` holds other
    members of ConverseResponse: usage, metrics, trace, additionalModelResponseFields, performanceConfig, serviceTier.
    `strict=False` allows members and values outside AWS's model.
    """

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    role: str = "assistant"
    pieces: Mapping[int, Sequence[str]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    strict: bool = True

    def said_by(self, family: Family) -> tuple[Mapping[str, Any], ...]:
        """The content as models of this family send it: USUAL_SIGNATURE is replaced by a signature, or removed."""
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
    """An answer as exact stream events; `strict`: the events were checked against AWS's model and event order.

    `unfinished` is the error text for events that are only the beginning of a stream; a failure must end them.
    """

    events: tuple[Mapping[str, Any], ...]
    strict: bool = True
    unfinished: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBody:
    """An HTTP error as the answer: the name of the error shape, the HTTP status, the members and additional headers."""

    name: str
    status: int
    members: Mapping[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class BareBody:
    """An answer known only as bytes: the answer is damaged, or the operation is neither Converse nor ConverseStream.

    `summary` describes the answer in a few words.
    """

    summary: str


WrittenBody = MessageBody | EventsBody | ErrorBody
"""The bodies that the functions of `reply` create."""

Body = WrittenBody | BareBody


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The recorded bytes of a real answer, which are sent unchanged if the same operation is called.

    The chunks of `response` have the recorded pauses, or none. `partial`: the recorded client disconnected before the
    end, so the rest of the answer is unknown.
    """

    operation: str
    response: HttpResponse
    partial: bool = False

    def paced(self, first: float, each: float) -> Recorded:
        """Return this recorded answer with other pauses before the first chunk and each later chunk, in seconds."""
        delays = chain((first,), repeat(each))
        chunks = tuple(chunk._replace(delay=delay) for chunk, delay in zip(self.response.chunks, delays, strict=False))
        return replace(self, response=replace(self.response, chunks=chunks, wait=0.0))


@dataclass(frozen=True, slots=True)
class StreamFailure:
    """An exception frame or unmodelled error frame that replaces event number `after` (from 0) and ends the stream."""

    after: int
    event: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The exception's type, or the code of an error frame."""
        name = kind(self.event)
        return str(self.event[name]["code"]) if name == ERROR_FRAME else name


@dataclass(frozen=True, slots=True)
class Pace:
    """The pauses before the first event and before each later event, in seconds."""

    first: float = 0.0
    each: float = 0.0


UNPACED: Final = Pace()


_LOOKED_AT: Final = 4000
"""A text is cut to this number of characters before its secrets are masked. Far fewer characters are shown."""


def shorten(text: str, width: int = 60) -> str:
    """Return a text in quotes on one line, cut to `width` characters. Secrets are masked first, because a shortened
    secret could not be recognised later.

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
            return f"tool_use {name} {text if len(text) <= 60 else text[:57] + '...'}"
        case {"toolResult": {"toolUseId": str(use_id), **result}}:
            known = use_id if len(use_id) <= 16 else f"{use_id[:13]}..."
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
            return f"{len(events)} {'event' if len(events) == 1 else 'events'}{ending}"
        case ErrorBody(name, status, members):
            return f"{name} ({status}) {shorten(str(members.get('message', '')))}"
        case BareBody(summary):
            return summary


KEYWORDS: Final[Mapping[str, str]] = {
    "additionalModelResponseFields": "additional",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
}
"""Maps a member of ConverseResponse to the parameter of `reply.message` if their names differ."""

Call = tuple[str, Sequence[Any], Mapping[str, Any]]
"""The name of a function of `reply` or method of Reply, its positional arguments, and its keyword arguments."""


def written(
    body: WrittenBody, failure: StreamFailure | None, placements: Sequence[FaultPlacement], pace: Pace, uses: int
) -> Iterator[Call]:
    """Yield the calls that create a reply with these parts; hypothesis and IPython print the calls as source code."""
    alone = next((placement.fault.name for placement in placements if placement.fault.no_answer), None)
    yield _written_body(body) if alone is None else (alone, (), {})
    if isinstance(body, ErrorBody) and body.headers:
        waits = dict(body.headers)
        given = {"seconds": waits.get("retry-after"), "ms": waits.get("retry-after-ms")}
        yield "retry_after", (), {name: int(value) for name, value in given.items() if value is not None}
    # The order of the calls matters: the position of a failure counts the events that remain after the order fault.
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
        case ErrorBody(name, status, members):
            known = bedrock.all_errors().get(name)
            others = {key: value for key, value in members.items() if key != "message"}
            given = {} if known is not None and known.status == status else {"status": status}
            return "error", (name, members["message"]), {**given, **others}
        case MessageBody(({"text": text},), "end_turn", pieces=None, options={}, strict=True) if not body.options:
            return "text", (text,), {}
        case MessageBody((block, *rest)) if _usual_signature(block):
            return _written_reasoning(body, block["reasoningContent"]["reasoningText"]["text"], tuple(rest))
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
    """Write the message as a call `reasoning(text, then)`, since no block may contain the signature's placeholder."""
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
    # 51 bytes are 68 characters of base64 without padding. Recorded signatures have the same beginning.
    generated = {"signature": f"EqQBCgIYAhIk{b64encode(shake_256(text.encode()).digest(51)).decode()}"}
    return {"reasoningContent": {"reasoningText": {"text": text, **(generated if family.signs else {})}}}


def _without_placeholder(block: Mapping[str, Any]) -> Mapping[str, Any]:
    match block:
        case {"toolUse": {"toolUseId": str(use_id), **tool}} if use_id == UNNAMED_TOOL_USE:
            return {"toolUse": tool}
        case _:
            return block
