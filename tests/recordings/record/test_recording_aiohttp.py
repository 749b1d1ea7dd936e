"""Clients of aiohttp under `record`: the service gets their bytes, they get its bytes, and a replay gives the same."""

from __future__ import annotations

import asyncio
import gc
import json
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
from aiohttp import web

from converse_harness import ConverseServer, Reply, fake_converse, faults, record, recording, reply
from converse_harness.recordings.record.captured import CapturedExchange
from tests.server.peers import eventually

PATH = "/model/us.amazon.nova-lite-v1%3A0/converse"
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
KEPT = ("Content-Type", "x-amzn-RequestId", "x-amzn-ErrorType")
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com"

Scenario = Callable[[str], Coroutine[Any, Any, Any]]


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


async def ask(base: str, operation: str = "", **options: Any) -> Any:
    """All of an answer: its head, and its body, which comes in pieces."""
    async with (
        aiohttp.ClientSession() as client,
        client.post(base + PATH + operation, **{"json": BODY, **options}) as response,
    ):
        body = b"".join([data async for data, _ in response.content.iter_chunks()])
        return response.status, [response.headers.get(name) for name in KEPT], body


async def in_pieces(base: str) -> Any:
    async def pieces() -> AsyncIterator[bytes]:
        for each in json.dumps(BODY).encode().partition(b":"):
            yield each

    return await ask(base, json=None, data=pieces())


async def stream(base: str) -> Any:
    return await ask(base, "-stream")


async def expecting_100(base: str) -> Any:
    return await ask(base, expect100=True)


ANSWERS: dict[str, tuple[Scenario, Reply]] = {
    "whole": (ask, reply.text("hi")),
    "stream": (stream, reply.text("one two three")),
    "large": (stream, reply.text("word " * 30_000)),
    "error": (ask, reply.throttled()),
    "error in a stream": (stream, reply.text("one two").fails_after(2, "throttlingException")),
    "chunked request": (in_pieces, reply.text("hi")),
    "expect100": (expecting_100, reply.text("hi")),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_session_is_recorded_and_played(server: ConverseServer, path: Path, name: str) -> None:
    scenario, answer = ANSWERS[name]
    with server.script(answer) as service:
        expected = asyncio.run(scenario(service.url))
    with server.script(answer) as other:
        with record(path, upstream=other.url) as recorder:
            recorded = asyncio.run(scenario(other.url))
        assert [(call.body, call.outcome) for call in other.calls] == [(service.calls[0].body, "complete")]
        (call,) = recorder.calls
        assert call.outcome == "complete"
        captured = call.of(CapturedExchange)
        assert captured is not None
        assert [data for data, _ in captured.pieces] == service.calls[0].answered.taken.data  # a piece for each chunk
    assert (recorded[0], recorded[2]) == (expected[0], expected[2])
    with fake_converse(recording(path)):
        assert asyncio.run(scenario(BEDROCK)) == recorded


def test_a_compressed_answer_is_recorded_as_it_came(path: Path) -> None:
    body = {"output": {"message": {"role": "assistant", "content": [{"text": "hi " * 100}]}}, "stopReason": "end_turn"}
    body |= {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}

    async def compress(request: web.Request) -> web.Response:
        response = web.json_response(body)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async def record_it() -> bytes:
        app = web.Application()
        app.router.add_post("/{path:.*}", compress)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        service = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            with record(path, upstream=service):
                return bytes((await ask(service))[2])
        finally:
            await runner.cleanup()

    assert json.loads(asyncio.run(record_it())) == body
    with fake_converse(recording(path)):
        assert json.loads(asyncio.run(ask(BEDROCK))[2]) == body


async def error_of(base: str) -> Any:
    try:
        await stream(base)
    except (aiohttp.ClientError, TimeoutError) as error:
        return type(error).__name__
    return None


@pytest.mark.parametrize("fault", [faults.reset, faults.closed, faults.truncated_frame], ids=lambda each: each.name)
def test_a_break_is_recorded_and_played(server: ConverseServer, path: Path, fault: Any) -> None:
    answer = reply.text("one two three").broken(fault, after=2)
    with server.script(answer, answer) as service:
        expected = asyncio.run(error_of(service.url))
        with record(path, upstream=service.url):
            assert asyncio.run(error_of(service.url)) == expected
    with fake_converse(recording(path)):
        assert asyncio.run(error_of(BEDROCK)) == expected


def test_no_connection_is_recorded_and_played(path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    with record(path, upstream=nobody):
        assert asyncio.run(error_of(nobody)) == "ClientConnectorError"
    with fake_converse(recording(path)):
        assert asyncio.run(error_of(BEDROCK)) == "ClientConnectorError"


def test_a_client_that_leaves_is_recorded(server: ConverseServer, path: Path) -> None:
    async def leave(base: str) -> None:
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{base}{PATH}-stream", json=BODY) as response,
        ):
            await response.content.readchunk()

    with server.script(reply.text("one two three").paced(each=60.0)) as service:
        with record(path, upstream=service.url) as recorder:
            asyncio.run(leave(service.url))
        assert [call.outcome for call in recorder.calls] == ["closed by client"]
        eventually(lambda: service.calls[0].outcome == "closed by client")
    with fake_converse(recording(path)):
        asyncio.run(leave(BEDROCK))


def test_a_response_that_nobody_closes_is_recorded(server: ConverseServer, path: Path) -> None:
    async def lose(base: str) -> None:
        client = aiohttp.ClientSession()
        response = await client.post(f"{base}{PATH}-stream", json=BODY)
        await response.content.readchunk()

    with server.script(reply.text("one two three").paced(each=60.0)) as service, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with record(path, upstream=service.url) as recorder:
            asyncio.run(lose(service.url))
            gc.collect()
            assert [call.outcome for call in recorder.calls] == ["closed by client"]


def test_a_recorded_call_is_played_and_a_new_one_recorded(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("first"), reply.text("second")) as service:
        with record(path, upstream=service.url):
            first = asyncio.run(ask(service.url))
        with record(path, upstream=service.url, mode="new_episodes"):
            assert asyncio.run(ask(service.url)) == first
            assert asyncio.run(stream(service.url))[0] == 200
        assert len(service.calls) == 2


def test_one_recording_of_several_libraries(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("aiohttp"), reply.text("httpx")) as service, record(path, upstream=service.url):
        asyncio.run(ask(service.url))
        httpx.post(service.url + PATH, json=BODY)
    text = path.read_text(encoding="utf-8")
    assert [text.count(word) for word in ('"aiohttp"', '"httpx"')] == [1, 1]
