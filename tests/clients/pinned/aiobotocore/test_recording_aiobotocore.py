"""Recording through aiobotocore, over aiohttp and over httpx, on asyncio and trio."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import aiobotocore.session
import anyio
import anyio.to_thread
import botocore.exceptions
import pytest
import trio
from aiobotocore.config import AioConfig
from aiobotocore.httpxsession import HttpxSession

from converse_harness import Call, ConverseServer, Reply, fake_converse, record, recording, reply
from converse_harness.recordings.format.read import read
from tests.recordings.peers import METADATA, START, STREAM, Answers, body, chunk, peer, reset, wait_for_the_end

pytestmark = pytest.mark.any_answer

MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
ONCE: dict[str, Any] = {"retries": {"total_max_attempts": 1}}

Run = Callable[[Callable[[], Awaitable[Any]]], Any]
BackEnd = tuple[Run, dict[str, Any]]


def run_in_asyncio(act: Callable[[], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        return await act()

    return asyncio.run(run())


BACK_ENDS: dict[str, BackEnd] = {
    "aiohttp": (run_in_asyncio, {}),
    "httpx in asyncio": (run_in_asyncio, {"http_session_cls": HttpxSession}),
    "httpx in trio": (trio.run, {"http_session_cls": HttpxSession}),
}


@pytest.fixture(params=sorted(BACK_ENDS))
def back_end(request: pytest.FixtureRequest) -> BackEnd:
    """How to run, and what the client's Config gets."""
    return BACK_ENDS[request.param]


