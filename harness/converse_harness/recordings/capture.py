"""What was captured of a forwarded call, and the lines of a recording that this makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from converse_harness.endpoint.operations import control_route, route
from converse_harness.errors import DamagedData
from converse_harness.recordings.check import faults_of
from converse_harness.recordings.keys import ONE_OF, is_header
from converse_harness.recordings.lines import End, Line, body_members, bytes_line, frame_line, request_members
from converse_harness.recordings.read import exchange_of
from converse_harness.stream.frames import PRELUDE_LENGTH, Decoder, encode
from converse_harness.stream.http import (
    ERROR_NAME,
    GATEWAY_ERROR,
    GATEWAY_ERRORS,
    SERVICE_ERROR,
    ConnectionFailure,
    Request,
)

STREAM: Final = "application/vnd.amazon.eventstream"
JSON: Final = "application/json"

_KEPT_REQUEST_HEADERS: Final = ("x-amzn-bedrock-",)
"""Beginnings of the request headers that say what is asked; all others are dropped."""

_KEPT_HEADERS: Final = ("content-encoding", "retry-after", "retry-after-ms", "x-amzn-bedrock-")
"""Beginnings of the response headers that are kept as they are; the usual ones are kept where they are unusual."""


_LAST: Final = ((":event-type", "metadata"), (":message-type", "exception"), (":message-type", "error"))
"""A header of the frames after which none comes."""


@dataclass(slots=True, eq=False)
class CapturedExchange:
    """One call that is passed on, filled in by a transport while its answer comes.

    All times are seconds since the request was sent. `pieces` are the parts of the body as they arrived: with HTTP/1.1
    chunks, one each. Where no answer came, `failure` says how. `ended` is None where the answer ended well; while it is
    `running`, nobody knows.
    """

    request: Request
    operation: str | None = None
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    head_at: float = 0.0
    pieces: list[tuple[bytes, float]] = field(default_factory=list[tuple[bytes, float]])
    failure: ConnectionFailure | None = None
    ended: End | None = None
    ended_at: float = 0.0
    running: bool = False

    @property
    def body(self) -> bytes:
        """What came of the body."""
        return b"".join(piece for piece, _ in self.pieces)

    @property
    def answered(self) -> bool:
        """Whether anything came, or is known not to come."""
        return self.status != 0 or self.failure is not None

    def header(self, name: str) -> str | None:
        """The value of a response header, by its name in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def is_complete(self) -> bool:
        """Whether nothing is missing, although the client has not asked whether there is more."""
        length = self.header("content-length")
        if length is not None:
            return length == str(len(self.body))
        decoder = Decoder()
        try:
            frames = decoder.feed(self.body)
            decoder.close()
        except DamagedData:
            return False
        return bool(frames) and any(frames[-1].get(name) == value for name, value in _LAST)


def exchange_lines(captured: CapturedExchange, number: int) -> list[Line]:
    """The lines of one exchange; `number` is that of its call, from 1. An answer that is not legal has its `faults`."""
    return with_faults([_call_line(captured, number), *_answer_lines(captured)])


def with_faults(lines: Sequence[Line]) -> list[Line]:
    """The lines of one exchange, with `faults` that say why its answer is not legal, if it is not."""
    call, *answer = lines
    faults = [] if "faults" in call else faults_of(exchange_of(lines, 1))
    return [before_request(call, {"faults": faults}) if faults else call, *answer]


def before_request(call: Line, more: Line) -> Line:
    """The line of a call with more keys. The request comes last: it may be long."""
    request = {key: value for key, value in call.items() if key in ONE_OF["call"]}
    return {key: value for key, value in call.items() if key not in request} | more | request


