"""A reply as the code that makes it: what a counterexample prints, to be pasted into a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.faults.model import Breach, Level, Place
from converse_harness.reply.body import (
    UNNAMED_TOOL_USE,
    UNPACED,
    ErrorBody,
    EventsBody,
    MessageBody,
    Pace,
    StreamFailure,
    WrittenBody,
)
from converse_harness.stream.chunk import default_stop_reason
from converse_harness.stream.grammar import ERROR_FRAME, kind

_KEYWORDS: Final[Mapping[str, str]] = {
    "additionalModelResponseFields": "additional",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
}
"""What `reply.message` calls members of ConverseResponse; the others it calls by their name."""

Call = tuple[str, Sequence[Any], Mapping[str, Any]]
"""A function of `reply`, or a method of Reply, with its arguments."""


def written(
    body: WrittenBody, failure: StreamFailure | None, breaches: Sequence[Breach], pace: Pace, uses: int
) -> Iterator[Call]:
    """The calls that make a reply of these parts."""
    alone = next((breach.fault.name for breach in breaches if breach.fault.no_answer), None)
    yield _written_body(body) if alone is None else (alone, (), {})
    if isinstance(body, ErrorBody) and body.headers:
        waits = dict(body.headers)
        given = {"seconds": waits.get("retry-after"), "ms": waits.get("retry-after-ms")}
        yield "retry_after", (), {name: int(value) for name, value in given.items() if value is not None}
    # In the order in which they must be said: a failure counts the events of a broken order.
    for breach in breaches:
        if breach.fault.level is Level.EVENTS:
            yield _written_breach(breach)
    if failure is not None:
        yield _written_failure(failure)
    for breach in breaches:
        if breach.fault.level is not Level.EVENTS and not breach.fault.no_answer:
            yield _written_breach(breach)
    if pace != UNPACED:
        yield "paced", (), {"first": pace.first, "each": pace.each}
    if uses > 1:
        yield "times", (uses,), {}


def _written_breach(breach: Breach) -> Call:
    return "broken", (breach.fault,), {} if breach.fault.place is Place.NOWHERE else {"after": breach.after}


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
        case MessageBody():
            options = {_KEYWORDS.get(name, name): value for name, value in body.options.items()}
            if body.stop_reason != default_stop_reason(body.content):
                options = {"stop_reason": body.stop_reason, **options}
            if body.pieces is not None:
                options["pieces"] = {index: list(pieces) for index, pieces in body.pieces.items()}
            if not body.strict:
                options["strict"] = False
            return "message", [_without_placeholder(block) for block in body.content], options


def _without_placeholder(block: Mapping[str, Any]) -> Mapping[str, Any]:
    match block:
        case {"toolUse": {"toolUseId": str(use_id), **tool}} if use_id == UNNAMED_TOOL_USE:
            return {"toolUse": tool}
        case _:
            return block