@pytest.fixture(autouse=True)
def _developer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOFADEVELOPER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the-secret-of-a-developer")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def question(text: str = "hello") -> dict[str, Any]:
    return {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": text}]}]}


def connect(url: str | None = None, **config: Any) -> Any:
    session = aiobotocore.session.get_session()
    return session.create_client("bedrock-runtime", endpoint_url=url, config=AioConfig(**config))


def text_of(answer: Any) -> str:
    return str(answer["output"]["message"]["content"][0]["text"])


async def stream_of(client: Any, text: str = "hello") -> list[Any]:
    return [event async for event in (await client.converse_stream(**question(text)))["stream"]]


def test_whole_answers_and_errors(server: ConverseServer, path: Path, back_end: BackEnd) -> None:
    run, config = back_end

    async def ask(url: str | None = None) -> list[str]:
        async with connect(url, **config, **ONCE) as client:
            seen = [text_of(await client.converse(**question()))]
            with pytest.raises(botocore.exceptions.ClientError) as raised:
                await client.converse(**question())
            return [*seen, str(raised.value)]

    with server.script(reply.text("hi"), reply.throttled()) as service, record(path) as recorder:
        recorded = run(lambda: ask(service.url))
        assert [call.status for call in recorder.calls] == [200, 429]
        assert {call.outcome for call in recorder.calls} == {"complete"}
    with fake_converse(recording(path)):
        assert run(ask) == recorded
    assert "AKID" not in path.read_text(encoding="utf-8")


def test_bodies_are_read_in_parts(path: Path, back_end: BackEnd) -> None:
    run, config = back_end
    blob = bytes(range(256)) * 300

    async def ask(url: str | None = None) -> tuple[bytes, bytes]:
        async with connect(url, **config) as client:
            content = (await client.invoke_model(modelId=MODEL, body=b"{}"))["body"]
            return await content.read(1000), await content.read()

    with peer(lambda c: c.sendall(body(blob))) as url, record(path) as recorder:
        parts = run(lambda: ask(url))
        assert recorder.calls.all[0].outcome == "complete"
    assert b"".join(parts) == blob
    assert read(path).exchanges[0].end is None
    # What is played is read over aiohttp's interface alone.
    if not config:
        with fake_converse(recording(path)):
            assert b"".join(run(ask)) == blob


FAILURES: dict[str, tuple[Answers | None, str, type[Exception]]] = {
    "refused": (None, "connection refused", botocore.exceptions.EndpointConnectionError),
    "closed": (lambda connection: None, "connection closed", botocore.exceptions.HTTPClientError),
    "silent": (wait_for_the_end, "read timeout", botocore.exceptions.ReadTimeoutError),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_call_without_an_answer_fails_again(path: Path, back_end: BackEnd, name: str) -> None:
    run, config = back_end
    answer, failed, kind = FAILURES[name]
    patience = {"read_timeout": 0.2 if name == "silent" else 10}

    async def ask(url: str | None = None) -> None:
        async with connect(url, **config, **ONCE, **patience) as client:
            with pytest.raises(kind):
                await client.converse(**question())

    with peer(answer or reset) as url, record(path) as recorder:
        run(lambda: ask(url if answer else "http://127.0.0.1:1"))
        assert (recorder.calls[0].status, recorder.calls[0].outcome) == (0, "cut")
    assert read(path).exchanges[0].head["failed"] == failed
    with fake_converse(recording(path)):
        run(ask)


def test_a_request_cancelled_before_its_answer_is_recorded_without_one(path: Path, back_end: BackEnd) -> None:
    run, config = back_end
    asked = threading.Event()

    def never(connection: socket.socket) -> None:
        asked.set()
        wait_for_the_end(connection)

    async def give_up(url: str) -> None:
        async with connect(url, **config) as client:
            with anyio.move_on_after(10) as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(lambda: client.converse(**question()))
                    await anyio.to_thread.run_sync(asked.wait, 10)
                    scope.cancel()

    async def ask() -> None:
        async with connect(**config, **ONCE) as client:
            with pytest.raises(botocore.exceptions.ReadTimeoutError):
                await client.converse(**question())

    with peer(never) as url, record(path) as recorder:
        run(lambda: give_up(url))
        assert recorder.calls[0].outcome == "closed by client"
    assert read(path).exchanges[0].head["failed"] == "read timeout"
    with fake_converse(recording(path)):
        run(ask)


# Streams of events, which aiobotocore reads over aiohttp alone


def test_each_event_reaches_the_client_before_the_next_one_is_sent(path: Path) -> None:
    taken = threading.Event()

    def wait_for_the_client(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        if taken.wait(10):
            connection.sendall(chunk(METADATA) + chunk(b""))

    async def ask(url: str) -> None:
        async with connect(url) as client:
            stream = (await client.converse_stream(**question()))["stream"]
            events = aiter(stream)
            assert "messageStart" in await anext(events)
            assert (len(recorder.calls[0].events), recorder.calls[0].outcome) == (1, "still running")
            taken.set()
            assert ["metadata" in event async for event in events] == [True]

    with peer(wait_for_the_client) as url, record(path) as recorder:
        run_in_asyncio(lambda: ask(url))
        assert recorder.calls.all[0].outcome == "complete"
    assert len(read(path).exchanges[0].events) == 2


REPLIES: dict[str, Reply] = {
    "text": reply.text("one two three four"),
    "tool": reply.tool_use("get_weather", {"city": "Zürich"}),
    "midway": reply.text("It will be").fails_after(3, "modelStreamErrorException"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_stream_replays_with_the_same_chunks(server: ConverseServer, path: Path, name: str) -> None:
    async def ask(url: str | None = None) -> tuple[list[bytes], Any]:
        async with connect(url) as client:
            raw = (await client.converse_stream(**question()))["stream"]._raw_stream
            chunks = [data async for data, _ in raw.content.iter_chunks() if data]
            try:
                events: Any = await stream_of(client)
            except botocore.exceptions.EventStreamError as error:
                events = str(error)
            return chunks, events

    with server.script(REPLIES[name].times(2)) as service, record(path) as recorder:
        recorded = run_in_asyncio(lambda: ask(service.url))
        sent = service.calls[0].answered.taken.data
        assert [call.outcome for call in recorder.calls] == ["complete", "complete"]
        assert [event for event, _ in recorder.calls[1].events] == [event for event, _ in service.calls[1].events]
    with fake_converse(recording(path)):
        assert run_in_asyncio(ask) == recorded
    assert b"".join(recorded[0]) == b"".join(sent)
    assert recorder.core.writer is not None
    assert [data for data, _ in recorder.core.writer.captured[0].pieces] == sent


def test_a_chunk_that_comes_in_parts_is_one_piece(path: Path) -> None:
    taken = threading.Event()

    def in_parts(connection: socket.socket) -> None:
        whole = chunk(START + METADATA)
        connection.sendall(STREAM + whole[:30])
        if taken.wait(10):
            connection.sendall(whole[30:] + chunk(b""))

    async def ask(url: str) -> None:
        async with connect(url) as client:
            raw = (await client.converse_stream(**question()))["stream"]._raw_stream
            async for _ in raw.content.iter_chunks():
                taken.set()

    with peer(in_parts) as url, record(path):
        run_in_asyncio(lambda: ask(url))
    assert [line.get("joined") for line in read(path).exchanges[0].events] == [None, True]


@pytest.mark.filterwarnings("ignore:Unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore:.*Async generator 'aiobotocore:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Async generator 'aiobotocore:ResourceWarning")
def test_a_client_that_stops_early_is_marked(server: ConverseServer, path: Path) -> None:
    async def ask(url: str | None = None) -> None:
        async with connect(url) as client:
            stream = (await client.converse_stream(**question()))["stream"]
            async for _ in stream:
                break
            stream.close()
            answer = await client.converse_stream(**question())
            del answer
            gc.collect()

    with server.script(reply.text("one two three").times(2)) as service, record(path) as recorder:
        run_in_asyncio(lambda: ask(service.url))
        assert [call.outcome for call in recorder.calls] == ["closed by client", "closed by client"]
    exchanges = read(path).exchanges
    assert [exchange.end and exchange.end["end"] for exchange in exchanges] == ["closed by client"] * 2
    assert [len(exchange.events) for exchange in exchanges] == [1, 0]
    with fake_converse(recording(path)) as fake:
        run_in_asyncio(ask)
    assert [call.outcome for call in fake.calls] == ["closed by client", "closed by client"]


BREAKS: dict[str, tuple[Callable[[socket.socket], None], str]] = {
    "reset": (reset, "connection reset"),
    "closed": (lambda connection: None, "connection closed"),
    "stalled": (wait_for_the_end, "stalled"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_stream_that_breaks_is_marked_and_breaks_again(path: Path, name: str) -> None:
    then, end = BREAKS[name]
    taken = threading.Event()

    def answer(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        if taken.wait(10):
            then(connection)

    async def ask(url: str | None = None) -> tuple[int, type[Exception] | None]:
        count = 0
        async with connect(url, read_timeout=0.3 if name == "stalled" else 10) as client:
            stream = (await client.converse_stream(**question()))["stream"]
            try:
                with closing(stream):
                    async for _ in stream:
                        count += 1
                        taken.set()
            except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same again
                return count, type(error)
        return count, None

    with peer(answer) as url, record(path) as recorder:
        recorded = run_in_asyncio(lambda: ask(url))
        assert recorder.calls[0].outcome == "cut"
    (exchange,) = read(path).exchanges
    assert exchange.end is not None
    assert exchange.end["end"] == end
    with fake_converse(recording(path)):
        replayed = run_in_asyncio(ask)
    assert recorded[0] == replayed[0] == 1
    assert issubclass(recorded[1] or object, replayed[1] or Exception)


def test_many_at_once_are_not_mixed(server: ConverseServer, path: Path) -> None:
    def echo(call: Call) -> Reply:
        return reply.text(" ".join([call.last_user_text] * 20))

    async def ask(url: str | None = None) -> list[list[Any]]:
        async with connect(url) as client:
            return await asyncio.gather(*(stream_of(client, text) for text in texts))

    texts = [f"number-{number}" for number in range(20)]
    with server.script(unused="allow") as service, record(path):
        service.always(echo)
        recorded = run_in_asyncio(lambda: ask(service.url))
    with fake_converse(recording(path, match="exact")):
        assert run_in_asyncio(ask) == recorded
    deltas = [[event["contentBlockDelta"]["delta"]["text"] for event in events[1:-3]] for events in recorded]
    assert ["".join(each) for each in deltas] == [" ".join([text] * 20) for text in texts]


def test_a_client_that_gives_up_waiting_may_ask_again(path: Path) -> None:
    go_on = threading.Event()

    def late(connection: socket.socket) -> None:
        connection.sendall(STREAM)
        if go_on.wait(10):
            connection.sendall(chunk(START) + chunk(METADATA) + chunk(b""))

    async def ask(url: str) -> None:
        async with connect(url) as client:
            content = (await client.converse_stream(**question()))["stream"]._raw_stream.content
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(content.read(1), 0.01)
            go_on.set()
            assert await content.readexactly(1) == START[:1]
            assert await content.read() == START[1:] + METADATA
            assert content.at_eof()

    with peer(late) as url, record(path) as recorder:
        run_in_asyncio(lambda: ask(url))
        assert recorder.calls.all[0].outcome == "complete"
    assert len(read(path).exchanges[0].events) == 2
