"""The common parts of HTTP/1.1 and HTTP/2, without I/O: events, limits, refusals.

Http1 and Http2 have the same methods: bytes in, events out; answers in, bytes out. `done`: nothing more will be sent or
received, close after the pending bytes were written. `unread`: the peer may still be sending.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from converse_harness.stream.http import NO_REQUEST_ID, HttpResponse, Request, error_response

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client with prior knowledge of HTTP/2 sends first."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for requests; sizes in bytes, times in seconds.

    A real request with documents and videos may carry 25 MB.
    """

    head: int = 65_536
    body: int = 64 * 1024 * 1024
    ahead: int = 262_144
    """Of requests that arrive while one before them is being answered (pipelining)."""
    streams: int = 1_000
    """At a time on one HTTP/2 connection."""
    resets: int = 200
    """Of HTTP/2 streams that were given up before they were answered; each answer makes up for one."""
    empty: int = 1_000
    """Of frames of HTTP/2, and chunks of HTTP/1.1, that carry nothing or less than SMALL bytes; what else a peer asks
    and takes makes up for some.
    """
    silence: float = 30.0
    """In the middle of a request."""
    idle: float = 120.0
    """Between requests."""


LIMITS: Final = Limits()

SMALL: Final = 64
"""Bytes of a body; a peer that sends fewer at a time makes more work than it carries."""


_REFUSALS: Final[Mapping[int, tuple[str, str]]] = {
    400: ("BadRequestException", "This is not an HTTP request that can be read: {problem}."),
    408: ("RequestTimeoutException", "The request did not arrive in full; nothing came for {silence:g} s."),
    413: ("RequestEntityTooLargeException", "The request body is longer than {body} bytes."),
    431: ("RequestHeaderSectionTooLargeException", "The request's head is longer than {head} bytes."),
}
"""What is said to a peer whose request never becomes a Call, by status. From HTTP; nothing of it is recorded."""


class Arrived(NamedTuple):
    """A whole request arrived, on this stream of the connection (Http1 numbers its requests)."""

    stream: int
    request: Request


class HttpRefused(NamedTuple):
    """A request that cannot be accepted, with the answer to send."""

    stream: int
    response: HttpResponse


class Left(NamedTuple):
    """The client reset or closed one stream."""

    stream: int


Event = Arrived | HttpRefused | Left


def refusal(status: int, problem: str, limits: Limits) -> HttpResponse:
    """The answer to a request that cannot be accepted, in AWS's form, so that every client can read it."""
    status = status if status in _REFUSALS else 400
    name, message = _REFUSALS[status]
    said = message.format(problem=problem, silence=limits.silence, body=limits.body, head=limits.head)
    return no_call(name, status, said)


def no_call(name: str, status: int, message: str) -> HttpResponse:
    """An error in AWS's form, in answer to what never becomes a Call."""
    return error_response(name, status, json.dumps({"message": message}).encode(), NO_REQUEST_ID)
