"""Many clients at once: `python -m benchmarks.servers.crowd URL STREAMS` reads that many streams on a socket each.

A process of its own, and as little work for each chunk as can be: what is measured is the server. Prints JSON:
`streams`, the seconds of each stream from its request on; `first`, those until its first body byte.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Final
from urllib.parse import urlsplit

QUESTION: Final = b'{"messages":[{"role":"user","content":[{"text":"Tell me a story."}]}]}'
END: Final = b"0\r\n\r\n"
LIMIT: Final = 60.0


class Client(asyncio.Protocol):
    """One stream."""

    def __init__(self, request: bytes) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.started = time.perf_counter()
        self.first = self.ended = 0.0
        self._request = request
        self._headed = False
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # it is one for a socket
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Look for the end of the head once, and for the end of the body."""
        if not self._headed:
            self._tail += data
            _, found, data = self._tail.partition(b"\r\n\r\n")
            if not found:
                return
            self._headed, self._tail = True, b""
        if data and not self.first:
            self.first = time.perf_counter()
        self._tail = (self._tail + data)[-len(END) :]
        if self._tail == END:
            self.ended = time.perf_counter()
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """A stream that did not come to its end is an error."""
        if self.ended:
            self.over.set_result(None)
        else:
            self.over.set_exception(exc or EOFError("a stream ended early"))


async def read(url: str, streams: int) -> dict[str, object]:
    """Read that many streams at once."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    head = f"POST {parts.path}/model/m/converse-stream HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: "
    request = head.encode() + b"%d\r\nContent-Type: application/json\r\n\r\n%b" % (len(QUESTION), QUESTION)
    loop = asyncio.get_running_loop()
    clients: list[Client] = []

    def client() -> Client:
        clients.append(Client(request))
        return clients[-1]

    address = (parts.hostname, parts.port)
    opening = [loop.create_connection(client, *address) for _ in range(streams)]
    await asyncio.wait_for(asyncio.gather(*opening), LIMIT)
    await asyncio.wait_for(asyncio.gather(*(each.over for each in clients)), LIMIT)
    return {
        "streams": [each.ended - each.started for each in clients],
        "first": [each.first - each.started for each in clients],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(read(sys.argv[1], int(sys.argv[2])))))
