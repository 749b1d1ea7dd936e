"""Plain httpx, as agents without an SDK use it: over the socket with HTTP/1.1 and HTTP/2, in process, under uvicorn."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import quote

import httpx
import pytest
import uvicorn
from botocore.eventstream import EventStreamBuffer

from converse_harness import ConverseApp, ConverseServer, Fake, HttpxFake, Reply
from converse_harness.server.mounts import ServerFake
from tests.clients.scenarios import (
    CASES,
    CONNECTION,
    MODEL,
    REQUEST,
    SCENARIOS,
    STREAM,
    Fold,
    Order,
    Result,
    run,
    shape_name,
    wait_until,
    whole,
)
from tests.products import sampled

pytestmark = pytest.mark.any_answer

TRANSPORTS: Final[dict[str, dict[str, bool]]] = {
    "HTTP/1.1": {},
    "HTTP/2": {"http1": False, "http2": True},
    "respx": {},
    "transport": {},
    "uvicorn": {},
}
"""What a client is made with to reach each transport; in process it speaks HTTP/1.1 as well."""

BEDROCK: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"

PATHS: Final = {STREAM: "converse-stream", "Converse": "converse"}

BODY: Final = {name: value for name, value in REQUEST.items() if name != "modelId"}


@dataclass(frozen=True, slots=True)
class Route:
    """The way of one test to its fake."""

    transport: str
    fake: Fake
    endpoint: str

    def url(self, order: Order) -> str:
        """The address of an operation."""
        return f"{self.endpoint}/model/{quote(MODEL, safe='')}/{PATHS[order.operation]}"

    def client(self) -> httpx.Client:
        options: dict[str, Any] = dict(TRANSPORTS[self.transport])
        if self.transport == "transport":
            assert isinstance(self.fake, HttpxFake)
            options["transport"] = self.fake.httpx_transport
        return httpx.Client(**options)

    def async_client(self) -> httpx.AsyncClient:
        options: dict[str, Any] = dict(TRANSPORTS[self.transport])
        if self.transport == "transport":
            assert isinstance(self.fake, HttpxFake)
            options["transport"] = self.fake.httpx_async_transport
        return httpx.AsyncClient(**options)

    def check(self, response: httpx.Response) -> None:
        assert response.http_version == ("HTTP/2" if self.transport == "HTTP/2" else "HTTP/1.1")


def refused(fold: Fold, response: httpx.Response) -> Result:
    """What an error before the stream says: its name in a header, its message in the body."""
    assert response.status_code >= 400
    return fold.fail(response.headers["x-amzn-ErrorType"].partition(":")[0], response.json()["message"])


class Reader:
    """Puts frames together from what comes in."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self._buffer = EventStreamBuffer()

    def read(self, data: bytes) -> bool:
        """Take a part of the body; whether the client is to leave now, or was told that it failed."""
        self._buffer.add_data(data)
        leaves = False
        for message in self._buffer:
            leaves = self._take(message) or leaves
        return leaves

    def _take(self, message: Any) -> bool:
        said = json.loads(message.payload)
        if message.headers[":message-type"] == "exception":
            name = shape_name(message.headers[":exception-type"])
            self.fold.result = self.fold.fail(name, said["message"])
            return True
        return self.fold.take({message.headers[":event-type"]: said})


def ask(order: Order, route: Route) -> Result:
    fold = Fold(order)
    try:
        with route.client() as client:
            if order.operation != STREAM:
                answer = client.post(route.url(order), json=BODY)
                return whole(answer.json()) if answer.is_success else refused(fold, answer)
            with client.stream("POST", route.url(order), json=BODY) as response:
                route.check(response)
                if not response.is_success:
                    response.read()
                    return refused(fold, response)
                reader = Reader(fold)
                for data in response.iter_raw():
                    if reader.read(data):
                        break
    except httpx.TransportError as error:
        return fold.fail(CONNECTION, error)
    return fold.result


async def _ask(order: Order, route: Route) -> Result:
    fold = Fold(order)
    try:
        async with route.async_client() as client:
            if order.operation != STREAM:
                answer = await client.post(route.url(order), json=BODY)
                return whole(answer.json()) if answer.is_success else refused(fold, answer)
            async with client.stream("POST", route.url(order), json=BODY) as response:
                route.check(response)
                if not response.is_success:
                    await response.aread()
                    return refused(fold, response)
                reader = Reader(fold)
                async for data in response.aiter_raw():
                    if reader.read(data):
                        break
    except httpx.TransportError as error:
        return fold.fail(CONNECTION, error)
    return fold.result


def ask_async(order: Order, route: Route) -> Result:
    return asyncio.run(_ask(order, route))


WAYS: Final = {"sync": ask, "async": ask_async}


class Uvicorn:
    """uvicorn in a thread, around the app of the moment."""

    def __init__(self) -> None:
        self._app = ConverseApp()
        self._listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            self._answer, interface="asgi3", log_level="critical", ws="none", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    def open(self, answer: Reply) -> Fake:
        """A fake that answers from now on."""
        self._app = ConverseApp(answer)
        return self._app.fake

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self._server.started)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()


@pytest.fixture(scope="module")
def asgi() -> Iterator[Uvicorn]:
    with Uvicorn() as server:
        yield server


def asgi_can(name: str) -> bool:
    """Whether an ASGI app can express a scenario; tests/intercept/test_faults.py has those that it refuses."""
    return all("asgi" in placement.fault.transports for placement in SCENARIOS[name].reply.plan.placements)


ASKED: Final = [
    (*case, transport) for transport in TRANSPORTS for case in CASES if transport != "uvicorn" or asgi_can(case[0])
]


def shown(value: tuple[str, ...] | str) -> str:
    return value if isinstance(value, str) else "-".join(value)


@pytest.mark.parametrize(("asked_at", "way"), sampled(ASKED, WAYS), ids=shown)
def test_scenario(asked_at: tuple[str, str, str], way: str, converse_server: ConverseServer, asgi: Uvicorn) -> None:
    name, operation, transport = asked_at
    opened: dict[str, Callable[[Reply], Fake]] = {
        "HTTP/1.1": converse_server.script,
        "HTTP/2": converse_server.script,
        "respx": HttpxFake,
        "transport": HttpxFake,
        "uvicorn": asgi.open,
    }

    def asked(order: Order) -> Result:
        endpoint = (
            order.fake.url if isinstance(order.fake, ServerFake) else asgi.url if transport == "uvicorn" else BEDROCK
        )
        return WAYS[way](order, Route(transport, order.fake, endpoint))

    run(name, operation, opened[transport], asked)
