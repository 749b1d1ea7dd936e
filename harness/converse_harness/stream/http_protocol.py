"""What HTTP/1.1 and HTTP/2 have in common, without I/O: events, limits, and answers to requests that are refused.

Http1 and Http2 have the same methods, which convert received bytes to events, and answers to bytes. If the attribute
`done` is true, nothing more will be received or answered, and the connection must be closed once the pending bytes are
written. If `unread` is true, the client may still be sending.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from converse_harness.stream.http import NO_REQUEST_ID, HttpResponse, Request, error_response

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""The first bytes of a client that uses HTTP/2 with prior knowledge."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for requests; sizes in bytes, times in seconds.

    `body` must allow real requests: one with documents and videos may have 25 MB.
    """

    head: int = 65_536
    body: int = 64 * 1024 * 1024
    ahead: int = 262_144
    """Maximum number of bytes of further requests that arrive while a request is being answered (pipelining)."""
    streams: int = 1_000
    """Maximum number of concurrent streams on one HTTP/2 connection."""
    resets: int = 200
    """Maximum number of HTTP/2 streams that a client may reset before their answers. A full answer allows one more."""
    empty: int = 1_000
    """Maximum number of HTTP/2 frames and HTTP/1.1 chunks that have fewer than SMALL bytes of a body.

    Further requests, further bytes of a body, and received answers allow the client to send more such frames or chunks.
    """
    silence: float = 30.0
    """Seconds that the client may be silent in the middle of a request."""
    idle: float = 120.0
    """Seconds that the client may be silent between two requests."""


LIMITS: Final = Limits()

SMALL: Final = 64
"""A frame or chunk with fewer bytes of a body counts as empty, because it causes as much work as a full one."""


_CONNECTION_HEADERS: Final = frozenset({"connection", "transfer-encoding"})
"""Headers that belong to a connection of HTTP/1.1. HTTP/2 forbids them, and an ASGI server sends its own."""

_REFUSALS: Final[Mapping[int, tuple[str, str]]] = {
    400: ("BadRequestException", "This is not an HTTP request that can be read: {problem}."),
    408: ("RequestTimeoutException", "The request did not arrive in full; nothing came for {silence:g} s."),
    413: ("RequestEntityTooLargeException", "The request body is longer than {body} bytes."),
    431: ("RequestHeaderSectionTooLargeException", "The request's head is longer than {head} bytes."),
}
"""By HTTP status: the error name and message for a request that never becomes a Call.

They are based on the HTTP standard, not on recordings of Bedrock.
"""


class Arrived(NamedTuple):
    """A whole request that has arrived on the stream with the number `stream`.

    In HTTP/1.1, `stream` counts the requests of the connection.
    """

    stream: int
    request: Request


class HttpRefused(NamedTuple):
    """A request that cannot be accepted, with the answer to send."""

    stream: int
    response: HttpResponse


class Left(NamedTuple):
    """The client has reset the stream, or the connection ends before the answer on this stream is complete."""

    stream: int


Event = Arrived | HttpRefused | Left


def portable_headers(response: HttpResponse) -> list[tuple[str, str]]:
    """Return the headers of a response for HTTP/2 and ASGI: in lower case, without those of an HTTP/1.1 connection."""
    return [(name.lower(), value) for name, value in response.headers if name.lower() not in _CONNECTION_HEADERS]


def refusal(status: int, problem: str, limits: Limits) -> HttpResponse:
    """Return the answer to a request that cannot be accepted.

    The answer has AWS's form, so that every client can parse it.
    """
    status = status if status in _REFUSALS else 400
    name, message = _REFUSALS[status]
    text = message.format(problem=problem, silence=limits.silence, body=limits.body, head=limits.head)
    return no_call(name, status, text)


def no_call(name: str, status: int, message: str) -> HttpResponse:
    """Return an error in AWS's form, in answer to a request that never becomes a Call."""
    return error_response(name, status, json.dumps({"message": message}).encode(), NO_REQUEST_ID)
