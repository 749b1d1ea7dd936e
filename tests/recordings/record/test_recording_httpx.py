"""Recording through httpx and httpx2: clients that code builds itself, and transports for one client."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import anyio
import httpx
import httpx2
import pytest
import respx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from converse_harness import (
    BlockedConnection,
    ConverseServer,
    Fake,
    HttpxFake,
    ReplyError,
    record,
    recording,
    refusals,
    reply,
)
from converse_harness.intercept.httpx.transports import recording_transport
from converse_harness.intercept.recorder import Recorder
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.recordings.format.read import read
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.stream.events import encode_event

STREAM = "converse-stream"
BEDROCK = "bedrock-runtime.us-east-1.amazonaws.com"
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
TEXT = "Hello from far away, over a stream of several events."
START = encode_event({"messageStart": {"role": "assistant"}}, 7)
DELTA = encode_event({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hel"}}}, 3)
SEVERAL = [httpx, httpx2]

either = pytest.mark.parametrize("library", SEVERAL, ids=["httpx", "httpx2"])
backends = pytest.mark.parametrize("backend", ["asyncio", "trio"])
recording_async_transport = partial(recording_transport, method="handle_async_request")


class Answer(NamedTuple):
    """What a client got."""

    status: int
    headers: list[tuple[str, str]]
    data: bytes


def answer_of(response: Any, data: bytes) -> Answer:
    pairs = [(name.decode().lower(), value.decode()) for name, value in response.headers.raw]
    return Answer(response.status_code, [pair for pair in pairs if pair[0] != "date"], data)


def ask(client: Any, url: str, operation: str = STREAM, **more: Any) -> Answer:
    with client.stream("POST", f"{url}/model/m/{operation}", json=BODY, **more) as response:
        return answer_of(response, b"".join(response.iter_raw()))


async def ask_async(client: Any, url: str, operation: str = STREAM) -> Answer:
    async with client.stream("POST", f"{url}/model/m/{operation}", json=BODY) as response:
        return answer_of(response, b"".join([piece async for piece in response.aiter_raw()]))


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture
def upstream(server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address that the environment names as Bedrock's, where the same is said again and again."""
    with server.script(unused="allow") as fake:
        fake.always(reply.text(TEXT))
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", fake.url)
        yield fake.url


@pytest.fixture
def recorder(path: Path, upstream: str) -> Iterator[HttpxFake]:
    with recorded_by(path) as fake:
        yield fake


def recorded_by(path: Path, *replies: Any) -> HttpxFake:
    fake = HttpxFake(*replies)
    fake.core.writer = SessionWriter(path)
    return fake


def saved(fake: Fake) -> str:
    """The text of what it recorded."""
    assert fake.core.writer is not None
    fake.core.writer.save()
    return fake.core.writer.path.read_text(encoding="utf-8")


def lines_of(fake: Fake) -> list[dict[str, Any]]:
    return [json.loads(line) for line in saved(fake).splitlines()]


# Every way of a client


def own(library: Any, fake: Any, url: str, operation: str) -> Answer:
    with library.Client() as client:
        return ask(client, url, operation)


def transport(library: Any, fake: Any, url: str, operation: str) -> Answer:
    with library.Client(transport=fake.transport_for(library)) as client:
        return ask(client, url, operation)


def around(library: Any, fake: Any, url: str, operation: str) -> Answer:
    with library.Client(transport=recording_transport(library, fake.core, library.HTTPTransport())) as client:
        return ask(client, url, operation)


def own_async(library: Any, fake: Any, url: str, operation: str, backend: str = "asyncio") -> Answer:
    async def run() -> Answer:
        async with library.AsyncClient() as client:
            return await ask_async(client, url, operation)

    return anyio.run(run, backend=backend)


def own_trio(library: Any, fake: Any, url: str, operation: str) -> Answer:
    return own_async(library, fake, url, operation, "trio")


def around_async(library: Any, fake: Any, url: str, operation: str, backend: str = "asyncio") -> Answer:
    async def run() -> Answer:
        inner = library.AsyncHTTPTransport()
        async with library.AsyncClient(transport=recording_async_transport(library, fake.core, inner)) as client:
            return await ask_async(client, url, operation)

    return anyio.run(run, backend=backend)


def around_trio(library: Any, fake: Any, url: str, operation: str) -> Answer:
    return around_async(library, fake, url, operation, "trio")


def transport_async(library: Any, fake: Any, url: str, operation: str) -> Answer:
    async def run() -> Answer:
        async with library.AsyncClient(transport=fake.async_transport_for(library)) as client:
            return await ask_async(client, url, operation)

    return asyncio.run(run())


WAYS = [own, transport, around, own_async, own_trio, transport_async, around_async, around_trio]


