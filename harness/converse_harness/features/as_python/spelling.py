"""Find the shortest calls of `reply` that reproduce a recorded answer. A spelling is a sequence of calls.

The possible spellings are tried, the shortest first: a fake that is scripted with the spelling answers the recorded
request. The result is the first spelling with which a client receives an answer equal to the recorded one. Functions
of `reply` that need no argument, or only an error's message, are found without a row here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from converse_harness import bedrock, faults, reply
from converse_harness.bedrock.families import OVERFLOWS, THROTTLES
from converse_harness.endpoint import Endpoint
from converse_harness.errors import ConverseHarnessError, DamagedData, StreamOrderError
from converse_harness.json_values import is_object, member_of, object_of, objects_of, parsed_json
from converse_harness.recordings.chance import VIEWS, without_chance
from converse_harness.recordings.format.exchanges import RecordedExchange, message_of, reply_of
from converse_harness.recordings.format.lines import body_bytes, event_as_sent
from converse_harness.reply.body import Call, ErrorBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import assemble, joined, text_delta
from converse_harness.stream.chunk import default_stop_reason
from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.grammar import ERROR_FRAME, is_exception, kind
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

    What VIEWS lists for `new-test` is left out, for instance times and padding. If `whole` is true, it is what VIEWS
    lists for `new-test --short`, such as the cuts between deltas and the ids of tool uses, and the token usage.
    """
    if response.failure is not None:
        return Sent(0, "", (), [], response.failure)
    headers = {name.lower(): value for name, value in response.headers}
    data = b"".join(chunk.data for chunk in response.chunks)
    ending: list[str] = [] if response.broken is None else [response.broken]
    if headers.get("content-type") == _STREAM:
        events = _events(data, ending)
        content = list(joined(events) if whole else events)
    elif ending:
        content = []  # a client discards an incomplete body
    else:
        content = [parsed_json(data, data)]
    hidden = VIEWS["new-test --short" if whole else "new-test"]
    content = [without_chance(_without_usage(each) if whole else each, hidden) for each in content]
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


def _without_usage(content: Any) -> Any:
    """Return an event or a body without its token usage, which a fake counts itself."""
    if is_object(content.get("metadata") if is_object(content) else None):
        return {"metadata": _without_usage(content["metadata"])}
    return {name: each for name, each in content.items() if name != "usage"} if is_object(content) else content


def same(recorded: Sent, made: Sent, *, partial: bool = False) -> bool:
    """Whether two answers are equal for a client. If `partial` is true, the end of the recorded answer is not compared.

    If a recorder left out the name of an error, the names are not compared.
    """
    if not recorded.error:
        made = made._replace(error="")
    if partial:
        return made.content[: len(recorded.content)] == recorded.content and made[:3] == recorded[:3]
    return made == recorded


Calls = tuple[Call, ...]
"""A call of a function of `reply`, followed by calls of methods on the result."""

Event = dict[str, Any]


def spelled(exchange: RecordedExchange, *, short: bool = False) -> Calls | None:
    """Return the shortest calls that reproduce the recorded answer; None if no calls do.

    The calls reproduce the status, the error, the body or the events of a stream, and how the answer ends. They do not
    reproduce times, padding, the request id, latencyMs and HTTP chunks. If `short` is true, the cuts between deltas,
    the token usage and the ids of tool uses may differ, too.
    """
    recorded = reply_of(exchange).plan.recorded
    if recorded is None or exchange.operation not in ("Converse", "ConverseStream"):
        return None
    wanted = sent(recorded.response, whole=short)
    for calls in _candidates(exchange, wanted, short=short):
        try:
            made = _made(calls)
        except (AttributeError, ConverseHarnessError, TypeError, ValueError):
            continue  # `reply` has no function of this name, or the function refuses an argument
        try:
            answer = sent(answer_of(made, exchange), whole=short)
        except ConverseHarnessError:
            continue  # the reply cannot answer this operation
        if same(wanted, answer, partial=recorded.partial):
            return calls
    return None


def _made(calls: Calls) -> Any:
    """Return the result of the calls: the first is a call of a function of `reply`, each other of a method of the
    result.
    """
    made: Any = reply
    for name, arguments, options in calls:
        made = getattr(made, name)(*arguments, **options)
    return made


