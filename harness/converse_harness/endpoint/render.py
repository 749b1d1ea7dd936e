"""Build the HTTP response for a Reply and a Call. Members that the script does not set get realistic values.

These values are hashes of (seed, reply, event) or estimates from the request. They never depend on the clock, on
`random` or on the order of calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Final, cast

from converse_harness import bedrock
from converse_harness.bedrock import guardrails
from converse_harness.bedrock.api import rest
from converse_harness.bedrock.families import Family
from converse_harness.endpoint import operations
from converse_harness.endpoint.call import FitOfCall
from converse_harness.endpoint.occasion import Occasion, ToolUseMembers, paddings, whole_block, whole_start
from converse_harness.endpoint.outputs import output_response
from converse_harness.endpoint.own_answers.unknown_paths import no_answer
from converse_harness.endpoint.usage import usage
from converse_harness.errors import ReplyError, StreamOrderError
from converse_harness.faults.model import Change, FaultPlacement
from converse_harness.faults.order import rearranged
from converse_harness.faults.response import ResponseFault
from converse_harness.literals import StopReason
from converse_harness.reply.body import METADATA, BareBody, ErrorBody, EventsBody, MessageBody, OutputBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import OPTIONS, assemble, in_aws_form
from converse_harness.stream.assemble import Response as Assembled
from converse_harness.stream.chunk import Deltas, Run, events_of, short_runs
from converse_harness.stream.delivery import Frames, StreamChunks
from converse_harness.stream.events import encode_deltas, encode_event
from converse_harness.stream.grammar import ERROR_FRAME, is_exception, kind
from converse_harness.stream.http import ERROR_NAME, Chunk, HttpResponse, error_response, json_response, stream_response

STREAM_ERRORS: Final = {"modelStreamErrorException": "ModelErrorException"}
"""Maps exceptions of a stream to the HTTP errors that Converse sends in their place, if the names differ.

In AWS's API model, only operations with a stream have ModelStreamErrorException. Both errors have status 424.
"""

_CACHE_SIZE: Final = 64

_FramesKey = tuple[Reply, str, ToolUseMembers]
"""The values that determine the frames of a stream: the reply, the name of a family of models, members of tool uses.

