"""Compare what a client receives of a recorded answer and of a reply, without the values that differ in each call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from converse_harness.endpoint import Endpoint
from converse_harness.errors import DamagedData
from converse_harness.json_values import is_object, mapped, parsed_json
from converse_harness.recordings.lines import body_bytes
from converse_harness.recordings.replies import RecordedExchange
from converse_harness.reply.reply import Reply
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.http import HttpResponse, Request

_STREAM: Final = "application/vnd.amazon.eventstream"

_WAITS: Final = ("retry-after", "retry-after-ms")
"""The headers with which an error asks a client to wait."""

_NO_REQUEST: Final = b'{"messages":[{"role":"user","content":[{"text":"?"}]}]}'
"""The request that a reply answers for the comparison if the recording has no valid request."""


class Sent(NamedTuple):
    """The parts of an answer that a client receives.

    `error` is the name of an error; `waits` are the values of the headers in _WAITS. `content` contains the events of a
    stream, or one body.
    """

    status: int
    error: str
    waits: tuple[str | None, ...]
    content: list[Any]
    ending: str


def sent(response: HttpResponse, *, whole: bool = False) -> Sent:
    """Return what a client receives of a response.

    Times, padding, the request id, latencyMs and the division into HTTP chunks are left out. If `whole` is true, the
    cuts between deltas, the token usage and the ids of tool uses are left out, too.
    """
    if response.failure is not None:
        return Sent(0, "", (), [], response.failure)
    headers = {name.lower(): value for name, value in response.headers}
    data = b"".join(chunk.data for chunk in response.chunks)
    ending: list[str] = [] if response.broken is None else [response.broken]
    if headers.get("content-type") == _STREAM:
        events = _events(data, ending)
        content = list(_joined(events) if whole else events)
    elif ending:
        content = []  # a client discards an incomplete body
    else:
        content = [parsed_json(data, data)]
    content = [_without_chance(each, whole=whole) for each in content]
    error = headers.get("x-amzn-errortype", "").partition(":")[0]
    return Sent(response.status, error, tuple(map(headers.get, _WAITS)), content, ", ".join(ending))


def answer_of(reply: Reply, exchange: RecordedExchange) -> HttpResponse:
    """Return the response that a fake with the script `reply` sends to the recorded request.

    Raises ReplyError for a reply that cannot answer this operation.
    """
    body = body_bytes("request", exchange.call) if "messages" in exchange.request else None
    action = "converse-stream" if exchange.operation == "ConverseStream" else "converse"
    target = f"/model/{quote(exchange.model_id or '-', safe='')}/{action}"
    request = Request("POST", target, (), body or _NO_REQUEST)
    made = Endpoint(reply, rules="off", history="off").exchange(request)
    if made.call.malformed:
        made = Endpoint(reply, rules="off", history="off").exchange(replace(request, body=_NO_REQUEST))
    return made.response


def _events(data: bytes, ending: list[str]) -> Iterator[Any]:
    """Yield the events in these bytes. If the bytes do not end with a valid frame, append "cut" or "damaged" to
    `ending`.
    """
    decoder = Decoder()
    try:
        for frame in decoder.feed(data):
            yield decode_event(frame)[0]
        decoder.close()
    except DamagedData as error:
        # The exact place of the damage is not stated, because it depends on the padding of the frame.
        ending.append("cut" if getattr(error, "kind", "") == "truncated_frame" else "damaged")


def _joined(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the events. Consecutive deltas of the same block and kind are joined into one object with all text."""
    for (index, kind), deltas in groupby(map(text_delta, events), itemgetter(0, 1)):
        contents = [content for _, _, content in deltas]
        if not kind:
            yield from contents
        elif text := "".join(contents):
            yield {"index": index, "kind": kind, "text": text}


def text_delta(event: dict[str, Any]) -> tuple[int, str, Any]:
    """Return the block index, the kind and the text of a delta that contains only text.

    The kind is "text", "input" or "reasoning". For any other event, return 0, "" and the event.
    """
    match event:
        case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"text": str(text), **rest}}} if not rest:
            return index, "text", text
        case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": str(text)}}}}:
            return index, "input", text
        case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"reasoningContent": {"text": str(text)}}}}:
            return index, "reasoning", text
        case _:
            return 0, "", event


def _without_chance(value: Any, *, whole: bool) -> Any:
    """Return an event, a joined delta or a body without the members whose values differ in each call.

    If `whole` is true, the token usage and the ids of tool uses are left out, too.
    """
    if is_object(value) and value.get("kind") == "input":
        return {**value, "text": parsed_json(value["text"], value["text"])}
    hidden = {"latencyMs", "usage", "toolUseId"} if whole else {"latencyMs"}
    if is_object(value):
        value = {
            name: each
            for name, each in value.items()
            if not (name in hidden or (whole and name == "type" and each == "tool_use"))
        }
        value = {name: each for name, each in value.items() if not (name == "metrics" and not (each.keys() - hidden))}
    return mapped(value, lambda name, each: each if name == "input" else _without_chance(each, whole=whole))


def same(recorded: Sent, made: Sent, *, partial: bool = False) -> bool:
    """Whether two answers are equal for a client. If `partial` is true, the end of the recorded answer is not compared.

    If a recorder left out the name of an error, the names are not compared.
    """
    if not recorded.error:
        made = made._replace(error="")
    if partial:
        return made.content[: len(recorded.content)] == recorded.content and made[:3] == recorded[:3]
    return made == recorded
