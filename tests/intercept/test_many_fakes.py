"""Fakes that are opened one after the other leave nothing: no object, thread, descriptor, patch or memory."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import aiohttp
import boto3
import httpx
import pytest

from converse_harness import BlockedConnection, ConverseServer, fake_converse, reply
from converse_harness.intercept.registry import OPEN_FAKES
from tests.server.conftest import sockets
from tests.server.peers import MODEL, eventually

HOST: Final = "bedrock-runtime.us-east-1.amazonaws.com"
ASKED: Final[dict[str, Any]] = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
ANSWER: Final = reply.text("one two three")
OBJECTS: Final = 300
"""How many objects more there may be: caches of Python and of the libraries that are not full after the warm-up."""
MEMORY: Final = 12_000_000
"""How many bytes more the process may have, for pieces of memory that are free but not given back."""

Round = Callable[[int], None]


def with_boto(stack: ExitStack) -> Round:
    """A client of boto3 that is kept: a whole answer, a stream that is read in part, and a retry."""
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    client: Any = boto3.client("bedrock-runtime", **keys)
    stack.callback(client.close)

    def once(number: int) -> None:
        with fake_converse(*[reply.throttled()] * (number % 3 == 0), ANSWER, unused="allow"):
            if number % 2:
                client.converse(modelId="m", **ASKED)
            else:
                next(iter(client.converse_stream(modelId="m", **ASKED)["stream"]))

    return once


def with_httpx(stack: ExitStack) -> Round:
    """A client of httpx that is kept."""
    client = stack.enter_context(httpx.Client())

    def once(number: int) -> None:
        with fake_converse(ANSWER):
            assert client.post(f"https://{HOST}/model/m/converse", json=ASKED).status_code == 200

    return once


def with_aiohttp(stack: ExitStack) -> Round:
    """A session of aiohttp that is kept."""
    runner = stack.enter_context(asyncio.Runner())

    async def make() -> aiohttp.ClientSession:
        return aiohttp.ClientSession()

    session = runner.run(make())
    stack.callback(lambda: runner.run(session.close()))

    async def ask() -> None:
        async with session.post(f"https://{HOST}/model/m/converse", json=ASKED) as response:
            assert response.status == 200
            await response.read()

    def once(number: int) -> None:
        with fake_converse(ANSWER):
            runner.run(ask())

    return once


def with_refusals(stack: ExitStack) -> Round:
    """Connections that the guard refuses: the error is kept with its traceback, until its fake is gone."""

    def once(number: int) -> None:
        with pytest.raises(BlockedConnection), fake_converse():
            socket.create_connection((HOST, 443), timeout=1)

    return once


def with_threads(stack: ExitStack) -> Round:
    """A thread for each call, which the guard knows while it runs."""
    asks = with_boto(stack)

    def once(number: int) -> None:
        thread = threading.Thread(target=asks, args=(number,))
        thread.start()
        thread.join()

    return once


def with_a_server(stack: ExitStack, *, http2: bool = False) -> Round:
    """A server that is kept, and one connection to all its fakes."""
    server = stack.enter_context(ConverseServer())
    client = stack.enter_context(httpx.Client(trust_env=False, http1=not http2, http2=http2))

    def once(number: int) -> None:
        with server.script(ANSWER) as fake:
            operation = "converse-stream" if number % 2 else "converse"
            assert client.post(f"{fake.url}/model/{MODEL}/{operation}", json=ASKED).status_code == 200

    return once


def with_servers(stack: ExitStack) -> Round:
    """A server for each fake."""

    def once(number: int) -> None:
        with ExitStack() as inner:
            with_a_server(inner)(number)

    return once


KINDS: Final[dict[str, tuple[Callable[[ExitStack], Round], int]]] = {
    "boto3": (with_boto, 1),
    "httpx": (with_httpx, 1),
    "aiohttp": (with_aiohttp, 1),
    "refusals": (with_refusals, 1),
    "threads": (with_threads, 1),
    "HTTP/1.1": (with_a_server, 1),
    "HTTP/2": (lambda stack: with_a_server(stack, http2=True), 1),
    "servers": (with_servers, 10),
}
"""By kind of client: what is done again and again, and of how many rounds one is done: a server takes its time."""


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not tell."""
    told = Path("/proc/self/statm")
    return int(told.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if told.exists() else 0


def objects() -> Counter[str]:
    """How many objects of each type there are. Types that are made anew for each test are not told apart."""
    for _ in range(3):  # a weak reference's callback may let go of something else
        gc.collect()
    return Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())


@pytest.mark.parametrize("fakes", [60, pytest.param(20_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", KINDS)
def test_fakes_leave_nothing(kind: str, fakes: int) -> None:
    make, of = KINDS[kind]
    fakes = max(fakes // of, 5)
    with ExitStack() as stack:
        once = make(stack)
        for number in range(max(fakes // 10, 20 // of)):
            once(number)
        before, memory = objects(), resident()
        handles, threads = sockets(), threading.active_count()
        for number in range(fakes):
            once(number)
        eventually(lambda: threading.active_count() == threads)
        eventually(lambda: sockets() <= handles)
        grown = {name: more for name, more in (objects() - before).items() if more > 1}
        assert OPEN_FAKES.newest() is None
        assert {name: more for name, more in grown.items() if name.startswith("converse_harness")} == {}
        assert sum(grown.values()) < OBJECTS, grown
        assert resident() - memory < MEMORY
