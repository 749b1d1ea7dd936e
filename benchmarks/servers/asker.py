"""A load generator: `python -m benchmarks.servers.asker URL SECONDS CONNECTIONS` asks on sockets that stay open.

One small process with raw sockets, so that it keeps any server busy that is written in a language like ours: it looks
only for the end of each answer. Each request has a prompt of its own. Prints the number of
whole answers, and the seconds of the slowest one, from its request to its end.
"""

from __future__ import annotations

import gc
import selectors
import socket
import sys
import time
from typing import Final
from urllib.parse import urlsplit

END: Final = b"\r\n0\r\n\r\n"
BUFFER: Final = 262_144
SILENCE: Final = 10.0


def request(host: str, path: str, number: int) -> bytes:
    """A ConverseStream request over HTTP/1.1."""
    body = b'{"messages":[{"role":"user","content":[{"text":"Tell me the story number %d."}]}]}' % number
    head = f"POST {path}/model/m/converse-stream HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def answers(url: str, seconds: float, connections: int) -> tuple[int, float]:
    """How many answers came whole, and the seconds of the slowest; asks again on a socket as soon as one has."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    selector = selectors.DefaultSelector()
    asked = whole = 0
    slowest = 0.0
    tails: dict[socket.socket, bytes] = {}
    begun: dict[socket.socket, float] = {}

    def ask(connection: socket.socket) -> None:
        nonlocal asked
        asked += 1
        tails[connection] = b""
        begun[connection] = time.perf_counter()
        connection.sendall(request(parts.netloc, parts.path, asked))

    for _ in range(connections):
        opened = socket.create_connection((parts.hostname, parts.port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(opened, selectors.EVENT_READ, opened)
        ask(opened)
    until = time.monotonic() + seconds
    while whole < asked:  # what was asked is read to its end, so that the server did all of it
        ready = selector.select(SILENCE)
        if not ready:
            raise TimeoutError(f"the server was silent for {SILENCE} s")
        for key, _ in ready:
            connection: socket.socket = key.data
            data = connection.recv(BUFFER)
            if not data:
                raise EOFError("the server closed a connection")
            tails[connection] = (tails[connection] + data)[-len(END) :]
            if tails[connection] == END:
                whole += 1
                slowest = max(slowest, time.perf_counter() - begun[connection])
                if time.monotonic() < until:
                    ask(connection)
    for opened in tails:
        opened.close()
    return whole, slowest


if __name__ == "__main__":
    gc.disable()  # a pause must be the server's
    print(*answers(sys.argv[1], float(sys.argv[2]), int(sys.argv[3])))
