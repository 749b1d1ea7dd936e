"""What a call over aiohttp pays, beyond one that a null server in memory answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any, Final

from benchmarks.floor import answered, asked, asked_with_tools, plan
from benchmarks.measure import Rounds, milliseconds, timed
from benchmarks.rows import Row
from converse_harness import Reply, fake_converse, reply
from converse_harness.stream.delivery import in_chunks

ROUNDS: Final = 200
BEDROCK: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"


def rows() -> Iterator[Row]:
    """A whole answer, and a stream of 20 events."""
    aiohttp: Any = import_module("aiohttp")
    yield _beyond(aiohttp, "aiohttp call", "converse", reply.text("Hello!"), asked)
    yield _beyond(aiohttp, "aiohttp stream", "converse-stream", plan(20), asked_with_tools)


class _NullTransport(asyncio.Transport):
    """Answers each request with the same bytes as soon as its body has come."""

    def __init__(self, protocol: Any, answer: bytes) -> None:
        super().__init__()
        self._protocol = protocol
        self._answer = answer
        self._written = b""

    def write(self, data: Any) -> None:
        self._written += bytes(data)
        if self._written.endswith(b"}"):
            asyncio.get_running_loop().call_soon(self._protocol.data_received, self._answer)

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)


def _null_session(aiohttp: Any, answer: bytes) -> Any:
    async def create(connector: Any, *_: Any) -> Any:
        protocol = connector._factory()
        protocol.connection_made(_NullTransport(protocol, answer))
        protocol.force_close()
        return protocol

    null_connector = type("NullConnector", (aiohttp.TCPConnector,), {"_create_connection": create})
    return aiohttp.ClientSession(connector=null_connector())


def _bytes_of(answer: Reply, operation: str) -> bytes:
    """The answer of the harness as it goes over the wire."""
    headers, chunks = answered(answer, operation)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    body = in_chunks(chunks) + b"0\r\n\r\n" if "Transfer-Encoding" in headers else b"".join(chunks)
    return f"HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n{head}\r\n".encode() + body


def _beyond(aiohttp: Any, name: str, operation: str, answer: Reply, ask: Any) -> Row:
    loop = asyncio.new_event_loop()

    async def session(connected: bool) -> Any:
        return aiohttp.ClientSession() if connected else _null_session(aiohttp, _bytes_of(answer, operation))

    ours, floor = (loop.run_until_complete(session(connected)) for connected in (True, False))

    async def call(client: Any, url: str, body: bytes) -> int:
        async with client.post(url, data=body) as response:
            return sum([len(data) async for data, _ in response.content.iter_chunks()])

    def made(client: Any) -> float:
        arguments = ask()
        url = f"{BEDROCK}/model/{arguments.pop('modelId').replace(':', '%3A')}/{operation}"
        body = json.dumps(arguments).encode()
        return timed(partial(loop.run_until_complete, call(client, url, body)))

    def faked() -> float:
        with fake_converse(answer):
            return made(ours)

    try:
        measured = Rounds(ROUNDS, {"ours": faked, "floor": lambda: made(floor)})
    finally:
        for client in (ours, floor):
            loop.run_until_complete(client.close())
        loop.close()
    note = f"{milliseconds(measured.of('ours'))}, {measured.share('ours', 'floor'):.0f} % of it ours"
    return Row(name, 1000 * measured.over("ours", "floor"), note)