The models of a family cut texts into chunks in the same way.
"""


class Renderer:
    """Renders replies; caches the frames of recently rendered streams."""

    def __init__(self) -> None:
        self._frames: dict[_FramesKey, Frames] = {}

    def render(self, reply: Reply, occasion: Occasion) -> HttpResponse:
        """Return the response to the occasion's call: a call of Converse, ConverseStream or ApplyGuardrail.

        Raises ReplyError if the reply cannot answer this operation. For example, a reply that is possible only as a
        stream cannot answer Converse.
        """
        body = reply.plan.body
        streams = isinstance(body, OutputBody) and body.stream is not None
        if not isinstance(body, ErrorBody | OutputBody):
            streams = occasion.call.operation == "ConverseStream"
        changes: list[tuple[FaultPlacement, Change | None]] = []
        for placement in reply.plan.placements:
            fault = placement.fault
            change = fault.on_body if not streams else fault.on_stream if isinstance(fault, ResponseFault) else None
            changes.append((placement, change))
            if change is None and not streams:
                raise ReplyError(
                    f"{reply.summary}: only a stream can be broken by {placement.fault.name}, and the client "
                    f"called {occasion.call.operation}, which answers with one whole body."
                )
        recorded = reply.plan.recorded
        if recorded is None or recorded.operation != occasion.call.operation:
            response = self._sound(reply, occasion)
        else:
            response = recorded.response
            if recorded.operation == "Converse" and isinstance(reply.plan.body, MessageBody):
                occasion.call.answered.response = _assembled(reply, occasion, ())
        sound = response
        for placement, change in changes:
            response = response if change is None else change(response, placement)
        answered = occasion.call.answered
        if changes and answered.response is not None and _body(response) != _body(sound):
            answered.response = None  # the client gets another body, or a part of it
        return response

    def _sound(self, reply: Reply, occasion: Occasion) -> HttpResponse:
        """Return the response without the scripted faults in the reply.

        Only a fault in the order of events is applied here.
        """
        match reply.plan.body:
            case BareBody(summary):
                raise ReplyError(
                    f"{summary} cannot answer {occasion.call.operation}: only its bytes are known, which are those of "
                    "another operation or damaged."
                )
            case ErrorBody(status=200, headers=more):
                made = no_answer(occasion.call, occasion.request_id, delay=reply.plan.pace.first)
                return replace(made, headers=(*made.headers, *more))
            case ErrorBody(name, status, members, more):
                body = error_json(name, members, occasion.call.service)
                error = error_response(name, status, body, occasion.request_id, delay=reply.plan.pace.first)
                return replace(error, headers=(*error.headers, *more))
            case OutputBody() as output:
                return output_response(reply, output, occasion)
            case _ if occasion.call.operation == "ConverseStream":
                return stream_response(self._stream(reply, occasion), occasion.request_id)
            case _ if occasion.call.operation == operations.OPERATION:
                body = operations.applied(reply, occasion.call).encode()
                return json_response(body, occasion.request_id, delay=_pauses(reply, _later_events(reply, occasion)))
            case _:
                return _whole(reply, occasion)

    def _stream(self, reply: Reply, occasion: Occasion) -> Iterable[Chunk]:
        if reply.plan.placements and (breach := reply.plan.order_breach) is not None:
            return _broken_order(breach, reply, occasion)
        family, members = occasion.family, occasion.tool_members(reply.plan.body)
        key = (reply, family.name, members)
        known = self._frames.get(key)
        frames = Frames(lambda: events_of(_runs(reply, family, members))) if known is None else known
        return StreamChunks(
            frames,
            self._encode(key, frames, _runs(reply, family, members)) if known is None else (frames,),
            partial(_last_chunk, reply, occasion),
            reply.plan.pace.first,
            reply.plan.pace.each,
        )

    def _encode(self, key: _FramesKey, frames: Frames, runs: Iterable[Run]) -> Iterator[list[bytes]]:
        """Yield the frames of a stream that is not in the cache.

        Append them to `frames`, and put `frames` into the cache after the last one.
        """
        pads = b""
        start = 0
        for run in short_runs(runs):
            end = start + (len(run.pieces) if isinstance(run, Deltas) else 1)
            if end > len(pads):
                pads = paddings(key[2].seed, key[2].place, end)
            padded = pads[start:end]
            encoded = encode_deltas(run, padded) if isinstance(run, Deltas) else [encode_event(run, padded[0])]
            start = end
            frames += encoded
            yield encoded
        if len(self._frames) >= _CACHE_SIZE:
            self._frames.clear()  # `clear` is atomic, so threads need no lock
        self._frames[key] = frames


def _body(response: HttpResponse) -> bytes:
    return b"".join([chunk.data for chunk in response.chunks])


def _broken_order(placement: FaultPlacement, reply: Reply, occasion: Occasion) -> Iterator[Chunk]:
    """Yield all chunks of a stream whose events are in a wrong order, as the order fault in `placement` determines.

    If the reply contains a failure, the stream ends with the failure.
    """
    if isinstance(reply.plan.body, EventsBody):
        sound = [dict(event) for event in reply.plan.body.events]
    else:
        sound = [*events_of(_runs(reply, occasion.family, occasion.tool_members(reply.plan.body)))]
    if isinstance(reply.plan.body, MessageBody):
        sound.append({"metadata": _options(reply.plan.body, reply, occasion, len(sound))})
    events = rearranged(placement, sound)
    failure = reply.plan.failure
    if failure is not None:
        events = [*events[: failure.after], dict(failure.event)]
    delay = reply.plan.pace.first
    for event, padding in zip(events, paddings(occasion.seed, occasion.place, len(events)), strict=False):
        yield Chunk(encode_event(event, padding), delay, event)
        delay = reply.plan.pace.each


def error_json(name: str, members: Mapping[str, Any], service: str = bedrock.SERVICE) -> bytes:
    """Return the body of an HTTP error of a service in the recorded form.

    The body contains only the members of the error: the key `message` is in lower case, and there is no key `__type`.
    A service of the protocol "json" names the error in the key `__type`.
    """
    if service != bedrock.SERVICE and rest.is_json_protocol(service):
        members = {"__type": name, **members}
    if bedrock.has_shape(name, service):
        return bedrock.to_json(name, members, service).encode()
    return bedrock.to_json(name if name in bedrock.all_errors() else "ValidationException", members).encode()


def _runs(reply: Reply, family: Family, members: ToolUseMembers) -> Iterator[Run]:
    """Yield the events of a stream, as Runs (see `stream.chunk`), except the last event, which `_last_chunk` returns.

    A tool use gets those of `members` that it lacks. Events after the reply's failure are left out. They are kept if
    the reply has an order fault, which needs all events.
    """
    body, failure = reply.plan.body, reply.plan.failure
    if isinstance(body, EventsBody):
        after = len(body.events) - 1 if failure is None else failure.after
        yield from map(dict[str, Any], body.events[: max(after, 0)])
        return
    left: float = inf if failure is None or reply.plan.order_breach is not None else failure.after
    for run in reply.plan.runs(family):
        if not left:
            return
        if isinstance(run, Deltas):
            if len(run.pieces) > left:
                run = run._replace(pieces=run.pieces[: int(left)])  # noqa: PLW2901 - only the part before the failure
            left -= len(run.pieces)
        elif "metadata" in run:
            return
        else:
            left -= 1
            if "contentBlockStart" in run:
                run = whole_start(run, members)  # noqa: PLW2901 - `run` is now the same event with a whole tool use
        yield run


def _last_chunk(reply: Reply, occasion: Occasion, sent: int) -> Chunk | None:
    """Return the last chunk of a stream, after `sent` frames: the reply's failure, its metadata or its last event.

    It is built separately, because the metadata depends on the request and so cannot be cached with the other frames.
    Return None if no chunk is left.
    """
    delay = reply.plan.pace.each if sent else reply.plan.pace.first
    if reply.plan.failure is not None and sent == reply.plan.failure.after:
        event = dict(reply.plan.failure.event)
        return Chunk(encode_event(event), delay, event)
    if isinstance(reply.plan.body, MessageBody):
        event = {"metadata": _options(reply.plan.body, reply, occasion, sent)}
        padding = paddings(occasion.seed, occasion.place, 1, "metadata padding")[0]
        return Chunk(encode_event(event, padding), delay, event)
    if isinstance(reply.plan.body, EventsBody) and sent < len(reply.plan.body.events):
        event = dict(reply.plan.body.events[sent])
        return Chunk(encode_event(event, paddings(occasion.seed, occasion.place, sent + 1)[sent]), delay, event)
    return None


_RETURNED: Final = ("performanceConfig", "serviceTier")
"""Members of the request that Bedrock returns in the answer if the request has them.