def _call_line(captured: CapturedExchange, number: int) -> Line:
    request = captured.request
    found = route(request) or control_route(request)
    path, _, query = request.target.partition("?")
    line: Line = {"call": number}
    if found is not None:
        line |= {"operation": found.operation, **found.path_params}
    else:
        line |= {"method": request.method, "path": path}
    if query:
        line["query"] = query
    named = [each for each in request.headers if each[0].lower().startswith(_KEPT_REQUEST_HEADERS)]
    line |= _headers(dict(named))
    return line | (request_members(request.body) if request.body else {})


def _headers(unusual: Mapping[str, str | None]) -> Line:
    kept = {name: value for name, value in unusual.items() if value is None or is_header(value)}
    return {"headers": kept} if kept else {}


def _answer_lines(captured: CapturedExchange) -> Iterator[Line]:
    if captured.failure is not None:
        yield {"t": _ms(captured.ended_at), "failed": captured.failure}
        return
    data = captured.body
    streams = captured.status == 200 and (captured.header("content-type") == STREAM or _begins_with_a_frame(data))
    head = _head_line(captured, data, streams=streams)
    if streams:
        yield head
        yield from _stream_lines(captured)
    else:
        yield head | body_members("body", data)
    if captured.running and not captured.is_complete():
        # As if the client had left here: what comes after is not in the recording.
        at = captured.pieces[-1][1] if captured.pieces else captured.head_at
        yield {"t": _ms(at), "end": "closed by client"}
    elif captured.ended is not None:
        yield {"t": _ms(captured.ended_at), "end": captured.ended}
    elif (length := captured.header("content-length") or "").isdecimal() and len(data) < int(length):
        # A newer botocore takes no notice of it. Whoever replays it must not wait for the rest.
        yield {"t": _ms(captured.ended_at), "end": "connection closed"}


def _head_line(captured: CapturedExchange, data: bytes, *, streams: bool) -> Line:
    at = captured.head_at if streams or not captured.pieces else captured.pieces[-1][1]
    line: Line = {"t": _ms(at), "status": captured.status}
    unusual: dict[str, str | None] = {}
    error = captured.header("x-amzn-errortype")
    name, _, _ = (error or "").partition(":")
    if ERROR_NAME.fullmatch(name) and error == name + (GATEWAY_ERROR if name in GATEWAY_ERRORS else SERVICE_ERROR):
        line["type"] = name
    elif error is not None:
        unusual["x-amzn-ErrorType"] = error
    request_id = captured.header("x-amzn-requestid")
    if is_header(request_id):
        line["requestId"] = request_id
    content_type = captured.header("content-type")
    if content_type != (STREAM if streams else JSON):
        unusual["Content-Type"] = content_type
    length = captured.header("content-length")
    if length is not None and (streams or length != str(len(data))):
        unusual |= {"Transfer-Encoding": None, "Content-Length": length} if streams else {"Content-Length": length}
    unusual |= {key: value for key, value in captured.headers if key.lower().startswith(_KEPT_HEADERS)}
    return line | _headers(unusual)


def _begins_with_a_frame(data: bytes) -> bool:
    """Whether it is a stream whatever its header says: recorders that came before us mask that."""
    try:
        Decoder().feed(data[:PRELUDE_LENGTH])
    except DamagedData:
        return False
    return len(data) > PRELUDE_LENGTH


def _stream_lines(captured: CapturedExchange) -> Iterator[Line]:
    decoder = Decoder()
    read = 0
    for data, at in captured.pieces:
        joined = False
        try:
            frames = decoder.feed(data)
        except DamagedData:
            break
        for frame in frames:
            raw = encode(frame)  # frames decode and encode again to the same bytes
            yield frame_line(frame, raw, _ms(at), joined=joined)
            read += len(raw)
            joined = True
    # From the first damage on, or what was cut off: bytes, in the pieces in which they came.
    for data, at in captured.pieces:
        if read >= len(data):
            read -= len(data)
            continue
        yield bytes_line(data[read:], _ms(at))
        read = 0


def _ms(seconds: float) -> int:
    return round(1000 * seconds)
