"""HTTP/2 over a socket, frame by frame: each row of the table `rfc9113.py`, with the cases that h2spec tries.

h2spec itself is a program in Go, and in no package registry that this project uses.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import h2
import pytest

from converse_harness import ConverseServer
from converse_harness.stream.http_protocol import PREFACE, Limits
from tests.server.http.rfc9113 import (
    ACK,
    CODES,
    DATA,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    ROWS,
    RST_STREAM,
    Row,
    frame,
    head,
    setting,
)
from tests.server.peers import connect

NEXT: Final = 1001
"""The stream of the request that follows a row."""

KNOWN: dict[str, tuple[str, str]] = {
    "6.5 an acknowledgement with a payload": (
        "GOAWAY PROTOCOL_ERROR",
        "hyperframe reports wrong data, not a wrong size; the connection ends all the same, and no client sends this",
    ),
    "6.9 the reserved bit of an increment": (
        "GOAWAY PROTOCOL_ERROR",
        "hyperframe reads the bit as a part of the number; a sender must leave it unset",
    ),
}
"""By row: what happens instead, and why it stays so."""

if tuple(map(int, h2.__version__.split(".")[:2])) < (4, 4):
    KNOWN |= dict.fromkeys(
        ("8.1.1 two content-lengths", "8.1.1 a content-length that is no number", "8.5 CONNECT with :path"),
        ("goes on", "h2 checks it since 4.4"),
    )


class Came(NamedTuple):
    """A frame of the server."""

    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self) -> str:
        """The error code of RST_STREAM or GOAWAY, by name."""
        return CODES[int.from_bytes(self.payload[-4:] if self.kind == RST_STREAM else self.payload[4:8], "big")]

    @property
    def ends(self) -> bool:
        """Whether it is the last frame of its stream."""
        return self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM)


class Talk:
    """One connection, and all frames that the server has sent on it."""

    def __init__(self, url: str) -> None:
        self.socket: socket.socket = connect(url)
        self.came: list[Came] = []
        self.closed = False
        self._held = b""

    def send(self, data: bytes) -> None:
        """Send bytes, if the server still takes any."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def until(self, condition: Callable[[], object]) -> None:
        """Read until something holds, or the server closes; raises TimeoutError."""
        while not (self.closed or condition()):
            try:
                data = self.socket.recv(65_536)
            except ConnectionResetError:
                data = b""
            self.closed = not data
            self._held += data
            while len(self._held) >= 9 and len(self._held) >= (size := 9 + int.from_bytes(self._held[:3], "big")):
                one, self._held = self._held[:size], self._held[size:]
                self.came.append(Came(one[3], one[4], int.from_bytes(one[5:9], "big"), one[9:]))

    def errors(self, kind: int) -> list[Came]:
        """The frames of this kind that came, RST_STREAM or GOAWAY."""
        return [came for came in self.came if came.kind == kind and came.code != "NO_ERROR"]

    def ended(self, stream: int) -> bool:
        """Whether an answer has come in full."""
        return any(came.ends and came.stream == stream for came in self.came)

    def body(self, stream: int) -> int:
        """How many bytes of an answer have come."""
        return sum(len(came.payload) for came in self.came if came.kind == DATA and came.stream == stream)

    def ping(self, payload: bytes) -> None:
        """Send a PING, and wait for its answer."""
        self.send(frame(PING, 0, 0, payload))
        self.until(lambda: any((came.kind, came.flags, came.payload) == (PING, ACK, payload) for came in self.came))


def outcome(row: Row, talk: Talk) -> str:
    """Send a row and the next request. Return what the server made of it, in a few words."""
    if not row.bare:
        talk.send(PREFACE + setting())
    for part in row.sent:
        if isinstance(part, int):
            talk.until(partial(talk.ended, part))
        else:
            talk.send(part)
    talk.send(head(NEXT))
    talk.until(lambda: talk.errors(GOAWAY) or any(came[0::2][:2] == (HEADERS, NEXT) for came in talk.came))
    if goaway := talk.errors(GOAWAY):
        talk.until(lambda: False)
        return f"GOAWAY {goaway[0].code}"
    if resets := talk.errors(RST_STREAM):
        return f"RST_STREAM {resets[0].code}"
    if talk.closed:
        return "closed"
    if not row.answers:
        return "goes on"
    due = row.body
    talk.until(lambda: talk.ended(row.answers) if due is None else talk.body(row.answers) >= due)
    talk.ping(b"and then")
    return "answered" if due in (None, talk.body(row.answers)) else f"answered, {talk.body(row.answers)} bytes"


@pytest.fixture
def url() -> Iterator[str]:
    with ConverseServer(limits=Limits(streams=20)) as server:
        yield server.url


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_frame_has_the_outcome_of_the_standard(url: str, row: Row) -> None:
    talk = Talk(url)
    with talk.socket:
        found = outcome(row, talk)
        allowed = (KNOWN[str(row)][0],) if str(row) in KNOWN else row.then
        assert found in allowed
        if row.says is not None:
            kind, flags, payload = row.says
            assert [
                came
                for came in talk.came
                if (came.kind, came.flags) == (kind, flags) and payload in (None, came.payload)
            ]
