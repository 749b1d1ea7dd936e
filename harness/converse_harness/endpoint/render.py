"""A Reply and the Call that it answers become a Response: what was not written is filled in, believably.

Everything filled in hashes from (seed, reply, event) or is estimated from the request; nothing depends on clock,
`random` or the order in which calls arrive.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import shake_256
from itertools import chain, islice
from typing import Any, Final
from uuid import UUID

from converse_harness import bedrock
from converse_harness.bedrock import guardrails
from converse_harness.bedrock.families import family_of
from converse_harness.endpoint import operations
from converse_harness.endpoint.cache import PromptCache
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.usage import usage
from converse_harness.errors import ReplyError, StreamOrderError
from converse_harness.faults.model import FaultPlacement, rearranged
from converse_harness.reply.body import METADATA, UNNAMED_TOOL_USE, BareBody, ErrorBody, EventsBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import Response as Assembled
from converse_harness.stream.assemble import assemble
from converse_harness.stream.events import LONGEST_PADDING, SHORTEST_PADDING, encode_event
from converse_harness.stream.grammar import ERROR_FRAME, is_exception, kind
from converse_harness.stream.http import (
    ERROR_NAME,
    Chunk,
    HttpResponse,
    error_response,
    json_response,
    stream_response,
)

STREAM_ERRORS: Final = {"modelStreamErrorException": "ModelErrorException"}
"""The HTTP error that stands for an exception frame on plain Converse, where it is not the one of the same name: no
operation without a stream has ModelStreamErrorException in AWS's model; both are 424."""

_CACHE_SIZE: Final = 64

_OK: Final = 200

_PAD_LENGTHS: Final = bytes(SHORTEST_PADDING + byte % (LONGEST_PADDING - SHORTEST_PADDING + 1) for byte in range(256))
"""The length of the padding for each byte of a hash: 2 to 61, as recorded."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Where and for what a reply is used: its place in the script, the script's seed, the call."""

    seed: int
    place: str
    call: Call

    def digest(self, what: str, size: int) -> bytes:
        """`size` bytes that hash from the seed, the reply's place and `what`."""
        return shake_256(f"{self.seed}|{self.place}|{what}".encode()).digest(size)

    @property
    def request_id(self) -> str:
        """A UUID in the form of x-amzn-RequestId; another for every request body and attempt."""
        body = shake_256(self.call.raw).hexdigest(16)
        return str(UUID(bytes=self.digest(f"request|{body}|{self.call.attempt}", 16), version=4))

    def tool_use_id(self, block: int) -> str:
        """A toolUseId of the recorded form; another for every turn of the conversation."""
        digest = self.digest(f"toolUse|{self.call.turn}|{block}", 17)
        return "tooluse_" + urlsafe_b64encode(digest)[:22].decode()


