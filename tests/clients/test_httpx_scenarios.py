"""Plain httpx over the socket, as agents without an SDK use it: HTTP/1.1 and HTTP/2, sync and async."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
from botocore.eventstream import EventStreamBuffer

from converse_harness import ConverseServer
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
    whole,
)

PROTOCOLS: Final = ("HTTP/1.1", "HTTP/2")

PATHS: Final = {STREAM: "converse-stream", "Converse": "converse"}

BODY: Final = {name: value for name, value in REQUEST.items() if name != "modelId"}


def url(order: Order) -> str:
    """The address of an operation, from the variable that every SDK reads."""
    endpoint = os.environ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]
    return f"{endpoint}/model/{quote(MODEL, safe='')}/{PATHS[order.operation]}"


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


def ask(order: Order, protocol: str) -> Result:
    fold = Fold(order)
    try:
        with httpx.Client(http1=protocol == "HTTP/1.1", http2=protocol == "HTTP/2") as client:
            if order.operation != STREAM:
                answer = client.post(url(order), json=BODY)
                return whole(answer.json()) if answer.is_success else refused(fold, answer)
            with client.stream("POST", url(order), json=BODY) as response:
                assert response.http_version == protocol
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


async def _ask(order: Order, protocol: str) -> Result:
    fold = Fold(order)
    try:
        async with httpx.AsyncClient(http1=protocol == "HTTP/1.1", http2=protocol == "HTTP/2") as client:
            if order.operation != STREAM:
                answer = await client.post(url(order), json=BODY)
                return whole(answer.json()) if answer.is_success else refused(fold, answer)
            async with client.stream("POST", url(order), json=BODY) as response:
                assert response.http_version == protocol
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


def ask_async(order: Order, protocol: str) -> Result:
    return asyncio.run(_ask(order, protocol))


WAYS: Final = {"sync": ask, "async": ask_async}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "operation"), CASES)
def test_scenario(
    name: str,
    operation: str,
    way: str,
    protocol: str,
    converse_server: ConverseServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with converse_server.script(SCENARIOS[name].reply) as fake:
        for variable, value in fake.environ.items():
            monkeypatch.setenv(variable, value)
        run(name, operation, lambda order: WAYS[way](order, protocol), fake, {})