@either
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operation", ["converse", STREAM])
def test_what_is_recorded_is_replayed_to_the_byte(
    recorder: HttpxFake, upstream: str, path: Path, library: ModuleType, way: Any, operation: str
) -> None:
    came = way(library, recorder, upstream, operation)
    assert came.status == 200
    (call,) = recorder.calls
    assert (call.last_user_text, call.status, call.outcome) == ("hello", 200, "complete")
    saved(recorder)
    recorder.close()
    with HttpxFake(recording(path)) as fake:
        replay = around_async if "async" in way.__name__ else around
        assert replay(library, fake, "https://elsewhere.example", operation) == came
    with HttpxFake(recording(path)) as fake:
        assert own(library, fake, f"https://{BEDROCK}", operation) == came


def test_calls_read_as_in_replay(recorder: HttpxFake, upstream: str, path: Path) -> None:
    own(httpx, recorder, upstream, STREAM)
    own(httpx, recorder, upstream, "converse")
    saved(recorder)
    with HttpxFake(recording(path)) as fake:
        own(httpx, fake, f"https://{BEDROCK}", STREAM)
        own(httpx, fake, f"https://{BEDROCK}", "converse")
    for call, again in zip(recorder.calls, fake.calls, strict=True):
        assert [event for event, _ in call.events] == [event for event, _ in again.events]
        assert (call.status, call.outcome, call.model_id) == (again.status, again.outcome, again.model_id)
    streamed, whole = (call.response for call in recorder.calls)
    assert streamed is not None
    assert whole is not None
    assert streamed.message == whole.message == {"role": "assistant", "content": [{"text": TEXT}]}


@either
def test_http2(recorder: HttpxFake, upstream: str, path: Path, library: Any) -> None:
    with library.Client(http1=False, http2=True) as client:
        came = ask(client, upstream)
    assert came.data.startswith(b"\x00\x00")
    text = saved(recorder)
    recorder.close()
    assert '"bytes"' not in text
    assert '"end"' not in text
    with HttpxFake(recording(path)) as fake:
        assert own(library, fake, f"https://{BEDROCK}", STREAM).data == came.data


def test_errors_before_the_stream(server: ConverseServer, path: Path) -> None:
    with server.script(reply.throttled(), reply.text("fine")) as fake, recorded_by(path) as recorder:
        came = [transport(httpx, recorder, fake.url, STREAM) for _ in range(2)]
    assert [answer.status for answer in came] == [429, 200]
    saved(recorder)
    with HttpxFake(recording(path)) as fake_again:
        assert [transport(httpx, fake_again, "https://x.example", STREAM) for _ in range(2)] == came


def test_exceptions_in_the_stream(server: ConverseServer, path: Path) -> None:
    broken = reply.text(TEXT).fails_after(3, "modelStreamErrorException", "upstream died")
    with server.script(broken) as fake, recorded_by(path) as recorder:
        came = transport(httpx, recorder, fake.url, STREAM)
    assert "modelStreamErrorException" in lines_of(recorder)[-1]
    with HttpxFake(recording(path)) as again:
        assert transport(httpx, again, "https://x.example", STREAM) == came


@either
def test_other_operations_of_bedrock(path: Path, library: Any) -> None:
    """As SDKs of model providers ask it, which are made of httpx."""
    frames = START + DELTA

    def answer(request: Any) -> Any:
        if "with-response-stream" in request.url.path:
            kind = {"content-type": "application/vnd.amazon.eventstream"}
            return library.Response(200, headers=kind, stream=library.ByteStream(frames))
        return library.Response(200, json={"completion": "hi"})

    def talk(transport: Any, url: str) -> list[Answer]:
        with library.Client(transport=transport) as client:
            found: list[Answer] = []
            for path in ("model/m/invoke", "model/m/invoke-with-response-stream", "model/m/count-tokens"):
                response = client.post(f"{url}/{path}", json={"prompt": "hello", "input": {"converse": BODY}})
                found.append(Answer(response.status_code, [], response.content))
            return found

    with record(path) as recorder:
        came = talk(recorder.httpx_transport(library.MockTransport(answer)), f"https://{BEDROCK}")
    assert [call.operation for call in recorder.calls.all] == [
        "InvokeModel",
        "InvokeModelWithResponseStream",
        "CountTokens",
    ]
    with HttpxFake(recording(path)) as fake:
        assert talk(None, f"https://{BEDROCK}") == came
    assert [answer.data for answer in came] == [b'{"completion":"hi"}', frames, b'{"completion":"hi"}']
    assert [call.outcome for call in fake.calls.all] == ["complete"] * 3


# Which requests are heard