def _candidates(exchange: RecordedExchange, wanted: Sent, *, short: bool) -> Iterator[Calls]:
    head = exchange.head
    if "failed" in head:
        yield ((str(head["failed"]).replace(" ", "_"), (), {}),)
    elif head["status"] >= 400:
        yield from _errors(wanted)
    elif exchange.operation == "Converse":
        members = object_of(parsed_json(body_bytes("body", head) or b""))
        body = message_of(members) if "output" in members and not wanted.ending else None
        if isinstance(body, MessageBody):
            message = _Message(tuple(body.content), body.stop_reason, options=_options(body.options))
            yield from ((call,) for call in _messages(message, short=short))
            yield from ((call,) for call in _response(body))
        else:
            yield from _with_ends((("text", ("...",), {}),), wanted, None, illegal=True)
    else:
        events = [event for event in map(event_as_sent, exchange.events) if event is not None]
        yield from _streams(events, wanted, short=short, illegal=bool(exchange.faults) or not events)


# The code below yields spellings (sequences of calls) of answers with a message.


@dataclass(frozen=True)
class _Message:
    """A message to write as a call: its blocks, its stop reason, the deltas of its blocks, more keyword arguments."""

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    pieces: Mapping[int, Sequence[str]] = field(default_factory=dict[int, Sequence[str]])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def arguments(self, usual: str) -> dict[str, Any]:
        """Return the keyword arguments that every helper accepts: the stop reason and `options`.

        The stop reason is left out if it is `usual`, the default of the helper.
        """
        stop = {} if self.stop_reason == usual else {"stop_reason": self.stop_reason}
        return {**stop, **self.options}

    def of_one_block(self) -> dict[str, Any]:
        """Return the argument `pieces` for a helper that creates one block: the deltas of this block. Without deltas,
        return {}.
        """
        return {"pieces": [*self.pieces[0]]} if self.pieces else {}


_KEYWORDS: Final = {
    "usage": "usage",
    "trace": "trace",
    "additionalModelResponseFields": "additional",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
}
"""Maps each member of a ConverseResponse to a parameter of `reply.message`."""


def _options(members: Mapping[str, Any]) -> dict[str, Any]:
    return {keyword: members[name] for name, keyword in _KEYWORDS.items() if name in members}


def _text(message: _Message) -> Iterator[Call]:
    if len(message.content) != 1 or [*message.content[0]] != ["text"]:
        return
    text: str = message.content[0]["text"]
    value = parsed_json(text)
    if not message.pieces and isinstance(value, dict | list) and json.dumps(value, ensure_ascii=False) == text:
        yield "json", (value,), message.arguments("end_turn")
    yield "text", (text,), {**message.of_one_block(), **message.arguments("end_turn")}


def _tool_use(message: _Message) -> Iterator[Call]:
    *before, last = message.content or ({},)
    tool = object_of(last.get("toolUse"))
    if not {"name", "input"} <= tool.keys() <= {"name", "input", "toolUseId"} or not is_object(tool["input"]):
        return
    more: dict[str, Any] = {"id": tool["toolUseId"]} if "toolUseId" in tool else {}
    if not before:
        more |= message.of_one_block()
    elif [*map(list, before)] == [["text"]] and not message.pieces:
        more["text"] = before[0]["text"]
    else:
        return
    arguments: tuple[Any, ...] = (tool["name"], tool["input"]) if tool["input"] else (tool["name"],)
    yield "tool_use", arguments, {**more, **message.arguments("tool_use")}


def _cited(message: _Message) -> Iterator[Call]:
    names = {name for block in message.content for name in block}
    if "citationsContent" not in names or not names <= {"text", "citationsContent"}:
        return
    parts: list[Any] = []
    for block in message.content:
        cited = object_of(block.get("citationsContent"))
        texts = [str(item.get("text")) for item in objects_of(cited.get("content"))]
        parts += [block["text"]] if "text" in block else [*texts, *objects_of(cited.get("citations"))]
    pieces: dict[str, Any] = {"pieces": message.pieces} if message.pieces else {}
    yield "cited", parts, {**pieces, **message.arguments("end_turn")}


