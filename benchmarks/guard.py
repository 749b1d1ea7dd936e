"""What the guard costs a request to another host while a fake is open."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable
from typing import Any, Final

from benchmarks.budgets import Row
from benchmarks.measure import Rounds, timed
from converse_harness import fake_converse

ROUNDS: Final = 60
CALLS: Final = 400
HEADERS: Final = {"Authorization": f"AWS4-HMAC-SHA256 Credential={'x' * 120}", "Content-Type": "application/json"}


def rows() -> list[Row]:
    """A request of http.client, head and body, written to a socket that takes it all."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ask = _request(ours, theirs)

        def free() -> float:
            return timed(lambda: [ask() for _ in range(CALLS)]) / CALLS

        def guarded() -> float:
            with fake_converse():
                return free()

        measured = Rounds(ROUNDS, {"free": free, "guarded": guarded})
    return [
        Row("guard", 1e6 * measured.over("guarded", "free"), f"of {1e6 * measured.of('free'):.0f} us without a fake")
    ]


def _request(ours: socket.socket, theirs: socket.socket) -> Callable[[], None]:
    connection: Any = http.client.HTTPConnection("api.example.com")
    connection.sock = ours

    def ask() -> None:
        connection.request("POST", "/v1/messages", b'{"text": "hello"}', HEADERS)
        theirs.recv(65_536)
        connection._HTTPConnection__state = "Idle"  # as after an answer

    return ask
