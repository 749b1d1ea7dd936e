"""The captured exchange of a forwarded call, and the conversion of this exchange to lines of a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from converse_harness import bedrock
from converse_harness.endpoint.operations import NamedOperation, any_route, other_service
from converse_harness.errors import DamagedData
from converse_harness.recordings.format.check import faults_of
from converse_harness.recordings.format.lines import (
    ONE_OF,
    End,
    Line,
    body_members,
    bytes_line,
    frame_line,
    is_header,
    request_members,
)
from converse_harness.recordings.format.read import exchange_of
from converse_harness.stream.frames import PRELUDE_LENGTH, Decoder, frame_at
from converse_harness.stream.http import (
    ERROR_NAME,
    GATEWAY_ERROR,
    GATEWAY_ERRORS,
    MEMBER_HEADERS,
    SERVICE_ERROR,
    ConnectionFailure,
    Request,
)

STREAM: Final = "application/vnd.amazon.eventstream"
JSON: Final = "application/json"

_KEPT_HEADERS: Final = ("content-encoding", "retry-after", *MEMBER_HEADERS)
"""The prefixes of response headers that are always recorded. A standard header such as Content-Type is recorded only if
its value is unusual.
"""


_LAST: Final = ((":event-type", "metadata"), (":message-type", "exception"), (":message-type", "error"))
"""Names and values of frame headers; a frame with any of these headers is the last frame of its stream."""


@dataclass(slots=True, eq=False)
class CapturedExchange:
    """One forwarded call and its answer; a transport sets the fields while the answer arrives.

    All times are seconds since the request was sent. `pieces` are the parts of the body as they arrived, each with its
    time; every chunk of an HTTP/1.1 answer is one part. `failure` is the kind of failure if the call got no answer.
    `ended` is None if the answer ended normally. While `running` is true, the answer is still arriving, and `ended` is
    not yet valid.
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
    any_request: bool = False
    """True if only the answer is known, and of the request at most the path with the model id."""
    service: str = bedrock.SERVICE
    lines: list[Line] = field(default_factory=list[Line], init=False)
    """The lines that `keep_lines` has made; empty before."""

    @property
    def body(self) -> bytes:
        """The part of the body that has arrived."""
        return b"".join(piece for piece, _ in self.pieces)

    @property
    def answered(self) -> bool:
        """Whether an answer has begun or the call has failed."""
        return self.status != 0 or self.failure is not None

    def header(self, name: str) -> str | None:
        """Return the value of a response header, or None. `name` must be in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def header_of_request(self, name: str) -> str | None:
        """Return the value of a request header, or None. `name` must be in lower case."""
        return next((value for key, value in self.request.headers if key.lower() == name), None)

    def is_complete(self) -> bool:
        """Whether the whole body has arrived from AWS; the client need not have read all of it."""
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
    """Return the lines of one exchange. `number` is the number of the call, from 1.

    If AWS could not have sent this answer, the line of the call gets the key `faults`. The lines must not be changed.
    """
    lines = captured.lines or with_faults([_call_line(captured, number), *_answer_lines(captured)])
    return [lines[0] | {"call": number}, *lines[1:]]


def keep_lines(captured: CapturedExchange) -> None:
    """Make the lines of an exchange that has ended, and keep them for later calls of `exchange_lines`.

    A session makes all its lines when it ends. So to keep them needs memory earlier, and not more of it.
    """
    captured.lines = exchange_lines(captured, 1)


def with_faults(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of one exchange.

    If AWS could not have sent the answer, its call gets the reasons as `faults`.
    """
    call, *answer = lines
    faults = [] if "faults" in call else faults_of(exchange_of(lines, 1))
    return [before_request(call, {"faults": faults}) if faults else call, *answer]


def before_request(call: Line, more: Line) -> Line:
    """Return the line of a call with the keys of `more` before the request, so that a long request comes last."""
    request = {key: value for key, value in call.items() if key in ONE_OF["call"]}
    return {key: value for key, value in call.items() if key not in request} | more | request


def _call_line(captured: CapturedExchange, number: int) -> Line:
    request = captured.request
    asked = NamedOperation(captured.service, captured.operation) if captured.operation is not None else None
    found = any_route(request, () if asked is None else (asked,))
    path, _, query = request.target.partition("?")
    known = {"method": request.method, "path": path}
    if found is not None:
        known = {"operation": found.operation, **other_service(found.service), **found.path_params}
    if captured.any_request:
        known = {"operation": str(captured.operation), **({} if found is None else found.path_params)}
        return {"call": number, **known, "anyRequest": True}
    kept = {name: value for name, value in request.headers if name.lower().startswith(MEMBER_HEADERS)}
    body = request_members(request.body) if request.body else {}
    return {"call": number, **known, **({"query": query} if query else {}), **_headers(kept), **body}


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
    yield head if streams else head | body_members("body", data)
    if streams:
        yield from _stream_lines(captured, data)
    if captured.running and not captured.is_complete():
        # The rest of this answer has not arrived yet: record the answer as if the client had disconnected here.
        at = captured.pieces[-1][1] if captured.pieces else captured.head_at
        yield {"t": _ms(at), "end": "closed by client"}
    elif captured.ended is not None:
        yield {"t": _ms(captured.ended_at), "end": captured.ended}
    elif (length := captured.header("content-length") or "").isdecimal() and len(data) < int(length):
        # Newer versions of botocore accept a body that is shorter than its Content-Length. This line makes a replay end
        # after the same byte.
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
    kept = _members_in_headers(captured)
    unusual |= {
        key: value for key, value in captured.headers if key.lower().startswith(_KEPT_HEADERS) or key.lower() in kept
    }
    return line | _headers(unusual)


def _members_in_headers(captured: CapturedExchange) -> frozenset[str]:
    """Return the names of other headers that contain members of the answer, such as `mcp-session-id`."""
    if captured.operation is None or captured.operation not in bedrock.operations(captured.service):
        return frozenset()
    members = bedrock.operation(captured.operation, captured.service).output_shape.members.values()
    names = {str(each.serialization["name"]).lower() for each in members if "header" in each.serialization.values()}
    return frozenset(names - {"content-type"})


def _begins_with_a_frame(data: bytes) -> bool:
    """Whether a body begins with a frame, so that it is a stream.

    The Content-Type of an imported answer does not always show this, because it may be masked.
    """
    try:
        Decoder().feed(data[:PRELUDE_LENGTH])
    except DamagedData:
        return False
    return len(data) > PRELUDE_LENGTH


def _stream_lines(captured: CapturedExchange, body: bytes) -> Iterator[Line]:
    decoder = Decoder()
    read = 0
    for data, at in captured.pieces:
        try:
            frames = decoder.feed(data)
        except DamagedData:
            break
        for frame in frames:
            raw = frame_at(body, read)
            yield frame_line(frame, raw, _ms(at), joined=frame is not frames[0])
            read += len(raw)
    # Damaged or cut-off frames, and everything after them, are written as bytes, in the pieces in which they arrived.
    for data, at in captured.pieces:
        if read >= len(data):
            read -= len(data)
            continue
        yield bytes_line(data[read:], _ms(at))
        read = 0


def _ms(seconds: float) -> int:
    return round(1000 * seconds)