def _reasoning(message: _Message) -> Iterator[Call]:
    first, *others = message.content or ({},)
    reasoning = object_of(member_of(first, "reasoningContent", "reasoningText"))
    if "text" in reasoning and [*map(list, others)] in ([], [["text"]]) and not message.pieces:
        options = {"signature": reasoning.get("signature", False), **message.arguments("end_turn")}
        yield "reasoning", (reasoning["text"], *(block["text"] for block in others)), options


def _message(message: _Message) -> Iterator[Call]:
    pieces = {"pieces": message.pieces} if message.pieces else {}
    options = {**pieces, **message.arguments(default_stop_reason(message.content))}
    yield "message", message.content, options
    yield "message", message.content, {**options, "strict": False}


def _response(body: MessageBody) -> Iterator[Call]:
    """Yield calls of `reply.response`, which adds nothing to an answer: an older tool use has no type."""
    options = {name: value for name, value in body.options.items() if name != "metrics"}
    message = {"role": body.role, "content": [*body.content]}
    response = {"output": {"message": message}, "stopReason": body.stop_reason, **options}
    yield "response", (response,), {}
    yield "response", (response,), {"strict": False}


_SPELLINGS: Final[Sequence[Callable[[_Message], Iterator[Call]]]] = (_text, _tool_use, _reasoning, _cited, _message)
"""Functions that yield calls of `reply` for a message. Those that yield the shortest calls come first.

A function yields nothing for a message that it cannot write as a call. `spelled` skips a call if `reply` has no
function of this name, or if the function does not accept one of the arguments.
"""


def _messages(message: _Message, *, short: bool) -> Iterator[Call]:
    """Yield calls of `reply` for a message. The first calls have no usage and no deltas, because a fake generates both
    itself.
    """
    figures = {name: value for name, value in message.options.items() if name == "usage"}
    others = {name: value for name, value in message.options.items() if name != "usage"}
    content = tuple(_tool_in_order(block, short=short) for block in message.content)
    nothing: Mapping[Any, Any] = {}
    for pieces in (nothing, message.pieces) if message.pieces and not short else (nothing,):
        for given in (nothing, figures) if figures and not short else (nothing,):
            variant = replace(message, content=content, pieces=pieces, options={**given, **others})
            yield from chain.from_iterable(spelling(variant) for spelling in _SPELLINGS)


def _tool_in_order(block: Mapping[str, Any], *, short: bool) -> Mapping[str, Any]:
    """Return a content block. The members of a tool use are sorted: those in _TOOL come first.

    If `short` is true, the id and the type "tool_use" are left out.
    """
    tool = object_of(block.get("toolUse"))
    if not tool.keys() >= {"name", "input"}:
        return block
    hidden = {"toolUseId": None, "type": "tool_use"} if short else {}
    ordered = {key: tool[key] for key in (*_TOOL, *tool) if key in tool}
    left = {key: value for key, value in ordered.items() if hidden.get(key, "") not in (None, value)}
    return {**block, "toolUse": left}


_TOOL: Final = ("name", "toolUseId", "type")
"""The members of a tool use that are written before its input, in this order."""


# The functions below yield spellings (sequences of calls) of streams.


def _streams(events: Sequence[Event], wanted: Sent, *, short: bool, illegal: bool) -> Iterator[Calls]:
    failure = kind(events[-1]) if events and is_exception(kind(events[-1])) else ""
    came = [*events[:-1]] if failure else [*events]
    ended = _completed(came)
    message = _message_of(ended)
    for call in () if message is None else _messages(message, short=short):
        if failure:
            yield call, _failure(len(came), failure, events[-1][failure])
        else:
            yield from _with_ends((call,), wanted, len(came), illegal=illegal)
    for strict in ({}, {"strict": False}):
        yield (("events", ([*events],), strict),)
        yield from _with_ends((("events", (ended,), strict),), wanted, len(came), illegal=illegal)


def _with_ends(calls: Calls, wanted: Sent, after: int | None, *, illegal: bool) -> Iterator[Calls]:
    """Yield `calls`. If the answer is incomplete or illegal, also yield `calls` followed by a call of `broken` for each
    fault.

    Each fault is placed after `after` events. A fault of the whole answer has no position, and a fault in the order of
    events has its default position.
    """
    yield calls
    if wanted.ending or illegal:
        for fault in faults.FAULTS.values():
            at = {} if fault.place in ("whole answer", "position") or after is None else {"after": after}
            yield *calls, ("broken", (fault,), at)


