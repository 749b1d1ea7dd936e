"""HTTP requests and timed HTTP responses. A transport (a server or an interceptor) exchanges them with the Endpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as a client sent it.

    `target` is the raw request target: percent-encoded path with query, never decoded (an ARN in a path has `%2F`).
    Header names keep their original upper and lower case.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


ConnectionFailure = Literal["connection refused", "connect timeout", "read timeout", "connection closed"]
"""The failures of a connection that replace an HTTP response."""


Break = Literal["connection reset", "connection closed", "stalled"]
"""The ways in which a connection breaks in the middle of an answer."""


class Chunk(NamedTuple):
    """The bytes of one HTTP chunk: usually at most one stream event.

    `delay` is the number of seconds to wait before the bytes are sent. `event` is the AWS event dict that the bytes
    encode (None for a JSON body). If a fault puts several events into one chunk, `more` are the events after the first.
    Chunk is a named tuple for speed: one Chunk is made for every event, and making a frozen dataclass takes three times
    as long.
    """

    data: bytes
    delay: float = 0.0
    event: Mapping[str, Any] | None = None
    more: tuple[Mapping[str, Any], ...] = ()


JSON_HEADERS: Final = ("Content-Type", "Content-Length", "Connection", "x-amzn-RequestId")
STREAM_HEADERS: Final = ("Content-Type", "Transfer-Encoding", "Connection", "x-amzn-RequestId")
ERROR_HEADERS: Final = (*JSON_HEADERS, "x-amzn-ErrorType")
"""The names of the headers of an error, in recorded order; JSON_HEADERS and STREAM_HEADERS are those of other answers.
`Date` comes before all of them."""

MEMBER_HEADERS: Final = ("x-amzn-bedrock-", "x-amz-bedrock-", "x-amzn-code-interpreter-", "x-amzn-browser-")
"""The prefixes of headers, in lower case, that contain members of inputs and outputs. They are recorded and compared,
and a proxy passes them on."""

SERVICE_ERROR: Final = ":http://internal.amazon.com/coral/com.amazon.bedrock/"
GATEWAY_ERROR: Final = ":http://internal.amazon.com/coral/com.amazon.coral.service/"
"""The suffix of x-amzn-ErrorType in recorded errors of the gateway; SERVICE_ERROR is the suffix for errors of the
service."""

NO_REQUEST_ID: Final = "00000000-0000-4000-8000-000000000000"
"""The request id in the answer to a request that is not recorded as a Call."""

ERROR_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
"""Matches a valid error name, as the header x-amzn-ErrorType contains it."""

GATEWAY_ERRORS: Final = frozenset(
    {
        "ExpiredTokenException",
        "InvalidSignatureException",
        "SerializationException",
        "UnrecognizedClientException",
    }
)

UNKNOWN_OPERATION: Final = b'{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}'
"""The body of Bedrock's answer to a POST to a path that is no operation, for example with a literal `/` in an ARN.

The HTTP status is 200, also for converse-stream, so clients read an answer without members. Sources: vercel/ai#17523
(2026-07-20 and -21, recorded), BerriAI/litellm#3805, aws-amplify/amplify-flutter#5675. Headers are not recorded.
"""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A timed HTTP response. `headers` are in wire order and lack `Date`, which transports put first.

    `wait` is the number of seconds before the head is sent. `failure` is the failure that happens instead of a
    response. `broken` is the way in which the connection breaks after the last chunk. If `stale` is true, the
    connection stays open, but is reset at the client's next request.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: Iterable[Chunk]
    failure: ConnectionFailure | None = None
    broken: Break | None = None
    wait: float = 0.0
    stale: bool = False


def json_response(body: bytes, request_id: str, *, delay: float = 0.0) -> HttpResponse:
    """Make a 200 response with a JSON body that is sent after a delay of `delay` seconds."""
    return HttpResponse(200, _headers(JSON_HEADERS, body, request_id), (Chunk(body, delay),))


def stream_response(chunks: Iterable[Chunk], request_id: str) -> HttpResponse:
    """Make a 200 response with an event stream."""
    return HttpResponse(200, _headers(STREAM_HEADERS, b"", request_id), chunks)


def error_response(name: str, status: int, body: bytes, request_id: str, *, delay: float = 0.0) -> HttpResponse:
    """Make the HTTP response for an error. The header x-amzn-ErrorType has the same form as in recorded answers."""
    suffix = GATEWAY_ERROR if name in GATEWAY_ERRORS else SERVICE_ERROR
    headers = _headers(ERROR_HEADERS, body, request_id, error_type=name + suffix)
    return HttpResponse(status, headers, (Chunk(body, delay),))


def _headers(names: tuple[str, ...], body: bytes, request_id: str, error_type: str = "") -> tuple[tuple[str, str], ...]:
    stream = "Transfer-Encoding" in names
    values = {
        "Content-Type": "application/vnd.amazon.eventstream" if stream else "application/json",
        "Content-Length": str(len(body)),
        "Transfer-Encoding": "chunked",
        "Connection": "keep-alive",
        "x-amzn-RequestId": request_id,
        "x-amzn-ErrorType": error_type,
    }
    return tuple([(name, values[name]) for name in names])
