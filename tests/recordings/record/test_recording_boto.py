"""Recording through the boto transport: real clients, with the project's own server and odd ones as the service."""

from __future__ import annotations

import asyncio
import gc
import gzip
import io
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import botocore.endpoint
import botocore.exceptions
import botocore.loaders
import botocore.session
import pytest
import urllib3
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.httpsession import URLLib3Session

from converse_harness import (
    BlockedConnection,
    Call,
    ConverseServer,
    JournalWarning,
    MaskedSecretWarning,
    Reply,
    ReplyError,
    TransportError,
    UnexpectedCall,
    fake_converse,
    record,
    recording,
    refusals,
    reply,
)
from converse_harness.intercept.capture import Capture
from converse_harness.intercept.guard import connections
from converse_harness.intercept.recorder import Recorder
from converse_harness.intercept.registry import CURRENT_CALL, OPEN_FAKES
from converse_harness.recordings.format.read import read
from converse_harness.recordings.names import Failed, Mode
from tests.intercept.interrupts import each_step, interrupt_everywhere
from tests.recordings.developer import KEY_ID, SECRET, TOKEN, give_access
from tests.recordings.peers import DELTA, METADATA, START, STREAM, Answers, body, chunk, peer, reset, wait_for_the_end
from tests.server.peers import eventually

pytestmark = pytest.mark.any_answer

MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
QUICK: dict[str, Any] = {"retries": {"total_max_attempts": 1}}