@pytest.fixture
def bedrock(upstream: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A URL with the host of Bedrock that leads to the upstream, which no variable names."""
    monkeypatch.delenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
    real = socket.getaddrinfo

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        return real("127.0.0.1" if host in (BEDROCK, BEDROCK.encode()) else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return upstream.replace("127.0.0.1", BEDROCK)


@either
@pytest.mark.parametrize("way", [own, transport, around, own_async, transport_async, around_async])
def test_a_host_of_bedrock_is_heard_once(path: Path, bedrock: str, library: ModuleType, way: Any) -> None:
    with recorded_by(path) as recorder:
        came = way(library, recorder, bedrock, STREAM)
    assert came.status == 200
    assert [line["operation"] for line in lines_of(recorder) if "call" in line] == ["ConverseStream"]


def test_other_hosts_are_not_heard(path: Path, server: ConverseServer) -> None:
    with server.script(reply.text("hi").times(2)) as fake, recorded_by(path) as recorder:
        assert own(httpx, recorder, fake.url, "converse").status == 200
        assert own(httpx2, recorder, fake.url, "converse").status == 200
    assert recorder.calls == []


@pytest.mark.parametrize("slash", ["", "/"])
def test_an_upstream_is_named(path: Path, server: ConverseServer, slash: str) -> None:
    with (
        server.script(reply.text("hi").times(3)) as named,
        server.script(reply.text("hi")) as other,
        record(path, upstream=named.url + slash) as recorder,
    ):
        for url in (named.url, other.url):
            assert own(httpx, recorder, url, "converse").status == 200
        came = [own(httpx2, recorder, named.url, "converse"), own_async(httpx, recorder, named.url, "converse")]
    assert len(recorder.calls) == len(read(path).exchanges) == 3
    with record(path, mode="none", upstream=named.url) as played:
        again = [way(httpx, played, named.url, "converse") for way in (own, own_async)]
        assert own(httpx2, played, f"https://{BEDROCK}", "converse") == again[0]
    assert again == came


@either
def test_record_has_transports_for_one_client(path: Path, server: ConverseServer, library: Any) -> None:
    async def run(recorder: Recorder, url: str) -> Answer:
        async with library.AsyncClient(
            transport=recorder.httpx_async_transport(library.AsyncHTTPTransport())
        ) as client:
            return await ask_async(client, url)

    with (
        server.script(reply.text("hi").times(2)) as upstream,
        record(path) as recorder,
        library.Client(transport=recorder.httpx_transport(library.HTTPTransport())) as client,
    ):
        came = [ask(client, upstream.url), asyncio.run(run(recorder, upstream.url))]
    assert isinstance(recorder.httpx_transport(library.HTTPTransport()), library.BaseTransport)
    with record(path, mode="none") as player:
        mock = library.MockTransport(lambda request: pytest.fail("it is played"))
        with library.Client(transport=player.httpx_transport(mock)) as client:
            assert [ask(client, "https://x.example"), own(library, recorder, f"https://{BEDROCK}", STREAM)] == came


def test_boto_over_httpx_is_written_down_by_its_own_transport(path: Path, server: ConverseServer) -> None:
    """As aiobotocore does it: its call is passed on, and its HTTP session is one of httpx."""
    with (
        server.script(reply.text("hi")) as upstream,
        record(path, upstream=upstream.url) as recorder,
        OPEN_FAKES.one_call("Converse", upstream.url, lambda error, endpoint: None),
    ):
        assert own(httpx, recorder, upstream.url, "converse").status == 200
    assert recorder.calls == []


@pytest.mark.parametrize(
    ("named", "asked", "captured"),
    [
        ("http://gateway.example", "http://gateway.example:80/model/m/converse", True),
        ("https://Gateway.example:443/aws/", "https://gateway.example/aws/model/m/converse?x=1", True),
        ("https://gateway.example/aws", "https://gateway.example/aws2/model/m/converse", False),
        ("https://gateway.example", "http://gateway.example/model/m/converse", False),
        ("https://gateway.example:8443", "https://gateway.example/model/m/converse", False),
        ("nonsense", "https://gateway.example/model/m/converse", False),
        ("http://[", "https://gateway.example/model/m/converse", False),
    ],
)
def test_which_addresses_are_bedrocks(
    path: Path, monkeypatch: pytest.MonkeyPatch, named: str, asked: str, captured: bool
) -> None:
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda self, request: httpx.Response(200, json={}))
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", named)
    with recorded_by(path) as recorder:
        httpx.post(asked, json=BODY)
    assert [call.operation for call in recorder.calls] == ["Converse"] * captured


@pytest.mark.parametrize("upstream", ["127.0.0.1:8080", "ftp://x.example", "http://", "http://[", "http://x:y"])
def test_an_upstream_that_is_no_url(path: Path, upstream: str) -> None:
    before = OPEN_FAKES.newest()
    with pytest.raises(ReplyError, match=r"upstream=.*: the URL of"), record(path, upstream=upstream):
        pass
    assert OPEN_FAKES.newest() is before


def test_what_is_no_transport(path: Path) -> None:
    recorder = record(path)
    with httpx.Client() as client, pytest.raises(ReplyError, match=r"is no transport .* no handle_request\(\)"):
        recorder.httpx_transport(client)
    with pytest.raises(ReplyError, match=r"handle_async_request\(\).*AsyncHTTPTransport"):
        recorder.httpx_async_transport(httpx.HTTPTransport())


def test_the_path_of_a_gateway_is_no_part_of_the_call(path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"path": request.url.path})

    with recorded_by(path) as recorder:
        inner = httpx.MockTransport(answer)
        with httpx.Client(transport=recording_transport(httpx, recorder.core, inner)) as client:
            url = "https://gateway.example/v1/aws/model/eu.amazon.nova%2Fx/converse"
            assert client.post(url, json=BODY).json() == {"path": "/v1/aws/model/eu.amazon.nova/x/converse"}
            client.get("https://gateway.example/v1/health?deep=1")
    assert [(call.operation, call.model_id) for call in recorder.calls.all] == [
        ("Converse", "eu.amazon.nova/x"),
        (None, ""),
    ]
    calls = [line for line in lines_of(recorder) if "call" in line]
    assert calls[1] == {"call": 2, "method": "GET", "path": "/v1/health", "query": "deep=1"}


def test_a_mock_of_the_tests_own_goes_on_and_is_heard(path: Path) -> None:
    url = f"https://{BEDROCK}/model/m/converse"
    with recorded_by(path) as recorder, respx.mock() as mine:
        bedrock = mine.post(url).respond(json={"mocked": True})
        other = mine.get("https://other.example/").respond(text="mine")
        assert httpx.post(url, json=BODY).json() == {"mocked": True}
        assert httpx.get("https://other.example/").text == "mine"
    assert bedrock.called
    assert other.called
    assert [(call.operation, call.status) for call in recorder.calls] == [("Converse", 200)]
    assert lines_of(recorder)[-1]["body"] == {"mocked": True}


def test_the_newest_fake_decides(path: Path, bedrock: str) -> None:
    inner = HttpxFake(reply.text("inner"))
    with HttpxFake(unused="allow") as outer, recorded_by(path) as recorder:
        outer.always(reply.text("outer"))
        for library in SEVERAL:
            assert TEXT in own(library, recorder, bedrock, "converse").data.decode()
        with inner:
            assert "inner" in own(httpx, inner, bedrock, "converse").data.decode()
        assert TEXT in own_async(httpx, recorder, bedrock, "converse").data.decode()
    assert [len(fake.calls) for fake in (outer, recorder, inner)] == [0, 3, 1]


def test_what_the_script_has_is_played_and_the_rest_recorded(recorder: HttpxFake, upstream: str) -> None:
    recorder.script(reply.text("scripted").times(2))
    said = [own(library, recorder, upstream, "converse").data.decode() for library in (*SEVERAL, *SEVERAL)]
    assert ["scripted" in each for each in said] == [True, True, False, False]
    assert len([line for line in lines_of(recorder) if "call" in line]) == 2


def test_the_transport_of_a_recorder_that_is_closed(path: Path, upstream: str) -> None:
    recorder = recorded_by(path).open()
    recorder.close()
    with refusals.of_a_run(), pytest.raises(BlockedConnection, match="a fake that is not open"):
        around(httpx, recorder, upstream, "converse")
    assert own(httpx, recorder, upstream, "converse").status == 200
    assert recorder.calls == []


def test_a_replacement_of_another_tool_below_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pytest-httpx does it, before the fake is open."""

    def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"url": str(request.url)})

    async def handle_async(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        return handle(httpx.HTTPTransport(), request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle_async)
    url = f"https://{BEDROCK}"
    with recorded_by(path) as recorder:
        for way in (own, own_async):
            assert json.loads(_said(way, recorder, url))["url"] == f"{url}/model/m/converse"
        assert httpx.get("https://other.example/").json() == {"url": "https://other.example/"}
    assert [call.outcome for call in recorder.calls] == ["complete"] * 2


def _said(way: Any, fake: HttpxFake, url: str) -> bytes:
    async def run() -> bytes:
        async with httpx.AsyncClient() as client:
            return (await client.post(f"{url}/model/m/converse", json=BODY)).content

    return asyncio.run(run()) if way is own_async else httpx.post(f"{url}/model/m/converse", json=BODY).content


# Transports of any kind


class Retrying(httpx.BaseTransport):
    """A transport as users write them."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.inner = inner
        self.entered: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        while (response := self.inner.handle_request(request)).status_code == 429:
            response.read()
        response.headers["x-tried"] = "often"
        return response

    def __enter__(self) -> Retrying:
        self.entered.append("entered")
        return self

    def __exit__(self, *error: object) -> None:
        self.entered.append("left")

    def close(self) -> None:
        self.entered.append("closed")


@pytest.mark.parametrize("within", [False, True], ids=["around it", "within it"])
def test_a_transport_of_the_users_own(server: ConverseServer, path: Path, within: bool) -> None:
    with server.script(reply.throttled().times(2), reply.text("hi")) as fake, recorded_by(path) as recorder:
        network = httpx.HTTPTransport()
        if within:
            mine = Retrying(recording_transport(httpx, recorder.core, network))
            client = httpx.Client(transport=mine)
        else:
            mine = Retrying(network)
            client = httpx.Client(transport=recording_transport(httpx, recorder.core, mine))
        with client, network:
            came = ask(client, fake.url)
    assert dict(came.headers)["x-tried"] == "often"
    assert [call.status for call in recorder.calls] == ([429, 429, 200] if within else [200])
    assert mine.entered == ["entered", "left"]


def test_closing_and_not_entering(path: Path) -> None:
    with recorded_by(path) as recorder:
        mine = Retrying(httpx.HTTPTransport())
        httpx.Client(transport=recording_transport(httpx, recorder.core, mine)).close()
        httpx.Client(transport=recorder.httpx_transport).close()
        asyncio.run(httpx.AsyncClient(transport=recorder.httpx_async_transport).aclose())
    assert mine.entered == ["closed"]


@either
def test_responses_that_are_made_whole(path: Path, library: Any) -> None:
    def answer(request: Any) -> Any:
        return library.Response(200, json={"said": json.loads(request.content)["messages"][0]["content"][0]["text"]})

    with recorded_by(path) as recorder:
        inner = library.MockTransport(answer)
        with library.Client(transport=recording_transport(library, recorder.core, inner)) as client:
            sync = client.post("https://x.example/model/m/converse", json=BODY)

        async def run() -> Any:
            async with library.AsyncClient(
                transport=recording_async_transport(library, recorder.core, inner)
            ) as client:
                return await client.post("https://x.example/model/m/converse", json=BODY)

        assert sync.json() == asyncio.run(run()).json() == {"said": "hello"}
    assert [line["body"] for line in lines_of(recorder) if "status" in line] == [{"said": "hello"}] * 2


class Reading(httpx.BaseTransport):
    """One that looks at every answer before it gives it on."""

    def __init__(self) -> None:
        self.network = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.network.handle_request(request)
        response.read()
        return response

    def close(self) -> None:
        self.network.close()


@pytest.mark.parametrize("encoded", [False, True])
def test_responses_that_were_read_below(path: Path, encoded: bool) -> None:
    data = gzip.compress(b'{"a":1}') if encoded else b'{"a":1}'
    head = b"Content-Encoding: gzip\r\n" if encoded else b""
    with (
        Raw(answer_with(data, b"Content-Type: application/json\r\n" + head)) as url,
        recorded_by(path) as recorder,
        httpx.Client(transport=recording_transport(httpx, recorder.core, Reading())) as client,
    ):
        assert client.post(f"{url}/model/m/converse", json=BODY).json() == {"a": 1}
    head_line = lines_of(recorder)[-1]
    assert (head_line["body"], "headers" in head_line) == ({"a": 1}, False)


def test_an_application_in_the_process(path: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [(b"content-type", b"application/vnd.amazon.eventstream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": START + DELTA})

    async def run(recorder: Fake) -> Answer:
        inner = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=recording_async_transport(httpx, recorder.core, inner)) as client:
            return await ask_async(client, "http://app")

    with recorded_by(path) as recorder:
        assert asyncio.run(run(recorder)).data == START + DELTA
    first, second = lines_of(recorder)[-2:]
    assert "messageStart" in first
    assert "contentBlockDelta" in second
    assert second["joined"] is True


@either
def test_a_body_in_parts(recorder: HttpxFake, upstream: str, library: Any) -> None:
    data = json.dumps(BODY).encode()

    async def parts() -> AsyncIterator[bytes]:
        yield data[:9]
        yield data[9:]

    async def run() -> int:
        async with library.AsyncClient() as client:
            status: int = (await client.post(f"{upstream}/model/m/converse", content=parts())).status_code
            return status

    with library.Client() as client:
        assert client.post(f"{upstream}/model/m/converse", content=iter([data[:9], data[9:]])).status_code == 200
    assert asyncio.run(run()) == 200
    assert [call.last_user_text for call in recorder.calls] == ["hello"] * 2


# Live, and every end


Step = bytes | threading.Event | str


class Raw:
    """A server that says to every request exactly what it is told: bytes, waits, and a word for how it ends."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._serve)

    def __enter__(self) -> str:
        self.thread.start()
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        came = b""
        while not came.endswith(b"}"):
            came += connection.recv(65536)
        for step in self.steps:
            if isinstance(step, bytes):
                connection.sendall(step)
            elif isinstance(step, threading.Event):
                assert step.wait(10)
            elif step == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                self.over.wait(10)


HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: keep-alive\r\nx-amzn-RequestId: r1\r\n\r\n"
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def answer_with(data: bytes, headers: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (headers, len(data), data)


@either
def test_an_event_is_seen_before_the_next_is_sent(path: Path, library: Any) -> None:
    seen = threading.Event()
    with (
        Raw(HEAD + chunk(START), seen, chunk(DELTA) + b"0\r\n\r\n") as url,
        recorded_by(path) as recorder,
        library.Client(transport=recording_transport(library, recorder.core, library.HTTPTransport())) as client,
        client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response,
    ):
        pieces = response.iter_raw()
        assert next(pieces) == START
        seen.set()
        assert b"".join(pieces) == DELTA
    head, first, second = lines_of(recorder)[-3:]
    assert head["t"] <= first["t"] <= second["t"]


@backends
def test_the_same_asynchronously(path: Path, backend: str) -> None:
    seen = threading.Event()

    async def run(url: str, recorder: Fake) -> None:
        inner = httpx.AsyncHTTPTransport()
        async with (
            httpx.AsyncClient(transport=recording_async_transport(httpx, recorder.core, inner)) as client,
            client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response,
        ):
            pieces = response.aiter_raw()
            assert await anext(pieces) == START
            seen.set()
            assert [piece async for piece in pieces] == [DELTA]

    with Raw(HEAD + chunk(START), seen, chunk(DELTA) + b"0\r\n\r\n") as url, recorded_by(path) as recorder:
        anyio.run(run, url, recorder, backend=backend)
    assert [call.outcome for call in recorder.calls] == ["complete"]


class Broken(NamedTuple):
    """How a server ends, what httpx makes of it, and what is written down."""

    steps: Sequence[Step]
    error: str
    line: dict[str, str]


BEGUN = HEAD + chunk(START)

BROKEN = {
    "reset": Broken([BEGUN, "read", "reset"], "ReadError", {"end": "connection reset"}),
    "closed": Broken([BEGUN], "RemoteProtocolError", {"end": "connection closed"}),
    "closed in a chunk": Broken([BEGUN + chunk(DELTA)[:-9]], "RemoteProtocolError", {"end": "connection closed"}),
    "short of its length": Broken(
        [answer_with(b"{}" * 9, b"")[:-3]], "RemoteProtocolError", {"end": "connection closed"}
    ),
    "stalled": Broken([BEGUN, "wait"], "ReadTimeout", {"end": "stalled"}),
    "closed before the head": Broken([], "RemoteProtocolError", {"failed": "connection closed"}),
    "reset before the head": Broken(["reset"], "ReadError", {"failed": "connection closed"}),
    "silent": Broken(["wait"], "ReadTimeout", {"failed": "read timeout"}),
}


def timeouts(library: Any) -> Any:
    return library.Timeout(5, read=0.3)


def broken_sync(library: Any, fake: Any, url: str, seen: threading.Event) -> Exception:
    inner = None if url.startswith("https") else library.HTTPTransport()
    with library.Client(transport=recording_transport(library, fake.core, inner), timeout=timeouts(library)) as client:
        try:
            with client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response:
                for _ in response.iter_raw():
                    seen.set()
        except (httpx.TransportError, httpx2.TransportError) as error:
            return error
    raise AssertionError("nothing broke")


def broken_async(library: Any, fake: Any, url: str, seen: threading.Event, backend: str = "asyncio") -> Exception:
    async def run() -> Exception:
        inner = None if url.startswith("https") else library.AsyncHTTPTransport()
        own = recording_async_transport(library, fake.core, inner)
        async with library.AsyncClient(transport=own, timeout=timeouts(library)) as client:
            try:
                async with client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response:
                    async for _ in response.aiter_raw():
                        seen.set()
            except (httpx.TransportError, httpx2.TransportError) as error:
                return error
        raise AssertionError("nothing broke")

    return anyio.run(run, backend=backend)


def broken_trio(library: Any, fake: Any, url: str, seen: threading.Event) -> Exception:
    return broken_async(library, fake, url, seen, "trio")


@either
@pytest.mark.parametrize("way", [broken_sync, broken_async, broken_trio])
@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_is_kept_and_marked(path: Path, library: Any, way: Any, name: str) -> None:
    steps, error, line = BROKEN[name]
    seen = threading.Event()
    with Raw(*(seen if step == "read" else step for step in steps)) as url, recorded_by(path) as recorder:
        assert type(way(library, recorder, url, seen)).__name__ == error
    assert [call.outcome for call in recorder.calls] == ["cut"]
    last = lines_of(recorder)[-1]
    assert {key: last[key] for key in last if key != "t"} == line
    if error == "ReadError" and "failed" in line:
        return  # in place of an answer, a reset connection is a closed one
    with HttpxFake(recording(path)) as fake:
        assert type(way(library, fake, "https://x.example", threading.Event())).__name__ == error


@either
def test_no_connection_at_all(path: Path, library: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with recorded_by(path) as recorder:
        for way in (broken_sync, broken_async):
            assert isinstance(way(library, recorder, url, threading.Event()), library.ConnectError)
    assert [line["failed"] for line in lines_of(recorder) if "failed" in line] == ["connection refused"] * 2


def test_what_cannot_be_waited_for(path: Path) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("too slow", request=request)

    with (
        recorded_by(path) as recorder,
        httpx.Client(transport=recording_transport(httpx, recorder.core, httpx.MockTransport(refuse))) as client,
        pytest.raises(httpx.ConnectTimeout, match="too slow"),
    ):
        ask(client, "https://x.example")
    assert lines_of(recorder)[-1]["failed"] == "connect timeout"


def leave_early(client: Any, url: str) -> None:
    with client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response:
        assert next(response.iter_raw()) == START


def leave_the_loop(client: Any, url: str) -> None:
    with client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response:
        for piece in response.iter_raw():
            assert piece == START
            break


def forget(client: Any, url: str) -> None:
    request = client.build_request("POST", f"{url}/model/m/converse-stream", json=BODY)
    pieces = client.send(request, stream=True).iter_raw()
    assert next(pieces) == START
    del pieces
    gc.collect()


@pytest.mark.parametrize("leave", [leave_early, leave_the_loop, forget])
def test_a_client_that_leaves_is_marked(path: Path, leave: Callable[[Any, str], None]) -> None:
    with (
        Raw(BEGUN, "wait") as url,
        recorded_by(path) as recorder,
        httpx.Client(transport=recording_transport(httpx, recorder.core, httpx.HTTPTransport())) as client,
    ):
        leave(client, url)
        (call,) = recorder.calls
        assert call.outcome == "closed by client"
    event, end = lines_of(recorder)[-2:]
    assert "messageStart" in event
    assert end["end"] == "closed by client"


def test_a_client_that_closes_while_it_could_still_read(path: Path) -> None:
    with (
        Raw(BEGUN, "wait") as url,
        recorded_by(path) as recorder,
        httpx.Client(transport=recording_transport(httpx, recorder.core, httpx.HTTPTransport())) as client,
        client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response,
    ):
        pieces = response.iter_raw()
        assert next(pieces) == START
        response.close()
        assert [call.outcome for call in recorder.calls] == ["closed by client"]
        with pytest.raises(httpx.StreamError):
            next(response.iter_raw())
        del pieces


def test_a_response_collected_unread_counts_as_closed_by_the_client(path: Path) -> None:
    with (
        Raw(BEGUN, "wait") as url,
        recorded_by(path) as recorder,
        httpx.Client(transport=recording_transport(httpx, recorder.core, httpx.HTTPTransport())) as client,
    ):
        request = client.build_request("POST", f"{url}/model/m/converse-stream", json=BODY)
        assert client.send(request, stream=True).status_code == 200
        gc.collect()
        assert [call.outcome for call in recorder.calls] == ["closed by client"]
    head, end = lines_of(recorder)[-2:]
    assert (head["status"], end["end"]) == (200, "closed by client")


@backends
def test_a_client_that_is_cancelled(path: Path, backend: str) -> None:
    async def run(url: str, recorder: Fake) -> None:
        inner = httpx.AsyncHTTPTransport()
        async with httpx.AsyncClient(transport=recording_async_transport(httpx, recorder.core, inner)) as client:
            with anyio.CancelScope() as scope:
                async with client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response:
                    async for _ in response.aiter_raw():
                        scope.cancel()
            assert scope.cancelled_caught

    with Raw(BEGUN, "wait") as url, recorded_by(path) as recorder:
        anyio.run(run, url, recorder, backend=backend)
    assert [call.outcome for call in recorder.calls] == ["closed by client"]
    assert lines_of(recorder)[-1]["end"] == "closed by client"


def test_a_client_that_has_all_of_it_need_not_ask_for_more(path: Path) -> None:
    with (
        Raw(answer_with(b'{"a":1}', b"Content-Type: application/json\r\n")) as url,
        recorded_by(path) as recorder,
        httpx.Client(transport=recording_transport(httpx, recorder.core, httpx.HTTPTransport())) as client,
        client.stream("POST", f"{url}/model/m/converse", json=BODY) as response,
    ):
        assert next(response.iter_raw()) == b'{"a":1}'
    assert lines_of(recorder)[-1]["body"] == {"a": 1}


def test_what_is_saved_meanwhile_is_no_whole_answer(path: Path) -> None:
    with (
        Raw(BEGUN, "wait") as url,
        recorded_by(path) as recorder,
        httpx.Client(transport=recording_transport(httpx, recorder.core, httpx.HTTPTransport())) as client,
        client.stream("POST", f"{url}/model/m/converse-stream", json=BODY) as response,
    ):
        assert next(response.iter_raw()) == START
        assert lines_of(recorder)[-1]["end"] == "closed by client"


# What travels


@pytest.mark.parametrize("coding", ["gzip", "br"])
@either
def test_encoded_bodies_are_kept_as_they_travel(path: Path, library: Any, coding: str) -> None:
    data = gzip.compress(b'{"a":1}') if coding == "gzip" else b"\x0b\x03\x80{}\x03 of brotli, not decoded here"
    headers = b"Content-Type: application/json\r\nContent-Encoding: %b\r\n" % coding.encode()
    with Raw(answer_with(data, headers)) as url, recorded_by(path) as recorder:
        came = around(library, recorder, url, "converse")
    assert came.data == data
    assert lines_of(recorder)[-1]["headers"] == {"Content-Encoding": coding}
    with HttpxFake(recording(path)) as fake:
        again = transport(library, fake, "https://x.example", "converse")
    assert (again.data, dict(again.headers)["content-encoding"]) == (data, coding)
    if coding == "gzip":
        with HttpxFake(recording(path)) as fake, library.Client(transport=fake.transport_for(library)) as client:
            assert client.post("https://x.example/model/m/converse", json=BODY).json() == {"a": 1}


def signed(url: str) -> dict[str, str]:
    """Headers of a request that botocore signs."""
    request = AWSRequest("POST", f"{url}/model/m/converse", data=json.dumps(BODY).encode())
    SigV4Auth(Credentials("AKIDSECRETSECRET", "secret-key", "session-token"), "bedrock", "us-east-1").add_auth(request)
    return dict(request.headers.items())


def bearer(url: str) -> dict[str, str]:
    return {"Authorization": "Bearer bedrock-api-key-secret", "Cookie": "session=cookie-secret", "X-Api-Key": "secret"}


@pytest.mark.parametrize("headers_of", [signed, bearer])
def test_signing_is_the_users_and_is_not_written(
    server: ConverseServer, path: Path, headers_of: Callable[[str], dict[str, str]]
) -> None:
    with server.script(reply.text("hi")) as upstream, recorded_by(path) as recorder:
        headers = headers_of(upstream.url)
        sent: list[str] = []

        def look(request: httpx.Request) -> httpx.Response:
            sent.append(request.headers["authorization"])
            with httpx.Client() as client:
                return client.post(request.url, content=request.content, headers=request.headers)

        inner = httpx.MockTransport(look)
        with httpx.Client(transport=recording_transport(httpx, recorder.core, inner)) as client:
            client.post(f"{upstream.url}/model/m/converse", content=json.dumps(BODY), headers=headers)
    assert sent == [headers["Authorization"]]
    text = saved(recorder).lower()
    assert not [word for word in ("secret", "session-token", "authorization", "signature") if word in text]


def test_cookies_that_are_set_are_not_written(path: Path) -> None:
    headers = b"Content-Type: application/json\r\nSet-Cookie: session=secret\r\n"
    with Raw(answer_with(b"{}", headers)) as url, recorded_by(path) as recorder:
        came = around(httpx, recorder, url, "converse")
    assert dict(came.headers)["set-cookie"] == "session=secret"
    assert "secret" not in saved(recorder)


def test_threads_do_not_mix(server: ConverseServer, path: Path) -> None:
    threads, calls = 8, 6

    def talk(url: str, number: int) -> list[bytes]:
        said: list[bytes] = []
        with httpx.Client(timeout=30) as client:
            for turn in range(calls):
                body = {"messages": [{"role": "user", "content": [{"text": f"<{number}.{turn}>"}]}]}
                with client.stream("POST", f"{url}/model/m/converse-stream", json=body) as response:
                    said.append(b"".join(response.iter_raw()))
        return said

    with server.script(unused="allow") as upstream, recorded_by(path) as recorder:
        upstream.always(lambda call: reply.text(f"You said {call.last_user_text} and that is all."))
        with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(threads) as pool:
            patch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", upstream.url)
            said = list(pool.map(partial(talk, upstream.url), range(threads)))
    saved(recorder)
    by_question = {}
    for exchange in read(path).exchanges:
        assert exchange.end is None
        question = exchange.request["messages"][0]["content"][0]["text"]
        deltas = [line["contentBlockDelta"]["delta"] for line in exchange.events if "contentBlockDelta" in line]
        assert "".join(delta["text"] for delta in deltas) == f"You said {question} and that is all."
        by_question[question] = b""
    assert len(by_question) == threads * calls == sum(map(len, said))


def test_the_transport_itself_loads_no_library() -> None:
    code = (
        "import sys, converse_harness.intercept.patch_points\n"
        "assert not {'httpx', 'httpx2', 'respx', 'anyio', 'httpcore'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