class Renderer:
    """Renders replies; keeps the frames of those that it rendered last."""

    def __init__(self, cache: PromptCache) -> None:
        self._cache = cache
        self._frames: dict[tuple[Reply, int, str, str, int], list[Chunk]] = {}

    def render(self, reply: Reply, occasion: Occasion) -> HttpResponse:
        """The Response to the occasion's call, which is for Converse, ConverseStream or ApplyGuardrail.

        Raises ReplyError where the reply is one that only a stream can have and the call is for Converse.
        """
        streams = not isinstance(reply.body, ErrorBody) and occasion.call.operation == "ConverseStream"
        changes = [
            (placement, placement.fault.on_stream if streams else placement.fault.on_body)
            for placement in reply.placements
        ]
        for placement, change in changes:
            if change is None and not streams:
                raise ReplyError(
                    f"{reply.summary}: only a stream can be broken by faults.{placement.fault.name}, and the client "
                    f"called {occasion.call.operation}, which answers with one whole body."
                )
        prompt = occasion.call.answered.prompt = self._cache.use(occasion.call)
        response = self._recorded(reply, occasion) or self._sound(reply, occasion)
        for placement, change in changes:
            response = response if change is None else change(response, placement)
        if prompt is not None and response.status == _OK and response.failure is None:
            self._cache.answered(prompt, reply.pace.first, reply.pace.each * (_count(reply, occasion) - 1))
        return response

    def _recorded(self, reply: Reply, occasion: Occasion) -> HttpResponse | None:
        """The recorded bytes, where they are of the operation that asks."""
        recorded = reply.recorded
        if recorded is None or recorded.operation != occasion.call.operation:
            return None
        if recorded.operation == "Converse" and isinstance(reply.body, MessageBody):
            occasion.call.answered.response = _assembled(reply, occasion, ())
        return recorded.response

    def _sound(self, reply: Reply, occasion: Occasion) -> HttpResponse:
        """The answer before anything breaks it but the order of its events."""
        match reply.body:
            case BareBody(summary):
                raise ReplyError(
                    f"{summary} cannot answer {occasion.call.operation}: only its bytes are known, which are those of "
                    "another operation or damaged."
                )
            case ErrorBody(name, status, members, more):
                body = error_json(name, members)
                error = error_response(name, status, body, occasion.request_id, delay=reply.pace.first)
                return replace(error, headers=(*error.headers, *more))
            case _ if occasion.call.operation == "ConverseStream":
                return stream_response(self._stream(reply, occasion), occasion.request_id)
            case _ if occasion.call.operation == operations.OPERATION:
                body = operations.applied(reply, occasion.call).encode()
                return json_response(body, occasion.request_id, delay=_pauses(reply, _count(reply, occasion)))
            case _:
                return _whole(reply, occasion)

    def _stream(self, reply: Reply, occasion: Occasion) -> Iterator[Chunk]:
        if reply.order_breach is not None:
            return _broken_order(reply.order_breach, reply, occasion)
        family = family_of(occasion.call.stands_for)
        key = (reply, occasion.seed, occasion.place, family.name, occasion.call.turn)
        frames = self._frames.get(key)
        if frames is None:
            return self._fresh(key, reply, occasion)
        return chain(frames, _metadata_chunks(reply, occasion, len(frames)))

    def _fresh(self, key: tuple[Reply, int, str, str, int], reply: Reply, occasion: Occasion) -> Iterator[Chunk]:
        frames: list[Chunk] = []
        yield from _encoded(_named_events(reply, occasion), reply, occasion, frames)
        if len(self._frames) >= _CACHE_SIZE:
            self._frames.clear()  # one step, so that threads need no lock here
        self._frames[key] = frames
        yield from _metadata_chunks(reply, occasion, len(frames))


def _encoded(
    events: Iterable[dict[str, Any]], reply: Reply, occasion: Occasion, frames: list[Chunk]
) -> Iterator[Chunk]:
    """The chunks of some events, each kept in `frames` as well."""
    pads = b""
    delay, later = reply.pace.first, reply.pace.each
    for index, event in enumerate(events):
        if index >= len(pads):
            pads = occasion.digest("padding", 4 * index + 64).translate(_PAD_LENGTHS)
        chunk = Chunk(encode_event(event, pads[index]), delay, event)
        frames.append(chunk)
        yield chunk
        delay = later


def _broken_order(placement: FaultPlacement, reply: Reply, occasion: Occasion) -> Iterator[Chunk]:
    """A stream whose order is broken, up to its failure; its metadata may stand anywhere."""
    sound = list(_named_events(reply, occasion))
    if isinstance(reply.body, MessageBody):
        sound.append({"metadata": _options(reply.body, reply, occasion, len(sound))})
    events = rearranged(placement, sound)
    failure = reply.failure
    if failure is not None:
        events = [*events[: failure.after], dict(failure.event)]
    return _encoded(events, reply, occasion, [])


def error_json(name: str, members: Mapping[str, Any]) -> bytes:
    """The body of an HTTP error: as recorded the members alone, `message` in lower case, no `__type`."""
    return bedrock.to_json(name if name in bedrock.all_errors() else "ValidationException", members).encode()


def _named_events(reply: Reply, occasion: Occasion) -> Iterator[dict[str, Any]]:
    """The events up to the failure, tool uses named; a message's without its metadata, which depends on the request.

    All of them where their order is yet to be broken.
    """
    after = None if reply.failure is None or reply.order_breach is not None else reply.failure.after
    written = isinstance(reply.body, MessageBody)
    for event in islice(reply.unbroken_events(family_of(occasion.call.stands_for)), after):
        if written and "contentBlockDelta" not in event:
            if "metadata" in event:
                return
            if "contentBlockStart" in event:
                yield _named_start(event, occasion)
                continue
        yield event