Sources: the latency is recorded of Converse; the tier is as reported (NousResearch/hermes-agent#34476, 2026-05). That
streams return both is assumed.
"""


def _options(body: MessageBody, reply: Reply, occasion: Occasion, sent: int) -> dict[str, Any]:
    options = {name: body.options[name] for name in METADATA if name in body.options} if body.options else {}
    if "trace" in options:
        fit = occasion.call.of(FitOfCall)
        trace = options.pop("trace")
        if fit is not None and not fit.sends_trace:
            trace = {name: each for name, each in trace.items() if name != "guardrail"}
        if trace:
            options["trace"] = guardrails.named(trace, occasion.call.guardrail)
    if reply.plan.recorded is None:
        for name in _RETURNED:
            if name in occasion.call.body and bedrock.has_member("ConverseResponse", name):
                options.setdefault(name, occasion.call.body[name])
    options["usage"] = usage(occasion.call, body, options.get("usage"), occasion.counts)
    pauses = _pauses(reply, sent)
    options.setdefault("metrics", {"latencyMs": 250 + 12 * options["usage"]["outputTokens"] + round(1000 * pauses)})
    return options


def _whole(reply: Reply, occasion: Occasion) -> HttpResponse:
    """Return the response for Converse (not ConverseStream): the assembled message, or an HTTP error.

    If the reply contains an exception frame, the response is the HTTP error for this exception.
    """
    failure = reply.plan.failure
    if failure is not None:
        return _failed(failure.event, occasion, _pauses(reply, failure.after))
    events = tuple(reply.events()) if isinstance(reply.plan.body, EventsBody) else ()
    if events and is_exception(kind(events[-1])):
        return _failed(events[-1], occasion, _pauses(reply, len(events) - 1))
    answer = _assembled(reply, occasion, events)
    occasion.call.answered.response = answer
    members = in_aws_form(answer)
    if answer.trace:
        members["trace"] = guardrails.in_json(answer.trace)
    body = bedrock.to_json("ConverseResponse", members).encode()
    return json_response(body, occasion.request_id, delay=_pauses(reply, _later_events(reply, occasion)))


def _assembled(reply: Reply, occasion: Occasion, events: tuple[dict[str, Any], ...]) -> Assembled:
    body = reply.plan.body
    if not isinstance(body, MessageBody):
        try:
            return assemble(events)
        except (StreamOrderError, LookupError, TypeError) as error:
            raise ReplyError(
                f"{reply.summary}: only a stream can carry these events, and the client called Converse, which answers "
                f"with one whole message. {error}"
            ) from error
    options = {**body.options, **_options(body, reply, occasion, _later_events(reply, occasion))}
    said = body.said_by(occasion.family)
    members = occasion.tool_members(body)
    content = [dict(whole_block(block, index, members)) for index, block in enumerate(said)]
    reason = cast("StopReason", body.stop_reason)
    return Assembled({"role": body.role, "content": content}, reason, *map(options.get, OPTIONS))


def _failed(event: Mapping[str, Any], occasion: Occasion, delay: float) -> HttpResponse:
    """Return the HTTP error that Converse sends in place of an exception frame, or of an error frame."""
    name = kind(event)
    members = event[name]
    if name == ERROR_FRAME:
        name, members = members["code"], {"message": members["message"]}
    if not ERROR_NAME.fullmatch(name):
        raise ReplyError(
            f"{name!r} is sent by a stream alone: on Converse it would be an HTTP error, whose name travels in a "
            "header and is made of ASCII letters, digits, '.', '_' and '-'."
        )
    shape = STREAM_ERRORS.get(name, name[:1].upper() + name[1:])
    errors = bedrock.all_errors()
    status = errors[shape].status if shape in errors else 500
    known = {key: value for key, value in members.items() if shape not in errors or key in errors[shape].members}
    return error_response(shape, status, error_json(shape, known), occasion.request_id, delay=delay)


def _later_events(reply: Reply, occasion: Occasion) -> int:
    """Return the number of events after the first; 0 if there is no pause between events, so that nobody needs it."""
    return reply.plan.later_events(occasion.family) if reply.plan.pace.each else 0


def _pauses(reply: Reply, later: int) -> float:
    """Return the sum of the pauses before the first event of a reply, and before `later` more."""
    return reply.plan.pace.first + reply.plan.pace.each * later
