"""The exchanges of a recording, and the Replies that repeat the recorded answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from itertools import groupby, starmap
from typing import Any, Final
from uuid import UUID

from converse_harness import bedrock
from converse_harness.endpoint.operations import Route, any_route, other_service
from converse_harness.json_values import is_array, is_object, object_of
from converse_harness.recordings.format.lines import KINDS, Line, body_bytes, event_as_sent, frame_bytes_of, usual_delta
from converse_harness.reply.body import BareBody, Body, ErrorBody, EventsBody, MessageBody, Recorded
from converse_harness.reply.plan import Plan
from converse_harness.reply.reply import Reply
from converse_harness.stream.chunk import Deltas
from converse_harness.stream.delivery import Frames, StreamChunks
from converse_harness.stream.events import encode_deltas
from converse_harness.stream.http import (
    NO_REQUEST_ID,
    Break,
    Chunk,
    HttpResponse,
    Request,
    error_response,
    json_response,
    stream_response,
)

_NO_LABELS: Final = frozenset(KINDS["call"].keys) - {"service"}
"""The keys of the line of a call that are no parameters of its path."""

Answer = tuple[Line, tuple[Line, ...], Line | None]
"""The lines of an answer: the head, the events of the stream, and the abnormal end (None if the answer ended normally).
"""


class RecordedExchange:
    """One request and its answer.

    `at` is the number, from 1, of the call's line in the file. `call` is this line, with the whole request. `head` is
    the line of the answer's head or, if no head came, the line of the failure. `events` are the lines of the answer's
    stream. `end` is the line about an abnormal end, or None if the answer ended normally.
    """

    __slots__ = ("_answer", "_call", "at")

    def __init__(self, at: int, call: Line, head: Line, events: tuple[Line, ...] = (), end: Line | None = None) -> None:
        self.at = at
        self._call: Line | Callable[[], Line] = call
        self._answer: Answer | Callable[[Line], Answer] = (head, events, end)

    @classmethod
    def later(cls, at: int, call: Callable[[], Line], answer: Callable[[Line], Answer]) -> RecordedExchange:
        """Return an exchange that is read on demand.

        `at` is the number, from 1, of the call's line in the file. `call` returns this line. `answer` takes this line,
        and returns the lines of the answer.
        """
        exchange = cls(at, {}, {})
        exchange._call, exchange._answer = call, answer
        return exchange

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordedExchange) and (self.at, *self.lines()) == (other.at, *other.lines())

    __hash__ = None  # type: ignore[assignment]  # lines are dicts, which are not hashable

    @property
    def call(self) -> Line:
        """The line of the call, with the whole request."""
        if callable(self._call):
            self._call = self._call()
        return self._call

    @property
    def answer(self) -> Answer:
        """The lines of the answer."""
        if callable(self._answer):
            self._answer = self._answer(self.call)
        return self._answer

    @property
    def head(self) -> Line:
        """The line of the answer's head or, if no head came, the line of the failure."""
        return self.answer[0]

    @property
    def events(self) -> tuple[Line, ...]:
        """The lines of the answer's stream."""
        return self.answer[1]

    @property
    def end(self) -> Line | None:
        """The line about an abnormal end of the answer; None if the answer ended normally."""
        return self.answer[2]

    @property
    def operation(self) -> str:
        """The AWS operation, or the method and path of a request that is not a Bedrock operation."""
        known = self._of_path
        found = self.call.get("operation") if known is None else known.operation
        return str(found or f"{self.call.get('method')} {self.call.get('path')}")

    @property
    def labels(self) -> dict[str, str]:
        """The parameters in the path, such as `modelId`, with the service if it is named."""
        known = self._of_path
        if known is not None:
            return {**other_service(known.service), **known.path_params}
        return {name: str(value) for name, value in self.call.items() if name not in _NO_LABELS}

    @property
    def service(self) -> str:
        """The Bedrock service that has the operation; Bedrock Runtime if no service or several have it."""
        having = bedrock.services_of(self.operation)
        return self.labels.get("service") or (having[0] if len(having) == 1 else bedrock.SERVICE)

    @property
    def _of_path(self) -> Route | None:
        """The operation of a path, which was not known when the call was recorded; None if the line names one."""
        if "operation" in self.call:
            return None
        return any_route(Request(str(self.call.get("method")), str(self.call.get("path")), (), b""))

    @property
    def model_id(self) -> str:
        """The model id; empty if the operation has none."""
        return str(self.call.get("modelId", ""))

    @property
    def request(self) -> Mapping[str, Any]:
        """The JSON object in the request's body; empty if the body is something else."""
        return object_of(self.call.get("request"))

    @property
    def any_request(self) -> bool:
        """Whether the request is not known, so that any call of the operation, and of the model if one is named, gets
        the answer.
        """
        return "anyRequest" in self.call

    @property
    def faults(self) -> list[str]:
        """The deliberate faults of the answer, as texts, which the line of the call declares."""
        return list(self.call.get("faults", ()))

    @property
    def masked(self) -> list[str]:
        """The paths of the values in the exchange in which `***` replaces a secret."""
        return list(self.call.get("masked", ()))

    def lines(self) -> list[Line]:
        """Return the lines of the exchange, in the order of the file."""
        return [self.call, self.head, *self.events, *([] if self.end is None else [self.end])]


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """The content of a file: its header line and its exchanges.

    If `has_masks` is false, no exchange contains a masked secret. If `has_digests` is false, no request contains the
    digest of a file.
    """

    header: Line
    exchanges: tuple[RecordedExchange, ...]
    has_masks: bool = True
    has_digests: bool = True