def _failure(after: int, name: str, members: Mapping[str, Any]) -> Call:
    if name == ERROR_FRAME:
        return "error_frame_after", (after, members.get("code"), members.get("message")), {}
    lax = {} if name in bedrock.stream_exceptions() else {"strict": False}
    more = {key: value for key, value in members.items() if key != "message"}
    return "fails_after", (after, name, members.get("message", "")), {**more, **lax}


def _completed(events: Sequence[Event]) -> list[Event]:
    """Return the events of a stream, with contentBlockStop, messageStop and metadata added if the stream lacks them."""
    made = [*events] or [{"messageStart": {"role": "assistant"}}]
    names = [*map(kind, made)]
    index = object_of(made[-1][names[-1]]).get("contentBlockIndex", 0)
    if names[-1] in ("contentBlockStart", "contentBlockDelta"):
        made.append({"contentBlockStop": {"contentBlockIndex": index}})
    if "messageStop" not in names:
        uses = any("toolUse" in object_of(member_of(event, "contentBlockStart", "start")) for event in made)
        stop = {"messageStop": {"stopReason": "tool_use" if uses else "end_turn"}}
        made.insert(len(made) - ("metadata" in names), stop)
    if "metadata" not in names:
        made.append({"metadata": {"usage": _NO_USAGE, "metrics": {"latencyMs": 0}}})
    return made


_NO_USAGE: Final = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
"""The token usage that `_completed` adds. `_message_of` ignores it, so that no argument is written for it."""


def _message_of(events: Sequence[Event]) -> _Message | None:
    """Return the message of a stream; None if its events form no message, or a message without blocks."""
    try:
        whole = assemble(events)
    except StreamOrderError:
        return None
    if not whole.message["content"]:
        return None
    metadata: dict[str, Any] = {}
    pieces: dict[int, list[str]] = {}
    for event in events:
        metadata |= object_of(event.get("metadata"))
        if (delta := text_delta(event)) is not None:
            index, _, text = delta
            pieces.setdefault(index, []).append(text)
    if metadata.get("usage") == _NO_USAGE:
        del metadata["usage"]
    if whole.additional is not None:
        metadata["additionalModelResponseFields"] = whole.additional
    return _Message(tuple(whole.message["content"]), whole.stop_reason, pieces, _options(metadata))


# The code below yields spellings (sequences of calls) of errors.

_USUAL: Final[Sequence[Call]] = (
    *((name, (), {}) for name in sorted(reply.__all__)),
    *(("throttled", (), {"wording": wording}) for wording in THROTTLES),
    *(("context_overflow", (wording,), {}) for wording in OVERFLOWS),
)
"""The calls that are tried first for an error: each function of `reply`, called without arguments, then `throttled`
and `context_overflow`, called with each wording that users reported.

`spelled` skips the functions that need arguments. Functions that make no error never reproduce one.
"""


@cache
def _by_error() -> Mapping[str, str]:
    """Map the name of each error to the function of `reply` that takes the error's message as its only argument."""
    found: dict[str, str] = {}
    for name in reply.__all__:
        with suppress(ConverseHarnessError, TypeError):  # a function with other arguments
            made = getattr(reply, name)("a message")
            if isinstance(made, Reply) and isinstance(made.plan.body, ErrorBody):
                found[made.plan.body.name] = name
    return found


def _errors(wanted: Sent) -> Iterator[Calls]:
    (body,) = wanted.content
    members = object_of(body)
    waits = zip(("seconds", "ms"), wanted.waits, strict=True)
    retry = {name: int(wait) for name, wait in waits if wait and wait.isdigit()}
    then: Calls = (("retry_after", (), retry),) if retry else ()
    message = members.get("message")
    more = {name: value for name, value in members.items() if name != "message"}
    yield from ((call, *then) for call in _USUAL)
    if wanted.error in _by_error() and not more:
        yield ((_by_error()[wanted.error], (message,), {}), *then)
    known = bedrock.all_errors()
    names = [wanted.error] if wanted.error else [name for name in known if known[name].status == wanted.status]
    for name in names:
        for status in ({}, {"status": wanted.status}):
            yield (("error", (name, message), {**status, **more}), *then)
