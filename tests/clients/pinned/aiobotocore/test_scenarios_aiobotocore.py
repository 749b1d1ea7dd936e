"""aiobotocore makes the same of every scenario in process and over the socket, on aiohttp and on httpx."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any, Final

import aiobotocore.session
import aiohttp
import botocore.exceptions
import httpx2
import pytest
from aiobotocore.config import AioConfig
from aiobotocore.httpxsession import HttpxSession

from converse_harness import ConverseServer, fake_converse
from tests.clients.scenarios import (
    CASES,
    CONNECTION,
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

pytestmark = pytest.mark.any_answer

BACK_ENDS: Final[dict[str, dict[str, Any]]] = {"aiohttp": {}, "httpx": {"http_session_cls": HttpxSession}}

BROKEN: Final = (botocore.exceptions.HTTPClientError, aiohttp.ClientError, httpx2.TransportError)
"""What a connection that breaks is called by aiobotocore, and inside a stream by what it is built on."""


def connect(options: dict[str, Any]) -> Any:
    return aiobotocore.session.get_session().create_client("bedrock-runtime", config=AioConfig(**options))


async def _ask(order: Order, options: dict[str, Any]) -> Result:
    fold = Fold(order)
    try:
        async with connect(options) as client:
            if order.operation != STREAM:
                return whole(await client.converse(**REQUEST))
            with closing((await client.converse_stream(**REQUEST))["stream"]) as stream:
                async for event in stream:
                    if fold.take(event):
                        break
    except botocore.exceptions.ClientError as error:
        return fold.fail(shape_name(error.response["Error"]["Code"]), error)
    except BROKEN as error:
        return fold.fail(CONNECTION, error)
    return fold.result


def ask(order: Order, options: dict[str, Any]) -> Result:
    return asyncio.run(_ask(order, options))


ASKED: Final = [
    (name, operation, back_end, transport)
    for name, operation in CASES
    for back_end in BACK_ENDS
    for transport in ("in process", "server")
    if (operation, back_end, transport) != (STREAM, "httpx", "server")  # see the last test
]


@pytest.mark.parametrize(("name", "operation", "back_end", "transport"), ASKED)
def test_scenario(
    name: str,
    operation: str,
    back_end: str,
    transport: str,
    converse_server: ConverseServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    opened = fake_converse if transport == "in process" else converse_server.script
    run(name, operation, opened, lambda order: ask(order, BACK_ENDS[back_end]))


def test_its_httpx_back_end_reads_no_stream_of_any_server(
    converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with converse_server.script(SCENARIOS["text"].reply) as fake:
        for variable, value in fake.environ.items():
            monkeypatch.setenv(variable, value)

        async def act() -> None:
            async with connect(BACK_ENDS["httpx"]) as client:
                stream = (await client.converse_stream(**REQUEST))["stream"]
                with pytest.raises(httpx2.ResponseNotRead):
                    await anext(aiter(stream))

        asyncio.run(act())
