"""Servers of the standard library that answer as no Bedrock does: broken, late, in an odd form."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from converse_harness.stream.events import encode_event

START = encode_event({"messageStart": {"role": "assistant"}}, 7)
DELTA = encode_event({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hel"}}}, 3)
METADATA = encode_event({"metadata": {"usage": {}, "metrics": {"latencyMs": 1}}}, 3)

STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: close\r\nx-amzn-RequestId: 5f0c6f0e-0000-4000-8000-000000000000\r\n\r\n"
)

Answers = Callable[[socket.socket], None]
"""Says what it has to say on a connection whose request is read."""


def chunk(data: bytes) -> bytes:
    """An HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def body(data: bytes, status: str = "200 OK", headers: bytes = b"", length: int | None = None) -> bytes:
    """A whole answer; `length` is what its header says where that is not true."""
    said = len(data) if length is None else length
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n%b\r\n"
    return head % (status.encode(), said, headers) + data


def reset(connection: socket.socket) -> None:
    """Close with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def wait_for_the_end(connection: socket.socket) -> None:
    """Say nothing until the client leaves."""
    connection.recv(1)


@contextmanager
def peer(*answers: Answers) -> Generator[str, None, None]:
    """A server that gives each connection the next answer, the last one to all that follow; gives its URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    left = list(answers)

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            answer = left.pop(0) if len(left) > 1 else left[0]
            threading.Thread(target=_answer, args=(connection, answer), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)


def _answer(connection: socket.socket, answer: Answers) -> None:
    with connection:
        data = _until(connection, b"", lambda data: b"\r\n\r\n" in data)
        head, _, rest = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields.get(b"content-length", b"0"))
        if len(_until(connection, rest, lambda rest: len(rest) >= length)) >= length and head:
            answer(connection)


def _until(connection: socket.socket, data: bytes, enough: Callable[[bytes], bool]) -> bytes:
    """What is received until it is enough, or the client is gone: it may be interrupted while it asks."""
    while not enough(data):
        piece = connection.recv(65_536)
        if not piece:
            break
        data += piece
    return data