def question(text: str = "hello") -> dict[str, Any]:
    return {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": text}]}]}


def text_of(answer: Any) -> str:
    return str(answer["output"]["message"]["content"][0]["text"])


_loader = botocore.loaders.create_loader()
_clients: list[Any] = []


def connect(url: str | None = None, **config: Any) -> Any:
    session = botocore.session.Session()
    session.register_component("data_loader", _loader)  # what takes the time is to load the model
    client = session.create_client("bedrock-runtime", endpoint_url=url, config=Config(**config))
    _clients.append(client)
    return client


def outcome_of(act: Callable[[], Any]) -> Any:
    """What a client gets: a value, or the type and message of an error."""
    try:
        return act()
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same again
        return type(error).__qualname__, re.sub(r"127\.0\.0\.1:\d+|0x[0-9a-f]+|https?://\S+", "", str(error))


def stream_of(client: Any, text: str = "hello") -> list[Any]:
    with closing(client.converse_stream(**question(text))["stream"]) as stream:
        return list(stream)


def chunks_of(client: Any, text: str = "hello") -> list[bytes]:
    """The HTTP chunks of a stream as botocore gets them."""
    return list(client.converse_stream(**question(text))["stream"]._raw_stream.stream())


def canned_response(url: str) -> AWSResponse:
    """What botocore's own session gives for an answer of Bedrock's."""
    data = io.BytesIO(b'{"output":{"message":{"role":"assistant","content":[{"text":"real"}]}}}')
    raw = urllib3.HTTPResponse(data, {"Content-Type": "application/json"}, 200, preload_content=False)
    response = AWSResponse(url, 200, raw.headers, raw)
    assert response.content  # it reads a whole body at once
    return response


@pytest.fixture(autouse=True)
def _connections() -> Iterator[None]:
    """A client that is dropped together with a response would leave its connection open."""
    yield
    for client in _clients:
        client.close()
    _clients.clear()


@pytest.fixture(autouse=True)
def _developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of somebody who has access to Bedrock."""
    give_access(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture(scope="module")
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


@pytest.fixture
def real_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits that really came to `time.sleep`."""
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    return waits


# What the client sees


def test_each_event_reaches_the_client_before_the_next_one_is_sent(path: Path) -> None:
    taken = threading.Event()

    def wait_for_the_client(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        if taken.wait(10):
            connection.sendall(chunk(METADATA) + chunk(b""))

    with peer(wait_for_the_client) as url, record(path) as recorder:
        events = iter(connect(url).converse_stream(**question())["stream"])
        assert "messageStart" in next(events)
        (call,) = recorder.calls
        assert (call.status, len(call.events), call.outcome, call.response) == (200, 1, "still running", None)
        taken.set()
        assert "metadata" in next(events)
        assert len(call.events) == 2
        assert list(events) == []
        assert call.outcome == "complete"
    assert len(read(path).exchanges[0].events) == 2


REPLIES: dict[str, Reply] = {
    "text": reply.text("Grüezi, it is 18 °C."),
    "tool": reply.tool_use("get_weather", {"city": "Zürich"}),
    "reasoning": reply.message(
        {"reasoningContent": {"reasoningText": {"text": "They ask for the weather.", "signature": "c2ln"}}},
        {"text": "18 °C"},
    ),
    "throttled": reply.throttled(),
    "denied": reply.error("AccessDeniedException", "No."),
    "midway": reply.text("It will be").fails_after(3, "modelStreamErrorException"),
    "slow": reply.text("one two three").paced(first=0.01, each=0.01),
}


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("ask", [stream_of, lambda client: client.converse(**question())], ids=["stream", "whole"])
def test_a_recording_replays_what_the_client_saw(
    server: ConverseServer, path: Path, name: str, ask: Callable[[Any], Any]
) -> None:
    def seen(client: Any) -> Any:
        found = outcome_of(lambda: ask(client))
        return {**found, "ResponseMetadata": None} if isinstance(found, dict) else found

    with server.script(REPLIES[name]) as service:
        without = seen(connect(service.url, **QUICK))
    with server.script(REPLIES[name]) as service, record(path) as recorder:
        recorded = seen(connect(service.url, **QUICK))
        (call,) = recorder.calls
        status, events, response, outcome = call.status, call.events, call.response, call.outcome
    with fake_converse(recording(path)) as fake:
        replayed = seen(connect(**QUICK))
        (call,) = fake.calls
        assert [event for event, _ in call.events] == [event for event, _ in events]
        assert (call.status, call.outcome) == (status, outcome)
        assert (call.response is None) is (response is None)
    assert without == recorded == replayed


def test_the_http_chunks_are_the_same_ones(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("one two three four")) as service, record(path):
        recorded = chunks_of(connect(service.url))
        sent = service.calls[0].answered.taken.data
    with fake_converse(recording(path)):
        replayed = chunks_of(connect())
    assert recorded == replayed == sent
    assert len(sent) > 4


def test_a_call_that_is_passed_on_is_seen_as_any_other(server: ConverseServer, path: Path) -> None:
    script = [reply.text("hi"), reply.text("hi"), reply.throttled()]
    with server.script(*script) as service, record(path) as recorder:
        client = connect(service.url, **QUICK)
        client.converse(**question())
        stream_of(client)
        outcome_of(lambda: stream_of(client))
        whole, stream, error = recorder.calls
        assert [call.status for call in recorder.calls] == [200, 200, 429]
        assert {call.outcome for call in recorder.calls} == {"complete"}
        for call in (whole, stream):
            assert call.response is not None
            assert call.response.message["content"] == [{"text": "hi"}]
        assert error.response is None
        assert [event for event, _ in stream.events] == [event for event, _ in service.calls[1].events]
        assert 0 < stream.events[0].at <= stream.events[-1].at
        assert whole.last_user_text == "hello"
        assert "hi" in recorder.transcript


def test_the_raw_response_is_read_as_before(server: ConverseServer, path: Path) -> None:
    """Whoever reads it in another way than botocore is heard as well."""
    with server.script(reply.text("hi").times(6)) as service:
        plain = connect(service.url).converse_stream(**question())["stream"]._raw_stream
        with record(path) as recorder:
            client = connect(service.url)
            raw = client.converse_stream(**question())["stream"]._raw_stream
            assert isinstance(raw, urllib3.HTTPResponse)
            assert (raw.version, raw.closed, raw.readable()) == (plain.version, plain.closed, plain.readable())
            assert raw.headers["Content-Type"] == "application/vnd.amazon.eventstream"
            everything = raw.read()
            raw = client.converse_stream(**question())["stream"]._raw_stream
            pieces = [raw.read(10), raw.read1(5), raw.read()]
            raw = client.converse_stream(**question())["stream"]._raw_stream
            assert len(io.BufferedReader(raw, 10).read(10)) == 10
            raw.close()
            lines = client.converse_stream(**question())["stream"]._raw_stream.readlines()
            chunks = list(client.converse_stream(**question())["stream"]._raw_stream.read_chunked())
        assert [call.outcome for call in recorder.calls] == [
            "complete",
            "complete",
            "closed by client",
            "complete",
            "complete",
        ]
        captured = [b"".join(data for data, _ in captured.pieces) for captured in recorder.core.writer.captured]  # type: ignore[union-attr]
        assert captured[0] == everything == plain.read()
        assert captured[1] == b"".join(pieces)
        assert captured[3] == b"".join(lines)
        assert captured[4] == b"".join(chunks)
        assert {len(captured[at]) for at in (0, 1, 3, 4)} == {len(everything)}


def test_other_operations_and_blobs_are_recorded_too(path: Path) -> None:
    blob = bytes(range(256)) * 300
    ask = {"modelId": MODEL, "body": b"{}"}
    answers = [lambda c, data=data: c.sendall(body(data)) for data in (blob, b"", b'{"a": 1}')]
    with peer(*answers) as url, record(path):
        client = connect(url)
        read_in_parts = client.invoke_model(**ask)["body"]
        parts = [read_in_parts.read(1000), read_in_parts.read()]
        rest = [client.invoke_model(**ask)["body"].read() for _ in range(2)]
        assert (b"".join(parts), *rest) == (blob, b"", b'{"a": 1}')
    assert [exchange.end for exchange in read(path).exchanges] == [None, None, None]
    with fake_converse(recording(path)):
        assert [connect().invoke_model(**ask)["body"].read() for _ in range(3)] == [blob, b"", b'{"a": 1}']


def test_what_is_encoded_on_its_way_stays_so(path: Path) -> None:
    data = gzip.compress(b'{"output": {}}', mtime=0)
    with peer(lambda c: c.sendall(body(data, headers=b"Content-Encoding: gzip\r\n"))) as url, record(path):
        recorded = connect(url).invoke_model(modelId=MODEL, body=b"{}")
        assert recorded["body"].read() == data
    with fake_converse(recording(path)):
        replayed = connect().invoke_model(modelId=MODEL, body=b"{}")
    assert replayed["body"].read() == data
    assert replayed["ResponseMetadata"]["HTTPHeaders"]["content-encoding"] == "gzip"


# How it ends


def stops_by_closing(client: Any) -> None:
    stream = client.converse_stream(**question())["stream"]
    next(iter(stream))
    stream.close()


def stops_by_dropping(client: Any) -> None:
    for _ in client.converse_stream(**question())["stream"]:
        break


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # as without a recorder
@pytest.mark.parametrize("stop", [stops_by_closing, stops_by_dropping])
def test_a_client_that_stops_early_is_marked(server: ConverseServer, path: Path, stop: Callable[[Any], None]) -> None:
    answers = server.script(reply.text("one two three").times(2), unused="allow")
    with answers as service, record(path) as recorder:
        stop(connect(service.url))
        connect(service.url).converse_stream(**question())
        gc.collect()
        assert [call.outcome for call in recorder.calls] == ["closed by client", "closed by client"]
    exchanges = read(path).exchanges
    assert [len(exchange.events) for exchange in exchanges] == [1, 0]
    assert [exchange.end and exchange.end["end"] for exchange in exchanges] == ["closed by client"] * 2
    with fake_converse(recording(path)) as fake:
        stop(connect())
        connect().converse_stream(**question())
        gc.collect()
    assert [call.outcome for call in fake.calls] == ["closed by client", "closed by client"]
    with pytest.raises(UnexpectedCall, match="reads on"), fake_converse(recording(path), unused="allow"):
        stream_of(connect())


def test_a_client_that_stops_after_the_last_event_has_it_all(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("hi")) as service, record(path) as recorder:
        with closing(connect(service.url).converse_stream(**question())["stream"]) as stream:
            for event in stream:
                if "metadata" in event:
                    break
        assert recorder.calls[0].outcome == "complete"
    with fake_converse(recording(path)):
        assert len(stream_of(connect())) > 4


def one_chunk_and(then: Callable[[socket.socket], None]) -> Answers:
    def answer(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        went.wait(10)
        then(connection)

    went = threading.Event()
    answer.went = went  # type: ignore[attr-defined]
    return answer


def half_a_chunk(connection: socket.socket) -> None:
    connection.sendall(b"%x\r\n%b" % (len(DELTA), DELTA[:10]))


def no_chunk(connection: socket.socket) -> None:
    connection.sendall(b"nonsense\r\n")


BREAKS: dict[str, tuple[Callable[[socket.socket], None], str]] = {
    "reset": (reset, "connection reset"),
    "closed": (lambda connection: None, "connection closed"),
    "closed within a chunk": (half_a_chunk, "connection closed"),
    "not a chunk": (no_chunk, "connection closed"),
    "stalled": (wait_for_the_end, "stalled"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_stream_that_breaks_is_marked_and_breaks_again(path: Path, name: str) -> None:
    then, end = BREAKS[name]
    patience: dict[str, Any] = {"read_timeout": 0.2 if name == "stalled" else 10}
    answer = one_chunk_and(then)

    def read_to_the_end(client: Any) -> Any:
        events: list[Any] = []
        try:
            for event in client.converse_stream(**question())["stream"]:
                events.append(event)
                answer.went.set()  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - see above
            return events, type(error)
        return events, None

    with peer(answer) as url:
        without = read_to_the_end(connect(url, **patience))
    answer.went.clear()  # type: ignore[attr-defined]
    with peer(answer) as url, record(path) as recorder:
        recorded = read_to_the_end(connect(url, **patience))
        assert recorder.calls[0].outcome == "cut"
    (exchange,) = read(path).exchanges
    assert exchange.end is not None
    assert exchange.end["end"] == end
    with fake_converse(recording(path)):
        replayed = read_to_the_end(connect(**patience))
    assert len(recorded[0]) == 1
    assert without == recorded
    assert replayed[0] == recorded[0]
    if name != "not a chunk":  # botocore is told so by a subclass of what an end without a last chunk gives
        assert replayed == recorded


FAILURES: dict[str, tuple[Answers | None, str, type[Exception]]] = {
    "refused": (None, "connection refused", botocore.exceptions.EndpointConnectionError),
    "closed": (lambda connection: None, "connection closed", botocore.exceptions.ConnectionClosedError),
    "reset": (reset, "connection closed", botocore.exceptions.ConnectionClosedError),
    "garbage": (lambda c: c.sendall(b"what?\r\n\r\n"), "connection closed", botocore.exceptions.ConnectionClosedError),
    "silent": (wait_for_the_end, "read timeout", botocore.exceptions.ReadTimeoutError),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_call_without_an_answer_fails_again_as_it_did(path: Path, name: str) -> None:
    answer, failed, kind = FAILURES[name]
    config: dict[str, Any] = {"read_timeout": 0.2 if name == "silent" else 10, **QUICK}
    with peer(answer or reset) as url:
        nowhere = "http://127.0.0.1:1"
        with record(path) as recorder, pytest.raises(kind):
            connect(url if answer else nowhere, **config).converse(**question())
        assert (recorder.calls[0].status, recorder.calls[0].outcome) == (0, "cut")
    assert read(path).exchanges[0].head["failed"] == failed
    with fake_converse(recording(path)), pytest.raises(kind):
        connect(**config).converse(**question())


def test_a_connection_that_is_not_made_in_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def send(self: Any, request: Any) -> Any:
        raise botocore.exceptions.ConnectTimeoutError(endpoint_url=request.url)

    client = connect("http://127.0.0.1:1", **QUICK)
    monkeypatch.setattr(URLLib3Session, "send", send)
    with record(path), pytest.raises(botocore.exceptions.ConnectTimeoutError):
        client.converse(**question())
    with fake_converse(recording(path)), pytest.raises(botocore.exceptions.ConnectTimeoutError):
        connect(**QUICK).converse(**question())


def test_a_whole_answer_that_breaks_is_marked_and_breaks_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def began(self: Capture, status: int, headers: Any) -> None:
        began_really(self, status, headers)
        head_came.set()

    def half(connection: socket.socket) -> None:
        connection.sendall(body(b'{"output":', length=100))
        head_came.wait(10)
        reset(connection)

    head_came = threading.Event()
    began_really = Capture.began
    monkeypatch.setattr(Capture, "began", began)
    with peer(half) as url, record(path) as recorder, pytest.raises(botocore.exceptions.ConnectionClosedError):
        connect(url, **QUICK).converse(**question())
    assert recorder.calls[0].outcome == "cut"
    (exchange,) = read(path).exchanges
    assert exchange.head["status"] == 200
    assert exchange.end is not None
    assert exchange.end["end"] == "connection reset"
    with fake_converse(recording(path)), pytest.raises(botocore.exceptions.ConnectionClosedError):
        connect(**QUICK).converse(**question())


def test_an_interrupted_client_has_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def send(self: Any, request: Any) -> Any:
        raise KeyboardInterrupt

    client = connect("http://127.0.0.1:1")
    monkeypatch.setattr(URLLib3Session, "send", send)
    with record(path) as recorder, pytest.raises(KeyboardInterrupt):
        client.converse(**question())
    assert recorder.calls[0].outcome == "closed by client"
    assert read(path).exchanges[0].head["failed"] == "read timeout"


# Retries


@pytest.mark.parametrize("mode", ["legacy", "standard"])
def test_each_attempt_is_an_exchange_with_a_real_wait_before_it(
    server: ConverseServer, path: Path, real_waits: list[float], mode: str
) -> None:
    retries = {"mode": mode, "total_max_attempts": 3}
    with server.script(reply.throttled(), reply.throttled(), reply.text("hi")) as service, record(path) as recorder:
        assert text_of(connect(service.url, retries=retries).converse(**question())) == "hi"
        assert [call.attempt for call in recorder.calls] == [1, 2, 3]
        assert [call.answered.waited for call in recorder.calls] == [0, 0, 0]
    assert len(real_waits) == 2
    assert [exchange.head["status"] for exchange in read(path).exchanges] == [429, 429, 200]
    with fake_converse(recording(path)) as fake:
        assert text_of(connect(retries=retries).converse(**question())) == "hi"
        assert [call.status for call in fake.calls] == [429, 429, 200]
    assert len(real_waits) == 2


def test_the_quota_of_retries_is_the_clients_own(server: ConverseServer, path: Path, real_waits: list[float]) -> None:
    with server.script(unused="allow") as service, record(path) as recorder:
        service.always(reply.throttled())
        client = connect(service.url, retries={"mode": "standard", "total_max_attempts": 2})
        for _ in range(105):
            outcome_of(lambda: client.converse(**question()))
    # Each retry costs five of five hundred.
    assert len(recorder.calls) == 105 + 100
    assert len(real_waits) == 100


# Keys


def test_real_keys_sign_and_the_recording_has_nothing_of_them(server: ConverseServer, path: Path) -> None:
    signed: list[str] = []

    def look(request: Any, **_: Any) -> None:
        signed.extend(str(request.headers[name], "ascii") for name in ("Authorization", "X-Amz-Security-Token"))

    with server.script(reply.text("hi")) as service, record(path):
        client = connect(service.url)
        client.meta.events.register_first("before-send", look)
        client.converse(**question())
    authorization, token = signed
    assert f"Credential={KEY_ID}/" in authorization
    assert "/eu-central-1/bedrock/" in authorization
    assert token == TOKEN
    written = path.read_text(encoding="utf-8")
    signature = authorization.rpartition("Signature=")[2]
    assert not [secret for secret in (KEY_ID, SECRET, TOKEN, signature, "Authorization") if secret in written]


def test_a_bearer_token_is_sent_and_not_recorded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def send(self: Any, request: Any) -> Any:
        sent.append(str(request.headers["Authorization"], "ascii"))
        return canned_response(request.url)

    token = "a-bearer-token-of-a-developer"
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", token)
    monkeypatch.setattr(URLLib3Session, "send", send)
    with record(path):
        assert text_of(connect().converse(**question())) == "real"
    assert sent == [f"Bearer {token}"]
    assert token not in path.read_text(encoding="utf-8")


def test_a_variable_that_is_set_for_the_call_only_is_not_recorded(server: ConverseServer, path: Path) -> None:
    password = "-".join(["correct", "horse", "battery"])
    masked = pytest.warns(MaskedSecretWarning)
    with server.script(reply.text("hi")) as service, masked, record(path):
        client = connect(service.url)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DB_PASSWORD", password)
            client.converse(**question(f"It is {password}."))
    assert '"It is ***."' in path.read_text(encoding="utf-8")


def test_a_client_made_for_a_fake_records_with_real_keys(server: ConverseServer, path: Path) -> None:
    signed: list[bytes] = []
    with server.script(reply.text("hi")) as service:
        with fake_converse():
            client = connect(service.url)
        client.meta.events.register_first(
            "before-send", lambda request, **_: signed.append(request.headers["Authorization"])
        )
        with record(path):
            client.converse(**question())
    assert KEY_ID.encode() in signed[0]


def test_without_keys_or_region_botocore_says_so(
    server: ConverseServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    with record(path) as recorder:
        with pytest.raises(botocore.exceptions.NoCredentialsError):
            connect("http://127.0.0.1:1").converse(**question())
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        with pytest.raises(botocore.exceptions.NoRegionError):
            connect()
    assert (recorder.saved, path.exists()) == (None, False)


# The way there


HOST = "bedrock-runtime.eu-central-1.amazonaws.com"


def test_the_way_is_open_while_a_recorder_is_newest_and_closed_before_and_after(path: Path) -> None:
    with fake_converse(unexpected="allow") as outer:
        for fake, is_open in ((record(path), True), (fake_converse(), False)):
            with fake:
                assert (OPEN_FAKES.fake_that_blocks() is None) is is_open
                if is_open:
                    connections.check(HOST)
                    assert isinstance(botocore.session.Session().get_credentials().access_key, str)
                    environment = subprocess.run(
                        [sys.executable, "-c", "import os; print(os.environ.get('AWS_ENDPOINT_URL_BEDROCK_RUNTIME'))"],
                        capture_output=True,
                        text=True,
                        check=True,
                    )
                    assert environment.stdout == "None\n"
            with pytest.raises(BlockedConnection):
                connections.check(HOST)
        outer.endpoint.problems.clear()
    assert OPEN_FAKES.fake_that_blocks() is None


def test_the_newest_fake_answers_and_the_recorder_below_after_it(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("real").times(2)) as service, record(path) as recorder:
        client = connect(service.url)
        assert text_of(client.converse(**question())) == "real"
        with fake_converse(reply.text("fake")):
            assert text_of(connect().converse(**question())) == "fake"
        assert text_of(client.converse(**question())) == "real"
    assert len(recorder.calls) == 2


def test_a_recorder_in_a_fake_records(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("real")) as service, fake_converse(reply.text("fake")):
        client = connect(service.url)
        with record(path):
            assert text_of(client.converse(**question())) == "real"
        assert text_of(connect().converse(**question())) == "fake"


def test_of_two_recorders_the_newest_records(server: ConverseServer, path: Path) -> None:
    inner = record(path.with_name("inner.jsonl"))
    with server.script(reply.text("hi")) as service, record(path) as outer, inner:
        connect(service.url).converse(**question())
    assert (len(outer.calls), len(inner.calls)) == (0, 1)
    assert not path.exists()


def test_what_is_scripted_on_a_recorder_is_not_recorded(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("real")) as service, record(path) as recorder:
        recorder.when(last_user_text="scripted").script(reply.text("fake"))
        client = connect(service.url)
        assert [text_of(client.converse(**question(text))) for text in ("scripted", "hello")] == ["fake", "real"]
    assert len(read(path).exchanges) == 1


def test_a_server_in_this_process_is_recorded_by_a_newer_recorder(path: Path) -> None:
    with record(path) as older, ConverseServer() as server, server.script(reply.text("hi").times(2)) as service:
        client = connect(service.url)
        client.converse(**question())
        with record(path.with_name("newer.jsonl")) as newer:
            client.converse(**question())
        assert (len(older.calls), len(newer.calls), len(service.calls)) == (0, 1, 2)


@pytest.mark.slow
def test_a_server_of_another_process_is_recorded(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text('from converse_harness import reply\n\nscript = [reply.text("from afar")]\n', encoding="utf-8")
    command = [shutil.which("converse-harness", path=sysconfig.get_path("scripts")), "serve", str(script)]
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            url = re.findall(r"http://[0-9.:]+", line)[0]
            with record(path):
                recorded = stream_of(connect(url))
        finally:
            process.terminate()
            process.stdout.read()
    with fake_converse(recording(path)):
        assert stream_of(connect()) == recorded


# Threads, and what outlives a recorder


def test_threads_record_into_one_tape(server: ConverseServer, path: Path) -> None:
    def echo(call: Call) -> Reply:
        return reply.text(" ".join([call.last_user_text] * 20))

    def ask(client: Any, text: str) -> list[Any]:
        return stream_of(client, text)

    texts = [f"number-{number}" for number in range(24)]
    with server.script(unused="allow") as service, record(path), ThreadPoolExecutor(8) as pool:
        service.always(echo)
        client = connect(service.url, max_pool_connections=8)
        recorded = list(pool.map(lambda text: ask(client, text), texts))
    assert len(read(path).exchanges) == 24
    with fake_converse(recording(path, match="exact")):
        client = connect()
        assert [ask(client, text) for text in texts] == recorded
    said = [
        "".join(e["contentBlockDelta"]["delta"]["text"] for e in events if "contentBlockDelta" in e)
        for events in recorded
    ]
    assert said == [" ".join([text] * 20) for text in texts]


def test_a_call_that_still_runs_when_it_closes_ends_normally(path: Path) -> None:
    """The file has what came until then; one that has no answer yet is not in it."""
    closed, began, asked = threading.Event(), threading.Event(), threading.Event()

    def slowly(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        began.set()
        if closed.wait(10):
            connection.sendall(chunk(METADATA) + chunk(b""))

    def late(connection: socket.socket) -> None:
        asked.set()
        if closed.wait(10):
            connection.sendall(body(b'{"stopReason":"end_turn"}'))

    with ThreadPoolExecutor(2) as pool, peer(slowly, late) as url:
        with record(path) as recorder:
            client = connect(url, **QUICK)
            events = iter(client.converse_stream(**question())["stream"])
            first = next(events)
            waiting = pool.submit(client.converse, **question())
            assert began.wait(10)
            assert asked.wait(10)
        closed.set()
        assert ["metadata" in event for event in (first, *events)] == [False, True]
        assert waiting.result(10)["stopReason"] == "end_turn"
        assert [call.outcome for call in recorder.calls] == ["complete", "complete"]
    (exchange,) = read(path).exchanges
    assert len(exchange.events) == 1
    assert exchange.end is not None
    assert exchange.end["end"] == "closed by client"


def test_a_call_that_began_under_a_recorder_may_try_again_after_it(server: ConverseServer, path: Path) -> None:
    """A plain fake would refuse it; here the network is where it was going anyway."""
    with server.script(reply.throttled(), reply.text("hi")) as service:
        recorder = record(path).open()
        client = connect(service.url, retries={"mode": "standard", "total_max_attempts": 2})
        client.meta.events.register("needs-retry", lambda **_: recorder.close())
        with fake_converse(sleeps=False):
            pass
        assert text_of(client.converse(**question())) == "hi"
    assert [exchange.head["status"] for exchange in read(path).exchanges] == [429]


def test_a_thread_that_outlives_it_makes_no_new_call(server: ConverseServer, path: Path) -> None:
    go = threading.Event()
    errors: list[BaseException] = []

    def call_later() -> None:
        go.wait(10)
        try:
            botocore.session.Session().create_client("bedrock-runtime").converse(**question())
        except BlockedConnection as error:
            errors.append(error)

    with record(path):
        thread = threading.Thread(target=call_later)
        thread.start()
    with refusals.of_a_run():  # it fails this test no more
        go.set()
        thread.join(10)
    assert "after the converse-harness fake" in str(errors[0])


# What `record` takes and gives


def test_a_decorated_function_records_anew_each_time(server: ConverseServer, path: Path) -> None:
    @record(path)
    def ask(url: str) -> str:
        return text_of(connect(url).converse(**question()))

    @record(path)
    async def ask_async(url: str) -> str:
        return ask(url)

    for text in ("one", "two"):
        with server.script(reply.text(text)) as service:
            assert ask(service.url) == text
        assert read(path).exchanges[0].head["body"]["output"]["message"]["content"] == [{"text": text}]
    with server.script(reply.text("three")) as service:
        assert asyncio.run(ask_async(service.url)) == "three"


async def record_async(path: Path, url: str) -> Any:
    async with record(path) as recorder:
        connect(url).converse(**question())
    return recorder


def test_async_with(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("hi")) as service:
        recorder = asyncio.run(record_async(path, service.url))
    assert (recorder.saved, recorder.path, len(read(path).exchanges)) == (path, path, 1)


def test_the_modes(server: ConverseServer, path: Path) -> None:
    with pytest.raises(ReplyError, match="there is no recording"), record(path, mode="none"):
        pass
    with server.script(reply.text("one"), reply.text("two"), reply.text("three")) as service:

        def ask(mode: Mode, *texts: str, client: Any) -> list[str]:
            with record(path, mode=mode):
                return [text_of(client.converse(**question(text))) for text in texts]

        client = connect(service.url)
        assert ask("once", "a", client=client) == ["one"]
        assert ask("once", "a", client=connect()) == ["one"]
        assert ask("none", "a", client=connect()) == ["one"]
        assert ask("new_episodes", "a", "b", client=client) == ["one", "two"]
        assert len(read(path).exchanges) == 2
        assert ask("all", "c", client=client) == ["three"]
        assert len(read(path).exchanges) == 1
    with pytest.raises(UnexpectedCall), record(path, mode="none"):
        outcome_of(lambda: connect().converse(**{**question(), "toolConfig": {"tools": [TOOL]}}))


TOOL = {"toolSpec": {"name": "t", "inputSchema": {"json": {"type": "object"}}}}


@pytest.mark.parametrize(
    ("failed", "kept"), [("aside", "session.failed.jsonl"), ("write", "session.jsonl"), ("drop", None)]
)
def test_what_a_failed_block_recorded(server: ConverseServer, path: Path, failed: Failed, kept: str | None) -> None:
    path.write_text("what was there", encoding="utf-8")
    recorder = record(path, failed=failed)

    def fail(url: str) -> None:
        with recorder:
            connect(url).converse(**question())
            raise ZeroDivisionError

    with server.script(reply.text("hi")) as service, pytest.raises(ZeroDivisionError):
        fail(service.url)
    assert recorder.saved == (path.with_name(kept) if kept else None)
    if kept:
        assert len(read(path.with_name(kept)).exchanges) == 1
    assert (path.read_text(encoding="utf-8") == "what was there") is (failed != "write")


def test_closing_saves_once(server: ConverseServer, path: Path) -> None:
    with server.script(reply.text("hi")) as service:
        recorder = record(path).open()
        connect(service.url).converse(**question())
        recorder.close()
        assert recorder.saved == path
        path.unlink()
        recorder.close()
    assert not path.exists()


@pytest.mark.parametrize(("fails", "name"), [(False, "session.jsonl"), (True, "session.failed.jsonl")])
def test_a_relative_path_is_that_of_the_folder_in_which_it_began(
    server: ConverseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with server.script(reply.text("hi")) as service, suppress(KeyError), record("session.jsonl"):
        monkeypatch.chdir("elsewhere")
        connect(service.url).converse(**question())
        if fails:
            raise KeyError("city")
    assert [each.relative_to(tmp_path) for each in tmp_path.rglob("*.jsonl")] == [Path(name)]


def test_a_place_that_cannot_be_written_is_said_and_nothing_lost(server: ConverseServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    path = tmp_path / "file" / "session.jsonl"
    with server.script(reply.text("hi")) as service:
        with pytest.warns(JournalWarning, match=r"session\.unfinished\.jsonl cannot be written \(File exists\)"):
            recorder = record(path).open()
        connect(service.url).converse(**question())
        with pytest.raises(ReplyError, match="kept in") as raised:
            recorder.close()
    assert recorder.saved is not None
    assert str(recorder.saved) in str(raised.value)
    assert len(read(recorder.saved).exchanges) == 1
    recorder.saved.unlink()
    recorder.saved.parent.rmdir()


@pytest.mark.filterwarnings("ignore::converse_harness.JournalWarning")
def test_what_the_block_raised_comes_before_what_could_not_be_written(server: ConverseServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    def interrupt(url: str) -> None:
        with record(tmp_path / "file" / "session.jsonl") as recorder:
            made.append(recorder)
            connect(url).converse(**question())
            raise KeyboardInterrupt

    made: list[Recorder] = []
    with server.script(reply.text("hi")) as service, pytest.raises(KeyboardInterrupt) as raised:
        interrupt(service.url)
    (recorder,) = made
    assert recorder.saved is not None
    assert str(recorder.saved) in raised.value.__notes__[0]
    recorder.saved.unlink()
    recorder.saved.parent.rmdir()


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"mode": "some"}, "mode='some'; one of"), ({"failed": "no"}, "failed='no'"), ({"unused": "no"}, "unused='no'")],
)
def test_a_setting_that_is_none(path: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ReplyError, match=re.escape(said)):
        record(path, **settings)


# What cannot be heard


def test_a_session_that_makes_its_responses_elsewhere_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canned = AWSResponse("http://127.0.0.1:1", 200, {}, io.BytesIO(b"{}"))
    monkeypatch.setattr(URLLib3Session, "send", lambda self, request: canned)
    with pytest.raises(TransportError, match="URLLib3Session answered with a response made elsewhere"), record(path):
        connect("http://127.0.0.1:1").converse(**question())


def test_a_raw_response_of_another_kind_is_captured(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of moto and of tests by hand: bytes with a `stream`."""

    class Raw(io.BytesIO):
        def stream(self) -> Iterator[bytes]:
            yield self.read()

    def send(self: Any, request: Any) -> Any:
        response = AWSResponse(
            request.url, 200, {"Content-Type": "application/json"}, Raw(b'{"stopReason":"end_turn"}')
        )
        assert response.content
        return response

    monkeypatch.setattr(URLLib3Session, "send", send)
    with record(path) as recorder:
        assert connect("http://127.0.0.1:1").converse(**question())["stopReason"] == "end_turn"
    assert recorder.calls[0].outcome == "complete"
    assert read(path).exchanges[0].head["body"] == {"stopReason": "end_turn"}


def test_other_responses_are_left_alone(server: ConverseServer, path: Path) -> None:
    """Those that a hook of the user's makes, and those of other services while a call is passed on."""
    with server.script(reply.text("hi")) as service, record(path) as recorder:
        client = connect(service.url)
        made = AWSResponse("http://127.0.0.1", 200, {}, io.BytesIO())
        assert type(made.raw) is io.BytesIO
        client.converse(**question())
        made = AWSResponse("http://127.0.0.1", 200, {}, io.BytesIO())
        assert type(made.raw) is io.BytesIO
    assert len(recorder.calls) == 1


# Interrupts


def close_all(recorders: list[Recorder]) -> None:
    while recorders:
        recorders.pop().close()


# Where the interrupt hits a finalizer, Python 3.13 can only report it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@each_step
def test_an_interrupt_at_any_line_of_a_call_leaves_nothing_behind(path: Path, each_step: bool) -> None:
    originals = {
        (holder, name): vars(holder)[name]
        for holder, name in ((botocore.endpoint.Endpoint, "_send"), (AWSResponse, "__init__"))
    }
    made: list[Recorder] = []

    def make() -> Recorder:
        close_all(made)
        made.append(record(path).open())
        return made[-1]

    with peer(lambda c: c.sendall(STREAM + chunk(START) + chunk(METADATA) + chunk(b""))) as url:
        client = connect(url, **QUICK)

        def act(recorder: Any) -> None:
            stream_of(client)

        def check(where: str) -> None:
            # What is made by hand is left alone: no later response is taken for the answer to that call.
            assert type(AWSResponse("", 200, {}, io.BytesIO()).raw) is io.BytesIO, where
            assert CURRENT_CALL.get() is None, where
            made[-1].close()
            eventually(ended_call)

        def ended_call() -> bool:  # once the threads of the peer have ended
            OPEN_FAKES.unpatch_if_idle()
            return {key: vars(key[0])[key[1]] for key in originals} == originals

        assert interrupt_everywhere(act, check, make, each_step=each_step) > 10
    gc.collect()  # sockets of interrupted calls, which may be in circles: the next test would be told of them


@each_step
def test_an_interrupt_at_any_line_of_closing_loses_nothing(path: Path, each_step: bool) -> None:
    made: list[Recorder] = []

    def make() -> Recorder:
        close_all(made)
        path.unlink(missing_ok=True)
        made.append(record(path).open())
        client.converse(**question())
        return made[-1]

    def close(recorder: Any) -> None:
        recorder.close()

    def check(where: str) -> None:
        made[-1].close()
        assert OPEN_FAKES.fake_that_blocks() is None, where
        assert len(read(path).exchanges) == 1, where

    with peer(lambda c: c.sendall(body(b'{"stopReason":"end_turn"}'))) as url:
        client = connect(url, **QUICK)
        assert interrupt_everywhere(close, check, make, each_step=each_step) > 10
