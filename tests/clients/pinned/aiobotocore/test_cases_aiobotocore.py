"""aiobotocore makes of every case of the catalogue what botocore does, in process and over the socket, on aiohttp."""

from __future__ import annotations

import asyncio
from contextlib import closing
from functools import cache
from typing import Any, Final

import aiobotocore.session
import aiohttp
import botocore.exceptions
import pytest
from aiobotocore.config import AioConfig

from converse_harness import ConverseServer, fake_converse
from tests.clients.case_outcomes import OUTCOMES
from tests.clients.case_runs import (
    ASKED,
    UNTIL_IT_GIVES_UP,
    Differences,
    Differs,
    Made,
    answer,
    asked_at,
    check,
    expected_of,
    made,
    made_whole,
    patience,
)
from tests.clients.scenarios import CONNECTION, CONVERSE, REQUEST, shape_name

ATTEMPTS: Final = 3
"""How often a client asks at most."""

BROKEN: Final = (botocore.exceptions.ConnectionError, botocore.exceptions.HTTPClientError, aiohttp.ClientError)
"""What a connection that breaks is called by aiobotocore, and inside a stream by what it is built on."""

COMPARES_LENGTH: Final = "aiohttp compares a body with its Content-Length"
CLASSES: Final = "inside a stream its exceptions are those of aiohttp"
GONE: Final = {"error": CONNECTION, "raised": "ConnectionClosedError", "again": UNTIL_IT_GIVES_UP}

DIFFERENCES: Final[Differences] = {
    "wrong_content_length": Differs(
        COMPARES_LENGTH,
        stream={"error": CONNECTION, "raised": "ClientPayloadError"},
        whole={"text": "", "stop": None, "usage": None, **GONE},
    ),
    "closed": Differs(f"{CLASSES}; {COMPARES_LENGTH}", stream={"raised": "ClientPayloadError"}, whole=GONE),
    **dict.fromkeys(("reset", "again_lost_connection"), Differs(CLASSES, stream={"raised": "ClientPayloadError"})),
    "stall": Differs(CLASSES, stream={"raised": "SocketTimeoutError"}),
}


@cache
def session() -> Any:
    """One for all tests: it reads AWS's API model once."""
    return aiobotocore.session.get_session()


async def ask(name: str, operation: str) -> Made:
    """What aiobotocore hands out for the question."""
    events: list[Any] = []
    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    config = AioConfig(read_timeout=patience(name), retries=retries)
    try:
        async with session().create_client("bedrock-runtime", config=config) as client:
            if operation == CONVERSE:
                return made_whole(await client.converse(**REQUEST))
            with closing((await client.converse_stream(**REQUEST))["stream"]) as stream:
                async for event in stream:
                    events.append(event)  # noqa: PERF401 - what came before an error counts
    except botocore.exceptions.ClientError as error:
        return made(events, shape_name(error.response["Error"]["Code"]), type(error).__name__)
    except BROKEN as error:
        return made(events, CONNECTION, type(error).__name__)
    except Exception as error:  # noqa: BLE001 - whatever it is, the table names it
        return made(events, type(error).__name__, type(error).__name__)
    return made(events)


@pytest.mark.parametrize(("name", "operation"), ASKED)
def test_in_process(name: str, operation: str) -> None:
    with fake_converse(unused="allow", answers="off") as fake:
        answer(fake, name)
        check(
            fake,
            name,
            asyncio.run(ask(name, operation)),
            expected_of(name, operation, OUTCOMES[name], DIFFERENCES),
            ATTEMPTS,
        )


@pytest.mark.parametrize(("name", "operation"), asked_at("server"))
def test_over_the_socket(
    name: str, operation: str, converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with converse_server.script(unused="allow", answers="off") as fake:
        answer(fake, name)
        for variable, value in fake.environ.items():
            monkeypatch.setenv(variable, value)
        result = asyncio.run(ask(name, operation))
        check(fake, name, result, expected_of(name, operation, OUTCOMES[name], DIFFERENCES), ATTEMPTS)
