"""Plain httpx, as agents without an SDK use it: over the socket with HTTP/1.1 and HTTP/2, and in process."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
from botocore.eventstream import EventStreamBuffer

from converse_harness import ConverseServer, Fake
from converse_harness.doors.httpx import HttpxFake
from converse_harness.doors.server.fake import ServerFake
from tests.clients.scenarios import (
    CASES,
    CONNECTION,
    MODEL,
    REQUEST,
    STREAM,
    Fold,
    Order,
    Result,
    run,
    shape_name,
    whole,
)

DOORS: Final[dict[str, dict[str, bool]]] = {
    "HTTP/1.1": {},
    "HTTP/2": {"http1": False, "http2": True},
    "respx": {},
    "transport": {},
}
"""What a client is made with to reach each door; in process it speaks HTTP/1.1 as well."""

BEDROCK: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"

PATHS: Final = {STREAM: "converse-stream", "Converse": "converse"}

BODY: Final = {name: value for name, value in REQUEST.items() if name != "modelId"}


@dataclass(frozen=True, slots=True)
class Route:
    """The way of one test to its fake."""

    door: str
    fake: Fake

    def url(self, order: Order) -> str:
        """The address of an operation: Bedrock's own, unless the fake has one."""
        endpoint = self.fake.url if isinstance(self.fake, ServerFake) else BEDROCK
        return f"{endpoint}/model/{quote(MODEL, safe='')}/{PATHS[order.operation]}"

    def client(self) -> httpx.Client:
        options: dict[str, Any] = dict(DOORS[self.door])
        if self.door == "transport":
            assert isinstance(self.fake, HttpxFake)
            options["transport"] = self.fake.transport
        return httpx.Client(**options)

    def async_client(self) -> httpx.AsyncClient:
        options: dict[str, Any] = dict(DOORS[self.door])
        if self.door == "transport":
            assert isinstance(self.fake, HttpxFake)
            options["transport"] = self.fake.async_transport
        return httpx.AsyncClient(**options)

    def check(self, response: httpx.Response) -> None:
        assert response.http_version == ("HTTP/2" if self.door == "HTTP/2" else "HTTP/1.1")


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


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "operation"), CASES)
def test_scenario(name: str, operation: str, way: str, door: str, converse_server: ConverseServer) -> None:
    opened = converse_server.script if door.startswith("HTTP") else HttpxFake
    run(name, operation, opened, lambda order: WAYS[way](order, Route(door, order.fake)))