def _named_start(event: dict[str, Any], occasion: Occasion) -> dict[str, Any]:
    start = event["contentBlockStart"]["start"]
    if start.get("toolUse", {}).get("toolUseId") != UNNAMED_TOOL_USE:
        return event
    index = event["contentBlockStart"]["contentBlockIndex"]
    named = {**start["toolUse"], "toolUseId": occasion.tool_use_id(index)}
    return {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": named}}}


def _metadata_chunks(reply: Reply, occasion: Occasion, sent: int) -> Iterator[Chunk]:
    delay = reply.pace.each if sent else reply.pace.first
    if reply.failure is not None and sent == reply.failure.after:
        event = dict(reply.failure.event)
        yield Chunk(encode_event(event), delay, event)
    elif isinstance(reply.body, MessageBody):
        event = {"metadata": _options(reply.body, reply, occasion, sent)}
        padding = occasion.digest("metadata padding", 1).translate(_PAD_LENGTHS)[0]
        yield Chunk(encode_event(event, padding), delay, event)


def _options(body: MessageBody, reply: Reply, occasion: Occasion, sent: int) -> dict[str, Any]:
    options = {name: body.options[name] for name in METADATA if name in body.options}
    if "trace" in options:
        options["trace"] = guardrails.named(options["trace"], occasion.call.guardrail)
    options["usage"] = usage(occasion.call, body, options.get("usage"))
    pauses = reply.pace.first + reply.pace.each * sent
    options.setdefault("metrics", {"latencyMs": 250 + 12 * options["usage"]["outputTokens"] + round(1000 * pauses)})
    return options


def _whole(reply: Reply, occasion: Occasion) -> HttpResponse:
    """The answer of plain Converse: the assembled message, or the HTTP error that an exception frame stands for."""
    failure = reply.failure
    if failure is not None:
        return _failed(failure.event, occasion, _pauses(reply, failure.after + 1))
    events = tuple(reply.events()) if isinstance(reply.body, EventsBody) else ()
    if events and is_exception(kind(events[-1])):
        return _failed(events[-1], occasion, _pauses(reply, len(events)))
    answer = _assembled(reply, occasion, events)
    occasion.call.answered.response = answer
    members = {
        "output": {"message": answer.message},
        "stopReason": answer.stop_reason,
        "usage": answer.usage,
        "metrics": answer.metrics,
        "trace": answer.trace and guardrails.in_json(answer.trace),
        "additionalModelResponseFields": answer.additional,
        "performanceConfig": answer.performance_config,
        "serviceTier": answer.service_tier,
    }
    body = bedrock.to_json("ConverseResponse", {name: value for name, value in members.items() if value is not None})
    return json_response(body.encode(), occasion.request_id, delay=_pauses(reply, _count(reply, occasion)))


def _assembled(reply: Reply, occasion: Occasion, events: tuple[dict[str, Any], ...]) -> Assembled:
    body = reply.body
    if not isinstance(body, MessageBody):
        try:
            return assemble(events)
        except (StreamOrderError, LookupError, TypeError) as error:
            raise ReplyError(
                f"{reply.summary}: only a stream can carry these events, and the client called Converse, which answers "
                f"with one whole message. {error}"
            ) from error
    options = _options(body, reply, occasion, _count(reply, occasion) - 1)
    content = [_named_block(block, index, occasion) for index, block in enumerate(body.content)]
    return Assembled(
        message={"role": body.role, "content": content},
        stop_reason=body.stop_reason,
        usage=options["usage"],
        metrics=options["metrics"],
        trace=options.get("trace"),
        additional=body.options.get("additionalModelResponseFields"),
        performance_config=options.get("performanceConfig"),
        service_tier=options.get("serviceTier"),
    )


def _named_block(block: Mapping[str, Any], index: int, occasion: Occasion) -> dict[str, Any]:
    tool = block.get("toolUse")
    if tool is None or tool["toolUseId"] != UNNAMED_TOOL_USE:
        return dict(block)
    return {"toolUse": {**tool, "toolUseId": occasion.tool_use_id(index)}}


def _failed(event: Mapping[str, Any], occasion: Occasion, delay: float) -> HttpResponse:
    """The HTTP error that stands for an exception frame, or for an unmodelled error frame."""
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


def _count(reply: Reply, occasion: Occasion) -> int:
    """How many events the reply would have as a stream; counted only where there are pauses between them."""
    return sum(1 for _ in reply.events(family_of(occasion.call.stands_for))) if reply.pace.each else 1


def _pauses(reply: Reply, events: int) -> float:
    return reply.pace.first + reply.pace.each * max(0, events - 1)