PLACEHOLDER: Final = re.compile(r"[*<>\[\]{}]|redact|mask|filtered|x{6}", re.IGNORECASE)
"""Matches a request id that a recorder has masked. The request ids of AWS are UUIDs, which never match."""

OPTIONS: Final = ("usage", "metrics", "trace", "additionalModelResponseFields", "performanceConfig", "serviceTier")
"""The members of a Converse response except message and stop reason, in the order of the fields of `assemble.Response`.
"""


def reply_of(exchange: RecordedExchange, pace: float = 0.0) -> Reply:
    """Return the Reply with the recorded answer. The recorded pauses are multiplied by `pace`; 0 means no pauses."""
    events, frames = _sent_by(exchange.events)
    response = _response(exchange, events, frames, pace)
    partial = exchange.end is not None and exchange.end["end"] == "closed by client"
    return Reply(Plan(_body(exchange, events), recorded=Recorded(exchange.operation, response, partial)))


def _sent_by(lines: Sequence[Line]) -> tuple[list[dict[str, Any] | None], list[bytes]]:
    """Return the events on the lines of a stream, as `event_as_sent` returns them, and the bytes to send for each line.

    The successive deltas of one text are encoded together, which is faster.
    """
    events: list[dict[str, Any] | None] = []
    frames: list[bytes] = []
    for of, run in groupby(zip(lines, map(usual_delta, lines), strict=True), _text_of):
        if of is None:
            others = [(line, event_as_sent(line)) for line, _ in run]
            events += [event for _, event in others]
            frames += starmap(frame_bytes_of, others)
        else:
            deltas = [(line, found[2]) for line, found in run if found is not None]
            events += [{"contentBlockDelta": line["contentBlockDelta"]} for line, _ in deltas]
            paddings = bytes([line["p"] for line, _ in deltas])
            frames += encode_deltas(Deltas(*of, [piece for _, piece in deltas]), paddings)
    return events, frames


def _text_of(each: tuple[Line, tuple[int, str, str] | None]) -> tuple[int, str] | None:
    return None if each[1] is None else each[1][:2]


def _chunks(
    exchange: RecordedExchange, events: Sequence[dict[str, Any] | None], frames: list[bytes], pace: float
) -> Iterable[Chunk]:
    """Return the chunks of a stream; `events` contains None for bytes that are no event.

    If all events are sent without a pause, and each in a chunk of its own, the result is StreamChunks, which is sent
    faster.
    """
    known = [event for event in events if event is not None]
    if not pace and frames and len(known) == len(frames) and not any("joined" in line for line in exchange.events):
        last = Chunk(frames.pop(), 0.0, known.pop())
        others = Frames(lambda: known, frames)
        return StreamChunks(others, (others,), lambda _: last, 0.0, 0.0)
    chunks: list[Chunk] = []
    before: int = exchange.head["t"]
    for line, data, event in zip(exchange.events, frames, events, strict=True):
        if chunks and line.get("joined"):
            first = chunks.pop()
            more = (*first.more, event) if event is not None else first.more
            chunks.append(Chunk(first.data + data, first.delay, first.event, more))
        else:
            chunks.append(Chunk(data, max(0, line["t"] - before) * pace / 1000, event))
            before = line["t"]
    return chunks


def _response(
    exchange: RecordedExchange, events: Sequence[dict[str, Any] | None], frames: list[bytes], pace: float
) -> HttpResponse:
    head = exchange.head
    wait = head["t"] * pace / 1000
    if "failed" in head:
        return HttpResponse(0, (), (), failure=head["failed"], wait=wait)
    request_id = _request_id(exchange)
    body = body_bytes("body", head)
    if body is None:
        made = stream_response(_chunks(exchange, events, frames, pace), request_id)
    elif "type" in head:
        made = error_response(head["type"], head["status"], body, request_id)
    else:
        made = json_response(body, request_id)
    end = exchange.end["end"] if exchange.end is not None else None
    broken: Break | None = None if end == "closed by client" else end
    return HttpResponse(head["status"], tuple(_headers(made.headers, head)), made.chunks, broken=broken, wait=wait)


def _request_id(exchange: RecordedExchange) -> str:
    """Return the recorded request id; NO_REQUEST_ID if none was recorded.

    If a recorder masked the id, another id is computed from the exchange. So every replay has the same id.
    """
    known: str = exchange.head.get("requestId", NO_REQUEST_ID)
    if not PLACEHOLDER.search(known):
        return known
    return str(UUID(bytes=shake_256(f"{exchange.at}|{exchange.operation}|{known}".encode()).digest(16), version=4))


def _headers(usual: Sequence[tuple[str, str]], head: Line) -> Iterator[tuple[str, str]]:
    """Yield the headers of an answer: the usual ones with their recorded values, then the other recorded headers.

    A header whose recorded value is None is left out.
    """
    absent = {} if "requestId" in head else {"x-amzn-RequestId": None}
    headers: Mapping[str, str | None] = {**dict(usual), **absent, **head.get("headers", {})}
    return ((name, value) for name, value in headers.items() if value is not None)


def _body(exchange: RecordedExchange, events: Sequence[dict[str, Any] | None]) -> Body:
    """Return the body of the Reply: a message, events or an error. For any other answer, return a BareBody that
    describes it.
    """
    head = exchange.head
    if "failed" in head:
        return BareBody(str(head["failed"]))
    members = object_of(head.get("body"))
    name = str(head.get("type") or head.get("headers", {}).get("x-amzn-ErrorType") or "").partition(":")[0]
    if head["status"] >= 400 and name:
        return ErrorBody(name, head["status"], members)
    if exchange.operation == "Converse" and isinstance(members.get("output"), dict):
        return message_of(members)
    if exchange.operation == "ConverseStream" and events:
        return EventsBody(tuple(event for event in events if event is not None), strict=not exchange.faults)
    return BareBody(" ".join(map(str, (exchange.operation, head["status"], members.get("message", "")))).rstrip())


def message_of(members: Mapping[str, Any]) -> Body:
    """Return a body with the message of a ConverseResponse, or a BareBody if the response contains no valid message.

    `members` is the JSON of the response.
    """
    from converse_harness import bedrock

    read = bedrock.from_json("ConverseResponse", members)
    message: object = read["output"].get("message")
    content: object = message.get("content") if is_object(message) else None
    if not is_object(message) or not is_array(content) or not all(map(is_object, content)):
        return BareBody("Converse 200")
    options = {name: read[name] for name in OPTIONS if name in read}
    role: str = message.get("role", "assistant")
    reason = str(members.get("stopReason", ""))
    return MessageBody(tuple(content), reason, role, options=options, strict=False, as_given=True)
